"""Step 1: opening a table in every way, pages of it, how it is read, job files."""

import sqlite3
import tomllib

import pytest

from shoal.app.workspace import Workspace
from shoal.table.schema import Kind, Role


def test_a_file_of_the_folder_is_read_where_it_lies(pages, patients):
    path = pages.work.root / "patients.csv"
    path.write_bytes(patients)
    pages.open_file("patients.csv")
    assert pages.work.source.kind == "file"
    assert pages.work.job.input.path == str(path)
    assert list((pages.work.folder).glob("data/*")) == []
    text = pages.get("/open").text
    assert "200 rows, 5 columns" in text
    assert "Person 0" in text


def test_a_folder_is_listed_with_its_tables_job_files_and_folders_only(pages):
    root = pages.work.root
    (root / "more").mkdir()
    (root / "more" / "inner.parquet").touch()
    for name in ("a.csv", "b.csv.gz", "job.toml", "notes.docx", ".hidden.csv"):
        (root / name).touch()
    html = pages.get("/open/browse").json()["html"]
    assert [name in html for name in ("a.csv", "b.csv.gz", "job.toml", "more")] == [True] * 4
    assert "notes.docx" not in html
    assert "hidden" not in html
    assert "inner.parquet" in pages.get("/open/browse", params={"folder": "more"}).json()["html"]


def test_a_table_of_a_database_is_opened_by_its_url(pages):
    with sqlite3.connect(pages.work.root / "clinic.db") as database:
        database.execute("CREATE TABLE patients (age INTEGER, sex TEXT)")
        database.executemany(
            "INSERT INTO patients VALUES (?, ?)", [(20 + i % 30, "fm"[i % 2]) for i in range(100)]
        )
    database.close()
    url = f"sqlite:///{pages.work.root / 'clinic.db'}?table=patients"
    assert pages.post("/open/path", {"path": url}).status_code == 303
    pages.wait("open")
    assert pages.work.source.kind == "database"
    assert "100 rows, 2 columns" in pages.get("/open").text


def test_the_password_of_a_database_is_in_no_file_and_on_no_page(pages, patients):
    pages.drop("patients.csv", patients)
    table = pages.work.table
    url = "postgresql://nurse:hunter2secret@127.0.0.1:1/clinic?table=patients"
    assert pages.post("/open/path", {"path": url}).status_code == 303
    task = pages.app.state.tasks.latest("open")
    assert task.wait(60)
    assert task.state == "failed"
    opening = pages.work.opening
    assert opening.input.path == url
    failed = pages.get("/open").text
    pages.work.take(opening, table, opening.job)  # as if the database had answered
    assert pages.work.runnable().input.path == url
    kept = [p.read_text(encoding="utf-8") for p in pages.work.folder.iterdir() if p.is_file()]
    told = [pages.get(p).text for p in ("/open", "/open/job.toml", f"/task/{task.id}")]
    assert any("clinic" in text for text in kept)
    assert "clinic" in failed
    said = (pages.work.job_text(), repr(pages.work.job), repr(opening))
    for text in (*kept, *told, failed, *said):
        assert "hunter2secret" not in text
        assert "nurse" not in text


def test_pages_of_a_table_are_cut_on_the_server(pages):
    table = "number\n" + "".join(f"{i}\n" for i in range(1, 1_231))
    pages.drop("numbers.csv", table.encode())
    first = pages.get("/open").text
    assert "Rows 1 to 50 of 1,230" in first
    assert first.count("<tr>") == 51
    last = pages.get("/open/rows", params={"page": "25"}).json()["html"]
    assert "Rows 1,201 to 1,230 of 1,230" in last
    assert "<bdi>1230</bdi>" in last
    for odd in ("0", "-3", "9999999", "x", "²", "", "9" * 50):
        assert pages.get("/open/rows", params={"page": odd}).status_code == 200


def test_a_sure_guess_hides_how_the_file_is_read_and_an_unsure_one_shows_it(pages, patients):
    pages.drop("patients.csv", patients)
    assert '<details class="card">' in pages.get("/open").text
    pages.drop("lines.csv", b"31;47\n20;50\n33;11\n" * 30)
    text = pages.get("/open").text
    assert '<details class="card" open>' in text
    assert "found: semicolon" in text


