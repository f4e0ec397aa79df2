"""What costs most in a release, and what to do about it: measured, never guessed.

Every suggestion is a run of its own, with one thing changed: a column dropped, a column
published more coarsely, a few rows left out, a smaller k, a hierarchy added. What the change
saves is the difference to the run without it, in the terms of the original table.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shoal.errors import OptionError, ShoalError
from shoal.io.spelling import read_as_asked
from shoal.messages import Message
from shoal.runtime.progress import Stopwatch
from shoal.runtime.threads import run_side_by_side
from shoal.settings.request import Request, build_request
from shoal.study.findings import (
    Advice,
    ColumnFinding,
    find_lost,
    find_relations,
    find_stretched,
    find_wide,
    further_trials,
    price_of,
    told_of_relations,
)
from shoal.study.trials import Trial, TrialResult, build_trials, group_cells
from shoal.table.dates import move_dates
from shoal.table.frames import to_polars

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import polars as pl

    from shoal.publish.release_data import ReleaseData
    from shoal.table.schema import Schema


MOST_ROWS = 20_000
"""Rows of the sample on which changes are tried."""
_WORTH_SAYING = 0.0005
_N_OUTLIERS = 5
_LITTLE = 0.1

What = Literal["drop", "coarsen", "suppress", "lower-k", "hierarchy"]


@dataclass(frozen=True, kw_only=True)
class Change:
    """One thing done differently, and what it did to the loss.

    Losses are mean shares of detail lost per cell (ncp), between 0 and 1, over all
    quasi-identifiers of the unchanged run and in its terms: a dropped column counts as lost.

    Attributes:
        what: ``drop``, ``coarsen``, ``suppress``, ``lower-k`` or ``hierarchy``.
        column: the column it is about; None if it is about all.
        saving: what the change gives back; for one column, what it gives back in the others.
        price: what the change gives up in its own column.
        loss: the loss with the change.
        sentence: all this in plain words.
        settings: what a job file says to have it; see `Advice`.
    """

    what: What
    column: str | None
    saving: float
    price: float
    loss: float
    sentence: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def net(self) -> float:
        """What is left of the saving after the price."""
        return self.saving - self.price


@dataclass(frozen=True, kw_only=True)
class OutlierGroup:
    """Records that cost most, as they are published.

    Attributes:
        cells: the published cell of every quasi-identifier.
        n_rows: how many rows are published with these cells.
        loss: their mean loss per cell, 0 to 1.
    """

    cells: Mapping[str, str]
    n_rows: int
    loss: float


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """What costs most and what to do about it.

    Attributes:
        k: of the unchanged run.
        n_rows: rows of the table.
        n_tried: rows of the sample on which the changes were tried.
        loss: mean loss per cell (ncp) of the unchanged run on that sample.
        by_column: that loss, by column.
        changes: what was tried, the largest saving first.
        findings: columns that are nearly all lost, follow from one another, or are stretched by
            outliers.
        promises: what ℓ-diversity and t-closeness would cost, where they are not promised.
        outliers: the most expensive groups, described by published cells.
        advice: what to do, in plain words.
        seconds: how long all runs took.
        to_do: the advice again, each with the settings of a job file that do it.
        further: the promises again, each with its settings.
    """

    k: int
    n_rows: int
    n_tried: int
    loss: float
    by_column: Mapping[str, float]
    changes: tuple[Change, ...]
    findings: tuple[ColumnFinding, ...]
    promises: tuple[str, ...]
    outliers: tuple[OutlierGroup, ...]
    advice: tuple[str, ...]
    seconds: float
    to_do: tuple[Advice, ...] = ()
    further: tuple[Advice, ...] = ()

    @property
    def is_sample(self) -> bool:
        """Whether the changes were tried on a part of the rows."""
        return self.n_tried < self.n_rows

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        plain = asdict(self)
        plain["by_column"] = dict(self.by_column)
        for change, each in zip(plain["changes"], self.changes, strict=True):
            change["net"] = each.net
        return plain

    def _repr_html_(self) -> str:
        from shoal.runtime.notebook import facts, lists, share, shown, table

        return shown(
            facts([("Detail lost (ncp)", share(self.loss)), ("Rows tried", f"{self.n_tried:,}")]),
            table(("column", "lost"), ((n, share(loss)) for n, loss in self.by_column.items())),
            lists(self.advice),
        )


def explain(
    frame: Any,
    release: ReleaseData | None = None,
    *,
    max_rows: int = MOST_ROWS,
    workers: int | None = None,
    progress: bool | Callable[[int, int, str], None] = False,
    **options: Any,
) -> Explanation:
    """Measure what costs most in a release and what would help.

    Args:
        frame: the *original* table.
        release: a release of it, whose settings are taken over; otherwise give the options of
            ``shoal.anonymize`` (``k=10, quasi_identifiers=[...], …``).
        max_rows: the changes are tried on a random sample of at most this many rows; on a
            sample every loss is somewhat higher than on the whole table.
        workers: how many runs at a time; all cores by default.
        progress: True for a bar, or a function of (done, total, what).
        options: those of ``shoal.anonymize``, where no release is given. The same seed is used
            for every run, 0 unless given.

    The groups that cost most are described by cells of the release (or, without one, of a
    release of the sample). The explanation is for the people who make the release, not to be
    published beside it.

    Raises:
        OptionError: an option is wrong, or the release is not of this table.
        PromiseError: not even the unchanged run can keep the promise.
    """
    if release is not None and options:
        raise OptionError("Give either a release or options, not both.")
    if release is not None:
        return explain_release(
            frame, release, max_rows=max_rows, workers=workers, progress=progress
        )
    asked = build_request(options)
    table = read_as_asked(to_polars(frame), asked.details)
    return explain_request(table, asked, max_rows=max_rows, workers=workers, progress=progress)


def explain_request(
    frame: Any,
    request: Request,
    *,
    max_rows: int = MOST_ROWS,
    workers: int | None = None,
    progress: bool | Callable[[int, int, str], None] = False,
) -> Explanation:
    """Explain what a request would make; see `explain`."""
    table = to_polars(frame)
    schema = request.schema(table.columns)
    asked = Trial.unchanged(move_dates(table, schema), schema, request)
    return _explain(asked, None, max_rows=max_rows, workers=workers, progress=progress)


def explain_release(
    frame: Any,
    release: ReleaseData,
    *,
    max_rows: int = MOST_ROWS,
    workers: int | None = None,
    progress: bool | Callable[[int, int, str], None] = False,
) -> Explanation:
    """Explain a release that exists; see `explain`."""
    table = to_polars(frame)
    if table.height != release.n_rows:
        raise OptionError(
            "The release was made from {n_rows:,} rows but the table has {height:,}; give the "
            "table it was made from.",
            n_rows=release.n_rows,
            height=table.height,
        )
    schema = release.schema
    names = ("k", "algorithm", "algorithm_options", "measure", "measure_options")
    said = {name: release.parameters[name] for name in (*names, "max_suppression", "missing")}
    said |= {"knows": release.parameters.get("knows")}
    said |= {"combinations": release.parameters.get("combinations") or ()}
    request = Request(quasi_identifiers=schema.quasi_identifiers, privacy=release.privacy, **said)
    asked = Trial.unchanged(move_dates(table, schema, release.key), schema, request)
    return _explain(asked, release, max_rows=max_rows, workers=workers, progress=progress)


def _explain(
    asked: Trial,
    release: ReleaseData | None,
    *,
    max_rows: int,
    workers: int | None,
    progress: bool | Callable[[int, int, str], None],
) -> Explanation:
    from shoal.algorithm.auto import PROMISED_STARTS
    from shoal.algorithm.warm_up import compile_ahead
    from shoal.runtime.progress import watching

    asked.request.refuse_limited()
    watch = Stopwatch()
    seed = 0 if asked.request.seed is None else asked.request.seed
    sample = replace(
        asked,
        table=_sample(asked.table, max_rows, seed),
        # Nothing is published: no order to hide, no bound to prove, no warning to heed.
        request=replace(
            asked.request, seed=seed, shuffle=False, threads=1, bound=False, strict=False
        ),
    )
    n_tried = sample.table.height  # progress is counted in rows, like that of a run
    with watching(progress) as report:
        report(0, 0, "measuring")
        before = sample.run(report)
        trials = [*build_trials(sample, before), *further_trials(sample, before)]
        if asked.request.algorithm == "auto" and any(each.what == "promise" for each in trials):
            # on all cores, and not within a trial, where it would pass for slow work
            compile_ahead([*PROMISED_STARTS, "sequential", "grow"], report)
        report(0, len(trials) * n_tried, "trying changes")
        tried: list[TrialResult | None] = [None] * len(trials)
        tasks = [_task(trial) for trial in trials]
        for n_done, (number, after) in enumerate(run_side_by_side(tasks, workers=workers), 1):
            report(n_done * n_tried, len(trials) * n_tried, "trying changes")
            tried[number] = after
    runs = list(zip(trials, tried, strict=True))
    changes = [
        _change(trial, before.losses, after.losses, sample.schema)
        for trial, after in runs
        if after is not None and trial.what not in ("promise", "scale", "measure")
    ]
    # Ties in the order in which they were tried, so that nothing depends on the threads.
    ranked = tuple(sorted(changes, key=lambda change: -change.saving))
    findings = _find(before, ranked, runs, sample.schema)
    to_do = _advise(ranked, findings, _mean(before.losses, sample.schema))
    further = tuple(
        price_of(trial, None if after is None else _cost(before, after, sample.schema))
        for trial, after in runs
        if trial.what == "promise"
    )
    return Explanation(
        k=asked.request.k,
        n_rows=asked.table.height,
        n_tried=n_tried,
        loss=_mean(before.losses, sample.schema),
        by_column=before.losses,
        changes=ranked,
        findings=findings,
        promises=tuple(each.sentence for each in further),
        outliers=_outliers(asked, release, sample, before.labels),
        advice=tuple(each.sentence for each in to_do),
        seconds=watch.seconds(),
        to_do=to_do,
        further=further,
    )


def _sample(table: pl.DataFrame, max_rows: int, seed: int) -> pl.DataFrame:
    if max_rows < 2:
        raise OptionError("max_rows must be at least 2, got {max_rows!r}.", max_rows=max_rows)
    if table.height <= max_rows:
        return table
    rows = np.random.default_rng(seed).choice(table.height, max_rows, replace=False)
    return table[np.sort(rows)]


def _task(trial: Trial) -> Callable[[Any], TrialResult | None]:
    def run(progress: Any) -> TrialResult | None:
        try:
            return trial.run(progress)
        except ShoalError:
            return None  # the change makes the promise impossible: no advice to give

    return run


def _weights(schema: Schema) -> dict[str, float]:
    return {name: schema[name].weight for name in schema.quasi_identifiers}


def _mean(losses: Mapping[str, float], schema: Schema) -> float:
    weights = _weights(schema)
    return sum(weights[name] * loss for name, loss in losses.items()) / sum(weights.values())


def _change(
    trial: Trial, before: Mapping[str, float], after: Mapping[str, float], schema: Schema
) -> Change:
    weights = _weights(schema)
    total = sum(weights.values())
    gains = {name: weights[name] * (before[name] - after[name]) / total for name in before}
    # Dropping and coarsening pay with their own column; a hierarchy only gives.
    price = 0.0
    if trial.column is not None and trial.what in ("drop", "coarsen"):
        price = -gains.pop(trial.column)
    saving = sum(gains.values())
    assert trial.what != "promise"
    assert trial.what != "scale"
    assert trial.what != "measure"
    return Change(
        what=trial.what,
        column=trial.column,
        saving=saving,
        price=price,
        loss=_mean(after, schema),
        sentence=_sentence(trial, saving, price),
        settings=trial.settings,
    )


def _sentence(trial: Trial, saving: float, price: float) -> Message:
    doing, points = trial.doing, 100 * saving
    if saving <= -_WORTH_SAYING:
        return Message(
            "{doing} makes it worse: it costs {points:.1f} points more.",
            doing=doing,
            points=-points,
        )
    if saving < _WORTH_SAYING:
        return Message(
            "{doing} would not help: it gives back {points:.1f} points.",
            doing=doing,
            points=max(points, 0.0),
        )
    if trial.what not in ("drop", "coarsen"):
        if trial.risks is None:
            return Message(
                "{doing} gives back {points:.1f} points of detail.", doing=doing, points=points
            )
        return Message(
            "{doing} gives back {points:.1f} points of detail, but raises the highest risk from "
            "{before:.1%} to {after:.1%}.",
            doing=doing,
            points=points,
            before=trial.risks[0],
            after=trial.risks[1],
        )
    if price > _WORTH_SAYING:
        return Message(
            "{doing} gives back {points:.1f} points of detail in the other columns and costs "
            "{price:.1f} points in {column!r} itself.",
            doing=doing,
            points=points,
            price=100 * price,
            column=trial.column,
        )
    return Message(
        "{doing} gives back {points:.1f} points of detail in the other columns and costs nothing "
        "in {column!r} itself.",
        doing=doing,
        points=points,
        column=trial.column,
    )


def _cost(
    before: TrialResult, after: TrialResult, schema: Schema, without: str | None = None
) -> float:
    """Return what a run costs more than the unchanged one, over all columns or all but one."""
    weights = _weights(schema)
    more = (
        weights[name] * (after.losses[name] - loss)
        for name, loss in before.losses.items()
        if name != without
    )
    return sum(more) / sum(weights.values())


def _find(
    before: TrialResult,
    changes: tuple[Change, ...],
    runs: Sequence[tuple[Trial, TrialResult | None]],
    schema: Schema,
) -> tuple[ColumnFinding, ...]:
    """Return what stands out; no column is in two findings that say what to do with it."""
    drops = {change.column: change for change in changes if change.what == "drop"}
    related = []
    for names in find_relations(before.table):
        best = max((drops[n] for n in names if n in drops), key=lambda c: c.net, default=None)
        worth = best is not None and best.saving > _WORTH_SAYING
        related.append(told_of_relations(names, _advice(best) if worth and best else None))
    taken = {name for finding in related for name in finding.columns}
    losses = {name: loss for name, loss in before.losses.items() if name not in taken}
    helpful = sorted(changes, key=lambda change: change.net)
    best_of = {c.column: _advice(c) for c in helpful if c.column and c.saving > _WORTH_SAYING}
    lost = find_lost(losses, best_of)
    taken |= {name for finding in lost for name in finding.columns}
    wide = [
        find_stretched(
            before, name, after, 0.0 if after is None else _cost(before, after, schema, name)
        )
        for trial, after in runs
        if trial.what == "scale" and (name := str(trial.column)) not in taken
    ]
    by_leaves = [found for trial, after in runs for found in find_wide(before, trial, after)]
    return (*related, *lost, *wide, *by_leaves)


def _advice(of: Change | ColumnFinding) -> Advice:
    change = of.what if isinstance(of, Change) else of.change
    return Advice(sentence=of.sentence, settings=of.settings, change=change)


def _advise(
    changes: tuple[Change, ...], findings: tuple[ColumnFinding, ...], loss: float
) -> tuple[Advice, ...]:
    """Return what to do: first what stands out, then what gives detail back.

    No column is told to be treated in two ways, and changes that keep the promise as it is come
    before a smaller k.
    """
    advice = [_advice(finding) for finding in findings]
    done: set[str | None] = {
        name
        for finding in findings
        if finding.what not in ("stretched", "wide")
        for name in finding.columns
    }
    helpful = [change for change in changes if change.net > 2 * _WORTH_SAYING]
    helpful.sort(key=lambda change: (change.what == "lower-k", -change.net))
    chosen: list[Change] = []
    for change in helpful:
        if change.column is None or change.column not in done:
            chosen.append(change)
            done |= set() if change.column is None else {change.column}
    advice += [_advice(change) for change in chosen[:3]]
    if advice:
        return tuple(advice)
    costly = next((c for c in changes if c.what == "drop" and c.saving > _WORTH_SAYING), None)
    if costly is not None:
        words = Message(
            "No change is free. If {column!r} can be spared: {advice}",
            column=costly.column,
            advice=costly.sentence,
        )
        return (Advice(sentence=words, settings=costly.settings, change="drop"),)
    if loss < _LITTLE:
        words = Message(
            "Nothing that was tried makes a difference, and little is lost: leave it as it is."
        )
    else:
        words = Message(
            "Nothing that was tried makes a difference: what is lost is the price of this k for so "
            "many quasi-identifiers."
        )
    return (Advice(sentence=words),)


def _outliers(
    asked: Trial, release: ReleaseData | None, sample: Trial, labels: Any
) -> tuple[OutlierGroup, ...]:
    """Return the most expensive groups, by cells that are published."""
    if release is None:
        return _top(group_cells(sample.table, sample.schema, sample.request, labels))
    published = to_polars(release.frame)
    names = list(asked.schema.quasi_identifiers)
    if not set(names) <= set(published.columns):
        return ()  # intervals are published as bounds: there are no cells to show
    shown = set(published.select(names).unique().rows())
    shown_text = {tuple("" if cell is None else str(cell) for cell in row) for row in shown}
    cells = group_cells(asked.table, asked.schema, asked.request, release.groups)
    # A release that was recoded more coarsely than its groups need holds other cells.
    return _top([each for each in cells if tuple(each[0].values()) in shown_text])


def _top(groups: list[tuple[dict[str, str], int, float]]) -> tuple[OutlierGroup, ...]:
    ranked = sorted(groups, key=lambda each: (-each[2], -each[1], tuple(each[0].values())))
    return tuple(
        OutlierGroup(cells=cells, n_rows=n_rows, loss=loss)
        for cells, n_rows, loss in ranked[:_N_OUTLIERS]
    )
