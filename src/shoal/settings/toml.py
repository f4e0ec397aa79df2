"""Values as TOML writes them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime, time

from shoal.errors import JobError

__all__ = ["toml_key", "toml_of"]


def toml_key(key: str) -> str:
    """Return the name of a key as TOML writes it."""
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _string(key)


def _string(text: str) -> str:
    # The short escapes of TOML, and \uXXXX for every other character it bans from a string.
    short = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    escaped = "".join(
        short.get(c) or (f"\\u{ord(c):04X}" if ord(c) < 0x20 or ord(c) == 0x7F else c) for c in text
    )
    return f'"{escaped}"'


def toml_of(value: object, place: str) -> str:
    """Return a value as a job file writes it.

    Raises:
        JobError: TOML has no such values.
    """
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return _string(value)
        case int() | float():
            return repr(value)
        case datetime() | date() | time():
            return value.isoformat()
        case list() | tuple():
            return "[" + ", ".join(toml_of(each, place) for each in value) + "]"
        case Mapping():
            pairs = (f"{toml_key(k)} = {toml_of(v, f'{place}.{k}')}" for k, v in value.items())
            return "{" + ", ".join(pairs) + "}"
        case _:
            message = f"{place} is of type {type(value).__name__}, which a job file cannot hold."
            raise JobError(message)
