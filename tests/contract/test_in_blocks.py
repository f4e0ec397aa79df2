"""The contract of every algorithm holds as well when a table is cut into blocks."""

from __future__ import annotations

import pytest
from tests.helpers.contract_array import TREES_ONLY
from tests.helpers.contract_checks import check_release
from tests.helpers.contract_samples import EVERY_COLUMN, PRIVACY, SEED, arguments, people
from tests.helpers.effort import further

import shoal
from shoal import registry
from shoal.errors import OptionError

ALGORITHMS = [name for name in registry.algorithms() if name not in TREES_ONLY]
MEASURES = ["ncp", "lm", "mi", "pmi"]
K = 4
N = 240

every_algorithm = pytest.mark.parametrize("algorithm", [*ALGORITHMS, "neighbours"])


def release_in_blocks(algorithm, frame, block_rows=48, **options):
    options = {"seed": SEED, "threads": 2, "shuffle": False, **options}
    return shoal.anonymize(
        frame, K, algorithm=algorithm, block_rows=block_rows, **arguments(EVERY_COLUMN), **options
    )


def may_suppress(algorithm):
    return registry.load("algorithms", algorithm).may_suppress


@pytest.mark.long
@pytest.mark.parametrize("missing", ["none", "category", "suppress"])
@pytest.mark.parametrize("measure", MEASURES)
@every_algorithm
def test_blocks_give_a_valid_release_for_every_measure(algorithm, measure, missing):
    frame = people(N, missing=missing != "none")
    options = {} if missing == "none" else {"missing": missing}
    release = release_in_blocks(algorithm, frame, measure=measure, **options)
    check_release(release, frame, K, EVERY_COLUMN)
    assert release.n_groups > N // 48  # more groups than blocks: each block was clustered


@pytest.mark.long
@pytest.mark.parametrize("promise", PRIVACY)
@every_algorithm
def test_blocks_keep_every_promise(algorithm, promise):
    frame = people(N, missing=True)
    release = release_in_blocks(algorithm, frame, privacy=PRIVACY[promise])
    check_release(release, frame, K, EVERY_COLUMN, PRIVACY[promise])


@every_algorithm
def test_blocks_of_twice_k_rows_are_enough(algorithm):
    release = release_in_blocks(algorithm, people(N), block_rows=2 * K)
    check_release(release, people(N), K, EVERY_COLUMN)


@every_algorithm
def test_blocks_leave_out_no_more_rows_than_allowed(algorithm):
    frame = people(N, missing=True)
    release = release_in_blocks(algorithm, frame, max_suppression=0.1)
    check_release(release, frame, K, EVERY_COLUMN)
    assert release.n_suppressed <= 0.1 * N or may_suppress(algorithm)


@pytest.mark.parametrize("promise", further(["k alone", "distinct"], lambda p: p == "distinct"))
@every_algorithm
def test_a_seed_gives_one_release_in_blocks_with_any_number_of_threads(algorithm, promise):
    first, *others = [
        release_in_blocks(
            algorithm,
            people(N, missing=True),
            privacy=PRIVACY[promise],
            threads=threads,
            shuffle=True,
            refine="fast",
        )
        for threads in (1, 2, 3)
    ]
    for other in others:
        assert other.frame.equals(first.frame)
        assert other.groups.tolist() == first.groups.tolist()


@pytest.mark.parametrize("algorithm", sorted(TREES_ONLY))
def test_an_algorithm_that_generalises_whole_columns_refuses_blocks(algorithm):
    names = ["country", "city"]
    with pytest.raises(OptionError, match=rf"'{algorithm}'.*cannot work in blocks.*block_rows"):
        shoal.anonymize(
            people(N), K, algorithm=algorithm, block_rows=48, **arguments(names), seed=1
        )
    release = shoal.anonymize(
        people(N), K, algorithm=algorithm, block_rows=N, **arguments(names), seed=1
    )
    assert release.verification.holds
