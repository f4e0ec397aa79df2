"""The page about long hunts, `docs/results/fuzz.md`, from the counts that are stored.

`python -m fuzz.page RUN/summary.json ...` stores the counts of runs in `fuzz/results` and writes
the page; `python -m benchmarks.redraw` writes it again.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.draw.tables import table

from fuzz.campaign import PARTS
from fuzz.parts import FAILURES, HELD, REFUSED

ROOT = Path(__file__).parents[1]
STORED = ROOT / "fuzz" / "results" / "hunts.json.gz"
VERDICTS = (HELD, REFUSED, *FAILURES)

REFUSALS = """\
An input is *refused* when the program rightly turns it down in a sentence: no release can keep
the promise, a file is damaged, an option is wrong. The same command and seed give the same
inputs; `python -m fuzz --replay releases:1:42` runs one of them again. What `make fuzz` finds on
the way becomes a test and is mended before a run counts.""".replace("\n", " ")
RELEASES = """\
Random tables of 2 to 400 rows, mostly below 90: numbers, decimals, dates, moments with zones,
truth values, ordered values, categories, sets, trees; missing cells with values under their mask,
empty texts beside missing ones, NaN and a zero with a sign, odd and long texts, duplicates and
outliers; none to two sensitive columns, all privacy models, all styles, ways to treat missing
values, suppression, refinement and blocks. The checker reads what was written with other
libraries. It derives k, l, t and alpha again, that every published row comes from rows of the
input, and that no text or number of the input is in any byte unless a published cell shows it.
Columns that are named after a library are releases in memory: pickled, and written from there in
a random format as well.""".replace("\n", " ")


def page(runs: list[dict[str, Any]]) -> str:
    """Return the page about these runs."""
    total = sum(run["inputs"] for run in runs)
    failures = sum(run["failures"] for run in runs)
    lines = [
        "# The hunt",
        "",
        f"{total:,} inputs, {_number(failures)} failed: "
        + ", ".join(f"{_number(_sum(runs, each))} {each}" for each in FAILURES)
        + f". Python {runs[0]['python']}, two cores that other programs used at the same time.",
        "",
        *table(["date", "commit", "command", "inputs", "seconds", "failed"], map(_run, runs)),
        "",
        REFUSALS,
        "",
        "## Parts",
        "",
        *_parts(runs),
        "",
        "## Releases",
        "",
        RELEASES,
        "",
        *_releases(runs),
        "",
        "## Stops and full disks",
        "",
        *_stops(runs),
    ]
    return "\n".join(lines) + "\n"


def _run(run: dict[str, Any]) -> list[object]:
    command = f"`python -m fuzz --inputs {run['asked_inputs']} --seed {run['seed']}`"
    counts = [f"{run['inputs']:,}", f"{run['seconds']:,}", run["failures"]]
    return [run["date"], run["commit"], command, *counts]


def _number(count: int) -> str:
    return "none" if count == 0 else f"{count:,}"


def _sum(runs: list[dict[str, Any]], verdict: str) -> int:
    return sum(counts.get(verdict, 0) for run in runs for counts in run["parts"].values())


def _parts(runs: list[dict[str, Any]]) -> list[str]:
    rows = []
    for name, part in PARTS.items():
        counts: Counter[str] = Counter()
        for run in runs:
            counts.update(run["parts"].get(name, {}))
        numbers = [f"{counts[verdict]:,}" for verdict in VERDICTS]
        rows.append([f"{name}: {part.title}", f"{sum(counts.values()):,}", *numbers])
    return list(table(["part", "inputs", *VERDICTS], rows))


def _releases(runs: list[dict[str, Any]]) -> list[str]:
    counts: Counter[tuple[str, str]] = Counter()
    for run in runs:
        for note, number in run["notes"].get("releases", {}).items():
            algorithm, _, where = note.rpartition(" ")
            counts[algorithm, where] += number
    places = sorted({where for _, where in counts if where})
    rows = [
        [algorithm, *(f"{counts[algorithm, where]:,}" for where in places)]
        for algorithm in sorted({algorithm for algorithm, _ in counts if algorithm})
    ]
    return list(table(["algorithm", *places], rows))


def _stops(runs: list[dict[str, Any]]) -> list[str]:
    rows = []
    for part, what in (("kills", "signal and exit status"), ("disk", "where and exit status")):
        counts: Counter[str] = Counter()
        for run in runs:
            counts.update(run["notes"].get(part, {}))
        found = ", ".join(f"{note}: {number}" for note, number in sorted(counts.items()) if note)
        rows.append([f"{part}, {what}", found])
    return list(table(["part", "processes"], rows))


def stored() -> list[dict[str, Any]]:
    """Return the runs whose counts are stored."""
    found: list[dict[str, Any]] = json.loads(gzip.decompress(STORED.read_bytes()))
    return found


def main(paths: list[str]) -> None:
    """Store the counts of runs, if any are given, and write the page."""
    if paths:
        runs = [json.loads(Path(path).read_text(encoding="utf-8")) for path in paths]
        STORED.parent.mkdir(exist_ok=True)
        STORED.write_bytes(gzip.compress(json.dumps(runs, indent=1).encode(), mtime=0))
    target = ROOT / "docs" / "results" / "fuzz.md"
    target.write_text(page(stored()), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