def test_a_file_that_cannot_be_read_can_be_read_in_another_way(pages):
    pages.drop("alt.csv", "Größe;Note\n1,5;gut\n2,5;schön\n".encode("cp1252"), wait=False)
    assert pages.app.state.tasks.latest("open").wait(60)
    text = pages.get("/open").text
    assert "is not UTF-8 text" in text
    assert '<details class="card" open>' in text
    pages.post("/open/reading", {"encoding": "cp1252", "header": "yes"})
    pages.wait("open")
    assert "<bdi>Größe</bdi>" in pages.get("/open").text


def test_a_table_is_read_again_in_another_way(pages):
    pages.drop("plain.csv", b"31;47\n20;50\n33;11\n" * 30)
    said = {"delimiter": ";", "header": "no", "encoding": "", "decimal": "", "missing_values": "33"}
    assert pages.post("/open/reading", said).status_code == 303
    pages.wait("open")
    assert pages.work.table.names == ["column_1", "column_2"]
    assert pages.work.table.n_rows == 90
    assert pages.work.table.frame.get_column("column_1").null_count() == 30
    assert pages.work.job.input.header is False
    assert pages.work.job.input.missing_values == ("", "33")


def test_a_wrong_way_of_reading_is_one_sentence(pages, patients):
    pages.drop("patients.csv", patients)
    answer = pages.post("/open/reading", {"encoding": "klingon", "header": "yes"})
    assert answer.status_code == 400
    assert "klingon" in answer.json()["error"]


def test_the_job_that_is_saved_is_the_job_of_the_page_and_can_be_opened_again(pages, patients):
    (pages.work.root / "patients.csv").write_bytes(patients)
    pages.open_file("patients.csv")
    pages.post("/columns/1", {"role": "insensitive"})
    pages.post("/columns/2", {"role": "quasi-identifier", "kind": "set"})
    saved = pages.get("/open/job.toml")
    assert 'filename="job.toml"' in saved.headers["content-disposition"]
    assert tomllib.loads(saved.text)["columns"]["age"]["role"] == "insensitive"
    before = pages.work.job
    (pages.work.root / "mine.toml").write_text(saved.text, encoding="utf-8")
    pages.post("/open/close")
    assert pages.work.source is None
    pages.open_file("mine.toml")
    assert pages.work.job == before
    assert pages.work.table.n_rows == 200


def test_a_dropped_job_file_is_taken_over_for_the_open_table(pages, patients):
    job = b'k = 7\n[columns.name]\nrole = "drop"\n[columns.age]\nrole = "sensitive"\n'
    early = pages.drop("job.toml", job)
    assert early.status_code == 400
    assert "first" in early.json()["error"]
    pages.drop("patients.csv", patients)
    assert pages.drop("job.toml", job).status_code == 200
    assert pages.work.job.k == 7
    assert pages.work.job.columns["age"].role is Role.SENSITIVE
    assert pages.work.job.input.path == pages.work.source.path
    wrong = pages.drop("job.toml", b'[columns.height]\nrole = "drop"\n')
    assert wrong.status_code == 400
    assert "'height'" in wrong.json()["error"]
    assert pages.work.job.k == 7


def test_a_job_file_names_a_dropped_table_as_its_owner_does(pages, patients):
    pages.drop("patients.csv", patients)
    text = pages.get("/open/job.toml").text
    assert 'path = "patients.csv"' in text
    assert str(pages.work.folder) not in text


def test_what_is_not_there_is_said_in_one_sentence(pages):
    (pages.work.root / "folder").mkdir()
    for path, word in (("nothing.csv", "no file"), ("folder", "folder"), ("", "Write the path")):
        answer = pages.post("/open/path", {"path": path})
        assert answer.status_code == 400
        assert word in answer.json()["error"]
    page = pages.post("/open/path", {"path": "nothing.csv"}, script=False)
    assert page.status_code == 303
    assert "There is no file" in pages.get("/open").text
    assert "There is no file" not in pages.get("/open").text


