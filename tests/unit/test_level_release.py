"""Words in steps and hierarchies at a level: what may be published, what it costs, who says so."""

import itertools
import json
import warnings
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import OptionError
from shoal.measure.base import CostMeasure, CostModel, Grouped
from shoal.measure.scores import create_measure, score_table
from shoal.publish.label_check import LabelPromise
from shoal.report.scoring import score_published
from shoal.search.enforce import GroupState
from shoal.search.scan import Scanner
from shoal.table.encode import encode
from shoal.table.partition import Partition

K, N = 3, 90
ORDER = ["none", "primary", "secondary", "bachelor", "master", "doctor", "professor"]
# Values of Asia and the moon lie nearer to the root than those of Europe.
TREE = shoal.Taxonomy.from_nested(
    {
        "World": {
            "Asia": ["India", "Iran", "Japan"],
            "Europe": {
                "West": {"Iberia": ["Spain", "Portugal"], "Gaul": ["France", "Monaco"]},
                "East": {"Baltic": ["Latvia", "Estonia"], "South": ["Poland", "Hungary"]},
            },
            "Moon": ["Far side", "Near side"],
        }
    }
)
QI = ["land", "degree"]
SAID = {
    "quasi_identifiers": QI,
    "sensitive": ["ill"],
    "hierarchies": {"land": TREE},
    "orders": {"degree": ORDER},
    "seed": 1,
    "rows_are_people": True,
}
GRID = {"land": "level 2", "degree": 2}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(5)
    lands = rng.choice(TREE.leaf_labels, N)
    return pl.DataFrame(
        {
            "land": pl.Series([None if n % 17 == 0 else str(x) for n, x in enumerate(lands)]),
            "degree": rng.choice(ORDER[:-1], N),  # nobody is a professor
            "ill": rng.choice(["a", "b", "c"], N),
        }
    )


def released(frame, **more):
    return shoal.anonymize(frame, K, **{**SAID, "grid": GRID, "algorithm": "mondrian", **more})


@pytest.fixture(scope="module")
def release(frame):
    return released(frame, shuffle=False, max_suppression=0.1)


# -- a slow reference: which cells a group may publish -------------------------------------------


