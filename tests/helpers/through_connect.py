"""A release through Spark Connect, in a process of its own: it has no other session.

Run: python -m tests.helpers.through_connect REMOTE; prints what was found as JSON.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession, functions

from shoal.engine.spark.session import guarded_batches, saying_why
from shoal.errors import DataError, OptionError
from tests.helpers.contract_samples import people
from tests.helpers.spark_samples import N, on_spark, rows_of

HIDDEN = "secret cell"


def main() -> None:
    builder = SparkSession.builder.remote(sys.argv[1])
    builder = builder.config("spark.sql.shuffle.partitions", "2")
    builder = builder.config("spark.sql.timestampType", "TIMESTAMP_NTZ")
    spark = builder.getOrCreate()
    found: dict[str, object] = {
        "session": type(spark).__module__,
        "errors": errors_of_workers(spark),
    }
    if "only errors" not in sys.argv:
        release = on_spark(spark, people(N), block_rows=60)
        with tempfile.TemporaryDirectory() as folder:
            found["written"] = refusal(lambda: release.write(str(Path(folder) / "out")))
            found["left"] = [path.name for path in Path(folder).iterdir()]
        found["rows"], found["scores"] = rows_of(release), dict(release.scores)
        found["holds"] = release.verification.holds
    sys.stdout.write(json.dumps(found))
    spark.stop()


def refusal(call) -> str:
    try:
        call()
    except OptionError as error:
        return str(error)
    return ""


def errors_of_workers(spark) -> list[str]:
    """What is said where a worker stumbles on a cell, and where it has a sentence of ours."""

    def stumble(batches):
        for batch in batches:
            raise ValueError(str(batch.column(0)[0]))
        yield

    def object_to(batches):
        yield from ()
        raise DataError("A sentence of ours.")

    rows, told = spark.range(4).select(functions.lit(HIDDEN).alias("x")), []
    for work in (stumble, object_to):
        try:
            with saying_why():
                rows.mapInArrow(guarded_batches(work), "x string").collect()
        except (RuntimeError, DataError) as error:
            told.append(str(error))
    return told


if __name__ == "__main__":
    main()
