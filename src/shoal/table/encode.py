"""From a dataframe to narrow integer codes, column by column.

Codes are ``0 … size-1``; a missing value (null, NaN) has the code ``size``. The codes of an
interval attribute are ranks of the sorted distinct values, those of a tree attribute are leaf
numbers of its taxonomy (depth first, so that the lowest common ancestor of a set of leaves is the
one of its smallest and largest code), those of a set attribute are ranks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from shoal.errors import DataError, HierarchyError
from shoal.hierarchy import Taxonomy, canonical_label, require_cover
from shoal.io.columns import code_text
from shoal.table.grid_cells import Cells, Level, between_ends, find_cells, level_of, positions_of
from shoal.table.schema import Algebra, Kind
from shoal.table.sensitive import Merging, Sensitive, TextMerging, split_as_written

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from numpy.typing import NDArray

    from shoal.table.grid import Grid
    from shoal.table.schema import Column, Schema


_SHORT_SPAN = 1 << 22
"""Whole numbers that lie this close together are ranked by looking them up."""

SUPPRESSED_MARK = "*"
"""What a fully generalised value of a flat column is called."""

Codes = np.ndarray[Any, np.dtype[np.unsignedinteger[Any]]]


@dataclass(frozen=True, eq=False)
class Listing:
    """Which values of a group a column of a tree publishes in place of their common node.

    Attributes:
        most: so many values of a group at most.
        known: which values may be listed, by code (missing last, which never is).
    """

    most: int
    known: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Attribute:
    """One encoded quasi-identifier.

    Attributes:
        name: column name.
        algebra: how its values join.
        kind: kind in the schema.
        codes: code of each row, narrow unsigned integers.
        size: number of values in the domain; also the code of missing.
        has_missing: whether any row of the *whole* table is missing.
        values: the domain in code order, native (numbers, dates, text), for publishing.
        positions: interval only: where each value lies on the number line.
        taxonomy: tree only.
        counts: occurrences of each code in the whole table (missing last), for MI and PMI.
        weight: the user's weight, 1 by default.
        cells: of a column on a grid: its values are the lower ends of cells, and the cells know
            the rest.
        level: of a column that is never published below a level of its hierarchy: what is
            published instead.
        original: of a column on a grid: code of each row among the values as they were.
        original_positions: of a column on a grid: where these values lie on the number line.
        listing: of a column of a tree: which values a group publishes in place of their common
            node; None if it publishes none.
        open_below: whether the lowest value stands for all below it, too (`shoal.table.coding`).
        open_above: whether the highest value stands for all above it.
    """

    name: str
    algebra: Algebra
    kind: Kind
    codes: Codes
    size: int
    has_missing: bool
    values: Sequence[Any]
    positions: NDArray[np.float64] | None
    taxonomy: Taxonomy | None
    counts: NDArray[np.int64]
    weight: float = 1.0
    cells: Cells | None = None
    level: Level | None = None
    original: Codes | None = None
    original_positions: NDArray[np.float64] | None = None
    listing: Listing | None = None
    open_below: bool = False
    open_above: bool = False

    def take(self, rows: NDArray[np.integer[Any]]) -> Attribute:
        """Return the column of these rows; domain, counts and taxonomy stay as they are."""
        original = None if self.original is None else self.original[rows]
        return replace(self, codes=self.codes[rows], original=original)

    @property
    def as_they_were(self) -> Codes:
        """Code of each row among the original values, whatever the grid."""
        return self.codes if self.original is None else self.original

    @property
    def own_logs(self) -> NDArray[np.float64] | None:
        """Mean of log2 (rows that share the original value) by code; None without a grid."""
        held = self.cells or self.level
        return None if held is None else held.own_logs


@dataclass(frozen=True, eq=False)
class EncodedTable:
    """The quasi-identifiers and sensitive columns of a table as codes.

    Attributes:
        n_rows: number of rows.
        attributes: the quasi-identifiers.
        sensitive: the sensitive columns.
        person: number of each row's person; None if every row is a person of its own.
    """

    n_rows: int
    attributes: tuple[Attribute, ...]
    sensitive: tuple[Sensitive, ...]
    person: NDArray[np.int32] | None = None

    def check(self) -> None:
        """Refuse codes that are none of their column's: kernels look up whatever they are given.

        Raises:
            ValueError: there are some, or a column is longer or shorter than the table.
        """
        pairs: list[tuple[str, NDArray[Any], int]] = [
            (a.name, a.codes, a.size) for a in self.attributes
        ]
        pairs += [(s.name, s.codes, s.size - 1) for s in self.sensitive]
        if self.person is not None:
            pairs.append(("person", self.person, int(np.iinfo(np.int32).max)))
        for name, codes, most in pairs:
            fits = codes.shape == (self.n_rows,) and codes.dtype.kind in "iu"
            if not fits or (self.n_rows and not 0 <= int(codes.min()) <= int(codes.max()) <= most):
                raise ValueError(f"the codes of {name!r} are not {self.n_rows} from 0 to {most}")

    def take(self, rows: NDArray[np.integer[Any]]) -> EncodedTable:
        """Return the table of these rows; domains, counts and taxonomies stay as they are."""
        person = None if self.person is None else self.person[rows]
        return EncodedTable(
            len(rows),
            tuple(a.take(rows) for a in self.attributes),
            tuple(replace(s, codes=s.codes[rows], people=person, of=None) for s in self.sensitive),
            person,
        )

    def part(self, rows: NDArray[np.integer[Any]]) -> EncodedTable:
        """Return these rows as a part of the table: promises are judged against all of it."""
        table = self.take(rows)
        sensitive = tuple(
            replace(s, of=whole if whole.of is None else whole.of)
            for s, whole in zip(table.sensitive, self.sensitive, strict=True)
        )
        return replace(table, sensitive=sensitive)

    @property
    def row_by_row(self) -> EncodedTable:
        """The table with every row as a person of its own."""
        if self.person is None:
            return self
        plain = tuple(replace(s, people=None, of=None) for s in self.sensitive)
        return replace(self, sensitive=plain, person=None)

    @property
    def n_people(self) -> int:
        """Number of different people."""
        return self.n_rows if self.person is None else len(np.unique(self.person))

    @property
    def weights(self) -> NDArray[np.float64]:
        """Weight of each attribute."""
        return np.array([a.weight for a in self.attributes])


def encode(frame: pl.DataFrame, schema: Schema) -> EncodedTable:
    """Encode the quasi-identifiers and sensitive columns of a polars frame.

    Raises:
        DataError: a column cannot be used (infinite numbers, nothing but missing values, …).
        HierarchyError: a hierarchy does not cover its column.
    """
    if schema.is_coded:
        from shoal.table.coding import clamp_frame

        frame = clamp_frame(frame, schema.columns)
    attributes = tuple(
        encode_values(frame.get_column(name), schema[name]) for name in schema.quasi_identifiers
    )
    person = None if schema.person is None else encode_people(frame.get_column(schema.person))
    sensitive = tuple(
        replace(encode_sensitive(frame.get_column(name), schema[name].hierarchy), people=person)
        for name in schema.sensitive
    )
    return EncodedTable(frame.height, attributes, sensitive, person)


def encode_people(series: pl.Series) -> NDArray[np.int32] | None:
    """Return the number of each row's person; None if every row is a person of its own.

    Ids that one would call the same (white space, letter case, forms of a number) are one
    person. Nobody knows whose the rows without an id are, so all of them count as one person.
    """
    people = encode_sensitive(series).cleaned
    if len(series) and int(people.counts.max()) == 1:
        return None
    return people.codes


def encode_values(series: pl.Series, column: Column, rows: Any = None) -> Attribute:
    """Encode a quasi-identifier, or its values with how many rows have each."""
    import polars as pl

    series = _nan_to_null(series)
    if series.null_count() == len(series):
        raise DataError(
            "Column {name!r} has no value at all; give it the role 'drop' instead.",
            name=column.name,
        )
    kind = column.kind or Kind.FLAT
    taxonomy: Taxonomy | None = None
    positions: NDArray[np.float64] | None = None
    values: Sequence[Any]
    if kind == Kind.CATEGORICAL:
        taxonomy = column.hierarchy
        assert taxonomy is not None
        codes, values = _codes_in_taxonomy(series, taxonomy, column.name)
    elif kind == Kind.ORDINAL and column.order is not None:
        codes, values = _codes_in_order(series, column.order, column.name)
        positions = np.arange(len(values), dtype=np.float64)
    else:
        codes, domain = _codes_by_rank(series)
        values = cast("Sequence[Any]", domain)  # a polars Series, which lacks the formal base class
        if kind.is_measured:
            positions = positions_of(domain, column.name)
        elif kind.algebra == "interval":
            positions = np.arange(len(domain), dtype=np.float64)
        elif kind.algebra == "tree":
            labels = [canonical_label(value) for value in domain.to_list()]
            if len(set(labels)) < len(labels):
                # Python's datetimes end at microseconds; polars has the text of nanoseconds.
                labels = domain.cast(pl.String).to_list()
            if SUPPRESSED_MARK in labels:
                raise DataError(
                    "Column {name!r} already holds {suppressed_mark!r}, which stands for a "
                    "suppressed value in a release; replace it by a missing value first.",
                    name=domain.name,
                    suppressed_mark=SUPPRESSED_MARK,
                )
            taxonomy = Taxonomy.flat(labels, root=SUPPRESSED_MARK)
    size = len(values)
    counts = np.bincount(codes, weights=rows, minlength=size + 1).astype(np.int64)
    attribute = Attribute(
        name=column.name,
        algebra=kind.algebra,
        kind=kind,
        codes=codes,
        size=size,
        has_missing=bool(counts[size]),
        values=values,
        positions=positions,
        taxonomy=taxonomy,
        counts=counts,
        weight=column.weight,
    )
    ends: tuple[Any, Any] = (None, None)
    if column.is_coded:
        from shoal.table.coding import ends_of

        top, bottom = ends = ends_of(column, series.dtype)
        below = bottom is not None and values[0] == bottom
        above = top is not None and values[-1] == top
        attribute = replace(attribute, open_below=below, open_above=above)
    return on_grid(attribute, column.grid, ends) if column.grid else attribute


def encode_sensitive(series: pl.Series, taxonomy: Taxonomy | None = None) -> Sensitive:
    """Return a sensitive column as codes, with the places of its values in a tree if it has one.

    Raises:
        DataError: it holds values of mixed types.
        HierarchyError: the tree lacks one of its values.
    """
    import polars as pl

    if isinstance(series.dtype, pl.Object):
        raise DataError(
            "Column {name!r} holds values of mixed types; convert it to one type (text, "
            "numbers or dates) first.",
            name=series.name,
        )
    dtype = series.dtype
    narrow_codes, domain = _codes_by_rank(_nan_to_null(series))
    codes, size = narrow_codes.astype(np.int32), len(domain)
    merging: Merging | None = None
    if dtype.is_float():
        codes, size, merging = split_as_written(series, codes, size)
    has_missing = series.null_count() > 0
    size += has_missing
    if dtype == pl.String or isinstance(dtype, pl.Categorical | pl.Enum):
        merging = TextMerging(domain.cast(pl.String), has_missing=has_missing)
    counts = np.bincount(codes, minlength=size).astype(np.int64)
    ordered = dtype.is_numeric() or dtype.is_temporal() or isinstance(dtype, pl.Enum)
    found = Sensitive(series.name, codes, size, ordered, counts, merging)
    if not dtype.is_numeric() and taxonomy is None:
        return found
    # which of the distinct values each code is; the one after the last is missing
    value = np.arange(size)
    if dtype.is_float() and merging is not None and merging.merged is not None:
        value = merging.merged.astype(np.int64)
    if dtype.is_numeric():
        found = replace(found, numbers=np.append(positions_of(domain, series.name), np.nan)[value])
    if taxonomy is None:
        return found
    labels = [canonical_label(each) for each in domain.to_list()]
    require_cover(taxonomy, series.name, labels)
    leaves = np.append(taxonomy.leaf_codes(labels), -1).astype(np.int64)[value]
    return replace(found, taxonomy=taxonomy, leaves=leaves)


def on_grid(attribute: Attribute, grid: Grid, ends: tuple[Any, Any] = (None, None)) -> Attribute:
    """Return the column with the cells of its grid in place of its values.

    ``ends`` are its top and its bottom, as values of the column: lines of their own.

    Raises:
        OptionError: the grid does not fit the values or the hierarchy of the column.
    """
    if attribute.taxonomy is not None:
        return _at_level(attribute, attribute.taxonomy, grid.level)
    if attribute.kind is Kind.ORDINAL:
        return _in_steps(attribute, grid)
    return _between_lines(attribute, grid, ends)


def _between_lines(attribute: Attribute, grid: Grid, ends: tuple[Any, Any]) -> Attribute:
    domain = cast("pl.Series", attribute.values)
    inner = domain.slice(
        attribute.open_below, attribute.size - attribute.open_below - attribute.open_above
    )
    lines = find_cells(inner, grid, attribute.name)
    if ends != (None, None):
        lines = between_ends(lines, domain, ends)
    size = len(lines.lower)
    rows, own_logs = _counted(attribute, np.append(lines.of_value, size))
    cells = Cells(
        upper=cast("Sequence[Any]", lines.upper),
        upper_positions=positions_of(lines.upper, attribute.name),
        n_values=np.bincount(lines.of_value, minlength=size).astype(np.int64),
        own_logs=own_logs,
        exact=lines.exact,
        closed=lines.closed,
        begins_after=lines.begins_after,
        digits=None if grid.step is None else max(-grid.step.as_tuple().exponent, 0) + 1,  # type: ignore[operator]
    )
    return replace(
        attribute,
        codes=narrow(np.append(lines.of_value, size)[attribute.codes], size),
        size=size,
        values=cast("Sequence[Any]", lines.lower),
        positions=positions_of(lines.lower, attribute.name),
        counts=rows,
        cells=cells,
        original=attribute.codes,
        original_positions=attribute.positions,
    )


def _in_steps(attribute: Attribute, grid: Grid) -> Attribute:
    """Return a column of ordered words, so many of them in one step; the last may be shorter."""
    words = tuple(attribute.values)
    assert grid.step is not None
    width = int(grid.step)
    of_value = np.arange(len(words)) // width
    size = int(of_value[-1]) + 1
    first = np.arange(size) * width
    last = np.minimum(first + width, len(words)) - 1
    rows, own_logs = _counted(attribute, np.append(of_value, size))
    cells = Cells(
        upper=tuple(words[each] for each in last.tolist()),
        upper_positions=last.astype(np.float64),
        n_values=last - first + 1,
        own_logs=own_logs,
        exact=first == last,
        closed=True,
        begins_after=np.zeros(size, np.bool_),
        digits=None,
        words=dict(zip(words, of_value.tolist(), strict=True)),
    )
    return replace(
        attribute,
        codes=narrow(np.append(of_value, size)[attribute.codes], size),
        size=size,
        values=tuple(words[each] for each in first.tolist()),
        positions=first.astype(np.float64),
        counts=rows,
        cells=cells,
        original=attribute.codes,
        original_positions=attribute.positions,
    )


def _at_level(attribute: Attribute, tree: Taxonomy, level: int) -> Attribute:
    of_node = level_of(tree, level, attribute.name)
    above = of_node[: tree.n_leaves]
    of_leaf = np.append(tree.first_leaf[above], tree.n_leaves).astype(np.int32)
    rows, own_logs = _counted(attribute, of_leaf)
    return replace(
        attribute,
        codes=narrow(of_leaf[attribute.codes], tree.n_leaves),
        values=tuple(tree.labels[node] for node in above.tolist()),
        counts=rows,
        level=Level(of_node, of_leaf, own_logs),
        original=attribute.codes,
    )


def _counted(
    attribute: Attribute, code_of: NDArray[np.integer[Any]]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return rows of each new code, and the mean of log2 (rows that share the value) over them."""
    size = int(code_of[-1]) + 1
    rows = np.bincount(code_of, weights=attribute.counts, minlength=size)
    logs = attribute.counts * np.log2(np.maximum(attribute.counts, 1))
    own = np.bincount(code_of, weights=logs, minlength=size) / np.maximum(rows, 1)
    return rows.astype(np.int64), own


