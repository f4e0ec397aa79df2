"""`shoal.compare`: every combination, the frontier and its knee, and going on where it stopped."""

import json
import warnings

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import OptionError
from shoal.study.frontier import Comparison, Outcome, find_knee

ROLES = {"quasi_identifiers": ["age", "sex"], "sensitive": ["illness"]}
GRID = {"k": [2, 5, 10], "algorithms": ["mondrian", "hilbert"], "measures": ["ncp", "lm"]}


@pytest.fixture(scope="module")
def table():
    draw = np.random.default_rng(5)
    return pl.DataFrame(
        {
            "age": draw.integers(18, 90, 120),
            "sex": draw.choice(["f", "m"], 120),
            "illness": draw.choice(["flu", "gout"], 120),
        }
    )


@pytest.fixture(scope="module")
def found(table):
    return shoal.compare(table, **GRID, **ROLES)


def test_every_combination_is_run_once_in_the_order_asked_for(found):
    combinations = [(o.measure, o.algorithm, o.k) for o in found.outcomes]
    assert combinations == [
        (measure, algorithm, k)
        for measure in GRID["measures"]
        for algorithm in GRID["algorithms"]
        for k in GRID["k"]
    ]
    assert found.to_polars().height == 12


def test_a_run_is_the_run_that_anonymize_makes(found, table):
    release = shoal.anonymize(table, 5, algorithm="hilbert", measure="lm", seed=0, **ROLES)
    outcome = next(
        o for o in found.outcomes if (o.measure, o.algorithm, o.k) == ("lm", "hilbert", 5)
    )
    assert outcome.loss == release.scores["lm"]
    assert outcome.n_groups == release.n_groups


def test_the_frontier_is_the_smallest_loss_at_each_k(found):
    for measure in GRID["measures"]:
        frontier = found.frontier(measure)
        assert [o.k for o in frontier] == GRID["k"]
        for best in frontier:
            others = [o.loss for o in found.outcomes if (o.k, o.measure) == (best.k, measure)]
            assert best.loss == min(others)


@pytest.mark.parametrize(
    ("losses", "place"),
    [
        ([0.0, 0.01, 0.02, 0.5, 1.0], 2),
        ([0.0, 0.5, 0.9, 0.95, 1.0], 2),
        ([0.0, 0.25, 0.5, 0.75, 1.0], None),
        ([0.3, 0.3, 0.3, 0.3, 0.3], None),
    ],
    ids=["below the chord", "above the chord", "straight", "level"],
)
def test_the_knee_is_furthest_from_the_chord_on_log_k(losses, place):
    assert find_knee([2, 4, 8, 16, 32], losses) == place


def test_a_point_below_the_chord_wins_over_one_further_above():
    assert find_knee([2, 4, 8, 16, 32], [0.0, 0.9, 0.5, 0.7, 1.0]) == 3


def test_two_points_have_no_knee():
    assert find_knee([2, 4], [0.1, 0.2]) is None


def test_a_second_call_runs_nothing_and_a_longer_one_only_what_is_new(table, tmp_path, monkeypatch):
    results = tmp_path / "results.jsonl"
    first = shoal.compare(table, **GRID, **ROLES, out=results)
    again = shoal.compare(table, **GRID, **ROLES, out=results)
    assert (first.n_resumed, again.n_resumed) == (0, 12)
    assert again.outcomes == first.outcomes
    more = shoal.compare(table, **GRID | {"k": [2, 5, 10, 20]}, **ROLES, out=results)
    assert more.n_resumed == 12
    assert len(results.read_text(encoding="utf-8").splitlines()) == 16


def test_a_line_that_was_cut_off_is_run_again(table, tmp_path):
    results = tmp_path / "results.jsonl"
    first = shoal.compare(table, **GRID, **ROLES, out=results)
    whole = results.read_bytes()
    results.write_bytes(whole[: whole.rindex(b"{") + 30])
    again = shoal.compare(table, **GRID, **ROLES, out=results)
    assert again.n_resumed == 11
    assert [o.loss for o in again.outcomes] == [o.loss for o in first.outcomes]
    assert shoal.compare(table, **GRID, **ROLES, out=results).n_resumed == 12


