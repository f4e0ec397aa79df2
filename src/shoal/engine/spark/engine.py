"""The engine of many machines; see `shoal.engine.base.Engine` for the stages.

Spark counts values and tuples; the driver makes a small rule of them that says which block a row
belongs to; workers group the rows of each block with the kernels of one machine, as one machine
would; groups then meet others in regions that are cut elsewhere, and are refined there and
published. Rows never come to the driver.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from shoal.engine.base import Measured
from shoal.engine.local import check_people
from shoal.engine.spark.block import cluster_block, finish_region
from shoal.engine.spark.check import verify_frame
from shoal.engine.spark.cut import BLOCK_ROWS, Parts, cut_rows, one_block
from shoal.engine.spark.danger import find_dangers
from shoal.engine.spark.domain import find_domains
from shoal.engine.spark.layout import laid_out, output_types
from shoal.engine.spark.limits import may_leave_out, refuse
from shoal.engine.spark.plan import Plan
from shoal.engine.spark.rows import (
    columns_of,
    encoded,
    nothing_missing,
    placed_rows,
    style_of,
    tuple_sizes,
    unused,
    whole_table,
    with_counts,
)
from shoal.engine.spark.session import check_frame, frame_of_rows, load_functions
from shoal.engine.spark.tally import Tallies, shown_groups
from shoal.errors import DataError, OptionError
from shoal.progress import no_progress
from shoal.promises import grids_of, promises_of
from shoal.recode import published_names
from shoal.table.encode import EncodedTable
from shoal.table.scale import rescaled

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from shoal.publish.verify import Verification
    from shoal.search.refine import Effort
    from shoal.settings.request import Request
    from shoal.table.schema import Schema

__all__ = ["SparkEngine", "SparkPublished", "SparkWork"]


@dataclass(frozen=True, eq=False)
class SparkWork:
    """A table that was described.

    Attributes:
        plan: what workers are told.
        rows: all rows as codes, beside what is published as it is.
        n_rows: how many there are.
        warn: what the user should know.
    """

    plan: Plan
    rows: Any
    n_rows: int
    warn: Callable[[str], None]

    @property
    def taking_part(self) -> Any:
        """The rows that are grouped."""
        if self.plan.request.missing != "suppress":
            return self.rows
        return self.rows.filter(nothing_missing(self.plan))


@dataclass(frozen=True, eq=False)
class SparkGroups:
    """Rows with the group of each, and what is left to do with them."""

    rows: Any
    parts: Parts


@dataclass(frozen=True, eq=False)
class SparkPublished:
    """A published table.

    Attributes:
        frame: the table, in an order of its own.
        rows: the same with groups, keys and people, as they came.
        tallies: what regions told.
    """

    frame: Any
    rows: Any
    tallies: Tallies


class SparkEngine:
    """Apache Spark.

    Args:
        key: columns of the table by which the holder finds rows in ``release.groups``.
    """

    def __init__(self, key: Sequence[str] = ()) -> None:
        self.key = tuple(key)
        self.read: tuple[str, ...] = ()
        self._held: list[Any] = []

    def forget(self) -> None:
        """Give the disks of the workers back; the release cannot be read from Spark any more."""
        while self._held:
            self._held.pop().unpersist()

    def describe(
        self, table: Any, schema: Schema, request: Request, warn: Callable[[str], None]
    ) -> SparkWork:
        """Count values, and replace them by codes where the rows are."""
        frame = check_frame(table)
        refuse(request, schema, frame)
        self.read = tuple(frame.inputFiles())  # none of them is written over
        domains = find_domains(frame, schema, request, warn)
        n_rows = int(domains.attributes[0].counts.sum())
        if not n_rows:
            raise DataError("The table has no rows; there is nothing to anonymize.")
        check_people(n_rows, request.k)
        schema = domains.schema
        columns = columns_of(schema, domains.attributes, self.key)
        search = rescaled(EncodedTable(0, domains.attributes, ()), schema)
        seed = request.seed if request.seed is not None else secrets.randbits(62)
        plan = Plan(
            schema=schema,
            request=replace(request, progress=no_progress, seed=None),
            columns=columns,
            attributes=domains.attributes,
            searched=search.attributes,
            sensitive=domains.sensitive,
            codings=domains.codings,
            sensitive_codings=domains.sensitive_codings,
            styles=tuple(style_of(each, request.style) for each in domains.attributes),
            cells=domains.cells,
            shown=0,
            seed=seed,
        )
        rows = self._held_on_disk(encoded(frame, plan, self.key))
        work = SparkWork(plan, rows, n_rows, warn)
        return self._with_people(replace(work, plan=with_counts(plan, work.taking_part)), request)

    def _with_people(self, work: SparkWork, request: Request) -> SparkWork:
        """Look at who takes part, and whether promises can be kept at all."""
        plan, functions = work.plan, load_functions()
        if request.missing == "error":
            bad = work.rows.filter(~nothing_missing(plan)).count()
            if bad:
                names = [repr(a.name) for a in plan.attributes if a.has_missing]
                raise DataError(
                    f"{bad} rows have a missing quasi-identifier (in {', '.join(names)}) and "
                    "missing='error' was asked for; fill them or use missing='category'."
                )
        if request.missing == "suppress":
            check_people(work.taking_part.count(), request.k)
        if plan.columns.person:
            people = work.taking_part.agg(functions.count_distinct("w")).head()[0]
            check_people(people, request.k, "people")
        whole = whole_table(plan)
        for model in request.privacy:
            for column in model.columns(whole):
                model.check_possible(replace(column, counts=column.whole))
        return work

    def _held_on_disk(self, frame: Any) -> Any:
        from pyspark import StorageLevel

        frame = frame.persist(StorageLevel.DISK_ONLY)
        self._held.append(frame)
        return frame

    def cut(self, work: SparkWork) -> Parts:
        """Cut the table into blocks of similar rows, by a rule of a few kilobytes."""
        asked = work.plan.request.block_rows
        rows = max(BLOCK_ROWS if asked is None else asked, 4 * int(work.plan.request.k))
        if work.n_rows <= rows:
            return one_block()
        return cut_rows(work.plan, work.taking_part, rows)

    def cluster(self, work: SparkWork, parts: Parts) -> SparkGroups:
        """Run the algorithm on every block, in the worker that has its rows."""
        from pyspark.sql import types

        plan, functions = work.plan, load_functions()
        context = work.rows.sparkSession.sparkContext
        shared = context.broadcast((plan, parts.regions))
        names = plan.columns.carried
        placed = placed_rows(plan, work.taking_part, parts.blocks)
        fields = [work.rows.schema[name] for name in names]
        added = [types.StructField(name, types.LongType()) for name in ("g", "r")]
        has_many = "m" in placed.columns

        def group(key: Any, rows: Any) -> Any:
            own_plan, regions = shared.value
            found = cluster_block(own_plan, regions, key[0].as_py(), rows.drop_columns("b"))
            return found.drop_columns("m") if has_many else found

        n_parts = min(2 * parts.blocks.n_blocks, 20_000)
        clustered = (
            placed.repartition(n_parts, "b")
            .groupBy("b")
            .applyInArrow(group, types.StructType([*fields, *added]))
        )
        if plan.request.missing == "suppress":
            left_out = work.rows.filter(~nothing_missing(plan)).select(
                *names,
                functions.lit(-1).cast("long").alias("g"),
                functions.pmod("h", functions.lit(parts.regions.n_blocks).cast("long")).alias("r"),
            )
            clustered = clustered.unionByName(left_out)
        return SparkGroups(clustered, parts)

    def enforce(self, work: SparkWork, groups: Any, parts: Parts | None = None) -> Any:
        """Do nothing: every block has kept the promises by itself, against the whole table."""
        del work, parts
        return groups

    def refine(
        self,
        work: SparkWork,
        groups: SparkGroups,
        parts: Parts | None = None,
        effort: Effort | None = None,
    ) -> SparkPublished:
        """Refine groups across blocks; and since all rows of a group are there, publish them."""
        from pyspark.sql import types

        del parts, effort
        plan, request = work.plan, work.plan.request
        regions, seamed = groups.parts.regions, groups.parts.seamed
        rows = groups.rows
        fewer = request.max_suppression > 0 or may_leave_out(request)
        if request.privacy and fewer:
            rows = self._held_on_disk(rows)
            plan = with_counts(plan, rows.filter("g >= 0"))
            seamed = True  # rows that were left out change what the others are compared with
        plan = replace(plan, shown=shown_groups(regions.n_blocks))
        shared = rows.sparkSession.sparkContext.broadcast(plan)
        outputs = output_types(plan, work.rows.schema)
        fields = [types.StructField(f"f{n}", each.kind) for n, each in enumerate(outputs)]
        fields += [work.rows.schema[name] for name in plan.columns.keys]
        if plan.columns.person:
            fields.append(types.StructField("w", types.LongType()))
        fields.append(types.StructField("g", types.LongType()))
        fields.append(types.StructField("told", types.StringType()))
        arrow = [(f"f{number}", each.arrow) for number, each in enumerate(outputs)]

        def finish(key: Any, rows: Any) -> Any:
            region = key[0].as_py()
            return finish_region(shared.value, region, rows, seamed=seamed, types=arrow)

        n_parts = min(2 * regions.n_blocks, 20_000)
        finished = self._held_on_disk(
            rows.repartition(n_parts, "r")
            .groupBy("r")
            .applyInArrow(finish, types.StructType(fields))
        )
        told = finished.filter("told is not null").select("told").toArrow()
        tallies = Tallies(plan, told.column(0).to_pylist())
        if tallies.n_rows != work.n_rows:
            raise DataError(
                f"The table had {work.n_rows:,} rows at first and {tallies.n_rows:,} in the end; "
                "give a table that stays the same while it is read (write it down first)."
            )
        self._warn_of_suppressed(work, tallies)
        named = published_names(plan.schema, request.style)
        titles = [title for under in named.values() for title in under]
        return SparkPublished(laid_out(finished, titles, tallies.n_published), finished, tallies)

    def given(self, work: SparkWork, labels: Any) -> SparkGroups:
        """Refuse groups that were made elsewhere."""
        del work, labels
        raise OptionError("Groups that were made elsewhere cannot be refined on Spark.")

    def count_broken(self, work: SparkWork, groups: SparkGroups) -> tuple[int, int]:
        """Refuse groups that were made elsewhere."""
        del groups
        self.given(work, None)
        return 0, 0

    def thin_out(
        self,
        work: SparkWork,
        groups: SparkPublished,
        regroup: Callable[[SparkWork], SparkPublished],
    ) -> SparkPublished:
        """Do nothing: every block has left out its share of the rows already."""
        del work, regroup
        return groups

    @staticmethod
    def _warn_of_suppressed(work: SparkWork, tallies: Tallies) -> None:
        request = work.plan.request
        by_itself = may_leave_out(request) and not request.max_suppression > 0
        if by_itself and tallies.n_suppressed:
            work.warn(
                f"Algorithm {request.algorithm!r} leaves out {tallies.n_suppressed} of "
                f"{work.n_rows} rows, as published; a max_suppression above 0 limits that."
            )

    def publish(self, work: SparkWork, groups: SparkPublished) -> SparkPublished:
        """Return the published table."""
        del work
        return groups

    def find_dangers(self, work: SparkWork, groups: SparkPublished) -> list[str]:
        """Return a sentence for each published column that can undo the release."""
        return find_dangers(work.plan, groups.rows)

    def verify(self, work: SparkWork, published: SparkPublished) -> Verification:
        """Check every promise again, from the published table alone."""
        plan, request = work.plan, work.plan.request
        titles = published.frame.columns
        frame = published.rows.filter("g >= 0")
        names = {f"f{number}": title for number, title in enumerate(titles)}
        whose = None
        columns = [frame[own].alias(title) for own, title in names.items()]
        if plan.columns.person:
            whose = unused("w", titles)
            columns.append(frame["w"].alias(whose))
        return verify_frame(
            frame.select(*columns),
            k=int(request.k),
            quasi_identifiers=plan.schema.quasi_identifiers,
            sensitive=plan.schema.sensitive,
            promises=promises_of(request.privacy),
            grids=grids_of(plan.schema.grids, request.style),
            person=whose,
        )

    def measure(
        self, work: SparkWork, groups: SparkPublished, published: SparkPublished
    ) -> Measured:
        """Add up what the regions told."""
        del published
        tallies, plan = groups.tallies, work.plan
        keys = frame_of_rows(groups.rows, [*plan.columns.keys, "g"], [*self.key, "group"])
        return Measured(
            schema=plan.schema,
            groups=keys if self.key else None,
            n_rows=tallies.n_rows,
            n_groups=tallies.n_groups,
            n_suppressed=tallies.n_suppressed,
            scores=tallies.scores(),
            facts=tallies.facts(tuple_sizes(work.plan, work.taking_part)),
            bound=None,
        )

    def write(
        self,
        group: Any,
        release: Any,
        target: str | os.PathLike[str],
        *,
        format: str | None = None,  # noqa: A002 - the name users know
        delimiter: str | None = None,
        if_exists: str = "fail",
        escape_formulas: bool = False,
    ) -> Any:
        """Write the release to a folder beside its place, verify it there, and move it."""
        from shoal.engine.spark.folder import write_folder

        return write_folder(
            group,
            release,
            target,
            format=format,
            delimiter=delimiter,
            if_exists=if_exists,
            escape_formulas=escape_formulas,
            inputs=self.read,
        )
