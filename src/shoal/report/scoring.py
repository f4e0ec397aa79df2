"""Scores a published table against the original, by reading its cells back.

The rows of a release have an order of their own and their groups are private, so the groups are
taken to be the equivalence classes of the published table: the rows with the same cells. What a
class generalises to is read back from its cells, and the measures' own cost tables do the rest.
Rows of the original that are not published count as fully generalised.

Every measure that is a sum over cells agrees with ``release.scores``. Measures of the groups
themselves (``dm``, ``average-class-size``, ``cm``, ``entropy-diversity``) agree unless two groups
happen to publish the same cells: nobody can tell such groups apart in the file, so they are one.

A published cell is an exact value, an interval ``[lo-hi]``, a label of the taxonomy, a set
``{a, b}``, the suppression mark ``*``, or empty (a group of missing values only); the style says
how they are written. Ends and members are values of the original column, so a cell is split
where all parts are known values: a value may hold the separator itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import DataError, OptionError, refuse_unknown
from shoal.hierarchy import canonical_label
from shoal.measure.base import Grouped, pick_target
from shoal.measure.scores import Scores, create_measure, default_measures
from shoal.messages import Message
from shoal.publish.recode import Style, with_coded
from shoal.registry import load
from shoal.release_reader.columns import StyledText, distinct_cells, source_names
from shoal.table.closure import IntervalClosures, SetClosures, TreeClosures, wide_cells
from shoal.table.coding import BOTTOM, TOP
from shoal.table.encode import encode
from shoal.table.partition import Partition
from shoal.table.schema import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from shoal.measure.base import Measure
    from shoal.table.closure import Closures
    from shoal.table.encode import Attribute, EncodedTable
    from shoal.table.schema import Schema
    from shoal.table.sensitive import Sensitive

Found = tuple[int, ...]
"""Codes of the values a cell covers: (low, high), (node,) or the members of a set."""

EVERYTHING: Found = ()


@dataclass(frozen=True, eq=False)
class PublishedGroups(Grouped):
    """The classes of a published table, as measures look at them.

    ``table`` is the original; the rows of ``partition`` are the published ones followed by the
    suppressed ones, in no relation to the rows of the original.

    Attributes:
        cells: closures of all classes, per attribute, "everything" last.
        target_counts: rows of each class (suppressed rows last) and value of the target.
    """

    cells: tuple[Closures, ...] = field(kw_only=True)
    target_counts: NDArray[np.int64] | None = field(kw_only=True, default=None)

    @cached_property
    def closures(self) -> tuple[Closures, ...]:
        """Closures read from the published cells."""
        return self.cells

    @cached_property
    def histogram(self) -> NDArray[np.int64]:
        """Rows of each class (suppressed rows last) and value of the target column."""
        self.require_target()
        assert self.target_counts is not None
        return self.target_counts


def score_published(
    original: pl.DataFrame,
    published: pl.DataFrame,
    schema: Schema,
    *,
    measures: Sequence[str] | None = None,
    also: Sequence[str] = (),
    measure_options: Mapping[str, Any] | None = None,
    style: Style | None = None,
) -> Scores:
    """Score a published table against the table it was made from.

    Args:
        original: the table before.
        published: the release: its quasi-identifiers hold generalised cells.
        schema: roles and kinds of the original's columns.
        measures: names of measures; those that cost little unless given.
        also: names of measures besides those that cost little.
        measure_options: options of these measures; ``column`` names the sensitive column.
        style: how the release writes generalised cells; the default style unless given.

    Raises:
        DataError: the published table cannot be a release of the original, or its style does
            not tell what a cell stands for.
        OptionError: a measure or an option is unknown.
    """
    form = "interval" if style is None else style.numeric
    if form in ("mean", "median") and schema.has_means:
        raise DataError(
            "Numbers published as {form} do not tell how far they were generalised, so such a "
            "release cannot be scored; use the scores of the run (--certificate).",
            form=form,
        )
    if style is not None and style.shuffles:
        raise DataError(
            "Shuffled cells are exact, so that no loss can be read from them; use the scores of "
            "the run (--certificate)."
        )
    table = encode(original, schema)
    options = dict(measure_options or {})
    asked = (*default_measures(table), *also) if measures is None else measures
    created = _create(dict.fromkeys(asked), options)
    groups = read_groups(
        with_coded(original, schema),
        published,
        table,
        target=pick_target(table, options),
        style=style,
    )
    values: dict[str, float] = {}
    by_column: dict[str, Mapping[str, float]] = {}
    for name, measure in created.items():
        if measure.needs_sensitive:
            groups.require_target()
        values[name] = measure.score(groups)
        columns = measure.by_column(groups)
        if columns is not None:
            by_column[name] = columns
    return Scores(values, by_column)


def _create(names: Iterable[str], options: Mapping[str, Any]) -> dict[str, Measure]:
    """Return the measures, each with those of the options that it takes."""
    takes = {name: load("measures", name).options for name in names}
    known = {"column", *(option for each in takes.values() for option in each)}
    missing = Message("None of the measures takes the option {name!r}.{hint}")
    refuse_unknown(options, known, OptionError, missing)
    return {
        name: create_measure(name, {key: options[key] for key in each if key in options})
        for name, each in takes.items()
    }


def read_groups(
    original: pl.DataFrame,
    published: pl.DataFrame,
    table: EncodedTable,
    *,
    target: Sensitive | None = None,
    style: Style | None = None,
) -> PublishedGroups:
    """Return the classes of a published table and what their cells stand for."""
    n_suppressed = table.n_rows - published.height
    if n_suppressed < 0:
        raise DataError(
            "The release has {height:,} rows but the original only {n_rows:,}; it cannot have "
            "been made from it.",
            height=published.height,
            n_rows=table.n_rows,
        )
    columns = [_cells_of(attribute, published) for attribute in table.attributes]
    equal = Partition.of_equal_rows([codes for _, codes in reversed(columns)])
    classes, first = equal.labels.astype(np.int64), equal.heads
    closures = tuple(
        CellReader(attribute, style or Style()).closures(cells, codes[first])
        for attribute, (cells, codes) in zip(table.attributes, columns, strict=True)
    )
    labels = np.concatenate((classes, np.full(n_suppressed, -1))).astype(np.int32)
    partition = Partition(labels, len(first))
    counts = None
    if target is not None:
        counts = _target_counts(original, published, target, classes, len(first))
    return PublishedGroups(table, partition, target, cells=closures, target_counts=counts)


def _cells_of(
    attribute: Attribute, published: pl.DataFrame
) -> tuple[list[object], NDArray[np.int64]]:
    """Return the distinct cells of a column, and which of them each row holds."""
    name = attribute.name
    columns = [published.get_column(each) for each in source_names(name, published.columns)]
    if columns[0].dtype.is_nested():
        columns = columns[0].struct.unnest().select("low", "high").get_columns()
    return distinct_cells(columns)


def _target_counts(
    original: pl.DataFrame,
    published: pl.DataFrame,
    target: Sensitive,
    classes: NDArray[np.int64],
    n_classes: int,
) -> NDArray[np.int64]:
    """Count the target's values per class; what the original has more is suppressed."""
    missing = Message("The release has no column {name!r}.{hint}")
    refuse_unknown([target.name], published.columns, OptionError, missing)
    place: dict[str | None, int] = {}
    cells, which = distinct_cells([original.get_column(target.name)])
    first = np.unique(which, return_index=True)[1]
    for code, row in enumerate(first.tolist()):
        place[_label(cells[code])] = int(target.codes[row])
    cells, which = distinct_cells([published.get_column(target.name)])
    translated = np.array([place.get(_label(cell), -1) for cell in cells])
    codes = translated[which]
    counts = np.bincount(
        classes * target.size + np.maximum(codes, 0), minlength=n_classes * target.size
    )
    rest = target.counts - np.bincount(np.maximum(codes, 0), minlength=target.size)
    if (codes < 0).any() or (rest < 0).any():
        raise DataError(
            "Column {name!r} of the release holds values more often than the original does; "
            "the two files are not from the same data.",
            name=target.name,
        )
    return np.vstack((counts.reshape(n_classes, target.size), rest))


