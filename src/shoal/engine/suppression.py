"""Rows left out for the sake of those that are kept.

The allowance goes to whole groups, those that lose most per row first. Then rows that were left
out and lie in or next to what a kept group publishes anyway come back, which frees the allowance
for further groups; and so on, as long as the kept rows lose less.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.engine.layers import cheapest_groups
from shoal.errors import PromiseError
from shoal.search.refine import EFFORTS
from shoal.search.suppress import dearest_groups, dearest_rows, group_losses, marginal_losses
from shoal.table.partition import SUPPRESSED, Partition

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from shoal.engine.local import LocalEngine, LocalWork


ROUNDS = 5
LITTLE = 1e-3
"""Stop when a round lowers the loss of what is kept by less than this share."""
DEAR = 0.97
"""Rows come back if they cost less than what all but this share of the groups lose per row."""
FEW = 20
"""With an allowance of fewer than so many times k, single rows are tried, too."""


def thin_for_kept(
    engine: LocalEngine,
    work: LocalWork,
    groups: Partition,
    regroup: Callable[[LocalWork], Partition],
    allowed: int,
) -> Partition:
    """Leave out up to ``allowed`` rows so that the others lose least; never return what loses more.

    Every promise holds for what is kept: groups are judged, merged and refined without the rows
    that are left out. If the promise is out of reach then, they stay.
    """
    best, least = groups, _mean_loss(work, groups)
    tried = [_drop_groups(engine, work, groups, allowed)]
    if allowed < FEW * work.run.k:
        tried.append(_drop_rows(work, groups, regroup, allowed))
    for found in tried:
        if found is not None and _mean_loss(work, found) < least:
            best, least = found, _mean_loss(work, found)
    return best


def _drop_groups(
    engine: LocalEngine, work: LocalWork, groups: Partition, allowed: int
) -> Partition | None:
    """Leave out dear groups, take back cheap rows, and again while that pays."""
    scanner = work.run.scanner
    best, least = None, _mean_loss(work, groups)
    for _ in range(ROUNDS):
        rows = dearest_groups(scanner, groups, allowed - groups.n_suppressed)
        settled = _settle(engine, work, _leave_out(groups, rows))
        if settled is None:
            break
        loss = _mean_loss(work, settled)
        if loss >= least:
            break
        much, best, least = least - loss > LITTLE * least, settled, loss
        # rows that come back may break a promise of their group, or move its mean
        if not much or work.run.privacy or scanner.points is not None:
            break
        groups = _take_back(work, settled)
    return best


def _settle(engine: LocalEngine, work: LocalWork, groups: Partition) -> Partition | None:
    """Keep the promises and refine without the rows that are left out; None if it cannot be."""
    out = np.flatnonzero(groups.labels == SUPPRESSED)
    kept = np.flatnonzero(groups.labels != SUPPRESSED)
    fewer = work.without(out, 0)
    asked = work.request.refine
    steps = work.algorithm.seams if asked is None else (EFFORTS[asked],)
    try:
        fewer.check_possible()
        inner = engine.enforce(fewer, Partition.from_labels(groups.labels[kept]))
        for step in steps:
            inner = engine.refine(fewer, inner, effort=step)
        inner = engine.enforce(fewer, inner)
    except PromiseError:
        return None
    labels = np.full(len(groups.labels), SUPPRESSED, np.int32)
    labels[kept] = inner.labels
    return Partition(labels, inner.n_groups)


def _drop_rows(
    work: LocalWork, groups: Partition, regroup: Callable[[LocalWork], Partition], allowed: int
) -> Partition | None:
    """Leave out the rows that cost their groups most, and group the others anew."""
    out = dearest_rows(work.run.scanner, groups, allowed)
    if not len(out):
        return None
    fewer = work.without(out, 0)
    try:
        fewer.check_possible()
        inner = regroup(fewer)
    except PromiseError:
        return None
    labels = np.full(len(groups.labels), SUPPRESSED, np.int32)
    labels[np.setdiff1d(np.arange(len(labels)), out)] = inner.labels
    return Partition(labels, inner.n_groups)


def _leave_out(groups: Partition, rows: NDArray[np.int64]) -> Partition:
    labels = groups.labels.copy()
    labels[rows] = SUPPRESSED
    return Partition.from_labels(labels)


def _take_back(work: LocalWork, groups: Partition) -> Partition:
    """Return the rows that cost a kept group little to that group."""
    scanner = work.run.scanner
    out = np.flatnonzero(groups.labels == SUPPRESSED)
    dear = float(np.quantile(group_losses(scanner, groups) / groups.sizes, DEAR))
    labels = groups.labels.copy()
    labels[out] = cheapest_groups(work.run, groups, out)
    rise = marginal_losses(scanner, Partition(labels, groups.n_groups))
    labels[out[rise[out] >= dear]] = SUPPRESSED
    return Partition(labels, groups.n_groups)


def _mean_loss(work: LocalWork, groups: Partition) -> float:
    """Return what a kept row loses on average."""
    kept = groups.n_rows - groups.n_suppressed
    return float(group_losses(work.run.scanner, groups).sum()) / max(kept, 1)
