"""Jobs of several files, and beside releases that are out: shown, kept, changed and run."""

import pytest
from tests.helpers.app_people import people

from shoal.app.history import history_of
from shoal.settings.files import Input, Output
from shoal.settings.job import Job, JobColumn
from shoal.settings.job_file import format_job, read_job
from shoal.settings.run_job import run_job

COLUMNS = {
    "name": JobColumn(role="person"),
    "age": JobColumn(role="quasi-identifier", kind="numeric"),
    "job": JobColumn(role="quasi-identifier", kind="flat"),
    "zip": JobColumn(role="drop"),
    "illness": JobColumn(role="sensitive"),
}


@pytest.fixture
def job(work):
    """A job that reads two files as one table, beside a release that is out."""
    table = people(120)
    table.head(60).write_csv(work.root / "first.csv")
    table.tail(60).write_csv(work.root / "second.csv")
    said = {"columns": COLUMNS, "k": 3, "algorithm": "mondrian", "seed": 5}
    source = Input(path=str(work.root / "first.csv"), more=(str(work.root / "second.csv"),))
    out = Output(table=str(work.root / "out.csv"), save=str(work.root / "out.shoal"))
    run_job(Job(input=source, output=out, **said))
    return Job(input=source, previous=(str(work.root / "out.shoal"),), **said)


@pytest.fixture
def opened(pages, job):
    path = pages.work.root / "job.toml"
    path.write_text(format_job(job, folder=path.parent), encoding="utf-8")
    pages.open_file("job.toml")
    return pages


def saved(pages):
    """Return the job as "Save the job file" gives it."""
    path = pages.work.root / "saved.toml"
    path.write_bytes(pages.get("/open/job.toml").content)
    return read_job(path)


def test_a_job_of_several_files_beside_a_release_is_shown_run_and_kept(opened, job):
    assert opened.work.table.n_rows == 120
    page = opened.get("/open").text
    assert "Read as one table with:" in page
    assert f"<bdi>{job.input.more[0]}</bdi>" in page
    assert f">{job.previous[0]}</textarea>" in opened.get("/promises").text
    assert saved(opened) == job
    opened.post("/promises", {"k": "4", "algorithm": "mondrian", "seed": "5"})
    assert saved(opened) == job.replaced(k=4)
    opened.post("/promises", {"k": "3", "algorithm": "mondrian", "seed": "5"})
    opened.post("/run", {"suffix": "csv"}, script=False)
    opened.wait("run")
    made = history_of(opened.work)[0]
    assert made.n_rows == 120
    assert any("over 2 releases" in sentence for sentence in made.checks)
    german = opened.get("/run", headers={"accept-language": "de"}).text
    assert "über 2 Veröffentlichungen" in german
    opened.post(f"/run/{made.id}/back", script=False)
    assert saved(opened).previous == job.previous
    assert saved(opened).input == job.input


def test_further_files_and_releases_are_named_on_the_page_and_taken_away(opened, job):
    opened.post("/open/reading", {"header": "yes", "more": ""})
    opened.wait("open")
    assert (opened.work.table.n_rows, opened.work.job.input.more) == (60, ())
    opened.post("/open/reading", {"header": "yes", "more": "second.csv\r\n"})
    opened.wait("open")
    assert opened.work.table.n_rows == 120
    assert opened.work.job.input.more == job.input.more
    said = {"k": "4", "algorithm": "mondrian"}
    opened.post("/promises", {**said, "previous": "out.shoal\r\n"})
    assert opened.work.job.previous == job.previous
    opened.post("/promises", {**said, "previous": job.previous[0]})
    assert opened.work.job.previous == job.previous
    opened.post("/promises", {**said, "previous": ""})
    assert "previous" not in opened.work.job.options


@pytest.mark.parametrize("name", ["../private/state.json", "/etc/hostname", "nothing.shoal"])
def test_files_are_named_only_where_they_may_be_opened(opened, name):
    before = opened.work.job
    for path, given in (
        ("/open/reading", {"header": "yes", "more": name}),
        ("/promises", {"k": "4", "previous": name}),
    ):
        told = opened.post(path, given)
        assert told.status_code == 400
        assert "error" in told.json()
    assert opened.work.job == before


def test_a_dropped_job_takes_its_releases_from_beside_the_table(opened, job):
    there = job.previous[0]
    for named in (there, "out.shoal"):
        text = format_job(job).replace(f'"{there}"', f'"{named}"').encode()
        opened.post("/promises", {"k": "4", "algorithm": "mondrian", "previous": ""})
        assert opened.drop("job.toml", text).status_code == 200
        assert opened.work.job.previous == (there,)
    before = opened.work.job
    for named in ("/etc/hostname", "nothing.shoal"):
        text = format_job(job).replace(f'"{there}"', f'"{named}"').encode()
        assert opened.drop("job.toml", text).status_code == 400
        assert opened.work.job == before
