"""Facts about Ctrl-C: it is answered at once at every stage, and nothing is left behind."""

import signal
import subprocess
import sys

import pytest
from tests.helpers.cli_samples import PREVIOUS
from tests.helpers.effort import further

QUASI = "age,education_num,occupation,sex"
ROWS = 300_000

# Runs the program, says on standard error which stage begins, and at one of them does not come
# back from a call, as compiled code that runs for minutes would not.
DRIVER = """
import contextlib, sys, time
import shoal.runtime.progress
from shoal.cli import main

stage = sys.argv.pop(1)
seen = []

def report(done, total, what):
    if what not in seen:
        seen.append(what)
        print("stage", what, file=sys.stderr, flush=True)
    if what == stage:
        time.sleep(600)

@contextlib.contextmanager
def showing(**_):
    yield report

shoal.runtime.progress.showing_progress = showing
if stage == "half-written":
    import polars as pl
    def write_half(frame, sink, **options):
        sink.write(b"half")
        sink.flush()
        print("stage half-written", file=sys.stderr, flush=True)
        time.sleep(600)
    pl.DataFrame.write_csv = write_half
main()
"""


@pytest.fixture(scope="module")
def census(tmp_path_factory):
    from shoal.datasets import make_census

    path = tmp_path_factory.mktemp("census") / "census.csv"
    make_census(ROWS, seed=3).write_csv(path)
    return path


@pytest.fixture
def start(environment, census, previous):
    """Starts a run that stays at a stage."""
    processes = []

    def call(stage):
        from shoal.datasets import ADULT_COLUMNS

        rest = [n for n in ADULT_COLUMNS if n not in (*QUASI.split(","), "salary")]
        command = [sys.executable, "-c", DRIVER, stage, "anonymize", str(census)]
        command += [
            "--replace",
            "-o",
            str(previous),
            "--k",
            "5",
            "--qi",
            QUASI,
            "--sensitive",
            "salary",
        ]
        command += ["--drop", ",".join(rest), "--algorithm", "mondrian"]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
        )
        processes.append(process)
        return process

    yield call
    for process in processes:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def wait_for(process, stage):
    for line in process.stderr:
        if line.split() == [b"stage", stage.encode()]:
            return
    pytest.fail(f"the run ended before the stage {stage!r}")


STAGES = ["reading", "encoding", "clustering", "publishing", "verifying", "scoring", "writing"]


@pytest.mark.parametrize(
    "stage",
    further([*STAGES, "half-written"], lambda stage: stage in {"clustering", "half-written"}),
)
def test_a_run_is_stopped_at_once_whatever_it_is_doing(start, previous, stage):
    process = start(stage)
    wait_for(process, stage)
    if stage == "half-written":
        assert len(list(previous.parent.iterdir())) == 2, "there is a temporary to be removed"
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130  # the stage would have taken ten minutes
    assert process.stderr.read().decode() == "Interrupted; nothing was written.\n"
    assert previous.read_bytes() == PREVIOUS
    assert [path.name for path in previous.parent.iterdir()] == ["safe.csv"]


def test_a_run_that_is_not_stopped_ends_by_itself(start, previous):
    process = start("no such stage")
    assert process.wait(timeout=300) == 0
    assert previous.read_bytes().count(b"\n") == ROWS + 1
