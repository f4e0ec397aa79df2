"""Facts about rows that are no records: titles, totals, notes and repeated headers."""

import datetime as dt
import random

import openpyxl
import pytest

from shoal.errors import DataError, OptionError
from shoal.io.extra_rows import find_header
from shoal.io.overwrite_guard import watching_inputs
from shoal.io.read import read_table
from shoal.profile.suggest import suggest_job

NAMES = ["id", "name", "age", "sex", "ward"]
PEOPLE = [[n, f"P{n}", 20 + n, "fm"[n % 2], "AB"[n % 2]] for n in range(1, 31)]


@pytest.fixture(params=["csv", "semicolon", "excel"])
def hand(request, tmp_path):
    """Write rows as an office hands them over; return the path."""

    def write(rows):
        if request.param == "excel":
            path = tmp_path / "t.xlsx"
            book = openpyxl.Workbook()
            for row in rows:
                book.active.append([cell if cell != "" else None for cell in row])
            book.save(path)
            return path
        sign = {"csv": ",", "semicolon": ";"}[request.param]
        path = tmp_path / "t.csv"
        path.write_text("".join(sign.join(map(str, row)) + "\n" for row in rows), encoding="utf-8")
        return path

    return write


def padded(*cells):
    return [*cells, *[""] * (len(NAMES) - len(cells))]


def read(path, choice="drop"):
    with watching_inputs() as watch:
        frame = read_table(path, extra_rows=choice)
        return frame, " ".join(watch.notes)


EXTRA = {
    "Summe": ["Summe", "", 930, "", ""],
    "Insgesamt:": ["", "Insgesamt:", 930, "", ""],
    "Total with a number": ["Total: 30", "", "", "", ""],
    "Total général": ["Total général", "", 930, "", ""],
    "Razem": ["Razem", "", 930, "", ""],
    "every cell of a total is filled": ["Gesamt", "-", 930, "-", "-"],
    "a source": padded("* Quelle: Krankenhaus"),
    "a source without a star": padded("Source: hospital"),
    "a count": padded("n = 30"),
    "words in the first cell only": padded("Stand nach Korrektur"),
    "a page": padded("Seite 3 von 4"),
    "a repeated header": NAMES,
}


@pytest.mark.parametrize("extra", EXTRA.values(), ids=EXTRA)
def test_a_row_that_is_no_record_at_the_end_is_left_out_and_numbers_stay_numbers(hand, extra):
    frame, said = read(hand([NAMES, *PEOPLE, extra]))
    assert [list(row) for row in frame.rows()] == PEOPLE
    assert "rows were left out" in said
    assert "row 32" in said
    for cell in extra:
        assert len(str(cell)) < 4 or str(cell) not in said


@pytest.mark.parametrize("extra", EXTRA.values(), ids=EXTRA)
def test_nobody_reads_such_a_row_as_a_person_without_saying_so(hand, extra):
    path = hand([NAMES, *PEOPLE[:10], extra, *PEOPLE[10:]])
    with pytest.raises(DataError, match=r"row 12\), which are no records: .*--extra-rows drop"):
        read_table(path, extra_rows="ask")
    assert read_table(path, extra_rows="keep").height == 31
    assert read(path)[0].rows() == [tuple(row) for row in PEOPLE]


def test_a_note_of_fewer_cells_than_the_table_is_a_note(tmp_path):
    lines = [",".join(map(str, row)) for row in [NAMES, *PEOPLE]]
    (tmp_path / "t.csv").write_text(
        "\n".join([*lines, "* Source: ward A, ward B", "end of the list", ""])
    )
    frame, said = read(tmp_path / "t.csv")
    assert frame.rows() == [tuple(row) for row in PEOPLE]
    assert "notes (rows 32, 33)" in said
    with pytest.raises(DataError, match="line 32: the row has 2 fields"):
        read_table(tmp_path / "t.csv")


def test_a_row_that_was_cut_is_still_an_error(tmp_path):
    (tmp_path / "t.csv").write_text("id,name,age\n1,Ann,30\n2,Bob\n3,Cem,40\n")
    with pytest.raises(DataError, match="line 3: the row has 2 fields"):
        read_table(tmp_path / "t.csv", extra_rows="drop")


PLAIN = {
    "a person of whom only the number is known": padded(99),
    "a number with letters": padded("P-99"),
    "a missing name": ["", "", 50, "f", "A"],
    "a name that begins like a total": [31, "Summer", 50, "f", "A"],
    "a surname": [31, "Notes", 50, "f", "A"],
    "a gap": [31, "Ann", "", "f", "A"],
}


@pytest.mark.parametrize("row", PLAIN.values(), ids=PLAIN)
def test_a_record_with_gaps_stays_a_record(hand, row):
    people = [[f"P-{n}", *rest] for n, *rest in PEOPLE] if row[0] == "P-99" else PEOPLE
    frame, said = read(hand([NAMES, *people[:10], row, *people[10:]]), "ask")
    assert frame.height == 31
    assert said == ""


def test_a_value_of_a_column_is_no_total(hand):
    rows = [
        ["coverage", "age", "sex"],
        *[["total" if n % 3 else "partial", n, "f"] for n in range(90)],
    ]
    assert read(hand(rows), "ask")[0].height == 90


def test_sparse_tables_have_no_notes(hand):
    rows = [NAMES, *[padded(f"word{n}x") for n in range(40)], *PEOPLE]
    assert read(hand(rows), "ask")[0].height == 70


