"""Sequential clustering, also with ℓ-diversity (Goldberger and Tassa 2010)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from shoal.algorithm.agglomerative import unify_small_clusters
from shoal.algorithm.base import Algorithm, check_choice
from shoal.errors import OptionError
from shoal.kernels.sequential import Looks, Recent, list_recent, sequential_pass, split_off
from shoal.messages import Message
from shoal.privacy.arrays import PrivateArrays
from shoal.privacy.l_diversity import LDiversity
from shoal.search.enforce import GroupState, enforce, open_groups, violations
from shoal.table.partition import Partition

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from shoal.search.scan import Run
    from shoal.table.encode import EncodedTable


SLICE_JOINS = 20_000_000
ALPHA, PROMISED_ALPHA = 0.5, 2.0
STEPS = 16  # start sizes that are tried one after the other, before larger and larger steps
FEW = 0.1
"""A result with a smaller share of the groups that there could be has stalled."""
NO_LIMIT = 1 << 62
Rounding = Literal["random", "balanced"]
Split = Literal["after", "at once"]
Ties = Literal["stay", "move"]


@dataclass(frozen=True, kw_only=True)
class Sequential(Algorithm):
    """Start with random small clusters and move record by record to where it costs least.

    Algorithm 1 of the paper: a random partition into clusters of α·k records; passes over all
    records, each moving to the cluster that lowers the total cost most; clusters above ω·k are
    split at random after each pass; when nothing moves, small clusters are unified, closest first.
    With privacy models, Algorithm 2: start and splits keep the distribution of the sensitive
    values (Algorithm 3), and records only move where both clusters keep every model.

    Readings: the start size is at least 1; a record alone in its cluster moves to the best other
    one and the cluster is dissolved; with start size 1 there is nothing to move, and the algorithm
    is the agglomerative one. With privacy models the start is larger than published unless
    ``alpha`` says otherwise. If the start does not hold ℓ-diversity by frequency, the result is one
    cluster of all rows (step 3), with a warning; for the other models, which the paper does not
    treat, violating start clusters are merged at least cost instead.

    Where k is large for what a few columns without hierarchies can tell, every random cluster is
    generalised completely, no move changes anything, and the result is one group. So a result
    without privacy models of which fewer than a tenth of the groups that there could be (n/k, or
    as many as there are different rows) can be told apart is tried again with ``ties="move"``; the
    cheaper one counts, and if that has so few groups too, there is a warning.

    Algorithm 3 rounds every value by itself, so a cluster may get one row more of the most frequent
    value and one less of others, and the start is less diverse than the table: with the 16 values
    of education in Adult 2.3 where the table has 3.06. ``rounding="balanced"`` deals the rows out
    in turn, value after value, the most frequent first: every value and every cluster is rounded
    by less than one row, and the clusters that get one more of the most frequent value are the
    larger ones. If that start does not hold the models either, start sizes are tried at which the
    most frequent value needs no rounding.

    Guarantee: every cluster has at least k records and satisfies the privacy models.
    Cost: O(n²/k) joins per pass; typically ten to thirty passes.
    Determinism: given the seed; ties go to the lowest cluster number.

    Args:
        alpha: start size as a share of k; by default 0.5, as published, and 2 with privacy models:
            small clusters of which each row is needed let none go, and what such a start loses
            is more than Mondrian does.
        omega: largest size before a split, as a multiple of k; above 1, at most 2.
        restarts: runs from different random starts; the best is kept.
        max_passes: stop moving records after this many passes.
        split: when clusters above ω·k are split: "after" a pass, as step 9 of Algorithm 1 has it
            (the default: it is the algorithm as printed), or "at once" when a record makes one too
            large, as section 6.3 reads; that loses 1 to 4 per cent less.
        ties: what a record does that no move would change anything for: "stay", as published, or
            "move" to the largest of the clusters that it costs nothing more to be in, if that is
            no smaller than its own. Clusters of equal cost then grow or are used up.
        rounding: how Algorithm 3 spreads the sensitive values over clusters, "random" as published
            or "balanced".
    """

    name = "sequential"
    title = "sequential clustering"
    citation = "Goldberger & Tassa 2010, Algorithms 1 to 3"

    alpha: float | None = None
    omega: float = 1.5
    restarts: int = 1
    max_passes: int = 100
    rounding: Rounding = "random"
    split: Split = "after"
    ties: Ties = "stay"

    def __post_init__(self) -> None:
        """Check the options."""
        if self.alpha is not None:
            _check("alpha", self.alpha, 0.0, 2.0)
        _check("omega", self.omega, 1.0, 2.0)
        for name, words in (("rounding", Rounding), ("split", Split), ("ties", Ties)):
            check_choice(self, name, get_args(words))
        for name in ("restarts", "max_passes"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise OptionError(
                    "{name} of 'sequential' must be a whole number of at least 1, got {value!r}.",
                    name=name,
                    value=value,
                )

    def partition(self, table: EncodedTable, run: Run) -> Partition:
        """Group the rows of a table; the best of ``restarts`` runs."""

        def cost(found: Partition) -> int:
            return int(GroupState(run.scanner, found).costs.sum())

        best = min((self._run_once(table, run, self.ties) for _ in range(self.restarts)), key=cost)
        if run.privacy or not has_stalled(table, run, best):
            return best
        if self.ties == "stay":
            best = min(best, self._run_once(table, run, "move"), key=cost)
        if has_stalled(table, run, best):
            run.warn(
                Message(
                    "'sequential' ended with few groups that differ, because hardly any move of a "
                    "record lowered the loss; lower k or use 'auto'."
                )
            )
        return best

    def _run_once(self, table: EncodedTable, run: Run, ties: Ties) -> Partition:
        alpha = self.alpha
        if alpha is None:
            alpha = PROMISED_ALPHA if run.privacy else ALPHA
        start_size = max(1, round(alpha * run.k))
        n_clusters = max(1, table.n_rows // start_size)
        if start_size == 1 and not run.privacy:
            alone = Partition(np.arange(table.n_rows, dtype=np.int32), table.n_rows)
            return unify_small_clusters(table, alone, run)
        initial = start_clusters(table, run, n_clusters, self.rounding)
        if initial is None:
            return Partition(np.zeros(table.n_rows, np.int32), 1)
        moves = _Moves(table, run, initial, self.rounding, self.split, ties)
        moved = moves.until_stable(self.omega * run.k, self.max_passes)
        return unify_small_clusters(table, moved, run)


def _check(name: str, value: object, low: float, high: float) -> None:
    number = float(value) if isinstance(value, int | float) else math.nan
    if isinstance(value, bool) or not math.isfinite(number) or not low < number <= high:
        raise OptionError(
            "{name} of 'sequential' must be above {low:g} and at most {high:g}, got {value!r}.",
            name=name,
            low=low,
            high=high,
            value=value,
        )


def start_clusters(
    table: EncodedTable, run: Run, n_clusters: int, rounding: Rounding = "random"
) -> Partition | None:
    """Step 1: a random partition; with privacy models one that holds them, None if impossible."""
    rows = np.arange(table.n_rows)
    if not run.privacy:
        labels = np.empty(table.n_rows, np.int32)
        order = run.rng.permutation(table.n_rows)
        sizes = np.full(n_clusters, table.n_rows // n_clusters)
        sizes[: table.n_rows % n_clusters] += 1
        labels[order] = np.repeat(np.arange(n_clusters, dtype=np.int32), sizes)
        return Partition(labels, n_clusters)
    values = private_values(table, run)
    split = balanced_split if rounding == "balanced" else diverse_split
    initial = Partition.from_labels(split(values, rows, n_clusters, run.rng))
    if not violations(table, initial, 1, run.privacy).any():
        return initial
    for fewer in _even_starts(values, n_clusters) if rounding == "balanced" else ():
        other = Partition.from_labels(balanced_split(values, rows, fewer, run.rng))
        if not violations(table, other, 1, run.privacy).any():
            return other
    if all(isinstance(m, LDiversity) and m.kind == "frequency" for m in run.privacy):
        run.warn(
            Message(
                "The demanded diversity is above that of the start clusters, so 'sequential' puts "
                "all rows into one group, as published; lower l, raise k, or use another algorithm."
            )
        )
        return None
    return enforce(table, initial, run.scanner, 1, run.privacy, run.progress)


def private_values(table: EncodedTable, run: Run) -> NDArray[np.int64]:
    """Return one code per combination of the sensitive values that the models look at."""
    columns = {id(column): column for model in run.privacy for column in model.columns(table)}
    codes = [column.codes for column in columns.values()]
    if not codes:
        return np.zeros(table.n_rows, np.int64)
    return Partition.of_equal_rows(codes[::-1]).labels.astype(np.int64)


def diverse_split(
    values: NDArray[np.int64], rows: NDArray[Any], t: int, rng: np.random.Generator
) -> NDArray[np.int32]:
    """Algorithm 3: split rows into t parts that each have nearly the distribution of all.

    Value j occurs p_j times; part i gets ⌈p_j/t⌉ or ⌊p_j/t⌋ of them, by a random permutation.
    """
    labels = np.empty(len(rows), np.int32)
    own = values[rows]
    order = np.argsort(own, kind="stable")
    _, starts, counts = np.unique(own[order], return_index=True, return_counts=True)
    for start, count in zip(starts, counts, strict=True):
        share = np.full(t, count // t)
        share[: count % t] += 1  # y_{1,j} … y_{t,j} of equation (24)
        x = share[rng.permutation(t)]  # equation (25)
        members = rng.permutation(order[start : start + count])
        labels[members] = np.repeat(np.arange(t, dtype=np.int32), x)
    return labels


def balanced_split(
    values: NDArray[np.int64], rows: NDArray[Any], t: int, rng: np.random.Generator
) -> NDArray[np.int32]:
    """Split rows into t parts by dealing them out in turn, the most frequent value first.

    Part i gets ⌈p_j/t⌉ or ⌊p_j/t⌋ of the p_j rows of value j, as in Algorithm 3, and ⌈n/t⌉ or ⌊n/t⌋
    rows in all. Which rows and which parts is up to chance.
    """
    own = values[rows]
    _, place, counts = np.unique(own, return_inverse=True, return_counts=True)
    frequent = np.argsort(np.argsort(-counts, kind="stable"), kind="stable")
    order = np.lexsort((rng.permutation(len(rows)), frequent[place]))
    labels = np.empty(len(rows), np.int32)
    labels[order] = rng.permutation(t).astype(np.int32)[np.arange(len(rows)) % t]
    return labels


def _even_starts(values: NDArray[np.int64], n_clusters: int) -> Iterator[int]:
    """Yield numbers of clusters at which all have the same share of the most frequent value."""
    most = int(np.bincount(values).max())
    each = max(1, most // n_clusters)
    tried = 0
    while True:
        parts = -(-most // each)
        if parts < 2:
            return
        yield parts
        tried += 1
        each += 1 if tried < STEPS else max(1, each // 4)


def places_of(partition: Partition, limit: float) -> int:
    """Return for how many clusters there is room in a pass, those of splits included."""
    if limit == NO_LIMIT:
        return partition.n_groups
    return partition.n_groups + len(partition.labels) // max(1, int(limit) // 2) + 1


def has_stalled(table: EncodedTable, run: Run, found: Partition) -> bool:
    """Return whether a costly result has far fewer groups that differ than there could be."""
    state = GroupState(run.scanner, found)
    rows = Partition.of_equal_rows([attribute.codes for attribute in table.attributes]).n_groups
    differ = np.unique(np.concatenate([c.astype(np.int64) for c in state.groups]), axis=1).shape[1]
    return bool(state.costs.any()) and differ < FEW * min(table.n_rows // run.k, rows)


class _Moves:
    """The state of the passes: clusters, their closures, costs and members."""

    def __init__(
        self,
        table: EncodedTable,
        run: Run,
        initial: Partition,
        rounding: Rounding = "random",
        split: Split = "after",
        ties: Ties = "stay",
    ) -> None:
        self.table = table
        self.at_once, self.ties = split == "at once", ties == "move"
        self.split = balanced_split if rounding == "balanced" else diverse_split
        self.run = run
        self.private = PrivateArrays.of(table, run.privacy)
        self.values = private_values(table, run) if run.privacy else None
        self.partition = initial
        n = table.n_rows
        self.looks = Looks(np.full(n, -2, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64))
        self.changed = np.ones(initial.n_groups, np.bool_)  # clusters that did in the last pass

    def until_stable(self, limit: float, max_passes: int) -> Partition:
        """Steps 2 to 10."""
        for number in range(max_passes):
            moved = self._pass(number, limit if self.at_once else NO_LIMIT)
            self._split_large(limit)
            if not moved:
                break
        return self.partition

    def _pass(self, number: int, limit: float = NO_LIMIT) -> int:
        """Steps 2 to 8: one pass over all records; returns how many moved.

        Clusters that come above the limit are split at once, as long as there are places.
        """
        scanner, run = self.run.scanner, self.run
        n, g = self.table.n_rows, places_of(self.partition, limit)
        groups = open_groups(scanner, self.partition, self.private, g)
        self.changed = np.append(self.changed, np.zeros(g - len(self.changed), np.bool_))
        scratch = scanner.scratch(g, len(self.private.rules.whole))
        recent = Recent(
            scanner.groups(g),
            np.empty_like(groups.hists),
            np.empty_like(groups.costs),
            np.empty(g, np.int64),
            np.empty(g, np.int64),
            np.zeros(1, np.int64),
            self.changed,
        )
        list_recent(groups, scratch.query, recent)
        step = max(1, SLICE_JOINS // max(g, 1))
        moved = 0
        at = slice_end = 0
        while at < n:
            if at >= slice_end:
                run.progress(at, n, Message("pass {n}", n=number + 1))
                slice_end = at + step
            more, following = sequential_pass(
                scanner.records,
                groups,
                self.private.rules,
                self.looks,
                recent,
                at,
                min(n, slice_end),
                number,
                self.ties,
                int(limit),
                scratch,
            )
            moved += more
            if more and groups.size[groups.label[following - 1]] > limit:
                rows = np.flatnonzero(groups.label == groups.label[following - 1])
                away, free = self._half(rows), np.flatnonzero(groups.size == 0)
                if away is not None and len(free):
                    target, query = int(free[0]), scratch.query
                    rules = self.private.rules
                    split_off(scanner.records, groups, rules, away, target, recent, query)
            at = following
        # dissolved clusters leave gaps: renumber the others in order
        self.changed = self.changed[groups.size > 0]
        self.partition = Partition.from_labels(groups.label)
        return moved

    def _split_large(self, limit: float) -> None:
        """Step 9: split every cluster above the limit into two random halves."""
        partition = self.partition
        labels = partition.labels.copy()
        n_groups = partition.n_groups
        split = []
        for g in np.flatnonzero(partition.sizes > limit):
            away = self._half(partition.rows_of(int(g)))
            if away is None:
                continue
            labels[away] = n_groups
            split += [int(g), n_groups]
            n_groups += 1
        self.changed = np.append(self.changed, np.ones(n_groups - partition.n_groups, np.bool_))
        self.changed[split] = True  # both halves are new to every record
        self.partition = Partition(labels, n_groups)

    def _half(self, rows: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Return a random half of a cluster's rows, None if a half could not stand."""
        if self.values is None:
            return self.run.rng.permutation(rows)[: len(rows) // 2]
        half = self.split(self.values, rows, 2, self.run.rng)
        pair = Partition.from_labels(half)
        # values that occur once may all have gone to the same half
        if pair.n_groups < 2 or self._breaks_a_model(rows, pair):
            return None
        away: NDArray[np.int64] = rows[half == 1]
        return away

    def _breaks_a_model(self, rows: NDArray[np.int64], halves: Partition) -> bool:
        return bool(violations(self.table.take(rows), halves, 1, self.run.privacy).any())
