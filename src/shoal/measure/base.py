"""What a measure is: a score of a finished grouping, and for some, a cost to minimise."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from shoal.errors import OptionError
from shoal.table.closure import IntervalClosures, SetClosures, TreeClosures, close
from shoal.table.partition import Partition
from shoal.table.sensitive import Sensitive

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from shoal.table.closure import Closures
    from shoal.table.encode import Attribute, EncodedTable


# Forms of a cost table T[closure]: how one attribute charges for what it generalises to.
#
# Every cost measure is a choice of form per attribute. `cost` evaluates a form exactly (floats) on
# the closures of a partition; `shoal.search.scan` turns the same forms into integers for the
# kernels. A form has either one cost per closure or, for measures that look at the sensitive
# attribute, one per closure and sensitive value.

Floats = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, eq=False)
class TreeForm:
    """One cost per taxonomy node, "all missing" last; costs never fall towards the root."""

    node: Floats

    def cost(self, closures: Closures) -> Floats:
        """Return the cost of each closure."""
        assert isinstance(closures, TreeClosures)
        return self.node[closures.node]


@dataclass(frozen=True, eq=False)
class LinearForm:
    """position[high] − position[low] for an interval; ``full`` for everything.

    On a grid, ``upper`` is where each cell ends: upper[high] − position[low].
    """

    position: Floats
    full: float
    upper: Floats | None = None

    def cost(self, closures: Closures) -> Floats:
        """Return the cost of each closure."""
        assert isinstance(closures, IntervalClosures)
        place = np.append(self.position, 0.0)
        upper = place if self.upper is None else np.append(self.upper, 0.0)
        spread = upper[closures.high] - place[closures.low]
        return np.where(closures.everything, self.full, spread)


@dataclass(frozen=True, eq=False)
class IndicatorForm:
    """0 for a single value, ``full`` otherwise.

    On a grid, ``wide`` tells the cells (missing last) that are more than one value.
    """

    full: float
    wide: NDArray[np.bool_] | None = None

    def cost(self, closures: Closures) -> Floats:
        """Return the cost of each closure."""
        return np.where(closures.single(), 0.0, self.full)


@dataclass(frozen=True, eq=False)
class CountForm:
    """(values − 1) · unit for a set, ``full`` for everything."""

    unit: float
    full: float

    def cost(self, closures: Closures) -> Floats:
        """Return the cost of each closure."""
        assert isinstance(closures, SetClosures)
        spread = (np.diff(closures.indptr) - 1) * self.unit
        return np.where(closures.everything, self.full, spread)


@dataclass(frozen=True, eq=False)
class LogForm:
    """log2 mass(closure) − beta · log2 mass_y(closure), for intervals and sets.

    ``mass`` has one row per code (missing last) and, after the total in column 0, one column per
    sensitive value when ``beta`` > 0.
    """

    mass: NDArray[np.int64]
    beta: float

    def cost(self, closures: Closures) -> Floats:
        """Return the cost of each closure (and sensitive value)."""
        assert isinstance(closures, IntervalClosures | SetClosures)
        return log_cost(closures.sums(self.mass), self.beta)


Form = TreeForm | LinearForm | IndicatorForm | CountForm | LogForm


def log_cost(mass: NDArray[np.int64], beta: float) -> Floats:
    """Return log2 of column 0, less beta times log2 of each other column if there are any.

    A sensitive value that does not occur in a closure is never charged there: its cost is 0.
    """
    logs = np.log2(np.maximum(mass, 1).astype(np.float64))
    if mass.shape[1] == 1:
        return logs[:, 0]
    cost: Floats = np.where(mass[:, 1:] > 0, logs[:, :1] - beta * logs[:, 1:], 0.0)
    return cost


@dataclass(frozen=True, eq=False)
class Grouped:
    """A table with its groups: what every score is computed from.

    Attributes:
        table: the original rows, encoded.
        partition: their groups.
        target: the sensitive column that class-aware measures look at, if there is one.
    """

    table: EncodedTable
    partition: Partition
    target: Sensitive | None = None

    @cached_property
    def closures(self) -> tuple[Closures, ...]:
        """Closures of all groups, per attribute; the last closure is "everything"."""
        return tuple(close(attribute, self.partition) for attribute in self.table.attributes)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Rows of each group, with the number of suppressed rows last."""
        return np.append(self.partition.sizes, self.partition.n_suppressed)

    @cached_property
    def histogram(self) -> NDArray[np.int64]:
        """Rows of each group (suppressed rows last) and value of the target column."""
        target = self.require_target()
        width = target.size
        group = np.where(self.partition.labels < 0, self.partition.n_groups, self.partition.labels)
        flat = np.bincount(
            group.astype(np.int64) * width + target.codes,
            minlength=(self.partition.n_groups + 1) * width,
        )
        return flat.reshape(-1, width)

    def require_target(self) -> Sensitive:
        """Return the target column or say that one is needed."""
        if self.target is None:
            raise OptionError(
                "This measure looks at a sensitive column and none was given; "
                "name one with sensitive=[...]."
            )
        return self.target


