"""What a page tells about sensitive columns is the same every time it is made."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.publish.reader_view import (
    PublishedGroups,
    merged_facts,
    part_of_facts,
    read_by_people,
    read_published_groups,
    sensitive_facts,
)
from shoal.report.page import render_report


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


def facts_of(*groups, dtype=pl.String):
    """Facts about groups of two rows each."""
    cells = pl.Series("ill", [value for group in groups for value in group], dtype=dtype)
    names = [str(number) for number, group in enumerate(groups) for _ in group]
    frame = pl.DataFrame({"age": names, "ill": cells})
    return sensitive_facts(frame["ill"], read_published_groups(frame, ("age",)))


def test_a_value_that_all_rows_of_a_group_share_is_known():
    found = facts_of(("flu", "flu"), ("flu", "gout"), ("gout", None))
    assert (found.certain_rows, found.missing_rows) == (2, 0)


@pytest.mark.parametrize("missing", [None, "", "NA", " ? ", "unknown"])
def test_that_a_value_is_missing_for_all_makes_nothing_known(missing):
    found = facts_of((missing, missing), ("flu", "gout"))
    assert (found.certain_rows, found.missing_rows) == (0, 2)
    found = facts_of((missing, None), ("flu", "flu"))
    assert (found.certain_rows, found.missing_rows) == (2, 2)


def test_nan_is_missing_and_zero_is_a_value():
    found = facts_of((float("nan"), None), (0.0, 0.0), (1.0, 2.0), dtype=pl.Float64)
    assert (found.certain_rows, found.missing_rows) == (2, 2)


def test_spellings_of_one_value_are_one_value_that_is_known():
    assert facts_of(("flu", "Flu "), ("5", "6")).certain_rows == 2
    assert facts_of(("flu", "5"), ("5.0", "5")).certain_rows == 2


def test_levels_of_a_category_are_read_like_texts():
    found = facts_of(("a", "a"), ("?", "?"), ("a", "?"), dtype=pl.Enum(["?", "a"]))
    assert (found.certain_rows, found.missing_rows) == (2, 2)


@pytest.fixture(scope="module")
def many():
    """A release with 13 sensitive columns, in the last of which a group has no value at all."""
    rng = np.random.default_rng(2)
    age = np.repeat([20, 40, 60, 80], 10)
    columns = {f"finding_{n}": rng.integers(0, n + 2, 40).astype(str) for n in range(12)}
    same = ["same" if each < 70 else None for each in age]
    frame = pl.DataFrame({"age": age, **columns, "finding_12": same})
    return shoal.anonymize(
        frame, k=10, quasi_identifiers="age", sensitive=frame.columns[1:], algorithm="mondrian"
    )


def test_many_sensitive_columns_are_one_table_and_few_pictures(many):
    page = render_report(many)
    for number in range(13):
        assert f'<th scope="row">finding_{number}</th>' in page
    assert page.count("in the whole release</h3>") == 4
    assert "Values of finding_12 in the whole release" in page  # it gives most away


def test_the_page_calls_known_what_is_shared_and_not_what_is_missing(many):
    page = render_report(many)
    assert "<b>30 rows</b> are in groups that all share one value: it is known" in page
    assert "10 rows are in groups without any value." in page
    assert "30 rows are in groups that all share one value of <b>finding_12</b>" in page
    assert "40 rows are in groups" not in page


def test_many_promises_are_told_in_two_sentences_and_listed_in_the_table():
    rng = np.random.default_rng(4)
    frame = pl.DataFrame(
        {"age": np.repeat([20, 40], 20)}
        | {f"finding_{n}": rng.integers(0, 5, 40).astype(str) for n in range(13)}
    )
    release = shoal.anonymize(
        frame, k=10, quasi_identifiers="age", sensitive=frame.columns[1:], algorithm="mondrian",
        privacy=shoal.LDiversity(2, kind="distinct"),
    )  # fmt: skip
    page = render_report(release)
    assert "Each of the 13 other promises holds as well" in page
    assert "and 9 more." in page
    assert page.count("✓ holds") == 14


def test_sizes_counted_by_size_tell_what_the_sizes_themselves_tell():
    rng = np.random.default_rng(4)
    for number in (1, 2, 7, 40):
        sizes = rng.integers(2, 9, number)
        told = PublishedGroups(np.repeat(np.arange(number), sizes), sizes).by_size
        assert told.number == number
        assert (told.smallest, told.largest) == (sizes.min(), sizes.max())
        assert told.median == np.median(sizes)
        assert told.size_of_share(0.95) == np.quantile(sizes, 0.95, method="higher")


def test_facts_of_parts_of_the_groups_put_together_are_those_of_all_groups():
    rng = np.random.default_rng(5)
    values = pl.Series("ill", ["flu", "Flu", None, "gout"])
    in_whole = np.array([0.4, 0.3, 0.2, 0.1])
    read = read_by_people(values)
    counts = rng.integers(0, 3, (30, 4)) + np.eye(4, dtype=np.int64)[rng.integers(0, 4, 30)]

    def part(rows):
        group, code = np.nonzero(rows)
        return part_of_facts(group, code, rows[group, code], rows.sum(axis=1), in_whole, read)

    whole = merged_facts("ill", values, in_whole, [part(counts)])
    parts = merged_facts("ill", values, in_whole, [part(counts[:7]), part(counts[7:])])
    assert parts.mean_distance == pytest.approx(whole.mean_distance)
    assert replace(parts, mean_distance=0.0) == replace(whole, mean_distance=0.0)
