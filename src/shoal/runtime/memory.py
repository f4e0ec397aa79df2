"""How much memory the machine has for a new process, and amounts in words."""

from __future__ import annotations

import os
from pathlib import Path


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
