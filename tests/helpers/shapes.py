"""Eighteen shapes in which hospitals, courts, surveys and banks hand over a table, made small.

Each is written by a function of a folder and a seed; another seed gives other people in the same
shape. ``SECRET`` stands in every cell that names somebody.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import openpyxl
import polars as pl

from tests.helpers.panels import yearly

N = 160
CODES = ["I50.1", "I21.4", "E11.9", "E10.2", "J18.9", "J44.1", "C34.1", "S72.0"]
Make = Callable[[Path, int], Path]


@dataclass(frozen=True)
class Shape:
    """A table in one shape, and what is to be found out about it.

    Attributes:
        name: what it is called.
        make: writes it.
        roles: of columns.
        columns: what else is proposed for them, by the keys of a job.
        input: what the job says of the file.
        flags: of `shoal init`.
        rows: how many are published.
        doubtful: columns about which something must be asked.
        note: part of a sentence about people with several rows.
    """

    name: str
    make: Make
    roles: Mapping[str, str]
    columns: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    input: Mapping[str, Any] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    rows: int = N
    doubtful: tuple[str, ...] = ()
    note: str = ""


SHAPES: dict[str, Shape] = {}


def shape(name: str, **found: Any) -> Callable[[Make], Make]:
    def add(make: Make) -> Make:
        SHAPES[name] = Shape(name, make, **found)
        return make

    return add


def day(draw: random.Random, first: int = 1935, last: int = 2004) -> date:
    start = date(first, 1, 1)
    return start + timedelta(draw.randrange((date(last, 12, 31) - start).days))


def german(number: float) -> str:
    return f"{number:,.2f}".translate({ord(","): ".", ord("."): ","})


def write(path: Path, rows: list[list[Any]], sep: str = ";", encoding: str = "utf-8") -> Path:
    lines = (
        sep.join(f'"{each}"' if sep in str(each) else str(each) for each in row) for row in rows
    )
    path.write_bytes(("\r\n".join(lines) + "\r\n").encode(encoding))
    return path


QUASI, SENSITIVE, PERSON, NAMES = "quasi-identifier", "sensitive", "person", "identifier"


@shape(
    "admissions as Germany writes them",
    roles={"Fallnummer": NAMES, "Name": NAMES, "Geburtsdatum": QUASI, "Diagnose": SENSITIVE},
    columns={"Geburtsdatum": {"read_as": "dd.mm.yyyy"}, "Kosten": {"read_as": "1.234,5"}},
    input={"delimiter": ";", "encoding": "cp1252"},
)
def _admissions(folder: Path, seed: int) -> Path:
    draw = random.Random(seed)
    rows = [["Fallnummer", "Name", "Geburtsdatum", "Geschlecht", "Kosten", "Diagnose"]]
    rows += [
        [
            f"SECRET{n}",
            f"SECRETß{n}",
            f"{day(draw):%d.%m.%Y}",
            draw.choice("mw"),
            german(draw.uniform(300, 9000)),
            draw.choice(CODES),
        ]
        for n in range(N)
    ]
    return write(folder / "t.csv", rows, encoding="cp1252")


@shape(
    "claims as the United States write them",
    roles={"SSN": NAMES, "Patient Name": NAMES, "DOB": QUASI, "Charge": QUASI},
    columns={"DOB": {"read_as": "mm/dd/yyyy"}, "Charge": {"read_as": "$ 1,234.5"}},
)
def _claims(folder: Path, seed: int) -> Path:
    draw = random.Random(seed)
    rows = [["SSN", "Patient Name", "DOB", "Sex", "Charge", "Diagnosis"]]
    rows += [
        [
            f"SECRET-{n:04}",
            f"SECRET, {n}",
            f"{day(draw):%m/%d/%Y}",
            draw.choice("MF"),
            f"${draw.uniform(300, 9000):,.2f}",
            draw.choice(CODES),
        ]
        for n in range(N)
    ]
    return write(folder / "t.csv", rows, ",")


@shape(
    "a register with short months and years of two digits",
    roles={"surname": NAMES, "born": QUASI},
    columns={"born": {"read_as": lambda said: said.startswith("d-mmm-yy since ")}},
)
def _register(folder: Path, seed: int) -> Path:
    draw = random.Random(seed)
    rows = [["surname", "born", "sex", "district"]]
    for n in range(N):
        born = day(draw)
        written = f"{born.day}-{born:%b-%y}"
        rows.append([f"SECRET{n}", written, draw.choice("mf"), draw.choice("abcdef")])
    return write(folder / "t.tsv", rows, "\t")


@shape(
    "a survey as France writes it, in UTF-16",
    roles={"nom": NAMES, "revenu": QUASI, "naissance": QUASI},
    columns={
        "revenu": {"read_as": "1 234,5"},
        "part": {"read_as": "1234,5 %"},
        "naissance": {"read_as": "dd/mm/yyyy"},
    },
    input={"encoding": "utf-16"},
)
def _survey_fr(folder: Path, seed: int) -> Path:
    draw = random.Random(seed)
    rows = [["nom", "naissance", "sexe", "revenu", "part"]]
    rows += [
        [
            f"SECRET{n}",
            f"{day(draw):%d/%m/%Y}",
            draw.choice("hf"),
            german(draw.uniform(9000, 60000)).replace(".", "\u202f"),
            f"{draw.randrange(1000) / 10}".replace(".", ",") + " %",
        ]
        for n in range(N)
    ]
    return write(folder / "t.csv", rows, encoding="utf-16")


@shape(
    "days of which nobody can tell the month",
    roles={"id": NAMES, "birthdate": QUASI},
    columns={"birthdate": {"read_as": "dd/mm/yyyy"}},
    doubtful=("birthdate",),
)
def _unclear(folder: Path, seed: int) -> Path:
    draw = random.Random(seed)
    rows = [["id", "birthdate", "sex"]]
    rows += [
        [
            f"SECRET{n}",
            f"{draw.randint(1, 12):02}/{draw.randint(1, 12):02}/{1950 + n % 50}",
            draw.choice("mf"),
        ]
        for n in range(N)
    ]
    return write(folder / "t.csv", rows)


@shape(
    "a workbook with a cover, titles, gaps, a total and notes",
    roles={"Fall-Nr.": NAMES, "Alter": QUASI, "Station": QUASI},
    input={"sheet": "Fälle", "extra_rows": "drop"},
)
def _workbook(folder: Path, seed: int) -> Path:
    draw = random.Random(seed)
    book = openpyxl.Workbook()
    book.active.title = "Deckblatt"
    book.active["B2"] = "Klinik am See, SECRET Entwurf"
    sheet = book.create_sheet("Fälle")
    sheet["B1"], sheet["B2"] = "Fallliste 2023", "alle Stationen"
    rows: list[list[Any]] = [["Fall-Nr.", "Station", "Alter", "Geschlecht", "Aufnahme", "Kosten"]]
    for n in range(N):
        came = datetime(2023, 1, 1) + timedelta(
            days=draw.randrange(365), minutes=draw.randrange(900)
        )
        rows.append(
            [
                f"SECRET{n}",
                draw.choice(["Chirurgie", "Innere"]),
                draw.randint(18, 88),
                draw.choice("mw"),
                came,
                round(draw.uniform(500, 9000), 2),
            ]
        )
    rows[80:80] = [[]]
    rows += [["Summe", None, 9999, None, None, 123456.5], [], ["* Kosten in Euro"], ["Quelle: KIS"]]
    for place, row in enumerate(rows):
        for at, cell in enumerate(row):
            sheet.cell(4 + place, 2 + at, cell)
    legend = book.create_sheet("Legende")
    legend.append(["Kürzel", "Bedeutung"])
    legend.append(["w", "weiblich"])
    book.save(folder / "t.xlsx")
    return folder / "t.xlsx"


@shape(
    "a workbook in which numbers and dates are texts",
    roles={"Nachname": NAMES, "Alter": QUASI, "Geburtsdatum": QUASI, "Gehalt": QUASI},
    columns={
        "Geburtsdatum": {"read_as": "dd.mm.yyyy"},
        "Gehalt": {"read_as": "1.234,5 €"},
        "Alter": {"kind": "numeric"},
    },
)
def _texts(folder: Path, seed: int) -> Path:
    draw = random.Random(seed)
    book = openpyxl.Workbook()
    book.active.append(["Nachname", "Alter", "Geburtsdatum", "Geschlecht", "Gehalt"])
    for n in range(N):
        pay = german(draw.uniform(-900, 9000)).replace("-", "")
        cells = [
            f"SECRET{n}",
            str(draw.randint(18, 88)),
            f"{day(draw):%d.%m.%Y}",
            draw.choice("mw"),
        ]
        book.active.append([*cells, f"{pay} €"])
    book.save(folder / "t.xlsx")
    return folder / "t.xlsx"


@shape(
    "a printed list: a mark, a title, two columns of one name, the header on every page, totals",
    roles={"Name": NAMES, "Alter": QUASI, "Alter_2": QUASI},
    input={"extra_rows": "drop", "delimiter": ";"},
)
def _printed(folder: Path, seed: int) -> Path:
    draw = random.Random(seed)
    head = ["Name", "Alter", "Geschlecht", "Alter", "Station"]
    rows: list[list[Any]] = [["Station 3, Liste vom 01.02.2024"], [], head]
    for n in range(N):
        if n and n % 40 == 0:
            rows.append(head)
        age = draw.randint(18, 88)
        rows.append([f"SECRET{n}", age, draw.choice("mw"), draw.randint(1, 88), draw.choice("ABC")])
    rows += [["Summe", 9999, "", 999, ""], ["* ohne Begleitpersonen"]]
    return write(folder / "t.csv", rows, encoding="utf-8-sig")


def _labelled(folder: Path, seed: int, name: str) -> Path:
    import pyreadstat

    draw = random.Random(seed)
    frame = pl.DataFrame(
        {
            "respid": [float(n) for n in range(N)],
            "sex": [float(draw.choice([1, 2])) for _ in range(N)],
            "age": [-9.0 if n % 20 == 0 else float(draw.randint(18, 88)) for n in range(N)],
            "health": [float(draw.choice([1, 2, 3, 99])) for _ in range(N)],
        }
    )
    labels = {
        "sex": {1.0: "male", 2.0: "female"},
        "age": {-9.0: "refused"},
        "health": {1.0: "good", 2.0: "fair", 3.0: "bad", 99.0: "no answer"},
    }
    if name.endswith(".sav"):
        pyreadstat.write_sav(
            frame,
            folder / name,
            variable_value_labels=labels,
            missing_ranges={"age": [-9.0], "health": [99.0]},
            variable_measure={"health": "ordinal"},
        )
    else:
        whole = frame.cast(pl.Int64)
        said = {key: {int(k): v for k, v in each.items()} for key, each in labels.items()}
        pyreadstat.write_dta(whole, folder / name, variable_value_labels=said)
    return folder / name


LABELLED = {"respid": NAMES, "sex": QUASI, "age": QUASI, "health": SENSITIVE}


@shape("a survey of SPSS with labels and codes of missing answers", roles=LABELLED)
def _spss(folder: Path, seed: int) -> Path:
    return _labelled(folder, seed, "t.sav")


@shape("a survey of Stata with labels", roles=LABELLED)
def _stata(folder: Path, seed: int) -> Path:
    return _labelled(folder, seed, "t.dta")


@shape("a trial in SAS's transport format", roles={"SUBJID": NAMES, "AGE": QUASI, "SEX": QUASI})
def _sas(folder: Path, seed: int) -> Path:
    import pyreadstat

    draw = random.Random(seed)
    frame = pl.DataFrame(
        {
            "SUBJID": [f"SECRET{n}" for n in range(N)],
            "SEX": [draw.choice("MF") for _ in range(N)],
            "AGE": [float(draw.randint(18, 88)) for _ in range(N)],
            "BRTHDTC": [day(draw) for _ in range(N)],
        }
    )
    pyreadstat.write_xport(frame, folder / "t.xpt")
    return folder / "t.xpt"


@shape(
    "codes, words and days that mean a missing value, another one in each column",
    roles={"name": NAMES, "age": QUASI, "born": QUASI},
    columns={
        "age": {"missing_codes": ("-9",)},
        "visits": {"missing_codes": ("99",)},
        "born": {"missing_codes": ("00.00.0000", "unbekannt"), "read_as": "dd.mm.yyyy"},
        "left": {"missing_codes": ("9999-12-31",), "read_as": "dd.mm.yyyy"},
    },
)
def _codes(folder: Path, seed: int) -> Path:
    draw = random.Random(seed)
    rows = [["name", "age", "visits", "born", "left"]]
    for n in range(N):
        born, left = f"{day(draw):%d.%m.%Y}", f"{day(draw, 2020, 2023):%d.%m.%Y}"
        rows.append(
            [
                f"SECRET{n}",
                "-9" if n % 10 == 0 else str(draw.randint(18, 88)),
                "99" if n % 12 == 0 else str(draw.randint(0, 9)),
                "00.00.0000" if n % 9 == 0 else "unbekannt" if n % 13 == 0 else born,
                "31.12.9999" if n % 7 == 0 else left,
            ]
        )
    return write(folder / "t.csv", rows)


@shape(
    "a file without names of columns",
    roles={"column_1": NAMES, "column_2": QUASI, "column_3": QUASI, "column_4": QUASI},
    columns={"column_3": {"read_as": "dd.mm.yyyy"}},
    input={"header": False},
    flags=("--no-header",),
)
def _headerless(folder: Path, seed: int) -> Path:
    draw = random.Random(seed)
    rows = [
        [f"SECRET{n}@example.org", draw.randint(18, 88), f"{day(draw):%d.%m.%Y}", draw.choice("mw")]
        for n in range(N)
    ]
    return write(folder / "t.csv", rows)


@shape(
    "a panel without a column that says whose row it is",
    roles={"sex": QUASI, "year": QUASI},
    rows=60 * 7,
    note="people seem to have several rows",
)
def _panel(folder: Path, seed: int) -> Path:
    table = yearly(60, 7, seed=seed)
    table.write_csv(folder / "t.csv")
    return folder / "t.csv"


@shape(
    "several stays of each patient, ages above 89, codes of diseases",
    roles={"patient": PERSON, "age": QUASI, "sex": QUASI, "icd10": SENSITIVE},
    columns={"age": {"top": 90}, "admitted": {"read_as": "dd.mm.yyyy"}},
    rows=N * 2,
)
def _stays(folder: Path, seed: int) -> Path:
    draw = random.Random(seed)
    rows: list[list[Any]] = [["patient", "age", "sex", "admitted", "icd10"]]
    for n in range(N):
        age, sex = draw.randint(30, 97), draw.choice("mf")
        for _ in range(2):
            came = f"{day(draw, 2022, 2023):%d.%m.%Y}"
            rows.append([f"SECRET{seed}{n:04}", age, sex, came, draw.choice(CODES)])
    return write(folder / "t.csv", rows)


@shape(
    "lines of JSON with moments and their distance from UTC",
    roles={"patient_name": NAMES, "admitted": QUASI},
    columns={"admitted": {"read_as": "yyyy-mm-ddthh:mm:ss+zz"}},
)
def _lines(folder: Path, seed: int) -> Path:
    draw = random.Random(seed)
    lines = []
    for n in range(N):
        came = datetime(2023, 1, 1) + timedelta(minutes=draw.randrange(365 * 24 * 60))
        zone = "+02:00" if 4 <= came.month <= 9 else "+01:00"
        line = {"patient_name": f"SECRET{n}", "sex": draw.choice("mf"), "age": draw.randint(18, 88)}
        lines.append(json.dumps({**line, "admitted": f"{came.isoformat()}{zone}"}))
    (folder / "t.jsonl").write_text("\n".join(lines) + "\n")
    return folder / "t.jsonl"


@shape(
    "a wide survey of which most columns are not recognised",
    roles={"name": NAMES, "age": QUASI, "sex": QUASI},
    doubtful=("q1", "q14"),
)
def _wide(folder: Path, seed: int) -> Path:
    draw = random.Random(seed)
    rows: list[list[Any]] = [["name", "age", "sex", *(f"q{n}" for n in range(1, 15))]]
    for n in range(N):
        answers = [draw.choice("abcde") for _ in range(14)]
        rows.append([f"SECRET{n}", draw.randint(18, 88), draw.choice("mf"), *answers])
    return write(folder / "t.csv", rows)


@shape(
    "a bank's and a court's file: exact money, counts of visits, years of school, days",
    roles={"account_no": NAMES, "faminc": QUASI, "school": QUASI, "wt": "drop"},
    doubtful=("doctor",),
)
def _bank(folder: Path, seed: int) -> Path:
    draw = random.Random(seed)
    rows: list[list[Any]] = [["account_no", "faminc", "school", "doctor", "wt", "sex", "age"]]
    rows += [
        [
            *(f"SECRET{n}", f"{draw.lognormvariate(3, 0.7):.4f}", draw.randint(8, 18)),
            *(min(int(draw.expovariate(0.5)), 17), f"{draw.lognormvariate(0, 0.5):.4f}"),
            *(draw.choice("mf"), draw.randint(18, 88)),
        ]
        for n in range(N)
    ]
    return write(folder / "t.csv", rows, ",")
