"""Two releases of overlapping tables: what their intersection gives away.

Who knows that a person is in both looks at the rows that fit in each. The person's sensitive value
is in both, so only values that both have remain; and at most the smaller count of each remaining
value can be that person's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.study.audit.findings import Finding, interval_of

if TYPE_CHECKING:
    from shoal.study.audit.scene import Scene

__all__ = ["intersect"]

_LOWERED = "the same groups in both releases, or only one release of these people"


def intersect(first: Scene, second: Scene) -> list[Finding]:
    """Return what two releases tell together that neither tells alone.

    Both scenes have the same people, targets and sensitive columns.
    """
    found = []
    for secret, other in zip(first.secrets, second.secrets, strict=True):
        together, alone, left, before = [], [], [], []
        for one, two in zip(first.seen, second.seen, strict=True):
            if not (one.rows and two.rows):
                continue
            here, there = secret.among(one.full), other.among(two.full)
            both = np.minimum(here, there)  # values have the same numbers in both
            value = int(secret.true[one.who])
            is_left = bool(both[value] > 0)
            together.append(is_left and int(np.count_nonzero(both)) == 1)
            alone.append(bool(here[value] == one.rows or there[value] == two.rows))
            left.append(1.0 / both.sum() if is_left else 0.0)
            before.append(max(1.0 / one.rows, 1.0 / two.rows))
        n = len(together)
        rate, usual = sum(together) / max(n, 1), sum(alone) / max(n, 1)
        low, high = interval_of(sum(together), n, everybody=first.everybody)
        found.append(
            Finding(
                name=f"two releases: {secret.name} certain",
                attack="two releases",
                rate=rate,
                low=low,
                high=high,
                n=n,
                baseline=usual,
                sentence=f"For {rate:.1%} of the people who fit both releases, both together tell "
                f"{secret.name!r} for certain; one of them alone for {usual:.1%}.",
                lowered_by=_LOWERED,
            )
        )
        rate, usual = sum(left) / max(n, 1), sum(before) / max(n, 1)
        low, high = interval_of(sum(left), n, everybody=first.everybody)
        found.append(
            Finding(
                name=f"two releases: row, by {secret.name}",
                attack="two releases",
                rate=rate,
                low=low,
                high=high,
                n=n,
                baseline=usual,
                worst=max(left, default=0.0),
                sentence=f"Who compares the rows that fit in both releases by {secret.name!r} "
                f"picks a person's row with a chance of {rate:.2%}; with one release {usual:.2%}.",
                lowered_by=_LOWERED,
            )
        )
    return found
