"""Releases whose promise is of other groups: known columns, strata, shuffled cells.

Whatever the kind of a column, missing values and promises are: what is published covers the rows it
was made of, and every class that an attacker can make has what was promised, counted as text.
"""

from collections import Counter
from itertools import combinations

import pytest
from tests.helpers.contract_checks import covers, groups_of, keeps
from tests.helpers.contract_samples import (
    EVERY_COLUMN,
    KINDS,
    PRIVACY,
    SEED,
    TREES,
    arguments,
    people,
)

import shoal
from shoal.errors import DataError, OptionError

K = 4
LIMITED = {
    "one column": ({"knows": 1}, 1, []),
    "three columns": ({"knows": 3}, 3, []),
    "chosen": ({"combinations": [["age", "grade"], ["country", "born", "city"]]}, 0,
               [["age", "grade"], ["country", "born", "city"]]),
    "both": ({"knows": 1, "combinations": [["age", "skill"]]}, 1, [["age", "skill"]]),
}  # fmt: skip
GROUP_PROMISES = [n for n, models in PRIVACY.items() if all(m.about == "groups" for m in models)]


def release_of(frame, names, k=K, **options):
    given = {"seed": SEED, "threads": 1, "shuffle": False, **arguments(names), **options}
    return shoal.anonymize(frame, k=k, **given)


def known_to(way, names):
    """Every combination of columns that somebody may know."""
    _, most, chosen = LIMITED[way]
    return chosen + [one for size in range(1, most + 1) for one in combinations(names, size)]


def check_limited(release, frame, way, names, privacy=()):
    published = release.frame
    kept = [row for row, label in enumerate(release.groups) if label >= 0]
    for column in names:
        given, found = frame[column].to_list(), published[column].to_list()
        wrong = [r for r, c in zip(kept, found, strict=True) if not covers(column, c, given[r])]
        assert not wrong, (column, wrong)
    assert release.verification.holds
    for one in known_to(way, names):
        groups = groups_of(published, list(one))
        assert min(map(len, groups)) >= K, one
        for model in privacy:
            for column in ["disease", "stage"] if model.column is None else [model.column]:
                assert keeps(model, published[column].to_list(), groups), (one, model, column)


@pytest.mark.parametrize("missing", ["none", "category", "suppress"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_column_is_covered_where_somebody_knows_few(kind, missing):
    frame, names = people(missing=missing != "none"), [*KINDS[kind], "age", "city"]
    names = list(dict.fromkeys(names))
    options = {} if missing == "none" else {"missing": missing}
    release = release_of(frame, names, knows=2, **options)
    LIMITED["two columns"] = ({"knows": 2}, 2, [])
    check_limited(release, frame, "two columns", names)


@pytest.mark.parametrize("way", [name for name in LIMITED if name != "two columns"])
def test_every_class_of_what_is_known_has_k_rows(way):
    frame = people(missing=True)
    release = release_of(frame, EVERY_COLUMN, **LIMITED[way][0])
    check_limited(release, frame, way, EVERY_COLUMN)


@pytest.mark.parametrize("promise", GROUP_PROMISES)
def test_every_promise_is_kept_in_every_class_of_what_is_known_or_refused(promise):
    frame, privacy = people(missing=True), PRIVACY[promise]
    if not all(model.monotone for model in privacy):  # joining classes can break it
        with pytest.raises(OptionError, match="cannot be promised for combinations"):
            release_of(frame, EVERY_COLUMN, knows=1, privacy=privacy)
        return
    release = release_of(frame, EVERY_COLUMN, knows=1, privacy=privacy)
    check_limited(release, frame, "one column", EVERY_COLUMN, privacy)


@pytest.mark.parametrize("within", ["city", "grade"])
@pytest.mark.parametrize("promise", ["k alone", "distinct", "t equal", "alpha"])
def test_strata_are_published_exactly_and_every_promise_is_kept_inside(within, promise):
    frame, privacy = people(200, missing=False), PRIVACY[promise]
    names = ["age", "country", "city", "grade"]
    release = release_of(frame, names, within=within, privacy=privacy, max_suppression=0.3, k=3)
    published = release.frame
    kept = [row for row, label in enumerate(release.groups) if label >= 0]
    assert published[within].to_list() == [frame[within][row] for row in kept]
    for group in set(release.groups) - {-1}:
        rows = [row for row, label in enumerate(release.groups) if label == group]
        assert len({frame[within][row] for row in rows}) == 1
        assert len(rows) >= 3
    groups = groups_of(published, names)
    for model in privacy:
        for column in ["disease", "stage"] if model.column is None else [model.column]:
            assert keeps(model, published[column].to_list(), groups), (model, column)


@pytest.mark.parametrize("missing", ["none", "category", "suppress"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_column_is_exact_where_groups_are_shuffled(kind, missing):
    frame, names = people(missing=missing != "none"), KINDS[kind]
    options = {} if missing == "none" else {"missing": missing}
    release = release_of(frame, names, style="shuffled", shuffle=True, **options)
    published = release.frame
    kept = [row for row, label in enumerate(release.groups) if label >= 0]
    if missing == "suppress":
        assert not any(frame[name][row] is None for name in names for row in kept)
    groups = groups_of(published, ["group"])
    assert min(map(len, groups)) >= K
    for column in names:
        shown, true = (Counter(map(str, each)) for each in (
            published[column].to_list(), [frame[column][row] for row in kept],
        ))  # fmt: skip
        assert shown == true
    # of each group the cells of every column, whatever the order of its rows
    ours = Counter(
        tuple(tuple(sorted(map(str, published[name].gather(rows)))) for name in (*names, "token"))
        for rows in groups
    )
    theirs = Counter(
        tuple(
            tuple(sorted(str(frame[name][row]) for row in kept if release.groups[row] == label))
            for name in (*names, "token")
        )
        for label in set(release.groups[kept].tolist())
    )
    assert ours == theirs


@pytest.mark.parametrize("promise", ["distinct", "entropy", "t equal", "alpha"])
def test_every_promise_is_kept_in_groups_that_are_shuffled(promise):
    frame, privacy = people(missing=True), PRIVACY[promise]
    release = release_of(frame, EVERY_COLUMN, style="shuffled", privacy=privacy)
    groups = groups_of(release.frame, ["group"])
    for model in privacy:
        for column in ["disease", "stage"] if model.column is None else [model.column]:
            assert keeps(model, release.frame[column].to_list(), groups)


@pytest.mark.parametrize("options", [{"knows": 2}, {"within": "city"}, {"style": "shuffled"}])
def test_missing_values_are_refused_if_they_are_to_be(options):
    with pytest.raises(DataError, match="missing"):
        release_of(people(missing=True), TREES, missing="error", **options)


@pytest.mark.parametrize("options", [{"knows": 2}, {"within": "city"}, {"style": "shuffled"}])
def test_the_same_seed_gives_the_same_release_whatever_the_threads(options):
    frame = people(120, missing=True)
    first, second = (
        release_of(frame, EVERY_COLUMN, threads=threads, k=2, max_suppression=0.3, **options)
        if "within" in options
        else release_of(frame, EVERY_COLUMN, threads=threads, **options)
        for threads in (1, 3)
    )
    assert first.frame.equals(second.frame)
