"""Step 1: open a table, see it, and say how it is read."""

from __future__ import annotations

import io
import os
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Route

from shoal.app.access import Opened
from shoal.app.opening import JOB_ENDING, find_aside, kind_of
from shoal.app.several_files import is_of_several, open_several, read_behind
from shoal.app.views import answer, flash, page, part, tasks_of, to, words_of, work_of
from shoal.app.workspace import place_for_copy, start_reading
from shoal.errors import DataError, OptionError
from shoal.io.formats import COMPRESSIONS, ENDINGS
from shoal.io.limits import read_side_file
from shoal.io.location import is_database
from shoal.io.overwrite_guard import HowRead
from shoal.messages import Message
from shoal.settings.job_file import read_job, read_tables_job

if TYPE_CHECKING:
    from starlette.requests import Request


PER_PAGE = 50
_MOST_LISTED = 500


def show(request: Request) -> Response:
    """Show ways to open a table, the table that is open, and what was put aside."""
    with work_of(request).lock:  # a table that is read meanwhile is shown whole or not at all
        return _show(request)


def _show(request: Request) -> Response:
    work, tasks = work_of(request), tasks_of(request)
    source, table = work.source, work.table
    unread = source is not None and table is None and not source.lacks_copy
    if unread and work.opening is None:
        start_reading(work, tasks)  # after a restart of the server
    opening, latest = work.opening, tasks.latest("open")
    if opening is None or latest is None or latest.revision != opening.number:
        latest = None  # what became of another table is no news
    wanted = source if opening is None else opening.source
    return page(
        request,
        "open.html",
        task=tasks.running("open"),
        failed="" if latest is None or latest.state != "failed" else latest.error,
        stopped=latest is not None and latest.state == "stopped",
        opening=opening,
        missing=wanted if wanted is not None and wanted.lacks_copy else None,
        table=table,
        preview=None if table is None else _preview(request),
        source=source,
        input=work.job.input if opening is None else opening.job.input,
        how=HowRead() if table is None else table.how,
        unsure=_is_unsure(request),
        asides=work.asides(),
        endings=",".join((*ENDINGS, *COMPRESSIONS, JOB_ENDING)),
    )


def _is_unsure(request: Request) -> bool:
    """Tell whether somebody should look at how the file was read."""
    table = work_of(request).table
    if table is None:
        return True
    return bool(table.notes or table.doubtful or table.frame.width == 1)


