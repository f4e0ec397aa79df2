"""The line from a table to a verified release, read from top to bottom.

Every stage is a method of an engine (`shoal.engine.base`); which one it is, is not known here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from shoal.errors import PromiseError
from shoal.messages import Message
from shoal.runtime.progress import Report, Stopwatch, no_progress
from shoal.runtime.threads import check_process
from shoal.search.refine import EFFORTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shoal.engine.base import Engine, Groups, Measured, Published, Work
    from shoal.publish.verify import Verification
    from shoal.settings.request import Request
    from shoal.table.schema import Schema


MANY = 1_000_000


@dataclass(frozen=True, eq=False)
class Result:
    """What the line produces."""

    published: Published
    verification: Verification
    measured: Measured
    warnings: tuple[str, ...]
    seconds: float


def run_pipeline(
    table: Any,
    schema: Schema,
    request: Request,
    engine: Engine,
    *,
    start: Any = None,
    notes: Sequence[str] = (),
    progress: Report = no_progress,
) -> Result:
    """Take a table to a verified release.

    Args:
        table: the table, as the engine takes it.
        schema: what its columns are.
        request: what to do.
        engine: where to do it.
        start: group of every row, negative if suppressed; refined instead of running the
            algorithm.
        notes: what the user should know already before the run.
        progress: told how far it is.

    Raises:
        ShoalError: the input or an option is wrong, or the promise cannot be kept.
    """
    check_process()
    watch = Stopwatch()
    notes = [*notes]
    _check_notes(notes, request)

    progress(0, 0, "encoding")
    work = engine.describe(table, schema, request, notes.append, progress)
    _check_notes(notes, request)
    if start is None:
        groups = engine.thin_out(work, form_groups(engine, work), lambda w: form_groups(engine, w))
    else:
        groups = _refine_given(engine, work, engine.given(work, start), request, notes)

    progress(0, 0, "publishing")
    notes += engine.find_dangers(work, groups)
    _check_notes(notes, request)
    published = engine.publish(work, groups)
    progress(0, 0, "verifying")
    verification = engine.verify(work, published)
    _check_promises(verification)
    notes += verification.notes
    _check_notes(notes, request)
    progress(0, 0, "scoring")
    measured = engine.measure(work, groups, published)
    progress(measured.n_rows, measured.n_rows, "done")
    return Result(
        published=published,
        verification=verification,
        measured=measured,
        warnings=tuple(dict.fromkeys(notes)),
        seconds=watch.seconds(),
    )


def form_groups(engine: Engine, work: Work) -> Groups:
    """Cluster the table in parts, keep the promises, and lower the loss across the parts."""
    parts = engine.cut(work)
    groups = engine.cluster(work, parts)
    groups = engine.enforce(work, groups, parts)
    groups = engine.refine(work, groups, parts)
    # parts keep promises against their own rows; against the whole table they may not
    return engine.enforce(work, groups)


def _refine_given(
    engine: Engine, work: Work, groups: Groups, request: Request, notes: list[str]
) -> Groups:
    """Refine groups that were made elsewhere; those that break a promise are merged first."""
    broken, n_groups = engine.count_broken(work, groups)
    if broken:
        notes.append(
            Message(
                "{broken} of the {n_groups} given groups break a promise and were merged with "
                "others.",
                broken=broken,
                n_groups=n_groups,
            )
        )
    groups = engine.enforce(work, groups)
    effort = replace(EFFORTS[request.effort], seconds=request.seconds, keep_on_interrupt=True)
    if request.sweeps is not None:
        effort = replace(effort, sweeps=request.sweeps, hot=(0, 0), renewals=0)
        effort = replace(effort, rounds=1, min_gain=0.0)
    elif request.seconds is not None:  # as long as there is time and anything is gained
        effort = replace(effort, sweeps=MANY, rounds=MANY, min_gain=0.0)
    return engine.refine(work, groups, effort=effort)


def _check_promises(verification: Verification) -> None:
    if not verification.holds:
        raise PromiseError(
            "The release does not keep its promise, so it is not written: {broken}",
            broken=verification.broken(),
        )


def _check_notes(notes: list[str], request: Request) -> None:
    if notes and request.strict:
        rest = len(notes) - 1
        raise PromiseError(
            "The release would come with a warning, so with strict it is not made: {note}{more}",
            note=notes[0],
            more=Message(" ({n} more of the kind.)", n=rest) if rest else "",
        )
