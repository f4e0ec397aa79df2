"""Step 4: what is promised, what it means, what it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.routing import Route

from shoal.app.curve import Curve, curves_of, draw, per_cent
from shoal.app.feasibility import Encoded, encode_job, impossible, open_questions, take_answer
from shoal.app.fields import (
    Field,
    model_fields,
    new_model,
    of_k,
    of_model,
    of_suppression,
    option_fields,
    read_model,
    read_options,
)
from shoal.app.hierarchy_preview import columns_with_trees, frame_of
from shoal.app.tasks import sentence_of
from shoal.app.views import answer, flash, page, part, problem, texts_of, to, words_of, work_of
from shoal.errors import OptionError, ShoalError
from shoal.registry import load, privacy_models
from shoal.table.schema import Role

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from shoal.app.workspace import Workspace
    from shoal.messages.language import Language
    from shoal.settings.job import Job


_PATH = "/promises"
_FURTHER = ("Promises", "Search")
_ELSEWHERE = ("k", "max_suppression")
_MOST_K = 200


def show(request: Request) -> Response:
    """Show every promise with its sentence, and the curve."""
    work = work_of(request)
    if work.table is None:
        return to("/open")
    _first_k(work)
    return page(request, "promises.html", **_shown(request, work))


def _first_k(work: Workspace) -> None:
    """Give a job without a k the one that suits a table of this size."""
    if work.job.k is None and work.table is not None:
        work.update(k=work.table.suggestion.k)


def _shown(request: Request, work: Workspace) -> dict[str, Any]:
    words, job = words_of(request), work.job
    wrong = impossible(encoded_of(request, work), job)
    quasi = [name for _, name in columns_with_trees(work)]
    sensitive, people = _sensitive(job), counts_people(job)
    n_rows = 0 if work.table is None else work.table.n_rows
    models = shown_models(words, job.privacy, sensitive, wrong, people=people)
    k = job.k if isinstance(job.k, int) else 2
    curve = None if wrong.get("columns") or not quasi else _curve(request, work)
    return {
        "k": k,
        "most_k": max(min(_MOST_K, n_rows), 2, k),
        "quasi": quasi,
        "of_k": of_k(words, k, quasi, people=people, job=job) if k >= 2 and quasi else "",
        "suppression": job.max_suppression or 0.0,
        "of_suppression": of_suppression(words, float(job.max_suppression or 0.0), n_rows),
        "models": models,
        "known": titles(),
        "sensitive": sensitive,
        "questions": open_questions(work),
        "further": {panel: option_fields(job, panel, _ELSEWHERE) for panel in _FURTHER},
        "wrong": wrong,
        "curve": curve,
    }


def shown_models(
    words: Language,
    privacy: Sequence[Mapping[str, Any]],
    sensitive: Sequence[str],
    wrong: Mapping[str, str],
    *,
    people: bool = False,
) -> list[dict[str, Any]]:
    """Return what a page shows of each promise beyond k."""
    models = []
    for place, table in enumerate(privacy):
        sentence, language = of_model(words, table, people=people)
        models.append(
            {
                "place": place,
                "name": table["model"],
                "title": load("privacy", str(table["model"])).title,
                "sentence": sentence,
                "language": language,
                "fields": model_fields(table, place, sensitive),
                "wrong": wrong.get(f"privacy.{place}", ""),
            }
        )
    return models


def titles() -> dict[str, str]:
    """Return every model with its title; those of other packages included."""
    return {name: load("privacy", name).title for name in privacy_models()}


def counts_people(job: Job) -> bool:
    """Return whether a job counts people: a column says whose row it is."""
    return any(column.role is Role.PERSON for column in job.columns.values())


def _sensitive(job: Job) -> list[str]:
    return [name for name, column in job.columns.items() if column.role is Role.SENSITIVE]


def encoded_of(request: Request, work: Workspace) -> Encoded:
    """Return the table as promises look at it; counted once for the same columns."""
    said = repr(sorted((name, repr(column)) for name, column in work.job.columns.items()))
    marks = (id(work.table), said, work.job.default_grid, work.job.unknown_values)
    kept: tuple[Any, Encoded] | None = getattr(request.app.state, "encoded", None)
    if kept is None or kept[0] != marks:
        kept = (marks, encode_job(frame_of(work), work.job))
        request.app.state.encoded = kept
    return kept[1]


def words_for_place(words: Language, place: str) -> str:
    """Return what a page calls the place of a setting."""
    if place == "columns":
        return words("Columns")
    return words("A further promise") if place.startswith("privacy.") else place


# -- changes -------------------------------------------------------------------------------------


async def save(request: Request) -> Response:
    """Take everything that the form says."""
    from anyio.to_thread import run_sync

    given = await texts_of(request)
    return await run_sync(_save, request, given)


def _save(request: Request, given: Mapping[str, str]) -> Response:
    work = work_of(request)
    try:
        with work.lock:
            work.change(work.job.replaced(**_changes(work.job, given)))
            if given.get("answer"):
                take_answer(work, given["answer"])
    except ShoalError as error:
        return problem(request, error, _PATH)
    if "application/json" not in request.headers.get("accept", ""):
        return to(_PATH)
    return answer(**_told(request))


def _changes(job: Job, given: Mapping[str, str]) -> dict[str, Any]:
    """Return what a form changes; a promise is added or removed by its own button."""
    numbers = [
        Field("k", "k", "whole", needed=True),
        Field("max_suppression", "max_suppression", "number"),
    ]
    shown = [each for panel in _FURTHER for each in option_fields(job, panel, _ELSEWHERE)]
    changes = read_options(job, given, [*numbers, *shown])
    if changes["k"] is None:
        raise OptionError("k must be a whole number of at least 2.")
    return {**changes, "privacy": changed_models(job.privacy, given, _sensitive(job)) or None}


def changed_models(
    privacy: Sequence[Mapping[str, Any]], given: Mapping[str, str], sensitive: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the promises beyond k as a form says them; buttons add one and take one away."""
    models = [
        read_model(table, place, given, sensitive)
        for place, table in enumerate(privacy)
        if given.get("remove") != str(place)
    ]
    added = given.get("model") if given.get("adding") else given.get("add")
    return [*models, new_model(added)] if added else models


