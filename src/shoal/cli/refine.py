"""``shoal refine``: groups that another program made, improved and published."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import options as opt
from shoal.cli.flags import ColumnFlags, InputFlags, PrivacyFlags, takes_flags
from shoal.errors import DataError, OptionError

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["refine"]


@takes_flags
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
    output: Annotated[str, opt.in_files("--output", "-o", help="The release.")],
    group_column: Annotated[
        str | None,
        opt.in_files(help="Column of the groups, where the file has several.", metavar="COLUMN"),
    ] = None,
    job: opt.JobFile = None,
    k: opt.K = None,
    columns: ColumnFlags,
    promises: PrivacyFlags,
    measure: opt.Measure = None,
    measure_option: opt.MeasureOption = None,
    effort: Annotated[
        str | None, opt.in_search(help="fast, balanced or best.", metavar="EFFORT")
    ] = None,
    sweeps: Annotated[
        int | None,
        opt.in_search(
            help="How often to go over all groups, instead of as often as it pays.", metavar="N"
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        opt.in_search(
            help="Search for this long. Ctrl-C ends the search at any time, and the best so far "
            "is published.",
            metavar="S",
        ),
    ] = None,
    seed: opt.SecretSeed = None,
    bound: opt.Bound = False,
    certificate: opt.Certificate = None,
    report: opt.Report = None,
    reading: InputFlags,
    quiet: opt.Quiet = False,
    debug: opt.Debug = False,
) -> None:
    """Improve groups that were made elsewhere and publish them.

    Groups that break a promise are merged first. Ctrl-C ends the search and publishes the best
    groups so far. The release is verified before it is written.
    """
    del debug
    from shoal.cli.outputs import Outputs, format_of_output
    from shoal.cli.settings import RunFlags, load_job, merge, read_input
    from shoal.inputs import note_input
    from shoal.io import is_database

    base = load_job(job)
    arguments = merge(
        base,
        columns,
        promises,
        RunFlags(
            k=k,
            measure=measure,
            measure_option=measure_option,
            seed=seed,
            refine=effort,
            bound=bound,
        ),
    )
    # What the job says about making groups does not apply: they are made.
    for name in ("algorithm", "algorithm_options", "max_suppression", "block_rows"):
        arguments.pop(name, None)
    arguments["effort"] = arguments.pop("refine", "balanced")
    arguments |= {"sweeps": sweeps, "seconds": seconds}
    outputs = Outputs(
        source=source,
        table=output,
        certificate=certificate,
        report=report,
        format=format_of_output(output, None, reading.file_format),
        delimiter=reading.delimiter,
        if_exists=None,
    )
    if not is_database(groups):
        note_input(groups, "the groups file")
    outputs.check()
    frame = read_input(source, base, reading, kinds=arguments["kinds"])
    labels = read_groups(groups, group_column, frame.height)
    _refine(frame, labels, arguments, outputs, quiet=quiet)


def _refine(
    frame: Any, labels: NDArray[np.int64], arguments: dict[str, Any], outputs: Any, *, quiet: bool
) -> None:
    import shoal
    from shoal.cli.compiling import tell_if_compiling
    from shoal.cli.outputs import STREAM
    from shoal.io import shown_name
    from shoal.progress import showing_progress

    source = outputs.source
    with showing_progress(quiet=quiet) as progress:
        tell_if_compiling(progress)
        release = shoal.refine(frame, labels, progress=_ending_early(progress), **arguments)
        progress(0, release.n_published, "writing")
        release = outputs.write(release)
    if not quiet:
        from shoal.cli.summary import print_release

        name = "standard input" if source == STREAM else shown_name(source)
        streams = STREAM in (outputs.table, outputs.certificate, outputs.report)
        print_release(release, title=f"Refined release of {name}", stderr=streams)


def _ending_early(progress: Callable[[int, int, str], None]) -> Callable[[int, int, str], None]:
    """Return a progress function through which the first Ctrl-C ends the search, not the run."""
    from threading import Event

    from shoal.cli.run import soften_next_interrupt

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
    from shoal.io import read_table, shown_name

    table = read_table(path)
    if column is None:
        if len(table.columns) != 1:
            raise OptionError(
                f"{shown_name(path)} has {len(table.columns)} columns; say which one holds the "
                "groups with --group-column."
            )
        column = table.columns[0]
    if column not in table.columns:
        hint = did_you_mean(column, table.columns)
        raise OptionError(f"There is no column {column!r} in {shown_name(path)}.{hint}")
    if table.height != n_rows:
        raise DataError(
            f"{shown_name(path)} has {table.height} rows but the table has {n_rows}; give the "
            "group of every row, in the same order."
        )
    cells = table.get_column(column)
    numbers = cells.cast(pl.Int64, strict=False)
    if numbers.null_count() == cells.null_count():
        return numbers.fill_null(-1).to_numpy().astype(np.int64)
    return cells.cast(pl.String).rank("dense").fill_null(-1).to_numpy().astype(np.int64)
