"""Every kernel equals a plain twin on random small inputs, with narrow and with wide costs."""

from __future__ import annotations

import importlib
import pkgutil
from itertools import pairwise

import numpy as np
import pytest
from numba import njit
from tests.helpers.brute import charge, closure_cost, make_run, row_cost, small_tables
from tests.helpers.effort import further

from shoal import kernels
from shoal.hierarchy import Taxonomy
from shoal.kernels import private
from shoal.kernels.blocks import bound_scan
from shoal.kernels.codes import join_codes, store_query
from shoal.kernels.private import Rules, group_holds
from shoal.kernels.scan import absorb, join_one, join_scan, load_query, own_cost
from shoal.kernels.space import COST
from shoal.kernels.suppress import EndsScratch, marginal_costs
from shoal.privacy.alpha_k import AlphaK
from shoal.privacy.ke_anonymity import KEAnonymity
from shoal.privacy.l_diversity import LDiversity
from shoal.privacy.relative_frequency import BetaLikeness, DeltaDisclosure
from shoal.privacy.t_closeness import TCloseness
from shoal.search.blocked import BlockedRows, similar_blocks
from shoal.search.enforce import GroupState
from shoal.table.partition import Partition
from shoal.table.sensitive import Sensitive

ZERO = np.int64(0)
MEASURES = ("ncp", "lm", "suppression", "mi", "pmi", "wmi")
NO_CODES = np.empty((0, 0), np.int32)


# Helpers have no entry point from Python, so the tests call them through these.
@njit
def close_rows(space, cols, rows, query):
    load_query(space, cols, rows[0], query)
    for i in rows[1:]:
        absorb(space, cols, query, i)


@njit
def join_row(cols, query, i):
    return join_codes(cols, query, i)


@njit
def join_each(space, cols, query, y, start, stop, scanned, one):
    join_scan(space, cols, query, y, start, stop, scanned)
    for i in range(start, stop):
        one[i - start] = join_one(space, cols, query, y, i)
    return own_cost(space, query, y)


@njit
def bounds(space, blocks, query, low, high):
    bound_scan(space, blocks, query, low)
    join_scan(space, blocks, query, ZERO, ZERO, high.shape[0], high)


@njit
def store(groups, g, query):
    store_query(groups, g, query)


@njit
def judge(hist, rules):
    return group_holds(hist, rules)


def runs(seed, measure, count=12):
    """Yield tables with a run."""
    for table in small_tables(seed, count=count, max_rows=24):
        yield table, make_run(table, measure, 2, 0)


@pytest.mark.parametrize("measure", MEASURES)
def test_scans_charge_the_closure_of_cluster_and_row(measure):
    rng = np.random.default_rng(1)
    for table, run in runs(31, measure):
        scanner, n = run.scanner, table.n_rows
        cluster = rng.choice(n, int(rng.integers(1, 6)), replace=False)
        query = scanner.query()
        close_rows(scanner.space, scanner.rows, cluster, query)
        start, stop = sorted(rng.choice(n + 1, 2, replace=False).tolist())
        joined = [
            closure_cost(table, scanner, run.model, [*cluster, i]) for i in range(start, stop)
        ]
        for y in range(scanner.n_classes):
            scanned, one = np.empty(stop - start, COST), np.empty(stop - start, np.int64)
            own = join_each(scanner.space, scanner.rows, query, y, start, stop, scanned, one)
            expected = [cost[y] for cost in joined]
            # a class that is not in the closure is never charged, and may cost anything
            present = [
                hist_of(scanner, [*cluster, i])[y] > 0 or measure in ("ncp", "lm", "suppression")
                for i in range(start, stop)
            ]
            assert [int(c) for c, p in zip(scanned, present, strict=True) if p] == [
                c for c, p in zip(expected, present, strict=True) if p
            ]
            assert scanned.tolist() == one.tolist()
            if hist_of(scanner, cluster)[y] > 0:
                assert own == closure_cost(table, scanner, run.model, cluster)[y]


@pytest.mark.parametrize("measure", ["ncp", "mi"])  # linear intervals, log intervals
def test_joining_a_row_tells_whether_the_closure_grew(measure):
    rng = np.random.default_rng(4)
    seen = set()
    for table, run in runs(35, measure):
        scanner, query = run.scanner, run.scanner.query()
        order = rng.permutation(table.n_rows)
        close_rows(scanner.space, scanner.rows, order[:1], query)
        for i in order[1:]:
            before = codes_of(query)
            grew = join_row(scanner.rows, query, i)
            assert grew == (codes_of(query) != before)
            assert not join_row(scanner.rows, query, i)
            seen.add(grew)
    assert seen == {False, True}


