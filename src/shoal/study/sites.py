"""Sequential clustering of rows that several sites hold, none of which sees another's rows.

Goldberger and Tassa (2010, section 9) announce that sequential clustering works where a table is
distributed over sites. Here every site is a process of its own that holds a part of the rows; a
coordinator carries messages between them and keeps no row. What is computed is Algorithm 1 on the
union: a site goes through its own records, moves each to the cluster where the loss of *all* rows
falls most, and then the next site does. One round of all sites is one pass.

What is known beforehand by all: the code book, that is, the columns, the values or the range of
each and their hierarchies; k and the measure; how many sites there are.

What the coordinator learns: per cluster and site how many records the site has in it and what
these generalise to (the lowest and the highest value in each column); how often records moved.
What a site learns about the others: per cluster their number of records and what these generalise
to, all other sites taken together; which clusters were split and united; in the end the published
view. With two sites "all others together" is the one other site. Where the others have a single
record in a cluster, what it generalises to *is* that record, and a site can follow from round to
round how a cluster changes. So this keeps rows at their sites, but it does not hide them from a
curious site: nothing here is encrypted. Hiding the bounds needs secure sums and minima, which the
authors' later work uses and this does not.
"""

from __future__ import annotations

import multiprocessing
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import narwhals as nw
import numpy as np

from shoal.errors import DataError, OptionError, PromiseError
from shoal.measure.base import CostMeasure, CostModel, Grouped, IndicatorForm, LinearForm, TreeForm
from shoal.measure.scores import create_measure
from shoal.publish.recode import Style, recode
from shoal.publish.verify import verify_table
from shoal.table.encode import encode
from shoal.table.frames import to_polars
from shoal.table.infer import infer_kinds
from shoal.table.partition import Partition
from shoal.table.schema import build_schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from shoal.publish.verify import Verification
    from shoal.table.encode import EncodedTable


# One site of a clustering over sites: what runs in its process, on its own rows.

NOTHING = np.iinfo(np.int64).max
DIGITS = 9
"""Differences of costs beyond this many decimals are rounding errors of long sums."""


class Bounds(NamedTuple):
    """How many records each cluster has, and the lowest and highest code in each column.

    Leaves of a tree are numbered so that the common node of some follows from the first and the
    last of them; so these bounds are what a cluster generalises to, whatever the columns are.
    """

    sizes: NDArray[np.int64]  # [clusters]
    low: NDArray[np.int64]  # [clusters, columns]
    high: NDArray[np.int64]


def together(parts: Sequence[Bounds]) -> Bounds:
    """Return the bounds of the clusters of several sites taken together."""
    if not parts:
        return Bounds(np.zeros(0, np.int64), np.zeros((0, 0), np.int64), np.zeros((0, 0), np.int64))
    return Bounds(
        np.sum([part.sizes for part in parts], axis=0),
        np.min([part.low for part in parts], axis=0),
        np.max([part.high for part in parts], axis=0),
    )


