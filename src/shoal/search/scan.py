"""From an encoded table and a cost model to the integer columns that kernels read.

Costs become integers once, here. Where the costs of all attributes have a small common
denominator (ranges, heights, counts usually have) the integers are exact; otherwise they are fixed
point with a relative error below 1e-6 of a full cell. All costs have one type, so that every kernel
is compiled once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import OptionError
from shoal.kernels.callers import check_caller, door
from shoal.kernels.scan import cost_with_each
from shoal.kernels.space import (
    COST,
    MIXED8,
    MIXED16,
    Annealing,
    ClosedGroups,
    Columns,
    Query,
    Records,
    Scratch,
    Space,
)
from shoal.measure.base import (
    CountForm,
    IndicatorForm,
    LinearForm,
    LogForm,
    TreeForm,
    log_cost,
)
from shoal.runtime.progress import no_progress

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from shoal.kernels.mdav import Points
    from shoal.measure.base import CostModel, Form
    from shoal.privacy import PrivacyModel
    from shoal.table.encode import Attribute, EncodedTable
    from shoal.table.partition import Partition


LARGEST_COST = 1 << 30
MAX_DENOMINATOR = 100_000
MAX_SET_VALUES = 1024


@dataclass(frozen=True, eq=False)
class Scanner:
    """Everything a search needs: rows as columns, what they mean and cost.

    Attributes:
        space: meaning and integer cost of the columns.
        rows: closures of the single rows.
        n_rows: number of rows.
        scale: integer cost of one unit of weighted measure.
        n_classes: number of sensitive values the costs depend on (1 if they do not).
        classes: sensitive value of each row (zeros if costs do not depend on it).
        points: rows as points, for measures of means only.
        group_price: what a group costs beside its rows, where their number is limited.
    """

    space: Space
    rows: Columns
    n_rows: int
    scale: float
    n_classes: int
    classes: NDArray[np.int32]
    points: Points | None = None
    group_price: int = 0

    def __post_init__(self) -> None:
        """Refuse columns that somebody else has put together."""
        check_caller("Scanner")

    @classmethod
    @door
    def build(cls, table: EncodedTable, model: CostModel) -> Scanner:
        """Turn a table and a cost model into integer columns.

        Raises:
            ValueError: a code of the table is none of its column's.
        """
        table.check()
        return _Builder(table, model).build()

    @property
    def records(self) -> Records:
        """All rows as kernels take them."""
        return Records(self.space, self.rows, self.classes)

    @door
    def costs_with(self, members: Sequence[int]) -> NDArray[np.int64]:
        """Return what one group of these rows and row i would cost, for every row i.

        In units of ``1 / scale``; a row that is a member already would count twice. For algorithms
        in Python: one scan of all rows, about as fast as those that kernels make.
        """
        found, spare = np.empty(self.n_rows, np.int64), self.costs()
        hist = np.zeros(self.n_classes, np.int64)
        rows = np.asarray(members)
        if (
            rows.ndim != 1
            or rows.dtype.kind not in "iu"
            or not len(rows)
            or not 0 <= int(rows.min()) <= int(rows.max()) < self.n_rows
        ):
            msg = f"members must be row numbers from 0 to {self.n_rows - 1}, at least one"
            raise ValueError(msg)
        rows = rows.astype(np.int64)
        cost_with_each(self.records, rows, self.query(), hist, spare, found)
        return found

    def groups(self, n_groups: int) -> Columns:
        """Return uninitialised columns for the closures of n_groups groups."""
        low = np.empty((self.rows.low.shape[0], n_groups), COST)
        clow = np.empty((self.rows.clow.shape[0], n_groups), np.int32)
        return Columns(
            np.empty((self.rows.lev8.shape[0], n_groups), np.uint8),
            np.empty((self.rows.lev16.shape[0], n_groups), np.uint16),
            np.empty((self.rows.lev32.shape[0], n_groups), np.uint32),
            low,
            np.empty_like(low),
            clow,
            np.empty_like(clow),
            np.empty((self.rows.bits.shape[0], n_groups), np.uint64),
        )

    def closed(self, n_groups: int) -> ClosedGroups:
        """Return groups whose closures are yet to be computed, all of them without rows."""
        return ClosedGroups(
            self.groups(n_groups),
            np.zeros((self.n_classes, n_groups), np.int64),
            np.zeros(n_groups, np.int64),
            np.zeros(n_groups, np.int64),
        )

    def scratch(self, n_groups: int, n_values: int = 0) -> Scratch:
        """Return what is needed to compare a row or group with n_groups groups.

        ``n_values`` counts the sensitive values that privacy models look at.
        """
        return Scratch(
            self.query(),
            np.empty(n_groups, COST),
            np.empty(n_groups, np.int64),
            np.zeros(n_values, np.int64),
            Annealing(np.zeros(1), np.ones(1, np.uint64)),
        )

    def query(self) -> Query:
        """Return an uninitialised query."""
        c = self.n_classes
        a, b, d = (x.shape[0] for x in (self.rows.lev8, self.rows.lev16, self.rows.lev32))
        return Query(
            np.zeros(a, np.uint8),
            np.zeros((c, a), COST),
            np.zeros(b, np.uint16),
            np.zeros((c, b), COST),
            np.zeros(d, np.uint32),
            np.zeros((c, d), COST),
            np.zeros(c, COST),
            np.zeros(self.rows.low.shape[0], COST),
            np.zeros(self.rows.low.shape[0], COST),
            np.zeros(self.rows.clow.shape[0], np.int32),
            np.zeros(self.rows.clow.shape[0], np.int32),
            np.zeros(self.rows.bits.shape[0], np.uint64),
            np.zeros((self.space.set_mass.shape[0], len(self.space.set_size)), np.int64),
        )

    @door
    def take(self, rows: NDArray[np.integer[Any]]) -> Scanner:
        """Return the scanner of these rows, in this order."""
        points = self.points
        if points is not None:
            from shoal.search.points import take_points

            points = take_points(points, rows)
        return Scanner(
            self.space,
            take_columns(self.rows, rows),
            len(rows),
            self.scale,
            self.n_classes,
            self.classes[rows],
            points,
            self.group_price,
        )

    def priced(self, price: int) -> Scanner:
        """Return the scanner for which every group costs so much beside its rows."""
        parts = {each.name: getattr(self, each.name) for each in fields(self)}
        return Scanner(**parts | {"group_price": price})

    def costs(self) -> NDArray[Any]:
        """Return an array for one cost per row."""
        return np.empty(self.n_rows, COST)


def take_columns(columns: Columns, rows: NDArray[np.integer[Any]]) -> Columns:
    """Return the columns of these rows; columns shared by low and high stay shared."""
    low = np.ascontiguousarray(columns.low[:, rows])
    clow = np.ascontiguousarray(columns.clow[:, rows])
    return Columns(
        np.ascontiguousarray(columns.lev8[:, rows]),
        np.ascontiguousarray(columns.lev16[:, rows]),
        np.ascontiguousarray(columns.lev32[:, rows]),
        low,
        low if columns.high is columns.low else np.ascontiguousarray(columns.high[:, rows]),
        clow,
        clow if columns.chigh is columns.clow else np.ascontiguousarray(columns.chigh[:, rows]),
        np.ascontiguousarray(columns.bits[:, rows]),
    )


def take_groups(groups: ClosedGroups, chosen: NDArray[np.integer[Any]]) -> ClosedGroups:
    """Return these groups, in this order."""
    return ClosedGroups(
        take_columns(groups.columns, chosen),
        np.ascontiguousarray(groups.hists[:, chosen]),
        groups.costs[chosen],
        groups.sizes[chosen],
    )


class _Builder:
    """Collects columns and tables attribute by attribute."""

    def __init__(self, table: EncodedTable, model: CostModel) -> None:
        self.table = table
        self.model = model
        self.n_classes = 1 if model.target is None else model.target.size
        self.levels: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
        self.width: list[int] = []
        self.row: list[int] = []
        self.cost_start: list[int] = []
        self.level_cost: list[Any] = []
        self.n_codes = 0
        self.tree_first = [0]
        self.root_cost: list[Any] = []
        self.linear: list[Any] = []
        self.upper: list[Any] = []
        self.full: list[int] = []
        self.log_codes: list[Any] = []
        self.prefix: list[Any] = []
        self.prefix_start = [0]
        self.log_weight: list[float] = []
        self.bits: list[Any] = []
        self.sets: list[tuple[int, Any, bool, float, Any]] = []
        self.log_weights: list[float] = []
        self.beta = 0.0

    def build(self) -> Scanner:
        pairs = list(zip(self.table.attributes, self.model.forms, strict=True))
        costs = [w * _entries(f) for w, (_, f) in zip(self.model.weights, pairs, strict=True)]
        has_logs = self.n_classes > 1 or any(isinstance(f, LogForm) for f in self.model.forms)
        self.scale = _choose_scale(costs, self._reach(pairs), has_logs=has_logs)
        for weight, (attribute, form) in zip(self.model.weights, pairs, strict=True):
            self._add(attribute, form, float(weight) * self.scale)
        return self._finish()

    def _reach(self, pairs: Sequence[tuple[Attribute, Form]]) -> float:
        """Return the largest position of a linear column: twice full where values are missing."""
        reach = [
            float(w) * form.full * 2
            for w, (attribute, form) in zip(self.model.weights, pairs, strict=True)
            if isinstance(form, LinearForm) and attribute.has_missing
        ]
        return max(reach, default=0.0)

    def _add(self, attribute: Attribute, form: Form, factor: float) -> None:
        if isinstance(form, TreeForm):
            self._add_tree(attribute, form, factor)
        elif isinstance(form, IndicatorForm):
            cost = np.zeros((self.n_classes, attribute.size + 1), np.int64)
            if form.wide is not None:
                cost[:, form.wide] = round(form.full * factor)
            root = np.full(self.n_classes, round(form.full * factor), np.int64)
            self._add_levels([(attribute.codes, cost)], root)
        elif isinstance(form, LinearForm):
            full = round(form.full * factor)
            ends = [form.position, form.position if form.upper is None else form.upper]
            low, high = (
                np.append(np.rint(end * factor), 2 * full).astype(np.int64) for end in ends
            )
            self.linear.append(low[attribute.codes])
            self.upper.append(self.linear[-1] if form.upper is None else high[attribute.codes])
            self.full.append(full)
        elif attribute.algebra == "set":
            self._add_set(attribute, form, factor)
        else:
            assert isinstance(form, LogForm)
            self.log_codes.append(attribute.codes.astype(np.int32))
            zero = np.zeros((1, form.mass.shape[1]), np.int64)
            self.prefix.append(np.concatenate((zero, np.cumsum(form.mass, axis=0))).T)
            self.prefix_start.append(self.prefix_start[-1] + len(form.mass) + 1)
            self.log_weight.append(factor)
            self.beta = form.beta

    def _add_tree(self, attribute: Attribute, form: TreeForm, factor: float) -> None:
        taxonomy = attribute.taxonomy
        assert taxonomy is not None
        node_cost = np.rint(form.node * factor).astype(np.int64).reshape(len(form.node), -1)
        missing = taxonomy.n_nodes
        if attribute.level is not None:  # what is published instead is paid for
            node_cost = node_cost[attribute.level.of_node]
        levels = []
        for ancestors in taxonomy.levels()[1:]:
            with_missing = np.append(ancestors, missing)
            nodes, codes = np.unique(with_missing, return_inverse=True)
            levels.append((codes[attribute.codes], node_cost[nodes].T))
        self._add_levels(levels, node_cost[taxonomy.root])

    def _add_levels(
        self, levels: Sequence[tuple[NDArray[Any], NDArray[np.int64]]], root: NDArray[np.int64]
    ) -> None:
        for codes, cost in levels:
            n_codes = cost.shape[1]
            width = int(n_codes > int(MIXED8)) + int(n_codes > int(MIXED16))
            dtype = (np.uint8, np.uint16, np.uint32)[width]
            self.width.append(width)
            self.row.append(len(self.levels[width]))
            self.levels[width].append(codes.astype(dtype))
            self.cost_start.append(self.n_codes)
            self.level_cost.append(cost)
            self.n_codes += n_codes
        self.tree_first.append(len(self.width))
        self.root_cost.append(root)

    def _add_set(self, attribute: Attribute, form: Form, factor: float) -> None:
        if attribute.size > MAX_SET_VALUES:
            raise OptionError(
                "Column {name!r} has {size} distinct values, more than the {max_set_values} "
                "that kind 'set' allows; give it a hierarchy or kind 'flat'.",
                name=attribute.name,
                size=attribute.size,
                max_set_values=MAX_SET_VALUES,
            )
        codes = attribute.codes.astype(np.int64)
        for word in range(attribute.size // 64 + 1):
            inside = (codes >> 6) == word
            bit = np.left_shift(np.uint64(1), (codes & 63).astype(np.uint64))
            self.bits.append(np.where(inside, bit, np.uint64(0)))
        if isinstance(form, CountForm):
            mass = np.ones((attribute.size + 1, self.n_classes + 1), np.int64)
            mass = mass if self.n_classes > 1 else mass[:, :1]
            full = np.full(self.n_classes, round(form.full * factor))
            self.sets.append((attribute.size, mass.T, False, form.unit * factor, full))
        else:
            assert isinstance(form, LogForm)
            everything = log_cost(form.mass.sum(axis=0, keepdims=True), form.beta)
            full = np.rint(factor * everything.reshape(-1)).astype(np.int64)
            self.beta = form.beta
            self.sets.append((attribute.size, form.mass.T, True, factor, full))

    def _finish(self) -> Scanner:
        n = self.table.n_rows
        classes = self.model.target
        n_mass = 1 if self.n_classes == 1 else self.n_classes + 1
        low = high = _stack(self.linear, n, COST)
        if any(up is not place for up, place in zip(self.upper, self.linear, strict=True)):
            high = _stack(self.upper, n, COST)
        clow = _stack(self.log_codes, n, np.int32)
        rows = Columns(
            _stack(self.levels[0], n, np.uint8),
            _stack(self.levels[1], n, np.uint16),
            _stack(self.levels[2], n, np.uint32),
            low,
            high,
            clow,
            clow,
            _stack(self.bits, n, np.uint64),
        )
        words = [size // 64 + 1 for size, *_ in self.sets]
        mass_start = np.cumsum([0, *(size + 1 for size, *_ in self.sets)])[:-1]
        space = Space(
            np.array(self.tree_first, np.int32),
            np.array(self.width, np.uint8),
            np.array(self.row, np.int32),
            np.array(self.cost_start, np.int64),
            _join(self.level_cost, self.n_classes),
            _join([r[:, None] for r in self.root_cost], self.n_classes),
            np.array(self.full, COST),
            np.array(self.prefix_start, np.int64),
            _join(self.prefix, n_mass),
            self._log_rows(self.log_weight),
            np.cumsum([0, *words]).astype(np.int32),
            np.array([s[0] for s in self.sets], np.int32),
            mass_start.astype(np.int64),
            _join([s[1] for s in self.sets], n_mass),
            np.array([s[2] for s in self.sets], np.uint8),
            self._log_rows([s[3] if s[2] else None for s in self.sets]),
            np.array([s[3] for s in self.sets], np.float64),
            _join([s[4][:, None] for s in self.sets], self.n_classes),
            self._log_table(1.0),
            self._log_table(self.beta),
        )
        codes = np.zeros(n, np.int32) if classes is None else classes.codes.astype(np.int32)
        points = None
        if self.model.measure.of_means:
            from shoal.search.points import points_of

            points = points_of(self.table)
        return Scanner(space, rows, n, self.scale, self.n_classes, codes, points)

    def _log_rows(self, weights: Sequence[float | None]) -> NDArray[np.int32]:
        """Return the row of each weight in the tables of logarithms (one row per weight)."""
        return np.array([0 if w is None else self._weights_row(w) for w in weights], np.int32)

    def _weights_row(self, weight: float) -> int:
        if weight not in self.log_weights:
            self.log_weights.append(weight)
        return self.log_weights.index(weight)

    def _log_table(self, factor: float) -> NDArray[np.int64]:
        if not self.log_weights:
            return np.zeros((1, 1), np.int64)
        largest = max(int(a.counts.sum()) for a in self.table.attributes)
        log2 = np.log2(np.maximum(np.arange(largest + 1), 1).astype(np.float64))
        return np.array([np.rint(log2 * (w * factor)) for w in self.log_weights]).astype(np.int64)


def _stack(columns: list[Any], n: int, dtype: Any) -> NDArray[Any]:
    result = np.empty((len(columns), n), dtype)
    for row, column in enumerate(columns):
        result[row] = column
    return result


def _join(tables: list[Any], n_first: int) -> NDArray[np.int64]:
    if not tables:
        return np.zeros((n_first, 0), np.int64)
    return np.ascontiguousarray(np.concatenate(tables, axis=1).astype(np.int64))


def _entries(form: Form) -> NDArray[np.float64]:
    """Return the distinct costs a form can charge (for logarithms: only the largest)."""
    if isinstance(form, TreeForm):
        return np.unique(form.node)
    if isinstance(form, LinearForm):
        upper = form.position if form.upper is None else form.upper
        return np.unique(np.concatenate((form.position, upper, [form.full])))
    if isinstance(form, CountForm):
        return np.array([0.0, form.unit, form.full])
    if isinstance(form, IndicatorForm):
        return np.array([0.0, form.full])
    return np.array([0.0, math.log2(max(int(form.mass[:, 0].sum()), 2))])


def _choose_scale(costs: Sequence[NDArray[np.float64]], reach: float, *, has_logs: bool) -> float:
    """Return units per cost, such that costs are whole numbers where that is possible."""
    total = float(sum(np.max(np.abs(c)) for c in costs)) or 1.0
    common = None if has_logs else _common_denominator(costs, int(LARGEST_COST / total))
    if common is not None and common * max(total, reach) <= LARGEST_COST:
        return float(common)
    return LARGEST_COST / max(total, reach)


def _common_denominator(costs: Sequence[NDArray[np.float64]], limit: int) -> int | None:
    """Return the smallest number that makes all costs whole, if it stays below the limit."""
    common = 1
    for entries in costs:
        if len(entries) > MAX_DENOMINATOR:
            return None
        # entries that are whole already need no fraction; this keeps the loop short
        rest = entries[np.abs(entries * common - np.rint(entries * common)) > 1e-9 * common]
        while len(rest):
            fraction = Fraction(float(rest[0])).limit_denominator(MAX_DENOMINATOR)
            if abs(float(fraction) - float(rest[0])) > 1e-12:
                return None
            common = math.lcm(common, fraction.denominator)
            if common > limit:
                return None
            rest = rest[np.abs(rest * common - np.rint(rest * common)) > 1e-9 * common]
    return common


# -- What one search is given beside the table: k, costs, chance, promises -------------------------


def no_warning(sentence: str) -> None:
    """Say nothing."""
    del sentence


@dataclass(frozen=True, eq=False)
class Run:
    """One run: the parameters that every algorithm gets besides the table.

    Attributes:
        k: smallest allowed group.
        model: the measure to minimise, bound to the whole table.
        scanner: rows and costs as integers, in the table's order.
        rng: the run's own generator; the only source of chance.
        privacy: models that hold beyond k-anonymity (algorithms that know how respect them while
            clustering; `enforce` does it afterwards for all others).
        threads: how many threads may be used; never changes the result.
        progress: called between slices of work with (done, total, what); Ctrl-C works there.
        max_suppressed: how many rows an algorithm that leaves rows out on its own may suppress
            (None: as many as it does as published).
        warn: takes a sentence that the user should read; it becomes part of this run's release,
            whichever thread says it.
        part_of: where the rows are a part of a larger table, how many rows that has: effort is
            chosen by the size of the whole.
    """

    k: int
    model: CostModel
    scanner: Scanner
    rng: np.random.Generator
    privacy: tuple[PrivacyModel, ...] = ()
    threads: int = 1
    progress: Callable[[int, int, str], None] = no_progress
    max_suppressed: int | None = None
    warn: Callable[[str], None] = no_warning
    part_of: int | None = None

    @property
    def all_rows(self) -> int:
        """Rows of the whole table."""
        return self.scanner.n_rows if self.part_of is None else self.part_of

    def check(self, table: EncodedTable) -> None:
        """Refuse another table than the one that the run was made for, and a k it has no rows for.

        Raises:
            ValueError: it is another table, or one of its codes is none of its column's.
        """
        table.check()
        if self.scanner.n_rows != table.n_rows or len(self.model.forms) != len(table.attributes):
            raise ValueError("the run was made for another table; `Run.part` takes rows of it")
        if not 1 <= self.k <= table.n_rows:
            raise ValueError(f"k must be from 1 to {table.n_rows}, the rows of the table")

    @door
    def part(self, rows: NDArray[np.integer[Any]], **changes: Any) -> Run:
        """Return the run on these rows, with other fields changed."""
        parts: dict[str, Any] = {"model": self.model.take(rows), "scanner": self.scanner.take(rows)}
        return replace(self, **parts, **changes)


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How hard a refinement tries.

    Attributes:
        sweeps: at most this many sweeps.
        hot: so many sweeps before these in which moves may cost something, where groups are small
            and where they are not (`shoal.search.refine.hot_sweeps`).
        large: share of hot sweeps, and of their temperature, where a table is large
            (`shoal.engine.refine_across_blocks`).
        logs: share of hot sweeps where groups are not small and a scan takes logarithms.
        rounds: how often a large table is refined in regions before it is refined as a whole.
        rebuild: whether groups are taken apart (the dearest move).
        reach: rows looked at around a seed, as a multiple of k.
        depth: how many values an edge slice has at most.
        renewals: how often neighbouring groups are made anew
            (`shoal.engine.refine_across_blocks`).
        seconds: stop after this many seconds (then the result depends on the machine's speed).
        min_gain: stop when a sweep lowers the cost by less than this share.
        keep_on_interrupt: go on with the best so far on Ctrl-C (`SearchInterrupt`) instead of
            giving up (`shoal.engine.refine_across_blocks`).
    """

    sweeps: int = 8
    hot: tuple[int, int] = (0, 0)
    large: float = 0.5
    logs: float = 1.0
    rounds: int = 3
    rebuild: bool = True
    reach: int = 8
    depth: int = 4
    renewals: int = 0
    seconds: float | None = None
    min_gain: float = 2e-4
    keep_on_interrupt: bool = False


# What a search says when Ctrl-C ends it.


class SearchInterrupt(KeyboardInterrupt):
    """Ctrl-C ended a search; who does not mind goes on with what it found.

    Attributes:
        found: the best partition so far, as valid as the one that was given.
    """

    def __init__(self, found: Partition) -> None:
        super().__init__()
        self.found = found
