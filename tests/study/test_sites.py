"""Clustering over sites: the plain algorithm on the union, and nothing but bounds exchanged."""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import DataError, OptionError, PromiseError
from shoal.measure.base import CostModel
from shoal.measure.scores import create_measure
from shoal.study import sites
from shoal.study.sites import Site, anonymize_sites, cost_book, together

TREE = {"north": {"n1": ["a", "b"], "n2": ["c"]}, "south": {"s1": ["d", "e"], "s2": ["f", "g"]}}
ROLES = {
    "quasi_identifiers": ["town", "age", "sex"],
    "hierarchies": {"town": TREE},
    "kinds": {"sex": "flat"},
}


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(11)
    n = 90
    return pl.DataFrame(
        {
            "town": rng.choice(list("abcdefg"), n),
            "age": rng.integers(20, 70, n),
            "sex": rng.choice(["f", "m", "x"], n),
        }
    )


def encoded(frame):
    table, _, _ = sites._code_book(
        [frame], list(frame.columns), ROLES["hierarchies"], ROLES["kinds"]
    )
    return table


@pytest.mark.parametrize("measure", ["lm", "ncp", "whd", "suppression"])
def test_costs_by_bounds_are_those_of_the_measure(people, measure):
    table = encoded(people)
    chosen = create_measure(measure)
    book = cost_book(table, CostModel.bind(chosen, table))
    codes = np.column_stack([a.codes.astype(np.int64) for a in table.attributes])
    rng = np.random.default_rng(2)
    for _ in range(20):
        rows = rng.choice(len(codes), size=rng.integers(1, 6), replace=False)
        part = codes[rows]
        cost = book.cost(part.min(axis=0)[None], part.max(axis=0)[None])[0]
        labels = np.full(len(codes), -1)
        labels[rows] = 0
        few = people[rows.tolist()]
        # under the trees and ranges of the whole table, so the other rows stay, each for itself
        alone = np.arange(len(codes)) + 1
        alone[rows] = 0
        found = shoal.score(people, alone, measures=[measure], **ROLES)[measure]
        per_row = found if measure == "whd" else found * few.width * people.height
        assert cost * len(rows) == pytest.approx(per_row, abs=1e-9)


def plain_pass(codes, label, book, order):
    """Steps 2 to 8 of Algorithm 1 on the union, with sets of rows, in a given order of rows."""

    def cost(rows):
        part = codes[sorted(rows)]
        return len(rows) * book.cost(part.min(axis=0)[None], part.max(axis=0)[None])[0]

    moved = 0
    for i in order:
        j = label[i]
        clusters = {g: set(np.flatnonzero(label == g).tolist()) for g in set(label.tolist())}
        rest = clusters[j] - {i}
        options = [(cost(c | {i}) - cost(c), g) for g, c in sorted(clusters.items()) if g != j]
        rise, h = min(options, key=lambda option: (round(option[0], 9), option[1]))
        gain = cost(clusters[j]) - (cost(rest) if rest else 0.0)
        if not rest or round(rise - gain, 9) < 0:
            label[i] = h
            moved += 1
    return moved


@pytest.mark.parametrize("n_sites", [1, 2, 3])
def test_a_round_of_all_sites_is_a_pass_over_the_union(people, n_sites):
    table = encoded(people)
    book = cost_book(table, CostModel.bind(create_measure("lm"), table))
    codes = np.column_stack([a.codes.astype(np.int64) for a in table.attributes])
    parts = np.array_split(np.arange(len(codes)), n_sites)
    some = [Site(codes[rows], book, [5, n]) for n, rows in enumerate(parts)]
    told = [site.do_start(15) for site in some]
    label = np.concatenate([site.label for site in some])
    moved_at_all = 0
    for _ in range(3):
        moved = 0
        for s, site in enumerate(some):
            more, told[s] = site.do_pass(together([b for o, b in enumerate(told) if o != s]))
            moved += more
        assert moved == plain_pass(codes, label, book, range(len(codes)))
        assert np.concatenate([site.label for site in some]).tolist() == label.tolist()
        moved_at_all += moved
    assert moved_at_all > 20


