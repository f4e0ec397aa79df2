"""Loukides and Shao's clusters against a plain reading of Lin and Wei's description."""

import warnings

import numpy as np
import pytest
from tests.helpers.brute import MEASURES, as_groups, closure_cost, make_run, row_cost, small_tables
from tests.helpers.effort import share

import shoal
from shoal.algorithm import loukides_shao as algorithm
from shoal.algorithm.loukides_shao import LoukidesShao
from shoal.datasets import ADULT_QUASI_IDENTIFIERS, load_adult
from shoal.errors import OptionError, PromiseError, ShoalWarning
from shoal.search.suppress import everything_cost


def loukides_shao(table, run, threshold):
    """Return the clusters that were grown, and the rows of those that were deleted."""
    scanner, model, k = run.scanner, run.model, run.k
    full = everything_cost(scanner).tolist()
    n_classes = scanner.n_classes

    def cost(rows):
        return row_cost(table, scanner, model, rows)

    def too_diverse(cluster):
        whole = closure_cost(table, scanner, model, cluster)
        base = closure_cost(table, scanner, model, cluster[:1])
        count = np.bincount(scanner.classes[cluster], minlength=n_classes).tolist()
        loss = sum(c * (w - b) for c, w, b in zip(count, whole, base, strict=True))
        most = sum(c * (f - b) for c, f, b in zip(count, full, base, strict=True))
        return loss > threshold * max(most, 0)

    free, clusters, deleted = set(range(table.n_rows)), [], []
    for seed in run.rng.permutation(table.n_rows).tolist():
        if seed not in free:
            continue
        cluster = [seed]
        free.remove(seed)
        while free:
            row = min(free, key=lambda r: (cost([*cluster, r]), r))
            if too_diverse([*cluster, row]):
                break
            cluster.append(row)
            free.remove(row)
        if len(cluster) >= k:
            clusters.append(cluster)
        else:
            deleted += cluster
    return clusters, deleted


def place_deleted(table, run, clusters, deleted):
    """Where suppression is limited, let rows beyond the limit join what they cost least."""

    def rises(row):
        return [
            row_cost(table, run.scanner, run.model, [*cluster, row])
            - row_cost(table, run.scanner, run.model, cluster)
            for cluster in clusters
        ]

    ranked = sorted(deleted, key=lambda row: (-min(rises(row)), row))
    for row in sorted(ranked[run.max_suppressed :]):
        clusters[int(np.argmin(rises(row)))].append(row)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("limited", [False, True])
def test_loukides_shao_equals_its_plain_twin_group_for_group(measure, limited, monkeypatch):
    # blocks of a few rows, so that small tables have some to skip
    monkeypatch.setattr(algorithm, "BLOCK_ROWS", 4)
    compared = 0
    for number, table in enumerate(small_tables(51, count=50, max_rows=30)):
        k, threshold = 2 + number % 4, (0.0, 0.2, 0.35, 0.6, 1.0)[number % 5]
        options = {"max_suppressed": number % 3} if limited else {}
        run = make_run(table, measure, k, number, **options)
        clusters, deleted = loukides_shao(table, run, threshold)
        run = make_run(table, measure, k, number, **options)
        if not clusters:
            with pytest.raises(PromiseError, match="raise the threshold"):
                LoukidesShao(threshold=threshold).partition(table, run)
            continue
        found = LoukidesShao(threshold=threshold).partition(table, run)
        if limited and len(deleted) > run.max_suppressed:
            place_deleted(table, run, clusters, deleted)
        assert as_groups(found) == {frozenset(cluster) for cluster in clusters}
        compared += 1
    assert compared >= share(25, least=1)


def test_no_cluster_loses_more_per_cell_than_the_threshold():
    for number, table in enumerate(small_tables(52, count=30)):
        run = make_run(table, "ncp", 2, number)
        found = LoukidesShao(threshold=0.4).partition(table, run)
        most = 0.4 * table.weights.sum() * run.scanner.scale
        for group in as_groups(found):
            assert closure_cost(table, run.scanner, run.model, sorted(group))[0] <= most + 1


def test_no_more_rows_are_left_out_than_allowed():
    for number, table in enumerate(small_tables(53, count=30)):
        run = make_run(table, "ncp", 3, number, max_suppressed=number % 4)
        try:
            found = LoukidesShao(threshold=0.5).partition(table, run)
        except PromiseError:
            continue
        assert found.n_suppressed <= number % 4


def release(**options):
    frame = load_adult()[:2000]
    names = list(ADULT_QUASI_IDENTIFIERS)
    return shoal.anonymize(
        frame[[*names, "salary"]],
        k=5,
        quasi_identifiers=names,
        sensitive=["salary"],
        seed=3,
        algorithm="loukides-shao",
        algorithm_options={"threshold": 0.2},
        **options,
    )


def test_the_pipeline_limits_deletion_to_the_allowed_share():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShoalWarning)
        free = release()
    limited = release(max_suppression=0.02)
    assert (np.asarray(free.groups) < 0).sum() > 40
    assert (np.asarray(limited.groups) < 0).sum() <= 40


def test_a_run_without_a_limit_says_how_many_rows_it_left_out():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = release()
    notes = [str(w.message) for w in caught] + list(getattr(result, "warnings", ()))
    assert any("leaves out" in note and "max_suppression" in note for note in notes)


def test_the_usual_threshold_rises_until_half_of_the_rows_are_kept():
    for number, table in enumerate(small_tables(54, count=30)):
        found = LoukidesShao().partition(table, make_run(table, "ncp", 5, number))
        assert 2 * found.n_suppressed <= table.n_rows


@pytest.mark.parametrize("threshold", [-0.1, 1.1, float("nan"), True, "0.2"])
def test_threshold_must_be_a_share(threshold):
    with pytest.raises(OptionError, match="threshold of 'loukides-shao'"):
        LoukidesShao(threshold=threshold)
