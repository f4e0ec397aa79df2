"""Where people are counted, every number is one of people or says that it is one of rows."""

import re

import pytest
from tests.helpers.panels import ROLES, panel

import shoal
from shoal.app.fields import of_k, of_model
from shoal.messages.language import Language
from shoal.report.page import render_report


@pytest.fixture(scope="module")
def release():
    privacy = [
        shoal.LDiversity(2, kind="distinct"),
        shoal.AlphaK(0.8),
        shoal.LDiversity(2, kind="recursive", c=6.0),
    ]
    return shoal.anonymize(panel(), 4, **ROLES, privacy=privacy, algorithm="mondrian", seed=1)


def said(page):
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def test_what_was_checked_with_what_is_one_sentence(release):
    how = release.verification.how()
    assert "the published cells with the ids of their people, which are not published" in how
    assert "alone" not in how
    page = said(render_report(release))
    assert "published cells alone" not in page
    rows = shoal.anonymize(
        panel().drop("patient"), 4, **{**ROLES, "person": None}, algorithm="mondrian", seed=1
    )
    assert "published cells alone" in rows.verification.how()
    assert "with the ids" not in said(render_report(rows))


def test_a_number_that_may_not_be_told_is_not_shown_as_a_measured_one(release):
    page = said(render_report(release))
    table = page[page.index("measured (worst group)") :][:400]
    assert table.count("as promised") == len(release.verification.checks)
    assert "Here rows are counted" in page
    assert str(release.summary()).count(", as promised, holds") == len(release.verification.checks)
    told = release.certificate()
    assert all(each["measured"] == each["promised"] for each in told["promises"])
    assert "what was measured is given as what was promised" in told["counted"]


def test_no_promise_that_counts_people_speaks_of_a_share_of_rows(release):
    for check in release.verification.checks:
        assert "rows" not in check.sentence, check.sentence
    assert any("80 % of the people" in check.sentence for check in release.verification.checks)


def test_a_column_called_rows_keeps_its_name():
    frame = panel().rename({"sick": "of the rows"})
    roles = {**ROLES, "sensitive": ["of the rows"]}
    release = shoal.anonymize(
        frame, 4, **roles, privacy=[shoal.AlphaK(0.8)], algorithm="mondrian", seed=1
    )
    assert "value of 'of the rows' makes up more than 80 % of the people" in (
        release.verification.checks[1].sentence
    )


def test_pages_say_people_where_people_are_meant():
    words = Language("en")
    assert "10 rows" in of_k(words, 10, ["age"])
    assert "at least 10 different people" in of_k(words, 10, ["age"], people=True)
    table = {"model": "alpha-k", "alpha": 0.5, "column": "ill"}
    assert "of the rows" in of_model(words, table)[0]
    assert "of the people" in of_model(words, table, people=True)[0]
