"""What a command says about itself while it runs, and the language in which it speaks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoal.messages import Message
from shoal.messages.language import LANGUAGES, Language
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
    """Return the language of the flag ``--language``; if it was not given, speak this one."""
    State.language = State.language or code
    return State.language


def words(text: str, /, **values: Any) -> str:
    """Return a text in the language of the command: a message, or a template with its values."""
    return translated(text if isinstance(text, Message) else Message(text, **values))


def translated(text: str) -> str:
    """Return a message in the language of the command; a text that is none as it is."""
    return Language(State.language or "en").translate(text)


def number(value: float, spec: str = ",") -> str:
    """Return a number as the language of the command writes it."""
    return Language(State.language or "en").shown(value, spec)


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
