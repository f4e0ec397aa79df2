"""Regions of the space of quasi-identifiers, and how all rows together are cut into them.

A region is a set of codes per column: from a lowest to a highest number, or some leaves of a
hierarchy. It begins as everything; a cut parts the codes of one column in two, and is allowed if on
each side there are no rows of all sites together, or at least k that keep the promises. Of the
allowed cuts the one is taken that is worth most, and nothing else is opened: not which others were
allowed, nor what they would have saved. Then the size of one side is opened, which is
0 or at least k, as is that of the other. Regions end where no cut is allowed that saves anything.

So all numbers that are opened are sizes of regions that lie in each other or apart, none is
between 0 and k, and no difference of them is, either.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shoal.sites.sharing import LEVELS, Rule
from shoal.sites.wire import SitesError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shoal.privacy.l_diversity import LDiversity
    from shoal.sites.agreement import Agreement, SiteColumn
    from shoal.sites.sharing import Sharing

    Ints = NDArray[np.int64]
    Bytes = NDArray[np.uint8]

_MOST_CUTS = 24
"""Cuts of one column that are tried, evenly spaced where there are more."""
_ANY = 256
OWN_SHARE, OWN_GROUPS = 0.45, 50
"""From this share of the rows of a region on, and so many times k, a site's own search loses less
than cutting with all others: with 2 equal sites it does, with 3 not (docs/results/sites.md)."""


@dataclass(frozen=True, eq=False)
class Region:
    """Some codes of each column, the rows of this site in them, and how many all sites have.

    Attributes:
        codes: of each column, in order.
        rows: numbers of the rows of this site.
        total: rows of all sites.
    """

    codes: tuple[tuple[int, ...], ...]
    rows: Ints
    total: int


class Cuts(NamedTuple):
    """The cuts of one column that are tried.

    Attributes:
        left: which codes are on the left, per cut.
        saved_left: what a row on the left saves.
        saved_right: what a row on the right saves.
    """

    left: NDArray[np.bool_]
    saved_left: Ints
    saved_right: Ints


class _Chosen(NamedTuple):
    """A cut that is made: which codes of a column are on the left, and which rows of this site."""

    region: Region
    c: int
    codes: NDArray[np.bool_]
    rows: NDArray[np.bool_]


@dataclass
class Found:
    """What a site knows in the end.

    Attributes:
        joint: the regions whose rows are published together.
        own: numbers of the rows that this site publishes by itself.
    """

    joint: list[Region] = field(default_factory=list)
    own: list[Ints] = field(default_factory=list)


class Search:
    """The part of a site in cutting all rows into regions."""

    def __init__(
        self, agreement: Agreement, codes: Sequence[Ints], secrets: Sequence[Ints], sharing: Sharing
    ) -> None:
        self.agreement, self.sharing = agreement, sharing
        self.codes, self.secrets = codes, secrets
        self.k, self.n_sites = agreement.k, sharing.others.n_sites
        self.n_values = [len(values) for values in agreement.values.values()]
        names = list(agreement.values)
        self.conditions = [(model, names.index(name)) for model, name in agreement.conditions]
        most = min(_MOST_CUTS, 255 // len(agreement.columns))
        self.cuts_of = lru_cache(1 << 16)(
            lambda c, codes: cuts_of(agreement.columns[c], codes, most)
        )

    def run(self) -> Found:
        """Return the regions of all rows.

        Raises:
            SitesError: all rows together do not keep the promises, or counts do not fit.
        """
        rows = np.arange(len(self.codes[0]))
        everything = tuple(tuple(range(column.size)) for column in self.agreement.columns)
        if not self._keep_promises([Region(everything, rows, 0)], ())[0]:
            raise SitesError("too few")
        total = self._open_sizes(np.array([len(rows)]))[0]
        region = Region(everything, rows, total)
        if self.conditions and not self._keep_promises([region], self.conditions)[0]:
            raise SitesError("too few")
        active, found = [region], Found()
        while active:
            active = self._take_own_rows_out(active, found)
            active = self._cut(active, found)
        found.joint = self._take_own_rows_out(found.joint, found, finished=True)
        return found

    # -- rows that a site publishes by itself ----------------------------------------------------

    def _take_own_rows_out(
        self, active: list[Region], found: Found, *, finished: bool = False
    ) -> list[Region]:
        """Let sites that hold much of a region refine their rows alone; return what is left.

        Whoever holds all of it, or many rows that are a large share of it, offers to take them
        out; where nothing is cut any more, whoever holds k. That is done if the rows of all others,
        together, are none or keep the promises; their number is opened.
        """
        if self.agreement.at_two_sites or not active:
            return active
        offers = [
            (finished or self._holds_much(each)) and self._keeps_promises_alone(each)
            for each in active
        ]
        none = np.zeros(0, np.int64)
        rests = [
            replace(each, rows=none) if offer else each
            for each, offer in zip(active, offers, strict=True)
        ]
        kept = self._keep_promises(rests, self.conditions, may_be_empty=True)
        changed = [place for place, holds in enumerate(kept) if holds]
        if not changed:
            return active
        counts = np.array([len(rests[place].rows) for place in changed], np.int64)
        left = list(active)
        for place, total in zip(changed, self._open_sizes(counts), strict=True):
            left[place] = replace(rests[place], total=total)
            if not 0 <= total <= active[place].total:
                raise SitesError("do not fit")
            if offers[place]:
                found.own.append(active[place].rows)
        return [each for each in left if each.total]

    def _open_sizes(self, counts: Ints) -> list[int]:
        """Open the rows of all sites in some regions, which are none or at least k."""
        sizes: list[int] = self.sharing.open_sums("size", counts).tolist()
        if any(each < 0 or 0 < each < self.k for each in sizes):
            raise SitesError("do not fit")
        return sizes

    def _holds_much(self, region: Region) -> bool:
        n = len(region.rows)
        return n == region.total or n >= max(OWN_GROUPS * self.k, region.total * OWN_SHARE)

    def _keeps_promises_alone(self, region: Region) -> bool:
        return len(region.rows) >= self.k and all(
            is_diverse(self._tally(region.rows, column), model) for model, column in self.conditions
        )

    # -- promises --------------------------------------------------------------------------------

    def _keep_promises(
        self,
        regions: list[Region],
        conditions: Sequence[tuple[LDiversity, int]],
        *,
        may_be_empty: bool = False,
    ) -> list[bool]:
        """Return whether the rows of all sites in each region keep promises; no more is opened.

        Sites tell no more than k: the sum is at least k if and only if all rows are.

        Args:
            regions: with no more rows of all sites than they say.
            conditions: promises, each with the sensitive column that it is about.
            may_be_empty: whether a region without rows holds.
        """
        k, n = self.k, self.n_sites
        counts = np.array([min(len(each.rows), k) for each in regions], np.int64)
        held = np.arange(n * k + 1)
        enough = ((held >= k) | (may_be_empty & (held == 0))).astype(np.uint8)
        good = self.sharing.lookup(counts, enough)
        needed = 1
        if self.agreement.at_two_sites:
            several = (np.arange(n + 1) >= 2).astype(np.uint8)
            good = good + self.sharing.lookup((counts > 0).astype(np.int64), several)
            needed += 1
        for model, column in conditions:
            tallies = np.stack([self._tally(each.rows, column) for each in regions])
            most = np.array([each.total for each in regions], np.int64)
            good = good + self._diverse(tallies, most, model)
            needed += 1
        met = (np.arange(_ANY) == needed).astype(np.uint8)
        found = self.sharing.lookup(good.astype(np.int64), met)
        return [bool(each) for each in self.sharing.open("holds", found)]

    def _tally(self, rows: Ints, column: int) -> Ints:
        return np.bincount(self.secrets[column][rows], minlength=self.n_values[column])

    def _diverse(self, tallies: Ints, most: Ints, model: LDiversity) -> Bytes:
        """Return shares of 1 for each histogram of all sites that is diverse or empty, else of 0.

        Entropy ℓ-diversity is kept by way of frequency ℓ-diversity, which implies it: −Σ p log p
        is at least −log max p.

        Args:
            tallies: rows of this site by sensitive value.
            most: how many rows all sites have at most.
            model: the promise.
        """
        items, n_values = tallies.shape
        l = int(np.ceil(model.l))
        values = np.arange(_ANY)
        if model.kind == "distinct":
            some = (np.arange(self.n_sites + 1) > 0).astype(np.uint8)
            shares = self.sharing.lookup((tallies > 0).astype(np.int64).ravel(), some)
            good = ((values == 0) | (values >= l)).astype(np.uint8)
        else:
            # l times the rows with a value, less all rows: above 0 breaks the promise
            above = (l * tallies - tallies.sum(axis=1, keepdims=True)).ravel()
            sizes = np.stack([(l - 1) * most, l * most + 1], axis=1)
            shares = self.sharing.lookup_rule(above, Rule.ABOVE, np.repeat(sizes, n_values, axis=0))
            good = (values == 0).astype(np.uint8)
        total = shares.reshape(items, n_values).sum(axis=1, dtype=np.uint8)
        return self.sharing.lookup(total.astype(np.int64), good)

    # -- cuts ------------------------------------------------------------------------------------

    def _cut(self, active: list[Region], found: Found) -> list[Region]:
        """Cut each region once, where it can be; the others are finished."""
        tried: list[tuple[Region, list[tuple[int, Cuts]]]] = []
        for region in active:
            cuts = [
                (c, self.cuts_of(c, codes))
                for c, codes in enumerate(region.codes)
                if len(codes) > 1
            ]
            if cuts:
                tried.append((region, cuts))
            else:
                found.joint.append(region)
        if not tried:
            return []
        level, place = self.sharing.best(self._worth(tried))
        opened = self.sharing.open("cut", np.stack([level, place]))
        chosen: list[_Chosen] = []
        for (region, cuts), saved, number in zip(tried, *opened.tolist(), strict=True):
            if saved:
                chosen.append(self._choose(region, cuts, saved, number))
            else:
                found.joint.append(region)
        return self._part(chosen) if chosen else []

    def _choose(
        self, region: Region, cuts: list[tuple[int, Cuts]], saved: int, number: int
    ) -> _Chosen:
        """Return the cut with a number."""
        if saved <= LEVELS:
            for c, each in cuts:
                if number < len(each.left):
                    left = each.left[number]
                    there = np.array(region.codes[c])[left]
                    on_left = np.isin(self.codes[c][region.rows], there)
                    return _Chosen(region, c, left, on_left)
                number -= len(each.left)
        raise SitesError("do not fit")

    def _part(self, chosen: list[_Chosen]) -> list[Region]:
        """Open the size of one side of each cut, and return the sides that have rows."""
        counts = np.array([int(each.rows.sum()) for each in chosen], np.int64)
        sizes = self._open_sizes(counts)
        sides: list[Region] = []
        for (region, c, left, on_left), size in zip(chosen, sizes, strict=True):
            rest = region.total - size
            if rest < 0 or 0 < rest < self.k:
                raise SitesError("do not fit")
            here = np.array(region.codes[c])
            for codes, rows, total in ((left, on_left, size), (~left, ~on_left, rest)):
                if total:
                    kept = tuple(here[codes].tolist())
                    whole = (*region.codes[:c], kept, *region.codes[c + 1 :])
                    sides.append(Region(whole, region.rows[rows], total))
        return sides

    def _worth(self, tried: list[tuple[Region, list[tuple[int, Cuts]]]]) -> list[Bytes]:
        """Return shares of the level of what each cut is worth; 0 where it is not allowed."""
        n = self.n_sites
        numbers: list[Ints] = []
        items: list[Ints] = []
        per_side: list[list[list[Ints]]] = [[[], []] for _ in self.conditions]
        for region, cuts in tried:
            saved_left = np.concatenate([each.saved_left for _, each in cuts])
            saved_right = np.concatenate([each.saved_right for _, each in cuts])
            top = region.total * max(int(saved_left.max()), int(saved_right.max()))
            left = np.concatenate([each.left @ self._histogram(region, c) for c, each in cuts])
            line = np.full((len(left), 6), [region.total, self.k, 0, 0, top, n], np.int64)
            line[:, 2], line[:, 3] = saved_left, saved_right
            items.append(line)
            if self.agreement.at_two_sites:
                right = len(region.rows) - left
                left = left + (region.total + 1) * ((left > 0) + (n + 1) * (right > 0))
            numbers.append(left)
            for number, (_, column) in enumerate(self.conditions):
                whole = self._tally(region.rows, column)
                for c, each in cuts:
                    tally = each.left @ self._histogram(region, c, column)
                    per_side[number][0].append(tally)
                    per_side[number][1].append(whole - tally)
        rule = Rule.CUT_AT_TWO_SITES if self.agreement.at_two_sites else Rule.CUT
        public = np.concatenate(items)
        worth = self.sharing.lookup_rule(np.concatenate(numbers), rule, public[:, : rule.numbers])
        if self.conditions:
            worth = self._only_diverse(worth, public[:, 0], per_side)
        ends = np.cumsum([len(each) for each in numbers])
        return np.split(worth, ends[:-1])

    def _only_diverse(self, worth: Bytes, total: Ints, per_side: list[list[list[Ints]]]) -> Bytes:
        good = np.zeros(len(worth), np.uint8)
        for (model, _), sides in zip(self.conditions, per_side, strict=True):
            for side in sides:
                good = good + self._diverse(np.concatenate(side), total, model)
        both = (LEVELS + 1) * good + worth
        codes = np.arange(_ANY)
        keep = codes // (LEVELS + 1) == 2 * len(self.conditions)
        table = np.where(keep, codes % (LEVELS + 1), 0).astype(np.uint8)
        return self.sharing.lookup(both.astype(np.int64), table)

    def _histogram(self, region: Region, c: int, secret: int | None = None) -> Ints:
        """Return the rows of this site in a region by a column, and by a sensitive one."""
        codes, size = self.codes[c][region.rows], self.agreement.columns[c].size
        if secret is None:
            return np.bincount(codes, minlength=size)[list(region.codes[c])]
        n = self.n_values[secret]
        pairs = np.bincount(codes * n + self.secrets[secret][region.rows], minlength=size * n)
        return pairs.reshape(size, n)[list(region.codes[c])]


def cuts_of(column: SiteColumn, codes: tuple[int, ...], most: int) -> Cuts:
    """Return the cuts of a column that are tried in a region: a function of public lines alone."""
    here = np.array(codes)
    if column.tree is None:
        places = np.arange(1, len(here))
        left = np.arange(len(here))[None, :] < places[:, None]
    else:
        tree = column.tree
        node = int(tree.lca_of_range(here[0], here[-1]))
        below = tree.levels()[int(tree.depth[node]) + 1][here]
        children = np.unique(below)
        if len(children) == 2:  # the other side is the same cut
            children = children[:1]
        left = below[None, :] == children[:, None]
    if len(left) > most:
        left = left[np.unique(np.linspace(0, len(left) - 1, most).astype(int))]
    whole = int(column.cost(here[0], here[-1]))
    sides = []
    for side in (left, ~left):
        first = here[side.argmax(axis=1)]
        last = here[len(here) - 1 - side[:, ::-1].argmax(axis=1)]
        sides.append(whole - column.cost(first, last))
    return Cuts(left, *sides)


def is_diverse(tally: Ints, model: LDiversity) -> bool:
    """Tell whether a histogram keeps a promise, as `Search` judges all sites together."""
    if model.kind == "distinct":
        return int(np.count_nonzero(tally)) >= model.l
    return bool(tally.max() * int(np.ceil(model.l)) <= tally.sum())
