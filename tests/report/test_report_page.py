"""What the page says, and what it must never say."""

import re
from html.parser import HTMLParser

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import OptionError
from shoal.report.page import render_report

VOID = {"meta", "br", "hr", "img", "input", "link", "rect", "line"}
HOSTILE = "</title><script>alert('x')</script>\"'&<svg onload=alert(1)>"


class Outline(HTMLParser):
    """Reads a page strictly: every tag is closed in order."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def outline(page):
    parser = Outline()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    return parser


def people(n_rows=60):
    rng = np.random.default_rng(3)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, n_rows),
            "town": rng.choice(["Oslo", "Rome", "Lima"], n_rows),
            "illness": rng.choice(["flu", "gout"], n_rows),
        }
    )


def release(frame=None, k=3, **options):
    given = {"quasi_identifiers": ["age", "town"], "sensitive": "illness", "seed": 1} | options
    return shoal.anonymize(people() if frame is None else frame, k, **given)


@pytest.fixture(scope="module")
def usual():
    return release(privacy=shoal.LDiversity(2, kind="distinct"))


def words(page):
    return " ".join(" ".join(outline(page).text).replace("\u00a0", " ").split())


def test_the_page_is_well_formed_and_begins_with_the_four_answers(usual):
    said = words(render_report(usual))
    answers = [
        said.index(question)
        for question in (
            usual.judgement.sentence,
            "What was promised",
            "Does it hold?",
            "What risk remains?",
            "What was lost?",
            "The risk that remains",
        )
    ]
    assert answers == sorted(answers)
    assert "every row looks exactly like at least 2 other rows" in said


def test_the_page_fetches_nothing_and_runs_nothing(usual):
    page = render_report(usual)
    assert "default-src 'none'" in page
    assert not re.search(r"https?:|//|src=|<script|@import|url\(|\son\w+=", page)


def test_names_and_cells_are_never_taken_for_markup():
    frame = people().rename({"age": HOSTILE}).with_columns(
        pl.lit(HOSTILE).alias("town"), pl.lit(HOSTILE + "!").alias("illness")
    )  # fmt: skip
    page = render_report(release(frame, quasi_identifiers=[HOSTILE, "town"]))
    plain = outline(page)
    assert not {"script", "iframe", "img", "object"} & set(plain.tags)
    assert not [name for name, _ in plain.attributes if name.startswith("on")]
    assert HOSTILE in "".join(plain.text)


def test_versions_and_hashes_are_on_the_page_and_the_seed_is_not(usual):
    page = render_report(usual, input_hmac="a1" * 32, output_sha256="b2" * 32)
    assert "a1" * 32 in page
    assert "b2" * 32 in page
    assert f"polars {pl.__version__}" in page
    assert "seed" not in words(page)


def test_a_sampling_fraction_lowers_the_risk_of_the_journalist(usual):
    whole, sample = (words(render_report(usual, sampling_fraction=f)) for f in (None, 0.01))
    assert "as well informed as the prosecutor" in whole
    assert "random sample of 1.0 % of the population" in sample
    with pytest.raises(OptionError, match="sampling_fraction"):
        render_report(usual, sampling_fraction=2)


def test_rows_whose_group_gives_the_sensitive_value_away_are_counted():
    frame = people().with_columns(pl.lit("flu").alias("illness"))
    said = words(render_report(release(frame)))
    assert "60 rows are in groups that all share one value of illness" in said


def test_warnings_of_the_run_are_shown(usual):
    from dataclasses import replace

    page = render_report(replace(usual, warnings=("Mind <this>.",)))
    assert "<li>Mind &lt;this&gt;.</li>" in page


class Explanation:
    """Findings of the shape that `shoal.explain` gives."""

    def __init__(self, cells):
        self.cells = cells

    def to_dict(self):
        change = {"what": "drop", "column": "<age>", "saving": 0.125, "price": 0.5, "loss": 0.3}
        return {
            "n_rows": 60,
            "n_tried": 50,
            "advice": ["Coarsen <age>."],
            "changes": [change | {"sentence": "Dropping <age> saves much."}],
            "outliers": [{"cells": self.cells, "n_rows": 4, "loss": 0.75}],
        }


def test_advice_becomes_a_section(usual):
    row = usual.frame.row(0, named=True)
    page = render_report(
        usual, explanation=Explanation({name: row[name] for name in ("age", "town")})
    )
    assert 'id="advice"' in page
    said = words(page)
    for text in (
        "Coarsen <age>.",
        "Dropping <age> saves much.",
        "30.0 %",
        "75.0 %",
        "50 of 60 rows",
    ):
        assert text in said
    assert 'id="advice"' not in render_report(usual)


def test_advice_never_shows_a_cell_that_is_not_published(usual):
    page = render_report(usual, explanation=Explanation({"age": "SECRET", "town": "Oslo"}))
    assert "SECRET" not in page
    assert "Coarsen &lt;age&gt;." in page


def test_what_explain_finds_has_a_place_on_the_page(usual):
    found = shoal.explain(people(), usual, workers=1)
    said = words(render_report(usual, explanation=found))
    assert found.advice[0] in said
    assert "What was tried" in said


@pytest.mark.parametrize("numeric", ["interval", "bounds", "struct", "mean", "median"])
def test_every_style_of_numbers_has_a_report(numeric):
    page = render_report(release(style={"numeric": numeric}))
    assert "Distribution of age before and after" in page
    outline(page)


def test_a_release_without_sensitive_columns_has_no_section_about_them():
    page = render_report(release(sensitive=(), drop="illness"))
    assert 'id="sensitive"' not in page


def test_writing_twice_replaces_the_page(usual, tmp_path):
    path = tmp_path / "r.html"
    usual.report(path)
    usual.report(path, sampling_fraction=0.5)
    assert path.read_text(encoding="utf-8").endswith("</html>\n")
    assert [each.name for each in tmp_path.iterdir()] == ["r.html"]


def test_sixty_columns_of_long_labels_stay_below_a_megabyte_and_a_half():
    rng = np.random.default_rng(1)
    n_rows = 3_000
    columns = {
        f"column {number} " + "long " * 20: (
            rng.integers(0, 1000, n_rows)
            if number % 2
            else rng.choice([f"{letter * 200}" for letter in "abcdefghijklmnopqrst"], n_rows)
        )
        for number in range(60)
    }
    frame = pl.DataFrame(columns | {"sick": rng.choice([f"{n}" * 50 for n in range(500)], n_rows)})
    made = shoal.anonymize(
        frame, 10, quasi_identifiers=list(columns), sensitive="sick", algorithm="mondrian", seed=1
    )
    page = render_report(made)
    assert len(page.encode()) < 1_500_000
    outline(page)
