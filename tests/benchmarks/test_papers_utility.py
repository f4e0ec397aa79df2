from itertools import combinations

import numpy as np
import polars as pl
import pytest
from benchmarks.papers import as_published, cross_guide, features, utility, utility_rules
from benchmarks.papers.features import Cells, Reading

from shoal.table.partition import Partition

TREE = {"Married": ["civil", "church"], "Single": ["never", "widowed"]}


def cells(low, high, rows):
    return Cells(np.array(low), np.array(high), np.array(rows))


def number(values, bins):
    labels = tuple(str(b) for b in range(max(bins) + 1))
    return Reading("n", np.array(values, float), np.array(bins), labels)


def test_midpoint_of_an_interval_is_half_the_sum_of_its_ends():
    reading = number([10, 20, 40], [0, 0, 1])
    assert reading.midpoints(cells([0, 1], [1, 2], [3, 3])).tolist() == [15, 30]


def test_a_cell_that_covers_everything_gets_the_row_weighted_mean_of_the_others():
    reading = number([10, 20, 40], [0, 0, 1])
    found = reading.midpoints(cells([0, 2, 0], [0, 2, 2], [1, 3, 9]))
    assert found.tolist() == [10, 40, (10 + 3 * 40) / 4]


def test_shares_are_parts_of_the_covered_values_and_sum_to_one():
    reading = number([1, 2, 3, 4], [0, 0, 1, 1])
    found = reading.shares(cells([0, 1, 2], [2, 2, 3], [1, 1, 1]))
    assert found == pytest.approx(np.array([[2 / 3, 1 / 3], [0.5, 0.5], [0, 1]]))


def test_a_bin_is_certain_only_if_it_holds_every_covered_value():
    reading = number([1, 2, 3, 4], [0, 0, 1, 1])
    assert reading.certain(cells([0, 1], [1, 2], [1, 1])).tolist() == [[1, 0], [0, 0]]


@pytest.fixture
def people():
    frame = pl.DataFrame(
        {
            "age": [20, 30, 40, 50],
            "status": ["civil", "church", "never", "widowed"],
            "salary": ["low", "high", "low", "high"],
        }
    )
    roles = {
        "quasi_identifiers": ["age", "status"],
        "sensitive": ["salary"],
        "hierarchies": {"status": TREE},
    }
    return frame, features.encoded(frame, roles)


def test_released_cells_cover_intervals_and_the_leaves_of_a_node(people):
    frame, table = people
    columns = features.readings(frame, table)
    release = features.released(table, Partition.from_labels([0, 0, 1, 1]))
    assert columns[0].midpoints(release[0]).tolist() == [25, 45]
    shares = columns[1].shares(release[1])
    by_label = [dict(zip(columns[1].labels, row, strict=True)) for row in shares]
    assert by_label[0] == {"civil": 0.5, "church": 0.5, "never": 0, "widowed": 0}


def test_original_rows_have_exact_features(people):
    frame, table = people
    columns = features.readings(frame, table)
    exact = features.exact(table)
    assert columns[0].midpoints(exact[0]).tolist() == [20, 30, 40, 50]
    assert features.share_features(columns, exact).sum(axis=1).tolist() == [2, 2, 2, 2]


def test_suppressed_rows_belong_to_no_group_of_the_release(people):
    _, table = people
    release = features.released(table, Partition.from_labels([0, 0, -1, -1]))
    assert [len(column.low) for column in release] == [1, 1]
    assert release[0].rows.tolist() == [2]


def rules_by_hand(degrees, counts, owner, min_support):
    total, found = counts.sum(), {}
    for size in (1, 2, 3):
        for items in combinations(range(degrees.shape[1]), size):
            if len({owner[i] for i in items}) < size:
                continue
            support = degrees[:, items].prod(axis=1) @ counts
            if support.max() >= min_support * total - 1e-9:
                found[items] = support
    return found


@pytest.mark.parametrize("seed", range(5))
def test_miner_finds_what_counting_every_set_by_hand_finds(seed):
    rng = np.random.default_rng(seed)
    owner = np.array([0, 0, 0, 1, 1, 2, 2, 2, 3])
    degrees = rng.choice([0.0, 0.25, 0.5, 1.0], size=(30, len(owner)))
    counts = rng.integers(0, 6, size=(30, 2))
    expected = rules_by_hand(degrees, counts, owner, 0.1)
    found = utility_rules.mine(degrees, counts, owner, 0.1).counts
    assert found.keys() == expected.keys()
    for items, support in expected.items():
        assert found[items] == pytest.approx(support)


def test_rules_need_support_and_the_confidence_of_their_class():
    mined = utility_rules.Mined({(0,): np.array([90.0, 10.0]), (1,): np.array([40.0, 60.0])}, 200)
    assert mined.rules(0.01, (0.9, 0.5)) == {((0,), 0): 0.9, ((1,), 1): 0.6}
    assert mined.rules(0.4, (0.9, 0.5)) == {((0,), 0): 0.9}


def test_confidence_of_a_rule_that_no_row_holds_is_the_share_of_its_class():
    degrees = np.array([[1.0, 0.0], [0.5, 0.0]])
    counts = np.array([[2, 2], [0, 4]])
    found = utility_rules.confidences(degrees, counts, [((0,), 0), ((0, 1), 1)])
    assert found == pytest.approx([2 / 6, 6 / 8])


