"""The headline is green, amber or red as counting on the published table says, and names why."""

import copy
import json
import random
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from tests.helpers.effort import share
from tests.helpers.judged import alone_rows, expected, known_rows
from tests.helpers.panels import ROLES, panel

import shoal
from shoal.publish.judgement import Doubt, Judgement
from shoal.publish.verify import verify_table
from shoal.report.page import render_report

QUASI, SENSITIVE, INSENSITIVE = ["age", "sex"], ["ill", "drug"], ["ward"]


def random_rows(rng):
    """Return a small table that is already grouped, some of its groups too small or all alike."""
    rows, odd = [], rng.choice([0.0, 0.03, 0.1])
    for group in range(rng.randint(1, 6)):
        alike = rng.random() < 3 * odd
        value = rng.choice(["flu", "gout", None])
        rows += [
            {
                "age": f"[{10 * group}-{10 * group + 9}]",
                "sex": rng.choice(["f", "m"]) if rng.random() < odd / 5 else "*",
                "ill": value if alike else rng.choice(["flu", "gout", "cold"]),
                "drug": rng.choice(["a", "b"]),
                "ward": str(rng.random()) if rng.random() < odd else rng.choice(["n", "s"]),
            }
            for _ in range(rng.choice([5, 20, 60]))
        ]
    return rows


@pytest.fixture(scope="module")
def made():
    """A release whose table, promises and people are put in its place below."""
    rows = [
        {"age": 30 + n % 4, "sex": "fm"[n % 2], "ill": "xy"[n % 2], "drug": "a", "ward": "n"}
        for n in range(40)
    ]
    return shoal.anonymize(
        pl.DataFrame(rows), 3, quasi_identifiers=QUASI, sensitive=SENSITIVE, insensitive=INSENSITIVE
    )


def judged_as(made, rows, people=None):
    frame = pl.DataFrame(rows, infer_schema_length=None)
    numbers = None if people is None else pl.Series(people).to_numpy()
    found = verify_table(frame, k=3, quasi_identifiers=QUASI, people=numbers)
    again = replace(
        made,
        frame=frame,
        verification=found,
        n_rows=len(rows),
        n_suppressed=0,
        people=numbers,
        warnings=(),
    )
    return again.judgement


def test_the_state_is_that_of_sets_and_counting(made):
    rng, seen = random.Random(4), set()
    for _ in range(share(600)):
        rows = random_rows(rng)
        found = judged_as(made, rows)
        assert (found, len(found.open)) == expected(rows, 3, QUASI, SENSITIVE, INSENSITIVE)
        for point in found.open:
            if point.what == "known value":
                assert point.rows == known_rows(rows, QUASI, point.column)
            else:
                assert point.rows == alone_rows(rows, [*SENSITIVE, *INSENSITIVE])
            assert f"{point.rows:,} of {len(rows):,} people" in point.sentence
        seen.add(str(found))
    assert seen == {"green", "amber", "red"}


def test_where_people_have_several_rows_their_own_do_not_hide_them(made):
    rng, seen = random.Random(5), set()
    for _ in range(share(300)):
        rows = random_rows(rng)
        rows, people = [*rows, *rows], [*range(len(rows)), *range(len(rows))]
        found = judged_as(made, rows, people)
        wanted = expected(rows, 3, QUASI, SENSITIVE, INSENSITIVE, ids=people)
        assert (found, len(found.open)) == wanted
        for point in found.open:
            if point.what == "exact columns":  # counted with ids, so no number is told
                assert point.rows is None
                assert "5% or more of the rows" in point.sentence
        seen.add(str(found))
    assert seen == {"green", "amber", "red"}


