"""Homogeneity and background knowledge: what a release tells about a person's sensitive value.

All rows that fit a person are candidates, so the value s is believed with the share of candidates
that have it. Without the release it would be believed with its share in the whole table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.study.audit.findings import Finding, interval_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.study.audit.scene import Scene, Secret

__all__ = ["disclose"]

LIKELY = (0.5, 0.9)
_LOWERED = "l-diversity (--l-diversity) or t-closeness (--t-closeness)"


def disclose(scene: Scene) -> list[Finding]:
    """Return for how many people a sensitive value is certain or likely, and how much is gained."""
    return [each for secret in scene.secrets for each in _about(scene, secret)]


def _about(scene: Scene, secret: Secret) -> list[Finding]:
    believed, before, ruled_out = [], [], []
    total = max(int(secret.whole.sum()), 1)
    for seen in scene.seen:
        if not seen.rows:
            continue
        counts = secret.among(seen.full)
        value = int(secret.true[seen.who])
        believed.append(counts[value] / seen.rows)
        before.append(secret.whole[value] / total)
        others = counts.copy()
        others[value] = 0
        # the attacker knows that it is not the most frequent of the wrong ones
        ruled_out.append(counts[value] / max(seen.rows - others.max(), 1.0))
    after, prior, known = np.array(believed), np.array(before), np.array(ruled_out)
    found = [
        _share(
            scene,
            secret,
            "certain",
            after >= 1.0,
            prior >= 1.0,
            "the release tells the value for certain",
        ),
        *(
            _share(
                scene,
                secret,
                f"likelier than {p:.0%}",
                after > p,
                prior > p,
                f"the true value is more likely than {p:.0%}",
            )
            for p in LIKELY
        ),
        _share(
            scene,
            secret,
            "certain if one value is ruled out",
            known >= 1.0,
            prior >= 1.0,
            "the value is certain to whoever can rule one other value out",
        ),
    ]
    gain = after - prior
    rate, n = (float(after.mean()) if len(after) else 0.0), len(after)
    low, high = interval_of(float(after.sum()), n, everybody=scene.everybody)
    usual = float(prior.mean()) if n else 0.0
    found.append(
        Finding(
            name=f"secret {secret.name}: belief in the true value",
            attack="secrets",
            rate=rate,
            low=low,
            high=high,
            n=n,
            baseline=usual,
            worst=float(gain.max(initial=0.0)),
            sentence=f"Who knows all quasi-identifiers of a person believes in the true value of "
            f"{secret.name!r} with {rate:.1%} on average instead of {usual:.1%}; the largest gain "
            f"for one person is {float(gain.max(initial=0.0)):.1%}.",
            lowered_by=_LOWERED,
        )
    )
    return found


def _share(
    scene: Scene,
    secret: Secret,
    name: str,
    hit: NDArray[np.bool_],
    before: NDArray[np.bool_],
    words: str,
) -> Finding:
    total, n = int(hit.sum()), len(hit)
    low, high = interval_of(total, n, everybody=scene.everybody)
    rate = total / max(n, 1)
    usual = float(before.mean()) if n else 0.0
    return Finding(
        name=f"secret {secret.name}: {name}",
        attack="secrets",
        rate=rate,
        low=low,
        high=high,
        n=n,
        baseline=usual,
        sentence=f"For {rate:.1%} of the people {words} in {secret.name!r}, to whoever knows all "
        f"their quasi-identifiers; without the release for {usual:.1%}.",
        lowered_by=_LOWERED,
    )
