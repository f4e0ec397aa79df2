"""What analysts get: equal to brute force, zero where nothing was lost, no cell shown."""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.app import app
from shoal.publish.recode import Style
from shoal.release_reader.classes import open_classes, values_of
from shoal.study.utility import _tables, view_of

TREE = {"north": ["a", "b"], "south": ["c", "d"]}
QI = ["age", "weight", "town"]


def make_table(seed, n_rows=200):
    chance = np.random.default_rng(seed)
    age = chance.integers(20, 60, n_rows)
    return pl.DataFrame(
        {
            "age": age,
            "weight": np.round(40 + age / 2 + chance.random(n_rows) * 20, 1),
            "town": chance.choice(list("abcd"), n_rows),
            "ill": np.where(age + chance.integers(0, 20, n_rows) > 50, "yes-zzz", "no-zzz"),
        }
    )


def make_release(table, k=5, **options):
    return shoal.anonymize(
        table,
        k=k,
        quasi_identifiers=QI,
        sensitive="ill",
        hierarchies={"town": TREE},
        algorithm="mondrian",
        rows_are_people=True,
        seed=1,
        **options,
    )


def use(table, published, **options):
    given = {"quasi_identifiers": QI, "sensitive": "ill", "hierarchies": {"town": TREE}}
    return shoal.utility(table, published, **given | options)


def test_a_table_beside_itself_has_lost_nothing():
    table = make_table(1)
    found = use(table, table)
    assert found.query_error == 0
    assert max(each["mean_error"] for each in found.queries) == pytest.approx(0)
    assert max(found.one_way.values()) == pytest.approx(0)
    assert found.two_way["worst"] == pytest.approx(0)
    assert found.associations["worst"] == pytest.approx(0, abs=1e-9)


def test_more_generalisation_leaves_less():
    table = make_table(1, 600)
    little, much = (use(table, make_release(table, k).frame) for k in (3, 60))
    assert little.query_error < much.query_error
    assert little.two_way["mean"] < much.two_way["mean"]


def spread(cell, table, column):
    """The values that a cell stands for, by its text, each as likely as the others."""
    values = sorted(set(table[column].to_list()))
    if column == "town":
        chosen = values if cell == "*" else TREE.get(cell, [cell])
    elif cell.startswith("["):
        low, high = map(int, cell[1:-1].split("-"))
        chosen = range(low, high + 1)
    else:
        chosen = [int(cell)]
    return {value: 1 / len(chosen) for value in chosen}


@pytest.mark.parametrize("seed", range(4))
def test_distributions_agree_with_brute_force(seed):
    table = make_table(seed, 60).select("age", "town", "ill")
    release = shoal.anonymize(
        table,
        k=3,
        quasi_identifiers=["age", "town"],
        sensitive="ill",
        hierarchies={"town": TREE},
        algorithm="mondrian",
        rows_are_people=True,
        grid="none",
    )
    classes = open_classes(release.frame, release.schema, Style())
    people = values_of(table, classes)
    age, town = (view_of(c, v) for c, v in zip(classes.columns, people.values, strict=True))
    known = np.sort(table["age"].to_numpy())
    cuts = np.unique(np.quantile(known, np.linspace(0, 1, 21)[1:-1], method="inverted_cdf"))
    joint = {}
    for row in release.frame.iter_rows(named=True):
        for one, p in spread(row["age"], table, "age").items():
            for two, q in spread(row["town"], table, "town").items():
                key = (one, two)
                joint[key] = joint.get(key, 0) + p * q / release.frame.height
    _, after = _tables(age, town)
    labels = {
        table["town"][int(np.flatnonzero(people.values[1].codes == c)[0])]: c for c in range(4)
    }
    counts = np.bincount(people.values[1].codes)
    order = {code: n for n, code in enumerate(np.argsort(-counts, kind="stable").tolist())}
    expected = np.zeros_like(after)
    for (one, two), p in joint.items():
        edges = np.concatenate([[-np.inf], cuts, [np.inf]])
        for part in range(len(edges) - 1):
            inside = min(one, edges[part + 1]) - max(one - 1, edges[part])
            share = max(inside, 0)
            assert share in (0, 1)  # parts are cut at whole years
            expected[part, order[labels[two]]] += p * share
    assert after == pytest.approx(expected)


