"""Published cells: text and types of every kind of attribute, columns, rows, styles."""

import datetime as dt
from decimal import Decimal

import narwhals as nw
import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import OptionError, RoleError
from shoal.publish.recode import Style, published_names, recode, with_listings
from shoal.table.encode import encode
from shoal.table.infer import infer_kinds
from shoal.table.partition import Partition
from shoal.table.schema import build_schema

TREE = {"Asia": ["India", "Iran"], "America": ["USA", "Peru"]}


def publish(frame, labels, *, style=None, shuffle=False, **roles):
    roles.setdefault("quasi_identifiers", frame.columns)
    schema = infer_kinds(build_schema(frame.columns, **roles), nw.from_native(frame))
    partition = Partition.from_labels(labels)
    table = with_listings(encode(frame, schema), style or Style(), k=2)
    return recode(frame, schema, table, partition, style, shuffle=shuffle)[0]


def cells(values, labels, *, style=None, dtype=None, **roles):
    """Publish one column and return its cells, one per group."""
    frame = pl.DataFrame({"x": pl.Series(values, dtype=dtype)})
    column = publish(frame, labels, style=style, **roles).get_column("x")
    return [column[labels.index(label)] for label in range(max(labels) + 1)]


# -- text of each kind -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([23, 25, 30, 30, None, None, 3, None], ["[23-25]", "30", None, "*"]),
        ([0.5, 1.25, 2.0, 2.0, None, float("nan"), 3, None], ["[0.5-1.25]", "2", None, "*"]),
        ([-5, 3, 7, 7, None, None, 1, None], ["[-5 to 3]", "7", None, "*"]),
        ([4, 6, -7, -7, None, None, 1, None], ["[4-6]", "-7", None, "*"]),
    ],
    ids=["integers", "floats", "negative bounds", "negative single values only"],
)
def test_numbers_are_intervals(values, expected):
    assert cells(values, [0, 0, 1, 1, 2, 2, 3, 3]) == expected


def test_the_bounds_of_a_suppressed_cell_do_not_decide_on_the_format():
    assert cells([4, 6, -7, None], [0, 0, 1, 1]) == ["[4-6]", "*"]


def test_decimals_and_narrow_floats_are_published_in_their_short_form():
    assert cells([Decimal("1.50"), Decimal("2.00")], [0, 0]) == ["[1.5-2]"]
    assert cells([0.1, 0.2], [0, 0], dtype=pl.Float32) == ["[0.1-0.2]"]


def test_dates_are_intervals_that_cannot_be_misread():
    days = [dt.date(2020, 1, 5), dt.date(2020, 3, 1), dt.date(2021, 1, 1), dt.date(2021, 1, 1)]
    assert cells(days, [0, 0, 1, 1]) == ["[2020-01-05 to 2020-03-01]", "2021-01-01"]
    times = [dt.datetime(2020, 1, 5, 7), dt.datetime(2020, 1, 5, 8, 30)]
    assert cells(times, [0, 0]) == ["[2020-01-05 07:00:00 to 2020-01-05 08:30:00]"]


def test_ordered_values_are_intervals_of_their_order():
    values = ["mid", "low", "high", "high"]
    orders = {"x": ["low", "mid", "high"]}
    assert cells(values, [0, 0, 1, 1], orders=orders) == ["[low-mid]", "high"]


def test_values_of_a_hierarchy_become_their_lowest_common_ancestor():
    values = ["India", "Iran", "USA", "USA", "India", "Peru", None, None, "Iran", None]
    published = cells(values, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4], hierarchies={"x": TREE})
    assert published == ["Asia", "USA", "*", None, "*"]


def test_the_root_of_a_hierarchy_has_the_name_the_user_gave_it():
    values = ["India", "Peru", "Iran", None]
    style = Style(suppressed="(hidden)")
    assert cells(values, [0, 0, 1, 1], hierarchies={"x": {"World": TREE}}, style=style) == [
        "World",
        "World",
    ]


