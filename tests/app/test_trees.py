"""Hierarchies edited by hand: no value is lost, nothing is done that cannot be undone."""

import json

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers.effort import share

from shoal.app.hierarchy_preview import (
    Draft,
    Edit,
    EditTree,
    Values,
    build,
    export_csv,
    grid_choices,
    import_csv,
    natural_method,
    preview,
    preview_grid,
)
from shoal.errors import HierarchyError, OptionError
from shoal.hierarchy import Taxonomy
from shoal.table.schema import Kind

PLACES = {"Europe": {"North": ["Oslo", "Malmö"], "South": ["Rome"]}, "Asia": ["Iran", "India"]}


def tree():
    return EditTree.of(Taxonomy.from_nested(PLACES))


def values(cells, name="place"):
    return Values.of(pl.Series(name, cells))


@st.composite
def trees(draw):
    """A tree of some values below some nodes, of any shape."""
    n_values, n_nodes = draw(st.integers(1, 12)), draw(st.integers(0, 6))
    inner = {"top": []}
    for number in range(n_nodes):
        inner[draw(st.sampled_from(sorted(inner)))].append(f"node {number}")
        inner[f"node {number}"] = []
    for number in range(n_values):
        inner[draw(st.sampled_from(sorted(inner)))].append(f"value {number}")
    return EditTree("top", {name: tuple(below) for name, below in inner.items()})


@st.composite
def edits(draw, of):
    """Something to do to a tree; it may be impossible."""
    inner = st.sampled_from(sorted(of.inner))
    anything = st.sampled_from(sorted({*of.inner, *of.parents}))
    some = st.lists(anything, min_size=1, max_size=4).map(tuple)
    new = st.sampled_from(["new", "newer", "newest", *sorted(of.inner)])
    kind = draw(st.sampled_from(["rename", "add", "move", "merge", "remove", "remove-level"]))
    given_ = {
        "rename": (inner, new),
        "add": (new, inner),
        "move": (some, inner),
        "merge": (some, new),
        "remove": (inner,),
        "remove-level": (st.integers(0, 4),),
    }[kind]
    return Edit(kind, tuple(draw(each) for each in given_))


@st.composite
def edited(draw):
    """A draft after some edits, and its states on the way."""
    draft = Draft(draw(trees()))
    states = [draft]
    for _ in range(draw(st.integers(1, 8))):
        try:
            after = draft.do(draw(edits(draft.tree)))
        except HierarchyError:
            continue
        if after is not draft:
            states.append(after)
            draft = after
    return states


@given(states=edited())
def test_every_value_stays_in_the_tree_exactly_once_whatever_is_edited(states):
    before = sorted(states[0].tree.values)
    for state in states:
        found = state.tree.values
        assert sorted(found) == before
        assert len(set(found)) == len(found)
        labels = [*state.tree.inner, *found]
        assert len(set(labels)) == len(labels)
        assert state.tree.taxonomy().n_leaves == len(before)


@given(states=edited())
def test_undo_after_an_edit_is_the_tree_before_and_redo_is_the_tree_after(states):
    last = states[-1]
    for state in reversed(states[:-1]):
        last = last.undo()
        assert last.tree == state.tree
    assert not last.can_undo
    assert last.undo() == last
    for state in states[1:]:
        last = last.redo()
        assert last.tree == state.tree
    assert not last.can_redo
    assert last.redo() == last


@given(states=edited())
def test_a_draft_survives_json_with_its_undo_and_redo(states):
    for state in (states[-1], states[-1].undo()):
        back = Draft.from_dict(json.loads(json.dumps(state.to_dict())))
        assert back.tree == state.tree
        assert (back.can_undo, back.can_redo) == (state.can_undo, state.can_redo)
        assert back.redo().tree == state.redo().tree


@given(states=edited())
def test_export_and_import_give_the_same_tree_back(states):
    made = states[-1].tree.taxonomy()
    text = export_csv(made)
    again = import_csv(text, values(list(states[-1].tree.values)))
    assert again.tree.taxonomy() == made
    assert export_csv(again.tree.taxonomy()) == text


@given(of=trees(), labels=st.data())
@settings(max_examples=share(30))
def test_a_tree_to_edit_is_the_taxonomy_it_was_made_of(of, labels):
    del labels
    made = of.taxonomy()
    assert EditTree.of(made).taxonomy() == made


def test_a_renamed_node_keeps_its_place_and_what_is_below_it():
    after = tree().rename("North", "Nordic")
    assert after.inner["Europe"] == ("Nordic", "South")
    assert after.inner["Nordic"] == ("Oslo", "Malmö")


def test_merged_nodes_are_one_in_the_place_of_the_first():
    after = tree().merge(["Asia", "South"], "Warm")
    assert after.inner["Europe"] == ("North", "Warm")
    assert after.inner["Warm"] == ("Rome", "Iran", "India")
    assert "Asia" not in after.inner


def test_merged_values_get_a_node_of_their_own():
    after = tree().merge(["India", "Rome"], "Far")
    assert after.inner["South"] == ("Far",)
    assert after.inner["Far"] == ("Rome", "India")
    assert after.inner["Asia"] == ("Iran",)


def test_a_value_moves_and_an_emptied_node_is_left_out_when_the_tree_is_used():
    after = tree().move(["Rome"], "Asia")
    assert after.inner["South"] == ()
    assert after.inner["Asia"] == ("Iran", "India", "Rome")
    assert "South" not in after.taxonomy().labels


