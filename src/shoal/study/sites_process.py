"""One site of a clustering over sites: what runs in its process, on its own rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shoal.measure.forms import IndicatorForm, LinearForm, TreeForm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shoal.measure.base import CostModel
    from shoal.table.encode import EncodedTable

__all__ = ["Bounds", "CostBook", "Site", "cost_book", "together"]

NOTHING = np.iinfo(np.int64).max
DIGITS = 9
"""Differences of costs beyond this many decimals are rounding errors of long sums."""


class Bounds(NamedTuple):
    """How many records each cluster has, and the lowest and highest code in each column.

    Leaves of a tree are numbered so that the common node of some follows from the first and the
    last of them; so these bounds are what a cluster generalises to, whatever the columns are.
    """

    sizes: NDArray[np.int64]  # [clusters]
    low: NDArray[np.int64]  # [clusters, columns]
    high: NDArray[np.int64]


def together(parts: Sequence[Bounds]) -> Bounds:
    """Return the bounds of the clusters of several sites taken together."""
    if not parts:
        return Bounds(np.zeros(0, np.int64), np.zeros((0, 0), np.int64), np.zeros((0, 0), np.int64))
    return Bounds(
        np.sum([part.sizes for part in parts], axis=0),
        np.min([part.low for part in parts], axis=0),
        np.max([part.high for part in parts], axis=0),
    )


@dataclass(frozen=True)
class CostBook:
    """What a record of a cluster costs, by the bounds of the cluster: part of the code book.

    Attributes:
        places: per column the position of each code, None for other columns than intervals.
        pairs: per column the cost of every pair of first and last leaf, None for other columns
            than trees of a moderate size.
        flat: per column what a cell costs that is not a single value, for all others.
    """

    places: tuple[NDArray[np.float64] | None, ...]
    pairs: tuple[NDArray[np.float64] | None, ...]
    flat: tuple[float, ...]

    def cost(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return what a record costs in each of some clusters."""
        total = np.zeros(len(low))
        columns = zip(self.places, self.pairs, self.flat, low.T, high.T, strict=True)
        for place, pair, full, first, last in columns:
            if place is not None:
                total += place[last] - place[first]
            elif pair is not None:
                total += pair[first, last]
            else:
                total += full * (first != last)
        return total


def cost_book(table: EncodedTable, model: CostModel) -> CostBook:
    """Return the costs of a measure, weights included."""
    places: list[NDArray[np.float64] | None] = []
    pairs: list[NDArray[np.float64] | None] = []
    flat: list[float] = []
    for attribute, form, weight in zip(table.attributes, model.forms, model.weights, strict=True):
        place, pair, full = None, None, 0.0
        if isinstance(form, LinearForm):
            place = form.position * float(weight)
        elif isinstance(form, IndicatorForm):
            full = form.full * float(weight)
        else:
            assert isinstance(form, TreeForm)
            tree = attribute.taxonomy
            assert tree is not None
            if tree.tree_height <= 1:
                full = float(form.node[tree.root] * weight)
            else:
                leaves = np.arange(tree.n_leaves)
                first, last = np.minimum.outer(leaves, leaves), np.maximum.outer(leaves, leaves)
                pair = form.node[tree.lca_of_range(first, last)] * float(weight)
        places.append(place)
        pairs.append(pair)
        flat.append(full)
    return CostBook(tuple(places), tuple(pairs), tuple(flat))


