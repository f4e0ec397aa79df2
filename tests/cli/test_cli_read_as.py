"""Dates and numbers as a country writes them, through every command that reads the original."""

import json
import random
import sqlite3
import tomllib
from datetime import date, timedelta
from pathlib import Path

import polars as pl
import pytest

import shoal

QI = "born,seen,pay,sex"


def people(seed, n):
    chance = random.Random(seed)
    return [
        (
            date(1930, 1, 1) + timedelta(days=chance.randrange(30_000)),
            date(2024, 1, 1) + timedelta(days=chance.randrange(700)),
            chance.randrange(100_000, 25_000_000) / 100,
            chance.choice("MW"),
            chance.choice(["flu", "gout", "asthma"]),
        )
        for _ in range(n)
    ]


def german(day):
    return f"{day:%d.%m.%Y}"


def english(day):
    return f"{day:%m/%d/%Y}"


def written(path, rows, day, signs):
    lines = ["born;seen;pay;sex;ill"]
    for born, seen, pay, *rest in rows:
        lines.append(";".join([day(born), day(seen), f"{pay:,.2f}".translate(signs), *rest]))
    path.write_text("\n".join(lines) + "\n")


PLAIN = {ord(","): None}
DE = {ord(","): ".", ord("."): ","}
STYLES = {"iso": (str, PLAIN), "de": (german, DE), "us": (english, {})}


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """The same people in three spellings, and more people in the same spellings."""
    monkeypatch.chdir(tmp_path)
    for name, (day, signs) in STYLES.items():
        written(tmp_path / f"{name}.csv", people(1, 120), day, signs)
        written(tmp_path / f"{name}_next.csv", people(2, 120), day, signs)
    return tmp_path


@pytest.fixture
def run(shoal_runs):
    """Run a command that ends with a status, and return what it printed."""

    def call(*arguments, status=0):
        made = shoal_runs(*arguments)
        assert made.status == status, made.err
        return made

    return call


@pytest.fixture
def first_release(run):
    """Make the first release of a table."""

    def call(name, *more):
        roles = ["--k", 5, "--qi", QI, "--sensitive", "ill", "--seed", 1, "-q"]
        run("anonymize", f"{name}.csv", "-o", f"{name}_safe.csv", *roles, *more)

    return call


def test_a_table_in_any_spelling_gives_the_same_release(tables, first_release):
    for name in STYLES:
        first_release(name)
    texts = {(tables / f"{name}_safe.csv").read_text() for name in STYLES}
    assert len(texts) == 1


def test_a_first_job_says_how_columns_are_written_and_commands_read_them_so(tables, run):
    for name in STYLES:
        run("init", f"{name}.csv", "-o", f"{name}.toml", "--yes")
        job = f"{name}.toml"
        run("anonymize", f"{name}.csv", "-o", f"{name}_safe.csv", "--job", job, "--seed", 1, "-q")
    columns = tomllib.loads((tables / "de.toml").read_text())["columns"]
    assert {name: each.get("read_as") for name, each in columns.items()} == {
        "born": "dd.mm.yyyy",
        "seen": "dd.mm.yyyy",
        "pay": "1.234,5",
        "sex": None,
        "ill": None,
    }
    for command in ("score", "audit", "utility", "explain"):
        told = set()
        for name in STYLES:
            release = [] if command == "explain" else [f"{name}_safe.csv"]
            more = ["--json"] if command in ("audit", "utility") else []
            made = run(command, f"{name}.csv", *release, "--job", f"{name}.toml", *more)
            told.add(made.out.replace(f"{name}.", "x.").replace(f"{name}_", "x_"))
        assert len(told) == 1, command


@pytest.mark.parametrize("name", ["de", "us"])
def test_further_rows_are_read_as_the_first_ones_were(tables, name, run, first_release):
    for each in ("iso", name):
        first_release(each, "--save", f"{each}.shoal")
        more = ["--waiting", f"{each}_wait.csv", "--seed", 2, "-q"]
        run("apply", f"{each}_next.csv", "--release", f"{each}.shoal", "-o", f"{each}_2.csv", *more)
    assert (tables / f"{name}_2.csv").read_text() == (tables / "iso_2.csv").read_text()


