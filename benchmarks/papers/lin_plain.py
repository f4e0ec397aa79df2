"""OKA and Chiu and Tsai's algorithm as published: a record is compared with every cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from benchmarks.straightforward import build_tables
from shoal.algorithm.chiu_tsai import (
    ChiuTsai,
    assign_records,
    merge_small_clusters,
    update_centres,
    update_weights,
)
from shoal.algorithm.oka import sort_records
from shoal.table.partition import Partition

if TYPE_CHECKING:
    from shoal.search.scan import Run
    from shoal.table.encode import EncodedTable


@njit
def distance(t, row, size, total, node):
    """Size of a cluster times the distance of a record to its centroid."""
    far = 0.0
    for j in range(t.codes.shape[1]):
        code, first = t.codes[row, j], t.cost_start[j]
        if t.is_tree[j]:
            joined = t.lca[t.lca_start[j] + node[j] * t.n_leaves[j] + code]
            far += size * t.cost[first + joined]
        else:
            far += abs(size * t.cost[first + code] - total[j])
    return far


@njit
def add(t, row, g, sizes, totals, nodes):
    """Let a record join a cluster: its centroid moves."""
    for j in range(t.codes.shape[1]):
        code = t.codes[row, j]
        if not t.is_tree[j]:
            totals[g, j] += t.cost[t.cost_start[j] + code]
        elif sizes[g] == 0:
            nodes[g, j] = code
        else:
            nodes[g, j] = t.lca[t.lca_start[j] + nodes[g, j] * t.n_leaves[j] + code]
    sizes[g] += 1


@njit
def start(t, label, sizes, totals, nodes):
    """Centroids of the clusters as they are."""
    for row in range(t.codes.shape[0]):
        if label[row] >= 0:
            add(t, row, label[row], sizes, totals, nodes)


@njit
def assign(t, todo, k, label, sizes, totals, nodes):
    """Lines 6 to 11 of Fig. 1 (k is 0) or 9 to 17 of Fig. 2: only small clusters while any is."""
    n_small = 0
    for g in range(sizes.shape[0]):
        if sizes[g] < k:
            n_small += 1
    for row in todo:
        best, least = -1, 0.0
        for g in range(sizes.shape[0]):
            if n_small > 0 and sizes[g] >= k:
                continue
            far = distance(t, row, sizes[g], totals[g], nodes[g])
            if best < 0 or far < least:
                best, least = g, far
        label[row] = best
        add(t, row, best, sizes, totals, nodes)
        if sizes[best] == k:
            n_small -= 1


@njit
def own_distances(t, label, sizes, totals, nodes, out):
    """How far each record lies from the centroid of its cluster."""
    for row in range(t.codes.shape[0]):
        g = label[row]
        out[row] = distance(t, row, sizes[g], totals[g], nodes[g])


def plain_oka(table: EncodedTable, run: Run) -> Partition:
    """Group the rows of a table; equals `shoal.algorithm.oka` on the same run."""
    t = build_tables(table, run)
    n, k = table.n_rows, run.k
    seeds = run.rng.permutation(n)[: n // k]
    label = np.full(n, -1, np.int64)
    label[seeds] = np.arange(len(seeds))
    order = sort_records(table)
    shape = (len(seeds), len(table.attributes))

    def clusters() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        state = np.zeros(len(seeds), np.int64), np.zeros(shape), np.zeros(shape, np.int64)
        start(t, label, *state)
        return state

    state = clusters()
    assign(t, order[label[order] < 0], 0, label, *state)
    far = np.zeros(n)
    own_distances(t, label, *state, far)
    ranked = np.lexsort((-far, label))
    sizes = state[0]
    place = np.arange(n) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    removed = ranked[place < np.repeat(sizes - k, sizes)]
    label[removed] = -1
    assign(t, run.rng.permutation(removed), k, label, *clusters())
    return Partition(label.astype(np.int32), len(seeds))


def plain_chiu_tsai(table: EncodedTable, run: Run) -> tuple[Partition, int]:
    """Group the rows as `shoal.algorithm.chiu_tsai` does, equal rows looked at one by one.

    Returns:
        The groups and the number of iterations.
    """
    n, model, limit = table.n_rows, run.model, ChiuTsai().max_iterations
    seeds = run.rng.permutation(n)[: n // run.k]
    centres = [a.codes[seeds] for a in table.attributes]
    every = np.arange(n), np.arange(n, dtype=np.int32)
    label = np.full(n, -1, np.int32)
    turns = 0
    while turns < limit:
        turns += 1
        closest = assign_records(table, run, model, centres, every, "clustering")
        if np.array_equal(closest, label):
            break
        label = closest
        model = update_weights(table, run.model, label)
        centres = update_centres(table, run.model, label, centres)
    return merge_small_clusters(table, run, label), turns
