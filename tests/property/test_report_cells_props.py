"""The report names a value of the input only if it is part of a published cell."""

import datetime as dt
import re
import warnings

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.helpers.effort import share

import shoal
from shoal.errors import PromiseError
from shoal.report.page import render_report

# Every cell holds a mark that nothing else on a page looks like.
MARK = re.compile(r"MARK\d+|71\d{5}|17\d\d-\d\d-\d\d")
TREE = {"TOP": {"INNER1": ["MARK10", "MARK11"], "INNER2": ["MARK12", "MARK13", "MARK14"]}}
INNER = re.compile(r"INNER\d|TOP")
CELLS = {
    "number": st.integers(7_100_000, 7_100_400),
    "decimal": st.integers(7_110_000, 7_110_400).map(lambda n: n + 0.5),
    "date": st.integers(0, 30_000).map(lambda d: dt.date(1700, 1, 1) + dt.timedelta(days=d)),
    "flat": st.integers(20, 26).map("MARK{}".format),
    "set": st.integers(30, 36).map("MARK{}".format),
    "tree": st.integers(10, 14).map("MARK{}".format),
    "sick": st.integers(40, 44).map("MARK{}".format),
    "other": st.integers(50, 90).map("MARK{}".format),
    "name": st.integers(1000, 9999).map("MARK{}".format),
}
QUASI = ["number", "decimal", "date", "flat", "set", "tree"]


@st.composite
def tables(draw):
    n_rows = draw(st.integers(5, 40))
    names = draw(st.lists(st.sampled_from(QUASI), min_size=1, max_size=4, unique=True))
    columns = {}
    for name in [*names, "sick", "other", "name"]:
        cell = CELLS[name]
        if name in names:
            cell = draw(st.sampled_from([cell, st.none() | cell]))
        cells = draw(st.lists(cell, min_size=n_rows, max_size=n_rows))
        cells[0] = draw(CELLS[name])  # a column of nothing but missing values is refused
        columns[name] = cells
    return pl.DataFrame(columns), names


def anonymized(frame, names, **options):
    return shoal.anonymize(
        frame,
        quasi_identifiers=names,
        sensitive="sick",
        insensitive="other",
        identifiers="name",
        kinds={"set": "set"} if "set" in names else None,
        hierarchies={"tree": TREE} if "tree" in names else None,
        seed=1,
        **options,
    )


@settings(
    max_examples=share(60), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(
    table=tables(),
    k=st.integers(2, 5),
    algorithm=st.sampled_from(["mondrian", "k-member"]),
    suppression=st.sampled_from([0.0, 0.3]),
    missing=st.sampled_from(["category", "suppress"]),
    numeric=st.sampled_from(["interval", "bounds", "struct", "mean", "median"]),
)
def test_no_unpublished_cell_is_on_the_page(table, k, algorithm, suppression, missing, numeric):
    frame, names = table
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", shoal.ShoalWarning)
            release = anonymized(
                frame, names, k=k, algorithm=algorithm, max_suppression=suppression,
                missing=missing, style={"numeric": numeric},
            )  # fmt: skip
    except PromiseError:
        return
    published = " ".join(str(cell) for row in release.frame.rows() for cell in flattened(row))
    page = render_report(release)
    for pattern in (MARK, INNER):
        assert set(pattern.findall(page)) <= set(pattern.findall(published))


def flattened(row):
    for cell in row:
        if isinstance(cell, dict):
            yield from cell.values()
        else:
            yield cell


@settings(
    max_examples=share(60), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(table=tables(), k=st.integers(2, 5), numeric=st.sampled_from(["interval", "mean"]))
def test_every_bar_stands_for_at_least_k_rows_as_they_were(table, k, numeric):
    frame, names = table
    release = anonymized(frame, names, k=k, algorithm="mondrian", style={"numeric": numeric})
    for column in release.facts.columns:
        befores = [bar.before for bar in column.bars if bar.before > 0]
        assert all(before >= round(k / frame.height, 2) for before in befores)
        assert sum(befores) <= 1 + 0.005 * len(befores)
        assert column.kept + column.generalised + column.suppressed == pytest.approx(1)
        assert sum(share for _, share in column.spread) == pytest.approx(1)


def test_a_value_that_only_one_row_had_is_not_named_and_not_counted_alone():
    towns = ["MARK20"] * 10 + ["MARK21"] * 10 + ["MARK22"]
    frame = pl.DataFrame({"flat": towns, "sick": "MARK40", "other": "MARK50", "name": "MARK1000"})
    release = anonymized(frame, ["flat"], k=5)
    page = render_report(release)
    assert "MARK22" not in page
    (column,) = release.facts.columns
    labels = {bar.label: bar for bar in column.bars}
    assert all(bar.before == 0 or bar.before * 21 >= 4.9 for bar in labels.values())
