"""Whether published labels are as coarse as promised, from the published cells alone.

Ordered words that are published in steps, and columns that stay at a level of their hierarchy.
Shares no code with what makes cells coarser: labels are looked up in the order or the tree itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.messages import Message
from shoal.publish.grid_check import GridPromise, different_cells, plain_cell

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import polars as pl


_FORMATS = ("[{low}-{high}]", "[{low} to {high}]")
_SETS = ("{", ", ", "}")


class LabelPromise(GridPromise):
    """A promise that the cells of a column are no finer than some labels, as data.

    Attributes:
        labels: what may stand in a cell alone, or in a set.
        starts: what an interval may begin with.
        ends: what an interval may end with.
        sets: what stands before, between and behind the values of a set.
    """

    def __init__(
        self,
        name: str,
        step: str,
        formats: Sequence[str] = _FORMATS,
        suppressed: str = "*",
        *,
        labels: Iterable[str] = (),
        starts: Iterable[str] = (),
        ends: Iterable[str] = (),
        sets: Sequence[str] = _SETS,
    ) -> None:
        super().__init__(name, step, formats, suppressed)
        self.labels = frozenset(labels)
        self.starts = frozenset(starts)
        self.ends = frozenset(ends)
        before, between, after = sets
        self.sets = (before, between, after)

    @classmethod
    def of_words(
        cls,
        name: str,
        words: Sequence[str],
        step: int,
        formats: Sequence[str] = _FORMATS,
        suppressed: str = "*",
    ) -> LabelPromise:
        """Return the promise that so many neighbours of an order are published together."""
        steps = [words[start : start + step] for start in range(0, len(words), step)]
        return cls(
            name,
            str(step),
            formats,
            suppressed,
            labels=[each[0] for each in steps if len(each) == 1],
            starts=[each[0] for each in steps],
            ends=[each[-1] for each in steps],
        )

    @classmethod
    def of_level(
        cls,
        name: str,
        paths: Iterable[Sequence[str]],
        level: int,
        suppressed: str = "*",
        sets: Sequence[str] = _SETS,
    ) -> LabelPromise:
        """Return the promise that nothing below a level of a tree is published.

        Args:
            name: the column.
            paths: of each leaf, from it to the root; all of the same length.
            level: the lowest that may be published, counted from the leaves.
            suppressed: what stands for anything.
            sets: what stands before, between and behind the values of a set.
        """
        labels = {label for path in paths for label in path[level:]}
        return cls(name, f"level {level}", (), suppressed, labels=labels, sets=sets)

    def told_by(self, cells_of: pl.DataFrame) -> LabelPromise:
        """Return the promise with those labels alone that a published column shows.

        The others may be of rows that are not published, so nobody is told them.
        """
        shown: tuple[set[str], set[str], set[str]] = (set(), set(), set())
        for cell in different_cells(cells_of):
            for label, low, high in self._readings(cell):
                for known, each in zip(shown, (label, low, high), strict=True):
                    known.update(each)
        labels, starts, ends = shown
        return LabelPromise(
            self.name,
            self.step,
            self.formats,
            self.suppressed,
            labels=labels,
            starts=starts,
            ends=ends,
            sets=self.sets,
        )

    def _bounds_hold(self, low: object, high: object) -> bool:
        """Return whether bounds are as coarse as promised; a missing one tells nothing."""
        return low is None or high is None or self._value_holds((low, high))

    def _value_holds(self, cell: object) -> bool:
        """Return whether a cell is as coarse as promised."""
        return bool(self._readings(cell))

    def _prepare(self) -> None:
        """Labels are looked up, so there is no step to read."""

    def _about(self) -> str:
        if self.step.startswith("level"):
            return Message(
                "every cell of {name!r} is a label at level {level} of its hierarchy or above",
                name=self.name,
                level=self.step.removeprefix("level "),
            )
        return Message(
            "every cell of {name!r} is made of whole steps of {step} of its order",
            name=self.name,
            step=self.step,
        )

    def _readings(self, cell: object) -> list[tuple[set[str], set[str], set[str]]]:
        """Return the ways to read a cell that keep the promise: labels, lower and upper ends."""
        cell = plain_cell(cell)
        if isinstance(cell, tuple):
            low, high = (_text(end) for end in cell)
            pairs = [(low, high)]
        elif cell is None:
            return []
        else:
            text = _text(cell)
            if text in self.labels:
                return [({text}, set(), set())]
            members = self._members(text)
            if members:
                return [(members, set(), set())]
            pairs = self._ends(text)
        return [
            (set(), {low}, {high})
            for low, high in pairs
            if low in self.starts and high in self.ends
        ]

    def _members(self, text: str) -> set[str]:
        """Return the labels of a set; none if it is no set of such labels."""
        before, between, after = self.sets
        if not (text.startswith(before) and text.endswith(after)) or between not in text:
            return set()
        parts = text[len(before) : len(text) - len(after)].split(between)
        # A label may hold what stands between labels; the first part of each is at its start.
        reached: dict[int, tuple[str, ...]] = {0: ()}
        for stop in range(1, len(parts) + 1):
            for start, found in list(reached.items()):
                label = between.join(parts[start:stop])
                if label in self.labels:
                    reached.setdefault(stop, (*found, label))
        return set(reached.get(len(parts), ()))


def _text(value: object) -> str:
    from shoal.hierarchy import canonical_label

    return canonical_label(value)
