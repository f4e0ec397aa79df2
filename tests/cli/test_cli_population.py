"""The population of a promise is read as the table of the job is."""

import random

import pytest

ASKED = ("--k", "3", "--qi", "age,sex", "--sensitive", "ill", "--missing-values", "?")


@pytest.fixture
def tables(tmp_path):
    """A table and its population, in both of which ? is a missing age."""
    rng = random.Random(1)
    for name, rows in (("table.csv", 60), ("people.csv", 300)):
        lines = [
            f"{'?' if row % 9 == 0 else rng.randint(20, 60)},{rng.choice('mf')},"
            f"{rng.choice(['flu', 'cold'])}"
            for row in range(rows)
        ]
        (tmp_path / name).write_text("\n".join(["age,sex,ill", *lines]) + "\n")
    return tmp_path / "table.csv", tmp_path / "people.csv"


def test_missing_values_of_the_job_are_those_of_its_population(shoal_runs, tables, tmp_path):
    table, people = tables
    safe = tmp_path / "safe.csv"
    promised = ("--k-map", "5", "--population", people)
    made = shoal_runs("anonymize", table, "-o", safe, *ASKED, *promised, "--seed", "1")
    assert made.status == 0, made.err
    assert shoal_runs("verify", safe, *ASKED, *promised).status == 0


def test_a_job_reads_its_population_once(shoal_runs, tables, tmp_path, monkeypatch):
    import shoal.settings.request as opened

    table, people = tables
    read, before = [], opened._read
    monkeypatch.setattr(opened, "_read", lambda *given: (read.append(given), before(*given))[1])
    promised = ("--k-map", "5", "--population", people)
    made = shoal_runs("anonymize", table, "-o", tmp_path / "safe.csv", *ASKED, *promised)
    assert made.status == 0, made.err
    assert len(read) == 1


@pytest.mark.parametrize(
    ("flag", "text"),
    [("--grid", "5 years"), ("--kind", "nothing"), ("--scale", "5 years"), ("--weight", "much")],
)
def test_a_wrong_detail_is_said_of_its_column(shoal_runs, tables, tmp_path, flag, text):
    made = shoal_runs(
        "anonymize", tables[0], "-o", tmp_path / "safe.csv", *ASKED, flag, f"age={text}"
    )
    assert made.status == 2
    assert "'age'" in made.err
    assert "of a job" not in made.err
