"""Laws of published tables, on random schemas, kinds, hierarchies, missing values and groups."""

import datetime as dt
import math
from collections import Counter, defaultdict
from fractions import Fraction

import narwhals as nw
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.api import verify as verify_table
from shoal.hierarchy import Taxonomy, canonical_label
from shoal.privacy.alpha_k import AlphaK
from shoal.privacy.l_diversity import LDiversity
from shoal.privacy.t_closeness import TCloseness
from shoal.publish.recode import Style, recode
from shoal.table.encode import encode
from shoal.table.infer import infer_kinds
from shoal.table.partition import Partition
from shoal.table.schema import build_schema

WORDS = ["a", "b-c", "d e", "F", "é", "0", "{x}"]
MOMENTS = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1))
VALUES = {
    "integer": st.integers(-20, 20),
    "float": st.floats(-1e9, 1e9) | st.floats(-1, 1),
    "date": st.dates(),
    "datetime": MOMENTS,
    "ordinal": st.sampled_from(WORDS),
    "categorical": st.sampled_from(WORDS),
    "flat": st.sampled_from(WORDS) | st.sampled_from(["*x", ""]),
    "boolean": st.booleans(),
    "set": st.sampled_from(WORDS),
    "set of numbers": st.integers(-3, 3),
}
DTYPES = {
    "integer": pl.Int64,
    "float": pl.Float64,
    "date": pl.Date,
    "datetime": pl.Datetime("us"),
    "boolean": pl.Boolean,
    "set of numbers": pl.Int16,
}


@st.composite
def hierarchies(draw):
    """A tree over WORDS: neighbours of a random order share random ancestors."""
    leaves = draw(st.permutations(WORDS))
    height = draw(st.integers(0, 2))
    cuts = [draw(st.integers(1, 4)) for _ in range(height)]
    paths = []
    for number, leaf in enumerate(leaves):
        width, path = 1, [leaf]
        for level, cut in enumerate(cuts):
            width *= cut
            path.append(f"level {level} node {number // width}")
        paths.append([*path, "anything"])
    return Taxonomy.from_paths(paths)


@st.composite
def tables(draw):
    """A frame with its schema, and a label per row (−1 suppressed)."""
    n_rows = draw(st.integers(1, 14))
    kinds = draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=4))
    columns, options = {}, {"hierarchies": {}, "kinds": {}, "orders": {}}
    for number, kind in enumerate(kinds):
        name = f"c{number}"
        cells = draw(
            st.lists(st.none() | VALUES[kind], min_size=n_rows, max_size=n_rows).filter(
                lambda cells: any(cell is not None for cell in cells)
            )
        )
        columns[name] = pl.Series(name, cells, dtype=DTYPES.get(kind, pl.String))
        if kind == "categorical":
            options["hierarchies"][name] = draw(hierarchies())
        elif kind == "ordinal":
            options["orders"][name] = draw(st.permutations(WORDS))
        elif kind.startswith("set"):
            options["kinds"][name] = "set"
    secret = draw(st.lists(st.none() | st.sampled_from("xyz"), min_size=n_rows, max_size=n_rows))
    columns["secret"] = pl.Series("secret", secret, dtype=pl.String)
    columns["income"] = pl.Series(
        "income", draw(st.lists(st.integers(0, 4), min_size=n_rows, max_size=n_rows))
    )
    frame = pl.DataFrame(columns)
    schema = build_schema(
        frame.columns,
        quasi_identifiers=[f"c{number}" for number in range(len(kinds))],
        sensitive=["secret", "income"],
        **options,
    )
    schema = infer_kinds(schema, nw.from_native(frame))
    labels = draw(st.lists(st.integers(-1, 3), min_size=n_rows, max_size=n_rows))
    return frame, schema, labels


def members(cell, opening, closing, separators):
    """The parts of a text like [a-b] or {a, b}, or the text itself."""
    if not (cell.startswith(opening) and cell.endswith(closing)):
        return None
    for separator in separators:
        if separator in cell:
            return cell[1:-1].split(separator)
    return None


