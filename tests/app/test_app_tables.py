"""Several tables in the browser: found links, boxes, roles per table, one run, one hand-over."""

import html
import io
import re
import stat
import tomllib
import zipfile

import polars as pl
import pytest
from playwright.sync_api import expect
from tests.app.conftest import Pages, go

import shoal
from shoal.app.several import Several
from shoal.app.workspace import Workspace
from shoal.datasets import make_hospital
from shoal.run.tables_job import verify_tables_certificate
from shoal.settings.job_file import format_tables_job, read_tables_job
from shoal.table.schema import Role

JOB = """
k = 3
knows_events = 1
seed = 5

[input]
path = "hospital"

[tables.patients]
key = "patient_id"

[tables.patients.columns]
sex = {role = "quasi-identifier"}
born = {role = "drop"}
postcode = {role = "quasi-identifier", hierarchy = {rule = "prefix", keep = [2]}}
name = {role = "identifier"}

[tables.stays]
of = "patients.patient_id"

[tables.stays.columns]
stay_id = {role = "drop"}
admitted = {role = "drop"}
ward = {role = "quasi-identifier"}
days = {role = "quasi-identifier"}
outcome = {role = "insensitive"}
"""
DOOR = {"accept": "application/json"}


@pytest.fixture
def hospital(work):
    """Tables in a folder that pages may open, and nothing else."""
    tables = {name: each for name, each in make_hospital(90, 4).items() if name != "drugs"}
    (work.root / "hospital").mkdir()
    for name, frame in tables.items():
        frame.write_csv(work.root / "hospital" / f"{name}.csv")
    return tables


@pytest.fixture
def opened(pages, hospital):
    """Pages with these tables open, guessed."""
    assert pages.post("/tables/path", {"path": "hospital"}, script=False).status_code == 303
    pages.wait("read tables")
    return pages


def number_of(pages, table, column=None):
    several = pages.work.several
    if column is None:
        return list(several.opened).index(table)
    return several.tables[table].names.index(column)


def say(pages, table, **columns):
    """Choose roles (`ward="drop"`) and what else a card says (`ward_kind="flat"`)."""
    said = pages.work.several.job.tables[table]
    given = {
        "key": said.key or "",
        "above": (said.of or "").partition(".")[0],
        "link": said.link or (said.of or "").partition(".")[2],
    }
    for name, value in columns.items():
        if name in given:
            given[name] = value
            continue
        column, _, what = name.partition("__")
        given[f"{what or 'role'}.{number_of(pages, table, column)}"] = value
    return pages.post(f"/tables/{number_of(pages, table)}", given)


def run(pages, **given):
    answer = pages.post("/tables/promises", {"k": "3", "knows_events": "1", "run": "yes", **given})
    assert answer.status_code == 303, answer.text
    pages.wait("run tables")
    return pages.work.several.runs[0]


def unzipped(pages, made, name="hand-over.zip"):
    packed = pages.get(f"/tables/{made.id}/{name}").content
    with zipfile.ZipFile(io.BytesIO(packed)) as found:
        return {each: found.read(each) for each in found.namelist()}


def small(pages):
    """Take the guesses, but for what would take long."""
    say(pages, "patients", born="drop")
    say(pages, "stays", admitted="drop", outcome="insensitive")
    return pages.post(f"/tables/{number_of(pages, 'diagnoses')}/remove", script=False)


def test_keys_links_and_roles_are_proposed(opened):
    job = opened.work.several.job
    assert job.links() == {
        "stays.patient_id": "patients.patient_id",
        "diagnoses.stay_id": "stays.stay_id",
    }
    assert job.tables["patients"].columns["name"].role is Role.IDENTIFIER
    # what tells of an event is known to others: nothing of it is published as it is unasked
    assert job.tables["diagnoses"].columns["code"].role is Role.QUASI_IDENTIFIER
    assert "patient_id" not in job.tables["stays"].columns
    job.request()  # it can be run as it is


