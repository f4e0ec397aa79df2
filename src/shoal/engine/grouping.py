"""How the rows of a table are grouped on one machine: a line of functions over its codes.

A large table is cut into blocks of similar rows, the algorithm runs on every block in a thread of
its own (kernels release the GIL), and then groups of several blocks are refined together
(`shoal.engine.refine_across_blocks`). Groups that break a promise are merged with others: within
their block first, and against the whole table in the end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from shoal.algorithm.warm_up import MOVES, compile_missing
from shoal.engine.blocks import cluster_blocks, cut_table, enforce_blocks, run_algorithm
from shoal.engine.refine_across_blocks import cheaper, polish, polish_to_limit, polish_uncut
from shoal.errors import OptionError, PromiseError
from shoal.measure.base import Grouped
from shoal.messages import Message
from shoal.publish.recode import unite_equal
from shoal.search.enforce import enforce
from shoal.search.refine import EFFORTS
from shoal.search.scan import Effort, Run, Scanner
from shoal.table.partition import SUPPRESSED, Partition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from shoal.algorithm.base import Algorithm
    from shoal.engine.blocks import Blocks
    from shoal.privacy import PrivacyModel
    from shoal.settings.request import Request
    from shoal.table.encode import EncodedTable
    from shoal.table.schema import Schema

    Regroup = Callable[["LocalWork"], Partition]


SEAM = Effort(sweeps=2, min_gain=0.002)
"""How groups are refined across blocks, unless the algorithm refines by itself."""


@dataclass(frozen=True, eq=False)
class LocalWork:
    """A table that was described.

    Attributes:
        frame: the columns that are published untouched (and others, unless the run owns it).
        schema: roles and kinds of the columns.
        request: what is asked.
        algorithm: how rows are grouped.
        whole: every row, encoded.
        rows: rows that take part, in an order of the run's own.
        table: these rows, encoded.
        run: k, costs, chance, promises, threads, progress.
        coded: whether published text stays codes (see `shoal.io.columns`).
    """

    frame: pl.DataFrame
    schema: Schema
    request: Request
    algorithm: Algorithm
    whole: EncodedTable
    rows: NDArray[np.int64]
    table: EncodedTable
    run: Run
    coded: bool

    @property
    def published_schema(self) -> Schema:
        """What the columns of the published table are."""
        if not self.request.style.shuffles:
            return self.schema
        from shoal.publish.shuffled import schema_of_shuffled

        return schema_of_shuffled(self.schema)

    def without(self, rows: NDArray[np.int64], allowed: int) -> LocalWork:
        """Return the work on all but these rows of its table, of which more may be left out."""
        keep = np.ones(self.table.n_rows, np.bool_)
        keep[rows] = False
        left = np.flatnonzero(keep)
        run = self.run.part(left, max_suppressed=allowed)
        return replace(self, rows=self.rows[left], table=self.table.take(left), run=run)

    def part(self, rows: NDArray[np.int64], allowed: int) -> LocalWork:
        """Return the work on some rows, whose promises are judged against the whole table.

        Args:
            rows: of its table.
            allowed: how many of them may be left out.
        """
        most = None if self.run.max_suppressed is None else allowed
        run = self.run.part(rows, max_suppressed=most)
        return replace(self, rows=self.rows[rows], table=self.table.part(rows), run=run)

    def check_possible(self) -> None:
        """Raise a PromiseError if not even one group of all rows keeps the promises."""
        check_people(self.table.n_people, self.run.k, "people")
        check_promises(self.table, self.request.privacy)

    def in_input_order(self, groups: Partition) -> Partition:
        """Return the groups of all rows of the input, in its order."""
        labels = np.full(self.whole.n_rows, SUPPRESSED, np.int32)
        labels[self.rows] = groups.labels
        return Partition(labels, groups.n_groups, groups.recoded)


def check_people(number: int, k: int, what: str = "rows") -> None:
    """Raise a PromiseError if there are fewer rows, or people, than k."""
    if number < k:
        if what == "rows":
            raise PromiseError(
                "The table has {number} rows, fewer than k = {k}, so no k-anonymous release "
                "exists; lower k or add rows.",
                number=number,
                k=k,
            )
        raise PromiseError(
            "The table has rows of {number} people, fewer than k = {k}, so no k-anonymous release "
            "exists; lower k or add people.",
            number=number,
            k=k,
        )


def check_promises(part: EncodedTable, privacy: Iterable[PrivacyModel]) -> None:
    """Raise a PromiseError if not even one group of these rows keeps the promises."""
    for model in privacy:
        model.check_release(part)
        for column in model.columns(part):
            # a part of a table carries the counts of the whole table
            counts = np.bincount(column.codes, minlength=column.size).astype(np.int64)
            model.check_possible(replace(column, counts=counts))


def form_groups(work: LocalWork) -> Partition:
    """Cluster the table in blocks, keep the promises, and lower the loss across the blocks."""
    blocks = cut_table(work.table, work.algorithm, work.run, work.request.block_rows)
    groups = cluster(work, blocks)
    groups = merge_violating(work, groups, blocks)
    if not has_too_many(work, groups):
        groups = refine_blocks(work, groups, blocks)
    if has_too_many(work, groups):
        groups = refine_to_limit(work, groups, refine_steps(work)[-1])
    # blocks keep promises against their own rows; against the whole table they may not
    return merge_violating(work, groups)


def cluster(work: LocalWork, blocks: Blocks) -> Partition:
    """Run the algorithm on the whole table, or on every block in a thread of its own."""
    compile_missing(work.algorithm.compiles(work.run), work.run.scanner, work.run.progress)
    if blocks.whole:
        return run_algorithm(work.table, work.algorithm, work.run)
    return cluster_blocks(work.table, work.algorithm, work.run, blocks)


def merge_violating(work: LocalWork, groups: Partition, blocks: Blocks | None = None) -> Partition:
    """Merge groups that break a promise, against the rows of their block or of the table."""
    run, table = work.run, work.table
    if not run.privacy and blocks is not None and (table.person is None or blocks.layers):
        return groups  # algorithms see to k themselves
    if blocks is not None and not blocks.whole and blocks.layers is None:
        groups = enforce_blocks(table, run, blocks, groups)
    groups = enforce(table, groups, run.scanner, run.k, run.privacy, run.progress)
    while blocks is None and table.person is not None and run.privacy:
        # groups that publish the same are one to a reader, and may share people
        united = unite_equal(table, groups, work.request.style)
        if united.n_groups == groups.n_groups:
            break
        groups = enforce(table, united, run.scanner, run.k, run.privacy, run.progress)
    return groups if blocks is not None else _merge_for_release(work, groups)


def _merge_for_release(work: LocalWork, groups: Partition) -> Partition:
    """Merge groups until the promises about the release as a whole hold, if there are any."""
    run, models = work.run, work.request.privacy
    if all(model.about == "groups" for model in models):
        return groups
    kept = enforce(work.table, groups, run.scanner, run.k, models, run.progress)
    if groups.recoded and kept is not groups:
        run.warn(
            Message(
                "Algorithm {name!r} generalises whole columns; to keep {models} groups were "
                "merged, so that a column is no longer generalised alike in all rows.",
                name=work.algorithm.name,
                models=", ".join(m.label for m in models if m.about != "groups"),
            )
        )
    return kept


def refine_blocks(work: LocalWork, groups: Partition, blocks: Blocks) -> Partition:
    """Refine the groups of several blocks together, and small tables as a whole."""
    asked = work.request.refine
    steps = refine_steps(work) or (SEAM,)
    if not blocks.seamed:
        groups = polish_uncut(work.table, groups, work.run, work.algorithm, begin=blocks.whole)
        steps = steps if asked is not None and blocks.whole else ()
    return refine(work, groups, steps)


def groups_too_many(work: LocalWork, groups: Partition) -> float:
    """Return how many times more groups there are than promises allow; at most 1 if they do."""
    models = work.request.privacy
    return max((model.too_many(work.table, groups) for model in models), default=0.0)


def refine_steps(work: LocalWork) -> tuple[Effort, ...]:
    """Return how groups are refined: as is asked for, or else as the algorithm does."""
    asked = work.request.refine
    return work.algorithm.seams if asked is None else (EFFORTS[asked],)


def has_too_many(work: LocalWork, groups: Partition) -> bool:
    """Return whether the search is to end with fewer groups; without refinement it is not."""
    return bool(refine_steps(work)) and groups_too_many(work, groups) > 1


def refine_to_limit(work: LocalWork, groups: Partition, effort: Effort) -> Partition:
    """Refine groups until there are no more than a promise allows."""
    compile_missing(MOVES, work.run.scanner, work.run.progress)
    excess = partial(groups_too_many, work)
    return polish_to_limit(work.table, groups, work.run, effort, excess)


def refine(work: LocalWork, groups: Partition, steps: Sequence[Effort]) -> Partition:
    """Refine groups, one effort after the other."""
    if steps:
        compile_missing(MOVES, work.run.scanner, work.run.progress)
    for step in steps:
        groups = polish(work.table, groups, work.run, step)
    return groups


def refine_for_release(work: LocalWork, groups: Partition, effort: Effort) -> Partition:
    """Refine groups that are final, so that the release as a whole still keeps its promises."""
    found = refine(work, groups, (effort,))
    if groups_too_many(work, found) <= 1 or effort.seconds is not None:
        return _merge_for_release(work, found)
    found = _merge_for_release(work, refine_to_limit(work, found, effort))
    if groups_too_many(work, groups) > 1:
        return found
    return cheaper(work.run, _merge_for_release(work, groups), found)


def follow_measure(work: LocalWork, groups: Partition, regroup: Regroup) -> Partition:
    """Return the best of these groups and of those that the measure's rounds lead to.

    For measures that are no sum over columns: groups are formed anew with weights that follow them.

    Args:
        work: the table and what is asked.
        groups: its groups with the weights of the columns.
        regroup: forms groups of a work, whose weights may differ.
    """
    run, measure = work.run, work.run.model.measure
    if not measure.rounds:
        return groups
    best, most, last = groups, float("-inf"), groups
    for number in range(measure.rounds + 1):
        worth, weights = measure.follow(Grouped(work.table, last, run.model.target), number)
        if worth > most:
            best, most = last, worth
        if weights is None or number == measure.rounds:
            break
        model = replace(run.model, weights=weights)
        scanner = Scanner.build(work.table, model)
        last = regroup(replace(work, run=replace(run, model=model, scanner=scanner)))
    return best


# Groups that lie within the values of one column: each of its strata is grouped by itself.


def group_within(work: LocalWork, name: str, group: Regroup) -> Partition:
    """Return groups none of which has rows of two values of a column.

    Rows of values that have fewer than k people are left out, if so many may be. Of what may be
    left out beside them every stratum has its share.

    Args:
        work: the table and what is asked.
        name: the column; missing is a value, too.
        group: forms the groups of a work.

    Raises:
        OptionError: the column is not published exactly.
        PromiseError: a stratum cannot keep the promises by itself.
    """
    table, k = work.table, work.run.k
    column = next(each for each in table.attributes if each.name == name)
    if column.cells is not None or column.level is not None:
        raise OptionError(
            "Column {name!r} is published exactly, because groups lie within its values; leave out "
            "its grid (of floats and times by default_grid=False, --no-grid).",
            name=name,
        )
    parts = [np.flatnonzero(column.codes == code) for code in np.unique(column.codes)]
    small = [rows for rows in parts if table.take(rows).n_people < k]
    left_out, allowed = sum(map(len, small)), work.run.max_suppressed or 0
    if left_out > allowed or len(small) == len(parts):
        raise PromiseError(
            "{n_small} of the {n} values of column {name!r} have fewer than k = {k} people, so no "
            "group lies within them; join values, lower k, or let these {rows} rows be left out "
            "with max_suppression.",
            n_small=len(small),
            n=len(parts),
            name=name,
            k=k,
            rows=left_out,
        )
    labels = np.full(table.n_rows, SUPPRESSED, np.int32)
    recoded: dict[str, list[NDArray[np.int32]]] = {}
    n_groups, n_large = 0, table.n_rows - left_out
    for rows in parts:
        part = work.part(rows, (allowed - left_out) * len(rows) // n_large)
        if part.table.n_people < k:
            continue
        try:
            part.check_possible()
            found = group(part)
        except PromiseError as error:
            raise PromiseError(
                "A value of column {name!r} cannot keep a promise by itself: {error}",
                name=name,
                error=error,
            ) from None
        kept = found.labels >= 0
        labels[rows[kept]] = found.labels[kept] + n_groups
        n_groups += found.n_groups
        for each, nodes in found.recoded.items():
            recoded.setdefault(each, []).append(nodes)
    return Partition(labels, n_groups, {each: np.concatenate(of) for each, of in recoded.items()})


# Cells against attackers who know some of the quasi-identifiers, in place of groups.


def cells_against(work: LocalWork) -> Partition:
    """Return the rows that publish the same cells as groups; each combination keeps k.

    Groups of k that are alike in all columns keep every combination, too. They are published where
    they lose less, so that who is promised less never loses more.

    Raises:
        OptionError: there are too many combinations, or the measure cannot be followed.
    """
    from shoal.search.limited import cells_for, known_combinations

    request, run = work.request, work.run
    measure = run.model.measure
    if measure.needs_sensitive or measure.of_means or measure.rounds:
        raise OptionError(
            "Measure {name!r} looks at groups as a whole, which a release against attackers of "
            "limited knowledge has none of; choose one of single cells, such as 'ncp' or 'lm'.",
            name=measure.name,
        )
    compile_missing(("limited",), run.scanner, run.progress)
    names = [attribute.name for attribute in work.table.attributes]
    known = known_combinations(names, request.knows, request.combinations)
    found = [cells_for(work.table, run, known), form_groups(work)]
    return min(found, key=lambda each: measure.score(Grouped(work.table, each)))
