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
    from shoal.cli.program import run

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


# -- a table that was made elsewhere -------------------------------------------------------------


def verified(rows, **more):
    frame = pl.DataFrame(rows, infer_schema_length=None)
    return shoal.verify(frame, 3, quasi_identifiers=QUASI, sensitive=SENSITIVE, **more)


def test_verify_judges_a_table_by_sets_and_counting():
    rng, seen = random.Random(7), set()
    for _ in range(share(400)):
        rows = random_rows(rng)
        found = verified(rows)
        state, n_open = expected(rows, 3, QUASI, SENSITIVE, INSENSITIVE)
        assert (found.judgement, len(found.judgement.open)) == (state, n_open)
        assert (state != "red") == bool(found)
        for point in found.judgement.open:
            if point.what == "known value":
                assert point.rows == known_rows(rows, QUASI, point.column)
            else:
                assert point.rows == alone_rows(rows, [*SENSITIVE, *INSENSITIVE])
            assert f"{point.rows:,} of {len(rows):,} people" in point.sentence
        assert found.to_dict()["judgement"] == found.judgement.to_dict()
        seen.add(state)
    assert seen == {"green", "amber", "red"}


def test_where_pseudonyms_are_published_people_are_told_apart_by_them():
    rng, seen = random.Random(8), set()
    for _ in range(share(200)):
        rows = random_rows(rng)
        ids = [*range(len(rows))] * 2
        rows = [{**row, "who": f"p{n:04}"} for row, n in zip(rows * 2, ids, strict=True)]
        found = verified(rows, person="who").judgement
        wanted = expected(rows, 3, QUASI, SENSITIVE, INSENSITIVE, ids=ids, doubts=1)
        assert (found, len(found.open)) == wanted
        assert any(point.what == "pseudonyms" for point in found.open)
        seen.add(str(found))
    assert seen == {"amber", "red"}


def test_verify_of_a_file_says_what_verify_of_its_table_says(tmp_path, capfd):
    from shoal.cli.program import run

    rng, seen = random.Random(9), set()
    for number in range(share(30)):
        rows = random_rows(rng)
        path = tmp_path / f"{number}.{rng.choice(['csv', 'parquet', 'jsonl'])}"
        getattr(pl.DataFrame(rows, infer_schema_length=None), WRITERS[path.suffix])(path)
        words = ["verify", str(path), "--k", "3", "--qi", "age,sex", "--sensitive", "ill,drug"]
        status = run([*words, "--json"])
        told = json.loads(capfd.readouterr().out)
        state, n_open = expected(rows, 3, QUASI, SENSITIVE, INSENSITIVE)
        assert (told["judgement"]["state"], len(told["judgement"]["open"])) == (state, n_open)
        assert status == (1 if state == "red" else 0)
        assert run(words) == status
        said = capfd.readouterr().out
        assert f"{state.upper()}: {told['judgement']['sentence']}" in said
        seen.add(state)
    assert seen == {"green", "amber", "red"}


WRITERS = {".csv": "write_csv", ".parquet": "write_parquet", ".jsonl": "write_ndjson"}


def test_a_name_or_a_value_of_ones_own_in_a_file_is_amber_and_refused_with_strict(tmp_path, capfd):
    from shoal.cli.program import run

    first = ["Anna", "Berta", "Carla", "Doris", "Emma", "Frieda", "Greta", "Hanna"]
    last = ["Maier", "Huber", "Gruber", "Wagner", "Bauer", "Pichler", "Moser"]
    names = [f"{a} {b}" for a in first for b in last]
    doctors = [names[n % 8] for n in range(200)]
    numbers = [1000 + 37 * n for n in range(200)]
    for column, cells, words in (
        ("doctor", doctors, "'doctor' seems to name people"),
        ("points", numbers, "a value of its own in column 'points'"),
    ):
        rows = [{"age": "[1-9]", "ill": "xy"[n % 2], column: cells[n]} for n in range(200)]
        pl.DataFrame(rows).write_csv(tmp_path / "safe.csv")
        asked = ["verify", str(tmp_path / "safe.csv"), "--k", "3", "--qi", "age"]
        assert run([*asked, "--sensitive", "ill"]) == 0
        said = capfd.readouterr().out
        assert "AMBER: " in said
        assert words in said
        assert run([*asked, "--sensitive", "ill", "--strict"]) == 1
        assert "REFUSED" in capfd.readouterr().out
        assert not any(name in said for name in names)