@dataclass(frozen=True)
class CostBook:
    """What a record of a cluster costs, by the bounds of the cluster: part of the code book.

    Attributes:
        places: per column the position of each code, None for other columns than intervals.
        pairs: per column the cost of every pair of first and last leaf, None for other columns
            than trees of a moderate size.
        flat: per column what a cell costs that is not a single value, for all others.
    """

    places: tuple[NDArray[np.float64] | None, ...]
    pairs: tuple[NDArray[np.float64] | None, ...]
    flat: tuple[float, ...]

    def cost(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return what a record costs in each of some clusters."""
        total = np.zeros(len(low))
        columns = zip(self.places, self.pairs, self.flat, low.T, high.T, strict=True)
        for place, pair, full, first, last in columns:
            if place is not None:
                total += place[last] - place[first]
            elif pair is not None:
                total += pair[first, last]
            else:
                total += full * (first != last)
        return total


def cost_book(table: EncodedTable, model: CostModel) -> CostBook:
    """Return the costs of a measure, weights included."""
    places: list[NDArray[np.float64] | None] = []
    pairs: list[NDArray[np.float64] | None] = []
    flat: list[float] = []
    for attribute, form, weight in zip(table.attributes, model.forms, model.weights, strict=True):
        place, pair, full = None, None, 0.0
        if isinstance(form, LinearForm):
            place = form.position * float(weight)
        elif isinstance(form, IndicatorForm):
            full = form.full * float(weight)
        else:
            assert isinstance(form, TreeForm)
            tree = attribute.taxonomy
            assert tree is not None
            if tree.tree_height <= 1:
                full = float(form.node[tree.root] * weight)
            else:
                leaves = np.arange(tree.n_leaves)
                first, last = np.minimum.outer(leaves, leaves), np.maximum.outer(leaves, leaves)
                pair = form.node[tree.lca_of_range(first, last)] * float(weight)
        places.append(place)
        pairs.append(pair)
        flat.append(full)
    return CostBook(tuple(places), tuple(pairs), tuple(flat))


class Site:
    """A site: its rows and the cluster of each. Nothing here leaves but what a method returns."""

    def __init__(self, codes: NDArray[np.int64], book: CostBook, chance: list[int]) -> None:
        self.codes, self.book = codes, book
        self.rng = np.random.default_rng(chance)
        self.label = np.zeros(len(codes), np.int64)
        self.n_clusters = 0

    @classmethod
    def serve(cls, line: Any, codes: NDArray[np.int64], book: CostBook, chance: list[int]) -> None:
        """Answer messages until the end; this is what the process of a site runs."""
        site = cls(codes, book, chance)
        while True:
            what, given = line.recv()
            if what == "end":
                return
            line.send(getattr(site, f"do_{what}")(*given))

    def do_start(self, n_clusters: int) -> Bounds:
        """Step 1: spread the site's records evenly over the clusters, by chance."""
        self.n_clusters = n_clusters
        order = self.rng.permutation(len(self.codes))
        clusters = self.rng.permutation(n_clusters)
        self.label[order] = clusters[np.arange(len(order)) % n_clusters]
        return self.bounds()

    def bounds(self) -> Bounds:
        """Return what the site tells: numbers and bounds of its records in each cluster."""
        shape = (self.n_clusters, self.codes.shape[1])
        low, high = np.full(shape, NOTHING), np.full(shape, -1)
        np.minimum.at(low, self.label, self.codes)
        np.maximum.at(high, self.label, self.codes)
        return Bounds(np.bincount(self.label, minlength=self.n_clusters), low, high)

    def do_pass(self, others: Bounds) -> tuple[int, Bounds]:
        """Steps 2 to 8 for the site's own records; returns how many moved."""
        own = self.bounds()
        if not len(others.sizes):  # the only site
            others = Bounds(
                np.zeros(self.n_clusters, np.int64),
                np.full_like(own.low, NOTHING),
                np.full_like(own.high, -1),
            )
        sizes, low, high = (x.copy() for x in together([own, others]))
        alive = sizes > 0
        costs = np.zeros(self.n_clusters)
        costs[alive] = sizes[alive] * self.book.cost(low[alive], high[alive])
        members: list[list[int]] = [[] for _ in range(self.n_clusters)]
        for i, g in enumerate(self.label.tolist()):
            members[g].append(i)
        moved = 0
        for i, row in enumerate(self.codes):
            j = int(self.label[i])
            rest = self._without([m for m in members[j] if m != i], j, others)
            # a cluster without records takes none
            some = np.flatnonzero((sizes > 0) & (np.arange(self.n_clusters) != j))
            if not len(some):
                continue
            rise = (sizes[some] + 1) * self.book.cost(
                np.minimum(low[some], row), np.maximum(high[some], row)
            ) - costs[some]
            best = int(np.argmin(np.round(rise, DIGITS)))  # ties go to the lowest cluster
            fall = costs[j]
            if sizes[j] > 1:
                fall -= (sizes[j] - 1) * self.book.cost(rest[0][None], rest[1][None])[0]
                if round(float(rise[best] - fall), DIGITS) >= 0:
                    continue
            h = int(some[best])
            self.label[i] = h
            members[j].remove(i)
            members[h].append(i)
            sizes[j], low[j], high[j] = sizes[j] - 1, rest[0], rest[1]
            costs[j] = costs[j] - fall if sizes[j] else 0.0
            sizes[h] += 1
            low[h], high[h] = np.minimum(low[h], row), np.maximum(high[h], row)
            costs[h] += rise[best]
            moved += 1
        return moved, self.bounds()

    def _without(
        self, rest: list[int], j: int, others: Bounds
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the bounds of a cluster of which the site has the rest of its records."""
        if not rest:
            return others.low[j], others.high[j]
        mine = self.codes[rest]
        return np.minimum(others.low[j], mine.min(axis=0)), np.maximum(
            others.high[j], mine.max(axis=0)
        )

    def do_split(self, large: NDArray[np.int64]) -> Bounds:
        """Step 9: give half of the site's records of each large cluster to a new one."""
        for place, g in enumerate(large.tolist()):
            members = self.rng.permutation(np.flatnonzero(self.label == g))
            half = (len(members) + int(self.rng.integers(2))) // 2
            self.label[members[:half]] = self.n_clusters + place
        self.n_clusters += len(large)
        return self.bounds()

    def do_unite(self, into: NDArray[np.int64]) -> None:
        """Steps 11 to 14: clusters that were united have one number."""
        self.label = into[self.label]

    def do_labels(self) -> NDArray[np.int64]:
        """Return the cluster of each record: the site needs it to generalise its own rows."""
        return self.label


class Message(NamedTuple):
    """One message between the coordinator and a site: who, what, and how many numbers.

    Attributes:
        site: the number of the site.
        to_site: whether it went to the site, or came from it.
        what: its kind.
        shapes: the shape of every array in it; no array has a line per row.
    """

    site: int
    to_site: bool
    what: str
    shapes: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False)
class SitesRelease:
    """A k-anonymous view of the union of all sites' rows.

    Attributes:
        frame: the published view; its order says nothing about sites or rows.
        groups: group of each row, site after site (each site knows its own part).
        n_groups: number of groups.
        loss: the measure's score of the union.
        passes: rounds until no record moved.
        messages: every message that was exchanged.
        verification: k-anonymity, checked on the view alone.
    """

    frame: pl.DataFrame
    groups: NDArray[np.int64]
    n_groups: int
    loss: float
    passes: int
    messages: tuple[Message, ...]
    verification: Verification

    def _repr_html_(self) -> str:
        from shoal.runtime.notebook import facts, share, shown

        about = [("Groups", f"{self.n_groups:,}"), ("Detail lost", share(self.loss))]
        return shown(facts(about)) + self.verification._repr_html_()


def anonymize_sites(
    tables: Sequence[Any],
    k: int,
    *,
    quasi_identifiers: Sequence[str],
    measure: str = "lm",
    hierarchies: Mapping[str, Any] | None = None,
    kinds: Mapping[str, str] | None = None,
    alpha: float = 0.5,
    omega: float = 1.5,
    max_passes: int = 100,
    seed: int = 0,
) -> SitesRelease:
    """Make a k-anonymous view of rows that several sites hold, each site in a process of its own.

    Args:
        tables: the rows of each site, all with the same columns.
        k: smallest group, over all sites together.
        quasi_identifiers: columns to generalise; only these are published.
        measure: what is lost: one that looks at the cells of a group only, such as ``lm``,
            ``ncp``, ``il``, ``whd`` or ``suppression``.
        hierarchies: trees of categorical columns.
        kinds: kinds of columns where the values do not tell.
        alpha: start size of clusters as a share of k.
        omega: largest size before a split, as a multiple of k.
        max_passes: stop after this many rounds.
        seed: of all chance.

    Raises:
        ShoalError: the input or an option is wrong, or there are fewer than k rows.
    """
    if not tables:
        raise OptionError("There is no site; give the table of each, as in [first, second].")
    frames = [to_polars(table).select(list(quasi_identifiers)) for table in tables]
    table, schema, union = _code_book(frames, list(quasi_identifiers), hierarchies, kinds)
    if table.n_rows < k:
        raise PromiseError(
            "All sites together have {n_rows} rows, fewer than k = {k}, so no k-anonymous "
            "release exists; lower k or add rows.",
            n_rows=table.n_rows,
            k=k,
        )
    chosen = create_measure(measure)
    if not isinstance(chosen, CostMeasure) or chosen.needs_sensitive or chosen.of_means:
        raise OptionError(
            "Measure {measure!r} cannot be minimised over sites; choose one that looks at "
            "cells alone, such as 'lm', 'ncp', 'il', 'whd' or 'suppression'.",
            measure=measure,
        )
    book = cost_book(table, CostModel.bind(chosen, table))
    codes = np.column_stack([a.codes.astype(np.int64) for a in table.attributes])
    cuts = np.cumsum([frame.height for frame in frames])[:-1]
    parts = np.split(codes, cuts)
    with _Coordinator(parts, book, seed) as coordinator:
        start = max(1, table.n_rows // max(1, round(alpha * k)))
        passes = coordinator.cluster(start, omega * k, max_passes)
        coordinator.unify(k)
        labels = coordinator.labels()
    partition = Partition.from_labels(labels)
    published, _ = recode(union, schema, table, partition, Style())
    verification = verify_table(
        published, people=None, k=k, quasi_identifiers=schema.quasi_identifiers, sensitive=()
    )
    return SitesRelease(
        published,
        partition.labels.astype(np.int64),
        partition.n_groups,
        chosen.score(Grouped(table, partition)),
        passes,
        tuple(coordinator.messages),
        verification,
    )


def _code_book(
    frames: list[pl.DataFrame],
    names: list[str],
    hierarchies: Mapping[str, Any] | None,
    kinds: Mapping[str, str] | None,
) -> tuple[EncodedTable, Any, pl.DataFrame]:
    """Return the union as codes: in a simulation the code book is read off the union."""
    import polars as pl

    if len({tuple(zip(f.columns, f.dtypes, strict=True)) for f in frames}) > 1:
        raise DataError("The tables of the sites have columns of different types; make them equal.")
    union = pl.concat(frames)
    schema = build_schema(
        union.columns, quasi_identifiers=names, hierarchies=hierarchies or {}, kinds=kinds or {}
    )
    schema = infer_kinds(schema, nw.from_native(union))
    table = encode(union, schema)
    for attribute in table.attributes:
        if attribute.has_missing or attribute.algebra == "set":
            raise DataError(
                "Column {name!r} has missing values or is published as sets, which clustering "
                "over sites does not do; fill or drop it, or give it another kind.",
                name=attribute.name,
            )
    return table, schema, union


class _Coordinator:
    """Carries messages between sites; knows numbers of records and bounds, and no row."""

    def __init__(self, parts: Sequence[NDArray[np.int64]], book: CostBook, seed: int) -> None:
        self.parts, self.book, self.seed = parts, book, seed
        self.messages: list[Message] = []
        self._open = ExitStack()

    def __enter__(self) -> Self:
        spawn = multiprocessing.get_context("spawn")
        self.lines = []
        for number, part in enumerate(self.parts):
            mine, theirs = spawn.Pipe()
            chance = [self.seed, number]
            process = spawn.Process(target=Site.serve, args=(theirs, part, self.book, chance))
            process.start()
            theirs.close()
            self.lines.append(mine)
            self._open.callback(process.join)
            self._open.callback(mine.close)
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def _ask(self, site: int, what: str, *given: Any) -> Any:
        """Send a site a message and wait for its answer; both are noted."""
        self._note(site, what, given, to_site=True)
        self.lines[site].send((what, given))
        answer = self.lines[site].recv()
        self._note(site, what, answer, to_site=False)
        return answer

    def _note(self, site: int, what: str, content: Any, *, to_site: bool) -> None:
        if what != "labels":  # the end: not part of the protocol, only of the simulation
            self.messages.append(Message(site, to_site, what, tuple(_shapes(content))))

    def cluster(self, n_clusters: int, limit: float, max_passes: int) -> int:
        """Steps 1 to 10 of Algorithm 1; returns how many rounds there were."""
        sites = range(len(self.parts))
        self.bounds: list[Bounds] = [self._ask(s, "start", n_clusters) for s in sites]
        passes = 0
        while passes < max_passes:
            passes += 1
            moved = 0
            for s in sites:
                others = together([b for other, b in enumerate(self.bounds) if other != s])
                more, self.bounds[s] = self._ask(s, "pass", others)
                moved += more
            self._split(limit)
            if not moved:
                break
        return passes

    def _split(self, limit: float) -> None:
        """Step 9: each site parts its records of a large cluster by chance."""
        large = np.flatnonzero(together(self.bounds).sizes > limit)
        if len(large):
            self.bounds = [self._ask(s, "split", large) for s in range(len(self.parts))]

    def unify(self, k: int) -> None:
        """Steps 11 to 14, from numbers and bounds alone."""
        all_of_it = together(self.bounds)
        into = np.arange(len(all_of_it.sizes))
        sizes, low, high = (x.copy() for x in all_of_it)

        def nearest(g: int, among: NDArray[np.int64]) -> tuple[float, int]:
            both_low, both_high = np.minimum(low[among], low[g]), np.maximum(high[among], high[g])
            more = (sizes[among] + sizes[g]) * self.book.cost(both_low, both_high)
            more -= sizes[among] * self.book.cost(low[among], high[among])
            best = int(np.argmin(more))
            own = float(sizes[g] * self.book.cost(low[g : g + 1], high[g : g + 1])[0])
            return float(more[best]) - own, int(among[best])

        def join(a: int, b: int) -> None:
            low[a], high[a] = np.minimum(low[a], low[b]), np.maximum(high[a], high[b])
            sizes[a] += sizes[b]
            sizes[b] = 0
            into[into == b] = a

        while True:
            small = np.flatnonzero((sizes > 0) & (sizes < k))
            if len(small) < 2:
                break
            pairs = [(*nearest(int(g), small[small != g]), int(g)) for g in small]
            _, b, a = min(pairs)
            join(min(a, b), max(a, b))
        others = np.flatnonzero(sizes >= k)
        for g in small.tolist():
            if len(others):
                join(nearest(g, others)[1], g)
        for s in range(len(self.parts)):
            self._ask(s, "unite", into)

    def labels(self) -> NDArray[np.int64]:
        """Return the group of every row, for the published view."""
        found = [self._ask(s, "labels") for s in range(len(self.parts))]
        for line in self.lines:
            line.send(("end", ()))
        return np.concatenate(found)


def _shapes(content: Any) -> list[tuple[int, ...]]:
    if isinstance(content, np.ndarray):
        return [content.shape]
    if isinstance(content, tuple | list):
        return [shape for part in content for shape in _shapes(part)]
    return [()]
