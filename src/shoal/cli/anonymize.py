"""``shoal anonymize``, ``refine`` and ``apply``: from a table to a verified release."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli import arguments as opt
from shoal.cli.arguments import Asked, Promised, Quiet, Reading, Said, Writing, takes_flags
from shoal.cli.screen import check_json, print_json, print_release_json, say
from shoal.cli.state import note_written, number, translated, words
from shoal.errors import DataError, OptionError, PromiseError
from shoal.messages import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from shoal.archive.release_file import KeptRelease
    from shoal.life.apply import Applied
    from shoal.settings.files import Input
    from shoal.settings.inputs import Need
    from shoal.settings.job import Job
    from shoal.settings.request import Request
    from shoal.table.encode import EncodedTable
    from shoal.table.schema import Schema


TABLES_FLAGS = ("k", "seed", "threads", "strict")
"""What can be asked on the command line where a job names several tables."""


# ``--dry-run``: everything is checked and said, nothing is searched and nothing is written.

_WRITES = {
    "table": Message("would write the table"),
    "certificate": Message("would write the certificate"),
    "report": Message("would write the report"),
    "labels": Message("would write the labels"),
    "kept": Message("would write the kept"),
}


def print_plan(job: Job) -> None:
    """Check a job against its table, and print what it would do.

    Raises:
        ShoalError: what ``shoal.anonymize`` would raise before its search begins.
    """
    import narwhals as nw

    from shoal.publish.recode import with_listings
    from shoal.run.job import FileSource
    from shoal.run.outputs import STREAM, FileSink
    from shoal.runtime.progress import no_progress
    from shoal.settings.files import Output
    from shoal.table.dates import move_dates
    from shoal.table.encode import encode
    from shoal.table.infer import infer_kinds, settle_grids

    request = job.request()
    written = job.output.table is not None
    sink = FileSink(job.input, job.output if written else Output(table=STREAM))
    sink.check()
    search = _check_search(request)
    source = FileSource(job.input, sink)
    frame, schema = source.load(request, no_progress, memory_check=False)
    frame = move_dates(frame, schema)
    schema = infer_kinds(schema, nw.from_native(frame, eager_only=True), request.unknown_values)
    schema = settle_grids(schema, frame, by_default=request.grids_by_default)
    table = with_listings(encode(frame, schema), request.style, int(request.k))
    promises = _check_promises(request, table)
    need = source.need(schema, frame.height)
    lines = [*promises, *search, *_resources(need)]
    _show(frame, schema, lines, sink.files if written else {})


def _resources(need: Need) -> list[tuple[str, str]]:
    """Return what the run will need of the machine, in words."""
    from shoal.runtime.memory import available_bytes, human_bytes, human_seconds

    available = available_bytes()
    memory = Message("about {need}", need=human_bytes(need.memory))
    if available is not None:
        free = human_bytes(available)
        memory = Message("{memory}, {free} available", memory=memory, free=free)
        if need.memory > available:
            memory = Message("{memory}: that is not enough", memory=memory)
    seconds = human_seconds(need.seconds)
    time = Message("about {seconds}, and the search for groups", seconds=seconds)
    return [(Message("memory"), memory), (Message("time"), time)]


def _check_promises(request: Request, table: EncodedTable) -> list[tuple[str, str]]:
    if request.k > table.n_rows:
        raise PromiseError(
            "k is {k:,} but the table has only {n_rows:,} rows, so no group can be that "
            "large; choose a smaller k.",
            k=request.k,
            n_rows=table.n_rows,
        )
    promise = Message("promise")
    lines: list[tuple[str, str]] = [(promise, Message("k-anonymity with k = {k}", k=request.k))]
    for model in request.privacy:
        if model.about != "groups":
            model.check_release(table)
            lines.append((promise, model.label))
        for column in model.columns(table):
            model.check_possible(column)
            label = Message("{promise} in {column!r}", promise=model.label, column=column.name)
            lines.append((promise, label))
    return list(dict.fromkeys(lines))  # a column may be read in two ways


def _check_search(request: Request) -> list[tuple[str, str]]:
    from shoal.algorithm.base import create_algorithm
    from shoal.measure.scores import create_measure

    if not create_measure(request.measure, request.measure_options).can_minimise:
        raise OptionError(
            "Measure {measure!r} is a score and cannot be minimised.", measure=request.measure
        )
    create_algorithm(request.algorithm, request.algorithm_options)
    return [(Message("algorithm"), request.algorithm), (Message("minimises"), request.measure)]


def _show(
    frame: pl.DataFrame,
    schema: Schema,
    lines: list[tuple[str, str]],
    files: Mapping[str, str],
) -> None:
    from rich.table import Table
    from rich.text import Text

    from shoal.cli.screen import open_console
    from shoal.io.location import shown_name
    from shoal.runtime.sanitize import safe_text

    console = open_console()
    what = (words("column"), words("role"), words("kind"))
    how = (words("hierarchy"), words("grid"), words("weight"))
    columns = Table(*what, *how, box=None, pad_edge=False)
    for column in schema.columns:
        tree = column.hierarchy
        columns.add_row(
            Text(safe_text(column.name), overflow="fold"),
            words(column.role.value),
            words(column.kind.value) if column.kind is not None else "",
            ""
            if tree is None
            else words("{n:,} leaves, height {height}", n=tree.n_leaves, height=tree.tree_height),
            str(column.grid) if column.grid else "",
            "" if column.kind is None else number(column.weight, "g"),
        )
    console.print(columns)
    console.print()
    facts = [
        (Message("rows"), Message("{n:,}", n=frame.height)),
        *lines,
        *((_WRITES[name], shown_name(path)) for name, path in files.items()),
    ]
    for name, text in facts:
        # A path may look like markup, and must not be cut.
        line = f"{translated(name):<28}{translated(text)}"
        console.print(line, markup=False, soft_wrap=True)
    fine = words("Dry run: the input and the options are fine; nothing was written.")
    console.print(f"\n{fine}")


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
    promises: Promised,
    reading: Reading,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check everything, say what would be done, and stop.")
    ] = False,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Anonymize a table: nobody in the release stands out from fewer than k.

    Every column needs a role: --qi, --sensitive, --identifier, --insensitive or --drop (or the
    job file). The release is verified before anything is written.
    """
    from shoal.cli.arguments import job_of
    from shoal.runtime.progress import showing_progress
    from shoal.settings.job_file import names_tables

    if job is not None and names_tables(job):
        refuse_flags(asked, promises, reading, source=source, dry_run=dry_run, as_json=as_json)
        _anonymize_tables(job, asked, writing, quiet=quiet)
        return
    wanted = job_of(job, asked, promises=promises, source=source, reading=reading, writing=writing)
    if wanted.shuffle is False:
        say(
            Message(
                "Warning: with --no-shuffle the rows keep the order of the input, which can tell "
                "who is who; use it for tests only."
            ),
            stderr=True,
        )
    if as_json:
        check_json(wanted.output.table)
    if dry_run:
        print_plan(wanted)
        return
    from shoal.run.job import run_job

    with showing_progress(quiet=quiet, translate=translated) as progress:
        made = run_job(wanted, progress=progress, when_written=note_written)
    if as_json:
        print_release_json(made)
    elif not quiet:
        from shoal.cli.screen import print_private_half, print_release
        from shoal.run.outputs import STREAM, name_of

        name = name_of(wanted.input.path or STREAM)
        streams = STREAM in made.files.values()
        print_release(made.release, title=Message("Release of {name}", name=name), stderr=streams)
        if made.audit is not None:
            from shoal.cli.original_and_release import print_audit

            typer.echo(err=streams)
            print_audit(made.audit, Message("How far attackers get"), stderr=streams)
        if wanted.output.save is not None:
            print_private_half(wanted.output.save, stderr=streams)


