"""From the values of a column to what its grid makes of them.

Numbers and dates become the cells between two lines (`shoal.table.grid_cells`). Ordered words
become steps: the first two, the next two, and so on. Values with a hierarchy become the nodes of a
level.
"""

from __future__ import annotations

import decimal
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import DataError, OptionError
from shoal.messages import Message, plural
from shoal.table.grid import FINEST, LARGEST, NO_GRID, WITHIN_A_DAY, Grid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from shoal.hierarchy import Taxonomy


# From the values of a column to the cells of its grid.
#
# Every value lies in exactly one cell. Cells of whole numbers and of days are closed: with a step
# of 5 they are 20 to 24 and 25 to 29. All others begin with their lower line and end just before
# their upper one, which is published as their end: with a step of 0.01 they are 23.41 to 23.42 and
# 23.42 to 23.43. Lines are computed as decimals, so none of them looks like 0.30000000000000004.

_PRECISION = 100
"""Digits of decimal numbers: more than any column has."""
_DAY = 86_400
_LAST_DAY = 2_932_896
"""The last day of the calendar, 9999-12-31; ends beyond it are the end of that day."""
_FIRST_DAY = -719_162


@dataclass(frozen=True, eq=False)
class Lines:
    """Where the cells of a column begin and end, in order.

    Attributes:
        of_value: the cell of each distinct value.
        lower: what is published as the lower end of each cell.
        upper: what is published as its upper end.
        exact: whether a cell is one value, as a step of 1 makes of a whole number.
        after: of a column with a bottom: a cell that begins there and is not it begins just after.
    """

    of_value: NDArray[np.int64]
    lower: pl.Series
    upper: pl.Series
    exact: NDArray[np.bool_]
    after: Any = None

    @property
    def closed(self) -> bool:
        """Whether cells hold their upper ends."""
        import polars as pl

        return self.lower.dtype.is_integer() or self.lower.dtype == pl.Date

    @property
    def begins_after(self) -> NDArray[np.bool_]:
        """Whether the lower end of each cell is a bottom that it does not hold."""
        if self.after is None:
            return np.zeros(len(self.lower), np.bool_)
        here: NDArray[np.bool_] = (self.lower == self.after).to_numpy()
        return here & ~self.exact


@dataclass(frozen=True, eq=False)
class Cells:
    """What a column on a grid knows beside the lower ends of its cells, by code.

    Attributes:
        upper: what is published as the upper end.
        upper_positions: where that lies on the number line.
        n_values: distinct original values in the cell.
        own_logs: mean of log2 (rows that share the original value) over the rows of the cell,
            missing last; measures of information subtract it.
        exact: whether the cell is one value.
        closed: whether cells hold their upper ends, as those of whole numbers and days do.
        begins_after: whether the lower end is a bottom that the cell does not hold.
        digits: decimals of the step and one more, for means; None for powers.
        words: of ordered words: the cell of each, from low to high.
    """

    upper: Sequence[Any]
    upper_positions: NDArray[np.float64]
    n_values: NDArray[np.int64]
    own_logs: NDArray[np.float64]
    exact: NDArray[np.bool_]
    closed: bool
    begins_after: NDArray[np.bool_]
    digits: int | None
    words: Mapping[str, int] | None = None


def find_cells(domain: pl.Series, grid: Grid, name: str) -> Lines:
    """Return the cells of the sorted distinct values of a column.

    Raises:
        OptionError: the step is too fine or too coarse for the numbers of the column.
    """
    with localcontext(prec=_PRECISION), np.errstate(over="ignore"):
        found = _find_cells(domain, grid, name)
    for ends in (found.lower, found.upper):
        if ends.dtype.is_float() and bool(ends.is_infinite().any()):
            _too_large(name)  # the next line lies beyond what the type holds
    return found


