"""Scales of the search, and the two shares of loss: of the range and of the people."""

import datetime as dt

import narwhals as nw
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers.effort import share

import shoal
from shoal.errors import JobError, OptionError
from shoal.publish.loss import covered_shares
from shoal.table.closure import close
from shoal.table.encode import encode
from shoal.table.infer import infer_kinds
from shoal.table.partition import Partition
from shoal.table.scale import rescaled
from shoal.table.schema import build_schema


def encoded(values, **more):
    frame = pl.DataFrame({"x": values})
    schema = build_schema(["x"], quasi_identifiers=["x"], **more)
    schema = infer_kinds(schema, nw.from_native(frame))
    return encode(frame, schema), schema


def positions(values, scale, **more):
    table, schema = encoded(values, scale={"x": scale}, **more)
    return rescaled(table, schema).attributes[0]


def test_the_range_is_left_alone():
    table, schema = encoded([1, 2, 90], scale={"x": "range"})
    assert rescaled(table, schema) is table


def test_on_ranks_a_value_lies_in_the_middle_of_its_people():
    assert positions([5, 5, 7, 1000], "rank").positions.tolist() == [1.0, 2.5, 3.5]


def test_cells_of_a_grid_are_as_wide_as_their_people():
    found = positions([5, 6, 7, 1000], "rank", grid={"x": 10})
    assert found.positions.tolist() == [0.0, 3.0]
    assert found.cells.upper_positions.tolist() == [3.0, 4.0]


def test_trimming_moves_the_outermost_hundredths_to_where_the_others_begin():
    values = [*range(1, 199), -(10**6), 10**6]
    found = positions(values, "trimmed").positions
    assert (found.min(), found.max()) == (1.0, 197.0)
    assert positions([3, 3, 3, 9], "trimmed").positions.tolist() == [3.0, 9.0]


@pytest.mark.parametrize("scale", ["rank", "trimmed"])
def test_positions_never_fall_and_codes_stay(scale):
    rng = np.random.default_rng(1)
    values = np.append(rng.normal(0, 1, 500).round(2), 1e9)
    table, schema = encoded(values, scale={"x": scale})
    found = rescaled(table, schema).attributes[0]
    assert (np.diff(found.positions) >= 0).all()
    assert found.codes is table.attributes[0].codes
    assert np.isfinite(found.positions).all()


@pytest.mark.parametrize(
    ("scale", "message"),
    [
        ({"x": "ranks"}, "must be one of range, rank, trimmed, not 'ranks'. Did you mean 'rank'"),
        ({"x": 3}, "must be one of range, rank, trimmed"),
        ({"y": "rank"}, "scale names column 'y', which is not in the table"),
    ],
)
def test_a_wrong_scale_is_refused(scale, message):
    with pytest.raises(OptionError, match=message):
        build_schema(["x"], quasi_identifiers=["x"], scale=scale)


LETTERS = pl.DataFrame({"x": list("aabb")})
GROUPS = st.lists(st.lists(st.integers(-20, 20), min_size=2, max_size=5), min_size=1, max_size=6)


def test_a_scale_is_for_numbers_and_dates_only():
    with pytest.raises(OptionError, match="scales are for numbers and dates"):
        shoal.anonymize(
            pl.DataFrame({"x": list("aabb")}), 2, quasi_identifiers="x", scale={"x": "rank"}
        )


