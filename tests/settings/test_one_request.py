"""Every door makes one request and runs it: what it names is opened once, its columns read once."""

import sys
from collections import Counter

import pytest

import shoal
from shoal.cli.program import run

QIS, ROLES = ["age", "town"], {"sensitive": ["ill"], "identifiers": ["name"]}
PROMISED = {"model": "k-map", "k": 5, "population": "everybody.csv"}
WATCHED = {
    ("request.py", "Request.__post_init__"),
    ("schema.py", "build_schema"),
    ("base.py", "parse_privacy"),
    ("request.py", "_read"),
    ("taxonomy.py", "Taxonomy.from_csv"),
}


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """A table, the population that it comes from, and a hierarchy."""
    rows = [(20 + n * 7 % 40, "ABC"[n % 3], "xyz"[n // 4 % 3]) for n in range(60)]
    lines = ["name,age,town,ill", *(f"p{n},{a},{t},{i}" for n, (a, t, i) in enumerate(rows))]
    (tmp_path / "patients.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    people = ["age,town", *(f"{a},{t}" for a, t, _ in rows for _ in range(3))]
    (tmp_path / "everybody.csv").write_text("\n".join(people) + "\n", encoding="utf-8")
    (tmp_path / "town.csv").write_text("A;AB;*\nB;AB;*\nC;C;*\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)


def counted(work):
    """How often the watched functions are called while something runs."""
    calls = Counter()

    def note(frame, event, _):
        code = frame.f_code
        place = code.co_filename.rpartition("/")[2], code.co_qualname
        if event == "call" and place in WATCHED and "/shoal/" in code.co_filename:
            calls[place[1]] += 1

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def by_command(more=()):
    words = ["anonymize", "patients.csv", "-o", "safe.csv", "--k", "4", "--seed", "1", "--quiet"]
    roles = ["--qi", "age,town", "--sensitive", "ill", "--identifier", "name"]
    assert run([*words, *roles, *more]) == 0


def by_job(**more):
    columns = {"name": "identifier", "age": "quasi-identifier", "ill": "sensitive"}
    found = {name: shoal.JobColumn(role=role) for name, role in columns.items()}
    tree = "town.csv" if more else None
    found["town"] = shoal.JobColumn(role="quasi-identifier", hierarchy=tree)
    shoal.run_job(shoal.Job(input="patients.csv", output="safe.csv", columns=found, k=4, **more))


def in_python(**more):
    table = shoal.read_table("patients.csv")
    shoal.anonymize(table, 4, quasi_identifiers=QIS, **ROLES, seed=1, **more)


@pytest.mark.parametrize("door", [by_command, by_job, in_python])
def test_a_plain_run_makes_one_request_and_looks_at_its_columns_once(tables, door):
    assert counted(door) == {"Request.__post_init__": 1, "parse_privacy": 1, "build_schema": 1}


WITH_FILES = {
    "command line": lambda: by_command(
        ["--k-map", "5", "--population", "everybody.csv", "--hierarchy", "town=town.csv"]
    ),
    "job": lambda: by_job(privacy=[PROMISED]),
    "Python": lambda: in_python(privacy=PROMISED, hierarchies={"town": "town.csv"}),
}


@pytest.mark.parametrize("door", WITH_FILES)
def test_a_population_and_a_hierarchy_are_read_once(tables, door):
    calls = counted(WITH_FILES[door])
    assert calls["_read"] == 1
    assert calls["Taxonomy.from_csv"] == 1
    assert calls["build_schema"] == 1
    assert calls["Request.__post_init__"] == 2  # as it was said, and with its files opened


def test_changes_are_tried_with_a_population_that_is_a_file(tables):
    table = shoal.read_table("patients.csv")
    asked = {"quasi_identifiers": QIS, **ROLES, "privacy": PROMISED, "k": 4}
    assert shoal.explain(table, workers=1, **asked).changes
    release = shoal.anonymize(table, seed=1, **asked)
    assert shoal.explain(table, release, workers=1).changes
