"""Who of a population the cells of each group cover."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shoal.kernels.bundle import bundle
from shoal.kernels.jit import helper, kernel

if TYPE_CHECKING:
    from shoal.kernels.space import Codes, Counts, Flags, Offsets, Reals


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
