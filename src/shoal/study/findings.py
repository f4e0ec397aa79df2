"""What stands out in a release: columns that are lost, that say the same, that outliers stretch.

Hierarchies of which more is given up than must be. And what further promises would cost.
Everything is measured on the unchanged run, or by a run of its own; `shoal.study.explain` puts it
into one list of advice that does not contradict itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shoal.measure.scores import score_table
from shoal.messages import Message
from shoal.publish.danger import FEWEST_ROWS, follows, go_together, renumbered
from shoal.publish.loss import is_stretched
from shoal.table.partition import Partition

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from shoal.study.trials import Trial, TrialResult
    from shoal.table.encode import Attribute, EncodedTable


NEARLY_ALL = 0.9
"""A column that has lost so much tells next to nothing."""
_MOST_ROWS = 5_000
"""Rows by which columns are compared with one another."""
_MANY_LEAVES, _WIDE = 200, 8
"""A hierarchy of so many values is wide if so many nodes or more become one at a step, on average:
then levels say little about values."""
_FEWER = 0.8
"""Another measure is worth naming if cells stand for this share of the values then, or less."""
_L, _T = 2, 0.3
"""The promises that are tried: two different values, and a distance of 0.3."""


@dataclass(frozen=True, kw_only=True)
class Advice:
    """What to do, and how.

    Attributes:
        sentence: in plain words.
        settings: what a job file says to have it, as in ``{"k": 5}`` or ``{"columns": {"age":
            {"grid": 5}}}``; promises under ``privacy`` are added to those there are. A hierarchy
            may be ``{"build": "frequency"}``: one that lists the values, by their frequency.
            Empty if no option does it.
        change: the kind of change that it recommends, one of `shoal.study.trials.KINDS`; empty if
            it recommends none.
    """

    sentence: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    change: str = ""


@dataclass(frozen=True, kw_only=True)
class ColumnFinding:
    """Something about columns of the unchanged run that its owner should know.

    Attributes:
        what: ``lost`` (nearly nothing is left), ``related`` (each follows from another of them),
            ``stretched`` (by outliers) or ``wide`` (a hierarchy of which more is given up than
            must be).
        columns: the columns it is about.
        sentence: the same in plain words.
        settings: what a job file says to have what the sentence recommends; see `Advice`.
        change: the kind of change that it recommends; see `Advice`.
    """

    what: Literal["lost", "related", "stretched", "wide"]
    columns: tuple[str, ...]
    sentence: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    change: str = ""


def further_trials(unchanged: Trial, before: TrialResult) -> list[Trial]:
    """Return runs with one more promise, and with another scale for each stretched column.

    And, where hierarchies are wide, one that minimises what is lost of their values.
    """
    start = replace(unchanged, schema=before.schema, base=before.table)
    return [
        *_promising(start, before.table),
        *_rescaling(start, before),
        *_by_leaves(start, before.table),
    ]


def _promising(start: Trial, table: EncodedTable) -> list[Trial]:
    from shoal.privacy.l_diversity import LDiversity
    from shoal.privacy.t_closeness import TCloseness

    if not table.sensitive:
        return []
    names = [column.name for column in table.sensitive]
    one = names[0] if len(names) == 1 else None
    asked = {type(model) for model in start.request.privacy}
    if one is None:
        diverse = Message(
            "Promising {l} different values of each sensitive column in every group", l=_L
        )
        close = Message(
            "Promising that each sensitive column is spread in every group as in the table, up to "
            "a distance of {t}",
            t=_T,
        )
    else:
        diverse = Message(
            "Promising {l} different values of {name!r} in every group", l=_L, name=one
        )
        close = Message(
            "Promising that {name!r} is spread in every group as in the table, up to a distance of "
            "{t}",
            name=one,
            t=_T,
        )
    doing = {LDiversity(_L, kind="distinct"): diverse, TCloseness(_T): close}
    return [
        replace(
            start,
            what="promise",
            doing=words,
            request=replace(start.request, privacy=(*start.request.privacy, model)),
            settings={"privacy": [model.to_dict()]},
        )
        for model, words in doing.items()
        if type(model) not in asked
    ]


def price_of(trial: Trial, cost: float | None) -> Advice:
    """Say what a further promise costs; None if no grouping keeps it."""
    if cost is None:
        return Advice(
            sentence=Message(
                "{doing} is not possible here: no grouping keeps it.", doing=trial.doing
            )
        )
    if cost < 0.0005:
        sentence = Message("{doing} would cost next to nothing.", doing=trial.doing)
    else:
        sentence = Message(
            "{doing} would cost {points:.1f} points of detail.",
            doing=trial.doing,
            points=100 * cost,
        )
    return Advice(sentence=sentence, settings=trial.settings, change=trial.what)


def _rescaling(start: Trial, before: TrialResult) -> list[Trial]:
    from shoal.table.schema import Schema

    trials = []
    for name in stretched(before):
        column = replace(start.schema[name], scale="rank")
        columns = tuple(column if each.name == name else each for each in start.schema.columns)
        trials.append(replace(start, what="scale", column=name, schema=Schema(columns)))
    return trials


def stretched(before: TrialResult) -> list[str]:
    """Return the columns that lose far more for their people than their range says."""
    return [
        name
        for name, loss in before.losses.items()
        if before.schema[name].scale == "range" and is_stretched(loss, before.covered.get(name))
    ]


def find_stretched(
    before: TrialResult, name: str, after: TrialResult | None, cost: float
) -> ColumnFinding:
    """Say that outliers stretch a column, and what counting people instead would do.

    Args:
        before: the unchanged run.
        name: the column.
        after: the run with the scale of ranks; None if it was not possible.
        cost: what that run costs in the other columns.
    """
    loss, covered = before.losses[name], before.covered[name]
    text = Message(
        "A few values far away stretch the range of {name!r}: its intervals are {loss:.0%} of the "
        "range but cover {covered:.0%} of the {who}.",
        name=name,
        loss=loss,
        covered=covered,
        who=Message("people") if before.schema.person is None else Message("rows"),
    )
    then = None if after is None else after.covered.get(name)
    if then is not None and cost >= 0.0005:
        text = Message(
            "{text} With the scale 'rank' they would cover {then:.0%}, and cost {points:.1f} "
            "points in the other columns.",
            text=text,
            then=then,
            points=100 * cost,
        )
    elif then is not None:
        text = Message(
            "{text} With the scale 'rank' they would cover {then:.0%}, and cost nothing in the "
            "other columns.",
            text=text,
            then=then,
        )
    if then is None:
        return ColumnFinding(what="stretched", columns=(name,), sentence=text)
    return ColumnFinding(
        what="stretched",
        columns=(name,),
        sentence=text,
        settings={"columns": {name: {"scale": "rank"}}},
        change="scale",
    )


def wide_trees(table: EncodedTable) -> tuple[str, ...]:
    """Return the columns whose hierarchies have many values below few levels."""
    trees = {a.name: a.taxonomy for a in table.attributes if a.taxonomy is not None}
    return tuple(
        name
        for name, tree in trees.items()
        if tree.n_leaves >= max(_MANY_LEAVES, _WIDE ** (len(tree.levels()) - 1))
    )


def _by_leaves(start: Trial, table: EncodedTable) -> list[Trial]:
    if start.request.measure != "ncp" or not wide_trees(table):
        return []
    request = replace(start.request, measure="lm", measure_options={})
    return [replace(start, what="measure", request=request, settings={"measure": "lm"})]


def find_wide(before: TrialResult, trial: Trial, after: TrialResult | None) -> list[ColumnFinding]:
    """Say of which hierarchies more is given up than must be, as levels are counted.

    Args:
        before: the unchanged run.
        trial: another one; others than that which minimises what is lost of the values say nothing.
        after: what it found; None if it was not possible.
    """
    if trial.what != "measure" or after is None:
        return []
    now, then = _leaves_lost(before), _leaves_lost(after)
    return [
        ColumnFinding(
            what="wide",
            columns=(name,),
            sentence=Message(
                "The loss counts levels, and the hierarchy of {name!r} has many values below each: "
                "its cells stand for {now:.1%} of the values on average. With the measure 'lm', "
                "which counts values, they would stand for {then:.1%}.",
                name=name,
                now=now[name],
                then=then[name],
            ),
            settings=trial.settings,
            change=trial.what,
        )
        for name in wide_trees(before.table)
        if then[name] <= _FEWER * now[name]
    ]


def _leaves_lost(measured: TrialResult) -> Mapping[str, float]:
    groups = Partition.from_labels(measured.labels)
    return score_table(measured.table, groups, ["lm"]).by_column["lm"]


def find_lost(losses: Mapping[str, float], best: Mapping[str, Advice]) -> list[ColumnFinding]:
    """Name the columns of which next to nothing is left.

    Args:
        losses: of the unchanged run.
        best: by column, the change that helps most, if any does.
    """
    nothing = Advice(sentence=Message("Nothing that was tried brings it back."))
    return [
        ColumnFinding(
            what="lost",
            columns=(name,),
            sentence=Message(
                "{name!r} is nearly all lost ({loss:.0%}): what is left of it tells next to "
                "nothing. {sentence}",
                name=name,
                loss=loss,
                sentence=best.get(name, nothing).sentence,
            ),
            settings=best.get(name, nothing).settings,
            change=best.get(name, nothing).change,
        )
        for name, loss in losses.items()
        if loss >= NEARLY_ALL
    ]


def find_relations(table: EncodedTable) -> list[tuple[str, ...]]:
    """Return the quasi-identifiers that follow from one another, in bunches."""
    rows = np.arange(table.n_rows)
    if table.n_rows > _MOST_ROWS:
        rows = np.linspace(0, table.n_rows - 1, _MOST_ROWS).astype(np.int64)
    attributes = table.attributes
    bunch = list(range(len(attributes)))
    for first in range(len(attributes)):
        for second in range(first):
            if bunch[first] != bunch[second] and _related(
                attributes[first], attributes[second], rows
            ):
                old, new = bunch[first], bunch[second]
                bunch = [new if each == old else each for each in bunch]
    found = []
    for number in dict.fromkeys(bunch):
        names = tuple(a.name for a, each in zip(attributes, bunch, strict=True) if each == number)
        if len(names) > 1:
            found.append(names)
    return found


def _related(first: Attribute, second: Attribute, rows: NDArray[np.int64]) -> bool:
    codes = [each.as_they_were[rows].astype(np.int64) for each in (first, second)]
    known = (first.codes[rows] != first.size) & (second.codes[rows] != second.size)
    if np.count_nonzero(known) < FEWEST_ROWS:
        return False
    one, other = (renumbered(each[known]) for each in codes)
    if follows(one, other) or follows(other, one):
        return True
    return (
        first.positions is not None
        and second.positions is not None
        and go_together(_ranks(one), _ranks(other))
    )


def _ranks(codes: NDArray[np.int64]) -> NDArray[Any]:
    counts = np.bincount(codes)
    ranks: NDArray[Any] = (np.cumsum(counts) - counts / 2)[codes]
    return ranks


def told_of_relations(names: Sequence[str], drop: Advice | None) -> ColumnFinding:
    """Say that columns follow from one another, and what dropping one of them gives back."""
    *first, last = (repr(name) for name in names)
    columns = Message("{first} and {last}", first=", ".join(first), last=last)
    advice = drop or Advice(
        sentence=Message("One of them is enough, though dropping another gives little back here.")
    )
    return ColumnFinding(
        what="related",
        columns=tuple(names),
        sentence=Message(
            "{columns} follow from one another: each tells what the others tell. {advice}",
            columns=columns,
            advice=advice.sentence,
        ),
        settings=advice.settings,
        change=advice.change,
    )
