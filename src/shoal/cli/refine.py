"""``shoal refine``: groups that another program made, improved and published."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli import arguments as opt
from shoal.cli.arguments import Asked, PrivacyFlags, Reading, Writing, takes_flags
from shoal.cli.summary import check_json, print_release_json
from shoal.errors import DataError, OptionError
from shoal.messages import Message

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray


@takes_flags()
def refine(
    source: Annotated[
        str, typer.Argument(metavar="DATA", help="The original table: a file or a database URL.")
    ],
    *,
    groups: Annotated[
        str,
        opt.in_files(
            "--groups",
            help="A table with the group of each row, in the order of DATA; empty or negative "
            "means suppressed.",
            metavar="FILE",
        ),
    ],
    writing: Writing,
    group_column: Annotated[
        str | None,
        opt.in_files(help="Column of the groups, where the file has several.", metavar="COLUMN"),
    ] = None,
    job: opt.JobFile = None,
    asked: Asked,
    promises: PrivacyFlags,
    reading: Reading,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
    debug: opt.Debug = False,
) -> None:
    """Improve groups that were made elsewhere and publish them.

    Groups that break a promise are merged first. Ctrl-C ends the search and publishes the best
    groups so far. The release is verified before it is written.
    """
    del debug
    from shoal.cli.arguments import job_of, noting_written
    from shoal.io.location import is_database
    from shoal.io.overwrite_guard import current_watch, note_input
    from shoal.run import FrameSource, run
    from shoal.run.outputs import STREAM, FileSink, name_of
    from shoal.runtime.progress import showing_progress
    from shoal.settings.build_request import build_request
    from shoal.settings.inputs import numeric_columns, read_as, read_input
    from shoal.settings.request import OPTIONS

    wanted = job_of(job, asked, promises=promises, source=source, reading=reading, writing=writing)
    check_json(as_json, wanted.output.table)
    # What the job says about making groups does not apply: they are made.
    said = {n: v for n, v in wanted.said().items() if "refine" in OPTIONS[n].functions}
    if wanted.refine is not None:
        said["effort"] = wanted.refine
    said |= {name: asked[name] for name in ("effort", "sweeps", "seconds") if name in asked}
    request = build_request(said, reading=wanted.input)
    sink = FileSink(wanted.input, wanted.output)
    if not is_database(groups):
        note_input(groups, Message("the groups file"))
    sink.check()
    frame = read_input(wanted.input, numeric=numeric_columns(request.kinds))
    original = FrameSource(frame, read_as())
    labels = read_groups(groups, group_column, frame.height)
    with showing_progress(quiet=quiet) as progress:
        watched = noting_written(_ending_early(progress))
        release = run(request, original, sink, groups=labels, progress=watched)
    if as_json:
        watch = current_watch()
        from shoal.run.job import JobResult

        notes = () if watch is None else tuple(watch.notes)
        print_release_json(JobResult(release, sink.files, notes))
    elif not quiet:
        from shoal.cli.summary import print_release

        title = f"Refined release of {name_of(wanted.input.path or STREAM)}"
        print_release(release, title=title, stderr=sink.to_stream)


def _ending_early(progress: Callable[[int, int, str], None]) -> Callable[[int, int, str], None]:
    """Return a progress function through which the first Ctrl-C ends the search, not the run."""
    from threading import Event

    from shoal.cli.program import soften_next_interrupt

    enough = Event()
    soften_next_interrupt(enough.set)

    def report(done: int, total: int, what: str) -> None:
        if what == "publishing":
            soften_next_interrupt(None)  # the search is over: Ctrl-C means stop
        if what.startswith("refining") and enough.is_set():
            raise KeyboardInterrupt
        progress(done, total, what)

    return report


def read_groups(path: str, column: str | None, n_rows: int) -> NDArray[np.int64]:
    """Read the group of each row; labels may be numbers or text.

    Raises:
        OptionError: it is not clear which column holds the groups.
        DataError: the file has another number of rows than the table.
    """
    import numpy as np
    import polars as pl

    from shoal.errors import did_you_mean
    from shoal.io.location import shown_name
    from shoal.io.read import read_table

    table = read_table(path)
    if column is None:
        if len(table.columns) != 1:
            raise OptionError(
                "{shown_name} has {n} columns; say which one holds the groups with --group-column.",
                shown_name=shown_name(path),
                n=len(table.columns),
            )
        column = table.columns[0]
    if column not in table.columns:
        hint = did_you_mean(column, table.columns)
        raise OptionError(
            "There is no column {column!r} in {shown_name}.{hint}",
            column=column,
            shown_name=shown_name(path),
            hint=hint,
        )
    if table.height != n_rows:
        raise DataError(
            "{shown_name} has {height} rows but the table has {n_rows}; give the group of "
            "every row, in the same order.",
            shown_name=shown_name(path),
            height=table.height,
            n_rows=n_rows,
        )
    cells = table.get_column(column)
    numbers = cells.cast(pl.Int64, strict=False)
    if numbers.null_count() == cells.null_count():
        return numbers.fill_null(-1).to_numpy().astype(np.int64)
    return cells.cast(pl.String).rank("dense").fill_null(-1).to_numpy().astype(np.int64)
