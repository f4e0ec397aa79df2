"""Which commands have an option of a run, and how its flag is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.settings.options import Flag

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "AFTERWARDS",
    "ALL_COMMANDS",
    "BOTH",
    "TABLE_COMMANDS",
    "columns_flag",
    "detail_flag",
    "in_words",
    "promise_flag",
    "search_flag",
]

BOTH = ("anonymize", "refine")
TABLE_COMMANDS = ("anonymize", "refine", "explain", "compare")
AFTERWARDS = ("score", "audit", "utility")
"""Commands that compare a table with its release."""
ALL_COMMANDS = (*TABLE_COMMANDS, *AFTERWARDS, "verify")


def in_words(words: Iterable[str]) -> str:
    """Return words as a sentence lists them."""
    *first, last = words
    return f"{', '.join(first)} or {last}"


def columns_flag(
    *names: str, on: tuple[str, ...] = TABLE_COMMANDS, metavar: str = "COLUMNS"
) -> Flag:
    """Return the flag of an option that names columns."""
    return Flag(names=names, on=on, panel="Columns", metavar=metavar)


def detail_flag(name: str, metavar: str, example: str, *also: str) -> Flag:
    """Return the flag of something that is said about one column."""
    return Flag(
        names=(f"--{name}",),
        on=(*TABLE_COMMANDS, *AFTERWARDS, *also),
        panel="Columns",
        metavar=f"COLUMN={metavar}",
        example=example,
    )


def promise_flag(*names: str, on: tuple[str, ...], metavar: str | None = None) -> Flag:
    """Return the flag of an option about what is promised."""
    return Flag(names=names, on=on, panel="Promises", metavar=metavar)


def search_flag(*names: str, on: tuple[str, ...], metavar: str | None = None, **more: str) -> Flag:
    """Return the flag of an option of the search."""
    return Flag(names=names, on=on, panel="Search", metavar=metavar, **more)
