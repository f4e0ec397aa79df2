"""Whose the rows of a written folder are, although that is not written.

A row is found again by all of its published cells. Rows that are equal in every cell can stand for
each other, so people are joined to what is read from the files by a hash of the cells. Both sides
must have each row equally often; otherwise the files are not what was to be written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoal.engine.spark.rows import unused
from shoal.engine.spark.session import column, load_functions
from shoal.errors import PromiseError

if TYPE_CHECKING:
    from shoal.engine.spark.finish import Named

__all__ = ["with_people"]


def with_people(written: Any, known: Named) -> Any:
    """Return the rows of a folder, each with the person whose it is.

    Args:
        written: what was read from the files, under the names of the release.
        known: the published rows with their people.

    Raises:
        PromiseError: the files hold other rows than the release.
    """
    functions = load_functions()
    person, titles = str(known.person), written.columns
    number = functions.count(functions.lit(1))
    both = [unused(name, [*titles, person]) for name in ("one", "two")]
    here = _numbered(written, titles, both)
    there = _numbered(known.frame, [*titles, person], both, cells=titles)
    read = here.groupBy(*both).agg(number.alias("here"))
    told = there.groupBy(*both).agg(number.alias("there"))
    differ = read.join(told, both, "full_outer").filter("not (here <=> there)").limit(1).count()
    if differ:
        raise PromiseError(
            "What was written holds other rows than the release, so it is not published."
        )
    once = here.dropDuplicates(both)
    whose = there.select(*both, column(person))
    return once.join(whose, both).select(*(column(name) for name in (*titles, person)))


def _numbered(frame: Any, names: list[str], both: list[str], cells: list[str] | None = None) -> Any:
    """Return rows with two hashes of all their cells."""
    functions = load_functions()
    looked_at = [column(name) for name in cells or names]
    hashes = [
        functions.xxhash64(functions.lit(salt), *looked_at).alias(title)
        for salt, title in enumerate(both)
    ]
    return frame.select(*(column(name) for name in names), *hashes)
