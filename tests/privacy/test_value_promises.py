"""Promises that look at what sensitive values are: (k,e)-anonymity and distances in a tree."""

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from typer.testing import CliRunner

import shoal
from shoal.cli.app import app
from shoal.hierarchy import Taxonomy
from shoal.privacy import judge
from shoal.privacy.ke_anonymity import KEAnonymity
from shoal.privacy.t_closeness import TCloseness
from shoal.publish.verification_terms import promises_of, read_trees
from shoal.publish.verify import verify_table
from shoal.table.encode import encode
from shoal.table.schema import build_schema

TREES = [
    {"a": {"b": ["u", "v"], "c": ["w"]}, "d": ["x", "y"]},
    ["u", "v", "w", "x", "y"],
    {"a": {"b": {"c": {"d": ["u", "v"]}}}, "e": ["w", "x"], "f": {"g": ["y"]}},
]
LEAVES = "uvwxy"


@st.composite
def tables(draw, values):
    """Group and sensitive value of each row."""
    rows = draw(st.lists(st.tuples(st.integers(0, 3), values), min_size=2, max_size=25))
    return pl.DataFrame(rows, schema=["group", "s"], orient="row", strict=False)


def sensitive_of(frame, hierarchy=None):
    trees = {} if hierarchy is None else {"s": hierarchy}
    roles = {"quasi_identifiers": ["group"], "sensitive": ["s"], "hierarchies": trees}
    return encode(frame, build_schema(frame.columns, **roles)).sensitive[0]


def judged(model, frame, hierarchy=None):
    """The verdict of the search on every group, and the worst number."""
    column = sensitive_of(frame, hierarchy)
    groups = frame["group"].rank("dense").to_numpy().astype(np.int64) - 1
    verdict = judge(model.on(column), groups, int(groups.max()) + 1, column.codes, column.size)
    return bool(verdict.holds.all()), verdict.measured


def verified(model, frame, hierarchy=None):
    """The same of verification, which shares no code with it."""
    trees = read_trees({} if hierarchy is None else {"s": hierarchy})
    found = verify_table(
        frame, k=2, quasi_identifiers="group", sensitive="s", promises=promises_of([model], trees)
    ).checks[1]
    assert found.judged_by == "verification"
    return found.holds, found.measured


# -- distances in a tree -------------------------------------------------------------------------


def ground_distance(tree, one, other):
    """The height of the lowest common ancestor, as a share of the height of the tree."""
    if one == other:
        return 0.0
    if one is None or other is None:
        return 1.0
    up = {path[0]: list(path) for path in tree.to_paths()}
    common = next(label for label in up[one] if label in up[other])
    return int(tree.height[tree.labels.index(common)]) / tree.tree_height


def earth_mover(tree, here, whole):
    """The least cost of making one distribution from the other, by linear programming."""
    values = sorted(set(whole), key=str)
    p = [here.count(v) / len(here) for v in values]
    q = [whole.count(v) / len(whole) for v in values]
    n = len(values)
    cost = [ground_distance(tree, a, b) for a, b in itertools.product(values, values)]
    leaves_a = np.kron(np.eye(n), np.ones(n))
    comes_to_b = np.kron(np.ones(n), np.eye(n))
    found = linprog(cost, A_eq=np.vstack([leaves_a, comes_to_b]), b_eq=[*p, *q])
    return found.fun


@pytest.mark.parametrize("nested", TREES, ids=["two levels", "flat", "uneven"])
@given(frame=tables(st.sampled_from([*LEAVES, None])))
def test_the_hierarchical_distance_is_the_least_cost_of_moving_mass(nested, frame):
    if frame["s"].null_count() == frame.height:
        return
    tree = Taxonomy.from_nested(nested)
    whole = frame["s"].to_list()
    by_group = [part["s"].to_list() for part in frame.partition_by("group")]
    expected = max(earth_mover(tree, here, whole) for here in by_group)
    model = TCloseness(0.3, distance="hierarchical")
    for holds, measured in (judged(model, frame, nested), verified(model, frame, nested)):
        assert measured == pytest.approx(expected, abs=1e-7)
        assert holds == (expected <= 0.3 + 1e-8) or expected == pytest.approx(0.3)


