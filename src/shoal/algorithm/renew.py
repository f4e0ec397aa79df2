"""A few neighbouring groups made anew, where that ends cheaper.

Refinement ends wherever it began. So the rows of some neighbouring groups are clustered as if they
had never been, and kept so if that costs less: a search of large neighbourhoods (Shaw 1998).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.algorithm.agglomerative import Agglomerative
from shoal.algorithm.mondrian import Mondrian
from shoal.search.enforce import GroupState
from shoal.search.lattice import cell_partition
from shoal.search.refine import Effort, refine_partition

if TYPE_CHECKING:
    from shoal.search.run import Run
    from shoal.table.encode import EncodedTable
    from shoal.table.partition import Partition


SETTLE = Effort(sweeps=3, min_gain=0.003)
JITTER = 0.2
AGGLOMERATIVE_ROWS = 3_000


def can_renew(table: EncodedTable, run: Run) -> bool:
    """Return whether groups can be made anew: without promises, one row a person, plain costs."""
    plain = run.scanner.n_classes == 1 and run.scanner.points is None
    return plain and not run.privacy and table.person is None


def renewed(table: EncodedTable, partition: Partition, run: Run, number: int) -> Partition:
    """Cluster the rows of these groups anew; return what costs less, that or what was given.

    Round ``number`` decides how: by agglomerative clustering, which wins most often where there
    are not too many rows for it, by cells of a lattice or by Mondrian's cheapest cuts.
    """
    if number % 2 == 0 and table.n_rows <= AGGLOMERATIVE_ROWS:
        start = Agglomerative().partition(table, run)
    elif number % 4 < 2:
        start = cell_partition(table, run, jitter=JITTER)
    else:
        start = Mondrian(cuts="cheapest").partition(table, run)
    found = refine_partition(
        table, start, run.scanner, run.k, run.privacy, SETTLE, run.rng, run.progress
    )
    before, after = (int(GroupState(run.scanner, p).costs.sum()) for p in (partition, found))
    return found if after < before else partition