def as_position(text, kind, order):
    if kind == "ordinal":
        return order.index(text)
    if kind == "numeric":
        return float(text)
    return (dt.date if kind == "date" else dt.datetime).fromisoformat(text)


def covers(column, cell, value):
    """Whether a published cell covers an original value, read as a person would read it."""
    if value is None or cell is None:
        return cell in ((None, "*", "anything") if value is None else ())
    label = canonical_label(value)
    kind = column.kind.value
    if cell in (label, "*"):
        return True
    if kind == "categorical":
        return cell in next(path for path in column.hierarchy.to_paths() if path[0] == label)
    if kind == "set":
        return label in members(cell, "{", "}", [", "])
    bounds = members(cell, "[", "]", [" to ", "-"])
    place = column.order.index(label) if kind == "ordinal" else value
    low, high = (as_position(bound, kind, column.order) for bound in bounds)
    return low <= place <= high


def publish(frame, schema, labels, *, shuffle=False, style=None):
    partition = Partition.from_labels(labels)
    return recode(frame, schema, encode(frame, schema), partition, style, shuffle=shuffle)[0]


def kept(frame, labels):
    return frame.filter(pl.Series(labels) >= 0), [label for label in labels if label >= 0]


@given(tables())
def test_a_published_cell_covers_the_original_value(case):
    frame, schema, labels = case
    published = publish(frame, schema, labels)
    originals, _ = kept(frame, labels)
    assert published.height == originals.height
    for name in schema.quasi_identifiers:
        for cell, value in zip(published[name], originals[name], strict=True):
            assert covers(schema[name], cell, value)


@given(tables())
def test_a_cell_is_missing_exactly_where_all_values_of_the_group_are(case):
    frame, schema, labels = case
    published = publish(frame, schema, labels)
    originals, groups = kept(frame, labels)
    for name in schema.quasi_identifiers:
        known = {g for g, v in zip(groups, originals[name], strict=True) if v is not None}
        assert [cell is not None for cell in published[name]] == [g in known for g in groups]


@pytest.mark.parametrize("numeric", ["interval", "bounds", "struct", "mean", "median"])
@given(case=tables())
def test_rows_of_a_group_publish_equal_cells_and_keep_their_sensitive_values(numeric, case):
    frame, schema, labels = case
    published = publish(frame, schema, labels, style=Style(numeric=numeric))
    originals, groups = kept(frame, labels)
    generalised = published.drop("secret", "income")
    seen = defaultdict(set)
    for group, row in zip(groups, generalised.rows(), strict=True):
        seen[group].add(repr(row))
    assert all(len(rows) == 1 for rows in seen.values())
    secrets = ["secret", "income"]
    assert published.select(secrets).equals(originals.select(secrets))


@given(tables())
def test_typed_bounds_hold_the_original_value(case):
    frame, schema, labels = case
    published = publish(frame, schema, labels, style=Style(numeric="bounds"))
    originals, groups = kept(frame, labels)
    for name in schema.quasi_identifiers:
        if f"{name}_low" not in published.columns or schema[name].kind.value == "ordinal":
            continue
        assert published[f"{name}_low"].dtype == frame[name].dtype
        mixed = {g for g, v in zip(groups, originals[name], strict=True) if v is None}
        cells = zip(
            groups,
            published[f"{name}_low"],
            originals[name],
            published[f"{name}_high"],
            strict=True,
        )
        for group, low, value, high in cells:
            assert (low is None and high is None) if group in mixed else low <= value <= high


@given(tables(), st.randoms(use_true_random=False))
def test_shuffling_changes_the_order_of_rows_and_nothing_else(case, chance):
    frame, schema, labels = case
    shuffled = publish(frame, schema, labels, shuffle=True)
    ordered = publish(frame, schema, labels)
    turn = chance.sample(range(frame.height), frame.height)
    other = publish(frame[turn], schema, [labels[row] for row in turn], shuffle=True)
    assert other.equals(shuffled)  # the order of the input leaves no trace
    assert shuffled.schema == ordered.schema
    assert Counter(shuffled.rows()) == Counter(ordered.rows())


