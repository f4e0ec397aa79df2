"""Fills in what the user left open: the kind of each quasi-identifier, from its data type."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, OptionError
from shoal.messages import Message
from shoal.table.frames import to_polars
from shoal.table.grid import CALENDAR, NO_GRID, WITHIN_A_DAY, Grid
from shoal.table.schema import (
    COLUMN_ROWS,
    Column,
    Kind,
    Names,
    Role,
    Schema,
    build_schema,
    suggest_grid,
)

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl
    from narwhals.dtypes import DType


# Hierarchies that need a look at the data: rules grow, and unknown values get a place.

UNKNOWN = ("error", "root")
"""What may happen to a value that a hierarchy does not list."""


def _grown(column: Column, frame: nw.DataFrame[Any], unknown_values: str) -> Column:
    """Return a column with the tree that its rule makes of the values.

    ``root`` puts values that a hierarchy does not list directly below its root, so that they are
    published exactly, or not at all; ``error`` leaves the complaint to whoever encodes the table.

    Raises:
        HierarchyError: the values of the column do not fit its rule.
    """
    from shoal.hierarchy import canonical_label  # loads numpy
    from shoal.hierarchy.builders import grow

    if column.rule is None and (column.hierarchy is None or unknown_values != "root"):
        return column
    cells = frame[column.name]
    if column.is_coded:
        import narwhals as nw

        from shoal.table.coding import clamp

        native = to_polars(frame.select(column.name).to_native()).to_series()
        cells = nw.from_native(clamp(native, column), series_only=True)
    values = cells.unique().drop_nulls().to_list()
    if column.rule is not None:
        if not values:  # whoever encodes the column says so
            return column
        decimals = cells.dtype.is_float() or cells.dtype.is_decimal()
        return replace(
            column,
            hierarchy=column.rule.build(values, decimals=decimals, unknown_values=unknown_values),
        )
    tree = column.hierarchy
    assert tree is not None
    known = set(tree.leaf_labels)
    unknown = sorted({canonical_label(value) for value in values} - known)
    if not unknown:
        return column
    root = tree.labels[-1]
    paths = [list(path) for path in tree.to_paths()]
    return replace(column, hierarchy=grow([*paths, *([label, root] for label in unknown)]))


def notes_on_unknown(before: Schema, after: Schema) -> list[str]:
    """Return a sentence for every column whose hierarchy got values that it did not list.

    How many they are is not said: some may be of rows that are not published.
    """
    return [
        Message(
            "Column {name!r} has values that its hierarchy does not list; they were put directly "
            "below its root (unknown_values = 'root').",
            name=new.name,
        )
        for old, new in zip(before.columns, after.columns, strict=True)
        if (old.hierarchy is not None and old.hierarchy is not new.hierarchy)
        or _has_unknown_codes(new)
    ]


def _has_unknown_codes(column: Column) -> bool:
    """Return whether values of a column are no codes of the classification that it follows."""
    tree = column.hierarchy
    if tree is None or column.rule is None or not column.rule.knows_codes:
        return False
    return bool((tree.parent[: tree.n_leaves] == tree.root).any())


_OF_ANY = [
    row.option
    for row in COLUMN_ROWS.values()
    if row.is_for(Role.INSENSITIVE) and not row.is_for(Role.DROP)
]
"""What may be said of columns that are published and that no promise looks at."""


def schema_of_used(
    frame: nw.DataFrame[Any],
    *,
    quasi_identifiers: Names,
    sensitive: Names = (),
    person: Names | None = None,
    default_grid: bool = True,
    unknown_values: str = "error",
    **details: Any,
) -> Schema:
    """Return the schema of a table of which only these columns matter; the others are dropped.

    ``details`` are hierarchies, kinds, orders, weights, grids and dates, as for `build_schema`;
    ``default_grid`` is whether columns may get a grid that nobody asked for, ``unknown_values``
    what happens to values that a hierarchy does not list. Other columns of moved dates stay: from
    them, too, days are counted.

    Raises:
        RoleError: a column does not exist or has both roles.
        ShoalError: as `build_schema` and `infer_kinds`.
    """
    keys, private = (
        [given] if isinstance(given, str) else list(given)
        for given in (quasi_identifiers, sensitive)
    )
    import narwhals as nw

    from shoal.table.dates import move_dates  # loads numpy

    person_columns = [person] if isinstance(person, str) else [*(person or ())]
    rest = [name for name in frame.columns if name not in {*keys, *private, *person_columns}]
    described = {name for option in _OF_ANY for name in details.get(option) or ()}
    shown = [name for name in rest if name in described]
    schema = build_schema(
        frame.columns,
        quasi_identifiers=keys,
        sensitive=private,
        person=person_columns,
        insensitive=shown,
        drop=[name for name in rest if name not in described],
        **details,
    )
    table = move_dates(to_polars(frame.to_native()), schema)
    schema = infer_kinds(schema, nw.from_native(table, eager_only=True), unknown_values)
    return settle_grids(schema, table, by_default=default_grid)


def infer_kinds(schema: Schema, frame: nw.DataFrame[Any], unknown_values: str = "error") -> Schema:
    """Return the schema with a kind for every quasi-identifier, and an order for ordinal ones.

    Numbers and decimals become numeric, dates ``date``, datetimes ``datetime``, values of an
    ordered data type ordinal, everything else flat. A kind the user gave stays, after a check
    that the data can carry it. Rules of hierarchies grow to trees over the data.

    Raises:
        DataError: a quasi-identifier is nested, binary or of mixed types.
        OptionError: a given kind does not fit the data, or an order is missing.
    """
    dtypes = frame.schema
    columns = [
        _with_kind(column, dtypes[column.name], frame)
        if column.role is Role.QUASI_IDENTIFIER
        else column
        for column in schema.columns
    ]
    grown = tuple(_grown(column, frame, unknown_values) for column in columns)
    return replace(schema, columns=grown)


def _with_kind(column: Column, dtype: DType, frame: nw.DataFrame[Any]) -> Column:
    natural, order = _natural_kind(column.name, dtype, frame)
    if order is not None and column.order is None and column.grid:
        # the words of a data type may be those of the rows, and a grid publishes any of them
        raise OptionError(
            "Column {name!r} is given a grid, but the order of its words is only that of its "
            "data type; list them from low to high with orders={{{name!r}: [...]}} (--order "
            "on the command line).",
            name=column.name,
        )
    if column.kind is None:
        return replace(column, kind=natural, order=order)
    if column.kind is Kind.ORDINAL and column.order is None:
        if order is None:
            raise OptionError(
                "Column {name!r} is ordinal but has no order; list its values from low to "
                "high with orders={{{name!r}: [...]}} (order in the job file).",
                name=column.name,
            )
        return replace(column, order=order)
    needed = column.kind.needs
    if needed is not None and natural is not column.kind:
        raise OptionError(
            "Column {name!r} is given the kind {value!r}, which needs {needed}, but its data "
            "type is {dtype}; convert it or choose another kind.",
            name=column.name,
            value=column.kind.value,
            needed=needed,
            dtype=dtype,
        )
    return column


def _natural_kind(
    name: str, dtype: DType, frame: nw.DataFrame[Any]
) -> tuple[Kind, tuple[str, ...] | None]:
    import narwhals as nw

    if isinstance(dtype, nw.Enum):
        from shoal.hierarchy.taxonomy import canonical_label

        return Kind.ORDINAL, tuple(canonical_label(value) for value in dtype.categories)
    if dtype.is_numeric():
        return Kind.NUMERIC, None
    if dtype == nw.Date:
        return Kind.DATE, None
    if dtype == nw.Datetime:
        return Kind.DATETIME, None
    if dtype in {nw.String, nw.Categorical, nw.Boolean}:
        return Kind.FLAT, None
    if dtype.is_nested():
        raise DataError(
            "Column {name!r} holds lists or structs, which cannot be generalised; split it into "
            "plain columns or drop it.",
            name=name,
        )
    if dtype == nw.Binary:
        raise DataError(
            "Column {name!r} holds binary data, which cannot be generalised; drop it.", name=name
        )
    if dtype in {nw.Time, nw.Duration}:
        raise DataError(
            "Column {name!r} is of type {dtype}, which cannot be generalised; convert it to a "
            "number first.",
            name=name,
            dtype=dtype,
        )
    if frame[name].null_count() == len(frame):
        # A column without a single value has no type of its own.
        return Kind.FLAT, None
    raise DataError(
        "Column {name!r} holds values of mixed or unknown types (its data type is {dtype}); "
        "convert it to one type first.",
        name=name,
        dtype=dtype,
    )


# Grids: what fits a column, and what a column gets that nobody asked about.


def settle_grids(schema: Schema, frame: pl.DataFrame, *, by_default: bool = True) -> Schema:
    """Return the schema with a grid, or none, for every quasi-identifier; kinds are known.

    Args:
        schema: kinds are known, grids as far as they were asked for.
        frame: the table.
        by_default: whether columns of floats, decimals and datetimes get a grid if nothing was
            said about them.

    Raises:
        OptionError: a grid does not fit its column.
    """
    return replace(
        schema,
        columns=tuple(
            replace(column, grid=_settled(column, frame, by_default=by_default))
            if column.role is Role.QUASI_IDENTIFIER
            else column
            for column in schema.columns
        ),
    )


def _settled(column: Column, frame: pl.DataFrame, *, by_default: bool) -> Grid:
    values = frame.get_column(column.name)
    whole = values.dtype.is_integer()
    if column.grid is None:
        found = suggest_grid(column.kind, values) if by_default else NO_GRID
        return replace(found, by_default=True, whole=whole)
    if column.grid:
        check_fit(column, column.grid)
    return replace(column.grid, whole=whole)


def check_fit(column: Column, grid: Grid) -> None:
    """Refuse a grid of lines, steps or levels that a column of this kind has not.

    Raises:
        OptionError: it does not fit.
    """
    name, kind = column.name, column.kind
    if kind is Kind.NUMERIC:
        if grid.unit or grid.level:
            raise OptionError(
                "The grid of column {name!r} is {grid!r}, but it holds numbers; give a "
                "number, as 5 or 0.01.",
                name=name,
                grid=str(grid),
            )
    elif kind is not None and kind.is_time:
        if not grid.unit:
            raise OptionError(
                "The grid of column {name!r} is {grid!r}, but it holds dates; give one of "
                "{calendar}.",
                name=name,
                grid=str(grid),
                calendar=", ".join(CALENDAR),
            )
        if kind is Kind.DATE and grid.unit in WITHIN_A_DAY:
            raise OptionError(
                "The grid of column {name!r} is {unit!r}, but it holds days; give 'day' or longer.",
                name=name,
                unit=grid.unit,
            )
    elif kind is Kind.ORDINAL:
        _check_words(column, grid)
    elif kind is Kind.CATEGORICAL:
        _check_tree(column, grid)
    else:
        word = "unknown" if kind is None else kind.value
        raise OptionError(
            "Column {name!r} is given a grid but is of kind {word!r}, whose cells have no "
            "ends on a number line; leave the grid out, or give the column an order or a "
            "hierarchy.",
            name=name,
            word=word,
        )


def _check_words(column: Column, grid: Grid) -> None:
    step, name = grid.step, column.name
    if step is None or step < 2 or step != step.to_integral_value():
        raise OptionError(
            "The grid of column {name!r} is {grid!r}, but it holds ordered words; give how "
            "many neighbours are published together, as 2.",
            name=name,
            grid=str(grid),
        )
    if column.order is not None and step >= len(column.order):
        raise OptionError(
            "The grid of column {name!r} is {grid}, but its order has only {n} values, so "
            "that nothing would be left of them; choose a smaller one, leave the grid out, or "
            "drop the column.",
            name=name,
            grid=grid,
            n=len(column.order),
        )


def _check_tree(column: Column, grid: Grid) -> None:
    if not grid.level:
        raise OptionError(
            "The grid of column {name!r} is {grid!r}, but it has a hierarchy; give the lowest "
            "level of it that is published, as 'level 1'.",
            name=column.name,
            grid=str(grid),
        )
    if column.hierarchy is not None:
        from shoal.table.grid_cells import level_of

        level_of(column.hierarchy, grid.level, column.name)
