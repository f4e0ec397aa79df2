"""A forest of near records, cut into groups (Aggarwal et al. 2005; Gionis, Tassa 2009)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal.algorithm.base import Algorithm
from shoal.table.partition import Partition

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shoal.search.scan import Run
    from shoal.table.encode import EncodedTable

    Children = list[list[int]]


FAR = np.iinfo(np.int64).max


@dataclass(frozen=True, kw_only=True)
class Forest(Algorithm):
    """Join records to near ones until trees have k records; cut trees above 3k − 3.

    Growing: each record in turn whose tree has fewer than k records gets an edge to the nearest
    record outside that tree. Cutting, while a tree has more than 3k − 3 records: an edge with at
    least k records on both sides is cut; where no edge is like that, some record has only branches
    below k, and as many of them as have k records together become a group. The distance of two
    records is what generalising both costs under the chosen measure.

    It is the approximation that takes O(k n²) instead of O(n^2k): the better guarantee of Gionis
    and Tassa, O(log k), is by choosing among all sets of k to 2k − 1 records, which no table of
    use allows. Their texts were not at hand, and later papers only sketch the cutting: that it
    ends at 3k − 3 and what is done where no edge can be cut are a reading of ours.

    Guarantee: every group has k to 3k − 3 records (k to 3 where k = 2), and the total cost is at
    most 3k − 3 times the least possible one, whatever the measure, if no cost is negative and
    generalising two sets that share a record costs at most what both do together: `ncp`, `lm`,
    `tree`, and other measures of trees and intervals.
    Cost: O(n²) comparisons.
    Determinism: no chance but the run's shuffle; ties go to the lowest row.
    """

    name = "forest"
    title = "trees of near records, cut where they are large"
    citation = (
        "Aggarwal, Feder, Kenthapadi, Motwani, Panigrahy, Thomas, Zhu 2005; Gionis, Tassa 2009"
    )
    whole_rows = 10_000

    def compiles(self, run: Run) -> tuple[str, ...]:
        """Return the task that compiles its scan."""
        del run
        return ("r-gather",)

    def partition(self, table: EncodedTable, run: Run) -> Partition:
        """Group the rows of a table."""
        roots, children = grow_forest(run)
        label = np.empty(table.n_rows, np.int32)
        for number, rows in enumerate(cut_trees(roots, children, run.k)):
            label[rows] = number
        return Partition.from_labels(label)


def grow_forest(run: Run) -> tuple[list[int], Children]:
    """Return the records without an edge, one of each tree, and whose edges lead to a record."""
    n = run.scanner.n_rows
    tree: list[list[int]] = [[row] for row in range(n)]  # shared by all records of a tree
    children: Children = [[] for _ in range(n)]
    roots = []
    for row in range(n):
        if row % 1000 == 0:
            run.progress(row, n, "joining near records")
        mine = tree[row]
        if len(mine) >= run.k:
            roots.append(row)  # its tree grows no more by an edge of its own
            continue
        costs = run.scanner.costs_with([row])
        costs[mine] = FAR
        near = int(np.argmin(costs))
        children[near].append(row)
        other = tree[near]
        small, large = sorted((mine, other), key=len)
        large += small
        for each in small:
            tree[each] = large
    return roots, children


def cut_trees(roots: list[int], children: Children, k: int) -> Iterator[list[int]]:
    """Yield groups of k to 3k − 3 records: trees, and parts of those that have more."""
    size = _sizes(roots, children)
    waiting = roots[::-1]
    while waiting:
        root = at = waiting.pop()
        left = size[root]  # records of its tree; above ``at`` there are fewer than k of them
        branches = _smallest_first(children[at], size)
        while left > 3 * k - 3:
            largest = branches[-1]
            if size[largest] < k:  # so are all: some together are a group
                part: list[int] = []
                while len(part) < k:
                    part += _below(branches.pop(), children)
                left -= len(part)
                yield part
            elif left - size[largest] >= k:
                waiting.append(branches.pop())
                left -= size[largest]
            else:
                children[at] = branches
                at, branches = largest, _smallest_first(children[largest], size)
        children[at] = branches
        yield list(_below(root, children))


def _smallest_first(rows: list[int], size: list[int]) -> list[int]:
    return sorted(rows, key=lambda row: (size[row], -row))


def _sizes(roots: list[int], children: Children) -> list[int]:
    """Return how many records there are below each, itself included."""
    size = [1] * len(children)
    for root in roots:
        for row in reversed(list(_below(root, children))):
            size[row] += sum(size[child] for child in children[row])
    return size


def _below(root: int, children: Children) -> Iterator[int]:
    """Yield a record and all below it, none before the one above it."""
    waiting = [root]
    while waiting:
        row = waiting.pop()
        yield row
        waiting += children[row]