def test_in_a_flat_tree_the_hierarchical_distance_is_the_equal_one():
    frame = pl.DataFrame({"group": [1, 1, 1, 2, 2], "s": list("uvvwx")})
    by_tree = judged(TCloseness(0.4, distance="hierarchical"), frame, TREES[1])
    assert by_tree[1] == pytest.approx(judged(TCloseness(0.4), frame)[1])


def test_similar_values_are_exchanged_for_less():
    near = pl.DataFrame({"group": [1, 1, 2, 2], "s": list("uuvv")})
    far = pl.DataFrame({"group": [1, 1, 2, 2], "s": list("uuxx")})
    model = TCloseness(0.4, distance="hierarchical")
    assert judged(model, near, TREES[0]) == (True, pytest.approx(1 / 6))
    assert judged(model, far, TREES[0]) == (False, pytest.approx(1 / 2))


def test_without_a_hierarchy_of_the_column_the_distance_is_refused():
    frame = pl.DataFrame({"age": [1, 2, 3, 4], "s": list("uvwx")})
    model = TCloseness(0.4, distance="hierarchical")
    roles = {"quasi_identifiers": "age", "sensitive": "s", "privacy": model}
    with pytest.raises(shoal.OptionError, match="needs a hierarchy of column 's'"):
        shoal.anonymize(frame, k=2, **roles)
    with pytest.raises(shoal.OptionError, match="--hierarchy s=FILE"):
        shoal.verify(frame, 2, **roles)


def test_a_hierarchy_that_lacks_a_value_is_refused_without_showing_the_value():
    frame = pl.DataFrame({"age": [1, 1], "s": ["u", "secret"]})
    model = TCloseness(0.4, distance="hierarchical")
    roles = {"quasi_identifiers": "age", "sensitive": "s", "hierarchies": {"s": TREES[1]}}
    for call in (shoal.anonymize, shoal.verify):
        with pytest.raises(shoal.ShoalError) as caught:
            call(frame, k=2, **roles, privacy=model)
        assert "secret" not in str(caught.value)
        assert "'s'" in str(caught.value)


def test_numbers_are_found_in_a_hierarchy_however_the_file_spells_them(tmp_path):
    frame = pl.DataFrame({"age": [1, 1, 2, 2], "s": [1.0, 2.5, 1.0, 2.5]})
    frame.write_csv(tmp_path / "safe.csv")
    words = {"quasi_identifiers": "age", "sensitive": "s", "hierarchies": {"s": ["1", "2.5"]}}
    model = TCloseness(0.1, distance="hierarchical")
    spelled = pl.read_csv(tmp_path / "safe.csv", infer_schema=False)
    for table in (frame, spelled, frame.cast({"s": pl.Decimal(5, 2)})):
        assert shoal.verify(table, 2, **words, privacy=model)


def test_a_rule_is_no_tree_to_verify_by():
    with pytest.raises(shoal.OptionError, match="grows with the original values"):
        read_trees({"s": {"rule": "prefix", "keep": [2, 1]}})


# -- (k,e)-anonymity -----------------------------------------------------------------------------

NUMBERS = st.none() | st.integers(-3, 4) | st.sampled_from([0.0, -0.0, 0.5, 1e9])


@given(tables(NUMBERS), st.integers(2, 4), st.sampled_from([0.5, 1, 3, 4.0]))
def test_ke_anonymity_is_its_definition(frame, k, e):
    frame = frame.with_columns(pl.col("s").cast(pl.Float64))
    spans = []
    for part in frame.partition_by("group"):
        numbers = {float(v) + 0.0 for v in part["s"].drop_nulls()}
        spans.append(max(numbers) - min(numbers) if len(numbers) >= k else 0.0)
    model = KEAnonymity(e, k=k)
    expected = (min(spans) >= e, pytest.approx(min(spans)))
    if frame["s"].null_count() < frame.height:
        cleaned = sensitive_of(frame).cleaned
        groups = frame["group"].rank("dense").to_numpy().astype(np.int64) - 1
        found = judge(model.on(cleaned), groups, len(spans), cleaned.codes, cleaned.size)
        assert (bool(found.holds.all()), found.measured) == expected
        assert verified(model, frame) == expected


