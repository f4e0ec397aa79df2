"""From groups to published cells.

Every row of a group publishes the same cell in a quasi-identifier: what the group's values
generalise to. Cells are made once per group and gathered, so no cell of a row becomes a Python
object.

Two different generalisations may read the same: a hierarchy may have a node called ``*``, a set
``{a, b}`` may be one value that is spelt like that. Groups whose cells are all equal then look
like one larger group to a reader. That is harmless: a union of groups is at least as large, and
keeps every monotone privacy model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import numpy as np

from shoal.errors import OptionError, RoleError, did_you_mean, refuse_unknown
from shoal.hierarchy import canonical_label
from shoal.io.columns import code_text, fresh_column
from shoal.messages import Message
from shoal.table.closure import (
    IntervalClosures,
    SetClosures,
    TreeClosures,
    close,
    group_centres,
    listed_sets,
)
from shoal.table.encode import Listing
from shoal.table.partition import Partition
from shoal.table.schema import Algebra, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from shoal.table.encode import Attribute, EncodedTable
    from shoal.table.schema import Column, Schema


# The order of the rows of a release: a function of the published rows and of nothing else.
#
# Rows stand in the order of a hash of what they publish. It looks shuffled, so a reader may take
# the first rows as a sample; and there is nothing behind it that could be undone: neither the order
# of the input nor the seed nor the groups of the run have a part in it. Rows that publish the same
# stand side by side and cannot be told apart. Whoever publishes the same rows gets the same order.

_SEEDS = (0x5348_4F41_4C21, 0x2166_7269_656E)
Hashes = np.ndarray[Any, np.dtype[np.uint64]]
_ODD = np.uint64(0x9E37_79B9_7F4A_7C15)


class RowHash:
    """Two hashes of 64 bits for every row, column by column."""

    def __init__(self, n_rows: int) -> None:
        self._hashes = [np.zeros(n_rows, np.uint64) for _ in _SEEDS]

    def add(self, cells: pl.Series, rows: NDArray[np.integer[Any]] | None = None) -> None:
        """Take the next column.

        Args:
            cells: its cells.
            rows: which of the cells each row has; its own unless given.
        """
        for seed, total in zip(_SEEDS, self._hashes, strict=True):
            own = hash_cells(cells, seed)
            mix(total)
            np.add(total, own if rows is None else own[rows], out=total)

    @property
    def first(self) -> Hashes:
        """The first of both hashes of every row, of the columns so far."""
        return self._hashes[0]

    def different(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return one row for each of the different things that rows show, and how many do."""
        import polars as pl

        first, second = self._hashes
        rows = pl.DataFrame({"a": first, "b": second}).with_row_index("row")
        same = rows.group_by("a", "b").agg(pl.col("row").first(), pl.len().alias("rows"))
        one, count = (same.get_column(name).to_numpy() for name in ("row", "rows"))
        return one.astype(np.int64), count.astype(np.int64)

    def singled_out(self, people: NDArray[np.integer[Any]] | None = None) -> int:
        """Return how many rows show what no other row shows, or no row of another person."""
        import polars as pl

        if people is None:
            return int(np.count_nonzero(self.different()[1] == 1))
        first, second = self._hashes
        rows = pl.DataFrame({"a": first, "b": second, "who": people}).group_by("a", "b")
        found = rows.agg(pl.col("who").n_unique(), pl.len().alias("rows"))
        return int(found.filter(pl.col("who") == 1).get_column("rows").sum())

    def order(self) -> NDArray[np.int64]:
        """Return the rows in the order of their hashes."""
        import polars as pl

        first, second = self._hashes
        mix(first)
        mix(second)
        order = pl.Series(first).arg_sort().to_numpy()
        ahead, behind = order[:-1], order[1:]
        # Different rows with the same hash are as good as impossible; the other one tells them
        # apart, so that not even then the order of the input is left.
        if np.any((first[ahead] == first[behind]) & (second[ahead] != second[behind])):
            order = np.lexsort((second, first))
        return order.astype(np.int64, copy=False)


def mix(total: NDArray[np.uint64]) -> None:
    """Spread every bit over the others, so that columns do not cancel each other out."""
    total *= _ODD
    total ^= total >> np.uint64(29)
    total *= _ODD
    total ^= total >> np.uint64(32)


