"""The other commands: verify, init, hierarchy, the lists, help, and statuses of failures."""

import re

import pytest
from tests.helpers.cli_samples import ROLES, patients

from shoal.cli import program as runner
from shoal.io.read import read_table
from shoal.settings.job_file import read_job

# verify


@pytest.fixture
def published(tmp_path):
    path = tmp_path / "safe.csv"
    rows = [
        "[20-30],47*,flu",
        "[20-30],47*,asthma",
        "[20-30],47*,flu",
        "[31-40],*,flu",
        "[31-40],*,flu",
    ]
    path.write_text("age,zip,diagnosis\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_a_promise_that_holds_is_status_0(shoal_runs, published):
    outcome = shoal_runs("verify", published, "--k", 2, "--qi", "age,zip")
    assert outcome.status == 0, outcome.err
    assert "AMBER: Column 'diagnosis', which is published as it is, singles out" in outcome.out
    assert "BROKEN" not in outcome.out
    assert "1 in 2 (50.00%)" in outcome.out


def test_a_promise_that_does_not_hold_is_status_1(shoal_runs, published):
    outcome = shoal_runs("verify", published, "--k", 3, "--qi", "age,zip")
    assert outcome.status == 1
    assert "BROKEN" in outcome.out
    assert "2 rows in 1 groups" in outcome.out
    assert "do not publish" in outcome.out


def test_a_broken_promise_about_sensitive_values_is_status_1(shoal_runs, published):
    outcome = shoal_runs(
        "verify", published, "--k", 2, "--qi", "age,zip", "--sensitive", "diagnosis",
        "--l-diversity", 2, "--l-kind", "distinct",
    )  # fmt: skip
    assert outcome.status == 1
    assert re.search(r"l-diversity of 'diagnosis' +2 +1 +BROKEN", outcome.out)


@pytest.mark.parametrize(
    "arguments",
    [["nothing.csv", "--k", 2, "--qi", "age"], ["safe.csv", "--qi", "age"], ["safe.csv", "--k", 2]],
    ids=["no file", "no k", "no quasi-identifier"],
)
def test_what_cannot_be_verified_is_status_2(shoal_runs, published, monkeypatch, arguments):
    monkeypatch.chdir(published.parent)
    assert shoal_runs("verify", *arguments).status == 2


def test_a_stream_can_be_verified(shoal_process, published):
    data = published.read_bytes()
    outcome = shoal_process("verify", "-", "--k", 2, "--qi", "age,zip", data=data)
    assert outcome.status == 0, outcome.err


# init


def test_init_guesses_roles_and_the_job_runs(shoal_runs, table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = shoal_runs("init", table)
    assert outcome.status == 0, outcome.err
    assert "job.toml" in outcome.out
    job = read_job("job.toml")
    roles = {name: column.role.value for name, column in job.columns.items()}
    assert roles == {
        "name": "identifier",
        "age": "quasi-identifier",
        "zip": "quasi-identifier",
        "sex": "quasi-identifier",
        "diagnosis": "sensitive",
    }
    text = (tmp_path / "job.toml").read_text(encoding="utf-8")
    assert "SECRET" not in text + outcome.out
    assert text.count("\n#") > 5
    assert shoal_runs("anonymize", table, "-o", "safe.csv", "--job", "job.toml").status == 0


def test_init_never_overwrites_unless_forced(shoal_runs, table, tmp_path):
    target = tmp_path / "job.toml"
    target.write_text("mine", encoding="utf-8")
    outcome = shoal_runs("init", table, "-o", target)
    assert outcome.status == 2
    assert "--force" in outcome.err
    assert target.read_text(encoding="utf-8") == "mine"
    assert shoal_runs("init", table, "-o", target, "--force").status == 0
    assert read_job(target).k == 4


def test_init_takes_numbered_rows_and_unique_texts_for_identifiers(shoal_runs, tmp_path):
    source, target = tmp_path / "data.csv", tmp_path / "job.toml"
    rows = [f"{n},code-{n},{n % 4},{n % 2}," for n in range(1, 30)]
    source.write_text("\n".join(["row,code,floor,door,empty", *rows]) + "\n", encoding="utf-8")
    assert shoal_runs("init", source, "-o", target).status == 0
    roles = [column.role.value for column in read_job(target).columns.values()]
    assert roles == ["identifier", "identifier", "quasi-identifier", "quasi-identifier", "drop"]


# hierarchies


def test_a_hierarchy_is_built_checked_and_used(shoal_runs, table, tmp_path):
    target = tmp_path / "zip.csv"
    outcome = shoal_runs(
        "hierarchy", "build", table, "--column", "zip", "--method", "prefix", "--keep", "9",
        "-o", target,
    )  # fmt: skip
    assert outcome.status == 0, outcome.err
    assert "6 leaves" in outcome.out
    outcome = shoal_runs("hierarchy", "check", target, "--data", table, "--column", "zip")
    assert outcome.status == 0, outcome.err
    assert "covers all 6 distinct values" in outcome.out
    command = ["anonymize", table, "-o", tmp_path / "safe.csv", "--k", 10, *ROLES]
    assert shoal_runs(*command, "--hierarchy", f"zip={target}").status == 0
    cells = set(read_table(tmp_path / "safe.csv").get_column("zip").to_list())
    assert any(cell.endswith("**") for cell in cells)


@pytest.mark.parametrize(
    ("column", "arguments", "label"),
    [
        ("age", ["--widths", "10,50"], "[20-29]"),
        ("age", ["--method", "flat"], "*"),
        ("sex", ["--fanout", "2"], "*"),
        ("day", ["--levels", "month,year"], "2024-03"),
    ],
)
def test_the_method_follows_from_the_type(shoal_runs, tmp_path, column, arguments, label):
    source, target = tmp_path / "data.csv", tmp_path / "tree.csv"
    source.write_text(
        "age,sex,day\n" + "".join(f"{20 + n},{'MF'[n % 2]},2024-03-{n:02}\n" for n in range(1, 20)),
        encoding="utf-8",
    )
    outcome = shoal_runs("hierarchy", "build", source, "-c", column, *arguments, "-o", target)
    assert outcome.status == 0, outcome.err
    assert label in target.read_text(encoding="utf-8").replace("\n", ";").split(";")


def test_a_hierarchy_that_lacks_values_is_status_2_and_lists_them_only_on_request(
    shoal_runs, table, tmp_path
):
    tree = tmp_path / "zip.csv"
    tree.write_text("SECRET-4700;*\nSECRET-4710;*\n", encoding="utf-8")
    command = ["hierarchy", "check", tree, "--data", table, "--column", "zip"]
    outcome = shoal_runs(*command)
    assert outcome.status == 2
    assert "4 of 6" in outcome.err
    assert "SECRET" not in outcome.out + outcome.err
    assert "SECRET-4750" in shoal_runs(*command, "--list-missing").out


@pytest.mark.parametrize(
    "arguments",
    [
        ["build", "patients.csv", "-c", "age", "-o", "patients.csv"],
        ["build", "patients.csv", "-c", "age", "--keep", "3", "-o", "tree.csv"],
        ["build", "patients.csv", "-c", "age", "--widths", "wide", "-o", "tree.csv"],
        ["build", "patients.csv", "-c", "agee", "-o", "tree.csv"],
        ["build", "patients.csv", "-c", "age", "--method", "magic", "-o", "tree.csv"],
        ["check", "patients.csv", "--data", "patients.csv"],
    ],
    ids=["exists", "wrong option", "no number", "no column", "no method", "half a question"],
)
def test_a_wrong_hierarchy_command_is_status_2(shoal_runs, table, monkeypatch, arguments):
    monkeypatch.chdir(table.parent)
    outcome = shoal_runs("hierarchy", *arguments)
    assert outcome.status == 2
    assert outcome.err.startswith("Error: ")
    assert table.read_text(encoding="utf-8") == patients()


# lists, help, failures


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("algorithms", ["k-member", "mondrian", "Byun", "LeFevre"]),
        ("measures", ["ncp", "pmi-max", "average-class-size", "Goldberger"]),
        ("privacy-models", ["l-diversity", "t-closeness", "alpha-k"]),
    ],
)
def test_a_list_names_everything_with_its_source(shoal_runs, command, words):
    outcome = shoal_runs(command)
    assert outcome.status == 0, outcome.err
    for word in words:
        assert word in outcome.out


@pytest.mark.parametrize("arguments", [[], ["--help"], ["hierarchy"], ["anonymize", "-h"]])
def test_help_is_status_0(shoal_runs, arguments):
    outcome = shoal_runs(*arguments)
    assert outcome.status == 0
    assert "Usage: shoal" in outcome.out


@pytest.mark.parametrize("arguments", [["measure"], ["verify"], ["verify", "x", "--k"]])
def test_wrong_usage_is_status_2_in_two_lines(shoal_runs, arguments):
    outcome = shoal_runs(*arguments)
    assert outcome.status == 2
    assert re.fullmatch(r"Error: .*[.?]\nTry 'shoal.* --help'.\n", outcome.err)


def test_a_bug_is_status_70_and_shows_no_cell(shoal_runs, published, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("SECRET cell")

    monkeypatch.setattr("shoal.publish.verify.verify_table", fail)
    command = ["verify", published, "--k", 2, "--qi", "age"]
    outcome = shoal_runs(*command)
    assert outcome.status == runner.BUG == 70
    assert "RuntimeError" in outcome.err
    assert "--debug" in outcome.err
    assert "SECRET" not in outcome.err
    assert "Traceback" in shoal_runs(*command, "--debug").err