@given(tables(st.integers(0, 9)), st.integers(2, 3), st.integers(1, 5))
def test_the_union_of_groups_that_keep_it_keeps_ke_anonymity(frame, k, e):
    model = KEAnonymity(e, k=k)
    kept = [part for part in frame.partition_by("group") if judged(model, part)[0]]
    if kept:
        assert judged(model, pl.concat(kept).with_columns(group=pl.lit(0)))[0]


def test_a_release_keeps_both_promises_and_its_file_too(tmp_path):
    rng = np.random.default_rng(4)
    frame = pl.DataFrame(
        {
            "age": rng.integers(20, 70, 150),
            "ill": rng.choice(list(LEAVES), 150),
            "pay": rng.integers(0, 40, 150) * 100,
        }
    )
    frame.write_csv(tmp_path / "people.csv")
    tree = "\n".join(";".join(path) for path in Taxonomy.from_nested(TREES[0]).to_paths())
    (tmp_path / "ill.csv").write_text(tree)
    job = """
        k = 4
        rows_are_people = true
        [input]
        path = "people.csv"
        [output]
        table = "safe.csv"
        certificate = "certificate.json"
        [columns.age]
        role = "quasi-identifier"
        [columns.ill]
        role = "sensitive"
        hierarchy = "ill.csv"
        [columns.pay]
        role = "sensitive"
        [[privacy]]
        model = "t-closeness"
        t = 0.15
        distance = "hierarchical"
        column = "ill"
        [[privacy]]
        model = "ke-anonymity"
        e = 1500
        k = 3
        column = "pay"
    """
    (tmp_path / "job.toml").write_text(job)
    run = CliRunner().invoke(app, ["anonymize", "--job", str(tmp_path / "job.toml"), "--quiet"])
    assert run.exit_code == 0, run.output
    safe = pl.read_csv(tmp_path / "safe.csv")
    assert safe["age"].n_unique() > 1
    for part in safe.partition_by("age"):
        assert part["pay"].n_unique() >= 3
        assert part["pay"].max() - part["pay"].min() >= 1500
    words = ["verify", str(tmp_path / "safe.csv"), "--k", "4", "--qi", "age"]
    by_tree = ["--t-closeness", "0.15", "--t-distance", "hierarchical", "--sensitive", "ill"]
    given_tree = ["--hierarchy", f"ill={tmp_path / 'ill.csv'}"]
    by_range = ["--ke-range", "1500", "--ke-values", "3", "--sensitive", "pay"]
    assert CliRunner().invoke(app, [*words, *by_tree, *given_tree]).exit_code == 0
    refused = CliRunner().invoke(app, [*words, *by_tree]).exception
    assert isinstance(refused, shoal.OptionError)
    assert CliRunner().invoke(app, [*words, *by_range]).exit_code == 0
    assert CliRunner().invoke(app, [*words, "--sensitive", "pay", "--ke-range", "3950"]).exit_code
    certified = [*words[:2], "--certificate", str(tmp_path / "certificate.json")]
    assert CliRunner().invoke(app, [*certified, *given_tree]).exit_code == 0
    assert isinstance(CliRunner().invoke(app, certified).exception, shoal.OptionError)


def test_options_of_ke_anonymity_are_checked():
    for build, words in (
        (lambda: KEAnonymity(0), "e must be a number above 0, but 0 was given"),
        (lambda: KEAnonymity(1, k=1), "whole number of at least 2, but 1 was given"),
        (lambda: KEAnonymity(1, k=2.5), "but 2.5 was given"),
    ):
        with pytest.raises(shoal.OptionError, match=words):
            build()
    texts = pl.DataFrame({"age": [1, 1, 1], "s": ["a", "b", "c"]})
    roles = {"quasi_identifiers": "age", "sensitive": "s", "privacy": KEAnonymity(1)}
    for call in (shoal.anonymize, shoal.verify):
        with pytest.raises(shoal.OptionError, match="needs numbers, and column 's'"):
            call(texts, k=2, **roles)


def test_a_range_that_no_group_can_have_is_refused_with_the_one_that_is_possible():
    frame = pl.DataFrame({"age": range(10), "pay": range(0, 100, 10)})
    roles = {"quasi_identifiers": "age", "sensitive": "pay"}
    with pytest.raises(shoal.PromiseError, match="its numbers span 90, so e can be at most that"):
        shoal.anonymize(frame, k=2, **roles, privacy=KEAnonymity(91))
