"""`shoal anonymize` when all is well: what is written, what is said, what overrides what."""

import hashlib
import html
import json
import re

import polars as pl
import pytest
from tests.helpers.cli_samples import ROLES

from shoal.io.read import read_table


@pytest.fixture
def release(shoal_runs, table, tmp_path):
    """Anonymizes the small table and returns the published one, and what was said."""

    def call(*arguments, k=3, roles=ROLES, name="safe.csv"):
        target = tmp_path / name
        outcome = shoal_runs("anonymize", table, "-o", target, "--k", k, *roles, *arguments)
        assert outcome.status == 0, outcome.err
        return read_table(target), outcome

    return call


def group_sizes(frame, columns=("age", "zip", "sex")):
    return frame.group_by(columns).len().get_column("len")


def test_every_published_group_has_at_least_k_rows(release):
    frame, _ = release(k=5)
    assert frame.columns == ["age", "zip", "sex", "diagnosis"]
    assert frame.height == 40
    assert group_sizes(frame).min() >= 5


def test_the_summary_says_what_a_data_officer_needs(release):
    _, outcome = release(k=4)
    said = " ".join(outcome.out.split())
    for words in (
        "40 of 40",
        "Rows suppressed",
        "Groups",
        "Smallest group",
        "Highest re-identification risk",
        "1 in 4 (25.00%)",
        "k-anonymity",
        "holds",
        "at least 3 others in the 3 quasi-identifiers",
    ):
        assert words in said
    for column in ("age", "zip", "sex"):
        assert re.search(rf"^{column} +[0-9.]+%", outcome.out, re.MULTILINE)
    assert "SECRET" not in outcome.out


def test_quiet_says_nothing(release):
    _, outcome = release("--quiet")
    assert (outcome.out, outcome.err) == ("", "")


def test_the_same_seed_gives_the_same_file(shoal_runs, table, tmp_path):
    for name in ("one.csv", "two.csv"):
        shoal_runs("anonymize", table, "-o", tmp_path / name, "--k", 3, *ROLES, "--seed", 7)
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()


def test_promises_beyond_k_are_kept_and_shown(release):
    frame, outcome = release("--l-diversity", 2, "--l-kind", "distinct", "--alpha", 0.7)
    values = frame.group_by("age", "zip", "sex").agg(pl.col("diagnosis").n_unique())
    assert values.get_column("diagnosis").min() >= 2
    assert "l-diversity of 'diagnosis'" in outcome.out
    assert "alpha-k of 'diagnosis'" in outcome.out


def test_no_shuffle_keeps_the_order_and_warns(release, table):
    frame, outcome = release("--no-shuffle")
    original = read_table(table)
    assert frame.get_column("diagnosis").to_list() == original.get_column("diagnosis").to_list()
    assert outcome.err.startswith("Warning: ")


@pytest.mark.parametrize("name", ["safe.csv.gz", "safe.parquet", "safe.arrow", "safe.jsonl"])
def test_the_ending_of_the_output_says_its_format(release, name):
    frame, _ = release(name=name)
    assert frame.height == 40


def test_numbers_can_be_published_as_two_columns(release):
    frame, _ = release("--numeric-output", "bounds")
    assert frame.columns[:2] == ["age_low", "age_high"]
    assert frame.schema["age_low"] == pl.Int64


def test_columns_can_be_repeated_flags(release):
    frame, _ = release(
        roles=["--qi", "age", "--qi", "zip", "--sensitive", "diagnosis", "--drop", "name, sex"]
    )
    assert frame.columns == ["age", "zip", "diagnosis"]


def test_a_kind_flag_publishes_sets(release):
    frame, _ = release("--kind", "zip=set")
    cells = frame.get_column("zip").to_list()
    assert any(cell.startswith("{") for cell in cells)