class Site:
    """A site: its rows and the cluster of each. Nothing here leaves but what a method returns."""

    def __init__(self, codes: NDArray[np.int64], book: CostBook, chance: list[int]) -> None:
        self.codes, self.book = codes, book
        self.rng = np.random.default_rng(chance)
        self.label = np.zeros(len(codes), np.int64)
        self.n_clusters = 0

    @classmethod
    def serve(cls, line: Any, codes: NDArray[np.int64], book: CostBook, chance: list[int]) -> None:
        """Answer messages until the end; this is what the process of a site runs."""
        site = cls(codes, book, chance)
        while True:
            what, given = line.recv()
            if what == "end":
                return
            line.send(getattr(site, f"do_{what}")(*given))

    def do_start(self, n_clusters: int) -> Bounds:
        """Step 1: spread the site's records evenly over the clusters, by chance."""
        self.n_clusters = n_clusters
        order = self.rng.permutation(len(self.codes))
        clusters = self.rng.permutation(n_clusters)
        self.label[order] = clusters[np.arange(len(order)) % n_clusters]
        return self.bounds()

    def bounds(self) -> Bounds:
        """Return what the site tells: numbers and bounds of its records in each cluster."""
        shape = (self.n_clusters, self.codes.shape[1])
        low, high = np.full(shape, NOTHING), np.full(shape, -1)
        np.minimum.at(low, self.label, self.codes)
        np.maximum.at(high, self.label, self.codes)
        return Bounds(np.bincount(self.label, minlength=self.n_clusters), low, high)

    def do_pass(self, others: Bounds) -> tuple[int, Bounds]:
        """Steps 2 to 8 for the site's own records; returns how many moved."""
        own = self.bounds()
        if not len(others.sizes):  # the only site
            others = Bounds(
                np.zeros(self.n_clusters, np.int64),
                np.full_like(own.low, NOTHING),
                np.full_like(own.high, -1),
            )
        sizes, low, high = (x.copy() for x in together([own, others]))
        alive = sizes > 0
        costs = np.zeros(self.n_clusters)
        costs[alive] = sizes[alive] * self.book.cost(low[alive], high[alive])
        members: list[list[int]] = [[] for _ in range(self.n_clusters)]
        for i, g in enumerate(self.label.tolist()):
            members[g].append(i)
        moved = 0
        for i, row in enumerate(self.codes):
            j = int(self.label[i])
            rest = self._without([m for m in members[j] if m != i], j, others)
            # a cluster without records takes none
            some = np.flatnonzero((sizes > 0) & (np.arange(self.n_clusters) != j))
            if not len(some):
                continue
            rise = (sizes[some] + 1) * self.book.cost(
                np.minimum(low[some], row), np.maximum(high[some], row)
            ) - costs[some]
            best = int(np.argmin(np.round(rise, DIGITS)))  # ties go to the lowest cluster
            fall = costs[j]
            if sizes[j] > 1:
                fall -= (sizes[j] - 1) * self.book.cost(rest[0][None], rest[1][None])[0]
                if round(float(rise[best] - fall), DIGITS) >= 0:
                    continue
            h = int(some[best])
            self.label[i] = h
            members[j].remove(i)
            members[h].append(i)
            sizes[j], low[j], high[j] = sizes[j] - 1, rest[0], rest[1]
            costs[j] = costs[j] - fall if sizes[j] else 0.0
            sizes[h] += 1
            low[h], high[h] = np.minimum(low[h], row), np.maximum(high[h], row)
            costs[h] += rise[best]
            moved += 1
        return moved, self.bounds()

    def _without(
        self, rest: list[int], j: int, others: Bounds
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the bounds of a cluster of which the site has the rest of its records."""
        if not rest:
            return others.low[j], others.high[j]
        mine = self.codes[rest]
        return np.minimum(others.low[j], mine.min(axis=0)), np.maximum(
            others.high[j], mine.max(axis=0)
        )

    def do_split(self, large: NDArray[np.int64]) -> Bounds:
        """Step 9: give half of the site's records of each large cluster to a new one."""
        for place, g in enumerate(large.tolist()):
            members = self.rng.permutation(np.flatnonzero(self.label == g))
            half = (len(members) + int(self.rng.integers(2))) // 2
            self.label[members[:half]] = self.n_clusters + place
        self.n_clusters += len(large)
        return self.bounds()

    def do_unite(self, into: NDArray[np.int64]) -> None:
        """Steps 11 to 14: clusters that were united have one number."""
        self.label = into[self.label]

    def do_labels(self) -> NDArray[np.int64]:
        """Return the cluster of each record: the site needs it to generalise its own rows."""
        return self.label
