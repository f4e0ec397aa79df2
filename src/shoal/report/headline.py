"""The headline of a table that was made elsewhere: judged from the published table alone.

It is made by the code that judges a release (`shoal.publish.judgement`), from what a reader can
count. What only the original would tell is not looked for: whether rows are people, and whether a
column follows from a quasi-identifier. A certificate that belongs to the table says what was found
of that.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from shoal.io.columns import mark_missing, type_columns
from shoal.messages import Message
from shoal.profile.roles import find_slips
from shoal.publish.cells import (
    MISSING,
    clean_missing,
    columns_needed,
    number_groups,
    pack_rows,
    read_cells,
)
from shoal.publish.danger import find_unique
from shoal.publish.judgement import Counted, OpenPoint, judge, point_of_attacker
from shoal.publish.reader_view import PublishedGroups, sensitive_facts
from shoal.publish.recode import RowHash
from shoal.publish.release_data import doubt_of_pseudonyms
from shoal.publish.shuffled import NOT_K_ANONYMOUS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import polars as pl

    from shoal.publish.judgement import Doubt
    from shoal.publish.verify import Verification


NOT_CHECKED = OpenPoint(
    "not checked",
    Message(
        "The promises count people, and whose the rows are is not published: only who made the "
        "release can check them."
    ),
)
"""What is open where a release counts people whom nobody else can tell apart."""
_MOST_ROWS = 20_000


def judged(  # noqa: PLR0913 - one named argument for each thing that is known
    found: Verification,
    table: pl.DataFrame,
    *,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str],
    person: str | None = None,
    missing_values: Iterable[str] = (),
    spelled: bool = False,
    unseen: bool = False,
    also_open: Iterable[OpenPoint] = (),
    broken: Iterable[str] = (),
    shuffled: Iterable[str] = (),
) -> Verification:
    """Return what was verified with its headline, and doubts about columns among its notes.

    Args:
        found: what was verified.
        table: the published table with all its columns.
        quasi_identifiers: those that promises are about.
        sensitive: columns whose values must not be known; all others are published as they are.
        person: the column that says whose row it is, if there is one.
        missing_values: texts that stand for a missing sensitive value, beside the usual ones.
        spelled: whether text may be how a file spells numbers and dates.
        unseen: whether promises count people whom the table does not tell apart.
        also_open: what the certificate of this table says is open.
        broken: promises that it says are broken.
        shuffled: columns whose exact cells are shuffled within groups.
    """
    keys = columns_needed(table.columns, quasi_identifiers)
    named = {*keys, *sensitive, person, *shuffled}
    exact = (*sensitive, *(name for name in table.columns if name not in named))
    people = None
    if person is not None:
        people = read_cells(table.get_column(person), missing=MISSING).cleaned.codes
    groups = PublishedGroups(*number_groups(pack_rows([table.get_column(name) for name in keys])))
    markers = clean_missing(tuple(missing_values))
    known = {
        name: sensitive_facts(_plain(table.get_column(name)), groups, markers).certain_rows
        for name in sensitive
    }
    also_open = tuple(also_open)
    doubtful = any(each.what == "several rows" for each in also_open)
    rows = RowHash(table.height)
    for name in exact:
        rows.add(table.get_column(name))
    counted = Counted(
        n_rows=table.height,
        known=known if found.attacker is None else found.certain,
        exact=exact,
        alone=rows.singled_out(people) if exact else 0,
        who="rows" if people is not None or unseen or doubtful else "people",
    )
    doubts: list[Doubt] = [*find_slips(_some(table, exact, spelled=spelled), exact)]
    doubts += find_unique(table, exact)
    doubts += [] if person is None else [doubt_of_pseudonyms()]
    failed = [check.name for check in found.checks if not check.holds] or list(broken)
    points = [NOT_CHECKED] if unseen else []
    if found.attacker is not None:
        points.append(point_of_attacker(found.k, found.attacker))
    kinds = {each.what for each in points}
    also_open = [each for each in also_open if each.what not in kinds]
    if found.shuffled and all(each.what != NOT_K_ANONYMOUS.what for each in also_open):
        points.append(NOT_K_ANONYMOUS)
    headline = judge(failed, counted, doubts, [*points, *also_open])
    return replace(found, judgement=headline, notes=(*found.notes, *doubts))


def _plain(column: pl.Series) -> pl.Series:
    """Return a column whose cells can be compared, as texts where they could not."""
    import polars as pl

    if column.dtype.is_nested() or column.dtype in (pl.Object, pl.Binary):
        return pl.Series(
            column.name, [None if each is None else repr(each) for each in column.to_list()]
        )
    return column


def _some(table: pl.DataFrame, names: Sequence[str], *, spelled: bool) -> pl.DataFrame:
    """Return some rows of these columns, as they would be read to make a release."""
    import polars as pl

    some = table.select(names).gather_every(max(1, -(-table.height // _MOST_ROWS)))
    if not spelled:
        return some
    texts = [
        mark_missing(column.cast(pl.String), [""])
        for column in some.get_columns()
        if isinstance(column.dtype, pl.Categorical | pl.String)
    ]
    return type_columns(some.with_columns(texts))
