"""Public bytes are a function of the published rows: what is not published changes none of them.

The people who are left out, the exact values inside a generalised cell, the order of the input and
the seed are varied in ways that leave the published rows as they are.
"""

import io
import json
import random
import re
import sqlite3
import zipfile
from collections import defaultdict

import polars as pl
import pytest
from tests.helpers.contract_array import TREES_ONLY
from tests.helpers.effort import further
from tests.helpers.leak_samples import (
    FORMATS,
    GROUPS,
    ILLS,
    LEFT_OUT,
    ROLES,
    TREE,
    K,
    anonymize,
    frame,
    without_time,
)

import shoal
from fuzz import bytes as files

PEOPLE = 5 * GROUPS + LEFT_OUT
PRIVACY = {
    "k alone": [],
    "distinct": ["--l-diversity", "2", "--l-kind", "distinct"],
    "entropy": ["--l-diversity", "1.5", "--l-kind", "entropy"],
    "t": ["--t-closeness", "0.6"],
    "alpha": ["--alpha", "0.7"],
}
# Everything about the people who are left out, told in two ways.
OTHERS = {
    "home": (["village a"] * 4, ["village e", "elsewhere one", "elsewhere two", "village b"]),
    "ill": ([ILLS[0]] * 4, ["another illness", ILLS[1], ILLS[2], "yet another illness"]),
    "cost": ([1, 2, 3, 4], [10**9, -5, 7, 10**12]),
    "note": (["plain"] * 4, ["a", "b", "c", "d"]),
}


def public(outputs, ending):
    """What may be shown, without times; containers with clocks inside are read."""
    made = {name: without_time(data) for name, data in outputs.items()}
    name = f"safe.{ending}"
    if ending in ("xlsx", "db"):
        if ending == "xlsx":
            with zipfile.ZipFile(io.BytesIO(outputs[name])) as book:
                parts = {each: book.read(each) for each in book.namelist()}
            del parts["docProps/core.xml"]  # holds the time
            made[name] = repr(parts).encode()
        else:
            base = sqlite3.connect(":memory:")
            base.deserialize(outputs[name])
            made[name] = repr(base.execute("SELECT * FROM safe").fetchall()).encode()
            base.close()
        # The hash of a file that carries the time is another every time.
        for each in ("certificate.json", "report.html"):
            made[each] = _without_hash(made[each])
    return made


def _without_hash(data):
    return re.sub(rb"[0-9a-f]{64}|[0-9a-f]{12,}", b"", data)


def compare(first, second):
    """Return the names of the outputs that differ."""
    assert first.keys() == second.keys()
    return [name for name in first if first[name] != second[name]]


def released(folder, ending, table, *more):
    folder.mkdir()
    return public(anonymize(folder, table, ending, *more), ending)


@pytest.mark.parametrize("ending", FORMATS)
def test_whoever_is_left_out_changes_no_byte_of_any_format(tmp_path, ending):
    one, other = ({name: cells[i] for name, cells in OTHERS.items()} for i in (0, 1))
    made = [
        released(tmp_path / str(i), ending, frame(**changes), "--algorithm", "mondrian")
        for i, changes in enumerate((one, other))
    ]
    assert compare(*made) == []


@pytest.mark.parametrize("promise", PRIVACY)
@pytest.mark.parametrize("column", OTHERS)
def test_no_column_of_those_left_out_is_told_under_any_promise(tmp_path, column, promise):
    made = [
        released(
            tmp_path / str(i),
            "csv",
            frame(**{column: OTHERS[column][i]}),
            *("--algorithm", "k-member", *PRIVACY[promise]),
        )
        for i in (0, 1)
    ]
    assert compare(*made) == []


ALGORITHMS = [name for name in shoal.algorithms() if name not in TREES_ONLY]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_certificates_do_not_tell_who_is_left_out_by_any_algorithm(algorithm):
    made = []
    for i in (0, 1):
        release = shoal.anonymize(
            frame(**{name: cells[i] for name, cells in OTHERS.items()}),
            K,
            **ROLES,
            missing="suppress",
            max_suppression=0.2,
            algorithm=algorithm,
            bound=True,
            seed=1,
        )
        made.append(release)
    first, second = made
    assert first.n_suppressed >= LEFT_OUT
    assert first.frame.rows() == second.frame.rows()
    assert certificate(first) == certificate(second)


def certificate(release):
    return without_time(json.dumps(release.certificate(), indent=1).encode())


def outlier(far):
    """Two groups and one person who is far away from both."""
    table = frame().drop_nulls("age").filter(pl.col("age") < 2000)
    row = table.tail(1).with_columns(age=pl.lit(far, pl.Int64), home=pl.lit("elsewhere"))
    return table.vstack(row)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("bound", further([False, True], lambda bound: not bound))
def test_certificates_do_not_tell_how_far_an_outlier_was(algorithm, bound):
    compared = 0
    for seed in range(6):
        first, second = (
            shoal.anonymize(
                outlier(far),
                K,
                **ROLES,
                max_suppression=0.1,
                algorithm=algorithm,
                bound=bound,
                seed=seed,
            )
            for far in (20_000, 30_000)
        )
        if first.n_suppressed and first.frame.rows() == second.frame.rows():
            assert certificate(first) == certificate(second)
            compared += 1
    assert compared


@pytest.mark.parametrize("style", ["interval", "bounds", "struct"])
@pytest.mark.parametrize(
    "algorithm",
    further(
        ["auto", "mondrian", "k-member", "sequential", "agglomerative"],
        lambda name: name in {"auto", "mondrian"},
    ),
)
def test_exact_values_inside_a_cell_are_not_told(tmp_path, algorithm, style):
    more = ["--algorithm", algorithm, "--numeric-output", style, "--bound"]
    made = [
        released(tmp_path / str(i), "parquet", frame(inside=inside), *more)
        for i, inside in enumerate((1, 3))
    ]
    assert files.read(tmp_path / "0" / "safe.parquet", "parquet").rows
    assert compare(*made) == []


@pytest.mark.parametrize("ending", FORMATS)
def test_the_order_of_the_input_changes_no_byte(tmp_path, ending):
    order = list(range(PEOPLE))
    made = []
    for i in range(3):
        made.append(
            released(tmp_path / str(i), ending, frame(order=order), "--algorithm", "mondrian")
        )
        random.Random(i).shuffle(order)
    assert compare(made[0], made[1]) == []
    assert compare(made[0], made[2]) == []


@pytest.mark.parametrize("algorithm", shoal.algorithms())
def test_neither_order_nor_seed_is_told_by_any_algorithm(algorithm):
    table = frame(home=["village a"]).drop_nulls("age")
    roles = ROLES | {"hierarchies": {"home": TREE}}
    if algorithm in TREES_ONLY:
        roles |= {"quasi_identifiers": ["home"], "drop": ["path", "account", "age"]}
    if algorithm in ("oka", "chiu-tsai"):  # which begin anywhere: two groups are often the same
        table = table.filter(pl.col("age") < 2000)
    made = defaultdict(set)
    for seed in range(8):
        release = shoal.anonymize(
            table.sample(fraction=1, shuffle=True, seed=seed),
            K,
            **roles,
            algorithm=algorithm,
            seed=seed,
        )
        rows = release.frame.rows()
        made[tuple(sorted(rows))].add((tuple(rows), certificate(release)))
    assert len(made) < 8  # some runs publish the same rows
    assert {len(variants) for variants in made.values()} == {1}
