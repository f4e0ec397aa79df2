"""Privacy models: what they accept, what they say, and that unions of groups keep them."""

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import OptionError, PromiseError
from shoal.privacy import PrivacyModel, judge, parse_privacy
from shoal.privacy.alpha_k import AlphaK
from shoal.privacy.base import options_of
from shoal.privacy.l_diversity import LDiversity
from shoal.privacy.relative_frequency import BetaLikeness, DeltaDisclosure
from shoal.privacy.release_wide import PopulationModel
from shoal.privacy.t_closeness import TCloseness
from shoal.publish.verify import in_people
from shoal.registry import load, privacy_models
from shoal.table.encode import EncodedTable
from shoal.table.sensitive import Sensitive

MODELS = [
    LDiversity(2),
    LDiversity(1.5),
    LDiversity(3, kind="distinct"),
    LDiversity(2, kind="entropy"),
    LDiversity(1.7, kind="entropy"),
    LDiversity(2, kind="recursive", c=2),
    LDiversity(3, kind="recursive", c=0.75),
    TCloseness(0.3),
    TCloseness(0.25, distance="ordered"),
    AlphaK(0.5),
    AlphaK(1 / 3),
    BetaLikeness(1),
    BetaLikeness(0.4, kind="basic"),
    BetaLikeness(3, kind="basic"),
    DeltaDisclosure(0.7),
    DeltaDisclosure(1.4),
]
IDS = [f"{model.label}" for model in MODELS]


def counts(*rows):
    return np.array(rows, dtype=np.int64)


def sensitive(*values, name="illness", ordered=False):
    counted = counts(*values)
    codes = np.repeat(np.arange(len(values)), counted).astype(np.int32)
    return Sensitive(name, codes, len(values), ordered, counted)


def table(*columns):
    return EncodedTable(10, (), columns)


def ell(model, *rows):
    histograms = counts(*rows)
    return model.measured(histograms, histograms.sum(axis=0))


# -- numbers by hand ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "row", "expected"),
    [
        (LDiversity(2), [6, 3, 1], 10 / 6),
        (LDiversity(2, kind="distinct"), [6, 0, 1], 2),
        (LDiversity(2, kind="entropy"), [4, 4, 4, 4], 4),
        (LDiversity(2, kind="entropy"), [2, 1, 1], 2**1.5),
        # r = 4, 3, 2, 1 and c = 1: 4 < 10, 4 < 6, but not 4 < 3
        (LDiversity(2, kind="recursive", c=1), [3, 1, 4, 2], 2),
        (LDiversity(2, kind="recursive", c=0.1), [3, 1, 4, 2], 0),
        (AlphaK(0.5), [6, 3, 1], 0.6),
    ],
)
def test_a_group_reaches_the_number_computed_by_hand(model, row, expected):
    assert ell(model, row) == pytest.approx(expected)


def test_the_equal_distance_is_half_the_sum_of_differences():
    # whole (4, 4, 2): (1, .. , 0) and its complement
    histograms = counts([3, 1, 0], [1, 3, 2])
    assert TCloseness(0.1).per_group(histograms, counts(4, 4, 2)) == pytest.approx(
        [0.35, (abs(1 / 6 - 0.4) + abs(0.5 - 0.4) + abs(1 / 3 - 0.2)) / 2]
    )


def test_the_ordered_distance_reproduces_the_salary_example_of_the_t_closeness_paper():
    # Nine salaries 3k … 11k, one row each; Li et al. §4 give 0.375 for {3k, 4k, 5k} and 0.167
    # for {6k, 8k, 11k}.
    whole = np.ones(9, dtype=np.int64)
    low, spread = np.zeros((2, 9), dtype=np.int64)
    low[[0, 1, 2]] = 1
    spread[[3, 5, 8]] = 1
    distances = TCloseness(0.2, distance="ordered").per_group(np.stack([low, spread]), whole)
    assert distances == pytest.approx([0.375, 1 / 6])


