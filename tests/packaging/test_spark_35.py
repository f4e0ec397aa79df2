"""Spark 3.5 is refused in one sentence, before any work: tried with it.

The environment of its own is `.venv-spark35`, which is made once (`make clean` removes it).
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".venv-spark35"
LOCKS = [ROOT / "requirements" / f"{name}.txt" for name in ("user", "spark35")]
REFUSED = "Spark 4 or newer is needed, and this is 3.5."
pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def python():
    """The Python of an environment with Spark 3.5 and this package."""
    found = FOLDER / "bin" / "python"
    done = FOLDER / "done"
    if not done.exists() or any(done.stat().st_mtime < lock.stat().st_mtime for lock in LOCKS):
        shutil.rmtree(FOLDER, ignore_errors=True)
        command = [sys.executable, ROOT / "tools" / "install.py", FOLDER, *LOCKS]
        subprocess.run(command, check=True, timeout=800)
        done.touch()
    return found


def run(python, *words, **environment):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_"))}
    return subprocess.run(
        [python, *words], env={**env, **environment}, capture_output=True, text=True, check=False
    )


def test_a_command_is_refused_before_spark_is_started(python, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("age,ill\n30,a\n30,b\n")
    words = ["-m", "shoal", "anonymize", tmp_path / "in", "-o", tmp_path / "out", "--k", "2"]
    words += ["--qi", "age", "--sensitive", "ill", "--engine", "spark", "--master", "local[1]"]
    # there is no Java: whoever tried to start Spark would say so
    found = run(python, *words, JAVA_HOME=str(tmp_path / "nothing"), PATH=str(tmp_path))
    assert found.returncode == 2
    (line,) = found.stderr.splitlines()
    assert line.startswith(f"Error: {REFUSED}")
    assert not (tmp_path / "out").exists()


TABLE = """
import shoal.spark
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
table = spark.range(4).withColumnRenamed("id", "age")
try:
    shoal.spark.anonymize(table, k=2, quasi_identifiers=["age"])
except shoal.OptionError as error:
    print(error)
print(spark.version, list(spark.sparkContext.statusTracker().getJobIdsForGroup(None)))
spark.stop()
"""


def test_a_table_is_refused_before_a_job_of_spark_runs(python):
    found = run(python, "-c", TABLE, SPARK_LOCAL_IP="127.0.0.1")
    assert found.returncode == 0, found.stderr[-2000:]
    refused, version = found.stdout.splitlines()
    assert refused.startswith(REFUSED)
    assert version.startswith("3.5.")
    assert version.endswith(" []")
