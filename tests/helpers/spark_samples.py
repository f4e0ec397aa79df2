"""Small tables and releases of Spark, and how to look at them."""

from __future__ import annotations

from types import SimpleNamespace

import polars as pl
import pytest

import shoal.spark
from shoal.table.partition import Partition
from tests.helpers.contract_samples import SEED, arguments

K = 4
N = 240
FEW = ["age", "city"]
# Java compiles for a run of minutes: neither deeply nor with many threads.
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:CICompilerCount=1 -Xshare:auto"


def on_spark(spark, frame, *, names=FEW, partitions=2, **options):
    table = spark.createDataFrame(frame.to_arrow()).repartition(partitions)
    asked = {"algorithm": "mondrian", "seed": SEED, **arguments(names), **options}
    return shoal.spark.anonymize(table, K, **asked)


def in_order(release, frame):
    """What a release holds, in the order of the table: every row has a token of its own."""
    groups = pl.DataFrame(pl.from_arrow(release.groups.toArrow())).sort("token")
    assert groups.get_column("token").to_list() == frame.get_column("token").to_list()
    return SimpleNamespace(
        frame=pl.DataFrame(pl.from_arrow(release.frame.toArrow())).sort("token"),
        groups=Partition.from_labels(groups.get_column("group")).labels,
        n_groups=release.n_groups,
        n_published=release.n_published,
        n_suppressed=release.n_suppressed,
        verification=release.verification,
    )


def rows_of(release):
    return sorted(map(str, table_of(release.frame).rows()))


def table_of(frame):
    return pl.DataFrame(pl.from_arrow(frame.toArrow()))


def assert_same(found, expected):
    """What Spark has verified is what one machine finds in the same cells."""
    assert [check.name for check in found.checks] == [check.name for check in expected.checks]
    for own, other in zip(found.checks, expected.checks, strict=True):
        assert own.measured == pytest.approx(other.measured)
        assert (own.holds, own.judged_by) == (other.holds, other.judged_by)
    for name in ("holds", "n_groups", "n_rows", "violating_groups", "violating_rows"):
        assert getattr(found, name) == getattr(expected, name), name
