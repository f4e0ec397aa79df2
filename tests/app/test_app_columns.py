"""Step 2: columns as a list with one card, counted on the server and changed without a reload."""

import re

import pytest

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
