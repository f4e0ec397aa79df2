"""Two releases of overlapping tables: what their intersection gives away.

Who knows that a person is in both looks at the rows that fit in each. The person's sensitive value
is in both, so only values that both have remain; and at most the smaller count of each remaining
value can be that person's.
"""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from shoal.messages import Message, plural
from shoal.study.audit.attack_context import Finding, compared, rate_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.release_reader.classes import People
    from shoal.study.audit.attack_context import Scene, Secret, Seen


# Linkage: whoever knows something about a person looks for that person's row.
#
# An attacker who knows some columns is left with the rows whose cells fit, and picks one. With
# *c* such rows the chance is 1/c: classes may overlap, so that c can be larger than a group. With a
# wrong value among what is known, the attacker takes the rows that fit in most columns; the chance
# to be right is the share of those that fit the true person, over their number.

_SUBSETS = 5
_COARSE = 0.05
"""How far off a coarse value may be, as a share of the range."""
_WORK = 200_000_000

_LINKING_LOWERED_BY = Message("a larger k; fewer or coarser quasi-identifiers")


def link(scene: Scene) -> list[Finding]:
    """Return what a prosecutor and a marketer find, with 1 … all columns and with flaws."""
    return [*_prosecutor(scene), *_flawed(scene), _marketer(scene)]


def _prosecutor(scene: Scene) -> list[Finding]:
    """Look for people who are known to be in the release."""
    sizes = scene.classes.sizes
    seen = [each for each in scene.seen if each.rows]
    found = []
    for known in range(1, scene.n_columns + 1):
        chances = np.zeros(len(seen))
        subsets = _subsets(scene, known)
        for number, each in enumerate(seen):
            chances[number] = np.mean(
                [1.0 / sizes[each.fits[columns].all(axis=0)].sum() for columns in subsets]
            )
        found.append(_chance(scene, known, chances))
    return found


def _subsets(scene: Scene, known: int) -> list[list[int]]:
    """Return some sets of so many columns: all of them if they are few."""
    total = scene.n_columns
    if comb(total, known) <= _SUBSETS:
        return [list(each) for each in combinations(range(total), known)]
    chance = scene.chance(known)
    return [sorted(chance.permutation(total)[:known].tolist()) for _ in range(_SUBSETS)]


def _chance(scene: Scene, known: int, chances: NDArray[np.float64]) -> Finding:
    worst = float(chances.max(initial=0.0))
    reached = rate_of(float(chances.sum()), len(chances), everybody=scene.everybody)
    what = Message("{n} of the quasi-identifiers", n=known)
    if known == scene.n_columns:
        what = plural("the quasi-identifier", "all {n} quasi-identifiers", known)
    return Finding(
        *reached,
        name=Message("linkage: prosecutor, {n} of {all} columns", n=known, all=scene.n_columns),
        attack="linkage",
        baseline=1.0 / max(scene.published.height, 1),
        worst=worst,
        sentence=Message(
            "Who knows {what} of a person in the release picks that person's row with a chance of "
            "{rate:.2%} on average and of {worst:.2%} for the person at most risk.",
            what=what,
            rate=reached.rate,
            worst=worst,
        ),
        lowered_by=_LINKING_LOWERED_BY,
    )