def refuse_flags(asked: Said, *others: Said, **more: object) -> None:
    """Refuse what cannot be said of several tables on the command line.

    Raises:
        OptionError: something is.
    """
    given = [name for name in asked if name not in TABLES_FLAGS]
    given += [name for other in others for name in other]
    given += [name for name, value in more.items() if value]
    if given:
        raise OptionError(
            "The job names several tables, so {name} cannot be said on the command line; say it in "
            "the job file, or leave it out. What can be said: -o, --k, --seed, --threads, "
            "--strict, --replace, --certificate, --report.",
            name=given[0][0] if isinstance(given[0], tuple) else given[0],
        )


def _anonymize_tables(job: str, asked: Said, writing: Said, *, quiet: bool) -> None:
    from shoal.cli.state import chosen_language
    from shoal.run.tables_job import run_tables_job
    from shoal.runtime.progress import showing_progress
    from shoal.settings.job_file import read_tables_job

    wanted = read_tables_job(job)
    language = chosen_language(wanted.output.language)
    wanted = replace(
        wanted,
        options={**wanted.options, **{str(name): value for name, value in asked.items()}},
        output=replace(wanted.output, **writing, language=language),
    )
    with showing_progress(quiet=quiet) as progress:
        made = run_tables_job(wanted, progress=progress, when_written=note_written)
    if not quiet:
        from shoal.cli.screen import print_tables_release

        print_tables_release(made.release, made.files)
        if made.audit is not None:
            from shoal.cli.original_and_release import print_audit

            typer.echo()
            print_audit(made.audit, "How far attackers get")


