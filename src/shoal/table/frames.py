"""Any dataframe as polars: the first step of a run, and of a verification."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl

__all__ = ["DisposableTable", "to_polars"]


@dataclass(frozen=True, eq=False)
class DisposableTable:
    """A table that nobody but the run needs, as one that was just read from a file.

    Its quasi-identifiers are forgotten once they are encoded, its text may be codes (see
    `shoal.coded`), and so may the published text.

    Attributes:
        frame: the columns that are needed.
        columns: names of all columns of the table, those that were not read included.
    """

    frame: pl.DataFrame
    columns: tuple[str, ...]


def to_polars(frame: Any) -> pl.DataFrame:
    """Return any supported dataframe (pandas, polars, pyarrow) as polars, copying little.

    Raises:
        DataError: the object is no dataframe, or holds a column of mixed Python types.
    """
    import narwhals as nw
    import polars as pl

    frame = frame.frame if isinstance(frame, DisposableTable) else frame
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
            f"The table must be a pandas, polars or pyarrow dataframe, got "
            f"{type(frame).__name__}; read files with shoal.read_table(path) first."
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
                f"Column {name!r} cannot be read without pyarrow; "
                "install it with: pip install 'shoal[pyarrow]'"
            ) from None
        except Exception:  # noqa: BLE001 - each backend has its own errors for mixed types
            raise DataError(
                f"Column {name!r} holds values of mixed types; "
                "convert it to one type (text, numbers or dates) first."
            ) from None
    return pl.DataFrame(columns)


def _same_name() -> DataError:
    return DataError("The table has two columns of the same name; rename one of them.")


def _column_to_polars(column: nw.Series[Any]) -> pl.Series:
    """Convert one column; an ordered pandas categorical keeps its order (as an Enum)."""
    import narwhals as nw
    import polars as pl

    series = column.to_polars()
    if isinstance(column.dtype, nw.Enum) and isinstance(series.dtype, pl.Categorical):
        return series.cast(pl.String).cast(pl.Enum(column.dtype.categories))
    return series
