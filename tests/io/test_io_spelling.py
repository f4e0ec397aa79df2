"""Dates and numbers as a country writes them, against parsers of plain Python."""

import itertools
import random
from datetime import date, datetime, timedelta
from decimal import Decimal

import polars as pl
import pytest

import shoal
from shoal.errors import DataError, OptionError
from shoal.io.read import read_table
from shoal.io.spelling import parse_spelling, read_spelled

SHORT, GERMAN, FRENCH = (
    line.split()
    for line in (
        "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec",
        "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    )
)
DAYS = [date(1925, 4, 18), date(2024, 2, 29), date(1999, 12, 31), date(2000, 1, 1)]
DAYS += [date(1927, 1, 1) + timedelta(days=n) for n in random.Random(1).sample(range(36_000), 200)]

# How a day is written, by plain Python.
DATES = {
    "dd.mm.yyyy": lambda d: f"{d.day:02}.{d.month:02}.{d.year}",
    "d.m.yyyy": lambda d: f"{d.day}.{d.month}.{d.year}",
    "mm/dd/yyyy": lambda d: f"{d.month:02}/{d.day:02}/{d.year}",
    "dd-mmm-yy since 1927": lambda d: f"{d.day}-{SHORT[d.month - 1]}-{d.year % 100:02}",
    "d. mmmm yyyy": lambda d: f"{d.day}. {GERMAN[d.month - 1]} {d.year}",
    "dd mmmm yyyy": lambda d: f"{d.day:02}\xa0{FRENCH[d.month - 1].upper()} {d.year}",
    "mmmm d, yyyy": lambda d: f"{SHORT[d.month - 1]}. {d.day}, {d.year}",
    "yyyy/mm/dd": lambda d: f"{d.year}/{d.month:02}/{d.day:02}",
    "yyyymmdd": lambda d: f"{d.year}{d.month:02}{d.day:02}",
}


def read(values, spelling):
    frame = read_spelled(pl.DataFrame({"a": values, "b": values}), {"a": spelling})
    assert frame.columns == ["a", "b"]
    return frame.get_column("a").to_list()


@pytest.mark.parametrize("spelling", DATES)
def test_a_date_is_the_day_that_was_written(spelling):
    days = [d for d in DAYS if d.year > 1926 or "yyyy" in spelling]
    assert read([*map(DATES[spelling], days), None], spelling) == [*days, None]


@pytest.mark.parametrize(
    ("spelling", "form"),
    [
        ("dd.mm.yyyy hh:mm", "%d.%m.%Y %H:%M"),
        ("mm/dd/yyyy hh:mm:ss am", "%m/%d/%Y %I:%M:%S %p"),
        ("yyyy/mm/dd hh:mm:ss", "%Y/%m/%d %H:%M:%S"),
    ],
)
def test_a_moment_is_the_one_that_was_written(spelling, form):
    moments = [datetime(2001, 3, 4) + timedelta(minutes=61 * n) for n in range(100)]
    assert read([each.strftime(form) for each in moments], spelling) == moments


@pytest.mark.parametrize(
    ("decimal", "group", "before", "after"),
    [
        *((*signs, "", "") for signs in [",.", ", ", ".,", ".'", (",", ""), (".", "")]),
        (",", ".", "€ ", ""),
        (",", " ", "", " %"),
        (".", ",", "$", ""),
        (".", "'", "", " CHF"),
    ],
)
def test_a_number_is_the_one_that_was_written(decimal, group, before, after):
    chance = random.Random(2)
    numbers = [Decimal(chance.randrange(-(10**9), 10**9)) / 100 for _ in range(200)]
    written = [
        f"{before}{n:,.2f}{after}".translate({ord(","): group, ord("."): decimal}) for n in numbers
    ]
    spelling = f"{before}1{group}234{decimal}5{after}"
    assert read(written, spelling) == [float(n) for n in numbers]
    assert read(["1000000", "-12"], spelling) == [1000000, -12]  # signs may be missing


@pytest.mark.parametrize("space", ["\xa0", "\u202f", "\u2009", " "])
def test_any_narrow_space_stands_between_three_digits(space):
    assert read([f"1{space}234,5", f"-1{space}234{space}567"], "1 234,5") == [1234.5, -1234567]


def test_an_apostrophe_and_a_minus_may_be_typographic():
    assert read(["1\u2019234.50", "\u22121'000"], "1'234.50") == [1234.5, -1000]


@pytest.mark.parametrize(
    ("spelling", "cell"),
    [
        ("dd.mm.yyyy", "31.04.2001"),
        ("dd.mm.yyyy", "01/04/2001"),
        ("dd/mm/yyyy", "04/18/2001"),
        ("yyyymmdd", "2001418"),
        ("d. mmmm yyyy", "3. Blah 2001"),
        ("1.234,5", "1.23"),
        ("1.234,5", "1,234.5"),
        ("12 %", "12,5 %"),
        ("€ 1.234,5", "$ 5"),
    ],
)
def test_a_cell_that_is_written_in_another_way_is_refused_and_not_shown(spelling, cell):
    with pytest.raises(DataError, match=r"1 of its 1 different values are not written so") as error:
        read([cell, cell, None], spelling)
    assert cell not in str(error.value).replace(repr(str(parse_spelling(spelling))), "")


@pytest.mark.parametrize(
    "text",
    ["1.200", "€ 1.200", "dd.mm", "dd.mm.yyyy since 1930", "12 apples", "", "dd.dd.yyyy", "%d.%m"],
)
def test_what_says_no_spelling_is_refused(text):
    with pytest.raises(OptionError, match="no way to write dates or numbers"):
        parse_spelling(text)


@pytest.mark.parametrize("text", [*DATES, "1.234,5", "1 234,5", "1'234.5", "12 %", "€ 1,234.5"])
def test_a_spelling_is_written_as_it_is_read(text):
    assert parse_spelling(str(parse_spelling(text.upper() if "y" in text else text))) == (
        parse_spelling(text)
    )


def test_iso_dates_and_columns_with_a_type_are_read_beside_any_spelling(tmp_path):
    assert read(["2001-04-03", None], "mm/dd/yyyy") == [date(2001, 4, 3), None]
    assert read([date(2001, 4, 3)], "mm/dd/yyyy") == [date(2001, 4, 3)]
    assert read([1.5], "1.234,5") == [1.5]


def _files(folder, frame):
    """Return the table in each format that has columns of text."""
    for name, write in (
        ("t.csv", frame.write_csv),
        ("t.parquet", frame.write_parquet),
        ("t.xlsx", frame.write_excel),
        ("t.jsonl", frame.write_ndjson),
    ):
        write(folder / name)
        yield folder / name


def test_files_of_every_format_are_read_in_the_spelling_that_is_given(tmp_path):
    pytest.importorskip("xlsxwriter")
    texts = pl.DataFrame(
        {
            "born": ["18.04.1925", "01.02.1990", None] * 700,
            "pay": ["1.234,5", "1.234", "12"] * 700,
            "code": ["1.50", "1.5", "7"] * 700,
        }
    )
    wanted = pl.DataFrame(
        {
            "born": [date(1925, 4, 18), date(1990, 2, 1), None] * 700,
            "pay": [1234.5, 1234.0, 12.0] * 700,
            "code": ["1.50", "1.5", "7"] * 700,
        }
    )
    for path in _files(tmp_path, texts):
        for coded in (False, True):
            read_as = {"born": "dd.mm.yyyy", "pay": "1.234,5", "code": "text"}
            frame = read_table(path, coded=coded, read_as=read_as)
            found = frame.with_columns(pl.col("code").cast(pl.String))
            assert found.equals(wanted), path


def test_every_spelling_of_one_table_gives_the_same_release(tmp_path):
    chance = random.Random(3)
    rows = [(chance.choice(DAYS), chance.randrange(100, 900_000) / 10) for _ in range(300)]
    iso = pl.DataFrame({"born": [d for d, _ in rows], "pay": [p for _, p in rows]})
    german = pl.DataFrame(
        {
            "born": [d.strftime("%d.%m.%Y") for d, _ in rows],
            "pay": [f"{p:,.1f}".translate({ord(","): ".", ord("."): ","}) for _, p in rows],
        }
    )
    asked = {"k": 5, "quasi_identifiers": ["born", "pay"], "algorithm": "mondrian", "seed": 1}
    one = shoal.anonymize(iso, **asked)
    other = shoal.anonymize(german, **asked, read_as={"born": "dd.mm.yyyy", "pay": "1.234,5"})
    assert one.frame.equals(other.frame)
    assert one.scores == other.scores


def test_how_a_column_is_written_is_kept_in_job_release_file_and_certificate(tmp_path):
    frame = pl.DataFrame({"born": ["18.04.1925", "01.02.1990"] * 5, "id": ["1.5"] * 10})
    asked = {"quasi_identifiers": "born", "drop": "id", "read_as": {"born": "DD.MM.YYYY"}}
    release = shoal.anonymize(frame, 5, **asked)
    release.save(tmp_path / "r.shoal")
    assert shoal.load_release(tmp_path / "r.shoal").schema["born"].read_as == "dd.mm.yyyy"
    assert release.certificate()["columns"][0]["read_as"] == "dd.mm.yyyy"
    text = '[columns.born]\nrole = "quasi-identifier"\nread_as = "dd.mm.yyyy"\n'
    (tmp_path / "job.toml").write_text(text)
    job = shoal.read_job(tmp_path / "job.toml")
    shoal.write_job(job, tmp_path / "again.toml")
    assert (tmp_path / "again.toml").read_text() == text


def test_no_month_has_the_name_of_another():
    from shoal.io.spelling import _MONTHS

    lines = [set(line.split()) for line in _MONTHS.strip().splitlines()]
    assert len(lines) == 12
    assert not any(a & b for a, b in itertools.combinations(lines, 2))
