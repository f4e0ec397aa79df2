"""What a command says about itself while it runs, for the messages at its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.messages.language import LANGUAGES
from shoal.options import one_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shoal.io.overwrite_guard import Watch


class State:
    """What the messages at the end of a run depend on."""

    debug = False
    written = False
    kept = ""
    soften: Callable[[], None] | None = None
    arguments: Sequence[str] = ()
    watch: Watch | None = None
    language: str | None = None


def show_traces(wanted: bool) -> bool:
    """Remember the flag ``--debug``; typer calls this as soon as it has seen the flag."""
    State.debug = State.debug or wanted
    return wanted


def choose_language(code: str | None) -> str | None:
    """Remember the flag ``--language``, as `show_traces` does."""
    if code is not None:
        State.language = one_of(*LANGUAGES)("--language", code)
    return code


def chosen_language(code: str) -> str:
    """Return the language of the flag ``--language``, or this one if it was not given."""
    return State.language or code


def note_written() -> None:
    """Remember that the output is in place, so that a late Ctrl-C does not deny it."""
    State.written = True


def note_kept(sentence: str) -> None:
    """Remember what stays behind if the run is stopped, so that the message says it."""
    State.kept = sentence


def soften_next_interrupt(instead: Callable[[], None] | None) -> None:
    """Call this at the next Ctrl-C instead of stopping; the one after it stops as always.

    None takes that back.
    """
    State.soften = instead
