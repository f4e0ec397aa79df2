"""The application: routes of all steps, behind the guard."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from shoal.app import shared
from shoal.app.guard import Guard, Guarded
from shoal.app.retold import quote
from shoal.app.steps import STEPS
from shoal.app.tasks import Tasks, sentence_of
from shoal.app.views import page, problem, words_of, work_of
from shoal.errors import ShoalError

if TYPE_CHECKING:
    from starlette.requests import Request

    from shoal.app.workspace import Workspace

__all__ = ["create_app"]

_STATIC = Path(__file__).parent / "static"


def create_app(work: Workspace, guard: Guard) -> Starlette:
    """Return the application for one state of work.

    Args:
        work: the state of work.
        guard: who may ask.
    """
    routes: list[BaseRoute] = [*shared.routes]
    for step in STEPS:
        found: list[Route] = import_module(f"shoal.app.steps.{step.name}").routes
        routes += found
    routes.append(Mount("/static", StaticFiles(directory=_STATIC), name="static"))
    app = Starlette(
        routes=routes,
        exception_handlers={
            ShoalError: _refused,
            HTTPException: _no_page,
            Exception: _failed,
        },
    )
    app.state.work = work
    app.state.guard = guard
    app.state.tasks = Tasks(work.own_words)
    app.state.at_the_door = anyio.Lock()
    app.router.redirect_slashes = False  # it would lead out of the session
    app.add_middleware(Guarded, guard=guard)
    return app


def _refused(request: Request, error: Exception) -> Response:
    """Answer with one sentence on the page that was asked from."""
    step = next((each for each in STEPS if request.url.path.startswith(each.path)), STEPS[0])
    if request.method == "GET" and request.url.path == step.path:
        return page(
            request,
            "problem.html",
            status=400,
            sentence=quote(words_of(request), work_of(request).own_words(sentence_of(error))),
        )
    return problem(request, error, step.path)


def _no_page(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    if status == 404:
        words = words_of(request)
        return page(request, "problem.html", status=404, sentence=words("There is no such page."))
    return PlainTextResponse("This is not answered here.", status_code=status)


def _failed(request: Request, error: Exception) -> Response:
    """Answer what nobody planned for: one sentence, no trace."""
    del request
    return PlainTextResponse(sentence_of(error), status_code=500)
