"""Codes that mean a missing value in one column: proposed, kept in the job, heeded by all."""

from dataclasses import replace
from datetime import date

import polars as pl
import pytest

import shoal
from shoal.io.read import read_table
from shoal.profile.suggest import find_codes, suggest_job
from shoal.settings.inputs import read_input

N = 240
TABLE = pl.DataFrame(
    {
        "age": [-9 if n % 10 == 0 else 20 + n % 60 for n in range(N)],
        "visits": [[1, 2, 3, 4, 99, 98][n % 6] for n in range(N)],
        "weight": [999.0 if n % 8 == 0 else 50.5 + n % 40 for n in range(N)],
        "land": [["NA", "DE", "FR"][n % 3] for n in range(N)],
        "note": [["NA", "yes", "perhaps"][n % 3] for n in range(N)],
        "sex": [["f", "m"][n % 2] for n in range(N)],
    }
)
CODES = {"age": ("-9",), "visits": ("98", "99"), "weight": ("999",), "note": ("NA",)}


@pytest.fixture
def data(tmp_path):
    TABLE.write_csv(tmp_path / "t.csv")
    return tmp_path / "t.csv"


def test_init_proposes_codes_of_single_columns_with_the_reason(data, tmp_path):
    found = suggest_job(data)
    assert found.details["missing_codes"] == CODES
    assert found.missing_values is None
    assert "1 code that stands apart" in found["age"].why
    found.write(tmp_path / "job.toml")
    job = shoal.read_job(tmp_path / "job.toml")
    kept = {name: column.missing_codes for name, column in job.columns.items()}
    assert {name: codes for name, codes in kept.items() if codes} == CODES


def test_a_number_that_may_be_a_value_is_no_code():
    plain = pl.DataFrame(
        {
            "age": [n % 100 for n in range(N)],
            "change": [n % 40 - 20 for n in range(N)],
            "once": [99 if n == 3 else n % 5 for n in range(N)],
            "always": [99] * N,
        }
    )
    assert find_codes(plain) == {}


@pytest.mark.parametrize("name", ["t.csv", "t.xlsx", "t.parquet", "t.jsonl"])
def test_a_code_is_missing_in_its_column_and_a_value_in_others(tmp_path, name):
    from shoal.io.write import write_table

    write_table(TABLE, tmp_path / name)
    found = read_table(tmp_path / name, missing_codes=CODES, coded=True)
    expected = {
        each: [
            None if str(cell).removesuffix(".0") in CODES.get(each, ()) else cell
            for cell in TABLE[each]
        ]
        for each in TABLE.columns
    }
    assert (
        found.cast(dict.fromkeys(("land", "note", "sex"), pl.String)).to_dict(as_series=False)
        == expected
    )


def test_a_column_that_is_text_because_of_a_code_becomes_numbers(tmp_path):
    (tmp_path / "t.csv").write_text("age,sex\n30,f\nn/a,m\n.,f\n41,m\n")
    found = read_table(tmp_path / "t.csv", missing_codes={"age": ["n/a", "."]})
    assert found["age"].to_list() == [30, None, None, 41]


def test_codes_are_missing_in_each_of_several_files(tmp_path):
    from shoal.io.write import write_table

    write_table(pl.DataFrame({"age": ["n/a", "25"], "sex": ["f", "m"]}), tmp_path / "a.xlsx")
    write_table(pl.DataFrame({"age": [30, 41], "sex": ["f", "m"]}), tmp_path / "b.xlsx")
    found = read_table([tmp_path / "a.xlsx", tmp_path / "b.xlsx"], missing_codes={"age": ["n/a"]})
    assert found["age"].to_list() == [None, 25, 30, 41]