def test_the_page_draws_boxes_with_links_and_shows_no_cell(opened, hospital):
    page = opened.get("/tables").text
    assert page.count('<rect class="box') == 3
    assert page.count('class="box top"') == 1
    assert page.count('<path class="link"') == 2
    assert "stays hangs from patients by patient_id" in page
    cells = {
        *hospital["patients"]["name"],
        *hospital["stays"]["ward"],
        *hospital["diagnoses"]["code"],
    }
    text = html.unescape(re.sub(r"<(script|style).*?</\1>", "", page, flags=re.DOTALL))
    assert not [each for each in cells if re.search(rf"\b{re.escape(each)}\b", text)]


def test_one_run_makes_tables_report_and_certificate_that_are_handed_over_together(
    opened, hospital, tmp_path
):
    small(opened)
    made = run(opened, audit="yes")
    assert "finds at least 3 people" in opened.get("/tables").text
    files = unzipped(opened, made)
    assert sorted(files) == [
        "certificate.json", "report.html", "safe/patients.csv", "safe/stays.csv",
    ]  # fmt: skip
    for name, content in files.items():
        (tmp_path / "given" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "given" / name).write_bytes(content)
    given = tmp_path / "given"
    assert verify_tables_certificate(str(given / "safe"), str(given / "certificate.json")).holds
    assert b'id="attacks"' in files["report.html"]
    everything = b"".join(files.values())
    assert not any(name.encode() in everything for name in hospital["patients"]["name"])
    for name in ("patients.csv", "stays.csv", "report.html", "certificate.json"):
        assert opened.get(f"/tables/{made.id}/{name}").status_code == 200
    report = opened.get(f"/tables/{made.id}/report.html")
    assert "sandbox" in report.headers["content-security-policy"]
    folder = opened.work.folder / "results" / made.id
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_the_job_that_is_kept_makes_the_same_files_without_a_page(opened, tmp_path):
    small(opened)
    made = run(opened)
    for name, content in unzipped(opened, made, "keep.zip").items():
        (tmp_path / "again" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "again" / name).write_bytes(content)
    for name in ("patients", "stays"):
        source = opened.work.root / "hospital" / f"{name}.csv"
        (tmp_path / "again" / f"{name}.csv").write_bytes(source.read_bytes())
    shoal.run_tables_job(tmp_path / "again" / "job.toml")
    files = unzipped(opened, made)
    for name in ("patients", "stays"):
        frames = [
            pl.read_csv(source).drop("patient_id", "stay_id", strict=False)
            for source in (tmp_path / "again" / "safe" / f"{name}.csv", files[f"safe/{name}.csv"])
        ]
        assert frames[0].sort(frames[0].columns).equals(frames[1].sort(frames[1].columns))


def test_a_job_file_of_several_tables_is_opened_with_all_that_it_says(pages, hospital):
    (pages.work.root / "job.toml").write_text(JOB)
    answer = pages.post("/open/path", {"path": "job.toml"}, script=False)
    assert answer.headers["location"] == "/tables"
    pages.wait("read tables")
    several = pages.work.several
    job = read_tables_job(pages.work.root / "job.toml")
    assert several.job.options == job.options
    assert several.job.links() == job.links()
    assert {n: dict(t.columns) for n, t in several.job.tables.items()} == {
        n: dict(t.columns) for n, t in job.tables.items()
    }
    saved = tomllib.loads(pages.get("/tables/job.toml").text)
    assert saved["tables"]["stays"]["path"] == "stays.csv"
    assert saved["tables"]["stays"]["of"] == "patients.patient_id"
    run(pages)


def test_a_folder_and_dropped_files_are_opened_in_both_places(pages, hospital):
    assert pages.post("/open/path", {"path": "hospital"}).headers["location"] == "/tables"
    pages.wait("read tables")
    pages.post("/tables/close", script=False)
    for name in ("stays", "patients"):
        content = hospital[name].write_csv().encode()
        answer = pages.post("/tables/upload", params={"name": f"{name}.csv"}, content=content)
        assert answer.json() == {"next": "/tables"}
    pages.get("/tables")
    pages.wait("read tables")
    several = pages.work.several
    assert several.job.links() == {"stays.patient_id": "patients.patient_id"}
    assert {each.kind for each in several.opened.values()} == {"copy"}
    without = JOB.replace('[input]\npath = "hospital"\n', "")
    answer = pages.post("/open/upload", params={"name": "j.toml"}, content=without.encode())
    assert answer.json() == {"next": "/tables"}
    assert several.job.options["knows_events"] == 1
    again = pages.post("/tables/upload", params={"name": "stays.csv"}, content=b"a,b\n1,2\n")
    assert "already" in again.json()["error"]


