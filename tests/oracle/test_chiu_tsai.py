"""Weighted-feature C-means against a plain twin of the steps that its docstring states."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from tests.helpers.brute import (
    MEASURES,
    as_groups,
    attribute_cost,
    make_run,
    row_cost,
    small_tables,
)

from shoal.algorithm.chiu_tsai import ChiuTsai
from shoal.errors import OptionError
from shoal.measure.base import Grouped, LinearForm, LogForm
from shoal.search.scan import Scanner
from shoal.table.encode import EncodedTable
from shoal.table.partition import Partition


def assign(table, run, model, centres):
    """Closest centre of every record, by the cost of generalising just the two."""
    attributes = tuple(
        replace(a, codes=np.append(a.codes, [c[j] for c in centres]).astype(a.codes.dtype))
        for j, a in enumerate(table.attributes)
    )
    n = table.n_rows
    both = EncodedTable(n + len(centres), attributes, ())
    scanner = Scanner.build(both, model)

    def distance(row, g):
        y = int(run.scanner.classes[row])
        pair = [row, n + g]
        return sum(attribute_cost(both, scanner, model, j, pair)[y] for j in range(len(attributes)))

    return [min(range(len(centres)), key=lambda g: (distance(row, g), g)) for row in range(n)]


def centre_value(attribute, form, rows):
    """Mean, median or most frequent value of some rows, as a code."""
    codes = [int(attribute.codes[row]) for row in rows]
    if isinstance(form, LinearForm):
        known = [code for code in codes if code < attribute.size]
        if 2 * len(known) < len(codes):
            return attribute.size
        mean = sum(form.position[code] for code in known) / len(known)
        return min(range(attribute.size), key=lambda code: (abs(form.position[code] - mean), code))
    if isinstance(form, LogForm) and attribute.algebra == "interval":
        return sorted(codes)[(len(codes) - 1) // 2]
    count = Counter(codes)
    return min(count, key=lambda code: (-count[code], code))


def weigh(table, model, label):
    """Feature weights 1 / (share of the loss + 1/m), with mean 1, on top of the user's."""
    grouped = Grouped(table, Partition.from_labels(label), model.target)
    columns = model.measure.by_column(grouped).values()
    loss = [part * weight for part, weight in zip(columns, model.weights, strict=True)]
    if not np.sum(loss) > 0:
        return model
    weights = np.array([1.0 / (part / np.sum(loss) + 1.0 / len(loss)) for part in loss])
    return replace(model, weights=model.weights * weights / weights.mean())


def merge_small(table, run, clusters):
    """In rounds, each small cluster that no merge of the round has touched merges at least cost."""

    def cost(rows):
        return row_cost(table, run.scanner, run.model, rows)

    while any(len(c) < run.k for c in clusters):
        clusters = [list(c) for c in clusters]
        small = [g for g, c in enumerate(clusters) if len(c) < run.k]
        touched, gone = set(), set()
        for g in small:
            if g in touched:
                continue
            others = [h for h in range(len(clusters)) if h != g and h not in gone]
            h = min(
                others,
                key=lambda h: (cost(clusters[g] + clusters[h]) - cost(clusters[h]), h),
            )
            clusters[g] = clusters[g] + clusters[h]
            touched |= {g, h}
            gone.add(h)
        clusters = [c for g, c in enumerate(clusters) if g not in gone]
    return clusters


def chiu_tsai(table, run, max_iterations):
    model, n = run.model, table.n_rows
    seeds = run.rng.permutation(n)[: n // run.k]
    centres = [[int(a.codes[seed]) for a in table.attributes] for seed in seeds]
    label = None
    for _ in range(max_iterations):
        closest = assign(table, run, model, centres)
        if closest == label:
            break
        label = closest
        model = weigh(table, run.model, label)
        for g in sorted(set(label)):
            rows = [row for row in range(n) if label[row] == g]
            centres[g] = [
                centre_value(a, form, rows)
                for a, form in zip(table.attributes, model.forms, strict=True)
            ]
    clusters = [[row for row in range(n) if label[row] == g] for g in sorted(set(label))]
    return {frozenset(c) for c in merge_small(table, run, clusters)}


@pytest.mark.parametrize("measure", MEASURES)
def test_chiu_tsai_equals_its_plain_twin_group_for_group(measure):
    for number, table in enumerate(small_tables(61, count=50, max_rows=30)):
        k, rounds = 2 + number % 4, 1 + number % 5
        expected = chiu_tsai(table, make_run(table, measure, k, number), rounds)
        run = make_run(table, measure, k, number)
        found = ChiuTsai(max_iterations=rounds).partition(table, run)
        assert as_groups(found) == expected


def test_every_cluster_has_k_records_and_every_record_a_cluster():
    for number, table in enumerate(small_tables(62, count=20)):
        found = ChiuTsai().partition(table, make_run(table, "ncp", 4, number))
        assert found.sizes.min() >= 4
        assert found.n_suppressed == 0


@pytest.mark.parametrize("rounds", [0, -1, 2.0, False, "3"])
def test_max_iterations_must_be_a_whole_number(rounds):
    with pytest.raises(OptionError, match="max_iterations of 'chiu-tsai'"):
        ChiuTsai(max_iterations=rounds)
