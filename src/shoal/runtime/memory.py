"""How much memory the machine has for a new process, and amounts in words."""

from __future__ import annotations

import os
from pathlib import Path

from shoal.messages import Message


def available_bytes(root: Path = Path("/")) -> int | None:
    """Return the memory that a new process can have; None if the system does not say.

    The smallest of what the system has free, what the control group (a container) may still
    take, and what the process may have at all.

    Args:
        root: where the system's files are; another one in tests.
    """
    meminfo = _lines(root / "proc/meminfo")
    free = (line.split()[1] for line in meminfo if line.startswith("MemAvailable:"))
    found = [int(each) * 1024 for each in free] if meminfo else [_physical()]
    found += _control_groups(root)
    try:
        import resource
    except ImportError:  # not on every system
        pass
    else:
        soft, _ = resource.getrlimit(resource.RLIMIT_DATA)
        found += [] if soft == resource.RLIM_INFINITY else [soft]
    known = [each for each in found if each is not None]
    return max(min(known), 0) if known else None


def _physical() -> int | None:
    # Systems without /proc say how much memory is built in, which is better than nothing.
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _control_groups(root: Path) -> list[int]:
    """Return what is left of the limit of each control group the process is in."""
    left = []
    for line in _lines(root / "proc/self/cgroup"):
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
            most, now = (_number(folder / name) for name in names[:2])
            if most is not None and now is not None:
                # files that the system keeps in memory only to be quick count as free
                kept = map(str.split, _lines(folder / "memory.stat"))
                left.append(most - now + next((int(n) for name, n in kept if name == names[2]), 0))
            if folder == top:
                break
    return left


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):  # "max" is no limit
        return None


def human_bytes(amount: float) -> str:
    """Return an amount of memory in words: 1.2 GB, 340 MB."""
    if amount >= 1e9:
        return Message("{n:.1f} GB", n=amount / 1e9)
    return Message("{n:.0f} MB", n=amount / 1e6)


def human_seconds(seconds: float) -> str:
    """Return a time in words: 12 s, 3 min."""
    if seconds < 100:
        return Message("{n:.0f} s", n=seconds)
    return Message("{n:.0f} min", n=seconds / 60)
