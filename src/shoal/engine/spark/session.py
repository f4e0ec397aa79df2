"""What is asked of Spark itself: that it is there, and of the right kind."""

from __future__ import annotations

import contextlib
import inspect
import os
import sys
from typing import TYPE_CHECKING, Any

from shoal.algorithm.base import create_algorithm
from shoal.algorithm.incognito import Incognito
from shoal.engine.spark.plan import BEGIN, END, packed_models, worker_error
from shoal.errors import DataError, OptionError, PromiseError, ShoalError
from shoal.measure.base import CostMeasure
from shoal.measure.scores import create_cost_measure, create_measure
from shoal.measure.sse import SquaredError
from shoal.messages import Message
from shoal.privacy.delta_presence import DeltaPresence
from shoal.privacy.k_map import KMap
from shoal.privacy.population_risk import PopulationRisk
from shoal.settings.request import OPTIONS
from shoal.table.encode import EncodedTable
from shoal.table.schema import COLUMN_ROWS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from shoal.engine.spark.plan import Plan
    from shoal.privacy import PrivacyModel
    from shoal.settings.request import Request
    from shoal.table.schema import Schema


INSTALL = Message("install it with: pip install 'shoal-anonymity[spark]'")


def load_functions() -> Any:
    """Return `pyspark.sql.functions`.

    Raises:
        OptionError: PySpark is not installed, or too old.
    """
    try:
        import pyspark
        from pyspark.sql import functions
    except ImportError:
        raise OptionError("Spark needs the package pyspark; {install}.", install=INSTALL) from None
    if int(pyspark.__version__.split(".")[0]) < 4:
        raise OptionError(
            "Spark 4 or newer is needed, and this is {version}; use a cluster of Spark 4, or the "
            "engine of one machine.",
            version=pyspark.__version__,
        )
    return functions


def check_frame(frame: Any) -> Any:
    """Return a Spark table that we can work on.

    Raises:
        DataError: it is no table of Spark, or has no end.
    """
    load_functions()
    from pyspark.sql import DataFrame

    if not isinstance(frame, DataFrame):
        raise DataError(
            "shoal.spark needs a DataFrame of Spark, but {name} was given; use "
            "shoal.anonymize for tables in memory.",
            name=type(frame).__name__,
        )
    if frame.isStreaming:
        raise DataError("A stream has no end, so nothing can be promised; give a finished table.")
    return frame


def is_connected(session: Any) -> bool:
    """Return whether a session goes through Spark Connect, where nothing of Java can be reached."""
    return not hasattr(session, "_jvm")


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

    if (master or os.environ.get("SPARK_REMOTE", "")).startswith("sc://"):
        raise OptionError(
            "Folders are written, verified and moved by a session of the cluster itself; through "
            "Spark Connect use shoal.spark.anonymize in Python."
        )
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


# What is not done on Spark, said before any work.

LOCAL = Message("use the engine of one machine for that")
DONE = (
    *("quasi_identifiers", "sensitive", "identifiers", "insensitive", "drop", "person"),
    *("rows_are_people", *(row.option for row in COLUMN_ROWS.values() if row.spark)),
    *("unknown_values", "default_grid", "k", "privacy", "max_suppression", "suppress_for"),
    *("missing", "algorithm", "algorithm_options", "measure", "measure_options", "seed"),
    *("block_rows", "refine", "strict", "style", "pseudonyms", "person_key"),
)
"""Options that are heeded; others are refused unless nothing is asked with them."""


def may_leave_out(request: Request) -> bool:
    """Return whether the algorithm leaves out rows by itself."""
    return create_algorithm(request.algorithm, request.algorithm_options).suppresses


def full_domain(request: Request) -> bool:
    """Return whether whole columns are raised to a level: that is chosen from counts alone."""
    return isinstance(create_algorithm(request.algorithm, request.algorithm_options), Incognito)


def needs_target(request: Request) -> bool:
    """Return whether the measure that is minimised looks at a sensitive column."""
    return create_measure(request.measure, request.measure_options).needs_sensitive


def refuse_options(request: Request) -> None:
    """Raise if options are asked for that Spark does not know; no session is needed for that."""
    for name, row in OPTIONS.items():
        said = request.details.get(name) if row.detail else getattr(request, name)
        if name not in DONE and said not in (row.default, None, (), {}):
            raise OptionError("Spark does not do this: {name}; {local}.", name=name, local=LOCAL)


def refuse(request: Request, schema: Schema, frame: Any) -> None:
    """Raise if something is asked that cannot be done on Spark, or not yet.

    Raises:
        OptionError: says what.
        DataError: a column is of a type whose values cannot be compared.
    """
    measure = create_cost_measure(request.measure, request.measure_options)
    measure.check_target(any_given=bool(schema.sensitive))
    algorithm = create_algorithm(request.algorithm, request.algorithm_options)
    asked = (
        (
            measure.needs_sensitive and not measure.by_counts,
            Message(
                "measure {name!r}, which looks at the sensitive column of all rows",
                name=request.measure,
            ),
        ),
        (
            measure.of_means and not isinstance(measure, SquaredError),
            Message("measure {name!r}, which is of the means of all rows", name=request.measure),
        ),
        (
            measure.rounds and type(measure).follow_columns is CostMeasure.follow_columns,
            Message("measure {name!r}, whose rounds look at all groups", name=request.measure),
        ),
        (
            not (algorithm.works_in_blocks or full_domain(request)),
            Message("algorithm {name!r}, which needs all rows", name=algorithm.name),
        ),
        (request.style.shuffles, "style cells 'shuffled'"),
        (
            full_domain(request) and request.style.categories == "values",
            Message("style categories 'values' with algorithm {name!r}", name=algorithm.name),
        ),
        (
            request.suppress_for != "all" and not request.max_suppression > 0,
            Message(
                "suppress_for={given!r} without a max_suppression above 0",
                given=request.suppress_for,
            ),
        ),
        (
            request.suppress_for != "all" and algorithm.suppresses,
            Message(
                "suppress_for={given!r} with algorithm {name!r}",
                given=request.suppress_for,
                name=algorithm.name,
            ),
        ),
    )
    for model in request.privacy:
        ours = isinstance(model, KMap | DeltaPresence | PopulationRisk)
        if not (model.about == "groups" or ours):
            raise OptionError(
                "Spark does not do this: {name}, a plug-in's promise about a release as a "
                "whole; {local}.",
                name=model.name,
                local=LOCAL,
            )
    refuse_options(request)
    packed_models([model for model in request.privacy if model.about == "groups"])
    for refused, what in asked:
        if refused:
            raise OptionError("Spark does not do this: {what}; {local}.", what=what, local=LOCAL)
    _check_types(schema, frame)


