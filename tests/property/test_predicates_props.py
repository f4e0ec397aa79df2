"""The predicates of verification: equal to the definitions, and to the models of the search."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.privacy import PrivacyModel, judge
from shoal.privacy.alpha_k import AlphaK
from shoal.privacy.l_diversity import LDiversity
from shoal.privacy.relative_frequency import BetaLikeness, DeltaDisclosure
from shoal.privacy.t_closeness import TCloseness
from shoal.publish.predicates import SLACK, count_values, predicate_of
from shoal.publish.verification_terms import promises_of


@st.composite
def groupings(draw):
    """Group and value of each row, numbered without a gap."""
    rows = draw(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6)), min_size=1, max_size=40))
    return [np.unique(part, return_inverse=True)[1] for part in np.array(rows).T]


NUMBERS = st.integers(2, 4) | st.floats(1.01, 5) | st.sampled_from([1.5, 4 / 3])
SHARES = st.sampled_from([1 / 3, 0.5, 2 / 3, 0.25, 0.1]) | st.floats(0.01, 0.99)
MODELS = st.one_of(
    st.builds(LDiversity, NUMBERS),
    st.builds(LDiversity, st.integers(2, 5), kind=st.just("distinct")),
    st.builds(LDiversity, NUMBERS, kind=st.just("entropy")),
    st.builds(
        LDiversity,
        st.integers(2, 4),
        kind=st.just("recursive"),
        c=st.integers(1, 4) | st.sampled_from([0.5, 1.5, 1 / 3]) | st.floats(0.1, 9),
    ),
    st.builds(TCloseness, SHARES, distance=st.sampled_from(["equal", "ordered"])),
    st.builds(AlphaK, SHARES),
    st.builds(BetaLikeness, st.floats(0.05, 5), kind=st.sampled_from(["basic", "enhanced"])),
    st.builds(DeltaDisclosure, st.floats(0.05, 3)),
)


def reaches(model, values, whole):
    """What a group reaches by the definition, and whether that is enough."""
    if not isinstance(model, BetaLikeness | DeltaDisclosure):
        return counted(model, values, whole)
    pairs = [(values.count(v) / len(values), whole.count(v) / len(whole)) for v in set(whole)]
    if isinstance(model, DeltaDisclosure):
        furthest = max(abs(math.log(q / p)) if q else math.inf for q, p in pairs)
        return furthest, furthest < model.delta - SLACK
    enhanced = model.kind == "enhanced"
    most = max(
        math.inf if enhanced and q / p - 1 > -math.log(p) + SLACK else q / p - 1 for q, p in pairs
    )
    return max(most, 0.0), most <= model.beta + SLACK


def counted(model, values, whole):
    """The same for models that count values; in fractions."""
    n, ranked = len(values), sorted(Counter(values).values(), reverse=True)
    if isinstance(model, AlphaK):
        return Fraction(ranked[0], n), Fraction(ranked[0], n) <= Fraction(model.alpha) + SLACK
    if isinstance(model, TCloseness):
        gaps = [
            Fraction(values.count(value), n) - Fraction(whole.count(value), len(whole))
            for value in sorted(set(whole))
        ]
        moved = sum(map(abs, gaps)) / 2
        if model.distance == "ordered":
            sums = [abs(sum(gaps[: i + 1])) for i in range(len(gaps))]
            moved = Fraction(sum(sums), max(len(gaps) - 1, 1))
        return moved, moved <= Fraction(model.t) + SLACK
    if model.kind == "frequency":
        return Fraction(n, ranked[0]), Fraction(n, ranked[0]) >= Fraction(model.l) - SLACK
    if model.kind == "distinct":
        return len(ranked), len(ranked) >= model.l
    if model.kind == "entropy":
        bits = -math.fsum(r / n * math.log(r / n) for r in ranked)
        return math.exp(bits), bits >= math.log(model.l) - SLACK
    fits = [
        l
        for l in range(1, len(ranked) + 1)
        if ranked[0] * (1 + Fraction(SLACK)) < Fraction(model.c) * sum(ranked[l - 1 :])
        or (isinstance(model.c, int) and ranked[0] < model.c * sum(ranked[l - 1 :]))
    ]
    return max(fits, default=0), max(fits, default=0) >= model.l


@given(groupings(), MODELS)
def test_a_predicate_is_the_definition(rows, model):
    groups, values = rows
    rule = predicate_of(model.to_dict())
    outcome = rule(count_values(groups, values, int(values.max()) + 1))
    whole = values.tolist()
    each = [reaches(model, values[groups == g].tolist(), whole) for g in range(groups.max() + 1)]
    numbers = [float(number) for number, _ in each]
    assert outcome.worst == pytest.approx(min(numbers) if model.at_least else max(numbers))
    assert outcome.holds.tolist() == [enough for _, enough in each]


@given(groupings(), MODELS)
def test_search_and_verification_agree_although_they_share_no_code(rows, model):
    groups, values = rows
    n_groups, n_values = int(groups.max()) + 1, int(values.max()) + 1
    verdict = judge(model, groups, n_groups, values, n_values)
    outcome = predicate_of(model.to_dict())(count_values(groups, values, n_values))
    assert outcome.holds.tolist() == verdict.holds.tolist()
    assert outcome.worst == pytest.approx(verdict.measured)


def test_large_tables_do_not_overflow():
    # Two groups of a billion rows each would not fit here; their histograms do.
    counted = count_values(np.array([0, 0, 1]), np.array([0, 1, 1]), 2)
    object.__setattr__(counted, "count", np.array([10**9, 1, 10**9]))
    object.__setattr__(counted, "whole", np.array([10**9, 10**9 + 1]))
    for distance in ("equal", "ordered"):
        outcome = predicate_of({"model": "t-closeness", "t": 0.6, "distance": distance})(counted)
        assert outcome.worst == pytest.approx(0.5)


class Even(PrivacyModel):
    """A model of a plug-in: every group has an even number of rows with each value."""

    name = "even"
    column = None
    promised = 2.0

    def describe(self, column=None):
        return f"In every group, each value of {column!r} occurs an even number of times."

    def per_group(self, histograms, whole):
        return np.where((histograms % 2 == 0).all(axis=1), 2.0, 3.0)

    def to_dict(self):
        return {"model": "even"}


def test_a_model_of_a_plug_in_is_judged_by_its_own_rule_and_the_check_says_so():
    frame = pl.DataFrame({"a": ["x"] * 4, "s": ["u", "u", "v", "v"]})
    options = {"quasi_identifiers": "a", "sensitive": "s"}
    plain, own = shoal.verify(frame, 2, **options, privacy=[AlphaK(0.5), Even()]).checks[1:]
    assert (own.holds, own.judged_by) == (True, "the model's own rule")
    assert own.sentence.endswith("; judged by the model's own rule.")
    assert plain.judged_by == "verification"
    assert "own rule" not in plain.sentence
    assert not shoal.verify(frame.head(3), 2, **options, privacy=[Even()])


def test_no_rule_of_a_known_model_is_handed_to_verification():
    models = [LDiversity(2, kind="entropy"), TCloseness(0.2), AlphaK(0.5)]
    models += [BetaLikeness(1), DeltaDisclosure(1), Even()]
    assert [promise.own_rule is None for promise in promises_of(models)] == [True] * 5 + [False]
