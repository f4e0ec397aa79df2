"""In a worker: some thousand published groups are judged from counts of their values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.publish.cells import number_groups, pack_rows
from shoal.publish.predicates import Histograms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shoal.publish.predicates import Predicate

__all__ = ["MOST_BROKEN", "Judged", "judge_share"]

MOST_BROKEN = 100
"""So many of them are named if they break a promise."""


@dataclass(frozen=True, eq=False)
class Judged:
    """One promise on one reading of a column: which counts it looks at, and by which rule."""

    which: int
    promise: int
    rule: Predicate
    at_least: bool
    whole: NDArray[np.int64]


def judge_share(
    rows: Any, n_keys: int, k: int, judged: Sequence[Judged], *, person: bool
) -> dict[str, Any]:
    """In a worker: judge all groups of a share, from counts of values."""
    import polars as pl

    table = pl.DataFrame(pl.from_arrow(rows))
    packed = pack_rows([table.get_column(f"k{number}") for number in range(n_keys)])
    groups = pl.Series("group", number_groups(packed)[0])
    numbered = table.drop([f"k{number}" for number in range(n_keys)]).with_columns(groups)
    numbered = numbered.sort("which", "group", "value")

    def of(which: int) -> tuple[NDArray[np.int64], ...]:
        own = numbered.filter(pl.col("which") == which)
        return tuple(own.get_column(name).to_numpy() for name in ("group", "value", "n"))

    _, _, sizes = of(-1)
    told: dict[str, Any] = {"groups": len(sizes), "rows": int(sizes.sum())}
    told["smallest"] = int(sizes.min())
    broken = sizes < k
    if person:
        _, _, people = of(-2)
        told["fewest"] = int(people.min())
        broken = people < k
    promises = 1 + max((each.promise for each in judged), default=-1)
    holds = [True] * promises
    worst: list[float | None] = [None] * promises
    for each in judged:
        group, value, count = of(each.which)
        first = np.flatnonzero(np.diff(group, prepend=-1))
        outcome = each.rule(Histograms(group, value, count, first, each.whole))
        broken |= ~outcome.holds
        holds[each.promise] &= bool(outcome.holds.all())
        before = worst[each.promise]
        best = min if each.at_least else max
        worst[each.promise] = outcome.worst if before is None else best(before, outcome.worst)
    every = numbered.filter(pl.col("which") == -1)
    if "bad" in every.columns:  # by a promise about the release as a whole
        broken = broken | every.get_column("bad").fill_null(value=False).to_numpy()
    own = every.get_column("own").to_numpy()
    told |= {"holds": holds, "worst": worst, "which": own[broken][:MOST_BROKEN].tolist()}
    return told | {"broken": int(broken.sum()), "broken rows": int(sizes[broken].sum())}