def refuse_columns(plan: Plan, privacy: Sequence[PrivacyModel]) -> None:
    """Raise if columns are of a kind that the measure or a promise cannot do with."""
    form = plan.request.style.numeric
    if form in ("mean", "median") and any(each.kind.has_mean for each in plan.attributes):
        for model in privacy:
            if isinstance(model, KMap | DeltaPresence):
                raise DataError(
                    "Numbers published as {form} do not tell whom they cover, so that {name} "
                    "cannot be judged; publish intervals or bounds.",
                    form=form,
                    name=model.name,
                )
    measure = create_measure(plan.request.measure, plan.request.measure_options)
    if isinstance(measure, SquaredError):
        for attribute in plan.searched:
            measure.form(attribute, None, EncodedTable(0, plan.searched, ()))


def _check_types(schema: Schema, frame: Any) -> None:
    names = [name.lower() for name in frame.columns]
    if len(set(names)) < len(names):
        raise DataError("Two columns have the same name, but for its letters' case; rename one.")
    for name in schema.used:
        kind = frame.schema[name].dataType.simpleString()
        if "map<" in kind or "variant" in kind or "interval" in kind:
            raise DataError(
                "Column {name!r} is of type {split}, whose values cannot be compared on "
                "Spark; drop it or turn it into text first.",
                name=name,
                split=kind.split("<")[0],
            )


# What went wrong in a worker, said on the driver in one sentence, and without a cell.
#
# Spark hands the error of a worker to the driver as text, with all that it said. A sentence of ours
# is taken out of that; of anything else only the kind is told, since libraries put the cell they
# stumbled on into their messages.

_KINDS: dict[str, type[ShoalError]] = {
    kind.__name__: kind for kind in (DataError, OptionError, PromiseError)
}


def guarded(work: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of rows (or of a key and rows) for workers, whose errors tell no cell."""

    def alone(rows: Any) -> Any:
        try:
            return work(rows)
        except Exception as error:  # noqa: BLE001 - every one, for what it says
            raise worker_error(error) from None

    def keyed(key: Any, rows: Any) -> Any:
        try:
            return work(key, rows)
        except Exception as error:  # noqa: BLE001 - as above
            raise worker_error(error) from None

    # Spark counts the arguments
    return keyed if len(inspect.signature(work).parameters) == 2 else alone


def guarded_batches(
    work: Callable[[Iterator[Any]], Iterator[Any]],
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return the same for a function over batches of rows."""

    def inside(batches: Iterator[Any]) -> Iterator[Any]:
        try:
            yield from work(batches)
        except Exception as error:  # noqa: BLE001 - every one, for what it says
            raise worker_error(error) from None

    return inside


@contextlib.contextmanager
def saying_why() -> Iterator[None]:
    """Turn errors of Spark into one sentence.

    Raises:
        ShoalError: what a worker has said.
        DataError: Spark could not do what was asked, for a reason that is none of ours.
        RuntimeError: a worker ended in an error that should not be.
    """
    try:
        yield
    except errors_of_spark() as error:
        raise _sentence(error) from None


def errors_of_spark() -> tuple[type[Exception], ...]:
    """Return what Spark raises; py4j is there where Java is."""
    from pyspark.errors import PySparkException

    try:
        from py4j.protocol import Py4JError
    except ImportError:
        return (PySparkException,)
    return (PySparkException, Py4JError)


def _sentence(error: Exception) -> Exception:
    text = str(error)
    if "No module named 'shoal" in text:
        return DataError(
            "The workers of this cluster do not have the package: install shoal-anonymity there, "
            "or send an environment that has it (spark.addArtifacts(..., archive=True))."
        )
    if BEGIN in text:
        kind, _, said = text.split(BEGIN, 1)[1].split(END, 1)[0].partition(": ")
        if kind in _KINDS:
            return _KINDS[kind](said)
        if kind == "MemoryError":
            return DataError(
                "A worker has too little memory for a block; give executors more memory "
                "(spark.executor.memoryOverhead), or a smaller block_rows."
            )
        return RuntimeError(f"A worker ended in {kind}.")
    condition = getattr(error, "getCondition", lambda: None)()
    why = str(condition or type(error).__name__)
    if condition is not None:
        return DataError(
            "Spark could not read or write the table ({why}); look at its log.", why=why
        )
    return DataError(
        "Spark gave up ({why}): a worker was lost too often, a disk is full, or a file cannot "
        "be read; look at its log. Nothing was published.",
        why=why,
    )