def test_the_state_of_work_is_there_after_a_restart(work, patients, tmp_path):
    from tests.app.conftest import Pages

    (work.root / "patients.csv").write_bytes(patients)
    pages = Pages(work)
    pages.open_file("patients.csv")
    pages.post("/columns/3", {"role": "drop"})
    pages.post("/columns/1", {"role": "quasi-identifier", "kind": "set"})
    work.keep("tried", [{"k": 5}])
    before = work.job
    pages.end()
    work.leave()
    again = Workspace(tmp_path / "private", work.root)
    assert again.job == before
    assert again.job.columns["age"].kind is Kind.SET
    assert again.kept("tried") == [{"k": 5}]
    restarted = Pages(again)
    try:
        assert "Reading the table" in restarted.get("/open").text
        restarted.wait("open")
        assert again.job == before
        assert "200 rows, 5 columns" in restarted.get("/open").text
    finally:
        restarted.end()
        again.leave()


def test_a_clean_end_removes_the_copy_and_dropping_it_again_goes_on(work, patients, tmp_path):
    from tests.app.conftest import Pages

    pages = Pages(work)
    pages.drop("patients.csv", patients)
    pages.post("/columns/1", {"role": "drop"})
    columns = work.job.columns
    pages.end()
    work.leave()
    assert not (tmp_path / "private" / "data").exists()
    again = Workspace(tmp_path / "private", work.root)
    restarted = Pages(again)
    try:
        assert "Drop the same file again" in restarted.get("/open").text
        restarted.drop("patients.csv", patients)
        assert again.job.columns == columns
        assert again.table.n_rows == 200
    finally:
        restarted.end()
        again.leave()


def test_another_table_under_settings_of_the_last_one_is_refused(work, patients, tmp_path):
    from tests.app.conftest import Pages

    (work.root / "t.csv").write_bytes(patients)
    pages = Pages(work)
    pages.open_file("t.csv")
    pages.end()
    work.leave()
    (work.root / "t.csv").write_text("height\n1\n2\n", encoding="utf-8")
    again = Workspace(tmp_path / "private", work.root)
    restarted = Pages(again)
    try:
        restarted.get("/open")
        task = restarted.app.state.tasks.latest("open")
        assert task.wait(60)
        assert task.state == "failed"
        assert "columns that this table does not have" in task.error
        assert again.table is None
    finally:
        restarted.end()
        again.leave()


def test_reading_that_was_cancelled_does_not_begin_again_by_itself(pages, patients, monkeypatch):
    import threading

    begun, go = threading.Event(), threading.Event()

    def slow(source, report):
        begun.set()
        assert go.wait(60)
        report(1, 2, "reading")

    monkeypatch.setattr("shoal.app.workspace.open_table", slow)
    pages.drop("patients.csv", patients, wait=False)
    assert begun.wait(60)
    task = pages.app.state.tasks.latest("open")
    pages.post(f"/task/{task.id}/cancel")
    go.set()
    assert task.wait(60)
    text = pages.get("/open").text
    assert "Reading the table was cancelled." in text
    assert "Read again" in text
    assert pages.app.state.tasks.latest("open") is task
    monkeypatch.undo()
    pages.post("/open/reading", {"header": "yes"})
    pages.wait("open")
    assert pages.work.table.n_rows == 200


def test_damaged_settings_start_anew(work, tmp_path):
    work.keep("tried", [1])
    work.leave()
    for text in ("{", "[]", '{"version": 1}', '{"version": 2}', ""):
        (tmp_path / "private" / "state.json").write_text(text, encoding="utf-8")
        found = Workspace(tmp_path / "private", work.root)
        assert found.source is None
        assert found.kept("tried") is None
        found.leave()
        # it may be the file of a newer version
        assert (tmp_path / "private" / "state.json").read_text(encoding="utf-8") == text


def test_finishing_removes_everything_that_was_kept(pages, patients):
    pages.drop("patients.csv", patients)
    pages.post("/columns/2", {"role": "quasi-identifier"})
    assert pages.post("/finish").status_code == 303
    left = [p for p in pages.work.folder.rglob("*") if p.is_file()]
    assert pages.work.table is None
    assert {p.name for p in left} == {".claim", "job.toml", "state.json"}
    for path in left:
        assert "patients" not in path.read_text(encoding="utf-8")
        assert "diagnosis" not in path.read_text(encoding="utf-8")
    assert "Everything that was kept here is removed" in pages.get("/open").text


def test_two_servers_do_not_share_a_folder(work, tmp_path):
    from shoal.errors import OptionError

    with pytest.raises(OptionError, match="works in"):
        Workspace(tmp_path / "private", work.root)


