"""A named tuple of arrays reaches kernels as one address, and reads as it does in Python."""

import sys
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import njit, typeof
from numba.core.errors import TypingError
from numba.core.registry import cpu_target

from shoal.kernels import jit
from shoal.kernels.bundle import Bundle, bundle


@bundle
class Inner(NamedTuple):
    numbers: Any
    factor: int


@bundle
class Outer(NamedTuple):
    first: Any
    inner: Any
    negative: bool
    second: Any


def _read(outer, at):
    found = outer.first[at, 0] + outer.inner.factor * outer.inner.numbers[at]
    found += outer.second[:, at].sum() + outer.first.size + outer.first.itemsize
    return -found if outer.negative else found


helper = jit.helper(_read)


def _sum_through_a_helper(outer):
    total = 0
    for at in range(outer.inner.numbers.shape[0]):
        total += helper(outer, at)
        outer.inner.numbers[at] += 1  # an array is written to, the bundle is not
    return total


def made(*, negative, step=1):
    table = np.arange(24).reshape(4, 6)[:, ::step]
    return Outer(table[:, :2].copy(), Inner(np.arange(3), 7), negative, table)


@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("decorate", [jit._compiled, jit.kernel, jit.array_kernel])
def test_fields_of_every_depth_read_as_in_python(decorate, negative, step):
    twin = made(negative=negative, step=step)
    expected = 0
    for at in range(3):
        expected += _read(twin, at)
        twin.inner.numbers[at] += 1
    given = made(negative=negative, step=step)
    assert decorate(_sum_through_a_helper)(given) == expected
    assert given.inner.numbers.tolist() == twin.inner.numbers.tolist() == [1, 2, 3]


@pytest.mark.parametrize("decorate", [jit._compiled, jit.kernel, jit.array_kernel])
def test_no_array_is_held_after_a_call(decorate):
    given = made(negative=False)
    function = decorate(_sum_through_a_helper)
    before = [sys.getrefcount(array) for array in (given.first, given.inner.numbers)]
    for _ in range(50):
        function(given)
    assert [sys.getrefcount(array) for array in (given.first, given.inner.numbers)] == before


def test_an_array_outlives_the_bundle_it_was_taken_from():
    @njit
    def take(outer):
        return outer.inner.numbers

    given = made(negative=False)
    numbers = take(given)
    del given
    assert numbers.tolist() == [0, 1, 2]


def test_a_bundle_is_one_argument_of_a_kernel():
    packer = cpu_target.target_context.get_arg_packer([typeof(made(negative=False))])
    assert len(packer.argument_types) == 1


def test_types_of_bundles_are_equal_where_their_parts_are():
    one, same, other = (typeof(made(negative=False, step=step)) for step in (1, 1, 2))
    assert isinstance(one, Bundle)
    assert one == same != other
    assert one.mangling_args == same.mangling_args != other.mangling_args


def test_a_field_that_is_not_there_is_said_so():
    @njit
    def wrong(outer):
        return outer.third

    with pytest.raises(TypingError, match="third"):
        wrong(made(negative=False))
