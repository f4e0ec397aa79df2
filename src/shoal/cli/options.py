"""Options that several commands share, and how their texts are read."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Annotated, Any

import typer

from shoal.cli.run import show_traces
from shoal.errors import OptionError

__all__ = [
    "in_columns",
    "in_files",
    "in_promises",
    "in_search",
    "parse_names",
    "parse_pairs",
    "parse_value",
]

# An option in one of the panels of --help.
in_columns = partial(typer.Option, rich_help_panel="Columns")
in_promises = partial(typer.Option, rich_help_panel="Promises")
in_search = partial(typer.Option, rich_help_panel="Search")
in_files = partial(typer.Option, rich_help_panel="Files")

Debug = Annotated[
    bool,
    typer.Option(
        "--debug", callback=show_traces, is_eager=True, help="Show the traceback of an error."
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="No progress and no summary; errors still show.")
]
JobFile = Annotated[
    str | None,
    in_files("--job", help="A job file; flags given beside it win over it.", metavar="FILE"),
]

Qi = Annotated[
    list[str] | None,
    in_columns(
        "--qi",
        "--quasi-identifier",
        help="Generalised: could single a person out.",
        metavar="COLUMNS",
    ),
]
SensitiveColumns = Annotated[
    list[str] | None,
    in_columns(
        "--sensitive",
        help="Published as they are; promises may be made about them.",
        metavar="COLUMNS",
    ),
]
Identifier = Annotated[
    list[str] | None,
    in_columns("--identifier", help="Removed: they name people.", metavar="COLUMNS"),
]
Insensitive = Annotated[
    list[str] | None, in_columns("--insensitive", help="Published as they are.", metavar="COLUMNS")
]
Drop = Annotated[list[str] | None, in_columns("--drop", help="Removed.", metavar="COLUMNS")]
Hierarchies = Annotated[
    list[str] | None,
    in_columns("--hierarchy", help="Hierarchy file of a column; repeat it.", metavar="COLUMN=FILE"),
]
Kinds = Annotated[
    list[str] | None,
    in_columns(
        "--kind",
        help="numeric, ordinal, categorical, flat, set, date or datetime; repeat it.",
        metavar="COLUMN=KIND",
    ),
]
Orders = Annotated[
    list[str] | None,
    in_columns(
        "--order", help="Values of an ordinal column, low to high.", metavar="COLUMN=A,B,..."
    ),
]
Weights = Annotated[
    list[str] | None,
    in_columns("--weight", help="How much a loss counts; 1 unless given.", metavar="COLUMN=NUMBER"),
]

K = Annotated[
    int | None, in_promises("--k", "-k", help="Nobody stands out from fewer than k.", metavar="K")
]
Bound = Annotated[
    bool,
    in_search(
        "--bound", help="Also say how far from the best possible release this one can be at most."
    ),
]
Measure = Annotated[str | None, in_search(help="What is minimised; see 'shoal measures'.")]
MeasureOption = Annotated[
    list[str] | None, in_search(help="Option of the measure; repeat it.", metavar="NAME=VALUE")
]
SecretSeed = Annotated[int | None, in_search(help="Repeat a run exactly; keep it secret.")]
SharedSeed = Annotated[int | None, typer.Option(help="Of every run; 0 unless given.")]

MissingValues = Annotated[
    str | None,
    in_files(
        "--missing-values",
        help="Texts that mean a missing value, beside the empty one, as in '?,NA'.",
        metavar="TEXTS",
    ),
]
Delimiter = Annotated[
    str | None,
    in_files("--delimiter", help="Of a CSV; found out unless given.", metavar="CHARACTER"),
]
FileFormat = Annotated[
    str | None,
    in_files(
        "--format",
        help="csv, tsv, parquet, arrow, xlsx or jsonl, where the ending does not say it.",
        metavar="FORMAT",
    ),
]
Certificate = Annotated[
    str | None, in_files(help="Also write a certificate (JSON).", metavar="FILE")
]
Report = Annotated[str | None, in_files(help="Also write a report (HTML).", metavar="FILE")]


def parse_names(given: Iterable[str] | None) -> list[str]:
    """Return the column names of a repeatable option whose texts are separated by commas."""
    parts = (part.strip() for text in given or () for part in text.split(","))
    return [part for part in parts if part]


def parse_pairs(option: str, given: Sequence[str] | None, example: str) -> dict[str, str]:
    """Return the pairs of a repeatable option such as ``--kind zip=set``.

    Raises:
        OptionError: a text is no pair, or a column is given twice.
    """
    pairs: dict[str, str] = {}
    for text in given or ():
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals and value):
            raise OptionError(f"{option} must look like {option} {example}, not {text!r}.")
        if name in pairs:
            raise OptionError(f"{option} is given twice for {name!r}; keep one.")
        pairs[name] = value
    return pairs


def parse_value(text: str) -> Any:
    """Return a number or truth value if the text is one as a job file writes it, else the text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
