"""What median partitioning is made of: widths of attributes, sorted rows, and where to cut them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shoal.kernels.bundle import bundle
from shoal.kernels.jit import helper
from shoal.kernels.private import Rules, count_rows, group_holds

if TYPE_CHECKING:
    from shoal.kernels.space import Codes, Counts, Flags, Places, Reals


NEAREST, MIDDLE, AT_MOST = np.int64(0), np.int64(1), np.int64(2)
"""Where an attribute without a taxonomy is cut."""


@bundle
class Shape(NamedTuple):
    """Codes of a table and what its attributes look like.

    Attributes:
        codes: one line per attribute, one column per row.
        place: where each code lies between 0 and 1 (missing beyond), attribute after attribute.
        start_of: where the places of each attribute start.
        missing: the code of missing values of each attribute.
        children: whether an attribute is cut into the children of a node of its taxonomy.
        flat: whether the values of an attribute are kept or suppressed, so their order is free.
        levels: node of each leaf at each depth, where there is a taxonomy.
        level_first: where the levels of each attribute start.
        n_levels: how many there are.
        node_width: share of the leaves below each node.
        node_first: where the nodes of each attribute start.
    """

    codes: Codes
    place: Reals
    start_of: Places
    missing: Places
    children: Flags
    flat: Flags
    levels: Places
    level_first: Places
    n_levels: Places
    node_width: Reals
    node_first: Places


@bundle
class CutScratch(NamedTuple):
    """Where rows are sorted and cuts are tried."""

    count: Counts  # int64 [most codes + 1]
    spare: Places  # int64 [rows]
    edges: Places  # int64 [most codes + 1]: where to cut
    hist: Counts  # int64 [sensitive values]
    widths: Reals  # float64 [attributes]
    losses: Reals  # float64 [most codes + 1]: what is lost by a cut at each edge
    codes: Places  # int64 [most codes + 1]: the most frequent first
    merged: Places  # int64 [most codes + 1]


@helper
def range_of(codes: Codes, j: int, order: Places, low: int, high: int) -> tuple[int, int]:
    """Return the least and the greatest code of attribute j among order[low:high]."""
    least = codes[j, order[low]]
    most = least
    for p in range(low + 1, high):
        code = codes[j, order[p]]
        least = min(least, code)
        most = max(most, code)
    return least, most


@helper
def _common_depth(levels: Places, first: int, n_levels: int, width: int, a: int, b: int) -> int:
    """Return the deepest depth at which leaves a and b have the same ancestor."""
    depth = 0
    for d in range(1, n_levels):
        if levels[first + d * width + a] != levels[first + d * width + b]:
            break
        depth = d
    return depth


@helper
def width_of(shape: Shape, j: int, least: int, most: int) -> float:
    """Return the share of the domain of attribute j that codes from least to most span."""
    if least == most:
        return 0.0
    if shape.children[j] and most < shape.missing[j]:
        first = shape.level_first[j]
        line = shape.missing[j] + 1
        depth = _common_depth(shape.levels, first, shape.n_levels[j], line, least, most)
        node = shape.levels[first + depth * line + least]
        return shape.node_width[shape.node_first[j] + node]
    start = shape.start_of[j]
    return shape.place[start + most] - shape.place[start + least]


@helper
def sort_by_code(
    codes: Codes,
    j: int,
    order: Places,
    low: int,
    high: int,
    least: int,
    most: int,
    scratch: CutScratch,
) -> None:
    """Sort order[low:high] stably by the codes of attribute j."""
    count, spare = scratch.count, scratch.spare
    width = np.int64(most) - np.int64(least) + 1
    for c in range(width + 1):
        count[c] = 0
    for p in range(low, high):
        count[codes[j, order[p]] - least + 1] += 1
    for c in range(width):
        count[c + 1] += count[c]
    for p in range(low, high):
        c = codes[j, order[p]] - least
        spare[count[c]] = order[p]
        count[c] += 1
    for p in range(low, high):
        order[p] = spare[p - low]


@helper
def _piece_stands(order: Places, low: int, high: int, k: int, rules: Rules, hist: Counts) -> bool:
    """Return whether rows order[low:high] may be a group."""
    if high - low < k:
        return False
    if rules.kinds.shape[0] == 0:
        return True
    count_rows(rules, order, low, high, hist)
    return group_holds(hist, rules)


@helper
def find_edges(
    shape: Shape, j: int, order: Places, low: int, high: int, where: int, edges: Places
) -> int:
    """Propose where to cut order[low:high], sorted by attribute j; return the number of cuts.

    Rows with a missing value are cut off first, as they cost everything together with others.
    An attribute with a taxonomy is cut between the children of the common node; any other at the
    boundary of codes nearest to the middle (``where`` is NEAREST), in the very middle (MIDDLE), or
    after the last row that is not above the median (AT_MOST), which may leave nothing on the right.
    """
    codes = shape.codes
    missing = shape.missing[j]
    least = codes[j, order[low]]
    most = codes[j, order[high - 1]]
    if most == missing and least < missing:
        for p in range(low, high):
            if codes[j, order[p]] == missing:
                edges[0] = p
                return 1
    if shape.children[j]:
        levels = shape.levels
        width = missing + 1
        first = shape.level_first[j]
        depth = _common_depth(levels, first, shape.n_levels[j], width, least, most) + 1
        found = 0
        for p in range(low + 1, high):
            before = levels[first + depth * width + codes[j, order[p - 1]]]
            if levels[first + depth * width + codes[j, order[p]]] != before:
                edges[found] = p
                found += 1
        return found
    middle = (low + high) // 2
    if where == MIDDLE:
        edges[0] = middle
        return 1
    up = (low + high + 1) // 2 if where == AT_MOST else middle
    while up < high and codes[j, order[up]] == codes[j, order[up - 1]]:
        up += 1
    if where == AT_MOST:
        edges[0] = up
        return 1
    down = middle
    while down > low and codes[j, order[down]] == codes[j, order[down - 1]]:
        down -= 1
    edges[0] = up if high - up >= down - low else down
    return 1


@helper
def pieces_stand(
    order: Places,
    low: int,
    high: int,
    edges: Places,
    n_cuts: int,
    k: int,
    rules: Rules,
    hist: Counts,
) -> bool:
    """Return whether all parts between the edges may be groups."""
    start = low
    for c in range(n_cuts + 1):
        stop = edges[c] if c < n_cuts else high
        if not _piece_stands(order, start, stop, k, rules, hist):
            return False
        start = stop
    return True
