"""In a worker: groups of a region are merged until promises about the release as a whole hold.

What a region can tell by itself (whom its cells cover, how many people a group has) it sees to by
itself. What only all regions together know (the average risk, how likely somebody is in the table)
the driver has found out from what the regions told, and says as a `Verdict`. Groups are chosen and
merged as on one machine, but for partners, which are of the same region.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.engine.spark.block import GROUP_BITS, arrays_of, in_order, refined, run_of
from shoal.kernels.population import presence_of, worst_presence
from shoal.privacy import DeltaPresence, KMap
from shoal.privacy.base import TOLERANCE
from shoal.privacy.whole import people_in_groups
from shoal.publish.recode import unite_equal
from shoal.runtime.progress import no_progress
from shoal.search.enforce import merge_round, violations
from shoal.table.partition import SUPPRESSED, Partition

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from shoal.engine.spark.everybody import Whole
    from shoal.engine.spark.plan import Plan
    from shoal.kernels.population import Boxes
    from shoal.privacy.population import Population
    from shoal.table.encode import EncodedTable

__all__ = ["ONE", "Verdict", "merge_region", "unpacked_shares"]

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
