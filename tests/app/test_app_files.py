"""Jobs of several files, and beside releases that are out: shown, kept, changed and run."""

import ctypes
import os
from dataclasses import MISSING, fields

import pytest
from tests.helpers.app_people import people

from shoal import registry
from shoal.app.feasibility import open_questions
from shoal.app.runs import history_of
from shoal.app.serve import open_named
from shoal.run.job import run_job
from shoal.settings.files import Input, Output
from shoal.settings.job import JOB_OPTIONS, TABLE, Job, JobColumn
from shoal.settings.job_file import format_job, read_job

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
    for about, column in open_questions(opened.work):
        assert about == "promise"  # a job of one's own may promise nothing, and says so once
        opened.post("/run/answer", {"answer": f"without:{column}"}, script=False)
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


# -- what a page may open ------------------------------------------------------------------------


class Watched:
    """A table outside the folder; the system itself tells whether anybody has opened it."""

    def __init__(self, path):
        self.path = path
        path.write_bytes(people(60).drop("name", "illness").write_csv().encode())
        system = ctypes.CDLL(None, use_errno=True)
        self._watch = system.inotify_init1(os.O_NONBLOCK)
        assert system.inotify_add_watch(self._watch, os.fsencode(path), 0x20) > 0  # IN_OPEN

    @property
    def was_opened(self):
        try:
            return bool(os.read(self._watch, 65536))
        except BlockingIOError:
            return False

    def close(self):
        os.close(self._watch)


@pytest.fixture
def outside(tmp_path):
    found = Watched(tmp_path / "outside.csv")
    assert not found.was_opened
    found.path.read_bytes()
    assert found.was_opened
    yield found
    found.close()


def options_that_name(path):
    """Yield every option of a run that may hold a text, and every one of a promise."""
    for name, row in JOB_OPTIONS.items():
        if row.plain_type == "str":
            yield name, {name: str(path)}
        elif row.plain_type == "list[str]":
            yield name, {name: (str(path),)}
        elif row.plain_type == TABLE:
            yield name, {name: dict.fromkeys(row.parts or ("some",), str(path))}
    for model in registry.privacy_models():
        options = fields(registry.load("privacy", model))
        needed = {each.name: 2 for each in options if each.default is MISSING}
        for each in options:
            if each.type not in ("int", "float", "float | None", "int | None"):
                said = {"model": model, **needed, each.name: str(path)}
                yield f"{model}.{each.name}", {"privacy": (said,)}


def test_no_text_of_a_dropped_job_makes_a_page_open_a_file_elsewhere(opened, job, outside):
    tried = dict(options_that_name(outside.path))
    refused = set()
    for name, options in tried.items():
        text = format_job(job.replaced(**{"previous": None, **options}))
        answer = opened.drop("job.toml", text.encode())
        if answer.status_code == 200:  # to nobody is it a file
            opened.get("/promises")
            opened.post("/run", {"suffix": "csv"}, script=False)
            started = opened.app.state.tasks.latest("run")
            assert started is None or started.wait(60)
        elif "only in" in answer.json()["error"]:
            refused.add(name)
        assert not outside.was_opened, name
    assert refused == {
        "previous", "person_key", "k-map.population", "delta-presence.population",
    }  # fmt: skip
    assert len(tried) > 20


def test_no_field_of_a_page_makes_it_open_a_file_elsewhere(opened, outside):
    opened.post("/promises", {"k": "3", "algorithm": "mondrian", "previous": "", "add": "k-map"})
    before = opened.work.job
    for name in ("previous", "privacy.0.population"):
        said = {"k": "3", "algorithm": "mondrian", name: str(outside.path)}
        assert "only in" in opened.post("/promises", said).json()["error"]
        assert not outside.was_opened
    assert opened.work.job == before


def test_a_dropped_job_takes_its_population_from_beside_the_table(opened, job):
    people(200).drop("name", "illness").write_csv(opened.work.root / "all.csv")
    there = str(opened.work.root / "all.csv")
    for named in ("all.csv", there):
        promise = {"model": "k-map", "k": 2, "population": named}
        text = format_job(job.replaced(privacy=(promise,), previous=None))
        assert opened.drop("job.toml", text.encode()).status_code == 200
        assert opened.work.job.privacy[0]["population"] == there


@pytest.mark.parametrize("named", ["several", "several/*.csv", "*/../outside.csv", "../*.csv"])
def test_a_folder_or_a_pattern_leads_nowhere_else(opened, outside, named):
    inner = opened.work.root / "several"
    inner.mkdir()
    (inner / "link.csv").symlink_to(outside.path)
    (opened.work.root / "elsewhere").symlink_to(outside.path.parent / "private")
    before = opened.work.job, opened.work.table
    (opened.work.root / "other.toml").write_text(f'[input]\npath = "{named}"\n')
    answers = [
        opened.post("/open/path", {"path": "other.toml"}),
        opened.post("/open/reading", {"header": "yes", "more": named}),
    ]
    assert [each.status_code for each in answers] == [400, 400]
    assert not outside.was_opened
    assert (opened.work.job, opened.work.table) == before


def test_what_the_terminal_names_is_opened_wherever_it_lies(pages, outside):
    job = Job(input=Input(path=str(outside.path)), columns={"age": JobColumn(role="drop")})
    path = outside.path.parent / "typed.toml"
    path.write_text(format_job(job), encoding="utf-8")
    open_named(str(path), pages.work, pages.app)
    pages.wait("open")
    assert pages.work.table.n_rows == 60
    pages.post("/promises", {"k": "4", "algorithm": "mondrian"})
    assert pages.work.job.k == 4
