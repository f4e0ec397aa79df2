"""What a run on Spark needs, read from /proc and from Spark's own log of events."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS = 0.5
DISK_LOOKS = 10
EXECUTOR = "CoarseGrainedExecutorBackend"
_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Process:
    """A process as it was seen last: whose child it is, its CPU seconds, its memory."""

    parent: int
    said: str
    cpu: float
    rss: int


def processes() -> dict[int, Process]:
    """Return all processes below this one, by id, each with its own CPU seconds."""
    everybody: dict[int, Process] = {}
    for each in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it may have ended
            stat = (each / "stat").read_text().rpartition(")")[2].split()
            cpu = sum(map(int, stat[11:13])) / _TICKS
            said = (each / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            pages = int((each / "statm").read_text().split()[1])
            everybody[int(each.name)] = Process(int(stat[1]), said, cpu, pages * _PAGE)
    ours: dict[int, Process] = {}
    known = {os.getpid()}
    while known:
        found = {pid: each for pid, each in everybody.items() if each.parent in known}
        ours |= found
        known = set(found)
    return ours


@dataclass
class Peaks:
    """The most memory of the driver and of each executor with its Python, and CPU seconds so far.

    An executor is told by its process; memory that two processes share is counted twice. Of a
    process that has ended counts what was seen last: not all are waited for by those that started
    them, so their CPU seconds are in nobody's sum.
    """

    executors: dict[int, int] = field(default_factory=dict)
    java: dict[int, int] = field(default_factory=dict)
    python: dict[int, int] = field(default_factory=dict)
    driver_java: int = 0
    driver_python: int = 0
    seen: dict[int, tuple[str, float]] = field(default_factory=dict)
    disk: int = 0

    @property
    def cpu(self) -> dict[str, float]:
        """CPU seconds so far, by what they were spent on."""
        used = os.times()
        found = dict.fromkeys(("driver java", "executors java", "executors python"), 0.0)
        for what, seconds in list(self.seen.values()):
            found[what] += seconds
        return found | {"driver python": used.user + used.system}

    def _note(self, pid: int, what: str, each: Process) -> None:
        if not each.said and pid in self.seen:  # it has ended, and does not say what it was
            what = self.seen[pid][0]
        self.seen[pid] = (what, each.cpu)

    def look(self) -> None:
        """Look once."""
        ours = processes()
        executors = [pid for pid, each in ours.items() if EXECUTOR in each.said]
        below: dict[int, int] = dict.fromkeys(executors, 0)
        for pid, each in ours.items():
            if pid in below:
                self._note(pid, "executors java", each)
                continue
            of = each.parent
            while of in ours and of not in below:
                of = ours[of].parent
            if of in below:
                below[of] += each.rss
                self._note(pid, "executors python", each)
            else:
                self._note(pid, "driver java", each)
                if "java" in each.said:
                    self.driver_java = max(self.driver_java, each.rss)
        for pid, python in below.items():
            both = ours[pid].rss + python
            for most, now in (
                (self.executors, both), (self.java, ours[pid].rss), (self.python, python)
            ):  # fmt: skip
                most[pid] = max(most.get(pid, 0), now)
        me = Path("/proc/self/statm").read_text().split()[1]
        self.driver_python = max(self.driver_python, int(me) * _PAGE)

    def look_at_disk(self, folder: Path) -> None:
        """Look at how much is kept there: rows between stages, shuffled and spilled ones."""
        used = 0
        for place, _, names in os.walk(folder):
            for name in names:
                with contextlib.suppress(OSError):  # it may be gone
                    used += (Path(place) / name).stat().st_blocks * 512
        self.disk = max(self.disk, used)

    def to_dict(self) -> dict[str, Any]:
        """Return mebibytes and seconds."""
        ordered = sorted(self.executors)
        return {
            "executors": [round(self.executors[pid] / 2**20) for pid in ordered],
            "executors java": [round(self.java[pid] / 2**20) for pid in ordered],
            "executors python": [round(self.python[pid] / 2**20) for pid in ordered],
            "driver java": round(self.driver_java / 2**20),
            "driver python": round(self.driver_python / 2**20),
            "disk": round(self.disk / 2**20),
            "cpu": {name: round(seconds, 2) for name, seconds in self.cpu.items()},
        }


@contextlib.contextmanager
def watching(folder: Path) -> Iterator[Peaks]:
    """Look at the processes below this one twice a second, and at a folder less often."""
    peaks, done = Peaks(), threading.Event()

    def look() -> None:
        looks = 0
        while not done.wait(SECONDS):
            peaks.look()
            looks += 1
            if looks % DISK_LOOKS == 0:
                peaks.look_at_disk(folder)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield peaks
    finally:
        done.set()
        thread.join()


def told_by_events(folder: Path) -> dict[str, Any]:
    """Return what Spark counted itself: bytes that were shuffled, spilled, handed to the driver."""
    names = {"shuffled": 0, "spilled to disk": 0, "results": 0, "input": 0, "output": 0}
    tasks = failed = stages = lost = 0
    for path in folder.iterdir():
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                if '"SparkListenerStageCompleted"' in line:
                    stages += 1
                if '"SparkListenerExecutorRemoved"' in line:
                    lost += 1
                if '"SparkListenerTaskEnd"' not in line:
                    continue
                event = json.loads(line)
                tasks += 1
                failed += event["Task End Reason"]["Reason"] != "Success"
                told = event.get("Task Metrics") or {}
                written = told.get("Shuffle Write Metrics", {})
                names["shuffled"] += written.get("Shuffle Bytes Written", 0)
                names["spilled to disk"] += told.get("Disk Bytes Spilled", 0)
                names["results"] += told.get("Result Size", 0)
                names["input"] += told.get("Input Metrics", {}).get("Bytes Read", 0)
                names["output"] += told.get("Output Metrics", {}).get("Bytes Written", 0)
    counted = {"tasks": tasks, "tasks that failed": failed, "stages": stages}
    return {**names, **counted, "executors lost": lost}
