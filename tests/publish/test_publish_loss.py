"""Losses that are handed on are functions of the published cells."""

import json
import math
import re

import numpy as np
import polars as pl
import pytest

import shoal

ROLES = {
    "quasi_identifiers": ["age", "size", "zip", "likes"],
    "kinds": {"likes": "set", "size": "ordinal"},
    "orders": {"size": ["S", "M", "L", "XL", "XXL"]},
    "hierarchies": {"zip": {"1*": ["10", "11", "12"], "2*": ["20", "21"], "9*": ["90", "91"]}},
    "sensitive": ["ill"],
}
TREE = {"1*": 0.5, "2*": 0.5, "9*": 0.5, "*": 1.0}


def people(outlier=None, n=60):
    rng = np.random.default_rng(4)
    frame = pl.DataFrame(
        {
            "age": rng.integers(20, 60, n),
            "size": rng.choice(["S", "M", "L"], n),
            "zip": rng.choice(["10", "11", "12", "20", "21"], n),
            "likes": rng.choice(list("abcd"), n),
            "ill": rng.choice(["flu", "cold"], n),
        }
    )
    if outlier is None:
        return frame
    row = {"age": 97, "size": "XXL", "zip": "91", "likes": "z", "ill": "rare", **outlier}
    return pl.concat([frame, pl.DataFrame([row]).cast(frame.schema)])


def release_of(frame, **options):
    given = {"algorithm": "mondrian", "seed": 1, **ROLES, **options}
    return shoal.anonymize(frame, 4, **given)


def ends(cell):
    low, high = re.fullmatch(r"\[(\w+)-(\w+)\]", cell).groups() if cell[0] == "[" else (cell, cell)
    return low, high


def loss_from_cells(cells, place):
    intervals = [ends(cell) for cell in cells if cell != "*"]
    marks = sorted({end for interval in intervals for end in interval}, key=place)
    at = {mark: place(mark) for mark in marks}
    span = (at[marks[-1]] - at[marks[0]]) or 1
    return (sum((at[high] - at[low]) / span for low, high in intervals) + cells.count("*")) / len(
        cells
    )


def test_the_loss_of_every_kind_can_be_read_off_the_release():
    release = release_of(people())
    found = release.public_scores.by_column["ncp"]
    frame = release.frame
    sizes = [size for size in ("S", "M", "L") if any(size in c for c in map(ends, frame["size"]))]
    likes = [re.findall(r"[a-d]", cell) for cell in frame["likes"]]
    values = {value for cell in likes for value in cell}
    expected = {
        "age": loss_from_cells(frame["age"].to_list(), int),
        "size": loss_from_cells(frame["size"].to_list(), sizes.index),
        "zip": sum(TREE.get(cell, 0.0) for cell in frame["zip"]) / frame.height,
        "likes": sum((len(cell) - 1) / (len(values) - 1) for cell in likes) / frame.height,
    }
    assert dict(found) == {name: round(loss, 6) for name, loss in expected.items()}
    assert release.public_scores["ncp"] == round(sum(found.values()) / 4, 6)


def test_without_suppression_it_is_the_loss_of_the_run():
    release = shoal.anonymize(
        people(),
        4,
        quasi_identifiers=["age"],
        drop=["size", "zip", "likes"],
        sensitive="ill",
        algorithm="mondrian",
    )
    assert release.public_scores["ncp"] == pytest.approx(release.scores["ncp"], abs=1e-6)


def public_text(release):
    certificate = release.certificate()
    for name in ("created", "seconds"):
        certificate.pop(name)
    return json.dumps(certificate)


@pytest.mark.parametrize(("measure", "bound"), [("ncp", True), ("lm", False), ("pmi", False)])
def test_a_certificate_does_not_depend_on_who_was_left_out(measure, bound):
    told = set()
    others = ({}, {"age": 98}, {"zip": "90"}, {"likes": "y"}, {"ill": "plague"}, {"size": "XL"})
    for outlier in others:
        frame = people(outlier)
        groups = np.array([*release_of(people()).groups, -1])
        release = shoal.refine(
            frame, groups, 4, measure=measure, bound=bound, sweeps=1, seed=1, **ROLES
        )
        assert release.n_suppressed == 1
        told.add(public_text(release))
    assert len(told) == 1


def test_a_certificate_does_not_depend_on_what_a_cell_hides():
    """Ages inside a group change, its lowest and highest do not."""
    frame = pl.DataFrame(
        {"age": [20, 22, 24, 30, 60, 62, 66, 70], "ill": ["a", "b"] * 4, "name": list("stuvwxyz")}
    )
    told = set()
    for middle in (22, 25, 29):
        changed = frame.with_columns(
            age=pl.when(pl.col("age") == 22).then(middle).otherwise(pl.col("age"))
        )
        groups = [0, 0, 0, 0, 1, 1, 1, 1]
        release = shoal.refine(
            changed,
            groups,
            4,
            quasi_identifiers="age",
            sensitive="ill",
            identifiers="name",
            sweeps=1,
            seed=1,
            measure="lm",
            bound=True,
        )
        told.add(public_text(release))
    assert len(told) == 1


def test_means_do_not_tell_how_far_a_group_reaches():
    release = release_of(people(), style={"numeric": "mean"})
    assert math.isnan(release.public_scores["ncp"])
    assert release.certificate()["scores"]["ncp"] is None
    assert release.certificate()["by_column"]["ncp"]["age"] is None
    assert release.certificate()["by_column"]["ncp"]["zip"] is not None
