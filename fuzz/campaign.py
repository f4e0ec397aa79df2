"""Runs the parts side by side, survives whatever they crash, and counts.

Inputs run in processes of their own, many to a process, so that kernels are loaded once. A process
that dies takes one input with it: that input is a crash, and a new process goes on with the next.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import selectors
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from fuzz.parts import (
    BROKEN,
    CRASHED,
    FAILURES,
    HELD,
    REFUSED,
    Outcome,
    Runner,
    crashed,
    empty_folder,
)

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Part:
    """One part of the campaign: where it lives, its share of the inputs, inputs per errand."""

    where: str
    share: float
    at_once: int
    title: str

    def runner(self) -> Runner:
        """Return the function that runs one input."""
        module, _, name = self.where.partition(":")
        found: Runner = getattr(importlib.import_module(module), name)
        return found


PARTS = {
    "sequences": Part("fuzz.sequences:run", 0.1705, 20, "releases over time, side by side"),
    "further": Part("fuzz.further:run", 0.08, 20, "further rows in the cells of a release"),
    "populations": Part("fuzz.populations:run", 0.1, 40, "promises about a population"),
    "extremes": Part("fuzz.extremes:run", 0.1, 40, "grids at the ends of floating point"),
    "visitors": Part("fuzz.visitors:run", 0.12, 100, "three kinds of visitors of the pages"),
    "handmade": Part("fuzz.handmade:run", 0.08, 40, "files made by hand, verified"),
    "kept": Part("fuzz.kept_files:run", 0.0815, 40, "damaged release files whose hash is right"),
    "releases": Part("fuzz.releases:run", 0.08, 40, "random tables, runs, styles and formats"),
    "narrower": Part("fuzz.narrower:run", 0.02, 40, "known columns, strata and shuffled cells"),
    "linked": Part("fuzz.linked:run", 0.01, 20, "several tables that hang together"),
    "order": Part("fuzz.order:run", 0.02, 20, "the same rows in another order"),
    "commands": Part("fuzz.commands:run", 0.0895, 40, "mutated command lines"),
    "damage": Part("fuzz.damage:run", 0.0475, 40, "damaged files and bombs"),
    "threads": Part("fuzz.threads:run", 0.0005, 5, "runs in threads beside each other"),
    "kills": Part("fuzz.kills:run", 0.0003, 1, "processes stopped at random moments"),
    "disk": Part("fuzz.kills:run_full", 0.0002, 1, "full disks and devices"),
}
MOST_MEMORY = 3 << 30  # bytes; no input is larger than a few hundred kilobytes
MOST_ADDRESSES = 16 << 30  # half of them are only reserved, by libraries
MOST_SECONDS = 240  # of the processor; the first run of an algorithm compiles it
if "SHOAL_FUZZ_PART" in os.environ:  # a part of one's own, as the tests of the campaign have
    PARTS["extra"] = Part(os.environ["SHOAL_FUZZ_PART"], 0.0, 10, "given by the environment")
PATIENCE = 600  # seconds without a word from a process before it counts as hanging


def seed_of(part: str, base: int, number: int) -> str:
    """Return the name of an input; everything about it follows from this text."""
    return f"{part}:{base}:{number}"


def run_one(seed: str, folder: Path | None = None) -> Outcome:
    """Run the input of a seed in this process."""
    part = PARTS[seed.partition(":")[0]]
    before, began = _peak(), time.process_time()
    try:
        if folder is not None:
            outcome = part.runner()(seed, folder)
        else:
            with empty_folder() as place:
                outcome = part.runner()(seed, place)
    except Exception as error:
        return crashed(error)
    grown, seconds = _peak() - before, time.process_time() - began
    if outcome.verdict not in FAILURES and (grown > MOST_MEMORY or seconds > MOST_SECONDS):
        took = f"a small input took {grown >> 20:,} MB and {seconds:.0f} CPU seconds"
        return Outcome(BROKEN, [took, *outcome.detail], outcome.note)
    return outcome


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


@dataclass
class Tally:
    """What has been counted so far; shared by the threads that look after processes."""

    counts: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    notes: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    failures: list[dict[str, Any]] = field(default_factory=list)
    given: Counter[str] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def inputs(self) -> int:
        """Inputs that have run."""
        return sum(sum(counts.values()) for counts in self.counts.values())

    def add(self, seed: str, outcome: Outcome, seconds: float = 0.0) -> None:
        """Count one input and how long it took."""
        part = seed.partition(":")[0]
        with self.lock:
            self.seconds[part] += seconds  # type: ignore[assignment]  # a sum, of floats
            self.counts[part][outcome.verdict] += 1
            self.notes[part][outcome.note] += 1
            if outcome.verdict in FAILURES:
                self.failures.append(
                    {"seed": seed, "verdict": outcome.verdict, "detail": outcome.detail}
                )

    def next_errand(self, parts: dict[str, Part], most: int | None) -> tuple[str, int, int] | None:
        """Return a part and the inputs of it that come next; None if all are given out."""
        total = sum(part.share for part in parts.values())
        with self.lock:
            if most is not None and sum(self.given.values()) >= most:
                return None
            name = min(parts, key=lambda p: (self.given[p] + 1) / (parts[p].share / total))
            first, count = self.given[name], parts[name].at_once
            if most is not None:
                count = min(count, most - sum(self.given.values()))
            self.given[name] += count
            return name, first, count


class Helper:
    """A process that runs inputs and tells what became of them."""

    def __init__(self) -> None:
        # A file with a name, so that it tells the input even of a hunt that somebody killed.
        self.log = tempfile.NamedTemporaryFile(prefix="shoal-fuzz-log-")  # noqa: SIM115 - see end
        reading, writing = os.pipe()
        self.process = subprocess.Popen(
            [sys.executable, "-X", "faulthandler", "-m", "fuzz", "--helper", str(writing)],
            stdin=subprocess.PIPE,
            stdout=self.log,
            stderr=self.log,
            pass_fds=[writing],
            env={"POLARS_MAX_THREADS": "1", **os.environ},  # the processes share the cores
            cwd=Path(__file__).parents[1],
        )
        os.close(writing)
        self.answers: IO[bytes] = os.fdopen(reading, "rb", buffering=0)
        self.waiting = b""

    def ask(self, seed: str) -> Outcome | None:
        """Run one input; None if the process died or hangs."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(seed.encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return None
        line = self._line()
        return None if line is None else Outcome(**json.loads(line))

    def _line(self) -> bytes | None:
        with selectors.DefaultSelector() as selector:
            selector.register(self.answers, selectors.EVENT_READ)
            while b"\n" not in self.waiting:
                if not selector.select(timeout=PATIENCE):
                    return None
                data = self.answers.read(1 << 16)
                if not data:
                    return None
                self.waiting += data
        line, _, self.waiting = self.waiting.partition(b"\n")
        return line

    def end(self) -> str:
        """End the process; return how it ended and the end of what it said."""
        hangs = self.process.poll() is None
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            self.process.wait(timeout=5)
            hangs = False
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.answers.close()
        self.log.seek(0)
        said = self.log.read()[-3000:].decode("utf-8", "replace")
        self.log.close()
        how = "it hangs" if hangs else f"exit status {self.process.returncode}"
        return f"the process is gone ({how}): {said}"


