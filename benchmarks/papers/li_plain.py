"""Li et al.'s worked examples, their lemma, and KACA as published, whose stubs can be left out."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
from numba import njit

import shoal
from benchmarks.papers.as_published import anonymize
from shoal.measure.whd import weighted_distance

if TYPE_CHECKING:
    from numpy.typing import NDArray

SUBURBS = ("4350", "4351", "4352", "4353")
TREES: dict[str, Any] = {
    "gender": ["male", "female"],
    "age": ["young", "middle", "old"],
    "postcode": shoal.Taxonomy.from_paths(
        [(suburb, "435*", "43**", "4***", "*") for suburb in SUBURBS]
    ),
}
RAW = {
    "gender": ["male", "male", "male", "female", "female", "female"],
    "age": ["middle", "middle", "young", "young", "old", "old"],
    "postcode": ["4350", "4350", "4351", "4352", "4353", "4353"],
}
PUBLISHED = {
    "modification rate, local recoding": 2 / 9,
    "modification rate, global recoding": 2 / 3,
    "Distortion(t3, t3')": 1.25,
    "Distortion(D, D')": 2.5,
    "Dist(t1, t2)": 2.5,
    "WHD(6, 4), uniform": 0.4,
    "WHD(6, 5), height": 0.0876,
    "WHD(2, 1)": 1.0,
}
"""WHD(6, 5) is printed as 0.087; (1/5) ÷ (1 + 1/2 + 1/3 + 1/4 + 1/5) = 0.0876."""


def examples() -> dict[str, float]:
    """Return our values of the numbers in `PUBLISHED`."""
    table = pl.DataFrame(RAW)
    told: dict[str, Any] = {"quasi_identifiers": table.columns, "hierarchies": TREES}
    local = shoal.score(table, [0, 0, 1, 1, 2, 2], measures=["modification-rate", "whd"], **told)
    pair = shoal.score(table[2:4], [0, 0], measures=["whd"], **told)["whd"]
    wide = anonymize(table, 2, **told, algorithm="incognito", measure="whd", shuffle=False)
    changed = sum(
        int((wide.frame.get_column(name) != table.get_column(name)).sum()) for name in RAW
    )
    uniform, height = weighted_distance(6, 0.0), weighted_distance(6, 1.0)
    return {
        "modification rate, local recoding": local["modification-rate"],
        "modification rate, global recoding": changed / (table.height * table.width),
        "Distortion(t3, t3')": pair / 2,
        "Distortion(D, D')": local["whd"],
        "Dist(t1, t2)": pair,
        "WHD(6, 4), uniform": float(uniform[2]),
        "WHD(6, 5), height": float(height[1]),
        "WHD(2, 1)": float(weighted_distance(2, 0.0)[1]),
    }


def _cost(tree: Any, beta: float) -> NDArray[np.float64]:
    """Return what each node of a tree costs: WHD from the leaves up to it."""
    found: NDArray[np.float64] = weighted_distance(tree.tree_height + 1, beta)[tree.height]
    return found


def triangles(trees: dict[str, Any], n: int) -> dict[str, float]:
    """Return how often random tuples, generalised or not, break a law of Lemma 1."""
    rng = np.random.default_rng(5)
    found = {"triples": n, "self": 0, "asymmetric": 0, "triangle": 0}
    for beta in (0.0, 1.0):
        ab, ba, bc, ac, aa = (np.zeros(n) for _ in range(5))
        for tree in trees.values():
            cost = _cost(tree, beta)
            a, b, c = rng.integers(tree.n_nodes, size=(3, n))

            def dist(x: Any, y: Any, tree: Any = tree, cost: Any = cost) -> Any:
                return 2 * cost[tree.lca_many(x, y)] - cost[x] - cost[y]

            ab += dist(a, b)
            ba += dist(b, a)
            bc += dist(b, c)
            ac += dist(a, c)
            aa += dist(a, a)
        found["self"] += int((np.abs(aa) > 1e-9).sum())
        found["asymmetric"] += int((np.abs(ab - ba) > 1e-9).sum())
        found["triangle"] += int((ac > ab + bc + 1e-9).sum())
    return found


class Lattices(NamedTuple):
    """Common ancestors and costs of the nodes of all trees, one tree after the other."""

    lca: NDArray[np.int64]  # [nodes, nodes] of each tree, flattened
    lca_start: NDArray[np.int64]
    cost: NDArray[np.float64]
    cost_start: NDArray[np.int64]
    n_nodes: NDArray[np.int64]


def _lattices(trees: list[Any]) -> Lattices:
    """Return the tables of trees under uniform weights."""
    joins, costs = [], []
    for tree in trees:
        nodes = np.arange(tree.n_nodes)
        pairs = np.repeat(nodes, len(nodes)), np.tile(nodes, len(nodes))
        joins.append(tree.lca_many(*pairs).astype(np.int64))
        costs.append(_cost(tree, 0.0))
    return Lattices(
        np.concatenate(joins),
        np.cumsum([0, *map(len, joins)])[:-1],
        np.concatenate(costs),
        np.cumsum([0, *map(len, costs)])[:-1],
        np.array([tree.n_nodes for tree in trees]),
    )


@njit
def closest_class(t, tuples, sizes, one, k, stubs):
    """Lines 4 and 5: the class at the least distance from a small one, all of them looked at."""
    best, least, taken = -1, 0.0, 0
    for two in range(sizes.shape[0]):
        if sizes[two] == 0 or two == one:
            continue
        part = sizes[two]
        if stubs and sizes[one] + sizes[two] >= 2 * k:
            part = k - sizes[one]
        far = 0.0
        for j in range(tuples.shape[0]):
            a, b, first = tuples[j, one], tuples[j, two], t.cost_start[j]
            join = t.cost[first + t.lca[t.lca_start[j] + a * t.n_nodes[j] + b]]
            far += sizes[one] * (join - t.cost[first + a])
            far += part * (join - t.cost[first + b])
        if best < 0 or far < least:
            best, least, taken = two, far, part
    return best, taken


@njit
def generalise(t, tuples, one, two):
    """Line 6: a class becomes the closest common generalisation of two."""
    for j in range(tuples.shape[0]):
        a, b = tuples[j, one], tuples[j, two]
        tuples[j, one] = t.lca[t.lca_start[j] + a * t.n_nodes[j] + b]


def kaca(frame: Any, trees: dict[str, Any], k: int, *, stubs: bool, seed: int) -> dict[str, float]:
    """Return distortion ratio and CPU seconds of Algorithm 1 as published (uniform weights).

    Rows need no names here: a class is a tuple of nodes and a number of rows.
    """
    rng = np.random.default_rng(seed)
    codes = np.stack(
        [
            trees[name].leaf_codes(frame.get_column(name).cast(str).to_list())
            for name in frame.columns
        ]
    ).astype(np.int64)
    t = _lattices([trees[name] for name in frame.columns])
    began = time.process_time()
    tuples, counts = np.unique(codes, axis=1, return_counts=True)
    sizes = counts.astype(np.int64)
    while len(small := np.flatnonzero((sizes > 0) & (sizes < k))):
        one = int(rng.choice(small))
        two, taken = closest_class(t, tuples, sizes, one, k, stubs)
        generalise(t, tuples, one, two)
        sizes[one] += taken
        sizes[two] -= taken
    seconds = time.process_time() - began
    total = sum(
        float((sizes * t.cost[first + row]).sum())
        for first, row in zip(t.cost_start, tuples, strict=True)
    )
    return {
        "ratio": total / (frame.height * frame.width),
        "seconds": seconds,
        "smallest": int(sizes[sizes > 0].min()),
    }


def plain(
    algorithm: str, frame: Any, trees: dict[str, Any], k: int, *, seed: int = 0
) -> dict[str, float]:
    """Return distortion ratio and CPU seconds of KACA or Incognito as published."""
    if algorithm == "kaca":
        kaca(frame.head(100), trees, 2, stubs=True, seed=0)  # compile
        return kaca(frame, trees, k, stubs=True, seed=seed)
    from benchmarks.papers.plain_times import plain_time
    from shoal.algorithm.base import create_algorithm

    names = frame.columns
    roles = {"quasi_identifiers": names, "hierarchies": {name: trees[name] for name in names}}
    made = create_algorithm(algorithm, {})
    found = plain_time(made.partition, frame, lambda _: roles, "whd", k, seed)
    return {
        "ratio": found["whd"] / (frame.height * frame.width),
        "seconds": found["seconds"],
    }
