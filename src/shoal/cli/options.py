"""Options that several commands share, and how their texts are read."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import typer

from shoal.cli.run import show_traces
from shoal.errors import OptionError

__all__ = ["parse_names", "parse_pairs", "parse_value"]

_COLUMNS = "Columns"
_PROMISES = "Promises"
_FILES = "Files"


def _columns(*names: str, text: str, metavar: str = "COLUMNS") -> Any:
    return typer.Option(*names, metavar=metavar, help=text, rich_help_panel=_COLUMNS)


def _promise(*names: str, text: str, metavar: str | None = None) -> Any:
    return typer.Option(*names, metavar=metavar, help=text, rich_help_panel=_PROMISES)


def _file(*names: str, text: str, metavar: str | None = None) -> Any:
    return typer.Option(*names, metavar=metavar, help=text, rich_help_panel=_FILES)


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
    _file("--job", text="A job file; flags given beside it win over it.", metavar="FILE"),
]

Qi = Annotated[
    list[str] | None,
    _columns("--qi", "--quasi-identifier", text="Generalised: could single a person out."),
]
SensitiveColumns = Annotated[
    list[str] | None,
    _columns("--sensitive", text="Published as they are; promises may be made about them."),
]
Identifier = Annotated[
    list[str] | None, _columns("--identifier", text="Removed: they name people.")
]
Insensitive = Annotated[list[str] | None, _columns("--insensitive", text="Published as they are.")]
Drop = Annotated[list[str] | None, _columns("--drop", text="Removed.")]
Hierarchies = Annotated[
    list[str] | None,
    _columns("--hierarchy", text="Hierarchy file of a column; repeat it.", metavar="COLUMN=FILE"),
]
Kinds = Annotated[
    list[str] | None,
    _columns(
        "--kind",
        text="numeric, ordinal, categorical, flat, set, date or datetime; repeat it.",
        metavar="COLUMN=KIND",
    ),
]
Orders = Annotated[
    list[str] | None,
    _columns("--order", text="Values of an ordinal column, low to high.", metavar="COLUMN=A,B,..."),
]
Weights = Annotated[
    list[str] | None,
    _columns("--weight", text="How much a loss counts; 1 unless given.", metavar="COLUMN=NUMBER"),
]

K = Annotated[
    int | None, _promise("--k", "-k", text="Nobody stands out from fewer than k.", metavar="K")
]
LDiversity = Annotated[
    float | None,
    _promise("--l-diversity", text="Each group holds L well-represented values.", metavar="L"),
]
LKind = Annotated[
    str | None,
    _promise("--l-kind", text="frequency, distinct, entropy or recursive.", metavar="KIND"),
]
LC = Annotated[float | None, _promise("--l-c", text="c of recursive (c,l).", metavar="C")]
TCloseness = Annotated[
    float | None,
    _promise("--t-closeness", text="No group is further than T from the table.", metavar="T"),
]
TDistance = Annotated[
    str | None, _promise("--t-distance", text="equal or ordered.", metavar="DISTANCE")
]
Alpha = Annotated[
    float | None,
    _promise("--alpha", text="No value is more frequent in a group (alpha,k).", metavar="ALPHA"),
]
PrivacyColumn = Annotated[
    str | None,
    _promise(
        "--privacy-column",
        text="The sensitive column of these promises; all unless given.",
        metavar="COLUMN",
    ),
]

Bound = Annotated[
    bool,
    typer.Option(
        "--bound",
        help="Also say how far from the best possible release this one can be at most.",
        rich_help_panel="Search",
    ),
]

MissingValues = Annotated[
    str | None,
    _file(
        "--missing-values",
        text="Texts that mean a missing value, beside the empty one, as in '?,NA'.",
        metavar="TEXTS",
    ),
]
Delimiter = Annotated[
    str | None,
    _file("--delimiter", text="Of a CSV; found out unless given.", metavar="CHARACTER"),
]
FileFormat = Annotated[
    str | None,
    _file(
        "--format",
        text="csv, tsv, parquet, arrow, xlsx or jsonl, where the ending does not say it.",
        metavar="FORMAT",
    ),
]


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
