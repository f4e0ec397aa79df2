"""Facts about job files."""

import datetime as dt
import math
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import JobError
from shoal.settings.files import Input
from shoal.settings.job import Job, JobColumn
from shoal.settings.job_file import format_job, read_job, write_job
from shoal.table.schema import Kind, Role, build_schema

EXAMPLE = """
k = 10
algorithm = "k-member"
measure = "ncp"
max_suppression = 0.01
missing = "category"
seed = 7
threads = 2
missing_values = ["", "?"]

[style]
numeric = "interval"

[algorithm_options]
class_penalty = true

[measure_options]
w = 0.5

[[privacy]]
model = "l-diversity"
l = 2
kind = "distinct"
column = "diagnosis"

[[privacy]]
model = "t-closeness"
t = 0.3

[columns.age]
role = "quasi-identifier"
kind = "infer"
weight = 2

[columns."home zip"]
role = "quasi-identifier"
kind = "categorical"
hierarchy = "trees/zip.csv"

[columns.grade]
role = "quasi-identifier"
kind = "ordinal"
order = [1, 2, "3+"]

[columns.diagnosis]
role = "sensitive"
"""


def write(folder, text):
    path = folder / "job.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_part_of_a_job_file_is_read(tmp_path):
    qi = Role.QUASI_IDENTIFIER
    assert read_job(write(tmp_path, EXAMPLE)) == Job(
        k=10,
        algorithm="k-member",
        measure="ncp",
        max_suppression=0.01,
        missing="category",
        seed=7,
        threads=2,
        missing_values=("", "?"),
        style={"numeric": "interval"},
        algorithm_options={"class_penalty": True},
        measure_options={"w": 0.5},
        privacy=(
            {"model": "l-diversity", "l": 2, "kind": "distinct", "column": "diagnosis"},
            {"model": "t-closeness", "t": 0.3},
        ),
        columns={
            "age": JobColumn(role=qi, weight=2.0),
            "home zip": JobColumn(
                role=qi, kind=Kind.CATEGORICAL, hierarchy=tmp_path / "trees" / "zip.csv"
            ),
            "grade": JobColumn(role=qi, kind=Kind.ORDINAL, order=("1", "2", "3+")),
            "diagnosis": JobColumn(role=Role.SENSITIVE),
        },
    )


def test_an_empty_job_file_says_nothing(tmp_path):
    assert read_job(write(tmp_path, "")) == Job()


def test_a_job_gives_the_schema_its_arguments(tmp_path):
    (tmp_path / "trees").mkdir()
    (tmp_path / "trees" / "zip.csv").write_text("1;*\n2;*\n")
    job = read_job(write(tmp_path, EXAMPLE))
    schema = build_schema(list(job.columns), **job.schema_options())
    assert schema.quasi_identifiers == ("age", "home zip", "grade")
    assert schema.sensitive == ("diagnosis",)
    assert schema["age"].weight == 2.0
    assert schema["home zip"].kind is Kind.CATEGORICAL
    assert schema["grade"].order == ("1", "2", "3+")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("algoritm = 'x'", r"Unknown key 'algoritm' in '.*job.toml'\. Did you mean 'algorithm'"),
        ("[columns.age]\nrol = 'drop'", r"Unknown key 'rol' in \[columns.age\].*mean 'role'"),
        ("[columns.age]\nkind = 'set'", r"'age' has no role in \[columns.age\]"),
        ("[columns.age]\nrole = 'quasi'", r"\[columns.age\].*must be one of.*not 'quasi'"),
        ("[columns.age]\nrole = 'drop'\nkind = 'sets'", "Did you mean 'set'"),
        ("[columns.age]\nrole = 'drop'\nweight = '2'", "columns.age.weight .* a number, not text"),
        ("[columns.age]\nrole = 'drop'\norder = 'low'", "columns.age.order .* not text"),
        ("[columns.age]\nrole = 'drop'\norder = [[1]]", "columns.age.order .* not a list"),
        ("[columns]\nage = 'drop'", "columns.age .* must be a table, not text"),
        ("columns = 3", "columns .* not a whole number"),
        ("k = '10'", "k in .* must be a whole number, not text"),
        ("k = true", "k in .* not a truth value"),
        ("k = 1.5", "k in .* not a number"),
        ("seed = 2020-01-01", "seed in .* not a date or time"),
        ("max_suppression = true", "max_suppression in .* not a truth value"),
        ("algorithm = ['x']", "algorithm in .* text in quotation marks, not a list"),
        ("missing_values = '?'", "missing_values in .* a list of texts"),
        ("algorithm_options = 1", "must be a table, written as"),
        ("[privacy]\nmodel = 'l-diversity'", r"must be written as \[\[privacy\]\] tables"),
        ("[[privacy]]\nl = 2", r"\[\[privacy\]\] table 1 .* names no model"),
        ("[[privacy]]\nmodel = 2", "privacy 1.model .* not a whole number"),
        ("k = \n", "not valid TOML.*line 1"),
    ],
)
def test_mistakes_in_a_job_file_are_errors_that_name_the_place(tmp_path, text, message):
    with pytest.raises(JobError, match=message):
        read_job(write(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("SECRET = 1\nSECRET = 2\n", "at line 2"),
        ("[SECRET]\n[SECRET]\n", "at line 2"),
        ("a = {SECRET = 1, SECRET = 2}\n", "at line 1"),
        ("a = SECRET\n", "at line 1, column 5;"),
        ("a = 'SECRET\n", "at "),
        ("name,age\nSECRET,3\n", "at line 1"),
        ("a = [1,", "at the end of the document"),
        ("a = " + "[" * 100_000, "nested too deeply"),
    ],
    ids=range(8),
)
def test_a_file_that_is_no_toml_is_not_shown(tmp_path, text, where):
    with pytest.raises(JobError, match=where) as caught:
        read_job(write(tmp_path, text))
    assert "SECRET" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_job_file_that_cannot_be_opened_is_an_error(tmp_path):
    with pytest.raises(JobError, match="no job file"):
        read_job(tmp_path / "absent.toml")
    with pytest.raises(JobError, match="cannot be read"):
        read_job(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b"algorithm = '\xe9'")
    with pytest.raises(JobError, match="not UTF-8"):
        read_job(tmp_path / "latin.toml")