def test_with_its_certificate_a_file_is_judged_as_its_release_was(tmp_path, capfd):
    from shoal.cli.program import run

    def made(frame, *words):
        frame.write_csv(tmp_path / "in.csv")
        files = [str(tmp_path / each) for each in ("in.csv", "safe.csv", "c.json")]
        asked = ["anonymize", files[0], "-o", files[1], "--certificate", files[2], "--replace"]
        assert run([*asked, "--k", "5", "--algorithm", "mondrian", "--seed", "1", *words]) == 0
        capfd.readouterr()
        status = run(["verify", files[1], "--certificate", files[2], "--json"])
        return json.loads(Path(files[2]).read_text()), json.loads(capfd.readouterr().out), status

    plain = ["--qi", "age", "--sensitive", "ill"]
    promise = ["--l-diversity", "2", "--l-kind", "distinct"]
    told, found, status = made(illnesses(), *plain)
    assert (told["judgement"], status) == (found["judgement"], 0)
    assert found["judgement"]["state"] == "amber"
    told, found, _ = made(illnesses(), *plain, *promise)
    assert told["judgement"] == found["judgement"]
    assert found["judgement"]["state"] == "green"
    # what only the original tells is said by the certificate, and by nobody about another file
    visits = ["--qi", "age,sex,home", "--sensitive", "sick"]
    told, found, _ = made(panel(), *visits, "--identifier", "patient")
    assert found["judgement"]["open"][0]["what"] == "several rows"
    assert told["judgement"] == found["judgement"]
    safe = tmp_path / "safe.csv"
    safe.write_text(safe.read_text() + "\n")
    status = run(["verify", str(safe), "--certificate", str(tmp_path / "c.json"), "--json"])
    other = json.loads(capfd.readouterr().out)
    assert (status, other["same_file"]) == (1, False)
    assert "several rows" not in {point["what"] for point in other["judgement"]["open"]}
    assert run(["verify", str(safe), "--certificate", str(tmp_path / "c.json")]) == 1
    assert "NOT as its certificate says" in capfd.readouterr().out
    # promises that count people whom nobody can see are not called kept
    told, found, status = made(panel(), *visits, "--person", "patient")
    assert (found["judgement"]["open"][0]["what"], status) == ("not checked", 0)


def test_a_certificate_that_says_that_a_promise_is_broken_is_red(tmp_path):
    release = release_of(illnesses(), privacy=[shoal.LDiversity(2, kind="distinct")])
    release.write(tmp_path / "safe.csv")
    told = release.certificate()
    told["promises"][0]["holds"] = told["holds"] = False
    (tmp_path / "c.json").write_text(json.dumps(told))
    found = shoal.verify_certificate(tmp_path / "safe.csv", tmp_path / "c.json")
    assert found.promises.judgement == "red"
    assert "k-anonymity" in found.promises.judgement.sentence
    point = {"what": "known value", "sentence": "x", "column": None, "rows": None}
    wrong = ([1], [{"what": "joke"}], [point | {"what": "x"}], [point | {"sentence": "a\x1b[2J"}],
             [point | {"rows": "many"}], [point | {"more": 1}])  # fmt: skip
    for points in wrong:
        told["judgement"]["open"] = points
        (tmp_path / "c.json").write_text(json.dumps(told))
        with pytest.raises(shoal.DataError, match="is no certificate"):
            shoal.verify_certificate(tmp_path / "safe.csv", tmp_path / "c.json")


def test_columns_of_any_type_are_judged():
    rows = [
        {"age": "[1-9]", "ill": [n % 2], "raw": b"xy"[n % 2 :], "at": {"a": n}} for n in range(60)
    ]
    found = shoal.verify(pl.DataFrame(rows), 3, quasi_identifiers="age", sensitive=["ill", "raw"])
    assert [point.what for point in found.judgement.open] == ["exact columns", "unique column"]
    assert found.judgement.open[0].rows == 60
