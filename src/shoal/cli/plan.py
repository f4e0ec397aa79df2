"""``--dry-run``: everything is checked and said, nothing is searched and nothing is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.errors import OptionError, PromiseError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from shoal.settings.job import Job
    from shoal.settings.memory import Need
    from shoal.settings.request import Request
    from shoal.table.encode import EncodedTable
    from shoal.table.schema import Schema

__all__ = ["print_plan"]


def print_plan(job: Job) -> None:
    """Check a job against its table, and print what it would do.

    Raises:
        ShoalError: what ``shoal.anonymize`` would raise before its search begins.
    """
    import narwhals as nw

    from shoal.runtime.progress import no_progress
    from shoal.settings.files import Output
    from shoal.settings.outputs import STREAM, FileSink
    from shoal.settings.run_job import FileSource
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
    from shoal.settings.memory import available_bytes, human_bytes, human_seconds

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
        message = (
            f"k is {request.k:,} but the table has only {table.n_rows:,} rows, so no group can "
            "be that large; choose a smaller k."
        )
        raise PromiseError(message)
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
        raise OptionError(f"Measure {request.measure!r} is a score and cannot be minimised.")
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
