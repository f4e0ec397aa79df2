"""A release as numbers, and what is said about a table and its release."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Required, TypedDict, Unpack, cast

import narwhals as nw
import numpy as np

from shoal.errors import DataError, OptionError, RoleError, refuse_unknown
from shoal.messages import Message
from shoal.options import whole
from shoal.publish.recode import Style
from shoal.release_reader.columns import KINDS, open_column
from shoal.table.frames import back_from_polars, is_frame, to_polars
from shoal.table.infer import schema_of_used

if TYPE_CHECKING:
    import os

    import polars as pl
    from numpy.typing import NDArray

    from shoal.hierarchy import Taxonomy
    from shoal.release_reader.columns import OpenColumn
    from shoal.settings.job import Job
    from shoal.settings.request import HierarchyLike
    from shoal.table.schema import Kind, Schema


_COPY = "copy"


def read_release(
    source: Any,
    *,
    draw: bool = False,
    seed: int = 0,
    copies: int = 1,
    columns: str | Iterable[str] | None = None,
    hierarchies: Mapping[str, HierarchyLike] | None = None,
    orders: Mapping[str, Sequence[Any]] | None = None,
    kinds: Mapping[str, str] | None = None,
    style: Style | Mapping[str, Any] | None = None,
    job: str | os.PathLike[str] | None = None,
    **reading: Any,
) -> Any:
    """Read a published table as numbers, whatever its file format and its style.

    A column of intervals (numbers, dates, ordered values) becomes ``age_low``, ``age_high`` and
    ``age_mid``. A column of sets, or of labels whose hierarchy is given, keeps its cells and gets
    ``job_values``, the list of values that each stands for. A cell that stands for anything has
    no ends and no list. Columns without generalised cells stay as they are.

    With ``draw=True`` every generalised cell is replaced by one of the values it stands for, each
    as likely as the others, under the column's own name: whole numbers and days where the ends
    are such. A cell that stands for anything is drawn from all that the column publishes. With
    ``copies=5`` all rows come five times, each time with draws of their own, and the column
    ``copy`` says which: fit a model on each copy and combine them (multiple imputation).

    Args:
        source: a dataframe (the result has its type), or what `shoal.read_table` reads.
        draw: whether to draw values instead of giving ends.
        seed: makes the draws repeatable.
        copies: how many draws of every row.
        columns: the columns to open; unless given all that look generalised.
        hierarchies: what labels stand for, as for `shoal.anonymize`.
        orders: values of ordinal columns, from low to high.
        kinds: how a column was generalised, where its cells do not say it.
        style: how generalised cells are written; the usual way unless given.
        job: the job file of the release: says columns, hierarchies, orders, kinds and style.
        reading: further options of `shoal.read_table`.

    Raises:
        OptionError: an option is wrong, or a column does not exist.
        RoleError: a new column would have the name of another one.
        DataError: the table cannot be read.
    """
    _check(seed, copies, draw=draw)
    from_job = _from_job(job)
    trees = {**from_job["hierarchies"], **(hierarchies or {})}
    order_of = {**from_job["orders"], **(orders or {})}
    kind_of = {
        **from_job["kinds"],
        **{name: _kind(name, kind) for name, kind in (kinds or {}).items()},
    }
    form = style if style is not None else from_job["style"]
    if not isinstance(form, Style):
        form = Style.from_dict(form)
    like, table = _load(source, reading)
    if columns is not None:
        names: list[str] | None = [columns] if isinstance(columns, str) else list(columns)
    else:
        names = from_job["columns"]
    opened = _open_all(table, names, trees, order_of, kind_of, form)
    if draw:
        result = _drawn(table, opened, np.random.default_rng(seed), copies)
    else:
        result = _spread(table, opened)
    kept = [
        name
        for name in result.columns
        if name in table.columns
        and result.schema[name] == table.schema[name]
        and not any(name in each for each, _ in opened)
        and copies == 1
    ]
    return result if like is None else back_from_polars(result, like, kept)


def _check(seed: object, copies: object, *, draw: bool) -> None:
    whole(0)("seed", seed)
    whole(1)("copies", copies)
    if copies != 1 and not draw:
        raise OptionError("copies are several draws of every row; say draw=True, too.")


def _kind(name: str, given: object) -> str:
    if given not in KINDS:
        raise OptionError(
            "The kind of {name!r} must be one of {kinds}, but {given!r} was given.",
            name=name,
            kinds=", ".join(KINDS),
            given=given,
        )
    return str(given)


def _from_job(path: str | os.PathLike[str] | None) -> dict[str, Any]:
    """Return what a job file says about the columns of its release."""
    if path is None:
        return {"hierarchies": {}, "orders": {}, "kinds": {}, "style": {}, "columns": None}
    from shoal.settings.job_file import read_job

    job = read_job(Path(path))
    options = job.schema_options()
    numeric = {name: str(kind) for name, kind in options["kinds"].items()}
    return {
        "hierarchies": options["hierarchies"] or {},
        "orders": options["orders"] or {},
        "kinds": numeric,
        "style": job.style or {},
        "columns": list(options["quasi_identifiers"]),
    }


def _load(source: Any, reading: dict[str, Any]) -> tuple[Any, pl.DataFrame]:
    if is_frame(source):
        if reading:
            raise OptionError(
                "{reading!r} says how a file is read, and a frame is given.",
                reading=next(iter(reading)),
            )
        return source, to_polars(source)
    from shoal.io.read import read_table

    try:
        return None, read_table(source, **reading)
    except TypeError as error:
        if "unexpected keyword" not in str(error):
            raise
        unknown = next(iter(reading), "")
        raise OptionError("read_release has no option {unknown!r}.", unknown=unknown) from None


Opened = list[tuple[tuple[str, ...], "OpenColumn"]]


def _open_all(
    table: pl.DataFrame,
    names: list[str] | None,
    trees: Mapping[str, Any],
    orders: Mapping[str, Sequence[Any]],
    kinds: Mapping[str, str],
    style: Style,
) -> Opened:
    """Open the columns that are named, or all that look generalised, in the table's order."""
    from shoal.release_reader.columns import source_names

    wanted = _candidates(table) if names is None else names
    opened: Opened = []
    for name in wanted:
        from_columns = source_names(name, table.columns)
        cells = [table.get_column(each) for each in from_columns]
        column = open_column(
            name,
            cells,
            style=style,
            kind=None if name in trees else kinds.get(name),
            order=orders.get(name),
            taxonomy=_tree(trees.get(name)),
        )
        split = len(from_columns) > 1 or cells[0].dtype.is_nested()
        asked = column.line != "label" and (names is not None or name in kinds)
        if column.generalised or split or asked:
            opened.append((from_columns, column))
    place = {name: number for number, name in enumerate(table.columns)}
    return sorted(opened, key=lambda each: place[each[0][0]])


