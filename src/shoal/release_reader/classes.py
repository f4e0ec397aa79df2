"""The classes of a published table, and whom each of them fits.

Rows with the same cells in the quasi-identifiers are one class: nobody can tell them apart by
those. A class fits a person if each of its cells covers the person's value.

Promises about whom of a population the cells cover are judged here: the second opinion on what
`shoal.privacy.population` found from codes. Nothing of the search is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from shoal.errors import DataError, OptionError, refuse_unknown
from shoal.hierarchy import canonical_label
from shoal.messages import Message
from shoal.privacy.delta_presence import DeltaPresence
from shoal.privacy.k_map import KMap
from shoal.privacy.population import numbers_of_people
from shoal.privacy.population_risk import PopulationRisk
from shoal.publish.predicates import judge_sizes
from shoal.publish.verify import POPULATION, WholePromise
from shoal.release_reader.columns import as_date, as_datetime, as_number, open_column, source_names
from shoal.table.infer import schema_of_used

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shoal.privacy import PrivacyModel
    from shoal.publish.recode import Style
    from shoal.release_reader.columns import OpenColumn
    from shoal.table.schema import Schema

_PLACES: dict[str, Callable[[object], float | None]] = {
    "number": as_number,
    "date": as_date,
    "datetime": as_datetime,
}


@dataclass(frozen=True, eq=False)
class Covers:
    """Which of the distinct labels each distinct cell covers; only pairs that occur.

    Attributes:
        n_labels: how many distinct labels there are.
        cell: cell of each pair, rising.
        label: label of each pair.
    """

    n_labels: int
    cell: NDArray[np.int64]
    label: NDArray[np.int64]

    @cached_property
    def _by_label(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        order = np.argsort(self.label, kind="stable")
        return self.label[order], self.cell[order]

    def cells_of(self, label: int) -> NDArray[np.int64]:
        """Return the cells that cover a label."""
        labels, cells = self._by_label
        return cells[np.searchsorted(labels, label) : np.searchsorted(labels, label, side="right")]

    def labels_of(self, cell: int) -> NDArray[np.int64]:
        """Return the labels that a cell covers."""
        start, stop = (int(np.searchsorted(self.cell, cell, side=s)) for s in ("left", "right"))
        return self.label[start:stop]


@dataclass(frozen=True, eq=False)
class Values:
    """The values of people in one column, as the cells of a release are compared with them.

    Attributes:
        places: where each lies on the column's line; NaN if missing.
        codes: number of each among the distinct labels; -1 if missing.
        covered: of labels: which of the distinct ones each distinct cell covers.
    """

    places: NDArray[np.float64]
    codes: NDArray[np.int64]
    covered: Covers | None = None

    def take(self, rows: NDArray[np.int64]) -> Values:
        """Return the values of these people."""
        return Values(self.places[rows], self.codes[rows], self.covered)


@dataclass(frozen=True, eq=False)
class People:
    """What is known about people: their values in each quasi-identifier."""

    n: int
    values: tuple[Values, ...]

    def take(self, rows: NDArray[np.int64]) -> People:
        """Return these people."""
        return People(len(rows), tuple(each.take(rows) for each in self.values))


@dataclass(frozen=True, eq=False)
class Classes:
    """The classes of a release.

    Attributes:
        columns: the quasi-identifiers.
        cells: which distinct cell of each column (second axis) each class (first axis) shows.
        of_row: class of each published row.
        sizes: rows of each class.
    """

    columns: tuple[OpenColumn, ...]
    cells: NDArray[np.int64]
    of_row: NDArray[np.int64]
    sizes: NDArray[np.int64]

    def fitting(self, people: People, who: int, slack: Mapping[int, float]) -> NDArray[np.bool_]:
        """Return for one person which classes (second axis) fit in which column (first axis).

        ``slack`` is how far off what is known of a column may be; infinite if nothing is known.
        """
        result = np.empty((len(self.columns), len(self.sizes)), np.bool_)
        for number, (column, values) in enumerate(zip(self.columns, people.values, strict=True)):
            wide = slack.get(number, 0.0)
            if np.isinf(wide) or (wide and column.line == "label"):
                result[number] = True
                continue
            if column.line == "label":
                assert values.covered is not None
                code = values.codes[who]
                fits = column.missing
                if code >= 0:
                    fits = np.zeros(len(column.cells), np.bool_)
                    fits[values.covered.cells_of(int(code))] = True
            else:
                fits = _on_line(column, values.places[who], wide)
            result[number] = (fits | column.everything)[self.cells[:, number]]
        return result

    def fitted(self, people: People, which: int) -> NDArray[np.bool_]:
        """Return which people one class fits."""
        result = np.ones(people.n, np.bool_)
        for number, (column, values) in enumerate(zip(self.columns, people.values, strict=True)):
            cell = int(self.cells[which, number])
            if column.everything[cell]:
                continue
            if column.line == "label":
                assert values.covered is not None
                fits = np.zeros(values.covered.n_labels + 1, np.bool_)
                fits[values.covered.labels_of(cell)] = True
                fits[-1] = column.missing[cell]
                result &= fits[values.codes]
            elif column.missing[cell]:
                result &= np.isnan(values.places)
            else:
                result &= _in_cell(column, cell, values.places)
        return result


def _on_line(column: OpenColumn, place: float, wide: float) -> NDArray[np.bool_]:
    if np.isnan(place):
        return column.missing
    low, high = column.low, column.high
    with np.errstate(invalid="ignore"):
        above = np.where(column.open_low, low < place + wide, low <= place + wide)
        below = np.where(column.open_high, place - wide < high, place - wide <= high)
    fits: NDArray[np.bool_] = above & below
    return fits


def _in_cell(column: OpenColumn, cell: int, places: NDArray[np.float64]) -> NDArray[np.bool_]:
    low, high = column.low[cell], column.high[cell]
    with np.errstate(invalid="ignore"):
        above = places > low if column.open_low[cell] else places >= low
        below = places < high if column.open_high[cell] else places <= high
    inside: NDArray[np.bool_] = above & below
    return inside


def open_classes(published: pl.DataFrame, schema: Schema, style: Style) -> Classes:
    """Return the classes of a published table, with what their cells stand for.

    Raises:
        OptionError: the release lacks a quasi-identifier.
        DataError: a cell cannot be read.
    """
    import polars as pl

    columns = [
        open_cells(
            name,
            [published.get_column(each) for each in source_names(name, published.columns)],
            schema,
            style,
        )
        for name in schema.quasi_identifiers
    ]
    codes = pl.DataFrame({str(n): column.codes for n, column in enumerate(columns)})
    names = codes.columns
    distinct = codes.group_by(names, maintain_order=True).len("rows").with_row_index("class")
    joined = codes.join(distinct, on=names, how="left", maintain_order="left")
    return Classes(
        tuple(columns),
        distinct.select(names).to_numpy().astype(np.int64),
        joined.get_column("class").to_numpy().astype(np.int64),
        distinct.get_column("rows").to_numpy().astype(np.int64),
    )


def open_cells(name: str, sources: Sequence[pl.Series], schema: Schema, style: Style) -> OpenColumn:
    """Return what the cells of a quasi-identifier stand for, as the schema has it.

    Raises:
        DataError: a cell cannot be read.
    """
    described = schema[name]
    return open_column(
        name,
        sources,
        style=style,
        kind=None if described.kind is None or described.hierarchy else described.kind.value,
        order=described.order,
        taxonomy=described.hierarchy,
        grid=described.grid,
        coded=(described.top, described.bottom),
    )


def values_of(frame: pl.DataFrame, classes: Classes, *, known: bool = True) -> People:
    """Return what a table says about people, in the terms of a release.

    Args:
        frame: the table.
        classes: the release.
        known: whether every label of the release has to stand for a value of the table.

    Raises:
        OptionError: the table lacks a column.
        DataError: cells and values have nothing to do with each other.
    """
    found = []
    for column in classes.columns:
        missing = Message("The table has no column {name!r}.{hint}")
        refuse_unknown([column.name], frame.columns, OptionError, missing)
        cells = frame.get_column(column.name)
        found.append(
            _labels_of(column, cells, known=known)
            if column.line == "label"
            else _places_of(column, cells)
        )
    return People(frame.height, tuple(found))


def _ranks(order: tuple[str, ...]) -> Callable[[object], float | None]:
    rank = {label: float(number) for number, label in enumerate(order)}
    return lambda value: rank.get(canonical_label(value))


def _places_of(column: OpenColumn, cells: pl.Series) -> Values:
    import polars as pl

    if column.line == "number" and cells.dtype.is_numeric():
        places = cells.cast(pl.Float64).to_numpy().astype(np.float64)
    elif column.line == "date" and cells.dtype == pl.Date:
        places = cells.cast(pl.Int32).cast(pl.Float64).to_numpy().astype(np.float64)
    else:
        place = _PLACES.get(column.line) or _ranks(column.order)
        texts = (
            cells.cast(pl.String) if isinstance(cells.dtype, pl.Categorical | pl.Enum) else cells
        )
        distinct = texts.drop_nulls().unique()
        table = {value: place(value) for value in distinct.to_list()}
        if any(each is None for each in table.values()):
            raise DataError(
                "The release publishes intervals in column {name!r}, but the table holds "
                "values there that lie on no line; say its kind, or give its order.",
                name=column.name,
            )
        places = np.array([np.nan if v is None else table[v] for v in texts.to_list()], np.float64)
    return Values(places, np.zeros(len(places), np.int64))


def _labels_of(column: OpenColumn, cells: pl.Series, *, known: bool) -> Values:
    distinct: dict[str, int] = {}
    codes = np.empty(len(cells), np.int64)
    for number, value in enumerate(cells.to_list()):
        missing = value is None or value != value  # noqa: PLR0124 - NaN is missing
        codes[number] = (
            -1 if missing else distinct.setdefault(canonical_label(value), len(distinct))
        )
    pairs: list[tuple[int, int]] = []
    unknown = 0
    for cell, members in enumerate(column.members):
        # a value that reads like a set is itself
        own = canonical_label(column.cells[cell]) if len(members) > 1 else ""
        names = (own,) if own in distinct and len(members) > 1 else members
        places = [distinct[label] for label in names if label in distinct]
        if not places and len(members) == 1 and members[0].endswith("*"):
            places = _masked(members[0], distinct)
        pairs += [(cell, place) for place in sorted(set(places))]
        unknown += not (places or column.missing[cell] or column.everything[cell])
    if unknown and known:
        raise DataError(
            "{unknown:,} of the {n:,} distinct cells that the release publishes in column "
            "{name!r} stand for no value of the original; are the two files from the same "
            "data, and is the hierarchy given that was used?",
            unknown=unknown,
            n=len(column.cells),
            name=column.name,
        )
    both = np.array(pairs, np.int64).reshape(-1, 2)
    covered = Covers(len(distinct), both[:, 0].copy(), both[:, 1].copy())
    return Values(np.full(len(codes), np.nan), codes, covered)


def _masked(text: str, distinct: Mapping[str, int]) -> list[int]:
    """Return the values that a mask such as ``479**`` stands for."""
    start = text.rstrip("*")
    found = [(label, code) for label, code in distinct.items() if label.startswith(start)]
    alike = [code for label, code in found if len(label) == len(text)]
    return alike or [code for _, code in found]


SLACK = 1e-9
"""What a comparison of presence with a bound allows."""
_MEANS = ("mean", "median")


def promises_about_all(
    models: Sequence[PrivacyModel], schema: Schema | None, style: Style
) -> tuple[WholePromise, ...]:
    """Return what models promise about a release as a whole.

    Args:
        models: the promises; those about sensitive values are left out.
        schema: how its columns were generalised; found from the population unless given.
        style: how generalised cells are written.
    """
    found = []
    for model in models:
        if isinstance(model, PopulationRisk):
            judge, name, by = judge_sizes(model.to_dict()), f"{model.kind} risk", "verification"
        elif isinstance(model, KMap | DeltaPresence):
            judge, name, by = _Cells(model, schema, style).judge, model.name, POPULATION
        else:
            continue
        found.append(WholePromise(name, model.promised, model.describe(), judge, by))
    return tuple(found)


def schema_of_population(
    models: Sequence[PrivacyModel],
    quasi_identifiers: Any,
    *,
    default_grid: bool = True,
    **details: Any,
) -> Schema | None:
    """Return what the columns are, from the population that a model has; None if none has one.

    ``details`` are hierarchies, kinds, orders and grids, as for `shoal.anonymize`. Columns of
    which no grid is said are read as those that have one by default, unless it is known that they
    have none (``default_grid``): of two readings the one that covers fewer people.
    """
    for model in models:
        if isinstance(model, KMap | DeltaPresence):
            frame = nw.from_native(model.people(), eager_only=True)
            names = [quasi_identifiers] if isinstance(quasi_identifiers, str) else quasi_identifiers
            known: dict[str, Any] = {
                option: {name: each for name, each in given.items() if name in names}
                for option, given in details.items()
                if isinstance(given, Mapping)
            }
            return schema_of_used(
                frame, quasi_identifiers=list(names), default_grid=default_grid, **known
            )
    return None


class _Cells:
    """Judges one promise from published cells and a population."""

    def __init__(self, model: KMap | DeltaPresence, schema: Schema | None, style: Style) -> None:
        self.model, self.schema, self.style = model, schema, style

    def judge(
        self, table: pl.DataFrame, groups: NDArray[np.int64], in_group: NDArray[np.int64]
    ) -> tuple[float, bool, NDArray[np.bool_]]:
        """Return the number reached, whether that is enough, and the rows that break it."""
        schema = self.schema
        assert schema is not None
        if self.style.numeric in _MEANS and schema.has_means:
            raise DataError(
                "Numbers published as {numeric} do not tell whom they cover, so that {name} "
                "cannot be judged; publish intervals or bounds.",
                numeric=self.style.numeric,
                name=self.model.name,
            )
        classes = open_classes(table, schema, self.style)
        distinct = different_people(self.model, schema.quasi_identifiers)
        people = values_of(distinct, classes, known=False)
        many = distinct.to_series(-1).to_numpy().astype(np.float64)
        n_classes = len(classes.sizes)
        covered = np.array([many[classes.fitted(people, c)].sum() for c in range(n_classes)])
        if isinstance(self.model, KMap):
            bad = covered < self.model.k
            return float(covered.min()), not bad.any(), bad[classes.of_row]
        sizes = np.zeros(n_classes)
        sizes[classes.of_row] = in_group[groups]
        return self._presence(people, classes, covered, sizes)

    def _presence(
        self, people: Any, classes: Any, covered: NDArray[np.float64], sizes: NDArray[np.float64]
    ) -> tuple[float, bool, NDArray[np.bool_]]:
        assert isinstance(self.model, DeltaPresence)
        least, most = self.model.delta_min - SLACK, self.model.delta_max + SLACK
        presence = np.zeros(people.n)
        for c in np.flatnonzero(covered > 0).tolist():
            presence[classes.fitted(people, c)] += sizes[c] / covered[c]
        if (covered == 0).any():  # people whom the population does not have
            return float("inf"), False, (covered == 0)[classes.of_row]
        highest, lowest = float(presence.max(initial=0.0)), float(presence.min(initial=1.0))
        if highest > most:
            worst = np.array(
                [
                    presence[classes.fitted(people, c)].max(initial=0.0) > most
                    for c in range(len(covered))
                ]
            )
            return highest, False, worst[classes.of_row]
        if lowest < least:
            return lowest, False, np.ones(len(classes.of_row), np.bool_)
        return highest, True, np.zeros(len(classes.of_row), np.bool_)


def different_people(model: KMap | DeltaPresence, quasi_identifiers: Sequence[str]) -> pl.DataFrame:
    """Return the different combinations of a population; the last column says how many people.

    Raises:
        OptionError: the population lacks a column.
        DataError: its counts are no counts.
    """
    import polars as pl

    everybody: pl.DataFrame = model.people()
    names = list(quasi_identifiers)
    missing = Message("The population has no column {name!r}.{hint}")
    refuse_unknown(names, everybody.columns, OptionError, missing)
    number = numbers_of_people(everybody, model.counts)
    title = people_title(names)
    some = everybody.select(names).with_columns(**{title: number}).filter(number > 0)
    return some.group_by(names, maintain_order=True).agg(pl.col(title).sum())


def people_title(names: Sequence[str]) -> str:
    """Return the title of numbers of people, which none of these columns has."""
    return "".join(names) + " of people"
