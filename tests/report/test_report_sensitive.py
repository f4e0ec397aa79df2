"""What a page tells about sensitive columns is the same every time it is made."""

import numpy as np
import polars as pl

from shoal.report.sensitive import read_published_groups, sensitive_facts


def test_ties_and_roundings_come_out_the_same_every_time():
    rng = np.random.default_rng(3)
    for _ in range(20):
        frame = pl.DataFrame(
            {
                "age": rng.integers(0, 5, 23).astype(str),
                "sex": rng.integers(0, 3, 23),
                "ill": rng.integers(0, 9, 23).astype(str),
            }
        )
        made = set()
        for _ in range(4):
            groups = read_published_groups(frame, ("age", "sex"))
            made.add(sensitive_facts(frame["ill"], groups))
        assert len(made) == 1