def test_likeness_and_disclosure_are_the_numbers_computed_by_hand():
    # whole (8, 2): p = 0.8 and 0.2; a group (2, 2) has q = 0.5 each
    whole, group = counts(8, 2), counts([2, 2])
    assert BetaLikeness(2, kind="basic").per_group(group, whole) == pytest.approx([1.5])
    # -ln 0.2 = 1.609 allows 1.5; -ln 0.8 = 0.223 does not allow 0.25 for the frequent value
    assert BetaLikeness(2).per_group(group, whole) == pytest.approx([1.5])
    assert BetaLikeness(2).per_group(counts([4, 0]), whole) == pytest.approx([math.inf])
    assert BetaLikeness(2, kind="basic").holds(counts([4, 0]), whole).all()
    assert DeltaDisclosure(1).per_group(group, whole) == pytest.approx([math.log(2.5)])
    assert DeltaDisclosure(99).per_group(counts([4, 0]), whole) == pytest.approx([math.inf])
    assert not DeltaDisclosure(99).holds(counts([4, 0]), whole).any()


def test_values_that_are_not_published_do_not_stretch_the_ordered_distance():
    model = TCloseness(0.2, distance="ordered")
    assert model.per_group(counts([2, 0, 0]), counts(4, 0, 4)) == pytest.approx([0.5])


def test_one_value_in_the_whole_table_has_distance_zero():
    for distance in ("equal", "ordered"):
        assert TCloseness(0, distance=distance).holds(counts([3]), counts(9)).all()


def test_a_whole_l_is_compared_exactly():
    big = 10**15
    histograms = counts([big, 2 * big], [big, 2 * big - 1])
    model = LDiversity(3)
    assert model.holds(
        counts([big, big, big], [big + 1, big, big - 1]), counts(1, 1, 1)
    ).tolist() == [
        True,
        False,
    ]
    assert not model.holds(histograms, counts(1, 1)).any()


def test_rounding_does_not_break_a_promise_that_holds_with_equality():
    assert AlphaK(1 / 3).holds(counts([1, 1, 1]), counts(1, 1, 1)).all()
    assert LDiversity(3, kind="entropy").holds(counts([7, 7, 7]), counts(7, 7, 7)).all()
    assert LDiversity(1 / 0.7).holds(counts([7, 3]), counts(7, 3)).all()
    # recursive is strict: 3 < 0.1 · 30 is false whatever the rounding
    assert not LDiversity(2, kind="recursive", c=0.1).holds(counts([3] + [3] * 10), counts(3)).any()


@pytest.mark.parametrize("model", MODELS, ids=IDS)
def test_a_group_without_rows_keeps_every_promise(model):
    empty = np.zeros((2, 3), dtype=np.int64)
    assert model.holds(empty, counts(2, 2, 2)).all()
    assert model.measured(empty, counts(2, 2, 2)) == (math.inf if model.at_least else 0)


def test_a_huge_l_or_c_does_not_overflow():
    assert not LDiversity(10**30).holds(counts([1, 1]), counts(1, 1)).any()
    assert LDiversity(2, kind="recursive", c=10**30).holds(counts([5, 1]), counts(5, 1)).all()


# -- against plain definitions -----------------------------------------------------------------


def plain_holds(model, row, whole):
    if not isinstance(model, BetaLikeness | DeltaDisclosure):
        return plain_counts(model, row, whole)
    shares = [
        (Fraction(here, sum(row)), Fraction(there, sum(whole)))
        for here, there in zip(row, whole, strict=True)
        if there
    ]
    if isinstance(model, DeltaDisclosure):
        return all(q and abs(math.log(q / p)) < model.delta for q, p in shares)
    holds = all((q - p) / p <= Fraction(model.beta).limit_denominator(1000) for q, p in shares)
    if model.kind == "enhanced":
        holds &= all(float((q - p) / p) <= -math.log(p) + 1e-9 for q, p in shares)
    return holds