def hash_cells(cells: pl.Series, seed: int = _SEEDS[0]) -> NDArray[np.uint64]:
    """Return a hash of every cell that depends on what it shows alone."""
    import polars as pl

    dtype = cells.dtype
    if isinstance(dtype, pl.Categorical | pl.Enum):
        # Codes are numbered as the input had them: the texts count.
        codes = cells.to_physical()
        known = cells.unique().drop_nulls()
        texts = known.cast(pl.String).hash(seed).to_numpy()
        table = np.zeros(int(codes.max() or 0) + 2, np.uint64)  # type: ignore[arg-type]  # a code
        table[known.to_physical().to_numpy()] = texts
        looked_up: Hashes = table[codes.cast(pl.UInt32).fill_null(len(table) - 1).to_numpy()]
        return looked_up
    if dtype.is_nested() or dtype in {pl.Object, pl.Null}:
        return pl.Series(_shown(cells.to_list()), dtype=pl.String).hash(seed).to_numpy()
    if dtype.is_float():
        # All that read NaN are one, and not the same as missing.
        not_numbers = cells.is_nan().fill_null(False).to_numpy()
        hashes: Hashes = cells.fill_nan(None).hash(seed).to_numpy() + not_numbers
        return hashes
    return cells.to_physical().hash(seed).to_numpy()


def _shown(cells: Iterable[object]) -> list[str]:
    return [repr(cell) for cell in cells]


Numeric = Literal["interval", "bounds", "struct", "mean", "median"]
Categories = Literal["node", "values"]
Cells = Literal["generalised", "shuffled"]


@dataclass(frozen=True, kw_only=True)
class Style:
    """How generalised cells are written.

    Attributes:
        numeric: how intervals (numbers, dates, ordered values) are published: ``interval`` as
            text; ``bounds`` as two columns ``age_low`` and ``age_high`` of the original type;
            ``struct`` as one column of structs with ``low`` and ``high``; ``mean`` or
            ``median`` as one number per group, for the kind ``numeric`` only (other intervals
            stay text). In all but ``interval``, a suppressed cell is missing.
        interval_format: text of an interval, with ``{low}`` before ``{high}``.
        wide_interval_format: used for a whole column instead, where the text of a published
            bound contains what stands between ``{low}`` and ``{high}``: negative numbers and
            dates are ``[-5 to 3]``, not ``[-5-3]``, which could be read in two ways.
        suppressed: text of a cell that was generalised to everything, where no hierarchy gives
            it a name.
        set_format: text of a set, with ``{values}``.
        set_separator: text between the values of a set.
        categories: what a column with a hierarchy publishes where values differ: ``node`` the
            label of their closest common node, ``values`` the set of values that occur in the
            group (Byun et al., Definition 5: the union is published, the tree is charged). The set
            says more than the node, to readers and to attackers; the loss is that of the node.
        flat_values: of a column without a hierarchy (flat): so many different values of a group
            are published as their set, in place of ``suppressed``; 1 publishes none. A set never
            holds a value that fewer than k people have, and is never all values of the column.
            The search, its measures and `Release.scores` take such a cell as suppressed.
        cells: ``generalised`` to what a group has in common, or ``shuffled``: exact values, each
            column permuted by itself within every group, and a column ``group`` that says which
            group a row is in (`shoal.publish.shuffled`). That is not k-anonymous.
    """

    numeric: Numeric = "interval"
    interval_format: str = "[{low}-{high}]"
    wide_interval_format: str = "[{low} to {high}]"
    suppressed: str = "*"
    set_format: str = "{{values}}"
    set_separator: str = ", "
    categories: Categories = "node"
    flat_values: int = 8
    cells: Cells = "generalised"

    def __post_init__(self) -> None:
        most = self.flat_values
        if isinstance(most, bool) or not isinstance(most, int) or most < 1:
            raise OptionError(
                "The style's flat_values must be a whole number of at least 1, but {most!r} was "
                "given.",
                most=most,
            )
        for each in fields(self):
            if each.name != "flat_values" and not isinstance(getattr(self, each.name), str):
                raise OptionError(
                    "The style's {name} must be text, but {getattr!r} was given.",
                    name=each.name,
                    getattr=getattr(self, each.name),
                )
        for option, known in (
            ("numeric", get_args(Numeric)),
            ("categories", get_args(Categories)),
            ("cells", get_args(Cells)),
        ):
            value = getattr(self, option)
            if value not in known:
                raise OptionError(
                    "The style's {option} must be one of {map}, but {given!r} was given.{hint}",
                    option=option,
                    map=", ".join(map(repr, known)),
                    given=value,
                    hint=did_you_mean(value, known),
                )
        for option in ("interval_format", "wide_interval_format"):
            text = getattr(self, option)
            once = text.count("{low}") == text.count("{high}") == 1
            if not once or text.index("{high}") - text.index("{low}") <= len("{low}"):
                raise OptionError(
                    "The style's {option} must hold {{low}} once and {{high}} once, in this "
                    "order and with something between them, but {text!r} was given.",
                    option=option,
                    text=text,
                )
        if self.set_format.count("{values}") != 1:
            raise OptionError(
                "The style's set_format must hold {{values}} once, but {set_format!r} was given.",
                set_format=self.set_format,
            )
        if not self.set_separator:
            raise OptionError("The style's set_separator must not be empty.")

    @property
    def shuffles(self) -> bool:
        """Whether cells are exact, and shuffled within groups."""
        return self.cells == "shuffled"

    @classmethod
    def from_dict(cls, options: Mapping[str, Any]) -> Style:
        """Build a style from the ``[style]`` table of a job file.

        Raises:
            OptionError: an option is unknown or wrong.
        """
        known = [each.name for each in fields(cls)]
        missing = Message("The style has no option {name!r}.{hint} It has {known}.")
        refuse_unknown(options, known, OptionError, missing, known=", ".join(known))
        most = options.get("flat_values")
        if isinstance(most, str) and most.isdecimal():  # from a flag, or a field of a page
            options = {**options, "flat_values": int(most)}
        return cls(**options)


