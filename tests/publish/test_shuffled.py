"""Exact values shuffled within groups, against sets and counts."""

import json
from collections import Counter, defaultdict

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers.effort import share
from typer.testing import CliRunner

import shoal
from shoal.app.fields import option_fields
from shoal.cli.app import app
from shoal.publish.shuffled import shuffle_within_groups
from shoal.settings.job import Job
from shoal.table.partition import Partition
from shoal.table.schema import build_schema

TABLE = pl.DataFrame(
    {
        "age": [20 + (n * 7) % 40 for n in range(150)],
        "job": [["cook", "nurse", "clerk", "judge", None][n % 5] for n in range(150)],
        "sick": [["flu", "cold", "gout"][n * n % 3] for n in range(150)],
        "visits": [n % 4 for n in range(150)],
        "name": [f"SECRET{n}" for n in range(150)],
    }
)
QI = ["age", "job"]
ROLES = {
    "quasi_identifiers": QI,
    "sensitive": "sick",
    "insensitive": "visits",
    "identifiers": "name",
}


def made(table=TABLE, k=5, **more):
    return shoal.anonymize(table, k, **{**ROLES, "seed": 1, "style": "shuffled", **more})


def contents(rows):
    """Of each group what a reader may learn: its columns one by one, and its other rows."""
    found = defaultdict(list)
    for group, *cells in rows:
        found[group].append(cells)
    return Counter(
        (
            tuple(sorted(map(repr, (cells[0] for cells in members)))),
            tuple(sorted(map(repr, (cells[1] for cells in members)))),
            tuple(sorted(map(repr, (cells[2:] for cells in members)))),
        )
        for members in found.values()
    )


def test_each_column_of_a_group_is_exact_and_other_cells_stay_together():
    release = made()
    kept = [n for n, label in enumerate(release.groups) if label >= 0]
    rows = TABLE.select(*QI, "sick", "visits").rows()
    expected = contents((int(release.groups[n]), *rows[n]) for n in kept)
    assert release.frame.columns == ["group", *QI, "sick", "visits"]
    assert release.frame.schema["age"] == pl.Int64
    assert contents(release.frame.rows()) == expected
    numbers = release.frame["group"]
    assert set(numbers) == set(range(1, release.n_groups + 1))
    assert numbers.value_counts()["count"].min() >= 5


@st.composite
def grouped(draw):
    n = draw(st.integers(2, 12))
    cell = st.none() | st.sampled_from(["a", "b", "c"])
    columns = {name: [draw(cell) for _ in range(n)] for name in ("x", "y", "z")}
    labels = [draw(st.integers(0, 2)) for _ in range(n)]
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)), labels


def plain(frame, labels):
    schema = build_schema(frame.columns, quasi_identifiers=["x", "y"], insensitive="z")
    return shuffle_within_groups(frame, schema, Partition.from_labels(labels))[0]


@settings(max_examples=share(200))
@given(grouped(), st.randoms(use_true_random=False))
def test_what_is_published_is_a_function_of_what_the_groups_hold(drawn, random):
    frame, labels = drawn
    once = plain(frame, labels)
    # other rows of the same groups: links between columns are others, in another order of rows
    parts = []
    names = dict(zip(sorted(set(labels)), random.sample(range(9), len(set(labels))), strict=True))
    for label in set(labels):
        own = frame.filter(pl.Series([each == label for each in labels]))
        columns = {name: random.sample(own[name].to_list(), own.height) for name in own.columns}
        parts.append((names[label], pl.DataFrame(columns, schema=frame.schema)))
    random.shuffle(parts)
    again = plain(pl.concat([p for _, p in parts]), [n for n, p in parts for _ in range(p.height)])
    assert again.equals(once)
    assert Counter(once["x"]) == Counter(frame["x"])


