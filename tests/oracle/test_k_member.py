"""k-member equals a plain reading of Byun's Fig. 5, group for group."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from tests.helpers.brute import as_groups, make_run, row_cost, small_tables

from shoal.algorithm import k_member
from shoal.algorithm.k_member import KMember

MEASURES = ("ncp", "lm", "suppression", "mi", "pmi", "wmi", "tree", "whd-height")
BLOCK_ROWS = (1, 2, 7, k_member.BLOCK_ROWS)


def plain_k_member(table, run, rng, *, penalty=0, labels=None, fixed_centre=False, start="last"):
    """Fig. 5 line by line, with sets of rows; ties go to the lowest row, then group."""

    known = {}

    def loss(rows):
        key = tuple(sorted(rows))
        if key not in known:
            known[key] = row_cost(table, run.scanner, run.model, rows)
        return known[key]

    remaining = set(range(table.n_rows))
    result = []
    r = int(rng.integers(table.n_rows))  # line 4
    while len(remaining) >= run.k:  # line 5
        furthest = min(remaining, key=lambda x: (-loss([r, x]), x))  # line 6
        r = min(remaining) if fixed_centre else furthest
        remaining.remove(r)
        cluster = [r]
        while len(cluster) < run.k:  # line 10
            r = plain_find_best_record(
                remaining,
                cluster[:1] if fixed_centre else cluster,
                loss,
                penalty,
                labels,
                majority_class_label(cluster, labels) if penalty else None,
            )
            remaining.remove(r)
            cluster.append(r)
        if start == "seed":
            r = cluster[0]  # as the text has it
        result.append(cluster)
    for r in rng.permutation(sorted(remaining)) if remaining else ():  # line 16
        rises = [loss([*cluster, int(r)]) - loss(cluster) for cluster in result]
        result[rises.index(min(rises))].append(int(r))  # lines 19 and 20
    return {frozenset(cluster) for cluster in result}


def plain_find_best_record(remaining, cluster, loss, penalty, labels, majority):
    """Find_best_record of Fig. 5, with line 4 as section 3.4 has it."""

    def diff(x):
        extra = penalty if penalty and labels[x] != majority else 0
        return loss([*cluster, x]) - loss(cluster) + extra

    return min(remaining, key=lambda x: (diff(x), x))


def majority_class_label(cluster, labels):
    # a Counter keeps the order in which labels were first seen, and max takes the first
    votes = Counter(int(labels[x]) for x in cluster)
    return max(votes, key=votes.__getitem__)


def check_equal(monkeypatch, table, measure, k, seed, **options):
    run = make_run(table, measure, k, seed)
    twin = {"fixed_centre": options.get("variant") == "goldberger-tassa"}
    twin["start"] = options.get("start", "last")
    if "class_penalty" in options:
        twin["penalty"] = max(1, round(options["class_penalty"] * run.scanner.scale))
        twin["labels"] = table.sensitive[0].codes
    expected = plain_k_member(table, run, np.random.default_rng(seed), **twin)
    for rows in BLOCK_ROWS:
        monkeypatch.setattr(k_member, "BLOCK_ROWS", rows)
        found = KMember(**options).partition(table, make_run(table, measure, k, seed))
        assert as_groups(found) == expected, (measure, k, seed, rows)
        assert k <= found.sizes.min()
        assert found.sizes.max() < 2 * k  # Theorem 2


@pytest.mark.parametrize("measure", MEASURES)
def test_k_member_equals_the_figure_with_blocks_of_any_size(monkeypatch, measure):
    for seed, table in enumerate(small_tables(101, count=16, max_rows=26)):
        check_equal(monkeypatch, table, measure, 2 + seed % 4, seed)


@pytest.mark.parametrize("measure", ["ncp", "lm", "pmi"])
@pytest.mark.parametrize("class_penalty", [0.05, 1.0])
def test_the_classification_variant_equals_section_3_4(monkeypatch, measure, class_penalty):
    for seed, table in enumerate(small_tables(202, count=8, max_rows=24)):
        check_equal(monkeypatch, table, measure, 3, seed, class_penalty=class_penalty)


@pytest.mark.parametrize("measure", ["ncp", "suppression", "mi", "wmi"])
def test_the_variant_of_goldberger_and_tassa_takes_the_nearest_to_the_centre(monkeypatch, measure):
    for seed, table in enumerate(small_tables(303, count=10, max_rows=26)):
        check_equal(monkeypatch, table, measure, 2 + seed % 3, seed, variant="goldberger-tassa")


@pytest.mark.parametrize("measure", ["ncp", "lm", "pmi"])
def test_a_cluster_can_begin_furthest_from_the_first_record_of_the_last_one(monkeypatch, measure):
    for seed, table in enumerate(small_tables(505, count=12, max_rows=26)):
        check_equal(monkeypatch, table, measure, 2 + seed % 4, seed, start="seed")


def test_slices_of_the_work_do_not_show_in_the_result(monkeypatch):
    for seed, table in enumerate(small_tables(404, count=10)):
        whole = KMember().partition(table, make_run(table, "ncp", 3, seed))
        monkeypatch.setattr(k_member, "SLICE_ROWS", 1)
        sliced = KMember().partition(table, make_run(table, "ncp", 3, seed))
        monkeypatch.undo()
        assert sliced.labels.tolist() == whole.labels.tolist()
