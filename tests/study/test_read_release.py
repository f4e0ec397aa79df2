"""A release as numbers: ends, middles, lists and draws are those of the groups that were made."""

import datetime as dt
from statistics import fmean

import numpy as np
import polars as pl
import pytest

import shoal

ORDER = ["low", "middle", "high", "top"]
TREE = {"north": ["a", "b"], "south": ["c", "d", "e"]}
LEAVES = {"north": {"a", "b"}, "south": {"c", "d", "e"}, "*": set("abcde")}
KINDS = {"job": "set", "grade": "ordinal"}
HIERARCHIES = {"town": TREE}
ORDERS = {"grade": ORDER}
STYLES = ["interval", "bounds", "struct"]


def make_table(seed, n_rows=40):
    chance = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": chance.integers(-20, 60, n_rows),
            "weight": np.round(chance.random(n_rows) * 60 + 40, 3),
            "born": [
                dt.date(1990, 1, 1) + dt.timedelta(int(d)) for d in chance.integers(0, 900, n_rows)
            ],
            "seen": [
                dt.datetime(2024, 1, 1) + dt.timedelta(minutes=int(m))
                for m in chance.integers(0, 90_000, n_rows)
            ],
            "grade": chance.choice(ORDER, n_rows),
            "job": chance.choice(["u", "v", "w"], n_rows),
            "town": chance.choice(list("abcde"), n_rows),
            "ill": chance.choice(["yes", "no"], n_rows),
        }
    )


def make_release(table, **options):
    return shoal.anonymize(
        table,
        k=3,
        quasi_identifiers=table.columns[:-1],
        sensitive="ill",
        kinds=KINDS,
        hierarchies=HIERARCHIES,
        orders=ORDERS,
        algorithm="mondrian",
        rows_are_people=True,
        seed=1,
        **options,
    )


def opened(source, **options):
    return shoal.read_release(source, hierarchies=HIERARCHIES, orders=ORDERS, **options)


@pytest.mark.parametrize("seed", range(5))
def test_ends_middles_and_lists_are_those_of_each_group(seed):
    table = make_table(seed)
    release = make_release(table, shuffle=False, grid="none")
    frame = opened(release.frame)
    for group in np.unique(release.groups):
        rows = np.flatnonzero(release.groups == group)
        for name in ("age", "weight", "born", "seen"):
            values = table[name].gather(rows).to_list()
            assert set(frame[f"{name}_low"].gather(rows)) == {min(values)}
            assert set(frame[f"{name}_high"].gather(rows)) == {max(values)}
            middle = set(frame[f"{name}_mid"].gather(rows))
            if name in ("age", "weight"):
                assert list(middle) == [pytest.approx((min(values) + max(values)) / 2)]
            else:
                assert min(values) <= middle.pop() <= max(values)
        ranks = [ORDER.index(value) for value in table["grade"].gather(rows)]
        assert set(frame["grade_low"].gather(rows)) == {ORDER[min(ranks)]}
        assert set(frame["grade_high"].gather(rows)) == {ORDER[max(ranks)]}
        listed = frame["job_values"].gather(rows).to_list()[0]
        assert listed is None or set(listed) == set(table["job"].gather(rows))
        towns = frame["town_values"].gather(rows).to_list()[0]
        cell = frame["town"].gather(rows)[0]
        assert set(towns) == LEAVES.get(cell, {cell})
        assert set(table["town"].gather(rows)) <= set(towns)


