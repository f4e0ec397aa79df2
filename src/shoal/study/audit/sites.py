"""Sites that made a release together, as attackers: they know which of its rows are their own.

A site, or two that put together what they know, take their own rows away from every group and look
for a person of another site among those that are left. Which group an own row is in is assumed to
be known, and where it fits several, it is taken away from each: so no chance is told too low.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from shoal.errors import OptionError
from shoal.messages import Message
from shoal.release_reader.classes import values_of
from shoal.study.audit.attack_context import Finding, rate_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from shoal.release_reader.classes import People
    from shoal.study.audit.attack_context import Scene


def attack_from_sites(scene: Scene, tables: Sequence[pl.DataFrame]) -> list[Finding]:
    """Return what each site reaches, and any two of three or more.

    Args:
        scene: the release.
        tables: the rows of each site.

    Raises:
        OptionError: these are not the rows of the original, each at one site.
    """
    if len(tables) < 2 or sum(each.height for each in tables) != scene.original.height:
        raise OptionError(
            "The tables of the sites have {n:,} rows and the original has {n2:,}; give the rows of "
            "each of two or more sites, every row once.",
            n=sum(each.height for each in tables),
            n2=scene.original.height,
        )
    people = [values_of(each, scene.classes, known=False) for each in tables]
    own = [
        np.array([_fitted(scene, each, which) for which in range(len(scene.classes.sizes))])
        for each in people
    ]
    found = []
    for size in (1, 2) if len(tables) > 2 else (1,):
        for together in combinations(range(len(tables)), size):
            left = scene.classes.sizes - np.sum([own[site] for site in together], axis=0)
            chances = _chances(scene, people, together, np.maximum(left, 0))
            found.append(_finding(scene, together, chances, len(chances)))
    return found


def _fitted(scene: Scene, people: People, which: int) -> int:
    return int(np.count_nonzero(scene.classes.fitted(people, which)))


def _chances(
    scene: Scene, people: Sequence[People], together: Sequence[int], left: np.ndarray
) -> list[float]:
    """Return the chance of each person of other sites to be picked, of a sample of them."""
    others = [
        (site, who)
        for site, each in enumerate(people)
        if site not in together
        for who in range(each.n)
    ]
    order = scene.chance(200).permutation(len(others))[: len(scene.targets)]
    found = []
    for number in order.tolist():
        site, who = others[number]
        rows = int(left[scene.look(people[site], who).full].sum())
        found.append(1.0 / max(rows, 1))
    return found


def _finding(scene: Scene, together: Sequence[int], chances: list[float], n: int) -> Finding:
    reached = rate_of(float(sum(chances)), n)
    worst = max(chances, default=0.0)
    numbers = [site + 1 for site in together]
    if len(numbers) == 1:
        name = Message("linkage: site {n}, which knows its own rows", n=numbers[0])
    else:
        name = Message("linkage: sites {n} and {n2} together", n=numbers[0], n2=numbers[1])
    return Finding(
        *reached,
        name=name,
        attack="linkage",
        baseline=1.0 / max(scene.published.height, 1),
        worst=worst,
        sentence=Message(
            "{name}: takes its own rows away and picks the row of a person of another site, of "
            "whom it knows all quasi-identifiers, with a chance of {rate:.2%} on average and of "
            "{worst:.2%} for the person at most risk.",
            name=name,
            rate=reached.rate,
            worst=worst,
        ),
        lowered_by=Message("a larger k; more sites in every group"),
    )
