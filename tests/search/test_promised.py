"""`auto` under promises: more effort never loses more, and blocks do not force huge groups."""

import narwhals as nw
import numpy as np
import polars as pl
import pytest

import shoal
from shoal.engine import blocks as parts
from shoal.engine.blocks import cut_table
from shoal.measure.base import CostModel
from shoal.measure.scores import create_measure
from shoal.privacy.alpha_k import AlphaK
from shoal.privacy.l_diversity import LDiversity
from shoal.privacy.t_closeness import TCloseness
from shoal.registry import load
from shoal.search.enforce import violations
from shoal.search.scan import Run, Scanner
from shoal.table.encode import encode
from shoal.table.infer import infer_kinds
from shoal.table.partition import Partition
from shoal.table.schema import build_schema

QIS = ["age", "city", "pay"]
MODELS = {
    "distinct": LDiversity(3, kind="distinct"),
    "entropy": LDiversity(2.5, kind="entropy"),
    "recursive": LDiversity(2, kind="recursive", c=3.0),
    "frequency": LDiversity(2),
    "equal": TCloseness(0.25),
    "ordered": TCloseness(0.15, distance="ordered"),
    "alpha": AlphaK(0.5),
}


def people(n, seed=3):
    """Jobs follow from city and pay, so that groups of similar rows are far from the whole."""
    rng = np.random.default_rng(seed)
    city = rng.integers(0, 6, n)
    pay = rng.integers(0, 50, n)
    job = (city // 2 + pay // 17 + (rng.random(n) < 0.2)) % 5
    return pl.DataFrame(
        {
            "age": rng.integers(20, 70, n),
            "city": [f"c{c}" for c in city],
            "pay": pay,
            "job": job,
        }
    )


def loss(frame, model, **options):
    release = shoal.anonymize(
        frame, 4, quasi_identifiers=QIS, sensitive="job", privacy=[model], seed=2, **options
    )
    assert release.verification.holds
    return release.scores["ncp"]


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_more_effort_never_loses_more_under_a_promise(model):
    frame = people(260)
    fast, balanced, best = (
        loss(frame, model, algorithm_options={"effort": effort})
        for effort in ("fast", "balanced", "best")
    )
    assert best <= balanced + 1e-12
    assert balanced <= fast + 1e-12


@pytest.mark.parametrize("model", [MODELS["equal"], MODELS["alpha"]], ids=["equal", "alpha"])
def test_groups_that_grow_under_a_promise_lose_far_less_than_merged_ones(model):
    frame = people(500)
    merged = loss(frame, model, algorithm="kaca")
    assert loss(frame, model, algorithm_options={"effort": "fast"}) < 0.8 * merged


def test_blocks_under_t_closeness_lose_little_more_than_the_whole_table():
    frame = people(1500)
    whole = loss(frame, MODELS["equal"])
    assert loss(frame, MODELS["equal"], block_rows=300) < 1.2 * whole


def cut(frame, model, block_rows):
    schema = build_schema(frame.columns, quasi_identifiers=QIS, sensitive=["job"])
    table = encode(frame, infer_kinds(schema, nw.from_native(frame)))
    bound = CostModel.bind(create_measure("ncp"), table)
    scanner = Scanner.build(table, bound)
    run = Run(4, bound, scanner, np.random.default_rng(0), privacy=(model,))
    return table, cut_table(table, load("algorithms", "auto")(), run, block_rows)


@pytest.mark.parametrize("t", [0.05, 0.2, 0.6])
def test_every_block_can_keep_the_promise_against_the_whole_table(t):
    model = TCloseness(t)
    table, blocks = cut(people(2000), model, 250)
    rows = np.concatenate(blocks.rows)
    assert np.array_equal(np.sort(rows), np.arange(2000))
    assert len(blocks.rows) > 3
    for block in blocks.rows:
        one = Partition(np.zeros(len(block), np.int32), 1)
        assert not violations(table.part(block), one, 4, (model,)).any()


def test_blocks_are_dealt_where_similar_rows_are_too_far_from_the_table():
    table, blocks = cut(people(2000), TCloseness(0.05), 250)
    assert max(map(len, blocks.rows)) <= parts.UNITED * 250
    codes = table.sensitive[0].codes
    share = np.bincount(codes) / len(codes)
    for block in blocks.rows:
        here = np.bincount(codes[block], minlength=len(share)) / len(block)
        assert np.abs(here - share).max() < 0.02
