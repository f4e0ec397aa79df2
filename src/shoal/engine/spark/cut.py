"""Cuts a table of Spark into blocks of similar rows: a small rule, decided on the driver.

What reaches the driver is a sample of the different tuples (`SAMPLE` of them, or `PER_BLOCK` for
each block), those that many rows share, and counts per leaf of the rule. A leaf that is too large
is cut again; one tuple that more rows share than a block may have is dealt to several blocks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.engine.spark.block import assign_leaves
from shoal.engine.spark.domain import whole_table
from shoal.engine.spark.plan import Parts, Rule, Tree
from shoal.engine.spark.session import guarded_batches, load_functions
from shoal.errors import DataError, PromiseError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from shoal.engine.spark.plan import Plan
    from shoal.privacy import PrivacyModel
    from shoal.table.encode import Attribute


# Which block a row belongs to: a small tree of cuts, made on the driver and sent to every worker.
#
# A tree is cut median after median over the codes of a sample of tuples, columns of few values
# first, as `shoal.search.blocked.similar_blocks` cuts a table in memory. It says where a row
# belongs by the codes of that row alone, so it does not matter who asks, when, and how often.


@dataclass(frozen=True, eq=False)
class Sample:
    """Some of the different tuples of a table.

    Attributes:
        codes: the tuples, one row per column.
        rows: about how many rows of the table each of them stands for.
    """

    codes: NDArray[np.int32]
    rows: NDArray[np.float64]


def places_of(attributes: Sequence[Attribute]) -> list[NDArray[np.float64]]:
    """Return where the codes of each column lie (missing last), as blocks of one machine are cut.

    All columns are equally wide at first.
    """
    places = []
    for a in attributes:
        if a.positions is None:
            place = np.append(np.arange(a.size) / max(1.0, a.size - 1.0), 2.0)
        else:
            width = float(a.positions[-1] - a.positions[0]) or 1.0
            place = np.append((a.positions - a.positions[0]) / width, 2.0)
        places.append(place * a.weight)
    return places


def grow(
    tree: Tree, node: int, sample: Sample, places: Sequence[NDArray[np.float64]], rows: float
) -> None:
    """Cut a leaf until no part of the sample stands for more than so many rows, or is one tuple."""
    waiting = [(node, np.arange(sample.codes.shape[1]))]
    sizes = [len(place) for place in places]
    while waiting:
        at, members = waiting.pop()
        weight = sample.rows[members]
        if weight.sum() <= rows:
            continue
        codes = sample.codes[:, members]
        low, high = codes.min(axis=1), codes.max(axis=1)
        spread = [float(place[b] - place[a]) for place, a, b in zip(places, low, high, strict=True)]
        if not any(a < b for a, b in zip(low, high, strict=True)):
            continue  # one tuple
        # the widest column; of equals, the one of fewest values
        column = min(
            (each for each in range(len(places)) if low[each] < high[each]),
            key=lambda each: (-spread[each], sizes[each], each),
        )
        cut = _median(codes[column], weight)
        goes_left = codes[column] <= cut
        tree.column[at], tree.cut[at] = column, cut
        tree.left[at], tree.right[at] = tree.add(), tree.add()
        waiting += [
            (tree.left[at], members[goes_left]),
            (tree.right[at], members[~goes_left]),
        ]


def _median(codes: NDArray[np.int32], weight: NDArray[np.float64]) -> int:
    """Return the code that splits rows most evenly; both sides have some."""
    values, place = np.unique(codes, return_inverse=True)
    upto = np.cumsum(np.bincount(place, weights=weight))[:-1]
    return int(values[int(np.argmin(np.abs(upto - weight.sum() / 2)))])


BLOCK_ROWS = 100_000
"""Rows of a block, unless the user says otherwise."""
SAMPLE = 200_000
PER_BLOCK = 50
LARGEST = 2
"""A leaf so many times too large is cut again."""
UNITED = 8
"""Blocks united until they can keep the promises may be so many times too large."""
MOST_COUNTS = 50_000_000
"""So many counts of sensitive values in blocks may come to the driver."""
HASHES = 1 << 30
ROUNDS = 8


def one_block() -> Parts:
    """Return the rule of a table that is not cut."""
    tree = Tree()
    tree.add()
    tree.number()
    rule = Rule(tree, np.zeros(1, np.int64), np.ones(1, np.int64))
    return Parts(rule, rule, seamed=False)


def cut_rows(plan: Plan, rows: Any, block_rows: int) -> Parts:
    """Return the rules by which a table is cut.

    Args:
        plan: what is known about the table.
        rows: its rows as codes.
        block_rows: about how many of them a block has.

    Raises:
        PromiseError: blocks of such a size cannot keep the promises.
        DataError: a sensitive column has too many values for promises about so many blocks.
    """
    functions = load_functions()
    codes = plan.columns.codes
    tuples = rows.groupBy(*codes).agg(functions.count(functions.lit(1)).alias("n")).persist()
    try:
        n_tuples, n_rows = tuples.selectExpr("count(*)", "sum(n)").head()
        places = places_of(plan.searched)
        tree, sizes, alike = _grown(plan, tuples, n_tuples, n_rows, block_rows, places)
        blocks = _blocks(plan, rows, tree, sizes, alike, block_rows)
        chance = np.random.default_rng([plan.seed, 0]).uniform(0.2, 1.0, len(places))
        other = [place * weight for place, weight in zip(places, chance, strict=True)]
        regions = _rule(*_grown(plan, tuples, n_tuples, n_rows, block_rows, other), block_rows)
    finally:
        tuples.unpersist()
    return Parts(blocks, regions, seamed=blocks.n_blocks > 1)


def _grown(
    plan: Plan,
    tuples: Any,
    n_tuples: int,
    n_rows: int,
    block_rows: int,
    places: Sequence[NDArray[np.float64]],
) -> tuple[Tree, NDArray[np.int64], NDArray[np.bool_]]:
    """Return a tree, the rows of its leaves, and which of them are one tuple."""
    wanted = max(SAMPLE, PER_BLOCK * n_rows // block_rows)
    tree = Tree()
    tree.add()
    share = min(1.0, wanted / n_tuples)
    grow(tree, 0, _sample(plan, tuples, share, block_rows), places, block_rows)
    tree.number()
    for _ in range(ROUNDS):
        counted = _with_leaves(plan, tuples, tree)
        sizes, different = _count_leaves(counted, tree.n_leaves)
        large = np.flatnonzero((sizes > LARGEST * block_rows) & (different > 1))
        if not len(large):
            break
        inside = counted.filter(load_functions().col("leaf").isin(large.tolist()))
        share = min(1.0, wanted / max(int(different[large].sum()), 1))
        nodes = tree.nodes_of_leaves()
        found = _sample(plan, inside, share, block_rows)
        leaves = tree.leaves_of(list(found.codes))
        for leaf in large.tolist():
            mine = leaves == leaf
            if mine.any():
                grow(
                    tree,
                    nodes[leaf],
                    Sample(found.codes[:, mine], found.rows[mine]),
                    places,
                    block_rows,
                )
        tree.number()
    return tree, sizes, different == 1


def _sample(plan: Plan, tuples: Any, share: float, block_rows: int) -> Sample:
    """Return tuples by chance, and all those that many rows share."""
    functions = load_functions()
    codes = plan.columns.codes
    number = functions.pmod(
        functions.xxhash64(*codes, functions.lit(plan.seed % (1 << 31))), functions.lit(HASHES)
    )
    many = functions.col("n") >= max(block_rows // 8, 1)
    chosen = tuples.filter(many | (number < int(share * HASHES))).select(*codes, "n").toArrow()
    rows = chosen.column("n").to_numpy().astype(np.float64)
    often = rows >= max(block_rows // 8, 1)
    matrix = np.stack([chosen.column(name).to_numpy().astype(np.int32) for name in codes])
    order = np.lexsort(matrix)  # whichever worker was first
    weight = np.where(often, rows, rows / share)
    return Sample(matrix[:, order], weight[order])


def _with_leaves(plan: Plan, rows: Any, tree: Tree) -> Any:
    """Return rows of codes with the leaf of each."""
    from pyspark.sql import types

    none = np.zeros(0, np.int64)
    rule = Rule(tree, none, none)
    n_codes = len(plan.columns.codes)
    schema = types.StructType([*rows.schema.fields, types.StructField("leaf", types.LongType())])
    work = guarded_batches(lambda batches: assign_leaves(rule, n_codes, batches))
    return rows.mapInArrow(work, schema)


def _count_leaves(counted: Any, n_leaves: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows and different tuples of every leaf."""
    found = counted.groupBy("leaf").agg({"n": "sum", "*": "count"}).toArrow()
    sizes, different = np.zeros(n_leaves, np.int64), np.zeros(n_leaves, np.int64)
    leaf = found.column("leaf").to_numpy()
    sizes[leaf] = found.column("sum(n)").to_numpy()
    different[leaf] = found.column("count(1)").to_numpy()
    return sizes, different