def plain_counts(model, row, whole):
    """The definitions, with exact fractions where there are any."""
    n, ranked = sum(row), sorted((r for r in row if r), reverse=True)
    if isinstance(model, AlphaK):
        return Fraction(ranked[0], n) <= Fraction(model.alpha).limit_denominator(1000)
    if isinstance(model, TCloseness):
        present = [i for i, w in enumerate(whole) if w]
        diff = [Fraction(row[i], n) - Fraction(whole[i], sum(whole)) for i in present]
        if model.distance == "equal":
            distance = sum(map(abs, diff)) / 2
        else:
            moves = [abs(sum(diff[: i + 1])) for i in range(len(diff))]
            distance = sum(moves) / max(len(diff) - 1, 1)
        return distance <= Fraction(model.t).limit_denominator(1000)
    if model.kind == "frequency":
        return ranked[0] * Fraction(model.l).limit_denominator(1000) <= n
    if model.kind == "distinct":
        return len(ranked) >= model.l
    if model.kind == "entropy":
        return -sum(r / n * math.log(r / n) for r in ranked) >= math.log(model.l) - 1e-9
    return ranked[0] < Fraction(model.c) * sum(ranked[model.l - 1 :])


GROUPS = st.integers(1, 4).flatmap(
    lambda width: st.lists(
        st.lists(st.integers(0, 6), min_size=width, max_size=width).filter(any),
        min_size=1,
        max_size=5,
    )
)


@pytest.mark.parametrize("model", MODELS, ids=IDS)
@given(groups=GROUPS)
def test_the_verdict_is_the_definition(model, groups):
    histograms = counts(*groups)
    whole = histograms.sum(axis=0)
    expected = [plain_holds(model, row, whole.tolist()) for row in groups]
    assert model.holds(histograms, whole).tolist() == expected
    measured = model.measured(histograms, whole)
    gap = measured - model.promised if model.at_least else model.promised - measured
    assert (gap >= -1e-6) == all(expected)


@pytest.mark.parametrize("model", MODELS, ids=IDS)
@given(groups=GROUPS)
def test_the_union_of_groups_that_hold_holds(model, groups):
    histograms = counts(*groups)
    whole = histograms.sum(axis=0)
    held = model.holds(histograms, whole)
    assert model.monotone
    for i in np.flatnonzero(held):
        for j in np.flatnonzero(held):
            if i != j:
                assert model.holds((histograms[i] + histograms[j])[np.newaxis], whole).all()
    union = histograms[held].sum(axis=0)
    assert model.holds(union[np.newaxis], whole).all()


@pytest.mark.parametrize("model", MODELS, ids=IDS)
@given(rows=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), min_size=1, max_size=30))
def test_judging_rows_in_blocks_is_judging_histograms(model, rows):
    from shoal.privacy import base as module

    names = sorted({group for group, _ in rows})
    groups = np.array([names.index(group) for group, _ in rows])
    codes = np.array([code for _, code in rows])
    full = np.zeros((len(names), 6), dtype=np.int64)
    for pair, count in Counter(zip(groups, codes, strict=True)).items():
        full[pair] = count
    whole = full.sum(axis=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BLOCK_CELLS", 7)
        verdict = judge(model, groups, len(names), codes, 6)
    assert verdict.holds.tolist() == model.holds(full, whole).tolist()
    assert verdict.measured == pytest.approx(model.measured(full, whole))


# -- what is possible --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "number"),
    [
        (LDiversity(2), "75.22 % of the rows, so l can be at most 1.3295"),
        (LDiversity(3, kind="distinct"), "2 different values, so l can be at most 2"),
        (LDiversity(2, kind="entropy"), "no more diverse than l = 1.75"),
        (LDiversity(2, kind="recursive", c=2), "c must be above 3.0348"),
        (LDiversity(3, kind="recursive", c=2), "only 2 different values"),
        (AlphaK(0.5), "alpha must be at least 0.7522"),
    ],
)
def test_an_impossible_promise_names_the_number_that_is_possible(model, number):
    # The salaries of Adult: Goldberger and Tassa §8.3 give 1.3295 for it.
    adult = sensitive(34014, 11208, name="salary")
    with pytest.raises(PromiseError, match=number) as caught:
        model.check_possible(adult)
    assert "'salary'" in str(caught.value)
    assert caught.value.exit_status == 1


