"""Any dataframe as polars, the first step of a run and of a verification; and the way back."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import narwhals as nw
    import polars as pl


def to_polars(frame: Any) -> pl.DataFrame:
    """Return any supported dataframe (pandas, polars, pyarrow) as polars, copying little.

    Raises:
        DataError: the object is no dataframe, or holds a column of mixed Python types.
    """
    import narwhals as nw
    import polars as pl

    if isinstance(frame, pl.DataFrame):
        return frame
    if isinstance(frame, pl.LazyFrame):
        return frame.collect()
    try:
        eager = nw.from_native(frame, eager_only=True)
    except nw.exceptions.DuplicateError:
        raise _same_name() from None
    except TypeError:
        raise DataError(
            "The table must be a pandas, polars or pyarrow dataframe, got {name}; read files "
            "with shoal.read_table(path) first.",
            name=type(frame).__name__,
        ) from None
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


def is_frame(table: object) -> bool:
    """Tell whether something is a dataframe that `to_polars` may know, and no column or array."""
    import narwhals as nw
    import polars as pl

    if isinstance(table, pl.LazyFrame):
        return True
    try:
        found = nw.from_native(table, eager_only=True, allow_series=True)  # type: ignore[call-overload]  # that is the test
    except TypeError:
        return False
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
    """Return the published table in the type that came in; kept columns keep their data type."""
    import narwhals as nw
    import polars as pl

    if isinstance(like, pl.DataFrame | pl.LazyFrame):
        return published
    native = nw.from_native(like, eager_only=True)
    if native.implementation.is_pandas():
        return _to_pandas(published, like, kept)
    if native.implementation.is_pyarrow():
        return _to_arrow(published, like, kept)
    return nw.from_native(published).to_dict(as_series=False)


def _to_pandas(published: pl.DataFrame, like: Any, kept: Sequence[str]) -> Any:
    import numpy as np
    import polars as pl

    frame = published.to_pandas()
    for column in published.get_columns():  # floats do not hold every whole number
        if column.name in kept:
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