def _candidates(table: pl.DataFrame) -> list[str]:
    """Return the columns that may hold generalised cells: texts, structs and pairs of bounds."""
    import polars as pl

    texts = (pl.String, pl.Categorical, pl.Enum, pl.Struct)
    found = []
    for name in table.columns:
        base = name.removesuffix("_low")
        bounds = base != name and f"{base}_high" in table.columns and base not in table.columns
        if bounds and table.schema[name] == table.schema[f"{base}_high"]:
            found.append(base)
        elif isinstance(table.schema[name], texts):
            found.append(name)
    return found


def _tree(given: Any) -> Taxonomy | None:
    """Return the hierarchy of a column; None for a rule, whose labels say what they cover."""
    from shoal.hierarchy.rules import HierarchyRule
    from shoal.hierarchy.taxonomy import load_hierarchy

    is_rule = isinstance(given, HierarchyRule) or (isinstance(given, Mapping) and "rule" in given)
    return None if given is None or is_rule else load_hierarchy(given)


def _spread(table: pl.DataFrame, opened: Opened) -> pl.DataFrame:
    """Return the table with ends and middles, or lists of values, beside its other columns."""
    import polars as pl

    instead = {names[0]: (names, column) for names, column in opened}
    gone = {name for names, _ in opened for name in names}
    result: list[pl.Series] = []
    for name in table.columns:
        if name not in instead:
            if name not in gone:
                result.append(table.get_column(name))
            continue
        column = instead[name][1]
        if column.line == "label":
            lists = pl.Series(
                [list(each) or None for each in column.members], dtype=pl.List(pl.String)
            )
            result += [
                table.get_column(name),
                _gather(lists, column).alias(f"{column.name}_values"),
            ]
            continue
        result += [
            _gather(_native(column, places), column).alias(f"{column.name}_{end}")
            for end, places in (("low", column.low), ("high", column.high))
        ]
        result.append(_gather(_middle(column), column).alias(f"{column.name}_mid"))
    return _frame(result)


