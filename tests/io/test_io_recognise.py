"""How a file writes its dates and numbers is found from all of its cells, or asked."""

import random
from datetime import UTC, date, datetime

import polars as pl
import pytest

from shoal.io.overwrite_guard import watching_inputs
from shoal.io.read import read_table

NOW = datetime.now(UTC).year


@pytest.fixture
def reading(tmp_path):
    """Write columns as a text file and read it, looking for spellings."""

    def read(*columns, delimiter=";", **options):
        names = [f"c{number}" for number in range(1, len(columns) + 1)]
        lines = [names, *zip(*columns, strict=True)]
        quoted = [
            delimiter.join(f'"{each}"' if delimiter in each else each for each in line)
            for line in lines
        ]
        path = tmp_path / "t.csv"
        path.write_text("\n".join(quoted) + "\n")
        with watching_inputs() as watch:
            frame = read_table(path, guess=True, **options)
            (how,) = watch.how_read.values()
            return frame, how

    return read


OTHER = ["x", "y", "z"]


@pytest.mark.parametrize(
    ("cells", "spelling", "first"),
    [
        (["18.04.1925", "1.2.2000", "03.12.1999"], "dd.mm.yyyy", date(1925, 4, 18)),
        (["18. 4. 1925", "1. 2. 2000", "3. 12. 1999"], "dd. mm. yyyy", date(1925, 4, 18)),
        (["01/02/1985", "18/04/1925", "03/12/1999"], "dd/mm/yyyy", date(1985, 2, 1)),
        (["01/02/1985", "04/18/1925", "12/03/1999"], "mm/dd/yyyy", date(1985, 1, 2)),
        (["01-02-1985", "18-04-1925", "03-12-1999"], "dd-mm-yyyy", date(1985, 2, 1)),
        (["1985/2/1", "1925/04/18", "1999/12/03"], "yyyy/mm/dd", date(1985, 2, 1)),
        (["18. April 1925", "1. Mai 2000", "3. März 1999"], "d. mmmm yyyy", date(1925, 4, 18)),
        (["18 avril 1925", "1 août 2000", "3 déc. 1999"], "d mmmm yyyy", date(1925, 4, 18)),
        (["18 abr 1925", "1 ene 2000", "3 dic 1999"], "d mmm yyyy", date(1925, 4, 18)),
        (["April 18, 1925", "May 1, 2000", "Dec 3, 1999"], "mmmm d, yyyy", date(1925, 4, 18)),
        (["3-Feb-85", "1-May-00", "3-Dec-99"], f"d-mmm-yy since {NOW - 99}", date(1985, 2, 3)),
        (["1.2.85", "18.4.00", "3.12.99"], f"dd.mm.yy since {NOW - 99}", date(1985, 2, 1)),
        (["85/02/01", "00/04/18", "99/12/31"], f"yy/mm/dd since {NOW - 99}", date(1985, 2, 1)),
        (
            ["18.04.1925 10:30", "1.2.2000 00:00", "03.12.1999 23:59"],
            "dd.mm.yyyy hh:mm",
            datetime(1925, 4, 18, 10, 30),
        ),
        (
            ["2/13/1985 1:05 PM", "2/3/1985 12:05 AM", "2/3/1985 12:05 pm"],
            "mm/dd/yyyy hh:mm am",
            datetime(1985, 2, 13, 13, 5),
        ),
        (["03FEB1985", "18APR1925", "01MAY2000"], "ddmmmyyyy", date(1985, 2, 3)),
        (["04/2021", "12/1999", "1/2000"], "mm/yyyy", date(2021, 4, 1)),
        (["04.2021", "12.1999", "01.2000"], "mm.yyyy", date(2021, 4, 1)),
        (["2021-04", "1999-12", "2000-01"], "yyyy-mm", date(2021, 4, 1)),
        (["Apr 2021", "Dez. 1999", "Jan 2000"], "mmm yyyy", date(2021, 4, 1)),
        (["April 2021", "Dezember 1999", "März 2000"], "mmmm yyyy", date(2021, 4, 1)),
        (["03FEB85", "18APR25", "01MAY00"], f"ddmmmyy since {NOW - 99}", date(1985, 2, 3)),
        (
            ["03FEB1985:10:30:00", "18APR1925:00:00:01", "01MAY2000:23:59:59"],
            "ddmmmyyyy:hh:mm:ss",
            datetime(1985, 2, 3, 10, 30),
        ),
        (
            ["2024-07-01T00:15:00+02:00", "2024-01-01T23:59:59+01:00", "2024-01-02T08:00:00Z"],
            "yyyy-mm-ddthh:mm:ss+zz",
            datetime(2024, 7, 1, 0, 15),
        ),
        (
            ["2024-07-01T00:15:00.25+0200", "2024-01-01T23:59:59.5+01:00", "2024-01-02T08:00:00Z"],
            "yyyy-mm-ddthh:mm:ss+zz",
            datetime(2024, 7, 1, 0, 15),
        ),
        (["1.234,56", "12", "950,5"], "1.234,5", 1234.56),
        (["(1.234,56)", "12", "950,5"], "1.234,5", -1234.56),
        (["1.234,56-", "12", "950,5"], "1.234,5", -1234.56),
        (["(€ 1.234,56)", "€ 12", "€ 950,5-"], "€ 1.234,5", -1234.56),
        (["1 234,5", "12", "950,5"], "1 234,5", 1234.5),
        (["1\u202f234,5", "1\xa0234", "950,5"], "1 234,5", 1234.5),
        (["1'234.50", "12", "950.5"], "1'234.5", 1234.5),
        (["1,234.50", "12", "950.5"], "1,234.5", 1234.5),
        (["1.234.567", "12", "950"], "1.234,5", 1234567),
        (["12 %", "0 %", "-3 %"], "12 %", 12),
        (["12,5%", "0%", "-3%"], "1234,5 %", 12.5),
        (["€ 1.200", "€ 950", "€ 12.500"], "€ 1.234,5", 1200),
        (["$1,200", "$950", "$-12,500"], "$ 1,234.5", 1200),
        (["1 200 kr", "950 kr", "12 kr"], "1 234,5 kr", 1200),
    ],
)
def test_a_spelling_is_found_told_and_read(reading, cells, spelling, first):
    frame, how = reading(cells, OTHER)
    assert frame.get_column("c1")[0] == first
    assert frame.get_column("c1").null_count() == 0
    assert how.spelled["c1"].spelling == spelling
    assert any("'c1'" in note and spelling in note for note in how.notes)
    assert how.doubts == []
    again, how = reading(cells, OTHER, read_as={"c1": spelling})
    assert again.equals(frame)
    assert how.spelled == {}