def _nan_to_null(series: pl.Series) -> pl.Series:
    if series.dtype.is_float():
        if bool(series.is_infinite().any()):
            raise DataError(
                "Column {name!r} holds infinite numbers; replace them by missing values or "
                "remove those rows.",
                name=series.name,
            )
        return series.fill_nan(None)
    return series


def _codes_by_rank(series: pl.Series) -> tuple[Codes, pl.Series]:
    """Code every value by its rank among the sorted distinct ones."""
    import polars as pl

    if series.dtype == pl.String or isinstance(series.dtype, pl.Categorical):
        return _codes_of_text(series)
    if series.dtype == pl.Boolean or isinstance(series.dtype, pl.Enum):
        values = series.to_physical().cast(pl.UInt32)
    elif series.dtype.is_temporal():
        values = series.to_physical()
    else:
        values = series
    domain = series.drop_nulls().unique().sort()
    if domain.dtype.is_float():
        # Adding 0 turns -0 into 0, so that one value is published in one way.
        domain = pl.Series(domain.name, domain.to_numpy() + 0.0)
    distinct = values.drop_nulls().unique().sort()
    size = len(domain)
    if size and _lie_close(distinct):
        if distinct.dtype.is_signed_integer():  # differences of narrow ones may not fit
            distinct, values = distinct.cast(pl.Int64), values.cast(pl.Int64)
        offsets = [(each - distinct[0]).cast(pl.UInt32) for each in (values, distinct)]
        return _look_up(offsets[0], offsets[1].to_numpy()), domain
    return narrow(_ranks(values, distinct).fill_null(size).to_numpy(), size), domain


