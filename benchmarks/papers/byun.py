"""Byun, Kamra, Bertino, Li: Figs. 6 to 11, the theorems, and what the text claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import shoal
from benchmarks.common import eight as columns
from benchmarks.draw import figures, tables
from benchmarks.papers.as_published import anonymize
from benchmarks.papers.byun_claims import PUBLISHED, all_claims
from benchmarks.papers.byun_open import as_published, dm_both, orders_table, union_table
from benchmarks.papers.eight import (
    KS,
    Variant,
    both_dm,
    plain_k_member,
    plain_mondrian,
    run,
    score,
    summary,
)
from benchmarks.papers.eight import release as release_of
from shoal.datasets import load_adult

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmarks.kept import Keep

TITLE = "Byun, Kamra, Bertino, Li: Efficient k-Anonymization Using Clustering Techniques"
VARIANTS = {
    "k-member": Variant("k-member"),
    "k-member, classification": Variant("k-member", {"class_penalty": 1.0}),
    "mondrian": Variant("mondrian", chance=False),
    "mondrian, ordered values": Variant("mondrian", told="ordered", chance=False),
    PUBLISHED: Variant("mondrian", {"cuts": "median"}, told="ordered", chance=False),
    "mondrian, cheapest cuts": Variant("mondrian", {"cuts": "cheapest"}, chance=False),
    "k-member, without taxonomies": Variant("k-member", told="flat"),
}
ORDERS: dict[str, Variant] = {
    f"{cut}, {order}": Variant("mondrian", {"cuts": cuts}, told=told, chance=False)
    for cut, cuts in (("≤ median", "median"), ("nearest boundary", "widest"))
    for order, told in (
        ("order of the tree", "ordered"),
        ("alphabet", "alphabet"),
        ("frequency", "frequency"),
        ("children of the tree", "trees"),
    )
}
"""What the paper does not print: where a column is cut, and in what order its values are."""
DRAWN = ("k-member", "k-member, classification", "mondrian", PUBLISHED)
PLAIN_KS = (2, 50, 250)
PLAIN_ROWS = 15_000  # the most over cardinality: larger ones add minutes
CARDINALITIES = (1_000, 2_500, 5_000, 10_000, 15_000, 20_000, 25_000, 30_162)
DIAMETER_KS = (5, 50)
REPEATS = 3  # of what has no chance in it: for its time only
FIGURES = {
    "byun_fig06_il": ("il", "Total-IL (sum over all records)", "Fig. 6: information loss"),
    "byun_fig07_dm": ("dm", "DM (sum of squared class sizes)", "Fig. 7: discernibility"),
    "byun_fig08_cm": ("cm", "CM (share of records)", "Fig. 8: classification metric"),
    "byun_fig09_time": ("seconds", "time (s)", "Fig. 9: execution time"),
}


def measure(keep: Keep, *, quick: bool) -> dict[str, Any]:
    """Run everything; the rows are those of adult.data, as in the papers Byun et al. refer to."""
    adult = load_adult(part="train").sample(fraction=1.0, shuffle=True, seed=1)
    ks, sizes, seeds = KS, CARDINALITIES, 5
    if quick:
        adult, ks, sizes, seeds = adult.head(400), (2, 5, 10), (200, 300, 400), 2
    over_k = {
        name: {k: _cell(keep, adult, k, name, variant, seeds) for k in ks}
        for name, variant in VARIANTS.items()
    }
    over_n = {
        name: {n: _cell(keep, adult.head(n), 5, name, VARIANTS[name], seeds) for n in sizes}
        for name in DRAWN
    }
    diameters = {
        k: {
            name: keep(f"diameters {name} k={k} seed=0", lambda k=k, v=v: _diameters(adult, k, v))
            for name, v in VARIANTS.items()
        }
        for k in (DIAMETER_KS if not quick else (5,))
    }
    plain_ks = PLAIN_KS if not quick else (2, 5)
    return {
        "orders": {
            name: {k: keep(f"order {name} k={k}", lambda k=k, v=v: run(adult, k, v, 0)) for k in ks}
            for name, v in ORDERS.items()
        },
        "plain": {
            "over_k": {k: _plain(keep, adult, k) for k in plain_ks},
            "over_n": {n: _plain(keep, adult.head(n), 5) for n in sizes if n <= PLAIN_ROWS},
        },
        "dm": {
            name: {
                k: keep(f"dm both ways {name} k={k}", lambda k=k, v=v: both_dm(adult, k, v))
                for k in ks
            }
            for name, v in VARIANTS.items()
            if name in DRAWN
        },
        "rows": adult.height,
        "seeds": seeds,
        "over_k": over_k,
        "over_n": over_n,
        "diameters": diameters,
        "union": keep("union sets k=5 seed=0", lambda: _union(adult)),
        "flat": keep("flat k=5 seed=0", lambda: _flat(adult)),
        "example": keep("example 1", _example),
    }


def _cell(
    keep: Keep, frame: Any, k: int, name: str, variant: Variant, seeds: int
) -> dict[str, float]:
    times = range(seeds if variant.chance else REPEATS)
    runs = [
        keep(
            f"{name} n={frame.height} k={k} seed={seed}",
            lambda seed=seed: run(frame, k, variant, seed),
        )
        for seed in times
    ]
    return summary(runs)


def _plain(keep: Keep, frame: Any, k: int) -> dict[str, Any]:
    n = frame.height
    return {
        "k-member": keep(f"plain k-member n={n} k={k} seed=0", lambda: plain_k_member(frame, k, 0)),
        "mondrian": keep(
            f"plain mondrian n={n} k={k}", lambda: plain_mondrian(frame, k, "ordered")
        ),
    }


def _diameters(frame: Any, k: int, variant: Variant) -> dict[str, float]:
    """Return Total-IL and the cost of Definition 1: size times largest distance inside."""
    groups = release_of(frame, k, variant, 0)[0].groups
    told = columns(frame, taxonomies=True)
    distance = []
    for name in told["quasi_identifiers"]:
        cells = frame.get_column(name)
        tree = told["hierarchies"].get(name)
        if tree is None:
            values = np.unique(cells.to_numpy())
            gaps = np.abs(values[:, None] - values[None, :]) / (values[-1] - values[0])
            codes = np.searchsorted(values, cells.to_numpy())
        else:
            leaves = np.arange(tree.n_leaves)
            common = tree.lca_many(np.repeat(leaves, len(leaves)), np.tile(leaves, len(leaves)))
            gaps = (tree.height[common] / tree.tree_height).reshape(len(leaves), -1)
            codes = tree.leaf_codes(cells.to_list())
        distance.append((gaps, codes))
    total = 0.0
    order = np.argsort(groups, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
        pairs = sum(gaps[np.ix_(codes[members], codes[members])] for gaps, codes in distance)
        total += len(members) * float(np.max(pairs))
    return {"diameters": total, "il": score(frame, groups)["il"]}


def _union(frame: Any) -> dict[str, Any]:
    """Return what Definition 5 publishes, the union of values, beside what it charges, the tree."""
    told = columns(frame, taxonomies=True)
    made = {
        categories: anonymize(
            frame,
            5,
            **told,
            algorithm="k-member",
            measure="il",
            seed=0,
            style={"categories": categories},
        )
        for categories in ("node", "values")
    }
    found: dict[str, Any] = {name: {"il": release.scores["il"]} for name, release in made.items()}
    for name, tree in told["hierarchies"].items():
        leaves = dict(zip(tree.labels, tree.leaf_count.tolist(), strict=True))
        nodes = made["node"].frame.get_column(name)
        sets = made["values"].frame.get_column(name)
        found["node"][name] = float(np.mean([leaves[cell] for cell in nodes]))
        found["values"][name] = float(np.mean([cell.count(", ") + 1 for cell in sets]))
    return found


def _flat(frame: Any) -> dict[str, float]:
    """Return Total-IL and suppressed cells where every attribute is categorical and flat."""
    names = columns(frame)["quasi_identifiers"]
    texts = frame.select(names).cast(str)
    found = anonymize(
        texts,
        5,
        quasi_identifiers=names,
        # one root over all values: the only generalisation is to suppress the cell
        hierarchies={n: shoal.Taxonomy.flat(sorted(set(texts.get_column(n)))) for n in names},
        algorithm="k-member",
        measure="il",
        seed=0,
    )
    cells = sum(int((found.frame.get_column(name) == "*").sum()) for name in names)
    return {"il": found.scores["il"], "suppressed_cells": cells, "cells": texts.height * len(names)}


def _example() -> dict[str, float]:
    """Return the distances of Example 1 (the rest of its tree is in the figure only)."""
    import polars as pl

    country = {
        "America": {"North": ["USA", "Canada"], "South": ["Peru", "Brazil"]},
        "Asia": {"West": ["Iran", "Egypt"], "East": ["India", "Japan"]},
    }
    jobs = ["Craft-repair", "Sales", "Tech-support"]
    found = {}
    for first, second, tree in (
        ("India", "USA", country),
        ("India", "Iran", country),
        ("Sales", "Tech-support", jobs),
    ):
        loss = shoal.score(
            pl.DataFrame({"value": [first, second]}),
            [0, 0],
            quasi_identifiers="value",
            hierarchies={"value": tree},
            measures=["il"],
        )["il"]
        found[f"{first}, {second}"] = loss / 2
    return found


def draw(results: dict[str, Any], folder: Path) -> list[str]:
    """Draw Figs. 6 to 11."""
    k, n = ("over_k", "k (records)"), ("over_n", "cardinality (records)")
    drawn = [
        (stem, k, what, label, f"{title} over k") for stem, (what, label, title) in FIGURES.items()
    ]
    il, seconds = "Fig. 10: information loss", "Fig. 11: execution time"
    over_n = "over cardinality, k = 5"
    drawn += [
        ("byun_fig10_il", n, "il", "Total-IL (sum over all records)", f"{il} {over_n}"),
        ("byun_fig11_time", n, "seconds", "time (s)", f"{seconds} {over_n}"),
    ]
    stems = []
    for stem, (over, x_label), what, y_label, title in drawn:
        series = {
            name: [(int(x), cell[what]) for x, cell in results[over][name].items()]
            for name in DRAWN
            if what != "seconds" or name != PUBLISHED
        }
        if what == "seconds":
            series |= _plain_series(results["plain"][over])
        stems.append(
            figures.lines(
                stem,
                folder,
                series,
                x_label=x_label,
                y_label=y_label,
                title=f"Byun et al., {title}",
                log_x=over == "over_k",
                log_y=over == "over_k" and what in {"dm", "seconds"},
            )
        )
    return stems


def _plain_series(cells: dict[str, Any]) -> dict[str, list[tuple[int, float]]]:
    return {
        f"{name}, as published": [(int(x), cell[name]["seconds"]) for x, cell in cells.items()]
        for name in ("k-member", "mondrian")
    }


def section(results: dict[str, Any]) -> Iterator[str]:
    """Yield the part of the page, below its title."""
    yield (
        f"{results['rows']:,} rows of adult.data without missing values, as in the papers that "
        "Byun et al. refer to for their preparation; age and education numeric, six categorical "
        "columns with taxonomies, salary as class. The paper prints neither the values of k nor a "
        f"number of its figures. k-member: mean of {results['seeds']} seeds (0 to "
        f"{results['seeds'] - 1}), times their median; median partitioning has no chance in it. "
        "The paper's median partitioning needs a total order of every column, so Mondrian is here "
        "three times: cutting categories at the children of their taxonomy; with *ordered values*, "
        "the order in which the taxonomy lists its leaves, at the boundary nearest to the median; "
        'and *as published*, in that order into "≤ median" and the rest. Claims are judged '
        "against every order and cut in the table of variants below. Two rows that the "
        "paper does not have: Mondrian with the *cheapest cuts*, which looks at the loss in all "
        "columns before each cut, and k-member *without taxonomies*. All groups are scored under "
        "the same trees. The class penalty, which the paper leaves open, is 1."
    )
    yield ""
    for stem, (_, _, title) in FIGURES.items():
        yield figures.picture(stem, f"{title} over k")
    yield figures.picture("byun_fig10_il", "Fig. 10: information loss over cardinality")
    yield figures.picture("byun_fig11_time", "Fig. 11: execution time over cardinality")
    for what, title, form in (
        ("il", "Total-IL (Fig. 6)", ",.0f"),
        ("dm", "DM (Fig. 7)", ",.0f"),
        ("cm", "CM (Fig. 8)", ".4f"),
        ("seconds", "Seconds (Fig. 9)", ".3f"),
    ):
        yield from _table(results["over_k"], f"{title} over k", "k", what, form)
    yield from _table(results["over_n"], "Total-IL (Fig. 10), k = 5", "rows", "il", ",.0f")
    yield from _table(results["over_n"], "Seconds (Fig. 11), k = 5", "rows", "seconds", ".3f")
    yield from as_published(results["plain"])
    yield from orders_table(results["orders"])
    yield from dm_both(results["dm"])
    yield from union_table(results["union"])


def _table(cells: dict[str, Any], title: str, over: str, what: str, form: str) -> Iterator[str]:
    heads = [f"{int(head):,}" for head in next(iter(cells.values()))]
    rows = (
        [figures.shown(name), *(f"{cell[what]:{form}}" for cell in row.values())]
        for name, row in cells.items()
        if what != "seconds" or name != PUBLISHED  # its times are in the tables as published
    )
    return tables.titled(title, [over, *heads], rows)


claims = all_claims
