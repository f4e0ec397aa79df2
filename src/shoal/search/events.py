"""Rows of further tables, grouped so that a few of them single nobody out.

People were put into groups by the main table. Within a group, the rows of the other tables get
types (`shoal.kernels.events`): rows of one type are published alike. For every m rows of a person,
with what they hang from, k people of the group have m such rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.kernels.events import MOST_TYPES, Events, Scratch, split_events
from shoal.measure.loss import range_share
from shoal.runtime.threads import Pieces

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shoal.runtime.progress import Report
    from shoal.table.encode import Attribute, EncodedTable

PRICE = 2.0
"""What a row costs that is left out: as much as two rows of which nothing is told."""
_PLACES = {1: 1 << 14, 2: 1 << 18, 3: 1 << 20}
_CANDIDATES = 1024
_SLICES = 64
LARGEST = 3
"""So many events an attacker may know; what more have in common is not counted."""


@dataclass(frozen=True, eq=False)
class EventTable:
    """The rows of one further table.

    Attributes:
        table: their quasi-identifiers, encoded.
        up: the row of the table above that each hangs from; the person's if that is the main one.
        above: which of the further tables is above; −1 for the main one.
    """

    table: EncodedTable
    up: NDArray[np.int64]
    above: int


def find_types(
    tables: Sequence[EventTable],
    group_of_person: NDArray[np.integer[Any]],
    *,
    k: int,
    m: int,
    rng: np.random.Generator,
    threads: int,
    progress: Report,
) -> list[NDArray[np.int64]]:
    """Return for each table the type of every row; −1 is left out.

    Args:
        tables: parents before children.
        group_of_person: of every row of the main table; −1 is left out, with all that hangs from
            it.
        k: how many people of a group have what m rows of any of them tell.
        m: how many rows an attacker knows, 1 to 3.
        rng: decides which of equally good rows is left out first.
        threads: how many; the result is the same.
        progress: told how far it is.
    """
    found = [np.full(len(each.up), -1, np.int64) for each in tables]
    laid = _lay_out(tables, np.asarray(group_of_person, np.int64), rng)
    if laid is None:
        return found
    events, table_of, row_of = laid
    n_groups = len(events.starts) - 1
    types = np.full(len(row_of), -1, np.int64)
    largest = int(np.diff(events.starts).max(initial=1))
    bounds = np.unique(np.linspace(0, n_groups, min(n_groups, _SLICES) + 1).astype(np.int64))
    done: list[int] = []

    def split(first: int, last: int) -> None:
        scratch = _scratch(largest, len(tables), m)
        split_events(events, scratch, types, (first, last), (k, m), PRICE)
        done.append(last - first)

    parts = [partial(split, *each) for each in pairwise(bounds.tolist())]
    with Pieces[None](threads) as pieces:
        for _ in pieces.ends(parts):
            progress(sum(done), n_groups, "generalising events")
    groups = np.repeat(np.arange(n_groups), np.diff(events.starts))
    kept = types >= 0
    _, number = np.unique(groups[kept] * (int(MOST_TYPES) + 2) + types[kept], return_inverse=True)
    types[kept] = number
    for which, result in enumerate(found):
        own = table_of == which
        result[row_of[own]] = types[own]
    return found


def _scratch(largest: int, n_tables: int, m: int) -> Scratch:
    places = _PLACES[m]

    def ints(n: int) -> NDArray[np.int64]:
        return np.zeros(n, np.int64)

    most = min(largest, int(MOST_TYPES)) + n_tables
    return Scratch(
        keys=ints(places),
        stamp=ints(places),
        whose=ints(places),
        people=ints(places),
        used=ints(places),
        side=ints(largest),
        before=ints(largest),
        kept=ints(largest),
        loss=np.zeros(most),
        renamed=ints(most),
        gain=np.zeros(_CANDIDATES),
        column=ints(_CANDIDATES),
        place=ints(_CANDIDATES),
        until=ints(_CANDIDATES),
        state=ints(4),
    )


def _lay_out(
    tables: Sequence[EventTable], group_of_person: NDArray[np.int64], rng: np.random.Generator
) -> tuple[Events, NDArray[np.int64], NDArray[np.int64]] | None:
    """Return all rows by group, person and depth, with the table and the row that each is."""
    offsets = np.concatenate(([0], np.cumsum([len(each.up) for each in tables]))).astype(np.int64)
    n = int(offsets[-1])
    table_of, up = np.empty(n, np.int64), np.full(n, -1, np.int64)
    person, depth, below = np.empty(n, np.int64), np.ones(n, np.int64), np.zeros(n, np.int64)
    for which, each in enumerate(tables):
        own = slice(offsets[which], offsets[which + 1])
        table_of[own] = which
        if each.above < 0:
            person[own] = each.up
        else:
            up[own] = each.up + offsets[each.above]
            person[own], depth[own] = person[up[own]], depth[up[own]] + 1
    for which in range(len(tables) - 1, -1, -1):
        own = slice(offsets[which], offsets[which + 1])
        if tables[which].above >= 0:
            np.add.at(below, up[own], 1 + below[own])
    group = group_of_person[person]
    rows = np.flatnonzero(group >= 0)
    if not len(rows):
        return None
    # parents first; of equals those from which most hangs, which are kept rather than others
    chance = rng.permutation(n)
    order = np.lexsort(
        (chance[rows], -below[rows], table_of[rows], depth[rows], person[rows], group[rows])
    )
    rows = rows[order]
    place = np.full(n + 1, -1, np.int64)
    place[rows] = np.arange(len(rows))
    _, starts = np.unique(group[rows], return_index=True)
    attributes = [list(each.table.attributes) for each in tables]
    codes = np.zeros((max(1, *(len(each) for each in attributes)), len(rows)), np.int64)
    for which, columns in enumerate(attributes):
        here = table_of[rows] == which
        for number, attribute in enumerate(columns):
            codes[number, here] = attribute.codes[rows[here] - offsets[which]]
    events = Events(
        starts=np.append(starts, len(rows)).astype(np.int64),
        person=person[rows],
        up=place[up[rows]],
        table=table_of[rows],
        depth=depth[rows],
        codes=codes,
        first=np.concatenate(([0], np.cumsum([len(each) for each in attributes]))).astype(np.int64),
        **_columns([each for own in attributes for each in own]),
    )
    return events, table_of[rows], rows - offsets[table_of[rows]]


def _columns(attributes: Sequence[Attribute]) -> dict[str, NDArray[Any]]:
    """Return what the kernel knows of columns: where values lie, and the nodes above them."""
    n = max(len(attributes), 1)
    values = max((a.size for a in attributes if a.taxonomy is None), default=1)
    nodes = max((a.taxonomy.n_nodes for a in attributes if a.taxonomy is not None), default=1)
    found: dict[str, NDArray[Any]] = {
        "size": np.zeros(n, np.int64),
        "tree": np.zeros(n, np.bool_),
        "low": np.zeros((n, values)),
        "high": np.zeros((n, values)),
        "parent": np.zeros((n, nodes), np.int64),
        "first_leaf": np.zeros((n, nodes), np.int64),
        "last_leaf": np.zeros((n, nodes), np.int64),
        "loss": np.zeros((n, nodes)),
    }
    for c, attribute in enumerate(attributes):
        found["size"][c] = attribute.size
        taxonomy = attribute.taxonomy
        if taxonomy is None:
            form = range_share(attribute)
            upper = form.position if form.upper is None else form.upper
            found["low"][c, : attribute.size], found["high"][c, : attribute.size] = (
                form.position,
                upper,
            )
            continue
        own = slice(taxonomy.n_nodes)
        found["tree"][c] = True
        found["parent"][c, own] = taxonomy.parent
        found["first_leaf"][c, own] = taxonomy.first_leaf
        found["last_leaf"][c, own] = taxonomy.last_leaf
        found["loss"][c, own] = taxonomy.height / max(taxonomy.tree_height, 1)
    return found
