"""One text per quantity, whatever type carries it."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pytest

from shoal.errors import HierarchyError
from shoal.hierarchy import canonical_label


@pytest.mark.parametrize(
    ("value", "label"),
    [
        (17, "17"),
        (17.0, "17"),
        (np.int8(17), "17"),
        (np.float32(17), "17"),
        (Decimal("17.00"), "17"),
        (Decimal("1E+2"), "100"),
        (Decimal("-0.0"), "0"),
        (-0.0, "0"),
        (0.1, "0.1"),
        (np.float64(0.1), "0.1"),
        (np.float32(0.1), "0.1"),
        (Decimal("0.10"), "0.1"),
        (Decimal("1.2345678901234567890123456789012345"), "1.2345678901234567890123456789012345"),
        (float("inf"), "inf"),
        (Decimal("Infinity"), "Infinity"),
        (True, "true"),
        (np.False_, "false"),
        ("017", "017"),
        (np.str_("a"), "a"),
        (dt.date(2024, 5, 17), "2024-05-17"),
        (dt.datetime(2024, 5, 17, 9, 30), "2024-05-17 09:30:00"),
        (np.datetime64("2024-05-17"), "2024-05-17"),
        (np.datetime64("2024-05-17T09:30:00"), "2024-05-17 09:30:00"),
        (dt.time(9, 30), "09:30:00"),
    ],
)
def test_label_of_a_value(value, label):
    assert canonical_label(value) == label
    assert type(canonical_label(value)) is str


def test_a_missing_value_has_no_label():
    with pytest.raises(HierarchyError, match="missing value"):
        canonical_label(None)
