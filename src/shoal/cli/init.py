"""``shoal init``: a first job file for a table, to be read and edited by a person."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.options import Debug, Delimiter, FileFormat, MissingValues, parse_names
from shoal.cli.screen import column_on_screen, say
from shoal.errors import OptionError
from shoal.table.schema import Role

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console

    from shoal.profile import Guess, Suggestion

__all__ = ["init"]

_LETTERS = {
    "i": Role.IDENTIFIER,
    "q": Role.QUASI_IDENTIFIER,
    "s": Role.SENSITIVE,
    "n": Role.INSENSITIVE,
    "d": Role.DROP,
}


def init(
    source: Annotated[str, typer.Argument(metavar="DATA", help="The table to look at.")],
    output: Annotated[
        str, typer.Option("--output", "-o", help="The job file to write.", metavar="FILE")
    ] = "job.toml",
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Take every guess; ask nothing.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
    file_format: FileFormat = None,
    delimiter: Delimiter = None,
    missing_values: MissingValues = None,
    debug: Debug = False,
) -> None:
    """Look at a table and write a job file with guessed roles, to check and to edit.

    The guesses err on the side of caution: what is not recognised is generalised. On a terminal
    every guess is a question. Nothing is anonymized.
    """
    del debug
    if Path(output).exists() and not force:
        raise OptionError(
            f"{output!r} exists; give another name with -o, or --force to replace it."
        )
    from shoal.cli.run import note_written
    from shoal.io import shown_name
    from shoal.profile import suggest_job
    from shoal.settings.outputs import check_files

    check_files(source, {"the job file": output})
    given = None if missing_values is None else ("", *parse_names([missing_values]))
    suggestion = suggest_job(source, missing_values=given, format=file_format, delimiter=delimiter)
    from shoal.cli.screen import open_console

    console = open_console()
    if not yes and source != "-" and sys.stdin.isatty() and sys.stdout.isatty():
        suggestion = _ask(console, suggestion, source, file_format, delimiter)
    shown = shown_name(source)  # the URL of a database may hold a password
    written = suggestion.write(output, source=shown, force=force)
    note_written()
    _show(console, suggestion)
    _say_written(console, written, shown, output)


def _ask(
    console: Console,
    suggestion: Suggestion,
    source: str,
    file_format: str | None,
    delimiter: str | None,
) -> Suggestion:
    """Ask about every column, with the guess as the answer that Enter gives."""
    letters = ", ".join(f"[b]{letter}[/b] {role}" for letter, role in _LETTERS.items())
    console.print(f"Enter takes the guess. Roles: {letters}.")
    frame: pl.DataFrame | None = None
    for guess in suggestion.columns:
        console.print(f"\n{column_on_screen(guess.name)}", style="bold", markup=False)
        console.print(f"  {guess.why}", markup=False)
        role = _ask_role(guess)
        if role != guess.role.value:
            if frame is None:
                frame = _read(source, suggestion, file_format, delimiter)
            suggestion = suggestion.replaced(_guess_as(frame, guess, role))
    k = typer.prompt("\nk: from how many people may nobody stand out", suggestion.k, type=int)
    return replace(suggestion, k=max(int(k), 2))


def _ask_role(guess: Guess) -> str:
    while True:
        answer = str(typer.prompt("  role", guess.role.value)).strip().casefold()
        role = _LETTERS.get(answer, answer)
        if role in _LETTERS.values():
            return role
        say(f"  Answer with one of {', '.join(_LETTERS)} or the whole word.")


def _guess_as(frame: pl.DataFrame, guess: Guess, role: str) -> Guess:
    from shoal.profile.guess import guess_column

    return guess_column(frame.get_column(guess.name), Role(role))


def _read(
    source: str, suggestion: Suggestion, file_format: str | None, delimiter: str | None
) -> pl.DataFrame:
    from shoal.io import read_table

    return read_table(
        source,
        format=file_format,
        delimiter=delimiter,
        missing_values=suggestion.missing_values or ("",),
        numeric=[guess.name for guess in suggestion.columns if guess.kind == "numeric"],
    )


def _show(console: Console, suggestion: Suggestion) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table("column", "guessed role", "kind", "why", box=None, pad_edge=False)
    for guess in suggestion.columns:
        kind = guess.kind.value if guess.kind and guess.role is Role.QUASI_IDENTIFIER else ""
        name = Text(column_on_screen(guess.name), overflow="fold")
        table.add_row(name, guess.role.value, kind, Text(guess.why))
    console.print(table)
    if any(column_on_screen(guess.name).startswith("column ") for guess in suggestion.columns):
        console.print(
            "Note: the first line of the file may be data rather than column names, so it is not "
            "shown; if it is data, put a line of names first and run this again.",
            style="yellow",
        )
    for note in suggestion.notes:
        console.print(f"Note: {note}", style="yellow", markup=False)


def _say_written(console: Console, written: list[Path], source: str, output: str) -> None:
    if len(written) > 1:
        folder = written[1].parent
        console.print(
            f"\nWrote {len(written) - 1} hierarchies to {folder}; they hold values of the data, "
            "so treat them like the data.",
            markup=False,
            soft_wrap=True,
        )
    console.print(
        f"\nWrote {output}. Check every role in it, then run: "
        f"shoal anonymize {source} -o safe.csv --job {output}",
        markup=False,
        soft_wrap=True,
    )
