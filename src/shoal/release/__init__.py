"""`Release`: what a run returns, to be looked at, written, kept and attacked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, Unpack

from shoal.publish.release_data import FrameT, HowWritten, ReleaseData
from shoal.publish.verification_terms import grids_of

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from shoal.engine.pipeline import Result
    from shoal.io.atomic import AtomicGroup
    from shoal.publish.release_data import Staged
    from shoal.report.advice import Explained
    from shoal.report.notebook import Plot, Summary
    from shoal.runtime.notebook import Page
    from shoal.settings.request import Request
    from shoal.study.audit.attack_context import Audit


@dataclass(frozen=True, eq=False)
class Release(ReleaseData[FrameT]):
    """A verified release: what `shoal.anonymize` returns.

    ``frame`` is the published table; everything else that is known about it is an attribute of
    `shoal.publish.release_data.ReleaseData`. It can be looked at, written, kept and attacked.
    """

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
    ) -> Self:
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
        from shoal.io.atomic import AtomicGroup

        with AtomicGroup() as group:
            staged = self.stage(
                group,
                path,
                format=format,
                delimiter=delimiter,
                if_exists=if_exists,
                escape_formulas=escape_formulas,
            )
        return staged.release

    def stage(
        self,
        group: AtomicGroup,
        target: str | os.PathLike[str],
        **how: Unpack[HowWritten],
    ) -> Staged[Self]:
        """Write the release beside its place, read it back and verify it there.

        It appears together with the other files of the group, when all of them are complete.

        Args:
            group: the files it appears with.
            target: where it will appear.
            how: as in `write`.

        Returns:
            The release with the verification of what was written.

        Raises:
            PromiseError: what was written does not keep the promises.
            DataError: it cannot be written.
        """
        from shoal.release.verified_write import stage_release

        return stage_release(group, self, target, **how)

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
        from shoal.publish.limited import limited_of
        from shoal.publish.recode import Style
        from shoal.study.audit import audit_of_release

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
            limited=limited_of(
                self.parameters.get("knows"), self.parameters.get("combinations") or ()
            ),
        )

    def report(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        explanation: Explained | None = None,
        audit: Audit | None = None,
        sampling_fraction: float | None = None,
        title: str | None = None,
        owner: str | None = None,
        purpose: str | None = None,
        language: str = "en",
    ) -> Page | None:
        """Write a self-contained HTML page about the release.

        Args:
            path: the file; it appears whole or not at all. Without one the page is returned, and a
                notebook shows it.
            explanation: measured advice (of `shoal.explain`), which becomes a section.
            audit: attacks on the release (of `audit`), which become a section; it is for those
                who make the release.
            sampling_fraction: share of the population that is in the table, if known; some of
                the risks depend on it.
            title: what the release is called.
            owner: who answers for it.
            purpose: what it is published for.
            language: of the page, as ``"en"`` or ``"de"``; names and cells stay as they are.

        Raises:
            OptionError: the fraction is not above 0 and at most 1, a text cannot be printed, or
                the language is not known.
        """
        from shoal.io.atomic import atomic_write_text
        from shoal.report.page import render_report
        from shoal.runtime.notebook import Page
        from shoal.settings.files import About

        page = render_report(
            self,
            explanation=explanation,
            audit=audit,
            sampling_fraction=sampling_fraction,
            about=About(title=title, owner=owner, purpose=purpose),
            language=language,
        )
        if path is None:
            return Page(page)
        atomic_write_text(path, page)
        return None

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