def test_a_view_over_sites_is_k_anonymous_and_loses_about_what_one_table_does(people):
    found = {n: over_sites(people, n, 5) for n in (1, 3)}
    for release in found.values():
        assert release.verification.holds
        sizes = np.bincount(release.groups)
        assert sizes.min() >= 5
        assert release.frame.height == people.height
        counts = release.frame.group_by(release.frame.columns).len().get_column("len")
        assert counts.min() >= 5
        again = shoal.score(people, release.groups, measures=["lm"], **ROLES)["lm"]
        assert release.loss == pytest.approx(again)
    central = shoal.anonymize(people, 5, **ROLES, algorithm="sequential", measure="lm", seed=0)
    for release in found.values():
        assert release.loss < 1.25 * central.scores["lm"]


def over_sites(people, n_sites, k):
    edges = np.linspace(0, people.height, n_sites + 1).astype(int)
    parts = [people[a:b] for a, b in pairwise(edges)]
    return anonymize_sites(parts, k, **ROLES, seed=3)


def test_messages_hold_numbers_per_cluster_and_never_a_line_per_row(people):
    release = over_sites(people, 2, 8)
    clusters = dict.fromkeys((0, 1), people.height // 4)  # half of k records in each at the start
    for message in release.messages:
        assert message.what in {"start", "pass", "split", "unite"}
        if message.what == "split" and message.to_site:
            ((more,),) = message.shapes
            clusters[message.site] += more
            continue
        for shape in message.shapes:
            # a number, a number per cluster, or bounds per cluster and column
            assert shape in {(), (clusters[message.site],), (clusters[message.site], 3)}
    assert any(message.what == "pass" for message in release.messages)
    assert max(clusters.values()) < people.height


def test_a_split_parts_the_site_s_own_records_in_halves_and_tells_numbers_and_bounds(people):
    table = encoded(people)
    book = cost_book(table, CostModel.bind(create_measure("lm"), table))
    codes = np.column_stack([a.codes.astype(np.int64) for a in table.attributes])
    site = Site(codes, book, [1, 0])
    before = site.do_start(6)
    after = site.do_split(np.array([2, 4]))
    assert after.low.shape == after.high.shape == (8, 3)
    for old, new in ((2, 6), (4, 7)):
        assert after.sizes[old] + after.sizes[new] == before.sizes[old]
        assert abs(after.sizes[old] - after.sizes[new]) <= 1
    untouched = [0, 1, 3, 5]
    assert after.sizes[untouched].tolist() == before.sizes[untouched].tolist()


def test_the_same_seed_gives_the_same_groups(people):
    assert over_sites(people, 2, 5).groups.tolist() == over_sites(people, 2, 5).groups.tolist()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"measure": "pmi"}, OptionError, "'pmi' cannot be minimised over sites"),
        ({"measure": "dm"}, OptionError, "'dm' cannot be minimised over sites"),
        ({"k": 91}, PromiseError, "All sites together have 90 rows, fewer than k = 91"),
        (
            {"kinds": {"sex": "set"}},
            DataError,
            "Column 'sex' has missing values or",
        ),
    ],
)
def test_what_cannot_be_done_over_sites_is_said_in_one_sentence(people, change, error, message):
    given = {"k": 5, **ROLES, **change}
    with pytest.raises(error, match=message):
        anonymize_sites([people[:40], people[40:]], given.pop("k"), **given)


def test_sites_with_different_columns_or_none_at_all_are_refused(people):
    other = people.with_columns(pl.col("age").cast(pl.String))
    with pytest.raises(DataError, match="columns of different types"):
        anonymize_sites([people, other], 5, **ROLES)
    with pytest.raises(OptionError, match="There is no site"):
        anonymize_sites([], 5, **ROLES)
