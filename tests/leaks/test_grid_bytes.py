"""On a grid, no public byte tells where in its cell a value lies, nor who was left out."""

import polars as pl
import pytest
from tests.helpers.leak_samples import ROLES, K, anonymize, frame, without_time

import shoal


def moved(part):
    """The people with ages that have a part after the point, another one for every third."""
    parts = pl.Series([part, part / 2, part / 3] * 20).head(frame().height)
    return frame().with_columns(age=pl.col("age") + parts)


def public(folder, table, *more):
    folder.mkdir()
    made = anonymize(folder, table, "parquet", "--algorithm", "mondrian", *more)
    return {name: without_time(data) for name, data in made.items()}


@pytest.mark.parametrize("style", ["interval", "bounds", "struct", "mean", "median"])
def test_where_in_its_cell_a_value_lies_changes_no_public_byte(tmp_path, style):
    flags = ("--grid", "age=1", "--numeric-output", style)
    one, other = (public(tmp_path / str(part), moved(part), *flags) for part in (0.3, 0.9))
    assert one.keys() == other.keys()
    assert [name for name in one if one[name] != other[name]] == []


def test_without_a_grid_it_does(tmp_path):
    one, other = (public(tmp_path / str(part), moved(part), "--no-grid") for part in (0.3, 0.9))
    assert one["safe.parquet"] != other["safe.parquet"]


@pytest.mark.parametrize("far", [1e6, 123_456.789, -1e9])
def test_how_far_an_outlier_was_does_not_change_the_default_grid(far):
    table = moved(0.3).drop_nulls("age").filter(pl.col("age") < 2000)
    row = table.tail(1).with_columns(age=pl.lit(far), home=pl.lit("elsewhere"))
    grids = [
        shoal.anonymize(each, K, **ROLES, max_suppression=0.1, algorithm="mondrian", seed=1)
        .schema["age"]
        .grid
        for each in (table, table.vstack(row))
    ]
    assert grids[0] == grids[1]
