"""Questions that have to be answered before a job runs: what was probably not meant to be said.

A column that seems to name people is published, or nothing is promised about a sensitive column. It
may be right; but then somebody has said so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from shoal.errors import OptionError
from shoal.profile.proposed import promise_for
from shoal.profile.slips import seems_to_name
from shoal.table.schema import Role

if TYPE_CHECKING:
    from shoal.app.workspace import Workspace
    from shoal.settings.job import Job

__all__ = ["Question", "check_answered", "drop_idle_promises", "open_questions", "take_answer"]

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
        registry.load("privacy", table["model"]).looks_at_values
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
            f"Answer the question about column {found[0].column!r} first: it stands above the "
            "button that runs the job."
        )
