"""docs/results/papers.md: all sections and the table of claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.papers import claims

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
        "single runs are in `docs/results/papers/`. Times are those of whole calls, from a table "
        "in memory to a verified release, compiling left out; runs that are timed never share "
        "the machine with another."
    )
    yield ""
    if any(content["quick"] for _, content in parts.values()):
        yield "**A quick run on small subsets: these numbers mean nothing.**"
        yield ""
    yield from _contents(parts, missing)
    yield "## The claims"
    yield ""
    yield claims.count(found) if found else "None yet."
    yield ""
    yield from claims.table(found)
    for module, content in parts.values():
        yield ""
        yield module.section(content["results"]).strip()
    yield ""
    yield from _made_on(parts)


def _contents(parts: Parts, missing: list[str]) -> Iterator[str]:
    for module, _ in parts.values():
        yield f"- {module.TITLE}"
    for name in missing:
        yield f"- not measured yet: {name} (`make papers-{name}`)"
    yield ""


def _made_on(parts: Parts) -> Iterator[str]:
    yield "## Where this was measured"
    yield ""
    yield "| part | commits | Python, numpy, numba, polars | cores | load when it began |"
    yield "|---|---|---|---|---|"
    for name, (_, content) in parts.items():
        card = content["machine"]
        versions = ", ".join(card[key] for key in ("python", "numpy", "numba", "polars"))
        loads = ", ".join(f"{load:.1f}" for load in content["loads"])
        yield (
            f"| {name} | {', '.join(content['commits'])} | {versions} "
            f"| {card['cores']} ({card['model']}) | {loads} |"
        )
    yield ""
    yield (
        "Seeds are part of the name of each run in the JSON files. A load well below 1 says that "
        "nothing else was running when the part began."
    )
