"""The page about long hunts, `docs/results/fuzz.md`, from the counts that are stored.

`python -m fuzz.page RUN/summary.json ...` stores the counts of runs in `fuzz/results` and writes
the page; `python -m benchmarks.redraw` writes it again. Inputs that failed are run again first,
with the code as it is now; the page says which, and `--why` what was wrong.
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.draw.tables import table

from fuzz.campaign import PARTS, commit, limit_memory, run_one
from fuzz.parts import FAILURES, HELD, REFUSED

ROOT = Path(__file__).parents[1]
STORED = ROOT / "fuzz" / "results" / "hunts.json.gz"
VERDICTS = (HELD, REFUSED, *FAILURES)
_FIRST_PARTS = {"releases", "order", "commands", "damage", "threads", "kills", "disk"}
"""A run that has these was not told which parts to make."""

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


OVER_TIME = """\
A small world is simulated month by month: people come, go, come back and change. Each month is
released beside the earlier ones, from memory or from kept files, with or without l, t and alpha,
and with other numbers now and then; sometimes a release is missing from the chain. The attacker has
every table and certificate, knows who is in which group, and intersects: people who are in all
groups of somebody, values that all of them show, who came into a group with whom, what a later
table undoes. Sets and counting, in the truth of the simulation.""".replace("\n", " ")
FURTHER = """\
Rows that came later are applied once or twice, from memory or from a kept file, with people of
several rows or without. Promises are counted on the new table alone and on all tables as one, in
people where the truth has people, and a row that is neither published nor waits is
missed.""".replace("\n", " ")
POPULATIONS = """\
k-map and δ-presence with missing values in table and population, with codes for them in files,
trees published as nodes or as values, and counts: whom of the population each published cell
covers is counted one by one.""".replace("\n", " ")
EXTREMES = """\
Floats from the smallest to the largest, zeros with a sign, whole numbers at the ends of 64 bits,
on steps and powers. A published cell must cover the value it stands for and end on lines that are
derived with fractions.""".replace("\n", " ")
VISITORS = """\
Servers with a key and with a password, over HTTP. The owner looks, makes messages wait and drops
job files that name files elsewhere; nobody and somebody with a used key, a cookie of another
server or what the owner's browser sends to other ports ask for every page. No byte of the table,
of a name or of a message may come back, and nothing may change.""".replace("\n", " ")
HANDMADE = """\
Tables in which a reader tells rows apart (formats of cells, a key twice, another spelling) must
not hold; what lies beside a table (sheets, comments, metadata, an index, unused levels) must be
named, and must not hold with `--strict`. Release files are changed below a hash that is right.
Every answer is one sentence and a status of 0, 1 or 2.""".replace("\n", " ")
NARROWER = """\
Random tables with an option each that changes what a group is: attackers who know one to three
columns, chosen combinations, strata, exact cells that are shuffled. In what was written every
combination is counted by sets, with the promises about sensitive values in each of its classes; a
stratum must be published exactly; a shuffled group must have its k rows, and columns no cell that
no row has.""".replace("\n", " ")
LINKED = """\
Trees of one to four tables, with lists of codes, missing cells and rows that hang from nobody, go
from a folder to a folder by a job. What was written is joined, and of every person every choice of
one to three events is written down: k people must have events that tell the same and hang together
alike. Names and keys of the input may stand nowhere.""".replace("\n", " ")
NOTED = (
    ("Releases over time", OVER_TIME, {"sequences": "what was published"}),
    ("Further rows", FURTHER, {"further": "counted in"}),
    ("Populations", POPULATIONS, {"populations": "promise and what a tree publishes"}),
    ("Known columns, strata, shuffled cells", NARROWER, {"narrower": "what was asked"}),
    ("Several tables", LINKED, {"linked": "tables and known events"}),
    ("Ends of floating point", EXTREMES, {"extremes": "written to"}),
    ("Visitors", VISITORS, {"visitors": "what the owner did"}),
    ("Files by hand", HANDMADE, {"handmade": "file or fault", "kept": "file and command"}),
)


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
        *_again(runs),
        REFUSALS,
        "",
        "## Parts",
        "",
        *_parts(runs),
        "",
        *_noted(runs),
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


def _again(runs: list[dict[str, Any]]) -> list[str]:
    """Tell of inputs that failed in a run and were run again later."""
    lines = []
    for run in runs:
        again = run.get("again", [])
        which = [f"`{each['seed']}` ({each['was']}, then {each['now']})" for each in again]
        text = (
            f"In the run of {run['date']} {len(again)} failed at first: {', '.join(which)}. "
            f"{run.get('why', '')} They were run again at commit {run.get('again_at', '')}, and "
            "count as they ended then."
        )
        lines += [text, ""] if again else []
    return lines


def run_again(run: dict[str, Any], failures: Path, why: str) -> dict[str, Any]:
    """Run the inputs of a hunt that failed once more; return its counts as they are then."""
    if not failures.exists():
        return run
    again = []
    parts = {name: Counter(counts) for name, counts in run["parts"].items()}
    for line in failures.read_text(encoding="utf-8").splitlines():
        failure = json.loads(line)
        with tempfile.TemporaryDirectory() as folder:
            now = run_one(failure["seed"], Path(folder)).verdict
        again.append({"seed": failure["seed"], "was": failure["verdict"], "now": now})
        counts = parts[failure["seed"].partition(":")[0]]
        counts[failure["verdict"]] -= 1
        counts[now] += 1
    if not again:
        return run
    failed = sum(each["now"] in FAILURES for each in again)
    kept = {name: {v: n for v, n in counts.items() if n} for name, counts in parts.items()}
    more = {"again": again, "why": why, "again_at": commit()}
    return {**run, "parts": kept, "failures": failed, **more}


def _run(run: dict[str, Any]) -> list[object]:
    processes = f" --processes {run['processes']}" if "processes" in run else ""
    asked = run["asked_inputs"]
    length = f"--minutes {run['minutes']:g}" if asked is None else f"--inputs {asked}"
    parts = "" if set(run["parts"]) >= _FIRST_PARTS else f" --parts {','.join(run['parts'])}"
    command = f"`python -m fuzz {length}{processes} --seed {run['seed']}{parts}`"
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
        if counts:
            rows.append([f"{name}: {part.title}", f"{sum(counts.values()):,}", *numbers])
    return list(table(["part", "inputs", *VERDICTS], rows))


def _noted(runs: list[dict[str, Any]]) -> list[str]:
    """Tell what parts were about that have no table of their own, with what was noted."""
    lines = []
    for title, text, parts in NOTED:
        tables = []
        for part, what in parts.items():
            counts = _notes(runs, part)
            rows = [[note, f"{number:,}"] for note, number in sorted(counts.items()) if note]
            tables += [*table([what, "inputs"], rows), ""] if rows else []
        lines += [f"## {title}", "", text, "", *tables] if tables else []
    return lines


def _notes(runs: list[dict[str, Any]], part: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    for run in runs:
        counts.update(run["notes"].get(part, {}))
    return counts


def _releases(runs: list[dict[str, Any]]) -> list[str]:
    counts: Counter[tuple[str, str]] = Counter()
    for note, number in _notes(runs, "releases").items():
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
        counts = _notes(runs, part)
        found = ", ".join(f"{note}: {number}" for note, number in sorted(counts.items()) if note)
        rows.append([f"{part}, {what}", found])
    return list(table(["part", "processes"], rows))


def stored() -> list[dict[str, Any]]:
    """Return the runs whose counts are stored."""
    found: list[dict[str, Any]] = json.loads(gzip.decompress(STORED.read_bytes()))
    return found


def main(words: list[str] | None = None) -> None:
    """Store the counts of runs, if any are given, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.page", description=__doc__)
    parser.add_argument("summaries", nargs="*", type=Path, help="RUN/summary.json")
    parser.add_argument("--why", default="", help="what was wrong with inputs that failed")
    said = parser.parse_args(words)
    if said.summaries:
        limit_memory()
        runs = [
            run_again(
                json.loads(path.read_text(encoding="utf-8")),
                path.with_name("failures.jsonl"),
                said.why,
            )
            for path in said.summaries
        ]
        STORED.parent.mkdir(exist_ok=True)
        STORED.write_bytes(gzip.compress(json.dumps(runs, indent=1).encode(), mtime=0))
    target = ROOT / "docs" / "results" / "fuzz.md"
    target.write_text(page(stored()), encoding="utf-8")


if __name__ == "__main__":
    main()
