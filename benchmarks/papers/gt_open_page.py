"""Tables and series of what the paper leaves open, and of the algorithms as published."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.draw import figures, tables
from benchmarks.papers.criteria import range_of
from benchmarks.papers.gt_variants import DM_ROWS
from benchmarks.papers.published_numbers import AT_50

if TYPE_CHECKING:
    from collections.abc import Iterator

Points = list[tuple[float, ...]]


def figures_of_plain(plain: dict[str, Any], stem: str) -> dict[str, Points]:
    """Return the series "as published" of a figure of times."""
    rows = f", {plain['rows']:,} rows"
    if stem == "gt_fig4_dimension":
        return {
            f"sequential, as published{rows}, k = {k}": points_per_pass(row)
            for k, row in plain["over_r"].items()
        }
    over, size = (plain["over_k"], rows) if stem == "gt_fig2_runtime" else (plain["over_n"], "")
    return {
        f"{name}, as published{size}": [(int(x), cell["seconds"]) for x, cell in row.items()]
        for name, row in over.items()
    }


def points_per_pass(row: dict[str, Any]) -> Points:
    """Return the time of one pass over the number of columns, with its least and its most."""
    return [(int(r), c["pass"], c["least"], c["most"]) for r, c in row.items()]


def dimension_table(title: str, over_r: dict[str, Any]) -> Iterator[str]:
    """Yield seconds, and those of one pass, over the number of columns."""
    body = []
    for k, row in over_r.items():
        body.append([f"k = {k}, seconds", *(f"{cell['seconds']:.2f}" for cell in row.values())])
        passes = [f"{c['pass']:.3f} ({c['least']:.3f} to {c['most']:.3f})" for c in row.values()]
        body.append([f"k = {k}, seconds of one pass", *passes])
    heads = ["columns", *next(iter(over_r.values()))]
    yield from tables.titled(f"{title}: median of three seeds, least and most", heads, body)


def as_published(plain: dict[str, Any]) -> Iterator[str]:
    """Yield the times of plain implementations that look at everything."""
    yield ""
    yield (
        "Claims about time are judged on plain implementations that skip nothing, on one core: "
        f"{plain['rows']:,} rows over k, and extracts of other sizes. Ours above skip clusters "
        "that provably cannot win. CPU seconds of the clustering alone."
    )
    for what, title in (
        ("over_k", f"As published: CPU seconds over k (Fig. 2), {plain['rows']:,} rows"),
        ("over_n", f"As published: CPU seconds over records (Fig. 3), k = {plain['mark']}"),
    ):
        cells = plain[what]
        heads = [f"{int(x):,}" for x in next(iter(cells.values()))]
        yield from tables.titled(
            title,
            ["", *heads],
            [
                [figures.shown(name), *(f"{cell['seconds']:.3f}" for cell in row.values())]
                for name, row in cells.items()
            ],
        )
    title = f"As published: sequential clustering over public columns, {plain['rows']:,} rows"
    yield from dimension_table(f"{title}, CPU seconds without the last unions", plain["over_r"])


def variants(results: dict[str, Any]) -> Iterator[str]:
    """Yield what the choices that the paper does not print give, and DM in both ways."""
    mark = results["mark"]
    for name, found in results["variants"].items():
        yield from tables.titled(
            f"LM of variants of {figures.shown(name)} at k = {mark} (published: {AT_50[name]})",
            ["variant", "LM", "groups"],
            [[v, f"{cell['lm']:.3f}", f"{cell['groups']:,}"] for v, cell in found.items()],
        )
        yield ""
        yield f"Range: {range_of(found, 'lm')}."
    yield from tables.titled(
        f"DM at k = {mark} of {DM_ROWS:,} rows: groups as formed, published rows that are alike",
        ["algorithm", "formed", "published", "published ÷ formed"],
        [
            [
                figures.shown(name),
                f"{cell['formed']:,.0f}",
                f"{cell['published']:,.0f}",
                f"{cell['published'] / cell['formed']:.2f}",
            ]
            for name, cell in results["dm"].items()
        ],
    )


def balanced(rounded: dict[str, Any], facts: dict[str, Any]) -> Iterator[str]:
    """Yield what better rounding in Algorithm 3 reaches."""
    yield from tables.titled(
        "Balanced rounding in Algorithm 3 (ours): loss and diversity beyond Figs. 5 and 6",
        ["private", "l0", "demanded l", "reached", "LM", "clusters"],
        [
            [
                private,
                f"{facts[private]['l0']:.4f}",
                l,
                f"{cell['diversity']:.4f}",
                f"{cell['lm']:.3f}",
                f"{cell['groups']:,}",
            ]
            for private, row in rounded.items()
            for l, cell in row.items()
        ],
    )


def over_sites(sites: dict[str, Any]) -> Iterator[str]:
    """Yield what clustering over sites loses beside one table (section 9 announces it)."""
    central = sites["central"]
    rows: list[list[object]] = [
        ["one table", f"{central['lm']:.4f} ({central['least']:.4f} to {central['most']:.4f})"]
        + [""] * 4
    ]
    rows += (
        [
            f"{n} site{'s' if n != '1' else ''}",
            f"{c['lm']:.4f}",
            f"{c['groups']:,}",
            c["passes"],
            f"{c['messages']:,}",
            f"{c['numbers']:,}",
        ]
        for n, c in sites.items()
        if n.isdigit()
    )
    yield from tables.titled(
        f"Rows at several sites: LM of {sites['rows']:,} rows, 14 columns, k = {sites['k']}",
        ["", "LM", "groups", "rounds", "messages", "numbers in them"],
        rows,
    )


def norms(results: dict[str, Any]) -> Iterator[str]:
    """Yield the comparison of norms that section 5 leaves for later."""
    shown = {"l1": "PMI, l1", "l2": "PMI, l2", "max": "PMI, max", "mi": "MI"}
    yield from tables.titled(
        f"The norms over columns, compared (section 5): {results['norm_rows']:,} rows, eight "
        f"columns with taxonomies, k = {results['mark']}",
        [
            "minimised",
            "Π_PMI (eq. 14, less is better)",
            "l2 (eq. 16, more)",
            "max (eq. 15, more)",
            "mean entropy of a cluster",
        ],
        [
            [
                shown[name],
                *(f"{cell[what]:.4f}" for what in ("pmi", "pmi-l2", "pmi-max")),
                f"{cell['entropy']:.3f}",
            ]
            for name, cell in results["norms"].items()
        ],
    )


def by_passes(results: dict[str, Any]) -> Iterator[str]:
    """Yield what Table 3 at w = 0 is if the algorithm stops earlier, or starts or splits elsewise.

    Each also with clusters counted by their size.
    """
    rows = {f"stopped after {n} passes": cell for n, cell in results["passes"].items()}
    rows |= {f"{name}, at most 20 passes": cell for name, cell in results.get("tried", {}).items()}
    mark, at_once = str(results["mark"]), results["at_once"]
    if mark in at_once["first"]:
        rows["split at once, stopped after 1 pass"] = at_once["first"][mark]
        rows["split at once, until nothing moves"] = at_once["table_3"][mark]["0.0"]
    yield from tables.titled(
        f"Table 3 at w = 0, k = {results['mark']}: what was tried to explain the printed number",
        ["tried", "mean entropy", "weighted by size", "clusters of one value", "LM"],
        [
            [
                name,
                f"{cell['entropy']:.3f}",
                f"{cell['entropy_by_size']:.3f}",
                f"{cell['pure']:.0%}",
                f"{cell['lm']:.3f}",
            ]
            for name, cell in rows.items()
        ],
    )
