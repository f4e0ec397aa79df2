"""Dates of a person: one offset for all of them, or days since the first; by sets and counting."""

from collections import Counter, defaultdict
from datetime import date, datetime, timedelta

import pandas as pd
import polars as pl
import pytest

import shoal
from shoal.errors import DataError, OptionError, PromiseError
from shoal.io.keys import make_secret
from shoal.table.date_offsets import offsets_of, read_dates
from shoal.table.dates import move_dates
from shoal.table.schema import build_schema

KEY = bytes(range(32))
BEGIN = date(2024, 1, 1)


def visits(n_people=60):
    """Visits of people: up to four each, with two dates in a row."""
    rows = []
    for who in range(n_people):
        for visit in range(1 + who % 4):
            admitted = BEGIN + timedelta(days=(who * 37 + visit * 61) % 330)
            rows.append((who, 20 + who, "MF"[who % 2], admitted, admitted + timedelta(who % 9)))
    return pl.DataFrame(rows, ["id", "age", "sex", "admitted", "left"], orient="row")


def moved(frame, how, names=("admitted", "left"), key=KEY, person="id"):
    schema = build_schema(
        frame.columns,
        quasi_identifiers=["age"],
        insensitive=[n for n in frame.columns if n not in ("age", person)],
        person=person,
        dates=dict.fromkeys(names, how),
    )
    return move_dates(frame, schema, key)


def release_of(frame, how="shift", **more):
    asked = {
        "k": 3,
        "quasi_identifiers": ["age", "sex"],
        "insensitive": ["admitted", "left"],
        "person": "id",
        "dates": {"admitted": how, "left": how},
        "algorithm": "mondrian",
        "shuffle": False,
    }
    with pytest.warns(shoal.ShoalWarning, match="the days between dates"):
        return shoal.anonymize(frame, **{**asked, **more})


def offsets_by_person(before, after, names=("admitted", "left")):
    """By person: the set of differences between published and true dates, in days."""
    found = defaultdict(set)
    for name in names:
        for who, old, new in zip(before["id"], before[name], after[name], strict=True):
            if old is not None:
                found[who].add((new - old).days)
    return found


@pytest.mark.parametrize(
    ("how", "step", "most"),
    [
        ("shift", 1, 365),
        ("shift weeks", 7, 364),
        ("shift 30 days", 1, 30),
        ("shift 4 weeks", 7, 28),
    ],
)
def test_all_dates_of_a_person_are_moved_by_one_offset_within_reach(how, step, most):
    found = offsets_by_person(visits(), moved(visits(), how))
    assert {len(each) for each in found.values()} == {1}
    offsets = [next(iter(each)) for each in found.values()]
    assert all(0 < abs(each) <= most and each % step == 0 for each in offsets)


def test_intervals_between_all_dates_of_a_person_stay_exact():
    before, after = visits(), moved(visits(), "shift")

    def gaps(table):
        dates = defaultdict(list)
        for who, one, two in zip(before["id"], table["admitted"], table["left"], strict=True):
            dates[who] += [one, two]
        return {who: [(b - a).days for a in each for b in each] for who, each in dates.items()}

    assert gaps(before) == gaps(after)


def test_weeks_keep_every_weekday():
    before, after = visits(), moved(visits(), "shift weeks")
    assert before["admitted"].dt.weekday().equals(after["admitted"].dt.weekday())


@pytest.mark.parametrize("how", ["shift 28 days", "shift 5 weeks"])
def test_every_offset_is_as_likely_as_any_other(how):
    frame = pl.DataFrame({"id": range(20_000), "age": 1, "admitted": BEGIN})
    after = moved(frame, how, ["admitted"])
    counts = Counter((each - BEGIN).days for each in after["admitted"])
    step, most = offsets_of(how)
    assert set(counts) == {step * n for n in range(-most, most + 1) if n}
    expected = 20_000 / len(counts)
    chi = sum((n - expected) ** 2 / expected for n in counts.values())
    assert chi < 2 * len(counts)  # the key is fixed: this is not chance


def test_spellings_and_types_of_one_id_have_one_offset_and_keys_differ():
    ids = (["007"], [7], [7.0], [" 7 "])
    found = {
        moved(pl.DataFrame({"id": each, "age": 1, "admitted": BEGIN}), "shift", ["admitted"])[
            "admitted"
        ][0]
        for each in ids
    }
    assert len(found) == 1
    other = moved(visits(), "shift", key=bytes(32))
    assert not other["admitted"].equals(moved(visits(), "shift")["admitted"])


def test_a_forgotten_key_is_another_in_every_run_whatever_the_seed():
    one, two = (release_of(visits(), seed=1).frame for _ in range(2))
    assert not one["admitted"].equals(two["admitted"])
    assert one["age"].equals(two["age"])