def test_a_removed_level_leaves_its_values_one_step_higher():
    after = tree().remove_level(1)
    assert after.inner["*"] == ("North", "South", "Iran", "India")
    assert after.depths == {"*": 0, "North": 1, "South": 1}


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (Edit("move", (("Europe",), "North")), "below itself"),
        (Edit("move", (("*",), "Asia")), "top of a hierarchy"),
        (Edit("move", (("Oslo",), "Rome")), "value of the column"),
        (Edit("move", ((), "Asia")), "Choose a value"),
        (Edit("move", (("Nowhere",), "Asia")), "There is no 'Nowhere'"),
        (Edit("rename", ("Oslo", "Bergen")), "stay as they are"),
        (Edit("rename", ("Asia", "Europe")), "already a 'Europe'"),
        (Edit("rename", ("Asia", "  ")), "visible text"),
        (Edit("rename", ("Asia", "a\nb")), "visible text"),
        (Edit("add", ("Oslo", "Asia")), "already a 'Oslo'"),
        (Edit("remove", ("*",)), "top of a hierarchy"),
        (Edit("remove-level", (3,)), "no level 3"),
        (Edit("remove-level", (0,)), "no level 0"),
        (Edit("paint", ()), "no edit 'paint'"),
    ],
)
def test_an_edit_that_cannot_be_done_says_why_and_changes_nothing(edit, why):
    draft = Draft(tree())
    with pytest.raises(HierarchyError, match=why):
        draft.do(edit)
    assert draft == Draft(tree())


def test_intervals_become_a_rule_and_what_values_become_is_counted():
    ages = values([17, 18, 18, 34, None, 90], "age")
    built = build(ages, "intervals", {"widths": [5, 10], "origin": 0})
    assert built.rule.to_dict() == {"rule": "intervals", "widths": [5, 10], "origin": 0}
    levels = preview(built.tree, ages)
    assert [(p.label, p.n_values, p.n_rows) for p in levels[1].parts] == [
        ("[15-19]", 2, 3), ("[30-34]", 1, 1), ("[90-94]", 1, 1),
    ]  # fmt: skip
    assert levels[1].smallest == 1
    assert [(p.label, p.n_rows) for p in levels[-1].parts] == [("*", 5)]
    assert ages.n_missing == 1


@pytest.mark.parametrize(
    ("cells", "method", "top"),
    [
        (list(range(100)), "intervals", "*"),
        ([f"{n:05}" for n in range(10, 60)], "prefix", "*"),
        (pl.date_range(pl.date(2020, 1, 1), pl.date(2021, 1, 1), "9d", eager=True), "dates", "*"),
        (["a", "b", "c", "d", "e", "e", "f"], "frequency", "*"),
    ],
)
def test_every_column_has_a_method_that_covers_it_without_options(cells, method, top):
    found = Values.of(pl.Series("c", cells))
    assert natural_method(found) == method
    built = build(found, method, {})
    assert set(built.tree.leaf_labels) == set(found.labels)
    assert built.tree.labels[built.tree.root] == top
    assert (built.rule is None) is (method == "frequency")


def test_a_method_that_does_not_fit_the_values_says_so_without_showing_one():
    with pytest.raises(HierarchyError, match="no finite numbers") as told:
        build(values(["Oslo", "Rome"]), "intervals", {"widths": [5]})
    assert "Oslo" not in str(told.value)
    with pytest.raises(OptionError, match="intervals"):
        build(values(["Oslo"]), "interval", {})
    with pytest.raises(HierarchyError, match="no value at all"):
        build(Values.of(pl.Series("x", [None], dtype=pl.String)), "flat", {})


def test_an_imported_file_must_cover_the_column_unless_new_values_go_below_its_root():
    text = "Oslo;North;*\nRome;South;*\n"
    with pytest.raises(HierarchyError, match="1 of 3 distinct values"):
        import_csv(text, values(["Oslo", "Rome", "Iran"]))
    found = import_csv(text, values(["Oslo", "Rome", "Iran"]), unknown="root")
    assert found.tree.inner["*"] == ("North", "South", "Iran")


def test_a_grid_shows_the_cells_that_values_lie_in():
    ages = values([17, 18, 18, 34, 90], "age")
    shown = [(part.label, part.n_values, part.n_rows) for part in preview_grid(ages, "5")]
    assert shown == [("[15-19]", 2, 3), ("[30-34]", 1, 1), ("[90-94]", 1, 1)]
    assert len(preview_grid(ages, "none")) == 4
    days = Values.of(pl.Series("d", ["2024-02-03", "2024-02-20"]).str.to_date())
    assert [part.label for part in preview_grid(days, "month")] == ["[2024-02-01 to 2024-02-29]"]
    with pytest.raises(OptionError, match="must be a number above 0"):
        preview_grid(ages, "-1")


def test_grids_worth_choosing_fit_the_kind_of_the_column():
    ages = values(list(range(17, 91)), "age")
    assert grid_choices(ages, Kind.NUMERIC) == ["none", "2", "5", "10", "20", "50"]
    days = Values.of(pl.Series("d", ["2024-02-03"]).str.to_date())
    assert "month" in grid_choices(days, Kind.DATE)
    assert "minute" not in grid_choices(days, Kind.DATE)
    for step in grid_choices(ages, Kind.NUMERIC):
        assert sum(part.n_rows for part in preview_grid(ages, step)) == 74
