"""An option of an algorithm that is out of range is refused in the same words everywhere."""

import math

import pytest

from shoal.algorithm.base import create_algorithm
from shoal.errors import OptionError


@pytest.mark.parametrize(
    ("algorithm", "option", "value", "sentence"),
    [
        ("oka", "iterations", 0, "must be a whole number of at least 1, got 0."),
        ("oka", "iterations", True, "must be a whole number of at least 1, got True."),
        ("chiu-tsai", "max_iterations", 1.5, "must be a whole number of at least 1, got 1.5."),
        ("k-member", "class_penalty", -1, "must be a number of at least 0, got -1."),
        ("k-member", "class_penalty", math.inf, "must be a number of at least 0, got inf."),
        ("k-member", "class_penalty", "1", "must be a number of at least 0, got '1'."),
        ("k-member", "variant", "x", "must be one of byun, goldberger-tassa, got 'x'."),
        ("loukides-shao", "threshold", 1.1, "must be a number from 0 to 1, got 1.1."),
        ("loukides-shao", "threshold", True, "must be a number from 0 to 1, got True."),
        ("loukides-shao", "threshold", math.nan, "must be a number from 0 to 1, got nan."),
        ("hilbert", "rescale", 1, "must be true or false, got 1."),
        ("hilbert", "axes", "few", "must be one of fewest, given, got 'few'."),
        ("mondrian", "relaxed", "yes", "must be true or false, got 'yes'."),
        ("mondrian", "cuts", "wide", "must be one of widest, median, cheapest, got 'wide'."),
        ("oka", "order", "down", "must be one of sorted, random, got 'down'."),
        ("oka", "small", "drop", "must be one of fill, cheaper, got 'drop'."),
        ("sequential", "rounding", "up", "must be one of random, balanced, got 'up'."),
        ("kaca", "outlier_distance", 2, "must be a number from 0 to 1, got 2."),
        ("auto", "effort", "bets", "must be one of fast, balanced, best, got 'bets'."),
        ("auto", "effort", None, "must be one of fast, balanced, best, got None."),
    ],
)
def test_an_option_out_of_range_is_refused(algorithm, option, value, sentence):
    with pytest.raises(OptionError) as caught:
        create_algorithm(algorithm, {option: value})
    assert str(caught.value).startswith(f"{option} of {algorithm!r} {sentence}")


@pytest.mark.parametrize(
    ("algorithm", "option", "value"),
    [
        ("oka", "iterations", 1),
        ("k-member", "class_penalty", None),
        ("k-member", "class_penalty", 0),
        ("loukides-shao", "threshold", 1),
        ("loukides-shao", "threshold", 0.0),
        ("mondrian", "cuts", "cheapest"),
        ("hilbert", "rescale", False),
        ("hilbert", "axes", "given"),
    ],
)
def test_an_option_at_the_edge_of_its_range_is_taken(algorithm, option, value):
    assert getattr(create_algorithm(algorithm, {option: value}), option) == value
