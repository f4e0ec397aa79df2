"""How many different people a group has, where a person may have several rows.

Every row has subjects: its person, and for each sensitive column the pair of its person and its
value. A small table of (subject, group) says how many rows of a subject a group has, so that a
group is known to gain or lose a person, or a person's value, without a look at its other rows.
However many rows a person has, a look costs the same.

Who of a population the cells of each group cover is counted here, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shoal.kernels.bundle import bundle
from shoal.kernels.jit import helper, kernel

if TYPE_CHECKING:
    from shoal.kernels.space import Codes, Counts, Flags, Labels, Offsets, Places, Reals

FREE = np.int64(-1)
_MIX = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
PERSON = np.int64(0)


@bundle
class Crowd(NamedTuple):
    """Who has rows in which group; without subjects every row is a person of its own."""

    subject: Places  # int64 [1 + sensitive columns, rows], or [0, 0]: person, then (person, value)
    keys: Places  # int64 [a power of two]: subject · places + group, −1 where nothing is
    rows: Counts  # int64 [the same]: rows of the subject in the group, at least 1
    places: Places  # int64 [1]: how many groups there can be


@helper
def _find(crowd: Crowd, key: int) -> int:
    """Return where a key stands, or where it would."""
    last = np.uint64(crowd.keys.shape[0] - 1)
    mixed = np.uint64(key) * _MIX
    at = np.int64((mixed ^ (mixed >> _HALF)) & last)
    while crowd.keys[at] != FREE and crowd.keys[at] != key:
        at = (at + 1) & np.int64(last)
    return at


@helper
def rows_inside(crowd: Crowd, s: int, i: int, g: int) -> int:
    """Return how many rows of group g have subject s of row i."""
    at = _find(crowd, crowd.subject[s, i] * crowd.places[0] + g)
    return crowd.rows[at] if crowd.keys[at] != FREE else np.int64(0)


@helper
def enter(crowd: Crowd, s: int, i: int, g: int) -> bool:
    """Let subject s of row i into group g; return whether it is the first row of it there."""
    key = crowd.subject[s, i] * crowd.places[0] + g
    at = _find(crowd, key)
    if crowd.keys[at] == FREE:
        crowd.keys[at] = key
        crowd.rows[at] = 1
        return True
    crowd.rows[at] += 1
    return False


@helper
def leave(crowd: Crowd, s: int, i: int, g: int) -> bool:
    """Take subject s of row i out of group g; return whether it was the last row of it there."""
    at = _find(crowd, crowd.subject[s, i] * crowd.places[0] + g)
    crowd.rows[at] -= 1
    if crowd.rows[at] > 0:
        return False
    # close the gap: what stands behind it may have been pushed there by it
    last = np.int64(crowd.keys.shape[0] - 1)
    crowd.keys[at] = FREE
    gap = at
    at = (at + 1) & last
    while crowd.keys[at] != FREE:
        mixed = np.uint64(crowd.keys[at]) * _MIX
        home = np.int64((mixed ^ (mixed >> _HALF)) & np.uint64(last))
        if ((at - home) & last) >= ((at - gap) & last):
            crowd.keys[gap] = crowd.keys[at]
            crowd.rows[gap] = crowd.rows[at]
            crowd.keys[at] = FREE
            gap = at
        at = (at + 1) & last
    return True


@kernel
def fill_crowd(
    label: Labels, first: Places, private: Codes, crowd: Crowd, people: Counts, phist: Counts
) -> None:
    """Count the people of every group, and their values: each value once for a person.

    ``people`` and ``phist`` are zeros before.
    """
    for i in range(label.shape[0]):
        g = np.int64(label[i])
        if enter(crowd, PERSON, i, g):
            people[g] += 1
        for s in range(private.shape[0]):
            if enter(crowd, np.int64(s + 1), i, g):
                phist[g, first[s] + private[s, i]] += 1


@bundle
class Boxes(NamedTuple):
    """What groups publish, in the codes of the population."""

    low: Codes  # int32 [groups, columns]: lowest code that is covered
    high: Codes  # int32 [groups, columns]: highest
    which: Offsets  # int32 [columns]: number of a column of sets, -1 for others
    members: Flags  # bool [columns of sets, groups, codes]: which codes a set holds


@helper
def _covers(boxes: Boxes, g: int, people: Codes, i: int) -> bool:
    """Return whether group g covers the people of line i; a set covers its members only."""
    for c in range(people.shape[1]):
        code = people[i, c]
        if code < boxes.low[g, c] or code > boxes.high[g, c]:
            return False
        s = boxes.which[c]
        if s >= 0 and code >= 0 and not boxes.members[s, g, code]:
            return False
    return True


@kernel
def count_covered(boxes: Boxes, people: Codes, number: Counts, enough: int, out: Counts) -> None:
    """Write how many people each group covers; a group that covers ``enough`` is not counted on."""
    for g in range(boxes.low.shape[0]):
        found = np.int64(0)
        for i in range(people.shape[0]):
            if _covers(boxes, np.int64(g), people, np.int64(i)):
                found += number[i]
                if found >= enough:
                    break
        out[g] = found


@kernel
def presence_of(boxes: Boxes, people: Codes, share: Reals, out: Reals) -> None:
    """Add up the shares of all groups that cover the people of each line."""
    for i in range(people.shape[0]):
        total = 0.0
        for g in range(boxes.low.shape[0]):
            if _covers(boxes, np.int64(g), people, np.int64(i)):
                total += share[g]
        out[i] = total


@kernel
def worst_presence(boxes: Boxes, people: Codes, presence: Reals, out: Reals) -> None:
    """Write the highest presence of anybody whom each group covers; 0 if it covers nobody."""
    for g in range(boxes.low.shape[0]):
        worst = 0.0
        for i in range(people.shape[0]):
            if presence[i] > worst and _covers(boxes, np.int64(g), people, np.int64(i)):
                worst = presence[i]
        out[g] = worst