@pytest.mark.parametrize("padding", [True, False])
def test_names_are_found_below_titles(hand, padding):
    titles = [["Patients of ward 3"], [""], ["Printed: 1 May"]]
    above = [padded(*each) if padding else each for each in titles]
    frame, said = read(hand([*above, NAMES, *PEOPLE]))
    assert frame.columns == NAMES
    assert [list(row) for row in frame.rows()] == PEOPLE
    assert " 4." in said
    assert "Patients" not in said


@pytest.mark.parametrize(
    ("rows", "header"),
    [
        ([["a", None], ["1", "2"]], 0),
        ([[None, "b"], ["x", "y"]], 0),
        ([["Title", None], ["name", "town"], ["x", "y"]], 1),
        ([["Title", None, None], ["a", "b", None], ["1", "2", "3"]], 1),
        ([["2019", "2020"], ["1", "2"]], 0),
        ([["only"], ["x"]], 0),
        ([], 0),
    ],
)
def test_the_line_of_names_is_the_first_that_fills_half_of_the_columns(rows, header):
    assert find_header(rows) == header


def test_pieces_of_a_long_file_are_looked_at_like_the_whole(tmp_path, monkeypatch):
    chance = random.Random(3)
    rows, expected, kept = [], [], []
    for number in range(3000):
        row = [f"P{number}", f"n{chance.randrange(50)}", chance.randrange(90), "f"]
        if chance.random() < 0.01:
            row = chance.choice(
                [
                    ["Zwischensumme", "", 12, ""],
                    ["Station A", "", "", ""],
                    ["id", "name", "age", "sex"],
                ]
            )
            expected.append(number + 2)
        else:
            kept.append(tuple(row))
        rows.append(row)
    text = "".join(",".join(map(str, row)) + "\n" for row in [["id", "name", "age", "sex"], *rows])
    (tmp_path / "t.csv").write_text(text)
    monkeypatch.setattr("shoal.io.delimited._CHUNK", 2000)
    with watching_inputs() as watch:
        frame = read_table(tmp_path / "t.csv", extra_rows="drop", columns=["age", "id"])
        how = next(iter(watch.how_read.values()))
    assert sorted(each for found in how.extra_rows.values() for each in found) == expected
    assert frame.rows() == [(age, own) for own, _, age, _ in kept]


def test_a_file_without_such_rows_is_read_without_a_word(hand):
    path = hand([NAMES, *PEOPLE])
    assert read(path, "ask")[1] == ""
    assert suggest_job(path).input.extra_rows is None


# Sheets


@pytest.fixture
def book(tmp_path):
    """A workbook as offices make them: a page of text, a table in the middle, a legend."""
    made = openpyxl.Workbook()
    made.active.title = "Deckblatt"
    made.active["B2"] = "Patients of ward 3"
    table = made.create_sheet("Daten")
    for number, row in enumerate([["List of 2024"], [], NAMES, *PEOPLE[:5], [], *PEOPLE[5:]]):
        for place, cell in enumerate(row):
            table.cell(number + 3, place + 3 + (place > 1), cell)
    legend = made.create_sheet("Legende")
    for row in (["code", "meaning"], ["f", "female"], ["m", "male"]):
        legend.append(row)
    path = tmp_path / "t.xlsx"
    made.save(path)
    return path


def test_the_sheet_with_the_table_is_read_and_said(book):
    frame, said = read(book, "ask")
    assert frame.columns == NAMES
    assert [list(row) for row in frame.rows()] == PEOPLE
    assert "has 3 sheets; 'Daten'" in said
    assert "names of the columns are in row 5" in said
    assert suggest_job(book).input.sheet == "Daten"


def test_a_sheet_is_chosen_by_name_or_number(book):
    for sheet in ("Legende", "3"):
        assert read_table(book, sheet=sheet).rows() == [("f", "female"), ("m", "male")]
    with pytest.raises(OptionError, match="no sheet 'Dateien'; it has 'Deckblatt', 'Daten'"):
        read_table(book, sheet="Dateien")


def test_a_sheet_of_a_text_file_is_one_sentence(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(OptionError, match="has no sheets"):
        read_table(tmp_path / "t.csv", sheet="1")


def test_a_hidden_sheet_is_read_only_by_name(book):
    made = openpyxl.load_workbook(book)
    made["Daten"].sheet_state = "hidden"
    made.save(book)
    assert read_table(book).columns == ["code", "meaning"]
    assert read_table(book, sheet="Daten").height == 30


def test_what_is_left_out_of_a_sheet_leaves_numbers_and_texts_as_they_are(tmp_path):
    made = openpyxl.Workbook()
    made.active.append(["code", "age", "born", "ill"])
    for n in range(1, 31):
        made.active.append([f"{n:02}", n, dt.date(1980, 1, n), n % 2 == 0])
        if n % 10 == 0:
            made.active.append(["Summe", "?", "x", "y"])
    made.save(tmp_path / "t.xlsx")
    frame = read_table(tmp_path / "t.xlsx", extra_rows="drop")
    assert frame["code"].to_list() == [f"{n:02}" for n in range(1, 31)]
    assert frame["age"].to_list() == list(range(1, 31))
    assert [each.isoformat() for each in frame["born"]] == [f"1980-01-{n:02}" for n in range(1, 31)]
    assert frame.height == 30
