"""`--knows` and `--combination` from the table to the file, its certificate and back."""

import json
import random

import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.app import app
from shoal.errors import OptionError
from shoal.settings.job_file import read_job

AGAINST = "against somebody who knows at most 2 of these 3 columns"


@pytest.fixture
def files(tmp_path):
    chance = random.Random(5)
    rows = [
        {
            "age": chance.randint(20, 80),
            "zip": chance.choice("abcd"),
            "sex": chance.choice("FM"),
            "ill": chance.choice(["flu", "gout", "asthma"]),
        }
        for _ in range(240)
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "p.csv")
    return tmp_path


def run(folder, *words):
    paths = [str(folder / each[1:]) if each.startswith("@") else each for each in words]
    return CliRunner().invoke(app, paths)


ROLES = ("--qi", "age,zip,sex", "--sensitive", "ill", "--k", "5", "--seed", "1")
OUT = ("-o", "@s.csv", "--certificate", "@c.json", "--report", "@r.html")


def test_screen_report_and_certificate_say_first_which_attacker_is_meant(files):
    done = run(files, "anonymize", "@p.csv", *OUT, *ROLES, "--knows", "2")
    assert done.exit_code == 0, done.output
    said = json.loads((files / "c.json").read_text())
    assert said["judgement"]["state"] == "amber"
    assert AGAINST in said["judgement"]["sentence"]
    assert said["attacker"].endswith("at most 2 of these 3 columns")
    assert said["parameters"]["knows"] == 2
    page = (files / "r.html").read_text()
    assert AGAINST in page[page.index("<strong>") : page.index("</strong>")]
    assert "How large the groups are" not in page
    assert AGAINST in " ".join(done.output.split())


def test_verify_counts_the_combinations_in_the_published_bytes(files):
    run(files, "anonymize", "@p.csv", *OUT, *ROLES, "--knows", "2")
    asked = ("verify", "@s.csv", "--k", "5", "--qi", "age,zip,sex", "--sensitive", "ill")
    assert run(files, *asked, "--knows", "2").exit_code == 0
    assert run(files, *asked).exit_code == 1  # nothing is promised against who knows all
    assert run(files, *asked, "--combination", "age,zip").exit_code == 0
    assert isinstance(run(files, *asked, "--combination", "age,shoe").exception, OptionError)
    certified = ("verify", "@s.csv", "--certificate", "@c.json")
    done = run(files, *certified)
    assert done.exit_code == 0, done.output
    assert AGAINST in " ".join(done.output.split())
    text = (files / "s.csv").read_text().splitlines()
    cells = text[1].split(",")
    cells[0] = "20"
    (files / "s.csv").write_text("\n".join([text[0], ",".join(cells), *text[2:]]) + "\n")
    assert run(files, *certified).exit_code == 1
    assert run(files, *asked, "--knows", "2").exit_code == 1


def test_a_job_says_the_same(files):
    (files / "job.toml").write_text(
        'k = 5\nseed = 1\nknows = 1\ncombinations = [["age", "zip"], ["age", "sex"]]\n'
        '[input]\npath = "p.csv"\n[output]\ntable = "s.csv"\n[columns.age]\n'
        'role = "quasi-identifier"\n[columns.zip]\nrole = "quasi-identifier"\n[columns.sex]\n'
        'role = "quasi-identifier"\n[columns.ill]\nrole = "sensitive"\n'
    )
    job = read_job(files / "job.toml")
    assert job.combinations == (("age", "zip"), ("age", "sex"))
    shoal.write_job(job, files / "again.toml")
    assert read_job(files / "again.toml") == job
    release = shoal.run_job(files / "job.toml").release
    assert release.verification.attacker is not None
    flags = ("--knows", "1", "--combination", "age,zip", "--combination", "age,sex")
    done = run(files, "anonymize", "@p.csv", "-o", "@t.csv", *ROLES, *flags)
    assert done.exit_code == 0, done.output
    assert (files / "t.csv").read_bytes() == (files / "s.csv").read_bytes()
    assert run(files, "verify", "@s.csv", "--job", "@job.toml").exit_code == 0


def test_it_is_not_kept_for_further_rows(files):
    done = run(files, "anonymize", "@p.csv", *OUT, *ROLES, "--knows", "2", "--save", "@x.shoal")
    assert isinstance(done.exception, OptionError)
    assert "--save" in str(done.exception)
    assert not (files / "s.csv").exists()
    frame = pl.read_csv(files / "p.csv")
    roles = {"quasi_identifiers": ["age", "zip", "sex"], "sensitive": "ill"}
    made = shoal.anonymize(frame, 5, **roles, knows=2, seed=1)
    with pytest.raises(OptionError, match="cannot be kept"):
        made.save(files / "x.shoal")
    with pytest.raises(OptionError, match="cannot be kept"):
        shoal.apply(frame, made)


def test_who_shares_an_illness_in_a_combination_is_told():
    rows = [{"age": 30, "zip": "a", "sex": sex, "ill": "flu"} for sex in "FM" * 30]
    rows += [
        {"age": 60 + n % 2, "zip": "b", "sex": "FM"[n % 2], "ill": ["flu", "gout"][n % 2]}
        for n in range(60)
    ]
    roles = {"quasi_identifiers": ["age", "zip", "sex"], "sensitive": "ill"}
    made = shoal.anonymize(pl.DataFrame(rows), 5, **roles, knows=2, seed=1)
    kinds = [point.what for point in made.judgement.open]
    assert kinds[0] == "limited knowledge"
    assert "known value" in kinds
    assert made.verification.certain["ill"] >= 60