def test_texts_that_mean_missing_are_missing(shoal_runs, tmp_path):
    source = tmp_path / "gaps.csv"
    source.write_text("age;town\n" + "?;x\nNA;x\n;x\n5;y\n6;y\n7;y\n", encoding="utf-8")
    target = tmp_path / "safe.csv"
    outcome = shoal_runs(
        "anonymize", source, "-o", target, "--k", 3, "--qi", "age,town", "--missing-values", "?,NA"
    )
    assert outcome.status == 0, outcome.err
    assert (
        sorted(target.read_text(encoding="utf-8").splitlines()[1:]) == [",x"] * 3 + ["[5-7],y"] * 3
    )


# job files

JOB = """
k = 4
algorithm = "k-member"
missing_values = ["", "?"]

[[privacy]]
model = "l-diversity"
l = 2
kind = "distinct"

[columns.name]
role = "identifier"
[columns.age]
role = "quasi-identifier"
weight = 2.0
[columns.zip]
role = "quasi-identifier"
kind = "set"
[columns.sex]
role = "quasi-identifier"
[columns.diagnosis]
role = "sensitive"
"""


@pytest.fixture
def job(tmp_path):
    path = tmp_path / "job.toml"
    path.write_text(JOB, encoding="utf-8")
    return path


@pytest.fixture
def certify(shoal_runs, table, tmp_path):
    """Runs with a certificate and returns it: it tells what the run was asked to do."""

    def call(*arguments):
        target, path = tmp_path / "safe.csv", tmp_path / "certificate.json"
        outcome = shoal_runs("anonymize", table, "-o", target, "--certificate", path, *arguments)
        assert outcome.status == 0, outcome.err
        return json.loads(path.read_text(encoding="utf-8"))

    return call


def test_a_job_file_says_it_all(certify, job):
    certificate = certify("--job", job)
    assert certificate["parameters"]["k"] == 4
    roles = {column["name"]: column["role"] for column in certificate["columns"]}
    assert roles["name"] == "identifier"
    assert certificate["columns"][1]["weight"] == 2.0
    assert certificate["columns"][2]["kind"] == "set"
    assert [promise["name"] for promise in certificate["promises"]] == [
        "k-anonymity",
        "l-diversity of 'diagnosis'",
    ]


def test_flags_win_over_the_job_file(certify, job):
    certificate = certify(
        "--job", job, "--k", 3, "--drop", "zip", "--kind", "sex=flat", "--weight", "age=3",
        "--l-diversity", 3, "--l-kind", "distinct",
    )  # fmt: skip
    assert certificate["parameters"]["k"] == 3
    columns = {column["name"]: column for column in certificate["columns"]}
    assert columns["zip"]["role"] == "drop"
    assert columns["age"]["weight"] == 3.0
    assert [promise["promised"] for promise in certificate["promises"]] == [3, 3]


# certificate and report


def test_the_certificate_says_what_was_promised_and_measured(certify, table, tmp_path):
    certificate = certify("--k", 5, *ROLES, "--seed", 987654321, "--t-closeness", 0.5)
    assert certificate["schema_version"] == 2
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", certificate["created"])
    assert set(certificate["versions"]) == {"shoal", "python", "numpy", "numba", "polars"}
    published = (tmp_path / "safe.csv").read_bytes()
    assert hashlib.sha256(table.read_bytes()).hexdigest() not in json.dumps(certificate)
    assert certificate["output"]["sha256"] == hashlib.sha256(published).hexdigest()
    assert certificate["output"]["rows"] == 40
    assert certificate["holds"] is True
    assert certificate["promises"][0]["measured"] >= 5
    assert certificate["promises"][1]["promised"] == 0.5
    assert certificate["parameters"]["algorithm"] == "auto"
    assert 0 < certificate["scores"]["ncp"] < 1
    assert set(certificate["by_column"]["ncp"]) == {"age", "zip", "sex"}


def test_the_certificate_holds_no_cell_and_no_seed(certify):
    certificate = certify("--k", 5, *ROLES, "--seed", 987654321)
    text = json.dumps(certificate)
    assert "SECRET" not in text
    assert "987654321" not in text
    assert "seed" not in text


