"""What the tests of the command line share: a small table, and two ways to run the program."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.helpers.cli_samples import PREVIOUS, but_progress, patients

from shoal.cli.program import run

SOURCE = Path(__file__).parents[2] / "src"


@dataclass
class Outcome:
    status: int
    out: str
    err: str


@pytest.fixture
def shoal_runs(capfd):
    """Runs a command in this process, which is fast, and returns status and output."""

    def call(*arguments):
        capfd.readouterr()
        status = run([str(each) for each in arguments])
        captured = capfd.readouterr()
        return Outcome(status, captured.out, captured.err)

    return call


@pytest.fixture
def environment():
    """The environment of a process that finds this source tree."""
    paths = [str(SOURCE), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONWARNINGS": "error"}


@pytest.fixture
def shoal_process(environment):
    """Runs a command in a process of its own, as users do."""

    def call(*arguments, data=None, **options):
        command = [sys.executable, "-m", "shoal", *map(str, arguments)]
        done = subprocess.run(
            command,
            input=data,
            capture_output=True,
            check=False,
            timeout=300,
            env=environment,
            **options,
        )
        return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())

    return call


@pytest.fixture
def table(tmp_path):
    """A table of 40 patients."""
    path = tmp_path / "patients.csv"
    path.write_text(patients(), encoding="utf-8")
    return path


@pytest.fixture
def previous(tmp_path):
    """The release of an earlier run, at the place where the next one will go."""
    path = tmp_path / "out" / "safe.csv"
    path.parent.mkdir()
    path.write_bytes(PREVIOUS)
    return path


@pytest.fixture
def refused(previous):
    """Checks a failure: status, words of the message, one or two lines, no cell, no file."""

    def check(outcome, status, *words):
        assert outcome.status == status, outcome.err
        for word in words:
            assert word in outcome.err
        assert 1 <= len(but_progress(outcome.err.splitlines())) <= 2, outcome.err
        assert "Traceback" not in outcome.err
        assert "SECRET" not in outcome.err
        assert outcome.out == ""
        assert previous.read_bytes() == PREVIOUS
        assert [path.name for path in previous.parent.iterdir()] == ["safe.csv"]

    return check
