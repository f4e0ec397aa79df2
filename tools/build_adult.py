"""Builds the Adult file that ships inside the package from UCI's raw distribution.

Usage::

    python tools/build_adult.py RAW_FOLDER [OUTPUT]

RAW_FOLDER holds ``adult.data`` and ``adult.test`` as distributed by the UCI Machine Learning
Repository (https://archive.ics.uci.edu/dataset/2/adult). The script checks the number of rows and
of unknown values before it writes anything.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import polars as pl

from shoal.datasets import ADULT_COLUMNS

INTEGERS: dict[str, type[pl.DataType]] = {
    "age": pl.Int16,
    "fnlwgt": pl.Int32,
    "education_num": pl.Int16,
    "capital_gain": pl.Int32,
    "capital_loss": pl.Int32,
    "hours_per_week": pl.Int16,
}
EXPECTED_ROWS = {"adult.data": (32_561, 30_162), "adult.test": (16_281, 15_060)}
DEFAULT_OUTPUT = (
    Path(__file__).resolve().parent.parent / "src" / "shoal" / "datasets" / "adult.parquet"
)


def read_raw(path: Path) -> pl.DataFrame:
    """Read one raw file: no header, ``?`` for unknown, a comment line and dots in the test file."""
    lines = (line.strip() for line in path.read_text(encoding="ascii").splitlines())
    rows = [
        [cell.strip() for cell in line.split(",")]
        for line in lines
        if line and not line.startswith("|")
    ]
    text = pl.DataFrame(rows, schema=dict.fromkeys(ADULT_COLUMNS, pl.String), orient="row")
    known = text.with_columns(pl.when(pl.all() != "?").then(pl.all()))
    frame = known.with_columns(
        pl.col("salary").str.strip_chars_end("."),
        *(pl.col(name).cast(dtype) for name, dtype in INTEGERS.items()),
    )
    found = (frame.height, frame.drop_nulls().height)
    if found != EXPECTED_ROWS[path.name]:
        wanted = EXPECTED_ROWS[path.name]
        sys.exit(f"{path.name} has {found} (all, complete) rows where {wanted} are expected")
    return frame


def main() -> None:
    """Read the two raw files, check them and write the Parquet file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("raw", type=Path, help="folder with adult.data and adult.test")
    parser.add_argument("output", type=Path, nargs="?", default=DEFAULT_OUTPUT)
    options = parser.parse_args()

    frame = pl.concat([read_raw(options.raw / name) for name in EXPECTED_ROWS])
    frame.write_parquet(options.output, compression="zstd", compression_level=22, statistics=False)
    print(f"{options.output}: {frame.height} rows, {options.output.stat().st_size} bytes")


if __name__ == "__main__":
    main()
