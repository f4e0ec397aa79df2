"""Tight generalisation: what follows from knowing how the cells were made.

An algorithm that generalises as little as possible gives something away with every cell: both ends
of an interval are somebody's values, a set lists only values that occur, below a label at least
two branches occur (Cohen 2022, downcoding; Chhillar et al. 2025, refinement; minimality attacks).
Two numbers say how far that goes:

- *ends*: how many interval ends are the exact value of a person who fits the group, beside the
  same for the next value inside, which an attacker could guess without knowing the algorithm;
- *groups*: for how many people it follows in which group of rows they are, although their
  values fit several: somebody must hold the end, and only one person who fits does.

The second is tried only where the release is as tight as can be; on a grid ends are lines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.messages import Message
from shoal.study.audit.attack_context import Finding, rate_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.study.audit.attack_context import Scene


_WORK = 150_000_000
_LOWERED = Message("a grid (--grid): ends become lines that are nobody's values")


def pin_down(scene: Scene) -> list[Finding]:
    """Return how many ends are exact values, and how many people's groups follow."""
    chosen = _sample(scene)
    everybody = len(chosen) == len(scene.classes.sizes)
    fitted = {each: scene.classes.fitted(scene.people, each) for each in chosen.tolist()}
    found = []
    held, inside, tight = _ends(scene, fitted)
    if held:
        reached = rate_of(sum(held), len(held), everybody=everybody)
        usual = sum(inside) / len(inside)
        found.append(
            Finding(
                *reached,
                name=Message("tight: ends of intervals"),
                attack="tight",
                baseline=usual,
                sentence=Message(
                    "{rate:.1%} of the ends of published intervals are the exact value of somebody "
                    "who fits the group; of the next values inside, {usual:.1%}.",
                    rate=reached.rate,
                    usual=usual,
                ),
                lowered_by=_LOWERED,
            )
        )
    labels = {
        number: _Branches(scene, number)
        for number, column in enumerate(scene.classes.columns)
        if column.line == "label" and not scene.schema[column.name].grid  # held at a level
    }
    tight |= _tight_labels(labels, fitted)
    forced: set[int] = set()
    for each, fits in fitted.items():
        forced |= set(who_must_be_in(scene, each, fits, tight, labels))
    several = 0
    for who in sorted(forced):
        several += int(np.count_nonzero(scene.look(scene.people, who).full)) > 1
    reached = rate_of(several, int(scene.classes.sizes[chosen].sum()), everybody=everybody)
    found.append(
        Finding(
            *reached,
            name=Message("tight: groups that follow"),
            attack="tight",
            baseline=0.0,
            sentence=Message(
                "For {rate:.1%} of the people it follows in which group of rows they are, although "
                "their values fit several, for whoever knows all people and that cells are as "
                "tight as can be.",
                rate=reached.rate,
            ),
            lowered_by=_LOWERED,
        )
    )
    return found


def _sample(scene: Scene) -> NDArray[np.int64]:
    """Return as many classes as can be compared with everybody in a few seconds."""
    n = len(scene.classes.sizes)
    most = max(int(_WORK / max(scene.people.n * scene.n_columns, 1)), 20)
    if n <= most:
        return np.arange(n)
    return np.sort(scene.chance(301).choice(n, most, replace=False))


def _ends(
    scene: Scene, fitted: dict[int, NDArray[np.bool_]]
) -> tuple[list[bool], list[bool], set[int]]:
    """Return which ends somebody holds, which next values inside, and the tight columns."""
    held: list[bool] = []
    inside: list[bool] = []
    tight: set[int] = set()
    for number, column in enumerate(scene.classes.columns):
        if column.line == "label":
            continue
        places = scene.people.values[number].places
        steps = np.unique(places[~np.isnan(places)])
        here: list[bool] = []
        for which, fits in fitted.items():
            cell = int(scene.classes.cells[which, number])
            low, high = float(column.low[cell]), float(column.high[cell])
            if not (np.isfinite(low) and np.isfinite(high) and low < high):
                continue
            values = places[fits]
            here += [bool((values == low).any()), bool((values == high).any())]
            after = steps[np.searchsorted(steps, low, side="right") :][:1]
            before = steps[: np.searchsorted(steps, high, side="left")][-1:]
            inside += [bool(np.isin(values, each).any()) for each in (after, before)]
        on_grid = bool(scene.schema[column.name].grid)
        if here and all(here) and not on_grid:
            tight.add(number)
        held += here
    return held, inside, tight