def test_words_and_days_that_mean_a_missing_one_are_proposed_and_heeded(tmp_path, shoal_runs):
    days = [date(1950 + n % 40, 1 + n % 12, 1 + n % 28) for n in range(N)]
    table = pl.DataFrame(
        {
            "born": [f"{d:%d.%m.%Y}" if n % 9 else "00.00.0000" for n, d in enumerate(days)],
            "left": [f"{d:%d.%m.%Y}" if n % 8 else "31.12.9999" for n, d in enumerate(days)],
            "came": [
                str(d.replace(year=2024)) if n % 5 else "1900-01-01" for n, d in enumerate(days)
            ],
            "age": ["unbekannt" if n % 11 == 0 else str(20 + n % 60) for n in range(N)],
            "cost": ["99.999,00" if n % 7 == 0 else f"1.{100 + n % 90},5{n % 9}" for n in range(N)],
            "work": [["unknown", "nurse", "baker"][n % 3] for n in range(N)],
        }
    )
    table.write_csv(tmp_path / "t.csv", separator=";")
    found = suggest_job(tmp_path / "t.csv")
    assert found.details["missing_codes"] == {
        "born": ("00.00.0000",),
        "left": ("9999-12-31",),
        "came": ("1900-01-01",),
        "age": ("unbekannt",),
        "cost": ("99999",),
    }
    assert shoal_runs("init", tmp_path / "t.csv", "-o", tmp_path / "t.toml").status == 0
    job = shoal.read_job(tmp_path / "t.toml")
    read = read_input(
        replace(job.input, path=str(tmp_path / "t.csv")), details=job.schema_options()
    )
    for name, every in {
        "born": 9,
        "left": 8,
        "came": 5,
        "age": 11,
        "cost": 7,
        "work": N + 1,
    }.items():
        missing = [cell is None for cell in read[name]]
        assert missing == [n % every == 0 and every <= N for n in range(N)], name
    assert [read.schema[name] for name in ("born", "left", "came")] == [pl.Date] * 3


def test_frames_lose_their_codes_too():
    release = shoal.anonymize(
        TABLE.select("age", "sex"),
        k=5,
        quasi_identifiers=["age", "sex"],
        missing_codes={"age": [-9]},
        seed=1,
    )
    marked = TABLE.select(pl.when(pl.col("age") != -9).then("age").alias("age"), "sex")
    plain = shoal.anonymize(marked, k=5, quasi_identifiers=["age", "sex"], seed=1)
    assert release.frame.sort(pl.all()).equals(plain.frame.sort(pl.all()))


def test_codes_that_are_none_are_one_sentence(shoal_runs, data):
    found = shoal_runs("anonymize", data, "--k", 5, "--qi", "age", "--missing-codes", "age=")
    assert found.status == 2
    assert "Traceback" not in found.err


def test_every_command_that_reads_the_original_heeds_the_job(shoal_runs, data, tmp_path):
    """With the codes in the job, and with the same table in which nothing was a code."""
    job, clean = tmp_path / "job.toml", tmp_path / "clean.csv"
    marked = TABLE.select(
        pl.when(pl.col("age") != -9).then("age").alias("age"), "sex", pl.col("land")
    )
    TABLE.select("age", "sex", "land").write_csv(data)
    marked.write_csv(clean)
    text = 'k = 5\n[columns.sex]\nrole = "quasi-identifier"\n[columns.land]\nrole = "sensitive"\n'
    age = '[columns.age]\nrole = "quasi-identifier"\n'
    job.write_text(f'{text}{age}missing_codes = ["-9"]\n')
    other = tmp_path / "other.toml"
    other.write_text(text + age)
    outcomes = []
    for table, asked in ((data, job), (clean, other)):
        safe, kept = tmp_path / f"safe-{table.stem}.csv", tmp_path / f"{table.stem}.shoal"
        made = shoal_runs(
            "anonymize", table, "-o", safe, "--job", asked, "--seed", 1, "--save", kept, "-q"
        )
        assert made.status == 0, made.err
        more = tmp_path / f"more-{table.stem}.csv"
        # What the release knows is enough: the further rows are read without a job.
        applied = shoal_runs("apply", table, "--release", kept, "-o", more, "--seed", 1, "-q")
        found = [sorted(safe.read_text().splitlines()), applied.status]
        found.append(sorted(more.read_text().splitlines()))
        for command in (["score"], ["audit", "--json"]):
            said = shoal_runs(*command, table, safe, "--job", asked)
            assert said.status == 0, said.err
            found.append(said.out.replace(f"safe-{table.stem}", "safe").replace(table.stem, "t"))
        outcomes.append(found)
    assert outcomes[0] == outcomes[1]
    assert "-9" not in "".join(outcomes[0][0])