@pytest.mark.parametrize(
    "cells",
    [
        ["007", "008", "1.234"],  # zeros in front
        ["250.10", "250.1", "12"],  # codes that differ in a zero
        ["192.168.1.1", "10.0.0.1", "10.0.0.2"],
        ["1.2.3", "1.2.4", "2.1.1"],
        ["12E4", "13E4", "14E4"],
        ["123 456 789", "321 456 789", "213 456 789"],  # numbers of firms
        ["030 123 456", "030 123", "040 1"],  # phones
        ["A12.3", "B1.1", "C9"],
        ["12 apples", "13 apples", "14 apples"],
        ["€ 5", "$ 5", "€ 6"],
        ["18.04.1925", "x", "19.04.1925"],
        ["18.04.1925", "30.02.1925", "19.04.1925"],
        ["1,50 %", "1,5 %", "2 %"],  # two texts of one number
        ["1,5-", "-1,5", "2,5"],
        ["(1,5", "3,5", "2,5"],
        ["-1,5-", "3,5", "2,5"],
        ["(-1,5)", "3,5", "2,5)"],
        ["12-", "13-", "(14)"],
        ["03FEX1985", "18APR1925", "01MAY2000"],
        ["12/2019", "13/2019", "1/2020"],  # files of a court
        ["2019-20", "2020-21", "2021-22"],  # school years
        ["2009-10", "2010-11", "2011-12"],
        ["1/2", "3/4", "7/8"],
    ],
)
def test_what_is_no_date_or_number_in_one_way_stays_text(reading, cells):
    frame, how = reading(cells, OTHER)
    assert frame.get_column("c1").to_list() == cells
    assert "c1" not in how.spelled or how.spelled["c1"].spelling == "text"


@pytest.mark.parametrize("cells", [["01/02/1985", "03/04/1999", "12/12/2000"]])
def test_day_and_month_are_asked_where_neither_is_above_12(reading, cells):
    frame, how = reading(cells, OTHER)
    assert frame.get_column("c1")[0] == date(1985, 2, 1)  # the day first, as in most countries
    (asked,) = how.doubts
    assert "'c1'" in asked
    assert "mm/dd/yyyy" in asked
    assert not any(cell in asked for cell in cells)


def test_another_column_of_dates_decides_for_one_that_does_not_tell(reading):
    unclear, certain = ["01/02/1985", "03/04/1999"], ["04/18/1925", "01/02/2000"]
    frame, how = reading(unclear, certain)
    assert frame.get_column("c1")[0] == date(1985, 1, 2)
    assert how.doubts == []
    assert "other columns" in how.spelled["c1"].why
    other_way = ["18/04/1925", "01/02/2000"]
    _, how = reading(unclear, certain, other_way)  # which disagree
    assert len(how.doubts) == 1


