"""Promises about a release as a whole, kept in rounds.

In every round the regions tell how large their groups are, and how likely those make it that people
are in the table. Spark adds that up, the driver judges the sums by the rules of one machine, and
the regions merge what it says (`shoal.engine.spark.release_wide_promises`). Regions for which one
group each is not enough are united.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.engine.spark.block import GROUP_BITS, arrays_of, in_order, moved_to, refined, run_of
from shoal.engine.spark.session import guarded, guarded_batches, load_functions
from shoal.errors import PromiseError
from shoal.kernels.people import presence_of, worst_presence
from shoal.privacy.base import TOLERANCE, people_in_groups
from shoal.privacy.delta_presence import DeltaPresence
from shoal.privacy.k_map import KMap
from shoal.privacy.population_risk import PopulationRisk
from shoal.publish.recode import unite_equal
from shoal.runtime.progress import no_progress
from shoal.search.enforce import merge_round, violations
from shoal.table.partition import SUPPRESSED, Partition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from shoal.engine.spark.plan import Plan
    from shoal.engine.spark.population_check import Whole
    from shoal.kernels.people import Boxes
    from shoal.privacy.population import Population
    from shoal.table.encode import EncodedTable


# In a worker: groups of a region are merged until promises about the release as a whole hold.
#
# What a region can tell by itself (whom its cells cover, how many people a group has) it sees to by
# itself. What only all regions together know (the average risk, how likely somebody is in the
# table) the driver has found out from what the regions told, and says as a `Verdict`. Groups are
# chosen and merged as on one machine, but for partners, which are of the same region.

ONE = 10**12
"""Chances are added up as whole numbers, so that the order of a sum does not matter: this is 1."""
_MOST = 10**6


@dataclass(frozen=True, eq=False)
class Verdict:
    """What is to be merged.

    Attributes:
        below: groups of fewer people.
        surplus: of each region, by how much the sum of rows per person over its groups has to fall;
            its smallest groups are merged for that.
        smallest: of each region, how many of its smallest groups.
        presence: of each promise, how likely each combination of the population is in the table,
            if for somebody that is too much.
    """

    below: int = 0
    surplus: dict[int, float] = field(default_factory=dict)
    smallest: dict[int, int] = field(default_factory=dict)
    presence: tuple[NDArray[np.float64] | None, ...] = ()


def merge_region(
    plan: Plan, wholes: Sequence[Whole], verdict: Verdict, region: int, rows: Any, *, seamed: bool
) -> Any:
    """Refine the groups of a region if that is not done yet, and merge some of them.

    Returns:
        The rows with their groups; beside the first of them what the region tells about its groups,
        and how much they add to the presence of people.
    """
    import pyarrow as pa

    rows = in_order(plan.columns, rows)
    given = rows.column("g").to_numpy()
    kept = rows.filter(pa.array(given >= 0))
    codes, person = arrays_of(plan, kept)
    partition = Partition.from_labels(given[given >= 0])
    if partition.n_groups and seamed:
        partition = refined(plan, region, codes, person, partition)
    told: dict[str, Any] = {"region": region, "groups": 0, "sizes": [], "stuck": False}
    shares = b""
    if partition.n_groups:
        table = plan.table(codes, person, searched=True)
        near = tuple(_Near.of(whole, table) for whole in wholes)
        partition, told["stuck"] = _merged(plan, near, verdict, region, table, partition)
        people = people_in_groups(table, partition)
        size, place, number = np.unique(people, return_inverse=True, return_counts=True)
        of_size = np.bincount(place, weights=partition.sizes).astype(np.int64)
        told["groups"] = partition.n_groups
        told["sizes"] = np.stack([size, number, of_size], axis=1).tolist()
        shares = _packed_shares(near, table, partition)
    labels = np.full(len(given), SUPPRESSED, np.int64)
    labels[given >= 0] = (np.int64(region) << GROUP_BITS) + partition.labels
    nothing = [None] * (len(given) - 1)
    place = rows.schema.get_field_index("g")
    rows = rows.set_column(place, "g", pa.array(labels, pa.int64()))
    rows = rows.append_column("told", pa.array([json.dumps(told), *nothing], pa.string()))
    return rows.append_column("shares", pa.array([shares, *nothing], pa.binary()))


@dataclass(frozen=True, eq=False)
class _Near:
    """A promise, and those of its population whom a region may cover.

    Attributes:
        model: the promise.
        people: everybody who is covered by all rows of the region together.
        numbers: their numbers in the whole population.
    """

    model: Any
    people: Population | None
    numbers: NDArray[np.int64]

    @classmethod
    def of(cls, whole: Whole, table: EncodedTable) -> _Near:
        if whole.population is None:
            return cls(whole.model, None, np.empty(0, np.int64))
        return cls(whole.model, *whole.population.within(table))

    def broken(self, table: EncodedTable, partition: Partition) -> NDArray[np.bool_] | None:
        """Return which groups break what the region can tell by itself."""
        if self.people is None:
            return None
        least = self.model.k if isinstance(self.model, KMap) else 1
        found: NDArray[np.bool_] = self.people.count(table, partition, enough=least) < least
        return found

    def too_likely(
        self, presence: NDArray[np.float64] | None, table: EncodedTable, partition: Partition
    ) -> NDArray[np.bool_] | None:
        """Return which groups cover somebody who is in the table too likely."""
        if presence is None or self.people is None:
            return None
        worst = np.empty(partition.n_groups)
        boxes: Boxes = self.people.boxes(table, partition)
        worst_presence(boxes, self.people.people, presence[self.numbers], worst)
        return np.asarray(worst > self.model.delta_max + TOLERANCE / 2)


def _merged(
    plan: Plan,
    near: Sequence[_Near],
    verdict: Verdict,
    region: int,
    table: EncodedTable,
    partition: Partition,
) -> tuple[Partition, bool]:
    """Merge groups as is asked; return also whether one group of the region is not enough."""
    privacy, k = plan.request.privacy, int(plan.request.k)
    before = _per_person(table, partition)
    presence, smallest = verdict.presence, verdict.smallest.get(region, 0)
    scanner = None
    while True:
        people = people_in_groups(table, partition)
        bad = violations(table, partition, k, privacy) | (people < verdict.below)
        for each in near:
            own = each.broken(table, partition)
            bad = bad if own is None else bad | own
        stuck = partition.n_groups == 1 and bool(bad.any())
        for each, likely in zip(near, presence, strict=False):
            own = each.too_likely(likely, table, partition)
            bad = bad if own is None else bad | own
        left = verdict.surplus.get(region, 0.0) - (before - _per_person(table, partition))
        by_size = np.argsort(people, kind="stable")
        bad[by_size[: max(math.ceil(left - TOLERANCE), smallest, 0)]] = True
        if partition.n_groups == 1:
            return partition, stuck
        if bad.any():
            if scanner is None:
                chance = np.random.default_rng(0)  # merging draws nothing
                scanner = run_of(plan, table, chance, seamed=True)[1].scanner
            partition = merge_round(partition, scanner, bad, no_progress)
            presence, smallest = (), 0  # these are judged anew by all regions together
            continue
        if not privacy or table.person is None:
            return partition, False
        # groups that publish the same are one to a reader, and may share people
        seen = unite_equal(table, partition, plan.request.style)
        if seen.n_groups == partition.n_groups:
            return partition, False
        partition = seen


def _per_person(table: EncodedTable, partition: Partition) -> float:
    """Return the sum of rows per person over all groups; the number of groups if rows count."""
    people = people_in_groups(table, partition)
    return math.fsum((partition.sizes / people).tolist())


def _packed_shares(near: Sequence[_Near], table: EncodedTable, partition: Partition) -> bytes:
    """Return how much the groups add to the presence of people, as numbers in bytes."""
    found = [np.empty((0, 3), np.int64)]
    for number, each in enumerate(near):
        if each.people is None or not isinstance(each.model, DeltaPresence):
            continue
        covered = each.people.count(table, partition)
        people = people_in_groups(table, partition).astype(np.float64)
        share = np.divide(people, covered, out=np.full(len(people), np.inf), where=covered > 0)
        own = np.empty(len(each.numbers))
        boxes = each.people.boxes(table, partition)
        presence_of(boxes, each.people.people, np.minimum(share, _MOST), own)
        inside = np.flatnonzero(own > 0)
        values = np.rint(own[inside] * ONE).astype(np.int64)
        which = np.full(len(inside), number, np.int64)
        found.append(np.stack([which, each.numbers[inside], values], axis=1))
    return np.concatenate(found).tobytes()


def unpacked_shares(batches: Iterator[Any]) -> Iterator[Any]:
    """Return what regions add to the presence of people, one line each."""
    import pyarrow as pa

    for batch in batches:
        for packed in batch.column(0).to_pylist():
            numbers = np.frombuffer(packed, np.int64).reshape(-1, 3)
            columns = [pa.array(each, pa.int64()) for each in numbers.T.copy()]
            yield pa.RecordBatch.from_arrays(columns, names=["m", "i", "p"])


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

    def work(key: Any, given: Any) -> Any:
        return merge_region(plan, wholes, verdict, key[0].as_py(), given, seamed=seamed)

    if (region_of != np.arange(len(region_of))).any():
        moved = guarded_batches(lambda batches: moved_to(region_of, batches))
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
            "The promise cannot be kept ({promised}), not even with all published rows in one "
            "group; promise less.",
            promised=promised,
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
            "More than {united} blocks of similar rows would have to be looked at together to "
            "keep the promise ({promised}); give a larger block_rows, or promise less.",
            united=UNITED,
            promised=promised,
        )
    return united
