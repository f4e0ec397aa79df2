"""Killed processes and full disks: the old file is there or the new one is, whole.

Real processes of the program, each stopped at a random moment, or writing to a place that runs
out of room.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

from fuzz.parts import BROKEN, CRASHED, HELD, Outcome
from fuzz.tables import token

OLD = b"what was here before\n"
ROLES = ["--qi", "age,zip", "--sensitive", "ill", "--drop", "name"]
LAST = 240  # seconds after which a process hangs


def run(seed: str, folder: Path) -> Outcome:
    """Stop one process at a random moment and look at what it leaves."""
    rng = random.Random(seed)
    name = rng.choice(("safe.csv", "safe.parquet", "safe.csv.gz", "safe.xlsx", "safe.arrow"))
    number = rng.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGINT))
    whole, seconds = _undisturbed(name)
    _furnish(folder)
    existed = rng.random() < 0.7
    if existed:
        (folder / name).write_bytes(OLD)
        (folder / "c.json").write_bytes(OLD)
    process = subprocess.Popen(
        _words(name), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    # Most of the time goes into starting; most stops belong to the end, where files are written.
    share = rng.uniform(0.05, 1) if rng.random() < 0.4 else rng.uniform(0.8, 1.05)
    _wait(process, folder, share * seconds, at_writing=rng.random() < 0.5)
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(number)
    try:
        _, err = process.communicate(timeout=LAST)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return Outcome(CRASHED, [f"did not end after {number.name}"], number.name)
    problems = _problems(folder, name, whole, existed, process.returncode, number, err)
    verdict = BROKEN if problems else HELD
    return Outcome(verdict, problems, f"{number.name} {process.returncode}")


def _wait(process: Any, folder: Path, seconds: float, *, at_writing: bool) -> None:
    """Wait for a moment; if asked, for the first file that is on its way."""
    end = time.monotonic() + (3 * seconds if at_writing else seconds)
    while time.monotonic() < end and process.poll() is None:
        if at_writing and any(path.name.startswith(".shoal-") for path in folder.iterdir()):
            return
        time.sleep(0.0005 if at_writing else 0.005)


def _problems(
    folder: Path,
    name: str,
    whole: str,
    existed: bool,
    status: int,
    number: signal.Signals,
    err: bytes,
) -> list[str]:
    problems = []
    killed = number is signal.SIGKILL
    allowed = {0, -9} if killed else {0, 128 + number, -number}
    if status not in allowed:
        problems.append(f"exit status {status}: {err[-800:]!r}")
    if b"Traceback" in err:
        problems.append(f"a traceback: {err[-800:]!r}")
    new = {each: _is_new(folder / each, name, whole, existed) for each in (name, "c.json")}
    if "partial" in new.values():
        problems.append(f"a partial output: {new}")
    if not killed and len(set(new.values())) > 1:
        problems.append(f"outputs do not belong together: {new}")
    if status == 0 and set(new.values()) != {"new"}:
        problems.append(f"exit status 0, but {new}")
    left = [path.name for path in folder.iterdir() if path.name.startswith(".shoal")]
    if left and not killed:
        problems.append(f"left behind: {left}")
    return problems


def _is_new(path: Path, name: str, whole: str, existed: bool) -> str:
    if not path.exists():
        return "partial" if existed else "old"
    data = path.read_bytes()
    if data == OLD:
        return "old" if existed else "partial"
    if path.name == "c.json":
        return "new" if data.endswith(b"}\n") else "partial"
    if name.endswith("xlsx"):  # carries the time of its making
        return "new" if _opens(path) else "partial"
    return "new" if hashlib.sha256(data).hexdigest() == whole else "partial"


def _opens(path: Path) -> bool:
    import zipfile

    try:
        with zipfile.ZipFile(path) as archive:
            return archive.testzip() is None
    except zipfile.BadZipFile:
        return False


def _furnish(folder: Path) -> None:
    rng = random.Random("kills")
    rows = [
        f"{token(rng, 8)},{rng.randint(18, 90)},{rng.randint(10000, 10999)},{rng.choice('abcdef')}"
        for _ in range(4000)
    ]
    (folder / "data.csv").write_text("name,age,zip,ill\n" + "\n".join(rows) + "\n")


def _words(name: str) -> list[str]:
    return [
        *(sys.executable, "-m", "shoal", "anonymize", "data.csv", "-o", name, "--k", "4"),
        *(*ROLES, "--algorithm", "mondrian", "--seed", "3", "--certificate", "c.json", "--quiet"),
        "--replace",
    ]


@cache
def _undisturbed(name: str) -> tuple[str, float]:
    """Return the hash of the output of a run that nobody disturbs, and how long it takes."""
    from fuzz.parts import empty_folder

    _compile()
    with empty_folder() as folder:
        _furnish(folder)
        began = time.monotonic()
        subprocess.run(_words(name), cwd=folder, check=True, capture_output=True)
        seconds = time.monotonic() - began
        return hashlib.sha256((folder / name).read_bytes()).hexdigest(), seconds


@cache
def _compile() -> None:
    """See to it that the kernels are on the disk, so that a run takes the time of a run."""
    from fuzz.parts import empty_folder

    with empty_folder() as folder:
        _furnish(folder)
        subprocess.run(_words("safe.csv"), cwd=folder, check=True, capture_output=True)


# -- full disks ---------------------------------------------------------------------------------


def run_full(seed: str, folder: Path) -> Outcome:
    """Write to a place that runs out of room."""
    rng = random.Random(seed)
    name = rng.choice(("safe.csv", "safe.parquet", "safe.csv.gz", "safe.xlsx", "safe.arrow"))
    _undisturbed(name)
    _furnish(folder)
    way = rng.choice(("limit", "limit", "device", "small"))
    if way == "device":
        return _to_device(name, folder)
    target = folder / "target"
    target.mkdir()
    size = rng.choice((0, 1, 4, 16, 32)) << 10
    mounted = way == "small" and os.getuid() == 0 and _mount(target, max(size, 8192))
    try:
        return _into(target, name, folder, None if mounted else size)
    finally:
        if mounted:
            subprocess.run([_tool("umount"), str(target)], check=False, capture_output=True)


def _into(target: Path, name: str, folder: Path, limit: int | None) -> Outcome:
    old = target / name
    old.write_bytes(OLD)

    def limited() -> None:
        if limit is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    words = [word if word != name else str(old) for word in _words(name)]
    words[words.index("c.json")] = str(target / "c.json")
    done = subprocess.run(
        words, cwd=folder, capture_output=True, preexec_fn=limited, timeout=LAST, check=False
    )
    note = f"{'mount' if limit is None else 'limit'} {done.returncode}"
    problems = []
    if done.returncode not in (0, 2):
        problems.append(f"exit status {done.returncode}: {done.stderr[-800:]!r}")
    if done.returncode == 2 and done.stderr.count(b"Error:") != 1:
        problems.append(f"not one sentence: {done.stderr[-800:]!r}")
    if done.returncode and old.read_bytes() != OLD:
        problems.append("the old file is gone")
    left = [path.name for path in target.iterdir() if path.name != name]
    if done.returncode and left:
        problems.append(f"left behind: {left}")
    return Outcome(BROKEN if problems else HELD, problems, note)


def _to_device(name: str, folder: Path) -> Outcome:
    words = _words(name)
    words[words.index("-o") + 1] = "-"
    words += ["--output-format", name.partition(".")[2]]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            words, cwd=folder, stdout=full, stderr=subprocess.PIPE, timeout=LAST, check=False
        )
    problems = []
    if done.returncode not in (1, 2):
        problems.append(f"exit status {done.returncode}: {done.stderr[-800:]!r}")
    if b"Traceback" in done.stderr:
        problems.append(f"a traceback: {done.stderr[-800:]!r}")
    if (folder / "c.json").exists():
        problems.append("a certificate of a table that was not written")
    return Outcome(BROKEN if problems else HELD, problems, f"device {done.returncode}")


def _tool(name: str) -> str:
    return shutil.which(name) or name


def _mount(target: Path, size: int) -> bool:
    words = [_tool("mount"), "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(target)]
    try:
        return subprocess.run(words, check=False, capture_output=True).returncode == 0
    except OSError:
        return False