def _gather(cells: pl.Series, column: OpenColumn) -> pl.Series:
    import polars as pl

    return cells.gather(pl.Series(column.codes, dtype=pl.UInt32))


def _native(column: OpenColumn, places: NDArray[np.float64]) -> pl.Series:
    """Return places on a line as the values that lie there."""
    import polars as pl

    known = np.isfinite(places)
    whole = np.where(known, places, 0)
    if column.line == "ordinal":
        labels = pl.Series(list(column.order), dtype=pl.String)
        values = labels.gather(pl.Series(np.round(whole).astype(np.int64), dtype=pl.UInt32))
    elif column.line == "date":
        values = pl.Series(np.round(whole).astype(np.int32)).cast(pl.Date)
    elif column.line == "datetime":
        values = pl.Series(np.round(whole).astype(np.int64)).cast(pl.Datetime("us"))
        if column.zone is not None:
            values = values.dt.replace_time_zone("UTC").dt.convert_time_zone(column.zone)
    elif column.whole and (np.abs(whole) < 2.0**53).all():
        values = pl.Series(whole.astype(np.int64))
    else:
        values = pl.Series(whole)
    return values.set(pl.Series(~known), None)


def _middle(column: OpenColumn) -> pl.Series:
    """Return the middle of each cell; of ordered values the lower of two."""
    import polars as pl

    with np.errstate(invalid="ignore"):
        middle = (column.low + column.high) / 2
    middle[~np.isfinite(middle)] = np.nan
    if column.line == "number":
        return pl.Series(middle).fill_nan(None)
    return _native(column, np.floor(middle))


def _drawn(
    table: pl.DataFrame, opened: Opened, chance: np.random.Generator, copies: int
) -> pl.DataFrame:
    """Return the table with a drawn value in place of every generalised cell."""
    import polars as pl

    if copies > 1 and _COPY in table.columns:
        raise RoleError("The release has a column {copy!r} already; rename it first.", copy=_COPY)
    instead = {names[0]: column for names, column in opened}
    gone = {name for names, _ in opened for name in names}
    parts = []
    for number in range(1, copies + 1):
        result = [pl.Series(_COPY, np.full(table.height, number))] if copies > 1 else []
        for name in table.columns:
            if name in instead:
                result.append(draw_cells(instead[name], chance))
            elif name not in gone:
                result.append(table.get_column(name))
        parts.append(_frame(result))
    return pl.concat(parts)


