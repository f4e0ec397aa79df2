"""What is to be thought of a published table: sets and counting, without any code of Shoal."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction

KNOWN, ALONE = Fraction(1, 100), Fraction(1, 20)


def groups_of(rows, quasi):
    """Return the rows (as dicts) behind each combination of the quasi-identifiers."""
    found = defaultdict(list)
    for row in rows:
        found[tuple(row[name] for name in quasi)].append(row)
    return list(found.values())


def known_rows(rows, quasi, column):
    """Return how many rows are in groups in which all share one value that is there."""
    return sum(
        len(group)
        for group in groups_of(rows, quasi)
        if len({row[column] for row in group}) == 1 and group[0][column] is not None
    )


def alone_rows(rows, exact, ids=None):
    """Return how many rows have cells in the exact columns that belong to nobody else."""
    owners = defaultdict(set)
    told = [tuple(row[name] for name in exact) for row in rows]
    for number, cells in enumerate(told):
        owners[cells].add(number if ids is None else ids[number])
    return sum(len(owners[cells]) == 1 for cells in told) if exact else 0


def expected(rows, k, quasi, sensitive, insensitive=(), ids=None, doubts=0):
    """Return the state, and how many points are open."""
    people = Counter()
    for number, row in enumerate(rows):
        cells = tuple(row[name] for name in quasi)
        people[cells, number if ids is None else ids[number]] += 1
    sizes = Counter(cells for cells, _ in people)
    points = doubts + sum(known_rows(rows, quasi, each) > KNOWN * len(rows) for each in sensitive)
    alone = alone_rows(rows, (*sensitive, *insensitive), ids)
    points += alone >= ALONE * len(rows) and alone > 0
    if min(sizes.values()) < k:
        return "red", points
    return ("amber" if points else "green"), points
