"""A report in another language is in that language throughout."""

import html
import re
from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest
from tests.helpers.pseudo import forget_languages, plain_words, widened, write_catalogue

import shoal
from shoal import registry
from shoal.errors import OptionError
from shoal.messages import language
from shoal.report.page import render_report
from shoal.settings.files import About

CELLS = {"Oslo", "Rome", "Bonn", "flu", "gout", "small", "large"}
COLUMNS = {"age", "town", "born", "size", "illness", "job", "id"}
NAMES = {  # of the program, packages, measures, promises, files and people, the same everywhere
    *("Shoal", "shoal", "numpy", "numba", "polars", "python", "SHA-", "HMAC-", "Zayatz"),
    *("k-anonymity", *registry.names("privacy"), *registry.names("measures")),
    *("officer.key", "officer.pub", "certificate.json", "safe.csv", "k = ", "UTC", "nan"),
}


def people(n_rows=240):
    rng = np.random.default_rng(3)
    born = [date(1950, 1, 1) + timedelta(days=int(each)) for each in rng.integers(0, 9000, n_rows)]
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, n_rows),
            "town": rng.choice(["Oslo", "Rome", "Bonn"], n_rows),
            "born": born,
            "size": rng.choice(["small", "large"], n_rows),
            "job": rng.choice(["flu", "gout", "Oslo", "Rome", "Bonn"], n_rows),
            "illness": rng.choice(["flu", "gout"], n_rows, p=[0.9, 0.1]),
        }
    )


def shown(page):
    """What a page shows, without its style and the names and values of its options."""
    page = re.sub(r"<style>.*?</style>|<!doctype html>", " ", page, flags=re.DOTALL)
    page = re.sub(rf">{widened('Settings')}</th><td>[^<]*", ">", page)
    spoken = " ".join(re.findall(r'aria-label="([^"]*)"', page))
    return html.unescape(re.sub(r"<[^>]+>", " ", page) + " " + spoken)


@pytest.fixture(scope="module")
def pages():
    """Releases whose reports have every section, and what is given to the report."""
    frame = people()
    everything = shoal.anonymize(
        frame,
        4,
        quasi_identifiers=["age", "town", "born", "size", "job"],
        sensitive="illness",
        hierarchies={"town": {"North": ["Oslo", "Bonn"], "South": ["Rome"]}},
        kinds={"job": "set"},
        orders={"size": ["small", "large"]},
        privacy=shoal.LDiversity(2, kind="distinct"),
        max_suppression=0.1,
        seed=1,
    )
    explained = shoal.explain(
        frame,
        k=4,
        quasi_identifiers=["age", "town", "born"],
        sensitive="illness",
        drop=["size", "job"],
        seed=1,
    )
    persons = frame.with_columns(pl.int_range(pl.len()).floordiv(2).alias("id"))
    counted = shoal.anonymize(
        persons, 3, quasi_identifiers=["age", "town"], sensitive="illness", person="id",
        drop=["born", "size", "job"], seed=1,
    )  # fmt: skip
    open_points = shoal.anonymize(
        frame, 3, quasi_identifiers=["age"], sensitive="illness", insensitive=["born", "town"],
        drop=["size", "job"], seed=1, style={"numeric": "mean"},
    )  # fmt: skip
    return [
        (
            everything,
            {
                "explanation": explained,
                "audit": everything.audit(frame),
                "sampling_fraction": 0.1,
                "output_sha256": "00",
                "input_hmac": "00",
                "about": About(purpose="00"),
            },
        ),
        (counted, {}),
        (open_points, {}),
    ]


@pytest.fixture
def wide(tmp_path, monkeypatch):
    """German, spoken in wide letters."""
    write_catalogue(tmp_path)
    monkeypatch.setattr(language, "_FOLDER", tmp_path)
    forget_languages()
    yield "de"
    forget_languages()


def test_every_word_of_a_report_comes_from_the_catalogue(pages, wide):
    for release, more in pages:
        page = render_report(release, **more, language=wide)
        assert plain_words(shown(page), CELLS | COLUMNS | NAMES) == []


def test_a_language_that_nobody_has_made_is_refused(pages):
    with pytest.raises(OptionError, match=r"language must be .*de"):
        render_report(pages[1][0], language="xx")