def stays(n=300, seed=2):
    """Admissions of one year and one of 1987; ages."""
    rng = np.random.default_rng(seed)
    days = [dt.date(2023, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(0, 365, n - 1)]
    return pl.DataFrame({"admitted": [*days, dt.date(1987, 5, 1)], "age": rng.integers(18, 90, n)})


OPTIONS = {"k": 5, "quasi_identifiers": ["admitted", "age"], "seed": 1}


@pytest.fixture(scope="module")
def plain():
    return shoal.anonymize(stays(), **OPTIONS)


def test_an_outlier_no_longer_fools_the_search_on_other_scales(plain):
    covered = plain.public_scores.by_column["covered"]["admitted"]
    for scale in ("rank", "trimmed"):
        made = shoal.anonymize(stays(), **OPTIONS, scale={"admitted": scale})
        assert made.verification.holds
        assert made.public_scores.by_column["covered"]["admitted"] < covered / 2
        told = {c["name"]: c["scale"] for c in made.certificate()["columns"]}
        assert told == {"admitted": scale, "age": "range"}
        again = shoal.score(
            stays(), made.groups, quasi_identifiers=["admitted", "age"], measures="ncp"
        )
        assert made.scores["ncp"] == pytest.approx(again["ncp"])


def test_both_shares_are_said_and_a_wide_difference_is_noted(plain, tmp_path, capsys):
    from shoal.cli.screen import print_release

    facts = {column.name: column for column in plain.facts.columns}
    assert facts["admitted"].loss < 0.05
    assert facts["admitted"].covered > 0.3
    assert facts["admitted"].stretched
    assert not facts["age"].stretched
    print_release(plain, title="made")
    said = capsys.readouterr().out
    assert "of the people" in said
    assert "stretch the range of 'admitted'" in said
    assert "stretch the range of 'age'" not in said
    plain.report(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert page.count("covers") >= 2
    assert page.count("stretched by a few values far away") == 1


def brute(lows, highs, rows, unit):
    total = rows.sum()
    result = []
    for low, high in zip(lows, highs, strict=True):
        if low == high:
            result.append(0.0)
            continue
        mass = 0.0
        for a, b, n in zip(lows, highs, rows, strict=True):
            overlap = min(b + unit, high + unit) - max(a, low)
            width = b + unit - a
            mass += n * (min(max(overlap / width, 0), 1) if width else float(low <= a <= high))
        result.append(mass / total)
    return result


@settings(max_examples=share(60), deadline=None)
@given(
    st.lists(st.lists(st.integers(-20, 20), min_size=2, max_size=5), min_size=1, max_size=6),
    st.booleans(),
)
def test_people_covered_are_counted_from_published_intervals(groups, whole):
    values = [value if whole else value + 0.5 for group in groups for value in group]
    labels = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    table, _ = encoded(values)
    partition = Partition.from_labels(labels)
    attribute = table.attributes[0]
    found = covered_shares(attribute, close(attribute, partition), partition.sizes.astype(float))
    lows = np.array([min(group) for group in groups], float)
    highs = np.array([max(group) for group in groups], float)
    sizes = np.array([len(group) for group in groups], float)
    assert found == pytest.approx(brute(lows, highs, sizes, 1.0 if whole else 0.0))


def test_what_is_hidden_inside_a_cell_changes_no_share():
    first = pl.DataFrame({"x": [1, 2, 9, 20, 21, 40]})
    second = pl.DataFrame({"x": [1, 8, 9, 20, 39, 40]})
    groups = [0, 0, 0, 1, 1, 1]
    made = [
        shoal.refine(each, groups, 3, quasi_identifiers="x", sweeps=1) for each in (first, second)
    ]
    assert made[0].public_scores.by_column == made[1].public_scores.by_column


def test_columns_that_show_no_interval_have_no_such_share():
    table = pl.DataFrame({"x": [1.5, 2.5, 9.25, 20.5], "sex": list("aabb")})
    made = shoal.anonymize(table, 2, quasi_identifiers=["x", "sex"], style={"numeric": "mean"})
    assert [column.covered for column in made.facts.columns] == [None, None]


def test_a_job_file_and_a_flag_carry_the_scale_and_the_grid(tmp_path):
    job = shoal.Job(
        k=2, columns={"x": shoal.JobColumn(role="quasi-identifier", scale="rank", grid=5)}
    )
    shoal.write_job(job, tmp_path / "job.toml")
    text = (tmp_path / "job.toml").read_text()
    assert 'scale = "rank"' in text
    assert "grid = 5" in text
    assert shoal.read_job(tmp_path / "job.toml") == job
    assert job.request().schema(["x"])["x"].scale == "rank"
    assert str(job.request().schema(["x"])["x"].grid) == "5"
    wrong = {
        'scale = "x"': "must be one of range",
        "grid = -1": "above 0",
        "grid = true": "a number or text",
    }
    head = 'k = 2\n[columns.x]\nrole = "quasi-identifier"\n'
    for line, message in wrong.items():
        (tmp_path / "job.toml").write_text(f"{head}{line}\n")
        with pytest.raises(JobError, match=message):
            shoal.read_job(tmp_path / "job.toml")