def test_comparison_counts_rules_found_again_and_the_error_of_their_confidence():
    original = {((0,), 0): 0.9, ((1,), 1): 0.6}
    released = {((0,), 0): 0.95, ((2,), 1): 0.7, ((3,), 1): 0.8}
    found = utility_rules.compare(original, released, np.array([0.95, 0.5]))
    assert found["recall"] == 0.5
    assert found["precision"] == pytest.approx(1 / 3)
    assert found["f1"] == pytest.approx(0.4)
    assert found["confidence_error"] == pytest.approx(0.075)


def test_interval_of_paired_differences_is_wider_than_that_of_independent_ones():
    mean, half = utility.paired([0.01, 0.02, 0.03, 0.02, 0.02], 0.25)
    # t(4) = 2.776, variance 0.00005, factor 1/5 + 1/4
    assert mean == pytest.approx(0.02)
    assert half == pytest.approx(2.776 * np.sqrt(0.45 * 0.00005), rel=1e-3)


@pytest.mark.parametrize(
    ("difference", "half", "said"), [(0.2, 0.1, "better"), (-0.2, 0.1, "worse"), (0.1, 0.2, "even")]
)
def test_verdict_is_even_where_the_interval_holds_zero(difference, half, said):
    assert utility.verdict(difference, half) == said


def conjecture(difference):
    """Results in which PMI differs from MI by so much in everything."""
    cell = {what: [difference, 0.01] for what in utility.WORTH}
    scores = {"scores": {"entropy-diversity": 0.1}}
    worse = {"scores": {"entropy-diversity": 0.5}}
    found = {"against": {"mi": {"10": cell}}, "cells": {"pmi": {"10": scores}, "mi": {"10": worse}}}
    return {"settings": {"taxonomies": found}}


@pytest.mark.parametrize(
    ("difference", "said"), [(0.1, "confirmed"), (-0.1, "not confirmed"), (0.0, "not confirmed")]
)
def test_conjecture_can_come_out_either_way(difference, said):
    *classifiers, rules, _ = utility.claims(conjecture(difference))
    assert len(classifiers) == 3
    assert {claim.verdict for claim in (*classifiers, rules)} == {said}


def crossed(losses, seconds, same="own"):
    """Cross results: losses[algorithm][measure], one k; the seeds lie a tenth on either side."""
    cells = {}
    for algorithm, row in losses.items():
        cells[algorithm] = {
            minimised: {
                "mebibytes": 300,
                "k": {
                    "10": {
                        "loss": dict(row),
                        "least": {name: 0.9 * loss for name, loss in row.items()},
                        "most": {name: 1.1 * loss for name, loss in row.items()},
                        "seconds": seconds[algorithm],
                        "suppressed": 0,
                        "groups": 5,
                        "same": same if algorithm == "blind" else f"{algorithm} {minimised}",
                    }
                },
            }
            for minimised in row
        }
    return {"rows": 100, "ks": [10], "cells": cells, "measures": ["ncp", "lm"]}


def test_guide_names_the_best_and_the_quickest_of_the_numbers():
    losses = {"k-member": {"ncp": 0.1, "lm": 0.2}, "blind": {"ncp": 0.3, "lm": 0.6}}
    results = crossed(losses, {"k-member": 9.0, "blind": 0.1})
    text = "\n".join(cross_guide.guide(results))
    assert "k-member has the least loss in 2 of 2 cells" in text
    assert "blind takes 0.10 s and loses 3.00 times the least" in text
    assert "k-member 1.00 [0.90, 1.10] (9.0 s), blind 3.00 [2.70, 3.30] (0.1 s)." in text
    assert cross_guide.ignoring(results) == ["blind"]


def test_guide_follows_when_the_numbers_turn_round():
    losses = {"k-member": {"ncp": 0.3, "lm": 0.6}, "blind": {"ncp": 0.1, "lm": 0.2}}
    text = "\n".join(cross_guide.guide(crossed(losses, {"k-member": 0.1, "blind": 9.0})))
    assert "blind has the least loss in 2 of 2 cells" in text
    assert "k-member takes 0.10 s" in text


def test_what_is_refined_is_not_ranked_and_a_baseline_is_where_it_was_run():
    helped = f"mdav, {as_published.HELP}"
    losses = {
        "auto": {"ncp": 0.1, "lm": 0.1},
        "mdav": {"ncp": 0.2, "lm": 0.2},
        helped: {"ncp": 0.05},
        "forest": {"ncp": 0.4},
    }
    results = crossed(losses, dict.fromkeys(losses, 1.0))
    assert list(cross_guide.published(results)) == ["mdav"]
    assert list(cross_guide.not_refined(results)) == ["mdav", "forest"]
    assert list(cross_guide.refined(results)) == ["auto, refined", helped]
    ordered, with_baselines, apart = (
        line
        for line in cross_guide.guide(results)
        if line.startswith(("- **In order", "- **With the b", "- **Refined"))
    )
    assert ordered.endswith("median seconds): MDAV 1.00 [0.90, 1.10] (1.0 s).")
    assert "MDAV 1.00 [0.90, 1.10] (1.0 s), forest 2.00 [1.80, 2.20] (1.0 s)." in with_baselines
    assert "MDAV, in blocks, refined 0.25 [0.23, 0.28], Shoal's auto, refined 0.50" in apart
