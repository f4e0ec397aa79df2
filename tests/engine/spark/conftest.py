"""One small cluster for all tests of Spark: two workers in processes of their own."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

MASTER = "local-cluster[2,1,1024]"


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """A session on a cluster of this machine; it is stopped in the end."""
    import pyspark
    from pyspark.sql import SparkSession

    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    work = tmp_path_factory.mktemp("spark")
    builder = (
        SparkSession.builder.master(MASTER)
        .appName("shoal tests")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "1g")
        .config("spark.local.dir", str(work))
        .config("spark.pyspark.python", sys.executable)
        .config("spark.sql.shuffle.partitions", "2")
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
