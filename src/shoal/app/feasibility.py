"""Questions that have to be answered before a job runs: what was probably not meant to be said.

A column that seems to name people is published, or nothing is promised about a sensitive column. It
may be right; but then somebody has said so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from shoal.errors import OptionError, ShoalError
from shoal.profile.guess import promise_for
from shoal.profile.roles import seems_to_name
from shoal.settings.job import Job
from shoal.table.schema import Role

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from shoal.app.workspace import Workspace
    from shoal.table.encode import EncodedTable


# Which settings no release of this table can keep, and why: said where they are set.
#
# The checks are those of a run before its search begins. A run stops at the first one that fails;
# here every promise is asked on its own, so that each can be said beside its own field.


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
    from shoal.app.runs import settled
    from shoal.publish.recode import Style, with_listings
    from shoal.table.encode import encode

    columns = Job(columns=job.columns, k=2, default_grid=job.default_grid)
    names = ("unknown_values", "pseudonyms", "rows_are_people")
    columns = columns.replaced(**{name: getattr(job, name) for name in names})
    try:
        frame, schema = settled(columns.request(), frame)
        # a flat column lists nothing in a group of all rows, whatever k is
        table = with_listings(encode(frame, schema), Style.from_dict(job.style), k=2)
        return Encoded(frame.height, table)
    except ShoalError as error:
        return Encoded(frame.height, None, error.message)


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
        found[place] = error.message


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
    from shoal.engine.grouping import check_people

    check_people(encoded.n_rows, int(job.k))
    if encoded.table is not None:
        check_people(encoded.table.n_people, int(job.k), "people")


def _check_model(encoded: Encoded, table: Mapping[str, Any], job: Job) -> None:
    from shoal.privacy import parse_privacy
    from shoal.settings.request import open_populations

    models: Sequence[Any] = open_populations(
        parse_privacy(table), job.input, details=job.schema_options()
    )
    if encoded.table is None:
        return
    for model in models:
        model.check_release(encoded.table)
        for column in model.columns(encoded.table):
            model.check_possible(column)


NAMES, PROMISE = "names", "promise"
_KEPT = "answers"
_ANSWERS = {"remove": NAMES, "publish": NAMES, "promise": PROMISE, "without": PROMISE}


class Question(NamedTuple):
    """What is asked about a column: whether it names people, or needs a promise."""

    about: str
    column: str


def open_questions(work: Workspace) -> list[Question]:
    """Return the questions that nobody has answered yet, in the order of the columns."""
    if work.table is None:
        return []
    job, frame, found = work.job, work.table.frame, []
    for name in work.table.names:
        role = job.columns[name].role if name in job.columns else None
        if role not in (Role.SENSITIVE, Role.INSENSITIVE):
            continue
        if seems_to_name(frame.get_column(name)):
            found.append(Question(NAMES, name))
        elif role is Role.SENSITIVE and not _is_promised(job, name):
            found.append(Question(PROMISE, name))
    answered = work.kept(_KEPT) or []
    return [each for each in found if [*each] not in answered]


def _is_promised(job: Job, column: str) -> bool:
    """Return whether a promise looks at the values of a column."""
    from shoal import registry

    return any(
        registry.load("privacy", table["model"]).about == "groups"
        and table.get("column") in (None, column)
        for table in job.privacy
    )


def take_answer(work: Workspace, said: str) -> None:
    """Take an answer: what to do, a colon, and the column.

    Raises:
        OptionError: nobody has asked that.
    """
    what, _, column = said.partition(":")
    question = Question(_ANSWERS.get(what, ""), column)
    with work.lock:
        if question not in open_questions(work):
            raise OptionError("This question is not open any more; look at the page again.")
        if what == "remove":
            work.update_column(column, role=Role.IDENTIFIER)
            drop_idle_promises(work)
        elif what == "promise":
            work.update(privacy=[*work.job.privacy, promise_for(column)])
        else:
            work.keep_with(_KEPT, lambda kept: [*(kept or []), [*question]])


def drop_idle_promises(work: Workspace) -> None:
    """Take promises back that name a column which is not sensitive any more."""
    with work.lock:
        columns = work.job.columns
        sensitive = {name for name, each in columns.items() if each.role is Role.SENSITIVE}
        kept = [each for each in work.job.privacy if each.get("column") in {None, *sensitive}]
        if len(kept) < len(work.job.privacy):
            work.update(privacy=kept or None)


def check_answered(work: Workspace) -> None:
    """Refuse to run while a question is open.

    Raises:
        OptionError: one is.
    """
    found = open_questions(work)
    if found:
        raise OptionError(
            "Answer the question about column {column!r} first: it stands above the button "
            "that runs the job.",
            column=found[0].column,
        )
