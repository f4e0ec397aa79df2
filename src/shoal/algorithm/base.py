"""What an algorithm is, and how one is made from its name and options."""

from __future__ import annotations

import dataclasses
import functools
import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from shoal import registry
from shoal.errors import OptionError, did_you_mean, refuse_unknown
from shoal.kernels.callers import door
from shoal.messages import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from shoal.search.scan import Effort, Run
    from shoal.table.encode import EncodedTable
    from shoal.table.partition import Partition


BLOCK_ROWS = 8_000
"""Rows of a block: large enough for good groups, small enough for quadratic algorithms."""


class Algorithm(ABC):
    """A way to group rows. Subclasses are frozen dataclasses whose fields are their options.

    Class attributes:
        name: what users type.
        title: one line for lists.
        citation: the paper.
        may_suppress: whether it may leave rows out on its own.
        works_in_blocks: whether a large table may be cut into blocks of similar rows.
        counts_people: whether it looks at `EncodedTable.person` and forms groups of at least k
            people by itself. Others are given at most one row of each person at a time.
        whole_rows: larger tables are cut into blocks unless the user says otherwise; infinite for
            algorithms that grow with little more than the number of rows.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    citation: ClassVar[str]
    may_suppress: ClassVar[bool] = False
    works_in_blocks: ClassVar[bool] = True
    counts_people: ClassVar[bool] = False
    whole_rows: ClassVar[float] = 100_000

    def __init_subclass__(cls, **named: Any) -> None:
        """Have every algorithm look at what it is given before kernels are."""
        super().__init_subclass__(**named)
        for name in {"partition"} & vars(cls).keys():
            setattr(cls, name, _looking(vars(cls)[name]))

    @property
    def suppresses(self) -> bool:
        """Whether it may leave rows out on its own, with the options it was given."""
        return self.may_suppress

    @property
    def seams(self) -> tuple[Effort, ...]:
        """How groups are refined across blocks; empty for the engine's own way."""
        return ()

    @property
    def afterwards(self) -> tuple[Effort, ...]:
        """How groups are refined in the end where the table was not cut: not at all."""
        return ()

    def rivals(self, table: EncodedTable, run: Run) -> list[Partition]:
        """Return other groups of a table that was not cut, if they may turn out cheaper.

        They are looked at before the last step of `afterwards`, and the cheapest go on.
        """
        del table, run
        return []

    def block_sizes(self, run: Run) -> tuple[float, int]:
        """Return above how many rows a table is cut into blocks, and the rows of a block."""
        del run
        return self.whole_rows, BLOCK_ROWS

    @property
    def for_blocks(self) -> Algorithm:
        """What runs on a block of a large table."""
        return self

    def compiles(self, run: Run) -> tuple[str, ...]:
        """Return the tasks of `shoal.algorithm.warm_up` that compile what it calls."""
        del run
        return (self.name,)

    @abstractmethod
    def partition(self, table: EncodedTable, run: Run) -> Partition:
        """Group the rows of a table; every group has at least ``run.k`` rows.

        The table has at least k rows, in an order that is already random.

        Raises:
            ValueError: the run was made for another table.
        """


def _looking(partition: Callable[..., Partition]) -> Callable[..., Partition]:
    """Return the method, which now refuses a run that was made for another table."""

    @door
    @functools.wraps(partition)
    def looking(self: Algorithm, table: EncodedTable, run: Run) -> Partition:
        run.check(table)
        return partition(self, table, run)

    return looking


def create_algorithm(name: str, options: Mapping[str, Any] | None = None) -> Algorithm:
    """Build an algorithm from its name and options.

    Raises:
        OptionError: no such algorithm or option, or an option out of range.
    """
    algorithm = registry.load("algorithms", name)
    known = [field.name for field in dataclasses.fields(algorithm)]
    missing = Message(
        "Algorithm {algorithm!r} has no option {name!r}.{hint} Its options: {allowed}."
    )
    allowed = ", ".join(known) if known else Message("none")
    refuse_unknown(options or {}, known, OptionError, missing, algorithm=name, allowed=allowed)
    created: Algorithm = algorithm(**dict(options or {}))
    return created


# Checks of the options of an algorithm, each with one wording of what is wrong.


def check_whole(algorithm: Algorithm, option: str, *, least: int = 1) -> None:
    """Refuse an option that is not a whole number of at least ``least``."""
    value = getattr(algorithm, option)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise _wrong(algorithm, option, Message("a whole number of at least {n}", n=least))


def check_number(algorithm: Algorithm, option: str, low: float, high: float = math.inf) -> None:
    """Refuse an option that is neither None nor a finite number from ``low`` to ``high``."""
    value = getattr(algorithm, option)
    if value is None:
        return
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or not low <= value <= high:
        wanted = Message("a number of at least {low:g}", low=low)
        if math.isfinite(high):
            wanted = Message("a number from {low:g} to {high:g}", low=low, high=high)
        raise _wrong(algorithm, option, wanted)


def check_choice(algorithm: Algorithm, option: str, known: Sequence[str]) -> None:
    """Refuse an option that is not one of some words."""
    value = getattr(algorithm, option)
    if value not in known:
        hint = did_you_mean(str(value), known)
        raise _wrong(algorithm, option, Message("one of {names}", names=", ".join(known)), hint)


def check_flag(algorithm: Algorithm, option: str) -> None:
    """Refuse an option that is neither true nor false."""
    if not isinstance(getattr(algorithm, option), bool):
        raise _wrong(algorithm, option, Message("true or false"))


def _wrong(algorithm: Algorithm, option: str, wanted: str, hint: str = "") -> OptionError:
    value = getattr(algorithm, option)
    return OptionError(
        "{option} of {name!r} must be {wanted}, got {value!r}.{hint}",
        option=option,
        name=algorithm.name,
        wanted=wanted,
        value=value,
        hint=hint,
    )
