"""``shoal refine``: groups that another program made, improved and published."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import options as opt
from shoal.errors import DataError, OptionError

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["refine"]

_SEARCH = "Search"


def refine(
    source: Annotated[
        str, typer.Argument(metavar="DATA", help="The original table: a file or a database URL.")
    ],
    groups: Annotated[
        str,
        typer.Option(
            "--groups",
            help="A table with the group of each row, in the order of DATA; empty or negative "
            "means suppressed.",
            metavar="FILE",
            rich_help_panel="Files",
        ),
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", help="The release.", rich_help_panel="Files")
    ],
    group_column: Annotated[
        str | None,
        typer.Option(
            help="Column of the groups, where the file has several.",
            metavar="COLUMN",
            rich_help_panel="Files",
        ),
    ] = None,
    job: opt.JobFile = None,
    k: opt.K = None,
    qi: opt.Qi = None,
    sensitive: opt.SensitiveColumns = None,
    identifier: opt.Identifier = None,
    insensitive: opt.Insensitive = None,
    drop: opt.Drop = None,
    hierarchy: opt.Hierarchies = None,
    kind: opt.Kinds = None,
    order: opt.Orders = None,
    weight: opt.Weights = None,
    l_diversity: opt.LDiversity = None,
    l_kind: opt.LKind = None,
    l_c: opt.LC = None,
    t_closeness: opt.TCloseness = None,
    t_distance: opt.TDistance = None,
    alpha: opt.Alpha = None,
    privacy_column: opt.PrivacyColumn = None,
    measure: Annotated[
        str | None,
        typer.Option(help="What is minimised; see 'shoal measures'.", rich_help_panel=_SEARCH),
    ] = None,
    measure_option: Annotated[
        list[str] | None,
        typer.Option(
            help="Option of the measure; repeat it.", metavar="NAME=VALUE", rich_help_panel=_SEARCH
        ),
    ] = None,
    effort: Annotated[
        str | None,
        typer.Option(help="fast, balanced or best.", metavar="EFFORT", rich_help_panel=_SEARCH),
    ] = None,
    sweeps: Annotated[
        int | None,
        typer.Option(
            help="How often to go over all groups, instead of as often as it pays.",
            metavar="N",
            rich_help_panel=_SEARCH,
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            help="Search for this long. Ctrl-C ends the search at any time, and the best so far "
            "is published.",
            metavar="S",
            rich_help_panel=_SEARCH,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(help="Repeat a run exactly; keep it secret.", rich_help_panel=_SEARCH),
    ] = None,
    bound: opt.Bound = False,
    certificate: Annotated[
        str | None,
        typer.Option(
            help="Also write a certificate (JSON).", metavar="FILE", rich_help_panel="Files"
        ),
    ] = None,
    report: Annotated[
        str | None,
        typer.Option(help="Also write a report (HTML).", metavar="FILE", rich_help_panel="Files"),
    ] = None,
    missing_values: opt.MissingValues = None,
    delimiter: opt.Delimiter = None,
    file_format: opt.FileFormat = None,
    quiet: opt.Quiet = False,
    debug: opt.Debug = False,
) -> None:
    """Improve groups that were made elsewhere and publish them.

    Groups that break a promise are merged first. Ctrl-C ends the search and publishes the best
    groups so far. The release is verified before it is written.
    """
    del debug
    from shoal.cli.outputs import Outputs, format_of_output
    from shoal.cli.settings import ColumnFlags, PrivacyFlags, RunFlags, load_job, merge, read_input

    base = load_job(job)
    arguments = merge(
        base,
        ColumnFlags(
            qi=qi,
            sensitive=sensitive,
            identifier=identifier,
            insensitive=insensitive,
            drop=drop,
            hierarchy=hierarchy,
            kind=kind,
            order=order,
            weight=weight,
        ),
        PrivacyFlags(
            l_diversity=l_diversity,
            l_kind=l_kind,
            l_c=l_c,
            t_closeness=t_closeness,
            t_distance=t_distance,
            alpha=alpha,
            column=privacy_column,
        ),
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
        format=format_of_output(output, None, file_format),
        delimiter=delimiter,
        if_exists=None,
    )
    outputs.check()
    frame = read_input(
        source,
        base,
        kinds=arguments["kinds"],
        file_format=file_format,
        delimiter=delimiter,
        missing_values=missing_values,
    )
    labels = read_groups(groups, group_column, frame.height)
    _refine(frame, labels, arguments, outputs, quiet=quiet)


def _refine(
    frame: Any, labels: NDArray[np.int64], arguments: dict[str, Any], outputs: Any, *, quiet: bool
) -> None:
    import shoal
    from shoal.cli.compiling import tell_if_compiling
    from shoal.cli.outputs import STREAM
    from shoal.io import is_database, rows_sha256, sha256_of, shown_name
    from shoal.progress import showing_progress

    source = outputs.source
    digest = None
    if source != STREAM and (outputs.certificate or outputs.report):
        digest = rows_sha256(frame) if is_database(source) else sha256_of(source)
    with showing_progress(quiet=quiet) as progress:
        tell_if_compiling(progress)
        release = shoal.refine(frame, labels, progress=_ending_early(progress), **arguments)
        progress(0, release.n_published, "writing")
        outputs.write(release, input_sha256=digest)
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
