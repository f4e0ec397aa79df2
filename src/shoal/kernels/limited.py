"""One column made finer while every combination of columns that somebody may know keeps k.

Rows have a node of a tree in every column. The rows of one column ask for a node further down, on
the way to their own value; whoever cannot have it without a class of fewer than k rows, of equal
nodes in one of the combinations, climbs back until no class is too small. Nobody climbs above the
node that he came from, where every class was large enough; so this ends, and with k everywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shoal.kernels.bundle import bundle
from shoal.kernels.jit import helper, kernel
from shoal.kernels.private import Rules, count_rows, group_holds

if TYPE_CHECKING:
    from shoal.kernels.space import Codes, Counts, Flags, Labels, Places

_MIX = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
FREE = np.int64(-1)


@bundle
class Asked(NamedTuple):
    """The rows, and what is asked of them."""

    nodes: Codes  # uint16 [columns, rows]: node of each row in each column
    n_nodes: Places  # int64 [columns]
    rows: Places  # int64: those that matter, rows of one person side by side
    contexts: Places  # int64 [combinations, most]: the other columns, -1 where there are fewer
    person: Places  # int64 [rows]; empty if every row is one
    parent: Places  # int64: of each node of the column


@bundle
class Room(NamedTuple):
    """Room for the classes of one combination."""

    keys: Places  # int64: FREE; empty if classes stand at their keys
    ids: Labels  # int32: FREE
    of_row: Labels  # int32 [rows that matter]
    sizes: Counts  # int64 [the same]
    last: Places  # int64 [the same]
    starts: Places  # int64 [one more]
    order: Places  # int64 [rows that matter]
    bad: Flags  # bool [the same]
    hist: Counts  # int64: histograms of a class


@helper
def _class_of(key: int, keys: Places, ids: Places, room: int, n_classes: int) -> int:
    """Return where the number of the class of a key stands: at the key, or where it is hashed to.

    A place that is new is given the next number.
    """
    if keys.shape[0] == 0:
        at = key
    else:
        mixed = np.uint64(key) * _MIX
        at = np.int64((mixed ^ (mixed >> _HALF)) & np.uint64(room - 1))
        while keys[at] != FREE and keys[at] != key:
            at = (at + 1) & np.int64(room - 1)
        keys[at] = key
    if ids[at] == FREE:
        ids[at] = n_classes
    return at


@helper
def _key_of(asked: Asked, s: int, i: int, node: int) -> int:
    """Return the number of a row's cells in a combination, with a node of the column."""
    key = np.int64(node)
    for t in range(asked.contexts.shape[1]):
        j = asked.contexts[s, t]
        if j >= 0:
            key = key * asked.n_nodes[j] + np.int64(asked.nodes[j, i])
    return key


@helper
def _free(room: Room, n_classes: int) -> None:
    """Leave the places of these classes as they were."""
    for c in range(n_classes):
        room.ids[room.order[c]] = FREE
        if room.keys.shape[0] > 0:
            room.keys[room.order[c]] = FREE


@helper
def _judge(asked: Asked, room: Room, n_classes: int, k: int, rules: Rules) -> None:
    """Find the classes that have fewer than k people, or break a promise."""
    rows, person, n_rows = asked.rows, asked.person, asked.rows.shape[0]
    for c in range(n_classes):
        room.sizes[c] = 0
        room.last[c] = -1
    for p in range(n_rows):
        c = room.of_row[p]
        if person.shape[0] == 0:
            room.sizes[c] += 1
        elif room.last[c] != person[rows[p]]:  # rows of one person follow each other
            room.last[c] = person[rows[p]]
            room.sizes[c] += 1
    for c in range(n_classes):
        room.bad[c] = room.sizes[c] < k
    if rules.kinds.shape[0] == 0:
        return
    room.starts[0] = 0
    for c in range(n_classes):
        room.starts[c + 1] = room.starts[c] + room.sizes[c]
        room.last[c] = room.starts[c]
    for p in range(n_rows):
        c = room.of_row[p]
        room.order[room.last[c]] = rows[p]
        room.last[c] += 1
    for c in range(n_classes):
        if not room.bad[c]:
            count_rows(rules, room.order, room.starts[c], room.starts[c + 1], room.hist)
            room.bad[c] = not group_holds(room.hist, rules)


@helper
def _bring_back(
    asked: Asked, room: Room, own: Codes, wanted: Codes, s: int, k: int, rules: Rules
) -> bool:
    """Bring rows back to the classes that they left too small; return whether any came."""
    rows, size = asked.rows, room.ids.shape[0]
    n_left = np.int64(0)
    for p in range(rows.shape[0]):  # classes of rows that stay, and miss others
        i = rows[p]
        if room.bad[room.of_row[p]] and wanted[i] == own[i]:
            key = _key_of(asked, s, i, np.int64(own[i]))
            at = _class_of(key, room.keys, room.ids, size, n_left)
            if room.ids[at] == n_left:
                room.order[n_left] = at
                room.last[n_left] = room.sizes[room.of_row[p]]
                n_left += 1
    came = False
    for p in range(rows.shape[0]):
        i = rows[p]
        if wanted[i] == own[i]:
            continue
        at = _class_of(_key_of(asked, s, i, np.int64(own[i])), room.keys, room.ids, size, FREE)
        c = room.ids[at]
        if c == FREE:
            if room.keys.shape[0] > 0:
                room.keys[at] = FREE
            continue
        # as many as are missing; with promises beside k, or several rows of a person, all of them
        if room.last[c] < k or rules.kinds.shape[0] > 0 or asked.person.shape[0] > 0:
            wanted[i] = own[i]
            room.last[c] += 1
            came = True
    _free(room, n_left)
    return came


@kernel
def climb(asked: Asked, column: int, wanted: Codes, k: int, rules: Rules, room: Room) -> int:
    """Let rows climb in one column until each of these combinations keeps k; return how many did.

    Args:
        asked: the rows, and the combinations.
        column: the one that is made finer.
        wanted: uint16 [rows]: the node that each row asks for; changed.
        k: of rows, or of people.
        rules: promises about sensitive values; none, or of all rows.
        room: for the classes.
    """
    total = np.int64(0)
    own, rows, size = asked.nodes[column], asked.rows, room.ids.shape[0]
    for s in range(asked.contexts.shape[0]):
        again = True
        while again:
            again = False
            n_classes = np.int64(0)
            for p in range(rows.shape[0]):
                i = rows[p]
                key = _key_of(asked, s, i, np.int64(wanted[i]))
                at = _class_of(key, room.keys, room.ids, size, n_classes)
                room.of_row[p] = room.ids[at]
                if room.of_row[p] == n_classes:
                    room.order[n_classes] = at
                    n_classes += 1
            _free(room, n_classes)
            _judge(asked, room, n_classes, k, rules)
            stuck = False
            for p in range(rows.shape[0]):
                if room.bad[room.of_row[p]]:
                    i = rows[p]
                    if wanted[i] != own[i]:
                        wanted[i] = asked.parent[wanted[i]]
                        total += 1
                        again = True
                    else:
                        stuck = True
            if stuck:
                again = _bring_back(asked, room, own, wanted, s, k, rules) or again
    return total
