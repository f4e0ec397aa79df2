"""The worked examples of the papers, with the papers' numbers."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from shoal.hierarchy import Taxonomy
from shoal.measure.base import Grouped
from shoal.measure.scores import create_measure
from shoal.measure.whd import weighted_distance
from shoal.table.closure import TreeClosures
from shoal.table.encode import encode
from shoal.table.partition import Partition
from shoal.table.schema import Column, Kind, Role, Schema

# Byun et al., Fig. 3 (height 3): the two countries of example 1 and enough around them.
COUNTRY = Taxonomy.from_nested(
    {
        "America": {"North": ["USA", "Canada"], "South": ["Peru", "Brazil"]},
        "Asia": {"West": ["Iran"], "East": ["India", "China"]},
    },
    root="*",
)
OCCUPATION = Taxonomy.flat(["Engineer", "Lawyer", "Teacher"])

# Li et al., Table 1a; the hierarchies are those of section 2.
GENDER = Taxonomy.flat(["male", "female"])
AGE = Taxonomy.flat(["young", "middle", "old"])
POSTCODE = Taxonomy.from_paths(
    [(code, "435*", "43**", "4***", "*") for code in ("4350", "4351", "4352", "4353")]
)
TABLE_1A = {
    "gender": ["male", "male", "male", "female", "female", "female"],
    "age": ["middle", "middle", "young", "young", "old", "old"],
    "pcode": ["4350", "4350", "4351", "4352", "4353", "4353"],
}
TREES = {"gender": GENDER, "age": AGE, "pcode": POSTCODE}
PAIRS = [0, 0, 1, 1, 2, 2]


def table_of(columns, trees, sensitive=None):
    schema = [
        Column(name=n, role=Role.QUASI_IDENTIFIER, kind=Kind.CATEGORICAL, hierarchy=trees[n])
        for n in columns
    ]
    data = dict(columns)
    if sensitive is not None:
        schema.append(Column(name="private", role=Role.SENSITIVE))
        data["private"] = sensitive
    return encode(pl.DataFrame(data), Schema(tuple(schema)))


def score(name, table, labels, **options):
    target = table.sensitive[0] if table.sensitive else None
    return create_measure(name, options).score(
        Grouped(table, Partition.from_labels(labels), target)
    )


def distance(tree, a, b):
    """Byun's δ of two values: the information loss per cell of the group of the two."""
    return score("ncp", table_of({"value": [a, b]}, {"value": tree}), [0, 0])


def test_byun_example_1_distances_in_the_country_tree():
    assert distance(COUNTRY, "India", "USA") == 1
    assert distance(COUNTRY, "India", "Iran") == pytest.approx(2 / 3)
    assert distance(COUNTRY, "India", "India") == 0


def test_byun_example_1_every_distance_in_a_flat_tree_is_1():
    assert distance(OCCUPATION, "Engineer", "Lawyer") == 1
    assert distance(OCCUPATION, "Lawyer", "Teacher") == 1


def test_byun_total_il_sums_over_records_and_columns():
    table = table_of(
        {"a": ["India", "Iran", "USA"], "b": ["Lawyer"] * 3}, {"a": COUNTRY, "b": OCCUPATION}
    )
    assert score("il", table, [0, 0, 1]) == pytest.approx(2 * 2 / 3)
    assert score("ncp", table, [0, 0, 1]) == pytest.approx(2 * 2 / 3 / 6)


def test_li_table_1_local_recoding_modifies_22_2_percent():
    rate = score("modification-rate", table_of(TABLE_1A, TREES), PAIRS)
    assert rate == pytest.approx(4 / 18)
    assert round(100 * rate, 1) == 22.2


def test_li_table_1_global_recoding_modifies_66_7_percent():
    class GlobalRecoding(Grouped):
        """Table 1c: gender everywhere *, postcode everywhere 435*, age kept."""

        @property
        def closures(self):
            nodes = (
                [GENDER.root] * 4,
                [*AGE.leaf_codes(["middle", "young", "old"]), AGE.root],
                [POSTCODE.labels.index("435*")] * 3 + [POSTCODE.root],
            )
            return tuple(
                TreeClosures(np.array(node, dtype=np.int32), tree.n_leaves, tree.n_nodes)
                for node, tree in zip(nodes, (GENDER, AGE, POSTCODE), strict=True)
            )

    grouped = GlobalRecoding(table_of(TABLE_1A, TREES), Partition.from_labels(PAIRS))
    rate = create_measure("modification-rate").score(grouped)
    assert rate == pytest.approx(12 / 18)
    assert round(100 * rate, 1) == 66.7


