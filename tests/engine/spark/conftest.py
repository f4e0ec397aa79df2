"""One small cluster for all tests of Spark: two workers in processes of their own."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from tests.helpers.contract_samples import people
from tests.helpers.spark_samples import QUICK_JAVA, N, on_spark

MASTER = "local-cluster[2,1,1024]"


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """A session on a cluster of this machine; it is stopped in the end."""
    import pyspark
    from pyspark.sql import SparkSession

    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    work = tmp_path_factory.mktemp("spark")
    builder = (
        SparkSession.builder.master(MASTER)
        .appName("shoal tests")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.extraJavaOptions", QUICK_JAVA)
        .config("spark.executor.extraJavaOptions", QUICK_JAVA)
        .config("spark.local.dir", str(work))
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.codegen.wholeStage", "false")  # tables are too small to compile for
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.sql.timestampType", "TIMESTAMP_NTZ")  # as in other frames of the tests
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.warehouse.dir", str(work / "warehouse"))
        .config("spark.executorEnv.PYTHONPATH", os.pathsep.join(sys.path))
    )
    for name in ("NUMBA_BOUNDSCHECK", "NUMBA_CACHE_DIR"):  # compiled code is where ours is
        if name in os.environ:
            builder = builder.config(f"spark.executorEnv.{name}", os.environ[name])
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    logs = Path(pyspark.__file__).parent / "work" / session.sparkContext.applicationId
    yield session
    session.stop()
    shutil.rmtree(logs, ignore_errors=True)  # what executors have said


@pytest.fixture(scope="session")
def plain(spark):
    """A release of a small table in several blocks."""
    return on_spark(spark, people(N), block_rows=60)


@pytest.fixture(scope="session")
def again(spark):
    """The same of the same rows, in other partitions and in another order."""
    shuffled = people(N).sample(fraction=1.0, shuffle=True, seed=2)
    return on_spark(spark, shuffled, partitions=5, block_rows=60)
