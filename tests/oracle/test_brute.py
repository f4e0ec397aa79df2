"""The brute costs and the integer columns of the kernels say the same."""

import numpy as np
import pytest
from tests.helpers.brute import MEASURES, make_run, row_cost, small_tables

from shoal.search.enforce import GroupState
from shoal.table.partition import Partition


@pytest.mark.parametrize("measure", [*MEASURES, "whd", "whd-height", "suppression", "wmi"])
def test_kernels_charge_a_cluster_what_its_closure_costs_by_definition(measure):
    rng = np.random.default_rng(5)
    for table in small_tables(11, count=30):
        run = make_run(table, measure, 2, 0)
        partition = Partition.from_labels(rng.integers(0, 6, table.n_rows))
        state = GroupState(run.scanner, partition)
        expected = [
            row_cost(table, run.scanner, run.model, partition.rows_of(g).tolist())
            for g in range(partition.n_groups)
        ]
        assert state.costs.tolist() == expected