def _label(value: object) -> str | None:
    # NaN is missing, as everywhere.
    return None if value is None or value != value else canonical_label(value)  # noqa: PLR0124


class CellReader:
    """Turns the distinct cells of one published column into closures."""

    def __init__(self, attribute: Attribute, style: Style) -> None:
        """Learn the domain of a column and how its cells are written."""
        self.attribute = attribute
        self.style, self.styled = style, StyledText(style)
        tree = attribute.taxonomy
        labels = tree.labels if tree is not None else [canonical_label(v) for v in attribute.values]
        self.codes = {label: code for code, label in enumerate(labels)}
        self.upper = self.codes
        if attribute.cells is not None:
            self.upper = {canonical_label(v): n for n, v in enumerate(attribute.cells.upper)}
        if attribute.open_below:
            self.codes |= {BOTTOM.format(canonical_label(attribute.values[0])): 0}
        if attribute.open_above:
            last = {TOP.format(canonical_label(attribute.values[-1])): attribute.size - 1}
            self.codes, self.upper = self.codes | last, self.upper | last

    def closures(self, cells: Sequence[object], of_class: NDArray[np.int64]) -> Closures:
        """Return the closure of each class of rows, and "everything" as the last one.

        Args:
            cells: the distinct cells.
            of_class: which of them each class of rows publishes.

        Raises:
            DataError: a cell stands for nothing of the original column; cells are counted,
                never shown.
        """
        found = [self._read(cell) for cell in cells]
        unknown = sum(each is None for each in found)
        if unknown:
            raise DataError(
                "{unknown} of the {n} distinct cells that the release publishes in column "
                "{name!r} stand for no value of the original; are the two files from the same "
                "data, and is the hierarchy the one that was used?",
                unknown=unknown,
                n=len(cells),
                name=self.attribute.name,
            )
        known = [each for each in found if each is not None]
        chosen = [known[cell] for cell in of_class.tolist()]
        return self._assemble([*chosen, EVERYTHING])

    def between(self, low: object, high: object) -> Found | None:
        """Return the interval between two published ends; without ends it is suppressed."""
        if low is not None and high is None and self.attribute.open_above:
            high = TOP.format(canonical_label(self.attribute.values[-1]))
        if low is None and high is not None and self.attribute.open_below:
            low = BOTTOM.format(canonical_label(self.attribute.values[0]))
        if low is None or high is None:
            if self.attribute.has_missing:
                raise DataError(
                    "Bounds without a value in column {name!r} may be suppressed or missing, "
                    "so this release cannot be scored from the file; use the scores of the "
                    "run (--certificate).",
                    name=self.attribute.name,
                )
            return EVERYTHING
        first, last = self._code(low), self._code(high, self.upper)
        return None if first is None or last is None or first > last else (first, last)

    def _read(self, cell: object) -> Found | None:
        if cell is None:
            return self._missing()
        if isinstance(cell, tuple):  # the two ends of an interval in columns of their own
            return self.between(*cell)
        code = self._code(cell)
        if code is not None and self._is_value(code):
            return (code, code) if self.attribute.algebra == "interval" else (code,)
        if cell == self.style.suppressed:
            return EVERYTHING
        return self._read_text(str(cell))

    def _read_text(self, text: str) -> Found | None:
        if self.attribute.algebra == "interval":
            return self.styled.interval(text, self.between)
        tree = self.attribute.taxonomy
        flat = self.attribute.kind is Kind.FLAT
        if self.attribute.algebra == "set" or flat or (tree and self.style.categories == "values"):
            values = self.styled.members(text, lambda each: self._code(each) is not None)
            codes = {self._code(each) for each in values or ()}
            found = tuple(sorted(code for code in codes if code is not None)) or None
            if tree is None or not found:
                return found
            # a union set below a tree loses what its common node does
            first, last = tree.first_leaf[list(found)].min(), tree.last_leaf[list(found)].max()
            return (tree.lca(int(first), int(last)),)
        return None

    def _missing(self) -> Found:
        tree = self.attribute.taxonomy
        if tree is not None:
            return (tree.n_nodes,)
        size = self.attribute.size
        return (size, size) if self.attribute.algebra == "interval" else (size,)

    def _is_value(self, code: int) -> bool:
        cells = self.attribute.cells
        return cells is None or code == self.attribute.size or bool(cells.exact[code])

    def _code(self, value: object, codes: dict[str, int] | None = None) -> int | None:
        codes = self.codes if codes is None else codes
        label = canonical_label(value)
        code = codes.get(label)
        if code is None and self.attribute.algebra == "interval":
            try:
                # 1.50 in the file and 1.5 in the table are the same number.
                code = codes.get(canonical_label(float(label)))
            except ValueError:
                return None
        return code

    def _assemble(self, found: list[Found]) -> Closures:
        everything = np.array([each == EVERYTHING for each in found])
        tree = self.attribute.taxonomy
        if tree is not None:
            nodes = [each[0] if each else tree.root for each in found]
            return TreeClosures(np.array(nodes, dtype=np.int32), tree.n_leaves, tree.n_nodes)
        if self.attribute.algebra == "interval":
            whole = (0, self.attribute.size - 1)
            ends = np.array([each or whole for each in found], dtype=np.int32)
            low, high = ends[:, 0].copy(), ends[:, 1].copy()
            return IntervalClosures(low, high, everything, wide_cells(self.attribute))
        counts = [len(each) for each in found]
        return SetClosures(
            np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
            np.array([code for each in found for code in each], dtype=np.int32),
            everything,
        )