def test_links_inside_a_group_are_as_frequent_as_chance_has_it():
    n, size = 20_000, 10
    frame = pl.DataFrame({"x": range(n), "y": range(n), "z": range(n)})
    found = plain(frame.cast(pl.String), [n // size for n in range(n)])
    for one, other in (("x", "y"), ("x", "z"), ("y", "z")):
        linked = (found[one] == found[other]).mean()
        assert abs(linked - 1 / size) < 0.01
    # cells that repeat are not dealt in blocks: halves of a group go together by chance, too
    halves = pl.DataFrame({"x": ["a", "b"] * (n // 2), "y": ["a", "b"] * (n // 2)})
    found = plain(halves.with_columns(z=frame["z"].cast(pl.String)), [n // size for n in range(n)])
    assert abs((found["x"] == found["y"]).mean() - 0.5) < 0.02


def test_nothing_calls_it_k_anonymous_and_what_is_lost_is_said(tmp_path):
    release = made(privacy=shoal.LDiversity(2, kind="distinct"))
    assert release.judgement == "amber"
    assert release.judgement.sentence.startswith("The release is not k-anonymous")
    assert release.verification.checks[0].name == "group size"
    certificate = release.certificate()
    text = json.dumps(certificate)
    assert "k-anonymity" not in text.replace("not k-anonymity", "")
    assert "not k-anonymous" in certificate["shuffled"]
    assert certificate["risk"]["highest_reidentification_risk"] is None
    roles = {each["name"]: each["role"] for each in certificate["columns"]}
    assert roles["group"] == "quasi-identifier"
    assert roles["age"] == roles["job"] == "shuffled"
    release.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "This is not k-anonymity." in page
    assert "Nobody stands out" not in page
    assert "Prosecutor" not in page.split('id="glossary"')[0]
    assert "Presence." in page
    german = tmp_path / "bericht.html"
    release.report(german, language="de")
    assert "nicht k-anonym" in german.read_text(encoding="utf-8")
    with pytest.raises(shoal.PromiseError, match="not k-anonymous"):
        made(strict=True)


def test_promises_about_groups_are_kept_and_verified_from_the_published_table_alone():
    release = made(privacy=shoal.LDiversity(2, kind="distinct"))
    asked = {"quasi_identifiers": "group", "shuffled": QI, "sensitive": "sick"}
    asked |= {"privacy": shoal.LDiversity(2, kind="distinct")}
    found = shoal.verify(release.frame, 5, **asked)
    assert found.holds
    assert found.shuffled
    assert found.judgement == "amber"
    assert found.highest_risk == 1.0
    short = release.frame.filter(pl.int_range(pl.len()) != 3)
    largest = release.frame["group"].value_counts()["count"].max()
    assert not shoal.verify(short, largest, **asked).holds
    one = release.frame.with_columns(sick=pl.lit("flu"))
    assert not shoal.verify(one, 5, **asked).holds


def test_groups_hold_k_people_where_people_are_counted():
    table = TABLE.with_columns(who=pl.int_range(150) // 3).drop("name")
    roles = {**ROLES, "person": "who"}
    del roles["identifiers"]
    release = shoal.anonymize(table, 5, **roles, seed=1, style="shuffled")
    people = defaultdict(set)
    for label, who in zip(release.groups, table["who"], strict=True):
        people[label].add(who)
    assert min(map(len, people.values())) >= 5
    assert release.verification.fewest_people >= 5
    assert "different people" in release.certificate()["counted"]


def test_exact_cells_end_at_a_top_and_suppressed_rows_are_gone():
    release = made(top={"age": 50}, max_suppression=0.2, suppress_for="kept")
    assert release.n_suppressed > 0
    ages = set(release.frame["age"])
    assert "50+" in ages
    assert not ages & {str(age) for age in range(50, 60)}
    assert release.frame.height == TABLE.height - release.n_suppressed


def test_without_shuffled_rows_the_other_cells_keep_their_order():
    release = made(shuffle=False)
    kept = [n for n, label in enumerate(release.groups) if label >= 0]
    assert release.frame["sick"].to_list() == [TABLE["sick"][n] for n in kept]
    assert release.frame["age"].to_list() != [TABLE["age"][n] for n in kept]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"grid": {"age": 5}}, "a grid"),
        ({"within": "job"}, "within"),
        ({"privacy": shoal.KMap(5, population=TABLE)}, "Shuffled cells"),
        ({"privacy": shoal.PopulationRisk(0.1)}, "average risk"),
        ({"style": {"cells": "mixed"}}, "shuffled"),
    ],
)
def test_what_exact_cells_cannot_keep_is_refused(more, said):
    with pytest.raises(shoal.OptionError, match=said):
        made(**more)


def test_a_column_called_group_is_refused_before_anything_is_searched():
    table = TABLE.rename({"visits": "group"})
    with pytest.raises(shoal.RoleError, match="'group'"):
        made(table, insensitive="group")


def test_what_needs_generalised_cells_refuses_shuffled_ones(tmp_path):
    release = made()
    with pytest.raises(shoal.DataError, match="cannot be kept"):
        release.save(tmp_path / "release.shoal")
    with pytest.raises(shoal.DataError, match="cannot be kept"):
        shoal.apply(TABLE, release)
    with pytest.raises(shoal.DataError, match="cannot be audited"):
        release.audit(TABLE)
    assert not list(tmp_path.iterdir())


def invoke(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_flag_job_and_python_publish_the_same_and_the_file_is_verified(tmp_path):
    source = tmp_path / "in.csv"
    TABLE.write_csv(source)
    roles = ["--qi", "age,job", "--sensitive", "sick"]
    asked = ["anonymize", source, "--k", 5, *roles, "--insensitive", "visits", "--drop", "name"]
    asked += ["--seed", 1]
    job = tmp_path / "job.toml"
    job.write_text('[style]\ncells = "shuffled"\n')
    certificate = tmp_path / "c.json"
    files = [tmp_path / "flag.csv", tmp_path / "job.csv"]
    ways = (["--cells", "shuffled", "--certificate", certificate], ["--job", job])
    for out, more in zip(files, ways, strict=True):
        result = invoke(*asked, "-o", out, *more)
        assert result.exit_code == 0, result.output
    assert files[0].read_bytes() == files[1].read_bytes()
    frame = made(identifiers=(), drop="name").frame
    assert contents(pl.read_csv(files[0]).rows()) == contents(frame.rows())
    for words in (
        ["--k", 5, *roles, "--cells", "shuffled"],
        ["--certificate", certificate],
        ["--k", 5, "--qi", "group", "--sensitive", "sick"],
    ):
        result = invoke("verify", files[0], *words)
        assert result.exit_code == 0, result.output
    assert "not k-anonym" in invoke("verify", files[0], "--certificate", certificate).output
    lines = files[0].read_text().splitlines()
    files[0].write_text("\n".join([lines[0], *lines[4:]]) + "\n")
    assert invoke("verify", files[0], "--k", 8, *roles, "--cells", "shuffled").exit_code == 1


def test_pages_ask_for_it():
    fields = {each.name for each in option_fields(Job(), "Promises")}
    assert {"style.cells", "style.flat_values"} <= fields


def test_groups_are_numbered_by_what_they_hold():
    order = np.random.default_rng(0).permutation(150)
    schema = build_schema(["x", "y", "z"], quasi_identifiers=["x", "y"], insensitive="z")
    frame = TABLE.select(x="age", y="job", z="sick")
    labels = np.arange(150) // 6
    one, _ = shuffle_within_groups(frame, schema, Partition.from_labels(labels))
    mixed = Partition.from_labels(24 - labels[order])
    other, _ = shuffle_within_groups(frame[order.tolist()], schema, mixed)
    assert one.equals(other)