def _preview(request: Request) -> dict[str, Any]:
    """Return one page of the table."""
    table = work_of(request).table
    assert table is not None
    last = max((table.n_rows - 1) // PER_PAGE, 0)
    number = min(_whole(request.query_params.get("page", "1"), 1) - 1, last)
    first = max(number, 0) * PER_PAGE
    return {
        "names": table.names,
        "rows": table.rows(first, PER_PAGE),
        "first": first + 1,
        "end": min(first + PER_PAGE, table.n_rows),
        "n_rows": table.n_rows,
        "page": max(number, 0) + 1,
        "pages": last + 1,
    }


def _whole(text: str, default: int) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else default


def rows(request: Request) -> Response:
    """Return another page of the table, for a script."""
    if work_of(request).table is None:
        return answer(html="")
    return answer(html=part(request, "preview.html", preview=_preview(request)))


def browse(request: Request) -> Response:
    """List one folder: its folders, its tables and its job files."""
    work = work_of(request)
    folder = work.inside_root(request.query_params.get("folder", ""))
    found: list[dict[str, str]] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                kind = kind_of(entry)
                if kind and not entry.name.startswith("."):
                    path = (folder / entry.name).relative_to(work.root)
                    found.append({"name": entry.name, "kind": kind, "path": str(path)})
    except OSError as error:
        raise OptionError(
            "The folder cannot be listed: {strerror}.", strerror=error.strerror
        ) from None
    order = {"folder": 0, "table": 1, "job": 2}
    found.sort(key=lambda each: (order[each["kind"]], each["name"].casefold()))
    inside = folder.relative_to(work.root)
    up = None if folder == work.root else str(inside.parent)
    html = part(
        request,
        "browse.html",
        entries=found[:_MOST_LISTED],
        left_off=max(len(found) - _MOST_LISTED, 0),
        here=str(inside) if inside.parts else "",
        root=str(work.root),
        up=up,
    )
    return answer(html=html)


async def open_path(request: Request) -> Response:
    """Open a file by its path, or a table of a database by its URL."""
    from anyio.to_thread import run_sync

    form = await request.form()
    given = str(form.get("path", "")).strip()
    work = work_of(request)
    if not given:
        raise OptionError("Write the path of a file, or the URL of a database table.")
    if is_database(given):
        work.open(work.check_database(given), secret=given)
    else:
        path = work.inside_root(given)
        if is_of_several(path):
            await run_sync(open_several, work, path)
            read_behind(work, tasks_of(request))
            return to("/tables")
        if not path.is_file():
            raise OptionError(
                "There is no file {given!r} in {root!r}.", given=given, root=str(work.root)
            )
        if path.suffix.lower() == JOB_ENDING:
            work.open_job(read_job(path, outside={}))
        else:
            work.open(Opened(kind="file", name=path.name, path=str(path)))
    start_reading(work, tasks_of(request))
    return to("/open")


async def receive(request: Request) -> Path:
    """Take the bytes of a dropped file straight to the private folder; return where they are.

    Raises:
        DataError: they did not arrive whole, or cannot be kept.
    """
    work = work_of(request)
    name = request.query_params.get("name", "") or "table.csv"
    target = place_for_copy(work.subfolder("data"), name)
    try:
        with target.open("xb") as file:
            os.chmod(target, 0o600)  # noqa: PTH101 - as it is opened
            async for chunk in request.stream():
                file.write(chunk)
    except ClientDisconnect:
        drop_copy(target)
        raise DataError("The file did not arrive whole; drop it again.") from None
    except OSError as error:
        drop_copy(target)
        raise DataError("The file cannot be kept: {strerror}.", strerror=error.strerror) from None
    return target


async def upload(request: Request) -> Response:
    """Take a file that was dropped on the page."""
    work = work_of(request)
    target = await receive(request)
    if target.suffix.lower() == JOB_ENDING:
        try:
            if is_of_several(target):
                work.several.take_settings(read_tables_job(target, outside={}), work.may_open)
                return answer(next="/tables")
            _take_job(request, target)
        finally:
            drop_copy(target)
        return answer(next="/columns")
    work.open(Opened(kind="copy", name=target.name, path=str(target)))
    task = start_reading(work, tasks_of(request))
    return answer(task=task.id, next="/open")


def drop_copy(path: Path) -> None:
    """Remove a copy that is of no use."""
    shutil.rmtree(path.parent, ignore_errors=True)


def _take_job(request: Request, path: Path) -> None:
    """Take what a dropped job file says, for the table that is open."""
    work = work_of(request)
    job = read_job(path, outside={})
    table = work.table
    if table is None:
        raise OptionError("Open the table first, and the job file after it.")
    names = table.called(job.input.rename).names
    unknown = [name for name in job.columns if name not in names]
    if unknown:
        raise OptionError(
            "The job file speaks of {n} columns that this table does not have; the first is "
            "{unknown!r}.",
            n=len(unknown),
            unknown=unknown[0],
        )
    mine = {name: each.hierarchy for name, each in work.job.columns.items()}
    columns = dict(job.columns)
    for name, column in columns.items():
        if isinstance(column.hierarchy, Path):
            columns[name] = type(column)(**{**vars(column), "hierarchy": mine.get(name)})
    source = replace(work.job.input, rename=job.input.rename)
    said = job.replaced(input=source, output=work.job.output, columns=columns)

    def beside_the_table(name: str) -> str:
        return name.removeprefix(f"{path.parent}{os.sep}")

    said = said.with_files(beside_the_table).with_files(work.may_open)
    if work.touched:
        work.put_aside()
    work.change(said)
    words = words_of(request)
    flash(request, words("The job file is taken over; check the columns."))


async def reading(request: Request) -> Response:
    """Read the table again, in another way."""
    form = await request.form()
    work = work_of(request)

    def said(name: str) -> str | None:
        return str(form.get(name, "")).strip("\r\n") or None

    missing = said("missing_values")
    more = (work.opening or work).job.input.more
    if "more" in form:
        lines = [line.strip() for line in str(form["more"]).splitlines()]
        more = tuple(line for line in lines if line)
    work.reread(
        more=more,
        delimiter={"tab": "\t"}.get(said("delimiter") or "", said("delimiter")),
        encoding=said("encoding"),
        decimal=said("decimal"),
        sheet=said("sheet"),
        extra_rows=said("extra_rows"),
        header=form.get("header", "yes") == "yes",
        missing_values=None if missing is None else ("", *_texts(missing)),
        rename=None,  # as roles, which are guessed anew
    )
    start_reading(work, tasks_of(request))
    return to("/open")


def _texts(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def take(request: Request) -> Response:
    """Put the table that was read in place of the open one."""
    tasks_of(request).stop_all(2.0)
    work_of(request).take_opening()
    return to("/open")


def leave(request: Request) -> Response:
    """Stay with the table that is open."""
    running = tasks_of(request).running("open")
    if running is not None:
        running.cancel()
    work_of(request).leave_opening()
    return to("/open")


def ask_to_close(request: Request) -> Response:
    """Ask whether the table is to be closed."""
    return to("/open") if work_of(request).source is None else page(request, "close.html")


def close(request: Request) -> Response:
    """Close the table; what was said about it is put aside."""
    tasks_of(request).stop_all(2.0)
    work_of(request).close()
    return to("/open")


def reopen(request: Request) -> Response:
    """Go on with work that was put aside."""
    work = work_of(request)
    work.reopen(find_aside(work.asides(), request.path_params["id"]))
    assert work.opening is not None
    if not work.opening.source.lacks_copy:
        start_reading(work, tasks_of(request))
    return to("/open")


def forget(request: Request) -> Response:
    """Remove work that was put aside."""
    work = work_of(request)
    work.forget_aside(find_aside(work.asides(), request.path_params["id"]))
    return to("/open")


def job_file(request: Request) -> Response:
    """Give the job as a file; with the hierarchies that list values, it is a zip of them."""
    work = work_of(request)
    columns, trees = dict(work.job.columns), dict[str, bytes]()
    for number, (name, column) in enumerate(columns.items(), start=1):
        if isinstance(column.hierarchy, Path):
            file = f"hierarchies/column_{number}.csv"
            trees[file] = read_side_file(column.hierarchy, Message("the hierarchy file"))
            columns[name] = replace(column, hierarchy=Path(file))
    text = work.job_text(work.job.replaced(columns=columns))
    if not trees:
        return _download(text.encode(), "job.toml", "application/toml; charset=utf-8")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, content in {"job.toml": text.encode(), **trees}.items():
            # no date: it would tell nothing but when somebody worked
            archive.writestr(zipfile.ZipInfo(file, (1980, 1, 1, 0, 0, 0)), content)
    return _download(packed.getvalue(), "job.zip", "application/zip")


def _download(content: bytes, name: str, kind: str) -> Response:
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=kind, headers=headers)


routes = [
    Route("/open", show),
    Route("/open/rows", rows),
    Route("/open/browse", browse),
    Route("/open/path", open_path, methods=["POST"]),
    Route("/open/upload", upload, methods=["POST"]),
    Route("/open/reading", reading, methods=["POST"]),
    Route("/open/take", take, methods=["POST"]),
    Route("/open/leave", leave, methods=["POST"]),
    Route("/open/close", ask_to_close),
    Route("/open/close", close, methods=["POST"]),
    Route("/open/reopen/{id}", reopen, methods=["POST"]),
    Route("/open/forget/{id}", forget, methods=["POST"]),
    Route("/open/job.toml", job_file),
]
