"""What an engine is: the stages of a run, and nothing about algorithms or files.

`shoal.engine.pipeline` calls the stages in the order in which they stand here. What goes from one
stage to the next is the engine's own: codes in memory, or the name of a table in a cluster. An
engine is told nothing about algorithms (it hands its parts to one), an algorithm nothing about
engines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from shoal.runtime.progress import Report, no_progress

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from shoal.measure.scores import Scores
    from shoal.publish.aggregates import Facts
    from shoal.publish.judgement import Doubt
    from shoal.publish.verify import Verification
    from shoal.search.refine import Effort
    from shoal.settings.request import Request
    from shoal.table.schema import Schema


Work = Any
"""A table that was described: its columns, the rows that take part, what is asked."""
Parts = Any
"""Rows that are clustered together."""
Groups = Any
"""The group of every row that takes part."""
Published = Any
"""The table to be published."""


class Measured(NamedTuple):
    """What is known about a finished release.

    Attributes:
        schema: roles and kinds of the columns.
        groups: of all rows of the input, as the engine keeps them (a `Partition` in memory).
        n_rows: rows of the input.
        n_groups: number of groups.
        n_suppressed: rows that are not published.
        scores: what was lost.
        facts: aggregates for the report.
        bound: a loss that no release can be below, if asked for.
    """

    schema: Schema
    groups: Any
    n_rows: int
    n_groups: int
    n_suppressed: int
    scores: Scores
    facts: Facts
    bound: float | None


class Engine(Protocol):
    """Where a run happens. Every method is one stage.

    What every engine guarantees: the result depends on the rows, the request and its seed, not on
    how many workers there are or which of them is first; every row is in exactly one group or
    suppressed; promises that look at the whole table are judged against the whole table in the
    end.
    """

    def describe(
        self,
        table: Any,
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

    def cut(self, work: Work) -> Parts:
        """Cut the table into parts of similar rows; a small table is one part.

        Raises:
            OptionError: parts were asked for and the algorithm needs the whole table.
        """

    def cluster(self, work: Work, parts: Parts) -> Groups:
        """Let the algorithm form groups in every part."""

    def enforce(self, work: Work, groups: Groups, parts: Parts | None = None) -> Groups:
        """Merge groups that break a promise: within each part, or within the whole table."""

    def refine(
        self, work: Work, groups: Groups, parts: Parts | None = None, effort: Effort | None = None
    ) -> Groups:
        """Lower the loss, across the seams of the parts.

        Args:
            work: the table.
            groups: which groups.
            parts: where the seams are; None for groups that were made elsewhere.
            effort: how hard to try; what the request and the algorithm say unless given.
        """

    def given(self, work: Work, labels: Any) -> Groups:
        """Return groups that were made elsewhere.

        Raises:
            DataError: they suppress every row.
        """

    def count_broken(self, work: Work, groups: Groups) -> tuple[int, int]:
        """Return how many groups break a promise, and how many there are."""

    def thin_out(self, work: Work, groups: Groups, regroup: Callable[[Work], Groups]) -> Groups:
        """Leave rows out as far as that is allowed and makes the others lose less.

        Args:
            work: the table.
            groups: of all rows.
            regroup: forms the groups of what is left.
        """

    def publish(self, work: Work, groups: Groups) -> Published:
        """Return the published table."""

    def find_dangers(self, work: Work, groups: Groups) -> list[Doubt]:
        """Return a sentence for each published column that can undo the release."""

    def verify(self, work: Work, published: Published) -> Verification:
        """Check every promise again, from the published table alone."""

    def measure(self, work: Work, groups: Groups, published: Published) -> Measured:
        """Return what was lost and what the report needs."""

    def seen(self, release: Any) -> Any:
        """Return what a reader of the published table sees (`facts.reader_view.ReaderView`)."""

    def write(
        self,
        group: Any,
        release: Any,
        target: str | os.PathLike[str],
        *,
        format: str | None = None,  # noqa: A002 - the name users know
        delimiter: str | None = None,
        if_exists: str = "fail",
        escape_formulas: bool = False,
    ) -> Any:
        """Write the release beside its place, read it back and verify it there.

        It appears together with the other files of the group, when all of them are complete.

        Args:
            group: the `shoal.io.atomic.AtomicGroup` it appears with.
            release: the `shoal.Release`.
            target: where it will appear.
            format: as in `Release.write`.
            delimiter: as in `Release.write`.
            if_exists: as in `Release.write`.
            escape_formulas: as in `Release.write`.

        Returns:
            A `Staged`: the release with the verification of what was written.

        Raises:
            PromiseError: what was written does not keep the promises.
            DataError: it cannot be written.
        """
