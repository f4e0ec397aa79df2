"""`shoal score`: scores read from the published file agree with those of the run."""

import re

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.datasets import ADULT_QUASI_IDENTIFIERS, adult_hierarchies, load_adult
from shoal.errors import DataError
from shoal.io.read import read_table
from shoal.io.write import write_table
from shoal.report.scoring import score_published

CATEGORICAL = ("workclass", "marital_status", "occupation", "race", "sex", "native_country")
EVERY_CELL = ("ncp", "il", "lm", "tree", "whd", "suppression", "mi", "pmi", "am", "kl")
EVERY_GROUP = ("dm", "average-class-size", "cm", "entropy-diversity")


def through_a_file(frame, tmp_path, name="safe.csv"):
    path = tmp_path / name
    write_table(frame, path)
    return read_table(path)


def classes_of(release, qis):
    """The groups that a reader of the file can tell apart, as labels of the input's rows."""
    keys = release.frame.group_by(qis).len().height
    return keys == release.n_groups


@pytest.mark.parametrize("max_suppression", [0.0, 0.1])
@pytest.mark.parametrize("missing", ["drop", "keep"])
def test_scores_of_the_file_are_those_of_the_run(tmp_path, missing, max_suppression):
    frame = load_adult(missing).sample(600, seed=3)
    qis = list(ADULT_QUASI_IDENTIFIERS)
    frame = frame.select(*qis, "salary")
    release = shoal.anonymize(
        frame,
        k=5,
        quasi_identifiers=qis,
        sensitive=["salary"],
        hierarchies=adult_hierarchies(CATEGORICAL),
        weights={"age": 2.0},
        max_suppression=max_suppression,
        seed=1,
    )
    published = through_a_file(release.frame, tmp_path)
    options = {
        "quasi_identifiers": qis,
        "sensitive": ["salary"],
        "hierarchies": adult_hierarchies(CATEGORICAL),
        "weights": {"age": 2.0},
    }
    measures = [*EVERY_CELL, *(EVERY_GROUP if classes_of(release, qis) else ())]
    expected = shoal.score(frame, release.groups, measures=measures, **options)
    found = score_published(frame, published, release.schema, measures=measures)
    assert dict(found) == pytest.approx(dict(expected), rel=1e-12)
    assert found["ncp"] == pytest.approx(release.scores["ncp"], rel=1e-12)
    for column, value in found.by_column["ncp"].items():
        assert value == pytest.approx(expected.by_column["ncp"][column], rel=1e-12)


def every_kind(n_rows, seed):
    rng = np.random.default_rng(seed)
    dates = pl.date_range(pl.date(2020, 1, 1), pl.date(2020, 12, 30), "5d", eager=True)
    return pl.DataFrame(
        {
            "born": dates.gather(rng.integers(0, len(dates), n_rows)),
            "balance": np.round(rng.normal(0, 3, n_rows), 2),
            "size": rng.choice(["S", "M", "L", "XL"], n_rows),
            "town": rng.choice(["York, North", "York", "Bath", "Ely", "-"], n_rows),
            "wing": rng.choice(["a", "b", None], n_rows),
            "result": rng.choice(["x", "y", "z"], n_rows),
        }
    )


@pytest.mark.parametrize("numeric", ["interval", "bounds"])
def test_dates_signs_sets_and_orders_are_read_back(tmp_path, numeric):
    frame = every_kind(120, seed=5)
    options = {
        "quasi_identifiers": ["born", "balance", "size", "town", "wing"],
        "sensitive": ["result"],
        "kinds": {"town": "set"},
        "orders": {"size": ["S", "M", "L", "XL"]},
    }
    style = shoal.Style(numeric=numeric)
    release = shoal.anonymize(frame, k=4, max_suppression=0.05, style=style, seed=2, **options)
    published = through_a_file(release.frame, tmp_path)
    expected = shoal.score(frame, release.groups, measures=EVERY_CELL, **options)
    found = score_published(frame, published, release.schema, measures=EVERY_CELL, style=style)
    assert dict(found) == pytest.approx(dict(expected), rel=1e-12)


