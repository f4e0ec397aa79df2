"""Groups that lie within the values of one column: each of its strata is grouped by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.errors import OptionError, PromiseError
from shoal.table.partition import SUPPRESSED, Partition

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from shoal.engine.grouping import LocalWork


def group_within(work: LocalWork, name: str, group: Callable[[LocalWork], Partition]) -> Partition:
    """Return groups none of which has rows of two values of a column.

    Rows of values that have fewer than k people are left out, if so many may be. Of what may be
    left out beside them every stratum has its share.

    Args:
        work: the table and what is asked.
        name: the column; missing is a value, too.
        group: forms the groups of a work.

    Raises:
        OptionError: the column is not published exactly.
        PromiseError: a stratum cannot keep the promises by itself.
    """
    table, k = work.table, work.run.k
    column = next(each for each in table.attributes if each.name == name)
    if column.cells is not None or column.level is not None:
        raise OptionError(
            "Column {name!r} is published exactly, because groups lie within its values; leave out "
            "its grid (of floats and times by default_grid=False, --no-grid).",
            name=name,
        )
    parts = [np.flatnonzero(column.codes == code) for code in np.unique(column.codes)]
    small = [rows for rows in parts if table.take(rows).n_people < k]
    left_out, allowed = sum(map(len, small)), work.run.max_suppressed or 0
    if left_out > allowed or len(small) == len(parts):
        raise PromiseError(
            "{n_small} of the {n} values of column {name!r} have fewer than k = {k} people, so no "
            "group lies within them; join values, lower k, or let these {rows} rows be left out "
            "with max_suppression.",
            n_small=len(small),
            n=len(parts),
            name=name,
            k=k,
            rows=left_out,
        )
    labels = np.full(table.n_rows, SUPPRESSED, np.int32)
    recoded: dict[str, list[NDArray[np.int32]]] = {}
    n_groups, n_large = 0, table.n_rows - left_out
    for rows in parts:
        part = work.part(rows, (allowed - left_out) * len(rows) // n_large)
        if part.table.n_people < k:
            continue
        try:
            part.check_possible()
            found = group(part)
        except PromiseError as error:
            raise PromiseError(
                "A value of column {name!r} cannot keep a promise by itself: {error}",
                name=name,
                error=error,
            ) from None
        kept = found.labels >= 0
        labels[rows[kept]] = found.labels[kept] + n_groups
        n_groups += found.n_groups
        for each, nodes in found.recoded.items():
            recoded.setdefault(each, []).append(nodes)
    return Partition(labels, n_groups, {each: np.concatenate(of) for each, of in recoded.items()})
