"""Step 7: what leaves the house, what stays, and the same from the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from starlette.responses import Response
from starlette.routing import Route

from shoal.app.hand_over import (
    RunFiles,
    as_commands,
    portable_job,
    private_zip,
    public_zip,
    sign_run,
)
from shoal.app.runs import find_run, is_current, mark_signed
from shoal.app.steps.attack import attacks_on
from shoal.app.steps.run import chosen_run
from shoal.app.views import flash, page, problem, texts_of, to, words_of, work_of
from shoal.errors import DataError, OptionError, ShoalError
from shoal.io.formats import ENDINGS, FORMATS
from shoal.settings.job_file import format_job

if TYPE_CHECKING:
    from starlette.requests import Request

    from shoal.app.runs import Tried
    from shoal.app.workspace import Workspace


_PATH = "/hand-over"
_TYPES = {
    **{ending: FORMATS[name].media_type for ending, name in ENDINGS.items()},
    ".html": "text/html; charset=utf-8",
    ".json": "application/json",
    ".toml": "application/toml; charset=utf-8",
    ".zip": "application/zip",
}


def show(request: Request) -> Response:
    """Show everything there is to hand over of a run."""
    work = work_of(request)
    if work.table is None:
        return to("/open")
    run = chosen_run(request, work)
    files = None if run is None else run.files(work.subfolder("results"))
    there = {} if files is None else files.public()
    key = work.kept("key")
    signed = key if run is not None and run.signed else None
    return page(
        request,
        "hand_over.html",
        run=run,
        attacked=run is not None and attacks_on(work, run) is not None,
        older=run is not None and not is_current(work, run),
        there={name: path.stat().st_size for name, path in there.items()},
        release=None if files is None else files.release.name,
        commands=[] if files is None else as_commands(files, key=signed),
        key=key or "officer.key",
        root=str(work.root),
    )


def _files(request: Request) -> tuple[Workspace, Tried, RunFiles]:
    work = work_of(request)
    run = find_run(work, request.path_params["id"])
    files = run.files(work.subfolder("results"))
    if not files.release.is_file():
        raise DataError("The files of this run are no longer there; run it again.")
    if not is_current(work, run):
        raise OptionError(
            "The settings have changed since this run; run again, or take back the settings of "
            "this run."
        )
    return work, run, files


def _name(work: Workspace) -> str | None:
    """Return what the owner calls the table, if it is a copy that they dropped."""
    source = work.source
    return source.name if source is not None and source.kind == "copy" else None


def download(request: Request) -> Response:
    """Give one file, or several in one."""
    work, run, files = _files(request)
    wanted = request.path_params["name"]
    made = {
        "hand-over.zip": lambda: public_zip(files),
        "keep.zip": lambda: private_zip(run.read_job(files.folder.parent), files, _name(work)),
        "job.toml": lambda: _job(run, files, _name(work)),
    }
    if wanted in made:
        content = made[wanted]()
    elif wanted in files.public():
        content = files.public()[wanted].read_bytes()
    else:
        raise OptionError("There is no such file.")
    return download_of(content, wanted)


def download_of(content: bytes, name: str) -> Response:
    """Return the answer that saves a file; its name is one that our pages gave it."""
    suffix = "." + name.rpartition(".")[2]
    is_plain = name.isascii() and '"' not in name
    said = f'filename="{name}"' if is_plain else f"filename*=UTF-8''{quote(name)}"
    return Response(
        content,
        media_type=_TYPES.get(suffix, "application/octet-stream"),
        headers={"content-disposition": f"attachment; {said}"},
    )


def _job(run: Tried, files: RunFiles, name: str | None) -> bytes:
    return format_job(portable_job(run.read_job(files.folder.parent), files, name)[0]).encode()


async def sign(request: Request) -> Response:
    """Sign the certificate of a run."""
    from anyio.to_thread import run_sync

    given = await texts_of(request)
    return await run_sync(_sign, request, given)


def _sign(request: Request, given: dict[str, str]) -> Response:
    words = words_of(request)
    try:
        work, run, files = _files(request)
        name = given.get("key", "").strip()
        if not name:
            raise OptionError("Say with which key: the name of its file.")
        key = work.inside_root(name)
        number = sign_run(
            files,
            key,
            passphrase=given.get("passphrase", ""),
            new=given.get("new") == "yes",
            replace=bool(run.signed),
        )
        mark_signed(work, run.id, number)
        work.keep("key", name)
    except ShoalError as error:
        return problem(request, error, f"{_PATH}?run={request.path_params['id']}")
    flash(request, words("Signed. Whoever has your public key can see that it was you."))
    return to(f"{_PATH}?run={run.id}")


routes = [
    Route(_PATH, show),
    Route(_PATH + "/{id}/sign", sign, methods=["POST"]),
    Route(_PATH + "/{id}/{name}", download),
]