def codes_of(query):
    names = ("code8", "code16", "code32", "low", "high", "clow", "chigh", "bits")
    return [getattr(query, name).tolist() for name in names]


def hist_of(scanner, rows):
    return np.bincount(scanner.classes[list(rows)], minlength=scanner.n_classes)


@pytest.mark.parametrize("measure", MEASURES)
def test_groups_join_like_the_rows_they_hold(measure):
    rng = np.random.default_rng(2)
    for table, run in runs(32, measure):
        scanner = run.scanner
        partition = Partition.from_labels(rng.integers(0, 5, table.n_rows))
        rows = [partition.rows_of(g).tolist() for g in range(partition.n_groups)]
        cost = [row_cost(table, scanner, run.model, group) for group in rows]
        state = GroupState(scanner, partition)
        assert state.costs.tolist() == cost
        assert state.hists.T.tolist() == [hist_of(scanner, group).tolist() for group in rows]
        for g, group in enumerate(rows):
            rise = [
                (row_cost(table, scanner, run.model, group + other) - cost[g] - cost[h], h)
                for h, other in enumerate(rows)
                if h != g
            ]
            assert state.nearest(g) == (min(rise)[1] if rise else -1)
        if len(rows) > 1:
            state.merge(0, 1)
            assert state.costs[0] == row_cost(table, scanner, run.model, rows[0] + rows[1])
            sizes = [len(rows[0]) + len(rows[1]), 0, *map(len, rows[2:])]
            assert state.closed.sizes.tolist() == sizes
            assert state.roots().tolist() == [0, 0, *range(2, len(rows))]


@pytest.mark.parametrize("measure", MEASURES)
def test_the_marginal_cost_of_a_row_is_what_its_group_saves_without_it(measure):
    rng = np.random.default_rng(3)
    for table, run in runs(33, measure):
        scanner = run.scanner
        partition = Partition.from_labels(rng.integers(-1, 6, table.n_rows))
        state = GroupState(scanner, partition)
        found = np.zeros(table.n_rows, np.int64)
        longest = int(partition.sizes.max(initial=1))
        scratch = EndsScratch(scanner.query(), scanner.query(), scanner.groups(longest))
        marginal_costs(
            scanner.records, partition.order, partition.starts, state.closed, scratch, found
        )
        for g in range(partition.n_groups):
            rows = partition.rows_of(g).tolist()
            whole = row_cost(table, scanner, run.model, rows)
            for row in rows:
                rest = [other for other in rows if other != row]
                without = row_cost(table, scanner, run.model, rest) if rest else 0
                assert found[row] == whole - without


@pytest.mark.parametrize("measure", ["ncp", "lm", "suppression", "mi"])
@pytest.mark.parametrize("max_rows", further([1, 3, 8], lambda rows: rows == 3))
def test_bounds_of_a_block_hold_for_each_of_its_rows(measure, max_rows):
    rng = np.random.default_rng(4)
    tight = 0
    for table, run in runs(34, measure):
        scanner = run.scanner
        blocks = BlockedRows.cut(table, scanner, max_rows).blocks
        n_blocks = len(blocks.alive)
        cluster = rng.choice(table.n_rows, int(rng.integers(1, 5)), replace=False)
        query = scanner.query()
        close_rows(scanner.space, scanner.rows, cluster, query)
        low, high = np.empty(n_blocks, np.int64), np.empty(n_blocks, COST)
        bounds(scanner.space, blocks.closures, query, low, high)
        for b in range(n_blocks):
            rows = blocks.ids[blocks.starts[b] : blocks.starts[b + 1]].tolist()
            costs = [closure_cost(table, scanner, run.model, [*cluster, row])[0] for row in rows]
            assert low[b] <= min(costs)
            assert high[b] >= max(costs)
            tight += low[b] == min(costs)
    assert tight > 0


def test_a_stored_closure_is_loaded_back():
    for table, run in runs(35, "ncp"):
        scanner = run.scanner
        query, again = scanner.query(), scanner.query()
        close_rows(scanner.space, scanner.rows, np.arange(table.n_rows), query)
        groups = scanner.groups(2)
        store(groups, 1, query)
        close_rows(scanner.space, groups, np.array([1]), again)
        for before, after in zip(query, again, strict=True):
            assert before.tolist() == after.tolist()


