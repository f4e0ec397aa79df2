"""`shoal init` over a collection of tables with an expert's role for every column."""

import pytest
from tests.helpers.collection import FIRST, SECOND, THIRD
from tests.helpers.collection.judge import (
    blinded,
    judge,
    named_and_published,
    precision_and_recall,
)
from tests.helpers.effort import further

PARTS = {"first": FIRST, "second": SECOND, "third": THIRD}
# Precision and recall that must be reached, a little below what docs/results/init.md shows.
LEAST = {
    "first": {
        "identifier": (0.98, 1.0),
        "person": (1.0, 1.0),
        "quasi-identifier": (0.96, 0.98),  # exact measures of small tables are generalised
        "sensitive": (0.98, 0.93),
        "insensitive": (1.0, 1.0),
        "drop": (0.95, 0.95),
        "removed": (0.97, 0.98),
    },
    "second": {
        "identifier": (0.95, 1.0),
        "person": (1.0, 1.0),
        "quasi-identifier": (0.93, 0.96),  # the list of a wide table is filled up
        "sensitive": (0.98, 0.95),
        "insensitive": (1.0, 1.0),
        "drop": (0.95, 0.86),
        "removed": (0.96, 0.93),
    },
    "third": {
        "identifier": (0.85, 1.0),
        "person": (1.0, 1.0),
        "quasi-identifier": (0.8, 0.85),
        "sensitive": (1.0, 0.45),
        "removed": (0.8, 1.0),
    },
}
MOST_WRONG_AND_SURE = {"first": 0.01, "second": 0.02, "third": 0.06}


@pytest.fixture(scope="module", params=PARTS)
def part(request):
    return request.param


@pytest.fixture(scope="module")
def rows(part, tmp_path_factory):
    return judge(PARTS[part], tmp_path_factory.mktemp(part))


def test_the_collection_has_forty_tables_and_a_third_of_them_kept_aside():
    names = [table.name for table in (*FIRST, *SECOND)]
    assert len(names) == len(set(names)) >= 40
    assert len(SECOND) >= len(names) / 3
    assert not {table.people for table in FIRST} & {table.people for table in SECOND}
    assert {"csv", "bom", "tsv", "semicolon", "jsonl", "parquet"} == {
        table.form for table in (*FIRST, *SECOND)
    }


def test_no_column_that_names_people_is_guessed_as_published(rows):
    assert named_and_published(rows) == []


def test_precision_and_recall_of_every_role_are_reached(part, rows):
    found = precision_and_recall(rows)
    for role, (precision, recall) in LEAST[part].items():
        assert found[role][0] >= precision, role
        assert found[role][1] >= recall, role


def test_a_wrong_guess_is_marked_as_in_doubt_nearly_always(part, rows):
    wrong_and_sure = [row for row in rows if row[2] != row[3] and row[4]]
    assert len(wrong_and_sure) <= MOST_WRONG_AND_SURE[part] * len(rows)
    in_doubt = [row for row in rows if not row[4]]
    assert len(in_doubt) <= 0.25 * len(rows)


def test_without_names_of_columns_no_person_is_published_and_little_exactly(part, tmp_path_factory):
    blind = [blinded(table) for table in PARTS[part]]
    rows = judge(blind, tmp_path_factory.mktemp("blind"))
    assert named_and_published(rows) == []
    assert {row[2] for row in rows if row[3] == "sensitive"} <= {"sensitive"}


@pytest.mark.parametrize("seed", further([1, 2], lambda seed: seed == 1))
def test_other_seeds_publish_no_person_either(seed, part, tmp_path_factory):
    rows = judge(PARTS[part], tmp_path_factory.mktemp("seed"), seed)
    assert named_and_published(rows) == []


def test_the_judge_counts_a_name_that_is_published_as_the_worst_error():
    rows = [("t", "a", "identifier", "quasi-identifier", True), ("t", "b", "drop", "drop", True)]
    assert named_and_published(rows) == [("t", "a", "identifier", "quasi-identifier")]
    found = precision_and_recall(rows)
    assert found["identifier"][:2] == (1.0, 0.0)
    assert found["quasi-identifier"][:2] == (0.0, 1.0)
    assert found["removed"] == (1.0, 0.5, 2)