def test_a_kept_key_moves_a_person_alike_in_every_table(tmp_path):
    make_secret(tmp_path / "people.key")
    first, second = visits(), visits().reverse().head(40)
    one = offsets_by_person(first, release_of(first, person_key=tmp_path / "people.key").frame)
    two = offsets_by_person(second, release_of(second, person_key=tmp_path / "people.key").frame)
    assert all(one[who] == each for who, each in two.items())


def test_rows_without_an_id_are_moved_each_by_an_offset_of_their_own():
    frame = visits().with_columns(id=None)
    found = offsets_by_person(
        visits().with_columns(id=pl.int_range(pl.len())), moved(frame, "shift")
    )
    assert {len(each) for each in found.values()} == {1}  # both dates of a row
    assert len({next(iter(each)) for each in found.values()}) > 50


def test_rows_that_are_people_need_no_id():
    frame = visits().unique("id", maintain_order=True).drop("id")
    release = release_of(frame, person=None, rows_are_people=True)
    apart = {
        ((a - b).days, (c - d).days)
        for a, b, c, d in zip(
            release.frame["admitted"],
            frame["admitted"],
            release.frame["left"],
            frame["left"],
            strict=True,
        )
    }
    assert all(one == two != 0 for one, two in apart)
    with pytest.raises(OptionError, match="no column says whose row it is"):
        shoal.anonymize(
            frame, k=3, quasi_identifiers="age", insensitive=["sex", "admitted", "left"],
            dates={"left": "shift"},
        )  # fmt: skip


@pytest.mark.parametrize("names", [("admitted",), ("admitted", "left")])
def test_days_since_first_are_counted_from_the_first_date_in_all_marked_columns(names):
    before = visits().with_columns(left=pl.col("left") - timedelta(days=100))
    after = moved(before, "since first", names)
    first = {}
    for name in names:
        for who, day in zip(before["id"], before[name], strict=True):
            first[who] = min(day, first.get(who, day))
    for name in names:
        expected = [
            (day - first[who]).days for who, day in zip(before["id"], before[name], strict=True)
        ]
        assert after[name].to_list() == expected


def test_missing_dates_stay_missing_and_move_nothing_else():
    frame = pl.DataFrame(
        {
            "id": ["a", "a", "b"],
            "age": [1, 2, 3],
            "admitted": [None, BEGIN, None],
            "left": [BEGIN + timedelta(3), None, None],
        },
        schema_overrides={"admitted": pl.Date, "left": pl.Date},
    )
    after = moved(frame, "shift")
    assert after["admitted"].is_null().to_list() == [True, False, True]
    assert (after["left"][0] - after["admitted"][1]).days == 3
    assert moved(frame, "since first")["left"].to_list() == [3, None, None]


def test_points_in_time_keep_the_time_of_day_and_lose_their_zone():
    clock = [datetime(2024, 3, 30, 23, 30), datetime(2024, 3, 31, 12), datetime(2024, 10, 27, 8)]
    frame = pl.DataFrame(
        {
            "id": [1, 1, 1],
            "age": 1,
            "admitted": pl.Series(clock).dt.replace_time_zone("Europe/Rome"),
        }
    )
    after = moved(frame, "shift", ["admitted"])["admitted"].to_list()
    assert {new - old for new, old in zip(after, clock, strict=True)} == {after[0] - clock[0]}
    assert (after[0] - clock[0]).seconds == 0
    assert after[0].tzinfo is None
    counted = moved(frame, "since first", ["admitted"])["admitted"].to_list()
    assert counted == [0, 1, 211]


def test_a_moved_quasi_identifier_is_generalised_after_it_was_moved():
    release = release_of(
        visits(), quasi_identifiers=["age", "admitted"], insensitive=["sex", "left"],
        grid={"admitted": "month"},
    )  # fmt: skip
    assert release.verification.holds
    people = defaultdict(set)
    for cells, who in zip(
        release.frame.select("age", "admitted").rows(), visits()["id"], strict=True
    ):
        people[cells].add(who)
    assert min(map(len, people.values())) >= 3
    assert release.certificate()["columns"][3]["dates"] == "shift 365 days"


def test_days_since_first_are_generalised_as_numbers_although_the_column_is_of_dates():
    release = release_of(
        visits(), "since first", quasi_identifiers=["age", "admitted"],
        insensitive=["sex", "left"], kinds={"admitted": "date"},
    )  # fmt: skip
    assert release.verification.holds
    assert release.schema["admitted"].kind == "numeric"
    assert release.judgement.open[-1].what == "moved dates"