def _flawed(scene: Scene) -> list[Finding]:
    """Know all columns, one of them wrong or only roughly."""
    if scene.n_columns < 2:
        return []
    chance = scene.chance(100)
    seen = [each for each in scene.seen if each.rows]
    ranges = [_range(each.places) for each in (v for v in scene.people.values)]
    results: dict[str, list[float]] = {"wrong": [], "coarse": []}
    for each in seen:
        column = int(chance.integers(scene.n_columns))
        other = int(chance.integers(scene.people.n))
        wrong = each.fits.copy()
        wrong[column] = scene.classes.fitting(scene.people, other, {})[column]
        results["wrong"].append(_pick(scene, each, wrong))
        slack = {column: _COARSE * ranges[column] if ranges[column] else np.inf}
        coarse = scene.classes.fitting(scene.people, each.who, slack)
        results["coarse"].append(_pick(scene, each, coarse))
    words = {
        "wrong": (
            Message("linkage: prosecutor, one value wrong"),
            Message("one of them wrong"),
        ),
        "coarse": (
            Message("linkage: prosecutor, one value coarse"),
            Message("one of them only roughly (5 % of its range, or not at all for labels)"),
        ),
    }
    found = []
    for kind, chances in results.items():
        name, how = words[kind]
        reached = rate_of(float(sum(chances)), len(chances), everybody=scene.everybody)
        found.append(
            Finding(
                *reached,
                name=name,
                attack="linkage",
                baseline=1.0 / max(scene.published.height, 1),
                worst=max(chances, default=0.0),
                sentence=Message(
                    "Who knows all quasi-identifiers of a person, {how}, picks the right row with "
                    "a chance of {rate:.2%}.",
                    how=how,
                    rate=reached.rate,
                ),
                lowered_by=_LINKING_LOWERED_BY,
            )
        )
    return found


def _range(places: NDArray[np.float64]) -> float:
    known = places[~np.isnan(places)]
    return float(known.max() - known.min()) if len(known) else 0.0


def _pick(scene: Scene, seen: Seen, fits: NDArray[np.bool_]) -> float:
    """Return the chance of the right row among those that fit in most columns."""
    sizes = scene.classes.sizes
    agree = fits.sum(axis=0)
    best = agree == agree.max()
    right = int(sizes[best & seen.full].sum()) / seen.rows
    return right / int(sizes[best].sum())


def _marketer(scene: Scene) -> Finding:
    """Link everybody, and count how many are right on average."""
    chances = np.array([1.0 / each.rows if each.rows else 0.0 for each in scene.seen])
    reached = rate_of(float(chances.sum()), len(chances), everybody=scene.everybody)
    return Finding(
        *reached,
        name=Message("linkage: marketer"),
        attack="linkage",
        baseline=1.0 / max(scene.published.height, 1),
        sentence=Message(
            "Who links all people of the original with the release gets {rate:.2%} of the links "
            "right on average.",
            rate=reached.rate,
        ),
        lowered_by=_LINKING_LOWERED_BY,
    )


def link_population(scene: Scene, population: People) -> Finding:
    """Look for the people of published rows in a table of the whole population (journalist)."""
    chance = scene.chance(101)
    most = max(int(_WORK / max(population.n * scene.n_columns, 1)), 20)
    rows = np.arange(scene.published.height)
    if len(rows) > min(most, len(scene.targets)):
        rows = chance.choice(rows, min(most, len(scene.targets)), replace=False)
    classes, of_row = np.unique(scene.classes.of_row[rows], return_inverse=True)
    fitting = np.array(
        [int(scene.classes.fitted(population, each).sum()) for each in classes.tolist()]
    )
    chances = np.where(fitting > 0, 1.0 / np.maximum(fitting, 1), 0.0)[of_row]
    everybody = len(chances) == scene.published.height
    reached = rate_of(float(chances.sum()), len(chances), everybody=everybody)
    worst = float(chances.max(initial=0.0))
    return Finding(
        *reached,
        name=Message("linkage: journalist"),
        attack="linkage",
        baseline=1.0 / max(population.n, 1),
        worst=worst,
        sentence=Message(
            "Who has the population table and looks for the person behind a published row is right "
            "with a chance of {rate:.2%} on average and of {worst:.2%} at most.",
            rate=reached.rate,
            worst=worst,
        ),
        lowered_by=_LINKING_LOWERED_BY,
    )


# Homogeneity and background knowledge: what a release tells about a person's sensitive value.
#
# All rows that fit a person are candidates, so the value s is believed with the share of candidates
# that have it. Without the release it would be believed with its share in the whole table.

