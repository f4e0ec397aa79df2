"""Before and after, side by side: the rows of each group beside what they are published as.

The original rows are shown on the machine they are on, and written nowhere. Which group a row is
in, the run itself says (`Release.groups`): published rows have an order of their own, which tells
nothing about the input.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from shoal.settings.request import Request
    from shoal.table.schema import Schema


SAME, WIDER, HIDDEN = "same", "wider", "hidden"
"""What became of a cell: published as it was, generalised, or nothing left of it."""


@dataclass(frozen=True)
class Cell:
    """One cell of the original, or what it became.

    Attributes:
        text: as it is shown; None if it is missing.
        change: ``same``, ``wider`` or ``hidden``; of an original cell "".
    """

    text: str | None
    change: str = ""


@dataclass(frozen=True)
class GroupView:
    """The rows of one group.

    Attributes:
        number: of the group, the costliest first.
        n_rows: how many rows it has.
        loss: mean share of detail that they lost.
        published: what all of them are published as, by quasi-identifier.
        rows: the original cells of the rows that are shown, quasi-identifiers first.
    """

    number: int
    n_rows: int
    loss: float
    published: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class LeftOut:
    """Rows that are not published, as they were."""

    n_rows: int
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, eq=False)
class Beside:
    """A table and its release, group by group.

    Attributes:
        names: the columns that are shown: quasi-identifiers, then the other published ones.
        n_keys: how many of them are quasi-identifiers.
        n_groups: groups as a reader tells them apart.
    """

    names: tuple[str, ...]
    n_keys: int
    n_groups: int
    _original: pl.DataFrame
    _published: pl.DataFrame
    _rows: Sequence[NDArray[np.int64]]
    _losses: NDArray[np.float64]
    _left_out: NDArray[np.int64]
    _hidden: Mapping[str, str]

    @classmethod
    def of(
        cls,
        original: pl.DataFrame,
        schema: Schema,
        request: Request,
        groups: NDArray[np.integer[Any]],
        recoded: Mapping[str, NDArray[np.int32]],
    ) -> Beside:
        """Put a table beside its release.

        Args:
            original: the table that the release was made from, its rows in the same order.
            schema: roles and kinds of the columns, as the run has settled them.
            request: what was asked.
            groups: group of each row, negative if it is not published (`Release.groups`).
            recoded: where whole columns are generalised alike (`Release.recoded`).
        """
        import polars as pl

        from shoal.measure.base import Grouped
        from shoal.measure.loss import NCP
        from shoal.publish.recode import published_cells, with_listings
        from shoal.table.encode import encode
        from shoal.table.partition import Partition

        keys = list(schema.quasi_identifiers)
        style = request.style
        table = with_listings(encode(original, schema), style, int(request.k))
        labels = groups.astype(np.int32)
        partition = Partition(labels, int(labels.max()) + 1, recoded)
        cells: dict[str, pl.Series] = {}
        for attribute in table.attributes:
            found = published_cells(attribute, partition, style)
            cells[attribute.name] = _one_text(found)
        per_group = pl.DataFrame([cells[name].alias(name) for name in keys])
        loss = np.zeros(partition.n_groups)
        grouped = Grouped(table, partition)
        for attribute, closures in zip(table.attributes, grouped.closures, strict=True):
            cost = NCP().form(attribute, None, table).cost(closures)[: partition.n_groups]
            loss += attribute.weight * cost
        loss /= float(table.weights.sum())
        # groups that publish the same are one to every reader
        together = (
            per_group.with_columns(
                pl.Series("loss of group", loss), pl.Series("group", np.arange(len(loss)))
            )
            .group_by(keys, maintain_order=True)
            .agg(pl.col("group"), pl.col("loss of group").mean())
        )
        ranked = together.with_row_index("place").sort(
            ["loss of group", "place"], descending=[True, False]
        )
        rows = _rows_of(labels, partition.n_groups)
        members = [
            np.sort(np.concatenate([rows[group] for group in groups]))
            for groups in ranked.get_column("group").to_list()
        ]
        others = [name for name in schema.published if name not in keys]
        names = (*keys, *(name for name in others if name in original.columns))
        return cls(
            names=names,
            n_keys=len(keys),
            n_groups=ranked.height,
            _original=original.select(names),
            _published=ranked.select(keys),
            _rows=members,
            _losses=ranked.get_column("loss of group").to_numpy(),
            _left_out=np.flatnonzero(labels < 0),
            _hidden=_top_labels(schema, style.suppressed),
        )

    def page(self, first: int, n_groups: int, most_rows: int = 20) -> list[GroupView]:
        """Return some groups, the costliest first.

        Args:
            first: number of the first one.
            n_groups: how many.
            most_rows: of each group; the others are counted only.
        """
        last = min(first + n_groups, self.n_groups)
        return [self.group(number, most_rows) for number in range(max(first, 0), last)]

    def group(self, number: int, most_rows: int = 20, first: int = 0) -> GroupView:
        """Return one group with some of its rows."""
        rows = self._rows[number]
        shown = self._cells(rows[first : first + most_rows])
        after = self._published.row(number)
        before = self._original.select(self.names[: self.n_keys])[rows.tolist()]
        return GroupView(
            number=number,
            n_rows=len(rows),
            loss=float(self._losses[number]),
            published=tuple(
                Cell(text, self._change(name, text, before.get_column(name)))
                for name, text in zip(self.names, after, strict=False)
            ),
            rows=shown,
        )

    def left_out(self, first: int = 0, most_rows: int = 20) -> LeftOut:
        """Return rows that are not published."""
        return LeftOut(len(self._left_out), self._cells(self._left_out[first : first + most_rows]))

    def _cells(self, rows: NDArray[np.int64]) -> tuple[tuple[Cell, ...], ...]:
        taken = self._original[rows.tolist()]
        return tuple(tuple(Cell(_text(value)) for value in row) for row in taken.iter_rows())

    def _change(self, name: str, text: str | None, before: pl.Series) -> str:
        texts = {_text(value) for value in before.unique().to_list()}
        if texts == {text}:
            return SAME
        return HIDDEN if text is None or text == self._hidden[name] else WIDER


def _one_text(columns: list[pl.Series]) -> pl.Series:
    """Return what a group publishes in a column as one text; bounds are two columns."""
    import polars as pl

    if len(columns) == 1:
        return pl.Series([_text(value) for value in columns[0].to_list()], dtype=pl.String)
    low, high = (each.to_list() for each in columns)
    return pl.Series(
        [
            None if a is None else f"{_text(a)} to {_text(b)}"
            for a, b in zip(low, high, strict=True)
        ],
        dtype=pl.String,
    )


def _text(value: Any) -> str | None:
    from shoal.hierarchy import canonical_label

    if isinstance(value, dict):
        return None if value["low"] is None else f"{_text(value['low'])} to {_text(value['high'])}"
    return None if value is None else canonical_label(value)


def _rows_of(labels: NDArray[np.int32], n_groups: int) -> list[NDArray[np.int64]]:
    order = np.argsort(labels, kind="stable")
    ends = np.searchsorted(labels[order], np.arange(n_groups + 1))
    return [order[ends[group] : ends[group + 1]] for group in range(n_groups)]


def _top_labels(schema: Schema, suppressed: str) -> dict[str, str]:
    """Return the text that says of a column: nothing is left."""
    found = {}
    for name in schema.quasi_identifiers:
        tree = schema[name].hierarchy
        found[name] = suppressed if tree is None else tree.labels[tree.root]
    return found
