"""A panel without ids is noticed, in whatever order its rows are; people asked once are not one."""

import numpy as np
import polars as pl
import pytest
from tests.helpers.collection import FIRST, SECOND, THIRD
from tests.helpers.panels import yearly

import shoal
from shoal.datasets import load_adult
from shoal.io.read import read_table
from shoal.profile.repeated_people import find_waves
from shoal.report.page import render_report


def dealt(table, seed):
    """Return a table with the same columns whose rows are people: nothing goes with anything."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame({c.name: c.to_numpy()[rng.permutation(len(c))] for c in table})


@pytest.mark.parametrize("order", ["by person", "by year", "by chance"])
def test_a_running_year_beside_columns_that_stay_is_a_sign_in_any_order(order):
    table = yearly(order=order)
    found = find_waves(table)
    assert found.running in {"year", "experience"}
    assert {"sex", "schooling"} <= {*found.constant}
    assert "weeks" not in found.constant
    assert found.rows > table.height / 2


@pytest.mark.parametrize(
    "table",
    [
        yearly(60, 4, order="by chance"),
        yearly(year=False),
        yearly(4_000, 6, order="by chance"),
        yearly(300, 3, order="by chance").with_columns(
            year=pl.date(pl.col("year"), 7, 1), spent=pl.int_range(pl.len()) % 97
        ),
    ],
    ids=["small", "without a year", "large", "dates"],
)
def test_small_large_and_nameless_panels_are_noticed(table):
    assert find_waves(table) is not None


def test_what_goes_with_nothing_is_no_panel():
    for seed in range(12):
        assert find_waves(dealt(yearly(200, 5), seed)) is None
    assert find_waves(load_adult().head(20_000)) is None
    one_each = yearly(2_000, 3, order="by chance").unique(
        ["experience", "sex", "schooling", "south"], keep="first", maintain_order=True
    )
    assert find_waves(one_each.select(pl.exclude("experience"))) is None


def test_the_sign_is_named_on_page_and_certificate_and_opens_the_judgement():
    table = yearly(120, 5)
    with pytest.warns(shoal.ShoalWarning, match="as in a panel"):
        release = shoal.anonymize(
            table, 10, quasi_identifiers=["experience", "sex", "schooling", "south"],
            sensitive=["union"], insensitive=["year"], drop=["weeks", "wage"],
            algorithm="mondrian", seed=1,
        )  # fmt: skip
    judged = release.judgement
    assert judged == "amber"
    assert judged.open[0].what == "several rows"
    assert "a group of 10 rows may be fewer than 10 people" in judged.sentence
    told = release.certificate()
    assert told["judgement"]["sentence"] == judged.sentence
    assert told["risk"]["highest_reidentification_risk"] is None
    assert judged.sentence.replace("'", "&#x27;") in render_report(release)


def test_whose_rows_they_are_was_said_so_nobody_looks():
    table = yearly(40, 5)
    release = shoal.anonymize(
        table.select("sex", "schooling", "year"), 3, quasi_identifiers=["sex", "schooling"],
        insensitive=["year"], rows_are_people=True, algorithm="mondrian", seed=1,
    )  # fmt: skip
    assert not any("panel" in each for each in release.warnings)


@pytest.mark.parametrize("table", [*FIRST, *SECOND, *THIRD], ids=lambda table: table.name)
def test_tables_of_people_who_come_once_are_no_panels(table, tmp_path):
    if table.per_person == (1, 1):
        assert find_waves(read_table(table.write(tmp_path))) is None