def test_a_folder_with_files_of_somebody_else_is_neither_used_nor_touched(tmp_path):
    from shoal.errors import OptionError

    mine = tmp_path / "mine"
    (mine / "data").mkdir(parents=True)
    (mine / "data" / "thesis.txt").write_text("years of work")
    mine.chmod(0o755)
    with pytest.raises(OptionError, match="holds other files"):
        Workspace(mine, tmp_path)
    assert (mine / "data" / "thesis.txt").read_text() == "years of work"
    assert mine.stat().st_mode & 0o777 == 0o755
    assert [p.name for p in mine.iterdir()] == ["data"]


def test_the_folder_is_gone_where_nothing_is_open_at_the_end(tmp_path, patients):
    from tests.app.conftest import Pages

    work = Workspace(tmp_path / "private", tmp_path)
    pages = Pages(work)
    pages.drop("patients.csv", patients)
    pages.post("/finish")
    pages.end()
    work.leave()
    assert not (tmp_path / "private").exists()


def test_another_table_leaves_no_results_of_the_one_before(pages, patients):
    pages.drop("one.csv", patients)
    (pages.work.subfolder("results") / "a1").mkdir()
    (pages.work.subfolder("results") / "a1" / "release.csv").write_text("cells")
    pages.work.keep("history", [{"id": "a1"}])
    pages.drop("two.csv", patients)
    assert list(pages.work.folder.glob("results/*")) == []
    assert [p.name for p in pages.work.folder.glob("data/*/*")] == ["two.csv"]


def test_a_saved_job_takes_its_hierarchies_along(pages):
    import io
    import zipfile

    from shoal.settings.job_file import read_job

    words = [f"{a}{b}" for a in "abcdefghij" for b in "klmnopqrst"]
    lines = ["word,age", *(f"{words[i % 60]},{20 + i % 50}" for i in range(600))]
    pages.drop("words.csv", "\n".join(lines).encode())
    pages.post("/columns/0", {"role": "quasi-identifier"})
    saved = pages.get("/open/job.toml")
    assert 'filename="job.zip"' in saved.headers["content-disposition"]
    with zipfile.ZipFile(io.BytesIO(saved.content)) as packed:
        packed.extractall(pages.work.root)
        names = packed.namelist()
    assert names[0] == "job.toml"
    assert len(names) == 2
    job = read_job(pages.work.root / "job.toml")
    assert job.columns["word"].hierarchy.is_file()
    (pages.work.root / "words.csv").write_text("\n".join(lines))
    pages.open_file("job.toml")
    assert pages.work.job.columns["word"].kind is Kind.CATEGORICAL


def test_totals_are_left_out_shown_and_taken_back_in_by_a_choice(pages):
    rows = ["id;age;sex", *(f"{n};{20 + n % 40};{'fm'[n % 2]}" for n in range(60)), "Summe;2370;"]
    pages.drop("printed.csv", "\n".join(rows).encode())
    text = pages.get("/open").text
    assert "60 rows, 3 columns" in text
    assert "a total (row 62)" in text
    assert pages.work.job.input.extra_rows == "drop"
    assert pages.post("/open/reading", {"header": "yes", "extra_rows": "keep"}).status_code == 303
    pages.wait("open")
    assert "61 rows, 3 columns" in pages.get("/open").text
    assert pages.work.job.input.extra_rows == "keep"


def test_the_sheet_of_a_workbook_is_chosen(pages):
    import io

    import openpyxl

    book = openpyxl.Workbook()
    for title, count in (("Staff", 20), ("Patients", 60)):
        sheet = book.create_sheet(title)
        sheet.append(["age", "sex"])
        for n in range(count):
            sheet.append([20 + n % 40, "fm"[n % 2]])
    data = io.BytesIO()
    book.save(data)
    pages.drop("book.xlsx", data.getvalue())
    text = pages.get("/open").text
    assert "60 rows, 2 columns" in text
    assert "<option selected>Patients</option>" in text
    assert pages.work.job.input.sheet == "Patients"
    shown = pages.get("/open").text
    assert "book.xlsx" in shown
    assert str(pages.work.folder) not in shown  # where the copy lies is our affair
    pages.post("/open/reading", {"header": "yes", "sheet": "Staff"})
    pages.wait("open")
    assert "20 rows, 2 columns" in pages.get("/open").text
