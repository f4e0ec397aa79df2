"""Step 6: attack the release of a run before others do it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.routing import Route

from shoal.app.hierarchy_preview import frame_of
from shoal.app.runs import find_run, is_current, settled
from shoal.app.steps.run import chosen_run
from shoal.app.views import page, tasks_of, to, work_of
from shoal.errors import DataError
from shoal.publish.limited import limited_of
from shoal.report.page import ATTACK_GROUPS

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from shoal.app.runs import Tried
    from shoal.app.tasks import Task
    from shoal.app.workspace import Workspace
    from shoal.runtime.progress import Report


_PATH, _TASK, _KEPT = "/attack", "attack", "attacked"


def show(request: Request) -> Response:
    """Show how far attackers get with the release of a run."""
    work, tasks = work_of(request), tasks_of(request)
    if work.table is None:
        return to("/open")
    run = chosen_run(request, work)
    latest = tasks.latest(_TASK)
    is_news = run is not None and latest is not None and latest.next.endswith(run.id)
    failed = latest.error if latest is not None and is_news and latest.state == "failed" else ""
    return page(
        request,
        "attack.html",
        run=run,
        older=run is not None and not is_current(work, run),
        has_files=run is not None and run.files(work.subfolder("results")).release.is_file(),
        task=tasks.running(_TASK),
        failed=failed,
        found=None if run is None else attacks_on(work, run),
        groups=ATTACK_GROUPS,
    )


def attacks_on(work: Workspace, run: Tried) -> dict[str, Any] | None:
    """Return what attackers found in the release of a run; None if nobody attacked it."""
    found: dict[str, Any] | None = (work.kept(_KEPT) or {}).get(run.id)
    return found


def start(request: Request) -> Response:
    """Let the attackers come."""
    work, tasks = work_of(request), tasks_of(request)
    run = find_run(work, request.path_params["id"])
    results = work.subfolder("results")
    files = run.files(results)
    if not files.release.is_file():
        raise DataError("The files of this run are no longer there; run it again.")
    job = run.read_job(results)
    frame = frame_of(work, job)

    def attack(report: Report) -> dict[str, Any]:
        from shoal.io.read import read_table
        from shoal.study.audit import audit_of_release

        report(0, 0, "attacking")
        asked = job.request()
        _, schema = settled(asked, frame)
        published = read_table(files.release)
        limited = limited_of(asked.knows, asked.combinations)
        return audit_of_release(frame, published, schema, asked.style, limited=limited).to_dict()

    def keep(task: Task) -> None:
        # of the runs that are still there
        known = {each["id"] for each in work.kept("history") or ()}
        found = {**(work.kept(_KEPT) or {}), run.id: task.result}
        work.keep(_KEPT, {name: each for name, each in found.items() if name in known})

    place = f"{_PATH}?run={run.id}"
    tasks.start(_TASK, attack, next_page=place, then=keep)
    return to(place)


routes = [
    Route(_PATH, show),
    Route(_PATH + "/{id}", start, methods=["POST"]),
]