def draw_cells(column: OpenColumn, chance: np.random.Generator) -> pl.Series:
    """Return one of the values that each row's cell stands for, each as likely as the others."""
    import polars as pl

    codes = column.codes
    if column.line != "label":
        return _native(column, _places(column, chance)).alias(column.name)
    known = sorted({each for members in column.members for each in members})
    place = {value: number for number, value in enumerate(known)}
    lists = [list(each) for each in column.members]
    for cell in np.flatnonzero(column.everything).tolist():
        lists[cell] = lists[cell] or known
    sizes = np.array([len(each) for each in lists], np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    flat = np.array([place[value] for each in lists for value in each], np.int64)
    size = sizes[codes]
    picked = starts[codes] + np.floor(chance.random(len(codes)) * size).astype(np.int64)
    has = size > 0
    values = np.zeros(len(codes), np.int64)
    values[has] = flat[picked[has]]
    texts = pl.Series(known or [""], dtype=pl.String)
    drawn = texts.gather(pl.Series(values, dtype=pl.UInt32)).set(pl.Series(~has), None)
    return drawn.alias(column.name)


def _places(column: OpenColumn, chance: np.random.Generator) -> NDArray[np.float64]:
    """Return a place inside the cell of each row; NaN where it is missing."""
    low, high = column.low.copy(), column.high.copy()
    if column.line == "ordinal":
        least, most = 0.0, float(len(column.order) - 1)
    else:
        ends = np.concatenate([low[np.isfinite(low)], high[np.isfinite(high)]])
        least, most = (float(ends.min()), float(ends.max())) if len(ends) else (np.nan, np.nan)
    low[column.everything | np.isneginf(low)] = least
    high[column.everything | np.isposinf(high)] = most
    first: NDArray[np.float64] = low[column.codes]
    last: NDArray[np.float64] = np.maximum(high, low)[column.codes]
    share = chance.random(len(first))
    if not column.whole:
        return first + share * (last - first)
    first = first + column.open_low[column.codes]
    last = np.maximum(last - column.open_high[column.codes], first)
    placed: NDArray[np.float64] = first + np.floor(share * (last - first + 1))
    return placed


def _frame(columns: list[pl.Series]) -> pl.DataFrame:
    import polars as pl

    names = [each.name for each in columns]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise RoleError(
            "A column {twice!r} would be made, but the release has one already; rename it first.",
            twice=twice,
        )
    if not names:
        raise DataError("The release has no columns.")
    return pl.DataFrame(columns)


# -- What is said about a table and its release by whoever attacks it or works with it -------------
#
# `shoal.audit` and `shoal.utility` take these options, and so do their commands; they are said here
# and nowhere else.


class Described(TypedDict, total=False):
    """How a release was made, as far as its cells do not tell.

    Attributes:
        quasi_identifiers: the columns that were generalised, which attackers know.
        sensitive: columns that were published as they are, which attackers want to know.
        hierarchies: what labels stand for, as for `shoal.anonymize`.
        kinds: how a column was generalised, where its type does not say it.
        orders: values of ordinal columns, from low to high.
        grid: lines that intervals end on, as for `shoal.anonymize`.
        top: from where on no more was published, as for `shoal.anonymize`.
        bottom: down from where no more was published.
        dates: what happened to dates of a person, as for `shoal.anonymize`.
        person: the column of the original that says whose row it is.
        person_key: the key under which dates were moved, if it was kept.
        default_grid: whether columns may have a grid that nobody asked for; true unless given.
        unknown_values: what happened to values that a hierarchy does not list; ``error`` unless
            given.
        style: how generalised cells are written; the usual way unless given.
        knows: how many of the quasi-identifiers the attacker knows who is meant; all unless given.
        combinations: those of them that this attacker may know together.
    """

    quasi_identifiers: Required[str | Iterable[str]]
    sensitive: str | Iterable[str]
    hierarchies: Mapping[str, HierarchyLike] | None
    kinds: Mapping[str, Kind | str] | None
    orders: Mapping[str, Sequence[Any]] | None
    grid: Mapping[str, Any] | str | None
    top: Mapping[str, Any] | None
    bottom: Mapping[str, Any] | None
    dates: Mapping[str, str] | None
    person: str | None
    person_key: str | os.PathLike[str] | None
    default_grid: bool
    unknown_values: str
    style: Style | Mapping[str, Any] | None
    knows: int | None
    combinations: Iterable[Iterable[str]]


def schema_and_style(
    original: pl.DataFrame, **described: Unpack[Described]
) -> tuple[Schema, Style]:
    """Return what the columns of the original are, and how the cells of its release are written.

    Raises:
        OptionError: there is no such option, or the quasi-identifiers are not given.
        RoleError: a column does not exist.
    """
    missing = Message("There is no option {name!r}.{hint}")
    refuse_unknown(described, Described.__annotations__, OptionError, missing)
    if "quasi_identifiers" not in described:
        raise OptionError("Say which columns were generalised, with quasi_identifiers=[...].")
    style = described.get("style")
    beside = ("style", "person_key", "knows", "combinations")
    options: dict[str, Any] = {name: said for name, said in described.items() if name not in beside}
    schema = schema_of_used(nw.from_native(original, eager_only=True), **options)
    return schema, style if isinstance(style, Style) else Style.from_dict(style or {})


def described_by(job: Job) -> Described:
    """Return what a job says about the release that it made."""
    columns = job.schema_options()
    said: dict[str, Any] = {
        "default_grid": job.default_grid is not False,
        "unknown_values": job.unknown_values or "error",
        "style": job.style,
        "person_key": job.person_key,
        "knows": job.knows,
        "combinations": job.combinations or (),
    }
    said |= {name: columns[name] for name in Described.__annotations__ if name in columns}
    return cast("Described", said)
