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


@pytest.fixture
def born(tmp_path):
    """A table and its population with days of birth, month first, which no cell tells."""
    rng = random.Random(2)
    people = [
        f"{rng.randint(1, 12):02}/{rng.randint(1, 12):02}/{rng.randint(1940, 1990)};"
        f"{'?' if row % 9 == 0 else rng.choice('mf')};{rng.choice(['flu', 'cold'])}"
        for row in range(600)
    ]
    for name, n in (("table.csv", 150), ("people.csv", 600)):
        (tmp_path / name).write_text("\n".join(["born;sex;ill", *people[:n]]) + "\n")
    return tmp_path / "table.csv", tmp_path / "people.csv"


ROLES = ("--k", "3", "--qi", "born,sex", "--sensitive", "ill", "--k-map", "5")
READ = ("--read-as", "born=mm/dd/yyyy", "--missing-codes", "sex=?")


def test_a_population_is_read_as_the_flags_say_of_the_table(shoal_runs, born, tmp_path):
    table, people = born
    texts = []
    for name, rows in (("safe.csv", None), ("plain.csv", str)):
        read = READ
        if rows is not None:  # the same people as everybody writes them
            for path in born:
                lines = path.read_text().replace(";?;", ";;").splitlines()
                days = [line.partition(";") for line in lines[1:]]
                path.write_text(
                    "\n".join(
                        [
                            lines[0],
                            *(f"{d[6:]}-{d[:2]}-{d[3:5]};{rest}" for d, _, rest in days),
                        ]
                    )
                    + "\n"
                )
            read = ()
        safe = tmp_path / name
        made = shoal_runs(
            "anonymize", table, "-o", safe, *ROLES, "--population", people, *read, "--seed", 1
        )
        assert made.status == 0, made.err
        texts.append(sorted(safe.read_text().splitlines()))
    assert texts[0] == texts[1]


def test_a_certificate_says_how_the_population_is_read(shoal_runs, born, tmp_path):
    table, people = born
    safe, certificate = tmp_path / "safe.csv", tmp_path / "safe.json"
    files = ("-o", safe, "--certificate", certificate, "--population", people)
    read = ("--read-as", "born=mm/dd/yyyy", "--seed", 1)
    made = shoal_runs("anonymize", table, *files, *ROLES, *read)
    assert made.status == 0, made.err
    checked = shoal_runs("verify", safe, "--certificate", certificate, "--population", people)
    assert checked.status == 0, checked.out


@pytest.mark.parametrize("command", ["compare", "utility", "audit", "explain"])
def test_a_study_reads_the_table_as_the_flags_say(shoal_runs, born, tmp_path, command):
    table, _ = born
    roles = ("--qi", "born,sex", "--sensitive", "ill")
    more = {
        "compare": ("--k", "3", "--algorithms", "mondrian"),
        "utility": (),
        "audit": (),
        "explain": ("--k", "3"),
    }[command]
    safe = tmp_path / "safe.csv"
    made = shoal_runs("anonymize", table, "-o", safe, "--k", 3, *roles, *READ, "--seed", 1)
    assert made.status == 0, made.err
    tables = (table, safe) if command in {"utility", "audit"} else (table,)
    plain = shoal_runs(command, *tables, *roles, *more, *READ)
    assert plain.status == 0, plain.err
    # It is heeded: of days that are written otherwise it says so.
    wrong = shoal_runs(command, *tables, *roles, *more, "--read-as", "born=dd.mm.yyyy")
    assert wrong.status == 2
    assert "'born' is read as 'dd.mm.yyyy'" in wrong.err
    lost = shoal_runs(command, *tables, *roles, *more, "--missing-codes", "sx=?")
    assert lost.status == 2
    assert "'sx'" in lost.err
