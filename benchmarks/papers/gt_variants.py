"""What the paper leaves open about Mondrian and the Hilbert curve, and what each choice gives."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

import shoal
from benchmarks.papers.as_published import timed
from benchmarks.papers.gt_runs import adult, described

MONDRIAN = {
    "≤ median, values by alphabet": {"cuts": "median", "value_order": "code"},
    "≤ median, values by frequency": {"cuts": "median", "value_order": "frequency"},
    "nearest boundary, values by alphabet": {"cuts": "widest", "value_order": "code"},
    "nearest boundary, values by frequency": {"cuts": "widest", "value_order": "frequency"},
    "relaxed, values by alphabet": {"relaxed": True, "value_order": "code"},
    "relaxed, values by frequency": {"relaxed": True, "value_order": "frequency"},
}
AXES = ("as in the file", "reversed", "few values first", "many values first")
DM_ROWS = 10_000
GIVEN = {"axes": "given"}  # the columns in the order of the table, whatever their values
DRAWN = 8  # further orders of the axes, by chance


def axes() -> tuple[str, ...]:
    """Return the names of the orders of the axes."""
    return (*AXES, *(f"by chance {number}" for number in range(1, DRAWN + 1)))


def mondrian(name: str, k: int, *, quick: bool) -> dict[str, float]:
    """Return what a variant of Mondrian suppresses."""
    frame = adult(quick=quick)
    roles = described(frame, "mondrian", "salary", 14)
    return _scored(frame, k, roles, "mondrian", MONDRIAN[name])


def hilbert(name: str, k: int, *, quick: bool) -> dict[str, float]:
    """Return what the improved curve suppresses with its axes in some order."""
    frame = adult(quick=quick)
    roles = described(frame, "hilbert", "salary", 14)
    public = roles["quasi_identifiers"]
    many = sorted(public, key=lambda column: frame.get_column(column).n_unique())
    orders = {AXES[0]: public, AXES[1]: public[::-1], AXES[2]: many, AXES[3]: many[::-1]}
    if name not in orders:
        rng = np.random.default_rng(int(name.rpartition(" ")[2]))
        orders[name] = [public[i] for i in rng.permutation(len(public))]
    moved = frame.select([*orders[name], *(c for c in frame.columns if c not in public)])
    return _scored(moved, k, {**roles, "quasi_identifiers": orders[name]}, "hilbert", GIVEN)


def _released(
    frame: Any, k: int, roles: dict[str, Any], algorithm: str, options: dict[str, Any]
) -> shoal.Release:
    release, _ = timed(
        frame,
        k,
        roles,
        algorithm=algorithm,
        algorithm_options=options,
        measure="suppression",
        seed=0,
        threads=1,
    )
    return release


def _scored(
    frame: Any, k: int, roles: dict[str, Any], algorithm: str, options: dict[str, Any]
) -> dict[str, float]:
    release = _released(frame, k, roles, algorithm, options)
    return {"lm": release.scores["suppression"], "groups": release.n_groups}


def both_dm(name: str, k: int, *, quick: bool) -> dict[str, float]:
    """Return DM of groups as formed, and of published rows that cannot be told apart."""
    from benchmarks.papers.gt_runs import VARIANTS

    algorithm, options = VARIANTS[name]
    frame = adult(quick=quick).head(DM_ROWS)
    roles = described(frame, algorithm, "salary", 14)
    release = _released(frame, k, roles, algorithm, options)
    told = {what: value for what, value in roles.items() if what != "drop"}
    kept = frame.drop(roles["drop"])
    return {
        classes: shoal.score(
            kept, release.groups, measures=["dm"], measure_options={"classes": classes}, **told
        )["dm"]
        for classes in ("formed", "published")
    }


def over_sites(n_sites: int, rows: int, k: int) -> dict[str, float]:
    """Return what a view of rows that several sites hold loses, and what was exchanged for it."""
    from shoal.study.sites import anonymize_sites

    frame = adult(quick=False).head(rows)
    roles = described(frame, "sequential", "salary", 14)
    cuts = np.linspace(0, rows, n_sites + 1).astype(int)
    found = anonymize_sites(
        [frame[int(a) : int(b)] for a, b in pairwise(cuts)],
        k,
        quasi_identifiers=roles["quasi_identifiers"],
        kinds=roles["kinds"],
        measure="lm",
    )
    numbers = sum(int(np.prod(shape)) for message in found.messages for shape in message.shapes)
    return {
        "lm": found.loss,
        "groups": found.n_groups,
        "passes": found.passes,
        "messages": len(found.messages),
        "numbers": numbers,
    }


def central(rows: int, k: int) -> dict[str, float]:
    """Return what the same algorithm loses on one table, over five seeds."""
    frame = adult(quick=False).head(rows)
    roles = described(frame, "sequential", "salary", 14)
    losses = []
    for seed in range(5):
        made = timed(frame, k, roles, algorithm="sequential", measure="lm", seed=seed, threads=1)
        losses.append(made[0].scores["lm"])
    return {"lm": float(np.mean(losses)), "least": min(losses), "most": max(losses)}


def norm(name: str, rows: int, k: int) -> dict[str, float]:
    """Return what a search for a norm of private information reaches in all three (section 5)."""
    from benchmarks.common import eight

    frame = adult(quick=False).head(rows)
    roles = eight(frame, taxonomies=True)
    options = {"measure_options": {"norm": name}} if name != "mi" else {}
    release, _ = timed(
        frame,
        k,
        roles,
        algorithm="sequential",
        algorithm_options={"max_passes": 10},
        measure="mi" if name == "mi" else "pmi",
        seed=0,
        threads=1,
        **options,
    )
    told = {what: value for what, value in roles.items() if what != "drop"}
    kept = frame.drop(roles["drop"])
    found = shoal.score(kept, release.groups, measures=["pmi", "pmi-l2", "pmi-max"], **told)
    return {"entropy": release.scores["entropy-diversity"], **dict(found)}
