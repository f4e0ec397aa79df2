"""``shoal hierarchy build`` and ``shoal hierarchy check``."""

from __future__ import annotations

import io
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.arguments import Reading, Said, parse_names, takes_flags, with_common_flags
from shoal.cli.screen import say
from shoal.errors import HierarchyError, OptionError, did_you_mean
from shoal.messages import Message
from shoal.runtime.sanitize import safe_text

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

    from shoal.hierarchy import Taxonomy


_CODES = ("icd10", "atc", "nuts", "country", "postcode")
_METHODS = ("interval", "prefix", "date", *_CODES, "frequency", "flat")

hierarchy = typer.Typer(
    help="Build a hierarchy from the values of a column, or check a file.",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@hierarchy.callback(invoke_without_command=True)
def _group(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@hierarchy.command()
@with_common_flags
@takes_flags()
def build(
    source: Annotated[str, typer.Argument(metavar="DATA", help="The table; - is standard input.")],
    *,
    column: Annotated[str, typer.Option("--column", "-c", help="The column.", metavar="COLUMN")],
    output: Annotated[
        str, typer.Option("--output", "-o", help="The hierarchy file; - is standard output.")
    ],
    method: Annotated[
        str | None,
        typer.Option(
            help="interval, prefix, date, icd10, atc, nuts, country, postcode, frequency or flat; "
            "chosen by the data unless given."
        ),
    ] = None,
    widths: Annotated[
        str | None, typer.Option(help="interval: widths, as in 5,10,20.", metavar="NUMBERS")
    ] = None,
    origin: Annotated[
        float | None, typer.Option(help="interval: where intervals begin.", metavar="NUMBER")
    ] = None,
    keep: Annotated[
        str | None, typer.Option(help="prefix: characters kept, as in 3,1.", metavar="NUMBERS")
    ] = None,
    mask: Annotated[
        str | None, typer.Option(help="prefix: what hides a character.", metavar="CHARACTER")
    ] = None,
    levels: Annotated[
        str | None,
        typer.Option(help="date: some of day,month,quarter,year,decade.", metavar="NAMES"),
    ] = None,
    titles: Annotated[
        str | None,
        typer.Option(help="icd10, atc, nuts, country: titles in en or de.", metavar="LANGUAGE"),
    ] = None,
    country: Annotated[
        str | None, typer.Option(help="postcode: of the codes, as in DE.", metavar="CODE")
    ] = None,
    fanout: Annotated[
        int | None, typer.Option(help="frequency: parts per cut.", metavar="NUMBER")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    reading: Reading,
) -> None:
    """Build a hierarchy file from the values of a column, to edit and to use.

    The file holds the distinct values of the column: treat it like the data.
    """
    options: dict[str, object] = {
        "widths": None if widths is None else _numbers("--widths", widths, float),
        "origin": origin,
        "keep": None if keep is None else _numbers("--keep", keep, int),
        "mask": mask,
        "levels": None if levels is None else tuple(parse_names([levels])),
        "language": titles,
        "country": country,
        "fanout": fanout,
    }
    given = {name: value for name, value in options.items() if value is not None}
    _refuse_to_replace(output, force=force)
    from shoal.run.outputs import check_files

    check_files(source, {Message("the hierarchy file"): output})
    series = _read_column(source, column, reading)
    tree = _build(series, method, given)
    text = io.StringIO()
    tree.to_csv(text)
    from shoal.cli.state import note_written
    from shoal.io.atomic import atomic_write_text

    atomic_write_text(output, text.getvalue())
    note_written()
    say(_described(output, tree), stderr=output == "-")


@hierarchy.command()
@with_common_flags
@takes_flags()
def check(
    file: Annotated[str, typer.Argument(metavar="HIERARCHY", help="The hierarchy file.")],
    *,
    data: Annotated[
        str | None,
        typer.Option("--data", help="A table whose values it must hold.", metavar="FILE"),
    ] = None,
    column: Annotated[
        str | None, typer.Option("--column", "-c", help="The column of that table.")
    ] = None,
    list_missing: Annotated[
        bool,
        typer.Option(
            "--list-missing", help="Also print the values of the data that are not in it."
        ),
    ] = False,
    reading: Reading,
) -> None:
    """Check that a hierarchy file is a tree and, with --data, that it covers a column."""
    if (data is None) is not (column is None):
        raise OptionError("--data and --column go together; give both or neither.")
    from shoal.hierarchy import canonical_label, check_hierarchy, load_hierarchy, require_cover

    tree = load_hierarchy(file)
    say(_described(file, tree))
    for note in check_hierarchy(tree):
        say(Message("Note: {note}", note=note))
    if data is None or column is None:
        return
    series = _read_column(data, column, reading)
    labels = [canonical_label(value) for value in series.unique().to_list()]
    if list_missing:
        for label in sorted(set(labels).difference(tree.leaf_labels)):
            say(safe_text(label))
    require_cover(tree, column, labels)
    covers = Message(
        "It covers all {n:,} distinct values of column {column!r}.", n=len(labels), column=column
    )
    say(covers)


def _described(file: str, tree: Taxonomy) -> Message:
    return Message(
        "{file}: {n:,} leaves, {inner:,} nodes above them, height {height}.",
        file=file,
        n=tree.n_leaves,
        inner=tree.n_nodes - tree.n_leaves,
        height=tree.tree_height,
    )


def _refuse_to_replace(output: str, *, force: bool) -> None:
    from pathlib import Path

    if output != "-" and not force and Path(output).exists():
        raise OptionError(
            "{output!r} exists; give another name, or --force to replace it.", output=output
        )


def _read_column(source: str, column: str, reading: Said) -> pl.Series:
    """Return the values of a column that are not missing."""
    from shoal.cli.arguments import input_of
    from shoal.settings.files import Input
    from shoal.settings.inputs import read_input

    frame = read_input(input_of(Input(), source, reading), columns=lambda _: [column])
    series = frame.get_column(column).drop_nulls()
    if series.dtype.is_float():
        series = series.filter(series.is_finite())
    if series.is_empty():
        raise HierarchyError("Column {column!r} has no value at all.", column=column)
    return series


def _build(series: pl.Series, method: str | None, options: dict[str, object]) -> Taxonomy:
    from shoal.hierarchy import (
        Taxonomy,
        date_hierarchy,
        frequency_hierarchy,
        interval_hierarchy,
        prefix_hierarchy,
    )

    chosen = _natural_method(series) if method is None else method
    if chosen not in _METHODS:
        hint = did_you_mean(chosen, _METHODS)
        raise OptionError(
            "--method must be one of {methods}, not {chosen!r}.{hint}",
            methods=", ".join(_METHODS),
            chosen=chosen,
            hint=hint,
        )
    counted = series.value_counts(name="n rows").sort(series.name)
    values, counts = (
        counted.get_column(series.name).to_list(),
        counted.get_column("n rows").to_list(),
    )
    builders: dict[str, tuple[Callable[..., Taxonomy], tuple[str, ...]]] = {
        "interval": (interval_hierarchy, ("widths", "origin")),
        "prefix": (prefix_hierarchy, ("keep", "mask")),
        "date": (date_hierarchy, ("levels",)),
        "frequency": (frequency_hierarchy, ("fanout",)),
        "flat": (Taxonomy.flat, ()),
    }
    for name in _CODES:
        option = "country" if name == "postcode" else "language"
        builders[name] = (partial(_by_codes, name), (option,))
    builder, takes = builders[chosen]
    for name in options:
        if name not in takes:
            raise OptionError(
                "--{name} does not go with the method {chosen!r}.", name=name, chosen=chosen
            )
    return builder(values, *([counts] if chosen == "frequency" else []), **options)


def _by_codes(name: str, values: list[object], **options: object) -> Taxonomy:
    from shoal.hierarchy.rules import HierarchyRule

    return HierarchyRule.of({"rule": name, **options}).build(values)


def _natural_method(series: pl.Series) -> str:
    if series.dtype.is_numeric():
        return "interval"
    return "date" if series.dtype.is_temporal() else "frequency"


def _numbers(option: str, text: str, convert: Callable[[str], float]) -> tuple[float, ...]:
    try:
        return tuple(convert(part) for part in parse_names([text]))
    except ValueError:
        raise OptionError(
            "{option} must be numbers separated by commas, not {text!r}.", option=option, text=text
        ) from None
