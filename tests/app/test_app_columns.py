"""Step 2: columns as a list with one card, counted on the server and changed without a reload."""

import re

import pytest
from tests.helpers.app_people import people

from shoal.app.feasibility import open_questions
from shoal.app.opening import with_input
from shoal.app.runs import history_of
from shoal.settings.job_file import format_job, read_job
from shoal.table.schema import Role


@pytest.fixture
def wide(pages):
    """A table of 53 columns, some of them not to be guessed."""
    names = [f"measure_{n}" for n in range(50)] + ["name", "age", "diagnosis"]
    lines = [",".join(names)]
    for row in range(40):
        cells = [str((row * (n + 3)) % 17) for n in range(50)]
        lines.append(",".join([*cells, f"Person {row}", str(20 + row % 30), "abc"[row % 3]]))
    pages.drop("wide.csv", ("\n".join(lines) + "\n").encode())
    return pages


def to_decide(pages):
    text = re.search(r'id="to-decide">(.*?)</p>', pages.get("/columns").text, re.DOTALL)[1]
    found = re.search(r"(\d+) to decide", text)
    return int(found[1]) if found else 0


def rows(text):
    return re.findall(r'<li id="row-(\d+)"', text)


def test_a_dropped_table_gets_a_row_per_column_with_guess_and_counts(pages, patients):
    assert pages.drop("patients.csv", patients).status_code == 200
    page = pages.get("/columns")
    assert page.status_code == 200
    for name in ("name", "age", "zip", "sex", "diagnosis"):
        assert f"<bdi>{name}</bdi>" in page.text
    assert len(rows(page.text)) == 5
    assert page.text.count('class="card column"') == 1
    for guess in pages.work.table.suggestion.columns:
        assert pages.work.job.columns[guess.name].role is guess.role


def test_choosing_a_role_changes_the_job_and_the_bar(pages, patients):
    pages.drop("patients.csv", patients)
    before = pages.get("/columns/counts/0").json()
    told = pages.post("/columns/1", {"role": "drop"})
    assert told.status_code == 200, told.text
    assert pages.work.job.columns["age"].role is Role.DROP
    after = pages.get("/columns/counts/0").json()
    assert after["revision"] > before["revision"]
    assert after["counts"] != before["counts"]
    assert list(pages.get("/columns/counts/1?only=yes").json()["counts"]) == ["1"]


def test_please_decide_goes_when_it_is_decided_and_stays_gone(wide):
    work = wide.work
    unsure = [guess for guess in work.table.suggestion.columns if not guess.sure]
    assert to_decide(wide) == len(unsure) > 5
    kept, changed = unsure[0], unsure[1]
    numbers = [work.table.names.index(guess.name) for guess in (kept, changed)]
    told = wide.post(f"/columns/{numbers[0]}", {"role": kept.role.value}).json()
    assert "please decide" not in told["rows"][str(numbers[0])]
    assert work.job.columns[kept.name].role is kept.role
    other = "drop" if changed.role is not Role.DROP else "insensitive"
    wide.post(f"/columns/{numbers[1]}", {"role": other})
    assert to_decide(wide) == len(unsure) - 2
    assert "please decide" not in wide.get(f"/columns/{numbers[0]}").json()["card"]
    wide.post(f"/columns/{numbers[1]}", {"role": changed.role.value})
    assert to_decide(wide) == len(unsure) - 2


def test_several_columns_get_one_role_at_once_or_none_does(wide):
    names = wide.work.table.names
    told = wide.post("/columns/several", {"columns": ["0", "1", "7"], "role": "drop"})
    assert told.status_code == 200
    dropped = [name for name in names if wide.work.job.columns[name].role is Role.DROP]
    assert {names[0], names[1], names[7]} <= set(dropped)
    before = wide.work.job
    for wrong in (
        {"columns": ["2", "53"], "role": "insensitive"},
        {"columns": ["2", "x"], "role": "insensitive"},
        {"columns": ["2"], "role": "king"},
        {"columns": ["2", "3"], "role": "person"},
        {"role": "drop"},
    ):
        assert wide.post("/columns/several", wrong).status_code == 400
    assert wide.work.job == before


