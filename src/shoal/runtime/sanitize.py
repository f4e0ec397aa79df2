"""Texts of others in texts for people: a terminal must be able to show them, a log to keep them.

Column names, file names and words of the command line are written by somebody else. They may hold
escape sequences that steer a terminal, marks that turn the direction of writing, a hundred
thousand letters, or a password.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from shoal.messages import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


_LONGEST_NAME = 200
_LONGEST_LINE = 2_000
_WORD = re.compile(r"\S{300,}")

# How a URL starts, slashes that were lost or never typed included. Bounded: a name may be long.
_START = re.compile(
    r"[^\w]{0,3}(?:--?[\w-]{1,30}=)?(?:[a-z][a-z0-9+.-]{1,30}:?/{1,3}|//)?", re.IGNORECASE
)
_TOKEN = re.compile(r"\S+")
# What follows the name of an object or a file on the net may be a signature.
_SIGNED = re.compile(r"\b((?:s3|gs|abfss?|https)://[^\s?#'\"]*)[?#][^\s'\"]*", re.IGNORECASE)
_SECRET = re.compile(r"((?:password|passfile|passwd|pwd|sslkey)=)[^&\s'\"]*", re.IGNORECASE)


def safe_text(text: object, limit: int = _LONGEST_NAME) -> str:
    r"""Return a text as one line that a terminal shows as it is, cut if it is very long.

    What is not printable (control characters, escape sequences, marks of direction, line ends,
    halves of characters) is written as an escape.

    >>> safe_text("age\x1b[2J"), safe_text("a" * 500, 6)
    ('age\\x1b[2J', 'aaaaa…')
    """
    line = str(text)
    if len(line) > limit:
        line = line[: limit - 1] + "…"
    if line.isprintable():
        return line
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)


def safe_lines(text: object, limit: int | None = _LONGEST_LINE) -> str:
    """Return a text of several lines with each line made safe; the lines themselves stay.

    Args:
        text: whatever is to be said.
        limit: characters of a line; None does not cut.
    """
    lines = str(text).split("\n")
    if limit is None:
        return "\n".join(safe_text(line, len(line) + 1) for line in lines)
    return "\n".join(safe_text(_WORD.sub(_shortened, line), limit) for line in lines)


def _shortened(word: re.Match[str]) -> str:
    return f"{word[0][:150]}…{word[0][-50:]}"


def hide_credentials(text: str) -> str:
    """Return a text with users, passwords and signatures of all URLs in it replaced by ``***``.

    URLs that are not written as they should be count as well: ``postgres:/user:secret@host``,
    ``postgresql//user:secret@host``, ``user:secret@host/database``.
    """
    if "@" in text:
        # What stands between quotation marks may hold blanks.
        parts = text.split("'")
        parts[1::2] = [_without_user(part) for part in parts[1::2]]
        text = _TOKEN.sub(lambda word: _without_user(word[0]), "'".join(parts))
    return _SECRET.sub(r"\1***", _SIGNED.sub(r"\1?***", text))


def _without_user(word: str) -> str:
    """Return a word without everything up to its last @, which may be a user and a password."""
    head, at, rest = word.rpartition("@")
    if not at or not (":" in head or "//" in head):
        return word
    start = _START.match(head)
    return f"{start[0] if start else ''}***@{rest}"


def hide_words(text: str, arguments: Iterable[str]) -> str:
    """Return a text without the pieces of passwords that words of a command line hold.

    A path may have been cut in the middle of a password before it came into a message.
    """
    for word in arguments:
        head, at, _ = word.rpartition("@")
        if not at or not re.search(r":|//", head):
            continue
        start = _START.match(head)
        secret = head[start.end() if start else 0 :]
        forms = {secret, unquote(secret)}
        pieces = forms.union(*(re.split(r"[/:\\]", form) for form in forms))
        for piece in sorted(pieces, key=len, reverse=True):
            if len(piece) >= 3:
                text = text.replace(piece, "***").replace(repr(piece)[1:-1], "***")
    return text


def hide_names(text: str, names: Mapping[str, int], translate: Callable[[str], str] = str) -> str:
    """Return a message without column names that may be cells, given with their places.

    Args:
        text: the message, in whichever language.
        names: the place of each column.
        translate: says a message in that language.
    """
    hidden = text
    column = translate(Message("column"))
    for name, place in names.items():
        quoted = repr(name)
        if quoted in hidden:
            guess = Message(" Did you mean {name!r}?", name=name)
            hidden = hidden.replace(translate(guess), "")
            for word in dict.fromkeys((column, column.capitalize())):
                hidden = hidden.replace(f"{word} {quoted}", f"{word} {place}")
            hidden = hidden.replace(quoted, f"({column} {place})")
    if hidden == text:
        return text
    note = Message(
        "(The first line of the file may be data, so it is not shown; if it is data, say "
        "--no-header.)"
    )
    return f"{hidden} {translate(note)}"


def plain_values(value: Any) -> Any:
    """Return only what JSON has: numbers of numpy become Python's, infinity becomes null."""
    if isinstance(value, Mapping):
        return {str(key): plain_values(each) for key, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain_values(each) for each in value]
    if hasattr(value, "item") and not isinstance(value, (str, bytes)):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)