class Measure(ABC):
    """A score of a grouping.

    Class attributes:
        name: what users type.
        title: one line for lists.
        citation: paper and equation.
        direction: whether less or more is better.
        bounds: lowest and highest possible value (None: unbounded or depends on the table).
        needs_sensitive: whether it looks at a sensitive column.
        can_minimise: whether algorithms can minimise it.
        options: names of the arguments of its constructor, which users may set.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    citation: ClassVar[str]
    direction: ClassVar[Literal["lower", "higher"]] = "lower"
    bounds: ClassVar[tuple[float | None, float | None]] = (0.0, None)
    needs_sensitive: ClassVar[bool] = False
    can_minimise: ClassVar[bool] = False
    options: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def score(self, grouped: Grouped) -> float:
        """Return the score of a grouping; suppressed rows count as fully generalised."""

    def by_column(self, grouped: Grouped) -> dict[str, float] | None:
        """Return the part of each column, or None if the measure is no sum over columns."""
        del grouped
        return None


class CostMeasure(Measure):
    """A measure that algorithms can minimise: a sum of cost tables over closures.

    cost(C) = Σ_j w_j · Σ_y h_y(C) · T_j[c_j, y], with one column y for measures that ignore the
    sensitive attribute.
    """

    can_minimise = True
    per_cell: ClassVar[bool] = True
    """Whether the score is the weighted mean per cell (otherwise the sum over all cells)."""
    of_means: ClassVar[bool] = False
    """Whether groups are judged by their means; then refinement moves rows by these, and the cost
    tables only say which groups are close to each other."""

    by_counts: ClassVar[bool] = False
    """Of measures that look at a sensitive column: whether a cost table follows from counts of the
    whole table alone (``target.joint`` where it is given), so that workers who each have some of
    the rows agree on it."""

    def check_target(self, *, any_given: bool) -> None:
        """Raise an OptionError if a sensitive column is looked at and there is none."""
        if self.needs_sensitive and not any_given:
            raise OptionError(
                "Measure {name!r} looks at a sensitive column and none was given; name one "
                "with sensitive=[...].",
                name=self.name,
            )

    @property
    def rounds(self) -> int:
        """How often groups are formed anew with weights that follow from those before."""
        return 0

    def follow(self, grouped: Grouped, number: int) -> tuple[float, NDArray[np.float64] | None]:
        """Return what a grouping is worth (more is better), and the weights of the next round.

        Only for measures with ``rounds``; without weights there is no next round.
        """
        del grouped, number
        return 0.0, None

    def follow_columns(
        self,
        lost: Sequence[float],
        target: Sensitive,
        weights: NDArray[np.float64],
        number: int,
    ) -> tuple[float, NDArray[np.float64] | None]:
        """Return the same from the score of each column alone, where groups are on many machines.

        A measure with ``rounds`` that does not say how is minimised on one machine only.

        Args:
            lost: the score of each column.
            target: the sensitive column.
            weights: weight of each column.
            number: of the round.
        """
        del lost, target, weights, number
        return 0.0, None

    @abstractmethod
    def form(self, attribute: Attribute, target: Sensitive | None, table: EncodedTable) -> Form:
        """Return the cost table of one attribute."""

    def constant(self, attribute: Attribute) -> float:
        """Return what is subtracted from the total of a column whatever the grouping is."""
        del attribute
        return 0.0

    def constant_of_part(self, attribute: Attribute) -> float:
        """Return the part of the whole table's constant that is of the rows at hand."""
        return self.constant(attribute)

    def score(self, grouped: Grouped) -> float:
        """Return the weighted mean cost per cell, or the weighted sum (see ``per_cell``)."""
        columns = np.array(list(self.by_column(grouped).values()))
        weights = grouped.table.weights
        total = float(np.sum(weights * columns))
        return total / float(np.sum(weights)) if self.per_cell else total

    def by_column(self, grouped: Grouped) -> dict[str, float]:
        """Return the mean cost per cell (or the sum) of each column, without its weight."""
        result = {}
        for attribute, closures in zip(grouped.table.attributes, grouped.closures, strict=True):
            cost = self.form(attribute, grouped.target, grouped.table).cost(closures)
            rows = grouped.sizes if cost.ndim == 1 else grouped.histogram
            # No cost is negative; the difference of two long sums may be, by a rounding error.
            total = max(float(np.sum(rows * cost)) - self.constant(attribute), 0.0)
            result[attribute.name] = total / grouped.table.n_rows if self.per_cell else total
        return result


