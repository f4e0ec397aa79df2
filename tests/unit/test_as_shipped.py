"""Every algorithm with the code that users get, by a measure of each form of cost.

Where kernels do the work, tests run with every index checked, which is other code than what is
shipped; `make test` runs this folder with the latter.
"""

import pytest
from tests.helpers.contract_array import TREES_ONLY
from tests.helpers.contract_checks import check_release
from tests.helpers.contract_samples import EVERY_COLUMN, SEED, TREES, arguments, people

import shoal
from shoal import registry

K = 4


@pytest.mark.parametrize("measure", ["ncp", "mi"], ids=["shares", "logarithms"])
@pytest.mark.parametrize("algorithm", registry.algorithms())
def test_an_algorithm_makes_a_valid_release_as_it_is_shipped(algorithm, measure):
    names = TREES if algorithm in TREES_ONLY else EVERY_COLUMN
    frame = people(missing=True)
    release = shoal.anonymize(
        frame, K, algorithm=algorithm, measure=measure, seed=SEED, shuffle=False, **arguments(names)
    )
    check_release(release, frame, K, names)
