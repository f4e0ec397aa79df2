"""`Release`: the published table and everything known about how it was made."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Self

from shoal.publish.verification_terms import grids_of

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    import numpy as np
    import polars as pl
    from numpy.typing import NDArray
    from typing_extensions import TypeVar

    from shoal.engine.pipeline import Result
    from shoal.io.atomic import AtomicGroup
    from shoal.measure.scores import Scores
    from shoal.privacy import PrivacyModel
    from shoal.publish.aggregates import Facts
    from shoal.publish.grid_check import GridPromise
    from shoal.publish.judgement import Judgement
    from shoal.publish.reader_view import ReaderView
    from shoal.publish.recode import Style
    from shoal.publish.verify import Verification
    from shoal.release.verified_write import Staged
    from shoal.report.advice import Explained
    from shoal.report.notebook import Plot, Summary
    from shoal.settings.request import Request
    from shoal.study.audit.attack_context import Audit
    from shoal.table.schema import Schema

    FrameT = TypeVar("FrameT", default=Any)
else:  # type checkers know a variable with a default before Python 3.13 does
    from typing import TypeVar

    FrameT = TypeVar("FrameT")


@dataclass(frozen=True, eq=False)
class Release(Generic[FrameT]):
    """A verified release.

    Attributes:
        frame: the published table, of the type that came in.
        groups: group of each *input* row, −1 if suppressed. Private: never publish it.
        scores: what was lost, by measure; ``scores.by_column`` breaks it down. Exact scores over
            the original can give rows away that were left out: hand `public_scores` on instead.
        verification: the promises, checked again from the published table alone.
        k: the promised size of the smallest group.
        n_rows: rows of the input.
        n_suppressed: rows of the input that are not published.
        parameters: everything that was asked for, never the seed.
        schema: roles and kinds of the columns.
        facts: aggregates for the report, told in published labels only.
        warnings: what the user should know although the run went on; from Python they are also
            issued as `ShoalWarning`.
        seconds: how long the run took.
        bound: a loss that no release can be below, in the measure that was minimised; None unless
            asked for with ``bound=True``.
        privacy: what was promised beyond k.
        grids: which columns promise to end on lines, as verification takes it.
        people: a number for the person of each *published* row where people were counted, else
            None. Private: never publish it.
        whose: where rows were counted, whether each is a different person: ``"declared"``,
            ``"assumed"``, or ``"doubtful"`` if ids or rows repeat.
        style: how generalised cells are written.
        asked: roles and kinds as they were said, without what grew from the rows.
        ids: whose each published row is, where `person` says it. Private: never publish it.
        key: under which people are kept. Private: never publish it.
        mark: random; tells it from any other release of the same people. Private.
        beside: marks of the earlier releases that it was made beside. Private.
        recoded: by column, the node of each group where whole columns are generalised alike.
    """

    frame: FrameT
    groups: NDArray[np.int64]
    scores: Scores
    verification: Verification
    k: int
    n_rows: int
    n_suppressed: int
    parameters: dict[str, Any]
    schema: Schema
    facts: Facts
    warnings: tuple[str, ...]
    seconds: float
    bound: float | None = None
    privacy: tuple[PrivacyModel, ...] = ()
    grids: tuple[GridPromise, ...] = ()
    people: NDArray[np.int64] | None = None
    whose: str = "assumed"
    style: Style | None = None
    asked: Schema | None = None
    ids: pl.Series | None = None
    key: bytes | None = None
    mark: str = ""
    beside: tuple[str, ...] = ()
    recoded: Mapping[str, NDArray[np.int32]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        result: Result[Any, Any],
        request: Request,
        *,
        parameters: Mapping[str, Any] | None = None,
        **made: Any,
    ) -> Self:
        """Return what a run has made, as a release.

        Args:
            result: of the pipeline.
            request: what was asked.
            parameters: what is told beside it, as how the input was read.
            made: the other attributes: frame, groups, ….
        """
        found = result.measured
        weights = {c.name: c.weight for c in found.schema.columns if c.weight != 1.0}
        return cls(
            scores=found.scores,
            verification=result.verification,
            k=request.k,
            n_rows=found.n_rows,
            n_suppressed=found.n_suppressed,
            parameters={**request.parameters(), "weights": weights, **(parameters or {})},
            schema=found.schema,
            facts=found.facts,
            warnings=result.warnings,
            seconds=result.seconds,
            bound=found.bound,
            privacy=request.privacy,
            grids=grids_of(found.schema, request.style),
            style=request.style,
            **made,
        )

    @property
    def n_groups(self) -> int:
        """How many groups a reader of the release can tell apart: the one count of groups.

        Two groups of the search that publish the same cells are one to every reader, so ``groups``
        may hold more labels than this.
        """
        return self.verification.n_groups

    @property
    def n_published(self) -> int:
        """Rows of the published table."""
        return self.n_rows - self.n_suppressed

    @property
    def counts_people(self) -> bool:
        """Whether the promises count people, and not rows."""
        return self.verification.fewest_people is not None

    @cached_property
    def reader_view(self) -> ReaderView:
        """What a reader of the published table sees, counted once."""
        from shoal.publish.reader_view import view_in_table
        from shoal.table.frames import to_polars

        return view_in_table(to_polars(self.frame), self.schema, self.people)

    @property
    def judgement(self) -> Judgement:
        """``"green"``, ``"amber"`` or ``"red"``, with ``.sentence`` and ``.open``.

        Green: every promise holds, no sensitive value is known for more than one per cent of the
        rows, the columns that are published as they are together single out less than five per
        cent, and nothing else was found. Amber: every promise holds and something is open, which
        ``open`` names with its number. Red: a promise is broken.
        """
        from shoal.publish.judgement import Counted, judge

        seen, people = self.reader_view, self.counts_people
        counted = Counted(
            n_rows=self.n_published,
            known={facts.name: facts.certain_rows for facts in seen.sensitive},
            exact=self.schema.exact,
            alone=seen.alone,
            who="rows" if people or self.whose == "doubtful" else "people",
            with_ids=people,
        )
        broken = [check.name for check in self.verification.checks if not check.holds]
        return judge(broken, counted, self.warnings)

    @property
    def gap(self) -> float | None:
        """How many times the best possible loss this release has at most: loss ÷ bound.

        None without a bound, infinite where the bound is 0 and the loss is not.
        """
        if self.bound is None:
            return None
        from shoal.search.bound import gap_of

        return gap_of(self.scores[str(self.parameters["measure"])], self.bound)

    @property
    def kept_loss(self) -> float:
        """What the published rows lose, as ``ncp``; rows that were left out do not count."""
        lost = self.scores["ncp"] * self.n_rows - self.n_suppressed
        return max(lost / max(self.n_published, 1), 0.0)

    @property
    def public_scores(self) -> Scores:
        """What was lost, as far as the published table tells it; this may be handed on.

        ``scores`` compares with the original and belongs to the holder of the data.
        """
        return self.facts.scores

    def summary(self) -> Summary:
        """Return what was promised, kept and lost, as text; a notebook shows it as a table.

        It says what the published table tells by itself, so it may be handed on; no cell is in it.
        """
        from shoal.report.notebook import Summary

        return Summary.of(self)

    def plot(self) -> Plot:
        """Return pictures for a notebook: what each column lost, and how large the groups are.

        They show what the published table tells by itself. ``release.plot().save("plot.html")``
        keeps them as a page.
        """
        from shoal.report.notebook import Plot

        return Plot.of(self)

    def write(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,  # noqa: A002 - the name users know from the command line
        delimiter: str | None = None,
        if_exists: str = "fail",
        escape_formulas: bool = False,
    ) -> Release[FrameT]:
        """Write the published table, but only if it keeps its promises in the file.

        A file is not a frame: an empty text and a null are one cell in CSV, and Excel rounds
        numbers. So the bytes are read back, as any reader of the format would, and every promise
        is verified on them before the file appears (or a transaction is committed). The previous
        file is replaced in one step.

        Args:
            path: the file, by its suffix in any format of `shoal.write_table`, or the URL of a
                table of a database.
            format: the format when the suffix does not say it.
            delimiter: of a CSV; a comma (a tab for TSV) unless given.
            if_exists: what to do if the table of a database exists: ``fail`` or ``replace``.
            escape_formulas: whether texts of a CSV that a spreadsheet would run get an apostrophe.

        Returns:
            The release with the verification of what was written, for its certificate and
            report.

        Raises:
            PromiseError: the file would not keep the promises; nothing is written.
            DataError: the file or table cannot be written, or cannot hold the release.
        """
        from shoal.release.verified_write import write_release

        return write_release(
            self,
            path,
            format=format,
            delimiter=delimiter,
            if_exists=if_exists,
            escape_formulas=escape_formulas,
        )

    def stage(
        self,
        group: AtomicGroup,
        target: str | os.PathLike[str],
        *,
        format: str | None = None,  # noqa: A002 - the name users know
        delimiter: str | None = None,
        if_exists: str = "fail",
        escape_formulas: bool = False,
    ) -> Staged:
        """Write the release beside its place, read it back and verify it there.

        It appears together with the other files of the group, when all of them are complete.

        Args:
            group: the files it appears with.
            target: where it will appear.
            format: as in `write`.
            delimiter: as in `write`.
            if_exists: as in `write`.
            escape_formulas: as in `write`.

        Returns:
            The release with the verification of what was written.

        Raises:
            PromiseError: what was written does not keep the promises.
            DataError: it cannot be written.
        """
        from shoal.release.verified_write import stage_release

        return stage_release(
            group,
            self,
            target,
            format=format,
            delimiter=delimiter,
            if_exists=if_exists,
            escape_formulas=escape_formulas,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Keep what further rows and later releases need, in a file; `shoal.load_release` reads it.

        The file holds the schema, the hierarchies as you gave them, the published cells with
        their counts, the promises and the options; no row of the input, no seed, no order. Where
        `person` says whose rows they are, a second file ``PATH.people`` is written with it: who
        is in which group, under a key. That one is private and stays with the holder of the data.

        Args:
            path: the file; it appears whole or not at all, and replaces one that is there.

        Raises:
            DataError: it cannot be written, or a column is of a type that it does not hold.
        """
        from shoal.archive.kept import keep
        from shoal.archive.release_file import write_kept

        write_kept(keep(self), path)

    def cells_of(self, name: str) -> pl.DataFrame:
        """Return the published cells of a quasi-identifier: of its column, or of both bounds."""
        from shoal.publish.cells import columns_needed
        from shoal.table.frames import to_polars

        table = to_polars(self.frame)
        return table.select(columns_needed(table.columns, [name]))

    def certificate(
        self,
        *,
        input_hmac: str | None = None,
        output_sha256: str | None = None,
        title: str | None = None,
        owner: str | None = None,
        purpose: str | None = None,
    ) -> dict[str, Any]:
        """Return what was promised and measured, ready for JSON; no seed, no value of the input.

        Of columns that a grid holds at a level or in steps of words it lists the labels that the
        published cells show.

        Args:
            input_hmac: keyed hash of the input, as `shoal.keyed_sha256` returns it.
            output_sha256: hash of the published file.
            title: what the release is called.
            owner: who answers for it.
            purpose: what it is published for.
        """
        from shoal.report.certificate import build_certificate
        from shoal.settings.files import About

        about = About(title=title, owner=owner, purpose=purpose)
        return build_certificate(self, input_hmac, output_sha256, about)

    def audit(
        self,
        original: Any,
        *,
        population: Any = None,
        control: Any = None,
        second: Any = None,
        targets: int = 1000,
        seed: int = 0,
    ) -> Audit:
        """Attack this release with the original in hand, and say how far each attacker gets.

        A release keeps no row of the table it was made from, so the table is handed in.

        Args:
            original: the table that the release was made from.
            population: a table of everybody who could be in it; for the journalist.
            control: a table of people who are not in it, with the same columns.
            second: another release of these people, or its table.
            targets: how many people are attacked; all if there are no more.
            seed: makes the choice of people and guesses repeatable.

        Raises:
            DataError: the release cannot have been made from this table.
            OptionError: an option is wrong, or a table lacks a column.
        """
        from shoal.publish.recode import Style
        from shoal.study.audit.run import audit_of_release

        other = second.frame if isinstance(second, Release) else second
        return audit_of_release(
            original,
            self.frame,
            self.schema,
            self.style or Style(),
            population=population,
            control=control,
            second=other,
            targets=targets,
            seed=seed,
        )

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        explanation: Explained | None = None,
        audit: Audit | None = None,
        sampling_fraction: float | None = None,
        title: str | None = None,
        owner: str | None = None,
        purpose: str | None = None,
    ) -> None:
        """Write a self-contained HTML page about the release.

        Args:
            path: the file; it appears whole or not at all.
            explanation: measured advice (of `shoal.explain`), which becomes a section.
            audit: attacks on the release (of `audit`), which become a section; it is for those
                who make the release.
            sampling_fraction: share of the population that is in the table, if known; some of
                the risks depend on it.
            title: what the release is called.
            owner: who answers for it.
            purpose: what it is published for.

        Raises:
            OptionError: the fraction is not above 0 and at most 1, or a text cannot be printed.
        """
        from shoal.report.page import write_report
        from shoal.settings.files import About

        write_report(
            self,
            path,
            explanation=explanation,
            audit=audit,
            sampling_fraction=sampling_fraction,
            about=About(title=title, owner=owner, purpose=purpose),
        )

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the summary, no cell."""
        return self.summary()._repr_html_()

    def __repr__(self) -> str:
        """Return one line without any cell."""
        number = len(self.warnings)
        notes = f", {number} warning{'' if number == 1 else 's'}" if number else ""
        return (
            f"<Release k={self.k}: {self.n_published} rows in {self.n_groups} groups, "
            f"{self.n_suppressed} suppressed, ncp {self.scores['ncp']:.4f}{notes}>"
        )
