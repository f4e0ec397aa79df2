"""Short sets in place of * in columns without a hierarchy, against sets and counts."""

from collections import Counter

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers.effort import share
from typer.testing import CliRunner

import shoal
from shoal.cli.app import app
from shoal.publish.recode import Style, recode, with_listings
from shoal.table.encode import encode
from shoal.table.partition import Partition
from shoal.table.schema import build_schema

JOBS = ["cook", "nurse", "clerk", "smith", "baker"]
TABLE = pl.DataFrame(
    {
        "job": [JOBS[(n * n + n // 7) % 5] for n in range(80)] + ["judge"],
        "age": [20 + n % 9 for n in range(80)] + [31],
        "sick": [n % 3 for n in range(81)],
    }
)
ROLES = {"quasi_identifiers": ["job", "age"], "sensitive": "sick"}
AGES = {"age": 9.0}  # ages are dear, so that groups mix jobs


def plain_cell(values, column, k, most, people=None):
    """What a group publishes, from its values and those of the whole column."""
    held = set(values)
    if len(held) == 1:
        return values[0]
    owners = {v: {p for p, own in zip(people, column, strict=True) if own == v} for v in held}
    known = {each for each in column if each is not None}
    listed = (
        None not in held
        and len(held) <= most
        and held < known
        and all(len(owners[each]) >= k for each in held)
    )
    return "{" + ", ".join(sorted(held)) + "}" if listed else "*"


def cells(column, labels, k, style=None, person=None, recoded=None):
    """The cell of each group of one flat column."""
    frame = pl.DataFrame({"x": pl.Series(column, dtype=pl.String)})
    roles = {"quasi_identifiers": "x", "kinds": {"x": "flat"}}
    if person is not None:
        frame, roles = frame.with_columns(p=pl.Series(person)), {**roles, "person": "p"}
    schema = build_schema(frame.columns, **roles)
    table = with_listings(encode(frame, schema), style or Style(), k)
    partition = Partition(Partition.from_labels(labels).labels, max(labels) + 1, recoded or {})
    published, rows = recode(frame, schema, table, partition, style, shuffle=False)
    found = {labels[row]: cell for row, cell in zip(rows, published["x"], strict=True)}
    return [found[label] for label in range(max(labels) + 1)]


@st.composite
def grouped(draw):
    """A column, the group of each row (some suppressed), and whose it is."""
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=6))
    labels = [g for g, size in enumerate(sizes) for _ in range(size)]
    labels += [-1] * draw(st.integers(0, 3))
    labels = draw(st.permutations(labels))
    value = st.none() | st.sampled_from("abcdef")
    column = [draw(value) for _ in labels] + ["a"]
    return column, [*labels, 0], [draw(st.integers(0, 6)) for _ in column]


@settings(max_examples=share(300))
@given(grouped(), st.integers(1, 4), st.integers(1, 6), st.booleans())
def test_a_group_lists_its_values_where_they_are_few_and_none_is_rare(made, k, most, counted):
    column, labels, person = made
    person = person if counted else None
    found = cells(column, labels, k, Style(flat_values=most), person)
    people = range(len(column)) if person is None else person
    for label, cell in enumerate(found):
        own = [v for v, of in zip(column, labels, strict=True) if of == label]
        assert cell == plain_cell(own, column, k, most, people)


def test_a_value_that_fewer_than_k_people_have_is_never_listed():
    column, labels = ["a"] * 3 + ["b"] * 3 + ["rare", "c", "c", "c"], [0, 0, 1, 1, 1, 0, 2, 2, 2, 2]
    assert cells(column, labels, 3) == ["{a, b}", "{a, b}", "*"]
    one_person = [0, 1, 2, 3, 3, 3, 4, 5, 6, 7]  # b is one person's, three times
    assert cells(column, labels, 3, person=one_person) == ["*", "*", "*"]


def test_all_values_of_a_column_say_no_more_than_the_mark_and_are_not_listed():
    assert cells(["f", "m", "f", "m"], [0, 0, 1, 1], 2) == ["*", "*"]


@pytest.mark.parametrize("odd", ["a, b", "{a}"])
def test_a_column_whose_values_could_be_taken_for_a_set_lists_none(odd):
    column, labels = ["a", "b", "a", "b", odd, odd, "c", "c"], [0, 0, 1, 1, 2, 2, 3, 3]
    assert cells(column, labels, 2) == ["*", "*", odd, "c"]
    style = Style(set_format="<{values}>", set_separator="|")
    assert cells(column, labels, 2, style)[:2] == ["<a|b>", "<a|b>"]


def test_a_column_that_is_kept_or_suppressed_as_a_whole_lists_none():
    import numpy as np

    column, labels = ["a", "b", "a", "b", "c", "c"], [0, 0, 1, 1, 2, 2]
    nodes = np.array([3, 3, 3], np.int32)  # the root, also of the group that has one value
    assert cells(column, labels, 2, recoded={"x": nodes}) == ["*", "*", "*"]
    for algorithm in ("incognito", "datafly"):
        release = shoal.anonymize(
            TABLE, 4, **ROLES, kinds={"age": "flat"}, algorithm=algorithm, seed=1
        )
        assert not release.frame["job"].str.starts_with("{").any()


def made(most, **more):
    style = {"flat_values": most}
    return shoal.anonymize(TABLE, 4, **ROLES, seed=1, weights=AGES, style=style, **more)


def test_groups_and_scores_are_the_same_and_what_is_published_loses_less():
    plain, listed = made(1), made(8)
    assert sorted(plain.groups) == sorted(listed.groups)
    assert plain.scores == listed.scores
    jobs = listed.frame["job"].to_list()
    assert any(cell.startswith("{") for cell in jobs)
    assert not any("judge" in cell for cell in jobs)
    assert set(plain.frame["job"]) <= {*JOBS, "*"}
    losses = [r.certificate()["scores"]["ncp"] for r in (plain, listed)]
    assert losses[1] < losses[0]


def test_the_published_loss_is_that_of_the_sets_that_a_reader_sees():
    listed = made(8)
    jobs = listed.frame["job"].to_list()
    members = [None if j == "*" else j.strip("{}").split(", ") for j in jobs]
    known = {each for own in members if own for each in own}
    loss = [1.0 if own is None else (len(own) - 1) / (len(known) - 1) for own in members]
    column = next(each for each in listed.facts.columns if each.name == "job")
    assert column.loss == pytest.approx(sum(loss) / len(loss))
    assert column.suppressed == pytest.approx(jobs.count("*") / len(jobs))
    assert column.kept == pytest.approx(sum(len(m or "ab") == 1 for m in members) / len(jobs))


def test_a_published_table_is_scored_as_its_run_and_as_sets_where_that_is_asked():
    listed = made(8)
    flat = shoal.score(TABLE, listed.frame, **ROLES, weights=AGES, measures=["lm"])
    assert flat["lm"] == pytest.approx(listed.scores["lm"])
    sets = shoal.score(
        TABLE, listed.frame, **ROLES, weights=AGES, kinds={"job": "set"}, measures=["lm"]
    )
    assert sets["lm"] < flat["lm"]


def test_further_rows_take_cells_that_list_their_value_only():
    first = made(8)
    more = TABLE.with_columns(age=TABLE["age"] + 1)
    applied = shoal.apply(more, first, seed=2)
    assert applied.release.verification.holds
    assert applied.together.holds
    shown = dict(enumerate(applied.release.frame["job"]))
    assert shown
    kept = [g >= 0 for g in applied.release.groups]
    published = Counter(applied.release.frame.select("job", "sick").rows())
    # each published cell covers as many rows of the input as show it, sensitive value by value
    truth = Counter(zip(more["job"].filter(kept), more["sick"].filter(kept), strict=True))
    for value in truth:
        covering = sum(
            n
            for (cell, sick), n in published.items()
            if sick == value[1] and (cell == "*" or value[0] in cell.strip("{}").split(", "))
        )
        assert covering >= truth[value]


def test_attackers_and_readers_take_a_set_for_its_values():
    listed = made(8)
    read = shoal.read_release(listed.frame, draw=True, seed=3)
    drawn = set(read["job"].drop_nulls())
    assert all(not each.startswith("{") for each in drawn)
    assert drawn <= {*JOBS}
    risks = [shoal.audit(TABLE, made(most).frame, **ROLES, seed=1).to_dict() for most in (1, 8)]
    assert all(risks)


def test_the_same_people_again_are_released_beside_sets():
    table = TABLE.with_columns(who=pl.int_range(81))
    roles = {**ROLES, "person": "who"}
    first = shoal.anonymize(table, 4, **roles, seed=1)
    again = shoal.anonymize(table[:70], 4, **roles, seed=2, previous=[first])
    assert again.verification.holds


@pytest.mark.parametrize("wrong", [0, -1, 2.5, True, "many"])
def test_a_wrong_number_is_refused_in_a_sentence(wrong):
    with pytest.raises(shoal.OptionError, match="flat_values must be a whole number"):
        shoal.anonymize(TABLE, 4, **ROLES, style={"flat_values": wrong})


def test_the_flag_and_the_job_say_it(tmp_path):
    TABLE.write_csv(tmp_path / "in.csv")
    asked = ["anonymize", str(tmp_path / "in.csv"), "--k", "4", "--qi", "job,age"]
    asked += ["--sensitive", "sick", "--seed", "1", "--weight", "age=9"]
    (tmp_path / "job.toml").write_text("[style]\nflat_values = 1\n")
    ways = {
        "sets": [],
        "flag": ["--flat-values", "1"],
        "job": ["--job", str(tmp_path / "job.toml")],
    }
    found = {}
    for way, more in ways.items():
        out = tmp_path / f"{way}.csv"
        result = CliRunner().invoke(app, [*asked, "-o", str(out), *more])
        assert result.exit_code == 0, result.output
        found[way] = out.read_bytes()
    assert found["flag"] == found["job"] != found["sets"]
    wrong = CliRunner().invoke(
        app, [*asked, "-o", str(tmp_path / "x.csv"), "--flat-values", "none"]
    )
    assert "flat_values" in str(wrong.exception)
