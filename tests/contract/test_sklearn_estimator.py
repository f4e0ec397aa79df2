"""scikit-learn's own checks of an estimator, and what it promises beyond them."""

import datetime as dt
import inspect
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import shoal
from shoal.sklearn import Anonymizer, UnknownValueError


@parametrize_with_checks([Anonymizer(k=3)])
def test_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


def people(n_rows=120, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, n_rows),
            "income": rng.normal(3000.0, 800.0, n_rows),
            "job": rng.choice(["nurse", "clerk", "baker"], n_rows),
            "born": [
                dt.date(1950, 1, 1) + dt.timedelta(int(d)) for d in rng.integers(0, 9000, n_rows)
            ],
            "illness": rng.choice(["flu", "cold", "none"], n_rows),
        }
    )


ROLES = {"quasi_identifiers": ["age", "job", "born"], "sensitive": "illness"}


@pytest.mark.parametrize("output", ["midpoint", "mean", "median", "bounds"])
def test_every_combination_of_the_training_rows_occurs_k_times(output):
    step = Anonymizer(k=7, **ROLES, output=output, random_state=0)
    result = step.fit_transform(people())
    qis = [name for name in result.columns if name != "illness"]
    assert result.group_by(qis).len()["len"].min() >= 7
    assert shoal.verify(result, k=7, quasi_identifiers=qis)
    assert result.columns == list(step.get_feature_names_out())


def test_rows_keep_their_order_and_lie_inside_their_bounds():
    frame = people()
    result = Anonymizer(k=5, **ROLES, output="bounds", random_state=0).fit_transform(frame)
    assert result["illness"].equals(frame["illness"])
    for name in ("age", "born"):
        inside = (result[f"{name}_low"] <= frame[name]) & (frame[name] <= result[f"{name}_high"])
        assert inside.all()


@pytest.mark.parametrize("output", ["midpoint", "mean", "median"])
def test_a_number_is_the_centre_of_its_group(output):
    frame = people()
    step = Anonymizer(k=5, quasi_identifiers=["age"], output=output, random_state=0)
    result = step.fit_transform(frame)["age"].to_numpy()
    ages = frame["age"].to_numpy()
    centre = {"midpoint": lambda a: (a.min() + a.max()) / 2, "mean": np.mean, "median": np.median}
    for group in range(step.n_groups_):
        rows = step.labels_ == group
        assert result[rows] == pytest.approx(centre[output](ages[rows]))


def test_a_new_row_gets_the_group_whose_cost_grows_least():
    train = np.concatenate(
        [np.linspace(0, 10, 20), np.linspace(50, 52, 20), np.linspace(90, 99, 20)]
    )
    step = Anonymizer(k=20, output="bounds", random_state=0).fit(train[:, None])
    new = np.array([[51.0], [3.0], [-40.0], [95.0], [200.0], [50.5]])
    bounds = step.transform(new)
    expected = [(50, 52), (0, 10), (0, 10), (90, 99), (90, 99), (50, 52)]
    assert [tuple(row) for row in bounds] == expected


def test_new_rows_are_assigned_as_a_plain_search_would_assign_them():
    rng = np.random.default_rng(3)
    train, new = rng.integers(0, 40, (90, 2)), rng.integers(0, 40, (60, 2))
    train[0], train[1] = 0, 40  # the whole range, and every number of it is known
    train = np.concatenate([train, np.repeat(np.arange(41), 2).reshape(41, 2)])
    step = Anonymizer(k=6, output="bounds", random_state=0).fit(train)
    groups = [train[step.labels_ == g] for g in range(step.n_groups_)]

    def growth(group, row):
        wider = np.vstack([group, row])
        return len(wider) * np.ptp(wider, axis=0).sum() - len(group) * np.ptp(group, axis=0).sum()

    for row, bounds in zip(new, step.transform(new), strict=True):
        costs = [growth(group, row) for group in groups]
        best = [g for g, cost in zip(groups, costs, strict=True) if cost == min(costs)]
        assert any(
            np.array_equal(bounds, np.ravel([g.min(axis=0), g.max(axis=0)], order="F"))
            for g in best
        )


def never_seen():
    new = pl.DataFrame({"age": [1000, None], "income": [0.0, 0.0], "job": ["SECRET", None]})
    return new.with_columns(born=pl.lit(dt.date(2000, 1, 1)), illness=pl.lit("flu"))


def fitted(**options):
    roles = {"quasi_identifiers": ["age", "job"]}
    return Anonymizer(k=4, **roles, random_state=0, **options).fit(people())


def test_a_category_that_was_never_seen_is_an_error_unless_said_otherwise():
    with pytest.raises(UnknownValueError, match=r"in column 'job' \(1 rows\)") as caught:
        fitted().transform(never_seen())
    assert isinstance(caught.value, ValueError)
    assert "SECRET" not in str(caught.value)
    assert fitted().transform(never_seen().tail(1)).height == 1  # missing is no category


