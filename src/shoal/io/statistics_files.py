"""Files of SPSS, Stata and SAS: labels become values, and codes for missing become missing."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError
from shoal.io.columns import BLANKS, without_markers
from shoal.io.limits import check_rows
from shoal.io.overwrite_guard import HowRead, note_read
from shoal.io.vocabulary import MISSING_WORDS
from shoal.messages import Message, plural

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from shoal.io.delimited import Dialect


_SAS = b"\xc2\xea\x81\x60\xb3\x14\x11\xcf\xbd\x92\x08\x00\x09\xc7\x31\x8c\x18\x1f\x10\x11"
_BLANKS = "".join(BLANKS) + "\0"


def read_statistics(
    data: bytes, name: str, dialect: Dialect, markers: tuple[str, ...]
) -> pl.DataFrame:
    """Read a file of a statistics program.

    A column of which every value has a label holds the labels, in the order of their codes if the
    file says that it is ordinal. In any other column numbers stay numbers. What the file declares
    as missing, and codes whose label says so (``refused``, ``keine Angabe``), are missing.

    Raises:
        DataError: the package that reads such files is not installed, or cannot read this one.
    """
    try:
        import pyreadstat
    except ImportError:
        raise DataError(
            "{name} is a file of a statistics program; to read it, install: pip install "
            "'shoal-anonymity[stats]'.",
            name=name,
        ) from None
    import polars as pl

    read = _reader_of(data, pyreadstat)
    options: dict[str, Any] = {"output_format": "polars"}
    if dialect.encoding is not None and read is not pyreadstat.read_por:
        options["encoding"] = dialect.encoding
    try:
        start, about = read(io.BytesIO(data), metadataonly=True, **options)
        check_rows(name, about.number_rows or 0, start.schema)
        frame, about = read(io.BytesIO(data), **options)
    except (
        *(pyreadstat.ReadstatError, pyreadstat.PyreadstatError, pl.exceptions.PolarsError),
        *(ValueError, OverflowError, MemoryError, LookupError),
    ):
        raise DataError(
            "{name} is not a readable {kind} file; it is damaged or in another format.",
            name=name,
            kind="SPSS, Stata or SAS",
        ) from None
    how = HowRead()
    note_read(name, how)
    labelled = 0
    columns = []
    for column in frame.get_columns():
        labels = about.variable_value_labels.get(column.name, {})
        is_ordinal = about.variable_measure.get(column.name) == "ordinal"
        is_short = about.readstat_variable_types.get(column.name) == "float"
        shown = _as_shown(column) if is_short else column
        read_column = _column(shown, labels, is_ordinal=is_ordinal)
        labelled += bool(labels) and column.dtype.is_numeric() > read_column.dtype.is_numeric()
        columns.append(read_column)
    if labelled:
        how.notes.append(
            plural(
                "In {name} the values of {n} column are its labels, not its codes.",
                "In {name} the values of {n} columns are their labels, not their codes.",
                labelled,
                name=name,
            )
        )
    if any(map(_says_missing, _texts_of(about.variable_value_labels))):
        how.notes.append(
            Message("In {name} codes whose label says that they are missing are so.", name=name)
        )
    return without_markers(pl.DataFrame(columns), markers)


def _reader_of(data: bytes, package: Any) -> Any:
    """Return what reads a file, by its first bytes."""
    start = data[:600]
    if start.startswith((b"$FL2", b"$FL3")):
        return package.read_sav
    if b"SPSS PORT FILE" in start:
        return package.read_por
    if start.startswith(b"HEADER RECORD*******"):
        return package.read_xport
    return package.read_sas7bdat if _SAS in start else package.read_dta


def _texts_of(labels: Mapping[str, Mapping[Any, str]]) -> list[str]:
    return [text for each in labels.values() for text in each.values()]


def _says_missing(label: str) -> bool:
    return label.strip(_BLANKS + ".!()<>[]").casefold() in MISSING_WORDS


def _column(column: pl.Series, labels: Mapping[Any, str], *, is_ordinal: bool) -> pl.Series:
    """Return a column with its labels as values, if it has one for every value."""
    import polars as pl

    if column.dtype == pl.Object:
        column = pl.Series(column.name, [_text(each) for each in column.to_list()], dtype=pl.String)
    if column.dtype == pl.String:
        column = column.str.strip_chars_end(_BLANKS)
        column = column.set(column == "", None)
    else:
        column = _whole(column)
    # Stata and SAS have letters for kinds of missing numbers, which are missing by now.
    kind = str if column.dtype == pl.String else (int, float)
    said = {key: text for key, text in labels.items() if isinstance(key, kind)}
    if not said or not (column.dtype.is_numeric() or column.dtype == pl.String):
        return column
    gone = [key for key, text in said.items() if _says_missing(text)]
    if gone:
        column = column.set(column.is_in(pl.Series(gone).cast(column.dtype).implode()), None)
    kept = {key: text.strip(_BLANKS) for key, text in said.items() if key not in gone}
    values = column.drop_nulls().unique()
    if not kept or not set(values.to_list()) <= kept.keys():
        return column
    texts = column.replace_strict(list(kept), list(kept.values()), return_dtype=pl.String)
    if is_ordinal and len(set(kept.values())) == len(kept):
        return texts.cast(pl.Enum([kept[key] for key in sorted(kept)]))
    return texts


def _whole(column: pl.Series) -> pl.Series:
    """Return numbers as whole ones if they are; the programs keep all of them as floats."""
    import polars as pl

    if not column.dtype.is_float():
        return column
    column = column.fill_nan(None)
    whole = column.cast(pl.Int64, strict=False)
    same = whole.cast(column.dtype) == column
    return whole if whole.null_count() == column.null_count() and same.all() else column


def _as_shown(column: pl.Series) -> pl.Series:
    """Return numbers of seven digits as their program shows them: 5.1 and not 5.099999904632568."""
    import polars as pl

    return column.cast(pl.Float32).cast(pl.String).cast(pl.Float64)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