def test_columns_are_found_by_name_and_by_what_is_to_decide(wide):
    assert len(rows(wide.get("/columns").text)) == 53
    assert rows(wide.get("/columns?find=AGE").text) == ["51"]
    assert rows(wide.get("/columns?find=no such column").text) == []
    wide.post("/columns/several", {"columns": [str(n) for n in range(50)], "role": "drop"})
    left = rows(wide.get("/columns?open=yes").text)
    assert len(left) == to_decide(wide) <= 3


@pytest.mark.parametrize("column", ["0", "52"])
def test_one_column_is_shown_as_a_card(wide, column):
    text = wide.get(f"/columns?column={column}").text
    assert text.count(f'id="name-{column}"') == 1
    assert text.count("<h3 id=") == 1
    assert wide.get(f"/columns/{column}").json()["card"].count("<h3 id=") == 1
    assert wide.get("/columns/53", headers={"accept": "application/json"}).status_code == 400


@pytest.mark.parametrize("odd", ["-1", "53", "9" * 30, "x", "²"])
def test_a_column_that_is_not_there_shows_another(wide, odd):
    assert wide.get(f"/columns?column={odd}").status_code == 200


# -- other names -------------------------------------------------------------------------------


@pytest.fixture
def ran(pages):
    """A run of a table with something that names each of its columns."""
    people(60).write_csv(pages.work.root / "people.csv")
    pages.open_file("people.csv")
    pages.work.update(k=5, algorithm="mondrian", seed=3)
    run(pages)
    return pages


def run(pages):
    pages.post("/run", {"suffix": "csv"}, script=False)
    pages.wait("run")
    return history_of(pages.work)[0]


def rename(pages, old, new):
    return pages.post(f"/columns/{pages.work.table.names.index(old)}/name", {"name": new})


def with_new_names(job, new):
    """The job as somebody would write it who replaces every name in its text."""
    text = format_job(job)
    for old, name in new.items():
        text = re.sub(rf'\[columns\.("?){old}\1\]', f'[columns."{name}"]', text)
        text = text.replace(f'column = "{old}"', f'column = "{name}"')
    return text


def test_a_column_that_is_renamed_keeps_all_that_was_said_about_it(ran, tmp_path):
    work, before = ran.work, ran.work.job
    new = {name: f"the {name} (new)" for name in work.table.names}
    pictures = [work.table.picture(name) for name in work.table.names]
    alone = [work.table.alone((name,)) for name in work.table.names]
    for old, name in new.items():
        told = rename(ran, old, f" {name} ")
        assert told.status_code == 200, told.text
        row = told.json()["rows"][str(work.table.names.index(name))]
        assert f"<bdi>{name}</bdi>" in row
    assert work.table.names == list(new.values())
    assert work.job.input.rename == new
    (tmp_path / "expected.toml").write_text(with_new_names(before, new))
    expected = with_input(read_job(tmp_path / "expected.toml"), rename=new)
    assert format_job(work.job) == format_job(expected)
    assert before.privacy
    assert [work.table.picture(name) for name in work.table.names] == pictures
    assert [work.table.alone((name,)) for name in work.table.names] == alone
    assert open_questions(work) == []
    for page in ("/columns", "/hierarchies", "/promises", "/run"):
        assert ran.get(page).status_code == 200


def test_what_is_published_holds_no_old_name(pages):
    table = people(60)
    new = {f"Spaltenname{number}": name for number, name in enumerate(table.columns)}
    table.rename({name: old for old, name in new.items()}).write_csv(pages.work.root / "p.csv")
    pages.open_file("p.csv")
    roles = ("identifier", "quasi-identifier", "quasi-identifier", "insensitive", "sensitive")
    for number, (role, name) in enumerate(zip(roles, new.values(), strict=True)):
        assert pages.post(f"/columns/{number}", {"role": role}).status_code == 200
        assert pages.post(f"/columns/{number}/name", {"name": name}).status_code == 200
    pages.work.update(privacy=[{"model": "l-diversity", "l": 2, "column": "illness"}])
    pages.work.update(k=5, algorithm="mondrian", seed=3)
    files = run(pages).files(pages.work.folder / "results")
    assert files.release.read_text().splitlines()[0] == "age,zip,job,illness"
    for file in (files.release, files.certificate, files.report):
        assert "Spaltenname" not in file.read_text()
    assert "Spaltenname" in files.job.read_text()  # the private half: it reads the table