def _lie_close(distinct: pl.Series) -> bool:
    """Return whether sorted numbers are whole and span so little that a table can hold them."""
    import polars as pl

    known = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)
    return distinct.dtype in known and bool(distinct[-1] - distinct[0] < _SHORT_SPAN)


def _codes_of_text(series: pl.Series) -> tuple[Codes, pl.Series]:
    """Code text by its rank; all but the distinct texts are handled as numbers."""
    import polars as pl

    coded = code_text(series)
    texts = pl.DataFrame({"code": coded.unique().drop_nulls()}).select(
        pl.col("code").to_physical(), text=pl.col("code").cast(pl.String)
    )
    texts = texts.sort("text")
    codes = _look_up(coded.to_physical().cast(pl.UInt32), texts.get_column("code").to_numpy())
    return codes, texts.get_column("text").alias(series.name)


def narrow(codes: NDArray[Any], size: int) -> Codes:
    """Return codes 0 … size in the narrowest unsigned type."""
    for dtype in (np.uint8, np.uint16):
        if size <= np.iinfo(dtype).max:
            return codes.astype(dtype)
    return codes.astype(np.uint32)


def _look_up(values: pl.Series, ranked: NDArray[Any]) -> Codes:
    """Replace four-byte numbers by their place in ``ranked``, null by the number of places."""
    size = len(ranked)
    places = ranked.astype(np.int64)
    table = narrow(np.full(int(places.max(initial=-1)) + 2, size), size)
    table[places] = np.arange(size, dtype=table.dtype)
    codes: Codes = table[values.fill_null(len(table) - 1).to_numpy()]
    return codes