# ``shoal demo``: a whole run on a table that comes with the package.

_CATEGORICAL = ("workclass", "marital_status", "occupation", "race", "sex", "native_country")


def demo(
    out: Annotated[
        str, typer.Option("--out", help="The folder for the results.", metavar="FOLDER")
    ] = "shoal-demo",
    quiet: Quiet = False,
) -> None:
    """Anonymize 45,222 census records with k = 10: table, report, certificate, summary."""
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            "Could not make the folder {out!r}: {strerror}.", out=out, strerror=error.strerror
        ) from None

    from shoal.datasets import (
        ADULT_COLUMNS,
        ADULT_QUASI_IDENTIFIERS,
        adult_hierarchies,
        load_adult,
    )
    from shoal.run import FrameSource, run
    from shoal.run.outputs import FileSink
    from shoal.runtime.progress import showing_progress
    from shoal.settings.files import Input, Output
    from shoal.settings.request import Request

    output = Output(
        table=str(folder / "adult_k10.csv"),
        certificate=str(folder / "certificate.json"),
        report=str(folder / "report.html"),
        replace=True,  # it is ours: the folder of an earlier demo
    )
    sink = FileSink(Input(), output, note_written)
    sink.check()
    kept = {*ADULT_QUASI_IDENTIFIERS, "salary"}
    request = Request(
        k=10,
        quasi_identifiers=ADULT_QUASI_IDENTIFIERS,
        sensitive=["salary"],
        drop=[name for name in ADULT_COLUMNS if name not in kept],
        details={"hierarchies": adult_hierarchies(_CATEGORICAL)},
        algorithm_options={"effort": "fast"},
    )
    with showing_progress(quiet=quiet, translate=translated) as progress:
        source = FrameSource(load_adult())
        release = run(request, source, sink, progress=progress)
    if not quiet:
        from shoal.cli.screen import print_release

        print_release(release, title=Message("Adult census, {n:,} people", n=45_222))
        say(Message("The table, report.html and certificate.json are in {folder}.", folder=out))


