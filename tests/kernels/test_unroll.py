"""Loops over tuples are unrolled as one would write them out."""

import numpy as np

from shoal.kernels.jit import kernel, unrolled

BASE = 10


@unrolled
def count(a, b, total):
    """Add what is in both."""
    for values, factor in ((a, 1), (b, BASE)):
        for i in range(values.shape[0]):
            if values[i] > 0:
                total += factor * values[i]
    for values in (a, b):
        values[0] = total
    return total


def test_an_unrolled_function_does_what_its_source_says():
    a, b = np.array([1, 2], np.uint8), np.array([3, 4], np.int64)
    assert count(a, b, 100) == 100 + 3 + 70
    assert a[0] == b[0] == 173


def test_no_loop_over_a_tuple_is_left_so_that_arrays_of_different_types_compile():
    assert "tuple" not in str(count.__code__.co_consts)
    a, b = np.array([1, 2], np.uint8), np.array([3, 4], np.int64)
    assert kernel(count)(a, b, 0) == 73


def test_an_unrolled_function_is_found_where_it_is_written():
    assert count.__doc__ == "Add what is in both."
    assert count.__code__.co_filename == __file__
    assert count.__code__.co_firstlineno == 11


@unrolled
def doubled(a, more=lambda: 2):
    """Have further code beside its own, as every function with annotations has from 3.14 on."""
    return a * more


def test_the_code_of_a_function_is_told_from_other_code_by_its_name():
    assert doubled(3, 2) == 6
