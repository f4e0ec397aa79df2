"""The engine of many machines; see `shoal.engine.pipeline.Engine` for the stages.

Spark counts values and tuples; the driver makes a small rule of them that says which block a row
belongs to; workers group the rows of each block with the kernels of one machine, as one machine
would; groups then meet others in regions that are cut elsewhere, and are refined there and
published. Only the first rows come to the driver, to look for what no promise covers.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from secrets import token_bytes
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.algorithm.base import create_algorithm
from shoal.algorithm.incognito import check_levels
from shoal.engine.blocks import refused_blocks
from shoal.engine.grouping import check_people
from shoal.engine.pipeline import Measured, Task
from shoal.engine.spark.block import cluster_block
from shoal.engine.spark.check import verify_frame
from shoal.engine.spark.cut import BLOCK_ROWS, cut_rows, one_block
from shoal.engine.spark.domain import (
    columns_of,
    encoded,
    find_domains,
    find_target,
    nothing_missing,
    placed_rows,
    style_of,
    tuple_sizes,
    whole_table,
    with_counts,
)
from shoal.engine.spark.folder import laid_out
from shoal.engine.spark.full_domain import choose_levels, raised_rows, told_by_levels
from shoal.engine.spark.plan import Parts, Plan
from shoal.engine.spark.population_check import AboutAll, bound_models, check_whole, counted_models
from shoal.engine.spark.regions import finished_rows, named_rows, regroup_regions, titles_of
from shoal.engine.spark.release_wide_promises import keep_whole
from shoal.engine.spark.session import (
    check_frame,
    frame_of_rows,
    full_domain,
    guarded,
    load_functions,
    may_leave_out,
    needs_target,
    refuse,
    refuse_columns,
)
from shoal.engine.spark.tally import (
    Tallies,
    find_dangers,
    first_rows,
    related_columns,
    shown_groups,
    signs_of_first_rows,
    told_by_regions,
)
from shoal.errors import DataError, PromiseError
from shoal.measure.scores import create_cost_measure
from shoal.messages import Message
from shoal.publish.release_data import doubts_of_pseudonyms
from shoal.publish.verification_terms import grids_of, promises_of, trees_of
from shoal.table.encode import EncodedTable
from shoal.table.person_key import KEY_BYTES
from shoal.table.scale import rescaled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from shoal.engine.spark.plan import Named
    from shoal.engine.spark.population_check import Whole
    from shoal.publish.judgement import Doubt
    from shoal.publish.verify import Verification
    from shoal.settings.request import Request


def follow_measure(
    plan: Plan,
    first: SparkGroups,
    anew: Callable[[Plan], SparkGroups],
    drop: Callable[[SparkGroups], None],
) -> SparkGroups:
    """Return the best of these groups and of those that the measure's rounds lead to.

    What `shoal.engine.local` does on one machine: a round is a run of all blocks and regions,
    and what it is worth follows from the sums that the regions told.

    Args:
        plan: what workers are told.
        first: groups with the weights of the columns.
        anew: forms groups by a plan, whose weights may differ.
        drop: gives up groups that are not the best.
    """
    name = plan.request.measure
    measure = create_cost_measure(name, plan.request.measure_options)
    if not measure.rounds:
        return first
    assert plan.target is not None
    own = np.array([each.weight for each in plan.attributes])
    best, most, last = first, float("-inf"), first
    for number in range(measure.rounds + 1):
        lost = list(last.tallies.scores().by_column[name].values())
        worth, weights = measure.follow_columns(lost, plan.target.scored, own, number)
        if worth > most:
            if last is not best:
                drop(best)
            best, most = last, worth
        else:
            drop(last)
        if weights is None or number == measure.rounds:
            break
        last = anew(replace(plan, weights=weights))
    return best


class SparkEngine:
    """Apache Spark.

    Args:
        key: columns of the table by which the holder finds rows in ``release.groups``.
    """

    def __init__(self, key: Sequence[str] = ()) -> None:
        self.key = tuple(key)
        self.read: tuple[str, ...] = ()
        self.about_all: AboutAll | None = None
        self._held: list[Any] = []

    def forget(self) -> None:
        """Give the disks of the workers back; the release cannot be read from Spark any more."""
        while self._held:
            self._held.pop().unpersist()

    def describe(self, task: Task[Any]) -> SparkWork:
        """Count values, and replace them by codes where the rows are."""
        table, schema, request, warn, progress = task
        frame = check_frame(table)
        refuse(request, schema, frame)
        self.read = tuple(frame.inputFiles())  # none of them is written over
        some = first_rows(frame, schema, request)
        for sign in signs_of_first_rows(some, schema, request):
            warn(sign)
        domains = find_domains(frame, schema, request, warn)
        if full_domain(request):
            check_levels(domains.attributes)
        n_rows = int(domains.attributes[0].counts.sum())
        if not n_rows:
            raise DataError("The table has no rows; there is nothing to anonymize.")
        check_people(n_rows, request.k)
        schema = domains.schema
        about_all = counted_models(request.privacy, schema.quasi_identifiers)
        fewer = request.max_suppression > 0 or may_leave_out(request)
        columns = columns_of(schema, domains.attributes, self.key, tuples=fewer)
        search = rescaled(EncodedTable(0, domains.attributes, ()), schema)
        values = tuple(model for model in request.privacy if model.about == "groups")
        seed = request.seed if request.seed is not None else secrets.randbits(62)
        plan = Plan(
            schema=schema,
            request=replace(request, seed=None, person_key=None, privacy=values, details={}),
            columns=columns,
            attributes=domains.attributes,
            searched=search.attributes,
            sensitive=domains.sensitive,
            codings=domains.codings,
            sensitive_codings=domains.sensitive_codings,
            styles=tuple(style_of(each, request.style) for each in domains.attributes),
            cells=domains.cells,
            n_rows=n_rows,
            shown=0,
            seed=seed,
            deviations=domains.deviations,
            secret=(request.person_key or token_bytes(KEY_BYTES)) if schema.pseudonyms else b"",
        )
        refuse_columns(plan, request.privacy)
        if request.pseudonyms:
            for doubt in doubts_of_pseudonyms(kept=request.person_key is not None):
                warn(doubt)
        rows = self._held_on_disk(encoded(frame, plan, self.key))
        wholes = bound_models(plan, about_all)
        self.about_all = AboutAll(about_all, schema, request.style) if about_all else None
        work = SparkWork(plan, rows, n_rows, wholes, warn, progress, some, self.about_all)
        plan = with_counts(plan, work.taking_part)
        needed = request.measure if needs_target(request) else None
        target = find_target(plan, rows, work.taking_part, needed=needed)
        return self._with_people(replace(work, plan=replace(plan, target=target)), request)

    def _with_people(self, work: SparkWork, request: Request) -> SparkWork:
        """Look at who takes part, and whether promises can be kept at all."""
        plan, functions = work.plan, load_functions()
        if request.missing == "error":
            bad = work.rows.filter(~nothing_missing(plan)).count()
            if bad:
                names = [repr(a.name) for a in plan.attributes if a.has_missing]
                raise DataError(
                    "{bad} rows have a missing quasi-identifier (in {names}) and "
                    "missing='error' was asked for; fill them or use missing='category'.",
                    bad=bad,
                    names=", ".join(names),
                )
        if request.missing == "suppress":
            check_people(work.taking_part.count(), request.k)
        if plan.columns.person:
            people = work.taking_part.agg(functions.count_distinct("w")).head()[0]
            check_people(people, request.k, "people")
        elif work.wholes:
            people = work.taking_part.count()
        if work.wholes:
            check_whole(plan, work.wholes, people)
        whole = whole_table(plan)
        for model in plan.request.privacy:
            for column in model.columns(whole):
                model.check_possible(replace(column, counts=column.whole, people=None))
        return work

    def _held_on_disk(self, frame: Any) -> Any:
        from pyspark import StorageLevel

        frame = frame.persist(StorageLevel.DISK_ONLY)
        self._held.append(frame)
        return frame

    def group(self, work: SparkWork) -> SparkGroups:
        """Cluster blocks in workers, and let their groups meet others in regions cut elsewhere.

        Every block keeps the promises by itself, against the whole table, and leaves its share of
        rows out. If the measure has rounds, the best one counts.
        """
        found = follow_measure(
            work.plan,
            self._form_groups(work),
            lambda plan: self._form_groups(replace(work, plan=plan)),
            self._drop,
        )
        self._warn_of_suppressed(work, found.tallies)
        return found

    def _form_groups(self, work: SparkWork) -> SparkGroups:
        parts = self._cut(work)
        if full_domain(work.plan.request):
            return self._generalise_columns(work)
        return self._refine_regions(work, self._cluster(work, parts))

    def _cut(self, work: SparkWork) -> Parts:
        """Cut the table into blocks of similar rows, by a rule of a few kilobytes."""
        request = work.plan.request
        asked = request.block_rows
        if full_domain(request):
            if asked is not None and asked < work.n_rows:
                raise refused_blocks(create_algorithm(request.algorithm))
            return one_block()
        rows = max(BLOCK_ROWS if asked is None else asked, 4 * int(work.plan.request.k))
        if work.n_rows <= rows:
            return one_block()
        work.progress(0, work.n_rows, "cutting into blocks")
        return cut_rows(work.plan, work.taking_part, rows)

    def _generalise_columns(self, work: SparkWork) -> SparkGroups:
        """Choose the levels of whole columns from counts, on the driver; groups follow."""
        chosen = choose_levels(work.plan, work.taking_part, work.progress)
        raised = self._held_on_disk(raised_rows(work.plan, work.rows, chosen.levels))
        tallies = told_by_levels(work.plan, chosen, work.rows, raised)
        return SparkGroups(raised, work.plan.columns.keys, tallies, (raised,))

    def _cluster(self, work: SparkWork, parts: Parts) -> ClusteredRows:
        """Run the algorithm on every block, in the worker that has its rows."""
        from pyspark.sql import types

        plan, functions = work.plan, load_functions()
        names = plan.columns.carried
        placed = placed_rows(plan, work.taking_part, parts.blocks)
        fields = [work.rows.schema[name] for name in names]
        added = [types.StructField(name, types.LongType()) for name in ("g", "r")]
        has_many = "m" in placed.columns

        def group(key: Any, rows: Any) -> Any:
            found = cluster_block(plan, parts, key[0].as_py(), rows.drop_columns("b"))
            return found.drop_columns("m") if has_many else found

        n_parts = min(2 * parts.blocks.n_blocks, 20_000)
        clustered = (
            placed.repartition(n_parts, "b")
            .groupBy("b")
            .applyInArrow(guarded(group), types.StructType([*fields, *added]))
        )
        if plan.request.missing == "suppress":
            left_out = work.rows.filter(~nothing_missing(plan)).select(
                *names,
                functions.lit(-1).cast("long").alias("g"),
                functions.pmod("h", functions.lit(parts.regions.n_blocks).cast("long")).alias("r"),
            )
            clustered = clustered.unionByName(left_out)
        return ClusteredRows(clustered, parts)

    def _refine_regions(self, work: SparkWork, groups: ClusteredRows) -> SparkGroups:
        """Refine groups across blocks; and since all rows of a group are there, write its cells."""
        plan, request = work.plan, work.plan.request
        regions, seamed = groups.parts.regions, groups.parts.seamed
        rows, n_held = groups.rows, len(self._held)
        if request.privacy and (plan.columns.tuples or plan.columns.person):
            rows = self._held_on_disk(rows)
        if request.privacy and plan.columns.tuples:
            plan = with_counts(plan, rows.filter("g >= 0"))
            seamed = True  # rows that were left out change what the others are compared with
        if plan.columns.person and request.privacy and regions.n_blocks > 1:
            seamed = True  # a person may have rows in several of them
        plan = replace(plan, shown=shown_groups(regions.n_blocks))
        work.progress(0, work.n_rows, "clustering blocks")
        region_of: NDArray[np.int64] | None = np.arange(regions.n_blocks)
        if work.wholes:
            rows = self._held_on_disk(rows)
        while region_of is not None:
            grouped, placed, refining = rows, region_of, seamed
            if work.wholes:
                hold, wholes = self._held_on_disk, work.wholes
                grouped, united = keep_whole(plan, wholes, rows, region_of, hold, seamed=seamed)
                if united is not None:
                    region_of = united
                    continue
                placed, refining = np.arange(len(region_of)), False
            finished = self._held_on_disk(
                finished_rows(plan, grouped, work.rows.schema, placed, seamed=refining)
            )
            tallies = Tallies(plan, *told_by_regions(finished))
            region_of = regroup_regions(plan, finished, region_of)
        return SparkGroups(finished, plan.columns.keys, tallies, tuple(self._held[n_held:]))

    def _drop(self, groups: SparkGroups) -> None:
        """Give up groups that are not published."""
        for each in groups.held:
            each.unpersist()
            self._held.remove(each)

    @staticmethod
    def _warn_of_suppressed(work: SparkWork, tallies: Tallies) -> None:
        request = work.plan.request
        by_itself = may_leave_out(request) and not request.max_suppression > 0
        if by_itself and tallies.n_suppressed:
            work.warn(
                Message(
                    "Algorithm {algorithm!r} leaves out {n_suppressed} of {n_rows} rows, as "
                    "published; a max_suppression above 0 limits that.",
                    algorithm=request.algorithm,
                    n_suppressed=tallies.n_suppressed,
                    n_rows=work.n_rows,
                )
            )

    def find_dangers(self, work: SparkWork, groups: SparkGroups) -> list[Doubt]:
        """Return a sentence for each published column that can undo the release."""
        found = find_dangers(work.plan, groups.rows)
        losses = groups.tallies.scores().by_column["ncp"]
        coarser = [name for name, loss in losses.items() if loss > 0]
        named = [each.point.column or "" for each in found]
        return [*found, *related_columns(work.first_rows, work.plan.schema, coarser, named)]

    def publish(self, work: SparkWork, groups: SparkGroups) -> SparkPublished:
        """Return the rows that are not left out as a table, in an order of its own.

        Raises:
            DataError: they are not the rows that were counted.
        """
        plan, tallies = work.plan, groups.tallies
        if tallies.n_rows != work.n_rows:
            raise DataError(
                "The table had {n_rows:,} rows at first and {n_rows2:,} in the end; give a "
                "table that stays the same while it is read (write it down first).",
                n_rows=work.n_rows,
                n_rows2=tallies.n_rows,
            )
        frame = laid_out(groups.rows, titles_of(plan), tallies.n_published)
        return SparkPublished(frame, named_rows(plan, groups.rows))

    def verify(self, work: SparkWork, published: SparkPublished) -> Verification:
        """Check every promise again, from the published table alone."""
        plan, request = work.plan, work.plan.request
        found = verify_frame(
            published.people.frame,
            k=int(request.k),
            quasi_identifiers=plan.schema.quasi_identifiers,
            sensitive=plan.schema.sensitive,
            promises=promises_of(request.privacy, trees_of(plan.schema)),
            grids=grids_of(plan.schema, request.style),
            person=published.people.person,
            about_all=work.about_all,
        )
        broken = " ".join(check.sentence for check in found.checks if not check.holds)
        if broken and work.wholes and full_domain(request):
            raise PromiseError(
                "At the levels that algorithm {algorithm!r} has chosen a promise about the "
                "release as a whole does not hold: {broken} Spark merges no groups of it; ask "
                "for a larger k, promise less, or use the engine of one machine.",
                algorithm=request.algorithm,
                broken=broken,
            )
        return found

    def measure(self, work: SparkWork, groups: SparkGroups, published: SparkPublished) -> Measured:
        """Add up what the regions told."""
        del published
        tallies = groups.tallies
        return Measured(
            schema=work.plan.schema,
            n_rows=tallies.n_rows,
            n_groups=tallies.n_groups,
            n_suppressed=tallies.n_suppressed,
            scores=tallies.scores(),
            facts=tallies.facts(self._tuple_sizes(work, groups)),
            bound=None,
        )

    def groups_by_key(self, groups: SparkGroups) -> Any:
        """Return the group of each row beside its key; None without a key."""
        if not self.key:
            return None
        return frame_of_rows(groups.rows, [*groups.keys, "g"], [*self.key, "group"])

    @staticmethod
    def _tuple_sizes(work: SparkWork, groups: SparkGroups) -> tuple[tuple[int, int], ...]:
        """Return how alike published rows were; nothing about those that were left out."""
        if work.plan.columns.tuples:
            return tuple_sizes(work.plan, groups.rows.filter("g >= 0"), ["t"])
        return tuple_sizes(work.plan, work.taking_part, work.plan.columns.coded)


@dataclass(frozen=True, eq=False)
class SparkWork:
    """A table that was described.

    Attributes:
        plan: what workers are told.
        rows: all rows as codes, beside what is published as it is.
        n_rows: how many there are.
        wholes: promises about the release as a whole.
        warn: what the user should know.
        progress: what is done now.
        first_rows: a few rows on the driver, to look for what no promise covers.
        about_all: promises about the release as a whole, as verification takes them.
    """

    plan: Plan
    rows: Any
    n_rows: int
    wholes: tuple[Whole, ...]
    warn: Callable[[str], None]
    progress: Callable[[int, int, str], None]
    first_rows: pl.DataFrame
    about_all: AboutAll | None

    @property
    def taking_part(self) -> Any:
        """The rows that are grouped."""
        if self.plan.request.missing != "suppress":
            return self.rows
        return self.rows.filter(nothing_missing(self.plan))


@dataclass(frozen=True, eq=False)
class ClusteredRows:
    """Rows with the group that their block gave them, and where groups meet others."""

    rows: Any
    parts: Parts


@dataclass(frozen=True, eq=False)
class SparkGroups:
    """Rows with the group of each and, since all of its rows were there, its published cells.

    Attributes:
        rows: published cells, groups, keys and people, of those that are left out, too.
        keys: columns by which their holder finds rows again.
        tallies: what regions told.
        held: what of it lies on the disks of the workers.
    """

    rows: Any
    keys: tuple[str, ...]
    tallies: Tallies
    held: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class SparkPublished:
    """A published table.

    Attributes:
        frame: the table, in an order of its own.
        people: the same rows as they came, with a column that tells people apart where they are
            counted.
    """

    frame: Any
    people: Named
