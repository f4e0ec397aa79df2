"""The contract of every algorithm, built in or plugged in, whatever the data and the promise."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from tests.helpers.contract_array import ALGORITHMS, MEASURES, MISSING, PLUGGED_IN, TREES_ONLY
from tests.helpers.contract_checks import check_release
from tests.helpers.contract_samples import (
    EVERY_COLUMN,
    KINDS,
    PRIVACY,
    SEED,
    TREES,
    arguments,
    people,
)
from tests.helpers.effort import further

import shoal
from shoal import registry
from shoal.errors import AlgorithmError, DataError, PromiseError
from shoal.publish.recode import RowHash

K = 4

every_algorithm = pytest.mark.parametrize("algorithm", ALGORITHMS)


def columns_for(algorithm, names):
    """The columns of these that an algorithm can generalise."""
    return [n for n in names if n in TREES] if algorithm in TREES_ONLY else list(names)


def release_of(algorithm, frame, names, k=K, **options):
    options = {"seed": SEED, "threads": 1, "shuffle": False, **arguments(names), **options}
    return shoal.anonymize(frame, k=k, algorithm=algorithm, **options)


def may_suppress(algorithm):
    return registry.load("algorithms", algorithm).may_suppress


@pytest.mark.long
@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize("kind", KINDS)
@every_algorithm
def test_every_kind_of_column_is_covered_by_what_is_published(algorithm, kind, missing):
    if algorithm in TREES_ONLY and not set(KINDS[kind]) <= set(TREES):
        return  # refused, see below
    frame = people(missing=missing != "none")
    options = {} if missing == "none" else {"missing": missing}
    release = release_of(algorithm, frame, KINDS[kind], **options)
    check_release(release, frame, K, KINDS[kind])
    if not may_suppress(algorithm):
        incomplete = frame.select(pl.any_horizontal(pl.col(KINDS[kind]).is_null()).sum()).item()
        assert release.n_suppressed == (incomplete if missing == "suppress" else 0)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not set(KINDS[kind]) <= set(TREES)])
@pytest.mark.parametrize("algorithm", TREES_ONLY)
def test_columns_without_levels_are_refused_by_name_where_levels_are_needed(algorithm, kind):
    for missing in MISSING:
        options = {} if missing == "none" else {"missing": missing}
        with pytest.raises(AlgorithmError, match=KINDS[kind][0]):
            release_of(algorithm, people(missing=missing != "none"), KINDS[kind], **options)


@every_algorithm
def test_missing_values_are_refused_if_they_are_to_be(algorithm):
    names = columns_for(algorithm, EVERY_COLUMN)
    with pytest.raises(DataError, match="missing"):
        release_of(algorithm, people(missing=True), names, missing="error")


@pytest.mark.long
@pytest.mark.parametrize("missing", ["category", "suppress"])
@pytest.mark.parametrize("promise", PRIVACY)
@every_algorithm
def test_every_promise_is_kept_on_columns_of_all_kinds(algorithm, promise, missing):
    frame, names = people(missing=True), columns_for(algorithm, EVERY_COLUMN)
    privacy = PRIVACY[promise]
    release = release_of(algorithm, frame, names, privacy=privacy, missing=missing)
    check_release(release, frame, K, names, privacy)
    judged = [check for check in release.verification.checks if not check.name.startswith("grid")]
    twice = [model for model in privacy if model.column is None and model.about == "groups"]
    assert len(judged) == 1 + len(privacy) + len(twice)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@every_algorithm
def test_every_promise_is_kept_on_each_kind_in_each_missing_mode(algorithm, kind):
    names = KINDS[kind]
    if algorithm in TREES_ONLY and not set(names) <= set(TREES):
        return  # refused, see above
    for privacy in PRIVACY.values():
        for missing in MISSING:
            frame = people(missing=missing != "none")
            options = {} if missing == "none" else {"missing": missing}
            release = release_of(algorithm, frame, names, privacy=privacy, **options)
            check_release(release, frame, K, names, privacy)


@pytest.mark.long  # every pair of them is in the covering array, too
@pytest.mark.parametrize("measure", MEASURES)
@every_algorithm
def test_any_algorithm_minimises_any_measure(algorithm, measure):
    frame, names = people(60, missing=True), columns_for(algorithm, EVERY_COLUMN)
    release = release_of(algorithm, frame, names, measure=measure)
    check_release(release, frame, K, names)
    assert {measure, "ncp", "lm", "dm", "average-class-size"} <= set(release.scores)
    again = shoal.score(
        frame,
        release.groups,
        **{
            key: value
            for key, value in arguments(names).items()
            if key in ("quasi_identifiers", "sensitive", "hierarchies", "kinds", "orders")
        },
        measures=[measure],
    )
    # full-domain recoding publishes more than the groups need, so it cannot be cheaper
    assert release.scores[measure] >= again[measure] - 1e-9
    if algorithm not in TREES_ONLY:
        assert release.scores[measure] == pytest.approx(again[measure])


@pytest.mark.parametrize("promise", further(["k alone", "distinct"], lambda p: p == "k alone"))
@every_algorithm
def test_a_seed_gives_one_release_with_any_number_of_threads(algorithm, promise):
    names = columns_for(algorithm, EVERY_COLUMN)
    first, *others = [
        release_of(
            algorithm,
            people(missing=True),
            names,
            privacy=PRIVACY[promise],
            threads=threads,
            shuffle=True,
            max_suppression=0.05,
        )
        for threads in (1, 1, 2, 3)
    ]
    for other in others:
        assert other.frame.equals(first.frame)
        assert other.groups.tolist() == first.groups.tolist()
        assert dict(other.scores) == dict(first.scores)


@every_algorithm
def test_the_order_of_the_release_tells_nothing_about_the_order_of_the_input(algorithm):
    n = 120
    names = columns_for(algorithm, EVERY_COLUMN)
    frame = people(n).sort("country", "age").with_columns(token=pl.int_range(n))
    for seed in (1, 2, 3):
        published = release_of(algorithm, frame, names, seed=seed, shuffle=True).frame
        order = published["token"].to_list()
        place = np.arange(len(order))
        correlation = np.corrcoef(place, order)[0, 1]
        assert abs(correlation) < 3.5 / np.sqrt(len(place))
        neighbours = np.abs(np.diff(order)) == 1
        assert neighbours.mean() < 0.1
        # the published rows, in whatever order, are enough to find theirs again
        mixed = published.sample(fraction=1, shuffle=True, seed=seed)
        hashes = RowHash(mixed.height)
        for column in mixed.get_columns():
            hashes.add(column)
        assert mixed[hashes.order()].equals(published)


@every_algorithm
def test_a_shuffled_release_holds_the_rows_of_the_unshuffled_one(algorithm):
    names = columns_for(algorithm, EVERY_COLUMN)
    straight, shuffled = (
        release_of(algorithm, people(), names, shuffle=shuffle).frame for shuffle in (False, True)
    )
    assert straight.sort("token").equals(shuffled.sort("token"))


@every_algorithm
def test_names_row_numbers_index_and_seed_stay_at_home(algorithm):
    names = columns_for(algorithm, ["age", "country", "city"])
    frame = people()
    index = [f"row of {name}" for name in frame["name"]]
    given = frame.to_pandas().set_index(np.array(index))
    release = release_of(algorithm, given, names, shuffle=True)
    assert list(release.frame.columns) == [*names, "disease", "stage", "token"]
    assert release.frame.index.equals(type(release.frame.index)(range(len(release.frame))))
    assert type(release.frame.index).__name__ == "RangeIndex"
    told = json.dumps(release.certificate()) + repr(release) + json.dumps(release.parameters)
    assert str(SEED) not in told
    told += release.frame.to_csv()
    assert [name for name in frame["name"] if name in told] == []
    assert "row of" not in release.frame.to_csv()


@every_algorithm
def test_no_more_rows_are_left_out_than_allowed(algorithm):
    names = columns_for(algorithm, EVERY_COLUMN)
    frame = people(missing=True)
    for share in (0.05, 0.2):
        release = release_of(algorithm, frame, names, max_suppression=share)
        check_release(release, frame, K, names)
        assert release.n_suppressed <= share * frame.height or may_suppress(algorithm)


@every_algorithm
def test_weights_of_columns_are_accepted(algorithm):
    names = columns_for(algorithm, EVERY_COLUMN)
    weights = {name: float(i + 1) for i, name in enumerate(names)}
    release = release_of(algorithm, people(), names, weights=weights)
    check_release(release, people(), K, names)


@every_algorithm
def test_progress_is_told_and_may_stop_the_run(algorithm):
    names = columns_for(algorithm, EVERY_COLUMN)
    told = []
    release_of(algorithm, people(), names, progress=lambda *step: told.append(step))
    assert all(0 <= done <= total or total == 0 for done, total, _ in told)
    assert told[-1][2] == "done"

    def stop(done, total, what):
        if what == "publishing":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        release_of(algorithm, people(), names, progress=stop)


@every_algorithm
def test_fewer_rows_than_k_are_an_error(algorithm):
    names = columns_for(algorithm, EVERY_COLUMN)
    with pytest.raises(PromiseError, match="fewer than k"):
        release_of(algorithm, people().head(K - 1), names)


@every_algorithm
def test_rows_that_are_all_the_same_lose_nothing(algorithm):
    names = columns_for(algorithm, EVERY_COLUMN)
    frame = pl.concat([people().head(1)] * 21)
    # a class that all rows share gives specialisation no reason, unless it looks at the loss
    by_class = algorithm == "top-down-specialization"
    options = {"algorithm_options": {"gain": "loss"}} if by_class else {}
    release = release_of(algorithm, frame, names, **options)
    check_release(release, frame, K, names)
    assert release.scores["ncp"] == 0
    assert release.verification.n_groups == 1


@pytest.mark.parametrize("k", further([46, 89, 90], lambda k: k == 46))
@every_algorithm
def test_more_than_half_of_the_rows_form_one_group(algorithm, k):
    names = columns_for(algorithm, EVERY_COLUMN)
    release = release_of(algorithm, people(), names, k=k)
    check_release(release, people(), k, names)
    assert release.n_groups == 1 or may_suppress(algorithm)


@pytest.mark.parametrize("missing", [False, True])
@every_algorithm
def test_one_column_with_one_value_is_enough(algorithm, missing):
    frame = pl.DataFrame({"x": ["v"] * 20 + [None if missing else "v"] * 5})
    release = shoal.anonymize(
        frame, k=3, quasi_identifiers="x", hierarchies={"x": {"all": ["v"]}}, algorithm=algorithm,
        seed=1,
    )  # fmt: skip
    assert release.n_published == 25
    assert release.scores["ncp"] == 0 or missing


@every_algorithm
def test_one_column_of_one_number_is_enough(algorithm):
    if algorithm in TREES_ONLY:
        pytest.skip("needs hierarchies, which numbers do not have")
    release = shoal.anonymize(
        pl.DataFrame({"x": [7] * 25}), k=3, quasi_identifiers="x", algorithm=algorithm, seed=1
    )
    assert release.frame["x"].to_list() == ["7"] * 25


@every_algorithm
def test_sixty_columns_work_or_fail_clearly(algorithm):
    rng = np.random.default_rng(4)
    n = 60
    frame = pl.DataFrame(
        {
            f"c{i}": rng.choice(["a", "b", "c"], n) if i % 2 or algorithm in TREES_ONLY
            else rng.integers(0, 50, n)
            for i in range(60)
        }
    )  # fmt: skip
    try:
        release = shoal.anonymize(
            frame, k=K, quasi_identifiers=frame.columns, algorithm=algorithm, seed=1
        )
    except AlgorithmError:
        if algorithm in TREES_ONLY:  # its lattice has 2^60 nodes
            return
        raise
    assert release.verification.holds
    assert frame.width == release.frame.width


@pytest.fixture(scope="module")
def wide_tree():
    """A hierarchy of 50,000 leaves in 200 groups."""
    return shoal.Taxonomy.from_paths(
        [(f"{leaf:05d}", f"{leaf // 250:03d}**", "*****") for leaf in range(50_000)]
    )


@every_algorithm
def test_a_hierarchy_of_fifty_thousand_leaves_works(algorithm, wide_tree):
    rng = np.random.default_rng(5)
    leaves = rng.integers(0, 2000, 80) * 25
    frame = pl.DataFrame({"zip": [f"{leaf:05d}" for leaf in leaves]})
    release = shoal.anonymize(
        frame, k=3, quasi_identifiers="zip", hierarchies={"zip": wide_tree}, algorithm=algorithm,
        seed=1, shuffle=False,
    )  # fmt: skip
    kept = frame["zip"].filter(pl.Series(release.groups >= 0)).to_list()
    cells = release.frame["zip"].to_list()
    assert all(
        cell in (value, f"{int(value) // 250:03d}**", "*****")
        for value, cell in zip(kept, cells, strict=True)
    )


def test_the_plug_in_is_known_by_its_name():
    assert set(PLUGGED_IN) <= set(shoal.algorithms())
    options = {"algorithm_options": {"backwards": True}, **arguments(["age"])}
    release = shoal.anonymize(people(), k=K, algorithm="neighbours", seed=1, **options)
    assert release.parameters["algorithm"] == "neighbours"