@dataclass(frozen=True, eq=False)
class CostModel:
    """A cost measure bound to a table: the forms that a search minimises.

    Attributes:
        measure: the measure.
        forms: cost table of each attribute, before weights.
        weights: weight of each attribute.
        target: sensitive column of class-aware measures (costs per sensitive value), or None.
    """

    measure: CostMeasure
    forms: tuple[Form, ...]
    weights: NDArray[np.float64]
    target: Sensitive | None

    def take(self, rows: NDArray[np.integer[Any]]) -> CostModel:
        """Return the model for these rows; the cost tables stay those of the whole table."""
        if self.target is None:
            return self
        return replace(self, target=replace(self.target, codes=self.target.codes[rows]))

    @classmethod
    def bind(
        cls, measure: CostMeasure, table: EncodedTable, target: Sensitive | None = None
    ) -> CostModel:
        """Compute the cost tables of a measure on a table."""
        measure.check_target(any_given=target is not None)
        if not measure.needs_sensitive:
            target = None
        forms = tuple(measure.form(attribute, target, table) for attribute in table.attributes)
        return cls(measure, forms, table.weights, target)


def pick_target(table: EncodedTable, options: Mapping[str, object]) -> Sensitive | None:
    """Return the sensitive column that class-aware measures use: ``column`` or the first.

    Several names stand for the tuple of these columns: a private record of several attributes is
    one value, as Goldberger and Tassa (section 2) extend theirs.
    """
    chosen = picked_columns(table.sensitive, options)
    return joined_target(chosen) if len(chosen) > 1 else chosen[0] if chosen else None


def picked_columns(
    sensitive: Sequence[Sensitive], options: Mapping[str, object]
) -> list[Sensitive]:
    """Return the columns that the target of class-aware measures is made of; none if none is."""
    asked = options.get("column")
    if asked is None:
        return list(sensitive[:1])
    by_name = {column.name: column for column in sensitive}
    names: list[Any] = list(asked) if isinstance(asked, list | tuple) else [asked]
    for name in names:
        if name not in by_name:
            raise OptionError(
                "measure_options names column {name!r}, which is not a sensitive column.", name=name
            )
    chosen = [by_name[name] for name in dict.fromkeys(names)]
    if not chosen:
        raise OptionError("measure_options names no column at all; leave 'column' out.")
    return chosen


def joined_target(columns: Sequence[Sensitive]) -> Sensitive:
    """Return one column of the tuples of several; only tuples that occur have codes."""
    tuples = Partition.of_equal_rows([column.codes for column in reversed(columns)])
    return Sensitive(
        name=", ".join(column.name for column in columns),
        codes=tuples.labels,
        size=tuples.n_groups,
        ordered=False,
        counts=tuples.sizes,
    )