def _told(request: Request) -> dict[str, Any]:
    work = work_of(request)
    shown = _shown(request, work)
    said = [shown["of_k"], *(each["sentence"] for each in shown["models"])]
    return {
        "html": part(request, "settings.html", **shown),
        "curve": part(request, "curve.html", **shown),
        "running": curves_of(request.app).running is not None,
        "said": " ".join(said[:1]),
    }


# -- the curve -----------------------------------------------------------------------------------


def _curve(request: Request, work: Workspace) -> dict[str, Any]:
    """Return the curve as far as it is known, and see to it that it is drawn."""
    curves = curves_of(request.app)
    error = ""
    try:
        curves.start()
    except ShoalError as problem_:
        error = sentence_of(problem_)
    found = curves.now()
    k = int(work.job.k)
    running = curves.running
    return {
        "found": found,
        "drawn": None if found is None else draw(found, k),
        "here": None if found is None else found.at(k),
        "rows": _rows(found, k),
        "running": running is not None,
        "error": error,
    }


def _rows(found: Curve | None, k: int) -> list[dict[str, Any]]:
    return [
        {
            "k": point.k,
            "loss": None if point.loss is None else per_cent(point.loss),
            "error": point.error,
            "here": point.k == k,
        }
        for point in (() if found is None else found.points)
    ]


def curve(request: Request) -> Response:
    """Return the curve as it is now, for a script."""
    work = work_of(request)
    if work.table is None:
        return answer(html="", running=False)
    k = work.job.k if isinstance(work.job.k, int) else 2
    shown = _curve(request, work)
    return answer(html=part(request, "curve.html", curve=shown, k=k), running=shown["running"])


def stop_curve(request: Request) -> Response:
    """Stop drawing it."""
    curves_of(request.app).stop()
    flash(request, words_of(request)("The curve is stopped; it goes on when you come back."))
    return to("/run")


routes = [
    Route(_PATH, show),
    Route(_PATH, save, methods=["POST"]),
    Route(_PATH + "/curve", curve),
    Route(_PATH + "/curve/stop", stop_curve, methods=["POST"]),
]
