"""Columns that name people and are published as they are, as by a slip of the pointer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.profile.facts import facts_of
from shoal.profile.roles import names_somebody
from shoal.publish.judgement import Doubt, OpenPoint

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

__all__ = ["find_slips", "seems_to_name"]

_MOST_ROWS = 20_000


def find_slips(frame: pl.DataFrame, exact: Iterable[str]) -> list[Doubt]:
    """Return a sentence for every column that names people and is published; never a cell.

    Args:
        frame: the table; columns that were not read are not looked at.
        exact: the columns that are published as they are.
    """
    found = []
    for name in exact:
        if name in frame.columns and seems_to_name(frame.get_column(name)):
            short = f"Column {name!r} seems to name people and is published as it is."
            advice = "Make it an identifier, which is removed, unless you are sure that it does not"
            found.append(Doubt(f"{short} {advice}.", OpenPoint("names people", short, name)))
    return found


def seems_to_name(column: pl.Series) -> bool:
    """Return whether name and values of a column say that it names people."""
    some = column.gather_every(max(1, -(-len(column) // _MOST_ROWS)))
    return names_somebody(facts_of(some)) is not None
