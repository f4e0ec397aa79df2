"""The changes that `shoal.explain` tries: each is a table, a schema and a request to run.

A trial runs on its own table but is scored in the terms of the unchanged one, so that losses
can be compared: a dropped column is lost, a coarser column covers all values of its steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from shoal.engine.local import LocalEngine
from shoal.engine.pipeline import run_pipeline
from shoal.measure.base import Grouped
from shoal.measure.loss import NCP
from shoal.measure.scores import score_table
from shoal.messages import Message
from shoal.table.closure import IntervalClosures, close
from shoal.table.encode import EncodedTable, encode, on_grid
from shoal.table.grid import Grid
from shoal.table.partition import Partition
from shoal.table.schema import Column, Kind, Role, Schema

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shoal.engine.pipeline import Result
    from shoal.settings.request import Request
    from shoal.table.encode import Attribute


What = Literal["drop", "coarsen", "suppress", "lower-k", "hierarchy", "promise", "scale", "measure"]
KINDS: tuple[str, ...] = get_args(What)
"""All kinds of changes that are tried."""

Own = Callable[["Result[Partition, Any]", EncodedTable], float]
"""What a changed column loses, in the terms of the unchanged table."""

_STEPS = (2, 3, 4, 5, 7, 10, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 500, 750, 1000)
_MORE_SUPPRESSION = 0.01
_WORTH_A_TREE = 5


@dataclass(frozen=True, eq=False)
class TrialResult:
    """What a trial lost and whom its intervals cover, by column, and its groups."""

    losses: Mapping[str, float]
    labels: NDArray[np.int32]
    table: EncodedTable
    schema: Schema
    covered: Mapping[str, float | None]


@dataclass(frozen=True, eq=False)
class Trial:
    """One run with one thing changed.

    Attributes:
        what: the kind of change.
        column: the column that is changed, if it is one.
        doing: the change in words, the beginning of a sentence.
        table: what is run on.
        schema: what its columns are.
        request: what is asked of the run.
        risks: the highest risk before and after the change, where it grows.
        base: the unchanged table, in whose terms losses are counted.
        own: the loss of the changed column; None if it is read off like the others.
        settings: what a job file says to have the change, as in ``{"k": 5}``; empty if no option
            does the same.
    """

    what: What
    column: str | None
    doing: str
    table: pl.DataFrame
    schema: Schema
    request: Request
    base: EncodedTable | None = None
    risks: tuple[float, float] | None = None
    own: Own | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def unchanged(cls, table: pl.DataFrame, schema: Schema, request: Request) -> Trial:
        """Return the run that all others are compared with."""
        return cls("suppress", None, "", table, schema, request)

    def run(self, progress: Callable[[int, int, str], None]) -> TrialResult:
        """Run it and return what it lost; raises ShoalError if the promise cannot be kept."""
        found = run_pipeline(
            self.table, self.schema, self.request, LocalEngine(), progress=progress
        )
        schema = found.measured.schema
        table = self.base or encode(self.table, schema)
        partition = found.groups
        if self.own is not None:
            # Nodes of a changed hierarchy mean nothing in the unchanged one.
            recoded = {n: v for n, v in partition.recoded.items() if n != self.column}
            partition = Partition(partition.labels, partition.n_groups, recoded)
        losses = dict(score_table(table, partition, ["ncp"]).by_column["ncp"])
        if self.own is not None:
            assert self.column is not None
            losses[self.column] = self.own(found, table)
        covered = {column.name: column.covered for column in found.measured.facts.columns}
        return TrialResult(losses, found.groups.labels, table, schema, covered)


def build_trials(unchanged: Trial, before: TrialResult) -> list[Trial]:
    """Return every change worth trying on this table."""
    trials: list[Trial] = []
    base = before.table
    start = replace(unchanged, schema=before.schema, base=base)
    for attribute in base.attributes:
        if len(base.attributes) > 1:
            trials.append(_dropping(start, attribute))
        coarser = _coarsening(start, attribute)
        if coarser is not None:
            trials.append(coarser)
        with_tree = _adding_tree(start, attribute)
        if with_tree is not None:
            trials.append(with_tree)
    return [*trials, *_suppressing(start), *_lowering(start)]


def _dropping(start: Trial, attribute: Attribute) -> Trial:
    name = attribute.name
    return replace(
        start,
        what="drop",
        column=name,
        doing=Message("Dropping {name!r}", name=name),
        settings=_of_column(name, role=Role.DROP.value),
        schema=_with(start.schema, Column(name=name, role=Role.DROP)),
        own=lambda found, table: 1.0,  # noqa: ARG005 - a dropped column is lost whatever happens
    )


def _suppressing(start: Trial) -> list[Trial]:
    share = start.request.max_suppression + _MORE_SUPPRESSION
    if share >= 1 or share * start.table.height < 1:
        return []
    doing = Message("Allowing 1 % of the rows to be left out as outliers")
    if start.request.max_suppression:
        doing = Message("Allowing 1 % more of the rows to be left out as outliers")
    request = replace(start.request, max_suppression=share)
    settings = {"max_suppression": round(share, 9)}
    return [replace(start, what="suppress", doing=doing, request=request, settings=settings)]


def _lowering(start: Trial) -> list[Trial]:
    k = start.request.k
    smaller = max((step for step in _STEPS if step < k), default=None)
    if smaller is None:
        return []
    return [
        replace(
            start,
            what="lower-k",
            doing=Message("k = {smaller} instead of {k}", smaller=smaller, k=k),
            request=replace(start.request, k=smaller),
            risks=(1 / k, 1 / smaller),
            settings={"k": smaller},
        )
    ]


# -- coarser columns -----------------------------------------------------------------------------


def _coarsening(start: Trial, attribute: Attribute) -> Trial | None:
    if attribute.kind is Kind.ORDINAL:
        return _coarser_words(start, attribute)
    if attribute.algebra == "interval":
        return _coarser_intervals(start, attribute)
    if attribute.algebra == "tree" and attribute.kind is Kind.CATEGORICAL:
        return _coarser_tree(start, attribute)
    return None  # a flat column has no step between exact and suppressed


def _coarser_tree(start: Trial, attribute: Attribute) -> Trial | None:
    """Publish no value finer than the next level of its hierarchy."""
    tree, column = attribute.taxonomy, start.schema[attribute.name]
    assert tree is not None
    level = 1 + (column.grid.level if column.grid else 0)
    if level >= tree.tree_height or len(np.unique(tree.generalization(level))) < 2:
        return None
    how = Message("no finer than level {level} of its hierarchy", level=level)
    return _regridded(start, attribute, Grid(level=level), how, f"level {level}")


def _coarser_words(start: Trial, attribute: Attribute) -> Trial | None:
    """Publish ordered words two by two, or twice as many of them together as now."""
    import polars as pl

    column = start.schema[attribute.name]
    assert column.order is not None
    step = 2 * int(column.grid.step or 1) if column.grid else 2
    if step >= len(column.order):
        return None
    how = Message("in steps of {step} neighbouring values", step=step)
    by_type = isinstance(start.table.schema[attribute.name], pl.Enum)  # a job has to say the order
    more = {"order": list(column.order)} if by_type else {}
    return _regridded(start, attribute, Grid(step=Decimal(step)), how, step, **more)


def _regridded(
    start: Trial, attribute: Attribute, grid: Grid, how: str, spec: str | int, **more: Any
) -> Trial:
    """Return the very run that a job with this grid would be."""
    name = attribute.name
    changed = replace(start.schema[name], grid=grid)

    def own(found: Result[Partition, Any], table: EncodedTable) -> float:
        # What the coarser cells lose where the unchanged table has its own values.
        original = replace(start.schema[name], grid=None)
        finest = encode(start.table.select(name), Schema((original,))).attributes[0]
        coarse = on_grid(finest, grid)
        closed = close(coarse, found.groups)
        cost = NCP().form(coarse, None, table).cost(closed)
        return float(np.sum(Grouped(table, found.groups).sizes * cost) / table.n_rows)

    return replace(
        start,
        what="coarsen",
        column=name,
        doing=Message("Publishing {name!r} {how}", name=name, how=how),
        schema=_with(start.schema, changed),
        own=own,
        settings=_of_column(name, grid=spec, **more),
    )


def _coarser_intervals(start: Trial, attribute: Attribute) -> Trial | None:
    """Publish numbers and dates in steps."""
    import polars as pl

    found = _steps(attribute)
    if found is None:
        return None
    bins, words, grid = found
    starts = np.flatnonzero(np.append(True, bins[1:] != bins[:-1]))
    if not 2 <= len(starts) < attribute.size:
        return None
    place = np.searchsorted(starts, np.arange(attribute.size), side="right") - 1
    first = starts[place]
    last = np.append(starts[1:], attribute.size)[place] - 1
    domain = attribute.values
    assert isinstance(domain, pl.Series)
    codes = attribute.codes.astype(np.int64)
    known = codes < attribute.size
    rows = pl.Series(np.where(known, first[np.minimum(codes, attribute.size - 1)], -1))
    rows = rows.set(pl.Series(~known), None)
    original = start.table.get_column(attribute.name)
    column = domain.gather(rows).alias(attribute.name).cast(original.dtype)

    def own(found: Result[Partition, Any], table: EncodedTable) -> float:
        partition = found.groups
        closed = close(attribute, partition)
        assert isinstance(closed, IntervalClosures)
        top = attribute.size - 1
        known = closed.low < attribute.size
        low = np.where(known, first[np.minimum(closed.low, top)], closed.low)
        high = np.where(known, last[np.minimum(closed.high, top)], closed.high)
        wide = IntervalClosures(low.astype(np.int32), high.astype(np.int32), closed.everything)
        cost = NCP().form(attribute, None, table).cost(wide)
        sizes = Grouped(table, partition).sizes
        return float(np.sum(sizes * cost) / table.n_rows)

    return replace(
        start,
        what="coarsen",
        column=attribute.name,
        doing=Message("Publishing {name!r} {words}", name=attribute.name, words=words),
        table=start.table.with_columns(column),
        own=own,
        settings=_of_column(attribute.name, grid=grid),
    )


def _steps(attribute: Attribute) -> tuple[NDArray[np.int64], str, float | str] | None:
    """Return the step of every value, what the steps are called, and the grid that they are."""
    from shoal.profile.guess import nice_width

    if attribute.kind.is_time:
        return _time_steps(attribute)
    position = attribute.positions
    assert position is not None
    width = nice_width(float(position[0]), float(position[-1]))
    gap = float(np.diff(position).min()) if len(position) > 1 else 0.0
    if width <= gap:
        width = 2 * gap  # the values lie in such steps already
    with np.errstate(all="ignore"):
        bins = np.floor(position / width)
    if not np.isfinite(bins).all() or abs(bins).max() > 2**53:
        return None
    step = float(f"{width:.12g}")  # 2 * 0.1 as people write it
    grid = int(step) if step.is_integer() else step
    return bins.astype(np.int64), Message("in steps of {width:g}", width=width), grid


def _time_steps(attribute: Attribute) -> tuple[NDArray[np.int64], str, str] | None:
    import polars as pl

    assert isinstance(attribute.values, pl.Series)
    moments = attribute.values
    units = {
        "1d": Message("day"),
        "1mo": Message("month"),
        "1q": Message("quarter"),
        "1y": Message("year"),
    }
    for every, unit in units.items():
        steps = moments.dt.truncate(every)
        if every == "1y" or steps.n_unique() <= min(60, attribute.size // 2):
            ranks = steps.rank("dense").to_numpy().astype(np.int64)
            return ranks, Message("by {unit}", unit=unit), str(unit)
    return None


# -- a hierarchy where there is none -------------------------------------------------------------


def _putting_together(attribute: Attribute, *, by_characters: bool) -> Message:
    if by_characters:
        return Message(
            "A hierarchy for {name!r} ({size:,} values, put together by its first characters)",
            name=attribute.name,
            size=attribute.size,
        )
    return Message(
        "A hierarchy for {name!r} ({size:,} values, put together by frequency)",
        name=attribute.name,
        size=attribute.size,
    )


def _adding_tree(start: Trial, attribute: Attribute) -> Trial | None:
    import polars as pl

    from shoal.profile.column_facts import looks_like_code
    from shoal.profile.guess import frequency_tree, prefix_tree

    column = start.table.get_column(attribute.name)
    if attribute.kind is not Kind.FLAT or attribute.size < _WORTH_A_TREE:
        return None
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return None
    texts = column.drop_nulls().cast(pl.String)
    coded = looks_like_code(texts.unique())
    tree, rule = prefix_tree(texts.unique().sort()) if coded else frequency_tree(texts)
    if tree is None or tree.tree_height < 2:
        return None
    changed = replace(start.schema[attribute.name], kind=Kind.CATEGORICAL, hierarchy=tree)

    def own(found: Result[Partition, Any], table: EncodedTable) -> float:
        # In a flat column ncp and lm are the same; with a tree, lm still counts values.
        del table
        encoded = encode(
            start.table.select(attribute.name), _only(found.measured.schema, attribute.name)
        )
        scores = score_table(encoded, found.groups, ["lm"])
        return scores.by_column["lm"][attribute.name]

    return replace(
        start,
        what="hierarchy",
        column=attribute.name,
        doing=_putting_together(attribute, by_characters=coded),
        schema=_with(start.schema, changed),
        own=own,
        # without a rule, values have to be listed: whoever applies it writes the file
        settings=_of_column(
            attribute.name, hierarchy={"build": "frequency"} if rule is None else rule.to_dict()
        ),
    )


# -- the groups that cost most -------------------------------------------------------------------


def group_cells(
    frame: pl.DataFrame, schema: Schema, request: Request, labels: NDArray[np.integer[Any]]
) -> list[tuple[dict[str, str], int, float]]:
    """Return the published cells, the number of rows and the mean loss of every group.

    Groups that publish the same cells are one.
    """
    import narwhals as nw
    import polars as pl

    from shoal.publish.recode import Style, recode, with_listings
    from shoal.table.infer import infer_kinds

    schema = infer_kinds(schema, nw.from_native(frame))
    names = list(schema.quasi_identifiers)
    style = Style(flat_values=request.style.flat_values)
    table = with_listings(encode(frame, schema), style, int(request.k))
    partition = Partition.from_labels(labels)
    grouped = Grouped(table, partition)
    if not partition.n_groups:
        return []
    measure = NCP()
    loss = np.zeros(partition.n_groups)
    for attribute, closures in zip(table.attributes, grouped.closures, strict=True):
        loss += attribute.weight * measure.form(attribute, None, table).cost(closures)[:-1]
    loss /= float(table.weights.sum())
    published, _ = recode(frame, schema, table, partition, shuffle=False)
    published = published.select(names)
    counted = (
        published.with_columns(pl.all().cast(pl.String).fill_null(""))
        .with_columns(pl.Series("loss of row", loss[partition.labels[partition.labels >= 0]]))
        .group_by(names, maintain_order=True)
        .agg(pl.len().alias("n rows"), pl.col("loss of row").mean())
    )
    return [
        (dict(zip(names, row[:-2], strict=True)), int(row[-2]), float(row[-1]))
        for row in counted.iter_rows()
    ]


def _with(schema: Schema, column: Column) -> Schema:
    columns = tuple(column if each.name == column.name else each for each in schema.columns)
    return replace(schema, columns=columns)


def _only(schema: Schema, name: str) -> Schema:
    return Schema((schema[name],))


def _of_column(name: str, **details: Any) -> dict[str, Any]:
    """Return what a job file says about one column."""
    return {"columns": {name: details}}
