"""Pages propose a promise for sensitive columns, and ask what was probably not meant."""

import random

import polars as pl
import pytest

from shoal.app.feasibility import open_questions
from shoal.app.runs import history_of
from shoal.table.schema import Role


def table(n_rows=120):
    draw = random.Random(3)
    return pl.DataFrame(
        {
            "age": [draw.randint(20, 70) for _ in range(n_rows)],
            "doctor": [
                draw.choice(["Anna Becker", "Peter Smith", "Maria Rossi"]) for _ in range(n_rows)
            ],
            "diagnosis": [draw.choice(["flu", "gout", "cold"]) for _ in range(n_rows)],
            "hiv_result": ["pos" if n == 7 else "neg" for n in range(n_rows)],
        }
    )


@pytest.fixture
def opened(pages):
    table().write_csv(pages.work.root / "people.csv")
    pages.open_file("people.csv")
    pages.work.update(k=5, algorithm="mondrian", seed=3)
    for name, role in (("diagnosis", "sensitive"), ("hiv_result", "drop"), ("doctor", "drop")):
        choose(pages, name, role)
    return pages


def choose(pages, name, role):
    number = pages.work.table.names.index(name)
    assert pages.post(f"/columns/{number}", {"role": role}).status_code == 200


def run(pages):
    return pages.post("/run", {"suffix": "csv"}, script=False)


def asked(pages):
    return [tuple(each) for each in open_questions(pages.work)]


def promised(pages):
    return [
        (each["model"], each["l"], each["kind"], each["column"]) for each in pages.work.job.privacy
    ]


TWO = ("l-diversity", 2, "distinct", "diagnosis")


def test_a_promise_is_proposed_for_a_sensitive_column_and_not_for_a_rare_value(pages):
    table().write_csv(pages.work.root / "people.csv")
    pages.open_file("people.csv")
    assert promised(pages) == [TWO]
    assert pages.work.table.suggestion.others["hiv_result"] < 0.01


def test_a_promise_that_is_taken_away_is_a_question_that_must_be_answered(opened):
    assert asked(opened) == []
    said = {"k": "5", "algorithm": "mondrian", "seed": "3"}
    told = opened.post("/promises", {**said, "remove": "0"}).json()["html"]
    assert "Nothing is promised about “diagnosis”" in told
    page = opened.get("/run").text
    assert "Nothing is promised about “diagnosis”" in page
    assert 'id="run-button"' not in page
    run(opened)
    assert history_of(opened.work) == []
    assert "Answer the question about column" in opened.get("/run").text
    assert (
        opened.post("/run/answer", {"answer": "without:diagnosis"}, script=False).status_code == 303
    )
    assert asked(opened) == []
    run(opened)
    opened.wait("run")
    assert history_of(opened.work)[0].promises == ()


def test_the_answer_no_brings_the_promise_back(opened):
    said = {"k": "5", "algorithm": "mondrian", "seed": "3"}
    opened.post("/promises", {**said, "remove": "0"})
    told = opened.post("/promises", {**said, "answer": "promise:diagnosis"}).json()["html"]
    assert "Nothing is promised" not in told
    assert promised(opened) == [TWO]


def test_a_column_that_names_people_is_asked_about_and_the_run_is_amber(opened):
    choose(opened, "doctor", "insensitive")
    assert asked(opened) == [("names", "doctor")]
    assert "“doctor” seems to name people" in opened.get("/run").text
    run(opened)
    assert history_of(opened.work) == []
    opened.post("/run/answer", {"answer": "publish:doctor"}, script=False)
    run(opened)
    opened.wait("run")
    found = history_of(opened.work)[0]
    assert found.state == "amber"
    assert "'doctor' seems to name people" in found.headline
    for page in ("/run", "/hand-over"):
        assert "seems to name people" in opened.get(page).text


def test_the_answer_no_removes_the_column(opened):
    choose(opened, "doctor", "insensitive")
    opened.post("/run/answer", {"answer": "remove:doctor"}, script=False)
    assert opened.work.job.columns["doctor"].role is Role.IDENTIFIER
    assert asked(opened) == []


def test_nobody_answers_what_was_not_asked(opened):
    for said in ("publish:diagnosis", "without:diagnosis", "promise:age", "nonsense", ""):
        opened.post("/run/answer", {"answer": said}, script=False)
        assert promised(opened) == [TWO]
        assert opened.work.kept("answers") is None


def test_a_promise_goes_with_the_role_of_its_column(opened):
    choose(opened, "diagnosis", "drop")
    assert promised(opened) == []
    choose(opened, "diagnosis", "sensitive")
    assert asked(opened) == [("promise", "diagnosis")]
