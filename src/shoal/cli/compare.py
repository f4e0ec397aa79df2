"""``shoal compare``: several algorithms, sizes of k and measures on one table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli import arguments as opt
from shoal.cli.arguments import Asked, Reading, takes_flags
from shoal.errors import OptionError
from shoal.messages import Message

if TYPE_CHECKING:
    from shoal.study.compare import Comparison


@takes_flags(seed="Of every run; 0 unless given.")
def compare(
    source: Annotated[str, typer.Argument(metavar="DATA", help="The table; - is standard input.")],
    *,
    job: opt.JobFile = None,
    k: Annotated[
        str,
        typer.Option(
            "--k", "-k", help="The values of k to compare, as in 5,10,25.", metavar="NUMBERS"
        ),
    ] = "2,5,10,25,50",
    algorithms: Annotated[
        str,
        typer.Option(
            help="The algorithms to compare; 'shoal algorithms' lists them.", metavar="NAMES"
        ),
    ] = "auto,k-member,sequential,mondrian",
    measures: Annotated[
        str | None,
        typer.Option(
            help="The losses to keep small; 'shoal measures' lists them.", metavar="NAMES"
        ),
    ] = None,
    asked: Asked,
    report: Annotated[
        str | None,
        typer.Option(help="Also write the comparison as a page (HTML).", metavar="FILE"),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            help="Results as JSON lines, to go on after an interruption; beside the report "
            "unless given.",
            metavar="FILE",
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Runs at a time; all cores unless given.")
    ] = None,
    use: Annotated[
        bool,
        typer.Option("--use", help="Also ask every release for random counts, and draw the error."),
    ] = False,
    reading: Reading,
    quiet: opt.Quiet = False,
    debug: opt.Debug = False,
) -> None:
    """Compare algorithms, sizes of k and measures: a table, and the frontier as a picture.

    Run the same command again after an interruption: it goes on where it was.
    """
    del debug
    from shoal.cli.arguments import job_of
    from shoal.cli.program import note_kept, note_written
    from shoal.run.outputs import check_files, name_of
    from shoal.runtime.progress import showing_progress
    from shoal.settings.inputs import numeric_columns, read_input
    from shoal.study.compare import compare_request

    sizes = _sizes(k)
    if workers is not None and workers < 1:
        raise OptionError("--workers must be at least 1, not {workers}.", workers=workers)
    results = out
    if results is None and report not in (None, "-"):
        results = str(Path(str(report)).with_suffix(".jsonl"))
    wanted = job_of(job, asked, source=source, reading=reading)
    seed = 0 if wanted.seed is None else wanted.seed
    request = wanted.replaced(k=sizes[0], seed=seed).request()
    check_files(source, {Message("the report"): report, Message("the results"): results})
    if report is not None and Path(str(report)).is_dir():
        raise OptionError(
            "The report {name_of} is a folder; name a file in it.", name_of=name_of(report)
        )
    minimised = [wanted.measure or "ncp"] if measures is None else opt.parse_names([measures])
    frame = read_input(wanted.input, numeric=numeric_columns(request.kinds))
    request.schema(frame.columns)  # a wrong column is said first
    if results is not None:
        note_kept(f"runs that were finished are in {results!r}; run it again to go on.")
    with showing_progress(quiet=quiet) as progress:
        found = compare_request(
            frame,
            request,
            k=sizes,
            algorithms=opt.parse_names([algorithms]),
            measures=minimised,
            out=results,
            workers=workers,
            use=use,
            progress=progress,
        )
    if report is not None:
        found.report(report)
    note_written()
    if not quiet:
        _print(found, name_of(source), stderr=report == "-")
    if all(outcome.error is not None for outcome in found.outcomes):
        raise typer.Exit(1)


def _sizes(text: str) -> list[int]:
    try:
        sizes = [int(part) for part in opt.parse_names([text])]
    except ValueError:
        sizes = []
    if not sizes or min(sizes) < 2:
        raise OptionError(
            "--k must be whole numbers of at least 2, as in 2,5,10, not {text!r}.", text=text
        )
    return sorted(set(sizes))


def _print(found: Comparison, name: str, *, stderr: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    from shoal.cli.screen import open_console

    console = open_console(stderr=stderr)
    for measure in found.measures:
        title = f"Loss ({measure}) of {name}, {found.n_rows:,} rows"
        console.print(title, style="bold", markup=False, soft_wrap=True)
        best = {outcome.key for outcome in found.frontier(measure)}
        knee = found.knee(measure)
        runs = [outcome for outcome in found.outcomes if outcome.measure == measure]
        table = Table("k", *found.algorithms, "", box=None, pad_edge=False)
        for column in table.columns[:-1]:
            column.justify = "right"
        for size in sorted({outcome.k for outcome in runs}):
            row = {outcome.algorithm: outcome for outcome in runs if outcome.k == size}
            cells = [
                Text("fails", "red")
                if row[each].loss is None
                else Text(f"{row[each].loss:.4g}", "bold green" if row[each].key in best else "")
                for each in found.algorithms
            ]
            mark = "knee" if knee is not None and knee.k == size else ""
            table.add_row(str(size), *cells, mark)
        console.print(table)
        console.print()
    for error in dict.fromkeys(o.error for o in found.outcomes if o.error is not None):
        console.print(f"Fails: {error}", style="yellow", markup=False)
    resumed = f" ({found.n_resumed} of them from before)" if found.n_resumed else ""
    console.print(f"{len(found.outcomes)} runs{resumed}. Green: the smallest loss at its k.")