def test_keys_links_roles_and_kinds_can_be_changed(opened):
    several = opened.work.several
    assert say(opened, "stays", above="", link="").status_code == 303
    assert several.job.tables["stays"].of is None
    assert several.job.tables["stays"].columns["patient_id"].role is Role.DROP
    assert "One table is about people" in opened.get("/tables").text
    assert 'id="run-button"' not in opened.get("/tables").text
    say(opened, "stays", above="patients", link="patient_id")
    assert several.job.links()["stays.patient_id"] == "patients.patient_id"
    say(opened, "stays", ward__kind="flat", outcome="sensitive", days="drop")
    stays = several.job.tables["stays"]
    assert stays.columns["ward"].kind.value == "flat"
    assert [stays.columns[each].role.value for each in ("outcome", "days")] == ["sensitive", "drop"]
    assert say(opened, "diagnoses", code__tree="icd10").text == ""
    assert several.job.tables["diagnoses"].columns["code"].hierarchy.name == "icd10"
    say(opened, "diagnoses", code__kind="items", code__tree="icd10")
    assert several.job.tables["diagnoses"].items == ("code",)
    told = say(opened, "stays", above="patients", link="")
    assert "names the row of 'patients'" in told.json()["error"]
    told = say(opened, "patients", sex="person")
    assert "A person is a row" in told.json()["error"]
    assert say(opened, "patients", key="nobody").status_code == 400


def test_promises_are_checked_and_kept(opened):
    for name, value, said in (
        ("k", "one", "whole number"),
        ("k", "1", "at least 2"),
        ("knows_events", "4", "1, 2 or 3"),
        ("max_suppression", "2", "max_suppression"),
        ("format", "exe", "format must be one of"),
    ):
        told = opened.post("/tables/promises", {"k": "3", "knows_events": "2", name: value})
        assert said in told.json()["error"]
    say(opened, "patients", postcode="sensitive")
    opened.post("/tables/promises", {"k": "4", "knows_events": "2", "adding": "yes",
                                     "model": "l-diversity"})  # fmt: skip
    job = opened.work.several.job
    assert (job.options["k"], job.options["privacy"][0]["model"]) == (4, "l-diversity")
    assert "l-diversity" in opened.get("/tables").text
    opened.post("/tables/promises", {"k": "4", "knows_events": "2", "remove": "0"})
    assert "privacy" not in opened.work.several.job.options


def test_a_result_older_than_the_settings_is_not_handed_over(opened):
    small(opened)
    made = run(opened)
    assert "hand-over.zip" in opened.get("/tables").text
    opened.post("/tables/promises", {"k": "5", "knows_events": "1"})
    page = opened.get("/tables").text
    assert "The settings have changed since this run" in page
    assert "hand-over.zip" not in page
    told = opened.get(f"/tables/{made.id}/patients.csv", headers=DOOR)
    assert "The settings have changed" in told.json()["error"]
    opened.post(f"/tables/{made.id}/back", script=False)
    assert opened.get(f"/tables/{made.id}/patients.csv").status_code == 200
    assert "safe/stays.csv" in unzipped(opened, made)


def test_files_elsewhere_are_not_opened(pages, hospital, tmp_path):
    hospital["patients"].write_csv(tmp_path / "secret.csv")
    (tmp_path / "elsewhere").mkdir()
    hospital["patients"].write_csv(tmp_path / "elsewhere" / "patients.csv")
    (pages.work.root / "link").symlink_to(tmp_path / "elsewhere")
    for path in ("..", str(tmp_path / "elsewhere"), "link", "../secret.csv"):
        told = pages.post("/tables/path", {"path": path})
        assert "Files are opened only in" in told.json()["error"], path
    jobs = {
        "folder": JOB.replace('"hospital"', f'"{tmp_path}/elsewhere"'),
        "table": JOB.replace(
            'key = "patient_id"', f'key = "patient_id"\npath = "{tmp_path}/secret.csv"'
        ),
        "tree": JOB.replace('{rule = "prefix", keep = [2]}', f'"{tmp_path}/secret.csv"'),
        "key": f'person_key = "{tmp_path}/secret.csv"\n' + JOB,
        "database": JOB.replace('"hospital"', f'"sqlite:///{tmp_path}/a.db"'),
    }
    for name, text in jobs.items():
        (pages.work.root / f"{name}.toml").write_text(text)
        told = pages.post("/tables/path", {"path": f"{name}.toml"})
        assert told.status_code == 400, name
        assert "Files are opened only in" in told.json()["error"], name
    assert not pages.work.several.opened


