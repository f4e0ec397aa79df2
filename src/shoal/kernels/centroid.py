"""Records against the centroids of many clusters (One-pass K-means)."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.kernels.jit import helper, kernel
from shoal.kernels.scan import absorb, join_scan, load_query, store_query

ZERO = np.int64(0)

__all__ = ["assign_rows", "centroid_distances", "start_clusters"]


@helper
def _add_linear(
    full: Any, place: Any, sums: Any, gaps: Any, sizes: Any, i: int, stop: int, out: Any
) -> None:
    """Add |size · x − Σx| of record i to the distance to each cluster, for every linear column.

    ``gaps[j, g]`` counts missing values in cluster g (no columns: there are none). Missing lies at
    full distance from any value, and a cluster that mixes them has no mean: it is at full distance
    from every record.
    """
    for j in range(full.shape[0]):
        x = np.int64(place[j, i])
        whole = np.int64(full[j])
        if gaps.shape[1] == 0:  # nothing is missing anywhere: a loop that vectorises
            for g in range(stop):
                out[g] += abs(sizes[g] * x - sums[j, g])
            continue
        for g in range(stop):
            if gaps[j, g] == 0 and x <= whole:
                out[g] += abs(sizes[g] * x - sums[j, g])
            elif gaps[j, g] < sizes[g] or x <= whole:
                out[g] += sizes[g] * whole


@helper
def _distances(
    space: Any,
    cols: Any,
    place: Any,
    clusters: Any,
    hists: Any,
    sums: Any,
    gaps: Any,
    sizes: Any,
    i: int,
    query: Any,
    spare: Any,
    out: Any,
) -> None:
    """Write |cluster| · D({record i, centroid}) for every cluster."""
    n = sizes.shape[0]
    load_query(space, cols, i, query)
    for y in range(hists.shape[0]):
        join_scan(space, clusters, query, y, ZERO, n, spare)
        if y == 0:
            for g in range(n):
                out[g] = hists[0, g] * np.int64(spare[g])
        else:
            for g in range(n):
                out[g] += hists[y, g] * np.int64(spare[g])
    _add_linear(space.full, place, sums, gaps, sizes, i, n, out)


@helper
def _count(
    space: Any,
    place: Any,
    classes: Any,
    hists: Any,
    sums: Any,
    gaps: Any,
    sizes: Any,
    g: int,
    i: int,
) -> None:
    """Update sums and counts of cluster g when record i joins."""
    sizes[g] += 1
    hists[classes[i], g] += 1
    for j in range(sums.shape[0]):
        x = np.int64(place[j, i])
        if gaps.shape[1] > 0 and x > np.int64(space.full[j]):
            gaps[j, g] += 1
        else:
            sums[j, g] += x


@kernel
def start_clusters(
    space: Any,
    cols: Any,
    place: Any,
    classes: Any,
    order: Any,
    starts: Any,
    clusters: Any,
    hists: Any,
    sums: Any,
    gaps: Any,
    sizes: Any,
    query: Any,
) -> None:
    """Compute the centroid of each cluster of records order[starts[g]:starts[g + 1]]."""
    hists[:] = 0
    sums[:] = 0
    gaps[:] = 0
    sizes[:] = 0
    for g in range(sizes.shape[0]):
        load_query(space, cols, order[starts[g]], query)
        for p in range(starts[g], starts[g + 1]):
            absorb(space, cols, query, order[p])
            _count(space, place, classes, hists, sums, gaps, sizes, g, order[p])
        store_query(clusters, g, query)


@kernel
def assign_rows(
    space: Any,
    cols: Any,
    place: Any,
    classes: Any,
    rows: Any,
    smallest: int,
    clusters: Any,
    hists: Any,
    sums: Any,
    gaps: Any,
    sizes: Any,
    query: Any,
    spare: Any,
    out: Any,
    label: Any,
) -> None:
    """Add each record to its closest cluster and update that centroid at once.

    While any cluster has fewer than ``smallest`` records, only such clusters are considered.
    Ties go to the lowest cluster.
    """
    n = sizes.shape[0]
    n_small = 0
    for g in range(n):
        n_small += 1 if sizes[g] < smallest else 0
    for p in range(rows.shape[0]):
        i = rows[p]
        _distances(space, cols, place, clusters, hists, sums, gaps, sizes, i, query, spare, out)
        best = np.int64(-1)
        least = np.int64(1 << 62)
        for g in range(n):
            if out[g] < least and (n_small == 0 or sizes[g] < smallest):
                least = out[g]
                best = np.int64(g)
        label[i] = best
        load_query(space, clusters, best, query)
        absorb(space, cols, query, i)
        store_query(clusters, best, query)
        _count(space, place, classes, hists, sums, gaps, sizes, best, i)
        if sizes[best] == smallest:
            n_small -= 1


@kernel
def centroid_distances(
    space: Any, place: Any, label: Any, sums: Any, gaps: Any, sizes: Any, out: Any
) -> None:
    """Write how far each record lies from the centroid of its own cluster.

    Only linear columns tell records apart: the centroid of any other column covers them all.
    """
    for i in range(label.shape[0]):
        g = label[i]
        _add_linear(
            space.full,
            place,
            sums[:, g : g + 1],
            gaps[:, g : g + 1],
            sizes[g : g + 1],
            i,
            np.int64(1),
            out[i : i + 1],
        )