def test_flat_values_are_kept_or_suppressed():
    values = ["a", "a", "a", "b", None, None, "b", None]
    labels = [0, 0, 1, 1, 2, 2, 3, 3]
    assert cells(values, labels) == ["a", "*", None, "*"]
    assert cells(values, labels, style=Style(suppressed="?")) == ["a", "?", None, "?"]
    assert cells([True, True, False, True], [0, 0, 1, 1]) == ["true", "*"]


def test_sets_list_what_was_seen():
    values = ["b", "a", "b", "b", None, None, "c", None]
    labels = [0, 0, 1, 1, 2, 2, 3, 3]
    assert cells(values, labels, kinds={"x": "set"}) == ["{a, b}", "b", None, "*"]
    style = Style(set_format="<{values}>", set_separator="|")
    assert cells(values, labels, kinds={"x": "set"}, style=style) == ["<a|b>", "b", None, "*"]
    assert cells([10, 9, 9, 9], [0, 0, 1, 1], kinds={"x": "set"}) == ["{9, 10}", "9"]


def test_a_union_set_is_published_where_the_tree_is_charged():
    # Byun et al., Definition 5
    values = ["India", "Iran", "Peru", "Peru", "Iran", None, None, None]
    labels = [0, 0, 1, 1, 2, 2, 3, 3]
    asked = {"hierarchies": {"x": {"World": TREE}}, "style": Style(categories="values")}
    assert cells(values, labels, **asked) == ["{India, Iran}", "Peru", "World", None]
    assert cells(values[:2], [0, 0], hierarchies={"x": {"World": TREE}}) == ["Asia"]


def test_union_sets_lose_what_their_nodes_do_and_can_be_scored_and_read_again():
    frame = pl.DataFrame(
        {"land": ["India", "Iran", "Peru", "USA", "India", "Peru"], "sick": list("abcabc")}
    )
    roles = {"quasi_identifiers": "land", "sensitive": "sick", "hierarchies": {"land": TREE}}
    made = {
        categories: shoal.anonymize(
            frame, 2, **roles, measure="il", seed=3, style={"categories": categories}
        )
        for categories in ("node", "values")
    }
    assert made["values"].scores == made["node"].scores
    sets = set(made["values"].frame.get_column("land"))
    assert sets != set(made["node"].frame.get_column("land"))
    assert any(cell.startswith("{") for cell in sets)
    again = shoal.score(
        frame, made["values"].frame, **roles, measures=["il"], style=Style(categories="values")
    )
    assert again["il"] == pytest.approx(made["node"].scores["il"])
    assert shoal.verify(made["values"].frame, 2, **_without(roles, "hierarchies")).holds


def _without(roles, name):
    return {key: value for key, value in roles.items() if key != name}


def test_an_interval_format_is_followed_and_braces_in_values_are_left_alone():
    style = Style(interval_format="{low}..{high}", wide_interval_format="{low} … {high}")
    assert cells([-1, 4], [0, 0], style=style) == ["-1..4"]
    order = {"x": ["{high}", "{low}"]}
    assert cells(["{low}", "{high}"], [0, 0], orders=order, style=style) == ["{high}..{low}"]
    order = {"x": ["a..b", "c"]}
    assert cells(["a..b", "c"], [0, 0], orders=order, style=style) == ["a..b … c"]


# -- typed output ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([23, 25], pl.Int16),
        ([0.5, 1.5], pl.Float32),
        ([Decimal("1.10"), Decimal("1.20")], pl.Decimal(10, 2)),
        ([dt.date(2020, 1, 1), dt.date(2020, 2, 1)], pl.Date),
        ([dt.datetime(2020, 1, 1), dt.datetime(2020, 2, 1)], pl.Datetime("ms")),
    ],
    ids=["integer", "float", "decimal", "date", "datetime"],
)
def test_bounds_have_the_type_of_the_column(values, dtype):
    frame = pl.DataFrame({"x": pl.Series([*values, None, None, values[0], None], dtype=dtype)})
    labels = [0, 0, 1, 1, 2, 2]
    bounds = publish(frame, labels, style=Style(numeric="bounds"))
    assert bounds.schema == {"x_low": dtype, "x_high": dtype}
    assert bounds.row(0) == tuple(values)
    assert bounds.row(2) == bounds.row(4) == (None, None)
    struct = publish(frame, labels, style=Style(numeric="struct"))
    assert struct.schema == {"x": pl.Struct({"low": dtype, "high": dtype})}
    assert struct["x"][1] == {"low": values[0], "high": values[1]}