def test_the_number_that_is_called_possible_is_possible():
    adult = sensitive(34014, 11208)
    for model in (
        LDiversity(1.3295),
        LDiversity(1.75, kind="entropy"),
        LDiversity(2, kind="recursive", c=3.0348),
        AlphaK(0.7522),
        LDiversity(2, kind="distinct"),
        TCloseness(0),
        TCloseness(0, distance="ordered"),
    ):
        model.check_possible(adult)


@dataclass(frozen=True)
class FewestRows(PrivacyModel):
    """A model as a plug-in would write it: every value that occurs has enough rows."""

    name = "fewest-rows"
    at_least = True

    rows: int
    column: str | None = None

    @property
    def promised(self):
        return self.rows

    def describe(self, column=None):
        return "In every group, no value is rare."

    def per_group(self, histograms, whole):
        return np.where(histograms > 0, histograms, histograms.max() + 1).min(axis=1).astype(float)


def test_a_plug_in_needs_no_more_than_a_number_per_group():
    model = FewestRows(3)
    histograms = counts([3, 4], [2, 5], [0, 0])
    assert model.holds(histograms, histograms.sum(axis=0)).tolist() == [True, False, True]
    assert model.measured(histograms, histograms.sum(axis=0)) == 2
    model.check_possible(sensitive(3, 9))
    with pytest.raises(PromiseError, match=r"fewest-rows of 3 in column 'illness': .* at most 2"):
        model.check_possible(sensitive(2, 9))


# -- options -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: LDiversity(1), "l must be a number above 1, but 1 was given"),
        (lambda: LDiversity("2"), "l must be a number above 1, but '2' was given"),
        (lambda: LDiversity(True), "but True was given"),
        (lambda: LDiversity(math.nan), "but nan was given"),
        (lambda: LDiversity(math.inf), "but inf was given"),
        (lambda: LDiversity(2.5, kind="distinct"), "whole number for kind='distinct', but 2.5"),
        (lambda: LDiversity(2, kind="distnct"), "Did you mean 'distinct'"),
        (lambda: LDiversity(2, kind=None), "kind must be one of"),
        (lambda: LDiversity(2, kind="recursive"), "c must be a number above 0 .* none was given"),
        (lambda: LDiversity(2, kind="recursive", c=0), "c must be a number above 0"),
        (lambda: LDiversity(2, c=1), "c belongs to kind='recursive'"),
        (lambda: LDiversity(2, column=3), "column must be the name of one column, but 3"),
        (lambda: TCloseness(1), "t must be a number of at least 0 and below 1, but 1 was given"),
        (lambda: TCloseness(-0.1), "but -0.1 was given"),
        (lambda: TCloseness(0.1, distance="order"), "Did you mean 'ordered'"),
        (lambda: AlphaK(0), "alpha must be a number above 0 and below 1, but 0 was given"),
        (lambda: AlphaK(1.0), "but 1.0 was given"),
        (lambda: AlphaK(0.5, column=""), "column must be the name"),
        (lambda: BetaLikeness(0), "beta must be a number above 0, but 0 was given"),
        (lambda: BetaLikeness("1"), "but '1' was given"),
        (lambda: BetaLikeness(1, kind="bsic"), "Did you mean 'basic'"),
        (lambda: DeltaDisclosure(-1), "delta must be a number above 0, but -1 was given"),
        (lambda: DeltaDisclosure(math.inf), "but inf was given"),
    ],
)
def test_a_wrong_option_is_named_with_what_was_given(build, message):
    with pytest.raises(OptionError, match=message):
        build()


def test_numbers_of_numpy_and_whole_floats_are_as_good_as_integers():
    assert LDiversity(np.int8(2)) == LDiversity(2.0) == LDiversity(2)
    assert LDiversity(2.0, kind="distinct").l == 2
    assert AlphaK(np.float64(0.5)) == AlphaK(0.5)


def test_models_are_frozen():
    with pytest.raises(AttributeError):
        LDiversity(2).l = 3


# -- columns -----------------------------------------------------------------------------------


def test_a_model_looks_at_all_sensitive_columns_unless_it_names_one():
    both = table(sensitive(1, 2), sensitive(3, name="income", ordered=True))
    assert [s.name for s in AlphaK(0.5).columns(both)] == ["illness", "income"]
    assert [s.name for s in AlphaK(0.5, column="income").columns(both)] == ["income"]


