"""What a table of the collection is, and what its cells are made with."""

import csv
import io
import json
import random
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from tests.helpers.collection.people import Person, make_person

Maker = Callable[[random.Random, Person], object] | str
"""A key of the person, or a function of chance and the person."""


@dataclass(frozen=True)
class Table:
    """A table to be made: columns with the expert's role and a maker each.

    Attributes:
        name: of the table.
        columns: name, the letter of the role, maker.
        people: the vocabulary its people come from.
        rows: how many.
        per_person: how many rows a person has, from and to.
        form: how it is written: csv, bom (CSV with a byte order mark), tsv, semicolon, jsonl,
            parquet.
        missing: what stands for a missing value, and in which columns.
    """

    name: str
    columns: tuple[tuple[str, str, Maker], ...]
    people: str = "en"
    rows: int = 400
    per_person: tuple[int, int] = (1, 1)
    form: str = "csv"
    missing: tuple[str, tuple[str, ...]] = ("", ())

    @property
    def labels(self) -> dict[str, str]:
        """The letter of the role of each column."""
        return {name: role for name, role, _ in self.columns}

    def cells(self, seed: int = 0) -> list[list[object]]:
        """Return the rows; the same seed gives the same ones."""
        draw = random.Random(zlib.crc32(self.name.encode()) + seed)
        rows: list[list[object]] = []
        number = 0
        while len(rows) < self.rows:
            person = make_person(draw, self.people, number)
            number += 1
            for _ in range(draw.randint(*self.per_person)):
                person["row"] = len(rows)
                rows.append([self._cell(draw, person, *column) for column in self.columns])
        return rows[: self.rows]

    def _cell(self, draw, person, name, role, maker):
        value = person[maker] if isinstance(maker, str) else maker(draw, person)
        person[f"column {name}"] = value
        if name in self.missing[1] and draw.random() < 0.06:
            return self.missing[0]
        return value

    def write(self, folder, seed=0):
        """Write the table into a folder and return its path."""
        names = [name for name, _, _ in self.columns]
        rows = self.cells(seed)
        if self.form == "parquet":
            import polars as pl

            path = folder / f"{self.name}.parquet"
            pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None).write_parquet(
                path
            )
            return path
        if self.form == "jsonl":
            path = folder / f"{self.name}.jsonl"
            lines = [json.dumps(dict(zip(names, row, strict=True)), default=str) for row in rows]
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
            return path
        ending, delimiter = {
            "csv": ("csv", ","),
            "bom": ("csv", ","),
            "semicolon": ("csv", ";"),
            "tsv": ("tsv", "\t"),
        }[self.form]
        text = io.StringIO()
        writer = csv.writer(text, delimiter=delimiter, lineterminator="\r\n")
        writer.writerow(names)
        writer.writerows(rows)
        path = folder / f"{self.name}.{ending}"
        encoding = "utf-8-sig" if self.form == "bom" else "utf-8"
        path.write_bytes(text.getvalue().encode(encoding))
        return path


def pick(*values):
    """One of some values; a single text is cut into words."""
    if len(values) == 1 and isinstance(values[0], str):
        values = tuple(values[0].split())
    return lambda draw, _: draw.choice(values)


def skewed(text):
    """One of some words, the first ones more often."""
    words = text.split()
    weights = [1 / (place + 1) for place in range(len(words))]
    return lambda draw, _: draw.choices(words, weights)[0]


def ints(low, high):
    """Whole numbers."""
    return lambda draw, _: draw.randint(low, high)


def flag(share=0.3):
    """0 or 1."""
    return lambda draw, _: int(draw.random() < share)


def normal(mean, spread, digits=0):
    """Numbers around a mean, never below zero."""

    def make(draw, _):
        value = max(draw.gauss(mean, spread), 0)
        return round(value) if digits == 0 else round(value, digits)

    return make


def money(typical, digits=2, step=0.01):
    """Sums of money, skewed to the right."""

    def make(draw, _):
        value = typical * draw.lognormvariate(0, 0.6)
        value = round(value / step) * step
        return round(value) if digits == 0 else f"{value:.{digits}f}"

    return make


def counts(most=8):
    """Small counts, zero most often."""
    return lambda draw, _: min(int(draw.expovariate(0.8)), most)


def day(first, last, form="%Y-%m-%d"):
    """A day between two years."""
    start, days = date(first, 1, 1), (last - first + 1) * 365

    def make(draw, _):
        found = start + timedelta(days=draw.randrange(days))
        return found if form is None else found.strftime(form)

    return make


def moment(year, form="%Y-%m-%d %H:%M:%S"):
    """A point in time of a year."""
    start = datetime(year, 1, 1)
    return lambda draw, _: (start + timedelta(seconds=draw.randrange(31_000_000))).strftime(form)


def code(form, start=1000, step=1, per_row=False):
    """A code of the person, or of the row."""
    key = "row" if per_row else "number"
    return lambda _, person: form.format(start + step * person[key])


def one_of(form, n_codes, start=1):
    """One of a few codes of places, schools, doctors."""
    return lambda draw, _: form.format(start + draw.randrange(n_codes))


def fixed(maker):
    """The same for all rows of a person."""
    key = f"fixed {id(maker)}"

    def make(draw, person):
        if key not in person:
            person[key] = maker(draw, person)
        return person[key]

    return make


def of(function):
    """A function of the person alone: what follows from other columns."""
    return lambda _, person: function(person)


def says(text, n_words=9):
    """Free text made of some words."""
    words = text.split()
    return lambda draw, _: " ".join(draw.choices(words, k=draw.randint(n_words - 3, n_words + 3)))


def same(value):
    """The same in every row."""
    return lambda *_: value


def born(form):
    """The day of birth in a form."""
    return lambda _, person: person["born"].strftime(form)
