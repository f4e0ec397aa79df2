"""Sums of what several sites hold, of which nothing is opened but what a public table says.

Two things only, both from the literature and neither with cryptography of its own:

- **A one-time truth table** (Ishai, Kushilevitz, Meldgaard, Orlandi, Paskin-Cherniavsky, *On the
  Power of Correlated Randomness in Secure Computation*, TCC 2013; here for any number of sites and
  inputs that are sums modulo N). Each site holds a number x_i; all know a table f of N entries.
  The dealer draws r_i for each site, every value of 0..N-1 alike, r = Σ r_i, and parts the table
  y ↦ f(y − r) into random shares that add up to it modulo 256. Sites tell each other x_i + r_i;
  these add up to y = x + r, and the share of f(x) is the entry y of the own table.
- **Products of shared numbers** by dealt triples (Beaver, *Efficient Multiparty Protocols Using
  Circuit Randomization*, CRYPTO 1991).

What a site sees: x_j + r_j of each other site, where r_j is uniform and known to that site and the
dealer alone, so it is uniform whatever x_j is; and, where a share is opened, shares that are
uniform among those with the opened sum. So any sites that put together what they saw learn what
was opened and nothing else, as long as the dealer does not tell them r_j or the tables of others,
and all follow the protocol. The dealer sees sizes and public tables, and no x_j + r_j: sites send
these to each other through TLS of their own.
"""

from __future__ import annotations

import secrets
import struct
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]
    Ints = NDArray[np.int64]

MOST_ENTRIES = 1 << 22
"""Entries of tables that are dealt at once."""
_MOST = 1 << 28
_HEAD = struct.Struct(">BIIII")  # rule, items, entries of a common table, triples, masks
LEVELS = 31
"""How finely the worth of cuts is told apart: each level is 12 % above the one before.

What a cut is worth is what it saves, over the square root of how many bits it tells per row. Cuts
that save much and leave most rows together lead to finer regions than those that save most.
"""
_STEPS = 1.12 ** np.arange(1.0 - LEVELS, 0.0)


class Rule(IntEnum):
    """How the table of each item is made from a few numbers, so that tables are not sent."""

    COMMON = 0
    """All items have the one table that is sent."""
    ABOVE = 1
    """1 for the numbers from 1 to ``highest``, 0 for others, which stand for those up to 0."""
    CUT = 2
    """The level of what a cut of a region is worth, by the rows on its left; 0 if not allowed."""
    CUT_AT_TWO_SITES = 3
    """The same, by the rows on the left and by how many sites have some on each side."""

    @property
    def numbers(self) -> int:
        """How many numbers each item has."""
        return (0, 2, 5, 6)[self]