def test_each_share_is_a_limit_that_can_be_met_exactly(made):
    def table(same, alone):
        rows = [
            {"age": "[1-9]", "sex": "*", "ill": "xy"[n % 2], "drug": "ab"[n % 2], "ward": "n"}
            for n in range(1000 - same)
        ]
        rows += [{**rows[0], "age": "[10-19]"} for _ in range(same)]
        for n in range(alone):
            rows[n] = {**rows[n], "ward": f"only {n}"}
        return rows

    assert judged_as(made, table(10, 0)) == "green"
    assert judged_as(made, table(11, 0)) == "amber"
    assert judged_as(made, table(0, 49)) == "green"
    assert judged_as(made, table(0, 50)) == "amber"


def illnesses(n_rows=200):
    rng = random.Random(6)
    return pl.DataFrame(
        {
            "age": [rng.randint(20, 80) for _ in range(n_rows)],
            "ill": ["flu" if rng.random() < 0.9 else "gout" for _ in range(n_rows)],
        }
    )


def release_of(frame, **options):
    given = {"quasi_identifiers": ["age"], "sensitive": ["ill"], "algorithm": "mondrian", "seed": 1}
    return shoal.anonymize(frame, 5, **given | options)


def test_screen_page_and_certificate_say_the_same_sentence(tmp_path, capfd):
    from shoal.cli.run import run

    frame = illnesses()
    for privacy, state in (([], "amber"), ([shoal.LDiversity(2, kind="distinct")], "green")):
        release = release_of(frame, privacy=privacy)
        judged = release.judgement
        assert judged == state
        told = release.certificate()["judgement"]
        assert (told["state"], told["sentence"]) == (state, judged.sentence)
        assert told["allowed"] == {"known_value": 0.01, "exact_columns": 0.05}
        assert json.loads(json.dumps(told)) == told
        page = render_report(release)
        assert f'<div class="verdict {state}">' in page
        assert judged.sentence.replace("'", "&#x27;") in page
        assert judged.sentence in str(release.summary())
    assert "of 200 people is known without finding them" in release_of(frame).judgement.sentence
    frame.write_csv(tmp_path / "in.csv")
    place = str(tmp_path / "c.json")
    words = ["anonymize", str(tmp_path / "in.csv"), "-o", str(tmp_path / "out.csv"), "--k", "5"]
    assert run([*words, "--qi", "age", "--sensitive", "ill", "--certificate", place]) == 0
    said = json.loads(Path(place).read_text())["judgement"]["sentence"]
    assert f"AMBER: {said}" in capfd.readouterr().out


def test_a_broken_promise_is_red_and_nothing_is_called_holding(made):
    rows = [
        {"age": "1", "sex": "*", "ill": "x", "drug": "a", "ward": "n"},
        {"age": "2", "sex": "*", "ill": "y", "drug": "a", "ward": "n"},
    ]
    judged = judged_as(made, rows)
    assert judged == "red"
    assert judged.sentence == "A promise is broken: k-anonymity. Do not publish this table."


def test_a_doubt_about_rows_or_columns_is_amber_and_comes_first():
    with pytest.warns(shoal.ShoalWarning):
        release = release_of(
            panel(), quasi_identifiers=ROLES["quasi_identifiers"], sensitive=["sick"],
            identifiers=["patient"],
        )  # fmt: skip
    judged = release.judgement
    assert judged == "amber"
    assert judged.open[0].what == "several rows"
    assert "people seem to have several rows" in judged.sentence
    frame = illnesses().with_columns(token=pl.int_range(200))
    with pytest.warns(shoal.ShoalWarning):
        release = release_of(frame, insensitive=["token"])
    assert "unique column" in {point.what for point in release.judgement.open}


def test_judgements_and_doubts_survive_a_copy():
    with pytest.warns(shoal.ShoalWarning):
        release = release_of(illnesses().with_columns(t=pl.int_range(200)), insensitive=["t"])
    judged = release.judgement
    again = copy.deepcopy(judged)
    assert isinstance(again, Judgement)
    assert (again, again.sentence, again.open) == (judged, judged.sentence, judged.open)
    [doubt] = [each for each in release.warnings if isinstance(each, Doubt)]
    assert copy.deepcopy(doubt).point == doubt.point
