"""`Scores` as a mapping, and how measures get their options."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from shoal.errors import OptionError
from shoal.measure.base import CostModel, Grouped
from shoal.measure.scores import Scores, create_measure, default_measures, score_table
from shoal.registry import load, measures
from shoal.table.encode import EncodedTable, encode
from shoal.table.partition import Partition
from shoal.table.schema import Column, Kind, Role, Schema

PAIRS = Partition.from_labels([0, 0, 1, 1])


@pytest.fixture
def table():
    frame = pl.DataFrame(
        {
            "age": [20, 30, 40, 60],
            "sex": ["f", "f", "f", "m"],
            "sick": ["yes", "no", "yes", "yes"],
            "paid": ["low", "low", "low", "high"],
        }
    )
    schema = Schema(
        (
            Column(name="age", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC),
            Column(name="sex", role=Role.QUASI_IDENTIFIER, kind=Kind.FLAT, weight=3.0),
            Column(name="sick", role=Role.SENSITIVE),
            Column(name="paid", role=Role.SENSITIVE),
        )
    )
    return encode(frame, schema)


@pytest.fixture
def public(table):
    return replace(table, sensitive=())


@pytest.fixture
def scores():
    return Scores({"ncp": 0.25, "dm": 8}, {"ncp": {"age": 0.5}})


def test_scores_are_a_mapping_in_the_order_asked_for(scores):
    assert list(scores.items()) == [("ncp", 0.25), ("dm", 8.0)]
    assert scores == {"ncp": 0.25, "dm": 8.0}
    assert isinstance(scores["dm"], float)
    assert "lm" not in scores


def test_scores_cannot_be_changed(scores):
    with pytest.raises(TypeError):
        scores["ncp"] = 0.0
    with pytest.raises(TypeError):
        scores.by_column["ncp"] = {}
    with pytest.raises(TypeError):
        scores.by_column["ncp"]["age"] = 0.0
    with pytest.raises(AttributeError):
        scores.by_column = {}


def test_scores_show_every_measure_with_few_digits():
    assert repr(Scores({"ncp": 1 / 3, "dm": 452204.0})) == "Scores({'ncp': 0.333333, 'dm': 452204})"


def test_scores_become_plain_json(scores):
    plain = json.loads(json.dumps(scores.to_dict()))
    assert plain == {"scores": {"ncp": 0.25, "dm": 8.0}, "by_column": {"ncp": {"age": 0.5}}}


def test_a_change_to_the_dict_of_scores_does_not_reach_the_scores(scores):
    scores.to_dict()["by_column"]["ncp"]["age"] = 1.0
    assert scores.by_column["ncp"]["age"] == 0.5


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])  # noqa: S301 - our own pickle
def test_scores_survive_copying_and_pickling(scores, clone):
    again = clone(scores)
    assert again == scores
    assert again.by_column == scores.by_column


def test_score_table_gives_the_numbers_computed_by_hand(table):
    scores = score_table(table, PAIRS, ["ncp", "lm", "dm", "average-class-size", "cm"])
    # age: (10 + 20) ÷ 40 of the range, two rows each; sex: * in the second pair, weight 3
    assert scores.by_column["ncp"] == pytest.approx({"age": 0.375, "sex": 0.5})
    assert scores["ncp"] == pytest.approx((0.375 + 3 * 0.5) / 4)
    assert scores.by_column["lm"] == pytest.approx({"age": 1 / 3, "sex": 0.5})
    assert scores["dm"] == 8
    assert scores["average-class-size"] == 2
    assert scores["cm"] == 0.25
    assert set(scores.by_column) == {"ncp", "lm"}


def test_every_measure_scores_every_grouping_with_suppressed_rows(table):
    scores = score_table(table, Partition.from_labels([-1, 5, 5, 9]), measures())
    assert list(scores) == list(measures())
    assert all(np.isfinite(value) for value in scores.values())


def test_default_measures_hold_what_a_release_always_shows(table, public):
    assert set(default_measures(public)) >= {"ncp", "lm", "dm", "average-class-size"}
    assert set(default_measures(table)) > set(default_measures(public))
    assert set(score_table(public, PAIRS, default_measures(public))) == set(
        default_measures(public)
    )


def test_a_measure_named_twice_is_scored_once(table):
    assert list(score_table(table, PAIRS, ["dm", "ncp", "dm"])) == ["dm", "ncp"]


def test_a_bare_name_is_a_list_of_one(table):
    assert list(score_table(table, PAIRS, "dm")) == ["dm"]


def test_each_measure_takes_the_options_it_has(table):
    options = {"w": 1.0, "beta": 2.0}
    both = score_table(table, PAIRS, ["wmi", "whd-height", "mi"], measure_options=options)
    assert both["wmi"] == pytest.approx(both["mi"])
    assert create_measure("whd-height", {"beta": 2.0}).beta == 2.0


def test_the_column_option_chooses_the_sensitive_column(table):
    groups = Partition.from_labels([0, 1, 1, 2])
    assert score_table(table, groups, ["cm"])["cm"] == 0.25
    assert score_table(table, groups, ["cm"], measure_options={"column": "paid"})["cm"] == 0
    assert score_table(table, groups, ["cm"], target=table.sensitive[1])["cm"] == 0


def refused(match):
    return pytest.raises(OptionError, match=match)


def test_a_misspelt_measure_is_an_error_with_a_suggestion(table):
    with refused(r"Unknown measure 'npc'\. Did you mean 'ncp'\?"):
        score_table(table, PAIRS, ["npc"])


def test_a_misspelt_option_is_an_error_with_a_suggestion(table):
    with refused("'betta'.*Did you mean 'beta'"):
        score_table(table, PAIRS, ["whd-height"], measure_options={"betta": 1})
    with refused("'betta'.*Did you mean 'beta'"):
        create_measure("whd-height", {"betta": 1})


def test_an_option_of_a_measure_that_is_not_asked_for_is_an_error(table):
    with refused("'w' goes with measure 'wmi'"):
        score_table(table, PAIRS, ["ncp"], measure_options={"w": 0.5})
    with refused("Measure 'ncp' does not have the option 'w'"):
        create_measure("ncp", {"w": 0.5})


def test_options_that_are_no_mapping_are_an_error(table):
    with refused("must map option names to values"):
        score_table(table, PAIRS, ["wmi"], measure_options=[("w", 0.5)])


def test_a_column_that_is_not_sensitive_is_an_error(table):
    with refused("'age', which is not a sensitive column"):
        score_table(table, PAIRS, ["cm"], measure_options={"column": "age"})


@pytest.mark.parametrize("name", [n for n in measures() if load("measures", n).needs_sensitive])
def test_a_measure_without_its_sensitive_column_is_an_error_that_names_it(public, name):
    with refused(f"Measure '{name}' looks at a sensitive column"):
        score_table(public, PAIRS, [name])


def test_a_search_without_its_sensitive_column_is_an_error_that_names_the_measure(public):
    with refused("Measure 'pmi' looks at a sensitive column"):
        CostModel.bind(create_measure("pmi"), public)


def test_a_grouping_of_another_length_is_an_error(table):
    with refused("3 rows but the table has 4"):
        score_table(table, Partition.from_labels([0, 0, 0]), ["dm"])


@pytest.mark.parametrize("value", [-0.1, 1.1, True, "half", float("nan"), float("inf"), None])
def test_w_outside_0_to_1_is_an_error(value):
    with refused("w of 'wmi'"):
        create_measure("wmi", {"w": value})


@pytest.mark.parametrize("value", [0.5, True, "one", float("nan"), float("inf"), None])
def test_beta_below_1_is_an_error(value):
    with refused("beta of 'whd-height'"):
        create_measure("whd-height", {"beta": value})


# Extremes


def wide_table(n_columns, values):
    columns = [f"c{j}" for j in range(n_columns)]
    schema = Schema(
        tuple(Column(name=c, role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC) for c in columns)
    )
    return encode(pl.DataFrame(dict.fromkeys(columns, values)), schema)


def test_ambiguity_beyond_the_largest_float_is_infinite_and_divergence_is_not():
    table = wide_table(110, list(range(1000)))
    one_group = Partition.from_labels(np.zeros(1000, dtype=int))
    scores = score_table(table, one_group, ["am", "kl"])
    assert scores["am"] == np.inf
    # Uniform over 1000 diagonal points against uniform over 1000^110.
    assert scores["kl"] == pytest.approx(109 * np.log2(1000))
    alone = score_table(table, Partition.from_labels(range(1000)), ["am", "kl"])
    assert alone["am"] == 1
    assert alone["kl"] == pytest.approx(0, abs=1e-9)


def test_numbers_near_the_largest_float_have_a_range():
    table = wide_table(1, [-1.7e308, 0.0, 1.7e308])
    assert score_table(table, Partition.from_labels([0, 0, 1]), ["ncp"])["ncp"] == pytest.approx(
        1 / 3
    )


def test_a_constant_column_costs_nothing_until_it_is_suppressed():
    table = wide_table(1, [7, 7, 7])
    names = ["ncp", "lm", "suppression", "tree"]
    kept = score_table(table, Partition.from_labels([0, 0, 0]), names)
    assert set(kept.values()) == {0.0}
    gone = score_table(table, Partition.from_labels([0, 0, -1]), names)
    assert list(gone.values()) == pytest.approx([1 / 3] * 4)


def test_divergence_does_not_depend_on_the_size_of_blocks(table, monkeypatch):
    rng = np.random.default_rng(5)
    data = {"a": rng.integers(0, 9, 300), "b": rng.integers(0, 7, 300)}
    schema = Schema(
        tuple(Column(name=c, role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC) for c in data)
    )
    encoded = encode(pl.DataFrame(data), schema)
    groups = Partition.from_labels(rng.integers(-1, 40, 300))
    whole = score_table(encoded, groups, ["kl"])["kl"]
    monkeypatch.setattr("shoal.measure.kl._CELLS", 100)
    assert score_table(encoded, groups, ["kl"])["kl"] == pytest.approx(whole)


def test_a_target_is_required_where_a_histogram_is_needed(public):
    assert isinstance(public, EncodedTable)
    with refused("looks at a sensitive column"):
        create_measure("cm").score(Grouped(public, PAIRS))
