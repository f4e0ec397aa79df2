"""Sums of shares against plain sums, and what others see of them."""

import math
from collections import Counter
from itertools import product

import numpy as np
import pytest
from tests.helpers.sites_samples import in_threads

from shoal.sites import sharing as module
from shoal.sites.sharing import LEVELS, Rule, Sharing, Wanted, deal


@pytest.mark.parametrize("n_sites", [2, 3, 5])
def test_a_lookup_is_the_table_at_the_sum_of_all_numbers(n_sites):
    rng = np.random.default_rng(n_sites)
    table = rng.integers(0, 256, 37).astype(np.uint8)
    numbers = rng.integers(-100, 100, (n_sites, 200))

    def work(others):
        own = Sharing(others)
        return own.open("x", own.lookup(numbers[others.place], table))

    found, _ = in_threads(n_sites, work)
    plain = [int(table[sum(int(each[i]) for each in numbers) % 37]) for i in range(200)]
    assert all(each.tolist() == plain for each in found)


def test_lookups_in_pieces_are_those_at_once(monkeypatch):
    monkeypatch.setattr(module, "MOST_ENTRIES", 50)
    items = np.array([[3, 8], [1, 60], [5, 11], [0, 2]] * 5)
    numbers = np.arange(40).reshape(2, 20)

    def work(others):
        own = Sharing(others)
        return own.open("x", own.lookup_rule(numbers[others.place], Rule.ABOVE, items))

    found, hub = in_threads(2, work)
    sums = numbers.sum(axis=0) % items[:, 1]
    plain = [int(0 < s <= high) for s, high in zip(sums, items[:, 0], strict=True)]
    assert found[0].tolist() == plain
    assert sum(what == "lookup" for what, _ in hub.sent) > 5


def plain_level(left, right, item, sites_left, sites_right, at_two):
    """The level of what a cut is worth, by counting up: each is 12 % above the one before."""
    total, k, saved_left, saved_right, top = item[:5]
    for rows, sites in ((left, sites_left), (right, sites_right)):
        if 0 < rows < k or (at_two and rows and sites < 2):
            return 0
    saved = left * saved_left + right * saved_right
    if saved <= 0:
        return 0
    if not left or not right:
        return LEVELS
    bits = sum(-n / total * math.log2(n / total) for n in (left, right))
    worth, level = saved / math.sqrt(bits), 1
    while level < LEVELS - 1 and worth >= 2 * top / 1.12 ** (LEVELS - level):
        level += 1
    return level


@pytest.mark.parametrize("at_two", [False, True])
def test_the_table_of_a_cut_says_what_it_saves_and_nothing_where_it_is_not_allowed(at_two):
    n = 3
    item = [23, 5, 400_000, 100_000, 23 * 400_000, n]
    rule = Rule.CUT_AT_TWO_SITES if at_two else Rule.CUT
    wanted = Wanted(rule, np.array([item[: rule.numbers]]), np.zeros(0, np.uint8), 1)
    table = wanted.tables(np.zeros(1, np.int64))
    plain = [
        plain_level(left, 23 - left, item, on_left, on_right, at_two)
        for on_right in (range(n + 1) if at_two else [0])
        for on_left in (range(n + 1) if at_two else [0])
        for left in range(24)
    ]
    assert table.tolist() == plain
    assert max(plain) > min(filter(None, plain))


def test_the_best_of_shared_numbers_is_found_without_opening_any_other():
    rng = np.random.default_rng(4)
    lists = [rng.integers(0, 32, n) for n in (1, 2, 7, 30, 255)] + [np.zeros(9, int)]
    parts = [rng.integers(0, 256, (2, len(each))) for each in lists]

    def work(others):
        own = Sharing(others)
        if others.place < 2:
            mine = [part[others.place].astype(np.uint8) for part in parts]
        else:
            mine = [
                (each - part.sum(axis=0)).astype(np.uint8)
                for each, part in zip(lists, parts, strict=True)
            ]
        return own.open("best", np.stack(own.best(mine)))

    found, hub = in_threads(3, work)
    assert found[0][0].tolist() == [int(each.max()) for each in lists]
    assert found[0][1].tolist() == [int(each.argmax()) for each in lists]
    assert [what for what, _ in hub.opened] == ["best"]


def test_opened_sums_are_exact_beyond_all_shares():
    numbers = np.array([[0, 5, 123_456_789], [0, 7, 987_654_321], [3, 0, 1]])
    found, _ = in_threads(
        3, lambda others: Sharing(others).open_sums("sum", numbers[others.place]).tolist()
    )
    assert found == [[3, 12, 1_111_111_111]] * 3


def test_what_one_site_sends_looks_the_same_whatever_its_number(monkeypatch):
    # Every value of the random number is tried, once each: x + r then takes every value once.
    size = 11
    for number in range(size):
        seen = Counter((number + shift) % size for shift in range(size))
        assert set(seen.values()) == {1}
    drawn = [
        deal(Wanted(Rule.COMMON, np.zeros((4000, 0), np.int64), np.zeros(size, np.uint8), 4000), 2)
    ]
    for dealt in drawn[0]:
        counts = np.bincount(dealt.shift, minlength=size)
        expected = 4000 / size
        assert ((counts - expected) ** 2 / expected).sum() < 40  # 10 degrees; 1 in 60,000


def test_shares_of_all_but_one_site_say_nothing_about_the_table():
    # Two tables, dealt often: any one site's share has the same distribution for both.
    n = 30_000
    none = np.zeros((n, 0), np.int64)
    for value in (0, 255):
        wanted = Wanted(Rule.COMMON, none, np.array([value], np.uint8), n)
        for dealt in deal(wanted, 2):
            counts = np.bincount(dealt.table, minlength=256)
            expected = n / 256
            assert ((counts - expected) ** 2 / expected).sum() < 380


def test_dealt_triples_and_masks_fit_together():
    dealt = deal(Wanted.of(triples=50, masks=20), 4)
    a, b, c, ab, ac = np.sum([each.triples for each in dealt], axis=0, dtype=np.uint8)
    assert (a * b == ab).all()
    assert (a * c == ac).all()
    total = np.zeros(20, np.uint64)
    for each in dealt:
        total = total + each.masks
    assert not total.any()


@pytest.mark.parametrize(
    "bad",
    [
        b"",
        b"\x09" + bytes(16),
        Wanted.of(triples=3).pack() + b"x",
        Wanted(Rule.ABOVE, np.array([[1, 0]]), np.zeros(0, np.uint8), 1).pack(),
        Wanted(Rule.ABOVE, np.array([[1, 1 << 40]]), np.zeros(0, np.uint8), 1).pack(),
        Wanted(Rule.CUT, np.array([[-5, 1, 1, 1, 1]]), np.zeros(0, np.uint8), 1).pack(),
        Wanted(Rule.COMMON, np.zeros((3, 0), np.int64), np.zeros(0, np.uint8), 3).pack(),
    ],
)
def test_a_wish_that_cannot_be_dealt_is_refused(bad):
    with pytest.raises(ValueError):
        Wanted.unpack(bad)


def test_wishes_survive_the_wire():
    for rule, more in product(Rule, (0, 3)):
        items = np.arange(1, 1 + 4 * rule.numbers).reshape(4, rule.numbers)
        table = np.arange(5, dtype=np.uint8) if rule == Rule.COMMON else np.zeros(0, np.uint8)
        wanted = Wanted(rule, items, table, 4, more, more)
        back = Wanted.unpack(wanted.pack())
        assert back.rule == rule
        assert (back.items == items).all()
        assert back[3:] == wanted[3:]
