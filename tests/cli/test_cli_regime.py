"""What regulators ask: k, warnings, and the section of the report that answers their questions."""

import datetime as dt
import json
import re

import numpy as np
import polars as pl
import pytest

from shoal.settings.regimes import REGIMES

N = 240
SOURCES = {  # what the rules say, written down again: threshold, groups, numbers of a table
    "ema": (0.09, 12, None),
    "health-canada": (0.09, 12, None),
    "hipaa-expert": (None, 11, None),
    "hipaa-safe-harbor": (None, None, None),
    "cms": (None, 11, (11, 1)),
    "nhs": (None, 8, (8, 5)),
    "eu": (None, None, None),
}


@pytest.fixture
def patients(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(8)
    day = dt.date(2024, 1, 1)
    pl.DataFrame(
        {
            "name": [f"Xaver {n}" for n in range(N)],
            "age": rng.integers(30, 98, N),
            "zip": rng.choice(["02139", "02141", "94110", "94114"], N),
            "sex": rng.choice(["F", "M"], N),
            "admitted": [day + dt.timedelta(days=int(d)) for d in rng.integers(0, 360, N)],
            "diagnosis": rng.choice(["flu", "gout", "asthma"], N),
        }
    ).write_csv("patients.csv")
    return tmp_path


ROLES = ("--qi", "age,zip,sex,admitted", "--sensitive", "diagnosis", "--identifier", "name")
RUN = (
    "anonymize",
    "patients.csv",
    "-o",
    "safe.csv",
    *ROLES,
    "--rows-are-people",
    "--quiet",
    "--seed",
    "1",
)


def section(path="report.html"):
    page = path.read_text(encoding="utf-8")
    return page.partition('<section id="regime">')[2].partition("</section>")[0]


def words(html):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def test_the_numbers_are_those_of_the_sources():
    told = {
        name: (row.risk, row.k, None if row.minimum is None else (row.minimum, row.round_to))
        for name, row in REGIMES.items()
    }
    assert told == SOURCES
    for risk, k, _ in SOURCES.values():
        assert risk is None or 1 / k <= risk < 1 / (k - 1)


@pytest.mark.parametrize("regime", list(SOURCES))
def test_a_regime_sets_k_and_its_report_answers_every_question_or_leaves_it_open(
    shoal_runs, patients, regime
):
    k = SOURCES[regime][1]
    given = () if k else ("--k", "6")
    report = ("--report", "report.html", "--certificate", "c.json")
    made = shoal_runs(*RUN, *given, "--for", regime, *report)
    assert made.status == 0, made.err
    certificate = json.loads((patients / "c.json").read_text(encoding="utf-8"))
    assert certificate["parameters"]["k"] == (k or 6)
    published = pl.read_csv("safe.csv", infer_schema=False)
    sizes = published.group_by("age", "zip", "sex", "admitted").len()["len"]
    assert sizes.min() >= (k or 6)
    html = section(patients / "report.html")
    text = words(html)
    assert REGIMES[regime].source in text
    for column in ("name", "age", "zip", "sex", "admitted", "diagnosis"):
        assert f'<th scope="row">{column}</th>' in html
    asked = html.partition('class="questions"')[2]
    answers = re.findall(r'<tr><th scope="row">(.*?)</th>\s*<td>(.*?)</td></tr>', asked, re.DOTALL)
    assert len(answers) >= 5
    assert all(words(said).strip() for _, said in answers)
    assert any("For you to answer" in said for _, said in answers)
    assert "Xaver" not in text, "a name of the input is in the report"
    assert "lawful" in text
    if regime == "eu":
        found = [words(said) for _, said in answers[:3]]
        assert all(re.search(r"\d%", said) for said in found), "an attack has no answer"


def test_groups_of_eleven_are_told_to_be_above_the_threshold_and_made(shoal_runs, patients):
    eleven = shoal_runs(*RUN, "--for", "ema", "--k", "11", "--report", "report.html")
    assert eleven.status == 0, eleven.err
    assert "0.0909, above the 0.09" in words(section(patients / "report.html"))
    strict = shoal_runs(*RUN, "--for", "ema", "--k", "11", "--strict", "--replace")
    assert strict.status == 1
    assert "0.0909" in strict.err
    twelve = shoal_runs(*RUN, "--for", "ema", "--report", "report.html", "--replace")
    assert twelve.status == 0, twelve.err
    text = words(section(patients / "report.html"))
    assert "Not kept" not in text
    assert "✓ kept" in text


def test_a_k_below_what_is_asked_is_warned_of(shoal_runs, patients):
    made = shoal_runs(*RUN, "--for", "cms", "--k", "5", "--certificate", "c.json")
    assert made.status == 0, made.err
    warned = json.loads((patients / "c.json").read_text(encoding="utf-8"))["warnings"]
    assert any("groups of at least 11" in each for each in warned)


def test_safe_harbor_finds_dates_ages_and_digits_that_may_not_stand(shoal_runs, patients):
    given = ("--for", "hipaa-safe-harbor", "--k", "4")
    made = shoal_runs(*RUN, *given, "--certificate", "c.json")
    assert made.status == 0, made.err
    warned = json.loads((patients / "c.json").read_text(encoding="utf-8"))["warnings"]
    found = [each for each in warned if each.startswith("Safe harbor")]
    assert {
        name for each in found for name in ("age", "zip", "admitted") if repr(name) in each
    } == {
        "age",
        "zip",
        "admitted",
    }
    short = pl.read_csv("patients.csv", schema_overrides={"zip": pl.String})
    short = short.with_columns(pl.col("zip").str.slice(0, 3))
    short.write_csv("patients.csv")
    years = ("--grid", "admitted=year", "--top", "age=90", "--strict", "--replace")
    assert shoal_runs(*RUN, *given, *years).status == 0


def test_safe_harbor_warns_of_an_identifier_that_is_published(shoal_runs, patients):
    table = pl.read_csv("patients.csv").with_columns(email=pl.lit("x"))
    table.write_csv("patients.csv")
    made = shoal_runs(*RUN, "--insensitive", "email", "--for", "hipaa-safe-harbor", "--k", "4",
                      "--certificate", "c.json")  # fmt: skip
    assert made.status == 0, made.err
    warned = json.loads((patients / "c.json").read_text(encoding="utf-8"))["warnings"]
    assert any("'email' is called like an identifier" in each for each in warned)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--for", "eu"), "names no size of groups"),
        (("--for", "fda"), "must be one of ema"),
        ((), "k is not given"),
        (("--for", "ema", "--engine", "spark"), "on one machine"),
    ],
)
def test_what_cannot_be_asked_is_one_clear_sentence(shoal_runs, patients, flags, said):
    made = shoal_runs(*RUN, *flags)
    assert made.status == 2
    assert said in " ".join(made.err.split())
    assert not (patients / "safe.csv").exists()