def test_an_unknown_column_gets_a_suggestion():
    with pytest.raises(OptionError, match=r"'ilness'.*not a sensitive.*Did you mean 'illness'"):
        AlphaK(0.5, column="ilness").columns(table(sensitive(1)))


def test_a_model_without_any_sensitive_column_says_how_to_name_one():
    with pytest.raises(OptionError, match=r"'alpha-k'.*none was given.*sensitive=\[\.\.\.\]"):
        AlphaK(0.5).columns(table())


def test_the_ordered_distance_needs_an_ordered_column():
    both = table(sensitive(1), sensitive(3, name="income", ordered=True))
    model = TCloseness(0.2, distance="ordered")
    with pytest.raises(OptionError, match=r"needs numbers, dates .* column 'illness'"):
        model.columns(both)
    assert TCloseness(0.2, distance="ordered", column="income").columns(both)
    assert TCloseness(0.2).columns(both)


# -- job files and registry --------------------------------------------------------------------


@pytest.mark.parametrize("model", [*MODELS, AlphaK(0.2, column="x")], ids=[*IDS, "column"])
def test_a_model_survives_the_way_through_a_job_file(model):
    assert PrivacyModel.from_dict(model.to_dict()) == model


def test_the_table_of_a_job_file_holds_what_differs_from_nothing():
    assert LDiversity(2, kind="distinct", column="x").to_dict() == {
        "model": "l-diversity",
        "l": 2,
        "kind": "distinct",
        "column": "x",
    }


@pytest.mark.parametrize(
    ("given_table", "message"),
    [
        ({}, "needs its name"),
        ({"model": 3}, "but 3 was given"),
        ({"model": "l-diverse", "l": 2}, "Did you mean 'l-diversity'"),
        ({"model": "t-closeness"}, "needs the option 't'"),
        ({"model": "t-closeness", "t": 0.1, "distanc": "equal"}, "Did you mean 'distance'"),
        ({"model": "alpha-k", "alpha": 7}, "but 7 was given"),
    ],
)
def test_a_wrong_table_is_one_clear_sentence(given_table, message):
    with pytest.raises(OptionError, match=message):
        PrivacyModel.from_dict(given_table)


def test_models_may_come_alone_in_a_list_or_as_tables():
    model = AlphaK(0.5)
    assert parse_privacy(None) == ()
    assert parse_privacy(model) == parse_privacy([model]) == (model,)
    assert parse_privacy(model.to_dict()) == parse_privacy((model.to_dict(),)) == (model,)


@pytest.mark.parametrize("wrong", ["l-diversity", 3, [3], ["l-diversity"]])
def test_what_is_no_model_is_refused(wrong):
    with pytest.raises(OptionError, match="list of privacy models"):
        parse_privacy(wrong)


@pytest.mark.parametrize(
    "name", ["l-diversity", "t-closeness", "alpha-k", "beta-likeness", "delta-disclosure"]
)
def test_a_built_in_model_is_registered_under_its_own_name(name):
    assert name in privacy_models()
    assert load("privacy", name).name == name


@pytest.mark.parametrize("model", MODELS, ids=IDS)
def test_a_description_is_one_sentence_that_names_the_column(model):
    sentence = model.describe("illness")
    assert sentence.startswith("In every group, ")
    assert sentence.endswith(".")
    assert "'illness'" in sentence
    assert "'" not in model.describe()


def test_a_plug_in_about_a_population_tells_nothing_of_it_where_its_fields_are_not_declared():
    @dataclass(frozen=True)
    class Somebody(PopulationModel):
        name = "somebody"

        least: int
        population: Any = None
        counts: str | None = None

        promised = property(lambda self: self.least)

        def describe(self, column=None):
            return "Somebody is there."

        def reached(self, table, partition):
            return 2.0

    assert Somebody(2, "secret.csv").to_dict() == {"model": "somebody", "least": 2}
    assert [row.name for row in options_of(Somebody) if row.path] == ["population"]


def test_a_plug_in_says_people_where_people_are_counted():
    assert in_people("No value above half of the rows.") == "No value above half of the people."