def cell_of_land(values, level):
    """The lowest label at a level or above that all values have; None if all are missing."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    if len(known) < len(values):
        return "World"
    paths = {path[0]: path for path in TREE.to_paths()}
    return next(
        label
        for label in paths[known[0]][level:]
        if all(label in paths[value][level:] for value in known)
    )


def cell_of_degree(values, step):
    places = [ORDER.index(value) // step * step for value in values]
    first = ORDER[min(places)]
    last = ORDER[min(max(places) + step, len(ORDER)) - 1]
    return first if first == last else f"[{first}-{last}]"


@pytest.mark.parametrize("algorithm", ["auto", "mondrian", "hilbert"])
def test_every_group_publishes_the_finest_cell_that_level_and_step_allow(algorithm, frame):
    made = released(frame, algorithm=algorithm, shuffle=False, max_suppression=0.05)
    assert [c.name for c in made.verification.checks[1:]] == ["grid of 'land'", "grid of 'degree'"]
    shown = made.frame.with_columns(group=pl.Series(made.groups[made.groups >= 0]))
    whole = frame.with_columns(group=pl.Series(made.groups))
    for group in set(shown["group"]):
        members, cells = (each.filter(pl.col("group") == group) for each in (whole, shown))
        assert set(cells["land"]) == {cell_of_land(members["land"].to_list(), 2)}
        assert set(cells["degree"]) == {cell_of_degree(members["degree"].to_list(), 2)}


@pytest.mark.parametrize(("level", "step"), [(1, 2), (2, 3), (3, 6)])
def test_a_row_that_stands_alone_would_still_be_published_that_coarsely(frame, level, step):
    one = frame.filter(pl.col("land").is_not_null())
    grid = {"land": f"level {level}", "degree": step}
    made = shoal.refine(
        one, np.arange(one.height) // K, K, **{**SAID, "grid": grid, "shuffle": False}, sweeps=1
    )
    labels = {cell_of_land([value], level) for value in TREE.leaf_labels}
    paths = {path[0]: path for path in TREE.to_paths()}
    allowed = {label for path in paths.values() for label in path[level:]}
    assert labels <= allowed
    assert set(made.frame["land"]) <= allowed
    lows = {ORDER[place] for place in range(0, len(ORDER), step)}
    assert {cell.strip("[]").split("-")[0] for cell in made.frame["degree"]} <= lows


def test_full_domain_recoding_begins_at_the_level(frame):
    tree = shoal.Taxonomy.from_nested({"*": {"low": ORDER[:3], "high": ORDER[3:]}})
    said = {**SAID, "orders": None, "hierarchies": {"land": TREE, "degree": tree}}
    made = shoal.anonymize(
        frame, K, **said, grid={"land": "level 3", "degree": "level 1"}, algorithm="incognito"
    )
    assert set(made.frame["degree"]) <= {"low", "high", "*"}
    assert set(made.frame["land"]) <= {"Asia", "Europe", "Moon", "World", None}
    assert made.verification.holds


def test_values_nearer_to_the_root_than_the_level_stay_as_they_are():
    table = pl.DataFrame({"land": ["India"] * 3 + ["Spain"] * 3 + ["Far side"] * 3})
    made = shoal.anonymize(
        table, 3, quasi_identifiers="land", hierarchies={"land": TREE}, grid={"land": "level 2"}
    )
    assert set(made.frame["land"]) == {"India", "West", "Far side"}
    higher = shoal.anonymize(
        table, 3, quasi_identifiers="land", hierarchies={"land": TREE}, grid={"land": "level 3"}
    )
    assert set(higher.frame["land"]) == {"Asia", "Europe", "Moon"}


def test_sets_of_values_are_sets_of_labels_of_the_level(frame):
    style = {"categories": "values"}
    made = released(frame, style=style, grid={"land": "level 3"})
    words = {
        word.strip("{}") for cell in made.frame["land"].drop_nulls() for word in cell.split(", ")
    }
    assert words <= {"Asia", "Europe", "Moon", "World"}
    assert made.verification.holds
    found = score_published(
        frame, made.frame, made.schema, measures=["ncp", "lm"], style=shoal.Style(**style)
    )
    assert found["ncp"] == pytest.approx(made.scores["ncp"])


@pytest.mark.parametrize("form", ["bounds", "struct", "mean"])
def test_steps_of_words_hold_in_every_style(frame, form):
    made = released(frame, style={"numeric": form})
    assert "grid of 'degree'" in [check.name for check in made.verification.checks]
    if form == "bounds":
        assert set(made.frame["degree_low"].drop_nulls()) <= set(ORDER[::2])
        assert set(made.frame["degree_high"].drop_nulls()) <= {*ORDER[1::2], ORDER[-1]}


# -- what it costs -------------------------------------------------------------------------------


def test_every_measure_charges_what_is_published(frame, release):
    groups = Partition.from_labels(release.groups)
    levels = encode(frame, release.schema)
    column = replace(release.schema["land"], grid=None)
    others = tuple(column if each.name == "land" else each for each in release.schema.columns)
    plain = encode(frame, replace(release.schema, columns=others))
    # without a level, the same nodes are published if they are said
    labels = {label: node for node, label in enumerate(TREE.labels)}
    kept = frame.with_columns(group=pl.Series(release.groups))
    cells = [
        cell_of_land(kept.filter(pl.col("group") == g)["land"].to_list(), 2)
        for g in range(groups.n_groups)
    ]
    nodes = np.array([TREE.n_nodes if c is None else labels[c] for c in cells], np.int32)
    said = Partition(groups.labels, groups.n_groups, {"land": nodes})
    names = ["ncp", "lm", "tree", "mi", "pmi", "kl", "suppression", "whd"]
    assert dict(score_table(levels, groups, names)) == pytest.approx(
        dict(score_table(plain, said, names))
    )


def test_ordered_words_pay_for_all_words_of_their_steps(frame, release):
    table = encode(frame, release.schema)
    groups = Partition.from_labels(release.groups)
    ncp = score_table(table, groups, ["ncp", "lm"]).by_column
    spans = []
    for cell in release.frame["degree"]:
        if cell == "*":
            spans.append(len(ORDER) - 1)
            continue
        first, _, last = cell.strip("[]").partition("-")
        spans.append(ORDER.index(last or first) - ORDER.index(first))
    lost = N - len(spans)
    expected = (sum(spans) / (len(ORDER) - 1) + lost) / N
    assert ncp["ncp"]["degree"] == pytest.approx(expected)
    assert ncp["lm"]["degree"] == pytest.approx(expected)


@pytest.mark.parametrize("name", ["ncp", "lm", "mi", "tree"])
def test_the_search_pays_what_the_measure_charges(frame, release, name):
    table = encode(frame, release.schema)
    groups = Partition.from_labels(np.arange(N) // K)
    measure = create_measure(name)
    assert isinstance(measure, CostMeasure)
    scanner = Scanner.build(table, CostModel.bind(measure, table, table.sensitive[0]))
    total = GroupState(scanner, groups).costs.sum() / scanner.scale
    constants = sum(measure.constant(attribute) for attribute in table.attributes)
    score = measure.score(Grouped(table, groups, table.sensitive[0])) * N * len(QI)
    assert total - constants == pytest.approx(score, rel=1e-4, abs=1e-3)


# -- who says so ---------------------------------------------------------------------------------

LEVEL = LabelPromise.of_level("land", TREE.to_paths(), 2)
WORDS = LabelPromise.of_words("degree", ORDER, 2)


@pytest.mark.parametrize(
    "cell", [None, "", "*", "West", "World", "India", '"East"', "{East, India}"]
)
def test_a_label_at_the_level_keeps_the_promise(cell):
    assert LEVEL.holds(cell)


@pytest.mark.parametrize(
    "cell", ["Spain", "Iberia", "Peru", "{East, Spain}", "{East, }", "[East-West]"]
)
def test_a_label_below_the_level_breaks_it(cell):
    assert not LEVEL.holds(cell)


@pytest.mark.parametrize(
    "cell",
    [None, "*", "[none-primary]", "[none to doctor]", "professor", ("secondary", "professor"),
     (None, None), '{"low":"none","high":"primary"}'],
)  # fmt: skip
def test_whole_steps_of_words_keep_the_promise(cell):
    assert WORDS.holds(cell)


@pytest.mark.parametrize(
    "cell", ["none", "[none-secondary]", "[primary-secondary]", ("none", "none"), "[a-b]", 3]
)
def test_parts_of_steps_break_it(cell):
    assert not WORDS.holds(cell)


def test_anybody_with_the_tree_and_the_order_can_check_it(frame, release):
    given = {"hierarchies": {"land": TREE}, "orders": {"degree": ORDER}}
    of = {"quasi_identifiers": QI, **given}
    assert shoal.verify(release.frame, K, grid=GRID, **of)
    finer = shoal.anonymize(frame, K, **{**SAID, "grid": None, "algorithm": "mondrian"})
    found = shoal.verify(finer.frame, K, grid=GRID, **of)
    assert {check.name: check.holds for check in found.checks} == {
        "k-anonymity": True, "grid of 'land'": False, "grid of 'degree'": False,
    }  # fmt: skip
    assert not shoal.verify(release.frame, K, grid={"land": "level 3"}, **of)
    with pytest.raises(OptionError, match="can be verified only with its hierarchy"):
        shoal.verify(release.frame, K, grid=GRID, quasi_identifiers=QI)


def test_a_certificate_tells_the_labels_that_are_published_and_no_other(release):
    by_column = {each["column"]: each for each in release.certificate()["grids"]}
    land, degree = by_column["land"], by_column["degree"]
    assert set(land["labels"]) == set(release.frame["land"].drop_nulls()) - {"*"}
    assert (land["step"], degree["step"]) == ("level 2", "2")
    shown = {word for cell in release.frame["degree"] for word in cell.strip("[]").split("-")}
    assert {*degree["labels"], *degree["starts"], *degree["ends"]} == shown - {"*"}
    text = json.dumps(release.certificate())
    assert [leaf for leaf in TREE.leaf_labels[-6:] if TREE.depth[TREE.labels.index(leaf)] == 4
            and f'"{leaf}"' in text] == []  # fmt: skip


def test_a_certificate_is_checked_with_the_file_alone(frame, tmp_path):
    made = released(frame).write(tmp_path / "safe.csv")
    from shoal.io.atomic import sha256_of
    from shoal.report.certificate import format_certificate

    told = made.certificate(output_sha256=sha256_of(tmp_path / "safe.csv"))
    (tmp_path / "c.json").write_text(format_certificate(told))
    assert shoal.verify_certificate(tmp_path / "safe.csv", tmp_path / "c.json").holds
    text = (tmp_path / "safe.csv").read_text()
    (tmp_path / "safe.csv").write_text(text.replace("West", "Spain"))
    found = shoal.verify_certificate(tmp_path / "safe.csv", tmp_path / "c.json")
    assert not found.holds
    assert "grid of 'land'" in found.lines[0]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_which_value_of_its_node_or_step_a_row_has_changes_no_public_byte(frame, tmp_path, suffix):
    paths = {path[0]: path for path in TREE.to_paths()}
    first = {leaf: next(x for x in paths if paths[x][2] == path[2]) for leaf, path in paths.items()}
    moved = frame.with_columns(
        land=pl.Series([None if x is None else first[x] for x in frame["land"]]),
        degree=pl.Series([ORDER[ORDER.index(x) // 2 * 2] for x in frame["degree"]]),
    )
    assert not moved.equals(frame)
    data = []
    for name, table in (("one", frame), ("other", moved)):
        path = tmp_path / f"{name}.{suffix}"
        made = released(table, max_suppression=0.05).write(path)
        told = {**made.certificate(), "created": "", "seconds": 0}
        data.append((path.read_bytes(), json.dumps(told)))
    assert data[0] == data[1]


# -- wherever else grids go ----------------------------------------------------------------------


def test_people_with_several_rows_are_counted_as_ever(frame):
    who = frame.with_columns(pid=pl.Series(np.arange(N) // 2))
    said = {**SAID, "grid": GRID, "person": "pid", "algorithm": "mondrian"}
    del said["rows_are_people"]
    made = shoal.anonymize(who, K, **said)
    assert made.verification.holds
    assert made.counts_people


def test_a_kept_release_covers_further_rows_with_cells_of_its_level(frame, tmp_path):
    made = released(frame)
    made.save(tmp_path / "r.shoal")
    kept = shoal.load_release(tmp_path / "r.shoal")
    assert str(kept.schema["land"].grid) == "level 2"
    more = frame.filter(pl.col("land").is_not_null()).with_columns(
        land=pl.lit("Monaco"), degree=pl.lit("none")
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", shoal.ShoalWarning)
        applied = shoal.apply(more, kept)
    allowed = {label for path in TREE.to_paths() for label in path[2:]}
    assert set(applied.release.frame["land"]) <= allowed
    assert applied.release.verification.holds


def test_nobody_concludes_from_a_label_that_it_is_as_narrow_as_can_be(frame, release):
    found = release.audit(frame)["tight: groups that follow"]
    assert (found.rate, found.n) == (0, release.n_published)


@pytest.mark.parametrize(
    ("grid", "sentence"),
    [
        ({"land": "level 4"}, "levels 1 to 3 between its values and its root"),
        ({"land": "level 0"}, "must be a number above 0"),
        ({"land": 2}, "it has a hierarchy; give the lowest level"),
        ({"degree": "level 1"}, "it holds ordered words; give how many"),
        ({"degree": 1}, "it holds ordered words; give how many"),
        ({"degree": 2.5}, "it holds ordered words; give how many"),
        ({"degree": "month"}, "it holds ordered words; give how many"),
        ({"degree": 7}, "its order has only 7 values"),
    ],
)
def test_a_grid_that_does_not_fit_says_so_in_one_sentence(frame, grid, sentence):
    with pytest.raises(OptionError, match=sentence) as error:
        released(frame, grid=grid)
    assert "\n" not in str(error.value)


def test_a_flat_tree_and_a_column_without_one_have_no_level(frame):
    flat = shoal.Taxonomy.flat(TREE.leaf_labels)
    with pytest.raises(OptionError, match="has no level between its values and its root"):
        released(frame, grid={"land": "level 1"}, hierarchies={"land": flat})
    with pytest.raises(OptionError, match="give the column an order or a hierarchy"):
        released(frame, grid={"land": "level 1"}, hierarchies={})
    numbers = pl.DataFrame({"age": [1, 2, 3, 4]})
    with pytest.raises(OptionError, match="it holds numbers; give a number"):
        shoal.anonymize(numbers, 2, quasi_identifiers="age", grid={"age": "level 1"})


def test_words_of_a_data_type_are_published_in_steps_only_if_somebody_lists_them(frame):
    typed = frame.with_columns(degree=pl.col("degree").cast(pl.Enum(ORDER)))
    with pytest.raises(OptionError, match="list them from low to high"):
        released(typed, orders=None)
    made = released(typed)
    assert made.frame["degree"].to_list() == released(frame).frame["degree"].to_list()


def test_every_grid_that_can_be_written_is_read_as_itself():
    from shoal.table.grid import parse_grid

    for text, other in itertools.product(["level 1", "level 12"], ["", " "]):
        grid = parse_grid(other + text.upper() + other, column="x")
        assert str(grid) == text
        assert parse_grid(str(grid), column="x") == grid
        assert grid
