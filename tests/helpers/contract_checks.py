"""What a release promises, checked without any code of Shoal: cells are read as text."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections import Counter, defaultdict

from tests.helpers.contract_samples import DISEASE_PATHS, GRADES, KINDS, PATHS

KIND_OF = {name: kind for kind, names in KINDS.items() for name in names}
PARSE = {
    "numeric": float,
    "ordinal": GRADES.index,
    "date": dt.date.fromisoformat,
    "datetime": dt.datetime.fromisoformat,
}


def covers(column, cell, value):
    """Return whether a published cell covers the value it was made from."""
    if cell == "*":
        return True
    if cell is None or value is None:
        return cell is None and value is None
    kind = KIND_OF[column]
    if kind in ("flat", "set"):
        return value in (cell[1:-1].split(", ") if cell.startswith("{") else [cell])
    if kind == "categorical":
        return cell == value or cell in PATHS[value]
    parse = PARSE[kind]
    low, high = cell, cell
    if cell.startswith("["):
        low, high = cell[1:-1].split(" to " if " to " in cell else "-")
    place = GRADES.index(value) if kind == "ordinal" else value
    return parse(low) <= place <= parse(high)


def groups_of(frame, quasi_identifiers):
    """Return the rows of each group of equal published quasi-identifiers."""
    groups = defaultdict(list)
    for row, cells in enumerate(frame.select(quasi_identifiers).rows()):
        groups[cells].append(row)
    return list(groups.values())


def keeps(model, values, groups):
    """Return whether all groups keep a promise about the values of one sensitive column."""
    whole = Counter(values)
    return all(_keeps(model, Counter(values[row] for row in rows), whole) for rows in groups)


def _keeps(model, group, whole):  # noqa: PLR0911 - one per model
    size, counts = sum(group.values()), sorted(group.values(), reverse=True)
    if model.name == "alpha-k":
        return counts[0] <= model.alpha * size + 1e-9
    if model.name == "beta-likeness":
        return _is_like(model, group, whole)
    if model.name == "delta-disclosure":
        n = sum(whole.values())
        return all(
            group[value] and abs(math.log(group[value] * n / (size * count))) < model.delta
            for value, count in whole.items()
        )
    if model.name == "ke-anonymity":
        return len(counts) >= model.k and max(group) - min(group) >= model.e
    if model.name == "t-closeness":
        return _distance(model, group, whole) <= model.t + 1e-9
    if model.kind == "frequency":
        return counts[0] * model.l <= size + 1e-9
    if model.kind == "distinct":
        return len(counts) >= model.l
    if model.kind == "entropy":
        entropy = -sum(c / size * math.log(c / size) for c in counts)
        return entropy >= math.log(model.l) - 1e-9
    return counts[0] < model.c * sum(counts[model.l - 1 :])


def _is_like(model, group, whole):
    size, n = sum(group.values()), sum(whole.values())
    for value, count in group.items():
        share = whole[value] / n
        gain = count / size / share - 1
        limit = model.beta if model.kind == "basic" else min(model.beta, -math.log(share))
        if gain > limit + 1e-9:
            return False
    return True


def _along_the_tree(group, whole):
    """Sum over all nodes of the branch above times the mass that crosses it; three levels."""
    size, n = sum(group.values()), sum(whole.values())
    height = {"*": 3, "ill": 2, "stomach": 1, "other": 1, "well": 1}
    crossed, branch = Counter(), {}
    for value, path in DISEASE_PATHS.items():
        for node, parent in itertools.pairwise(path):
            crossed[node] += group[value] / size - whole[value] / n
            branch[node] = (height[parent] - height.get(node, 0)) / 6
    return sum(abs(crossed[node]) * branch[node] for node in branch)


def _distance(model, group, whole):
    if model.distance == "hierarchical":
        return _along_the_tree(group, whole)
    size, n = sum(group.values()), sum(whole.values())
    gaps = [group[value] / size - whole[value] / n for value in sorted(whole)]
    if model.distance == "equal":
        return sum(map(abs, gaps)) / 2
    return sum(abs(sum(gaps[: i + 1])) for i in range(len(gaps))) / (len(gaps) - 1)


def check_whole(model, published, groups):
    """Check a promise about all groups together, person by person of the population."""
    if model.name == "population-risk":
        assert len(groups) <= model.limit * published.height + 1e-9
        return
    names = published.columns
    everybody = model.population.select(names).rows()
    presence = [0.0] * len(everybody)
    for rows in groups:
        cells = published.row(rows[0])
        fits = [
            number
            for number, person in enumerate(everybody)
            if all(map(covers, names, cells, person))
        ]
        if model.name == "k-map":
            assert len(fits) >= model.k
            continue
        for number in fits:
            presence[number] += len(rows) / len(fits)
    if model.name == "delta-presence":
        # ends of intervals on a grid may cover somebody who is just outside
        assert max(presence) <= model.delta_max + 0.05
        assert min(presence) >= model.delta_min


def check_release(release, original, k, quasi_identifiers, privacy=()):
    """Check a release that was made without shuffling, against the rows it was made from."""
    labels = release.groups
    assert labels.shape == (original.height,)
    kept = [row for row, label in enumerate(labels) if label >= 0]
    published = release.frame
    assert published.height == len(kept) == release.n_published
    assert release.n_suppressed == original.height - len(kept)

    sizes = Counter(labels[labels >= 0].tolist())
    assert set(sizes) == set(range(len(sizes)))
    assert min(sizes.values()) >= k

    cells = published.select(quasi_identifiers).rows()
    per_group = defaultdict(set)
    for row, cell in zip(kept, cells, strict=True):
        per_group[labels[row]].add(cell)
    assert all(len(distinct) == 1 for distinct in per_group.values())
    for column in quasi_identifiers:
        given = original[column].to_list()
        found = published[column].to_list()
        wrong = [r for r, c in zip(kept, found, strict=True) if not covers(column, c, given[r])]
        assert not wrong, (column, wrong)

    groups = groups_of(published, quasi_identifiers)
    assert min(map(len, groups)) >= k
    assert release.verification.holds
    assert release.verification.n_groups == release.n_groups == len(groups)
    assert release.verification.smallest_group == min(map(len, groups))
    for model in privacy:
        if model.about != "groups":
            check_whole(model, published.select(quasi_identifiers), groups)
            continue
        for column in ["disease", "stage"] if model.column is None else [model.column]:
            assert keeps(model, published[column].to_list(), groups), (model, column)
