"""Lin and Wei's clustering stage alone, written down plainly, with its parts switchable.

Their text gives reasons for each part of the stage (sorting, moving centroids, distances that grow
with the cluster); here each part can be left out to see what it does. Small tables only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import eight
from benchmarks.papers.eight import score

Labels = NDArray[np.int64]


@dataclass(frozen=True)
class Parts:
    """Which parts of the clustering stage are in use; all of them is Fig. 1."""

    sort: bool = True
    move: bool = True
    by_size: bool = True


def stage(frame: Any, k: int, parts: Parts, seed: int) -> dict[str, float]:
    """Return what the clusters of the clustering stage look like."""
    label = cluster(frame, k, parts, seed)
    sizes = np.bincount(label)
    _, kind, count = np.unique(
        np.stack([codes for codes, _, _ in _columns(frame)]),
        axis=1,
        return_inverse=True,
        return_counts=True,
    )
    kind = kind.ravel()
    pairs = len(np.unique(np.stack([kind, label]), axis=1)[0])
    whole = np.bincount(np.unique(np.stack([kind, label]), axis=1)[0])
    repeated = count > 1
    return {
        "together": float((whole[repeated] == 1).mean()),
        "tuples": len(count),
        "tuples_and_clusters": pairs,
        "smallest": int(sizes.min()),
        "largest": int(sizes.max()),
        "deviation": float(sizes.std()),
        "il": score(frame, label)["il"],
    }


def cluster(frame: Any, k: int, parts: Parts, seed: int) -> Labels:
    """Return the cluster of each record after Fig. 1."""
    columns = _columns(frame)
    n = frame.height
    rng = np.random.default_rng(seed)
    seeds = rng.permutation(n)[: n // k]
    label = np.full(n, -1)
    label[seeds] = np.arange(len(seeds))
    centre = [codes[seeds].astype(float) for codes, _, _ in columns]
    sizes = np.ones(len(seeds))
    order = np.lexsort([codes for codes, _, _ in reversed(columns)])
    rest = order[label[order] < 0]
    for row in rest if parts.sort else rng.permutation(rest):
        distance = np.zeros(len(seeds))
        for (codes, join, cost), where in zip(columns, centre, strict=True):
            if join is None:
                distance += np.abs(where - codes[row]) / cost
            else:
                distance += cost[join[codes[row], where.astype(int)]]
        nearest = int(np.argmin(distance * sizes if parts.by_size else distance))
        label[row] = nearest
        sizes[nearest] += 1
        if not parts.move:
            continue
        for (codes, join, _), where in zip(columns, centre, strict=True):
            if join is None:
                where[nearest] += (codes[row] - where[nearest]) / sizes[nearest]
            else:
                where[nearest] = join[codes[row], int(where[nearest])]
    return label


def _columns(frame: Any) -> list[tuple[NDArray[Any], NDArray[Any] | None, Any]]:
    """Return per column: codes, the join of each leaf and node, and cost per node or the range."""
    told = eight(frame, taxonomies=True)
    found = []
    for name in told["quasi_identifiers"]:
        cells = frame.get_column(name)
        tree = told["hierarchies"].get(name)
        if tree is None:
            values = cells.to_numpy()
            found.append((values, None, float(values.max() - values.min())))
            continue
        leaves, nodes = np.arange(tree.n_leaves), np.arange(tree.n_nodes)
        join = tree.lca_many(np.repeat(leaves, len(nodes)), np.tile(nodes, len(leaves)))
        codes = np.asarray(tree.leaf_codes(cells.to_list()))
        found.append((codes, join.reshape(len(leaves), -1), tree.height / tree.tree_height))
    return found
