"""What is asked of Spark itself: that it is there, and of the right kind."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["check_frame", "column", "frame_of_rows", "load_functions", "open_session"]

INSTALL = "install it with: pip install 'shoal-anonymity[spark]'"


def load_functions() -> Any:
    """Return `pyspark.sql.functions`.

    Raises:
        OptionError: PySpark is not installed, or too old.
    """
    try:
        import pyspark
        from pyspark.sql import functions
    except ImportError:
        raise OptionError(f"Spark needs the package pyspark; {INSTALL}.") from None
    if int(pyspark.__version__.split(".")[0]) < 4:
        raise OptionError(f"Spark 4 or newer is needed, and this is {pyspark.__version__}.")
    return functions


def check_frame(frame: Any) -> Any:
    """Return a Spark table that we can work on.

    Raises:
        DataError: it is no table of Spark, or its session cannot do what we need.
    """
    load_functions()
    from pyspark.sql import DataFrame

    if not isinstance(frame, DataFrame):
        raise DataError(
            f"shoal.spark needs a DataFrame of Spark, but {type(frame).__name__} was given; use "
            "shoal.anonymize for tables in memory."
        )
    if not hasattr(frame, "_jdf"):
        raise DataError(
            "This session is connected through Spark Connect, which cannot send rules to workers; "
            "use a session of the cluster itself (spark-submit, or a notebook that runs on it)."
        )
    if frame.isStreaming:
        raise DataError("A stream has no end, so nothing can be promised; give a finished table.")
    return frame


def column(name: str) -> Any:
    """Return a column by its name, whatever is in that."""
    return load_functions().col("`" + name.replace("`", "``") + "`")


def frame_of_rows(frame: Any, names: Sequence[str], titles: Sequence[str]) -> Any:
    """Return these columns under names of our own."""
    pairs = zip(names, titles, strict=True)
    return frame.select(*(column(name).alias(title) for name, title in pairs))


def open_session(master: str | None = None) -> tuple[Any, bool]:
    """Return a session, and whether it was started here: a running one is used as it is.

    Args:
        master: where a new session works, as ``local[4]`` or ``yarn``; what spark-submit or the
            settings of Spark say unless given.

    Raises:
        OptionError: it cannot be started.
    """
    load_functions()
    from pyspark import SparkContext
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    if SparkContext._active_spark_context is not None:  # noqa: SLF001 - of any thread
        return SparkSession.getActiveSession() or SparkSession.builder.getOrCreate(), False
    builder = SparkSession.builder.appName("shoal")
    if master is not None:
        builder = builder.master(master)
        if master.startswith("local"):  # workers are on this machine: the same Python
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
            builder = builder.config("spark.ui.enabled", "false")
    try:
        session = builder.getOrCreate()
    except PySparkException as error:
        if "JAVA_GATEWAY_EXITED" not in str(error.getCondition()):
            raise
        raise OptionError(
            "Spark could not be started: it needs Java 17 or newer (JAVA_HOME says where), and a "
            "master that exists."
        ) from None
    # what Spark says about a cell that it stumbles on is not for a terminal
    session.sparkContext.setLogLevel("OFF")
    return session, True
