"""Top-down specialisation equals a plain version over lists of texts."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from tests.helpers.brute import make_run
from tests.helpers.effort import share
from tests.helpers.tree_tables import PATHS, tree_tables
from tests.oracle.test_datafly import published

from shoal.algorithm.top_down import TopDownSpecialization
from shoal.errors import OptionError
from shoal.privacy.l_diversity import LDiversity


def path_of(name, value):
    """Return the labels above a value, from the root to the value itself."""
    if value is None:
        return ["*", None]
    return [*reversed(next(path for path in PATHS[name] if path[0] == value))]


def entropy(values):
    counts = Counter(values)
    return -sum(c / len(values) * math.log2(c / len(values)) for c in counts.values())


def leaves_below(name, label):
    return sum(label in path for path in PATHS[name])


def ncp(table, name, label, value):
    """Return what a cell with this label costs a row, as a share of the column."""
    size = len(PATHS[name])
    weight = next(a for a in table.attributes if a.name == name).weight
    if name == "flat":
        return weight * (label != value)
    if label is None:
        return 0.0
    leaves = size if label == "*" else leaves_below(name, label)
    return weight * (0 if label == value else (leaves - 1) / (size - 1))


class Plain:
    """The cells of every row, as labels, and what a step makes of them."""

    def __init__(self, frame, table, k, *, by_class, distinct):
        self.table, self.k, self.by_class, self.distinct = table, k, by_class, distinct
        self.names = [a.name for a in table.attributes]
        self.rows = frame.to_dicts()
        self.paths = {(n, row[n]): path_of(n, row[n]) for row in self.rows for n in self.names}
        self.cells = [dict.fromkeys(self.names, "*") for _ in self.rows]

    def after(self, name, label):
        """The cells after a label was replaced by the labels below it."""
        changed = []
        for row, cell in zip(self.rows, self.cells, strict=True):
            path = self.paths[name, row[name]]
            below = cell[name] == label and path[-1] != label
            changed.append({**cell, name: path[path.index(label) + 1]} if below else cell)
        return changed

    def groups(self, cells):
        found = {}
        for cell, row in zip(cells, self.rows, strict=True):
            found.setdefault(tuple(cell.items()), []).append(row["sick"])
        return found.values()

    def least(self, cells):
        return min(map(len, self.groups(cells)))

    def valid(self, cells):
        diverse = all(len(set(group)) >= self.distinct for group in self.groups(cells))
        return diverse and self.least(cells) >= self.k

    def gain(self, name, label, then):
        """What a step gains, None if it is not beneficial."""
        inside = [i for i, cell in enumerate(self.cells) if cell[name] == label]
        values = [self.rows[i][name] for i in inside]
        if all(self.paths[name, value][-1] == label for value in values):
            return None
        below = [then[i][name] for i in inside]
        if not self.by_class:
            return sum(
                ncp(self.table, name, label, value) - ncp(self.table, name, child, value)
                for value, child in zip(values, below, strict=True)
            )
        classes = [self.rows[i]["sick"] for i in inside]
        if len(set(classes)) == 1:
            return None
        parts = [
            [sick for sick, child in zip(classes, below, strict=True) if child == each]
            for each in set(below)
        ]
        return entropy(classes) - sum(len(p) / len(classes) * entropy(p) for p in parts)

    def best(self):
        """The cells after the best step, None if there is none."""
        offers = []
        for place, name in enumerate(self.names):
            labels = [str(label) for label in self.table.attributes[place].taxonomy.labels]
            for label in {cell[name] for cell in self.cells} - {None}:
                then = self.after(name, label)
                gain = self.gain(name, label, then)
                if gain is not None and self.valid(then):
                    lost = self.least(self.cells) - self.least(then)
                    score = round(gain / lost if lost else gain, 9)
                    offers.append((-score, place, labels.index(label), then))
        return min(offers, key=lambda offer: offer[:3])[3] if offers else None


def plain_specialisation(plain):
    """Return the published tuple of every row."""
    then = plain.cells
    while then is not None:
        plain.cells = then
        then = plain.best()
    return [tuple(cell.values()) for cell in plain.cells]


@pytest.mark.parametrize("distinct", [1, 2])
@pytest.mark.parametrize("gain", ["class", "loss"])
def test_the_cuts_are_those_of_the_plain_version(gain, distinct):
    moved = 0
    for seed, (frame, table) in enumerate(tree_tables(seed=37, count=share(60))):
        k = 2 + seed % 3
        privacy = () if distinct == 1 else (LDiversity(2, kind="distinct"),)
        if frame["sick"].n_unique() < distinct:
            continue
        run = make_run(table, "ncp", k, seed, privacy=privacy)
        found = published(table, TopDownSpecialization(gain=gain).partition(table, run))
        plain = Plain(frame, table, k, by_class=gain == "class", distinct=distinct)
        expected = plain_specialisation(plain)
        assert found == expected, seed
        moved += len(set(found)) > 1
    assert moved > share(30, least=1)


def test_an_unknown_gain_is_refused():
    with pytest.raises(OptionError, match="gain of 'top-down-specialization' must be one of"):
        TopDownSpecialization(gain="classes")