def test_li_distortion_of_a_tuple_is_1_25_and_of_the_table_2_5():
    table = table_of(TABLE_1A, TREES)
    assert score("whd", table, PAIRS) == pytest.approx(2.5)
    # t3 alone: the rest of the table keeps its cells, so half of it is the distortion of t3.
    columns = create_measure("whd").by_column(Grouped(table, Partition.from_labels(PAIRS)))
    assert columns == pytest.approx({"gender": 2.0, "age": 0.0, "pcode": 0.5})
    assert (columns["gender"] + columns["pcode"]) / 2 == pytest.approx(1.25)


def test_li_distance_of_two_tuples_is_2_5():
    pair = {name: [values[2], values[3]] for name, values in TABLE_1A.items()}
    assert score("whd", table_of(pair, TREES), [0, 0]) == pytest.approx(2.5)


def test_li_distortion_ratio_divides_by_the_fully_generalised_table():
    table = table_of(TABLE_1A, TREES)
    assert score("distortion-ratio", table, PAIRS) == pytest.approx(2.5 / 18)
    assert score("distortion-ratio", table, [-1] * 6) == 1


def test_li_weighted_hierarchical_distance_on_the_birth_date_hierarchy():
    # D/M/Y, M/Y, Y, 10Y, C/Y/M/O, *: six levels, and climbing i levels is WHD(6, 6 - i).
    uniform = weighted_distance(6, 0.0)
    assert uniform[2] == pytest.approx(0.4)
    assert uniform[-1] == pytest.approx(1)
    height = weighted_distance(6, 1.0)
    assert height[1] == pytest.approx(0.2 / (1 / 5 + 1 / 4 + 1 / 3 + 1 / 2 + 1))
    assert math.floor(1000 * height[1]) == 87
    assert weighted_distance(2, 0.0).tolist() == [0, 1]
    assert weighted_distance(2, 1.0).tolist() == [0, 1]


def test_li_height_weights_reach_the_score_through_a_real_hierarchy():
    path = ("01/02/1980", "02/1980", "1980", "1980s", "middle", "*")
    other = ("07/02/1980", *path[1:])
    far = ("01/01/1930", "01/1930", "1930", "1930s", "old", "*")
    tree = Taxonomy.from_paths([path, other, far])
    table = table_of({"birth": [path[0], other[0], far[0]]}, {"birth": tree})
    assert score("whd-height", table, [0, 0, 1], beta=1.0) == pytest.approx(2 * 0.2 / 2.283333333)
    assert score("whd", table, [0, 0, 1]) == pytest.approx(2 * 0.2)


# Goldberger & Tassa, section 5.1: a table of one public and one private column.
PUBLIC = list("aaaabbbbc")
PRIVATE = list("000101111")
G1 = [0, 0, 0, 3, 3, 1, 1, 1, 3]
G2 = [0, 0, 3, 0, 3, 1, 1, 1, 3]


@pytest.fixture
def nine_rows():
    return table_of({"x": PUBLIC}, {"x": Taxonomy.flat("abc")}, PRIVATE)


@pytest.mark.parametrize(("labels", "expected"), [(G1, -0.126), (G2, 0.086)])
def test_goldberger_tassa_5_1_private_information_against_the_original(nine_rows, labels, expected):
    difference = score("pmi", nine_rows, labels) - score("pmi", nine_rows, range(9))
    assert round(difference, 3) == expected


def test_goldberger_tassa_5_1_a_coarser_release_can_tell_more(nine_rows):
    assert score("pmi-max", nine_rows, G1) > score("pmi-max", nine_rows, range(9))


def test_the_norms_of_private_information_agree_on_one_column(nine_rows):
    entropy = -sum(p * math.log2(p) for p in (4 / 9, 5 / 9))
    for labels in (G1, range(9)):
        information = entropy - score("pmi", nine_rows, labels)
        assert score("pmi-max", nine_rows, labels) == pytest.approx(information)
        assert score("pmi-l2", nine_rows, labels) == pytest.approx(abs(information))