@pytest.mark.parametrize("style", [*STYLES, "mean", "median"])
@pytest.mark.parametrize("grid", ["none", None])
def test_every_row_lies_inside_its_cells(style, grid):
    table = make_table(7)
    release = make_release(table, shuffle=False, grid=grid, style={"numeric": style})
    frame = opened(release.frame)
    for name in ("age", "weight"):
        if style in ("mean", "median"):
            assert frame[name].dtype == pl.Float64  # a number stays the number that it is
            continue
        inside = (frame[f"{name}_low"] <= table[name]) & (table[name] <= frame[f"{name}_high"])
        assert inside.all()
    for name in ("born", "seen"):
        assert (
            (frame[f"{name}_low"] <= table[name]) & (table[name] <= frame[f"{name}_high"])
        ).all()
        assert frame[f"{name}_low"].dtype == table[name].dtype


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    "suffix", [".csv", ".tsv", ".jsonl", ".csv.gz", ".parquet", ".arrow", ".xlsx"]
)
def test_every_format_and_style_says_the_same(style, suffix, tmp_path):
    table = make_table(3).drop("seen")  # Excel rounds times
    release = make_release(table, style={"numeric": style})
    path = tmp_path / f"safe{suffix}"
    try:
        release.write(path)
    except shoal.DataError:
        assert style == "struct"  # a format without structs says so when it is written
        return
    wanted = opened(make_release(table).frame)
    got = opened(str(path))
    names = ["age_low", "age_high", "age_mid", "weight_low", "weight_high", "born_low"]
    assert sorted(got.select(names).rows()) == sorted(wanted.select(names).rows())
    towns, others = (sorted(map(str, each["town_values"].to_list())) for each in (got, wanted))
    assert towns == others
    assert got.schema["born_low"] == pl.Date


def test_a_database_is_read_like_a_file(tmp_path):
    release = make_release(make_table(3))
    url = f"sqlite:///{tmp_path}/out.db?table=safe"
    release.write(url)
    got, wanted = opened(url), opened(release.frame)
    assert sorted(got["age_low"]) == sorted(wanted["age_low"])
    assert sorted(got["job"]) == sorted(wanted["job"])


def test_draws_lie_in_the_cells_and_are_spread_evenly():
    frame = pl.DataFrame({"age": ["[20-29]"] * 4000, "job": ["{u, v}"] * 4000})
    drawn = shoal.read_release(frame, draw=True, seed=5)
    assert drawn.columns == ["age", "job"]
    assert set(drawn["age"]) == set(range(20, 30))
    assert fmean(drawn["age"]) == pytest.approx(24.5, abs=0.2)
    assert set(drawn["job"]) == {"u", "v"}
    assert (drawn["job"] == "u").mean() == pytest.approx(0.5, abs=0.04)
    again = shoal.read_release(frame, draw=True, seed=5)
    assert drawn.equals(again)
    assert not drawn.equals(shoal.read_release(frame, draw=True, seed=6))


def test_copies_hold_every_row_several_times_with_draws_of_their_own():
    table = make_table(2)
    release = make_release(table, shuffle=False)
    drawn = opened(release.frame, draw=True, copies=3)
    assert drawn.columns == ["copy", *table.columns]
    assert drawn["copy"].value_counts().sort("copy").rows() == [(1, 40), (2, 40), (3, 40)]
    ends = opened(release.frame)
    for copy in range(1, 4):
        part = drawn.filter(pl.col("copy") == copy)
        assert (part["age"] >= ends["age_low"]).all()
        assert (part["age"] <= ends["age_high"]).all()
        assert (part["ill"] == table["ill"]).all()
    first, second = (drawn.filter(pl.col("copy") == n)["age"] for n in (1, 2))
    assert first.to_list() != second.to_list()


def test_suppressed_and_missing_cells_have_no_ends():
    frame = pl.DataFrame({"age": ["[20-29]", "*", None, "7"], "sex": ["F", "*", None, "M"]})
    got = shoal.read_release(frame)
    assert got["age_low"].to_list() == [20, None, None, 7]
    assert got["age_mid"].to_list() == [24.5, None, None, 7]
    drawn = shoal.read_release(frame, draw=True)
    assert drawn["age"].null_count() == 1  # only the missing one
    assert 7 <= drawn["age"][1] <= 29
    assert drawn["sex"][1] in ("F", "M")


