"""Further rows to their files: the table, those that wait, certificate and release file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from shoal.errors import OptionError
from shoal.io.atomic import AtomicGroup, sha256_of
from shoal.io.formats import detect_format
from shoal.life.file import stage_kept
from shoal.report.certificate import format_certificate
from shoal.settings.outputs import check_files, format_of_output, refuse_existing
from shoal.table.frames import to_polars
from shoal.verified_write import stage_waiting

if TYPE_CHECKING:
    from shoal.life.apply import Applied
    from shoal.life.kept import KeptRelease
    from shoal.settings.outputs import FileSink

__all__ = ["check_places", "write_applied"]


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
    detect_format(waiting, format_of_output(waiting, None, sink.format))
    check_files(
        None,
        {
            "the table": None if sink.to_database else sink.table,
            "the rows that wait": waiting,
            "the certificate": output.certificate,
            "the release file": output.save,
        },
    )
    if not output.replaces:
        refuse_existing([waiting])


def write_applied(applied: Applied, sink: FileSink, waiting: str | None) -> Applied:
    """Write everything together, or nothing; the table is read back and verified first.

    Returns:
        The same with the verification of what was written.

    Raises:
        PromiseError: the written table does not keep its promises; nothing appears.
        DataError: something cannot be written.
    """
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
            form = format_of_output(waiting, None, sink.format)
            stage_waiting(group, to_polars(applied.waiting), waiting, form)
    return applied
