"""Work behind the page: progress, stopping, one sentence for what fails, nothing stale."""

import threading

import pytest

from shoal.app.tasks import Tasks
from shoal.errors import DataError


@pytest.fixture
def tasks():
    found = Tasks()
    yield found
    found.stop_all(10)


def test_work_tells_its_progress_and_its_result(tasks):
    go, told = threading.Event(), threading.Event()

    def work(report):
        report(30, 120, "reading")
        told.set()
        assert go.wait(30)
        return 7

    task = tasks.start("open", work, revision=3)
    assert told.wait(30)
    now = task.to_dict()
    assert (now["state"], now["share"], now["what"]) == ("running", 0.25, "reading")
    assert tasks.running("open") is task
    go.set()
    assert task.wait(30)
    assert task.state == "done"
    assert tasks.result("open", 3) == 7
    assert tasks.result("open", 4) is None
    assert "result" not in task.to_dict()


def test_work_stops_where_it_tells_its_progress(tasks):
    begun = threading.Event()

    def work(report):
        while True:
            report(0, 0, "searching")
            begun.set()

    task = tasks.start("run", work)
    assert begun.wait(30)
    task.cancel()
    assert task.wait(30)
    assert (task.state, task.result, task.error) == ("stopped", None, "")


def test_new_work_of_a_kind_stops_the_one_before(tasks):
    def forever(report):
        while True:
            report(0, 0, "searching")

    first = tasks.start("run", forever)
    second = tasks.start("run", lambda report: "new")
    assert first.wait(30)
    assert second.wait(30)
    assert (first.state, second.state) == ("stopped", "done")
    assert tasks.latest("run") is second


def test_what_comes_too_late_is_thrown_away(tasks):
    begun, go = threading.Event(), threading.Event()

    def work(_):
        begun.set()
        assert go.wait(30)
        return "late"

    taken = []
    task = tasks.start("run", work, then=taken.append)
    assert begun.wait(30)
    task.cancel()
    go.set()
    assert task.wait(30)
    assert (task.state, task.result, taken) == ("stopped", None, [])


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (DataError("'t.csv' is empty."), "'t.csv' is empty."),
        (DataError("postgresql://u:pw@host/x fails."), "postgresql://***@host/x fails."),
        (ValueError("Mrs Miller"), "Shoal failed unexpectedly (ValueError); please report it."),
        (OSError(28, "No space left"), "The system refuses to go on: No space left."),
        (MemoryError(), "The table does not fit into the memory of this machine."),
    ],
)
def test_what_fails_is_one_sentence_without_a_cell(tasks, error, sentence):
    def work(_):
        raise error

    task = tasks.start("run", work)
    assert task.wait(30)
    assert (task.state, task.error) == ("failed", sentence)


def test_a_page_can_ask_for_progress_and_stop_work(pages):
    begun = threading.Event()

    def work(report):
        while True:
            report(1, 4, "reading")
            begun.set()

    task = pages.app.state.tasks.start("slow", work)
    assert begun.wait(30)
    told = pages.get(f"/task/{task.id}").json()
    assert (told["state"], told["share"]) == ("running", 0.25)
    assert pages.post(f"/task/{task.id}/cancel").status_code == 200
    assert task.wait(30)
    assert pages.get(f"/task/{task.id}").json()["state"] == "stopped"
    assert pages.get("/task/nothing").status_code == 404
