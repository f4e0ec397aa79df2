"""``shoal drift``: how a table differs from what its job says about it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import arguments as opt
from shoal.cli.screen import print_json, say
from shoal.cli.state import translated
from shoal.errors import OptionError
from shoal.io.overwrite_guard import current_watch
from shoal.messages import Message
from shoal.runtime.sanitize import hide_names, safe_text


def drift(
    job: Annotated[str, typer.Argument(metavar="JOB", help="The job file.")],
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="DATA", show_default=False, help="The table, where the job does not name it."
        ),
    ] = None,
    *,
    accept: Annotated[
        bool,
        typer.Option(
            "--accept",
            help="Change the job file and its hierarchy files so that they describe the table: new "
            "columns are dropped, new values stand below the root.",
        ),
    ] = False,
    values: Annotated[
        bool,
        typer.Option(
            "--values", help="Also show the new values, which are cells; on a terminal only."
        ),
    ] = False,
    as_json: opt.Json = False,
) -> None:
    """Compare a table with what its job says: columns, and values that nothing lists.

    Exit status: 0 nothing has changed, or it was accepted; 1 something has; 2 it cannot be read.
    """
    from shoal.run import drift as drifting

    if values and (as_json or not sys.stdout.isatty()):
        raise OptionError(
            "--values shows cells of the input, so it writes to a terminal and nowhere else; run "
            "it in one, without --json."
        )
    if accept:
        found = drifting.accept_drift(job, data)
    else:
        found = drifting.drift(drifting.job_with(Path(job), data))
    watch = current_watch()
    doubtful = {} if watch is None else watch.doubtful

    if as_json:
        changes = [
            {**each.to_dict(), "text": hide_names(each.sentence, doubtful)}
            for each in found.changes
        ]
        accepted = accept and bool(found)
        print_json({"drift": bool(found), "accepted": accepted, "changes": changes})
    else:
        for each in found.changes:
            say(hide_names(translated(each.line), doubtful, translated))
            for value in found.values.get(each.column, ()) if values else ():
                say(f"    {safe_text(value)}")
        if not found:
            say(Message("Nothing has changed: the table is the one that the job describes."))
        elif accept:
            say(
                Message(
                    "Accepted: the job describes the table as it is now. New columns are dropped "
                    "until the job file gives them another role; new values stand directly below "
                    "the root of their hierarchy until its file says otherwise."
                )
            )
    if found and not accept:
        raise typer.Exit(1)