@pytest.mark.parametrize(
    "change",
    [
        lambda table: (table.with_columns(age=pl.col("age") + 1), {}),
        lambda table: (table, {"seed": 1}),
        lambda table: (table, {"weights": {"age": 2.0}}),
        lambda table: (table, {"max_suppression": 0.1}),
        lambda table: (table, {"kinds": {"sex": "set"}}),
        lambda table: (table, {"hierarchies": {"sex": {"*": ["f", "m"]}}}),
    ],
    ids=["data", "seed", "weights", "suppression", "kinds", "hierarchy"],
)
def test_results_of_other_data_or_options_are_not_taken_over(table, tmp_path, change):
    grid = {"k": [2], "algorithms": ["mondrian"]}
    results = tmp_path / "results.jsonl"
    shoal.compare(table, **grid, **ROLES, out=results)
    other, options = change(table)
    assert shoal.compare(other, **grid, **ROLES, **options, out=results).n_resumed == 0


def test_somebody_elses_file_is_left_alone(table, tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("dear diary\nnothing happened\n", encoding="utf-8")
    with pytest.raises(OptionError, match="no file of results"):
        shoal.compare(table, k=2, algorithms="mondrian", **ROLES, out=path)
    assert path.read_text(encoding="utf-8") == "dear diary\nnothing happened\n"


def test_stopping_keeps_what_was_finished(table, tmp_path):
    results = tmp_path / "results.jsonl"

    def stop(done, total, what):
        if done == 3 * 120:  # rows of three runs
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        shoal.compare(table, **GRID, **ROLES, out=results, progress=stop, workers=1)
    lines = results.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["error"] for line in lines] == [None] * 3
    assert shoal.compare(table, **GRID, **ROLES, out=results).n_resumed == 3


def test_a_run_that_cannot_keep_its_promise_is_part_of_the_result(table):
    found = shoal.compare(table, k=[2, 500], algorithms="mondrian", **ROLES)
    assert [o.error is None for o in found.outcomes] == [True, False]
    assert "500" in found.outcomes[1].error
    assert [o.k for o in found.frontier()] == [2]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"algorithms": ["mondrain"]}, "Did you mean 'mondrian'"),
        ({"measures": ["dm"]}, "cannot be minimised"),
        ({"k": []}, "at least one size"),
        ({"k": [1]}, "at least 2"),
        ({"algorithm_options": {"relax": True}}, "has the option 'relax'"),
        ({"measure_options": {"beta": 1.0}}, "has the option 'beta'"),
    ],
)
def test_a_wrong_option_is_found_before_the_first_run(table, options, words):
    given = {"k": [2], "algorithms": ["mondrian"], **options}
    with pytest.raises(OptionError, match=words):
        shoal.compare(table, **given, **ROLES)


def test_the_filters_of_warnings_are_as_before(table):
    before = list(warnings.filters)
    shoal.compare(table, **GRID, **ROLES)
    assert warnings.filters == before


def test_the_page_stands_alone_and_escapes_names(tmp_path):
    outcomes = [
        Outcome(key=f"{k}", algorithm="<b>&", k=k, measure="ncp", loss=loss, n_groups=3)
        for k, loss in ((2, 0.1), (5, 0.12), (10, 0.4))
    ]
    path = tmp_path / "frontier.html"
    Comparison(tuple(outcomes), 100).report(path)
    page = path.read_text(encoding="utf-8")
    assert "<b>" not in page
    assert "&lt;b&gt;&amp;" in page
    assert page.count('role="img"') == 1
    assert "knee: k = 5" in page
    assert "http" not in page
    assert "src=" not in page


def test_a_page_without_any_release_says_so(tmp_path):
    outcome = Outcome(key="x", algorithm="mondrian", k=5, measure="ncp", error="It is too small.")
    path = tmp_path / "frontier.html"
    Comparison((outcome,), 3).report(path)
    assert "It is too small." in path.read_text(encoding="utf-8")


def test_use_adds_the_error_of_counts_and_draws_it(table, tmp_path):
    small = {"k": [2, 20], "algorithms": ["mondrian"], "out": tmp_path / "runs.jsonl"}
    plain = shoal.compare(table, **small, **ROLES)
    plain.report(tmp_path / "plain.html")
    assert "error of counts" not in (tmp_path / "plain.html").read_text(encoding="utf-8")
    asked = shoal.compare(table, **small, **ROLES, use=True)
    assert asked.n_resumed == 0  # what was not asked is asked now
    errors = [outcome.scores["count-error"] for outcome in asked.outcomes]
    assert 0 <= errors[0] < errors[1]
    assert [o.loss for o in asked.outcomes] == [o.loss for o in plain.outcomes]
    asked.report(tmp_path / "asked.html")
    assert "error of counts" in (tmp_path / "asked.html").read_text(encoding="utf-8").lower()
    assert shoal.compare(table, **small, **ROLES, use=True).n_resumed == 2
    assert "count-error" in asked.to_polars().columns
