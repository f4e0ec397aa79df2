"""``shoal explain`` and ``shoal compare``: many runs, side by side."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import arguments as opt
from shoal.cli.arguments import Asked, Reading, takes_flags
from shoal.cli.state import number, translated, words
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
    with showing_progress(quiet=quiet, translate=translated) as progress:
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
    title = words("What costs most in {name}", name=name)
    console.print(title, style="bold", markup=False, soft_wrap=True)
    sample = Message(", on a sample of {n:,} rows", n=found.n_tried) if found.is_sample else ""
    lost = words(
        "With k = {k}, {loss:.1%} of the detail is lost{sample}.",
        k=found.k,
        loss=found.loss,
        sample=sample,
    )
    console.print(f"{lost}\n")
    heads = (words("change"), words("saves"), words("costs itself"), words("loss then"))
    table = Table(*heads, box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
        column.no_wrap = True
    for change in found.changes:
        what = {
            "drop": Message("drop {column}", column=change.column),
            "coarsen": Message("coarser {column}", column=change.column),
            "hierarchy": Message("a hierarchy for {column}", column=change.column),
            "suppress": Message("leave out 1 % more of the rows"),
            "lower-k": Message("a smaller k"),
        }[change.what]
        good = "green" if change.net > 0.001 else ""
        table.add_row(
            Text(safe_text(words(what)), good, overflow="fold"),
            number(100 * change.saving, "+.1f"),
            number(100 * change.price, ".1f") if change.price else "",
            number(change.loss, ".1%"),
        )
    console.print(table)
    console.print(words("Points of 100 % detail, measured by running each change."), style="dim")
    console.print()
    _print_outliers(console, found)
    console.print(words("What to do"), style="bold")
    for advice in found.to_do:
        console.print(f"- {safe_text(translated(advice.sentence), 1_000)}", markup=False)
        for line in _in_a_job(advice.settings):
            said = words("  in a job file: {line}", line=safe_text(line))
            console.print(said, markup=False, style="dim")
    if found.promises:
        title = words("What further promises would cost")
        console.print(f"\n{title}", style="bold")
        for sentence in found.promises:
            console.print(f"- {safe_text(translated(sentence), 1_000)}", markup=False)


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
    console.print(words("Records that cost most, as they are published"), style="bold")
    heads = (words("rows"), words("loss"), words("published as"))
    table = Table(*heads, box=None, pad_edge=False)
    for group in found.outliers:
        cells = ", ".join(f"{name} {cell}" for name, cell in group.cells.items() if cell != "*")
        shown = Text(safe_text(cells, 1_000) or words("nothing"))
        table.add_row(number(group.n_rows), number(group.loss, ".0%"), shown)
    console.print(table)
    console.print()


# -- ``shoal compare``: several algorithms, sizes of k and measures on one table -------------------


@takes_flags(seed="Of every run; 0 unless given.")
def compare(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA",
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
    from shoal.study.compare import Variations, compare_requests

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
    if report is not None and Path(str(report)).is_dir():
        raise OptionError(
            "The report {name_of} is a folder; name a file in it.", name_of=name_of(report)
        )
    first = next(iter(jobs.values()))
    minimised = [first.measure or "ncp"] if measures is None else opt.parse_names([measures])
    tables = {name: _table_of(wanted, sizes[0]) for name, wanted in jobs.items()}
    for each in jobs.values():  # hierarchies and populations are known as inputs now, too
        check_files(each.input.sources, outputs)
    if results is not None:
        note_kept(
            Message("runs that were finished are in {file!r}; run it again to go on.", file=results)
        )
    with showing_progress(quiet=quiet, translate=translated) as progress:
        found = compare_requests(
            tables,
            Variations(
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
    loss = number(outcome.loss or 0.0, ".4g")
    return loss if outcome.interval is None else f"{loss} ± {number(outcome.interval, '.2g')}"


def _print_comparison(found: Comparison, name: str, *, stderr: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    from shoal.cli.screen import open_console

    console = open_console(stderr=stderr)
    several = len(found.rows) > 1
    for measure, (part, one) in product(found.measures, found.parts.items()):
        what = part if several else ", ".join(filter(None, (name, part)))
        title = words(
            "Loss ({measure}) of {name}, {n:,} rows", measure=measure, name=what, n=one.n_rows
        )
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
                Text(words("fails"), "red")
                if row[each].loss is None
                else Text(_loss(row[each]), "bold green" if row[each].key in best else "")
                for each in found.algorithms
            ]
            mark = words("knee") if knee is not None and knee.k == size else ""
            table.add_row(str(size), *cells, mark)
        console.print(table)
        console.print()
    for error in dict.fromkeys(o.error for o in found.outcomes if o.error is not None):
        console.print(words("Fails: {error}", error=error), style="yellow", markup=False)
    resumed = Message(" ({n} of them from before)", n=found.n_resumed) if found.n_resumed else ""
    said = words(
        "{n} runs{resumed}. Green: the smallest loss at its k.",
        n=len(found.outcomes),
        resumed=resumed,
    )
    console.print(said)
