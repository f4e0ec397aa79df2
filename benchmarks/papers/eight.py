"""The setting of Byun et al. and of Lin and Wei: eight columns of Adult, six of them with trees.

Age and education (its number of years) are numeric; the other six are categorical with the
taxonomies of `shoal.datasets.adult_hierarchies`. Salary is the class. Whatever an algorithm was
told about the columns, its groups are scored under the same trees.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from statistics import mean, median
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

import shoal
from benchmarks import common
from benchmarks.papers import as_published
from benchmarks.papers.plain_times import plain_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Told = Literal["trees", "flat", "ordered", "alphabet", "frequency"]
MEASURES = ("il", "dm", "cm")
KS = (2, 5, 10, 25, 50, 100, 250, 500)
"""Both papers plot over k without printing its values; these are usual ones."""


@dataclass(frozen=True)
class Variant:
    """An algorithm with its options, and what it is told about the categorical columns.

    Attributes:
        algorithm: its name.
        options: its options.
        told: "trees" (the taxonomies), "flat" (values are equal or not), or a total order of the
            values: "ordered" (in which the taxonomy lists its leaves), "alphabet" or "frequency".
        chance: whether the seed matters.
        more: further arguments of `shoal.anonymize`.
    """

    algorithm: str
    options: Mapping[str, Any] = field(default_factory=dict)
    told: Told = "trees"
    chance: bool = True
    more: Mapping[str, Any] = field(default_factory=dict)


def roles(frame: Any, told: Told) -> dict[str, Any]:
    """Return the arguments of `shoal.anonymize` that describe the columns."""
    known = common.eight(frame, taxonomies=True)
    if told == "trees":
        return known
    trees = known.pop("hierarchies")
    if told == "flat":
        return known | {"kinds": dict.fromkeys(trees, "flat")}
    orders = {name: list(tree.leaf_labels) for name, tree in trees.items()}
    if told == "alphabet":
        orders = {name: sorted(values) for name, values in orders.items()}
    elif told == "frequency":
        for name, values in orders.items():
            counts = Counter(frame.get_column(name).to_list())
            orders[name] = sorted(values, key=lambda value: (-counts[value], value))
    return known | {"kinds": dict.fromkeys(trees, "ordinal"), "orders": orders}


def score(frame: Any, groups: Any, measures: Sequence[str] = MEASURES) -> dict[str, float]:
    """Return what groups cost under the taxonomies."""
    known = roles(frame, "trees")
    del known["drop"]
    return dict(shoal.score(frame, groups, measures=measures, **known))


_compiled: set[tuple[Any, ...]] = set()


def release(frame: Any, k: int, variant: Variant, seed: int) -> tuple[Any, float]:
    """Return a release and the seconds it took, compiling left out."""
    told = roles(frame, variant.told)
    options = {
        "algorithm": variant.algorithm,
        "algorithm_options": dict(variant.options),
        "measure": "il",
        "seed": seed,
        **variant.more,
    }
    key = (variant.algorithm, variant.told, *sorted(variant.options), *sorted(variant.more))
    if key not in _compiled:
        as_published.timed(frame.head(500), 5, told, **options)
        _compiled.add(key)
    return as_published.timed(frame, k, told, **options)


def run(frame: Any, k: int, variant: Variant, seed: int) -> dict[str, Any]:
    """Return losses, group sizes and seconds of one run."""
    found, seconds = release(frame, k, variant, seed)
    sizes = np.bincount(found.groups[found.groups >= 0])
    return {
        **score(frame, found.groups),
        "seconds": seconds,
        "groups": len(sizes),
        "smallest": int(sizes.min()),
        "largest": int(sizes.max()),
        "suppressed": found.n_suppressed,
    }


def plain_k_member(frame: Any, k: int, seed: int) -> dict[str, Any]:
    """Return CPU seconds and Total-IL of k-member as published, every record looked at."""
    from benchmarks.straightforward import straightforward_k_member

    return _plain(straightforward_k_member, frame, k, "trees", seed)


def plain_oka(frame: Any, k: int, seed: int) -> dict[str, Any]:
    """Return CPU seconds and Total-IL of OKA as published, every cluster looked at."""
    from benchmarks.papers import lin_plain

    return _plain(lin_plain.plain_oka, frame, k, "trees", seed)


def plain_chiu_tsai(frame: Any, k: int, seed: int) -> dict[str, Any]:
    """Return CPU seconds, Total-IL and iterations of Chiu and Tsai's algorithm, all rows looked at.

    Its last step, which merges small clusters, counts too: it is part of the algorithm.
    """
    from benchmarks.papers import lin_plain

    turns = [0]

    def cluster(table: Any, run: Any) -> Any:
        found, turns[0] = lin_plain.plain_chiu_tsai(table, run)
        return found

    return {**_plain(cluster, frame, k, "trees", seed), "iterations": turns[0]}


def plain_mondrian(frame: Any, k: int, told: Told) -> dict[str, Any]:
    """Return CPU seconds of median partitioning as published."""
    from shoal.algorithm.base import create_algorithm

    made = create_algorithm("mondrian", {"cuts": "median"})
    return {"seconds": _plain(made.partition, frame, k, told)["seconds"]}


def _plain(cluster: Any, frame: Any, k: int, told: Told, seed: int = 0) -> dict[str, float]:
    return plain_time(cluster, frame, lambda rows: roles(rows, told), "il", k, seed)


def both_dm(frame: Any, k: int, variant: Variant) -> dict[str, float]:
    """Return DM of groups as formed, and of published rows that cannot be told apart."""
    groups = release(frame, k, variant, 0)[0].groups
    known = roles(frame, "trees")
    del known["drop"]
    return {
        classes: shoal.score(
            frame, groups, measures=["dm"], measure_options={"classes": classes}, **known
        )["dm"]
        for classes in ("formed", "published")
    }


def summary(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean loss, median time and extreme sizes of several seeds."""
    return {
        "seeds": len(runs),
        "il": mean(run["il"] for run in runs),
        "il_least": min(run["il"] for run in runs),
        "il_most": max(run["il"] for run in runs),
        "dm": mean(run["dm"] for run in runs),
        "cm": mean(run["cm"] for run in runs),
        "seconds": median(run["seconds"] for run in runs),
        "groups": mean(run["groups"] for run in runs),
        "smallest": min(run["smallest"] for run in runs),
        "largest": max(run["largest"] for run in runs),
        "suppressed": mean(run["suppressed"] for run in runs),
    }


def growth(points: Iterable[Sequence[float]]) -> float:
    """Return the exponent b of y = a · x^b that fits best."""
    xs, ys = np.log(np.array(list(points), float)).T
    return float(np.polyfit(xs, ys, 1)[0])


def span(values: Iterable[float], form: str = ".2f") -> str:
    """Return "lowest to highest", or one number if both read the same."""
    found = list(values)
    low, high = f"{min(found):{form}}", f"{max(found):{form}}"
    return low if low == high else f"{low} to {high}"