@pytest.mark.parametrize("many_first", [False, True])
@pytest.mark.parametrize("max_rows", [1, 2, 7, 64])
def test_blocks_are_cut_between_codes_nearest_to_the_middle(max_rows, many_first):
    for table in small_tables(36, count=30):
        order, starts = similar_blocks(table, max_rows, many_values_first=many_first)
        assert sorted(order.tolist()) == list(range(table.n_rows))
        expected = plain_blocks(table, list(range(table.n_rows)), max_rows, many_first)
        found = [order[a:b].tolist() for a, b in pairwise(starts)]
        assert found == expected


def plain_blocks(table, rows, max_rows, many_first):
    if len(rows) <= max_rows:
        return [rows]
    best = max(
        range(len(table.attributes)),
        key=lambda j: (
            spread(table.attributes[j], rows, many_first),
            -table.attributes[j].size,
            -j,
        ),
    )
    attribute = table.attributes[best]
    edge = len(rows) // 2
    if spread(attribute, rows, many_first) > 0:
        rows = sorted(rows, key=lambda row: int(attribute.codes[row]))
        codes = [int(attribute.codes[row]) for row in rows]
        edges = [i for i in range(1, len(rows)) if codes[i] != codes[i - 1]]
        edge = min(edges, key=lambda i: (abs(i - len(rows) // 2), i))
    return [
        block
        for part in (rows[:edge], rows[edge:])
        for block in plain_blocks(table, part, max_rows, many_first)
    ]


def spread(attribute, rows, many_first):
    """How far apart the values of some rows lie, as `similar_blocks` places them."""
    codes = [int(attribute.codes[row]) for row in rows]
    if attribute.positions is None:
        if many_first:
            return (max(codes) - min(codes)) * attribute.weight
        place = [*(np.arange(attribute.size) / max(1, attribute.size - 1)), 2.0]
    else:
        first, last = attribute.positions[0], attribute.positions[-1]
        place = [*((attribute.positions - first) / (last - first or 1.0)), 2.0]
    return place[max(codes)] * attribute.weight - place[min(codes)] * attribute.weight


MODELS = (
    LDiversity(1.5), LDiversity(2), LDiversity(3), LDiversity(2, kind="distinct"),
    LDiversity(4, kind="distinct"), LDiversity(1.7, kind="entropy"), LDiversity(3, kind="entropy"),
    LDiversity(2, kind="recursive", c=1), LDiversity(2, kind="recursive", c=0.7),
    LDiversity(3, kind="recursive", c=2.5), LDiversity(6, kind="recursive", c=4),
    TCloseness(0.0), TCloseness(0.25), TCloseness(0.5), TCloseness(0.25, distance="ordered"),
    TCloseness(0.1, distance="ordered"), AlphaK(0.5), AlphaK(1 / 3), AlphaK(0.9),
    BetaLikeness(1), BetaLikeness(0.4, kind="basic"), BetaLikeness(3, kind="basic"),
    DeltaDisclosure(0.7), DeltaDisclosure(1.4), KEAnonymity(2), KEAnonymity(1.5, k=3),
    TCloseness(0.2, distance="hierarchical"), TCloseness(0.4, distance="hierarchical"),
)  # fmt: skip
TREE = Taxonomy.from_nested({"a": {"b": ["0", "1"], "c": ["2"]}, "d": ["3", "4"]})


def on_some_column(model, rng, m):
    """The model as it judges a column of m values, some of them missing, at random places."""
    column = Sensitive(
        "s", np.zeros(0, np.int32), m, False, np.zeros(m, np.int64),
        numbers=np.where(rng.random(m) < 0.2, np.nan, rng.permutation(m) / 2 - 1),
        taxonomy=TREE, leaves=np.where(rng.random(m) < 0.2, -1, rng.permutation(5)[:m]),
    )  # fmt: skip
    return model.on(column)


def rule_of(model):
    """The number of the model's rule, and the two numbers that it reads."""
    name, value, c = model.kernel_rule()
    return getattr(private, name), value, c


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.label)
def test_the_kernel_judges_groups_like_the_privacy_model(model):
    rng = np.random.default_rng(5)
    verdicts = set()
    for _ in range(400):
        m = int(rng.integers(1, 6))
        # some values do not occur at all, as after rows with a missing value were left out
        whole = rng.integers(0, 9, m) * rng.integers(0, 2, m)
        hist = np.array([rng.integers(0, count + 1) for count in whole], np.int64)
        if rng.random() < 0.1:
            hist = whole
        bound = on_some_column(model, rng, m)
        expected = bool(bound.holds(hist[np.newaxis], whole)[0])
        kind, value, c = rule_of(model)
        known = bound.details()
        rules = Rules(
            NO_CODES,
            whole.astype(np.int64),
            np.array([0, m]),
            np.array([kind]),
            np.array([[value, c if known is None else 1.0, 0.0]]),
            np.zeros(1, np.int64),
            np.append(-1.0, [] if known is None else known),
        )
        found = judge(hist, rules)
        assert found == expected, (hist, whole)
        verdicts.add(expected)
    assert verdicts == {True, False}


def test_the_kernel_judges_every_model_on_its_own_column():
    rng = np.random.default_rng(6)
    models = (LDiversity(2, kind="distinct"), AlphaK(0.6), TCloseness(0.4))
    for _ in range(300):
        whole = rng.integers(1, 9, 7)
        hist = np.array([rng.integers(0, count + 1) for count in whole], np.int64)
        column = rng.integers(0, 2, 3)
        part = [slice(0, 3), slice(3, 7)]
        expected = all(
            model.holds(hist[np.newaxis, part[s]], whole[part[s]])[0]
            for model, s in zip(models, column, strict=True)
        )
        kinds, numbers = zip(*((k, (v, c)) for k, v, c in map(rule_of, models)), strict=True)
        numbers = np.column_stack([np.array(numbers), column])
        none = np.zeros(len(kinds), np.int64)
        rules = Rules(NO_CODES, whole, np.array([0, 3, 7]), np.array(kinds), numbers, none)
        found = judge(hist, rules)
        assert found == expected


def test_rows_pay_by_their_own_sensitive_value():
    for table, run in runs(37, "pmi", count=5):
        rows = list(range(table.n_rows))
        cost = closure_cost(table, run.scanner, run.model, rows)
        hist = hist_of(run.scanner, rows)
        assert charge(run.scanner, cost, rows) == sum(
            int(h) * c for h, c in zip(hist, cost, strict=True)
        )


@pytest.mark.parametrize("measure", MEASURES)
def test_a_scan_from_python_is_what_a_group_costs_with_each_row(measure):
    rng = np.random.default_rng(5)
    for table in small_tables(71, count=6):
        run = make_run(table, measure, 2, 0)
        members = rng.choice(table.n_rows, int(rng.integers(1, 4)), replace=False).tolist()
        found = run.scanner.costs_with(members)
        for row in set(range(table.n_rows)) - set(members):
            assert found[row] == row_cost(table, run.scanner, run.model, [*members, row])


@pytest.mark.parametrize("members", [[], [-1], [10_000], [0.5], ["a"], [[0]], None, [10**30]])
def test_a_scan_of_rows_that_are_not_there_is_refused(members):
    table = next(iter(small_tables(71, count=1)))
    with pytest.raises(ValueError, match="row numbers from 0 to"):
        make_run(table, "ncp", 2, 0).scanner.costs_with(members)


def test_a_group_that_is_not_there_is_refused():
    table = next(iter(small_tables(71, count=1)))
    groups = Partition(np.zeros(table.n_rows, np.int32), 1)
    state = GroupState(make_run(table, "ncp", 2, 0).scanner, groups)
    for ask in (state.nearest, lambda g: state.merge(0, g), lambda g: state.merge(g, 0)):
        for g in (-1, 1, 10**7):
            with pytest.raises(IndexError, match="no group; there are 1"):
                ask(g)


def test_a_helper_that_python_calls_says_so_and_does_not_crash():
    names = [each.name for each in pkgutil.iter_modules(kernels.__path__)]
    modules = [importlib.import_module(f"shoal.kernels.{name}") for name in names]
    values = [value for module in modules for value in vars(module).values()]
    helpers = [v for v in values if getattr(v, "targetoptions", {}).get("no_cpython_wrapper")]
    assert len(helpers) > 50
    for each in helpers:
        with pytest.raises(TypeError, match="is for kernels only"):
            each()