def recode(
    frame: pl.DataFrame,
    schema: Schema,
    table: EncodedTable,
    partition: Partition,
    style: Style | None = None,
    *,
    shuffle: bool = True,
    coded: bool = False,
) -> tuple[pl.DataFrame, NDArray[np.int64]]:
    """Return the published table, and the row of the input that each of its rows is.

    Columns keep their order. Quasi-identifiers are generalised to what all rows of a group have
    in common (missing if all of them are missing); sensitive and insensitive columns keep their
    values and type; identifiers, dropped columns and suppressed rows are left out. There is no
    index and no row number. Every column is made anew (`fresh_column`), so that nothing of
    the input is in its memory but what it shows.

    Args:
        frame: the original table; its quasi-identifiers are not looked at.
        schema: the roles and kinds of its columns.
        table: the same table, encoded.
        partition: the groups.
        style: how generalised cells are written.
        shuffle: whether the order of the rows is one of the published rows alone (see
            `shoal.publish.recode`); otherwise they keep the order of the input.
        coded: whether generalised text stays codes (see `shoal.io.columns`).

    Raises:
        RoleError: a column of bounds would have the name of another published column.

    Cost: a few passes over the rows per column. Deterministic.
    """
    import polars as pl

    style = style or Style()
    assert table.n_rows == partition.n_rows
    assert not frame.width or frame.height == table.n_rows
    frame = with_coded(frame, schema) if schema.is_coded else frame
    names = published_names(schema, style)
    attributes = {attribute.name: attribute for attribute in table.attributes}
    per_group = {
        name: published_cells(attributes[name], partition, style)
        for name in names
        if name in attributes
    }
    rows = np.flatnonzero(partition.labels >= 0)
    if shuffle:
        rows = rows[_order(frame, names, per_group, partition.labels, rows)]
    groups = pl.Series(partition.labels[rows], dtype=pl.UInt32)
    row_numbers = pl.Series(rows, dtype=pl.UInt32)
    published: list[pl.Series] = []
    for name, titles in names.items():
        if name in per_group:
            cells = [code_text(each) if coded else each for each in per_group[name]]
            columns = [each.gather(groups) for each in cells]
        else:
            columns = [frame.get_column(name).gather(row_numbers)]
        published += [
            fresh_column(column.alias(title)) for title, column in zip(titles, columns, strict=True)
        ]
    return pl.DataFrame(published), rows


