"""Step 5: run the job, look at what it made, take advice, go back."""

from __future__ import annotations

import shutil
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.responses import Response
from starlette.routing import Route

from shoal.app.curve import curves_of
from shoal.app.feasibility import check_answered, impossible, open_questions, take_answer
from shoal.app.fields import of_k, of_model
from shoal.app.hierarchy_preview import columns_with_trees, frame_of, list_values
from shoal.app.runs import (
    NO_CHANGE,
    Tried,
    apply_settings,
    differences,
    find_run,
    go_back,
    history_of,
    is_current,
    look_beside,
    record,
    run_in,
)
from shoal.app.steps.promises import counts_people, encoded_of, words_for_place
from shoal.app.views import answer, flash, page, part, problem, tasks_of, to, words_of, work_of
from shoal.errors import OptionError, ShoalError
from shoal.io.formats import WRITTEN

if TYPE_CHECKING:
    from starlette.requests import Request

    from shoal.app.before_after import Beside
    from shoal.app.tasks import Task
    from shoal.app.workspace import Workspace
    from shoal.runtime.progress import Report


_PATH = "/run"
_TASK, _EXPLAIN = "run", "explain"
_GROUPS, _ROWS = 5, 8
_MOST_TRIED = 5_000
REPORT_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""The report carries its own style and runs nothing."""
_BANNER = "padding: .5rem 1rem; border: 2px solid #c9a227; background: #fff8e6; color: #14212b"


def show(request: Request) -> Response:
    """Show what will run, the run that is under way, or what came of one."""
    work, tasks = work_of(request), tasks_of(request)
    if work.table is None:
        return to("/open")
    words, job = words_of(request), work.job
    wrong = {} if job.k is None else impossible(encoded_of(request, work), job)
    runs = history_of(work)
    run = chosen_run(request, work)
    latest = tasks.latest(_TASK)
    if latest is not None and latest.revision != work.revision:
        latest = None  # its cause may be gone: settings have changed
    quasi = [name for _, name in columns_with_trees(work)]
    ready = isinstance(job.k, int) and job.k > 1 and bool(quasi)
    people = counts_people(job)
    sentences = [of_k(words, job.k, quasi, people=people, job=job)] if ready else []
    return page(
        request,
        "run.html",
        task=tasks.running(_TASK),
        failed="" if latest is None or latest.state != "failed" else latest.error,
        stopped=latest is not None and latest.state == "stopped" and not tasks.running(_TASK),
        sentences=[(each, words.language) for each in sentences]
        + [of_model(words, table, people=people) for table in job.privacy],
        wrong=[(words_for_place(words, place), text) for place, text in wrong.items()],
        ready=ready,
        questions=open_questions(work),
        formats=WRITTEN,
        output=job.output,
        suffix=work.kept("suffix") or "csv",
        runs=runs,
        run=run,
        has_files=run is not None and run.files(work.subfolder("results")).release.is_file(),
        bars=[] if run is None else sorted(run.by_column.items(), key=lambda each: -each[1]),
        beside=None if run is None else _page_of_groups(request, work, run),
        advice=None if run is None else _advice(request, work, run),
        explaining=tasks.running(_EXPLAIN),
        explain_failed=_explain_failed(request, run),
        differs=[] if run is None else [(each, differences(run, each)) for each in runs],
        current={each.id for each in runs if is_current(work, each)},
    )


def chosen_run(request: Request, work: Workspace) -> Tried | None:
    """Return the run that a page is about: the one asked for, else the latest."""
    runs = history_of(work)
    wanted = request.query_params.get("run") or work.kept("shown")
    return next((each for each in runs if each.id == wanted), runs[0] if runs else None)


# -- running -------------------------------------------------------------------------------------


async def start(request: Request) -> Response:
    """Run the job as it is set."""
    from anyio.to_thread import run_sync

    form = await request.form()
    given = {key: str(value).strip() for key, value in form.items() if isinstance(value, str)}
    return await run_sync(_start, request, given)


def _start(request: Request, given: dict[str, str]) -> Response:
    work = work_of(request)
    suffix = given.get("suffix", "csv")
    try:
        if suffix not in WRITTEN:
            raise OptionError("The format must be one of {formats}.", formats=", ".join(WRITTEN))
        about: dict[str, Any] = {
            name: given.get(name) or None for name in ("title", "owner", "purpose")
        }
        with work.lock:
            work.change(work.job.replaced(output=replace(work.job.output, **about)))
            work.keep("suffix", suffix)
        _run(request)
    except ShoalError as error:
        return problem(request, error, _PATH)
    return to(_PATH)


async def answered(request: Request) -> Response:
    """Take the answer to a question that is open."""
    from anyio.to_thread import run_sync

    form = await request.form()
    said = str(form.get("answer", ""))
    try:
        await run_sync(take_answer, work_of(request), said)
    except ShoalError as error:
        return problem(request, error, _PATH)
    return to(_PATH)


def _run(request: Request) -> Task:
    """Start a run of the present job; the curve lets it have the machine."""
    work, tasks = work_of(request), tasks_of(request)
    check_answered(work)
    job = work.runnable()
    job.request()  # a wrong option is said at once
    job = job.replaced(output=replace(job.output, language=words_of(request).language))
    curves_of(request.app).stop()
    results, suffix = work.subfolder("results"), work.kept("suffix") or "csv"
    source, frame = work.source, None if work.table is None else work.table.frame

    def keep(task: Task) -> None:
        tried: Tried = task.result
        with work.lock:
            if work.source is not source:  # its table was closed since
                shutil.rmtree(tried.files(results).folder, ignore_errors=True)
                return
            record(work, tried)
            work.keep("shown", tried.id)

    def run(report: Report) -> Tried:
        return run_in(results, job, report, suffix=suffix, frame=frame)

    return tasks.start(_TASK, run, revision=work.revision, next_page=f"{_PATH}#result", then=keep)


# -- before and after ----------------------------------------------------------------------------


def _beside(request: Request, work: Workspace, run: Tried) -> Beside | None:
    """Return the groups of a run with their original rows; the last one is remembered."""
    files = run.files(work.subfolder("results"))
    kept: tuple[str, Beside | None] | None = getattr(request.app.state, "beside", None)
    if kept is not None and kept[0] == run.id:
        return kept[1]
    if not files.groups.is_file():
        return None
    job = run.read_job(work.subfolder("results"))
    found = look_beside(files, job, frame_of(work, job))
    request.app.state.beside = (run.id, found)
    return found


def _page_of_groups(request: Request, work: Workspace, run: Tried) -> dict[str, Any] | None:
    try:
        found = _beside(request, work, run)
    except ShoalError:
        found = None
    if found is None:
        return None
    text = request.query_params.get("page", "1")
    pages = max((found.n_groups + _GROUPS - 1) // _GROUPS, 1)
    number = min(max(int(text) if text.isdecimal() and len(text) < 9 else 1, 1), pages)
    out = found.left_out(0, _ROWS)
    return {
        "names": found.names,
        "n_keys": found.n_keys,
        "groups": found.page((number - 1) * _GROUPS, _GROUPS, _ROWS),
        "n_groups": found.n_groups,
        "page": number,
        "pages": pages,
        "run": run.id,
        "left_out": out if number == pages and out.n_rows else None,
    }


def groups(request: Request) -> Response:
    """Return another page of groups, for a script."""
    work = work_of(request)
    run = chosen_run(request, work)
    shown = None if run is None else _page_of_groups(request, work, run)
    return answer(html="" if shown is None else part(request, "beside.html", beside=shown))


# -- advice --------------------------------------------------------------------------------------


def explain(request: Request) -> Response:
    """Measure what costs most, by trying."""
    work, tasks = work_of(request), tasks_of(request)
    run = find_run(work, request.path_params["id"])
    job = go_back(work, run)
    frame = frame_of(work, job)
    curves_of(request.app).stop()

    def measure(report: Report) -> dict[str, Any]:
        from shoal.study.explain import explain_request

        found = explain_request(frame, job.request(), max_rows=_MOST_TRIED, progress=report)
        return {
            "run": run.id,
            "advice": [asdict(each) for each in (*found.to_do, *found.further)],
            "n_to_do": len(found.to_do),
            "n_tried": found.n_tried,
            "n_rows": found.n_rows,
            "loss": found.loss,
        }

    def keep(task: Task) -> None:
        work.keep("explained", task.result)

    place = f"{_PATH}?run={run.id}#advice"
    tasks.start(_EXPLAIN, measure, revision=work.revision, next_page=place, then=keep)
    return to(place)


def _explain_failed(request: Request, run: Tried | None) -> str:
    latest = tasks_of(request).latest(_EXPLAIN)
    if (
        run is None
        or latest is None
        or latest.state != "failed"
        or f"={run.id}#" not in latest.next
    ):
        return ""
    return latest.error if latest.revision == work_of(request).revision else ""


def _advice(request: Request, work: Workspace, run: Tried) -> dict[str, Any] | None:
    del request
    found: dict[str, Any] | None = work.kept("explained")
    if found is None or found["run"] != run.id:
        return None
    shown = [{**each, "why": "" if each["settings"] else NO_CHANGE} for each in found["advice"]]
    return {**found, "advice": shown}


def apply(request: Request) -> Response:
    """Do what one piece of advice says, and run again."""
    work, words = work_of(request), words_of(request)
    run = find_run(work, request.path_params["id"])
    found = _advice(request, work, run)
    place = request.path_params["place"]
    try:
        if found is None or place >= len(found["advice"]):
            raise OptionError("This advice belongs to another run; ask again what costs most.")
        settings = found["advice"][place]["settings"]
        if not settings:
            raise OptionError(NO_CHANGE)
        with work.lock:
            before = go_back(work, run)
            work.change(apply_settings(before, settings, partial(list_values, work)))
        _run(request)
    except ShoalError as error:
        return problem(request, error, f"{_PATH}?run={run.id}")
    flash(request, words("The advice is applied; the job runs again."))
    return to(_PATH)


# -- history -------------------------------------------------------------------------------------


def back(request: Request) -> Response:
    """Take the settings of an earlier run again."""
    work, words = work_of(request), words_of(request)
    run = find_run(work, request.path_params["id"])
    with work.lock:
        work.change(go_back(work, run))
        work.keep("shown", run.id)
    flash(request, words("The settings of this run are back."))
    return to(_PATH)


def forget(request: Request) -> Response:
    """Remove the history with its files."""
    work = work_of(request)
    for run in history_of(work):
        shutil.rmtree(work.subfolder("results") / run.id, ignore_errors=True)
    for name in ("history", "shown", "explained"):
        work.keep(name, None)
    request.app.state.beside = None
    return to(_PATH)


def report(request: Request) -> Response:
    """Show the report of a run."""
    work = work_of(request)
    run = find_run(work, request.path_params["id"])
    path = run.files(work.subfolder("results")).report
    if not path.is_file():
        raise OptionError("The files of this run are no longer there; run it again.")
    page_of_report = path.read_bytes()
    if not is_current(work, run):
        said = f'<div style="{_BANNER}">{part(request, "older.html", run=run)}</div>'
        page_of_report = page_of_report.replace(b"<body>", b"<body>" + said.encode(), 1)
    return Response(
        page_of_report,
        media_type="text/html; charset=utf-8",
        headers={"content-security-policy": REPORT_POLICY},
    )


routes = [
    Route(_PATH, show),
    Route(_PATH, start, methods=["POST"]),
    Route(_PATH + "/answer", answered, methods=["POST"]),
    Route(_PATH + "/groups", groups),
    Route(_PATH + "/forget", forget, methods=["POST"]),
    Route(_PATH + "/{id}/report.html", report),
    Route(_PATH + "/{id}/explain", explain, methods=["POST"]),
    Route(_PATH + "/{id}/apply/{place:int}", apply, methods=["POST"]),
    Route(_PATH + "/{id}/back", back, methods=["POST"]),
]