def test_further_rows_that_do_not_tell_are_read_as_the_first_ones_were(tables, run, first_release):
    rows = [(date(1980, 5, n % 12 + 1), date(2024, 6, n % 12 + 1), *r[2:]) for n, r in
            enumerate(people(3, 60))]  # fmt: skip
    for name in ("iso", "us"):
        first_release(name, "--save", f"{name}.shoal")
        written(tables / f"{name}_next.csv", rows, *STYLES[name])
        more = ["--seed", 2, "-q"]
        run("apply", f"{name}_next.csv", "--release", f"{name}.shoal", "-o", f"{name}_2.csv", *more)
    assert (tables / "us_2.csv").read_text() == (tables / "iso_2.csv").read_text()


def test_rows_that_wait_can_be_given_again_with_the_next_ones(tables, run, first_release):
    first_release("de", "--save", "de.shoal")
    odd = [(date(2030, 1, 1), date(1900, 1, 1), 9_999_999.5, "X", "flu")]
    written(tables / "de_next.csv", people(1, 120) + odd, *STYLES["de"])
    more = ["--waiting", "wait.csv", "--seed", 2, "-q"]
    run("apply", "de_next.csv", "--release", "de.shoal", "-o", "de_2.csv", *more)
    waiting = (tables / "wait.csv").read_text().splitlines()
    assert "01.01.2030" in waiting[-1]
    both = ["de_next.csv", "wait.csv"]
    more = ["--waiting", "wait2.csv", "--seed", 2, "-q"]
    run("apply", *both, "--release", "de.shoal", "-o", "de_3.csv", *more)
    again = (tables / "wait2.csv").read_text().splitlines()
    assert sum("01.01.2030" in line for line in again) == 2
    assert all("9999999,5" in line for line in again if "01.01.2030" in line)


def test_missing_codes_and_decimals_of_the_first_rows_hold_for_further_ones(tables, run):
    table = "born,pay,sex,ill\n" + "".join(
        f'{1950 + n % 30},"{n},5",{"?" if n % 9 == 0 else "MW"[n % 2]},flu\n' for n in range(80)
    )
    (tables / "first.csv").write_text(table)
    (tables / "next.csv").write_text(table)
    how = ["--decimal", ",", "--missing-values", "?"]
    roles = ["--k", 5, "--qi", "born,pay,sex", "--sensitive", "ill", "--seed", 1, "-q"]
    run("anonymize", "first.csv", "-o", "a.csv", *roles, *how, "--save", "a.shoal",
        "--certificate", "a.json")  # fmt: skip
    assert "?" not in (tables / "a.json").read_text()
    run("apply", "next.csv", "--release", "a.shoal", "-o", "b.csv", "--seed", 1, "-q")
    run("apply", "next.csv", "--release", "a.shoal", "-o", "c.csv", "--seed", 1, "-q", *how)
    assert (tables / "b.csv").read_text() == (tables / "c.csv").read_text()
    assert "?" not in (tables / "b.csv").read_text()


def test_apply_takes_the_job_of_the_release_for_reading_and_nothing_else(tables, run):
    text = (tables / "de_next.csv").read_text()
    (tables / "de_next.csv").write_text(text.replace("born;", "geboren;"))
    run("init", "de.csv", "-o", "job.toml", "--yes")
    run("anonymize", "de.csv", "-o", "safe.csv", "--job", "job.toml", "--save", "r.shoal", "-q")
    job = (tables / "job.toml").read_text()
    job = job.replace("[input]", '[output]\ntable = "safe.csv"\n\n[input]')
    (tables / "job.toml").write_text(job.replace("[input]", "[input]\nrename = {geboren = 'born'}"))
    before = (tables / "safe.csv").read_bytes()
    run("apply", "de_next.csv", "--release", "r.shoal", "-o", "more.csv", "--job", "job.toml", "-q")
    assert (tables / "safe.csv").read_bytes() == before
    assert (tables / "more.csv").read_text().startswith("born")


