"""Step 2: what each column is, and whom it singles out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.routing import Route

from shoal.app.reading import column_of
from shoal.app.views import answer, page, part, to, words_of, work_of
from shoal.errors import OptionError
from shoal.profile.guess import guess_column
from shoal.settings.job import JobColumn
from shoal.table.schema import Kind, Role

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from shoal.app.table import OpenedTable, Unique
    from shoal.app.workspace import Workspace

__all__ = ["KINDS", "ROLES", "quasi_of", "routes", "unique_now"]

_AT_ONCE = 4  # columns of one answer: each of them takes a count of all rows


def _(text: str) -> str:
    """Mark a text for the message files."""
    return text


ROLES = {
    Role.IDENTIFIER: (_("identifier: names a person"), _("removed")),
    Role.QUASI_IDENTIFIER: (_("quasi-identifier: others may know it"), _("generalised")),
    Role.SENSITIVE: (_("sensitive: private, to be protected"), _("published as it is")),
    Role.INSENSITIVE: (_("insensitive: harmless"), _("published as it is")),
    Role.DROP: (_("drop: nobody needs it"), _("removed")),
    Role.PERSON: (_("person: says whose row it is"), _("removed")),
}
"""What each role means in plain words, and what becomes of the column."""

KINDS = {
    Kind.NUMERIC: _("numeric: intervals of numbers"),
    Kind.ORDINAL: _("ordinal: ranges of an ordered scale"),
    Kind.CATEGORICAL: _("categorical: branches of a hierarchy"),
    Kind.FLAT: _("flat: kept, or hidden as a whole"),
    Kind.SET: _("set: the values of a group, listed"),
    Kind.DATE: _("date: spans of days"),
    Kind.DATETIME: _("datetime: spans of time"),
}
"""What each kind means, in plain words."""

_TYPES = (
    ("Bool", _("yes or no")),
    ("Int", _("whole numbers")),
    ("UInt", _("whole numbers")),
    ("Float", _("numbers")),
    ("Decimal", _("numbers")),
    ("Datetime", _("points in time")),
    ("Date", _("days")),
    ("Time", _("times of day")),
    ("Duration", _("lengths of time")),
    ("List", _("lists")),
    ("Struct", _("nested records")),
    ("Null", _("nothing at all")),
)


def _holds(dtype: str) -> str:
    """Return what a column holds, in plain words."""
    return next((words for start, words in _TYPES if dtype.startswith(start)), _("text"))


def quasi_of(work: Workspace, table: OpenedTable) -> tuple[str, ...]:
    """Return the quasi-identifiers chosen now, in table order."""
    chosen = work.job.columns
    return tuple(
        name
        for name in table.names
        if name in chosen and chosen[name].role is Role.QUASI_IDENTIFIER
    )


def unique_now(work: Workspace, table: OpenedTable) -> Unique:
    """Return how unique people are by the quasi-identifiers chosen now."""
    return table.unique(quasi_of(work, table), work.job.k or table.suggestion.k)


def _table(request: Request) -> OpenedTable:
    table = work_of(request).table
    if table is None:
        raise OptionError("Open a table first.")
    return table


def show(request: Request) -> Response:
    """Show a card for every column, and how unique people are."""
    work = work_of(request)
    table = work.table
    if table is None:
        return to("/open")
    return page(
        request,
        "columns.html",
        cards=[_card(work, table, number) for number in range(len(table.names))],
        unique=unique_now(work, table),
        quasi=quasi_of(work, table),
        k=work.job.k or table.suggestion.k,
        roles=ROLES,
        kinds=KINDS,
        notes=table.suggestion.notes,
    )


def _card(work: Workspace, table: OpenedTable, number: int) -> dict[str, Any]:
    name = table.names[number]
    guess = table.suggestion[name]
    column = work.job.columns.get(name, JobColumn())
    return {
        "number": number,
        "name": name,
        "guess": guess,
        "role": column.role,
        "kind": column.kind,
        "picture": table.picture(name),
        "alone": table.alone((name,)),
        "holds": _holds(str(table.frame.schema[name])),
    }


async def choose(request: Request) -> Response:
    """Give a column another role or kind."""
    from anyio.to_thread import run_sync

    form = await request.form()
    role, kind = str(form.get("role", "")), str(form.get("kind", ""))
    await run_sync(_choose, request, role, kind)
    if "application/json" not in request.headers.get("accept", ""):
        return to("/columns")
    return await run_sync(_told, request)


def _choose(request: Request, role: str, kind: str) -> None:
    work, table = work_of(request), _table(request)
    number = request.path_params["number"]
    if number >= len(table.names):
        raise OptionError("There is no such column.")
    name = table.names[number]
    if role not in list(Role):
        raise OptionError("There is no such role.")
    before = work.job.columns.get(name, JobColumn())
    changes: dict[str, Any] = {"role": Role(role)}
    if before.role != role:
        guess = guess_column(table.frame.get_column(name), Role(role))
        changes = column_of(work, table, guess)
    elif role == Role.QUASI_IDENTIFIER and kind and kind != before.kind:
        if kind not in list(Kind):
            raise OptionError("There is no such kind.")
        changes = _with_kind(work, table, name, Kind(kind))
    if role == Role.PERSON:
        _only_person(work, name)
    work.update_column(name, **changes)


def _with_kind(work: Workspace, table: OpenedTable, name: str, kind: Kind) -> dict[str, Any]:
    """Return what a job says about a column that is to be generalised in another way."""
    guess = guess_column(table.frame.get_column(name), Role.QUASI_IDENTIFIER)
    if kind is guess.kind:
        return column_of(work, table, guess)
    changes: dict[str, Any] = {"kind": kind, "hierarchy": None, "order": None, "grid": None}
    if kind is Kind.CATEGORICAL:
        before = work.job.columns[name].hierarchy
        offered = {**column_of(work, table, _as_tree(guess))}
        changes["hierarchy"] = before or offered["hierarchy"]
        if changes["hierarchy"] is None:
            raise OptionError(
                "This column has no hierarchy yet; build one in the step for hierarchies."
            )
    elif kind is Kind.ORDINAL:
        if guess.order is None:
            raise OptionError(
                "The order of these values is not known; say it in a job file with order = [...]."
            )
        changes["order"] = guess.order
    return changes


def _as_tree(guess: Any) -> Any:
    from dataclasses import replace

    return replace(guess, kind=Kind.CATEGORICAL)


def _only_person(work: Workspace, name: str) -> None:
    """Give the column that said whose row it is another role: there can be one only."""
    for other, column in list(work.job.columns.items()):
        if column.role is Role.PERSON and other != name:
            work.update_column(other, role=Role.IDENTIFIER)


def _told(request: Request) -> Response:
    """Return what changes on the page when a role changes, but for the slow counts."""
    work, table = work_of(request), _table(request)
    number = request.path_params["number"]
    words = words_of(request)
    quasi = quasi_of(work, table)
    html = part(
        request,
        "unique.html",
        unique=unique_now(work, table),
        quasi=quasi,
        k=work.job.k or table.suggestion.k,
    )
    card = part(request, "card.html", card=_card(work, table, number), roles=ROLES, kinds=KINDS)
    return answer(
        revision=work.revision,
        bar=html,
        card=card,
        said=words("Saved. %(n)s columns are generalised.", n=len(quasi)),
    )


def counts(request: Request) -> Response:
    """Count whom some columns single out together with the quasi-identifiers chosen now."""
    work, table = work_of(request), _table(request)
    words = words_of(request)
    revision, quasi = work.revision, quasi_of(work, table)
    first = int(request.path_params["first"])
    found: dict[str, str] = {}
    for number, name in list(enumerate(table.names))[first : first + _AT_ONCE]:
        together = words.number(table.alone((*(q for q in quasi if q != name), name)))
        if name in quasi:
            without = words.number(table.alone(tuple(q for q in quasi if q != name)))
            found[str(number)] = words(
                "%(n)s with the other chosen columns, which without it single out %(without)s",
                n=together,
                without=without,
            )
        else:
            found[str(number)] = words("%(n)s with the chosen columns", n=together)
    end = first + _AT_ONCE
    return answer(revision=revision, counts=found, next=end if end < len(table.names) else None)


routes = [
    Route("/columns", show),
    Route("/columns/{number:int}", choose, methods=["POST"]),
    Route("/columns/counts/{first:int}", counts),
]