LIKELY = (0.5, 0.9)
DISCLOSURE_LOWERED_BY = Message("l-diversity (--l-diversity) or t-closeness (--t-closeness)")


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
            Message("secret {column}: certain", column=secret.name),
            after >= 1.0,
            prior >= 1.0,
            Message(
                "For {rate:.1%} of the people the release tells the value for certain in "
                "{column!r}, to whoever knows all their quasi-identifiers; without the release for "
                "{usual:.1%}."
            ),
        ),
        *(
            _share(
                scene,
                secret,
                Message("secret {column}: likelier than {p:.0%}", column=secret.name, p=p),
                after > p,
                prior > p,
                Message(
                    "For {rate:.1%} of the people the true value is more likely than {p:.0%} in "
                    "{column!r}, to whoever knows all their quasi-identifiers; without the release "
                    "for {usual:.1%}."
                ),
                p=p,
            )
            for p in LIKELY
        ),
        _share(
            scene,
            secret,
            Message("secret {column}: certain if one value is ruled out", column=secret.name),
            known >= 1.0,
            prior >= 1.0,
            Message(
                "For {rate:.1%} of the people the value is certain to whoever can rule one other "
                "value out in {column!r}, to whoever knows all their quasi-identifiers; without "
                "the release for {usual:.1%}."
            ),
        ),
    ]
    gain = after - prior
    reached = rate_of(float(after.sum()), len(after), everybody=scene.everybody)
    usual = float(prior.mean()) if len(prior) else 0.0
    found.append(
        Finding(
            *reached,
            name=Message("secret {column}: belief in the true value", column=secret.name),
            attack="secrets",
            baseline=usual,
            worst=float(gain.max(initial=0.0)),
            sentence=Message(
                "Who knows all quasi-identifiers of a person believes in the true value of "
                "{column!r} with {rate:.1%} on average instead of {usual:.1%}; the largest gain "
                "for one person is {gain:.1%}.",
                column=secret.name,
                rate=reached.rate,
                usual=usual,
                gain=float(gain.max(initial=0.0)),
            ),
            lowered_by=DISCLOSURE_LOWERED_BY,
        )
    )
    return found


def _share(
    scene: Scene,
    secret: Secret,
    name: Message,
    hit: NDArray[np.bool_],
    before: NDArray[np.bool_],
    sentence: Message,
    **values: float,
) -> Finding:
    reached = rate_of(int(hit.sum()), len(hit), everybody=scene.everybody)
    usual = float(before.mean()) if len(before) else 0.0
    return Finding(
        *reached,
        name=name,
        attack="secrets",
        baseline=usual,
        sentence=Message(
            sentence.template, rate=reached.rate, usual=usual, column=secret.name, **values
        ),
        lowered_by=DISCLOSURE_LOWERED_BY,
    )


_INTERSECTION_LOWERED_BY = Message(
    "the same groups in both releases, or only one release of these people"
)


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
        found += [
            compared(
                together,
                alone,
                Message(
                    "For {rate:.1%} of the people who fit both releases, both together tell "
                    "{column!r} for certain; one of them alone for {usual:.1%}."
                ),
                name=Message("two releases: {column} certain", column=secret.name),
                attack="two releases",
                lowered_by=_INTERSECTION_LOWERED_BY,
                everybody=first.everybody,
                column=secret.name,
            ),
            compared(
                left,
                before,
                Message(
                    "Who compares the rows that fit in both releases by {column!r} picks a "
                    "person's row with a chance of {rate:.2%}; with one release {usual:.2%}."
                ),
                name=Message("two releases: row, by {column}", column=secret.name),
                attack="two releases",
                lowered_by=_INTERSECTION_LOWERED_BY,
                everybody=first.everybody,
                worst=max(left, default=0.0),
                column=secret.name,
            ),
        ]
    return found
