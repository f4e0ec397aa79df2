"""Hierarchies made from the values of a column: intervals, prefixes, dates, frequencies.

The values come from private data, so no message of this module shows one of them. Equal labels
count once; the leaves are ordered so that every node covers neighbours.
"""

from __future__ import annotations

import datetime as dt
from bisect import bisect_left
from decimal import Decimal, InvalidOperation
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np

from shoal.errors import HierarchyError, OptionError, did_you_mean
from shoal.hierarchy.taxonomy import Taxonomy, canonical_label, require_all
from shoal.messages import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


_ROOT = "*"
# Beyond the exponents of float64, exact arithmetic on a stray "1e999999" would not end.
_MAX_EXPONENT = 400


def interval_hierarchy(
    values: Iterable[object],
    widths: Sequence[float | Decimal] = (5, 10, 20),
    origin: float | Decimal = 0,
    *,
    decimals: bool = False,
) -> Taxonomy:
    """Group numbers into nested intervals of growing width.

    Whole numbers get closed intervals, 17 → ``[15-19]`` → ``[10-19]`` → ``[0-19]`` → ``*``;
    if a value, a width or the origin has decimals, half-open ones, ``[15.0-20.0)``. The
    arithmetic is exact in decimals: 0.3 lies in ``[0.3-0.4)`` at width 0.1.

    Args:
        values: numbers, or texts of numbers.
        widths: interval widths from narrow to wide; each divides the next.
        origin: a number at which intervals of every width begin.
        decimals: whether intervals are half-open even if every number is whole.
    """
    labels = _distinct(values)
    numbers = _decimals(labels)
    steps = [_option_number("widths", width) for width in widths]
    start = _option_number("origin", origin)
    if not steps or min(steps) <= 0:
        raise OptionError(
            "widths must be one or more numbers above 0, but {widths!r} was given.",
            widths=tuple(widths),
        )

    every = [*numbers, *steps, start]
    places = max(int(decimals), *(-_exponent(number) for number in every))
    scale = 10**places
    scaled = [_times(number, scale) for number in every]
    if not decimals and all(number % scale == 0 for number in scaled):
        scaled = [number // scale for number in scaled]
        places = 0
    zero, step_sizes = scaled.pop(), scaled[len(numbers) :]
    for narrow, wide in pairwise(step_sizes):
        if wide <= narrow or wide % narrow:
            raise OptionError(
                "Each of the widths must divide the next one, but {widths!r} was given.",
                widths=tuple(widths),
            )

    def path(label: str, number: int) -> list[str]:
        nodes = [label]
        for step in step_sizes:
            low = number - (number - zero) % step
            nodes.append(_interval(low, low + step, places))
        return [*nodes, _ROOT]

    order = sorted(zip(scaled, labels, strict=False))
    return grow([path(label, number) for number, label in order])


def prefix_hierarchy(
    values: Iterable[object], keep: Sequence[int] | int | None = None, mask: str = "*"
) -> Taxonomy:
    """Mask codes from the right: 47918 → ``4791*`` → ``479**`` → … → ``4****`` → ``*``.

    Shorter codes are filled up with the mask on the right, so that ``479`` and ``47918`` meet
    at ``479**``.

    Args:
        values: codes such as postcodes; use text where leading zeros matter.
        keep: how many leading characters the levels keep, from many to few, for example
            ``(3, 1)``; all shorter prefixes if not given.
        mask: the character that stands for a hidden one.
    """
    labels = sorted(_distinct(values))
    if len(mask) != 1 or not mask.strip():
        raise OptionError(
            "mask must be one visible character such as '*', but {mask!r} was given.", mask=mask
        )
    width = max(map(len, labels))
    if keep is None:
        kept: Sequence[int] = range(width - 1, 0, -1)
    else:
        kept = (keep,) if isinstance(keep, int) else tuple(keep)
        if any(upper >= lower for lower, upper in pairwise(kept)) or min(kept, default=1) < 1:
            raise OptionError(
                "keep must be numbers above 0 that fall, such as (3, 1), but {keep!r} was given.",
                keep=keep,
            )
        # A level that keeps the whole code masks nothing and is the leaf itself.
        kept = [count for count in kept if count < width]
    return grow(
        [[label, *(label[:count].ljust(width, mask) for count in kept), _ROOT] for label in labels],
        advice=Message(", which a mask other than {mask!r} avoids", mask=mask),
    )


_DATE_LEVELS: dict[str, Callable[[dt.datetime], str]] = {
    "day": lambda day: day.date().isoformat(),
    "month": lambda day: f"{day.year:04d}-{day.month:02d}",
    "quarter": lambda day: f"{day.year:04d}-Q{(day.month + 2) // 3}",
    "year": lambda day: f"{day.year:04d}",
    "decade": lambda day: f"{day.year // 10 * 10:04d}s",
}


def date_hierarchy(
    values: Iterable[object], levels: Sequence[str] = ("month", "year", "decade")
) -> Taxonomy:
    """Coarsen dates: 2024-05-17 → ``2024-05`` → ``2024`` → ``2020s`` → ``*``.

    Datetimes go to their day first.

    Args:
        values: dates, datetimes, or texts of either in ISO form.
        levels: some of day, month, quarter, year and decade, from fine to coarse.
    """
    labels = _distinct(values)
    names = tuple(levels)
    known = list(_DATE_LEVELS)
    for name in names:
        if name not in known:
            hint = did_you_mean(str(name), known)
            raise OptionError(
                "levels may name {known}, but {name!r} was given.{hint}",
                known=", ".join(known),
                name=name,
                hint=hint,
            )
    places = [known.index(name) for name in names]
    if any(coarse <= fine for fine, coarse in pairwise(places)):
        raise OptionError(
            "levels must go from fine to coarse ({known}), but {names!r} was given.",
            known=", ".join(known),
            names=names,
        )

    parsed = [(label, _moment(label)) for label in labels]
    moments = [(moment.isoformat(), label, moment) for label, moment in parsed if moment]
    require_all(
        len(moments),
        labels,
        Message(
            "{n} of {n2} values are no ISO dates such as 2024-05-17: convert the column to "
            "dates first."
        ),
    )
    if "day" not in names and any(len(label) > len("2024-05-17") for label in labels):
        names = ("day", *names)
    makers = [_DATE_LEVELS[name] for name in names]
    return grow(
        [[label, *(make(moment) for make in makers), _ROOT] for _, label, moment in sorted(moments)]
    )


def frequency_hierarchy(
    values: Sequence[object], counts: Sequence[int], fanout: int = 4
) -> Taxonomy:
    """Cut the values, in their given order, into parts of about equal frequency, and again.

    Every inner node has at most ``fanout`` children; frequent values end up near the root and
    rare ones deep, in company. Nodes read ``{first … last}``.

    Args:
        values: distinct values in an order in which neighbours belong together.
        counts: how often each value occurs; 0 counts as 1.
        fanout: number of parts per cut, at least 2.
    """
    labels = _distinct(values)
    if len(labels) != len(values):
        repeated = len(values) - len(labels)
        raise HierarchyError(
            "{repeated} of {n} values are repetitions: pass each value once.",
            repeated=repeated,
            n=len(values),
        )
    if len(counts) != len(labels):
        raise OptionError(
            "counts must hold one number per value, {n}, but holds {n2}.",
            n=len(labels),
            n2=len(counts),
        )
    if fanout < 2:
        raise OptionError("fanout must be at least 2, but {fanout!r} was given.", fanout=fanout)
    weights = [int(count) for count in counts]
    if min(weights) < 0:
        raise OptionError("counts must not be negative.")
    total = [0, *accumulate(max(weight, 1) for weight in weights)]

    paths: list[list[str]] = [[] for _ in labels]
    taken = {_ROOT, *labels}
    stack: list[tuple[int, int, list[str]]] = [(0, len(labels), [_ROOT])]
    while stack:
        low, high, above = stack.pop()
        for start, stop in pairwise(_equal_cuts(total, low, high, fanout)):
            if stop - start == 1:
                paths[start] = [labels[start], *above]
            else:
                name = _fresh(f"{{{labels[start]} … {labels[stop - 1]}}}", taken)
                stack.append((start, stop, [name, *above]))
    return grow(paths)


def _equal_cuts(total: Sequence[int], low: int, high: int, parts: int) -> list[int]:
    """Cut ``low .. high`` at the boundaries nearest to equal shares; no part is empty."""
    if high - low <= parts:
        return list(range(low, high + 1))
    cuts = [low]
    for part in range(1, parts):
        share = total[low] + (total[high] - total[low]) * part // parts
        cut = bisect_left(total, share, low + 1, high)
        if share - total[cut - 1] < total[cut] - share:
            cut -= 1
        cuts.append(min(max(cut, cuts[-1] + 1), high - parts + part))
    return [*cuts, high]


def _fresh(name: str, taken: set[str]) -> str:
    candidate, number = name, 2
    while candidate in taken:
        candidate, number = f"{name} ({number})", number + 1
    taken.add(candidate)
    return candidate


def grow(paths: list[list[str]], advice: str = "") -> Taxonomy:
    """Return the tree of these paths after making sure that no value is also a label above.

    Raises:
        HierarchyError: one is.
    """
    above = {label for path in paths for label in path[1:] if label != path[0]}
    clashes = sum(path[0] in above for path in paths)
    if clashes:
        raise HierarchyError(
            "{clashes} of {n} values read like a generalised value of the same "
            "hierarchy{advice}; replace them or write the hierarchy by hand.",
            clashes=clashes,
            n=len(paths),
            advice=advice,
        )
    return Taxonomy.from_paths(paths)


def _distinct(values: Iterable[object]) -> list[str]:
    labels = list(dict.fromkeys(map(canonical_label, values)))
    if not labels:
        raise HierarchyError("A hierarchy needs at least one value and was given none.")
    blank = sum(not label.strip() for label in labels)
    if blank:
        raise HierarchyError("One of the values is an empty text: make it missing (null) before.")
    return labels


def _decimals(labels: Sequence[str]) -> list[Decimal]:
    numbers = [_decimal(label) for label in labels]
    good = [number for number in numbers if number is not None]
    require_all(
        len(good),
        labels,
        Message(
            "{n} of {n2} values are no finite numbers: intervals need a numeric column; make "
            "the others missing or use another kind of hierarchy."
        ),
    )
    return good


def _decimal(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    if not number.is_finite() or abs(number.adjusted()) > _MAX_EXPONENT:
        return None
    return number


def _option_number(name: str, value: object) -> Decimal:
    number = _decimal(canonical_label(value))
    if number is None or isinstance(value, (bool, np.bool_)):
        raise OptionError(
            "{name} must be finite numbers, but {value!r} was given.", name=name, value=value
        )
    return number


def _exponent(number: Decimal) -> int:
    exponent = number.as_tuple().exponent
    return exponent if isinstance(exponent, int) else 0


def _times(number: Decimal, scale: int) -> int:
    # Not number * scale: decimal products round to the precision of the context.
    numerator, denominator = number.as_integer_ratio()
    return numerator * scale // denominator


def _interval(low: int, high: int, places: int) -> str:
    if not places:
        return f"[{low}-{high - 1}]"
    return f"[{_plain(low, places)}-{_plain(high, places)})"


def _plain(number: int, places: int) -> str:
    whole, rest = divmod(abs(number), 10**places)
    decimals = f"{rest:0{places}d}".rstrip("0") or "0"
    return f"{'-' if number < 0 else ''}{whole}.{decimals}"


def _moment(label: str) -> dt.datetime | None:
    try:
        return dt.datetime.fromisoformat(label)
    except ValueError:
        return None