class Wanted(NamedTuple):
    """What sites ask a dealer for; all of it is public.

    Attributes:
        rule: how tables are made.
        items: one line for each table. ABOVE: highest, and the size of the table. CUT: rows of
            the region, k, what a row on the left saves, one on the right, and the most that any
            cut of the region could save; then, for CUT_AT_TWO_SITES, the number of sites.
        table: the one table of COMMON.
        n: how many items COMMON has.
        triples: how many products of one number with two are to be made.
        masks: how many sums are to be opened.
    """

    rule: Rule
    items: Ints
    table: Bytes
    n: int = 0
    triples: int = 0
    masks: int = 0

    @classmethod
    def of(cls, *, triples: int = 0, masks: int = 0) -> Wanted:
        """Return a wish without tables."""
        none = np.zeros(0, np.uint8)
        return cls(Rule.COMMON, none.astype(np.int64).reshape(0, 0), none, 0, triples, masks)

    @property
    def sizes(self) -> Ints:
        """How many entries each table has."""
        if self.rule == Rule.COMMON:
            return np.full(self.n, len(self.table), np.int64)
        if self.rule == Rule.ABOVE:
            return self.items[:, 1]
        base: Ints = self.items[:, 0] + 1
        return base if self.rule == Rule.CUT else base * (self.items[:, 5] + 1) ** 2

    def pack(self) -> bytes:
        """Return it as bytes."""
        head = _HEAD.pack(self.rule, self.n, len(self.table), self.triples, self.masks)
        return head + self.items.astype("<i8").tobytes() + self.table.tobytes()

    @classmethod
    def unpack(cls, given: bytes) -> Wanted:
        """Return what bytes ask for.

        Raises:
            ValueError: they ask for nothing that can be dealt.
        """
        try:
            rule, n, entries, triples, masks = _HEAD.unpack_from(given)
        except struct.error as error:
            raise ValueError from error
        rule = Rule(rule)
        place = _HEAD.size + 8 * n * rule.numbers
        if len(given) != place + entries or max(n, entries, triples, masks) > _MOST:
            raise ValueError
        items = np.frombuffer(given, "<i8", n * rule.numbers, _HEAD.size).astype(np.int64)
        table = np.frombuffer(given, np.uint8, entries, place)
        wanted = cls(rule, items.reshape(n, rule.numbers), table, n, triples, masks)
        sizes = wanted.sizes
        if n and (np.any(items < 0) or sizes.min() < 1 or sizes.max() > _MOST):
            raise ValueError
        if sizes.sum() > _MOST:
            raise ValueError
        return wanted

    def tables(self, shift: Ints) -> Bytes:
        """Return all tables, one after the other, each shifted by a number modulo its size."""
        sizes = self.sizes
        begins = np.cumsum(sizes) - sizes
        place = np.arange(int(sizes.sum())) - np.repeat(begins + shift, sizes)
        each = np.repeat(sizes, sizes)
        place = np.where(place < 0, place + each, place)
        if self.rule == Rule.COMMON:
            return self.table[place]
        if self.rule == Rule.ABOVE:
            highest = np.repeat(self.items[:, 0], sizes)
            return ((place > 0) & (place <= highest)).astype(np.uint8)
        total, k, saved_left, saved_right, top = (
            np.repeat(self.items[:, column], sizes) for column in range(5)
        )
        left, fits = place, np.True_
        if self.rule == Rule.CUT_AT_TWO_SITES:
            n = np.repeat(self.items[:, 5], sizes) + 1
            left, sites = place % (total + 1), place // (total + 1)
            fits = ((left == 0) | (sites % n >= 2)) & ((left == total) | (sites // n >= 2))
        right = total - left
        saved = left * saved_left + right * saved_right
        worth = np.full(len(left), np.inf)  # a side without rows costs nothing: that comes first
        both = (left > 0) & (right > 0)
        share = left[both] / total[both]
        bits = -share * np.log2(share) - (1 - share) * np.log2(1 - share)
        worth[both] = saved[both] / np.sqrt(bits) / np.maximum(2 * top[both], 1)
        level = np.searchsorted(_STEPS, worth, side="right") + 1
        level[both] = np.minimum(level[both], LEVELS - 1)
        fits = fits & (saved > 0) & ((left == 0) | (left >= k)) & ((right == 0) | (right >= k))
        return np.where(fits, level, 0).astype(np.uint8)


class Dealt(NamedTuple):
    """What one site is dealt.

    Attributes:
        shift: its part of the shift of each table.
        table: its share of the shifted tables.
        triples: its shares of a, b, c, a·b, a·c.
        masks: its share of a zero for each sum.
    """

    shift: Ints
    table: Bytes
    triples: Bytes
    masks: NDArray[np.uint64]

    def pack(self) -> bytes:
        """Return it as bytes."""
        parts = (self.shift.astype("<u4"), self.table, self.triples, self.masks.astype("<u8"))
        return b"".join(part.tobytes() for part in parts)

    @classmethod
    def unpack(cls, given: bytes, wanted: Wanted) -> Dealt:
        """Return what bytes hold.

        Raises:
            ValueError: they are not what was asked for.
        """
        items, entries = wanted.n, int(wanted.sizes.sum())
        if len(given) != 4 * items + entries + 5 * wanted.triples + 8 * wanted.masks:
            raise ValueError
        place = 4 * items
        shift = np.frombuffer(given, "<u4", items).astype(np.int64)
        table = np.frombuffer(given, np.uint8, entries, place)
        place += entries
        triples = np.frombuffer(given, np.uint8, 5 * wanted.triples, place)
        place += 5 * wanted.triples
        masks = np.frombuffer(given, "<u8", wanted.masks, place).astype(np.uint64)
        return cls(shift, table, triples.reshape(5, wanted.triples), masks)


def deal(wanted: Wanted, n_sites: int) -> list[Dealt]:
    """Return what each site is dealt: random numbers that fit together, and nothing of data."""
    sizes = wanted.sizes
    shifts = [_below(sizes) for _ in range(n_sites)]
    shift = np.sum(shifts, axis=0) % np.maximum(sizes, 1)
    tables = shares_of(wanted.tables(shift), n_sites)
    m = wanted.triples
    drawn = [_random(3 * m).reshape(3, m) for _ in range(n_sites)]
    drawn_together: Bytes = np.stack(drawn).sum(axis=0, dtype=np.uint8)
    a, b, c = drawn_together
    products = shares_of(np.stack([a * b, a * c]), n_sites)
    masks = [
        np.frombuffer(secrets.token_bytes(8 * wanted.masks), np.uint64) for _ in range(n_sites)
    ]
    rest: NDArray[np.uint64] = np.stack(masks[:-1]).sum(axis=0, dtype=np.uint64)
    masks[-1] = np.uint64(0) - rest
    return [
        Dealt(*each)
        for each in zip(
            shifts,
            tables,
            (np.concatenate(both) for both in zip(drawn, products, strict=True)),
            masks,
            strict=True,
        )
    ]


def shares_of(values: Bytes, n_sites: int) -> list[Bytes]:
    """Return random numbers that add up to these modulo 256."""
    shares = [_random(values.size).reshape(values.shape) for _ in range(n_sites - 1)]
    return [*shares, values - np.sum(shares, axis=0, dtype=np.uint8)]


def _random(n: int) -> Bytes:
    return np.frombuffer(secrets.token_bytes(n), np.uint8)


def _below(sizes: Ints) -> Ints:
    """Return a number below each size, every one as likely as the others."""
    drawn = np.empty(len(sizes), np.uint64)
    todo = np.arange(len(sizes))
    bound = sizes.astype(np.uint64)
    top = np.uint64(2**64 - 1)
    while len(todo):
        drawn[todo] = np.frombuffer(secrets.token_bytes(8 * len(todo)), np.uint64)
        whole = top - (top % bound[todo] + np.uint64(1)) % bound[todo]  # the last that is fair
        todo = todo[drawn[todo] > whole]
    return (drawn % np.maximum(bound, np.uint64(1))).astype(np.int64)


class Others(Protocol):
    """The other sites and the dealer, as a site reaches them."""

    place: int
    n_sites: int

    def ask(self, wanted: Wanted) -> Dealt:
        """Return what the dealer deals this site, once all sites have asked for the same."""

    def exchange(self, what: str, given: bytes, size: int | None) -> list[bytes]:
        """Send every other site the same bytes; return what each sent, in the order of sites."""

    def malformed(self, site: int | None) -> Exception:
        """Return the error that ends the run: a site, or one of them, sent what cannot be."""

    def note_opened(self, what: str, numbers: Ints) -> None:
        """Write down what was opened."""


class Sharing:
    """What a site does with its numbers; shares are bytes, whose sum over sites counts."""

    def __init__(self, others: Others) -> None:
        self.others = others

    def lookup(self, numbers: Ints, table: Bytes) -> Bytes:
        """Return the own shares of what a public table says of the sums of all sites' numbers.

        Args:
            numbers: of this site; sums count modulo the size of the table.
            table: the same for all items.
        """
        none = np.zeros((len(numbers), 0), np.int64)
        return self._in_pieces(numbers, Wanted(Rule.COMMON, none, table, len(numbers)))

    def lookup_rule(self, numbers: Ints, rule: Rule, items: Ints) -> Bytes:
        """Return the same for tables that are made by a rule, one for each item."""
        none = np.zeros(0, np.uint8)
        return self._in_pieces(numbers, Wanted(rule, items, none, len(items)))

    def _in_pieces(self, numbers: Ints, wanted: Wanted) -> Bytes:
        found = np.empty(len(numbers), np.uint8)
        ends = np.cumsum(wanted.sizes)
        begin = 0
        while begin < len(numbers):
            before = int(ends[begin - 1]) if begin else 0
            end = max(int(np.searchsorted(ends, before + MOST_ENTRIES, side="right")), begin + 1)
            piece = wanted._replace(items=wanted.items[begin:end], n=end - begin)
            found[begin:end] = self._lookup(numbers[begin:end], piece)
            begin = end
        return found

    def _lookup(self, numbers: Ints, wanted: Wanted) -> Bytes:
        sizes = wanted.sizes
        dealt = self.others.ask(wanted)
        own = (numbers + dealt.shift) % sizes
        total = own.copy()
        sent = self.others.exchange("lookup", own.astype("<u4").tobytes(), 4 * len(own))
        for site, each in enumerate(sent):
            there = np.frombuffer(each, "<u4").astype(np.int64)
            if np.any(there >= sizes):
                raise self.others.malformed(site)
            total += there
        return dealt.table[np.cumsum(sizes) - sizes + total % sizes]

    def times(self, x: Bytes, y: Bytes, z: Bytes) -> tuple[Bytes, Bytes]:
        """Return the shares of x·y and of x·z."""
        m = len(x)
        a, b, c, ab, ac = self.others.ask(Wanted.of(triples=m)).triples
        d, e, f = self._sum("product", np.stack([x - a, y - b, z - c]))
        first = ab + d * b + e * a
        second = ac + d * c + f * a
        if self.others.place == 0:
            first, second = first + d * e, second + d * f
        return first, second

    def _sum(self, what: str, shares: Bytes) -> Bytes:
        total = shares.copy()
        for each in self.others.exchange(what, shares.tobytes(), shares.size):
            total += np.frombuffer(each, np.uint8).reshape(shares.shape)
        return total

    def open(self, what: str, shares: Bytes) -> Ints:
        """Return what shares stand for; all sites learn it."""
        found = self._sum(f"open {what}", shares).astype(np.int64)
        self.others.note_opened(what, found.ravel())
        return found

    def open_sums(self, what: str, numbers: Ints) -> Ints:
        """Return the sums of all sites' numbers; all sites learn them, and no part of them."""
        dealt = self.others.ask(Wanted.of(masks=len(numbers)))
        total = numbers.astype(np.uint64) + dealt.masks
        sent = self.others.exchange(f"open {what}", total.astype("<u8").tobytes(), 8 * len(numbers))
        for each in sent:
            total = total + np.frombuffer(each, "<u8")
        found = total.astype(np.int64)
        self.others.note_opened(what, found)
        return found

    def best(self, worth: Sequence[Bytes]) -> tuple[Bytes, Bytes]:
        """Return, per list of shared numbers below 32, the shares of the largest and its place.

        Nothing is opened: pairs are compared, and the comparison, shared like them, picks.
        """
        width = max(map(len, worth))
        numbers = np.zeros((len(worth), width), np.uint8)
        places = np.zeros((len(worth), width), np.uint8)
        some = np.zeros((len(worth), width), np.bool_)
        for row, each in enumerate(worth):
            numbers[row, : len(each)] = each
            some[row, : len(each)] = True
        if self.others.place == 0:
            places[:] = np.arange(width)
        less = (np.arange(64) >= 32).astype(np.uint8)  # the numbers below 0, modulo 64
        while width > 1:
            if width % 2:
                column = np.zeros((len(worth), 1), np.uint8)
                numbers = np.concatenate([numbers, column], axis=1)
                places = np.concatenate([places, column], axis=1)
                some = np.concatenate([some, column > 0], axis=1)
            left, right, both = numbers[:, ::2], numbers[:, 1::2], some[:, 1::2]
            first, second = places[:, ::2].copy(), places[:, 1::2]
            left = left.copy()
            rise, move = (right - left)[both], (second - first)[both]
            picked = self.lookup(-rise.astype(np.int64), less)
            more, further = self.times(picked, rise, move)
            left[both] += more
            first[both] += further
            numbers, places, some = left, first, some[:, ::2]
            width = numbers.shape[1]
        return numbers[:, 0], places[:, 0]