def test_a_model_learns_from_a_release_about_what_it_learns_from_the_original():
    table, rest = make_table(1, 300), make_table(2, 200)
    found = use(table, make_release(table).frame, target="ill", held_out=rest)
    assert {each["model"] for each in found.models} == {"linear", "forest", "boosting"}
    assert {each["trained_on"] for each in found.models} == {
        "original",
        "middle",
        "draw",
        "set",
        "weights",
    }
    first, after = found.best_model("original"), found.best_model("middle")
    assert first["balanced_accuracy"] > 0.7
    assert after["balanced_accuracy"] > 0.65
    assert all(0 <= each["auc"] <= 1 for each in found.models)
    assert found.notes == ()
    assert "balanced accuracy" in found.sentences[-1]


def test_without_rows_that_were_held_out_a_note_says_so():
    table = make_table(1, 60)
    found = use(table, table, target="ill")
    assert any("held out" in note for note in found.notes)


def test_the_same_seed_gives_the_same_numbers():
    table = make_table(1)
    published = make_release(table).frame
    assert use(table, published).to_dict() == use(table, published).to_dict()
    assert use(table, published).queries != use(table, published, seed=5).queries


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"target": "il"}, "no column 'il'"),
        ({"seed": -1}, "seed must be"),
        ({"quasi_identifiers": ["agee"]}, "agee"),
    ],
)
def test_wrong_options_are_one_sentence(options, words):
    table = make_table(1)
    with pytest.raises(shoal.ShoalError, match=words):
        use(table, table, **options)


def test_a_target_of_one_value_cannot_be_learnt():
    table = make_table(1).with_columns(ill=pl.lit("same"))
    with pytest.raises(shoal.DataError, match="fewer than two values"):
        use(table, table, target="ill")


def test_the_command_prints_errors_and_no_cell(tmp_path):
    table = make_table(1)
    table.write_csv(tmp_path / "in.csv")
    make_release(table).write(tmp_path / "safe.csv")
    (tmp_path / "town.csv").write_text(
        "".join(f"{leaf};{node};*\n" for node, leaves in TREE.items() for leaf in leaves)
    )
    words = ["utility", str(tmp_path / "in.csv"), str(tmp_path / "safe.csv")]
    words += ["--qi", ",".join(QI), "--sensitive", "ill"]
    words += ["--hierarchy", f"town={tmp_path / 'town.csv'}"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "Random counts" in done.output
    assert "zzz" not in done.output
    done = CliRunner().invoke(app, [*words, "--json"])
    found = json.loads(done.output)
    assert len(found["queries"]) == 16
    assert "zzz" not in done.output


@pytest.mark.parametrize("said", ["flags", "job"])
def test_the_original_is_read_under_other_names_and_so_are_rows_that_were_held_out(tmp_path, said):
    names = {"Alter": "age", "Gewicht": "weight", "Leiden": "ill"}
    back = {new: old for old, new in names.items()}
    for name, table in (("table", make_table(1)), ("rest", make_table(2, 80))):
        table.write_csv(tmp_path / f"{name}.csv")
        table.rename(back).write_csv(tmp_path / f"{name}-old.csv")
    make_release(make_table(1)).write(tmp_path / "safe.csv")
    (tmp_path / "town.csv").write_text(
        "".join(f"{leaf};{node};*\n" for node, leaves in TREE.items() for leaf in leaves)
    )
    lines = "".join(f"{old} = {new!r}\n" for old, new in names.items())
    (tmp_path / "job.toml").write_text(f"[input.rename]\n{lines}")
    flags = [word for pair in names.items() for word in ("--rename", "=".join(pair))]
    how = flags if said == "flags" else ["--job", str(tmp_path / "job.toml")]
    found = []
    for ending, more in (("", []), ("-old", how)):
        words = ["utility", str(tmp_path / f"table{ending}.csv"), str(tmp_path / "safe.csv")]
        words += ["--held-out", str(tmp_path / f"rest{ending}.csv"), "--target", "ill", "--json"]
        words += ["--qi", ",".join(QI), "--sensitive", "ill"]
        words += ["--hierarchy", f"town={tmp_path / 'town.csv'}", *more]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
        found.append(json.loads(done.output))
    assert found[0] == found[1]
    assert found[0]["models"]
