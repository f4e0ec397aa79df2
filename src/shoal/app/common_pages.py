"""Pages that belong to no step: the start, progress of work, the language, the end."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from shoal.app.access import LOGIN
from shoal.app.views import (
    LANGUAGE_COOKIE,
    flash,
    guard_of,
    lead_in,
    page,
    tasks_of,
    to,
    words_of,
    work_of,
)
from shoal.messages.language import LANGUAGES

if TYPE_CHECKING:
    from starlette.requests import Request


_LONGEST_LOGIN = 10_000  # bytes of a form of whom nobody knows


def start(request: Request) -> Response:
    """Go to where the work stands."""
    return to("/open" if work_of(request).table is None else "/columns")


def task(request: Request) -> Response:
    """Tell how far a piece of work is."""
    found = tasks_of(request).get(request.path_params["id"])
    if found is None:
        return JSONResponse({"state": "unknown"}, status_code=404)
    told = found.to_dict()
    words = words_of(request)
    told["what"] = words(found.what)
    told["left"], told["error"] = words.translate(found.left), words.translate(found.error)
    told["lead"] = "" if words.knows(found.error) else lead_in(words)
    return JSONResponse(told)


def cancel(request: Request) -> Response:
    """Ask a piece of work to stop."""
    found = tasks_of(request).get(request.path_params["id"])
    if found is not None:
        found.cancel()
    return JSONResponse({"state": "unknown" if found is None else found.state})


async def language(request: Request) -> Response:
    """Remember the language of this browser."""
    form = await request.form()
    response = to(_local(str(form.get("back", "/"))))
    code = str(form.get("language", ""))
    if code in LANGUAGES:
        response.set_cookie(
            LANGUAGE_COOKIE, code, max_age=31_536_000, httponly=True, samesite="strict"
        )
    return response


def _local(path: str) -> str:
    """Return a path of ours; anything else is the start."""
    harmless = path.startswith("/") and not path.startswith(("//", "/\\"))
    return path if harmless and path.isprintable() else "/"


def finish(request: Request) -> Response:
    """Show what the end of the work removes."""
    return page(request, "finish.html")


def remove(request: Request) -> Response:
    """Remove everything that was kept, and start anew."""
    work = work_of(request)
    tasks_of(request).stop_all(2.0)
    work.forget_table()
    words = words_of(request)
    flash(request, words("Everything that was kept here is removed."))
    return to("/open")


def login_page(request: Request) -> Response:
    """Ask for the password."""
    return page(request, "login.html", wrong=False)


async def login(request: Request) -> Response:
    """Let in whoever knows the password; wrong ones take time."""
    import anyio

    said = b""
    async for part in request.stream():
        said += part
        if len(said) > _LONGEST_LOGIN:
            return PlainTextResponse("No password is so long.", status_code=413)
    password = parse_qs(said.decode("utf-8", "replace")).get("password", [""])[0]
    guard = guard_of(request)
    async with request.app.state.at_the_door:  # one after another: guessing takes a second each
        await anyio.sleep(0.2)
        if guard.is_password(password):
            return guard.let_in()
        await anyio.sleep(1.0)
    return page(request, "login.html", status=403, wrong=True)


routes = [
    Route("/", start),
    Route("/task/{id}", task),
    Route("/task/{id}/cancel", cancel, methods=["POST"]),
    Route("/language", language, methods=["POST"]),
    Route("/finish", finish),
    Route("/finish", remove, methods=["POST"]),
    Route(LOGIN, login_page),
    Route(LOGIN, login, methods=["POST"]),
]