@pytest.mark.parametrize(
    ("cell", "low", "high"),
    [
        ("[20, 30[", 20, 30),
        ("[20,30)", 20, 30),
        ("20-29", 20, 29),
        ("20 - 29", 20, 29),
        ("[-5 to 3]", -5, 3),
        ("[-5--3]", -5, -3),
        ("20..29", 20, 29),
        (">=65", 65, None),
        ("65+", 65, None),
        ("<18", None, 18),
    ],
)
def test_intervals_of_other_software_are_read(cell, low, high):
    got = shoal.read_release(pl.DataFrame({"age": [cell, "[1-2]"]}))
    assert (got["age_low"][0], got["age_high"][0]) == (low, high)


def test_zip_codes_without_any_interval_stay_texts():
    frame = pl.DataFrame({"zip": ["04790", "*", "04791"]})
    assert shoal.read_release(frame).columns == ["zip", "zip_values"]
    opened_as_number = shoal.read_release(frame, kinds={"zip": "numeric"})
    assert opened_as_number["zip_low"].to_list() == [4790, None, 4791]


def test_what_comes_in_goes_out():
    release = make_release(make_table(2))
    ends = opened(release.frame)
    pandas = opened(release.frame.to_pandas())
    assert pandas["age_low"].to_list() == ends["age_low"].to_list()
    arrow = opened(release.frame.to_arrow())
    assert arrow.column("age_low").to_pylist() == ends["age_low"].to_list()


def test_a_job_file_says_all_there_is_to_say(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = make_table(4)
    table.write_csv("in.csv")
    columns = {name: shoal.JobColumn(role="quasi-identifier") for name in table.columns[:-1]}
    columns["job"] = shoal.JobColumn(role="quasi-identifier", kind="set")
    columns["grade"] = shoal.JobColumn(role="quasi-identifier", order=ORDER)
    columns["ill"] = shoal.JobColumn(role="sensitive")
    job = shoal.Job(
        input="in.csv",
        output="safe.csv",
        columns=columns,
        k=3,
        algorithm="mondrian",
        rows_are_people=True,
        style={"interval_format": "<{low}|{high}>"},
    )
    shoal.write_job(job, "job.toml")
    shoal.run_job("job.toml")
    got = shoal.read_release("safe.csv", job="job.toml")
    assert {"age_low", "weight_mid", "grade_high", "born_low", "job_values", "ill"} <= set(
        got.columns
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"copies": 2}, "draw=True"),
        ({"copies": 0, "draw": True}, "copies must be"),
        ({"seed": -1}, "seed must be"),
        ({"kinds": {"age": "round"}}, "one of numeric"),
        ({"columns": "agee"}, "did you mean|Did you mean"),
        ({"delimiter": ";"}, "says how a file is read"),
    ],
)
def test_wrong_options_are_one_sentence(options, words):
    frame = pl.DataFrame({"age": ["[1-2]"]})
    with pytest.raises(shoal.OptionError, match=words):
        shoal.read_release(frame, **options)


def test_a_name_that_is_taken_is_refused():
    frame = pl.DataFrame({"age": ["[1-2]"], "age_mid": [3]})
    with pytest.raises(shoal.RoleError, match="'age_mid'"):
        shoal.read_release(frame)
    frame = pl.DataFrame({"age": ["[1-2]"], "copy": [3]})
    with pytest.raises(shoal.RoleError, match="'copy'"):
        shoal.read_release(frame, draw=True, copies=2)


def test_a_value_of_a_hierarchy_may_hold_what_stands_between_the_values_of_a_set():
    tree = {"river": ["Bonn, West", "Köln"], "hill": ["Trier", "Ulm, Old Town"]}
    published = pl.DataFrame({"town": ["{Bonn, West, Ulm, Old Town}", "{Köln, Trier}", "river"]})
    found = shoal.read_release(published, columns="town", hierarchies={"town": tree})
    assert [set(each) for each in found["town_values"]] == [
        {"Bonn, West", "Ulm, Old Town"},
        {"Köln", "Trier"},
        {"Bonn, West", "Köln"},
    ]
