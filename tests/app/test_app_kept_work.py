"""Work is not lost: nothing goes before another table is open, and what is closed comes back."""

import pytest
from tests.helpers.app_people import people

from shoal.app.runs import history_of
from shoal.app.workspace import Workspace
from shoal.table.schema import Role

SAV = b"$FL2@(#) SPSS DATA FILE" + bytes(200)


@pytest.fixture
def worked(pages):
    """A server with a table, a role and a promise of its own, and a run."""
    pages.drop("people.csv", people(60).write_csv().encode())
    pages.post("/columns/1", {"role": "insensitive"})
    pages.work.update(k=5, algorithm="mondrian", seed=3)
    pages.post("/run", {"suffix": "csv"}, script=False)
    pages.wait("run")
    return pages


def state_of(work):
    """What an officer would miss: the table, what was said about it, and its runs with files."""
    files = [
        each.files(work.subfolder("results")).release.read_bytes() for each in history_of(work)
    ]
    return work.source, work.job, [each.id for each in history_of(work)], files, work.table.names


@pytest.mark.parametrize("name", ["study.sav", "study.csv", "study.parquet", "study.xlsx"])
def test_a_refused_file_leaves_the_open_table_with_roles_promises_and_runs(worked, name):
    before = state_of(worked.work)
    worked.drop(name, SAV, wait=False)
    task = worked.app.state.tasks.latest("open")
    assert task.wait(60)
    assert task.state == "failed"
    assert state_of(worked.work) == before
    page = worked.get("/open").text
    assert 'role="alert"' in page
    assert '<h2 id="shown"><bdi>people.csv</bdi></h2>' in page
    assert "What is each column?" in worked.get("/columns").text


def test_the_error_of_a_refused_file_goes_with_it(worked):
    worked.drop("study.sav", SAV, wait=False)
    assert worked.app.state.tasks.latest("open").wait(60)
    assert 'role="alert"' in worked.get("/open").text.partition('id="shown"')[0]
    assert worked.post("/open/leave").status_code == 303
    page = worked.get("/open").text
    assert "study.sav" not in page
    assert 'class="flash bad"' not in page
    assert [p.name for p in worked.work.folder.glob("data/*/*")] == ["people.csv"]


@pytest.mark.parametrize(
    "said",
    [{"header": "yes", "encoding": "utf-16"}, {"header": "yes", "more": "other.csv"}],
)
def test_another_way_of_reading_that_fails_leaves_everything(worked, said):
    (worked.work.root / "other.csv").write_text("height\n1\n")
    before = state_of(worked.work)
    worked.post("/open/reading", said)
    task = worked.app.state.tasks.latest("open")
    assert task.wait(60)
    assert task.state == "failed"
    assert state_of(worked.work) == before


def test_another_table_waits_for_an_answer(worked, patients):
    before = state_of(worked.work)
    worked.drop("two.csv", patients)
    assert state_of(worked.work) == before
    page = worked.get("/open").text
    assert "Open two.csv in place of people.csv?" in page
    worked.post("/open/leave")
    assert state_of(worked.work) == before
    assert "in place of" not in worked.get("/open").text
    worked.drop("two.csv", patients)
    worked.post("/open/take")
    assert worked.work.source.name == "two.csv"
    assert worked.work.table.n_rows == 200
    assert history_of(worked.work) == []


def test_a_table_that_nobody_has_worked_on_is_replaced_without_a_question(pages, patients):
    pages.drop("one.csv", patients)
    pages.drop("two.csv", patients)
    assert pages.work.source.name == "two.csv"
    assert pages.work.asides() == []


def test_closing_asks_and_a_closed_job_is_reopened_with_its_runs(worked, patients):
    before = state_of(worked.work)
    assert "Close people.csv?" in worked.get("/open/close").text
    assert state_of(worked.work) == before
    worked.post("/open/close")
    assert worked.work.source is None
    page = worked.get("/open").text
    assert "people.csv" in page
    assert "Reopen" in page
    worked.drop("two.csv", patients)
    (closed,) = worked.work.asides()
    worked.post(f"/open/reopen/{closed.id}")
    worked.wait("open")
    assert state_of(worked.work) == before
    assert worked.work.asides() == []  # two.csv was only looked at


