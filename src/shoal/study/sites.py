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
from shoal.measure.base import CostMeasure, CostModel, Grouped
from shoal.measure.scores import create_measure
from shoal.publish.recode import Style, recode
from shoal.publish.verify import verify_table
from shoal.study.sites_process import Bounds, CostBook, Site, cost_book, together
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

__all__ = ["Message", "SitesRelease", "anonymize_sites"]


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
            f"All sites together have {table.n_rows} rows, fewer than k = {k}, so no k-anonymous "
            "release exists; lower k or add rows."
        )
    chosen = create_measure(measure)
    if not isinstance(chosen, CostMeasure) or chosen.needs_sensitive or chosen.of_means:
        raise OptionError(
            f"Measure {measure!r} cannot be minimised over sites; choose one that looks at cells "
            "alone, such as 'lm', 'ncp', 'il', 'whd' or 'suppression'."
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
    published = recode(union, schema, table, partition, Style())
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
                f"Column {attribute.name!r} has missing values or is published as sets, which "
                "clustering over sites does not do; fill or drop it, or give it another kind."
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
