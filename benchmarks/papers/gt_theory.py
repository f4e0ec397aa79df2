"""Goldberger and Tassa's worked examples and propositions, computed."""

from __future__ import annotations

from functools import lru_cache
from math import gcd
from typing import Any

import numpy as np
import polars as pl

import shoal
from benchmarks.papers.as_published import anonymize
from benchmarks.papers.gt_runs import adult, described
from shoal.algorithm.sequential import diverse_split
from shoal.datasets import adult_hierarchies

CHAINS = 40
"""Random coarsenings per proposition."""


def section_5_1() -> dict[str, Any]:
    """Return what g1 and g2 lose against the ungeneralised table, under three measures."""
    public = list("aaaabbbbc")
    private = [0, 0, 0, 1, 0, 1, 1, 1, 1]
    frame = pl.DataFrame({"D": public, "private": private})
    tables = {
        "D": [0, 0, 0, 0, 1, 1, 1, 1, 2],
        "g1": [0, 0, 0, 2, 2, 1, 1, 1, 2],
        "g2": [0, 0, 2, 0, 2, 1, 1, 1, 2],
    }
    found: dict[str, dict[str, float]] = {}
    for name, groups in tables.items():
        found[name] = dict(
            shoal.score(
                frame,
                groups,
                quasi_identifiers="D",
                sensitive="private",
                kinds={"D": "flat"},
                measures=["pmi", "mi", "lm"],
            )
        )
    return {
        name: {m: found[name][m] - found["D"][m] for m in ("pmi", "mi", "lm")}
        for name in ("g1", "g2")
    }


def table_1() -> dict[str, Any]:
    """Return the suppressed cells of the toy table, 2k records, with and without rescaling."""
    k = 10
    records = [(0, 0, 0, 0), (1, 1, 1, 0), (0, 0, 0, 2), (1, 1, 1, 2)]
    rows = [record for record in records for _ in range(k // 2)]
    names = list("wxyz")
    frame = pl.DataFrame(rows, schema=names, orient="row")
    cost = {}
    for rescale in (False, True):
        release = anonymize(
            frame,
            k,
            quasi_identifiers=names,
            algorithm="hilbert",
            algorithm_options={"rescale": rescale},
            measure="suppression",
            seed=0,
        )
        cost[str(rescale)] = round(release.scores["suppression"] * 4 * len(rows)) / k
    return {"unscaled": cost["False"], "rescaled": cost["True"]}


def monotone(*, quick: bool) -> dict[str, Any]:
    """Return how often a coarser release scores lower (better): MI, PMI, and ℓ-diversity."""
    frame = adult(quick=quick).head(4_000)
    roles = described(frame, "sequential", "salary", 14)
    del roles["drop"]
    rng = np.random.default_rng(0)
    salary = np.unique(frame.get_column("salary").to_numpy(), return_inverse=True)[1]
    falls = {"mi": 0, "pmi": 0, "diversity": 0}
    for _ in range(CHAINS if not quick else 8):
        fine = rng.integers(0, int(rng.integers(50, frame.height)), frame.height)
        pairs = rng.integers(0, fine.max() // 2 + 1, fine.max() + 1)
        coarse = pairs[fine]
        before, after = (
            shoal.score(frame, groups, measures=["mi", "pmi"], **roles) for groups in (fine, coarse)
        )
        for name in ("mi", "pmi"):
            falls[name] += after[name] < before[name] - 1e-12
        falls["diversity"] += _diversity(coarse, salary) < _diversity(fine, salary) - 1e-12
    return {"chains": CHAINS if not quick else 8, "falls": falls}


def _diversity(groups: Any, private: Any) -> float:
    counts = np.zeros((groups.max() + 1, private.max() + 1))
    np.add.at(counts, (groups, private), 1)
    counts = counts[counts.sum(axis=1) > 0]
    return float((counts.sum(axis=1) / counts.max(axis=1)).min())


def global_recoding() -> dict[str, Any]:
    """Return PMI of each column recoded level by level; the root is the last level."""
    frame = adult(quick=False)
    salary = np.unique(frame.get_column("salary").to_numpy(), return_inverse=True)[1]
    found = {}
    for name, tree in adult_hierarchies().items():
        if name not in frame.columns or name == "salary":
            continue
        leaves = tree.leaf_codes([str(cell) for cell in frame.get_column(name).to_list()])
        levels = tree.levels()[::-1]
        found[name] = [_conditional_entropy(level[leaves], salary) for level in levels]
    return found


def _conditional_entropy(nodes: Any, private: Any) -> float:
    """Return −(1/n) Σ log2 Pr(Y = S_i | X in the node of i): equation (14) for one column."""
    counts = np.zeros((nodes.max() + 1, private.max() + 1))
    np.add.at(counts, (nodes, private), 1)
    share = counts[nodes, private] / counts[nodes].sum(axis=1)
    return float(-np.log2(share).mean())


@lru_cache(maxsize=1)
def facts(*, quick: bool) -> dict[str, Any]:
    """Return ℓ0 of both private columns, ℓ1 of Algorithm 3's start, and the split of section 7."""
    frame = adult(quick=quick)
    found: dict[str, Any] = {"rows": frame.height}
    rng = np.random.default_rng(0)
    for name in ("salary", "education"):
        codes = np.unique(frame.get_column(name).to_numpy(), return_inverse=True)[1]
        counts = np.bincount(codes)
        start = diverse_split(
            codes.astype(np.int64), np.arange(len(codes)), max(1, len(codes) // 25), rng
        )
        found[name] = {
            "counts": sorted(counts.tolist()),
            "l0": len(codes) / int(counts.max()),
            "l1": _diversity(start, codes),
        }
    low, high = found["salary"]["counts"]
    found["most_exact_parts"] = gcd(low, high)
    return found
