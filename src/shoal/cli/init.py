"""``shoal init``: a first job file for a table, to be read and edited by a person."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.arguments import Reading, input_of, takes_flags
from shoal.cli.screen import column_on_screen, say
from shoal.cli.state import number, translated, words
from shoal.errors import OptionError
from shoal.io.overwrite_guard import current_watch
from shoal.messages import Message
from shoal.settings.files import Input
from shoal.table.schema import Role

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console

    from shoal.profile.guess import Guess
    from shoal.profile.suggest import Suggestion


_LETTERS = {
    "i": Role.IDENTIFIER,
    "q": Role.QUASI_IDENTIFIER,
    "s": Role.SENSITIVE,
    "n": Role.INSENSITIVE,
    "d": Role.DROP,
    "p": Role.PERSON,
}


@takes_flags()
def init(
    source: Annotated[str, typer.Argument(metavar="DATA", help="The table to look at.")],
    *,
    output: Annotated[
        str, typer.Option("--output", "-o", help="The job file to write.", metavar="FILE")
    ] = "job.toml",
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Take every guess; ask nothing.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
    reading: Reading,
) -> None:
    """Look at a table and write a job file with guessed roles, to check and to edit.

    The guesses err on the side of caution: what is not recognised is generalised or dropped, and
    marked. On a terminal every guess is a question, and b goes back to the one before. Nothing is
    anonymized.
    """
    if Path(output).exists() and not force:
        raise OptionError(
            "{output!r} exists; give another name with -o, or --force to replace it.", output=output
        )
    from shoal.cli.state import note_written
    from shoal.io.location import is_database, typed_name
    from shoal.profile.suggest import suggest_job
    from shoal.run.outputs import check_files

    check_files(source, {Message("the job file"): output})
    asked = input_of(Input(), source, reading)
    suggestion = suggest_job(source, **{name: getattr(asked, name) for name in reading})
    from shoal.cli.screen import open_console

    console = open_console()
    if not yes and source != "-" and sys.stdin.isatty() and sys.stdout.isatty():
        if asked.extra_rows is None and suggestion.input.extra_rows == "drop":
            asked = replace(asked, extra_rows=_ask_extra_rows(console))
            if asked.extra_rows == "keep":
                said = {**reading, "extra_rows": "keep"}
                suggestion = suggest_job(source, **{name: getattr(asked, name) for name in said})
        suggestion = _ask(console, suggestion, asked)
    typed = typed_name(source)
    written = suggestion.write(output, source=typed, force=force)
    note_written()
    _show(console, suggestion)
    _say_written(console, written, typed, output)
    if typed != source and is_database(source):
        console.print(
            words(
                "User and password are left out; give them in the environment as PGUSER and "
                "PGPASSWORD, or in ~/.pgpass."
            ),
            markup=False,
        )


def _ask(console: Console, suggestion: Suggestion, asked_for: Input) -> Suggestion:
    """Ask about every column, with the guess as the answer that Enter gives."""
    letters = ", ".join(f"[b]{letter}[/b] {words(role)}" for letter, role in _LETTERS.items())
    how = words(
        "Enter takes the guess, [b]b[/b] goes back, [b]a[/b] takes all guesses that are not in "
        "doubt. Roles: {letters}.",
        letters=letters,
    )
    console.print(how)
    frame: pl.DataFrame | None = None
    names = [guess.name for guess in suggestion.columns]
    asked: list[int] = []
    place, only_doubts = 0, False
    while place <= len(names):
        if place == len(names):
            k = _ask_k(suggestion.k)
            if k is not None:
                kept = _ask_promise(console, replace(suggestion, k=k, declined=()))
                if kept is not None:
                    suggestion = kept
                    break
            answer = "b"
        else:
            guess = suggestion[names[place]]
            if only_doubts and guess.sure:
                place += 1
                continue
            _show_question(console, suggestion, guess)
            answer = _ask_role(guess)
        if answer == "b":
            # What was taken unseen is asked about when somebody comes back.
            place = asked.pop() if asked else 0
            only_doubts = False
            continue
        only_doubts = only_doubts or answer == "a"
        if answer not in {"a", guess.role.value}:
            if frame is None:
                frame = _read(asked_for, suggestion)
            suggestion = suggestion.replaced(_guess_as(frame, guess, answer))
        if answer != "a" or guess.sure:
            asked.append(place)
            place += 1
    return suggestion if frame is None else suggestion.counted(frame)


def _show_question(console: Console, suggestion: Suggestion, guess: Guess) -> None:
    console.print(f"\n{column_on_screen(guess.name)}", style="bold", markup=False)
    if not guess.sure:
        console.print(words("  In doubt: please decide."), style="yellow")
    console.print(f"  {translated(guess.why)}", markup=False)
    if guess.together is not None:
        counts = words(
            "  Singles out {alone:,} of {n:,} rows alone, {together:,} together with the "
            "quasi-identifiers.",
            alone=guess.alone,
            n=suggestion.n_rows,
            together=guess.together,
        )
        console.print(counts)


def _ask_role(guess: Guess) -> str:
    """Return a role, b for back, or a for all."""
    while True:
        answer = str(typer.prompt(words("  role"), guess.role.value)).strip().casefold()
        role = _LETTERS.get(answer, answer)
        if role in _LETTERS.values() or role in {"a", "b"}:
            return role
        letters = ", ".join(_LETTERS)
        say(words("  Answer with one of {letters} or the whole word, a or b.", letters=letters))


def _ask_extra_rows(console: Console) -> str:
    """Return what happens to rows that look like totals, notes or repeated headers."""
    from shoal.io.overwrite_guard import current_watch

    watch = current_watch()
    for note in () if watch is None else watch.notes:
        console.print(translated(note), style="yellow", markup=False)
    while True:
        question = words("  leave these rows out (y or n)")
        answer = str(typer.prompt(question, "y")).strip().casefold()[:1]
        if answer in {"y", "n"}:
            return {"y": "drop", "n": "keep"}[answer]
        say(words("  Answer with y or n."))


def _ask_k(default: int) -> int | None:
    """Return k; None to go back."""
    while True:
        question = words("k: from how many people may nobody stand out")
        answer = str(typer.prompt(f"\n{question}", str(default))).strip().casefold()
        if answer == "b":
            return None
        if answer.isdecimal() and int(answer) >= 2:
            return int(answer)
        say(words("  Answer with a whole number from 2 on, or b to go back."))


def _ask_promise(console: Console, suggestion: Suggestion) -> Suggestion | None:
    """Return the suggestion with the proposed promise or without; None to go back.

    Whoever takes it away is asked again, and told what that means.
    """
    if not suggestion.promised:
        return suggestion
    columns = ", ".join(column_on_screen(name) for name in suggestion.promised)
    proposed = words(
        "Proposed: at least two different values of {columns} in every group.", columns=columns
    )
    console.print(f"\n{proposed}", markup=False)
    answer = _ask_yes(words("  promise it (y, n, or b to go back)"), "y")
    if answer == "n":
        then = words("  Then a group may share one value, which is known without finding anybody.")
        console.print(then, style="yellow")
        really = _ask_yes(words("  really without it (y or n)"), "n")
        answer = {"y": "n", "n": "y", "b": "b"}[really]
    if answer == "n":
        return replace(suggestion, declined=suggestion.promised)
    return suggestion if answer == "y" else None


def _ask_yes(question: str, default: str) -> str:
    """Return y, n, or b for back."""
    while True:
        answer = str(typer.prompt(question, default)).strip().casefold()[:1]
        if answer in {"y", "n", "b"}:
            return answer
        say(words("  Answer with y, n, or b to go back."))


def _guess_as(frame: pl.DataFrame, guess: Guess, role: str) -> Guess:
    from shoal.profile.guess import guess_column

    return guess_column(frame.get_column(guess.name), Role(role))


def _read(asked_for: Input, suggestion: Suggestion) -> pl.DataFrame:
    from shoal.settings.inputs import read_input

    extra_rows = asked_for.extra_rows or suggestion.input.extra_rows
    missing = suggestion.missing_values or ("",)
    return read_input(
        replace(asked_for, missing_values=missing, extra_rows=extra_rows),
        details=suggestion.arguments(),
    )


def _show(console: Console, suggestion: Suggestion) -> None:
    from rich.table import Table
    from rich.text import Text

    heads = (words("column"), words("guessed role"), words("kind"))
    table = Table(*heads, box=None, pad_edge=False)
    counted = suggestion.singled_out is not None
    if counted:
        table.add_column(words("alone"), justify="right")
        table.add_column(words("together"), justify="right")
    table.add_column(words("why"))
    for guess in suggestion.columns:
        kind = words(guess.kind.value) if guess.kind and guess.role is Role.QUASI_IDENTIFIER else ""
        name = Text(column_on_screen(guess.name), overflow="fold")
        role = words(guess.role.value) + ("" if guess.sure else " ?")
        together = "" if guess.together is None else number(guess.together)
        counts = [number(guess.alone), together] if counted else []
        table.add_row(name, role, kind, *counts, Text(translated(guess.why)))
    console.print(table)
    if counted:
        counts_of = words(
            "alone, together: of {n:,} rows, how many the column singles out by itself, and "
            "together with the quasi-identifiers.",
            n=suggestion.n_rows,
        )
        console.print(counts_of)
    if suggestion.unsure:
        shown = ", ".join(column_on_screen(name) for name in suggestion.unsure)
        console.print(
            words(
                "In doubt, marked with ?: {names}. Look at these first; what is dropped is not "
                "published unless you give it another role.",
                names=shown,
            ),
            style="yellow",
            markup=False,
        )
    watch = current_watch()
    if watch is not None and any(guess.name in watch.doubtful for guess in suggestion.columns):
        doubt = words(
            "Note: the first line of the file may be data rather than column names, so it is not "
            "shown; if it is data, run this again with --no-header."
        )
        console.print(doubt, style="yellow")
    if suggestion.promised:
        columns = ", ".join(column_on_screen(name) for name in suggestion.promised)
        promised = words(
            "Promised: at least two different values of {columns} in every group.", columns=columns
        )
        console.print(promised, markup=False)
    for note in suggestion.notes:
        line = words("Note: {note}", note=note)
        console.print(line, style="yellow", markup=False)


def _say_written(console: Console, written: list[Path], source: str, output: str) -> None:
    if len(written) > 1:
        hierarchies = words(
            "Wrote {n} hierarchies to {folder}; they hold values of the data, so treat them like "
            "the data.",
            n=len(written) - 1,
            folder=written[1].parent,
        )
        console.print(f"\n{hierarchies}", markup=False, soft_wrap=True)
    run = words("Wrote {file}. Check every role in it, then run:", file=output)
    command = f"shoal anonymize {shlex.quote(source)} -o safe.csv --job {shlex.quote(output)}"
    console.print(f"\n{run} {command}", markup=False, soft_wrap=True)
