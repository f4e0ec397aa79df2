"""A partition has no empty groups: kernels read the first row of each."""

import numpy as np
import pytest

from shoal.table.partition import SLICE, SUPPRESSED, Partition


def labels(*values):
    return np.array(values, np.int32)


def test_a_group_without_rows_is_refused():
    with pytest.raises(ValueError, match="1 of 3 groups have no rows"):
        Partition(labels(0, 2, 2, SUPPRESSED), 3)
    with pytest.raises(ValueError, match="1 of 1 groups have no rows"):
        Partition(labels(SUPPRESSED), 1)
    with pytest.raises(ValueError, match="2 of 2 groups have no rows"):
        Partition(labels(SUPPRESSED, SUPPRESSED), 2)


@pytest.mark.parametrize("wrong", [-2, 2, 7])
def test_a_label_that_is_no_group_is_refused(wrong):
    with pytest.raises(ValueError, match="a label lies outside -1 … 1"):
        Partition(labels(0, 1, wrong), 2)


def test_all_rows_may_be_suppressed_and_there_may_be_none():
    assert Partition(labels(SUPPRESSED, SUPPRESSED), 0).n_suppressed == 2
    assert Partition(labels(), 0).n_rows == 0


def test_sizes_of_a_long_table_are_counted_part_by_part():
    rng = np.random.default_rng(3)
    long = rng.integers(-1, 50, 2 * SLICE + 77).astype(np.int32)
    assert np.array_equal(Partition(long, 50).sizes, np.bincount(long[long >= 0]))
