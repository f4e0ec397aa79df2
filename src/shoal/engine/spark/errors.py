"""What went wrong in a worker, said on the driver in one sentence, and without a cell.

Spark hands the error of a worker to the driver as text, with all that it said. A sentence of ours
is taken out of that; of anything else only the kind is told, since libraries put the cell they
stumbled on into their messages.
"""

from __future__ import annotations

import contextlib
import inspect
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, OptionError, PromiseError, ShoalError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["WorkerError", "guarded", "guarded_batches", "saying_why"]

_BEGIN, _END = "⟦shoal ", " shoal⟧"
_KINDS: dict[str, type[ShoalError]] = {
    kind.__name__: kind for kind in (DataError, OptionError, PromiseError)
}


class WorkerError(Exception):
    """An error in a worker, as text that holds no cell."""


def guarded(work: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of rows (or of a key and rows) for workers, whose errors tell no cell."""

    def alone(rows: Any) -> Any:
        try:
            return work(rows)
        except Exception as error:  # noqa: BLE001 - every one, for what it says
            raise _told(error) from None

    def keyed(key: Any, rows: Any) -> Any:
        try:
            return work(key, rows)
        except Exception as error:  # noqa: BLE001 - as above
            raise _told(error) from None

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
            raise _told(error) from None

    return inside


def _told(error: Exception) -> WorkerError:
    if isinstance(error, WorkerError):
        return error
    kind = type(error).__name__
    said = str(error) if isinstance(error, ShoalError) else ""
    return WorkerError(f"{_BEGIN}{kind}: {said}{_END}")


@contextlib.contextmanager
def saying_why() -> Iterator[None]:
    """Turn errors of Spark into one sentence.

    Raises:
        ShoalError: what a worker has said.
        DataError: Spark could not do what was asked, for a reason that is none of ours.
        RuntimeError: a worker ended in an error that should not be.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise _sentence(error) from None


def _sentence(error: Exception) -> Exception:
    text = str(error)
    if _BEGIN in text:
        kind, _, said = text.split(_BEGIN, 1)[1].split(_END, 1)[0].partition(": ")
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
        return DataError(f"Spark could not read or write the table ({why}); look at its log.")
    return DataError(
        f"Spark gave up ({why}): a worker was lost too often, a disk is full, or a file cannot be "
        "read; look at its log. Nothing was published."
    )
