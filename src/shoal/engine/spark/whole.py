"""Promises about a release as a whole, kept in rounds.

In every round the regions tell how large their groups are, and how likely those make it that people
are in the table. Spark adds that up, the driver judges the sums by the rules of one machine, and
the regions merge what it says (`shoal.engine.spark.merge`). Regions for which one group each is not
enough are united.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.engine.spark.block import moved_to
from shoal.engine.spark.errors import guarded, guarded_batches
from shoal.engine.spark.merge import ONE, Verdict, merge_region, unpacked_shares
from shoal.engine.spark.session import load_functions
from shoal.errors import PromiseError
from shoal.privacy import DeltaPresence, PopulationRisk
from shoal.privacy.base import TOLERANCE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from shoal.engine.spark.everybody import Whole
    from shoal.engine.spark.plan import Plan

__all__ = ["MOST_PARTS", "UNITED", "keep_whole"]

MOST_PARTS = 20_000
UNITED = 8
"""So many regions may be looked at together because a promise needs it."""


def keep_whole(
    plan: Plan,
    wholes: Sequence[Whole],
    rows: Any,
    region_of: NDArray[np.int64],
    hold: Callable[[Any], Any],
    *,
    seamed: bool,
) -> tuple[Any, NDArray[np.int64] | None]:
    """Refine groups, and merge them until promises about the release as a whole hold.

    Args:
        plan: what workers are told.
        wholes: the promises.
        rows: rows with group and region.
        region_of: where the rows of each region go.
        hold: keeps a table on the disks of the workers.
        seamed: whether there is anything to refine.

    Returns:
        The rows with their groups; or which regions are to be looked at together.

    Raises:
        PromiseError: too many would have to be.
    """
    verdict, smallest, before, held = Verdict(), 1, 0, None
    region_of_rows = region_of
    while True:
        merged = hold(_merged_rows(plan, wholes, verdict, rows, region_of_rows, seamed=seamed))
        told = _told(merged)
        if held is not None:
            held.unpersist()
        groups = sum(each["groups"] for each in told)
        stuck = [each["region"] for each in told if each["stuck"]]
        presence = _presence(merged, wholes)
        found = _judge(wholes, told, presence, smallest)
        if not stuck and found is None:
            return merged.drop("told", "shares"), None
        if stuck or groups == before:
            merged.unpersist()
            labels = [whole.model.label for whole in wholes]
            return None, _united(region_of, stuck, labels)
        assert found is not None
        if found.smallest:
            smallest *= 2
        rows, held, verdict, before = merged.drop("told", "shares"), merged, found, groups
        region_of_rows, seamed = np.arange(len(region_of)), False


def _merged_rows(
    plan: Plan,
    wholes: Sequence[Whole],
    verdict: Verdict,
    rows: Any,
    region_of: NDArray[np.int64],
    *,
    seamed: bool,
) -> Any:
    from pyspark.sql import types

    shared = rows.sparkSession.sparkContext.broadcast((plan, wholes, verdict, region_of))

    def work(key: Any, given: Any) -> Any:
        own_plan, promises, said, _ = shared.value
        return merge_region(own_plan, promises, said, key[0].as_py(), given, seamed=seamed)

    if (region_of != np.arange(len(region_of))).any():
        moved = guarded_batches(lambda batches: moved_to(shared.value[3], batches))
        rows = rows.mapInArrow(moved, rows.schema)
    added = [
        types.StructField("told", types.StringType()),
        types.StructField("shares", types.BinaryType()),
    ]
    parts = rows.repartition(min(2 * len(region_of), MOST_PARTS), "r").groupBy("r")
    return parts.applyInArrow(guarded(work), types.StructType([*rows.schema.fields, *added]))


def _told(merged: Any) -> list[dict[str, Any]]:
    """Return what regions told, in the order of their numbers."""
    lines = merged.filter("told is not null").select("told").toArrow().column(0).to_pylist()
    return sorted((json.loads(each) for each in lines), key=lambda each: each["region"])


def _presence(merged: Any, wholes: Sequence[Whole]) -> list[NDArray[np.float64] | None]:
    """Return how likely each combination of a population is in the table."""
    asked = [isinstance(whole.model, DeltaPresence) for whole in wholes]
    found: list[NDArray[np.float64] | None] = [None] * len(wholes)
    if not any(asked):
        return found
    functions = load_functions()
    packed = merged.filter("shares is not null").select("shares")
    lines = packed.mapInArrow(guarded_batches(unpacked_shares), "m long, i long, p long")
    summed = lines.groupBy("m", "i").agg(functions.sum("p").alias("p")).toArrow()
    which, people, chance = (summed.column(name).to_numpy() for name in ("m", "i", "p"))
    for number, whole in enumerate(wholes):
        if asked[number]:
            assert whole.population is not None
            own = which == number
            chances = np.zeros(len(whole.population.number))
            chances[people[own]] = chance[own] / ONE
            found[number] = chances
    return found


def _judge(
    wholes: Sequence[Whole],
    told: Sequence[dict[str, Any]],
    presence: Sequence[NDArray[np.float64] | None],
    smallest: int,
) -> Verdict | None:
    """Return what is to be merged; None if every promise is kept.

    Args:
        wholes: the promises.
        told: what regions told about the sizes of their groups.
        presence: of each promise about it, how likely each combination is in the table.
        smallest: how many groups are merged where somebody is not likely enough in the table.
    """
    sizes = [size for each in told for size in each["sizes"]]
    # who has several rows is counted in several groups, as verification does
    people = sum(size * number for size, number, _ in sizes)
    below = 0
    surplus: dict[int, float] = {}
    few: dict[int, int] = {}
    likely: list[NDArray[np.float64] | None] = [None] * len(wholes)
    broken = False
    for number, (whole, chances) in enumerate(zip(wholes, presence, strict=True)):
        model = whole.model
        if isinstance(model, PopulationRisk):
            fraction = model.fraction(people)
            if model.kind == "average":
                over = _over(sizes, model.limit / fraction)
                broken |= over > 0
                chosen = _smallest(told, math.ceil(over))
                for region, share in chosen.items():
                    own = over * share / sum(chosen.values())
                    surplus[region] = max(surplus.get(region, 0.0), own)
            else:
                alone = model.kind == "uniques"
                least = 2 if alone else math.ceil(fraction / model.limit * (1 - TOLERANCE))
                below = max(below, least)
        elif isinstance(model, DeltaPresence):
            assert chances is not None
            if chances.max(initial=0.0) > model.delta_max + TOLERANCE / 2:
                likely[number], broken = chances, True
            elif chances.min(initial=1.0) < model.delta_min - TOLERANCE / 2:
                few, broken = _smallest(told, smallest), True
    broken |= min(size for size, _, _ in sizes) < below
    return Verdict(below, surplus, few, tuple(likely)) if broken else None


def _over(sizes: Sequence[Sequence[int]], limit: float) -> float:
    """Return by how much the sum of rows per person over all groups is too high; 0 if it is not."""
    per_person = math.fsum(rows / size for size, _, rows in sizes)
    allowed = limit * sum(rows for _, _, rows in sizes)
    return max(per_person - allowed * (1 + TOLERANCE), 0.0)


def _smallest(told: Sequence[dict[str, Any]], wanted: int) -> dict[int, int]:
    """Return how many of the smallest groups of all are in each region that can merge any."""
    able = [each for each in told if each["groups"] > 1]
    by_size = sorted(
        (size, each["region"], number) for each in able for size, number, _ in each["sizes"]
    )
    found: dict[int, int] = {}
    for _, region, number in by_size:
        taken = min(number, wanted)
        if taken > 0:
            found[region] = found.get(region, 0) + taken
            wanted -= taken
    return found


def _united(
    region_of: NDArray[np.int64], stuck: Sequence[int], labels: Sequence[str]
) -> NDArray[np.int64]:
    """Return the regions with each of these (all, if none is named) beside its neighbour.

    Raises:
        PromiseError: there is no other region, or too many would be looked at together.
    """
    regions = np.unique(region_of)
    promised = ", ".join(labels)
    if len(regions) == 1:
        raise PromiseError(
            f"The promise cannot be kept ({promised}), not even with all published rows in one "
            "group; promise less."
        )
    united, done = region_of.copy(), set()
    for region in stuck or regions.tolist():
        if region in done:
            continue  # it has more rows now; that may be enough
        place = int(np.searchsorted(regions, region))
        beside = int(regions[place + 1 if place + 1 < len(regions) else place - 1])
        one, other = int(united[region]), int(united[beside])
        united[(united == one) | (united == other)] = min(one, other)
        done |= {region, beside}
    if int(np.bincount(united).max()) > UNITED:
        raise PromiseError(
            f"More than {UNITED} blocks of similar rows would have to be looked at together to "
            f"keep the promise ({promised}); give a larger block_rows, or promise less."
        )
    return united
