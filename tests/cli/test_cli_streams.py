"""Facts about streams and signals: closed, full or interrupted, a run ends in one line."""

import errno
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from tests.helpers.cli_samples import ROLES, but_progress, patients
from tests.helpers.effort import further

from shoal.cli import program as process
from shoal.cli.program import Stopped, run
from shoal.errors import DataError

needs_dev_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")


def shell(command, environment, folder, data=b""):
    program = f"{sys.executable} -m shoal"
    return subprocess.run(
        ["/bin/sh", "-c", command.replace("SHOAL", program)],
        input=data,
        capture_output=True,
        env=environment,
        cwd=folder,
        check=False,
        timeout=250,
    )


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in.csv").write_text(patients(), encoding="utf-8")
    (tmp_path / "safe.csv").write_text("sex\nF\nF\n", encoding="utf-8")
    (tmp_path / "h.csv").write_text("a;*\nb;*\n", encoding="utf-8")
    groups = "".join(f"{row // 4}\n" for row in range(40))
    (tmp_path / "groups.csv").write_text("group\n" + groups, encoding="utf-8")
    return tmp_path


LOUD = "--k 3 " + " ".join(ROLES)
RELEASE = f"--quiet {LOUD}"


def test_a_run_without_any_stream_does_its_work(folder, environment):
    done = shell(f"SHOAL anonymize in.csv -o out.csv {RELEASE} <&- >&- 2>&-", environment, folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert len((folder / "out.csv").read_text().splitlines()) == 41


def test_an_error_without_standard_error_is_not_printed_anywhere(folder, environment):
    before = sorted(each.name for each in folder.iterdir())
    for closed in ("2>&-", "2>&- <&-"):
        done = shell(
            f"SHOAL anonymize nothing.csv -o out.csv {RELEASE} {closed}", environment, folder
        )
        assert (done.returncode, done.stdout, done.stderr) == (2, b"", b"")
    assert sorted(each.name for each in folder.iterdir()) == before


def test_a_release_to_a_closed_stream_is_an_error(folder, environment):
    done = shell(f"SHOAL anonymize in.csv -o - {RELEASE} >&-", environment, folder)
    assert done.returncode == 2
    assert b"standard output" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_closed_standard_input_is_an_error(folder, environment):
    done = shell(f"SHOAL anonymize - -o out.csv {RELEASE} <&-", environment, folder)
    assert done.returncode == 2
    assert b"Standard input cannot be read" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_summary_to_a_closed_stream_is_nobodys_error(folder, environment):
    done = shell("SHOAL verify safe.csv --k 2 --qi sex >&-", environment, folder)
    assert (done.returncode, done.stderr) == (0, b"")


FIRST = {
    "--version",
    "verify safe.csv --k 2 --qi sex",
    f"anonymize in.csv -o - {RELEASE}",
    f"anonymize in.csv -o /dev/full --output-format csv {RELEASE}",
    f"anonymize in.csv -o out.csv --certificate /dev/full {RELEASE}",
}
"""One of a kind: every command prints and writes through the same doors, in a process each."""


PRINTING = [
    "--help",
    "--version",
    "algorithms",
    "verify safe.csv --k 2 --qi sex",
    "score in.csv in.csv --qi sex",
    "hierarchy check h.csv",
    "init in.csv --yes",
    f"anonymize in.csv --dry-run {RELEASE}",
    f"anonymize in.csv -o - {RELEASE}",
    "hierarchy build in.csv -c sex -o -",
    f"refine in.csv --groups groups.csv -o out.csv {LOUD}",
    f"refine in.csv --groups groups.csv -o - {RELEASE}",
    f"explain in.csv --algorithm mondrian {LOUD}",
    f"compare in.csv --algorithms mondrian {LOUD}",
    "demo --out shown",
]


@needs_dev_full
@pytest.mark.parametrize("command", further(PRINTING, FIRST.__contains__))
def test_a_full_standard_output_is_one_line_and_a_status(folder, environment, command):
    done = shell(f"SHOAL {command} >/dev/full", environment, folder)
    assert done.returncode == 2, done.stderr
    assert b"No space left on device" in done.stderr
    assert len(but_progress(done.stderr.decode().splitlines())) == 1, done.stderr


def test_lines_of_progress_are_told_from_others():
    lines = [
        "clustering blocks: 14,695 of 45,222 (32%), 8.2 k rows/s, 0:04 left",
        "reading: 1,000,000, 1.3 M rows/s",
        "verifying: 7 of 8 (88%)",
        "encoding ... (0:12 since the start)",
    ]
    assert but_progress([*lines, "Error: 3 of 4 rows."]) == ["Error: 3 of 4 rows."]


WRITING = [
    f"anonymize in.csv -o /dev/full --output-format csv {RELEASE}",
    f"anonymize in.csv -o out.csv --report /dev/full {RELEASE}",
    f"anonymize in.csv -o out.csv --certificate /dev/full {RELEASE}",
    f"refine in.csv --groups groups.csv -o /dev/full {RELEASE}",
    f"refine in.csv --groups groups.csv -o out.csv --report /dev/full {RELEASE}",
    f"explain in.csv --out /dev/full {RELEASE}",
    f"compare in.csv --algorithms mondrian --report /dev/full {RELEASE}",
    f"compare in.csv --algorithms mondrian --out /dev/full {RELEASE}",
    "hierarchy build in.csv -c sex --force -o /dev/full",
    "init in.csv --yes --force -o /dev/full",
    "demo --out /dev/full",
]


@needs_dev_full
@pytest.mark.parametrize(
    "command",
    further(WRITING, FIRST.__contains__),
    ids=[each[:20] + each[-10:] for each in WRITING],
)
def test_a_full_disk_is_one_line_and_leaves_nothing(folder, environment, command):
    before = sorted(each.name for each in folder.iterdir())
    done = shell(f"SHOAL {command}", environment, folder)
    assert done.returncode == 2, done.stderr
    assert b"/dev/full" in done.stderr
    assert len(but_progress(done.stderr.decode().splitlines())) == 1, done.stderr
    assert sorted(each.name for each in folder.iterdir()) == before


@needs_dev_full
def test_a_full_standard_error_keeps_the_status(folder, environment):
    done = shell("SHOAL verify nothing.csv --k 2 --qi sex 2>/dev/full", environment, folder)
    assert (done.returncode, done.stdout) == (2, b"")


# Links that go in a circle


@pytest.mark.parametrize("place", ["input", "output", "report", "job", "hierarchy"])
def test_links_in_a_circle_are_one_line(shoal_runs, folder, place):
    (folder / "a.csv").symlink_to("b.csv")
    (folder / "b.csv").symlink_to("a.csv")
    loop = folder / "a.csv"
    command = ["anonymize", folder / "in.csv", "-o", folder / "o.csv", "--k", 3, *ROLES]
    if place == "input":
        command[1] = loop
    elif place == "output":
        command[3] = loop
    else:
        command += [f"--{place}", f"zip={loop}" if place == "hierarchy" else loop]
    outcome = shoal_runs(*command)
    assert outcome.status == 2, outcome.err
    assert "symbolic links" in outcome.err
    assert len(but_progress(outcome.err.splitlines())) == 1
    assert loop.is_symlink()
    assert not (folder / "o.csv").exists()


# Signals


SLOW_IMPORT = """
import importlib.abc, sys, time

slow = sys.argv.pop(1)

class Slow(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == slow:
            print("importing", file=sys.stderr, flush=True)
            time.sleep(100)

sys.meta_path.insert(0, Slow())
from shoal.cli import main
main()
"""


@pytest.mark.parametrize("module", ["shoal.io.atomic", "polars", "shoal.cli.app"])
@pytest.mark.parametrize("n_signals", further([1, 3], lambda number: number == 3))
def test_ctrl_c_while_importing_ends_at_once_without_a_traceback(
    folder, environment, module, n_signals
):
    command = [sys.executable, "-c", SLOW_IMPORT, module, "verify", "safe.csv", "--k", "2"]
    process = subprocess.Popen(
        [*command, "--qi", "sex"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        assert process.stderr.readline() == b"importing\n"
        for _ in range(n_signals):
            process.send_signal(signal.SIGINT)
            time.sleep(0.05)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130
    assert out == b""
    assert b"Traceback" not in err
    assert err.startswith(b"Interrupted")


def test_a_signal_ends_the_waiting_for_a_call_wherever_it_strikes(monkeypatch):
    monkeypatch.setattr(process, "_LOOK", 1e-5)

    def stop(*_):
        raise Stopped(signal.SIGALRM)

    def wait_for(call, seconds):
        signal.setitimer(signal.ITIMER_REAL, seconds)
        call.wait()

    before = signal.signal(signal.SIGALRM, stop)
    try:
        for number in range(1_000):
            end = threading.Lock()
            end.acquire()
            call = process.InterruptibleCall(end.acquire)
            with pytest.raises(Stopped):  # an Event that is interrupted may raise RuntimeError
                wait_for(call, 1e-4 + number % 50 * 4e-6)
            end.release()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# The last door


def raising(error):
    def call():
        raise error

    return call


class PanicException(BaseException):
    pass


ENDS = [
    (PanicException("SECRET"), 70, "PanicException"),
    (SystemExit(0), 70, "SystemExit"),
    (RecursionError("SECRET"), 70, "RecursionError"),
    (GeneratorExit("SECRET"), 70, "GeneratorExit"),
    (MemoryError("SECRET"), 2, "memory"),
    (OSError(errno.ENOSPC, "No space left on device", "SECRET"), 2, "No space"),
    (KeyboardInterrupt(), 130, "Interrupted"),
    (DataError("the sentence"), 2, "the sentence"),
]


@pytest.mark.parametrize(("error", "status", "words"), ENDS, ids=[repr(e[0])[:20] for e in ENDS])
def test_whatever_ends_a_run_is_one_line_and_a_status(capfd, error, status, words):
    assert run([], call=raising(error)) == status
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    text = capfd.readouterr()
    assert words in text.err
    assert "SECRET" not in text.err
    assert "Traceback" not in text.err
    assert len(text.err.splitlines()) == 1
    assert text.out == ""


@pytest.mark.parametrize("option", ["-o", "--certificate", "--report", "--qi", "--job"])
def test_half_a_letter_in_a_word_is_one_line(capfd, option):
    assert run(["anonymize", "data.csv", option, "a\ud800"]) == 2
    assert capfd.readouterr().err.startswith("Error: word 4 of the command holds half of a letter")


def test_what_a_library_prints_when_it_gives_up_is_not_shown(environment):
    code = (
        "import os, sys; from shoal.cli import program as r;"
        "r._call = lambda _: (os.write(2, b'panicked at SECRET'), 0)[1];"
        "r.run_program(sys.argv[1:])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, env=environment, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    done = subprocess.run(
        [sys.executable, "-c", code, "--debug"], capture_output=True, env=environment, check=False
    )
    assert b"panicked" in done.stderr
