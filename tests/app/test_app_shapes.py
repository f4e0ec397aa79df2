"""The shapes in which offices hand over tables, taken through the pages as an officer would."""

import re
from dataclasses import replace

import pytest
from tests.helpers.shapes import SHAPES

from shoal.app.feasibility import open_questions
from shoal.app.runs import history_of
from shoal.profile.suggest import suggest_job
from shoal.settings.job_file import read_job


@pytest.mark.parametrize("name", SHAPES)
def test_a_file_of_this_shape_is_opened_shown_and_released_as_init_proposes(name, pages, tmp_path):
    shape = SHAPES[name]
    path = shape.make(pages.work.root, 1)
    pages.open_file(path.name)
    if shape.flags:
        pages.post("/open/reading", {"header": "no"})
        pages.wait("open")
    suggestion = suggest_job(path, header=not shape.flags)
    suggestion.write(tmp_path / "job.toml")
    job, wanted = pages.work.job, read_job(tmp_path / "job.toml")
    assert {**job.columns} == {**wanted.columns}
    assert replace(job.input, path=None) == replace(wanted.input, path=None)
    for place in ("/open", "/columns", "/promises"):
        assert pages.get(place).status_code == 200
    pages.post("/promises", {"k": "4", "algorithm": "mondrian", "seed": "5"})
    for _, column in open_questions(pages.work):
        pages.post("/run/answer", {"answer": f"without:{column}"}, script=False)
    pages.post("/run", {"suffix": "csv"}, script=False)
    pages.wait("run")
    made = history_of(pages.work)[0]
    assert made.n_rows == shape.rows
    text = pages.get("/run").text
    released = re.findall(r'href="([^"]*/table[^"]*)"', text)
    for each in (text, *(pages.get(link).text for link in released)):
        assert "SECRET" not in each


def test_the_sentence_of_k_says_whom_it_protects_from(pages, patients):
    pages.drop("patients.csv", patients)
    pages.post("/columns/1", {"role": "quasi-identifier"})
    pages.post("/columns/2", {"role": "quasi-identifier"})
    whole = pages.get("/promises").text
    assert "Whoever knows all of these about a person" in whole
    for changes, said in (
        ({"knows": 1}, "Somebody who knows at most 1 of these "),
        ({"combinations": [["age"]]}, "Somebody who knows a chosen combination of columns"),
        ({"knows": 1, "style": {"cells": "shuffled"}}, "That a person is in the table is not"),
    ):
        pages.work.update(**{"knows": None, "combinations": None, "style": None} | changes)
        for page in ("/promises", "/run"):
            text = pages.get(page).text
            assert said in text, (changes, page)
            assert "Whoever knows all of these about a person" not in text
