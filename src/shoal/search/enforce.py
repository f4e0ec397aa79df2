"""Make any partition satisfy k people and any privacy model, by least-cost merging.

Merging ends at the latest with one group of all rows, which `check_possible` has tested before.
Models are monotone, a union of groups that hold holds too, where groups share no person. Where
they do, a union is judged anew like any other group; and so are promises about a release as a
whole, which say themselves which groups are to be merged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import PromiseError
from shoal.kernels.groups import Groups, close_groups, link_members, merge_groups, nearest_group
from shoal.kernels.people import fill_crowd
from shoal.table.partition import Partition

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from shoal.kernels.space import Columns
    from shoal.privacy import PrivacyModel
    from shoal.privacy.arrays import PrivateArrays
    from shoal.search.scan import Scanner
    from shoal.table.encode import EncodedTable


class GroupState:
    """Closures, histograms and costs of the groups of a partition, which may be merged."""

    def __init__(self, scanner: Scanner, partition: Partition) -> None:
        """Compute the state of every group."""
        self.scanner = scanner
        self.n_groups = partition.n_groups
        self.closed = scanner.closed(self.n_groups)
        self.scratch = scanner.scratch(self.n_groups)
        self.into = np.arange(self.n_groups)
        query = self.scratch.query
        close_groups(scanner.records, partition.order, partition.starts, query, self.closed)

    @property
    def groups(self) -> Columns:
        """Closure of each group."""
        columns: Columns = self.closed.columns
        return columns

    @property
    def hists(self) -> NDArray[np.int64]:
        """Members of each group per sensitive value."""
        return self.closed.hists

    @property
    def costs(self) -> NDArray[np.int64]:
        """Total cost of each group, with what a group costs beside its rows."""
        return self.closed.costs + self.scanner.group_price

    def nearest(self, g: int) -> int:
        """Return the group whose union with g costs least more, −1 if there is no other."""
        self._check(g)
        best: int = nearest_group(self.scanner.space, self.closed, g, self.scratch)
        return best

    def _check(self, g: int) -> None:
        """Refuse what is no group: the kernels would read and write beyond the end."""
        if not 0 <= g < self.n_groups:
            raise IndexError(f"{g} is no group; there are {self.n_groups}")

    def merge(self, g: int, h: int) -> None:
        """Merge group h into group g."""
        self._check(g)
        self._check(h)
        merge_groups(self.scanner.space, self.closed, g, h, self.scratch.query)
        self.into[h] = g

    def roots(self) -> NDArray[np.int64]:
        """Return the group that each original group ended up in."""
        into = self.into
        while True:
            further = into[into]
            if np.array_equal(further, into):
                return into
            into = further


def open_groups(
    scanner: Scanner, partition: Partition, private: PrivateArrays, places: int
) -> Groups:
    """Return the groups of a partition ready for single rows to move, and room for new ones.

    Places without a group have a closure that may be looked at, but no rows.
    """
    state, used, n = GroupState(scanner, partition), partition.n_groups, scanner.n_rows
    columns = scanner.groups(places)
    for target, source in zip(columns, state.groups, strict=True):
        target[:, :used] = source
        target[:, used:] = 0
    hists = np.zeros((scanner.n_classes, places), np.int64)
    hists[:, :used] = state.hists
    costs = np.zeros(places, np.int64)
    costs[:used] = state.costs
    label = partition.labels.copy()
    head, size = np.empty(places, np.int64), np.empty(places, np.int64)
    after, before = np.empty(n, np.int64), np.empty(n, np.int64)
    link_members(label, head, after, before, size)
    phist = private.histograms(label, places)
    pillar = np.ones(n, np.bool_)  # any row may be one until its group is walked through
    people, crowd = size, private.crowd(places)
    if private.subject is not None:
        people = np.zeros(places, np.int64)
        fill_crowd(label, private.rules.first, private.rules.private, crowd, people, phist)
    price = np.array([scanner.group_price], np.int64)
    return Groups(
        label, head, after, before, size, columns, hists, costs, phist, pillar, people, crowd, price
    )


def count_people(
    labels: NDArray[np.integer[Any]], n_groups: int, person: NDArray[np.int32] | None
) -> NDArray[np.int64]:
    """Return how many different people each group has."""
    if person is None:
        return np.bincount(labels, minlength=n_groups).astype(np.int64)
    several = int(person.max(initial=0)) + 1
    inside = np.unique(labels.astype(np.int64) * several + person) // several
    return np.bincount(inside, minlength=n_groups).astype(np.int64)


def violations(
    table: EncodedTable, partition: Partition, k: int, privacy: Sequence[PrivacyModel]
) -> NDArray[np.bool_]:
    """Return which groups break k or a privacy model."""
    from shoal.privacy.base import judge

    kept = partition.labels >= 0
    everybody = partition.n_suppressed == 0
    labels = partition.labels[kept]
    if table.person is None:
        person, bad = None, partition.sizes < k
    else:
        person = table.person[kept]
        bad = count_people(labels, partition.n_groups, person) < k
    for model in privacy:
        for column in model.columns(table):
            # without the suppressed rows the whole is what is left, unless this is but a part
            whole = column.whole if everybody or column.of is not None else None
            verdict = judge(
                model.on(column),
                labels,
                partition.n_groups,
                column.codes[kept],
                column.size,
                people=person,
                whole=whole,
            )
            bad |= ~verdict.holds
        if model.about != "groups":
            bad |= model.broken(table, partition)
    return bad


def enforce(
    table: EncodedTable,
    partition: Partition,
    scanner: Scanner,
    k: int,
    privacy: Sequence[PrivacyModel],
    progress: Callable[[int, int, str], None],
) -> Partition:
    """Merge violating groups with their cheapest partner until all hold.

    In rounds: each violating group, in order, merges with the group whose union costs least more
    (unless an earlier merge of the round changed it); then all groups are judged again.
    Deterministic; the number of groups at least halves among the violating ones in each round.

    Raises:
        PromiseError: not even one group of all rows holds.
    """
    while True:
        bad = violations(table, partition, k, privacy)
        if not bad.any():
            return partition
        if partition.n_groups == 1:
            raise PromiseError(
                "The promise cannot be kept even with all published rows in one group; "
                "lower k or the privacy models' demands."
            )
        partition = merge_round(partition, scanner, bad, progress)


def merge_round(
    partition: Partition,
    scanner: Scanner,
    bad: NDArray[np.bool_],
    progress: Callable[[int, int, str], None],
) -> Partition:
    """Merge each of these groups with its cheapest partner, unless an earlier merge changed it."""
    state = GroupState(scanner, partition)
    touched = np.zeros(partition.n_groups, np.bool_)
    worklist = np.flatnonzero(bad)
    for done, g in enumerate(worklist):
        if done % 256 == 0:
            progress(done, len(worklist), "enforcing privacy")
        if touched[g]:
            continue
        h = state.nearest(int(g))
        state.merge(int(g), h)
        touched[g] = touched[h] = True
    labels = np.append(state.roots(), -1)[partition.labels]
    return Partition.from_labels(labels)


# Groups that are grown under promises, instead of merged until they hold.
#
# Merging is the wrong way round where a promise is tight: groups of similar rows have similar
# sensitive values, and only huge unions of them come near the whole table. Here the next row of a
# group is the cheapest one among those that bring it nearer to the promise (after t-closeness
# first, Soria-Comas et al. 2015, and SABRE, Cao et al. 2011, for any model that kernels know).
