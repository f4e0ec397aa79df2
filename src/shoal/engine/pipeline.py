"""The line from a table to a verified release, read from top to bottom.

Every stage is a method of an engine (`shoal.engine.base`); which one it is, is not known here. How
the rows are grouped on one machine is `form_groups` in `shoal.engine.local`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic

from shoal.engine.base import Groups, Published, Table, Work
from shoal.errors import PromiseError
from shoal.messages import Message
from shoal.runtime.progress import Report, Stopwatch, no_progress
from shoal.runtime.threads import check_process

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shoal.engine.base import Engine, Measured
    from shoal.publish.verify import Verification
    from shoal.settings.request import Request
    from shoal.table.schema import Schema


@dataclass(frozen=True, eq=False)
class Result(Generic[Groups, Published]):
    """What the line produces.

    Attributes:
        groups: of all rows of the input, as the engine keeps them.
        published: the published table, as the engine keeps it.
        verification: what that table keeps of what was promised.
        measured: what was lost, and aggregates for the report.
        warnings: what the user should know.
        seconds: how long it took.
    """

    groups: Groups
    published: Published
    verification: Verification
    measured: Measured
    warnings: tuple[str, ...]
    seconds: float


def run_pipeline(
    table: Table,
    schema: Schema,
    request: Request,
    engine: Engine[Table, Work, Groups, Published],
    *,
    notes: Sequence[str] = (),
    progress: Report = no_progress,
) -> Result[Groups, Published]:
    """Take a table to a verified release.

    Args:
        table: the table, as the engine takes it.
        schema: what its columns are.
        request: what to do.
        engine: where to do it.
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
    groups = engine.group(work)
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
        groups=groups,
        published=published,
        verification=verification,
        measured=measured,
        warnings=tuple(dict.fromkeys(notes)),
        seconds=watch.seconds(),
    )


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