def test_the_report_is_one_page_without_unpublished_cells_and_without_network(release, tmp_path):
    path = tmp_path / "report.html"
    frame, _ = release("--report", path, "--l-diversity", 2, "--l-kind", "distinct")
    page = path.read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "Every promise holds" in page
    assert "l-diversity of &#x27;diagnosis&#x27;" in page
    assert page.count("<svg") > 10
    published = " ".join(cell or "" for row in frame.cast(pl.String).rows() for cell in row)
    found, shown = (set(re.findall("SECRET-[0-9A-Za-z]+", text)) for text in (page, published))
    assert found <= shown
    assert hashlib.sha256((tmp_path / "safe.csv").read_bytes()).hexdigest() in page
    assert not re.search(r"https?:|src=|<script|@import|url\(", page)


def test_the_report_takes_advice_and_the_share_of_the_population(
    release, shoal_runs, table, tmp_path
):
    explained, path = tmp_path / "explained.json", tmp_path / "report.html"
    outcome = shoal_runs("explain", table, "--k", 3, *ROLES, "--out", explained, "--quiet")
    assert outcome.status == 0, outcome.err
    release("--report", path, "--explanation", explained, "--sampling-fraction", 0.25)
    page = path.read_text(encoding="utf-8")
    assert "What to do next" in page
    assert html.escape(json.loads(explained.read_text(encoding="utf-8"))["advice"][0]) in page
    assert "random sample of 25.0\u00a0% of the population" in page


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--sampling-fraction", 0.5], "is for the report"),
        (["--sampling-fraction", 5, "--report", "r.html"], "sampling_fraction must be"),
        (["--explanation", "none.json", "--report", "r.html"], "Could not read 'none.json'"),
        (["--explanation", "wrong.json", "--report", "r.html"], "is not what 'shoal explain"),
    ],
    ids=["no report", "no share", "no file", "another file"],
)
def test_what_the_report_cannot_use_is_refused_before_the_work(
    shoal_runs, table, tmp_path, monkeypatch, arguments, complaint
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wrong.json").write_text('{"advice": [], "changes": [{}], "outliers": []}')
    outcome = shoal_runs("anonymize", table, "-o", "safe.csv", "--k", 3, *ROLES, *arguments)
    assert outcome.status == 2
    assert complaint in outcome.err
    assert not (tmp_path / "safe.csv").exists()


# dry run


def test_a_dry_run_says_what_would_be_done_and_writes_nothing(shoal_runs, table, job, tmp_path):
    before = sorted(tmp_path.iterdir())
    target = tmp_path / "safe.csv"
    outcome = shoal_runs("anonymize", table, "-o", target, "--job", job, "--dry-run")
    assert outcome.status == 0, outcome.err
    for words in ("40", "k-anonymity with k = 4", "l = 2", "k-member", "safe.csv", "Dry run"):
        assert words in outcome.out
    assert "SECRET" not in outcome.out
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["--k", 41], 1),
        (["--k", 1], 2),
        (["--k", 3, "--l-diversity", 4, "--l-kind", "distinct"], 1),
        (["--k", 3, "--measure", "dm"], 2),
        (["--k", 3, "--algorithm", "magic"], 2),
        (["--k", 3, "--algorithm-option", "colour=red"], 2),
    ],
    ids=str,
)
def test_a_dry_run_finds_what_the_run_would_find(shoal_runs, table, arguments, status):
    command = ["anonymize", table, *ROLES, *arguments]
    assert shoal_runs(*command, "--dry-run").status == status
    assert shoal_runs(*command, "-o", table.with_name("safe.csv")).status == status


def test_debug_shows_the_traceback_of_an_error(shoal_runs, table):
    outcome = shoal_runs("anonymize", table, "--k", 3, "--debug")
    assert outcome.status == 2
    assert "Traceback" in outcome.err
    assert outcome.err.splitlines()[-1].startswith("Error: ")


@pytest.mark.parametrize("fresh", [True, False])
def test_a_fresh_installation_says_once_that_it_compiles(release, monkeypatch, fresh):
    monkeypatch.setattr("shoal.algorithm.warm_up._missing", lambda tasks: tasks if fresh else [])
    monkeypatch.setattr("shoal.algorithm.warm_up.warm_up", lambda tasks, report: None)
    _, outcome = release()
    assert outcome.err.count("Compiling") == int(fresh)
