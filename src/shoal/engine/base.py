"""What an engine is: the stages of a run, and nothing about algorithms or files.

`shoal.engine.pipeline` calls the stages in the order in which they stand here. What goes from one
stage to the next is the engine's own: codes in memory, or a table in a cluster. An engine is told
nothing about algorithms (it hands rows to one), an algorithm nothing about engines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from shoal.runtime.progress import Report, no_progress

if TYPE_CHECKING:
    from collections.abc import Callable

    from shoal.measure.scores import Scores
    from shoal.publish.aggregates import Facts
    from shoal.publish.judgement import Doubt
    from shoal.publish.verify import Verification
    from shoal.settings.request import Request
    from shoal.table.schema import Schema


Table = TypeVar("Table", contravariant=True)  # noqa: PLC0105 - what it is, not how it varies
Work = TypeVar("Work")
Groups = TypeVar("Groups")
Published = TypeVar("Published")


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

    def describe(
        self,
        table: Table,
        schema: Schema,
        request: Request,
        warn: Callable[[str], None],
        progress: Report = no_progress,
    ) -> Work:
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