def between_ends(lines: Lines, domain: pl.Series, ends: tuple[Any, Any]) -> Lines:
    """Return the cells of a column with a top or a bottom, whose ends are cells of their own.

    Args:
        lines: the cells of what lies between the ends; the first and the last are cut there.
        domain: all distinct values, ends included where they occur.
        ends: top and bottom as values of the column; None for none.
    """
    import polars as pl

    top, bottom = ends
    unit: Any = 0
    if lines.closed:
        unit = timedelta(days=1) if lines.lower.dtype == pl.Date else 1
    elif lines.lower.dtype.is_temporal():
        unit = timedelta(0)
    lower, upper, exact = lines.lower.to_list(), lines.upper.to_list(), lines.exact.tolist()
    of_value = lines.of_value
    if lower and bottom is not None and lower[0] <= bottom:
        lower[0] = bottom + unit
    if upper and top is not None and upper[-1] >= top:
        upper[-1] = top - unit
    if lines.closed:
        exact = [low == high for low, high in zip(lower, upper, strict=True)]
    if bottom is not None and domain[0] == bottom:
        lower, upper, exact = [bottom, *lower], [bottom, *upper], [True, *exact]
        of_value = np.append(0, of_value + 1)
    if top is not None and domain[-1] == top:
        lower, upper, exact = [*lower, top], [*upper, top], [*exact, True]
        of_value = np.append(of_value, len(lower) - 1)
    low, high = (
        pl.Series(domain.name, each, dtype=of.dtype)
        for each, of in ((lower, lines.lower), (upper, lines.upper))
    )
    return Lines(of_value, low, high, np.array(exact, np.bool_), bottom)


def _find_cells(domain: pl.Series, grid: Grid, name: str) -> Lines:
    import polars as pl

    if domain.dtype.is_temporal():
        return _calendar(domain, grid.unit)
    if grid.base:
        return _powers(domain, grid.base, name)
    step = grid.step
    assert step is not None
    if domain.dtype.is_integer():
        return _whole_number_lines(domain, step, name)
    if isinstance(domain.dtype, pl.Decimal):
        return _decimal(domain, step, name)
    keys = _float_keys(domain, step, name)
    cells, of_value = np.unique(keys, return_inverse=True)
    ends = [_float_lines(cells + more, step) for more in (0, 1)]
    lower, upper = (pl.Series(domain.name, each).cast(domain.dtype) for each in ends)
    return Lines(of_value, lower, upper, np.zeros(len(cells), np.bool_))


def most_parts(dtype: Any) -> float:
    """Return how often a step may go into floats of a type: beyond, they lie too far apart."""
    import polars as pl

    return 2.0**22 if dtype == pl.Float32 else 2.0**50


def on_lines(numbers: pl.Series, step: Decimal) -> bool:
    """Return whether floats are all multiples of the step, as far as their texts tell."""
    values = numbers.to_numpy()
    keys = np.rint(values / float(step))
    return bool((_float_lines(keys.astype(np.int64), step) == values).all())


def _float_lines(keys: NDArray[np.int64], step: Decimal) -> NDArray[np.float64]:
    """Return keys · step, each as the float nearest to the decimal number."""
    _, digits, exponent = step.as_tuple()
    assert isinstance(exponent, int)
    factor = int("".join(map(str, digits)))
    largest = int(np.abs(keys).max(initial=0)) * factor
    if (
        -22 <= exponent <= 0 and largest < 2**53
    ):  # both parts are exact, so the quotient rounds once
        quotient: NDArray[np.float64] = (keys * factor) / 10.0**-exponent
        return quotient + 0.0
    return np.array([float(key * step) for key in map(Decimal, keys.tolist())]) + 0.0


