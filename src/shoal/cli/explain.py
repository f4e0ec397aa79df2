"""``shoal explain`` and ``shoal compare``: many runs, side by side."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import arguments as opt
from shoal.cli.arguments import Asked, Reading, takes_flags
from shoal.errors import OptionError
from shoal.messages import Message
from shoal.runtime.sanitize import safe_text
from shoal.settings.request import COLUMN_OPTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from shoal.settings.job import Job
    from shoal.settings.request import Request
    from shoal.study.explain import Explanation
    from shoal.study.frontier import Comparison, Outcome


@takes_flags(seed="Of every run; 0 unless given.")
def explain(
    source: Annotated[str, typer.Argument(metavar="DATA", help="The table; - is standard input.")],
    *,
    job: opt.JobFile = None,
    asked: Asked,
    rows: Annotated[
        int, typer.Option(help="Changes are tried on a sample of at most so many rows.")
    ] = 20_000,
    out: Annotated[
        str | None, typer.Option(help="Also write everything as JSON.", metavar="FILE")
    ] = None,
    reading: Reading,
    quiet: opt.Quiet = False,
) -> None:
    """Measure what costs most, and what would help: drop, coarsen, leave out, a smaller k.

    Every line is a run of its own with one thing changed. Nothing is published. What is printed
    holds published cells of one release: keep it in the house.
    """
    from shoal.cli.arguments import job_of
    from shoal.run.outputs import check_files, name_of
    from shoal.runtime.progress import showing_progress
    from shoal.settings.inputs import read_input
    from shoal.study.explain import explain_request

    wanted = job_of(job, asked, source=source, reading=reading)
    request = wanted.request()
    check_files(source, {Message("the explanation"): out})
    frame = read_input(wanted.input, details=request.details)
    with showing_progress(quiet=quiet) as progress:
        found = explain_request(frame, request, max_rows=rows, progress=progress)
    if out is not None:
        import json

        from shoal.cli.state import note_written
        from shoal.io.atomic import atomic_write_text

        text = json.dumps(found.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
        atomic_write_text(out, text + "\n")
        note_written()
    if not quiet:
        _print_explanation(found, name_of(source))


def _print_explanation(found: Explanation, name: str) -> None:
    from rich.table import Table
    from rich.text import Text

    from shoal.cli.screen import open_console

    console = open_console()
    console.print(f"What costs most in {name}", style="bold", markup=False, soft_wrap=True)
    sample = f", on a sample of {found.n_tried:,} rows" if found.is_sample else ""
    console.print(f"With k = {found.k}, {found.loss:.1%} of the detail is lost{sample}.\n")
    table = Table("change", "saves", "costs itself", "loss then", box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
        column.no_wrap = True
    for change in found.changes:
        what = {
            "drop": f"drop {change.column}",
            "coarsen": f"coarser {change.column}",
            "hierarchy": f"a hierarchy for {change.column}",
            "suppress": "leave out 1 % more of the rows",
            "lower-k": "a smaller k",
        }[change.what]
        good = "green" if change.net > 0.001 else ""
        table.add_row(
            Text(safe_text(what), good, overflow="fold"),
            f"{100 * change.saving:+.1f}",
            f"{100 * change.price:.1f}" if change.price else "",
            f"{change.loss:.1%}",
        )
    console.print(table)
    console.print("[dim]Points of 100 % detail, measured by running each change.[/]\n")
    _print_outliers(console, found)
    console.print("What to do", style="bold")
    for advice in found.to_do:
        console.print(f"- {safe_text(advice.sentence, 1_000)}", markup=False)
        for line in _in_a_job(advice.settings):
            console.print(f"  in a job file: {safe_text(line)}", markup=False, style="dim")
    if found.promises:
        console.print("\nWhat further promises would cost", style="bold")
        for sentence in found.promises:
            console.print(f"- {safe_text(sentence, 1_000)}", markup=False)


def _in_a_job(settings: Mapping[str, Any]) -> list[str]:
    """Return the lines of a job file that do what advice says, where one line does it."""
    import json

    plain = {name: value for name, value in settings.items() if name not in ("columns", "privacy")}
    lines = [f"{name} = {json.dumps(value)}" for name, value in plain.items()]
    for column, said in settings.get("columns", {}).items():
        place = json.dumps(column, ensure_ascii=False)
        lines += [
            f"{name} = {json.dumps(value)} in [columns.{place}]"
            for name, value in said.items()
            if isinstance(value, str | int | float)
        ]
    return lines


def _print_outliers(console: Console, found: Explanation) -> None:
    from rich.table import Table
    from rich.text import Text

    if not found.outliers:
        return
    console.print("Records that cost most, as they are published", style="bold")
    table = Table("rows", "loss", "published as", box=None, pad_edge=False)
    for group in found.outliers:
        cells = ", ".join(f"{name} {cell}" for name, cell in group.cells.items() if cell != "*")
        table.add_row(
            f"{group.n_rows:,}", f"{group.loss:.0%}", Text(safe_text(cells, 1_000) or "nothing")
        )
    console.print(table)
    console.print()


# -- ``shoal compare``: several algorithms, sizes of k and measures on one table -------------------


@takes_flags(seed="Of every run; 0 unless given.")
def compare(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA...",
            help="The table, or several; a job file (.toml) stands for its table and columns.",
        ),
    ],
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
            help="The algorithms to compare, as in k-member,sequential:restarts=3; "
            "'shoal algorithms' lists them.",
            metavar="NAMES",
        ),
    ] = "auto,k-member,sequential,mondrian",
    measures: Annotated[
        str | None,
        typer.Option(
            help="The losses to keep small; 'shoal measures' lists them.", metavar="NAMES"
        ),
    ] = None,
    promises: Annotated[
        str | None,
        typer.Option(
            help="What is promised beyond k, one after the other, as in none,l-diversity:l=2; "
            "joined by +, several at once.",
            metavar="NAMES",
        ),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            help="One run for each, as in 0,1,2; losses are means with 95 % intervals.",
            metavar="NUMBERS",
        ),
    ] = None,
    asked: Asked,
    report: Annotated[
        str | None,
        typer.Option(help="Also write the comparison as a page (HTML).", metavar="FILE"),
    ] = None,
    csv: Annotated[
        str | None,
        typer.Option("--csv", help="Also write one line per run, as a CSV.", metavar="FILE"),
    ] = None,
    latex: Annotated[
        str | None,
        typer.Option(help="Also write the losses as a table for a paper.", metavar="FILE"),
    ] = None,
    figures: Annotated[
        str | None,
        typer.Option(help="Also write the pictures of the page as SVG files.", metavar="FOLDER"),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            help="Keep the groups of every run in this folder; they say which row is whose.",
            metavar="FOLDER",
        ),
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
) -> None:
    """Compare algorithms, sizes of k, measures and promises, on one or more tables.

    Run the same command again after an interruption: it goes on where it was.
    """
    from shoal.cli.arguments import job_of
    from shoal.cli.state import note_kept, note_written
    from shoal.run.outputs import check_files, name_of
    from shoal.runtime.progress import showing_progress
    from shoal.study.compare import Grid, compare_requests

    sizes = _numbers("--k", k, 2)
    if workers is not None and workers < 1:
        raise OptionError("--workers must be at least 1, not {workers}.", workers=workers)
    results = out
    if results is None and report not in (None, "-"):
        results = str(Path(str(report)).with_suffix(".jsonl"))
    of_all = {place: said for place, said in asked.items() if place not in COLUMN_OPTIONS}
    jobs = {
        name: job_of(source, of_all, reading=reading)
        if source.endswith(".toml")
        else job_of(job, asked, source=source, reading=reading)
        for name, source in zip(_table_names(sources), sources, strict=True)
    }
    outputs: dict[str, str | None] = {
        Message("the report"): report,
        Message("the results"): results,
        Message("the table"): csv,
        Message("the table for a paper"): latex,
    }
    for each in jobs.values():
        check_files(each.input.sources, outputs)
    if report is not None and Path(str(report)).is_dir():
        raise OptionError(
            "The report {name_of} is a folder; name a file in it.", name_of=name_of(report)
        )
    first = next(iter(jobs.values()))
    minimised = [first.measure or "ncp"] if measures is None else opt.parse_names([measures])
    tables = {name: _table_of(wanted, sizes[0]) for name, wanted in jobs.items()}
    if results is not None:
        note_kept(f"runs that were finished are in {results!r}; run it again to go on.")
    with showing_progress(quiet=quiet) as progress:
        found = compare_requests(
            tables,
            Grid(
                k=sizes,
                algorithms=opt.parse_names([algorithms]),
                measures=minimised,
                promises=() if promises is None else opt.parse_names([promises]),
                seeds=() if seeds is None else _numbers("--seeds", seeds, 0),
            ),
            out=results,
            groups=groups,
            workers=workers,
            use=use,
            progress=progress,
        )
    _write_comparison(found, report=report, figures=figures, csv=csv, latex=latex)
    note_written()
    if not quiet:
        _print_comparison(found, name_of(str(first.input.path)), stderr=report == "-")
    if all(outcome.error is not None for outcome in found.outcomes):
        raise typer.Exit(1)


def _table_of(job: Job, k: int) -> tuple[Any, Request]:
    """Return the table of a job, and what is asked of its runs."""
    from shoal.settings.inputs import read_input

    seed = 0 if job.seed is None else job.seed
    request = job.replaced(k=k, seed=seed).request()
    frame = read_input(job.input, details=request.details)
    request.schema(frame.columns)  # a wrong column is said first
    return frame, request


def _write_comparison(found: Comparison, **paths: str | None) -> None:
    """Write what was asked for."""
    from shoal.io.atomic import atomic_write_text

    report, figures, csv, latex = (paths[each] for each in ("report", "figures", "csv", "latex"))
    if report is not None:
        found.report(report)
    if figures is not None:
        found.figures(figures)
    if csv is not None:
        atomic_write_text(csv, found.to_polars().write_csv())
    if latex is not None:
        atomic_write_text(latex, "\n".join(map(found.to_latex, found.measures)))


def _table_names(sources: list[str]) -> list[str]:
    """Return what to call each of several tables; one alone needs no name."""
    from shoal.run.outputs import name_of

    if len(sources) == 1:
        return [""]
    shown = [name_of(source) for source in sources]
    stems = [Path(name).stem for name in shown]
    names = stems if len(set(stems)) == len(stems) else shown
    if len(set(names)) < len(names):
        raise OptionError("A table is given twice; give each of them once.")
    return names


def _numbers(flag: str, text: str, least: int) -> list[int]:
    try:
        numbers = [int(part) for part in opt.parse_names([text])]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < least:
        raise OptionError(
            "{flag} must be whole numbers of at least {least}, as in 2,5,10, not {text!r}.",
            flag=flag,
            least=least,
            text=text,
        )
    return sorted(set(numbers))


def _loss(outcome: Outcome) -> str:
    spread = "" if outcome.interval is None else f" ± {outcome.interval:.2g}"
    return f"{outcome.loss:.4g}{spread}"


def _print_comparison(found: Comparison, name: str, *, stderr: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    from shoal.cli.screen import open_console

    console = open_console(stderr=stderr)
    several = len(found.rows) > 1
    for measure, (part, one) in product(found.measures, found.parts.items()):
        what = part if several else ", ".join(filter(None, (name, part)))
        title = f"Loss ({measure}) of {what}, {one.n_rows:,} rows"
        console.print(title, style="bold", markup=False, soft_wrap=True)
        best = {outcome.key for outcome in one.frontier(measure)}
        knee = one.knee(measure)
        runs = [outcome for outcome in one.means if outcome.measure == measure]
        table = Table("k", *found.algorithms, "", box=None, pad_edge=False)
        for column in table.columns[:-1]:
            column.justify = "right"
        for size in sorted({outcome.k for outcome in runs}):
            row = {outcome.algorithm: outcome for outcome in runs if outcome.k == size}
            cells = [
                Text("fails", "red")
                if row[each].loss is None
                else Text(_loss(row[each]), "bold green" if row[each].key in best else "")
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
