"""From a template to a page: language, steps at the side, messages, and answers to scripts."""

from __future__ import annotations

import re
import threading
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.ext import Extension
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from shoal.app.access import SESSION
from shoal.app.steps import SEVERAL, STEPS
from shoal.app.tasks import Tasks, sentence_of
from shoal.messages.language import LANGUAGES, Language, language_of

if TYPE_CHECKING:
    from starlette.requests import Request

    from shoal.app.access import Guard, Session
    from shoal.app.workspace import Workspace


LANGUAGE_COOKIE = "shoal_language"
_MOST_FLASHES = 10
_LOCK = threading.Lock()


class _Addresses(Extension):
    """Puts the path of the session before every address in a template: ``"/open"`` is inside."""

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        """Return the text of a template with its addresses."""
        del name, filename
        return re.sub(r'="(?=/|\{\{ step\.path \}\}")', '="{{ at }}', source)


@cache
def _templates() -> Environment:
    return Environment(
        loader=PackageLoader("shoal.app"),
        autoescape=True,
        extensions=[_Addresses],
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )


async def texts_of(request: Request) -> dict[str, str]:
    """Return the texts of a form by the names of their fields."""
    form = await request.form()
    return {key: str(value) for key, value in form.items() if isinstance(value, str)}


def say(words: Language, text: str) -> Markup:
    """Return a message of the rooms below for a page, with its language."""
    language = words.language if words.knows(text) else "en"
    return Markup('<span lang="{}">{}</span>').format(language, words.translate(text))


def quote(words: Language, text: str) -> Markup:
    """Return an error or a note of the rooms below for a page.

    What has no translation, such as a sentence of a plug-in, is introduced in the language of the
    page and marked as English, so that a screen reader reads it as that.
    """
    if words.knows(text):
        return escape(words.translate(text))
    return Markup('{} <q lang="en">{}</q>').format(lead_in(words), text)


def lead_in(words: Language) -> str:
    """Return what introduces an English sentence; nothing on an English page."""
    return "" if words.language == "en" else words("Shoal says in English:")


def work_of(request: Request) -> Workspace:
    """Return the state of work."""
    work: Workspace = request.app.state.work
    return work


def tasks_of(request: Request) -> Tasks:
    """Return the work behind the pages."""
    tasks: Tasks = request.app.state.tasks
    return tasks


def guard_of(request: Request) -> Guard:
    """Return who may ask."""
    guard: Guard = request.app.state.guard
    return guard


def session_of(request: Request) -> Session | None:
    """Return the browser that asks; None if it was not let in."""
    session: Session | None = request.scope.get(SESSION)
    return session


def words_of(request: Request) -> Language:
    """Return texts in the language of this request."""
    chosen = request.cookies.get(LANGUAGE_COOKIE)
    return Language(language_of(chosen, request.headers.get("accept-language", "")))


def flash(request: Request, text: str, kind: str = "good") -> None:
    """Show a sentence on the next page of this browser: ``good``, ``bad`` or ``note``."""
    session = session_of(request)
    if session is not None:
        with _LOCK:
            session.flashes.append((kind, text))
            del session.flashes[:-_MOST_FLASHES]


def part(request: Request, template: str, **values: Any) -> str:
    """Return a piece of a page, for a script to put in place."""
    words, session = words_of(request), session_of(request)
    return (
        _templates()
        .get_template(template)
        .render(
            _=words,
            plural=words.plural,
            number=words.number,
            share=words.share,
            language=words.language,
            say=partial(say, words),
            quote=lambda text: quote(words, work_of(request).own_words(text)),
            lead_in=lead_in(words),
            at="" if session is None else session.path,
            **values,
        )
    )


def page(request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a whole page.

    Args:
        request: what was asked.
        template: a file of ``templates/`` that extends ``layout.html``.
        status: of the answer.
        values: what the template shows.
    """
    flashes: list[tuple[str, str]] = []
    session = session_of(request)
    if session is not None:
        with _LOCK:
            flashes += session.flashes
            session.flashes.clear()
    work = work_of(request)
    with work.lock:  # so that nobody closes the table while it is shown
        text = part(
            request,
            template,
            steps=STEPS,
            several_page=SEVERAL,
            here=request.url.path,
            work=work,
            flashes=flashes,
            languages={code: Language(code)("English") for code in LANGUAGES},
            **values,
        )
    return HTMLResponse(text, status_code=status)


def to(path: str) -> Response:
    """Return an answer that sends the browser to another page of ours."""
    return RedirectResponse(path, status_code=303)


def answer(**values: Any) -> JSONResponse:
    """Return an answer to a script."""
    return JSONResponse(values)


def problem(request: Request, error: BaseException, back: str) -> Response:
    """Return what a failed request shows: one sentence, to a script or on the page before."""
    sentence = work_of(request).own_words(sentence_of(error))
    if "application/json" in request.headers.get("accept", ""):
        words = words_of(request)
        lead = "" if words.knows(sentence) else lead_in(words)
        return JSONResponse({"error": words.translate(sentence), "lead": lead}, status_code=400)
    flash(request, quote(words_of(request), sentence), "bad")
    return to(back)