def commit() -> str:
    """Return the commit that is hunted, empty outside a repository."""
    here = Path(__file__).parent
    words = ["git", "rev-parse", "--short", "HEAD"]
    try:
        return subprocess.run(
            words, cwd=here, capture_output=True, text=True, check=False
        ).stdout.strip()
    except OSError:
        return ""


def limit_memory() -> None:
    """See to it that an input that takes all memory is a failure, not the machine's end."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_ADDRESSES, MOST_ADDRESSES))


def serve(descriptor: int) -> None:
    """Be a helper: read seeds from standard input, write what became of them."""
    limit_memory()
    with os.fdopen(descriptor, "wb", buffering=0) as answers:
        for line in sys.stdin.buffer:
            print(line.decode().strip(), flush=True)  # the last line of the log names the input
            outcome = run_one(line.decode().strip())
            answers.write(json.dumps(outcome.__dict__).encode("utf-8", "replace") + b"\n")


def run_campaign(
    *,
    seed: int,
    minutes: float | None,
    inputs: int | None,
    processes: int,
    names: list[str],
    tell: Callable[[Tally], object],
) -> Tally:
    """Run parts until the time is over or the inputs are used up; tell about it now and then."""
    parts = {name: PARTS[name] for name in names}
    tally = Tally()
    end = None if minutes is None else time.monotonic() + 60 * minutes

    def look_after() -> None:
        helper = Helper()
        while end is None or time.monotonic() < end:
            errand = tally.next_errand(parts, inputs)
            if errand is None:
                break
            name, first, count = errand
            for number in range(first, first + count):
                if end is not None and time.monotonic() > end:
                    break
                own, began = seed_of(name, seed, number), time.monotonic()
                outcome = helper.ask(own)
                if outcome is None:
                    outcome = Outcome(CRASHED, [helper.end()])
                    helper = Helper()
                tally.add(own, outcome, time.monotonic() - began)
        helper.end()

    threads = [threading.Thread(target=look_after) for _ in range(processes)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        for thread in threads:
            thread.join(timeout=30 / len(threads))
        tell(tally)
    return tally


def as_table(tally: Tally, seconds: float) -> str:
    """Return the counts as text for people."""
    verdicts = (HELD, REFUSED, *FAILURES)
    heads = ("inputs", *verdicts)
    lines = [f"{'part':<12}" + "".join(f"{head:>9}" for head in heads) + "   a second"]
    total: Counter[str] = Counter()
    for part, counts in sorted(tally.counts.items()):
        total.update(counts)
        speed = sum(counts.values()) / max(tally.seconds[part], 0.001)
        lines.append(f"{_line(part, counts, verdicts)}{speed:>11.1f}")
    lines.append(_line("all", total, verdicts))
    lines.append(f"{seconds:.0f} seconds, {sum(total.values()) / max(seconds, 1):.1f} per second")
    return "\n".join(lines)


def _line(name: str, counts: Counter[str], verdicts: tuple[str, ...]) -> str:
    numbers = [sum(counts.values()), *(counts[verdict] for verdict in verdicts)]
    return f"{name:<12}" + "".join(f"{number:>9,}" for number in numbers)


def save(tally: Tally, folder: Path, settings: dict[str, Any]) -> None:
    """Write the counts and every failing input with its seed."""
    folder.mkdir(parents=True, exist_ok=True)
    with tally.lock:
        _save(tally, folder, settings)


def _save(tally: Tally, folder: Path, settings: dict[str, Any]) -> None:
    summary = {
        **settings,
        "inputs": tally.inputs,
        "failures": len(tally.failures),
        "parts": {part: dict(counts) for part, counts in sorted(tally.counts.items())},
        "seconds_of": {part: round(each) for part, each in sorted(tally.seconds.items())},
        "notes": {
            part: dict(notes.most_common(300)) for part, notes in sorted(tally.notes.items())
        },
    }
    (folder / "summary.json").write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    failures = "".join(json.dumps(each) + "\n" for each in tally.failures)
    (folder / "failures.jsonl").write_text(failures, encoding="utf-8")
