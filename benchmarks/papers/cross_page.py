"""The tables of the cross table's part of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.draw import figures, tables
from benchmarks.papers.cross_guide import (
    complete,
    excess,
    ignoring,
    lowest,
    not_refined,
    refined,
    runs_of,
)
from benchmarks.papers.cross_run import CLASSES, PASSES, SAME, SHOWN, can_be_minimised

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def notes(results: dict[str, Any]) -> Iterator[str]:
    """Say once what an algorithm cannot minimise or does not look at."""
    same = ignoring(results)
    if same:
        yield (
            "- The same groups whatever measure is asked for: "
            f"{', '.join(figures.shown(name) for name in same)}."
        )
    errors: dict[str, list[str]] = {}
    for algorithm, minimised, k, cell, _ in runs_of(results):
        if "error" in cell:
            errors.setdefault(cell["error"], []).append(f"{algorithm}, {minimised}, k = {k}")
    for text, where in errors.items():
        yield f"- Not possible ({'; '.join(where)}): {text}"
    k = str(SHOWN)
    pairs = [
        (row["ncp"]["k"][k], row[name]["k"][k])
        for row in complete(results).values()
        for name in SAME
        if name in row
    ]
    equal = sum(a.get("same") == b.get("same") for a, b in pairs)
    yield (
        f"- With these trees {', '.join(f'`{name}`' for name in SAME)} are `ncp`, or `ncp` times "
        f"the number of cells, and minimising them gives the same groups in {equal} of "
        f"{len(pairs)} pairs of runs (k = {k}, one seed). They are not ranked: only `ncp` is, and "
        "has a table below."
    )
    scores = [m for m in results["measures"] if m not in can_be_minimised()]
    yield f"- Scores only, which no algorithm minimises: {', '.join(scores)}."
    yield (
        f"- With {' and '.join(f'`{name}`' for name in CLASSES)}, sequential clustering stops "
        f"after {PASSES} passes; its default is 100, and it would use them all."
    )


def minimised_tables(results: dict[str, Any]) -> Iterator[str]:
    """Show per algorithm the loss in the measure that was minimised, over k."""
    for name in next(iter(complete(results).values())):
        if name in SAME:
            continue
        cells = {a: row[name] for a, row in not_refined(results).items() if name in row}
        ks = list(next(iter(cells.values()))["k"])
        least = {k: lowest([entry["k"][k] for entry in cells.values()], name) for k in ks}
        rows = [
            [
                figures.shown(algorithm),
                *(_cell(entry["k"].get(k), name, least[k]) for k in ks),
                entry["mebibytes"],
            ]
            for algorithm, entry in cells.items()
        ]
        yield from tables.titled(
            f"`{name}` minimised: {name} over k, CPU seconds in brackets, and memory",
            ["algorithm", *(f"k = {k}" for k in ks), "peak MiB"],
            rows,
        )


def _cell(cell: Mapping[str, Any] | None, name: str, least: float | None) -> str:
    if cell is None or "loss" not in cell:
        return "-"
    text = f"{cell['loss'][name]:.4f}"
    if least is not None and cell["loss"][name] <= least:
        text = f"**{text}**"
    low, high = f"{cell['least'][name]:.4f}", f"{cell['most'][name]:.4f}"
    if cell["seeds"] > 1 and low != high:
        text = f"{text} [{low}, {high}]"
    gone = f", {cell['suppressed']} rows left out" if cell["suppressed"] else ""
    return f"{text} ({cell['seconds']:.1f}{gone})"


def all_measures(results: dict[str, Any]) -> Iterator[str]:
    """Show all measures at one k, for NCP and PMI."""
    names = results["measures"]
    for minimised in ("ncp", "pmi"):
        rows = []
        for algorithm, row in not_refined(results).items():
            cell = row.get(minimised, {"k": {}})["k"].get(str(SHOWN), {})
            if "loss" in cell:
                values = [f"{cell['loss'][name]:.4g}" for name in names]
                rows.append([figures.shown(algorithm), *values])
        yield from tables.titled(
            f"All measures at k = {SHOWN} where `{minimised}` is minimised",
            ["algorithm", *names],
            rows,
        )


def other_tables(results: dict[str, Any]) -> Iterator[str]:
    """Show NCP over k on the other tables, the algorithms in the order of their losses."""
    yield ""
    yield "### On other tables"
    yield ""
    yield (
        "German Credit (1,000 borrowers) and Census-Income (people of the Census Bureau's survey) "
        "come with the package, with trees for all columns but numbers, which are intervals, and "
        "have trees where whole columns are recoded. NCP minimised; every algorithm as published, "
        "three seeds where chance plays a part. Lines are in the order of their losses over all k."
    )
    for name, part in results["others"].items():
        ranked = not_refined(part)
        ks = _possible(part)
        least = {k: lowest([row["ncp"]["k"][k] for row in ranked.values()], "ncp") for k in ks}
        rows = [
            [
                figures.shown(a),
                *(_cell(ranked[a]["ncp"]["k"].get(k), "ncp", least[k]) for k in ks),
                f"{ratio.mean:.2f}",
            ]
            for a, ratio in excess(ranked, ("ncp",), ks, among=ranked).items()
        ]
        yield from tables.titled(
            f"{_called(name)}, {part['rows']:,} rows: NCP over k, CPU seconds in brackets",
            ["algorithm", *(f"k = {k}" for k in ks), "÷ least"],
            rows,
        )


def refined_table(results: dict[str, Any]) -> Iterator[str]:
    """Show what is refined, and so not ranked, beside the least loss as published."""
    yield ""
    yield "### Refined, and so not ranked"
    yield ""
    yield (
        "The last column is the mean over k of loss ÷ the least loss of all algorithms above, "
        "which are as published."
    )
    rows: list[list[object]] = []
    every = [str(k) for k in results["ks"]]
    for table, part in {"Adult": results, **results["others"]}.items():
        for label, row in refined(part).items():
            for name in row:
                if name in SAME:
                    continue
                ratio = excess({label: row}, (name,), every, among=not_refined(part)).get(label)
                found = [_cell(row[name]["k"].get(k), name, None) for k in every]
                where = [figures.shown(label), _called(table), name]
                rows.append([*where, *found, f"{ratio.mean:.2f}" if ratio else "-"])
    heads = ["", "table", "minimised", *(f"k = {k}" for k in every), "÷ least as published"]
    yield ""
    yield from tables.table(heads, rows)


def _possible(part: Mapping[str, Any]) -> list[str]:
    """Return the k at which some algorithm has a release."""
    rows = [row["ncp"]["k"] for row in part["cells"].values()]
    return [k for k in rows[0] if any("loss" in row[k] for row in rows)]


def _called(table: str) -> str:
    return table.replace("_", " ").capitalize()