class _Branches:
    """Below each cell of a column of labels: in which branch every value lies."""

    def __init__(self, scene: Scene, number: int) -> None:
        from shoal.hierarchy import canonical_label

        self.column = scene.classes.columns[number]
        self.codes = scene.people.values[number].codes
        self.cells = scene.classes.cells[:, number]
        self.tree = scene.schema[self.column.name].hierarchy
        known, rows = np.unique(self.codes, return_index=True)
        cells = scene.original.get_column(self.column.name)
        self.labels = {
            code: canonical_label(cells[row])
            for code, row in zip(known.tolist(), rows.tolist(), strict=True)
            if code >= 0
        }
        self.place = {} if self.tree is None else {l: n for n, l in enumerate(self.tree.labels)}
        self.size = max(self.labels, default=-1) + 1
        self._below: dict[int, NDArray[np.int64]] = {}

    def spans(self, which: int) -> bool:
        """Whether the cell of a class stands for several values."""
        cell = int(self.cells[which])
        several = len(self.column.members[cell]) > 1 or bool(self.column.everything[cell])
        return several and not self.column.missing[cell]

    def listed(self, which: int) -> int:
        """Return how many values the cell of a class lists, each of which occurs; 0 for others."""
        cell = int(self.cells[which])
        is_set = self.tree is None and not self.column.everything[cell]
        return len(self.column.members[cell]) if is_set else 0

    def of(self, which: int, fits: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the branch of each person who fits a class."""
        cell = int(self.cells[which])
        if cell not in self._below:
            below = np.arange(self.size + 1)  # the last is what is missing
            if self.tree is not None:
                top = self.place.get(str(self.column.cells[cell]), len(self.place) - 1)
                for code, label in self.labels.items():
                    below[code] = self._child(label, top)
                below[-1] = len(self.place)
            self._below[cell] = below
        return self._below[cell][self.codes[fits]]

    def _child(self, label: str, top: int) -> int:
        assert self.tree is not None
        node = self.place.get(label, top)
        while node != top and int(self.tree.parent[node]) not in (top, -1):
            node = int(self.tree.parent[node])
        return node


def _tight_labels(labels: dict[int, _Branches], fitted: dict[int, NDArray[np.bool_]]) -> set[int]:
    """Return the columns of labels in which every cell is as narrow as whom it fits allows."""
    tight: set[int] = set()
    for number, branches in labels.items():
        several = [
            len(np.unique(branches.of(which, fits))) >= max(branches.listed(which), 2)
            for which, fits in fitted.items()
            if branches.spans(which)
        ]
        if several and all(several):
            tight.add(number)
    return tight


def who_must_be_in(
    scene: Scene,
    which: int,
    fits: NDArray[np.bool_],
    tight: set[int],
    labels: dict[int, _Branches],
) -> list[int]:
    """Return the people who must be in a group, since nobody else could have made its cells."""
    people = np.flatnonzero(fits)
    forced: set[int] = set()
    for number in sorted(tight):
        if number in labels:
            if labels[number].spans(which):
                forced |= set(people[_alone(labels[number], which, fits)].tolist())
            continue
        column = scene.classes.columns[number]
        cell = int(scene.classes.cells[which, number])
        places = scene.people.values[number].places[people]
        low, high = float(column.low[cell]), float(column.high[cell])
        for end in (low, high) if low < high else ():
            holders = people[places == end]
            if len(holders) == 1:
                forced.add(int(holders[0]))
    return sorted(forced)


def _alone(branches: _Branches, which: int, fits: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return who of those that fit is needed for a cell of labels.

    Of a set every value occurs; of a label, or of anything, at least two branches do.
    """
    branch = branches.of(which, fits)
    counts = np.bincount(branch)
    alone: NDArray[np.bool_] = counts[branch] == 1
    if branches.listed(which) or len(branch) - int(counts.max(initial=0)) == 1:
        return alone
    return np.zeros(len(branch), np.bool_)