# -- ``shoal refine``: groups that another program made, improved and published --------------------


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
    promises: Promised,
    reading: Reading,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Improve groups that were made elsewhere and publish them.

    Groups that break a promise are merged first. Ctrl-C ends the search and publishes the best
    groups so far. The release is verified before it is written.
    """
    from shoal.cli.arguments import job_of
    from shoal.io.location import is_database
    from shoal.io.overwrite_guard import current_watch, note_input
    from shoal.run import FrameSource, run
    from shoal.run.job import how_it_was_read
    from shoal.run.outputs import STREAM, FileSink, name_of
    from shoal.runtime.progress import showing_progress
    from shoal.settings.inputs import read_input
    from shoal.settings.request import OPTIONS, build_request

    wanted = job_of(job, asked, promises=promises, source=source, reading=reading, writing=writing)
    if as_json:
        check_json(wanted.output.table)
    # What the job says about making groups does not apply: they are made.
    said = {n: v for n, v in wanted.said().items() if "refine" in OPTIONS[n].functions}
    if wanted.refine is not None:
        said["effort"] = wanted.refine
    said |= {name: asked[name] for name in ("effort", "sweeps", "seconds") if name in asked}
    request = build_request(said, reading=wanted.input)
    sink = FileSink(wanted.input, wanted.output, note_written)
    if not is_database(groups):
        note_input(groups, Message("the groups file"))
    sink.check()
    frame = read_input(wanted.input, details=request.details)
    labels = read_groups(groups, group_column, frame.height)
    original = FrameSource(frame, how_it_was_read(wanted.input), groups=labels)
    with showing_progress(quiet=quiet, translate=translated) as progress:
        watched = _ending_early(progress)
        release = run(request, original, sink, progress=watched)
    if as_json:
        watch = current_watch()
        from shoal.run.job import JobResult

        notes = () if watch is None else tuple(watch.notes)
        print_release_json(JobResult(release, sink.files, notes))
    elif not quiet:
        from shoal.cli.screen import print_release

        name = name_of(wanted.input.path or STREAM)
        title = Message("Refined release of {name}", name=name)
        print_release(release, title=title, stderr=sink.to_stream)


def _ending_early(progress: Callable[[int, int, str], None]) -> Callable[[int, int, str], None]:
    """Return a progress function through which the first Ctrl-C ends the search, not the run."""
    from threading import Event

    from shoal.cli.state import soften_next_interrupt

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


# -- ``shoal apply``: further rows in the cells of a release ---------------------------------------


@takes_flags()
def apply(
    source: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA...",
            help="The further rows: files, a folder, a pattern or a database URL.",
        ),
    ],
    *,
    release: Annotated[
        str,
        opt.in_files("--release", help="The release file, as --save wrote it.", metavar="FILE"),
    ],
    job: opt.JobFile = None,
    waiting: Annotated[
        str | None,
        opt.in_files(
            "--waiting",
            help="Where rows go that cannot be published yet; private, to be given again with the "
            "next ones.",
            metavar="FILE",
        ),
    ] = None,
    writing: Writing,
    asked: Asked,
    reading: Reading,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Publish further rows in the cells of a release.

    Each row gets the cheapest published cell that covers it; others form groups of their own or
    wait. All promises of the release hold for the new table alone and for both together.
    """
    from shoal.archive.release_file import load_release, refuse_missing
    from shoal.cli.arguments import job_of
    from shoal.cli.screen import print_private_half, told_in_summary
    from shoal.life.apply import apply as run_apply
    from shoal.run.outputs import FileSink, check_places, write_applied
    from shoal.runtime.progress import showing_progress
    from shoal.settings.files import Output
    from shoal.settings.inputs import read_input

    wanted = job_of(job, asked, source=source, reading=reading)
    output = replace(Output(), **writing, language=wanted.output.language)  # not that of the job
    if as_json:
        check_json(output.table)
    kept = load_release(release)
    wanted = wanted.replaced(input=_as_before(wanted.input, kept), output=output)
    outputs = FileSink(wanted.input, wanted.output)
    refuse_missing([release], [kept], wanted.output.save)
    check_places(outputs, waiting, kept)
    details = wanted.schema_options()
    details = {name: {**said, **details[name]} for name, said in kept.schema.details().items()}
    frame = read_input(wanted.input, details=details)
    showing = showing_progress(quiet=quiet, translate=translated)
    with showing as progress, told_in_summary():
        made = run_apply(
            frame,
            kept,
            seed=asked.get("seed"),
            threads=asked.get("threads"),
            progress=progress,
        )
        made = write_applied(made, outputs, waiting, details["read_as"])
        note_written()
    if as_json:
        _print_json(made, outputs.files, waiting)
    elif not quiet:
        _print(made, name=source[0], stderr=outputs.to_stream)
        if wanted.output.save is not None:
            print_private_half(wanted.output.save, stderr=outputs.to_stream)


def _as_before(source: Input, kept: KeptRelease) -> Input:
    """Return how further rows are read: as the first ones, where nothing else is said."""
    before = kept.options.get("missing_values")
    if source.missing_values is not None or before is None:
        return source
    return replace(source, missing_values=tuple(before))


def _print_json(made: Applied, files: dict[str, str], waiting: str | None) -> None:
    from shoal.io.location import shown_name

    found = made.certificate()
    for key in ("input", "output"):
        del found[key]
    where = {name: shown_name(path) for name, path in files.items()}
    if waiting is not None:
        where["waiting"] = shown_name(waiting)
    rows = {
        "rows": made.release.n_rows,
        "published_rows": made.release.n_published,
        "waiting_rows": made.n_waiting,
    }
    print_json({**found, **rows, "files": where})


def _print(made: Applied, *, name: str, stderr: bool) -> None:
    from shoal.cli.screen import open_console, print_release
    from shoal.run.outputs import name_of

    title = Message("Further rows of {name}", name=name_of(name))
    print_release(made.release, title=title, stderr=stderr)
    console = open_console(stderr=stderr)
    console.print()
    console.print(words("Together with what is out:"), soft_wrap=True)
    for check in made.together.checks:
        console.print(f"- {translated(check.sentence)}", markup=False, soft_wrap=True)