def test_days_that_are_generalised_are_covered_by_k_and_exact_ones_are_an_open_point():
    asked = {"k": 3, "person": "id", "algorithm": "mondrian", "drop": "left"}
    asked |= {"dates": {"admitted": "since first"}}
    covered = shoal.anonymize(visits(), quasi_identifiers=["age", "sex", "admitted"], **asked)
    assert covered.judgement == "green"
    with pytest.warns(shoal.ShoalWarning, match="days since the first"):
        exact = shoal.anonymize(
            visits(), quasi_identifiers=["age", "sex"], insensitive="admitted", **asked
        )
    assert "moved dates" in {each.what for each in exact.judgement.open}


def test_pandas_gets_dates_back():
    frame = visits().to_pandas()
    frame["admitted"] = pd.to_datetime(frame["admitted"])
    release = release_of(frame)
    assert str(release.frame["admitted"].dtype).startswith("datetime64")


def test_a_date_beside_that_is_not_moved_is_an_open_point():
    frame = visits().with_columns(born=pl.lit(date(1960, 5, 5)))
    near = release_of(frame, insensitive=["admitted", "left", "born"], dates={"admitted": "shift"})
    points = [(each.what, each.column) for each in near.judgement.open]
    assert ("unmoved dates", "left") in points
    assert ("unmoved dates", "born") not in points
    all_moved = release_of(frame, drop=["born"]).judgement.open
    assert "unmoved dates" not in {each.what for each in all_moved}


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("sift", "Did you mean 'shift'"),
        ("shift 3 days", "28 days to 100 years"),
        ("shift 6000 weeks", "28 days to 100 years"),
        ("shift -30 days", "must be 'shift'"),
        (30, "must be 'shift'"),
    ],
)
def test_what_is_no_way_to_move_dates_is_refused(how, words):
    with pytest.raises(OptionError, match=words):
        read_dates("admitted", how)


def test_what_cannot_be_moved_is_one_sentence():
    with pytest.raises(OptionError, match="a person has one offset"):
        release_of_plain({"admitted": "shift", "left": "shift weeks"})
    with pytest.raises(OptionError, match="neither a quasi-identifier nor insensitive"):
        release_of_plain({"admitted": "shift"}, insensitive=["left"], sensitive="admitted")
    with pytest.raises(DataError, match="it holds none"):
        release_of_plain({"age": "shift"})
    everybody = shoal.KMap(3, population=visits())
    with pytest.raises(OptionError, match="compares with a population"):
        release_of_plain(
            {"admitted": "shift"},
            quasi_identifiers=["age", "admitted"],
            insensitive=["sex", "left"],
            privacy=everybody,
        )
    late = visits().with_columns(left=pl.lit(date(9999, 12, 31)))
    with pytest.raises(DataError, match="out of the calendar"):
        release_of_plain({"left": "shift"}, frame=late)


def release_of_plain(dates, frame=None, **more):
    asked = {"k": 3, "quasi_identifiers": ["age", "sex"], "insensitive": ["admitted", "left"]}
    frame = visits() if frame is None else frame
    return shoal.anonymize(frame, person="id", dates=dates, **{**asked, **more})


def test_days_since_a_first_date_that_would_be_left_out_are_refused():
    frame = visits()
    # the first visit of somebody who has others, with a sex that is not known
    gap = frame.with_row_index().filter(pl.col("id") == 3)["index"][0]
    sexes = [None if n == gap else sex for n, sex in enumerate(frame["sex"])]
    frame = frame.with_columns(pl.Series("sex", sexes))
    asked = {"missing": "suppress", "insensitive": [], "drop": ["left"]}
    asked |= {"quasi_identifiers": ["age", "sex", "admitted"], "dates": {"admitted": "since first"}}
    asked |= {"k": 3, "person": "id", "algorithm": "mondrian"}
    with pytest.raises(PromiseError, match="since the first date"):
        shoal.anonymize(frame, **asked)
    alone = frame.filter((pl.col("id") != 3) | pl.col("sex").is_null())
    assert shoal.anonymize(alone, **asked).frame.height == alone.height - 1


def test_days_since_a_first_date_of_a_row_that_waits_are_refused():
    frame = visits().drop("left").with_columns(age=pl.lit(40))
    asked = {"quasi_identifiers": ["age", "sex"], "insensitive": ["admitted"]}
    asked |= {"k": 3, "person": "id", "dates": {"admitted": "since first"}}
    release = shoal.anonymize(frame, **asked)
    further = frame.with_columns(pl.col("id") + 1000)
    assert further.height == shoal.apply(further, release).release.frame.height
    # the first visit of somebody who has others, at an age that fits no group
    gap = further.with_row_index().filter(pl.col("id") == 1003)["index"][0]
    ages = [99 if n == gap else 40 for n in range(further.height)]
    with pytest.raises(PromiseError, match="since the first date"):
        shoal.apply(further.with_columns(pl.Series("age", ages)), release)
