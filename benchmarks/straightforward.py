"""k-member as an experienced user of numba would write it first: the yardstick of `run.py`.

Every step evaluates every remaining row through float tables, row by row: no bounds, no level
columns, no narrow costs. Costs are whole numbers (held as floats), the same that Shoal uses, so
that ties fall the same way and the groups must be identical.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

from shoal.measure.base import LinearForm, TreeForm
from shoal.table.partition import Partition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.search.scan import Run
    from shoal.table.encode import EncodedTable


class Tables(NamedTuple):
    """Rows as codes, and what joins cost, column after column."""

    codes: NDArray[np.int32]  # [rows, columns]
    is_tree: NDArray[np.bool_]
    cost: NDArray[np.float64]  # of each position (intervals) or node (trees), all columns
    cost_start: NDArray[np.int64]
    lca: NDArray[np.int32]  # [nodes, leaves] of each tree, flattened
    lca_start: NDArray[np.int64]
    n_leaves: NDArray[np.int64]


def build_tables(table: EncodedTable, run: Run) -> Tables:
    """Collect the tables of numbers and taxonomies without missing values."""
    cost, lca, is_tree, n_leaves = [], [], [], []
    for attribute, form, weight in zip(
        table.attributes, run.model.forms, run.model.weights, strict=True
    ):
        assert not attribute.has_missing
        factor = float(weight) * run.scanner.scale
        n_leaves.append(attribute.size)
        if isinstance(form, LinearForm):
            is_tree.append(False)
            cost.append(np.rint(form.position * factor))
            lca.append(np.empty(0, np.int32))
        else:
            assert isinstance(form, TreeForm)
            assert attribute.taxonomy is not None
            is_tree.append(True)
            cost.append(np.rint(form.node * factor))
            nodes = np.arange(attribute.taxonomy.n_nodes)[:, np.newaxis]
            leaves = np.arange(attribute.size)[np.newaxis]
            nodes, leaves = np.broadcast_arrays(nodes, leaves)
            lca.append(attribute.taxonomy.lca_many(nodes.ravel(), leaves.ravel()))
    return Tables(
        np.column_stack([a.codes.astype(np.int32) for a in table.attributes]),
        np.array(is_tree),
        np.concatenate(cost),
        np.cumsum([0, *map(len, cost)])[:-1],
        np.concatenate(lca).astype(np.int32),
        np.cumsum([0, *map(len, lca)])[:-1],
        np.array(n_leaves, np.int64),
    )


@njit
def join_cost(t, low, high, row):
    """Cost per member of (closure ∪ row)."""
    total = 0.0
    for j in range(t.codes.shape[1]):
        code = t.codes[row, j]
        if t.is_tree[j]:
            node = t.lca[t.lca_start[j] + low[j] * t.n_leaves[j] + code]
            total += t.cost[t.cost_start[j] + node]
        else:
            top = t.cost[t.cost_start[j] + max(high[j], code)]
            total += top - t.cost[t.cost_start[j] + min(low[j], code)]
    return total


@njit
def join(t, low, high, row):
    """Put a row into a closure: a node in ``low`` for trees, two codes for intervals."""
    for j in range(t.codes.shape[1]):
        code = t.codes[row, j]
        if t.is_tree[j]:
            low[j] = t.lca[t.lca_start[j] + low[j] * t.n_leaves[j] + code]
        else:
            low[j] = min(low[j], code)
            high[j] = max(high[j], code)


@njit
def grow(t, k, r, label, low, high):
    """Lines 5 to 15 of Fig. 5."""
    n = t.codes.shape[0]
    remaining = np.arange(n)
    left = n
    for c in range(n // k):
        for size in range(k):
            best = -1
            best_cost = 0.0
            for p in range(left):
                row = remaining[p]
                if size == 0:
                    cost = -join_cost(t, t.codes[r], t.codes[r], row)
                else:
                    cost = join_cost(t, low[c], high[c], row)
                if best < 0 or cost < best_cost or (cost == best_cost and row < remaining[best]):
                    best = p
                    best_cost = cost
            r = remaining[best]
            left -= 1
            remaining[best] = remaining[left]
            label[r] = c
            if size == 0:
                low[c] = t.codes[r]
                high[c] = t.codes[r]
            else:
                join(t, low[c], high[c], r)


@njit
def distribute(t, left, label, low, high, sizes):
    """Lines 16 to 21 of Fig. 5."""
    for row in left:
        best = -1
        best_rise = 0.0
        for c in range(sizes.shape[0]):
            own = 0.0
            for j in range(t.codes.shape[1]):
                first = t.cost_start[j]
                if t.is_tree[j]:
                    own += t.cost[first + low[c, j]]
                else:
                    own += t.cost[first + high[c, j]] - t.cost[first + low[c, j]]
            rise = (sizes[c] + 1) * join_cost(t, low[c], high[c], row) - sizes[c] * own
            if best < 0 or rise < best_rise:
                best = c
                best_rise = rise
        label[row] = best
        sizes[best] += 1
        join(t, low[best], high[best], row)


def straightforward_k_member(table: EncodedTable, run: Run) -> Partition:
    """Group the rows of a table; equals `shoal.algorithm.k_member` on the same run."""
    t = build_tables(table, run)
    n, k = table.n_rows, run.k
    label = np.full(n, -1, np.int32)
    low = np.empty((n // k, t.codes.shape[1]), np.int32)
    high = np.empty_like(low)
    grow(t, k, int(run.rng.integers(n)), label, low, high)
    left = np.flatnonzero(label < 0)
    if len(left):
        distribute(t, run.rng.permutation(left), label, low, high, np.full(n // k, k, np.int64))
    return Partition(label, n // k)