@given(tables())
def test_every_group_of_the_run_lies_in_one_group_of_the_verification(case):
    frame, schema, labels = case
    _, groups = kept(frame, labels)
    if groups:
        published = publish(frame, schema, labels)
        result = verify_table(published, k=2, quasi_identifiers=schema.quasi_identifiers)
        assert result.smallest_group >= min(Counter(groups).values())
        assert result.n_groups <= len(set(groups))


# -- verification against plain definitions ----------------------------------------------------


def plain_number(model, values, whole):
    """What a group reaches, from its list of values; None sorts last."""
    n, ranked = len(values), sorted(Counter(values).values(), reverse=True)
    if isinstance(model, AlphaK):
        return Fraction(ranked[0], n)
    if isinstance(model, TCloseness):
        domain = sorted(set(whole), key=lambda value: (value is None, value))
        gap = [
            Fraction(values.count(value), n) - Fraction(whole.count(value), len(whole))
            for value in domain
        ]
        if model.distance == "equal":
            return sum(map(abs, gap)) / 2
        return sum(abs(sum(gap[:i])) for i in range(1, len(gap))) / max(len(gap) - 1, 1)
    return plain_l(model, n, ranked)


def plain_l(model, n, ranked):
    if model.kind == "frequency":
        return Fraction(n, ranked[0])
    if model.kind == "distinct":
        return len(ranked)
    if model.kind == "entropy":
        return math.exp(-sum(r / n * math.log(r / n) for r in ranked))
    fits = [l for l in range(1, len(ranked) + 1) if ranked[0] < model.c * sum(ranked[l - 1 :])]
    return max(fits, default=0)


MODELS = st.sampled_from(
    [
        LDiversity(2),
        LDiversity(1.5),
        LDiversity(2, kind="distinct"),
        LDiversity(3, kind="distinct"),
        LDiversity(2, kind="entropy"),
        LDiversity(2, kind="recursive", c=1),
        LDiversity(3, kind="recursive", c=2.5),
        TCloseness(0.25),
        TCloseness(0.5),
        TCloseness(0.25, distance="ordered"),
        AlphaK(0.5),
        AlphaK(0.75),
    ]
)
CELLS = st.none() | st.sampled_from(["*", "[1-2]"])


@given(
    rows=st.lists(
        st.tuples(CELLS, st.none() | st.integers(0, 1), st.none() | st.integers(0, 3)),
        min_size=1,
        max_size=24,
    ),
    k=st.integers(2, 5),
    models=st.lists(MODELS, max_size=3),
)
def test_verification_is_the_definition(rows, k, models):
    frame = pl.DataFrame(rows, schema={"a": pl.String, "b": pl.Int64, "s": pl.Int64}, orient="row")
    result = verify_table(frame, k=k, quasi_identifiers=["a", "b"], sensitive=["s"], privacy=models)

    groups = defaultdict(list)
    for a, b, s in rows:
        groups[a, b].append(s)
    broken = {key for key, values in groups.items() if len(values) < k}
    expected = [not broken]
    whole = [s for _, _, s in rows]
    for model, check in zip(models, result.checks[1:], strict=True):
        numbers = {key: float(plain_number(model, v, whole)) for key, v in groups.items()}
        worst = min(numbers.values()) if model.at_least else max(numbers.values())
        assert check.measured == pytest.approx(worst)
        sign = 1 if model.at_least else -1
        fail = {key for key, x in numbers.items() if sign * (x - model.promised) < -1e-7}
        expected.append(not fail)
        broken |= fail
    assert [check.holds for check in result.checks] == expected
    assert result.holds == bool(result) == all(expected)
    assert result.n_groups == len(groups)
    assert result.n_rows == len(rows)
    assert result.smallest_group == min(map(len, groups.values()))
    assert result.highest_risk == 1 / result.smallest_group
    assert result.violating_groups == len(broken)
    assert result.violating_rows == sum(len(groups[key]) for key in broken)
