"""Groups that are grown under promises, instead of merged until they hold.

Merging is the wrong way round where a promise is tight: groups of similar rows have similar
sensitive values, and only huge unions of them come near the whole table. Here the next row of a
group is the cheapest one among those that bring it nearer to the promise (after t-closeness first,
Soria-Comas et al. 2015, and SABRE, Cao et al. 2011, for any model that kernels know).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.kernels.grow import Growth, grow_groups, place_rows
from shoal.privacy.alpha_k import AlphaK
from shoal.privacy.arrays import PrivateArrays
from shoal.privacy.l_diversity import LDiversity
from shoal.privacy.t_closeness import TCloseness
from shoal.search.blocked import BlockedRows
from shoal.search.enforce import enforce, open_groups
from shoal.table.partition import Partition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.search.scan import Run
    from shoal.table.encode import EncodedTable


SLICE_WORK = 20_000_000
SLICE_ROWS = 512


def can_grow(run: Run) -> bool:
    """Return whether groups can be grown under the promises of a run.

    Not where costs look at the sensitive values. And not under a promise of which kernels know
    only whether it is kept: that of a plug-in, and distinct values, whose groups have to be
    those of a plug-in that promises the same.
    """
    return run.scanner.n_classes == 1 and all(
        isinstance(model, TCloseness | AlphaK)
        or (isinstance(model, LDiversity) and model.kind != "distinct")
        for model in run.privacy
    )


def grow_partition(table: EncodedTable, run: Run, *, free: int) -> Partition | None:
    """Return groups of at least k rows that keep every promise, or None if none can be grown.

    The first ``free`` rows of a group may be any, the others have to bring it nearer to the
    promises. Rows that are left over join where the promises still hold; if there is no such
    place, groups are merged. None also where people have several rows, and where `can_grow`
    says so.
    Deterministic; n scans of the rows that are left.
    """
    private = PrivateArrays.of(table, run.privacy)
    rules, scanner, n = private.rules, run.scanner, table.n_rows
    if not can_grow(run) or table.person is not None or n < 2 * run.k:
        return None
    label = grow_labels(table, run, private, free)
    n_groups, n_values, records = int(label.max()) + 1, len(rules.whole), scanner.records
    if not n_groups:
        return None
    left = np.flatnonzero(label < 0)
    label[left] = n_groups
    if len(left):
        start = Partition(label, n_groups + 1)
        groups = open_groups(scanner, start, private, n_groups + 1)
        scratch = scanner.scratch(n_groups + 1, n_values)
        for at in range(0, len(left), SLICE_ROWS):
            run.progress(at, len(left), "growing groups")
            chosen = left[at : at + SLICE_ROWS]
            place_rows(records, groups, rules, chosen, n_groups, scratch)
        label = groups.label
    found = Partition.from_labels(label)
    return enforce(table, found, scanner, run.k, run.privacy, run.progress)


def grow_labels(
    table: EncodedTable, run: Run, private: PrivateArrays, free: int
) -> NDArray[np.int32]:
    """Return the group of every row, −1 if it is left over."""
    scanner, rules, n = run.scanner, private.rules, table.n_rows
    growth = Growth(
        BlockedRows.cut(table, scanner, n).blocks,
        np.zeros(n, np.bool_),
        scanner.costs(),
        np.empty(n, np.int64),
        private.scratch(),
        np.empty(len(rules.whole)),
        np.full(len(rules.whole), -1, np.int64),
        np.zeros(4, np.int64),
    )
    label, query = np.full(n, -1, np.int32), scanner.query()
    more = True
    while more:
        run.progress(int(np.count_nonzero(label >= 0)), n, "growing groups")
        more = grow_groups(scanner.records, rules, run.k, free, SLICE_WORK, query, label, growth)
    return label
