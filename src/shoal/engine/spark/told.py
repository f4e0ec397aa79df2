"""What a full-domain release tells: the same sums as regions tell, from counts on the driver.

How mixed the sensitive values of each group are is counted by Spark. Its sums are of whole numbers,
so that they do not depend on who was first.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.engine.spark.levels import placed_codes
from shoal.engine.spark.session import load_functions
from shoal.engine.spark.tally import MOST_CLOSURES, Tallies, measures_of, shown_groups
from shoal.engine.spark.target import count_joint
from shoal.errors import DataError
from shoal.measure.base import picked_columns
from shoal.publish.loss import published_loss
from shoal.publish.recode import published_names
from shoal.table.closure import TreeClosures
from shoal.table.encode import EncodedTable, narrow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shoal.engine.spark.levels import Chosen
    from shoal.engine.spark.plan import Plan
    from shoal.measure.base import CostMeasure
    from shoal.table.encode import Attribute

__all__ = ["told_by_levels"]

BITS = 32
"""Logarithms are added as whole numbers with so many bits behind the point."""


def told_by_levels(plan: Plan, chosen: Chosen, rows: Any, finished: Any) -> Tallies:
    """Return the sums of a full-domain release.

    Args:
        plan: what was asked.
        chosen: groups, and what they publish.
        rows: all rows as codes.
        finished: the published rows, with groups.

    Raises:
        DataError: the table is not the one that was counted.
    """
    counted = finished.selectExpr("count(*)", "count_if(g >= 0)").head()
    n_rows, n_published = int(counted[0]), int(counted[1])
    if n_published != int(chosen.sizes.sum()):
        raise DataError(
            f"The table had {int(chosen.sizes.sum()):,} rows to publish at first and "
            f"{n_published:,} in the end; give a table that stays the same while it is read "
            "(write it down first)."
        )
    joint = None
    if plan.target is not None:
        placed = placed_codes(plan, rows, chosen.levels)
        sizes = [width + 1 for width in chosen.levels.widths]
        joint = count_joint(plan, placed, plan.target, sizes)
    measures = measures_of(plan).items()
    shown = np.arange(0, len(chosen.sizes), max(1, -(-len(chosen.sizes) // shown_groups(1))))
    told: dict[str, Any] = {
        "region": 0,
        "rows": n_published,
        "left out": n_rows - n_published,
        "groups": len(chosen.sizes),
        # whole numbers of any length, as Python has them
        "squares": sum(int(size) ** 2 for size in chosen.sizes),
        "costs": {name: _costs(plan, chosen, each, joint) for name, each in measures},
        "seen": [chosen.sizes[shown].tolist()],
        **_mixed(plan, finished),
    }
    whole = EncodedTable(0, plan.attributes, ())
    counts: list[tuple[int, str, int]] = []
    for number, attribute in enumerate(plan.attributes):
        nodes, often = _nodes(chosen, number)
        order = np.lexsort((nodes, -often))[:MOST_CLOSURES]
        counts += [(number, str(nodes[at]), int(often[at])) for at in order.tolist()]
        gone = attribute.counts - chosen.published[number]
        counts += [(-1 - number, str(code), int(gone[code])) for code in np.flatnonzero(gone)]
        closures = _closed(attribute, chosen.nodes[shown, number])
        told["seen"].append(published_loss(whole, number, closures, len(shown)).tolist())
    return Tallies(plan, [json.dumps(told)], counts)


def _nodes(chosen: Chosen, number: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the nodes that a column publishes, and how many rows publish each."""
    nodes, place = np.unique(chosen.nodes[:, number], return_inverse=True)
    return nodes, np.bincount(place, chosen.sizes, len(nodes)).astype(np.int64)


def _closed(attribute: Attribute, nodes: NDArray[np.int32]) -> TreeClosures:
    taxonomy = attribute.taxonomy
    assert taxonomy is not None
    every = np.append(nodes, taxonomy.root).astype(np.int32)
    return TreeClosures(every, taxonomy.n_leaves, taxonomy.n_nodes)


def _costs(
    plan: Plan, chosen: Chosen, measure: CostMeasure, joint: Sequence[NDArray[np.int64]] | None
) -> list[list[float]]:
    """Return of each column the cost of published rows less its constant, and of a lost cell.

    ``joint`` says of each column how many rows publish each of its nodes (left out: last) and have
    each sensitive value. What a lost cell costs depends on the row then, so that it is added here.
    """
    whole, result = EncodedTable(0, plan.attributes, ()), []
    for number, attribute in enumerate(plan.attributes):
        nodes, rows = _nodes(chosen, number)
        closures = _closed(attribute, nodes)
        if measure.needs_sensitive:
            assert plan.target is not None
            assert joint is not None
            cost = measure.form(attribute, plan.target.scored, whole).cost(closures)
            total, lost = float(np.sum(joint[number] * cost)), 0.0
        else:
            cost = measure.form(attribute, None, whole).cost(closures)
            total, lost = float(np.sum(rows * cost[:-1])), float(cost[-1])
        result.append([total - _constant(measure, attribute), lost])
    return result


def _constant(measure: CostMeasure, attribute: Attribute) -> float:
    """Return the constant of all rows, which is a sum over rows, from how many have each code.

    Rows are taken by powers of two: every code whose number of rows has a bit is one row then.
    """
    total, counts = 0.0, attribute.counts
    for bit in range(int(counts.max(initial=0)).bit_length()):
        codes = np.flatnonzero(counts >> bit & 1)
        once = replace(attribute, codes=narrow(codes, attribute.size), original=None)
        total += float(1 << bit) * measure.constant_of_part(once)
    return total


def _mixed(plan: Plan, finished: Any) -> dict[str, Any]:
    """Return in how many rows groups have their most frequent sensitive value, and entropies."""
    target = picked_columns(plan.sensitive, plan.request.measure_options)
    if not target:
        return {}
    functions = load_functions()
    names = list(published_names(plan.schema, plan.request.style))  # one column each, of trees
    own = [f"f{names.index(column.name)}" for column in target]
    one = functions.lit(float(1 << BITS))
    exact = "decimal(38,0)"
    n = functions.col("n").cast("double")
    groups = (
        finished.filter("g >= 0")
        .groupBy("g", *own)
        .agg(functions.count(functions.lit(1)).alias("n"))
        .withColumn("logs", functions.round(n * functions.log2(n) * one).cast(exact))
        .groupBy("g")
        .agg(
            functions.max("n").alias("most"),
            functions.sum("n").alias("n"),
            functions.sum("logs").alias("logs"),
        )
    )
    entropy = functions.log2(n) * one - functions.col("logs").cast("double") / n
    found = (
        groups.withColumn("entropy", functions.round(entropy).cast(exact))
        .agg(functions.sum("most").alias("most"), functions.sum("entropy").alias("entropy"))
        .head()
    )
    return {"majority": int(found["most"]), "entropy": int(found["entropy"]) / (1 << BITS)}
