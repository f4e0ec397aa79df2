"""Sequential clustering skips clusters that did not change; its moves are those of full scans.

The twin in `test_sequential.py` shows this for tables of a few dozen rows; here tables are large
enough that records look at the recently changed clusters only, again and again.
"""

from __future__ import annotations

import narwhals as nw
import numpy as np
import pytest
from tests.helpers.brute import make_run

from shoal.algorithm import sequential
from shoal.algorithm.sequential import Sequential
from shoal.datasets import ADULT_QUASI_IDENTIFIERS, load_adult
from shoal.privacy.l_diversity import LDiversity
from shoal.privacy.t_closeness import TCloseness
from shoal.table.encode import encode
from shoal.table.infer import infer_kinds
from shoal.table.schema import build_schema

PROMISES = {"k": (), "l": (LDiversity(2, kind="distinct"),), "t": (TCloseness(0.4),)}


def adult_table(n_rows):
    names = list(ADULT_QUASI_IDENTIFIERS)
    frame = load_adult().select([*names, "salary"]).sample(n_rows, seed=5, shuffle=True)
    schema = build_schema(frame.columns, quasi_identifiers=names, sensitive=["salary"])
    return encode(frame, infer_kinds(schema, nw.from_native(frame)))


class Forgetful(sequential._Moves):
    """Forgets before every pass what each record has seen, so every cluster is evaluated."""

    passes = 0

    def _pass(self, number, limit=sequential.NO_LIMIT):
        type(self).passes += 1
        self.looks.seen[:] = -2
        self.changed[:] = True
        return super()._pass(number, limit)


@pytest.mark.parametrize(
    ("measure", "k", "promise"),
    [("ncp", 4, "k"), ("pmi", 6, "k"), ("lm", 20, "l"),
     *(pytest.param(*case, marks=pytest.mark.long) for case in
       [("ncp", 15, "k"), ("lm", 7, "k"), ("ncp", 8, "l"), ("ncp", 10, "t")])],
)  # fmt: skip
def test_looking_at_changed_clusters_only_gives_the_same_groups(measure, k, promise, monkeypatch):
    table = adult_table(2500)
    privacy = PROMISES[promise]
    skipping = Sequential().partition(table, make_run(table, measure, k, 9, privacy=privacy))
    monkeypatch.setattr(sequential, "_Moves", Forgetful)
    monkeypatch.setattr(Forgetful, "passes", 0)
    full = Sequential().partition(table, make_run(table, measure, k, 9, privacy=privacy))
    assert Forgetful.passes > 3  # late passes are where skipping matters
    assert skipping.n_groups == full.n_groups
    assert np.array_equal(skipping.labels, full.labels)
