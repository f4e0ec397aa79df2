"""Every problem of a hierarchy is named; private values never are."""

from __future__ import annotations

import pytest

from shoal.errors import HierarchyError
from shoal.hierarchy import Taxonomy, check_hierarchy, missing_values, require_cover


def problem(rows):
    with pytest.raises(HierarchyError) as caught:
        Taxonomy.from_paths(rows)
    return str(caught.value)


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (["aA*", "aB*"], "Leaf 'a' is listed twice (rows 1 and 2)."),
        (["aA*", "aA*"], "Leaf 'a' is listed twice (rows 1 and 2)."),
        (["aAX*", "bAY*"], "Node 'A' has two parents, 'X' and 'Y'."),
        (["aAB*", "bBA*"], "There is a cycle: 'A' → 'B' → 'A'."),
        (["aABCDEFGA*"], "There is a cycle: 'A' → 'B' → 'C' → 'D' → 'E' → … → 'A'."),
        (["aBa"], "There is a cycle: 'a' → 'B' → 'a'."),
        (["aA", "bB", "cC", "dD"], "There are 4 roots ('A', 'B', 'C', …) and no common top"),
        (["ab*", "b*"], "Leaf 'b' is also a node above other leaves (row 2)."),
        ([("a", "", "*")], "A label is empty (row 1)."),
        ([("a", "A", "*"), (" ", "A", "*")], "A label is empty (row 2)."),
        (["*"], "There is no level above its only leaf"),
        ([()], "There is an empty path (row 1)."),
        ([], "There is no leaf in it."),
    ],
)
def test_each_problem_is_named_in_a_sentence(rows, says):
    assert says in problem(rows)


def test_a_nested_hierarchy_names_problems_without_row_numbers():
    with pytest.raises(HierarchyError, match=r"Leaf 'x' is listed twice\."):
        Taxonomy.from_nested({"A": ["x"], "B": ["x"]})


def test_five_problems_are_named_and_the_rest_counted_in_one_error():
    rows = [f"{leaf}A*" for leaf in "abcdefg"]
    message = problem(rows + rows)
    assert message.startswith("The hierarchy has 7 problems: ")
    assert message.count("is listed twice") == 5
    assert message.endswith("And 2 more.")


def test_different_problems_are_named_together():
    message = problem(["aAX*", "bAY*", "aAX*", "c+"])
    assert message.startswith("The hierarchy has 3 problems: ")
    assert all(part in message for part in ("listed twice", "two parents", "2 roots"))


def test_long_labels_are_shortened_in_messages():
    assert "…" in problem([("x" * 500, "*"), ("x" * 500, "*")])
    assert len(problem([("x" * 500, "*"), ("x" * 500, "*")])) < 200


def test_a_balanced_tree_has_no_notes():
    assert check_hierarchy({"A": ["a", "b"], "B": ["c", "d"]}) == []


def test_unbalanced_depth_is_a_note_and_no_error():
    notes = check_hierarchy({"A": ["a", "b"], "c": None})
    assert len(notes) == 1
    assert "1 of 3 leaves lie less than 2 levels below the root; this is allowed" in notes[0]


def test_a_single_child_is_a_note():
    (note,) = check_hierarchy({"A": ["a"], "B": ["c", "d"]})
    assert note.startswith("1 node has a single child: climbing from that child hides nothing")


def test_check_raises_what_makes_a_hierarchy_unusable(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("a;A;*\na;A;*\n")
    with pytest.raises(HierarchyError, match=r"bad\.csv' has a problem: A leaf is listed twice"):
        check_hierarchy(path)


def test_missing_values_are_counted_once_each():
    tree = Taxonomy.flat(["a", "b"])
    assert missing_values(tree, ["a", "x", "x", "y", "*"]) == 3
    assert missing_values(tree, []) == 0


def test_uncovered_data_is_reported_with_column_and_count_but_no_value():
    tree = Taxonomy.flat(["a", "b"])
    require_cover(tree, "zip", ["a", "a", "b"])
    with pytest.raises(HierarchyError) as caught:
        require_cover(tree, "zip", ["a", "secret-1", "secret-2", "secret-2"])
    message = str(caught.value)
    assert "column 'zip'" in message
    assert "2 of 3 distinct values are no leaf" in message
    assert "shoal hierarchy check" in message
    assert "secret" not in message
