"""Li et al.'s worked examples, their lemma, and a plain KACA whose stubs can be left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

import shoal
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
    wide = shoal.anonymize(table, 2, **told, algorithm="incognito", measure="whd", shuffle=False)
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


def kaca(frame: Any, trees: dict[str, Any], k: int, *, stubs: bool, seed: int) -> dict[str, float]:
    """Return the distortion ratio of Algorithm 1, with or without stubs (uniform weights).

    Rows need no names here: a class is a tuple of nodes and a number of rows.
    """
    rng = np.random.default_rng(seed)
    codes = [
        trees[name].leaf_codes(frame.get_column(name).cast(str).to_list()) for name in frame.columns
    ]
    tuples, counts = np.unique(np.stack(codes), axis=1, return_counts=True)
    sizes = counts.astype(np.int64)
    known = [(tree, _cost(tree, 0.0)) for tree in (trees[name] for name in frame.columns)]
    while len(small := np.flatnonzero((sizes > 0) & (sizes < k))):
        one = int(rng.choice(small))
        others = sizes.copy()
        if stubs:
            others[sizes + sizes[one] >= 2 * k] = k - sizes[one]
        distance = np.zeros(len(sizes))
        joins = []
        for (tree, cost), row in zip(known, tuples, strict=True):
            join = tree.lca_many(np.full(len(row), row[one]), row)
            distance += sizes[one] * (cost[join] - cost[row[one]])
            distance += others * (cost[join] - cost[row])
            joins.append(join)
        distance[sizes == 0] = np.inf
        distance[one] = np.inf
        two = int(np.argmin(distance))
        tuples[:, one] = [join[two] for join in joins]
        sizes[one] += others[two]
        sizes[two] -= others[two]
    total = sum(
        float((sizes * cost[row]).sum()) for (_, cost), row in zip(known, tuples, strict=True)
    )
    return {"ratio": total / (frame.height * frame.width)}
