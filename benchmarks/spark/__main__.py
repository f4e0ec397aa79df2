"""The same release on Spark and on one machine: what is lost, how long it takes, how much it needs.

Run: python -m benchmarks.spark --rows 45222 --block-rows 20000
     python -m benchmarks.spark --rows 50000000 --memory 2g --no-local
The first 45,222 rows are Adult; other numbers of rows are drawn from the synthetic census. Without
--block-rows the usual size of a block is used. Rows are written to Parquet in parts first, so that
no more than a part is ever in memory here.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import polars as pl

import shoal
from shoal.datasets import load_adult, make_census

ADULT = 45_222
PART = 1_000_000
QUASI = [
    *("age", "workclass", "education_num", "marital_status"),
    *("occupation", "race", "sex", "native_country"),
]


def write_rows(folder: Path, n_rows: int) -> list[str]:
    """Write so many rows as Parquet and return the names of their columns."""
    if n_rows == ADULT:
        table = load_adult()
        table.write_parquet(folder / "adult.parquet")
        return table.columns
    for number, start in enumerate(range(0, n_rows, PART)):
        part = make_census(min(PART, n_rows - start), seed=number)
        part.write_parquet(folder / f"part-{number:05d}.parquet")
    return part.columns


def on_spark(folder: Path, asked: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """Anonymize a folder on Spark, write the release, and return what was measured."""
    from pyspark.sql import SparkSession

    import shoal.spark

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = (
        SparkSession.builder.master(options.master)
        .config("spark.executor.memory", options.memory)
        .config("spark.ui.enabled", "false")
        .config("spark.pyspark.python", sys.executable)
        .config("spark.executorEnv.PYTHONPATH", os.pathsep.join(sys.path))
    )
    if "NUMBA_CACHE_DIR" in os.environ:
        builder = builder.config("spark.executorEnv.NUMBA_CACHE_DIR", os.environ["NUMBA_CACHE_DIR"])
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    try:
        frame = session.read.parquet(str(folder))
        began = time.perf_counter()
        release = shoal.spark.anonymize(frame, options.k, block_rows=options.block_rows, **asked)
        made = time.perf_counter()
        release.write(folder.parent / "safe")
        written = time.perf_counter()
    finally:
        session.stop()
    return {
        "ncp": release.scores["ncp"],
        "groups": release.n_groups,
        "seconds": made - began,
        "seconds to write and verify": written - made,
    }


def on_one_machine(folder: Path, asked: dict[str, Any], k: int) -> dict[str, Any]:
    """Anonymize the same rows in memory."""
    frame = pl.read_parquet(folder)
    began = time.perf_counter()
    release = shoal.anonymize(frame, k, **asked)
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"ncp": release.scores["ncp"], "seconds": seconds, "peak MB": peak}


def main() -> None:
    """Run both and print them as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=ADULT)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--block-rows", type=int)
    parser.add_argument("--master", default="local-cluster[2,1,1024]")
    parser.add_argument("--memory", default="1g")
    parser.add_argument("--no-local", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    found: dict[str, Any] = {"rows": options.rows, "k": options.k, "block rows": options.block_rows}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "rows"
        folder.mkdir()
        columns = write_rows(folder, options.rows)
        rest = [name for name in columns if name not in QUASI]
        asked = {"quasi_identifiers": QUASI, "drop": rest, "seed": 1, "rows_are_people": True}
        if not options.no_local:
            found["one machine"] = on_one_machine(folder, asked, options.k)
            print(json.dumps(found), flush=True)
        found["spark"] = on_spark(folder, asked, options)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
