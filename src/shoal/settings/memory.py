"""What a run from a file to a file will need, and what the machine has.

The numbers are measured (`benchmarks/scale/memory.py`, table in `docs/memory.md`): memory grows
with the rows and with the columns that are read, time likewise. They are for the eight
quasi-identifiers of a census on two cores; other tables and machines differ, so the estimate is
a size, not a promise.
"""

from __future__ import annotations

from dataclasses import dataclass

from shoal.runtime.memory import available_bytes, human_bytes, human_seconds

__all__ = ["Need", "available_bytes", "estimate_need", "human_bytes", "human_seconds"]

# Bytes. The program itself, compiled kernels included.
_START = 680_000_000
# Per row: the order of the rows, their groups, and the sums that scores are made of.
_PER_ROW = 80
# Per row and quasi-identifier: its codes, once more in the order of the search, the columns that
# kernels read, and the published cell.
_PER_QUASI_IDENTIFIER = 9
# Per row and column that is kept as it is: as it was read, and in the order of the release.
_PER_KEPT_COLUMN = 16

# Seconds per row and column to read, to write, and for everything between but the search.
_READ = {"csv": 1.6e-7, "tsv": 1.6e-7, "parquet": 0.5e-7}
_WRITE = {"csv": 0.6e-7, "tsv": 0.6e-7, "parquet": 1.5e-7}
_OTHER_FORMAT = 5e-7
_BETWEEN = 3.5e-7
_START_SECONDS = 3.0


@dataclass(frozen=True)
class Need:
    """What a run needs.

    Attributes:
        memory: bytes at the peak.
        seconds: from file to file without the search for groups, whose time depends on the
            algorithm.
    """

    memory: int
    seconds: float


def estimate_need(
    n_rows: int,
    *,
    quasi_identifiers: int,
    kept: int,
    source: str = "csv",
    target: str = "csv",
) -> Need:
    """Return what a run of this size will need.

    Args:
        n_rows: rows of the table.
        quasi_identifiers: columns that are generalised.
        kept: other columns that are published.
        source: format that is read.
        target: format that is written.
    """
    per_row = _PER_ROW + quasi_identifiers * _PER_QUASI_IDENTIFIER + kept * _PER_KEPT_COLUMN
    columns = quasi_identifiers + kept
    per_cell = (
        _READ.get(source, _OTHER_FORMAT) + _WRITE.get(target, _OTHER_FORMAT)
    ) * columns + _BETWEEN * quasi_identifiers
    return Need(_START + n_rows * per_row, _START_SECONDS + n_rows * per_cell)
