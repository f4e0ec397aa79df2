"""What a run from a file to a file will need, and what the machine has.

The numbers are measured (`benchmarks/scale/memory.py`, table in `docs/memory.md`): memory grows
with the rows and with the columns that are read, time likewise. They are for the eight
quasi-identifiers of a census on two cores; other tables and machines differ, so the estimate is
a size, not a promise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shoal.errors import DataError
from shoal.io.formats import detect_format
from shoal.io.location import is_database
from shoal.io.rows import guess_rows
from shoal.io.several import input_files
from shoal.runtime.memory import available_bytes, human_bytes, human_seconds

if TYPE_CHECKING:
    from shoal.settings.files import Input

__all__ = [
    "Need",
    "available_bytes",
    "check_memory",
    "estimate_need",
    "format_name",
    "human_bytes",
    "human_seconds",
    "rows_of",
]

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


def rows_of(source: Input) -> int | None:
    """Return about how many rows the files of an input have; None if nobody knows."""
    if source.path is None or is_database(source.path):
        return None
    counts = [guess_rows(each, source.format) for each in input_files(source.sources)]
    return None if None in counts else sum(filter(None, counts))


def format_name(path: str, given: str | None) -> str:
    """Return the format of a table by its name, or by what is said about it."""
    return "database" if is_database(path) else detect_format(input_files(path)[0], given).name


def check_memory(need: Need) -> None:
    """Refuse a run that the machine has no memory for.

    Raises:
        DataError: it needs more than is available.
    """
    available = available_bytes()
    if available is not None and need.memory > available:
        raise DataError(
            f"This run needs about {human_bytes(need.memory)} of memory and "
            f"{human_bytes(available)} is available: drop columns that nobody needs (--drop), "
            "give fewer rows, use a larger machine, or try all the same with --no-memory-check."
        )