def _rule(tree: Tree, sizes: NDArray[np.int64], alike: NDArray[np.bool_], block_rows: int) -> Rule:
    """Return a rule with a block per leaf, or several where one tuple has too many rows."""
    pieces = np.where(alike, np.maximum(-(-sizes // block_rows), 1), 1)
    return Rule(tree, np.cumsum(pieces) - pieces, pieces)


def _blocks(
    plan: Plan,
    rows: Any,
    tree: Tree,
    sizes: NDArray[np.int64],
    alike: NDArray[np.bool_],
    block_rows: int,
) -> Rule:
    """Return the rule with leaves united until every block can keep the promises."""
    plain = _rule(tree, sizes, alike, block_rows)
    judge: Callable[[list[int]], bool] = _no_promise
    people: NDArray[np.int64] | None = None
    if plan.columns.person or plan.request.privacy:
        placed = _with_leaves(plan, rows, tree)
        if plan.columns.person:
            people = _count(placed, "count(distinct w)", tree.n_leaves)
            # people are dealt by a hash of who they are: so many that none of the blocks lacks them
            fewest = max(4 * int(plan.request.k), 50)
            plain = replace(plain, pieces=np.minimum(plain.pieces, np.maximum(people // fewest, 1)))
        if plan.request.privacy:
            judge = _judge(plan, placed, tree.n_leaves)
    enough = 2 * int(plan.request.k)
    united = _unite(
        tree.n_leaves,
        lambda leaves: (
            sizes[leaves].sum() >= enough
            and (people is None or people[leaves].max() >= plan.request.k)
            and judge(leaves)
        ),
    )
    first, pieces, block = np.zeros(tree.n_leaves, np.int64), plain.pieces.copy(), 0
    for members in united:
        if len(members) > 1:
            _check_size(sizes[members], block_rows)
            pieces[members] = 1
        first[members] = block
        block += int(pieces[members].max())
    return Rule(tree, first, pieces)


def _unite(n_leaves: int, fine: Callable[[list[int]], bool]) -> list[list[int]]:
    """Join neighbouring leaves until each block is fine; the last ones join what is before them."""
    blocks: list[list[int]] = []
    pending: list[int] = []
    for leaf in range(n_leaves):
        pending.append(leaf)
        if fine(pending):
            blocks.append(pending)
            pending = []
    while pending and blocks:
        pending = [*blocks.pop(), *pending]
        if fine(pending):
            blocks.append(pending)
            pending = []
    return [*blocks, pending] if pending else blocks


def _check_size(sizes: NDArray[np.int64], block_rows: int) -> None:
    """Raise if leaves that have to stay together are too many rows for one worker."""
    total = int(sizes.sum())
    if total > UNITED * block_rows:
        raise PromiseError(
            "{total:,} similar rows have to be looked at together to keep the promises, "
            "because their sensitive values (or people) differ too little, and a block has "
            "{block_rows:,}; give a larger block_rows, or promise less.",
            total=total,
            block_rows=block_rows,
        )


def _no_promise(leaves: list[int]) -> bool:
    del leaves
    return True


def _count(placed: Any, what: str, n_leaves: int) -> NDArray[np.int64]:
    functions = load_functions()
    found = placed.groupBy("leaf").agg(functions.expr(what).alias("n")).toArrow()
    counts = np.zeros(n_leaves, np.int64)
    counts[found.column("leaf").to_numpy()] = found.column("n").to_numpy()
    return counts


def _judge(plan: Plan, placed: Any, n_leaves: int) -> Callable[[list[int]], bool]:
    """Return a function that says whether leaves together leave the search room.

    They must be halfway between what is promised and what the whole table reaches; as blocks of
    one machine, which would otherwise be one huge group each.
    """
    looked: list[tuple[PrivacyModel, NDArray[np.int64], NDArray[np.int64], float]] = []
    histograms: dict[str, NDArray[np.int64]] = {}
    functions = load_functions()
    how = functions.count_distinct("w") if plan.columns.person else functions.count("*")
    for number, column in enumerate(plan.sensitive):
        if n_leaves * column.size > MOST_COUNTS:
            raise DataError(
                "Column {name!r} has {size:,} different values, which is too many to keep a "
                "promise about it in {n_leaves:,} blocks; give a larger block_rows, or group "
                "the values first.",
                name=column.name,
                size=column.size,
                n_leaves=n_leaves,
            )
        found = placed.groupBy("leaf", f"s{number}").agg(how.alias("n")).toArrow()
        counts = np.zeros((n_leaves, column.size), np.int64)
        counts[found.column(0).to_numpy(), found.column(1).to_numpy()] = found.column(2).to_numpy()
        histograms[column.name] = counts
    empty = whole_table(plan)
    for model in plan.request.privacy:
        for column in model.columns(empty):
            counts, whole = histograms[column.name], column.whole
            if counts.shape[1] != column.size:  # after cleaning
                merging = next(s for s in plan.sensitive if s.name == column.name).merging
                assert merging is not None
                assert merging.merged is not None
                merged = np.zeros((n_leaves, column.size), np.int64)
                np.add.at(merged.T, merging.merged, counts.T)
                counts = merged
            own = model.on(column)
            looked.append((own, counts, whole, own.measured(whole[np.newaxis], whole)))

    def judge(leaves: list[int]) -> bool:
        for model, counts, whole, reached in looked:
            here = counts[leaves].sum(axis=0)[np.newaxis]
            if not model.holds(here, whole)[0]:
                return False
            halfway = (model.promised + reached) / 2
            found = model.measured(here, whole)
            if not (found >= halfway if model.at_least else found <= halfway):
                return False
        return True

    return judge
