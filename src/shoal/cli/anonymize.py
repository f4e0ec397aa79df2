"""``shoal anonymize``: from a table to a verified release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli import arguments as opt
from shoal.cli.arguments import Asked, Debug, PrivacyFlags, Quiet, Reading, Writing, takes_flags
from shoal.cli.screen import say
from shoal.cli.summary import check_json, print_release_json
from shoal.errors import DataError, OptionError, PromiseError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from shoal.settings.inputs import Need
    from shoal.settings.job import Job
    from shoal.settings.request import Request
    from shoal.table.encode import EncodedTable
    from shoal.table.schema import Schema


# ``--dry-run``: everything is checked and said, nothing is searched and nothing is written.


def print_plan(job: Job) -> None:
    """Check a job against its table, and print what it would do.

    Raises:
        ShoalError: what ``shoal.anonymize`` would raise before its search begins.
    """
    import narwhals as nw

    from shoal.run.job import FileSource
    from shoal.run.outputs import STREAM, FileSink
    from shoal.runtime.progress import no_progress
    from shoal.settings.files import Output
    from shoal.table.encode import encode
    from shoal.table.grid import settle_grids
    from shoal.table.infer import infer_kinds

    request = job.request()
    written = job.output.table is not None
    sink = FileSink(job.input, job.output if written else Output(table=STREAM))
    sink.check()
    search = _check_search(request)
    source = FileSource(job.input, sink)
    owned, schema = source.load(request, no_progress, memory_check=False)
    frame = owned.frame
    schema = infer_kinds(schema, nw.from_native(frame, eager_only=True), request.unknown_values)
    schema = settle_grids(schema, frame, by_default=request.default_grid)
    as_values = request.style.categories == "values"
    promises = _check_promises(request, encode(frame, schema, as_values=as_values))
    need = source.need(schema, frame.height)
    lines = [*promises, *search, *_resources(need)]
    _show(frame, schema, lines, sink.files if written else {})


def _resources(need: Need) -> list[tuple[str, str]]:
    """Return what the run will need of the machine, in words."""
    from shoal.runtime.memory import available_bytes, human_bytes, human_seconds

    available = available_bytes()
    memory = f"about {human_bytes(need.memory)}"
    if available is not None:
        verdict = "" if need.memory <= available else ": that is not enough"
        memory += f", {human_bytes(available)} available{verdict}"
    return [
        ("memory", memory),
        ("time", f"about {human_seconds(need.seconds)}, and the search for groups"),
    ]


def _check_promises(request: Request, table: EncodedTable) -> list[tuple[str, str]]:
    if request.k > table.n_rows:
        raise PromiseError(
            "k is {k:,} but the table has only {n_rows:,} rows, so no group can be that "
            "large; choose a smaller k.",
            k=request.k,
            n_rows=table.n_rows,
        )
    lines = [("promise", f"k-anonymity with k = {request.k}")]
    for model in request.privacy:
        if not model.looks_at_values:
            model.check_release(table)
            lines.append(("promise", model.label))
        for column in model.columns(table):
            model.check_possible(column)
            lines.append(("promise", f"{model.label} in {column.name!r}"))
    return list(dict.fromkeys(lines))  # a column may be read in two ways


def _check_search(request: Request) -> list[tuple[str, str]]:
    from shoal.algorithm.base import create_algorithm
    from shoal.measure.scores import create_measure

    if not create_measure(request.measure, request.measure_options).can_minimise:
        raise OptionError(
            "Measure {measure!r} is a score and cannot be minimised.", measure=request.measure
        )
    create_algorithm(request.algorithm, request.algorithm_options)
    return [("algorithm", request.algorithm), ("minimises", request.measure)]


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
    columns = Table(
        "column", "role", "kind", "hierarchy", "grid", "weight", box=None, pad_edge=False
    )
    for column in schema.columns:
        tree = column.hierarchy
        columns.add_row(
            Text(safe_text(column.name), overflow="fold"),
            column.role.value,
            column.kind.value if column.kind is not None else "",
            "" if tree is None else f"{tree.n_leaves:,} leaves, height {tree.tree_height}",
            str(column.grid) if column.grid else "",
            "" if column.kind is None else f"{column.weight:g}",
        )
    console.print(columns)
    console.print()
    facts = [
        ("rows", f"{frame.height:,}"),
        *lines,
        *((f"would write the {name}", shown_name(path)) for name, path in files.items()),
    ]
    for name, text in facts:
        # A path may look like markup, and must not be cut.
        console.print(f"{name:<28}{text}", markup=False, soft_wrap=True)
    console.print("\nDry run: the input and the options are fine; nothing was written.")


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
    from shoal.cli.arguments import job_of, noting_written
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
        print_plan(wanted)
        return
    from shoal.run.job import run_job

    with showing_progress(quiet=quiet) as progress:
        made = run_job(wanted, progress=noting_written(progress))
    if as_json:
        print_release_json(made)
    elif not quiet:
        from shoal.cli.summary import print_private_half, print_release
        from shoal.run.outputs import STREAM, name_of

        name = name_of(wanted.input.path or STREAM)
        streams = STREAM in made.files.values()
        print_release(made.release, title=f"Release of {name}", stderr=streams)
        if made.audit is not None:
            from shoal.cli.original_and_release import print_audit

            typer.echo(err=streams)
            print_audit(made.audit, "How far attackers get", stderr=streams)
        if wanted.output.save is not None:
            print_private_half(wanted.output.save, stderr=streams)


# ``shoal demo``: a whole run on a table that comes with the package.

_CATEGORICAL = ("workclass", "marital_status", "occupation", "race", "sex", "native_country")


def demo(
    out: Annotated[
        str, typer.Option("--out", help="The folder for the results.", metavar="FOLDER")
    ] = "shoal-demo",
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Anonymize 45,222 census records with k = 10: table, report, certificate, summary."""
    del debug
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            "Could not make the folder {out!r}: {strerror}.", out=out, strerror=error.strerror
        ) from None

    from shoal.cli.arguments import noting_written
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
    sink = FileSink(Input(), output)
    sink.check()
    kept = {*ADULT_QUASI_IDENTIFIERS, "salary"}
    request = Request(
        k=10,
        quasi_identifiers=ADULT_QUASI_IDENTIFIERS,
        sensitive=["salary"],
        drop=[name for name in ADULT_COLUMNS if name not in kept],
        hierarchies=adult_hierarchies(_CATEGORICAL),
        algorithm_options={"effort": "fast"},
    )
    with showing_progress(quiet=quiet) as progress:
        source = FrameSource(load_adult())
        release = run(request, source, sink, progress=noting_written(progress))
    if not quiet:
        from shoal.cli.summary import print_release

        print_release(release, title="Adult census, 45,222 people")
        say(f"The table, report.html and certificate.json are in {out}.")