def test_a_job_keeps_the_regime_and_explain_takes_its_k(shoal_runs, patients):
    job = ["[output]", 'table = "safe.csv"', 'regime = "nhs"', "[input]", 'path = "patients.csv"']
    roles = {"name": "identifier", "diagnosis": "sensitive"}
    for name in ("name", "age", "zip", "sex", "admitted", "diagnosis"):
        job += [f"[columns.{name}]", f'role = "{roles.get(name, "quasi-identifier")}"']
    (patients / "job.toml").write_text("\n".join(job) + "\n", encoding="utf-8")
    made = shoal_runs("anonymize", "--job", "job.toml", "--certificate", "c.json", "--quiet")
    assert made.status == 0, made.err
    certificate = json.loads((patients / "c.json").read_text(encoding="utf-8"))
    assert certificate["parameters"]["k"] == 8
    explained = shoal_runs("explain", "patients.csv", "--job", "job.toml", "--rows", "100")
    assert explained.status == 0, explained.err


def test_the_section_speaks_german(shoal_runs, patients):
    report = ("--report", "report.html", "--language", "de")
    assert shoal_runs(*RUN, "--for", "ema", "--k", "11", *report).status == 0
    text = words(section(patients / "report.html"))
    for english in ("For you to answer", "Threshold", "generalised", "Not kept", "removed"):
        assert english not in text


@pytest.mark.parametrize(("regime", "least", "base"), [("cms", 11, 1), ("nhs", 8, 5)])
def test_a_table_of_counts_takes_the_numbers_of_a_regime(shoal_runs, patients, regime, least, base):
    counted = shoal_runs(
        "tabulate",
        "patients.csv",
        "--by",
        "zip,diagnosis",
        "--for",
        regime,
        "-o",
        "c.csv",
        "--quiet",
    )
    assert counted.status == 0, counted.err
    shown = [int(each) for each in pl.read_csv("c.csv", infer_schema=False)["count"] if each != "*"]
    assert shown
    assert all(each == 0 or each >= least - base // 2 for each in shown)
    assert all(each % base == 0 for each in shown)
    lower = shoal_runs("tabulate", "patients.csv", "--by", "sex", "--for", regime, "--minimum", "5")
    assert (lower.status, "Warning" in lower.err) == (0, True)
    finer = shoal_runs("tabulate", "patients.csv", "--by", "sex", "--for", regime, "--round", "2")
    assert (finer.status, "--round 2 was given" in finer.err) == (0, base == 5)
    wrong = shoal_runs("tabulate", "patients.csv", "--by", "sex", "--for", "ema")
    assert wrong.status == 2
    assert "not about tables of counts" in " ".join(wrong.err.split())
