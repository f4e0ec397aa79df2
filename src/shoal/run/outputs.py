"""The files of a release: checked before the work begins, written together or not at all."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.archive.kept import keep
from shoal.archive.release_file import people_path, stage_kept
from shoal.errors import DataError, OptionError
from shoal.io.atomic import AtomicGroup, sha256_of
from shoal.io.columns import decode_text
from shoal.io.database import check_target, reads_table, rows_sha256
from shoal.io.formats import format_to_write
from shoal.io.keys import keyed_sha256, read_secret
from shoal.io.location import (
    input_files,
    is_database,
    is_folder,
    refuse_almost_url,
    refuse_among,
    shown_name,
)
from shoal.io.overwrite_guard import note_input, refuse_input
from shoal.io.remote import check_writable, exists, is_remote
from shoal.io.spelling import as_written
from shoal.messages import Message
from shoal.report.advice import read_explanation
from shoal.runtime.progress import Report, no_progress
from shoal.settings.files import About
from shoal.table.frames import to_polars

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import polars as pl

    from shoal.archive.release_file import KeptRelease
    from shoal.io.location import Sources
    from shoal.life.apply import Applied
    from shoal.publish.release_data import Staged
    from shoal.release import Release
    from shoal.report.advice import Explained
    from shoal.settings.files import Input, Output
    from shoal.study.audit.attack_context import Audit

STREAM = "-"


class FileSink:
    """The files that a release becomes: its table, certificate, report and what is kept of it.

    Args:
        source: how the input is read; an output is none of its files.
        output: where everything goes.
        when_written: called once, as soon as every file is in place.

    Attributes:
        input_hmac: keyed hash of the input, once it was looked at and if there is a key.
        audit: how far attackers got with the release, if that was asked.

    Raises:
        OptionError: no place is given for the table.
    """

    def __init__(
        self, source: Input, output: Output, when_written: Callable[[], None] | None = None
    ) -> None:
        if output.table is None:
            raise OptionError(
                "Say where the release goes: -o safe.csv (-o - for a stream), or "
                'table = "safe.csv" under [output] of the job file.'
            )
        self.source, self.output, self._when_written = source, output, when_written
        self.table = output.table
        self.to_database = is_database(self.table)
        self.format = format_of_output(self.table, output.format, source.format)
        self.about = About(title=output.title, owner=output.owner, purpose=output.purpose)
        self.input_hmac: str | None = None
        self.audit: Audit | None = None
        self._original: pl.DataFrame | None = None

    @property
    def files(self) -> dict[str, str]:
        """What is written, by name: the table, and the certificate and report if wanted."""
        output = self.output
        named = {
            "table": self.table,
            "certificate": output.certificate,
            "report": output.report,
            "labels": output.labels,
            "kept": output.save,
        }
        return {name: path for name, path in named.items() if path is not None}

    @property
    def named(self) -> dict[str, str]:
        """What table and certificate are called where they are named without their folders."""
        return {
            name: shown_name(path) if is_database(path) else Path(path).name
            for name, path in self.files.items()
            if path != STREAM
        }

    @property
    def to_stream(self) -> bool:
        """Whether standard output receives something."""
        return STREAM in self.files.values()

    @property
    def private_half(self) -> str | None:
        """Where it is kept who is in which group, if that is asked for."""
        return None if self.output.save is None else people_path(self.output.save)

    def check(self) -> None:
        """Find out before the work what would fail after it.

        Raises:
            OptionError: two outputs, or an output and the input, are the same file, or something
                is given for a report that is not wanted.
            DataError: a folder does not exist, or the table's format is not known.
        """
        output = self.output
        if self.to_database:
            self._check_database()
        else:
            refuse_almost_url(self.table)
            format_to_write(self.table, self.format)
        self._check_report()
        self._check_secret()
        _keep_here(output.save, output.log)
        if output.save == STREAM:
            raise OptionError("--save keeps the release in a file; name one, as in release.shoal.")
        check_files(
            self.source.sources or None,
            {
                Message("the table"): None if self.to_database else self.table,
                Message("the certificate"): output.certificate,
                Message("the report"): output.report,
                Message("the dictionary of labels"): output.labels,
                Message("the release file"): output.save,
                Message("its private half"): self.private_half,
                Message("the log"): output.log,
            },
        )
        self.refuse_existing()

    def refuse_existing(self) -> None:
        """Keep files that exist, unless they are to be replaced.

        Raises:
            OptionError: one exists.
        """
        if not self.output.replaces:
            refuse_existing([*self.files.values(), self.private_half])

    def _check_database(self) -> None:
        check_target(self.table, self.output.choice)
        source = self.source.path
        if source is not None and is_database(source) and reads_table(source, self.table):
            raise OptionError(
                "The table and the input would be the same, {shown_name!r}. Give each its own.",
                shown_name=shown_name(source),
            )

    def _check_report(self) -> None:
        output = self.output
        if output.sampling_fraction is not None:
            from shoal.report.risk import check_fraction

            check_fraction(output.sampling_fraction)
        given = {
            "--explanation": output.explanation,
            "--sampling-fraction": output.sampling_fraction,
        }
        for option, value in given.items():
            if value is not None and output.report is None:
                raise OptionError(
                    "{option} is for the report; ask for one with --report FILE.", option=option
                )
        self._explanation()
        if self.about != About() and output.report is None and output.certificate is None:
            raise OptionError(
                "--title, --owner and --purpose are for the report and the certificate; ask for "
                "one with --report FILE or --certificate FILE."
            )

    def _explanation(self) -> Explained | None:
        given = self.output.explanation
        return None if given is None else read_explanation(given)

    def _check_secret(self) -> None:
        output, source = self.output, self.source.path
        if output.secret is None:
            return
        if output.certificate is None and output.report is None:
            raise OptionError(
                "--secret is for the certificate and the report; ask for one with --certificate "
                "FILE or --report FILE."
            )
        if source is None or source == STREAM:
            raise OptionError(
                "--secret ties a release to the file it was made from, and a stream is none; give "
                "the input as a file."
            )
        if len(input_files(self.source.sources)) > 1 or is_folder(source):
            raise OptionError(
                "--secret ties a release to the file it was made from, and here there are "
                "several; put them into one file."
            )
        note_input(output.secret, Message("the key file"))
        read_secret(output.secret)

    @property
    def _attacks(self) -> bool:
        """Whether the release is attacked, with the original in hand."""
        if self.output.audit or self.output.regime is None:
            return self.output.audit
        from shoal.settings.regimes import REGIMES

        return REGIMES[self.output.regime].audits

    def look_at(self, table: Any) -> None:
        """Take the keyed hash of the input, and a copy for the attackers, if they are asked for."""
        secret, source = self.output.secret, self.source.path
        if secret is not None and source is not None:
            # Of a database, what was read: columns that are removed never left it.
            rows = decode_text(to_polars(table)) if is_database(source) else source
            self.input_hmac = keyed_sha256(rows, secret)
        wanted = self._attacks or self.output.labels is not None
        self._original = decode_text(to_polars(table)) if wanted else None

    def write(self, release: Release, progress: Report = no_progress) -> Release:
        """Write the files and the table; they appear together or not at all.

        Args:
            release: what is written.
            progress: told what is done.

        Returns:
            The release with the verification of the table that was written.

        Raises:
            PromiseError: the written table does not keep its promises; nothing appears.
        """
        from shoal.report.certificate import build_certificate, format_certificate
        from shoal.report.page import render_report

        output, rows = self.output, release.n_published
        if output.regime is not None:
            release = _held_to(output.regime, release)
        if self._attacks and self._original is not None:
            progress(0, rows, "attacking")
            attacked = replace(release, frame=decode_text(release.frame))
            self.audit = attacked.audit(self._original)
        progress(0, rows, "writing")
        with AtomicGroup() as group:
            self.refuse_existing()  # nobody may have put one there meanwhile
            staged = self.stage_table(group, release)
            if output.certificate is None and output.report is None:
                sha256 = None
            elif staged.path is None:
                sha256 = rows_sha256(decode_text(release.frame))
            else:
                sha256 = sha256_of(staged.path)
            release = staged.release
            if output.certificate is not None:
                certificate = build_certificate(release, self.input_hmac, sha256, self.about)
                group.add(output.certificate, format_certificate(certificate))
            if output.report is not None:
                page = render_report(
                    replace(release, frame=decode_text(release.frame)),
                    explanation=self._explanation(),
                    audit=self.audit,
                    sampling_fraction=output.sampling_fraction,
                    input_hmac=self.input_hmac,
                    output_sha256=sha256,
                    about=self.about,
                    files=self.named,
                    language=output.language,
                    regime=output.regime,
                )
                group.add(output.report, page)
            if output.labels is not None and self._original is not None:
                from shoal.publish.release_data import dictionary_of

                plain = replace(release, frame=decode_text(release.frame))
                told = dictionary_of(plain, release.groups, self._original)
                group.add(output.labels, told or "column,label,value\n")
            if output.save is not None:
                stage_kept(group, keep(release), output.save)
        if self._when_written is not None:
            self._when_written()
        progress(rows, rows, "writing")
        return release

    def stage_table(self, group: AtomicGroup, release: Release) -> Staged[Release]:
        """Add the table to a group of files, written, read back and verified."""
        row = None if self.to_database else format_to_write(self.table, self.format).row
        return release.stage(
            group,
            self.table,
            format=self.format,
            # where others than a comma may stand, that of the input does
            delimiter=None if row is None or row.separator else self.source.delimiter,
            if_exists=self.output.choice,
            escape_formulas=self.output.escape_formulas,
        )


def _held_to(regime: str, release: Release) -> Release:
    """Return the release with a warning for everything that a regime asks and it does not keep.

    Raises:
        PromiseError: there is one, and the release was to be made without.
    """
    from shoal.engine.pipeline import check_notes
    from shoal.publish.judgement import Doubt, OpenPoint
    from shoal.report.regime import unmet

    found = unmet(regime, replace(release, frame=decode_text(release.frame)))
    notes = tuple(Doubt(each, OpenPoint("regulator", each)) for each in found)
    check_notes(notes, strict=bool(release.parameters.get("strict")))
    return replace(release, warnings=(*release.warnings, *notes))


def refuse_existing(paths: Iterable[str | None]) -> None:
    """Keep files that exist.

    Raises:
        OptionError: one exists.
    """
    for path in paths:
        # A pipe or a device is written to, not replaced.
        if path in (None, STREAM) or is_database(path):
            continue
        if not (exists(path) if is_remote(path) else Path(path).is_file()):
            continue
        raise OptionError(
            "{path!r} exists; give another name, or --replace (replace = true under [output] "
            "of the job file) to replace it.",
            path=path,
        )


def check_files(source: Sources | None, outputs: Mapping[str, str | None]) -> None:
    """Find out before the work that outputs, by what they are called, can be written.

    Raises:
        OptionError: two of them, or one and the input, are the same file.
        DataError: a folder does not exist.
    """
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
        real = path if path == STREAM or is_remote(path) else os.path.realpath(path)
        if real in taken:
            raise OptionError(
                "{output:capital} and {what} would be the same file, {file!r}. Give each its own.",
                output=name,
                what=taken[real],
                file=path,
            )
        taken[real] = name
        if path != STREAM:
            _check_place(path)


def _keep_here(*paths: str | None) -> None:
    """Keep what is not published out of stores, whose rights are not those of a file.

    Raises:
        OptionError: it would be an object.
    """
    for path in paths:
        if path is not None and is_remote(path):
            raise OptionError(
                "{path!r} would be an object of a store, where others may have rights, and is not "
                "for them; give a file of this machine.",
                path=path,
            )


def _check_place(path: str) -> None:
    if is_remote(path):
        check_writable(path)
        return
    folder = Path(path).parent
    if not folder.is_dir():
        raise DataError(
            "Could not write {path!r}: the folder {folder!r} does not exist.",
            path=path,
            folder=str(folder),
        )
    try:
        Path(path).stat()
    except FileNotFoundError:
        return
    except OSError as error:  # links in a circle, too long names, folders that let nobody in
        raise DataError(
            "Could not write {path!r}: {strerror}.", path=path, strerror=error.strerror
        ) from None


def name_of(source: str) -> str:
    """Return what to call a table on screen: the URL of a database may hold a password."""
    return Message("standard input") if source == STREAM else shown_name(source)


def format_of_output(path: str, wanted: str | None, of_input: str | None) -> str | None:
    """Return the format of an output: the one wanted, its ending's, else the input's."""
    if wanted is not None:
        return wanted
    if path == STREAM:
        return of_input
    if is_database(path):
        return None
    try:
        format_to_write(path)
    except DataError:
        return of_input
    return None


# Further rows to their files: the table, those that wait, certificate and release file.


def check_places(sink: FileSink, waiting: str | None, kept: KeptRelease) -> None:
    """Find out before the work what would fail after it.

    Raises:
        OptionError: two outputs, or an output and an input, are the same file, or one exists; or
            nothing would be kept of people whom later releases must know.
        DataError: a folder does not exist, or a format is not known.
    """
    sink.check()
    output = sink.output
    if kept.people is not None and output.save is None:
        raise OptionError(
            "Later rows and releases must know who is in this table; say where that is kept with "
            "--save FILE, and give that file from then on."
        )
    if waiting is None:
        return
    _keep_here(waiting)
    format_to_write(waiting, format_of_output(waiting, None, sink.format))
    check_files(
        None,
        {
            Message("the table"): None if sink.to_database else sink.table,
            Message("the rows that wait"): waiting,
            Message("the certificate"): output.certificate,
            Message("the release file"): output.save,
        },
    )
    if not output.replaces:
        refuse_existing([waiting])


def write_applied(
    applied: Applied,
    sink: FileSink,
    waiting: str | None,
    read_as: Mapping[str, str] | None = None,
) -> Applied:
    """Write everything together, or nothing; the table is read back and verified first.

    Args:
        applied: what was made.
        sink: where it goes.
        waiting: where rows go that cannot be published yet.
        read_as: how dates and numbers of the further rows were written; those that wait are
            written likewise, so that they can be read with the next ones.

    Returns:
        The same with the verification of what was written.

    Raises:
        PromiseError: the written table does not keep its promises; nothing appears.
        DataError: something cannot be written.
    """
    from shoal.release.verified_write import stage_waiting
    from shoal.report.certificate import format_certificate

    with AtomicGroup() as group:
        sink.refuse_existing()
        staged = sink.stage_table(group, applied.release)
        applied = replace(applied, release=staged.release)
        if sink.output.certificate is not None:
            sha256 = None if staged.path is None else sha256_of(staged.path)
            found = applied.certificate(output_sha256=sha256)
            group.add(sink.output.certificate, format_certificate(found))
        if sink.output.save is not None:
            stage_kept(group, applied.kept, sink.output.save)
        if waiting is not None:
            form, source = format_of_output(waiting, None, sink.format), sink.source
            rows = to_polars(applied.waiting)
            written: dict[str, Any] = {}
            row = format_to_write(waiting, form).row
            if row.is_text:
                # The job reads them with the next file, so they are written like that one.
                rows = as_written(rows, read_as or {})
                written = {"header": source.header, "encoding": source.encoding}
                written["delimiter"] = None if row.separator else source.delimiter
            first = {new: old for old, new in (source.rename or {}).items()}
            stage_waiting(group, rows.rename(first, strict=False), waiting, form, **written)
    return applied
