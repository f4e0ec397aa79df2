"""Single runs of Goldberger and Tassa's experiments: Adult, cells kept or suppressed."""

from __future__ import annotations

from functools import lru_cache
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

import shoal
from benchmarks.common import fourteen
from benchmarks.papers.as_published import anonymize
from benchmarks.papers.as_published import (
    cpu_timed as timed,  # one thread: other programs matter little
)
from shoal.datasets import load_adult

if TYPE_CHECKING:
    from collections.abc import Mapping

ORDERED = {"mondrian", "hilbert"}
"""Algorithms that need the order of numbers; a cell is kept or suppressed all the same."""
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "sequential": ("sequential", {}),
    "agglomerative": ("agglomerative", {}),
    "k-member": ("k-member", {}),
    "k-member, goldberger-tassa": ("k-member", {"variant": "goldberger-tassa"}),
    # as published; its values have no order of their own, so the alphabet's is taken, and the
    # page prints what other orders and cuts give (gt_variants)
    "mondrian": ("mondrian", {"cuts": "median", "value_order": "code"}),
    "hilbert": ("hilbert", {}),
    "hilbert, not rescaled": ("hilbert", {"rescale": False}),
}
QUICK_ROWS = 1_500
BRIEF = 2.0  # seconds: shorter runs are timed three times


@lru_cache(maxsize=2)
def adult(*, quick: bool) -> Any:
    """Return the 45,222 rows (quick: a part) in one random order, so that a head is an extract."""
    rows = load_adult().sample(fraction=1.0, shuffle=True, seed=1)
    return rows.head(QUICK_ROWS) if quick else rows


def described(frame: Any, algorithm: str, private: str, n_columns: int) -> dict[str, Any]:
    """Return the roles of the columns: the first ``n_columns`` of the source are public."""
    roles = fourteen(frame)
    public = [c for c in roles["quasi_identifiers"] if c != private][:n_columns]
    return {
        "quasi_identifiers": public,
        "sensitive": [private],
        "drop": [c for c in frame.columns if c not in (*public, private)],
        # without kinds, numbers are intervals with an order
        "kinds": {} if algorithm in ORDERED else dict.fromkeys(public, "flat"),
    }


def run(
    variant: str,
    k: int,
    seed: int,
    *,
    quick: bool,
    rows: int | None = None,
    columns: int = 14,
    private: str = "salary",
    l: float | None = None,
    w: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return losses, diversity, passes and seconds of one run on one thread.

    Args:
        variant: a name of `VARIANTS`.
        k: smallest group.
        seed: of the run.
        quick: whether to take a small part of the table.
        rows: how many rows, all if not given.
        columns: how many public columns.
        private: the sensitive column.
        l: diversity by frequency, if demanded.
        w: weight of MI in the measure; LM is minimised if not given.
        options: further options of the algorithm.
    """
    algorithm, own = VARIANTS[variant]
    frame = adult(quick=quick)
    frame = frame if rows is None else frame.head(rows)
    roles = described(frame, algorithm, private, columns)
    cells = "suppression" if algorithm in ORDERED else "lm"
    given: dict[str, Any] = {
        "algorithm": algorithm,
        "algorithm_options": {**own, **(options or {})},
        "measure": cells if w is None else "wmi",
        "seed": seed,
        "threads": 1,
    }
    if w is not None:
        given["measure_options"] = {"w": w}
    if l is not None:
        given["privacy"] = [shoal.LDiversity(l, kind="frequency")]
        if algorithm == "sequential":
            given["algorithm_options"] = {"alpha": 0.5, **given["algorithm_options"]}
    _compile(variant, w is not None, l is not None)
    passes: set[str] = set()
    release, seconds = timed(
        frame, k, roles, **given, progress=lambda _, __, what: passes.add(what)
    )
    if variant not in _warm:
        # a full table may have costs of another type than the small one above, compiled just now
        _warm.add(variant)
        seconds = timed(frame, k, roles, **given)[1]
    times = [seconds]
    while times[0] < BRIEF and len(times) < 3:
        times.append(timed(frame, k, roles, **given)[1])
    return {
        "lm": release.scores[cells],
        "dm": release.scores["dm"],
        "groups": release.n_groups,
        "passes": sum(what.startswith("pass ") for what in passes),
        "seconds": median(times),
        **diversities(release.groups, frame.get_column(private).to_numpy()),
    }


def diversities(groups: Any, private: Any) -> dict[str, float]:
    """Return how diverse clusters are: the least 1 / frequency, the mean entropy, pure ones."""
    values, codes = np.unique(private, return_inverse=True)
    counts = np.zeros((int(groups.max()) + 1, len(values)))
    np.add.at(counts, (groups, codes), 1)
    share = counts / counts.sum(axis=1, keepdims=True)
    logs = np.log2(share, out=np.zeros_like(share), where=share > 0)
    entropy = -(share * logs).sum(axis=1)
    return {
        "diversity": float(1 / share.max()),
        "entropy": float(entropy.mean()) + 0.0,
        "entropy_by_size": float(np.average(entropy, weights=counts.sum(axis=1))) + 0.0,
        "pure": float(np.mean(share.max(axis=1) == 1)),
    }


def same_as_agglomerative(*, quick: bool) -> dict[str, Any]:
    """Return whether start clusters of one record give the agglomerative algorithm."""
    frame = adult(quick=quick).head(5_000)
    roles = described(frame, "sequential", "salary", 14)
    found = [
        anonymize(
            frame, 10, **roles, algorithm=name, algorithm_options=options, measure="lm", seed=0
        ).groups
        for name, options in (("sequential", {"alpha": 0.1}), ("agglomerative", {}))
    ]
    pairs = {tuple(pair) for pair in np.column_stack(found).tolist()}
    one_to_one = len(pairs) == len(set(found[0])) == len(set(found[1]))
    return {"rows": frame.height, "same": one_to_one, "groups": len(set(found[0]))}


_compiled: set[tuple[str, bool, bool]] = set()
_warm: set[str] = set()


def _compile(variant: str, classes: bool, private: bool) -> None:  # noqa: FBT001 - three facts
    """Run once on a few rows, so that no time holds compiling."""
    if (variant, classes, private) in _compiled:
        return
    _compiled.add((variant, classes, private))
    algorithm, options = VARIANTS[variant]
    few = adult(quick=True).head(400)
    anonymize(
        few,
        5,
        **described(few, algorithm, "salary", 14),
        algorithm=algorithm,
        algorithm_options=options,
        measure="pmi" if classes else "lm",
        privacy=[shoal.LDiversity(1.1, kind="frequency")] if private else [],
        seed=0,
        threads=1,
    )
