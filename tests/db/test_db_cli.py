"""From a database to a database on the command line."""

import json
import random
import sqlite3

import polars as pl
import pytest
from tests.helpers.db_secrets import no_secret_in

import shoal
from shoal.io.database import rows_sha256
from shoal.release import verified_write

ROLES = ("--qi", "age,zip", "--sensitive", "diagnosis", "--identifier", "name")


@pytest.fixture
def source(server, database):
    """Forty patients in PostgreSQL."""
    frame = pl.DataFrame(
        {
            "name": [f"Person{i}" for i in range(40)],
            "age": [20 + i % 7 for i in range(40)],
            "zip": [f"0{i % 4}999" for i in range(40)],
            "diagnosis": ["flu" if i % 3 else "cold" for i in range(40)],
        }
    )
    url = server.url("patients", database=database)
    shoal.write_table(frame, url)
    return url


def test_from_postgresql_to_sqlite_with_certificate_and_report(source, tmp_path, shoal_says):
    target = f"sqlite:///{tmp_path}/safe.db?table=patients"
    paths = [tmp_path / "c.json", tmp_path / "r.html"]
    status, said = shoal_says(
        *("anonymize", source, "-o", target, "--k", "4", *ROLES),
        *("--certificate", paths[0], "--report", paths[1]),
    )
    assert status == 0, said
    published = shoal.read_table(target)
    assert published.columns == ["age", "zip", "diagnosis"]
    certificate = json.loads(paths[0].read_text(encoding="utf-8"))
    assert certificate["output"]["sha256"] == rows_sha256(published)
    read = shoal.read_table(source, columns=["age", "zip", "diagnosis"])
    assert rows_sha256(read) not in json.dumps(certificate)
    roles = {column["name"]: column["role"] for column in certificate["columns"]}
    assert roles["name"] == "identifier"
    no_secret_in(said, *(path.read_text(encoding="utf-8") for path in paths))
    status, said = shoal_says("verify", target, "--k", "4", "--qi", "age,zip")
    assert status == 0, said
    status, said = shoal_says("score", source, target, *ROLES[:4])
    assert status == 0, said
    no_secret_in(said)


def test_the_identifiers_stay_in_the_database(server, database, source, tmp_path, shoal_says):
    with server.connect(database) as connection:
        # Whoever reads the names divides by zero.
        connection.execute(
            "CREATE VIEW v AS SELECT age, zip, diagnosis, (1 / (age - age))::text AS name "
            "FROM patients"
        )
    view = server.url("v", database=database)
    status, said = shoal_says(
        "anonymize", view, "-o", tmp_path / "safe.csv", "--k", "4", *ROLES, "--quiet"
    )
    assert status == 0, said


def test_into_postgresql_only_when_the_table_may_be_replaced(source, server, database, shoal_says):
    target = server.url("safe", database=database)
    command = ("anonymize", source, "-o", target, "--k", "4", *ROLES)
    assert shoal_says(*command)[0] == 0
    status, said = shoal_says(*command)
    assert (status, "exists; choose another table" in said) == (2, True)
    assert shoal_says(*command, "--if-exists", "replace")[0] == 0
    status, said = shoal_says(*command, "--if-exists", "maybe")
    assert (status, "must be one of fail, replace" in said) == (2, True)
    no_secret_in(said)
    assert shoal.read_table(target).height == 40


def test_the_input_is_never_replaced_however_it_is_written(source, shoal_says):
    same = source.replace("table=patients", "table=public.patients").replace(
        "127.0.0.1", "localhost"
    )
    before = shoal.read_table(source)
    status, said = shoal_says(
        "anonymize", source, "-o", same, "--if-exists", "replace", "--k", "4", *ROLES
    )
    assert status == 2
    assert "would be the same" in said
    no_secret_in(said)
    assert shoal.read_table(source).height == before.height


def test_a_file_that_exists_is_kept_unless_it_is_to_be_replaced(source, tmp_path, shoal_says):
    target = tmp_path / "a.csv"
    target.write_text("before")
    command = ("anonymize", source, "-o", target, "--k", "4", *ROLES)
    for more in ((), ("--if-exists", "fail")):
        status, said = shoal_says(*command, *more)
        assert (status, "exists; give another name, or --replace" in said) == (2, True)
        assert target.read_text() == "before"
    assert shoal_says(*command, "--replace")[0] == 0


