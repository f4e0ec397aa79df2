"""The attacker who is meant, where a release is for attackers of limited knowledge.

Of each person the attacker knows one combination of columns, and that the person is in the release.
Which combination that is nobody knows beforehand: so all that may be known are tried on each
person, and the one that tells most counts. It is kept beside the attackers who know all columns,
against whom such a release promises nothing.

Cost: for each person a few passes over one bit for each row and combination; where these are too
many, some are drawn by chance for each person, and a note says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.messages import Message
from shoal.study.audit.attack_context import Finding, rate_of
from shoal.study.audit.disclosure import DISCLOSURE_LOWERED_BY

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from shoal.publish.limited import Limited
    from shoal.study.audit.attack_context import Scene, Seen

_WORK = 20_000_000_000
"""Bytes that are looked at in all."""
_AT_ONCE = 1 << 22
_FEWEST = 20
"""Combinations that are tried on each person, however many rows there are."""


def attack_limited(
    scene: Scene, limited: Limited, quasi: Sequence[str]
) -> tuple[list[Finding], list[str]]:
    """Return what the attacker reaches who knows what may be known, and what was not tried.

    Args:
        scene: the stage of all attacks.
        limited: what may be known.
        quasi: the quasi-identifiers, with those that nobody knows, such as dates that were moved.

    Raises:
        OptionError: a combination has a column that is no quasi-identifier.
    """
    known = _known(scene, limited, quasi)
    if not known:
        return [], []
    n_bytes = (len(scene.classes.of_row) + 7) // 8
    widest = max(map(len, known)) + 1 + len(scene.secrets)
    room = _WORK // max(n_bytes * widest * max(len(scene.seen), 1), 1)
    most = max(int(room), _FEWEST)
    chance = scene.chance(301)
    chances: list[float] = []
    beliefs: list[list[float]] = [[] for _ in scene.secrets]
    for seen in scene.seen:
        if not seen.rows:
            continue
        tried = known
        if most < len(known):
            chosen = np.sort(chance.choice(len(known), most, replace=False))
            tried = [known[each] for each in chosen.tolist()]
        own = [np.packbits(each.published == each.true[seen.who]) for each in scene.secrets]
        fewest, most_likely = scene.published.height, [0.0] * len(own)
        for fits in _fitting(scene, seen, tried):
            rows = _count(fits)
            fewest = min(fewest, int(rows.min()))
            for number, each in enumerate(own):
                likely = float((_count(fits & each) / rows).max())
                most_likely[number] = max(most_likely[number], likely)
        chances.append(1.0 / fewest)
        for number, likely in enumerate(most_likely):
            beliefs[number].append(likely)
    who = limited.who(scene.n_columns)
    found = [_linked(scene, who, np.array(chances))]
    for secret, believed in zip(scene.secrets, beliefs, strict=True):
        found += _believed(scene, who, secret.name, np.array(believed))
    notes: list[str] = []
    if most < len(known):
        notes.append(
            Message(
                "The attacker who is meant tried {most:,} of the {n:,} combinations of columns on "
                "each person.",
                most=most,
                n=len(known),
            )
        )
    return found, notes


def _known(scene: Scene, limited: Limited, quasi: Sequence[str]) -> list[tuple[int, ...]]:
    """Return the places of the columns that may be known together.

    Of a combination with a column that nobody knows the others are known.
    """
    place = {column.name: number for number, column in enumerate(scene.classes.columns)}
    found = [tuple(place[each] for each in one if each in place) for one in limited.known(quasi)]
    return list(dict.fromkeys(one for one in found if one))


def _fitting(
    scene: Scene, seen: Seen, known: Sequence[tuple[int, ...]]
) -> Iterator[NDArray[np.uint8]]:
    """Yield for some combinations at once a bit for each published row: whether it fits."""
    packed = np.packbits(seen.fits[:, scene.classes.of_row], axis=1)
    at_once = max(_AT_ONCE // max(packed.shape[1], 1), 1)
    for size in sorted({len(one) for one in known}):
        alike = np.array([one for one in known if len(one) == size])
        for first in range(0, len(alike), at_once):
            some = alike[first : first + at_once]
            fits = packed[some[:, 0]]
            for place in range(1, size):
                fits &= packed[some[:, place]]
            yield fits


def _count(bits: NDArray[np.uint8]) -> NDArray[np.int64]:
    counted: NDArray[np.int64] = np.bitwise_count(bits).sum(axis=1, dtype=np.int64)
    return counted


def _linked(scene: Scene, who: Message, chances: NDArray[np.float64]) -> Finding:
    reached = rate_of(float(chances.sum()), len(chances), everybody=scene.everybody)
    worst = float(chances.max(initial=0.0))
    return Finding(
        *reached,
        name=Message("linkage: the attacker who is meant"),
        attack="linkage",
        baseline=1.0 / max(scene.published.height, 1),
        worst=worst,
        sentence=Message(
            "Against {who}, with the columns that tell most of each person: the right row is "
            "picked with a chance of {rate:.2%} on average and of {worst:.2%} for the person at "
            "most risk.",
            who=who,
            rate=reached.rate,
            worst=worst,
        ),
        lowered_by=Message("a larger k; fewer or coarser quasi-identifiers"),
    )


def _believed(
    scene: Scene, who: Message, column: str, believed: NDArray[np.float64]
) -> list[Finding]:
    certain = rate_of(int((believed >= 1).sum()), len(believed), everybody=scene.everybody)
    reached = rate_of(float(believed.sum()), len(believed), everybody=scene.everybody)
    worst = float(believed.max(initial=0.0))
    return [
        Finding(
            *certain,
            name=Message("secret {column}: certain to the attacker who is meant", column=column),
            attack="secrets",
            sentence=Message(
                "For {rate:.1%} of the people the release tells the value for certain in "
                "{column!r}, to {who}, with the columns that tell most of each.",
                rate=certain.rate,
                column=column,
                who=who,
            ),
            lowered_by=DISCLOSURE_LOWERED_BY,
        ),
        Finding(
            *reached,
            name=Message("secret {column}: belief of the attacker who is meant", column=column),
            attack="secrets",
            worst=worst,
            sentence=Message(
                "The true value of {column!r} is believed with {rate:.1%} on average and "
                "{worst:.1%} at most, by {who}, with the columns that tell most of each person.",
                column=column,
                rate=reached.rate,
                worst=worst,
                who=who,
            ),
            lowered_by=DISCLOSURE_LOWERED_BY,
        ),
    ]