def test_what_does_not_tell_is_a_warning_a_question_and_refused_with_strict(tables, run):
    days = [date(1980, 1 + n % 12, 1 + n // 12 % 12) for n in range(144)]
    text = "born,ill\n" + "".join(f"{english(d)},flu\n" for d in days)
    (tables / "t.csv").write_text(text)
    asked = ["--k", 5, "--qi", "born", "--insensitive", "ill", "--seed", 1]
    told = run("anonymize", "t.csv", "-o", "a.csv", *asked, "--certificate", "a.json")
    assert "could also be mm/dd/yyyy" in " ".join((told.out + told.err).split())
    warned = json.loads((tables / "a.json").read_text())["warnings"]
    assert any("mm/dd/yyyy" in each for each in warned)
    run("anonymize", "t.csv", "-o", "b.csv", *asked, "--strict", status=1)
    assert not (tables / "b.csv").exists()
    said = ["--read-as", "born=mm/dd/yyyy", "--strict"]
    run("anonymize", "t.csv", "-o", "c.csv", *asked, *said)
    run("init", "t.csv", "-o", "t.toml", "--yes")
    question = (tables / "t.toml").read_text()
    assert 'read_as = "dd/mm/yyyy"' in question
    assert "CHECK THIS" in question.split("[columns.born]")[0]


def test_a_wrong_spelling_is_one_sentence_without_a_cell(tables, run):
    asked = ["--k", 5, "--qi", QI, "--sensitive", "ill"]
    for spelling in ("nonsense", "mm/dd/yyyy"):
        said = ["--read-as", f"born={spelling}"]
        told = run("anonymize", "de.csv", "-o", "a.csv", *asked, *said, status=2)
        (line,) = [each for each in told.err.splitlines() if each.startswith("Error")]
        assert "born" in line
    assert not (tables / "a.csv").exists()


def test_a_population_is_read_as_the_table_is(tables, run):
    asked = ["--k", 5, "--qi", QI, "--sensitive", "ill", "--k-map", 5, "--seed", 1, "-q"]
    for name, style in STYLES.items():
        written(tables / f"{name}_all.csv", people(1, 120) + people(2, 120), *style)
        population = ["--population", f"{name}_all.csv"]
        run("anonymize", f"{name}.csv", "-o", f"{name}_safe.csv", *asked, *population)
    assert len({(tables / f"{name}_safe.csv").read_text() for name in STYLES}) == 1


def test_a_later_release_beside_the_first_reads_as_it_did(tables, run):
    for name in ("iso", "de"):
        for file in (f"{name}.csv", f"{name}_next.csv"):
            lines = (tables / file).read_text().splitlines()
            ids = ["id", *(f"p{n}" for n in range(len(lines) - 1))]
            texts = [f"{number};{line}" for number, line in zip(ids, lines, strict=True)]
            (tables / file).write_text("\n".join(texts) + "\n")
        asked = ["--k", 5, "--qi", QI, "--sensitive", "ill", "--person", "id", "--seed", 1, "-q"]
        run("anonymize", f"{name}.csv", "-o", f"{name}_1.csv", *asked, "--save", f"{name}.shoal")
        again = ["--previous", f"{name}.shoal"]
        run("anonymize", f"{name}_next.csv", "-o", f"{name}_2.csv", *asked, *again)
    assert (tables / "de_2.csv").read_text() == (tables / "iso_2.csv").read_text()


def test_midnights_are_days_in_files_and_frames(tables, run):
    days = [date(1950 + n % 40, 1 + n % 12, 1 + n % 28) for n in range(60)]
    frame = pl.DataFrame({"born": days, "ill": ["flu"] * 60})
    moments = frame.with_columns(pl.col("born").cast(pl.Datetime))
    frame.write_parquet("days.parquet")
    moments.write_parquet("midnights.parquet")
    moments.write_csv("midnights.csv")
    texts = set()
    for source in ("days.parquet", "midnights.parquet", "midnights.csv"):
        asked = ["--k", 5, "--qi", "born", "--sensitive", "ill", "--seed", 1, "-q"]
        run("anonymize", source, "-o", "safe.csv", "--replace", *asked)
        texts.add((tables / "safe.csv").read_text())
        run("utility", source, "safe.csv", "--qi", "born", "--sensitive", "ill")
    assert len(texts) == 1
    pandas = pytest.importorskip("pandas")
    given = {"quasi_identifiers": "born", "sensitive": "ill", "seed": 1}
    table = pandas.DataFrame({"born": pandas.to_datetime(days), "ill": ["flu"] * 60})
    release = shoal.anonymize(table, 5, **given)
    wanted = shoal.anonymize(frame, 5, **given)
    assert release.frame["born"].tolist() == wanted.frame["born"].to_list()
    assert release.scores == wanted.scores


def test_a_first_job_runs_whatever_the_texts_of_a_table_lie_in(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    chance = random.Random(7)
    rows = [
        (
            str(date(2023, 1, 1) + timedelta(chance.randrange(300))),
            german(date(1940, 1, 1) + timedelta(chance.randrange(20_000))),
            str(chance.randrange(18, 90)),
            f"{chance.randrange(1000, 2000) / 10}".replace(".", ","),
            chance.choice(["?", *map(str, range(10, 60))]),
            chance.choice("mw"),
        )
        for _ in range(150)
    ]
    table = pl.DataFrame(rows, ["seen", "born", "age", "height", "visits", "sex"], orient="row")
    table.write_csv("t.csv", separator=";")
    table.write_parquet("t.parquet")
    table.write_ipc("t.arrow")
    table.write_ndjson("t.jsonl")
    table.write_excel("t.xlsx")
    with sqlite3.connect("t.db") as held:
        held.execute("create table p (seen text, born text, age text, height text, visits, sex)")
        held.executemany("insert into p values (?, ?, ?, ?, ?, ?)", rows)
    held.close()
    texts = set()
    for source in ["t.csv", "t.parquet", "t.arrow", "t.jsonl", "t.xlsx", "sqlite:///t.db?table=p"]:
        run("init", source, "-o", "job.toml", "--yes", "--force")
        kinds = {
            n: c.get("kind")
            for n, c in tomllib.loads(Path("job.toml").read_text())["columns"].items()
        }
        assert kinds["age"] == kinds["visits"] == "numeric", source
        run(
            "anonymize",
            source,
            "-o",
            "safe.jsonl",
            "--job",
            "job.toml",
            "--seed",
            1,
            "-q",
            "--replace",
        )
        texts.add(Path("safe.jsonl").read_text())
        run("score", source, "safe.jsonl", "--job", "job.toml")
        plain = ["--qi", "age,visits", "--drop", "seen,born,height,sex", "--missing-values", "?"]
        run("anonymize", source, "-o", "plain.csv", *plain, "--k", 5, "-q", "--replace")
        assert "?" not in Path("plain.csv").read_text()
        assert "-" in Path("plain.csv").read_text()  # intervals
    assert len(texts) == 1


@pytest.mark.parametrize("header", [True, False])
def test_rows_that_wait_are_written_like_the_file_so_that_its_job_reads_both(tables, run, header):
    rows = people(1, 120)
    odd = [(date(1801, 1, 1), date(1900, 1, 1), 9_999_999.5, "Ä", "flu")]
    for name, each in (("a", rows), ("b", [*rows, *odd])):
        written(tables / f"{name}.csv", each, *STYLES["de"])
        text = (tables / f"{name}.csv").read_text().replace("born;", "Geburtsdatum;")
        text = text if header else text.partition("\n")[2]
        (tables / f"{name}.csv").write_bytes(text.encode("cp1252"))
    old = ["Geburtsdatum", "seen", "pay", "sex", "ill"] if header else [
        f"column_{n}" for n in range(1, 6)
    ]  # fmt: skip
    new = ["born", "seen", "pay", "sex", "ill"]
    said = ["delimiter = ';'", "encoding = 'cp1252'", f"header = {str(header).lower()}"]
    pairs = [f"{o} = {n!r}" for o, n in zip(old, new, strict=True) if o != n]
    said += [f"rename = {{ {', '.join(pairs)} }}"]
    roles = {**dict.fromkeys(new, "quasi-identifier"), "ill": "sensitive"}
    columns = [f"[columns.{name}]\nrole = '{role}'" for name, role in roles.items()]
    spelled = {"born": "dd.mm.yyyy", "seen": "dd.mm.yyyy", "pay": "1.234,5"}
    columns = [
        f"{c}\nread_as = '{spelled[n]}'" if n in spelled else c
        for n, c in zip(new, columns, strict=True)
    ]
    (tables / "job.toml").write_text("k = 5\n[input]\n" + "\n".join([*said, *columns]) + "\n")
    asked = ["--job", "job.toml", "--seed", "1", "-q"]
    run("anonymize", "a.csv", "-o", "safe.csv", "--save", "r.shoal", *asked)
    kept = ["--release", "r.shoal", *asked]
    run("apply", "b.csv", "-o", "b_safe.csv", "--waiting", "wait.csv", *kept)
    waiting = (tables / "wait.csv").read_bytes().decode("cp1252").splitlines()
    if header:
        assert waiting.pop(0) == ";".join(old)
    assert waiting
    assert all("01.01.1801;01.01.1900;9999999,5;" in line for line in waiting)
    run("apply", "b.csv", "wait.csv", "-o", "c_safe.csv", "--waiting", "again.csv", *kept)
    again = (tables / "again.csv").read_bytes().decode("cp1252").splitlines()
    assert sum("01.01.1801" in line for line in again) >= len(waiting)
