"""From the options of ``shoal.anonymize`` to a checked plan, and many runs side by side."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar

from shoal.errors import OptionError, did_you_mean

if TYPE_CHECKING:
    import polars as pl

    from shoal.pipeline import Request
    from shoal.progress import Report
    from shoal.schema import Schema

__all__ = [
    "SCHEMA_OPTIONS",
    "Plan",
    "prepare",
    "request_options",
    "run_side_by_side",
    "schema_of",
]

T = TypeVar("T")

SCHEMA_OPTIONS = (
    "quasi_identifiers",
    "sensitive",
    "identifiers",
    "insensitive",
    "drop",
    "hierarchies",
    "kinds",
    "orders",
    "weights",
)
"""The options that say what the columns are; all others are fields of a `Request`."""


@dataclass(frozen=True, eq=False)
class Plan:
    """A table, what its columns are, and what is asked for: all that a run needs."""

    table: pl.DataFrame
    schema: Schema
    request: Request


def prepare(frame: Any, options: Mapping[str, Any]) -> Plan:
    """Check the options of ``shoal.anonymize`` against a table and return the plan of a run.

    Raises:
        OptionError: an option does not exist or is out of range.
        RoleError: a column has no role, or two.
    """
    from shoal.encode import to_polars
    from shoal.pipeline import Request

    known = [*SCHEMA_OPTIONS, *_request_fields()]
    for name in options:
        if name not in known:
            raise OptionError(f"There is no option {name!r}.{did_you_mean(name, known)}")
    for name in ("k", "quasi_identifiers"):
        if name not in options:
            raise OptionError(f"{name} is not given; say it as for shoal.anonymize.")
    table = to_polars(frame)
    asked = request_options(options)
    return Plan(table, schema_of(table.columns, options), Request(**asked))


def schema_of(columns: Sequence[str], options: Mapping[str, Any]) -> Schema:
    """Return the schema that the options give to a table with these columns.

    Raises:
        RoleError: a column has no role, or two.
        OptionError: a detail of a column is wrong.
    """
    from shoal.schema import build_schema

    return build_schema(columns, **{n: options[n] for n in SCHEMA_OPTIONS if n in options})


def request_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a `Request` among the options, read from what users may write.

    Raises:
        OptionError: an option cannot be read.
    """
    import numpy as np

    from shoal.privacy import parse_privacy
    from shoal.recode import Style

    asked = {name: options[name] for name in _request_fields() if name in options}
    style = asked.get("style")
    if not isinstance(style, Style):
        asked["style"] = Style() if style is None else Style.from_dict(style)
    for name in ("algorithm_options", "measure_options"):
        asked[name] = _as_dict(asked.get(name), name)
    asked["privacy"] = parse_privacy(asked.get("privacy", ()))
    bound = asked.get("bound", False)
    if not isinstance(bound, bool | np.bool_):
        raise OptionError(f"bound must be True or False, got {bound!r}.")
    return asked | {"bound": bool(bound)}


def _request_fields() -> list[str]:
    from shoal.pipeline import Request

    return [each.name for each in fields(Request) if each.name != "progress"]


def _as_dict(given: Mapping[str, Any] | None, name: str) -> dict[str, Any]:
    try:
        return {} if given is None else dict(given)
    except (TypeError, ValueError):
        raise OptionError(f"{name} must be a mapping of option names to values.") from None


class _Abandoned(BaseException):
    """Ends a run whose result nobody waits for any more."""


def run_side_by_side(
    tasks: Sequence[Callable[[Report], T]], *, workers: int | None = None
) -> Iterator[tuple[int, T]]:
    """Run tasks on threads and yield (number of the task, result) as they finish.

    A task hands the function it is given to its run as ``progress``. When the caller stops (an
    error, Ctrl-C, a closed iterator), runs that have not begun never begin, and those under way
    end at their next sign of progress.
    """
    from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

    stopped = threading.Event()

    def alive(done: int, total: int, what: str) -> None:
        del done, total, what
        if stopped.is_set():
            raise _Abandoned

    # The pipeline collects warnings, which is not safe across threads: whatever order the runs
    # end in, this leaves the filters as they were.
    with warnings.catch_warnings(), ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
        waiting = {pool.submit(task, alive): number for number, task in enumerate(tasks)}
        try:
            while waiting:
                done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in sorted(done, key=waiting.__getitem__):
                    yield waiting.pop(future), future.result()
        finally:
            stopped.set()
            for future in waiting:
                future.cancel()
