"""Which columns of several tables are keys, and which name a row of another table: from the data.

A column that names rows of another table holds nothing but values of a column there in which no
value stands twice. Small numbers do so by chance, so names have to agree as well: both columns are
called alike, or one is called as the other table is (``patient`` or ``patient_no`` names rows of
``patients``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import polars as pl

_INSIDE = 0.95
"""Rows whose value the other table has; the others hang from nothing, and runs leave them out."""
_ENDINGS = ("identifier", "number", "code", "key", "ref", "nr", "no", "id", "pk", "fk")


class Place(NamedTuple):
    """Where a table stands among others.

    Attributes:
        key: the column that others name its rows by.
        above: the table that it hangs from.
        link: the column that names the row above.
        others: further columns that name rows of a table.
    """

    key: str | None = None
    above: str | None = None
    link: str | None = None
    others: tuple[str, ...] = ()


def propose_links(tables: Mapping[str, pl.DataFrame]) -> dict[str, Place]:
    """Return where each table stands, as far as values and names of columns tell.

    A table of diagnoses that names both stays and patients hangs from stays, if these name
    patients: from the table that is itself furthest below.
    """
    keys = {name: _unique_columns(frame) for name, frame in tables.items()}
    links: list[tuple[int, str, str, str, str]] = []
    for name, frame in tables.items():
        for above in tables:
            one = None if above == name else _link(frame, tables[above], keys[above], above)
            if one is not None:
                links.append((*one, name, above))
    found: dict[str, dict[str, tuple[str, str]]] = {name: {} for name in tables}
    for _, link, key, name, above in sorted(links, key=lambda each: -each[0]):
        if not _hangs(found, above, name):
            found[name][above] = (link, key)

    def below(name: str) -> tuple[int, int]:
        """Return how far down a table is, and its rows: a list of codes has few."""
        return _depth(found, name), tables[name].height

    chosen = {name: max(each, key=below) for name, each in found.items() if each}
    named = {above: found[name][above][1] for name, above in chosen.items()}
    return {
        name: Place(
            named.get(name),
            chosen.get(name),
            found[name][chosen[name]][0] if name in chosen else None,
            tuple(link for above, (link, _) in found[name].items() if above != chosen.get(name)),
        )
        for name in tables
    }


def _unique_columns(frame: pl.DataFrame) -> list[str]:
    """Return the columns in which every row has a value of its own."""
    return [
        column.name
        for column in frame.get_columns()
        if len(column)
        and not column.dtype.is_nested()
        and not column.dtype.is_float()
        and not column.dtype.is_temporal()
        and not column.null_count()
        and column.n_unique() == len(column)
    ]


def _link(
    frame: pl.DataFrame, above: pl.DataFrame, keys: list[str], name: str
) -> tuple[int, str, str] | None:
    """Return how well the names fit, the column that names rows above, and the key there."""
    found = [
        (likeness, column.name, key)
        for column in frame.get_columns()
        for key in keys
        if (likeness := _likeness(column.name, key, name))
        and _is_inside(column, above.get_column(key))
    ]
    return max(found, key=lambda each: each[0], default=None)


def _likeness(column: str, key: str, table: str) -> int:
    """Return how well the name of a column fits a key of a table; 0 if it does not."""
    own, other, whose = _plain(column), _plain(key), _singular(_plain(table))
    if own == other:
        # a key called id is called so in every table: it is a link only where it says whose
        return (2 + (_singular(_stem(own)) == whose)) if _stem(own) else 0
    if whose and _singular(_stem(own)) in (whose, whose + _singular(_stem(other))):
        return 1
    return 0


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name.casefold())


def _singular(text: str) -> str:
    return re.sub(r"(?<=[a-z])ies$", "y", text).removesuffix("s")


def _stem(text: str) -> str:
    """Return a name without what says that it is a key."""
    return next((text.removesuffix(end) for end in _ENDINGS if text.endswith(end)), text)


def _is_inside(column: pl.Series, key: pl.Series) -> bool:
    """Tell whether nearly all rows name a row of the other table."""
    filled = column.drop_nulls()
    if not len(filled) or filled.dtype.is_integer() != key.dtype.is_integer():
        return False
    if filled.dtype != key.dtype and not filled.dtype.is_integer():
        return False
    import polars as pl

    if filled.dtype.is_integer():
        filled, key = filled.cast(pl.Int128), key.cast(pl.Int128)
    return float(filled.is_in(key.implode()).sum()) >= _INSIDE * len(filled)


def _hangs(found: Mapping[str, Mapping[str, object]], name: str, above: str) -> bool:
    """Tell whether a table hangs from another, directly or through others."""
    return above in found[name] or any(_hangs(found, each, above) for each in found[name])


def _depth(found: Mapping[str, Mapping[str, object]], name: str) -> int:
    return max((1 + _depth(found, each) for each in found[name]), default=0)
