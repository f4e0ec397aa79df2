"""Tables of what Byun et al. leave open, and of the algorithms as published."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.draw import figures, tables
from benchmarks.papers.eight import span

if TYPE_CHECKING:
    from collections.abc import Iterator


def as_published(plain: dict[str, Any]) -> Iterator[str]:
    """Yield the times of plain implementations, on which claims about time are judged."""
    for what, title in (
        ("over_k", "As published: CPU seconds over k (Fig. 9), nothing skipped, clustering alone"),
        ("over_n", "As published: CPU seconds over records (Fig. 11), k = 5"),
    ):
        cells = plain[what]
        yield from tables.titled(
            title,
            ["", *(f"{int(x):,}" for x in cells)],
            [
                [figures.shown(name), *(f"{cell[name]['seconds']:.3f}" for cell in cells.values())]
                for name in ("k-member", "mondrian")
            ],
        )


def orders_table(orders: dict[str, Any]) -> Iterator[str]:
    """Yield Total-IL and CM of every order and cut, with their range."""
    ks = list(next(iter(orders.values())))
    for what, title, form in (("il", "Total-IL", ",.0f"), ("cm", "CM", ".4f")):
        rows = [[name, *(f"{row[k][what]:{form}}" for k in ks)] for name, row in orders.items()]
        spans = [span((row[k][what] for row in orders.values()), form) for k in ks]
        yield from tables.titled(
            f"Median partitioning: {title} by cut and order of values",
            ["cut, order", *ks],
            [*rows, ["range", *spans]],
        )


def dm_both(dm: dict[str, Any]) -> Iterator[str]:
    """Yield DM of groups as formed and of published rows that are alike (seed 0)."""
    ks = list(next(iter(dm.values())))
    yield from tables.titled(
        "DM of groups as formed, and of published rows that cannot be told apart (seed 0)",
        ["", "", *ks],
        [
            [figures.shown(name), classes, *(f"{row[k][classes]:,.0f}" for k in ks)]
            for name, row in dm.items()
            for classes in ("formed", "published")
        ],
    )


def union_table(union: dict[str, Any]) -> Iterator[str]:
    """Yield what a cell stands for if the node is published, and if the union of values is."""
    names = [name for name in union["node"] if name != "il"]
    yield from tables.titled(
        "Definition 5 publishes the union of values and charges the tree: values that a cell "
        "stands for, on average (k-member, k = 5)",
        ["published", "Total-IL", *names],
        [
            [what, f"{union[key]['il']:,.0f}", *(f"{union[key][name]:.2f}" for name in names)]
            for key, what in (("node", "the common node"), ("values", "the union of values"))
        ],
    )
