"""People whose rows are in several regions, where promises count people.

Each region keeps the promises by itself. But groups of two regions that publish the same cells are
one to a reader, and a person who is in both counts once there, so together they may break what each
of them keeps. Such regions are united and refined anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.engine.spark.block import GROUP_BITS
from shoal.engine.spark.check import broken_groups, group_number
from shoal.engine.spark.session import load_functions
from shoal.errors import PromiseError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shoal.publish.verify import Promise

__all__ = ["united_regions"]


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