def test_bounds_of_ordered_values_are_text_and_other_kinds_stay_as_they_are():
    frame = pl.DataFrame({"x": ["mid", "low"], "y": ["a", "b"], "z": [1, 2]})
    published = publish(
        frame, [0, 0], style=Style(numeric="bounds"), orders={"x": ["low", "mid", "high"]}
    )
    assert published.row(0, named=True) == {
        "x_low": "low",
        "x_high": "mid",
        "y": "*",
        "z_low": 1,
        "z_high": 2,
    }


@pytest.mark.parametrize(
    ("numeric", "expected"), [("mean", [3.0, 0.1, None, None]), ("median", [1.5, 0.1, None, None])]
)
def test_a_group_may_publish_its_centre(numeric, expected):
    values = [1.0, 8.0, 2.0, 1.0, 0.1, 0.1, 0.1, None, None, 5.0, None]
    labels = [0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 3]
    assert cells(values, labels, style=Style(numeric=numeric)) == expected


def test_only_numbers_have_a_centre():
    days = [dt.date(2020, 1, 5), dt.date(2020, 3, 1)]
    assert cells(days, [0, 0], style=Style(numeric="mean")) == ["[2020-01-05 to 2020-03-01]"]


def test_a_median_leaves_suppressed_rows_out():
    frame = pl.DataFrame({"x": [100, 1, 2, 3]})
    published = publish(frame, [-1, 0, 0, 0], style=Style(numeric="median"))
    assert published["x"].to_list() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("taken", ["x_low", "x_high"])
@pytest.mark.parametrize("role", ["insensitive", "sensitive"])
def test_bounds_do_not_take_the_name_of_a_published_column(taken, role):
    frame = pl.DataFrame({"x": [1, 2], taken: [3, 4]})
    roles = {"quasi_identifiers": ["x"], role: [taken]}
    with pytest.raises(RoleError, match=f"bounds of column 'x'.*{taken!r}"):
        publish(frame, [0, 0], style=Style(numeric="bounds"), **roles)
    assert publish(frame, [0, 0], **roles).columns == ["x", taken]


def test_bounds_may_take_the_name_of_a_column_that_is_not_published():
    frame = pl.DataFrame({"x": [1, 2], "x_low": [3, 4]})
    published = publish(
        frame, [0, 0], style=Style(numeric="bounds"), quasi_identifiers=["x"], drop=["x_low"]
    )
    assert published.columns == ["x_low", "x_high"]
    assert published.row(0) == (1, 2)


def test_the_published_names_are_known_before_any_work():
    frame = pl.DataFrame({"n": ["a"], "x": [1], "s": ["b"]})
    schema = build_schema(frame.columns, quasi_identifiers="x", sensitive="s", identifiers="n")
    schema = infer_kinds(schema, nw.from_native(frame))
    assert published_names(schema, Style()) == {"x": ("x",), "s": ("s",)}
    bounds = published_names(schema, Style(numeric="bounds"))
    assert bounds == {"x": ("x_low", "x_high"), "s": ("s",)}


# -- columns and rows --------------------------------------------------------------------------


@pytest.fixture
def people():
    return pl.DataFrame(
        {
            "name": ["Ann", "Bob", "Cid", "Dan", "Eve"],
            "note": pl.Series(["n1", "n2", "n3", "n4", "n5"], dtype=pl.Categorical),
            "age": [20, 24, 30, 36, 99],
            "illness": ["flu", "flu", "cold", None, "rare"],
            "cost": pl.Series([1.5, None, 2.5, 3.5, 9.5], dtype=pl.Float32),
            "clerk": ["x", "x", "y", "y", "y"],
        }
    )


ROLES = {
    "quasi_identifiers": ["age"],
    "sensitive": ["illness"],
    "insensitive": ["note", "cost"],
    "identifiers": ["name"],
    "drop": ["clerk"],
}
LABELS = [0, 0, 1, 1, -1]