@pytest.mark.parametrize(
    "command",
    [
        ("anonymize", "{}", "{}", "--k", "4"),
        ("anonymize", "{}", "-o", "{}x", "--k", "4", "--qi", "nothing"),
        ("anonymize", "{}", "-o", "{}x", "--k", "4", *ROLES, "--dry-run"),
        ("anonymize", "{}", "-o", "safe.csv", "--report", "{}", "--k", "4", *ROLES),
        ("anonymize", "{}", "-o", "safe.csv", "--job", "{}", "--k", "4", *ROLES),
        ("verify", "{}y", "--k", "4", "--qi", "age", "--debug"),
        ("verify", "{}", "--k", "4", "--qi", "age"),
        ("verify", "{}", "--k", "4", "--qi", "nothing", "--debug"),
        ("score", "{}", "{}", *ROLES[:4]),
        ("init", "{}", "-o", "job.toml"),
        ("explain", "{}", "--k", "4", *ROLES, "--out", "why.json"),
        ("compare", "{}", "--k", "4", "--algorithms", "mondrian", *ROLES, "--report", "page.html"),
        ("hierarchy", "build", "{}", "-c", "zip", "-o", "{}"),
    ],
    ids=lambda command: " ".join(command[:1] + command[-1:]),
)
def test_no_command_prints_or_writes_credentials(
    source, command, tmp_path, monkeypatch, shoal_says
):
    monkeypatch.chdir(tmp_path)
    _, said = shoal_says(*(part.replace("{}", source) for part in command))
    texts = [path.read_text(encoding="utf-8") for path in tmp_path.rglob("*") if path.is_file()]
    no_secret_in(said, *texts)


def test_a_run_that_fails_leaves_no_database_file(source, tmp_path, shoal_says):
    target = tmp_path / "safe.db"
    status, _ = shoal_says(
        "anonymize", source, "-o", f"sqlite:///{target}?table=t", "--k", "41", *ROLES
    )
    assert status == 1
    assert not target.exists()


def test_an_sqlite_release_is_plain_for_other_programs(source, tmp_path, shoal_says):
    target = tmp_path / "safe.db"
    shoal_says("anonymize", source, "-o", f"sqlite:///{target}?table=t", "--k", "4", *ROLES)
    connection = sqlite3.connect(target)
    counts = connection.execute("SELECT count(*) FROM t GROUP BY age, zip").fetchall()
    connection.close()
    assert min(count for (count,) in counts) >= 4


def test_a_table_that_breaks_its_promise_is_rolled_back(
    source, server, database, shoal_says, monkeypatch
):
    def everybody_has_the_flu(group, frame, *rest):
        return written(group, frame.with_columns(diagnosis=pl.lit("flu")), *rest)

    written = verified_write.stage_sql
    target = server.url("safe", database=database)
    promise = ("--l-diversity", "2", "--l-kind", "distinct")
    command = ("anonymize", source, "-o", target, "--k", "4", *ROLES, *promise, "--if-exists")
    status, said = shoal_says(*command, "replace")
    assert status == 0, said
    monkeypatch.setattr(verified_write, "stage_sql", everybody_has_the_flu)
    status, said = shoal_says(*command, "replace")
    assert status == 1, said
    assert "What was written does not keep the promise" in said
    assert set(shoal.read_table(target).get_column("diagnosis")) == {"flu", "cold"}
    no_secret_in(said)


def test_numbers_of_postgresql_without_a_scale_differ_by_their_digits(server, database, shoal_says):
    with server.connect(database) as connection:
        connection.execute("CREATE TABLE n (a numeric)")
        connection.execute("INSERT INTO n VALUES (1), (1.0), (1.00)")
    url = server.url("n", database=database)
    status, said = shoal_says("verify", url, "--k", "2", "--qi", "a")
    assert status == 1
    assert "3 rows in 3 groups" in said


@pytest.mark.parametrize("read", ["people_view", "people", "parent"])
def test_a_table_behind_what_is_read_is_not_replaced(server, database, shoal_says, read):
    with server.connect(database) as base:
        base.execute("CREATE TABLE parent (age int, sex text)")
        base.execute("CREATE TABLE people () INHERITS (parent)")
        base.execute("INSERT INTO people SELECT n % 5, 'f' FROM generate_series(1, 40) AS n")
        base.execute("CREATE VIEW people_view AS SELECT * FROM parent")
    status, said = shoal_says(
        "anonymize",
        server.url(read, database=database),
        "-o",
        server.url("people", database=database),
        *("--if-exists", "replace", "--k", 2, "--qi", "age,sex", "--quiet"),
    )
    assert status == 2, said
    assert "the same" in said
    with server.connect(database) as base:
        assert base.execute("SELECT count(*) FROM people").fetchone() == (40,)


# -- other names for columns ---------------------------------------------------------------------

OLD = {"Alter": "age", "Plz": "zip", "Leiden": "diagnosis", "Name der Person": "name"}
RENAME = tuple(word for old, new in OLD.items() for word in ("--rename", f"{old}={new}"))
ASKED = ("--k", "4", *ROLES, "--algorithm", "mondrian", "--seed", "1", "--quiet")


def renamed_twins(place):
    """The same patients in two tables: under the new names, and under the old ones."""
    frame = pl.DataFrame(
        {
            "name": [f"Person{i}" for i in range(40)],
            "age": [20 + i % 7 for i in range(40)],
            "zip": [f"0{i % 4}999" for i in range(40)],
            "diagnosis": ["flu" if i % 3 else "cold" for i in range(40)],
        }
    )
    shoal.write_table(frame, place("new"))
    shoal.write_table(frame.rename({new: old for old, new in OLD.items()}), place("old"))
    return place("new"), place("old")


