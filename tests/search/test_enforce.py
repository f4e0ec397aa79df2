"""Enforcement merges what must be merged, at least cost, and nothing else."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from shoal.errors import PromiseError
from shoal.measure.base import CostModel
from shoal.measure.loss import NCP
from shoal.privacy.l_diversity import LDiversity
from shoal.privacy.t_closeness import TCloseness
from shoal.runtime.progress import no_progress
from shoal.search.enforce import enforce, violations
from shoal.search.scan import Scanner
from shoal.table.encode import encode
from shoal.table.partition import Partition
from shoal.table.schema import Column, Kind, Role, Schema


def encoded(ages, ill):
    schema = Schema(
        (
            Column(name="age", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC),
            Column(name="ill", role=Role.SENSITIVE),
        )
    )
    table = encode(pl.DataFrame({"age": ages, "ill": ill}), schema)
    return table, Scanner.build(table, CostModel.bind(NCP(), table))


def merged(table, scanner, labels, k, privacy=()):
    partition = enforce(
        table, Partition.from_labels(labels), scanner, k, tuple(privacy), no_progress
    )
    return {tuple(partition.rows_of(g).tolist()) for g in range(partition.n_groups)}


def test_a_partition_that_holds_is_returned_as_it_is():
    table, scanner = encoded([1, 2, 3, 4], ["a", "b", "a", "b"])
    given = Partition.from_labels([0, 0, 1, 1])
    privacy = (LDiversity(2, kind="distinct"),)
    assert enforce(table, given, scanner, 2, privacy, no_progress) is given


def test_a_small_group_joins_the_nearest_one():
    table, scanner = encoded([1, 2, 10, 11, 12, 30], ["a"] * 6)
    assert merged(table, scanner, [0, 0, 1, 1, 1, 2], 2) == {(0, 1), (2, 3, 4, 5)}


def test_a_violating_group_joins_the_nearest_one_whatever_that_one_is_like():
    table, scanner = encoded([1, 2, 4, 5, 20, 21], ["a", "a", "a", "b", "b", "c"])
    privacy = [LDiversity(2, kind="distinct")]
    assert merged(table, scanner, [0, 0, 1, 1, 2, 2], 2, privacy) == {(0, 1, 2, 3), (4, 5)}


def test_merging_goes_on_until_the_promise_holds():
    table, scanner = encoded([1, 2, 4, 5, 20, 21], ["a", "a", "a", "a", "b", "b"])
    privacy = [LDiversity(2, kind="distinct")]
    assert merged(table, scanner, [0, 0, 1, 1, 2, 2], 2, privacy) == {(0, 1, 2, 3, 4, 5)}


def test_a_tie_goes_to_the_first_group():
    table, scanner = encoded([0, 1, 5, 6, 10, 11], ["a", "b", "a", "a", "a", "b"])
    privacy = [LDiversity(2, kind="distinct")]
    assert merged(table, scanner, [0, 0, 1, 1, 2, 2], 2, privacy) == {(0, 1, 2, 3), (4, 5)}


def test_suppressed_rows_stay_suppressed_and_are_not_judged():
    table, scanner = encoded([1, 2, 3, 9], ["a", "a", "b", "b"])
    given = Partition.from_labels([0, 0, 0, -1])
    result = enforce(table, given, scanner, 2, (LDiversity(2, kind="distinct"),), no_progress)
    assert result.labels.tolist() == [0, 0, 0, -1]


def test_an_impossible_promise_is_an_error():
    table, scanner = encoded([1, 2, 3, 4], ["a"] * 4)
    with pytest.raises(PromiseError, match="even with all published rows in one group"):
        merged(table, scanner, [0, 0, 1, 1], 2, [LDiversity(2, kind="distinct")])


@pytest.mark.parametrize("privacy", [(), (LDiversity(1.6),), (TCloseness(0.25),)])
def test_random_partitions_hold_afterwards_and_only_whole_groups_were_merged(privacy):
    rng = np.random.default_rng(9)
    for _ in range(20):
        n = int(rng.integers(20, 60))
        table, scanner = encoded(rng.integers(0, 50, n), rng.choice(["a", "b", "c"], n))
        given = Partition.from_labels(rng.integers(0, n // 3, n))
        result = enforce(table, given, scanner, 4, privacy, no_progress)
        assert not violations(table, result, 4, privacy).any()
        for group in range(given.n_groups):
            assert len(set(result.labels[given.rows_of(group)].tolist())) == 1


def test_progress_is_told_while_groups_are_merged():
    told = []
    table, scanner = encoded([1, 2, 3, 4], ["a", "a", "b", "b"])
    given = Partition.from_labels([0, 0, 1, 1])
    enforce(
        table, given, scanner, 2, (LDiversity(2, kind="distinct"),),
        lambda done, total, what: told.append((done, total, what)),
    )  # fmt: skip
    assert told == [(0, 2, "enforcing privacy")]