def test_columns_keep_their_order_and_untouched_ones_their_type(people):
    published = publish(people, LABELS, **ROLES)
    assert list(published.schema.items()) == [
        ("note", people.schema["note"]),
        ("age", pl.String),
        ("illness", pl.String),
        ("cost", pl.Float32),
    ]
    untouched = ["note", "illness", "cost"]
    assert published.select(untouched).rows() == people.select(untouched).rows()[:4]


def test_unless_shuffled_rows_keep_their_order(people):
    published = publish(people, LABELS, **ROLES)
    assert published["age"].to_list() == ["[20-24]", "[20-24]", "[30-36]", "[30-36]"]


def test_suppressed_rows_leave_no_trace(people):
    published = publish(people, LABELS, **ROLES)
    text = published.write_csv()
    for cell in ("99", "rare", "n5", "9.5"):
        assert cell not in text


def test_the_order_of_rows_depends_on_the_published_rows_alone(people):
    many = pl.concat([people.head(4)] * 25).with_columns(note=pl.int_range(100).cast(pl.String))
    labels = LABELS[:4] * 25
    once = publish(many, labels, shuffle=True, **ROLES)
    kept = publish(many, labels, **ROLES)
    assert not once.equals(kept)
    assert sorted(map(repr, once.rows())) == sorted(map(repr, kept.rows()))
    for seed in range(5):  # whatever the order of the input and the numbers of the groups
        turn = np.random.default_rng(seed).permutation(100)
        numbers = [1 - labels[row] for row in turn]
        other = publish(many[turn], numbers, shuffle=True, **ROLES)
        assert other.equals(once)


def test_codes_of_categories_have_no_part_in_the_order_of_rows(people):
    many = pl.concat([people.head(4)] * 25).with_columns(note=pl.int_range(100).cast(pl.String))
    many = many.with_columns(illness=pl.concat_str(pl.col("illness").fill_null("none"), "note"))
    labels = LABELS[:4] * 25
    orders = set()
    for levels in (many["illness"], many["illness"].reverse()):
        typed = many.with_columns(illness=many["illness"].cast(pl.Enum(levels)))
        published = publish(typed, labels, shuffle=True, **ROLES)
        orders.add(tuple(published["illness"].cast(pl.String)))
    assert len(orders) == 1


def test_a_release_of_no_rows_still_has_its_columns(people):
    for numeric in ("interval", "bounds", "struct", "mean", "median"):
        published = publish(people, [-1] * 5, style=Style(numeric=numeric), **ROLES)
        assert published.height == 0
        assert "illness" in published.columns
    assert publish(people, [-1] * 5, kinds={"age": "set"}, **ROLES).height == 0
    assert publish(people, [-1] * 5, kinds={"age": "flat"}, **ROLES).height == 0


# -- options of the style ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"numeric": "bound"}, "numeric must be one of .* Did you mean 'bounds'"),
        ({"numeric": 3}, "numeric must be text, but 3 was given"),
        ({"suppressed": None}, "suppressed must be text, but None was given"),
        ({"interval_format": "{low}"}, "interval_format must hold"),
        ({"interval_format": "{high}-{low}"}, "in this order"),
        ({"interval_format": "{low}{high}"}, "something between them"),
        ({"interval_format": "{low}-{low}-{high}"}, "once"),
        ({"wide_interval_format": "[]"}, "wide_interval_format must hold"),
        ({"set_format": "{}"}, "set_format must hold {values} once"),
        ({"set_separator": ""}, "set_separator must not be empty"),
        ({"categories": "value"}, "categories must be one of.*Did you mean 'values'"),
        ({"nummeric": "mean"}, "no option 'nummeric'. Did you mean 'numeric'"),
    ],
)
def test_a_wrong_style_is_named_with_what_was_given(options, message):
    with pytest.raises(OptionError, match=message):
        Style.from_dict(options)


def test_a_style_is_built_from_a_job_file():
    assert Style.from_dict({}) == Style()
    assert Style.from_dict({"numeric": "mean"}) == Style(numeric="mean")
