"""What a run from a file to a file will need, and what the machine has.

The numbers are measured (`benchmarks/scale/memory.py`, table in `docs/memory.md`): memory grows
with the rows and with the columns that are read, time likewise. They are for the eight
quasi-identifiers of a census on two cores; other tables and machines differ, so the estimate is
a size, not a promise.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Need", "available_bytes", "estimate_need", "human_bytes", "human_seconds"]

# Bytes. The program itself, compiled kernels included.
_START = 400_000_000
# Per row: the order of the rows, their groups, and the sums that scores are made of.
_PER_ROW = 50
# Per row and quasi-identifier: its codes, once more in the order of the search, the columns that
# kernels read, and the published cell.
_PER_QUASI_IDENTIFIER = 9
# Per row and column that is kept as it is: as it was read, and in the order of the release.
_PER_KEPT_COLUMN = 16

# Seconds per row and column to read, to write, and for everything between but the search.
_READ = {"csv": 1.6e-7, "tsv": 1.6e-7, "parquet": 0.5e-7}
_WRITE = {"csv": 0.6e-7, "tsv": 0.6e-7, "parquet": 1.5e-7}
_OTHER_FORMAT = 5e-7
_BETWEEN = 3.5e-7
_START_SECONDS = 3.0


@dataclass(frozen=True)
class Need:
    """What a run needs.

    Attributes:
        memory: bytes at the peak.
        seconds: from file to file without the search for groups, whose time depends on the
            algorithm.
    """

    memory: int
    seconds: float


def estimate_need(
    n_rows: int,
    *,
    quasi_identifiers: int,
    kept: int,
    source: str = "csv",
    target: str = "csv",
) -> Need:
    """Return what a run of this size will need.

    Args:
        n_rows: rows of the table.
        quasi_identifiers: columns that are generalised.
        kept: other columns that are published.
        source: format that is read.
        target: format that is written.
    """
    per_row = _PER_ROW + quasi_identifiers * _PER_QUASI_IDENTIFIER + kept * _PER_KEPT_COLUMN
    columns = quasi_identifiers + kept
    per_cell = (
        _READ.get(source, _OTHER_FORMAT) + _WRITE.get(target, _OTHER_FORMAT)
    ) * columns + _BETWEEN * quasi_identifiers
    return Need(_START + n_rows * per_row, _START_SECONDS + n_rows * per_cell)


def available_bytes(root: Path = Path("/")) -> int | None:
    """Return the memory that a new process can have; None if the system does not say.

    The smallest of what the system has free, what the control group (a container) may still
    take, and what the process may have at all.

    Args:
        root: where the system's files are; another one in tests.
    """
    found = [_free(root), *_control_groups(root), _own_limit()]
    known = [each for each in found if each is not None]
    return max(min(known), 0) if known else None


def _free(root: Path) -> int | None:
    try:
        lines = (root / "proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return _physical()
    for line in lines:
        name, _, amount = line.partition(":")
        if name == "MemAvailable":
            return int(amount.split()[0]) * 1024
    return None


def _physical() -> int | None:
    # Systems without /proc say how much memory is built in, which is better than nothing.
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _control_groups(root: Path) -> list[int]:
    """Return what is left of the limit of each control group the process is in."""
    try:
        lines = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    left = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            top, names = root / "sys/fs/cgroup", ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            top = root / "sys/fs/cgroup/memory"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        group = top / path.lstrip("/")
        # A limit of a parent holds for its children too; inside a container only the top shows.
        for folder in (group, *group.parents):
            amount = _left(folder, *names)
            if amount is not None:
                left.append(amount)
            if folder == top:
                break
    return left


def _left(folder: Path, limit: str, used: str, reclaimable: str) -> int | None:
    most, now = _number(folder / limit), _number(folder / used)
    if most is None or now is None:
        return None
    return most - now + _statistic(folder / "memory.stat", reclaimable)


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):  # "max" is no limit
        return None


def _statistic(path: Path, name: str) -> int:
    """Return one line of memory.stat: files the system keeps in memory only to be quick."""
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(name + " ")), 0)


def _own_limit() -> int | None:
    try:
        import resource
    except ImportError:  # not on every system
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_DATA)
    return None if soft == resource.RLIM_INFINITY else soft


def human_bytes(amount: float) -> str:
    """Return an amount of memory in words: 1.2 GB, 340 MB."""
    return f"{amount / 1e9:.1f} GB" if amount >= 1e9 else f"{amount / 1e6:.0f} MB"


def human_seconds(seconds: float) -> str:
    """Return a time in words: 12 s, 3 min."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