def _float_keys(domain: pl.Series, step: Decimal, name: str) -> NDArray[np.int64]:
    import polars as pl

    values = domain.cast(pl.Float64).to_numpy()
    parts = values / float(step)
    most = most_parts(domain.dtype)
    if not np.isfinite(parts).all() or np.abs(parts).max(initial=0.0) >= most:
        raise OptionError(
            "The grid of column {name!r} is finer than its largest numbers can tell; choose a "
            "larger step, or 'powers of 10'.",
            name=name,
        )
    nearest = np.rint(parts).astype(np.int64)
    lines = _float_lines(nearest, step)
    narrow = domain.dtype == pl.Float32
    here = lines.astype(np.float32) == values if narrow else lines == values
    keys = np.where(here | (lines <= values), nearest, nearest - 1)
    # A quotient far from zero may be rounded past the next line.
    above = _float_lines(keys + 1, step)
    return np.where((above <= values) & ~here, keys + 1, keys).astype(np.int64)


def _whole_number_lines(domain: pl.Series, step: Decimal, name: str) -> Lines:
    import polars as pl

    if step != step.to_integral_value():
        raise OptionError(
            "The grid of column {name!r} must be a whole number, as its values are, not {step:f}.",
            name=name,
            step=step,
        )
    width = int(step)
    narrow = domain.cast(pl.Int64, strict=False)
    if narrow.null_count() or width > 2**62:
        _too_large(name)
    values = narrow.to_numpy()
    if len(values) and (int(values[0]) < width - 2**63 or int(values[-1]) > 2**63 - 1 - width):
        _too_large(name)
    cells, of_value = np.unique(values // width, return_inverse=True)
    lower = cells * width
    return _lines_of_integers(domain.name, of_value, lower, lower + (width - 1))


def _lines_of_integers(name: str, of_value: NDArray[np.int64], lower: Any, upper: Any) -> Lines:
    import polars as pl

    first, last = (pl.Series(name, each, dtype=pl.Int64) for each in (lower, upper))
    return Lines(of_value, first, last, (first == last).to_numpy())


def _too_large(name: str) -> None:
    raise OptionError(
        "The numbers of column {name!r} are too large for that grid; choose another step or "
        "make them smaller.",
        name=name,
    )


def _decimal(domain: pl.Series, step: Decimal, name: str) -> Lines:
    import polars as pl

    dtype = domain.dtype
    assert isinstance(dtype, pl.Decimal)
    unit = Decimal(1).scaleb(-dtype.scale)
    if step % unit:
        raise OptionError(
            "The grid of column {name!r} is finer than its numbers, which have {scale} "
            "decimals; choose a larger step.",
            name=name,
            scale=dtype.scale,
        )
    # Decimals are divided towards zero.
    keys = [int(value // step) - (value % step < 0) for value in domain.to_list()]
    cells, of_value = np.unique(np.array(keys, dtype=object), return_inverse=True)
    wide = pl.Decimal(38, dtype.scale)
    ends = [[(key + more) * step for key in cells.tolist()] for more in (0, 1)]
    lower, upper = (pl.Series(domain.name, each, dtype=wide) for each in ends)
    return Lines(of_value.astype(np.int64), lower, upper, np.zeros(len(cells), np.bool_))


# -- powers --------------------------------------------------------------------------------------


def _powers(domain: pl.Series, base: int, name: str) -> Lines:
    """Cut at 0 and at all powers of a number, on both sides of 0; 0 is a cell of its own.

    Cells that are not whole end just before their upper line on both sides: -10 begins a cell.
    """
    import polars as pl

    whole = domain.dtype.is_integer()
    decimal = isinstance(domain.dtype, pl.Decimal)
    floats = np.array([float(v) for v in domain.to_list()]) if decimal else None
    values = domain.cast(pl.Float64).to_numpy() if floats is None else floats
    size = np.abs(values)
    some = size > 0
    exponent = np.zeros(len(values), np.int64)
    with np.errstate(divide="ignore"):
        exponent[some] = np.floor(np.log(size[some]) / np.log(base)).astype(np.int64)
    exact = [abs(value) for value in domain.to_list()] if whole or decimal else size
    further = (values < 0) & (not whole)

    def reaches(power: NDArray[np.int64]) -> NDArray[np.bool_]:
        found, place = np.unique(power, return_inverse=True)
        lines = [_power(base, each, whole=whole, decimal=decimal) for each in found.tolist()]
        if whole or decimal:
            values_and_lines = zip(exact, place.tolist(), further.tolist(), strict=True)
            far = [
                value > lines[p] if beyond else value >= lines[p]
                for value, p, beyond in values_and_lines
            ]
            return np.array(far, dtype=bool)
        ends = np.array(lines)[place]
        return np.asarray(np.where(further, size > ends, size >= ends), np.bool_)

    exponent = np.where(some & ~reaches(exponent), exponent - 1, exponent)
    exponent = np.where(some & reaches(exponent + 1), exponent + 1, exponent)
    least = int(exponent[some].min(initial=0))
    keys = np.where(some, np.sign(values).astype(np.int64) * (exponent - least + 1), 0)
    cells, of_value = np.unique(keys, return_inverse=True)
    ends = [_power_cell(int(key), base, least, whole=whole, decimal=decimal) for key in cells]
    largest = max((abs(end) for pair in ends for end in pair), default=0)
    if largest >= 2**63 if whole else float(largest) == float("inf"):
        _too_large(name)
    if decimal and base != 10 and least < 0:
        raise OptionError(
            "The powers of {base} below 1 do not fit the decimals of column {name!r}; use "
            "'powers of 10' or a step.",
            base=base,
            name=name,
        )
    lower, upper = [low for low, _ in ends], [high for _, high in ends]
    if whole:
        return _lines_of_integers(domain.name, of_value, lower, upper)
    dtype: Any = pl.Decimal(38, domain.dtype.scale) if decimal else domain.dtype  # type: ignore[attr-defined]
    first, last = (pl.Series(domain.name, each, dtype=dtype) for each in (lower, upper))
    return Lines(of_value, first, last, np.array([key == 0 for key in cells.tolist()], bool))


def _power(base: int, exponent: int, *, whole: bool, decimal: bool) -> Any:
    if whole:
        return base**exponent if exponent >= 0 else 0
    if decimal:
        return Decimal(base) ** exponent
    try:
        return float(Fraction(base) ** exponent)  # rounded once, and to even
    except OverflowError:
        return float("inf")


def _power_cell(key: int, base: int, least: int, *, whole: bool, decimal: bool) -> tuple[Any, Any]:
    zero: Any = 0 if whole else Decimal(0) if decimal else 0.0
    if key == 0:
        return zero, zero
    low, high = (
        _power(base, abs(key) - 1 + least + more, whole=whole, decimal=decimal) for more in (0, 1)
    )
    high = high - 1 if whole else high
    return (low, high) if key > 0 else (zero - high, zero - low)


# -- the calendar --------------------------------------------------------------------------------


def per_second(dtype: Any) -> int:
    """Return how many units of a type of datetimes make a second."""
    return {"ms": 10**3, "us": 10**6, "ns": 10**9}[dtype.time_unit]


def _calendar(domain: pl.Series, unit: str) -> Lines:
    import polars as pl

    if domain.dtype == pl.Date:
        days = domain.to_physical().cast(pl.Int64).to_numpy()
        cells, of_value = np.unique(_floor_days(days, unit), return_inverse=True)
        last = np.minimum(_next_days(cells, unit) - 1, _LAST_DAY)
        first = np.maximum(cells, _FIRST_DAY)
        ends = [
            pl.Series(domain.name, each, dtype=pl.Int32).cast(pl.Date) for each in (first, last)
        ]
        return Lines(of_value, ends[0], ends[1], first == last)
    zone: str | None = domain.dtype.time_zone  # type: ignore[attr-defined]
    second = per_second(domain.dtype)
    if unit in WITHIN_A_DAY:
        width = {"second": 1, "minute": 60, "hour": 3600}[unit] * second
        moments = domain.to_physical().to_numpy()
        cells, of_value = np.unique(moments // width * width, return_inverse=True)
        return _moments(domain, of_value, cells, cells + width)
    wall = domain.dt.replace_time_zone(None) if zone else domain
    days = wall.to_physical().to_numpy() // (_DAY * second)
    cells, of_value = np.unique(_floor_days(days, unit), return_inverse=True)
    after = _next_days(cells, unit)
    if zone is None:
        return _moments(domain, of_value, cells * (_DAY * second), after * (_DAY * second))
    lower, upper = _midnights(cells, domain), _midnights(after, domain)
    return Lines(of_value, lower, upper, np.zeros(len(cells), np.bool_))


def _moments(
    domain: pl.Series,
    of_value: NDArray[np.int64],
    lower: NDArray[np.int64],
    upper: NDArray[np.int64],
) -> Lines:
    import polars as pl

    second = per_second(domain.dtype)
    end = (_LAST_DAY + 1) * _DAY * second - max(second // 10**6, 1)  # as far as Python's clock goes
    start = _FIRST_DAY * _DAY * second
    if second == 10**9:  # nanoseconds end in 2262
        start, end = -(2**63) + 1, 2**63 - 1
    ends = [
        pl.Series(domain.name, np.clip(each, start, end), dtype=pl.Int64).cast(domain.dtype)
        for each in (lower, upper)
    ]
    return Lines(of_value, ends[0], ends[1], np.zeros(len(lower), np.bool_))


def _midnights(days: NDArray[np.int64], domain: pl.Series) -> pl.Series:
    """Return when these days begin in the time zone of a column."""
    import polars as pl

    dtype = domain.dtype
    assert isinstance(dtype, pl.Datetime)
    inside = np.clip(days, _FIRST_DAY + 1, _LAST_DAY)
    wall = pl.Series(domain.name, inside * (_DAY * per_second(dtype)), dtype=pl.Int64)
    wall = wall.cast(pl.Datetime(dtype.time_unit))
    zone = str(dtype.time_zone)
    found = wall.dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null")
    # Some zones skip midnight when summer begins; the day begins an hour later then.
    later = wall.dt.offset_by("1h").dt.replace_time_zone(
        zone, ambiguous="earliest", non_existent="null"
    )
    return found.fill_null(later) if found.null_count() else found


def _floor_days(days: NDArray[Any], unit: str) -> NDArray[np.int64]:
    """Return the first day of the unit that each day (since 1970) lies in."""
    days = days.astype(np.int64)
    if unit == "day":
        return days
    if unit == "week":
        return (days + 3) // 7 * 7 - 3  # 1970-01-01 was a Thursday
    return _of_months(_to_months(days) // _MONTHS[unit] * _MONTHS[unit])


_MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120}


def _next_days(days: NDArray[np.int64], unit: str) -> NDArray[np.int64]:
    """Return the first day of the next unit, for days that begin one."""
    if unit in ("day", "week"):
        return days + (1 if unit == "day" else 7)
    return _of_months(_to_months(days) + _MONTHS[unit])


def _to_months(days: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return months since the year 0."""
    months: NDArray[np.int64] = days.astype("M8[D]").astype("M8[M]").astype(np.int64) + 1970 * 12
    return months


def _of_months(months: NDArray[np.int64]) -> NDArray[np.int64]:
    days: NDArray[np.int64] = (months - 1970 * 12).astype("M8[M]").astype("M8[D]").astype(np.int64)
    return days


@dataclass(frozen=True, eq=False)
class Level:
    """What is published of a column that stays at a level of its hierarchy, or above it.

    All values below one node of the level have one code, that of the first of them.

    Attributes:
        of_node: what is published for every node (missing last): itself, or the node of the level
            that it lies below.
        of_leaf: the code of every leaf (missing last).
        own_logs: mean of log2 (rows that share the original value) over the rows of a code,
            missing last; measures of information subtract it.
    """

    of_node: NDArray[np.int32]
    of_leaf: NDArray[np.int32]
    own_logs: NDArray[np.float64]


def level_of(tree: Taxonomy, level: int, column: str) -> NDArray[np.int32]:
    """Return what is published for every node (missing last) at a level or above it.

    Raises:
        OptionError: the tree has no such level below its root.
    """
    top = tree.tree_height - 1
    if not 1 <= level <= top:
        known = Message("no level")
        if top >= 1:
            known = plural("level 1 only", "levels 1 to {n}", top)
        raise OptionError(
            "The grid of column {column!r} is 'level {level}', but its hierarchy has {known} "
            "between its values and its root; choose another, leave the grid out, or drop the "
            "column.",
            column=column,
            level=level,
            known=known,
        )
    above = tree.generalization(level)
    nodes = np.arange(tree.n_nodes, dtype=np.int32)
    below = tree.depth > tree.tree_height - level
    raised = np.where(below, above[tree.first_leaf], nodes)
    return np.append(raised, tree.n_nodes).astype(np.int32)


def positions_of(domain: pl.Series, name: str) -> NDArray[np.float64]:
    """Return where values lie on the number line.

    Raises:
        DataError: they are text.
    """
    import polars as pl

    if domain.dtype.is_temporal():
        return domain.to_physical().cast(pl.Float64).to_numpy()
    if not domain.dtype.is_numeric():
        raise DataError(
            "Column {name!r} is text and cannot be read as numbers; convert it, or give it "
            "another kind (flat, categorical, set).",
            name=name,
        )
    if isinstance(domain.dtype, pl.Decimal):
        return np.array([float(decimal.Decimal(v)) for v in domain.to_list()])
    return domain.cast(pl.Float64).to_numpy()


# -- a grid where nobody asked for one --

_LENGTHS = {"second": 1, "minute": 60, "hour": 3600, "day": _DAY, "month": 2_629_746}
_PARTS = 100
"""A grid that was not asked for has at least so many steps between the quartiles."""


def suggest_step(values: pl.Series, *, whole: bool) -> Grid:
    """Return a power of ten for a column of numbers; see `shoal.table.schema.suggest_grid`."""
    import polars as pl

    if values.dtype.is_integer() and not whole:
        return NO_GRID
    numbers = values.cast(pl.Float64).drop_nulls().drop_nans()
    spread = _spread(numbers)
    finite = numbers.filter(numbers.is_finite())
    if not 0 < spread < float("inf"):
        return NO_GRID
    if not whole and bool((finite == finite.round(0)).all()):
        return NO_GRID
    power = Decimal(spread / _PARTS).adjusted()
    largest = float(finite.abs().max() or 0.0)  # type: ignore[arg-type]  # a float column
    if not FINEST <= power <= LARGEST or largest / 10.0**power >= most_parts(values.dtype) / 4:
        return NO_GRID
    step = Decimal(1).scaleb(power)
    return NO_GRID if on_lines(finite, step) else Grid(step=step)


def suggest_unit(values: pl.Series, *, whole: bool) -> Grid:
    """Return a unit of the calendar for dates; see `shoal.table.schema.suggest_grid`."""
    import polars as pl

    moments = values.drop_nulls()
    days = moments.dtype == pl.Date
    second = 1 if days else per_second(moments.dtype)
    seconds = moments.to_physical().cast(pl.Float64) * (_LENGTHS["day"] if days else 1 / second)
    part = _spread(seconds) / _PARTS
    fitting = [unit for unit, length in _LENGTHS.items() if length <= part]
    unit = fitting[-1] if fitting else "second"
    if days or (unit == "month" and bool((seconds % _LENGTHS["day"] == 0).all())):
        return Grid(unit=unit) if whole and unit == "month" else NO_GRID
    # Moments that lie on its lines need no grid; a month is longer than a day, so it never is.
    on_lines = unit != "month" and bool((seconds % _LENGTHS[unit] == 0).all())
    return NO_GRID if on_lines else Grid(unit=unit)


def _spread(numbers: pl.Series) -> float:
    """Return the distance of the quartiles, or of wider quantiles if they are equal."""
    for share in (0.25, 0.05, 0.0):
        low, high = numbers.quantile(share, "lower"), numbers.quantile(1 - share, "higher")
        if low is not None and high is not None and high > low:
            return float(high - low)
    return 0.0
