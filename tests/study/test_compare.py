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
    Comparison(tuple(outcomes), {"": 100}).report(path)
    page = path.read_text(encoding="utf-8")
    assert "<b>" not in page
    assert "&lt;b&gt;&amp;" in page
    assert page.count('role="img"') == 1  # one algorithm: nothing to choose from
    assert "knee: k = 5" in page
    assert "http" not in page
    assert "src=" not in page


def test_a_page_without_any_release_says_so(tmp_path):
    outcome = Outcome(key="x", algorithm="mondrian", k=5, measure="ncp", error="It is too small.")
    path = tmp_path / "frontier.html"
    Comparison((outcome,), {"": 3}).report(path)
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


SEEDS = {"k": [5], "algorithms": ["chiu-tsai", "sequential:restarts=2"], "seeds": [0, 1, 2]}


@pytest.fixture(scope="module")
def seeded(table, tmp_path_factory):
    folder = tmp_path_factory.mktemp("groups")
    return shoal.compare(table, **SEEDS, **ROLES, groups=folder), folder


def test_every_seed_is_a_run_and_the_mean_has_students_interval(seeded):
    found, _ = seeded
    assert [(o.algorithm, o.seed) for o in found.outcomes] == [
        (name, seed) for name in SEEDS["algorithms"] for seed in SEEDS["seeds"]
    ]
    for mean in found.means:
        losses = [o.loss for o in found.outcomes if o.algorithm == mean.algorithm]
        middle = sum(losses) / 3
        deviation = (sum((each - middle) ** 2 for each in losses) / 2) ** 0.5
        assert len(set(losses)) > 1
        assert mean.loss == pytest.approx(middle)
        assert mean.interval == pytest.approx(4.303 * deviation / 3**0.5)
        assert mean.seed is None


def test_options_of_an_algorithm_are_those_of_its_run(table, seeded):
    found, _ = seeded
    losses = [o.loss for o in found.outcomes if o.algorithm == "sequential:restarts=2"]
    for seed, loss in enumerate(losses):
        release = shoal.anonymize(
            table,
            k=5,
            algorithm="sequential",
            algorithm_options={"restarts": 2},
            seed=seed,
            **ROLES,
        )
        assert release.scores["ncp"] == loss
    with pytest.raises(OptionError, match="sequential:restarts=3"):
        shoal.compare(table, **{**SEEDS, "algorithms": ["sequential:restarts"]}, **ROLES)


def test_groups_that_are_kept_are_those_of_the_run(table, seeded):
    found, folder = seeded
    files = sorted(folder.iterdir())
    assert len(files) == len(found.outcomes)
    for o in found.outcomes:
        (path,) = (file for file in files if o.key[:8] in file.name)
        labels = pl.read_csv(path)["group"]
        assert len(labels) == table.height
        scores = shoal.score(table, labels.to_numpy(), measures=["ncp"], **ROLES)
        assert scores["ncp"] == pytest.approx(o.loss)


def test_a_mean_is_missing_where_a_run_failed():
    runs = [
        Outcome(key="a", algorithm="x", k=2, measure="ncp", loss=0.1, seed=0),
        Outcome(key="b", algorithm="x", k=2, measure="ncp", error="no", seed=1),
    ]
    found = Comparison(tuple(runs), {"": 10})
    assert [(each.loss, each.error) for each in found.means] == [(None, "no")]
    assert found.frontier() == ()


def test_the_table_for_a_paper_has_every_mean_and_the_best_in_bold(seeded):
    found, _ = seeded
    text = found.to_latex()
    best = min(each.loss for each in found.means)
    assert text.startswith(r"\begin{tabular}{lr}")
    assert text.count(r"\pm") == 2
    assert text.count("mathbf") == 1
    assert rf"\mathbf{{{best:.4f}}}" in text
    named = Comparison((Outcome(key="", algorithm="a_b", k=2, measure="ncp"),), {"": 1})
    assert r"a\_b & -- \\" in named.to_latex()


