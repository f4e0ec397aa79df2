"""Every pair of algorithm, promise, kind of column, measure, missing mode and cut is a release.

The whole product of some of them is in `test_every_algorithm.py` and `test_in_blocks.py`, where it
is long.
"""

from __future__ import annotations

import polars as pl
import pytest
from tests.helpers.contract_array import ARRAY, BLOCKS, EVERY_KIND, FACTORS, TREES_ONLY
from tests.helpers.contract_checks import check_release
from tests.helpers.contract_samples import (
    EVERY_COLUMN,
    KINDS,
    PRIVACY,
    SEED,
    TREES,
    arguments,
    people,
)

import shoal
from shoal import registry

K = 4
BLOCK_ROWS = 48


@pytest.mark.parametrize(tuple(FACTORS), ARRAY)
def test_a_release_keeps_what_it_promises(algorithm, promise, kind, measure, missing, cut):
    every = TREES if algorithm in TREES_ONLY else EVERY_COLUMN
    names = every if kind == EVERY_KIND else KINDS[kind]
    frame = people(240 if cut == BLOCKS else 90, missing=missing != "none")
    options = {"seed": SEED, "shuffle": False, "measure": measure, "privacy": PRIVACY[promise]}
    options |= {} if missing == "none" else {"missing": missing}
    options |= {"block_rows": BLOCK_ROWS, "threads": 2} if cut == BLOCKS else {"threads": 1}
    release = shoal.anonymize(frame, K, algorithm=algorithm, **arguments(names), **options)
    privacy = PRIVACY[promise]
    check_release(release, frame, K, names, privacy)
    judged = [check for check in release.verification.checks if not check.name.startswith("grid")]
    twice = [model for model in privacy if model.column is None and model.about == "groups"]
    assert len(judged) == 1 + len(privacy) + len(twice)
    if not registry.load("algorithms", algorithm).may_suppress:
        incomplete = frame.select(pl.any_horizontal(pl.col(names).is_null()).sum()).item()
        assert release.n_suppressed == (incomplete if missing == "suppress" else 0)
    if (
        cut == BLOCKS and kind == EVERY_KIND and not privacy
    ):  # more groups than blocks: each block was clustered
        assert release.n_groups > frame.height // BLOCK_ROWS
