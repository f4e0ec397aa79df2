"""Median partitioning: cut some rows by one attribute as long as all parts may stand.

First what it is made of: widths of attributes, sorted rows, and where to cut them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shoal.kernels.bundle import bundle
from shoal.kernels.jit import helper, kernel
from shoal.kernels.private import Rules, count_rows, group_holds

if TYPE_CHECKING:
    from shoal.kernels.space import Codes, Counts, Flags, Places, Reals

NONE, ONE = np.int64(-1), np.int64(1)  # plain numbers would be types of their own to numba
NEARLY = 1e-9
"""Sums of losses closer than this are equal: they come about in different orders."""


@helper
def _loss(shape: Shape, j: int, least: int, most: int) -> float:
    """Return what publishing codes from least to most as one costs, between 0 and 1."""
    if shape.flat[j]:
        return 0.0 if least == most else 1.0
    return min(width_of(shape, j, least, most), 1.0)


@helper
def _most_frequent_first(count: Counts, width: int, codes: Places, merged: Places) -> int:
    """List the codes below width that occur, equally frequent ones in order; return how many."""
    n = np.int64(0)
    for c in range(width):
        if count[c] > 0:
            codes[n] = c
            n += 1
    run = np.int64(1)
    while run < n:  # merge sort: runs of sorted codes, twice as long each time
        for low in range(0, n, 2 * run):
            a = np.int64(low)
            middle = min(a + run, n)
            b = middle
            high = min(middle + run, n)
            for p in range(low, high):
                if a < middle and (b >= high or count[codes[a]] >= count[codes[b]]):
                    merged[p] = codes[a]
                    a += 1
                else:
                    merged[p] = codes[b]
                    b += 1
        for p in range(n):
            codes[p] = merged[p]
        run *= 2
    return n


@helper
def _sort_by_frequency(
    codes: Codes,
    j: int,
    order: Places,
    low: int,
    high: int,
    least: int,
    most: int,
    scratch: CutScratch,
) -> int:
    """Sort order[low:high] stably, the most frequent code of attribute j first.

    The boundaries between codes become the edges; returns how many there are.
    """
    count, spare, edges = scratch.count, scratch.spare, scratch.edges
    width = np.int64(most) - np.int64(least) + 1
    for c in range(width):
        count[c] = 0
    for p in range(low, high):
        count[codes[j, order[p]] - least] += 1
    n_codes = _most_frequent_first(count, width, scratch.codes, scratch.merged)
    place = np.int64(0)
    for number in range(n_codes):
        c = scratch.codes[number]
        if number > 0:
            edges[number - 1] = low + place
        size = count[c]
        count[c] = place
        place += size
    for p in range(low, high):
        c = codes[j, order[p]] - least
        spare[count[c]] = order[p]
        count[c] += 1
    for p in range(low, high):
        order[p] = spare[p - low]
    return n_codes - 1


@helper
def _widest_cut(
    shape: Shape,
    k: int,
    where: int,
    rules: Rules,
    order: Places,
    low: int,
    high: int,
    scratch: CutScratch,
) -> int:
    """Cut by the widest attribute that has an allowed cut; return the number of cuts, or 0."""
    widths, edges = scratch.widths, scratch.edges
    for j in range(widths.shape[0]):
        least, most = range_of(shape.codes, j, order, low, high)
        widths[j] = width_of(shape, j, least, most)
    for _ in range(widths.shape[0]):
        j = np.int64(0)
        for a in range(widths.shape[0]):
            if widths[a] > widths[j]:
                j = np.int64(a)
        if widths[j] <= 0.0:
            break
        widths[j] = 0.0
        least, most = range_of(shape.codes, j, order, low, high)
        sort_by_code(shape.codes, j, order, low, high, least, most, scratch)
        n_cuts = find_edges(shape, j, order, low, high, where, edges)
        if pieces_stand(order, low, high, edges, n_cuts, k, rules, scratch.hist):
            return n_cuts
    return 0


@helper
def _losses(
    shape: Shape, order: Places, low: int, high: int, edges: Places, n: int, losses: Reals
) -> None:
    """Write what is lost by all rows after a single cut at each of n ascending edges."""
    losses[:n] = 0.0
    for a in range(shape.codes.shape[0]):
        codes = shape.codes[a]
        least = codes[order[low]]
        most = least
        p = low
        for e in range(n):
            while p < edges[e]:
                least = min(least, codes[order[p]])
                most = max(most, codes[order[p]])
                p += 1
            losses[e] += (p - low) * _loss(shape, a, least, most)
        least = codes[order[high - 1]]
        most = least
        p = high
        for e in range(n - 1, -1, -1):
            while p > edges[e]:
                p -= 1
                least = min(least, codes[order[p]])
                most = max(most, codes[order[p]])
            losses[e] += (high - p) * _loss(shape, a, least, most)


@helper
def _loss_of_pieces(
    shape: Shape, order: Places, low: int, high: int, edges: Places, n_cuts: int
) -> float:
    """Return what is lost by all rows after cuts at all edges at once."""
    total = 0.0
    start = low
    for c in range(n_cuts + 1):
        stop = edges[c] if c < n_cuts else high
        for a in range(shape.codes.shape[0]):
            least, most = range_of(shape.codes, a, order, start, stop)
            total += (stop - start) * _loss(shape, a, least, most)
        start = stop
    return total


@helper
def _cheapest_cut(
    shape: Shape, k: int, rules: Rules, order: Places, low: int, high: int, scratch: CutScratch
) -> int:
    """Cut where the parts lose least; return the number of cuts, or 0 if none is allowed.

    A flat attribute offers every split of its values into frequent and rare ones, any other
    attribute the one cut of `find_edges`.
    """
    edges, losses, hist = scratch.edges, scratch.losses, scratch.hist
    by = NONE
    cut = np.int64(0)
    lost = np.inf
    for j in range(shape.codes.shape[0]):
        least, most = range_of(shape.codes, j, order, low, high)
        if least == most:
            continue
        if shape.flat[j] and most < shape.missing[j]:
            n = _sort_by_frequency(shape.codes, j, order, low, high, least, most, scratch)
            _losses(shape, order, low, high, edges, n, losses)
            for e in range(n):
                if losses[e] < lost - NEARLY and pieces_stand(
                    order, low, high, edges[e : e + 1], ONE, k, rules, hist
                ):
                    by, cut, lost = j, edges[e], losses[e]
        else:
            sort_by_code(shape.codes, j, order, low, high, least, most, scratch)
            n = find_edges(shape, j, order, low, high, NEAREST, edges)
            if pieces_stand(order, low, high, edges, n, k, rules, hist):
                total = _loss_of_pieces(shape, order, low, high, edges, n)
                if total < lost - NEARLY:
                    by, cut, lost = j, np.int64(0), total
    if by < 0:
        return 0
    least, most = range_of(shape.codes, by, order, low, high)
    if shape.flat[by] and most < shape.missing[by]:
        _sort_by_frequency(shape.codes, by, order, low, high, least, most, scratch)
        edges[0] = cut
        return 1
    sort_by_code(shape.codes, by, order, low, high, least, most, scratch)
    return find_edges(shape, by, order, low, high, NEAREST, edges)


@kernel
def cut_medians(
    shape: Shape,
    k: int,
    where: int,
    cheapest: bool,
    rules: Rules,
    order: Places,
    stack: Places,
    top: int,
    budget: int,
    ends: Places,
    n_ends: int,
    scratch: CutScratch,
) -> tuple[int, int]:
    """Cut sets of rows from the stack until it is empty or the budget of rows is used up.

    ``where`` says at which place the widest attribute is cut (see `find_edges`).

    Returns the new top of the stack (−1 when done) and the number of finished groups, whose ends
    in ``order`` are in ``ends``.
    """
    edges = scratch.edges
    while top >= 0 and budget > 0:
        low = stack[top, 0]
        high = stack[top, 1]
        top -= 1
        budget -= high - low
        n_cuts = 0
        if high - low >= 2 * k and cheapest:
            n_cuts = _cheapest_cut(shape, k, rules, order, low, high, scratch)
        elif high - low >= 2 * k:
            n_cuts = _widest_cut(shape, k, where, rules, order, low, high, scratch)
        if n_cuts == 0:
            ends[n_ends] = high
            n_ends += 1
            continue
        # the first piece is cut next, so that groups come out in order
        for c in range(n_cuts, -1, -1):
            top += 1
            stack[top, 0] = edges[c - 1] if c > 0 else low
            stack[top, 1] = edges[c] if c < n_cuts else high
    return top, n_ends


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
