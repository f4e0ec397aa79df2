"""`shoal init` writes a job that runs unchanged; on a terminal it asks."""

import os
import pty
import random
import subprocess
import sys
from pathlib import Path

import pytest
from tests.helpers import profile_samples

import shoal
from shoal.settings.job_file import read_job


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("hospital", "customers", "survey"):
        text = getattr(profile_samples, name)()
        (tmp_path / f"{name}.csv").write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("name", ["hospital", "customers", "survey", "adult"])
def test_the_written_job_runs_unchanged(shoal_runs, folder, name):
    if name == "adult":
        # a slice: the job is the same, and the run is short
        frame = shoal.datasets.load_adult("keep").head(2000).fill_null("?")
        frame.write_csv(folder / "adult.csv")
    outcome = shoal_runs("init", f"{name}.csv")
    assert outcome.status == 0, outcome.err
    assert "job.toml" in outcome.out
    outcome = shoal_runs("anonymize", f"{name}.csv", "-o", "safe.csv", "--job", "job.toml")
    assert outcome.status == 0, outcome.err
    job = read_job("job.toml")
    quasi = [column for column, what in job.columns.items() if what.role == "quasi-identifier"]
    removed = {c for c, what in job.columns.items() if what.role in ("identifier", "drop")}
    published = shoal.read_table("safe.csv")
    assert shoal.verify(published, job.k, quasi_identifiers=quasi).holds
    assert not removed & set(published.columns)


def test_init_runs_nothing_by_itself_and_says_that_hierarchies_are_data(shoal_runs, folder):
    before = set(folder.iterdir())
    outcome = shoal_runs("init", "customers.csv", "--yes")
    assert {path.name for path in set(folder.iterdir()) - before} == {"job.toml", "job-hierarchies"}
    assert "treat them like the data" in outcome.out
    assert "CityA" not in outcome.out + outcome.err
    assert "example.org" not in (folder / "job.toml").read_text(encoding="utf-8")


def test_init_never_replaces_a_hierarchy_unless_forced(shoal_runs, folder):
    assert shoal_runs("init", "customers.csv").status == 0
    (folder / "job.toml").unlink()
    outcome = shoal_runs("init", "customers.csv")
    assert outcome.status == 2
    assert "--force" in outcome.err
    assert not (folder / "job.toml").exists()
    assert shoal_runs("init", "customers.csv", "--force").status == 0


def test_given_missing_values_are_taken_as_they_are(shoal_runs, folder):
    assert shoal_runs("init", "hospital.csv", "--missing-values", "?").status == 0
    assert read_job("job.toml").missing_values == ("", "?")


def test_init_shows_whom_columns_single_out_and_marks_what_is_in_doubt(shoal_runs, folder):
    draw = random.Random(3)
    lines = [
        f"{draw.randint(20, 60)},{draw.choice('fm')},{draw.randint(1, 5)},{n}.25"
        for n in range(120)
    ]
    (folder / "odd.csv").write_text("age,sex,zz,qq\n" + "\n".join(lines), encoding="utf-8")
    outcome = shoal_runs("init", "odd.csv", "--yes")
    assert outcome.status == 0, outcome.err
    text = " ".join(outcome.out.split())
    assert "alone, together: of 120 rows" in text
    assert "In doubt, marked with ?: zz, qq." in text
    assert "111.25" not in text + (folder / "job.toml").read_text(encoding="utf-8")
    job = (folder / "job.toml").read_text(encoding="utf-8")
    assert job.count("CHECK THIS: ") == 2
    assert "# In doubt: 2. Look for CHECK THIS." in job
    assert "It singles out 120 of 120 rows alone, and 120 together with the" in job
    assert read_job("job.toml").columns["qq"].role == "drop"


@pytest.fixture
def answers(folder, environment):
    """Answers the questions of `shoal init small.csv` on a terminal; returns what was shown."""

    def give(text):
        ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "shoal", "init", "small.csv", "--force"]
        process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, close_fds=True
        )
        os.close(theirs)
        os.write(ours, text)
        shown = b""
        try:
            while chunk := os.read(ours, 4096):
                shown += chunk
        except OSError:  # Linux says so when the other side has closed
            pass
        finally:
            os.close(ours)
        assert process.wait(timeout=60) == 0, shown.decode()
        return shown

    (folder / "small.csv").write_text(
        "age,diagnosis,zz\n" + "".join(f"{20 + n},d{n % 3},{n % 4}\n" for n in range(40)),
        encoding="utf-8",
    )
    return give


def roles():
    return [column.role.value for column in read_job("job.toml").columns.values()]


@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal of Unix")
def test_on_a_terminal_every_guess_is_a_question(answers):
    # age as guessed, a wrong answer, then a role, zz as guessed, a k that is none, then k
    shown = answers(b"\nnonsense\nq\n\nmany\n7\n")
    assert read_job("job.toml").k == 7
    assert roles() == ["quasi-identifier"] * 3
    assert b"whole word" in shown
    assert b"whole number" in shown
    assert shown.count(b"In doubt: please decide.") == 1
    assert b"rows alone" in shown


@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal of Unix")
def test_b_goes_back_to_the_question_before_also_from_k(answers):
    # b at the first question stays there; diagnosis: drop, back, sensitive; zz: drop, back from k
    # and from the promise to k; the promise is kept
    shown = answers(b"b\n\nd\nb\ns\nd\nb\ni\n7\nb\n\n5\n\n")
    assert b"at least two different values of diagnosis" in shown
    assert read_job("job.toml").privacy[0]["column"] == "diagnosis"
    assert roles() == ["quasi-identifier", "sensitive", "identifier"]
    assert read_job("job.toml").k == 5


@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal of Unix")
def test_a_takes_what_is_not_in_doubt_and_asks_about_the_rest(answers):
    shown = answers(b"a\nd\n\n\n")
    assert roles() == ["quasi-identifier", "sensitive", "drop"]
    assert shown.count(b"  role [") == 2


@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal of Unix")
def test_who_takes_the_proposed_promise_away_is_asked_again(answers):
    shown = answers(b"a\nd\n\nn\nn\n")  # no, and not really
    assert b"known without finding anybody" in shown
    assert [each["column"] for each in read_job("job.toml").privacy] == ["diagnosis"]
    answers(b"a\nd\n\nn\ny\n")
    assert read_job("job.toml").privacy == ()
    assert "No promise is made about 'diagnosis'" in Path("job.toml").read_text(encoding="utf-8")
