"""One run in a process of its own, on Spark or on one machine; prints what was measured as JSON.

Run: python -m benchmarks.spark.one spark ROWS_FOLDER '{"k": 10}'
"""

from __future__ import annotations

import itertools
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.common import peak_mebibytes
from benchmarks.spark.watch import EXECUTOR, processes, told_by_events, watching
from shoal.datasets import ADULT_QUASI_IDENTIFIERS

if TYPE_CHECKING:
    from collections.abc import Callable

CLUSTER: dict[str, Any] = {
    "master": "local-cluster[2,1,2048]",
    "memory": "1g",
    "partitions": 8,
}
K = 10
SEED = 1
ASKED: dict[str, Any] = {
    "quasi_identifiers": list(ADULT_QUASI_IDENTIFIERS),
    "sensitive": ["salary"],
    "rows_are_people": True,
    "seed": SEED,
}


def open_session(place: Path, *, master: str, memory: str, partitions: int) -> Any:
    """Return a session on a cluster of processes of this machine."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    for name in ("events", "disks"):
        (place / name).mkdir()
    builder = (
        SparkSession.builder.master(master)
        .config("spark.executor.memory", memory)
        .config("spark.driver.memory", "1g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.local.dir", str(place / "disks"))
        .config("spark.eventLog.enabled", "true")
        .config("spark.eventLog.compress", "false")
        .config("spark.eventLog.rolling.enabled", "false")
        .config("spark.eventLog.dir", (place / "events").as_uri())
        .config("spark.sql.shuffle.partitions", str(partitions))
        .config("spark.executorEnv.PYTHONPATH", os.pathsep.join(sys.path))
    )
    if "NUMBA_CACHE_DIR" in os.environ:
        builder = builder.config("spark.executorEnv.NUMBA_CACHE_DIR", os.environ["NUMBA_CACHE_DIR"])
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def on_spark(rows: Path, asked: dict[str, Any], **cluster: Any) -> dict[str, Any]:
    """Anonymize a folder on Spark, write the release, and return what was measured."""
    import pyspark

    import shoal.spark

    stages: list[tuple[float, float, str]] = []

    def progress(done: int, total: int, what: str) -> None:
        del done, total
        if not stages or stages[-1][2] != what:
            peaks.look()
            stages.append((time.perf_counter(), sum(peaks.cpu.values()), what))

    with tempfile.TemporaryDirectory() as temporary, watching(Path(temporary) / "disks") as peaks:
        place = Path(temporary)
        session = open_session(place, **{**CLUSTER, **cluster})
        logs = Path(pyspark.__file__).parent / "work" / session.sparkContext.applicationId
        try:
            peaks.look()
            before = sum(peaks.cpu.values())
            began = time.perf_counter()
            frame = session.read.parquet(str(rows))
            release = shoal.spark.anonymize(frame, **{"k": K, **ASKED, **asked}, progress=progress)
            made = time.perf_counter()
            peaks.look()
            cpu = sum(peaks.cpu.values()) - before
            written = release.write(place / "safe")
            ended = time.perf_counter()
            peaks.look()
            cpu_all = sum(peaks.cpu.values()) - before
        finally:
            session.stop()
            shutil.rmtree(logs, ignore_errors=True)
        stages.append((made, before + cpu, "writing"))
        stages.append((ended, before + cpu_all, ""))
        return {
            "loss": release.scores["ncp"],
            "groups": release.n_groups,
            "rows": release.n_rows,
            "smallest": written.verification.smallest_group,
            "verified": written.verification.read_from,
            "seconds": made - began,
            "seconds with writing": ended - began,
            "cpu": cpu,
            "cpu with writing": cpu_all,
            "stages": [
                [what, after[0] - at, after[1] - used]
                for (at, used, what), after in itertools.pairwise(stages)
            ],
            "peaks": peaks.to_dict(),
            "events": told_by_events(place / "events"),
            "load": os.getloadavg()[0],
        }


def on_one_machine(rows: Path, asked: dict[str, Any]) -> dict[str, Any]:
    """Anonymize the same rows in memory, and write the release to a file."""
    import polars as pl

    import shoal

    with tempfile.TemporaryDirectory() as temporary:
        used, began = _cpu(), time.perf_counter()
        frame = pl.read_parquet(rows)
        release = shoal.anonymize(frame, **{"k": K, **ASKED, **asked})
        cpu, made = _cpu() - used, time.perf_counter()
        written = release.write(Path(temporary) / "safe.parquet")
        return {
            "loss": release.scores["ncp"],
            "groups": release.n_groups,
            "rows": release.n_rows,
            "smallest": written.verification.smallest_group,
            "seconds": made - began,
            "seconds with writing": time.perf_counter() - began,
            "cpu": cpu,
            "cpu with writing": _cpu() - used,
            "peak": round(peak_mebibytes()),
            "load": os.getloadavg()[0],
        }


def told_rows(release: Any) -> tuple[int, str]:
    """Return how many rows are published, and a number that follows from them in any order."""
    from pyspark.sql import functions

    frame = release.frame
    cells = [functions.col(f"`{name}`") for name in frame.columns]
    own = functions.xxhash64(*cells).cast("decimal(38,0)")
    rows, total = frame.agg(functions.count(functions.lit(1)), functions.sum(own)).head()
    return rows, str(total)


def same_release(rows: Path, asked: dict[str, Any], **cluster: Any) -> dict[str, Any]:
    """Make a release of rows in other partitions and in another order, with the same seed."""
    import shoal.spark

    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as temporary:
        session = open_session(Path(temporary), **{**CLUSTER, **cluster})
        frame = session.read.parquet(str(rows))
        from pyspark.sql import functions

        given = {
            "as it lies": frame,
            "3 partitions": frame.repartition(3),
            "7 partitions, shuffled": frame.repartition(7).orderBy(functions.rand(5)),
            "another seed": frame,
        }
        for name, table in given.items():
            more = {"seed": 2} if name == "another seed" else {}
            if "shuffled" in name:  # a table must stay the same while it is read
                table.write.parquet(str(Path(temporary) / "shuffled"))
                table = session.read.parquet(str(Path(temporary) / "shuffled"))  # noqa: PLW2901
            release = shoal.spark.anonymize(table, **{"k": K, **ASKED, **asked, **more})
            found[name] = [*told_rows(release), release.scores["ncp"]]
            release.forget()
        session.stop()
    return found


def through(rows: Path, asked: dict[str, Any], *, remote: bool) -> dict[str, Any]:
    """Anonymize a folder on two cores, by a session of this process or through Spark Connect."""
    from pyspark.sql import SparkSession

    import shoal.spark

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
    builder = SparkSession.builder
    builder = builder.remote("local[2]") if remote else builder.master("local[2]")
    with tempfile.TemporaryDirectory() as temporary, watching(Path(temporary)) as peaks:
        started = sum(peaks.cpu.values())
        session = (
            builder.config("spark.driver.memory", "1g")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.local.dir", temporary)
            .config("spark.sql.shuffle.partitions", "8")
            .getOrCreate()
        )
        frame = session.read.parquet(str(rows))
        frame.count()  # Java has begun
        peaks.look()
        before, began = sum(peaks.cpu.values()), time.perf_counter()
        release = shoal.spark.anonymize(frame, **{"k": K, **ASKED, **asked})
        published = release.frame.count()
        seconds = time.perf_counter() - began
        peaks.look()
        cpu = sum(peaks.cpu.values())
        found = {
            "session": type(session).__module__,
            "loss": release.scores["ncp"],
            "groups": release.n_groups,
            "rows": published,
            "seconds": seconds,
            "cpu": cpu - before,
            "cpu of the start": before - started,
            "peaks": peaks.to_dict(),
        }
        session.stop()
    return found


def classic(rows: Path, asked: dict[str, Any]) -> dict[str, Any]:
    """Run with a session of this process."""
    return through(rows, asked, remote=False)


def connect(rows: Path, asked: dict[str, Any]) -> dict[str, Any]:
    """Run through Spark Connect."""
    return through(rows, asked, remote=True)


def killing(moment: str, killed: list[int]) -> Callable[[int, int, str], None]:
    """Return what to call when a stage begins: at this one an executor is killed, once."""

    def look(done: int, total: int, what: str) -> None:
        del done, total
        if what == moment and not killed:
            victims = [pid for pid, each in processes().items() if EXECUTOR in each.said]
            killed.append(victims[0])
            # a moment later, when its tasks have begun
            threading.Timer(1.0, os.kill, (victims[0], signal.SIGKILL)).start()

    return look


def with_faults(rows: Path, asked: dict[str, Any], **cluster: Any) -> dict[str, Any]:
    """Make a release while an executor is killed, at one moment after the other."""
    import shoal.spark

    found: dict[str, Any] = {}
    moments = asked.pop("moments")
    with tempfile.TemporaryDirectory() as temporary:
        session = open_session(Path(temporary), **{**CLUSTER, **cluster})
        frame = session.read.parquet(str(rows))
        for moment in ("none", *moments):
            killed: list[int] = []
            began = time.perf_counter()
            release = shoal.spark.anonymize(
                frame, **{"k": K, **ASKED, **asked}, progress=killing(moment, killed)
            )
            found[moment] = {
                "told": told_rows(release),
                "killed": len(killed),
                "seconds": time.perf_counter() - began,
            }
            release.forget()
        session.stop()
        found["events"] = told_by_events(Path(temporary) / "events")
    return found


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Run once."""
    warnings.simplefilter("ignore")
    where, rows, given = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])
    ways: dict[str, Callable[..., dict[str, Any]]] = {
        "spark": on_spark,
        "same": same_release,
        "faults": with_faults,
        "classic": classic,
        "connect": connect,
    }
    how = ways.get(where)
    if how is None:
        found = on_one_machine(rows, given["asked"])
    else:
        found = how(rows, given["asked"], **given["cluster"])
    print(json.dumps(found))


if __name__ == "__main__":
    main()
