"""Options that several commands share, and how their texts are read."""

from __future__ import annotations

import tomllib
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.run import show_traces
from shoal.errors import OptionError
from shoal.settings.options import Flag, Option

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "in_files",
    "in_promises",
    "parse_names",
    "parse_pairs",
    "parse_value",
    "typer_option",
]

# An option in one of the panels of --help.
in_promises = partial(typer.Option, rich_help_panel="Promises")
in_files = partial(typer.Option, rich_help_panel="Files")


def typer_option(row: Option, flag: Flag | None = None, help: str | None = None) -> Any:  # noqa: A002 - typer's word
    """Return a row of a table of options as typer takes it."""
    flag = flag or row.flag
    assert flag is not None
    return typer.Option(
        *flag.names,
        help=help or flag.help or row.help,
        metavar=flag.metavar,
        rich_help_panel=flag.panel,
    )


Debug = Annotated[
    bool,
    typer.Option(
        "--debug", callback=show_traces, is_eager=True, help="Show the traceback of an error."
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="No progress and no summary; errors still show.")
]
Json = Annotated[
    bool,
    typer.Option("--json", help="Print the summary as JSON, and nothing else, to standard output."),
]
JobFile = Annotated[
    str | None,
    in_files("--job", help="A job file; options given here count more than it.", metavar="FILE"),
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