@pytest.mark.parametrize("said", ["flags", "job"])
def test_a_table_of_a_database_is_read_under_other_names(place, said, tmp_path, shoal_says):
    new, old = renamed_twins(place)
    expected, safe = place("expected"), place("safe")
    status, words = shoal_says("anonymize", new, *ASKED, "-o", expected)
    assert status == 0, words
    job = tmp_path / "job.toml"
    job.write_text(
        "[input]\n[input.rename]\n" + "".join(f"{o!r} = {n!r}\n" for o, n in OLD.items())
    )
    how = RENAME if said == "flags" else ("--job", job)
    certificate = tmp_path / "c.json"
    status, words = shoal_says(
        "anonymize", old, *how, *ASKED, "-o", safe, "--certificate", certificate
    )
    assert status == 0, words
    assert rows_sha256(shoal.read_table(safe)) == rows_sha256(shoal.read_table(expected))
    assert not [each for each in OLD if each in certificate.read_text()]
    status, words = shoal_says("verify", safe, "--certificate", certificate)
    assert status == 0, words
    scores = [
        shoal_says("score", table, safe, *ROLES[:4], *names)[1].partition("\n")[2]
        for table, names in ((new, ()), (old, how))
    ]
    assert scores[0] == scores[1] != ""


def test_a_query_is_read_under_other_names_and_a_wrong_one_is_one_sentence(
    place, tmp_path, shoal_says
):
    _, old = renamed_twins(place)
    query = 'SELECT "Alter", "Plz", "Leiden" FROM old'
    asked = old.partition("?")[0] + "?query=" + query.replace(" ", "%20")
    few = tuple(word for each in list(OLD)[:3] for word in ("--rename", f"{each}={OLD[each]}"))
    status, said = shoal_says(
        "anonymize", asked, *few, "-o", tmp_path / "safe.csv", "--k", "4", *ROLES[:4], "--quiet"
    )
    assert status == 0, said
    assert set(pl.read_csv(tmp_path / "safe.csv").columns) == {"age", "zip", "diagnosis"}
    for wrong, words in (("Alt=age", "no column 'Alt'"), ("Plz=Leiden", "another column is")):
        status, said = shoal_says(
            "anonymize", old, "--rename", wrong, "-o", tmp_path / "x.csv", "--k", "4", "--qi", "Plz"
        )
        assert status == 2
        assert words in said
        assert not (tmp_path / "x.csv").exists()


def test_renamed_identifiers_stay_in_the_database(server, database, source, tmp_path, shoal_says):
    del source
    with server.connect(database) as connection:
        connection.execute(
            "CREATE VIEW v AS SELECT age, zip, diagnosis, (1 / (age - age))::text AS patient "
            "FROM patients"
        )
    view = server.url("v", database=database)
    status, said = shoal_says(
        "anonymize", view, "--rename", "patient=name", "-o", tmp_path / "safe.csv", *ASKED
    )
    assert status == 0, said


def test_german_texts_of_a_database_are_looked_at_anonymized_and_verified(
    place, tmp_path, shoal_says
):
    draw = random.Random(3)
    rows = [
        {
            "Patientennummer": f"P{1000 + n // 2}",
            "Straße": f"Lindenallee {n // 2}",
            "Größe": f"{draw.randint(150, 190)},5",
            "Aufnahme": f"{draw.randint(1, 28):02}.{draw.randint(1, 12):02}.2023",
            "Erstkontakt": f"{draw.randint(1, 12):02}/{draw.randint(2015, 2020)}",
            "Betrag": f"{1 + n}.{n:03},50 €",
            "Entlassung nach": draw.choice(["nach Hause", "Pflegeheim", "verstorben"]),
        }
        for n in range(240)
    ]
    source, target = place("Fälle 2023"), place("Veröffentlichung")
    shoal.write_table(pl.DataFrame(rows), source)
    job = tmp_path / "auftrag.toml"
    status, said = shoal_says("init", source, "-o", job, "--yes")
    assert status == 0, said
    columns = shoal.read_job(job).columns
    assert str(columns["Patientennummer"].role) == "person"
    assert str(columns["Straße"].role) == "identifier"
    read = {name: columns[name].read_as for name in ("Größe", "Aufnahme", "Erstkontakt", "Betrag")}
    assert read == dict(zip(read, ["1234,5", "dd.mm.yyyy", "mm/yyyy", "1.234,5 €"], strict=True))
    papers = ("--certificate", tmp_path / "c.json", "--seed", "1")
    status, said = shoal_says("anonymize", source, "-o", target, "--job", job, *papers)
    assert status == 0, said
    assert "Lindenallee" not in said
    published = shoal.read_table(target)
    assert {"Größe", "Aufnahme", "Erstkontakt", "Betrag", "Entlassung nach"} <= {*published.columns}
    assert published["Erstkontakt"].str.contains(r"^\[?20\d\d-\d\d-01").all()
    assert not {"Straße", "Patientennummer"} & {*published.columns}
    status, said = shoal_says("verify", target, "--certificate", tmp_path / "c.json")
    assert status == 0, said
    no_secret_in(said)
