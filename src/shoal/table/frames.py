"""Any dataframe as polars, the first step of a run and of a verification; and the way back."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import narwhals as nw
    import polars as pl


_ARROW = "__arrow_c_stream__"
"""What a table has that hands its columns over as Arrow: the PyCapsule interface."""


def to_polars(frame: Any) -> pl.DataFrame:
    """Return any dataframe as polars, copying little.

    pandas, polars, pyarrow, Modin, and whatever hands its columns over as Arrow, such as relations
    of DuckDB and expressions of Ibis, which are computed here, once.

    Raises:
        DataError: the object is no dataframe, cannot be computed, or holds a column of mixed Python
            types.
    """
    import narwhals as nw
    import polars as pl

    frame = nw.to_native(frame, pass_through=True)
    if isinstance(frame, pl.DataFrame):
        return frame
    if isinstance(frame, pl.LazyFrame):
        return _computed(frame.collect)
    try:
        eager = nw.from_native(frame, eager_only=True)
    except nw.exceptions.DuplicateError:
        raise _same_name() from None
    except TypeError:
        if _hands_over_columns(frame):
            return _computed(lambda: pl.DataFrame(frame))
        raise DataError(
            "The table must be a dataframe (pandas, polars, pyarrow, or another that hands its "
            "columns over as Arrow), got {name}; read files with shoal.read_table(path) first, and "
            "give tables of Spark to shoal.spark.anonymize.",
            name=type(frame).__name__,
        ) from None
    return _from_eager(eager)


def _from_eager(eager: nw.DataFrame[Any]) -> pl.DataFrame:
    import polars as pl

    if len(set(eager.columns)) != len(eager.columns):
        raise _same_name()
    if not all(isinstance(name, str) for name in eager.columns):
        raise DataError("Every column name of the table must be text; rename the columns first.")
    columns = []
    for name in eager.columns:
        try:
            columns.append(_column_to_polars(eager.get_column(name)).alias(name))
        except ImportError:
            raise DataError(
                "Column {name!r} cannot be read without pyarrow; install it with: pip install "
                "'shoal-anonymity[pyarrow]'",
                name=name,
            ) from None
        except Exception:  # noqa: BLE001 - each backend has its own errors for mixed types
            raise DataError(
                "Column {name!r} holds values of mixed types; convert it to one type (text, "
                "numbers or dates) first.",
                name=name,
            ) from None
    return pl.DataFrame(columns)


def _hands_over_columns(table: object) -> bool:
    """Tell whether a table hands its columns over as Arrow; one of Spark stays where it is."""
    import narwhals as nw

    if type(table).__module__.startswith("pyspark.") or nw.dependencies.is_into_series(table):
        return False
    return hasattr(type(table), _ARROW)


def _computed(compute: Callable[[], pl.DataFrame]) -> pl.DataFrame:
    """Return what a table computes.

    Raises:
        DataError: it cannot; what its library says may show a cell.
    """
    import polars as pl

    try:
        return compute()
    except pl.exceptions.DuplicateError:
        raise _same_name() from None
    except Exception as error:  # noqa: BLE001 - each library has its own
        raise DataError(
            "The table cannot be computed ({kind}); compute it by itself to see why, and give the "
            "result.",
            kind=type(error).__name__,
        ) from None


def is_frame(table: object) -> bool:
    """Tell whether something is a dataframe that `to_polars` may know, and no column or array."""
    import narwhals as nw
    import polars as pl

    if isinstance(table, pl.LazyFrame):
        return True
    try:
        found = nw.from_native(table, eager_only=True, allow_series=True)  # type: ignore[call-overload]  # that is the test
    except TypeError:
        return _hands_over_columns(table)
    except nw.exceptions.NarwhalsError:  # two columns of one name
        return True
    return isinstance(found, nw.DataFrame)


def _same_name() -> DataError:
    return DataError("The table has two columns of the same name; rename one of them.")


def _column_to_polars(column: nw.Series[Any]) -> pl.Series:
    """Convert one column; an ordered pandas categorical keeps its order (as an Enum)."""
    import narwhals as nw
    import polars as pl

    series = column.to_polars()
    if isinstance(column.dtype, nw.Enum) and isinstance(series.dtype, pl.Categorical):
        return series.cast(pl.String).cast(pl.Enum(column.dtype.categories))
    return as_days(series) if column.implementation.is_pandas() else series  # which has no dates


def as_days(column: pl.Series) -> pl.Series:
    """Return a column of datetimes as dates if all of them are midnights; any other as it is."""
    import polars as pl

    if not isinstance(column.dtype, pl.Datetime) or column.dtype.time_zone is not None:
        return column
    days = column.cast(pl.Date)
    is_same = (days.cast(column.dtype) == column).all()
    return days if is_same and days.null_count() < len(days) else column


def back_from_polars(published: pl.DataFrame, like: Any, kept: Sequence[str]) -> Any:
    """Return the published table in the type that came in; kept columns keep their data type.

    What was computed for it (a lazy frame, a relation, an expression) comes back as a table:
    polars for polars, else Arrow, which is pyarrow where that is installed.
    """
    import narwhals as nw
    import polars as pl

    if isinstance(like, nw.DataFrame | nw.LazyFrame):
        return nw.from_native(back_from_polars(published, like.to_native(), kept))
    if isinstance(like, pl.DataFrame | pl.LazyFrame):
        return published
    try:
        library = nw.from_native(like, eager_only=True).implementation
    except TypeError:
        library = nw.Implementation.UNKNOWN
    ways = {
        nw.Implementation.PANDAS: _to_pandas,
        nw.Implementation.MODIN: _to_modin,
        nw.Implementation.PYARROW: _to_arrow,
    }
    return ways.get(library, _to_some_arrow)(published, like, kept)


def _to_some_arrow(published: pl.DataFrame, like: Any, kept: Sequence[str]) -> Any:
    del like, kept
    with contextlib.suppress(ImportError):
        return published.to_arrow()
    return published


def _to_modin(published: pl.DataFrame, like: Any, kept: Sequence[str]) -> Any:
    return type(like)(_to_pandas(published, like.iloc[:0].modin.to_pandas(), kept))


def _to_pandas(published: pl.DataFrame, like: Any, kept: Sequence[str]) -> Any:
    import numpy as np
    import polars as pl

    is_arrow = all(hasattr(dtype, "pyarrow_dtype") for dtype in like.dtypes)
    frame = published.to_pandas(use_pyarrow_extension_array=is_arrow)
    for column in published.get_columns():  # floats do not hold every whole number
        if column.name in kept or is_arrow:
            continue
        if column.dtype.is_integer() and column.null_count():
            frame[column.name] = type(like)({"": column.to_list()}, dtype=str(column.dtype))[""]
        elif isinstance(column.dtype, pl.Struct) and any(
            field.dtype.is_integer() for field in column.dtype.fields
        ):
            frame[column.name] = type(like)({"": column.to_list()}, dtype=object)[""]
    for name in kept:
        dtype, cells = like[name].dtype, published.get_column(name)
        if frame[name].dtype == dtype:
            continue
        if hasattr(dtype, "__from_arrow__"):  # nullable types, which would turn into floats
            import pyarrow as pa

            frame[name] = dtype.__from_arrow__(pa.chunked_array([cells.to_arrow()]))
        elif isinstance(dtype, np.dtype) and dtype.kind == "O":
            # a Series keeps Python objects as they are; an array would be taken for text
            frame[name] = type(like[name])(cells.to_list(), dtype=object)
        elif hasattr(dtype, "categories"):
            frame[name] = _used_levels(frame[name].astype(dtype))
        else:
            frame[name] = frame[name].astype(dtype)
    return frame


def _used_levels(column: Any) -> Any:
    """Return a pandas category without the levels that nobody published has.

    Levels without an order are sorted: they may stand in the order in which the input had them.
    """
    used = column.cat.remove_unused_categories()
    if not used.cat.ordered:
        with contextlib.suppress(TypeError):  # levels of several types have no order
            used = used.cat.reorder_categories(sorted(used.cat.categories))
    return used


def _to_arrow(published: pl.DataFrame, like: Any, kept: Sequence[str]) -> Any:
    import pyarrow as pa

    table = published.to_arrow()
    for name in kept:
        wanted = like.schema.field(name).type
        place = table.schema.get_field_index(name)
        cells = table.column(place)
        if cells.type == wanted:
            continue
        if pa.types.is_dictionary(cells.type):
            cells = cells.cast(cells.type.value_type)
        table = table.set_column(place, pa.field(name, wanted), cells.cast(wanted))
    return table
