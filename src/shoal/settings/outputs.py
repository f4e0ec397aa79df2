"""The files of a run: checked before the work begins, written together or not at all."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from shoal.errors import DataError, OptionError
from shoal.report.about import About
from shoal.settings.files import OUTPUT_OPTIONS, Input, Output

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import polars as pl

    from shoal.io import AtomicGroup
    from shoal.io.several import Sources
    from shoal.release import Release
    from shoal.report.advice import Explained
    from shoal.study.audit.findings import Audit

__all__ = ["STREAM", "Outputs", "check_files", "format_of_output", "name_of"]

STREAM = "-"


@dataclass(frozen=True, kw_only=True)
class Outputs(Output):
    """Where the release, its certificate and its report go; what follows from the input is known.

    Attributes:
        source: the input, a file or a database; None if there is none.
        table: the published table; ``-`` is standard output.
        delimiter: of the table, if it is a CSV.
        more: further files of the input.
    """

    source: str | None
    table: str
    delimiter: str | None = None
    more: tuple[str, ...] = ()

    @classmethod
    def of(cls, source: Input, output: Output) -> Self:
        """Return the outputs of a run with this input.

        Raises:
            OptionError: no place is given for the table.
        """
        if output.table is None:
            raise OptionError(
                "Say where the release goes: -o safe.csv (-o - for a stream), or "
                'table = "safe.csv" under [output] of the job file.'
            )
        said = {name: getattr(output, name) for name in OUTPUT_OPTIONS}
        said["format"] = format_of_output(output.table, output.format, source.format)
        return cls(source=source.path, more=source.more, delimiter=source.delimiter, **said)

    @property
    def files(self) -> dict[str, str]:
        """What is written, by name: the table, and the certificate and report if wanted."""
        named = {
            "table": self.table,
            "certificate": self.certificate,
            "report": self.report,
            "kept": self.save,
        }
        return {name: path for name, path in named.items() if path is not None}

    @property
    def named(self) -> dict[str, str]:
        """What table and certificate are called where they are named without their folders."""
        from shoal.io import is_database, shown_name

        return {
            name: shown_name(path) if is_database(path) else Path(path).name
            for name, path in self.files.items()
            if path != STREAM
        }

    @property
    def _choice(self) -> str:
        return "replace" if self.replaces else "fail"

    @property
    def to_stream(self) -> bool:
        """Whether standard output receives something."""
        return STREAM in self.files.values()

    def check(self) -> None:
        """Find out before the work what would fail after it.

        Raises:
            OptionError: two outputs, or an output and the input, are the same file, or something
                is given for a report that is not wanted.
            DataError: a folder does not exist, or the table's format is not known.
        """
        from shoal.io import detect_format, is_database
        from shoal.io.location import refuse_almost_url

        if is_database(self.table):
            self._check_database()
        else:
            refuse_almost_url(self.table)
            detect_format(self.table, self.format)
        self._check_report()
        self._check_secret()
        self._check_save()
        check_files(
            None if self.source is None else (self.source, *self.more),
            {
                "the table": None if is_database(self.table) else self.table,
                "the certificate": self.certificate,
                "the report": self.report,
                "the release file": self.save,
                "its private half": self._private_half,
                "the log": self.log,
            },
        )
        self.refuse_existing()

    def refuse_existing(self) -> None:
        """Keep files that exist, unless they are to be replaced.

        Raises:
            OptionError: one exists.
        """
        from shoal.io import is_database

        private = self._private_half
        wanted = [*self.files.values(), *([] if private is None else [private])]
        for path in () if self.replaces else wanted:
            # A pipe or a device is written to, not replaced.
            if path != STREAM and not is_database(path) and Path(path).is_file():
                raise OptionError(
                    f"{path!r} exists; give another name, or --replace (replace = true under "
                    "[output] of the job file) to replace it."
                )

    @property
    def _private_half(self) -> str | None:
        """Where it is kept who is in which group, if that is asked for."""
        if self.save is None:
            return None
        from shoal.life.file import people_path

        return people_path(self.save)

    def _check_save(self) -> None:
        if self.save == STREAM:
            raise OptionError("--save keeps the release in a file; name one, as in release.shoal.")

    def _check_database(self) -> None:
        from shoal.io import is_database, shown_name
        from shoal.io.sql import check_target, reads_table

        check_target(self.table, self._choice)
        source = self.source
        if source is not None and is_database(source) and reads_table(source, self.table):
            raise OptionError(
                f"The table and the input would be the same, {shown_name(source)!r}. "
                "Give each its own."
            )

    def write(
        self, release: Release, input_hmac: str | None = None, audit: Audit | None = None
    ) -> Release:
        """Write the files and the table; they appear together or not at all.

        Args:
            release: what is written.
            input_hmac: keyed hash of the input, if there is one.
            audit: attacks on the release, for the report.

        Returns:
            The release with the verification of the table that was written.

        Raises:
            PromiseError: the written table does not keep its promises; nothing appears.
        """
        from shoal.io import AtomicGroup
        from shoal.io.text_codes import decode_text
        from shoal.life.file import stage_kept
        from shoal.life.kept import keep
        from shoal.report.certificate import build_certificate, format_certificate
        from shoal.report.html import render_report

        with AtomicGroup() as group:
            self.refuse_existing()  # nobody may have put one there meanwhile
            release, output_sha256 = self._stage(group, release)
            if self.certificate is not None:
                certificate = build_certificate(
                    release, input_hmac=input_hmac, output_sha256=output_sha256, about=self.about
                )
                group.add(self.certificate, format_certificate(certificate))
            if self.report is not None:
                page = render_report(
                    replace(release, frame=decode_text(release.frame)),
                    explanation=self._explanation(),
                    audit=audit,
                    sampling_fraction=self.sampling_fraction,
                    input_hmac=input_hmac,
                    output_sha256=output_sha256,
                    about=self.about,
                    files=self.named,
                )
                group.add(self.report, page)
            if self.save is not None:
                stage_kept(group, keep(release), self.save)
        return release

    @property
    def about(self) -> About:
        """What the owner says about the release."""
        return About(title=self.title, owner=self.owner, purpose=self.purpose)

    def _explanation(self) -> Explained | None:
        from shoal.report.advice import read_explanation

        return None if self.explanation is None else read_explanation(self.explanation)

    def _check_report(self) -> None:
        from shoal.report.risk import check_fraction

        check_fraction(self.sampling_fraction)
        given = {"--explanation": self.explanation, "--sampling-fraction": self.sampling_fraction}
        for option, value in given.items():
            if value is not None and self.report is None:
                raise OptionError(f"{option} is for the report; ask for one with --report FILE.")
        self._explanation()
        if self.about != About() and self.report is None and self.certificate is None:
            raise OptionError(
                "--title, --owner and --purpose are for the report and the certificate; ask for "
                "one with --report FILE or --certificate FILE."
            )

    def _check_secret(self) -> None:
        from shoal.io.overwrite_guard import note_input
        from shoal.io.secret import read_secret

        if self.secret is None:
            return
        if self.certificate is None and self.report is None:
            raise OptionError(
                "--secret is for the certificate and the report; ask for one with --certificate "
                "FILE or --report FILE."
            )
        if self.source in (None, STREAM):
            raise OptionError(
                "--secret ties a release to the file it was made from, and a stream is none; give "
                "the input as a file."
            )
        from shoal.io.several import input_files

        if len(input_files((self.source, *self.more))) > 1 or Path(self.source).is_dir():
            raise OptionError(
                "--secret ties a release to the file it was made from, and here there are "
                "several; put them into one file."
            )
        note_input(self.secret, "the key file")
        read_secret(self.secret)

    def input_hmac(self, rows: Callable[[], pl.DataFrame]) -> str | None:
        """Return the keyed hash of the input; None without a key.

        Args:
            rows: gives what was read, which counts where the input is a database.
        """
        from shoal.io import is_database
        from shoal.io.secret import keyed_sha256

        if self.secret is None or self.source is None:
            return None
        return keyed_sha256(rows() if is_database(self.source) else self.source, self.secret)

    def _stage(self, group: AtomicGroup, release: Release) -> tuple[Release, str | None]:
        """Add the verified table to the group; return its hash too if a document needs one."""
        from shoal.io import detect_format, is_database, rows_sha256, sha256_of
        from shoal.io.text_codes import decode_text

        is_csv = not is_database(self.table) and (
            detect_format(self.table, self.format).name == "csv"
        )
        staged = release.engine.write(
            group,
            release,
            self.table,
            format=self.format,
            delimiter=self.delimiter if is_csv else None,
            if_exists=self._choice,
            escape_formulas=self.escape_formulas,
        )
        if self.certificate is None and self.report is None:
            return staged.release, None
        if staged.path is None:
            return staged.release, rows_sha256(decode_text(release.frame))
        return staged.release, sha256_of(staged.path)


def check_files(source: Sources | None, outputs: Mapping[str, str | None]) -> None:
    """Find out before the work that outputs, by what they are called, can be written.

    Raises:
        OptionError: two of them, or one and the input, are the same file.
        DataError: a folder does not exist.
    """
    from shoal.io import is_database
    from shoal.io.location import refuse_almost_url
    from shoal.io.overwrite_guard import note_input, refuse_input
    from shoal.io.several import input_files, refuse_among

    files = [] if source is None else input_files(source)
    for each in files:
        if not is_database(each):
            note_input(each)
    taken: dict[str, str] = {}
    for name, path in outputs.items():
        if path is None:
            continue
        refuse_almost_url(path)
        refuse_input(path, name)
        if source is not None and path != STREAM:
            refuse_among(source, path, name)
        real = _real(path)
        if real in taken:
            message = f"{name.capitalize()} and {taken[real]} would be the same file, {path!r}."
            raise OptionError(f"{message} Give each its own.")
        taken[real] = name
        folder = Path(path).parent
        if path != STREAM and not folder.is_dir():
            message = f"Could not write {path!r}: the folder {str(folder)!r} does not exist."
            raise DataError(message)
        if path != STREAM:
            _look_at(path)


def _look_at(path: str) -> None:
    """Find out about links in a circle, too long names, folders that let nobody in."""
    try:
        Path(path).stat()
    except FileNotFoundError:
        return
    except OSError as error:
        raise DataError(f"Could not write {path!r}: {error.strerror}.") from None


def _real(path: str | None) -> str:
    return STREAM if path == STREAM else os.path.realpath(path or "")


def name_of(source: str) -> str:
    """Return what to call a table on screen: the URL of a database may hold a password."""
    from shoal.io import shown_name

    return "standard input" if source == STREAM else shown_name(source)


def format_of_output(path: str, wanted: str | None, of_input: str | None) -> str | None:
    """Return the format of an output: the one wanted, its ending's, else the input's."""
    if wanted is not None:
        return wanted
    if path == STREAM:
        return of_input
    from shoal.io import detect_format, is_database

    if is_database(path):
        return None
    try:
        detect_format(path)
    except DataError:
        return of_input
    return None
