"""Median partitioning: cut the widest attribute of some rows as long as both sides may stand."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.kernels.jit import helper, kernel
from shoal.kernels.private import group_holds

__all__ = ["cut_medians"]


@helper
def _range_of(codes: Any, j: int, order: Any, low: int, high: int) -> tuple[int, int]:
    least = codes[j, order[low]]
    most = least
    for p in range(low + 1, high):
        code = codes[j, order[p]]
        least = min(least, code)
        most = max(most, code)
    return least, most


@helper
def _common_depth(levels: Any, first: int, n_levels: int, width: int, a: int, b: int) -> int:
    """Return the deepest depth at which leaves a and b have the same ancestor."""
    depth = 0
    for d in range(1, n_levels):
        if levels[first + d * width + a] != levels[first + d * width + b]:
            break
        depth = d
    return depth


@helper
def _sort_by_code(
    codes: Any,
    j: int,
    order: Any,
    low: int,
    high: int,
    least: int,
    most: int,
    count: Any,
    spare: Any,
) -> None:
    """Sort order[low:high] stably by the codes of attribute j."""
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
def _piece_stands(
    order: Any,
    low: int,
    high: int,
    k: int,
    private: Any,
    whole: Any,
    first: Any,
    kinds: Any,
    numbers: Any,
    hist: Any,
) -> bool:
    """Return whether rows order[low:high] may be a group."""
    if high - low < k:
        return False
    if kinds.shape[0] == 0:
        return True
    hist[:] = 0
    for p in range(low, high):
        for s in range(private.shape[0]):
            hist[first[s] + private[s, order[p]]] += 1
    return group_holds(hist, whole, first, kinds, numbers)


@helper
def _edges(
    codes: Any,
    j: int,
    order: Any,
    low: int,
    high: int,
    missing: int,
    relaxed: bool,
    children: Any,
    levels: Any,
    level_first: Any,
    n_levels: Any,
    edges: Any,
) -> int:
    """Propose where to cut order[low:high], sorted by attribute j; return the number of cuts.

    Rows with a missing value are cut off first, as they cost everything together with others.
    An attribute with a taxonomy is cut between the children of the common node; any other at the
    boundary of codes nearest to the middle, or in the very middle if ``relaxed``.
    """
    least = codes[j, order[low]]
    most = codes[j, order[high - 1]]
    if most == missing and least < missing:
        for p in range(low, high):
            if codes[j, order[p]] == missing:
                edges[0] = p
                return 1
    if children[j]:
        width = missing + 1
        first = level_first[j]
        depth = _common_depth(levels, first, n_levels[j], width, least, most) + 1
        found = 0
        for p in range(low + 1, high):
            before = levels[first + depth * width + codes[j, order[p - 1]]]
            if levels[first + depth * width + codes[j, order[p]]] != before:
                edges[found] = p
                found += 1
        return found
    middle = (low + high) // 2
    if relaxed:
        edges[0] = middle
        return 1
    up = middle
    while up < high and codes[j, order[up]] == codes[j, order[up - 1]]:
        up += 1
    down = middle
    while down > low and codes[j, order[down]] == codes[j, order[down - 1]]:
        down -= 1
    edges[0] = up if high - up >= down - low else down
    return 1


@kernel
def cut_medians(
    codes: Any,
    place: Any,
    start_of: Any,
    missing: Any,
    children: Any,
    levels: Any,
    level_first: Any,
    n_levels: Any,
    node_width: Any,
    node_first: Any,
    k: int,
    relaxed: bool,
    private: Any,
    whole: Any,
    first: Any,
    kinds: Any,
    numbers: Any,
    order: Any,
    count: Any,
    spare: Any,
    hist: Any,
    edges: Any,
    stack: Any,
    top: int,
    budget: int,
    ends: Any,
    n_ends: int,
) -> tuple[int, int]:
    """Cut sets of rows from the stack until it is empty or the budget of rows is used up.

    Returns the new top of the stack (−1 when done) and the number of finished groups, whose ends
    in ``order`` are in ``ends``.
    """
    n_attributes = codes.shape[0]
    widths = np.empty(n_attributes, np.float64)
    while top >= 0 and budget > 0:
        low = stack[top, 0]
        high = stack[top, 1]
        top -= 1
        budget -= high - low
        n_cuts = 0
        if high - low >= 2 * k:
            for j in range(n_attributes):
                least, most = _range_of(codes, j, order, low, high)
                if least == most:
                    widths[j] = 0.0
                elif children[j] and most < missing[j]:
                    depth = _common_depth(
                        levels, level_first[j], n_levels[j], missing[j] + 1, least, most
                    )
                    node = levels[level_first[j] + depth * (missing[j] + 1) + least]
                    widths[j] = node_width[node_first[j] + node]
                else:
                    widths[j] = place[start_of[j] + most] - place[start_of[j] + least]
            for _ in range(n_attributes):
                j = np.argmax(widths)
                if widths[j] <= 0.0:
                    break
                widths[j] = 0.0
                least, most = _range_of(codes, j, order, low, high)
                _sort_by_code(codes, j, order, low, high, least, most, count, spare)
                n_cuts = _edges(
                    codes,
                    j,
                    order,
                    low,
                    high,
                    missing[j],
                    relaxed,
                    children,
                    levels,
                    level_first,
                    n_levels,
                    edges,
                )
                start = low
                for c in range(n_cuts + 1):
                    stop = edges[c] if c < n_cuts else high
                    if not _piece_stands(
                        order, start, stop, k, private, whole, first, kinds, numbers, hist
                    ):
                        n_cuts = 0
                        break
                    start = stop
                if n_cuts > 0:
                    break
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