@pytest.mark.parametrize(
    "said",
    [
        {"top": {"age": 40}},
        {"bottom": {"age": 40}},
        {"grid": {"age": 10}},
        {"missing_codes": {"sex": ["f"]}},
        {"hierarchies": {"age": {"rule": "intervals", "widths": [5, 10]}}},
        {"hierarchies": {"age": {"rule": "intervals", "widths": [10, 20]}}},
    ],
    ids=str,
)
def test_what_is_said_of_a_column_is_part_of_a_run_and_of_what_is_resumed(table, said, tmp_path):
    small = {"k": [5], "algorithms": ["mondrian"], "out": tmp_path / "runs.jsonl", **ROLES}
    shoal.compare(table, **small)
    shoal.compare(table, **small, hierarchies={"age": {"rule": "intervals", "widths": [7]}})
    found = shoal.compare(table, **small, **said)
    assert found.n_resumed == 0
    release = shoal.anonymize(table, 5, algorithm="mondrian", seed=0, **ROLES, **said)
    assert found.outcomes[0].loss == release.scores["ncp"]
    assert shoal.compare(table, **small, **said).n_resumed == 1


TWO = {"k": [2, 6], "algorithms": ["mondrian", "sequential", "oka"], "seeds": [0, 1]}
PROMISES = ["none", "l-diversity:l=2:kind=distinct", "l-diversity:l=1.2+t-closeness:t=0.4"]


@pytest.fixture(scope="module")
def several(table):
    other = table.select(age=pl.col("age") // 10, sex=pl.col("illness")).head(60)
    roles = {"quasi_identifiers": "age", "sensitive": "sex"}
    tables = {"all": (table, ROLES), "coarse": (other, roles)}
    return shoal.compare(tables, **TWO, promises=PROMISES), other


def test_every_table_and_promise_is_run_in_the_order_asked_for(several, table):
    found, other = several
    assert [(o.table, o.promise) for o in found.outcomes[:: 2 * 3 * 2]] == [
        (name, promise) for name in ("all", "coarse") for promise in PROMISES
    ]
    assert found.rows == {"all": 120, "coarse": 60}
    assert found.n_rows == 180
    assert list(found.parts)[4] == f"coarse, {PROMISES[1]}"
    frame = found.to_polars()
    assert frame.columns[:5] == ["table", "promise", "algorithm", "k", "measure"]
    promised = shoal.anonymize(
        other, 6, quasi_identifiers="age", sensitive="sex", algorithm="sequential", seed=1,
        privacy=[shoal.LDiversity(1.2), shoal.TCloseness(0.4)],
    )  # fmt: skip
    (run,) = (
        o
        for o in found.outcomes
        if (o.table, o.promise, o.algorithm, o.k, o.seed)
        == ("coarse", PROMISES[2], "sequential", 6, 1)
    )
    assert run.loss == promised.scores["ncp"]


def test_losses_of_several_tables_are_compared_within_parts_only(several):
    found, _ = several
    with pytest.raises(OptionError, match="take one of the parts: all, none"):
        found.frontier()
    for part in found.parts.values():
        assert [each.k for each in part.frontier()] == TWO["k"]
    text = found.to_latex()
    assert text.count(r"\multicolumn{3}{l}") == 6
    assert r"\emph{all, l-diversity:l=2:kind=distinct}" in text
    assert text.count("mathbf") >= 12


def test_runs_of_a_table_are_resumed_under_its_new_name(table, tmp_path):
    grid = {"k": [2], "algorithms": ["mondrian"], "out": tmp_path / "runs.jsonl"}
    shoal.compare({"one": (table, ROLES)}, **grid)
    again = shoal.compare({"two": table}, **grid, promises="none", **ROLES)
    assert again.n_resumed == 1
    assert [(o.table, o.promise) for o in again.outcomes] == [("two", "none")]


@pytest.mark.parametrize(
    ("promises", "words"),
    [
        (["l-diversty:l=2"], "Did you mean 'l-diversity'"),
        (["l-diversity:2"], "l-diversity:l=2, not 'l-diversity:2'"),
        (["l-diversity:l=2+t-closeness"], "needs the option 't'"),
        ([], "promises must name at least one"),
    ],
)
def test_a_promise_that_cannot_be_read_is_refused(table, promises, words):
    with pytest.raises(OptionError, match=words):
        shoal.compare(table, k=2, algorithms="mondrian", promises=promises, **ROLES)


def test_no_table_is_refused():
    with pytest.raises(OptionError, match="no table to compare on"):
        shoal.compare({}, k=2)
