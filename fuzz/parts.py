"""What a part of the campaign is, and what can become of an input."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

HELD, REFUSED = "held", "refused"
CRASHED, LEAKED, BROKEN = "crashed", "leaked", "broken"
FAILURES = (CRASHED, LEAKED, BROKEN)


@dataclass
class Outcome:
    """What became of one input.

    Attributes:
        verdict: held, refused (an input that is rightly turned down), crashed, leaked or broken.
        detail: what is wrong, in sentences.
        note: what kind of input it was, for the counts.
    """

    verdict: str = HELD
    detail: list[str] = field(default_factory=list)
    note: str = ""


Runner = Callable[[str, Path], Outcome]
"""Runs the input of a seed in an empty folder."""


def crashed(error: BaseException, note: str = "") -> Outcome:
    """Return the outcome of an input that ended in an exception nobody planned for."""
    lines = traceback.format_exception(error)
    return Outcome(CRASHED, ["".join(lines)[-4000:]], note)


OWN = re.compile(r"does not keep its promise, so it is not written|do not keep the promise, so")


def refuses_its_own(message: str) -> bool:
    """Return whether a run turned down what it had made itself, which is a fault of the run.

    A file that cannot hold what the table in memory does is rightly turned down.
    """
    return OWN.search(message) is not None


@contextlib.contextmanager
def empty_folder(base: Path | None = None) -> Iterator[Path]:
    """Make a folder in memory where that is possible, and remove it afterwards."""
    memory = Path("/dev/shm")  # noqa: S108 - a private folder is made in it
    where = base or (memory if memory.is_dir() and os.access(memory, os.W_OK) else None)
    folder = Path(tempfile.mkdtemp(prefix="shoal-fuzz-", dir=where))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass
class Ran:
    """How a command ended.

    Attributes:
        status: its exit status.
        out: what it wrote to standard output.
        err: what it wrote to standard error.
        below: what libraries wrote to the descriptor of standard error, past Python; the program
            sends that nowhere when it runs as a process of its own.
    """

    status: int
    out: bytes
    err: bytes
    below: bytes = b""


def run_command(arguments: list[str], folder: Path) -> Ran:
    """Run a command of the program in this process, in a folder, and catch its streams.

    The streams are caught twice: as Python's, and as the descriptors below, which libraries
    write to.
    """
    from shoal.cli.program import run

    here = Path.cwd()
    streams, stdin = [_Stream(), _Stream()], sys.stdin
    sys.stdin = _Stream()  # empty: what this process reads there is not meant for the command
    with tempfile.TemporaryFile() as low:
        saved = os.dup(2)
        os.dup2(low.fileno(), 2)
        os.chdir(folder)
        try:
            with (
                contextlib.redirect_stdout(streams[0]),
                contextlib.redirect_stderr(streams[1]),
            ):
                status = run(arguments)
        finally:
            sys.stdin = stdin
            os.chdir(here)
            os.dup2(saved, 2)
            os.close(saved)
        low.seek(0)
        below = low.read()
    return Ran(status, streams[0].buffer.getvalue(), streams[1].buffer.getvalue(), below)


def run_process(arguments: list[str], folder: Path) -> Ran:
    """Run a command as a process of its own, in a folder."""
    done = subprocess.run(
        [sys.executable, "-m", "shoal", *arguments],
        cwd=folder,
        input=b"",
        capture_output=True,
        timeout=300,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


class _Stream(io.TextIOWrapper):
    """A text stream over memory that stays readable."""

    def __init__(self) -> None:
        super().__init__(
            io.BytesIO(), encoding="utf-8", errors="surrogateescape", write_through=True
        )
