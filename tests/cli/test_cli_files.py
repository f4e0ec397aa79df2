"""Streams, full disks, and processes that are stopped: outputs are whole or do not appear."""

import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.helpers.cli_samples import PREVIOUS, ROLES, but_progress, patients
from tests.helpers.effort import further

CHUNK = 1 << 20  # more than a pipe holds: once it is written, the reader has begun


@pytest.fixture
def reading(environment, previous):
    """Starts a run that has read a part of its input and waits for the rest."""
    processes = []

    def start():
        command = [
            sys.executable,
            "-m",
            "shoal",
            "anonymize",
            "-",
            "--replace",
            "-o",
            str(previous),
        ]
        process = subprocess.Popen(
            [*command, "--k", "3", *ROLES],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
        processes.append(process)
        process.stdin.write(patients(CHUNK // 40).encode())
        process.stdin.flush()
        return process

    yield start
    for process in processes:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            pipe.close()


def stop(process, number):
    """Sends a signal until it is noticed: one between two reads waits for the next one."""
    for _ in range(60):
        process.send_signal(number)
        try:
            return process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            continue
    return None


@pytest.mark.parametrize(
    ("number", "status", "word"),
    [(signal.SIGINT, 130, "Interrupted"), (signal.SIGTERM, 143, "Terminated")],
    ids=["Ctrl-C", "terminate"],
)
def test_a_stopped_run_says_one_line_and_writes_nothing(reading, previous, number, status, word):
    process = reading()
    assert stop(process, number) == status
    said = process.stderr.read().decode().splitlines()
    assert but_progress(said) == [f"{word}; nothing was written."]
    assert process.stdout.read() == b""
    assert previous.read_bytes() == PREVIOUS
    assert [path.name for path in previous.parent.iterdir()] == ["safe.csv"]


def test_a_killed_run_leaves_the_previous_release(reading, previous):
    process = reading()
    process.kill()
    assert process.wait(timeout=60) == -signal.SIGKILL
    assert previous.read_bytes() == PREVIOUS


@pytest.fixture
def searching(environment, tmp_path, previous):
    """Starts a run on a table so large that it is still at work when a signal arrives."""
    from shoal.datasets import make_census

    source = tmp_path / "census.parquet"
    frame = make_census(150_000, seed=1)
    frame.write_parquet(source)
    rest = ",".join(name for name in frame.columns if name not in ("age", "occupation"))
    command = [
        sys.executable,
        "-m",
        "shoal",
        "anonymize",
        str(source),
        "--replace",
        "-o",
        str(previous),
    ]
    process = subprocess.Popen(
        [*command, "--k", "3", "--qi", "age,occupation", "--qi", rest],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )
    yield process
    process.kill()
    process.wait()
    process.stdout.close()
    process.stderr.close()


def wait_for_progress(process):
    """Waits until the search reports progress; the notice about compiling is not that."""
    for line in process.stderr:
        if b"%" in line:
            return
    pytest.fail("the run ended without a sign of progress")


@pytest.mark.parametrize(
    "number",
    further(
        [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], lambda number: number == signal.SIGINT
    ),
)
def test_a_search_that_is_stopped_leaves_the_previous_release(searching, previous, number):
    wait_for_progress(searching)
    searching.send_signal(number)
    status = searching.wait(timeout=60)
    assert status == (-number if number == signal.SIGKILL else 128 + number)
    assert b"Traceback" not in searching.stderr.read()
    assert previous.read_bytes() == PREVIOUS
    assert [path.name for path in previous.parent.iterdir()] == ["safe.csv"]


def test_a_full_disk_leaves_the_previous_files(shoal_process, tmp_path):
    source, folder = tmp_path / "patients.csv", tmp_path / "out"
    source.write_text(patients(3000), encoding="utf-8")
    folder.mkdir()
    outputs = [
        "-o", folder / "safe.csv",
        "--report", folder / "report.html",
        "--certificate", folder / "certificate.json",
    ]  # fmt: skip
    command = ["anonymize", source, *outputs, "--k", 3, "--quiet", *ROLES]
    # The first run also compiles, so that the second one writes nothing but its outputs.
    assert shoal_process(*command).status == 0
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert set(before) == {"safe.csv", "report.html", "certificate.json"}

    def no_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))

    outcome = shoal_process(*command, "--replace", preexec_fn=no_room)
    assert outcome.status == 2
    assert outcome.err.startswith("Error: Could not write")
    assert len(outcome.err.splitlines()) == 1
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_device_is_one_line(shoal_process, table):
    command = ["anonymize", table, "-o", "/dev/full", "--output-format", "csv", "--quiet"]
    outcome = shoal_process(*command, "--k", 3, *ROLES)
    assert outcome.status == 2
    assert outcome.err == "Error: Could not write '/dev/full': No space left on device.\n"


def test_a_report_that_cannot_be_written_takes_the_table_with_it(
    shoal_runs, refused, table, previous, tmp_path
):
    blocked = tmp_path / "report.html"
    blocked.mkdir()
    outcome = shoal_runs(
        "anonymize",
        table,
        "--replace",
        "-o",
        previous,
        "--report",
        blocked,
        "--k",
        3,
        "--quiet",
        *ROLES,
    )
    refused(outcome, 2, "is a folder")


def test_streams_carry_the_table_and_the_summary_goes_to_stderr(shoal_process, table):
    outcome = shoal_process("anonymize", "-", "-o", "-", "--k", 3, *ROLES, data=table.read_bytes())
    assert outcome.status == 0, outcome.err
    lines = outcome.out.splitlines()
    assert lines[0] == "age,zip,sex,diagnosis"
    assert len(lines) == 41
    assert "Smallest group" in outcome.err


def test_a_closed_output_pipe_is_no_traceback(environment):
    with subprocess.Popen(
        [sys.executable, "-m", "shoal", "measures"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    ) as process:
        process.stdout.close()
        process.wait(timeout=60)
        assert b"Traceback" not in process.stderr.read()