def test_dates_whose_parts_change_places_stay_text_and_are_asked_about(reading):
    frame, how = reading(["18/04/1925", "04/18/1925"], ["x", "y"])
    assert frame.get_column("c1").dtype == pl.String
    assert how.spelled["c1"].spelling == "text"
    assert "1 of its 2 different values are no such dates" in how.doubts[0]


def test_years_of_two_digits_never_make_a_day_in_the_future_without_a_question(reading):
    last = f"31.12.{NOW % 100:02}"
    frame, how = reading(["1.2.85", last], ["x", "y"])
    tomorrow = frame.get_column("c1").max() > datetime.now(UTC).date()
    assert tomorrow is bool(how.doubts)
    frame, how = reading(
        ["1.2.85", last], ["x", "y"], read_as={"c1": f"dd.mm.yy since {NOW - 100}"}
    )
    assert frame.get_column("c1").max() == date(1985, 2, 1)
    assert how.doubts == []


@pytest.mark.parametrize(
    ("cells", "delimiter", "value", "asked"),
    [
        (["1.200", "950", "12.500"], ";", 1200, True),  # three decimals are always written
        (["1.200", "3.950", "12.500"], ";", 1.2, True),
        (["1.200", "3.950", "12.500"], ",", 1.2, False),  # a comma separates: points are decimals
        (["1.200", "950", "12.500"], ",", 1.2, False),
        (["1,200", "950", "12,500"], ",", 1200, False),
        (["1,200", "950", "12,500"], ";", 1200, True),
        (["1,200", "3,950", "12,500"], ";", 1.2, False),
        (["0.200", "3.950", "12.500"], ";", 0.2, False),
        (["1.200", "3.9", "12.5"], ";", 1.2, False),
    ],
)
def test_one_sign_before_three_digits_is_asked_about(reading, cells, delimiter, value, asked):
    frame, how = reading(cells, OTHER, delimiter=delimiter)
    assert frame.get_column("c1")[0] == value
    assert bool(how.doubts) is asked


@pytest.mark.parametrize(("cell", "value"), [("1,5", 1200), ("1.5", 1.2)])
def test_decimals_of_another_column_tell_what_a_point_means(reading, cell, value):
    frame, how = reading(["1.200", "950"], [cell, cell.replace("5", "25")])
    assert frame.get_column("c1")[0] == value
    assert how.doubts == []


@pytest.mark.parametrize("odd", ["00.00.0000", "31.02.1980", "unbekannt", "1980-01-01", "1.1.80"])
def test_a_column_of_dates_with_another_cell_is_asked_about_and_the_cell_not_shown(reading, odd):
    days = [f"{1 + n % 28:02}.{1 + n % 12:02}.{1950 + n}" for n in range(30)]
    for cells in ([odd, *days], [*days, odd]):
        frame, how = reading(cells, ["x"] * 31)
        assert frame.get_column("c1").to_list() == cells
        (asked,) = how.doubts
        assert "'c1' looks like dates written as dd.mm.yyyy, but 1 of its 31" in asked
        assert odd not in asked
        frame, how = reading(cells, ["x"] * 31, missing_codes={"c1": [odd]})
        assert frame.get_column("c1").dtype == pl.Date
        assert how.doubts == []
        frame, how = reading(cells, ["x"] * 31, read_as={"c1": "text"})
        assert how.doubts == []


@pytest.mark.parametrize(("form", "spelling"), [("%d%m%Y", "ddmmyyyy"), ("%m%d%Y", "mmddyyyy")])
def test_eight_digits_in_another_order_are_days_too(reading, form, spelling):
    days = [date(1950 + n, 1 + n % 9, 14 + n % 14) for n in range(40)]
    frame, how = reading([f"{d:{form}}" for d in days], ["x"] * 40)
    if form == "%d%m%Y":  # no zero stands in front: numbers may be anything
        assert frame.get_column("c1").dtype.is_integer()
        days = [d.replace(day=d.day - 13) for d in days]
        frame, how = reading([f"{d:{form}}" for d in days] + ["27091950"], ["x"] * 41)
        days.append(date(1950, 9, 27))
    assert frame.get_column("c1").to_list() == days
    assert (how.spelled["c1"].spelling, how.doubts) == (spelling, [])
    unclear = [date(1950 + n, 1 + n % 9, 1 + n % 9) for n in range(40)]
    frame, how = reading([f"{d:{form}}" for d in unclear], ["x"] * 40)
    (asked,) = how.doubts
    assert "could also be mmddyyyy" in asked
    numbers = [f"{n * 1_234_567 % 10**8:08}" for n in range(1, 41)]
    frame, how = reading(numbers, ["x"] * 40)
    assert frame.get_column("c1").to_list() == numbers