def test_a_mean_does_not_tell_how_far_it_was_generalised(tmp_path):
    frame = every_kind(40, seed=1).select("balance")
    style = shoal.Style(numeric="mean")
    release = shoal.anonymize(frame, k=4, quasi_identifiers=["balance"], style=style)
    with pytest.raises(DataError, match="mean"):
        score_published(frame, release.frame, release.schema, style=style)


@pytest.fixture
def files(tmp_path, monkeypatch):
    """An original, its release and a job, in the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.toml").write_text(
        'k = 2\nmeasure = "wmi"\n[measure_options]\nw = 0.25\n'
        '[columns.id]\nrole = "identifier"\n'
        '[columns.age]\nrole = "quasi-identifier"\n[columns.zip]\nrole = "quasi-identifier"\n'
        '[columns.ill]\nrole = "sensitive"\n',
        encoding="utf-8",
    )
    (tmp_path / "before.csv").write_text(
        "id,age,zip,ill\n1,10,A,y\n2,20,A,n\n3,30,B,y\n4,50,C,n\n5,50,C,n\n", encoding="utf-8"
    )
    (tmp_path / "safe.csv").write_text(
        "age,zip,ill\n50,C,n\n[10-20],A,n\n50,C,n\n[10-20],A,y\n", encoding="utf-8"
    )
    return tmp_path


def test_the_scores_of_a_small_file_are_those_worked_out_by_hand(shoal_runs, files):
    outcome = shoal_runs("score", "before.csv", "safe.csv", "--job", "job.toml")
    assert outcome.status == 0, outcome.err
    # age: 2 rows of (20 - 10) / 40 and a suppressed one; zip: the suppressed one
    assert re.search(r"^ncp +0\.25 ", outcome.out, re.MULTILINE)
    assert re.search(r"^age +30\.0%", outcome.out, re.MULTILINE)
    assert re.search(r"^zip +20\.0%", outcome.out, re.MULTILINE)
    # two classes of two rows, and one suppressed row against five
    assert re.search(r"^dm +13 ", outcome.out, re.MULTILINE)
    assert re.search(r"^average-class-size +2 ", outcome.out, re.MULTILINE)
    assert re.search(r"^wmi +", outcome.out, re.MULTILINE)


def test_measures_can_be_chosen(shoal_runs, files):
    outcome = shoal_runs(
        "score", "before.csv", "safe.csv", "--qi", "age,zip", "--measures", "lm,il"
    )
    assert outcome.status == 0, outcome.err
    assert re.search(r"^lm ", outcome.out, re.MULTILINE)
    assert not re.search(r"^dm ", outcome.out, re.MULTILINE)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("age,zip,ill\n[10-21],A,n\n[10-21],A,y\n", ["'age'", "1 of the 1"]),
        ("age,zip,ill\n10,SECRET,n\n", ["'zip'"]),
        ("age,ill\n10,n\n", ["no column 'zip'"]),
        ("age,zip,ill\n" + "10,A,n\n" * 6, ["6 rows"]),
        ("age,zip,ill\n" + "10,A,n\n" * 5, ["'ill'", "same data"]),
    ],
    ids=["unknown end", "unknown label", "no column", "too many rows", "too many of a value"],
)
def test_a_file_that_was_not_made_from_the_original_is_refused(shoal_runs, files, text, words):
    (files / "safe.csv").write_text(text, encoding="utf-8")
    outcome = shoal_runs("score", "before.csv", "safe.csv", "--job", "job.toml")
    assert outcome.status == 2
    for word in words:
        assert word in outcome.err
    assert "SECRET" not in outcome.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["--measures", "nope"],
        ["--measure-option", "colour=red"],
        ["--measures", "pmi", "--qi", "ill"],
    ],
    ids=["measure", "option", "roles"],
)
def test_a_wrong_question_is_status_2(shoal_runs, files, arguments):
    assert shoal_runs("score", "before.csv", "safe.csv", "--qi", "age,zip", *arguments).status == 2
