"""Both ends of an interval belong to it, for whoever reads it; the next value does not."""

from datetime import date, datetime, timedelta

import polars as pl
import pytest

import shoal

DAY, SECOND = timedelta(days=1), timedelta(seconds=1)
FIRST, LAST = date(2024, 2, 1), date(2024, 2, 29)
EARLY, LATE = datetime(2024, 2, 1, 3), datetime(2024, 2, 29, 23)


def covers(release, frame, **somebody):
    """Tell whether a published cell covers one more person of the population."""
    people = pl.concat([frame, pl.DataFrame({name: [each] for name, each in somebody.items()})])
    promise = shoal.KMap(frame.height + 1, population=people)
    return shoal.verify(
        release.frame, frame.height, quasi_identifiers=frame.columns, privacy=[promise]
    ).holds


@pytest.mark.parametrize("midnights", [False, True])
def test_days_and_whole_numbers_on_a_grid_hold_both_ends(midnights):
    days = [FIRST, LAST, date(2024, 2, 10), date(2024, 2, 5)]
    frame = pl.DataFrame({"seen": days, "age": [20, 24, 22, 21]})
    table = frame
    if midnights:
        pytest.importorskip("pandas")
        table = frame.with_columns(pl.col("seen").cast(pl.Datetime("ns"))).to_pandas()
    given = {"quasi_identifiers": ["seen", "age"], "grid": {"seen": "month", "age": 5}, "seed": 1}
    release = shoal.anonymize(table, 4, **given)
    cells = pl.DataFrame({name: release.frame[name].to_list() for name in frame.columns})
    assert cells.rows() == [("[2024-02-01 to 2024-02-29]", "[20-24]")] * 4
    drawn = shoal.read_release(cells, draw=True, copies=300, seed=3)
    assert (drawn["seen"].min(), drawn["seen"].max()) == (FIRST, LAST)
    assert {*drawn["age"].to_list()} == {20, 21, 22, 23, 24}
    for day, age in ((FIRST, 20), (LAST, 24)):
        assert covers(release, frame, seen=day, age=age)
    for day, age in ((FIRST - DAY, 20), (LAST + DAY, 24), (FIRST, 19), (LAST, 25)):
        assert not covers(release, frame, seen=day, age=age)


def test_times_without_a_grid_hold_both_ends():
    times = [EARLY, LATE, datetime(2024, 2, 10, 4), datetime(2024, 2, 5, 9)]
    frame = pl.DataFrame({"seen": times})
    release = shoal.anonymize(frame, 4, quasi_identifiers="seen", grid="none", seed=1)
    assert set(release.frame["seen"]) == {"[2024-02-01 03:00:00 to 2024-02-29 23:00:00]"}
    assert covers(release, frame, seen=EARLY)
    assert covers(release, frame, seen=LATE)
    assert not covers(release, frame, seen=EARLY - SECOND)
    assert not covers(release, frame, seen=LATE + SECOND)