def test_whole_numbers_that_all_are_days_are_read_as_days(reading):
    days = [date(1950 + n, 1 + n % 12, 1 + n % 28) for n in range(40)]
    frame, how = reading([f"{d:%Y%m%d}" for d in days], ["x"] * 40)
    assert frame.get_column("c1").to_list() == days
    assert how.spelled["c1"].spelling == "yyyymmdd"
    numbers = [str(20000000 + n) for n in range(1, 41)]
    frame, how = reading(numbers, ["x"] * 40)
    assert frame.get_column("c1").dtype.is_integer()


def test_nothing_is_looked_for_unless_it_is_asked_for(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b\n18.04.1925;1.200\n")
    assert read_table(path).rows() == [("18.04.1925", 1.2)]


def test_a_column_is_read_alike_whether_its_texts_repeat_themselves_or_not(reading):
    chance = random.Random(4)
    days = [date.fromordinal(chance.randrange(690_000, 730_000)) for _ in range(3000)]
    for cells in (days, days[:20] * 150):
        frame, _ = reading([f"{d:%d.%m.%Y}" for d in cells], [f"{n % 7}" for n in range(3000)])
        assert frame.get_column("c1").to_list() == cells


def test_sheets_and_lines_of_json_are_looked_at_too(tmp_path):
    pytest.importorskip("xlsxwriter")
    texts = pl.DataFrame({"born": ["18.04.1925", "01.02.1990"], "pay": ["1.234,5", "12"]})
    texts.write_excel(tmp_path / "t.xlsx")
    texts.write_ndjson(tmp_path / "t.jsonl")
    for name in ("t.xlsx", "t.jsonl"):
        frame = read_table(tmp_path / name, guess=True)
        assert frame.rows() == [(date(1925, 4, 18), 1234.5), (date(1990, 2, 1), 12.0)]


NUMBERS = [str(n) for n in range(11, 71)]


@pytest.mark.parametrize(
    "bound",
    [
        *("<5", "< 5", "<=5", "≤ 5", ">= 90", "> 90", "90+", "90 +", "über 90", "unter 5"),
        *("90 and older", "90 und mehr", "at least 90", "under 5", "<0,5", "90 ou plus"),
    ],
)
def test_numbers_with_bounds_among_them_stay_text_and_are_asked_about(reading, bound):
    for cells in ([*NUMBERS, bound], [bound, *NUMBERS]):
        frame, how = reading(cells, ["x"] * 61)
        assert frame.get_column("c1").to_list() == cells
        (asked,) = how.doubts
        assert "'c1' looks like numbers, but 1 of its 61 different values are bounds" in asked
        assert bound not in asked
        frame, how = reading(cells, ["x"] * 61, missing_codes={"c1": [bound]})
        assert frame.get_column("c1").dtype.is_integer()
        assert how.doubts == []
        _, how = reading(cells, ["x"] * 61, read_as={"c1": "text"})
        assert how.doubts == []


@pytest.mark.parametrize(
    "cells",
    [
        ["0", "1", "2", "3+"],  # steps of a scale
        [*NUMBERS, "12a"],  # numbers of houses
        [*NUMBERS, "V27"],  # codes
        ["<5", "5-9", "10-14", "15+"] * 4,
        [*(f"{n}+" for n in NUMBERS), "7"],
        NUMBERS,
    ],
)
def test_what_holds_no_bounds_among_numbers_is_not_asked_about(reading, cells):
    _, how = reading(cells, ["x"] * len(cells))
    assert how.doubts == []


@pytest.mark.parametrize(
    "cells",
    [
        ["12:05 Uhr", "7:30 Uhr", "23:59 Uhr"],
        ["12.05 Uhr", "7 Uhr", "23.59 Uhr"],
        ["12:05", "07:30", "23:59"],
        ["12:05:10", "7:30:00", "0:00:01"],
        ["7:30 pm", "12:05 am", "1 p.m."],
        ["12h05", "7h30", "23h59"],
    ],
)
def test_times_of_the_day_stay_text_and_are_asked_about(reading, cells):
    frame, how = reading(cells, OTHER)
    assert frame.get_column("c1").to_list() == cells
    (asked,) = how.doubts
    assert "'c1' holds times of the day" in asked
    assert not any(cell in asked for cell in cells)
    _, how = reading(cells, OTHER, read_as={"c1": "text"})
    assert how.doubts == []


def test_months_do_not_tell_which_of_day_and_month_comes_first(reading):
    _, how = reading(["04/2021", "12/1999"], ["01/02/1985", "03/04/1999"])
    assert [each for each in how.doubts if "'c2'" in each]