def test_one_job_after_another_is_reopened_and_none_is_lost(worked, patients):
    first = state_of(worked.work)
    worked.drop("two.csv", patients)
    worked.post("/open/take")
    worked.post("/columns/1", {"role": "drop"})
    second = worked.work.job
    for turn in range(4):
        (other,) = worked.work.asides()
        worked.post(f"/open/reopen/{other.id}")
        worked.wait("open")
        if turn % 2:
            assert worked.work.job == second
        else:
            assert state_of(worked.work) == first


def test_reading_anew_and_a_dropped_job_file_leave_the_settings_until_then_to_reopen(worked):
    before = state_of(worked.work)
    worked.post("/open/reading", {"header": "yes"})
    worked.wait("open")
    assert worked.work.job.columns["age"].role is not Role.INSENSITIVE
    worked.post(f"/open/reopen/{worked.work.asides()[0].id}")
    worked.wait("open")
    assert state_of(worked.work) == before
    worked.drop("job.toml", b"k = 7\n")
    assert (worked.work.job.k, worked.work.job.columns) == (7, {})
    worked.post(f"/open/reopen/{worked.work.asides()[0].id}")
    worked.wait("open")
    assert state_of(worked.work) == before


def test_a_closed_job_outlives_the_server_and_asks_for_its_copy(worked, patients):
    from tests.app.conftest import Pages

    job, content = worked.work.job, people(60).write_csv().encode()
    worked.post("/open/close")
    worked.work.leave()
    again = Workspace(worked.work.folder, worked.work.root)
    assert not (again.folder / "data").exists()
    restarted = Pages(again)
    try:
        (closed,) = again.asides()
        restarted.post(f"/open/reopen/{closed.id}")
        assert "Drop the same file again" in restarted.get("/open").text
        restarted.drop("people.csv", content)
        assert again.job.columns == job.columns
        assert again.table.n_rows == 60
        assert again.asides() == []
    finally:
        restarted.end()
        again.leave()


def test_a_closed_job_that_is_removed_leaves_no_file(worked):
    worked.post("/hierarchies/2/use", {"method": "frequency"}, script=False)
    worked.post("/open/close")
    (closed,) = worked.work.asides()
    worked.post(f"/open/forget/{closed.id}")
    left = {p.name for p in worked.work.folder.rglob("*") if p.is_file()}
    assert left == {".claim", "job.toml", "state.json"}


def test_finishing_removes_what_was_put_aside(worked):
    worked.post("/open/close")
    worked.post("/finish")
    left = {p.name for p in worked.work.folder.rglob("*") if p.is_file()}
    assert left == {".claim", "job.toml", "state.json"}


def test_a_page_that_is_asked_while_a_table_is_taken_is_whole(pages, patients, monkeypatch):
    """Between reading a table and having it open there is no moment that a page could show."""
    import threading

    take, begun = Workspace.take_opening, threading.Event()

    def slowly(work):
        begun.set()
        asked.join(0.3)  # as long as somebody asks, unless they wait for us
        take(work)

    monkeypatch.setattr(Workspace, "take_opening", slowly)
    answers = []

    def ask():
        assert begun.wait(60)
        answers.append(pages.get("/open"))

    asked = threading.Thread(target=ask)
    asked.start()
    pages.drop("patients.csv", patients)
    asked.join(60)
    assert [answer.status_code for answer in answers] == [200]
    assert "200 rows, 5 columns" in answers[0].text


def test_a_run_of_a_closed_table_is_no_run_of_the_next(pages, patients, monkeypatch):
    from tests.helpers.app_held import hold_runs

    hold = hold_runs(monkeypatch)
    pages.drop("people.csv", people(60).write_csv().encode())
    pages.work.update(k=5, algorithm="held", seed=3)
    pages.post("/run", {"suffix": "csv"}, script=False)
    assert hold.begun.wait(60)
    pages.drop("two.csv", patients)
    pages.post("/open/take")
    hold.go.set()
    assert pages.app.state.tasks.latest("run").wait(60)
    assert pages.work.source.name == "two.csv"
    assert history_of(pages.work) == []
