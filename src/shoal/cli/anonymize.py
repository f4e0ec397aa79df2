"""``shoal anonymize``: from a table to a verified release."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.cli import options as opt
from shoal.cli.flags import Asked, PrivacyFlags, Reading, Writing, takes_flags
from shoal.cli.json_summary import check_json, print_release_json

__all__ = ["anonymize"]


@takes_flags()
def anonymize(
    source: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="DATA...",
            show_default=False,
            help="Files, a folder, a pattern or a database URL; - is standard input. May stand in "
            "the job file.",
        ),
    ] = None,
    *,
    writing: Writing,
    job: opt.JobFile = None,
    asked: Asked,
    promises: PrivacyFlags,
    reading: Reading,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check everything, say what would be done, and stop.")
    ] = False,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
    debug: opt.Debug = False,
) -> None:
    """Anonymize a table: nobody in the release stands out from fewer than k.

    Every column needs a role: --qi, --sensitive, --identifier, --insensitive or --drop (or the
    job file). The release is verified before anything is written.
    """
    del debug
    from shoal.cli.settings import job_of, noting_written
    from shoal.runtime.progress import showing_progress

    wanted = job_of(job, asked, promises=promises, source=source, reading=reading, writing=writing)
    if wanted.shuffle is False:
        typer.echo(
            "Warning: with --no-shuffle the rows keep the order of the input, which can tell who "
            "is who; use it for tests only.",
            err=True,
        )
    check_json(as_json, wanted.output.table)
    if dry_run:
        from shoal.cli.plan import print_plan

        print_plan(wanted)
        return
    from shoal.settings.run_job import run_job

    with showing_progress(quiet=quiet) as progress:
        made = run_job(wanted, progress=noting_written(progress))
    if as_json:
        print_release_json(made)
    elif not quiet:
        from shoal.cli.summary import print_private_half, print_release
        from shoal.settings.outputs import STREAM, name_of

        name = name_of(wanted.input.path or STREAM)
        streams = STREAM in made.files.values()
        print_release(made.release, title=f"Release of {name}", stderr=streams)
        if made.audit is not None:
            from shoal.cli.audit import print_audit

            typer.echo(err=streams)
            print_audit(made.audit, "How far attackers get", stderr=streams)
        if wanted.output.save is not None:
            print_private_half(wanted.output.save, stderr=streams)
