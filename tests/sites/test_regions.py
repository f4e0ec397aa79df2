"""Cutting the rows of several sites into regions, against plain counting over all rows."""

import numpy as np
import pytest
from tests.helpers.sites_samples import SITES, TOWNS, in_threads, patients, set_up

from shoal.sites.agreement import read_agreement
from shoal.sites.regions import Search, cuts_of
from shoal.sites.sharing import Sharing

PROMISE = """
[[privacy]]
model = "l-diversity"
l = {l}
kind = "{kind}"
"""


def search(tmp_path, parts, **said):
    """Returns the agreement, all codes by site, what each site found, and what was opened."""
    named = dict(zip(SITES, parts, strict=False))
    agreement = read_agreement(set_up(tmp_path, named, **said))
    codes = [[c.codes(part[c.name]) for c in agreement.columns] for part in parts]
    secrets = [[agreement.sensitive_codes("illness", part["illness"])] for part in parts]

    def work(others):
        mine = others.place
        return Search(agreement, codes[mine], secrets[mine], Sharing(others)).run()

    found, hub = in_threads(len(parts), work)
    return agreement, codes, secrets, found, hub


def joined(found, secrets):
    """The sensitive values in each joint region, of all sites, by plain lists."""
    return [
        [
            (site, int(secrets[site][0][row]))
            for site in range(len(found))
            for row in found[site].joint[place].rows.tolist()
        ]
        for place in range(len(found[0].joint))
    ]


@pytest.mark.parametrize(
    ("l", "kind"), [(None, None), (2, "distinct"), (2, "frequency"), (2, "entropy")]
)
def test_every_joint_region_keeps_all_promises_or_is_empty(tmp_path, l, kind):
    parts = [patients(n, seed) for seed, n in enumerate((150, 90, 80))]
    more = "" if l is None else PROMISE.format(l=l, kind=kind)
    _, _, secrets, found, _ = search(tmp_path, parts, more=more)
    groups = joined(found, secrets)
    assert len(groups) > 5
    for group in groups:
        values = [value for _, value in group]
        assert not group or len(group) >= 5
        if group and kind == "distinct":
            assert len(set(values)) >= 2
        elif group and kind is not None:
            assert max(map(values.count, values)) * 2 <= len(values)


def test_every_row_of_every_site_is_in_one_region_that_covers_it(tmp_path):
    parts = [patients(n, seed) for seed, n in enumerate((60, 50, 40))]
    _, codes, _, found, _ = search(tmp_path, parts)
    for site, each in enumerate(found):
        rows = [row for region in each.joint for row in region.rows.tolist()]
        rows += [row for some in each.own for row in some.tolist()]
        assert sorted(rows) == list(range(len(codes[site][0])))
        for region in each.joint:
            for column, allowed in zip(codes[site], region.codes, strict=True):
                assert set(column[region.rows].tolist()) <= set(allowed)
    assert len({tuple(r.codes for r in each.joint) for each in found}) == 1


def test_no_cut_is_left_that_saves_anything_and_is_allowed(tmp_path):
    parts = [patients(n, seed) for seed, n in enumerate((60, 50, 40))]
    agreement, codes, _, found, _ = search(tmp_path, parts)
    for place, region in enumerate(found[0].joint):
        assert region.total == sum(len(each.joint[place].rows) for each in found)
        for c, (column, allowed) in enumerate(zip(agreement.columns, region.codes, strict=True)):
            rows = [
                int(codes[site][c][row])
                for site in range(3)
                for row in found[site].joint[place].rows.tolist()
            ]
            if len(allowed) < 2:
                continue
            for left, *saved in zip(*cuts_of(column, allowed, 24), strict=True):
                there = set(np.array(allowed)[left].tolist())
                n = sum(row in there for row in rows)
                sides = (n, len(rows) - n)
                fits = all(side == 0 or side >= 5 for side in sides)
                assert not fits or sum(a * int(b) for a, b in zip(sides, saved, strict=True)) <= 0


def test_nothing_below_k_is_opened_but_0(tmp_path):
    parts = [patients(n, seed) for seed, n in enumerate((150, 90, 40))]
    _, _, _, _, hub = search(tmp_path, parts)
    sizes = [n for what, numbers in hub.opened if what == "size" for n in numbers]
    assert {what for what, _ in hub.opened} == {"holds", "size", "cut"}
    assert len(sizes) > 20
    assert all(n == 0 or n >= 5 for n in sizes)
    # sizes are of regions that lie in each other: so are the differences that can be made
    total, cuts = sizes[0], sizes[1:]
    assert total == 280
    assert 0 in sizes
    assert max(cuts) <= total


def test_no_group_lies_at_one_site_where_that_is_asked(tmp_path):
    parts = [patients(n, seed) for seed, n in enumerate((150, 90, 40))]
    _, _, secrets, found, _ = search(tmp_path, parts, options="at_two_sites = true")
    groups = joined(found, secrets)
    assert len(groups) > 5
    assert all(len({site for site, _ in group}) >= 2 for group in groups)
    assert not any(each.own for each in found)


def test_regions_of_one_site_alone_are_left_to_it(tmp_path):
    young = patients(80, 1).with_columns(age=patients(80, 1)["age"] % 30)
    old = patients(80, 2).with_columns(age=60 + patients(80, 2)["age"] % 30)
    _, _, _, found, _ = search(tmp_path, [young, old])
    assert all(sum(map(len, each.own)) >= 70 for each in found)


def test_cuts_of_a_hierarchy_part_the_children_of_the_lowest_common_node(tmp_path):
    agreement = read_agreement(set_up(tmp_path, {n: patients(9) for n in SITES}))
    town = agreement.columns[1]
    labels = town.tree.leaf_labels
    cuts = cuts_of(town, tuple(range(5)), 24)
    parted = {frozenset(np.array(labels)[left].tolist()) for left in cuts.left}
    assert parted == {
        frozenset(name for name in TOWNS if TOWNS[name] == land) for land in TOWNS.values()
    }
    hills = tuple(sorted(labels.index(each) for each in ("Alm", "Berg")))
    assert len(cuts_of(town, hills, 24).left) == 1
