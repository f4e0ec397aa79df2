"""Step 2: what each column is, and whom it singles out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from starlette.routing import Route

from shoal.app.feasibility import drop_idle_promises
from shoal.app.fields import column_fields, read_column
from shoal.app.views import answer, page, part, to, words_of, work_of
from shoal.app.workspace import column_of, rename_column
from shoal.errors import OptionError
from shoal.io.columns import is_text
from shoal.profile.guess import guess_column
from shoal.settings.inputs import read_input
from shoal.table.schema import COLUMN_ROWS, JobColumn, Kind, Role

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from shoal.app.opening import OpenedTable, Unique
    from shoal.app.workspace import Workspace


Given = Mapping[str, str]
"""What a form says, by the names of its fields."""
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
    Kind.FLAT: _("flat: kept, listed in short sets, or hidden"),
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


def holds(dtype: str) -> str:
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
    """Show the columns as a list, one of them as a card, and how unique people are."""
    work = work_of(request)
    table = work.table
    if table is None:
        return to("/open")
    cards = [_card(work, table, number) for number in range(len(table.names))]
    undecided = [card["number"] for card in cards if card["undecided"]]
    find, only = request.query_params.get("find", ""), "open" in request.query_params
    chosen = request.query_params.get("column", "")
    shown = int(chosen) if chosen.isascii() and chosen.isdecimal() and len(chosen) < 9 else -1
    if not 0 <= shown < len(cards):
        shown = undecided[0] if undecided else 0
    return page(
        request,
        "columns.html",
        cards=[
            card
            for card in cards
            if find.casefold() in card["name"].casefold() and (card["undecided"] or not only)
        ],
        card=cards[shown],
        shown=shown,
        n_open=len(undecided),
        find=find,
        only=only,
        unique=unique_now(work, table),
        quasi=quasi_of(work, table),
        k=work.job.k or table.suggestion.k,
        roles=ROLES,
        kinds=KINDS,
        notes=table.suggestion.notes,
    )


def one(request: Request) -> Response:
    """Return the card of a column, for a script."""
    work, table = work_of(request), _table(request)
    number = _number(table, request.path_params["number"])
    return answer(card=_shown_card(request, _card(work, table, number)))


def _shown_card(request: Request, card: dict[str, Any]) -> str:
    return part(request, "card.html", card=card, roles=ROLES, kinds=KINDS)


def _number(table: OpenedTable, number: int) -> int:
    if not 0 <= number < len(table.names):
        raise OptionError("There is no such column.")
    return number


def _card(work: Workspace, table: OpenedTable, number: int) -> dict[str, Any]:
    name = table.names[number]
    guess = table.suggestion[name]
    column = work.job.columns.get(name, JobColumn())
    shown = column_fields(column, column.kind) if column.role else []
    if column.read_as is None and not is_text(table.frame.schema[name]):
        shown = [each for each in shown if each.name != "read_as"]  # its data type says it
    return {
        "number": number,
        "name": name,
        "guess": guess,
        "role": column.role,
        "kind": column.kind,
        "fields": shown,
        "picture": table.picture(name),
        "alone": table.alone((name,)),
        "holds": holds(str(table.frame.schema[name])),
        "undecided": column.role is None
        or (column.role is guess.role and not guess.sure and name not in _decided(work)),
    }


def _decided(work: Workspace) -> list[str]:
    """Return the columns whose role somebody has chosen or confirmed."""
    found: list[str] = work.kept("decided") or []
    return found


async def choose(request: Request) -> Response:
    """Give a column another role or kind, or confirm the one that it has."""
    form = await request.form()
    given = {name: value for name, value in form.items() if isinstance(value, str)}
    role = given.pop("role", "")
    return await _answer(request, [request.path_params["number"]], role, given)


async def choose_several(request: Request) -> Response:
    """Give several columns one role."""
    form = await request.form()
    chosen = [str(each) for each in form.getlist("columns")]
    numbers = [int(each) if each.isascii() and each.isdecimal() else -1 for each in chosen]
    return await _answer(request, numbers, str(form.get("role", "")), {})


async def _answer(request: Request, numbers: list[int], role: str, given: Given) -> Response:
    from anyio.to_thread import run_sync

    await run_sync(_choose_all, request, numbers, role, given)
    return await _shown(request, numbers)


async def _shown(request: Request, numbers: list[int]) -> Response:
    """Return what has changed, to a script, or the page."""
    from anyio.to_thread import run_sync

    if "application/json" not in request.headers.get("accept", ""):
        return to(f"/columns?column={numbers[0]}")
    return await run_sync(_told, request, numbers)


def _choose_all(request: Request, numbers: list[int], role: str, given: Given) -> None:
    work, table = work_of(request), _table(request)
    if not numbers:
        raise OptionError("Choose columns first, with the boxes before their names.")
    if role not in list(Role):
        raise OptionError("There is no such role.")
    if role == Role.PERSON and len(numbers) > 1:
        raise OptionError("One column alone says whose row it is; choose one.")
    names = [table.names[_number(table, number)] for number in numbers]
    with work.lock:
        for name in names:
            _choose(work, table, name, role, given)
        work.keep("decided", list(dict.fromkeys([*_decided(work), *names])))


def _choose(work: Workspace, table: OpenedTable, name: str, role: str, given: Given) -> None:
    before, kind = work.job.columns.get(name, JobColumn()), given.get("kind", "")
    changes: dict[str, Any] = {"role": Role(role)}
    if before.role != role:
        guess = guess_column(table.frame.get_column(name), Role(role))
        changes = column_of(work, table, guess)
    elif role == Role.QUASI_IDENTIFIER and kind and kind != before.kind:
        if kind not in list(Kind):
            raise OptionError("There is no such kind.")
        changes = _with_kind(work, table, name, Kind(kind))
    else:
        changes |= read_column(name, before, before.kind, given)
    if "read_as" in given and before.role == role and changes.get("read_as") != before.read_as:
        changes |= _read_otherwise(work, name, before, given["read_as"])
    elif before.role is not None:
        changes["read_as"] = before.read_as  # whatever becomes of it
    if role == Role.PERSON:
        _only_person(work, name)
    work.update_column(name, **changes)
    drop_idle_promises(work)


def _read_otherwise(work: Workspace, name: str, before: JobColumn, spelling: str) -> dict[str, Any]:
    """Return what a job says about a column whose cells are written otherwise than was guessed.

    Raises:
        DataError: they are not written so.
    """
    source = replace(work.runnable().input, rename=work.job.input.rename)
    said = {"read_as": {name: spelling}} if spelling.strip() else {}
    column = read_input(source, details=said, columns=lambda _: [name]).get_column(name)
    guess = guess_column(column, before.role)
    is_quasi = before.role is Role.QUASI_IDENTIFIER
    changes: dict[str, Any] = {"read_as": spelling.strip() or None}
    if is_quasi and guess.kind is not before.kind:
        kind = Kind.FLAT if guess.kind is Kind.CATEGORICAL else guess.kind
        changes |= {"kind": kind, "hierarchy": None, "order": guess.order, "grid": None}
    return changes


async def rename(request: Request) -> Response:
    """Give a column another name, under which it is published."""
    from anyio.to_thread import run_sync

    form = await request.form()
    number, name = request.path_params["number"], str(form.get("name", ""))
    work, table = work_of(request), _table(request)
    await run_sync(rename_column, work, table.names[_number(table, number)], name)
    return await _shown(request, [number])


def _with_kind(work: Workspace, table: OpenedTable, name: str, kind: Kind) -> dict[str, Any]:
    """Return what a job says about a column that is to be generalised in another way."""
    guess = guess_column(table.frame.get_column(name), Role.QUASI_IDENTIFIER)
    if kind is guess.kind:
        return column_of(work, table, guess)
    changes: dict[str, Any] = {"kind": kind, "hierarchy": None, "order": None, "grid": None}
    changes |= {
        row.name: row.default
        for row in COLUMN_ROWS.values()
        if row.fits is not None and not row.fits(kind)
    }
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
    return replace(guess, kind=Kind.CATEGORICAL)


def _only_person(work: Workspace, name: str) -> None:
    """Give the column that said whose row it is another role: there can be one only."""
    for other, column in list(work.job.columns.items()):
        if column.role is Role.PERSON and other != name:
            work.update_column(other, role=Role.IDENTIFIER)


def _told(request: Request, numbers: list[int]) -> Response:
    """Return what changes on the page when roles change, but for the slow counts."""
    work, table = work_of(request), _table(request)
    words = words_of(request)
    cards = [_card(work, table, number) for number in range(len(table.names))]
    n_open = sum(card["undecided"] for card in cards)
    quasi = quasi_of(work, table)
    html = part(
        request,
        "unique.html",
        unique=unique_now(work, table),
        quasi=quasi,
        k=work.job.k or table.suggestion.k,
    )
    rows = {
        card["number"]: part(request, "column_row.html", each=card, roles=ROLES) for card in cards
    }
    return answer(
        revision=work.revision,
        bar=html,
        rows=rows if len(numbers) > 1 else {numbers[0]: rows[numbers[0]]},
        open=part(request, "to_decide.html", n_open=n_open),
        said=words("Saved. %(n)s columns are generalised.", n=len(quasi)),
    )


def counts(request: Request) -> Response:
    """Count whom some columns single out together with the quasi-identifiers chosen now."""
    work, table = work_of(request), _table(request)
    words = words_of(request)
    revision, quasi = work.revision, quasi_of(work, table)
    first = int(request.path_params["first"])
    end = first + (1 if "only" in request.query_params else _AT_ONCE)
    found: dict[str, str] = {}
    for number, name in list(enumerate(table.names))[first:end]:
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
    return answer(revision=revision, counts=found, next=end if end < len(table.names) else None)


routes = [
    Route("/columns", show),
    Route("/columns/several", choose_several, methods=["POST"]),
    Route("/columns/{number:int}", one),
    Route("/columns/{number:int}", choose, methods=["POST"]),
    Route("/columns/{number:int}/name", rename, methods=["POST"]),
    Route("/columns/counts/{first:int}", counts),
]
