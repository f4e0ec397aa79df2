"""Coverage, against a slow and obvious version: every row, every group, every column."""

import random

import numpy as np
import polars as pl
import pytest
from tests.life.conftest import others, release_of

import shoal
from shoal.archive.kept import keep
from shoal.errors import DataError, OptionError
from shoal.life import coverage as cover
from shoal.life.coverage import Coverage
from shoal.publish.recode import Style
from shoal.table.schema import build_schema

TREE = {"north": ["a", "b"], "south": {"east": ["c", "d"], "west": ["e"]}}
ABOVE = {
    "a": ["north"],
    "b": ["north"],
    "c": ["east", "south"],
    "d": ["east", "south"],
    "e": ["west", "south"],
}


def covers(cell, value, kind):
    if cell == "*":
        return True
    if cell is None or value is None:
        return cell is None and value is None
    if kind == "tree":
        return cell in [value, *ABOVE[value]]
    if kind == "number":
        low, _, high = cell.strip("[]").partition("-")
        return float(low) <= value <= float(high or low)
    return cell == value if kind == "flat" else value in cell.strip("{}").split(", ")


def random_case(chance, n_groups, n_rows):
    def interval():
        low = chance.randint(0, 20)
        high = low + chance.choice([0, 0, 2, 5, 20])
        return str(low) if low == high else f"[{low}-{high}]"

    def some():
        values = sorted(chance.sample("pqrs", chance.randint(1, 3)))
        return values[0] if len(values) == 1 else "{" + ", ".join(values) + "}"

    nodes = ["*", *ABOVE, "north", "south", "east", "west", None]
    cells = pl.DataFrame(
        {
            "n": [
                chance.choice(["*", None, *(interval() for _ in range(8))]) for _ in range(n_groups)
            ],
            "t": [chance.choice(nodes) for _ in range(n_groups)],
            "f": [chance.choice(["*", "x", "y", None]) for _ in range(n_groups)],
            "s": [chance.choice(["*", some(), some()]) for _ in range(n_groups)],
        },
        schema=dict.fromkeys("ntfs", pl.String),
    )
    rows = pl.DataFrame(
        {
            "n": [chance.choice([None, chance.randint(0, 25)]) for _ in range(n_rows)],
            "t": [chance.choice([*ABOVE, None]) for _ in range(n_rows)],
            "f": [chance.choice(["x", "y", "z", None]) for _ in range(n_rows)],
            "s": [chance.choice("pqrs") for _ in range(n_rows)],
        },
        schema={"n": pl.Int64, "t": pl.String, "f": pl.String, "s": pl.String},
    )
    return cells, rows


SCHEMA = build_schema(
    list("ntfs"),
    quasi_identifiers=list("ntfs"),
    hierarchies={"t": TREE},
    kinds={"n": "numeric", "f": "flat", "s": "set"},
    weights={"t": 2.0},
)
KINDS = {"n": "number", "t": "tree", "f": "flat", "s": "set"}


@pytest.mark.parametrize("seed", range(40))
def test_the_cheapest_cell_is_found_as_by_trying_all(seed, monkeypatch):
    chance = random.Random(seed)
    monkeypatch.setattr(cover, "_BLOCK", chance.choice([64, 4096]))
    monkeypatch.setattr(cover, "_ROWS", chance.choice([3, 1 << 14]))
    cells, rows = random_case(chance, chance.choice([1, 7, 150]), 60)
    found = Coverage(cells, SCHEMA, Style(), rows)
    alive = np.array([chance.random() < 0.8 for _ in range(cells.height)])
    cost = np.round(np.array([1, 2.0, 1, 1]) @ found.loss, 12)
    picked = found.cheapest(np.arange(rows.height), alive)
    n_covered = 0
    for row, group in zip(rows.to_dicts(), picked.tolist(), strict=True):
        fits = [
            number
            for number, cell in enumerate(cells.to_dicts())
            if alive[number] and all(covers(cell[c], row[c], KINDS[c]) for c in "ntfs")
        ]
        assert (group >= 0) == bool(fits)
        if fits:
            n_covered += 1
            assert group in fits
            assert cost[group] == min(cost[number] for number in fits)
    assert n_covered or cells.height < 10


def test_wider_cells_cost_more():
    cells = pl.DataFrame({"n": ["3", "[0-5]", "[0-10]", "*"]})
    schema = build_schema(["n"], quasi_identifiers=["n"], kinds={"n": "numeric"})
    loss = Coverage(cells, schema, Style(), pl.DataFrame({"n": [1, 2]})).loss[0]
    assert loss.tolist() == [0.0, 0.5, 1.0, 1.0]


def test_every_row_of_a_release_is_covered_by_its_own_cell(people, release):
    kept = keep(release)
    import narwhals as nw

    from shoal.table.infer import infer_kinds

    schema = infer_kinds(kept.schema, nw.from_native(people))
    found = Coverage(kept.cells, schema, kept.style, people)
    assert (found.cheapest(np.arange(people.height), np.ones(kept.n_groups, bool)) >= 0).all()


def test_half_open_cells_of_a_grid_do_not_cover_their_upper_end():
    frame = pl.DataFrame({"w": [0.1, 0.2, 0.9, 1.4, 1.6, 1.9] * 3, "ill": list("abcabc") * 3})
    release = shoal.anonymize(
        frame, 9, quasi_identifiers=["w"], sensitive=["ill"], grid={"w": 1}, rows_are_people=True
    )
    kept = keep(release)
    cells = kept.cells.get_column("w").to_list()
    assert sorted(cells) == ["[0-1]", "[1-2]"]
    rows = pl.DataFrame({"w": [0.0, 0.5, 1.0, 2.0, 1.999]})
    found = Coverage(kept.cells, kept.schema, kept.style, rows)
    picked = found.cheapest(np.arange(5), np.ones(2, bool)).tolist()
    names = [None if group < 0 else cells[group] for group in picked]
    assert names == ["[0-1]", "[0-1]", "[1-2]", None, "[1-2]"]


def test_means_do_not_tell_whom_a_group_covers(people):
    release = release_of(people, style={"numeric": "mean"})
    with pytest.raises(OptionError, match="does not tell whom"):
        shoal.apply(others(people.head(20)), release)


def test_an_order_that_nobody_has_said_is_asked_for():
    schema = build_schema(["n"], quasi_identifiers=["n"], kinds={"n": "ordinal"})
    with pytest.raises(DataError, match="in which order"):
        Coverage(pl.DataFrame({"n": ["a"]}), schema, Style(), pl.DataFrame({"n": ["a"]}))