def test_a_category_that_was_never_seen_is_a_warning_by_choice():
    with pytest.warns(shoal.ShoalWarning, match="they count as missing") as caught:
        result = fitted(handle_unknown="warn").transform(never_seen())
    assert result.height == 2
    assert "SECRET" not in str(caught[0].message)


def test_values_that_were_never_seen_are_given_to_some_group():
    result = fitted(handle_unknown="ignore").transform(never_seen())
    assert result.height == 2
    assert result["age"].is_between(18, 90).all()


def test_a_value_of_the_hierarchy_is_known_although_no_training_row_has_it():
    jobs = {"care": ["nurse", "doctor"], "other": ["clerk", "baker"]}
    step = fitted(hierarchies={"job": jobs})
    new = never_seen().head(1).with_columns(job=pl.lit("doctor"))
    assert step.transform(new).height == 1


def test_the_default_algorithm_is_that_of_the_package():
    assert (
        Anonymizer().algorithm == inspect.signature(shoal.anonymize).parameters["algorithm"].default
    )


def test_pandas_comes_back_with_its_index_and_polars_as_polars():
    frame = people(40)
    pandas = pd.DataFrame(frame.to_dict(as_series=False), index=range(100, 140))
    step = Anonymizer(k=4, **ROLES, remainder="passthrough", random_state=0)
    back = step.fit_transform(pandas)
    assert isinstance(back, pd.DataFrame)
    assert list(back.index) == list(range(100, 140))
    assert list(back.columns) == list(frame.columns)
    assert back["income"].equals(pandas["income"])
    same = clone(step).fit_transform(frame)
    assert isinstance(same, pl.DataFrame)
    assert back["age"].tolist() == same["age"].to_list()
    assert back["job"].tolist() == same["job"].to_list()


def test_set_output_is_obeyed():
    step = Anonymizer(k=4, output="bounds").set_output(transform="pandas")
    result = step.fit_transform(np.arange(20.0).reshape(10, 2))
    assert list(result.columns) == ["x0_low", "x0_high", "x1_low", "x1_high"]


def test_a_release_is_a_step_of_a_pipeline_and_of_a_search():
    frame = people(200)
    target = (frame["age"].to_numpy() > 50).astype(int)
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_include=object)),
        (StandardScaler(), make_column_selector(dtype_include=np.number)),
    )
    features = pd.DataFrame(frame.select("age", "income", "job").to_dict(as_series=False))
    model = make_pipeline(Anonymizer(k=5, random_state=0), encode, LogisticRegression())
    assert cross_val_score(model, features, target, cv=3).mean() > 0.8
    search = GridSearchCV(model, {"anonymizer__k": [3, 10]}, cv=2).fit(features, target)
    assert search.best_params_["anonymizer__k"] in (3, 10)


def test_privacy_models_look_at_the_sensitive_column():
    frame = people()
    step = Anonymizer(k=4, **ROLES, privacy=shoal.LDiversity(2, kind="distinct"), random_state=0)
    result = step.fit_transform(frame)
    kinds = result.group_by("age", "job", "born").agg(pl.col("illness").n_unique())
    assert kinds["illness"].min() >= 2


@pytest.mark.parametrize("measure", ["lm", "mi", "pmi", "suppression"])
def test_every_kind_of_measure_can_assign_new_rows(measure):
    step = Anonymizer(k=5, **ROLES, measure=measure, random_state=0).fit(people())
    assert step.transform(people(30, seed=1)).height == 30


def test_a_fitted_step_survives_pickling_and_holds_no_row():
    frame = people()
    step = Anonymizer(k=5, **ROLES, random_state=0).fit(frame)
    again = pickle.loads(pickle.dumps(step))  # noqa: S301 - our own
    new = people(20, seed=1)
    assert again.transform(new).equals(step.transform(new))
    assert all(len(attribute.codes) == 0 for attribute in step._groups.attributes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 1}, "k must be a whole number of at least 2"),
        ({"output": "mode"}, "output must be one of"),
        ({"remainder": "keep"}, "remainder must be one of"),
        ({"missing": "suppress"}, "missing must be one of"),
        ({"quasi_identifiers": ["agee"]}, "names column 'agee'.* Did you mean 'age'"),
        ({"sensitive": 9}, "names column 9, but there are 5"),
    ],
)
def test_wrong_options_are_errors_when_fitting(options, message):
    with pytest.raises(shoal.ShoalError, match=message):
        Anonymizer(**options).fit(people())


def test_text_in_an_array_is_an_error_without_the_text():
    with pytest.raises(ValueError, match="numbers only") as caught:
        Anonymizer(k=2).fit(np.array([["Alice", 1], ["Bob", 2]], dtype=object))
    assert "Alice" not in str(caught.value)


def test_too_few_rows_are_an_error_of_both_worlds():
    with pytest.raises(ValueError, match="n_samples=3, fewer than k=10") as caught:
        Anonymizer().fit(np.eye(3))
    assert isinstance(caught.value, shoal.ShoalError)


def test_importing_shoal_does_not_import_scikit_learn():
    code = "import sys, shoal, shoal.api; assert 'sklearn' not in sys.modules; shoal.sklearn"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