def with_coded(frame: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """Return a table whose columns that are published as they are say where they are coded."""
    columns = [
        coded_text(frame.get_column(name), schema[name])
        for name in schema.exact
        if schema[name].is_coded and name in frame.columns
    ]
    return frame.with_columns(columns) if columns else frame


def coded_text(values: pl.Series, column: Column) -> pl.Series:
    """Return a column with a top or a bottom as the text that is published of it."""
    import polars as pl

    from shoal.table.coding import BOTTOM, TOP, clamp, ends_of

    clamped = clamp(values, column)
    distinct = clamped.drop_nulls().unique()
    if distinct.dtype.is_float():
        distinct = distinct.filter(~distinct.is_nan())
        clamped = clamped.fill_nan(None)
    top, bottom = ends_of(column, clamped.dtype)
    labels = []
    every = _labels(cast("Sequence[Any]", distinct), len(distinct), np.arange(len(distinct)))
    for value, label in zip(distinct, every, strict=True):
        form = TOP if value == top else BOTTOM if value == bottom else "{}"
        labels.append(form.format(label))
    texts = pl.Series(labels, dtype=pl.String)
    return clamped.replace_strict(distinct, texts, default=None, return_dtype=pl.String)


def with_listings(table: EncodedTable, style: Style, k: int) -> EncodedTable:
    """Return a table that knows which values its columns list in place of a node.

    Columns with a hierarchy list all values, or none. A flat column lists at most ``flat_values``,
    all of which at least k people of the table have, so that a rare one shows nowhere; never all
    that it has, which says no more than the mark for a suppressed cell; and none if the text of
    one could be taken for a set.
    """
    attributes = tuple(
        replace(attribute, listing=_listing(attribute, style, k, _people_of(attribute, table)))
        for attribute in table.attributes
    )
    return replace(table, attributes=attributes)


def _people_of(attribute: Attribute, table: EncodedTable) -> NDArray[np.int64]:
    """Return how many people have each value of a column."""
    if table.person is None:
        return attribute.counts
    n_people = int(table.person.max(initial=0)) + 1
    pairs = np.unique(attribute.codes.astype(np.int64) * n_people + table.person)
    return np.bincount(pairs // n_people, minlength=attribute.size + 1)


def _listing(
    attribute: Attribute, style: Style, k: int, people: NDArray[np.int64]
) -> Listing | None:
    size = attribute.size
    if attribute.kind is Kind.CATEGORICAL:
        if style.categories != "values":
            return None
        return Listing(size, np.arange(size + 1) < size)
    most = min(style.flat_values, size - 1)
    if attribute.kind is not Kind.FLAT or most < 2:
        return None
    assert attribute.taxonomy is not None
    before, _, after = style.set_format.partition("{values}")
    ends = tuple(each for each in (before, after) if each)
    for label in attribute.taxonomy.leaf_labels:
        if style.set_separator in label or (
            ends and label.startswith(before) and label.endswith(after)
        ):
            return None
    known = people >= k
    known[size] = False
    return Listing(most, known) if known.sum() > 1 else None


def unite_equal(table: EncodedTable, partition: Partition, style: Style) -> Partition:
    """Return the groups as a reader sees them: those that publish the same cells are one."""
    import polars as pl

    if partition.recoded or partition.n_groups < 2 or style.shuffles:
        return partition
    cells = [
        cell.cast(pl.String) if cell.dtype == pl.Object else cell
        for attribute in table.attributes
        for cell in published_cells(attribute, partition, style)
    ]
    frame = pl.DataFrame([cell.alias(str(number)) for number, cell in enumerate(cells)])
    columns = frame.columns
    same = frame.with_row_index("group").group_by(columns, maintain_order=True).agg("group")
    class_of_group = np.full(partition.n_groups + 1, -1, np.int64)
    members = same.get_column("group")
    class_of_group[members.explode().to_numpy()] = np.repeat(
        np.arange(len(members)), members.list.len()
    )
    return Partition.from_labels(class_of_group[partition.labels])


def _order(
    frame: pl.DataFrame,
    names: Mapping[str, tuple[str, ...]],
    per_group: Mapping[str, list[pl.Series]],
    labels: NDArray[np.int32],
    rows: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the order of the published rows, from what they publish alone."""
    hashes = RowHash(len(rows))
    groups = labels[rows]
    for name in names:
        if name in per_group:
            for cells in per_group[name]:
                hashes.add(cells, groups)
        else:
            hashes.add(frame.get_column(name), rows)
    return hashes.order()


def published_names(schema: Schema, style: Style) -> dict[str, tuple[str, ...]]:
    """Return the names under which each published column appears, in order.

    Raises:
        RoleError: a column of bounds would have the name of another published column.
    """
    result: dict[str, tuple[str, ...]] = {name: (name,) for name in schema.published}
    if style.numeric != "bounds":
        return result
    for name in schema.published:
        kind = schema[name].kind
        if kind is None or kind.algebra != "interval":
            continue
        result[name] = (f"{name}_low", f"{name}_high")
        for title in result[name]:
            if title in schema.published:
                raise RoleError(
                    "The bounds of column {name!r} would be published as {title!r}, but there "
                    "is already a column of that name; rename it or choose another numeric "
                    "style.",
                    name=name,
                    title=title,
                )
    return result


def published_cells(attribute: Attribute, partition: Partition, style: Style) -> list[pl.Series]:
    """Return the cell of each group: one column, or two for bounds."""
    closures = close(attribute, partition)
    return _CELLS[closures.algebra](attribute, closures, partition, style)


def _interval_cells(
    attribute: Attribute, closures: IntervalClosures, partition: Partition, style: Style
) -> list[pl.Series]:
    import polars as pl

    own = slice(partition.n_groups)
    low, high, everything = closures.low[own], closures.high[own], closures.everything[own]
    closures = IntervalClosures(low, high, everything, closures.wide)
    if style.numeric in ("bounds", "struct"):
        return _typed_bounds(attribute, closures, style)
    if style.numeric in ("mean", "median") and attribute.kind.has_mean:
        how: Literal["mean", "median"] = "mean" if style.numeric == "mean" else "median"
        centre = pl.Series(group_centres(attribute, closures, partition, how))
        return [centre.fill_nan(None)]
    single = closures.single()
    ends = []
    before, between, after = _split(style.interval_format)
    spans = ~single & ~everything
    values = attribute.values if attribute.cells is None else attribute.cells.upper
    for codes, of_codes in ((low, attribute.values), (high, values)):
        distinct, position = np.unique(codes, return_inverse=True)
        labels = _labels(of_codes, attribute.size, distinct)
        if attribute.open_below or attribute.open_above:
            labels = _marked(labels, distinct, attribute)
        ends.append(_texts(labels, position))
        if any(between in (labels[end] or "") for end in np.unique(position[spans]).tolist()):
            before, between, after = _split(style.wide_interval_format)
    cells = pl.DataFrame(
        {
            "low": ends[0],
            "high": ends[1],
            "single": single,
            "everything": everything,
        }
    )
    span = pl.concat_str(pl.lit(before), "low", pl.lit(between), "high", pl.lit(after))
    text = cells.select(
        pl.when("everything")
        .then(pl.lit(style.suppressed))
        .when("single")
        .then("low")
        .otherwise(span)
        .alias("text")
    )
    return [text.to_series()]


def _marked(
    labels: list[str | None], codes: NDArray[np.integer[Any]], attribute: Attribute
) -> list[str | None]:
    """Return the texts of codes, with marks where they stand for all beyond an end."""
    from shoal.table.coding import BOTTOM, TOP

    forms = {0: BOTTOM} if attribute.open_below else {}
    forms |= {attribute.size - 1: TOP} if attribute.open_above else {}
    return [
        label if label is None else forms.get(code, "{}").format(label)
        for code, label in zip(codes.tolist(), labels, strict=True)
    ]


def _tree_cells(
    attribute: Attribute, closures: TreeClosures, partition: Partition, style: Style
) -> list[pl.Series]:
    import polars as pl

    taxonomy = attribute.taxonomy
    assert taxonomy is not None

    root = taxonomy.labels[-1] if attribute.kind is Kind.CATEGORICAL else style.suppressed
    labels: list[str | None] = [*taxonomy.labels[:-1], root, None]  # all missing comes last
    distinct, position = np.unique(closures.node[: partition.n_groups], return_inverse=True)
    nodes = _texts([labels[of] for of in distinct.tolist()], position)
    if attribute.listing is not None:
        sets, node = listed_sets(attribute, partition)
        texts = _set_text(attribute, sets, partition.n_groups, style)
        return [nodes.zip_with(pl.Series(node), texts)]
    return [nodes]


def _set_cells(
    attribute: Attribute, closures: SetClosures, partition: Partition, style: Style
) -> list[pl.Series]:
    return [_set_text(attribute, closures, partition.n_groups, style)]


_CELLS: dict[Algebra, Callable[..., list[pl.Series]]] = {
    "interval": _interval_cells,
    "tree": _tree_cells,
    "set": _set_cells,
}
"""How the closures of each algebra are written."""


def is_wide(attribute: Attribute, style: Style) -> bool:
    """Return whether any value of a column holds what stands between the ends of an interval."""
    between = _split(style.interval_format)[1]
    values = [attribute.values, *([attribute.cells.upper] if attribute.cells else [])]
    every = np.arange(attribute.size)
    return any(between in (each or "") for of in values for each in _labels(of, len(of), every))


def _typed_bounds(
    attribute: Attribute, closures: IntervalClosures, style: Style
) -> list[pl.Series]:
    import polars as pl

    values, upper = (
        each if isinstance(each, pl.Series) else pl.Series(list(each), dtype=pl.String)
        for each in (
            attribute.values,
            attribute.values if attribute.cells is None else attribute.cells.upper,
        )
    )
    missing = closures.everything | (closures.low == attribute.size)
    below = attribute.open_below & (closures.low == 0)  # ends that are open are not there, either
    above = attribute.open_above & (closures.high == attribute.size - 1)
    bounds = [
        of_codes.gather(pl.Series(codes, dtype=pl.UInt32).set(pl.Series(gone), None)).alias(title)
        for title, codes, of_codes, gone in (
            ("low", closures.low, values, missing | below),
            ("high", closures.high, upper, missing | above),
        )
    ]
    return bounds if style.numeric == "bounds" else [pl.DataFrame(bounds).to_struct()]


def _set_text(
    attribute: Attribute, closures: SetClosures, n_groups: int, style: Style
) -> pl.Series:
    import polars as pl

    group = np.repeat(np.arange(n_groups), np.diff(closures.indptr[: n_groups + 1]))
    distinct, position = np.unique(closures.members, return_inverse=True)
    labels = _labels(attribute.values, attribute.size, distinct)
    before, _, after = style.set_format.partition("{values}")
    joined = (
        pl.DataFrame({"group": group, "label": _texts(labels, position)})
        .group_by("group", maintain_order=True)
        .agg(
            single=pl.len() == 1,
            label=pl.col("label").first(),
            values=pl.col("label").str.join(style.set_separator),
        )
        .with_columns(everything=pl.Series(closures.everything[:n_groups]))
    )
    return joined.select(
        pl.when("everything")
        .then(pl.lit(style.suppressed))
        .when("single")
        .then("label")
        .otherwise(pl.concat_str(pl.lit(before), "values", pl.lit(after)))
        .alias("text")
    ).to_series()


def _labels(values: Sequence[Any], size: int, codes: NDArray[np.integer[Any]]) -> list[str | None]:
    """Return the text of each code of a sorted array; missing has none."""
    import polars as pl

    known = codes[codes < size]
    if isinstance(values, pl.Series):
        chosen = values.gather(pl.Series(known, dtype=pl.UInt32))
        # As numpy numbers, so that a narrow float has its short text.
        native = list(chosen.to_numpy()) if chosen.dtype == pl.Float32 else chosen.to_list()
    else:
        native = [values[code] for code in known.tolist()]
    labels = [canonical_label(value) for value in native]
    return [*labels, *[None] * (len(codes) - len(known))]


def _texts(labels: list[str | None], position: NDArray[np.integer[Any]]) -> pl.Series:
    import polars as pl

    return pl.Series(labels, dtype=pl.String).gather(pl.Series(position, dtype=pl.UInt32))


def _split(form: str) -> tuple[str, str, str]:
    before, _, rest = form.partition("{low}")
    between, _, after = rest.partition("{high}")
    return before, between, after
