"""What an option is: how it is read and checked, its flag on the command line, where it appears.

The options themselves are the fields of `shoal.settings.request.Request`, for files of
`shoal.settings.files.Input` and `Output`, and of every privacy model. Each is written once, as a
field whose default is ``option(...)``; checks, job files, flags, ``--help``, the fields of a page
and the certificate are made from that.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cache, partial
from typing import Any, Final

from shoal.errors import OptionError, did_you_mean
from shoal.messages import Message, joined

BOTH = ("anonymize", "refine")
TABLE_COMMANDS = ("anonymize", "refine", "explain", "compare")
AFTERWARDS = ("score", "audit", "utility")
"""Commands that compare a table with its release."""
ALL_COMMANDS = (*TABLE_COMMANDS, *AFTERWARDS, "verify")

REQUIRED: Final = object()
"""The default of an option that has to be given."""

Check = Callable[[str, Any], Any]
"""Takes the name and the value of an option; returns the value to use or raises OptionError."""


@dataclass(frozen=True, kw_only=True)
class Flag:
    """How an option is written on the command line.

    Attributes:
        names: the flag and its other spellings; ``--no-…`` turns off what is on by default.
        on: the commands that have it.
        panel: its part of ``--help``.
        metavar: what stands for the value in ``--help``.
        help: one line, where it differs from the option's.
        example: what follows the flag, for the error about a pair that is none.
    """

    names: tuple[str, ...]
    on: tuple[str, ...]
    panel: str | None = None
    metavar: str | None = None
    help: str | None = None
    example: str | None = None


@dataclass(frozen=True, kw_only=True)
class Option:
    """One row of the table.

    Attributes:
        check: reads what was given; None takes it as it is.
        help: one line.
        certificate: whether the certificate of a release says it. Never what could undo the
            release (the seed), nor anything that holds values of a column.
        flag: on the command line; None if it can only be said elsewhere.
        parts: flags that say one entry of a table, by the name of the entry; of a promise, by the
            kind of promise that the flag makes of it.
        functions: the Python functions that take it.
        given: its type in the signature, where users may write more than what the run gets.
        toml: what it is in a job file, where its type does not say it.
        detail: what it is called in a ``[columns.…]`` table of a job file.
        path: whether it is the name of a file.
        start: what a page begins with, where a promise is added.
        name: filled in from the field.
        type: filled in from the field.
        default: filled in from the field.
    """

    check: Check | None = None
    help: str
    certificate: bool = False
    flag: Flag | None = None
    parts: Mapping[str, Flag] = field(default_factory=dict)
    functions: tuple[str, ...] = ()
    given: str | None = None
    toml: str | None = None
    detail: str | None = None
    path: bool = False
    start: Any = None
    name: str = ""
    type: str = ""
    default: Any = REQUIRED

    @property
    def plain_type(self) -> str:
        """Its type in a job file and on the command line: int, float, str, bool, …."""
        return self.toml or self.type.removesuffix(" | None")


@dataclass(frozen=True, kw_only=True)
class ColumnOption(Option):
    """One row of the table of what can be said about a column (`shoal.table.schema.JobColumn`).

    Its name is the key below ``[columns.…]`` in a job file; ``check`` is told the column.

    Attributes:
        option: what Python calls the mapping from columns to what is said about each.
        mapping: the type of that mapping in a signature.
        roles: of which columns it may be said, by their roles; none names all.
        as_written: whether a job keeps what was written, and not what the check makes of it.
        fits: the kinds of columns that it is for; None for any.
        card: whether the page asks it on the card of a column.
        suggest: what `shoal init` proposes for a column of a kind with these values, if anything.
        comment: what `shoal init` writes above what it proposes.
        spark: whether the engine of Spark heeds it.
    """

    option: str
    mapping: str
    roles: tuple[str, ...] = ("quasi-identifier",)
    as_written: bool = False
    fits: Callable[[Any], bool] | None = None
    card: bool = False
    suggest: Callable[[Any, Any], Any] | None = None
    comment: str = ""
    spark: bool = False

    def is_for(self, role: str | None) -> bool:
        """Return whether it may be said of a column of this role."""
        return not self.roles or role in self.roles


def detail_flag(name: str, metavar: str, example: str, *also: str) -> Flag:
    """Return the flag of something that is said about one column."""
    return Flag(
        names=(f"--{name}",),
        on=(*TABLE_COMMANDS, *AFTERWARDS, *also),
        panel="Columns",
        metavar=f"COLUMN={metavar}",
        example=example,
    )


def in_words(words: Iterable[str]) -> str:
    """Return words as a sentence lists them."""
    *first, last = words
    return Message("{first} or {last}", first=", ".join(first), last=last)


def option(
    *,
    default: Any = REQUIRED,
    hidden: bool = False,
    row: type[Option] = Option,
    **said: Any,
) -> Any:
    """Return a field of a dataclass that is a row of the table; see `Option`.

    Args:
        default: what holds unless it is given.
        hidden: whether it is neither printed nor compared: a table of people.
        row: the kind of row.
        said: the row.
    """
    missing = MISSING if default is REQUIRED else default
    metadata = {"option": row(**said)}
    return field(default=missing, metadata=metadata, compare=not hidden, repr=not hidden)


column_option = partial(option, default=None, row=ColumnOption)
"""Returns a field of `shoal.table.schema.JobColumn` that is a row of its table."""


@cache
def rows_of(table: Any) -> tuple[Option, ...]:
    """Return the options that are fields of a dataclass, in their order."""
    return tuple(
        replace(
            each.metadata["option"],
            name=each.name,
            type=each.metadata["option"].given or getattr(each.type, "__name__", str(each.type)),
            default=REQUIRED if each.default is MISSING else each.default,
        )
        for each in fields(table)
        if "option" in each.metadata
    )


def check_all(instance: Any) -> None:
    """Check every option of a dataclass, and keep what the checks return.

    Raises:
        OptionError: one is out of range.
    """
    table: Any = type(instance)
    for row in rows_of(table):
        if row.check is not None:
            checked = row.check(row.name, getattr(instance, row.name))
            object.__setattr__(instance, row.name, checked)


# -- checks --------------------------------------------------------------------------------------


def anything(name: str, value: Any) -> Any:
    """Take the value as it is: somebody further on knows what it may be."""
    del name
    return value


@dataclass(frozen=True)
class _OrNone:
    check: Check

    def __call__(self, name: str, value: Any) -> Any:
        return None if value is None else self.check(name, value)


def or_none(check: Check) -> Check:
    """Check a value that may be left out."""
    return _OrNone(check)


def whole(least: int) -> Check:
    """Check a whole number."""

    def check(name: str, value: Any) -> int:
        if _is_truth(value) or not isinstance(value, numbers.Integral) or value < least:
            raise OptionError(
                "{name} must be a whole number of at least {least}, got {value!r}.",
                name=name,
                least=least,
                value=value,
            )
        return int(value)

    return check


@dataclass(frozen=True, kw_only=True)
class Number:
    """Checks a finite number in a range; whole ones become int, which is compared exactly.

    Attributes:
        above: the number is above this.
        at_least: the number is at least this.
        below: the number is below this.
        at_most: the number is at most this; a share (of at most 1) is always a float.
        whole: whether it has to be whole.
        called: what an error calls it, where the name of the option is not enough.
    """

    above: float | None = None
    at_least: float | None = None
    below: float | None = None
    at_most: float | None = None
    whole: bool = False
    called: str = ""

    def __call__(self, name: str, value: Any) -> int | float:
        """Return the number, after a look at it."""
        number = as_number(value)
        if number is None or not self._has(number):
            raise OptionError(
                "{name} must be {range}, but {value!r} was given.",
                name=self.called or name,
                range=self.range,
                value=value,
            )
        return float(number) if 1 in (self.at_most, self.below) else number

    def _has(self, number: float) -> bool:
        return (
            (self.above is None or number > self.above)
            and (self.at_least is None or number >= self.at_least)
            and (self.below is None or number < self.below)
            and (self.at_most is None or number <= self.at_most)
            and (isinstance(number, int) or not self.whole)
        )

    @property
    def range(self) -> Message:
        """What it takes, in words: "a whole number of at least 2"."""
        ends = []
        if self.above is not None:
            ends.append(Message("above {end:g}", end=self.above))
        if self.at_least is not None:
            ends.append(Message("of at least {end:g}", end=self.at_least))
        if self.below is not None:
            ends.append(Message("below {end:g}", end=self.below))
        if self.at_most is not None:
            ends.append(Message("at most {end:g}", end=self.at_most))
        kind = Message("a whole number") if self.whole else Message("a number")
        both = (
            ends[0]
            if len(ends) == 1
            else Message("{first} and {last}", first=ends[0], last=ends[1])
        )
        return joined(" ", (kind, both))


def as_number(given: object) -> float | None:
    """Return a finite number as int where it is whole, as float otherwise; None for the rest."""
    if _is_truth(given) or not isinstance(given, numbers.Real):
        return None
    number = float(given)
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() else number


def positive(name: str, value: Any) -> float:
    """Check a number above 0."""
    if _is_truth(value) or not isinstance(value, numbers.Real) or not float(value) > 0:
        raise OptionError("{name} must be a number above 0, got {value!r}.", name=name, value=value)
    return float(value)


def factor(name: str, value: Any) -> float:
    """Check a number of at least 1."""
    if _is_truth(value) or not isinstance(value, numbers.Real) or not 1 <= float(value) <= 1000:
        raise OptionError(
            "{name} must be a number from 1 to 1000, got {value!r}.", name=name, value=value
        )
    return float(value)


def share(name: str, value: Any) -> float:
    """Check a share of the rows."""
    if _is_truth(value) or not isinstance(value, numbers.Real) or not 0 <= float(value) < 1:
        raise OptionError(
            "{name} must be a share of rows of at least 0 and below 1, got {value!r}.",
            name=name,
            value=value,
        )
    return float(value)


def truth(name: str, value: Any) -> bool:
    """Check a truth value."""
    if not _is_truth(value):
        raise OptionError("{name} must be True or False, got {value!r}.", name=name, value=value)
    return bool(value)


@dataclass(frozen=True)
class _OneOf:
    known: tuple[str, ...]

    def __call__(self, name: str, value: Any) -> str:
        if not isinstance(value, str) or value not in self.known:
            hint = did_you_mean(str(value), self.known)
            words = ", ".join(self.known)
            raise OptionError(
                "{name} must be one of {words}, got {value!r}.{hint}",
                name=name,
                words=words,
                value=value,
                hint=hint,
            )
        return str(value)


def one_of(*known: str) -> Check:
    """Check a word."""
    return _OneOf(known)


def choices_of(check: Check | None) -> tuple[str, ...]:
    """Return the words that a check takes; none if it takes others."""
    inner = check.check if isinstance(check, _OrNone) else check
    return inner.known if isinstance(inner, _OneOf) else ()


def mapping(name: str, value: Any) -> dict[str, Any]:
    """Check options of something else; None is none."""
    try:
        return {} if value is None else dict(value)
    except (TypeError, ValueError):
        raise OptionError(
            "{name} must be a mapping of option names to values.", name=name
        ) from None


def _is_truth(value: Any) -> bool:
    # numpy's truth values are no bool; importing numpy for the question would be slow.
    return isinstance(value, bool) or type(value).__name__ in {"bool_", "bool"}