def _ranks(values: pl.Series, distinct: pl.Series) -> pl.Series:
    import polars as pl

    ranks = pl.DataFrame({"value": distinct, "rank": pl.int_range(len(distinct), eager=True)})
    joined = values.to_frame("value").join(ranks, on="value", how="left", maintain_order="left")
    return joined.get_column("rank")


def _codes_in_taxonomy(
    series: pl.Series, taxonomy: Taxonomy, name: str
) -> tuple[Codes, Sequence[str]]:
    ranks, domain = _codes_by_rank(series)
    labels = [canonical_label(value) for value in domain.to_list()]
    require_cover(taxonomy, name, labels)
    lookup = np.append(taxonomy.leaf_codes(labels), taxonomy.n_leaves)
    return narrow(lookup[ranks], taxonomy.n_leaves), taxonomy.labels[: taxonomy.n_leaves]


def _codes_in_order(
    series: pl.Series, order: Sequence[str], name: str
) -> tuple[Codes, Sequence[str]]:
    ranks, domain = _codes_by_rank(series)
    place = {label: i for i, label in enumerate(order)}
    found = [place.get(canonical_label(value), -1) for value in domain.to_list()]
    unknown = found.count(-1)
    if unknown:
        raise HierarchyError(
            "The order of column {name!r} leaves out {unknown} of its {n} distinct values; "
            "list every value from low to high.",
            name=name,
            unknown=unknown,
            n=len(found),
        )
    return narrow(np.append(found, len(order))[ranks], len(order)), tuple(order)
