"""The line from a table to a verified release, read from top to bottom, and its stages.

Every stage is a method of an `Engine`; which one it is, is not known here. What goes from one
stage to the next is the engine's own: codes in memory, or a table in a cluster. An engine is told
nothing about algorithms (it hands rows to one), an algorithm nothing about engines. How the rows
are grouped on one machine is `form_groups` in `shoal.engine.grouping`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

from shoal.errors import PromiseError
from shoal.messages import Message
from shoal.runtime.progress import Report, Stopwatch, no_progress
from shoal.runtime.threads import check_process

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shoal.measure.scores import Scores
    from shoal.publish.aggregates import Facts
    from shoal.publish.judgement import Doubt
    from shoal.publish.verify import Verification
    from shoal.settings.request import Request
    from shoal.table.schema import Schema

Table = TypeVar("Table")
Work = TypeVar("Work")
Groups = TypeVar("Groups")
Published = TypeVar("Published")


class Task(NamedTuple, Generic[Table]):
    """What an engine begins with: a table as it takes it, what its columns are, and what is asked.

    Warnings and progress are told to ``warn`` and ``progress``.
    """

    table: Table
    schema: Schema
    request: Request
    warn: Callable[[str], None]
    progress: Report = no_progress


class Measured(NamedTuple):
    """What is known about a finished release.

    Attributes:
        schema: roles and kinds of the columns.
        n_rows: rows of the input.
        n_groups: number of groups.
        n_suppressed: rows that are not published.
        scores: what was lost.
        facts: aggregates for the report.
        bound: a loss that no release can be below, if asked for.
    """

    schema: Schema
    n_rows: int
    n_groups: int
    n_suppressed: int
    scores: Scores
    facts: Facts
    bound: float | None


class Engine(Protocol[Table, Work, Groups, Published]):
    """Where a run happens. Every method is one stage.

    What every engine guarantees: the result depends on the rows, the request and its seed, not on
    how many workers there are or which of them is first; every row is in exactly one group or
    suppressed; promises that look at the whole table are judged against the whole table in the
    end.

    Type variables: a table as the engine takes it, a table that was described (its columns, the
    rows that take part, what is asked), the group of every row, the table to be published.
    """

    def describe(self, task: Task[Table]) -> Work:
        """Find out what the columns are, which rows take part, and whether it can be done at all.

        Raises:
            DataError: the table cannot be used.
            PromiseError: not even one group of all rows keeps the promises.
        """

    def group(self, work: Work) -> Groups:
        """Put every row into a group or leave it out, so that groups keep the promises.

        Large tables are cut into parts of similar rows, which the algorithm clusters one by one;
        groups that break a promise are merged, and the loss is lowered across the parts.

        Raises:
            OptionError: parts were asked for and the algorithm needs the whole table.
            PromiseError: the promises cannot be kept.
        """

    def find_dangers(self, work: Work, groups: Groups) -> list[Doubt]:
        """Return a sentence for each published column that can undo the release."""

    def publish(self, work: Work, groups: Groups) -> Published:
        """Return the published table: cells that the rows of a group share, in an order of its own.

        Raises:
            DataError: its rows are not those that were described.
        """

    def verify(self, work: Work, published: Published) -> Verification:
        """Check every promise again, from the published table alone."""

    def measure(self, work: Work, groups: Groups, published: Published) -> Measured:
        """Return what was lost and what the report needs."""


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
    check_notes(notes, strict=request.strict)

    progress(0, 0, "encoding")
    work = engine.describe(Task(table, schema, request, notes.append, progress))
    check_notes(notes, strict=request.strict)
    groups = engine.group(work)
    progress(0, 0, "publishing")
    notes += engine.find_dangers(work, groups)
    check_notes(notes, strict=request.strict)
    published = engine.publish(work, groups)
    progress(0, 0, "verifying")
    verification = engine.verify(work, published)
    _check_promises(verification)
    notes += verification.notes
    check_notes(notes, strict=request.strict)
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


def check_notes(notes: Sequence[str], *, strict: bool) -> None:
    """Raise a PromiseError if there are warnings and a release may have none."""
    if notes and strict:
        rest = len(notes) - 1
        raise PromiseError(
            "The release would come with a warning, so with strict it is not made: {note}{more}",
            note=notes[0],
            more=Message(" ({n} more of the kind.)", n=rest) if rest else "",
        )
