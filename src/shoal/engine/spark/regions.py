"""Groups meet in regions: refined there, published there, and counted once more across regions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.engine.spark.block import GROUP_BITS, finish_region, moved_to
from shoal.engine.spark.check import broken_groups, group_number
from shoal.engine.spark.domain import unused
from shoal.engine.spark.folder import output_types
from shoal.engine.spark.plan import Named
from shoal.engine.spark.session import guarded, guarded_batches, load_functions
from shoal.errors import PromiseError
from shoal.publish.recode import published_names
from shoal.publish.verification_terms import promises_of, trees_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shoal.engine.spark.plan import Plan
    from shoal.publish.verify import Promise

MOST_PARTS = 20_000
UNITED = 8
"""So many regions may be refined together because they share people."""


def titles_of(plan: Plan) -> list[str]:
    """Return the names of the published columns."""
    named = published_names(plan.schema, plan.request.style)
    return [title for under in named.values() for title in under]


def finished_rows(
    plan: Plan, rows: Any, schema: Any, region_of: NDArray[np.int64], *, seamed: bool
) -> Any:
    """Return the published rows of all regions, with groups, keys and people.

    Args:
        plan: what workers are told.
        rows: rows with group and region.
        schema: types of the rows on their way.
        region_of: where the rows of each region go.
        seamed: whether there is anything to refine.
    """
    from pyspark.sql import types

    fields, arrow = finished_types(plan, schema)
    for name in ("told", "counts"):
        fields.add(types.StructField(name, types.StringType()))

    def finish(key: Any, rows: Any) -> Any:
        return finish_region(plan, key[0].as_py(), rows, seamed=seamed, types=arrow)

    if (region_of != np.arange(len(region_of))).any():
        moved = guarded_batches(lambda batches: moved_to(region_of, batches))
        rows = rows.mapInArrow(moved, rows.schema)
    parts = rows.repartition(min(2 * len(region_of), MOST_PARTS), "r").groupBy("r")
    return parts.applyInArrow(guarded(finish), fields)


def finished_types(plan: Plan, schema: Any) -> tuple[Any, list[tuple[str, Any]]]:
    """Return the types of published rows with keys, people and groups; and of cells in Arrow.

    Args:
        plan: what is published.
        schema: types of the rows on their way.
    """
    from pyspark.sql import types

    outputs = output_types(plan, schema)
    fields = [types.StructField(f"f{n}", each.kind) for n, each in enumerate(outputs)]
    fields += [schema[name] for name in plan.columns.keys]
    long = types.LongType()
    fields += [types.StructField(name, long) for name in (*plan.columns.beside, "g")]
    return types.StructType(fields), [(f"f{n}", each.arrow) for n, each in enumerate(outputs)]


def named_rows(plan: Plan, finished: Any, *, group: bool = False) -> Named:
    """Return the published rows under their names, with people where they are counted."""
    titles = titles_of(plan)
    rows = finished.filter("g >= 0")
    columns = [rows[f"f{number}"].alias(title) for number, title in enumerate(titles)]
    whose = own = None
    if plan.columns.person:
        whose = unused("w", titles)
        columns.append(rows["w"].alias(whose))
    if group:
        own = unused("g", titles)
        columns.append(rows["g"].alias(own))
    return Named(rows.select(*columns), whose, own)


def regroup_regions(
    plan: Plan, finished: Any, region_of: NDArray[np.int64]
) -> NDArray[np.int64] | None:
    """Return which regions are to be refined together; None if every promise is kept.

    Raises:
        PromiseError: too many would have to be.
    """
    request = plan.request
    if not (plan.columns.person and request.privacy) or len(region_of) == 1:
        return None
    named = named_rows(plan, finished, group=True)
    found = united_regions(
        named.frame,
        str(named.group),
        str(named.person),
        region_of,
        k=int(request.k),
        quasi_identifiers=plan.schema.quasi_identifiers,
        sensitive=plan.schema.sensitive,
        promises=promises_of(request.privacy, trees_of(plan.schema)),
    )
    if found is not None and int(np.bincount(found).max()) > UNITED:
        raise PromiseError(
            "More than {united} blocks of similar rows have to be looked at together to keep "
            "the promises, because people have rows in many of them; give a larger "
            "block_rows, or promise less.",
            united=UNITED,
        )
    return found


# People whose rows are in several regions, where promises count people.
#
# Each region keeps the promises by itself. But groups of two regions that publish the same cells
# are one to a reader, and a person who is in both counts once there, so together they may break
# what each of them keeps. Such regions are united and refined anew.


def united_regions(
    frame: Any,
    groups: str,
    person: str,
    region_of: NDArray[np.int64],
    *,
    k: int,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str],
    promises: Sequence[Promise],
) -> NDArray[np.int64] | None:
    """Return which region each one belongs to from now on; None if every promise is kept.

    Args:
        frame: published rows with their group and person.
        groups: name of the column with a row's group.
        person: name of the column that tells people apart.
        region_of: what each region belongs to so far.
        k: the promised size of the smallest group.
        quasi_identifiers: the columns that could single a person out.
        sensitive: the columns that promises look at.
        promises: what is promised.
    """
    functions = load_functions()
    published = frame.drop(groups)
    broken = broken_groups(
        published,
        k=k,
        quasi_identifiers=quasi_identifiers,
        sensitive=sensitive,
        promises=promises,
        person=person,
    )
    if not broken:
        return None
    number = group_number(published.drop(person), quasi_identifiers)
    region = functions.shiftright(functions.col(groups), GROUP_BITS)
    found = (
        frame.select(number.alias("own"), region.alias("region"))
        .filter(functions.col("own").isin(broken))
        .distinct()
        .collect()
    )
    together: dict[int, list[int]] = {}
    for row in found:
        together.setdefault(row["own"], []).append(row["region"])
    united = region_of.copy()
    for members in together.values():
        own = {int(united[each]) for each in members}
        united[np.isin(united, list(own))] = min(own)
    if (united == region_of).all():
        raise PromiseError(
            "A promise that counts people cannot be kept in every group, as some people have rows "
            "in many of them; give a larger block_rows, or promise less."
        )
    return united
