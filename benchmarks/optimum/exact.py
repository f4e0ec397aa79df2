"""The least loss of any grouping of a small table, by column generation.

A release is a choice of groups that together hold every row once. The relaxation, in which groups
may be chosen by fractions, is a linear programme with a column per possible group; HiGHS solves it
over the groups found so far, and its prices say which group is missing: for every closure, the rows
inside that are charged more than it costs, and at least the k dearest. When no closure gives a
cheaper group, the relaxation is solved, and no release is below it. Whole groups are then chosen
among those found; if they cost as much as the relaxation, they are the optimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csc_matrix

from shoal.table.closure import IntervalClosures, TreeClosures

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.measure.base import CostMeasure
    from shoal.table.encode import Attribute, EncodedTable

PER_ROUND = 400
"""Groups that are added at a time."""
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Optimum:
    """What is known of the least loss: no release is below ``least``, and one has ``found``."""

    least: float
    found: float


def solve(table: EncodedTable, k: int, measure: CostMeasure, start: NDArray[np.int64]) -> Optimum:
    """Return the least score of any grouping into groups of at least k, nobody left out.

    Args:
        table: a few hundred rows at most, with columns of few values.
        k: smallest allowed group.
        measure: one whose costs do not look at sensitive values.
        start: group of every row: where the search begins.
    """
    inside, cost = _closures(table, k, measure)
    groups, costs = _of_labels(start, inside, cost)
    while True:
        matrix = csc_matrix(np.array(groups, np.float64).T)
        done = linprog(costs, A_eq=matrix, b_eq=np.ones(table.n_rows), method="highs")
        prices = done.eqlin.marginals
        more = _cheaper(inside, cost, prices, k)
        if not more:
            break
        for group, price in more:
            groups.append(group)
            costs.append(price)
    whole = milp(
        costs,
        constraints=LinearConstraint(csc_matrix(np.array(groups, np.float64).T), 1, 1),
        integrality=np.ones(len(costs)),
        bounds=Bounds(0, 1),
        options={"time_limit": 60, "mip_rel_gap": 1e-9},
    )
    constants = sum(a.weight * measure.constant(a) for a in table.attributes)
    share = table.n_rows * table.weights.sum() if measure.per_cell else 1.0
    return Optimum(float(done.fun - constants) / share, float(whole.fun - constants) / share)


def _closures(
    table: EncodedTable, k: int, measure: CostMeasure
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return the rows inside each closure of at least k rows, and what it costs per row."""
    inside = np.ones((1, table.n_rows), bool)
    cost = np.zeros(1)
    for attribute in table.attributes:
        rows, own = _of_column(attribute, measure, table)
        inside = (inside[:, None] & rows[None]).reshape(-1, table.n_rows)
        cost = (cost[:, None] + attribute.weight * own[None]).reshape(-1)
        enough = inside.sum(axis=1) >= k
        inside, cost = inside[enough], cost[enough]
        order = np.argsort(cost, kind="stable")  # of closures of the same rows, the cheapest
        _, first = np.unique(np.packbits(inside[order], axis=1), axis=0, return_index=True)
        inside, cost = inside[order][first], cost[order][first]
    return inside, cost


def _of_column(
    attribute: Attribute, measure: CostMeasure, table: EncodedTable
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    form, codes = measure.form(attribute, None, table), attribute.codes.astype(np.int64)
    assert not attribute.has_missing
    if attribute.algebra == "interval":
        seen = np.unique(codes)
        low, high = (seen[each] for each in np.triu_indices(len(seen)))
        closed: Any = IntervalClosures(low, high, np.zeros(len(low), bool))
        return (low[:, None] <= codes) & (codes <= high[:, None]), form.cost(closed)
    taxonomy = attribute.taxonomy
    assert taxonomy is not None
    node = np.arange(taxonomy.n_nodes)
    first, last = taxonomy.first_leaf, taxonomy.last_leaf
    closed = TreeClosures(node.astype(np.int32), taxonomy.n_leaves, taxonomy.n_nodes)
    return (first[:, None] <= codes) & (codes <= last[:, None]), form.cost(closed)


def _of_labels(
    labels: NDArray[np.int64], inside: NDArray[np.bool_], cost: NDArray[np.float64]
) -> tuple[list[NDArray[np.bool_]], list[float]]:
    groups, costs = [], []
    for label in np.unique(labels):
        rows = labels == label
        covers = inside[:, rows].all(axis=1)
        groups.append(rows)
        costs.append(float(rows.sum() * cost[covers].min()))
    return groups, costs


def _cheaper(
    inside: NDArray[np.bool_], cost: NDArray[np.float64], prices: NDArray[np.float64], k: int
) -> list[tuple[NDArray[np.bool_], float]]:
    """Return groups that cost less than their rows are charged, the most promising ones."""
    order = np.argsort(-prices, kind="stable")
    ranked = inside[:, order]
    place = np.cumsum(ranked, axis=1)
    taken = ranked & ((place <= k) | (prices[order] > cost[:, None]))
    gain = (taken * (prices[order] - cost[:, None])).sum(axis=1)
    best = np.argsort(-gain, kind="stable")[:PER_ROUND]
    found, seen = [], set()
    for b in best[gain[best] > TOLERANCE]:
        rows = np.zeros(inside.shape[1], bool)
        rows[order[taken[b]]] = True
        if rows.tobytes() not in seen:
            seen.add(rows.tobytes())
            found.append((rows, float(rows.sum() * cost[b])))
    return found
