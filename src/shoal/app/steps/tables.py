"""Several tables that hang together: boxes with links, roles per table, one run, what it made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from starlette.responses import Response
from starlette.routing import Route

from shoal.app.access import Opened
from shoal.app.fields import field_of, parse_field
from shoal.app.hand_over import zip_of
from shoal.app.opening import JOB_ENDING
from shoal.app.runs import changed_column
from shoal.app.several import run_tables_in
from shoal.app.several_files import TASK, open_several, read_behind
from shoal.app.steps.columns import KINDS, ROLES, holds
from shoal.app.steps.hand_over import download_of
from shoal.app.steps.open import drop_copy, receive
from shoal.app.steps.promises import changed_models, shown_models, titles
from shoal.app.steps.run import REPORT_POLICY
from shoal.app.tasks import sentence_of
from shoal.app.views import (
    answer,
    flash,
    page,
    part,
    problem,
    tasks_of,
    texts_of,
    to,
    words_of,
    work_of,
)
from shoal.errors import DataError, OptionError, ShoalError
from shoal.hierarchy.rules import CLASSIFICATIONS, HierarchyRule
from shoal.io.formats import WRITTEN
from shoal.profile.guess import guess_column
from shoal.settings.job import JOB_OPTIONS
from shoal.settings.job_file import read_tables_job
from shoal.settings.tables import EVENT_OPTIONS, ITEMS, TableOfJob, TablesJob
from shoal.table.schema import JobColumn, Kind, Role, parse_kind, parse_role

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.requests import Request

    from shoal.app.opening import OpenedTable
    from shoal.app.several import Several, TablesRun
    from shoal.app.tasks import Task
    from shoal.app.workspace import Workspace
    from shoal.runtime.progress import Report

_PATH = "/tables"
_RUN = "run tables"
_KEEP, _NONE = "as it is", ""
_RULES = ("prefix", *(each for each in CLASSIFICATIONS if each != "postcode"))
"""Hierarchies that are offered by name; a job file can say any."""
_NUMBERS = ("k", "max_suppression")
_ROLES = {role: said for role, said in ROLES.items() if role is not Role.PERSON}
_KINDS = {kind: said for kind, said in KINDS.items() if kind is not Kind.SET}
_BOX = (190, 66, 60, 22)
"""Width and height of a box, and the room between boxes, to the right and below."""
_LONGEST = 22


def show(request: Request) -> Response:
    """Show the tables as boxes with links, what is said of each, and what runs made."""
    work, tasks = work_of(request), tasks_of(request)
    several = work.several
    with several.lock:
        reading, latest = tasks.running(TASK), tasks.latest(TASK)
        tried = latest is not None and latest.revision == several.revision
        failed = latest.error if latest is not None and tried and latest.state == "failed" else ""
        if several.unread and reading is None and not tried:
            reading = read_behind(work, tasks)
        run = _chosen_run(request, several)
        files = {} if run is None else run.public(work.subfolder("results"))
        last = tasks.latest(_RUN)
        return page(
            request,
            "tables.html",
            several=several,
            reading=reading,
            failed=failed,
            cards=[_card(several, number) for number in range(len(several.opened))],
            picture=_picture(several),
            roles=_ROLES,
            kinds=_KINDS,
            items=ITEMS,
            rules=_RULES,
            keep=_KEEP,
            fields=_fields(several.job),
            models=shown_models(
                words_of(request), several.job.options.get("privacy") or (), _sensitive(several), {}
            ),
            known=titles(),
            sensitive=_sensitive(several),
            wrong={},
            missing=_lacks(several),
            texts=", ".join(each for each in several.job.input.missing_values or () if each),
            output=several.job.output,
            formats=WRITTEN,
            task=tasks.running(_RUN),
            run_failed="" if last is None or last.state != "failed" else last.error,
            stopped=last is not None and last.state == "stopped",
            run=run,
            older=run is not None and not several.is_current(run),
            there={name: path.stat().st_size for name, path in files.items()},
        )


def _chosen_run(request: Request, several: Several) -> TablesRun | None:
    wanted = request.query_params.get("run")
    found = (each for each in several.runs if each.id == wanted)
    return next(found, several.runs[0] if several.runs else None)


def _sensitive(several: Several) -> list[str]:
    """Return the sensitive columns that promises can be about: those of the table about people."""
    tops = [each for each in several.job.tables.values() if each.of is None]
    columns = tops[0].columns if len(tops) == 1 else {}
    return [name for name, each in columns.items() if each.role is Role.SENSITIVE]


def _fields(job: TablesJob) -> list[Any]:
    rows = [*(JOB_OPTIONS[name] for name in _NUMBERS), *EVENT_OPTIONS.values()]
    return [field_of(row, row.name, job.options.get(row.name)) for row in rows]


def _lacks(several: Several) -> str:
    """Return what stands in the way of a run, in a sentence; "" if nothing does."""
    if len(several.tables) < len(several.opened) or not several.opened:
        return ""
    try:
        several.job.request()
    except ShoalError as error:
        return sentence_of(error)
    return ""


# -- the picture, and a card for each table --------------------------------------------------------


def _picture(several: Several) -> dict[str, Any]:
    """Return boxes and links: each table stands to the right of the one that it hangs from."""
    tables = several.job.tables
    wide, high, right, below = _BOX
    column: dict[str, int] = {}

    def depth(name: str, seen: tuple[str, ...] = ()) -> int:
        above = _above(tables[name])
        if above not in tables or above == name or name in seen:
            return 0
        return 1 + depth(above, (*seen, name))

    boxes: dict[str, dict[str, Any]] = {}
    for number, (name, said) in enumerate(tables.items()):
        level = depth(name)
        row = column.get(str(level), 0)
        column[str(level)] = row + 1
        read = several.tables.get(name)
        boxes[name] = {
            "number": number,
            "name": name,
            "short": name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…",
            "x": 10 + level * (wide + right),
            "y": 10 + row * (high + below),
            "rows": None if read is None else read.n_rows,
            "key": said.key,
            "of": _above(said),
            "link": said.link or (said.of or "").partition(".")[2],
        }
    lines = [
        {
            "x1": boxes[each["of"]]["x"] + wide,
            "y1": boxes[each["of"]]["y"] + high / 2,
            "x2": each["x"],
            "y2": each["y"] + high / 2,
        }
        for each in boxes.values()
        if each["of"] in boxes
    ]
    return {
        "boxes": list(boxes.values()),
        "lines": lines,
        "wide": wide,
        "high": high,
        "width": max((each["x"] for each in boxes.values()), default=0) + wide + 10,
        "height": max((each["y"] for each in boxes.values()), default=0) + high + 10,
    }


def _above(said: TableOfJob) -> str:
    """Return the table that a table hangs from; "" if it hangs from none."""
    return (said.of or "").partition(".")[0]


def _card(several: Several, number: int) -> dict[str, Any]:
    name = list(several.opened)[number]
    said, table = several.job.tables[name], several.tables.get(name)
    keys = {each for each in (said.key, said.link or (said.of or "").partition(".")[2]) if each}
    return {
        "number": number,
        "name": name,
        "file": several.opened[name].name,
        "lacks_copy": several.opened[name].lacks_copy,
        "said": said,
        "above": _above(said),
        "link": said.link or (said.of or "").partition(".")[2],
        "names": [] if table is None else table.names,
        "n_rows": None if table is None else table.n_rows,
        "notes": () if table is None else table.notes,
        "keys": keys,
        "columns": [] if table is None else _columns_of(table, said, keys),
    }


def _columns_of(table: OpenedTable, said: TableOfJob, keys: set[str]) -> list[dict[str, Any]]:
    found = []
    for number, name in enumerate(table.names):
        column = said.columns.get(name, JobColumn())
        tree = column.hierarchy
        found.append(
            {
                "number": number,
                "name": name,
                "is_key": name in keys,
                "role": column.role,
                "kind": ITEMS if name in said.items else column.kind,
                "tree": tree,
                "rule": tree.name if isinstance(tree, HierarchyRule) else None,
                "holds": holds(str(table.frame.schema[name])),
                "n_values": table.picture(name).n_values,
            }
        )
    return found


# -- opening ---------------------------------------------------------------------------------------


async def open_path(request: Request) -> Response:
    """Open a folder, a file or a job file by its path."""
    from anyio.to_thread import run_sync

    given = (await texts_of(request)).get("path", "").strip()
    work = work_of(request)
    if not given:
        raise OptionError("Write the path of a folder of tables, of a table, or of a job file.")
    path = work.inside_root(given)
    if not path.exists():
        raise OptionError(
            "There is no file {given!r} in {root!r}.", given=given, root=str(work.root)
        )
    await run_sync(open_several, work, path)
    read_behind(work, tasks_of(request))
    return to(_PATH)


async def upload(request: Request) -> Response:
    """Take one of several files that were dropped on the page, or a job file for them."""
    from anyio.to_thread import run_sync

    work = work_of(request)
    target = await receive(request)
    try:
        if target.suffix.lower() == JOB_ENDING:
            await run_sync(_take_dropped, work, target)
        else:
            work.several.add(Opened(kind="copy", name=target.name, path=str(target)))
    except ShoalError:
        drop_copy(target)
        raise
    return answer(next=_PATH)


def _take_dropped(work: Workspace, path: Path) -> None:
    work.several.take_settings(read_tables_job(path, outside={}), work.may_open)
    drop_copy(path)


def remove(request: Request) -> Response:
    """Take a table away."""
    several = work_of(request).several
    several.remove(_name_of(request, several))
    return to(_PATH)


def close(request: Request) -> Response:
    """Close all tables."""
    tasks = tasks_of(request)
    for name in (TASK, _RUN):
        running = tasks.running(name)
        if running is not None:
            running.cancel()
            running.wait(2.0)
    work_of(request).several.clear()
    return to(_PATH)


def _name_of(request: Request, several: Several) -> str:
    number, names = int(request.path_params["number"]), list(several.opened)
    if not 0 <= number < len(names):
        raise OptionError("There is no such table here.")
    return names[number]


# -- what is said ----------------------------------------------------------------------------------


async def change_table(request: Request) -> Response:
    """Take what the form of one table says: its key, what it hangs from, and its columns."""
    from anyio.to_thread import run_sync

    given = await texts_of(request)
    return await run_sync(_change_table, request, given)


def _change_table(request: Request, given: Mapping[str, str]) -> Response:
    several = work_of(request).several
    number = request.path_params["number"]
    try:
        with several.lock:
            name = _name_of(request, several)
            table = several.tables.get(name)
            if table is None:
                raise OptionError("This table is not read yet.")
            several.say(name, _said_of(several, name, table, given))
            _name_keys(several)
    except ShoalError as error:
        return problem(request, error, f"{_PATH}#table-{number}")
    flash(request, words_of(request)("Saved: %(table)s.", table=name))
    return to(f"{_PATH}#table-{number}")


def _said_of(
    several: Several, name: str, table: OpenedTable, given: Mapping[str, str]
) -> TableOfJob:
    before = several.job.tables[name]
    columns = ("", *table.names)
    tables = ("", *(each for each in several.opened if each != name))
    key = _one_of(given.get("key", ""), columns) or None
    above = _one_of(given.get("above", ""), tables)
    link = _one_of(given.get("link", ""), columns) or None
    of = None
    if above:
        if link is None:
            raise OptionError(
                "Say which column of table {name!r} names the row of {above!r}.",
                name=name,
                above=above,
            )
        of = f"{above}.{several.job.tables[above].key or _key_like(several, above, link)}"
        link = None if link == of.partition(".")[2] else link
    keys = {key, link or (of or "").partition(".")[2]}
    found, items = {}, []
    for number, column in enumerate(table.names):
        if column in keys:
            continue
        one = {
            what: given[f"{what}.{number}"]
            for what in ("role", "kind", "tree")
            if f"{what}.{number}" in given
        }
        changed, is_list = _column_of(several, name, column, one)
        found[column] = changed
        if is_list:
            items.append(column)
    return replace(before, key=key, of=of, link=link, columns=found, items=tuple(items))


def _key_like(several: Several, above: str, link: str) -> str:
    """Return the key of a table that nobody has named yet: the column called as the link is."""
    table = several.tables.get(above)
    if table is None or link not in table.names:
        raise OptionError("Say first which column is the key of table {above!r}.", above=above)
    return link


def _name_keys(several: Several) -> None:
    """Let tables that others hang from have the key that these name; links follow a new key."""
    tables = dict(several.job.tables)
    for name, said in list(tables.items()):
        above, _, key = (said.of or "").partition(".")
        if above not in tables:
            continue
        real = tables[above].key
        if real is None:
            columns = {n: each for n, each in tables[above].columns.items() if n != key}
            items = tuple(each for each in tables[above].items if each != key)
            tables[above] = replace(tables[above], key=key, columns=columns, items=items)
        elif real != key:
            link = said.link or key
            tables[name] = replace(said, of=f"{above}.{real}", link=None if link == real else link)
    several.change(replace(several.job, tables=tables))


def _column_of(
    several: Several, table: str, column: str, given: Mapping[str, str]
) -> tuple[JobColumn, bool]:
    """Return what a form says of a column, and whether its cells are lists of codes."""
    before = several.job.tables[table]
    said = before.columns.get(column, JobColumn(role=Role.DROP))
    was_list = column in before.items
    role = parse_role(given["role"], column=column) if given.get("role") else said.role
    if role is Role.PERSON:
        raise OptionError("A person is a row of the table about people; choose another role.")
    if role is not Role.QUASI_IDENTIFIER:
        return changed_column(said, role=role), False
    if said.role is not role:
        frame = several.tables[table].frame
        guess = guess_column(frame.get_column(column), role)
        said = several.proposed_column(table, guess, is_event=False)
    now = ITEMS if was_list else "" if said.kind is None else said.kind.value
    kind, tree = given.get("kind", now), given.get("tree", _KEEP)
    if kind == ITEMS:
        said = replace(said, kind=None, order=None, grid=None)
    elif kind != now:
        chosen = parse_kind(kind, column=column) if kind else None
        said = changed_column(said, kind=chosen) if chosen else replace(said, kind=None)
    if tree == _NONE:
        flat = said.kind is Kind.CATEGORICAL
        said = replace(said, hierarchy=None, kind=Kind.FLAT if flat else said.kind)
    elif tree != _KEEP:
        rule = HierarchyRule.of({"rule": _one_of(tree, _RULES), **_usual(tree)})
        said = changed_column(said, hierarchy=rule)
        said = replace(said, kind=None) if kind == ITEMS else said
    if said.kind is Kind.CATEGORICAL and said.hierarchy is None:
        raise OptionError(
            "Column {column!r} is categorical and has no hierarchy; choose one beside it, or "
            "another kind.",
            column=column,
        )
    return said, kind == ITEMS


def _usual(rule: str) -> dict[str, Any]:
    return {"keep": (3, 2, 1)} if rule == "prefix" else {}


def _one_of(text: str, known: tuple[str, ...]) -> str:
    if text not in known:
        raise OptionError("This choice is not there any more; look at the page again.")
    return text


async def promise(request: Request) -> Response:
    """Take the promises, and what the owner says about the release."""
    from anyio.to_thread import run_sync

    given = await texts_of(request)
    return await run_sync(_promise, request, given)


def _promise(request: Request, given: Mapping[str, str]) -> Response:
    several = work_of(request).several
    try:
        with several.lock:
            job = several.job
            options = dict(job.options)
            for each in _fields(job):
                value = parse_field(each, given.get(each.name, ""))
                row = EVENT_OPTIONS.get(each.name) or JOB_OPTIONS[each.name]
                if value is not None and row.check is not None:
                    value = row.check(each.name, value)
                options = {n: v for n, v in options.items() if n != each.name}
                options |= {} if value is None else {each.name: value}
            models = changed_models(options.get("privacy") or (), given, _sensitive(several))
            options = {n: v for n, v in options.items() if n != "privacy"}
            options |= {"privacy": tuple(models)} if models else {}
            texts = [each.strip() for each in given.get("missing", "").split(",") if each.strip()]
            shared = replace(job.input, missing_values=("", *texts) if texts else None)
            if shared != job.input:
                several.tables.clear()  # they are read anew
            form = given.get("format") or None
            if form is not None and form not in WRITTEN:
                raise OptionError(
                    "The format must be one of {formats}.", formats=", ".join(WRITTEN)
                )
            output = replace(
                job.output,
                format=form,
                audit=given.get("audit") == "yes",
                title=given.get("title") or None,
                owner=given.get("owner") or None,
                purpose=given.get("purpose") or None,
            )
            several.change(replace(job, options=options, input=shared, output=output))
        if given.get("run"):
            _run(request)
    except ShoalError as error:
        return problem(request, error, f"{_PATH}#promises")
    return to(f"{_PATH}#promises")


# -- runs ------------------------------------------------------------------------------------------


def _run(request: Request) -> None:
    work, tasks = work_of(request), tasks_of(request)
    several = work.several
    if several.missing or len(several.tables) < len(several.opened):
        raise OptionError("Tables are still to be read; wait a moment, or drop what is missing.")
    job, settings = several.runnable(), several.settings
    job.request()  # a wrong option is said at once
    output = replace(job.output, language=words_of(request).language)
    job, results = replace(job, output=output), work.subfolder("results")

    def run(report: Report) -> TablesRun:
        return run_tables_in(results, job, settings, report)

    def keep(task: Task) -> None:
        several.record(task.result, results)

    tasks.start(_RUN, run, revision=several.revision, next_page=f"{_PATH}#result", then=keep)


def back(request: Request) -> Response:
    """Take the settings of an earlier run again."""
    several = work_of(request).several
    several.go_back(several.find_run(request.path_params["id"]))
    flash(request, words_of(request)("The settings of this run are back."))
    return to(_PATH)


def report(request: Request) -> Response:
    """Show the report of a run."""
    work = work_of(request)
    run = work.several.find_run(request.path_params["id"])
    path = run.public(work.subfolder("results")).get("report.html")
    if path is None:
        raise OptionError("The files of this run are no longer there; run it again.")
    text = path.read_bytes()
    if not work.several.is_current(run):
        said = part(request, "older.html", run=run).encode()
        text = text.replace(b"<body>", b"<body>" + said, 1)
    headers = {"content-security-policy": REPORT_POLICY}
    return Response(text, media_type="text/html; charset=utf-8", headers=headers)


def download(request: Request) -> Response:
    """Give one file of a run, or all of them in one."""
    work, wanted = work_of(request), request.path_params["name"]
    several, results = work.several, work.subfolder("results")
    run = several.find_run(request.path_params["id"])
    found = run.public(results)
    if not found:
        raise DataError("The files of this run are no longer there; run it again.")
    if not several.is_current(run):
        raise OptionError(
            "The settings have changed since this run; run again, or take back the settings of "
            "this run."
        )
    if wanted == "hand-over.zip":
        return download_of(run.packed(results), wanted)
    if wanted == "keep.zip":
        return download_of(zip_of(several.portable(run.job(results))), wanted)
    if wanted not in found:
        raise OptionError("There is no such file.")
    return download_of(found[wanted].read_bytes(), wanted)


def job_file(request: Request) -> Response:
    """Give the job of several tables as a file; with hierarchies it is a zip."""
    several = work_of(request).several
    with several.lock:
        files = several.portable(several.job)
    if len(files) == 1:
        return download_of(files["job.toml"], "job.toml")
    return download_of(zip_of(files), "job.zip")


routes = [
    Route(_PATH, show),
    Route(_PATH + "/path", open_path, methods=["POST"]),
    Route(_PATH + "/upload", upload, methods=["POST"]),
    Route(_PATH + "/promises", promise, methods=["POST"]),
    Route(_PATH + "/close", close, methods=["POST"]),
    Route(_PATH + "/job.toml", job_file),
    Route(_PATH + "/{number:int}", change_table, methods=["POST"]),
    Route(_PATH + "/{number:int}/remove", remove, methods=["POST"]),
    Route(_PATH + "/{id}/back", back, methods=["POST"]),
    Route(_PATH + "/{id}/report.html", report),
    Route(_PATH + "/{id}/{name}", download),
]
