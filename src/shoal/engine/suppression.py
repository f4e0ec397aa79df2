"""Rows that are left out so that the others lose less, as far as that is allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.engine.grouping import merge_violating, refine_for_release
from shoal.engine.layers import cheapest_groups
from shoal.errors import PromiseError
from shoal.measure.base import Grouped
from shoal.search.refine import EFFORTS
from shoal.search.suppress import (
    dearest_groups,
    dearest_rows,
    find_outliers,
    group_losses,
    marginal_losses,
)
from shoal.table.partition import SUPPRESSED, Partition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.engine.grouping import LocalWork, Regroup


ROUNDS = 5
"""So many times rows are left out for the sake of the others, and rows come back."""
LITTLE = 1e-3
"""Stop when a round lowers the loss of what is kept by less than this share."""
DEAR = 0.97
"""Rows come back if they cost less than what all but this share of the groups lose per row."""
FEW = 20
"""With an allowance of fewer than so many times k, single rows are tried, too."""


def leave_out_outliers(
    work: LocalWork, groups: Partition, regroup: Regroup, allowed: int
) -> Partition:
    """Leave out the worst outliers, group the others anew, and return whichever loses less."""
    run, n_rows = work.run, work.table.n_rows
    room = min(allowed - groups.n_suppressed, n_rows - run.k)
    if work.request.suppress_for == "kept":
        return _suppress_for_kept(work, groups, regroup, max(room, 0))
    outliers = find_outliers(run.scanner, groups, room) if room > 0 else np.empty(0, np.int64)
    if not len(outliers):
        return groups
    fewer = work.without(outliers, allowed - len(outliers))
    try:
        fewer.check_possible()
        regrouped = regroup(fewer)
    except PromiseError:
        return groups  # without these rows the promise is out of reach
    labels = np.full(n_rows, SUPPRESSED, np.int32)
    labels[np.setdiff1d(np.arange(n_rows), outliers)] = regrouped.labels
    found = Partition(labels, regrouped.n_groups, regrouped.recoded)
    before, after = (
        run.model.measure.score(Grouped(work.table, each, run.model.target))
        for each in (groups, found)
    )
    return found if after < before and found.n_suppressed <= allowed else groups


def _suppress_for_kept(
    work: LocalWork, groups: Partition, regroup: Regroup, allowed: int
) -> Partition:
    """Leave out up to ``allowed`` rows so that the others lose least; never return what loses more.

    The allowance goes to whole groups, those that lose most per row first. Then rows that were left
    out and lie in or next to what a kept group publishes anyway come back, which frees the
    allowance for further groups; and so on, as long as the kept rows lose less.

    Every promise holds for what is kept: groups are judged, merged and refined without the rows
    that are left out. If the promise is out of reach then, they stay.
    """
    best, least = groups, _mean_loss(work, groups)
    tried = [_drop_groups(work, groups, allowed)]
    if allowed < FEW * work.run.k:
        tried.append(_drop_rows(work, groups, regroup, allowed))
    for found in tried:
        if found is not None and _mean_loss(work, found) < least:
            best, least = found, _mean_loss(work, found)
    return best


def _drop_groups(work: LocalWork, groups: Partition, allowed: int) -> Partition | None:
    """Leave out dear groups, take back cheap rows, and again while that pays."""
    scanner = work.run.scanner
    best, least = None, _mean_loss(work, groups)
    for _ in range(ROUNDS):
        rows = dearest_groups(scanner, groups, allowed - groups.n_suppressed)
        settled = _settle(work, _leave_out(groups, rows))
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


def _settle(work: LocalWork, groups: Partition) -> Partition | None:
    """Keep the promises and refine without the rows that are left out; None if it cannot be."""
    out = np.flatnonzero(groups.labels == SUPPRESSED)
    kept = np.flatnonzero(groups.labels != SUPPRESSED)
    fewer = work.without(out, 0)
    asked = work.request.refine
    steps = work.algorithm.seams if asked is None else (EFFORTS[asked],)
    try:
        fewer.check_possible()
        inner = merge_violating(fewer, Partition.from_labels(groups.labels[kept]))
        for step in steps:
            inner = refine_for_release(fewer, inner, step)
        inner = merge_violating(fewer, inner)
    except PromiseError:
        return None
    labels = np.full(len(groups.labels), SUPPRESSED, np.int32)
    labels[kept] = inner.labels
    return Partition(labels, inner.n_groups)


def _drop_rows(
    work: LocalWork, groups: Partition, regroup: Regroup, allowed: int
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
