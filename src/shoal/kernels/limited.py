"""One column made finer while every combination of columns that somebody may know keeps k.

Rows have a node of a tree in every column. The rows of one column ask for a node further down, on
the way to their own value; whoever cannot have it without a class of fewer than k rows, of equal
nodes in one of the combinations, climbs back until no class is too small. Nobody climbs above the
node that he came from, where every class was large enough; so this ends, and with k everywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.kernels.jit import helper, kernel
from shoal.kernels.private import Rules, count_rows, group_holds

if TYPE_CHECKING:
    from shoal.kernels.space import Counts, Flags, Places

_MIX = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
FREE = np.int64(-1)


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
def _judge(
    of_row: Places, n_rows: int, rows: Places, n_classes: int, k: int, person: Places,
    sizes: Counts, last: Places, starts: Places, order: Places, rules: Rules, hist: Counts,
    bad: Flags,
) -> None:  # fmt: skip
    """Find the classes that have fewer than k people, or break a promise."""
    for c in range(n_classes):
        sizes[c] = 0
        last[c] = -1
    for i in range(n_rows):
        c = of_row[i]
        if person.shape[0] == 0:
            sizes[c] += 1
        elif last[c] != person[rows[i]]:  # rows of one person follow each other
            last[c] = person[rows[i]]
            sizes[c] += 1
    for c in range(n_classes):
        bad[c] = sizes[c] < k
    if rules.kinds.shape[0] == 0:
        return
    starts[0] = 0
    for c in range(n_classes):
        starts[c + 1] = starts[c] + sizes[c]
        last[c] = starts[c]
    for i in range(n_rows):
        c = of_row[i]
        order[last[c]] = rows[i]
        last[c] += 1
    for c in range(n_classes):
        if not bad[c]:
            count_rows(rules, order, starts[c], starts[c + 1], hist)
            bad[c] = not group_holds(hist, rules)


@kernel
def climb(
    nodes: Places, column: int, wanted: Places, parent: Places, rows: Places,
    contexts: Places, n_nodes: Places, k: int, person: Places, rules: Rules, hist: Counts,
    keys: Places, ids: Places, of_row: Places, sizes: Counts, last: Places, starts: Places,
    order: Places, bad: Flags,
) -> int:  # fmt: skip
    """Let rows climb in one column until each of these combinations keeps k; return how many did.

    Args:
        nodes: uint16 [columns, rows]: node of each row in each column.
        column: the one that is made finer.
        wanted: uint16 [rows]: the node that each row asks for; changed.
        parent: int64: of each node of the column.
        rows: int64: those that matter, rows of one person side by side.
        contexts: int64 [combinations, most]: the other columns of each, -1 where there are fewer.
        n_nodes: int64: nodes of each column.
        k: of rows, or of people.
        person: int64: of each row; empty if every row is one.
        rules: promises about sensitive values; none, or of all rows.
        hist: room for the histograms of a class.
        keys: int64: FREE, room for hashed keys; empty if classes stand at their keys.
        ids: int64: FREE, room for the numbers of classes.
        of_row: int64 [rows]: room.
        sizes: int64 [rows]: room.
        last: int64 [rows]: room.
        starts: int64 [rows + 1]: room.
        order: int64 [rows]: room.
        bad: bool [rows]: room.
    """
    total = np.int64(0)
    own = nodes[column]
    n_rows = rows.shape[0]
    room = ids.shape[0]
    for s in range(contexts.shape[0]):
        again = True
        while again:
            again = False
            n_classes = np.int64(0)
            for p in range(n_rows):
                i = rows[p]
                key = np.int64(wanted[i])
                for t in range(contexts.shape[1]):
                    j = contexts[s, t]
                    if j >= 0:
                        key = key * n_nodes[j] + np.int64(nodes[j, i])
                at = _class_of(key, keys, ids, room, n_classes)
                of_row[p] = ids[at]
                if of_row[p] == n_classes:
                    order[n_classes] = at
                    n_classes += 1
            for c in range(n_classes):  # leave the room as it was
                ids[order[c]] = FREE
                if keys.shape[0] > 0:
                    keys[order[c]] = FREE
            _judge(
                of_row, n_rows, rows, n_classes, k, person, sizes, last, starts, order, rules,
                hist, bad,
            )  # fmt: skip
            stuck = False
            for p in range(n_rows):
                if bad[of_row[p]]:
                    i = rows[p]
                    if wanted[i] != own[i]:
                        wanted[i] = parent[wanted[i]]
                        total += 1
                        again = True
                    else:
                        stuck = True
            if stuck:
                again = _bring_back(
                    nodes, own, wanted, rows, contexts, s, n_nodes, k, person, rules, of_row, bad,
                    n_classes, sizes, keys, ids, order, last,
                ) or again  # fmt: skip
    return total


@helper
def _bring_back(
    nodes: Places, own: Places, wanted: Places, rows: Places, contexts: Places, s: int,
    n_nodes: Places, k: int, person: Places, rules: Rules, of_row: Places, bad: Flags,
    n_classes: int, sizes: Counts, keys: Places, ids: Places, order: Places, last: Places,
) -> bool:  # fmt: skip
    """Bring rows back to the classes that they left too small; return whether any came."""
    room = ids.shape[0]
    n_rows = rows.shape[0]
    n_left = np.int64(0)
    for p in range(n_rows):  # classes of rows that stay, and miss others
        i = rows[p]
        if bad[of_row[p]] and wanted[i] == own[i]:
            key = np.int64(own[i])
            for t in range(contexts.shape[1]):
                j = contexts[s, t]
                if j >= 0:
                    key = key * n_nodes[j] + np.int64(nodes[j, i])
            at = _class_of(key, keys, ids, room, n_left)
            if ids[at] == n_left:
                order[n_left] = at
                last[n_left] = sizes[of_row[p]]
                n_left += 1
    came = False
    for p in range(n_rows):
        i = rows[p]
        if wanted[i] == own[i]:
            continue
        key = np.int64(own[i])
        for t in range(contexts.shape[1]):
            j = contexts[s, t]
            if j >= 0:
                key = key * n_nodes[j] + np.int64(nodes[j, i])
        at = _class_of(key, keys, ids, room, FREE)
        c = ids[at]
        if c == FREE:
            if keys.shape[0] > 0:
                keys[at] = FREE
            continue
        # as many as are missing; with promises beside k, or several rows of a person, all of them
        if last[c] < k or rules.kinds.shape[0] > 0 or person.shape[0] > 0:
            wanted[i] = own[i]
            last[c] += 1
            came = True
    for c in range(n_left):
        ids[order[c]] = FREE
        if keys.shape[0] > 0:
            keys[order[c]] = FREE
    return came
