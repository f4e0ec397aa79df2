"""Which settings no release of this table can keep, and why: said where they are set.

The checks are those of a run before its search begins. A run stops at the first one that fails;
here every promise is asked on its own, so that each can be said beside its own field.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shoal.errors import ShoalError
from shoal.settings.job import Job

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from shoal.table.encode import EncodedTable

__all__ = ["Encoded", "encode_job", "impossible"]


@dataclass(frozen=True, eq=False)
class Encoded:
    """A table as promises look at it.

    Attributes:
        n_rows: rows of the table.
        table: its codes; None if the columns of the job are wrong.
        error: what is wrong with them.
    """

    n_rows: int
    table: EncodedTable | None
    error: str = ""


def encode_job(frame: pl.DataFrame, job: Job) -> Encoded:
    """Encode what promises look at; a few passes over the rows of the columns in use."""
    from shoal.app.runs import settled_schema
    from shoal.publish.recode import Style
    from shoal.table.encode import encode

    columns = Job(columns=job.columns, k=2, default_grid=job.default_grid)
    columns = columns.replaced(unknown_values=job.unknown_values, pseudonyms=job.pseudonyms)
    try:
        schema = settled_schema(columns, frame)
        as_values = Style.from_dict(job.style).categories == "values"
        return Encoded(frame.height, encode(frame, schema, as_values=as_values))
    except ShoalError as error:
        return Encoded(frame.height, None, str(error))


def impossible(encoded: Encoded, job: Job) -> dict[str, str]:
    """Return a sentence for every setting that no release can keep, by its place.

    Places are ``columns``, the name of an option as ``k``, and ``privacy.0`` for the first promise
    beyond k.
    """
    found: dict[str, str] = {}
    if encoded.error:
        found["columns"] = encoded.error
    for name, value in job.options.items():
        if name != "privacy":
            _try(found, name, _check_option, name, value)
    if "k" in job.options and "k" not in found:
        _try(found, "k", _check_k, encoded, job)
    for number, model in enumerate(job.privacy):
        _try(found, f"privacy.{number}", _check_model, encoded, model, job)
    return found


def _try(found: dict[str, str], place: str, check: Any, *given: Any) -> None:
    try:
        check(*given)
    except ShoalError as error:
        found[place] = str(error)


def _check_option(name: str, value: Any) -> None:
    from shoal.algorithm.base import create_algorithm
    from shoal.measure.scores import create_measure
    from shoal.settings.job import JOB_OPTIONS

    row = JOB_OPTIONS[name]
    if row.check is not None:
        row.check(name, value)
    if name == "algorithm":
        create_algorithm(value, {})
    if name == "measure":
        create_measure(value, {})


def _check_k(encoded: Encoded, job: Job) -> None:
    from shoal.engine.local import check_people

    check_people(encoded.n_rows, int(job.k))
    if encoded.table is not None:
        check_people(encoded.table.n_people, int(job.k), "people")


def _check_model(encoded: Encoded, table: Mapping[str, Any], job: Job) -> None:
    from shoal.privacy import parse_privacy
    from shoal.settings.population import open_populations

    models: Sequence[Any] = open_populations(parse_privacy(table), job.input)
    if encoded.table is None:
        return
    for model in models:
        model.check_release(encoded.table)
        for column in model.columns(encoded.table):
            model.check_possible(column)
