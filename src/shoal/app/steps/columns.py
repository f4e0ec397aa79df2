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

__all__ = ["routes"]


def _(text: str) -> str:
    """Mark a text for the message files."""
    return text


ROLES = {
    Role.IDENTIFIER: _("names a person: removed"),
    Role.QUASI_IDENTIFIER: _("others may know it: generalised"),
    Role.SENSITIVE: _("private: published, and protected"),
    Role.INSENSITIVE: _("harmless: published as it is"),
    Role.DROP: _("not needed: removed"),
    Role.PERSON: _("says whose row it is: removed"),
}
"""What each role means, in plain words."""

KINDS = {
    Kind.NUMERIC: _("numbers, as intervals"),
    Kind.ORDINAL: _("an ordered scale, as ranges"),
    Kind.CATEGORICAL: _("a tree of values, as its branches"),
    Kind.FLAT: _("kept or removed as a whole"),
    Kind.SET: _("as a set of values"),
    Kind.DATE: _("days, as spans"),
    Kind.DATETIME: _("points in time, as spans"),
}
"""What each kind means, in plain words."""


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
        "dtype": str(table.frame.schema[name]),
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
    quasi = quasi_of(work, table)
    first = int(request.path_params["first"])
    found: dict[str, str] = {}
    for number, name in list(enumerate(table.names))[first : first + 10]:
        n = table.alone(tuple({*quasi, name}))
        found[str(number)] = words.number(n)
    return answer(
        revision=work.revision,
        counts=found,
        next=first + 10 if first + 10 < len(table.names) else None,
    )


routes = [
    Route("/columns", show),
    Route("/columns/{number:int}", choose, methods=["POST"]),
    Route("/columns/counts/{first:int}", counts),
]