def test_a_byte_order_mark_is_not_part_of_the_job(tmp_path):
    (tmp_path / "job.toml").write_bytes(b"\xef\xbb\xbfk = 3\n")
    assert read_job(tmp_path / "job.toml").k == 3


def test_comments_stand_above_what_they_explain():
    job = Job(
        k=5,
        privacy=({"model": "alpha-k", "alpha": 0.5},),
        columns={"age": JobColumn(role=Role.QUASI_IDENTIFIER)},
    )
    comments = {
        "": "Written by shoal init.\nEdit it.",
        "k": "at least this many",
        "privacy.0": "promise",
        "columns.age": "73 distinct values",
        "columns.age.role": "guessed\x00",
    }
    assert format_job(job, comments) == (
        "# Written by shoal init.\n# Edit it.\n\n# at least this many\nk = 5\n\n"
        '# promise\n[[privacy]]\nmodel = "alpha-k"\nalpha = 0.5\n\n'
        '# 73 distinct values\n[columns.age]\n# guessed \nrole = "quasi-identifier"\n'
    )
    assert tomllib.loads(format_job(job, comments)) == tomllib.loads(format_job(job))


def test_hierarchies_are_written_relative_to_the_job(tmp_path):
    inside = JobColumn(role=Role.QUASI_IDENTIFIER, hierarchy=tmp_path / "jobs" / "t" / "zip.csv")
    outside = JobColumn(role=Role.QUASI_IDENTIFIER, hierarchy=tmp_path / "age.csv")
    job = Job(columns={"zip": inside, "age": outside})
    (tmp_path / "jobs").mkdir()
    path = tmp_path / "jobs" / "job.toml"
    write_job(job, path, comments={"": "hello"})
    assert 'hierarchy = "t/zip.csv"' in path.read_text()
    assert path.read_text().startswith("# hello\n")
    assert read_job(path) == job
    assert [each.name for each in path.parent.iterdir()] == ["job.toml"]


def test_a_job_that_cannot_be_written_leaves_nothing_behind(tmp_path):
    with pytest.raises(JobError, match="Could not write"):
        write_job(Job(k=2), tmp_path / "absent" / "job.toml")
    (tmp_path / "job.toml").mkdir()
    with pytest.raises(JobError, match="Could not write"):
        write_job(Job(k=2), tmp_path / "job.toml")
    assert [each.name for each in tmp_path.iterdir()] == ["job.toml"]


@pytest.mark.parametrize("value", [None, {1}, object()])
def test_values_that_toml_does_not_know_are_errors(value):
    with pytest.raises(JobError, match=r"style.x.* cannot hold"):
        format_job(Job(style={"x": [value]}))


def test_text_that_is_not_unicode_is_an_error():
    with pytest.raises(JobError, match="not valid Unicode"):
        format_job(Job(algorithm="\ud800"))


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
SCALARS = st.one_of(
    TEXT,
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.dates(),
    st.datetimes(timezones=st.sampled_from([None, dt.UTC])),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
OPTIONS = st.dictionaries(TEXT, VALUES, max_size=3)
COLUMNS = st.builds(
    JobColumn,
    role=st.sampled_from(Role),
    kind=st.none() | st.sampled_from(Kind),
    hierarchy=st.none() | st.sampled_from([Path("/trees/a b.csv"), Path('/trees/"ü".csv')]),
    weight=st.floats(1e-9, 1e9),
    order=st.none() | st.lists(TEXT, min_size=1, max_size=4, unique=True).map(tuple),
)
NAMES = TEXT.filter(lambda text: text.strip() and text.strip().isprintable())
JOBS = st.builds(
    Job,
    k=st.none() | st.integers(),
    algorithm=st.none() | TEXT,
    measure=st.none() | TEXT,
    max_suppression=st.none() | st.floats(allow_nan=False),
    missing=st.none() | TEXT,
    seed=st.none() | st.integers(),
    threads=st.none() | st.integers(),
    missing_values=st.none() | st.lists(TEXT, max_size=3).map(tuple),
    input=st.builds(Input, rename=st.none() | st.dictionaries(TEXT, NAMES, max_size=3)),
    style=OPTIONS,
    algorithm_options=OPTIONS,
    measure_options=OPTIONS,
    privacy=st.lists(
        st.builds(lambda model, rest: rest | {"model": model}, TEXT, OPTIONS), max_size=2
    ).map(tuple),
    columns=st.dictionaries(TEXT, COLUMNS, max_size=3),
)


@given(job=JOBS, comment=st.text(max_size=20))
def test_a_written_job_is_read_back_as_it_was(tmp_path_factory, job, comment):
    path = tmp_path_factory.getbasetemp() / "round-trip.toml"
    comments = {"": comment, "k": comment} | {f"columns.{name}": comment for name in job.columns}
    try:
        comment.encode()
    except UnicodeEncodeError:
        comments = {}
    write_job(job, path, comments)
    assert read_job(path) == job


def test_numbers_that_are_not_finite_survive(tmp_path):
    path = tmp_path / "job.toml"
    write_job(Job(style={"a": math.nan, "b": -math.inf}), path)
    style = read_job(path).style
    assert math.isnan(style["a"])
    assert style["b"] == -math.inf
