"""docs/results/papers.md: all sections and the table of claims."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, get_args

from benchmarks.draw import tables
from benchmarks.papers import claims

if TYPE_CHECKING:
    from pathlib import Path

Parts = Mapping[str, tuple[ModuleType, dict[str, Any]]]
"""Per name of a part: its module and the finished content of its file."""


def write(path: Path, parts: Parts, missing: list[str]) -> None:
    """Write the page of the parts that have results."""
    path.write_text("\n".join(_lines(parts, missing)) + "\n", encoding="utf-8")


def _lines(parts: Parts, missing: list[str]) -> Iterator[str]:
    found = [c for module, content in parts.values() for c in module.claims(content["results"])]
    yield "# The papers, reproduced"
    yield ""
    yield (
        "Every experiment of four papers on k-anonymity by clustering, run again with Shoal's "
        "implementations on the same data, with the published numbers beside ours where the "
        "papers print them (their figures have no numbers, so there we test what the text says). "
        "`make papers` repeats everything, `make papers-byun` and so on one part; results of "
        "single runs are in `benchmarks/papers/results/`. Times are those of whole calls, from a "
        "table in memory to a verified release, compiling left out; where a paper speaks of time, "
        "there is also a series *as published* (one core, nothing skipped, CPU seconds of the "
        "clustering alone), and the claim is judged on that one. Within a part, runs whose "
        "times are shown run one at a time, except in the cross table (two at a time); what else "
        "the machine had to do is in the last table."
    )
    yield ""
    if any(content["quick"] for _, content in parts.values()):
        yield "**A quick run on small subsets: these numbers mean nothing.**"
        yield ""
    yield from _contents(parts, missing)
    for module, content in parts.values():
        yield f"## {module.TITLE}\n\n" + "\n".join(module.section(content["results"])).strip()
        yield ""
    yield "## The claims"
    yield ""
    yield claims.count(found) if found else "None yet."
    yield ""
    yield from claims.table(found)
    yield ""
    yield from _made_on(parts)


def _contents(parts: Parts, missing: list[str]) -> Iterator[str]:
    """Yield the parts and how their claims came out."""
    verdicts = get_args(claims.Verdict)
    rows: list[list[object]] = []
    for module, content in parts.values():
        found = [claim.verdict for claim in module.claims(content["results"])]
        title = f"[{module.TITLE}](#{_anchor(module.TITLE)})"
        rows.append([title, *(found.count(verdict) for verdict in verdicts)])
    rows += (
        [f"{name}: not measured yet (`make papers-{name}`)", *[""] * len(verdicts)]
        for name in missing
    )
    yield from tables.table(["", *(f"[{verdict}](#the-claims)" for verdict in verdicts)], rows)
    yield ""


def of_commits(content: dict[str, Any]) -> str:
    """Return how many runs of a part were made at each commit."""
    made = content.get("made", {})
    found = Counter(made.get(key) for key in content["runs"])
    before = [commit for commit in content["commits"] if commit not in found]
    listed = [f"{commit}: {n}" for commit, n in found.items() if commit is not None]
    if found[None]:
        listed.insert(0, f"{', '.join(before) or 'not noted'}: {found[None]}")
    return "; ".join(listed)


def minutes(content: dict[str, Any]) -> str:
    """Return the CPU minutes of the runs, and of how many of them they are known."""
    known = content.get("cpu", {})
    if not known:
        return "not noted"
    said = f"{sum(known.values()) / 60:.1f}"
    return said if len(known) == len(content["runs"]) else f"{said} ({len(known)} runs)"


def compared(content: dict[str, Any]) -> str:
    """Return how runs came out that were made again later, "-" if none were."""
    found = content.get("again")
    if found is None:
        return "-"
    text = "{runs} at {commit}: {same} the same".format(**found)
    return text if found["same"] == found["runs"] else f"{text}, {found['most']:.1e} apart at most"


def _anchor(title: str) -> str:
    """Return the anchor that Markdown readers give to a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _made_on(parts: Parts) -> Iterator[str]:
    yield "## Where this was measured"
    yield ""
    heads = [
        "part",
        "runs by commit of the library",
        "CPU minutes",
        "Python, numpy, numba, polars",
        "cores",
        "load when it began",
        "made again since",
    ]
    rows = []
    for name, (_, content) in parts.items():
        card = content["machine"]
        versions = ", ".join(card[key] for key in ("python", "numpy", "numba", "polars"))
        loads = ", ".join(f"{load:.1f}" for load in content["loads"])
        cores = f"{card['cores']} ({card['model']})"
        since = compared(content)
        rows.append([name, of_commits(content), minutes(content), versions, cores, loads, since])
    yield from tables.table(heads, rows)
    yield ""
    yield (
        "Made by `make papers`. Runs are stored one by one and not made again when other code "
        "changes, so each part says how many of its runs were made at which commit. CPU minutes "
        "are those of making the runs, compiling included, for runs that noted them. Seeds are "
        "part of the name of each run in the JSON files. A load well below 1 says that nothing "
        "else was running when the part began. A part with two loads was stopped and gone on "
        "with, or had its plain times made again on a quieter machine: CPU seconds of the same run "
        "beside other programs were seen to be up to 1.8 times as many. Whether the code of today "
        "still makes these numbers says `python -m benchmarks.papers.again byun 10`, which makes "
        "ten runs of a part again, chosen by chance among the short ones, and compares every "
        "digit of all but times; the last column says how that came out. Where models are trained "
        "(the two parts on the conjecture), only figures of logistic regression differ, whose "
        "solver stops where its rounding takes it; releases, rules and other models are the same."
    )