def test_a_form_of_another_page_changes_nothing(opened):
    before = format_tables_job(opened.work.several.job)
    for path in ("/tables/promises", "/tables/0", "/tables/0/remove", "/tables/close"):
        answer = opened.client.post(path, data={"k": "9"}, headers={"origin": "http://evil.test"})
        assert answer.status_code == 403
    assert format_tables_job(opened.work.several.job) == before


def test_settings_stay_when_the_server_ends_and_copies_go(tmp_path, hospital):
    work = Workspace(tmp_path / "second", tmp_path / "files")
    pages = Pages(work)
    try:
        for name in ("patients", "stays"):
            content = hospital[name].write_csv().encode()
            pages.post("/tables/upload", params={"name": f"{name}.csv"}, content=content)
        pages.get("/tables")
        pages.wait("read tables")
        say(pages, "stays", admitted="drop")
    finally:
        pages.end()
        work.leave()
    again = Several(tmp_path / "second")
    assert again.missing == ["patients.csv", "stays.csv"]
    assert again.job.tables["stays"].columns["admitted"].role is Role.DROP
    work = Workspace(tmp_path / "second", tmp_path / "files")
    pages = Pages(work)
    try:
        assert "Drop the same files again" in pages.get("/tables").text
        for name in ("patients", "stays"):
            content = hospital[name].write_csv().encode()
            pages.post("/tables/upload", params={"name": f"{name}.csv"}, content=content)
        pages.get("/tables")
        pages.wait("read tables")
        assert work.several.job.tables["stays"].columns["admitted"].role is Role.DROP
        pages.post("/finish", script=False)
        assert not work.several.opened
        assert not list((tmp_path / "second").glob("tables*"))
    finally:
        pages.end()
        work.leave()
    assert not (tmp_path / "second").exists()


def test_a_file_that_cannot_be_read_is_named_and_can_be_taken_away(pages, hospital):
    (pages.work.root / "hospital" / "broken.parquet").write_bytes(b"nothing")
    pages.post("/tables/path", {"path": "hospital"}, script=False)
    task = pages.app.state.tasks.latest("read tables")
    assert task.wait(60)
    assert task.state == "failed"
    page = pages.get("/tables").text
    assert "broken.parquet" in page
    pages.post(f"/tables/{number_of(pages, 'broken')}/remove", script=False)
    pages.get("/tables")
    pages.wait("read tables")
    assert "box top" in pages.get("/tables").text


def test_the_page_is_german_when_it_is_asked_for(opened):
    page = opened.get("/tables", headers={"accept-language": "de"}).text
    assert "Mehrere Tabellen, die zusammenhängen" in page
    assert "stays hängt über patient_id an patients" in page


def test_the_whole_way_in_a_browser(open_page, pages, hospital):
    page = open_page(accept_downloads=True)
    go(page, "tables")
    paths = [str(pages.work.root / "hospital" / f"{name}.csv") for name in ("stays", "patients")]
    page.locator("#file").set_input_files(paths)
    expect(page.locator("svg.tables rect")).to_have_count(2)
    page.locator('select[aria-label="Role of born"]').select_option("drop")
    page.locator("#form-1 button").click()
    page.locator('select[aria-label="Role of admitted"]').select_option("drop")
    page.locator("#form-0 button").click()
    page.locator("#k").fill("3")
    page.locator("#knows_events").fill("1")
    page.locator("#run-button").click()
    expect(page.locator("#result")).to_contain_text("finds at least 3 people")
    with page.expect_download() as started:
        page.locator("#all").click()
    with zipfile.ZipFile(started.value.path()) as archive:
        assert "safe/stays.csv" in archive.namelist()