def test_a_job_file_that_is_dropped_brings_its_names(ran):
    work, before = ran.work, ran.work.job
    first = work.table.names[0]
    text = ran.get("/open/job.toml").content
    assert rename(ran, first, "other").status_code == 200
    renamed, now = ran.get("/open/job.toml").content, work.job
    for job, expected, name in ((text, before, first), (renamed, now, "other")):
        assert ran.drop("job.toml", job).status_code == 200
        assert work.job == expected
        assert work.table.names[0] == name


def test_going_back_to_a_run_brings_its_names_back(ran):
    work, first = ran.work, history_of(ran.work)[0]
    names, job = work.table.names, work.job
    assert rename(ran, names[0], "other").status_code == 200
    second = run(ran)
    for each in (first, second):
        assert ran.get(f"/run?run={each.id}").status_code == 200
        ran.post(f"/attack/{each.id}", script=False)
        ran.wait("attack")
    ran.post(f"/run/{first.id}/back", script=False)
    assert work.table.names == names
    assert work.job == job
    ran.post(f"/run/{second.id}/back", script=False)
    assert work.table.names == ["other", *names[1:]]


def test_a_name_goes_back_to_that_of_the_file_and_survives_a_restart(ran):
    work, before = ran.work, ran.work.job
    first = work.table.names[0]
    assert rename(ran, first, "other").status_code == 200
    assert rename(ran, "other", "another").status_code == 200
    assert work.job.input.rename == {first: "another"}
    work.table = None  # as after a restart
    ran.get("/open")
    ran.wait("open")
    assert work.table.names[0] == "another"
    assert rename(ran, "another", first).status_code == 200
    assert work.job == before


@pytest.mark.parametrize("wrong", ["", "  ", "age", "a\nb", "x" * 2000])
def test_a_name_that_cannot_be_changes_nothing(ran, wrong):
    work, before = ran.work, (ran.work.job, ran.work.table, ran.work.revision)
    number = next(n for n, name in enumerate(work.table.names) if name != "age")
    told = ran.post(f"/columns/{number}/name", {"name": wrong})
    assert told.status_code == 400
    assert told.json()["error"].endswith(".")
    assert (work.job, work.table, work.revision) == before
    assert ran.post("/columns/99/name", {"name": "x"}).status_code == 400


def test_an_answer_about_a_column_goes_with_it_and_to_no_other(ran):
    work = ran.work
    first, second = work.table.names[:2]
    work.keep("answers", [["names", first], ["names", "gone"]])
    work.keep("decided", [first, "gone"])
    assert rename(ran, first, "kept").status_code == 200
    assert rename(ran, second, "gone").status_code == 200
    assert work.kept("answers") == [["names", "kept"]]
    assert work.kept("decided") == ["kept"]


def test_how_a_column_is_written_is_shown_asked_and_said_on_its_card(pages):
    lines = ["born,sex,ill"]
    lines += [
        f"{1 + n % 12:02}/{1 + n % 11:02}/19{30 + n % 60},{'MW'[n % 2]},flu" for n in range(80)
    ]
    pages.drop("t.csv", ("\n".join(lines) + "\n").encode())
    assert pages.work.job.columns["born"].read_as == "dd/mm/yyyy"
    page = pages.get("/columns")
    assert "could also be mm/dd/yyyy" in page.text
    assert to_decide(pages) == 1
    told = pages.post(
        "/columns/0", {"role": "quasi-identifier", "kind": "date", "read_as": "mm/dd/yyyy"}
    )
    assert told.status_code == 200, told.text
    column = pages.work.job.columns["born"]
    assert (column.read_as, column.kind) == ("mm/dd/yyyy", "date")
    assert to_decide(pages) == 0
    told = pages.post("/columns/0", {"role": "quasi-identifier", "kind": "date", "read_as": "text"})
    column = pages.work.job.columns["born"]
    assert (column.read_as, column.kind) == ("text", "flat")
    told = pages.post("/columns/0", {"role": "sensitive"})
    assert pages.work.job.columns["born"].read_as == "text"  # whatever becomes of it
    told = pages.post("/columns/0", {"role": "sensitive", "read_as": "dd.mm.yyyy"})
    assert "are not written so" in told.text
    assert pages.work.job.columns["born"].read_as == "text"
