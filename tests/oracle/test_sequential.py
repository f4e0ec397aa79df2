"""Sequential and agglomerative clustering against plain twins written from the paper."""

from __future__ import annotations

import math
import warnings
from itertools import combinations
from typing import TYPE_CHECKING

import narwhals as nw
import numpy as np
import polars as pl
import pytest
from tests.helpers.brute import MEASURES, as_groups, make_run, row_cost, small_tables
from tests.helpers.effort import further, share

import shoal
from shoal.algorithm.agglomerative import Agglomerative
from shoal.algorithm.sequential import (
    Rounding,
    Sequential,
    Split,
    Ties,
    _Moves,
    balanced_split,
    diverse_split,
    private_values,
    start_clusters,
)
from shoal.datasets import load_adult
from shoal.errors import OptionError, ShoalWarning
from shoal.privacy.alpha_k import AlphaK
from shoal.privacy.l_diversity import LDiversity
from shoal.privacy.t_closeness import TCloseness
from shoal.search.enforce import violations
from shoal.table.encode import encode
from shoal.table.infer import infer_kinds
from shoal.table.partition import Partition
from shoal.table.schema import Column, Role, Schema

if TYPE_CHECKING:
    from shoal.search.scan import Run
    from shoal.table.encode import EncodedTable


class Twin:
    """Algorithm 1 of Goldberger and Tassa, record by record, with sets of rows."""

    def __init__(self, table: EncodedTable, run: Run) -> None:
        self.table, self.run = table, run
        self.cache: dict[frozenset[int], int] = {}

    def cost(self, rows: set[int]) -> int:
        if not rows:
            return 0
        key = frozenset(rows)
        if key not in self.cache:
            self.cache[key] = row_cost(self.table, self.run.scanner, self.run.model, sorted(rows))
        return self.cache[key]

    def holds(self, rows: set[int]) -> bool:
        if not rows:
            return True
        for model in self.run.privacy:
            for column in model.columns(self.table):
                part = np.bincount(column.codes[sorted(rows)], minlength=column.size)
                whole = np.bincount(column.codes, minlength=column.size)
                if not model.holds(part[None].astype(np.int64), whole.astype(np.int64))[0]:
                    return False
        return True

    def unify(self, clusters: list[set[int]]) -> list[set[int]]:
        """Steps 11 to 14."""
        k = self.run.k
        slots: list[set[int] | None] = list(clusters)  # by age: a union comes last
        first = list(range(len(clusters)))

        def small() -> list[int]:
            return [g for g, c in enumerate(slots) if c is not None and len(c) < k]

        while len(small()) > 1:
            # dist(A, B), then the pair whose younger cluster is oldest
            _, b, a = min(
                (self.cost(slots[a] | slots[b]) - self.cost(slots[a]) - self.cost(slots[b]), b, a)
                for a, b in combinations(small(), 2)
            )
            slots.append(slots[a] | slots[b])
            first.append(min(first[a], first[b]))
            slots[a] = slots[b] = None
        by_first = sorted((g for g, c in enumerate(slots) if c is not None), key=first.__getitem__)
        left = [slots[g] for g in by_first]
        for g, cluster in enumerate(left):
            if len(cluster) < k and len(left) > 1:
                _, h = min(
                    (self.cost(cluster | c) - self.cost(c), h) for h, c in enumerate(left) if h != g
                )
                left[h] = left[h] | cluster
                del left[g]
                break
        return left

    def sequential(
        self,
        alpha: float,
        omega: float,
        rounding: Rounding = "random",
        *,
        split: Split = "after",
        ties: Ties = "stay",
    ) -> list[set[int]]:
        self.halve = balanced_split if rounding == "balanced" else diverse_split
        run, n = self.run, self.table.n_rows
        k0 = max(1, round(alpha * run.k))
        if k0 == 1 and not run.privacy:
            return self.unify([{i} for i in range(n)])
        start = start_clusters(self.table, run, max(1, n // k0), rounding)
        if start is None:
            return [set(range(n))]
        clusters = [set(start.rows_of(g).tolist()) for g in range(start.n_groups)]
        limit = omega * run.k
        for _ in range(100):
            moved = False
            places = len(clusters) + n // max(1, int(limit) // 2) + 1
            for i in range(n):
                j = next(g for g, c in enumerate(clusters) if i in c)
                rest = clusters[j] - {i}
                if not self.holds(rest):
                    continue
                options = [
                    (self.cost(c | {i}) - self.cost(c), h)
                    for h, c in enumerate(clusters)
                    if h != j and c and self.holds(c | {i})
                ]
                if not options:
                    continue
                rise, _, h = min(
                    (rise, -len(clusters[h]) if ties == "move" else 0, h) for rise, h in options
                )
                change = self.cost(rest) - self.cost(clusters[j]) + rise
                gain = self.cost(clusters[j]) - self.cost(rest)
                # class-free costs: a row that costs nothing stays where it is
                idle = change == 0 and ties == "move" and len(clusters[h]) >= len(clusters[j])
                free_of_classes = run.scanner.n_classes == 1
                if not rest or change < 0 or (idle and not (free_of_classes and gain == 0)):
                    clusters[j] = rest
                    clusters[h] = clusters[h] | {i}
                    moved = True
                    if split == "at once" and len(clusters[h]) > limit:
                        self.split_one(clusters, h, places)
            clusters = self.split([c for c in clusters if c], limit)
            if not moved:
                break
        return self.unify(clusters)

    def split_one(self, clusters: list[set[int]], g: int, places: int) -> None:
        """Section 6.3: split a cluster that has become too large; a half takes the first place."""
        kept, *away = self.split([clusters[g]], len(clusters[g]) - 1)
        empty = [h for h, cluster in enumerate(clusters) if not cluster]
        if away and (empty or len(clusters) < places):
            clusters[g] = kept
            if empty:
                clusters[empty[0]] = away[0]
            else:
                clusters.append(away[0])

    def split(self, clusters: list[set[int]], limit: float) -> list[set[int]]:
        """Step 9: random halves, or Algorithm 3 with two parts where privacy models hold."""
        result = list(clusters)
        for g, cluster in enumerate(clusters):
            if len(cluster) <= limit:
                continue
            rows = np.array(sorted(cluster))
            if not self.run.privacy:
                away = set(self.run.rng.permutation(rows)[: len(rows) // 2].tolist())
            else:
                values = private_values(self.table, self.run)
                half = self.halve(values, rows, 2, self.run.rng)
                away = set(rows[half == 1].tolist())
                if not away or away == cluster:
                    continue
                if not (self.holds(away) and self.holds(cluster - away)):
                    continue
            result[g] = cluster - away
            result.append(away)
        return result


def _sets(clusters: list[set[int]]) -> set[frozenset[int]]:
    return {frozenset(cluster) for cluster in clusters}


@pytest.mark.parametrize("measure", [*MEASURES, "suppression"])
def test_sequential_equals_its_plain_twin(measure: str) -> None:
    for number, table in enumerate(small_tables(seed=11, count=20, max_rows=26)):
        k = 2 + number % 4
        fast = Sequential().partition(table, make_run(table, measure, k, seed=number))
        run = make_run(table, measure, k, seed=number)
        assert as_groups(fast) == _sets(Twin(table, run).sequential(0.5, 1.5))


@pytest.mark.parametrize(
    "model",
    [
        LDiversity(1.5),
        LDiversity(2, kind="distinct"),
        LDiversity(1.8, kind="entropy"),
        LDiversity(2, kind="recursive", c=3.0),
        TCloseness(0.4),
        AlphaK(0.7),
    ],
    ids=lambda model: model.label,
)
@pytest.mark.parametrize("rounding", further(["random", "balanced"], lambda r: r == "random"))
def test_sequential_with_a_privacy_model_equals_its_plain_twin(
    model: shoal.LDiversity, rounding: Rounding
) -> None:
    compared = 0
    for number, table in enumerate(small_tables(seed=12, count=14, max_rows=30)):
        column = table.sensitive[0]
        if not model.holds(column.counts[None], column.counts)[0]:
            continue
        k = 4 + number % 3
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ShoalWarning)
            run = make_run(table, "ncp", k, seed=number, privacy=(model,))
            fast = Sequential(alpha=0.5, rounding=rounding).partition(table, run)
            twin_run = make_run(table, "ncp", k, seed=number, privacy=(model,))
            slow = Twin(table, twin_run).sequential(0.5, 1.5, rounding)
        assert as_groups(fast) == _sets(slow)
        compared += 1
    assert compared >= share(8, least=1)


@pytest.mark.parametrize("measure", ["lm", "pmi"])
@pytest.mark.parametrize(
    ("split", "ties"), [("at once", "stay"), ("after", "move"), ("at once", "move")]
)
def test_readings_of_splits_and_ties_equal_their_plain_twins(
    measure: str, split: Split, ties: Ties
) -> None:
    differ = 0
    for number, table in enumerate(small_tables(seed=17, count=12, max_rows=30)):
        k = 2 + number % 4
        algorithm = Sequential(split=split, ties=ties)
        fast = algorithm.partition(table, make_run(table, measure, k, seed=number))
        slow = Twin(table, make_run(table, measure, k, seed=number))
        assert as_groups(fast) == _sets(slow.sequential(0.5, 1.5, split=split, ties=ties))
        usual = Sequential().partition(table, make_run(table, measure, k, seed=number))
        differ += as_groups(fast) != as_groups(usual)
    assert differ > 0 or measure == "pmi"  # such costs are hardly ever equal


def test_halves_that_are_split_off_at_once_keep_the_models() -> None:
    for number, table in enumerate(small_tables(seed=18, count=8, max_rows=40)):
        model = LDiversity(2, kind="distinct")
        column = table.sensitive[0]
        if not model.holds(column.counts[None], column.counts)[0]:
            continue
        runs = [make_run(table, "ncp", 4, seed=number, privacy=(model,)) for _ in range(2)]
        fast = Sequential(alpha=0.5, split="at once").partition(table, runs[0])
        assert not violations(table, fast, 1, (model,)).any()
        assert as_groups(fast) == _sets(Twin(table, runs[1]).sequential(0.5, 1.5, split="at once"))


def flat_adult(seed: int, **options: object) -> shoal.Release:
    """Return a release of five columns without hierarchies, with a large k."""
    public = ["age", "workclass", "fnlwgt", "education", "education_num"]
    return shoal.anonymize(
        load_adult().select(public).sample(5_000, seed=1),
        50,
        quasi_identifiers=public,
        kinds=dict.fromkeys(public, "flat"),
        algorithm="sequential",
        measure="lm",
        algorithm_options=options,
        seed=seed,
        style={"flat_values": 1},
    )


def test_where_no_move_of_the_published_algorithm_pays_ties_move(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    release = flat_adult(seed=3)
    assert release.n_groups > 10
    assert release.scores["lm"] < 0.6
    assert not release.warnings
    monkeypatch.setattr("shoal.algorithm.sequential.FEW", 0.0)
    published = flat_adult(seed=3)
    assert published.n_groups == 1
    assert published.scores["lm"] == 1.0


def test_a_result_of_few_groups_that_differ_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.algorithm.sequential.FEW", 1.0)
    assert "few groups that differ" in flat_adult(seed=3).warnings[0]


@pytest.mark.parametrize("measure", MEASURES)
def test_agglomerative_equals_its_plain_twin(measure: str) -> None:
    for number, table in enumerate(small_tables(seed=13, count=20, max_rows=22)):
        k = 2 + number % 4
        run = make_run(table, measure, k, seed=number)
        fast = Agglomerative().partition(table, run)
        slow = Twin(table, run).unify([{i} for i in range(table.n_rows)])
        assert as_groups(fast) == _sets(slow)


def test_sequential_with_single_records_as_start_is_agglomerative() -> None:
    for number, table in enumerate(small_tables(seed=14, count=20)):
        k = 2 + number % 5
        one = Sequential(alpha=1e-9).partition(table, make_run(table, "lm", k, seed=number))
        other = Agglomerative().partition(table, make_run(table, "lm", k, seed=number))
        assert as_groups(one) == as_groups(other)


def test_restarts_never_make_the_result_worse() -> None:
    for number, table in enumerate(small_tables(seed=15, count=10)):
        costs = []
        for restarts in (1, 4):
            run = make_run(table, "ncp", 4, seed=number)
            found = Sequential(restarts=restarts).partition(table, run)
            groups = [sorted(rows) for rows in as_groups(found)]
            costs.append(sum(row_cost(table, run.scanner, run.model, g) for g in groups))
        assert costs[1] <= costs[0]


def test_the_diverse_split_gives_every_part_its_share_of_each_value() -> None:
    rng = np.random.default_rng(5)
    values = rng.choice(4, size=203, p=[0.6, 0.3, 0.05, 0.05]).astype(np.int64)
    for t in (2, 7, 30):
        labels = diverse_split(values, np.arange(203), t, rng)
        for value in range(4):
            share = np.bincount(labels[values == value], minlength=t)
            count = int((values == value).sum())
            assert set(share) <= {count // t, math.ceil(count / t)}
            assert share.sum() == count


def test_the_balanced_split_rounds_every_value_and_every_part_by_less_than_one() -> None:
    rng = np.random.default_rng(5)
    values = rng.choice(4, size=203, p=[0.6, 0.3, 0.05, 0.05]).astype(np.int64)
    for t in (2, 7, 30):
        labels = balanced_split(values, np.arange(203), t, rng)
        sizes = np.bincount(labels, minlength=t)
        assert set(sizes) <= {203 // t, math.ceil(203 / t)}
        for value in range(4):
            share = np.bincount(labels[values == value], minlength=t)
            count = int((values == value).sum())
            assert set(share) <= {count // t, math.ceil(count / t)}
            assert share.sum() == count


def _diversity(labels: np.ndarray, values: np.ndarray) -> float:
    counts = np.zeros((labels.max() + 1, values.max() + 1))
    np.add.at(counts, (labels, values), 1)
    return float((counts.sum(axis=1) / counts.max(axis=1)).min())


def test_balanced_rounding_starts_more_diverse_than_the_published_on_adults_education() -> None:
    education = shoal.datasets.load_adult().get_column("education").to_numpy()
    values = np.unique(education, return_inverse=True)[1].astype(np.int64)
    rows, parts = np.arange(len(values)), len(values) // 25
    published, balanced = (
        _diversity(split(values, rows, parts, np.random.default_rng(1)), values)
        for split in (diverse_split, balanced_split)
    )
    assert published < 2.5
    assert balanced > 2.75  # 25 / 9


def test_balanced_rounding_finds_a_start_where_the_published_gives_up() -> None:
    # 3.0 of at most 3.33: parts of 10 rows need exactly 3 of the most frequent value
    values = ["a"] * 60 + ["b"] * 50 + ["c"] * 50 + ["d"] * 40
    frame = pl.DataFrame({"age": [(7 * i) % 97 for i in range(200)], "sick": values})
    given = {
        "quasi_identifiers": "age",
        "sensitive": "sick",
        "algorithm": "sequential",
        "privacy": [LDiversity(3.3)],
        "seed": 3,
    }
    published = shoal.anonymize(frame, 8, **given, algorithm_options={"alpha": 0.5})
    balanced = shoal.anonymize(
        frame, 8, **given, algorithm_options={"alpha": 0.5, "rounding": "balanced"}
    )
    assert published.n_groups == 1
    assert balanced.n_groups > 5
    assert not balanced.warnings


def table_of_13_rows() -> EncodedTable:
    frame = pl.DataFrame({"age": range(13), "sick": [str(i % 8) for i in range(13)]})
    columns = (
        Column(name="age", role=Role.QUASI_IDENTIFIER),
        Column(name="sick", role=Role.SENSITIVE),
    )
    return encode(frame, infer_kinds(Schema(columns), nw.from_native(frame)))


def test_splitting_a_large_cluster_never_leaves_a_half_without_rows() -> None:
    # values that occur once go to either half by chance: at times all of them to the same
    table = table_of_13_rows()
    tried = 0
    for seed in range(60):
        run = make_run(table, "ncp", 3, seed=seed, privacy=(LDiversity(3, kind="distinct"),))
        start = start_clusters(table, run, 4)
        assert start is not None
        moves = _Moves(table, run, start)
        for number in range(20):
            moves._pass(number)
            tried += int((moves.partition.sizes > 4.5).sum())
            moves._split_large(4.5)
            assert np.bincount(moves.partition.labels).min() > 0
            assert len(np.unique(moves.partition.labels)) == moves.partition.n_groups
    assert tried > 60


def test_l_diverse_clusters_of_few_rows_equal_those_of_the_plain_twin() -> None:
    table = table_of_13_rows()
    for seed in range(12):
        runs = [
            make_run(table, "ncp", 3, seed=seed, privacy=(LDiversity(3, kind="distinct"),))
            for _ in range(2)
        ]
        fast = Sequential(alpha=0.5).partition(table, runs[0])
        assert as_groups(fast) == _sets(Twin(table, runs[1]).sequential(0.5, 1.5))


def test_diversity_above_that_of_the_start_clusters_gives_one_group_and_a_warning() -> None:
    frame = {"age": list(range(30)), "sick": ["yes"] * 20 + ["no"] * 10}
    release = shoal.anonymize(
        pl.DataFrame(frame),
        4,
        quasi_identifiers="age",
        sensitive="sick",
        algorithm="sequential",
        privacy=[LDiversity(1.5)],
        seed=3,
    )
    assert release.n_groups == 1
    assert "all rows into one group" in release.warnings[0]


def test_adult_has_the_published_diversity() -> None:
    adult = shoal.datasets.load_adult()
    for column, published in (("salary", 1.3295), ("education", 3.06)):
        most = adult.get_column(column).value_counts().get_column("count").max()
        assert adult.height / most == pytest.approx(published, abs=0.005)
        with pytest.raises(shoal.PromiseError, match="at most"):
            shoal.anonymize(
                adult,
                50,
                quasi_identifiers=["age", "sex"],
                sensitive=[column],
                drop=[c for c in adult.columns if c not in ("age", "sex", column)],
                algorithm="sequential",
                privacy=[LDiversity(published + 0.01)],
            )


@pytest.mark.parametrize(
    "options",
    [
        {"alpha": 0},
        {"alpha": True},
        {"omega": 1.0},
        {"omega": 2.5},
        {"restarts": 0},
        {"max_passes": 1.5},
        {"alpha": float("nan")},
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(OptionError, match="sequential"):
        Sequential(**options)  # type: ignore[arg-type]


def test_every_cluster_of_agglomerative_holds_at_least_k_records() -> None:
    for table in small_tables(seed=16, count=10):
        run = make_run(table, "ncp", 3, seed=0)
        partition = Agglomerative().partition(table, run)
        assert isinstance(partition, Partition)
        assert partition.sizes.min() >= 3


@pytest.mark.parametrize("kind", ["distinct", "frequency"])
def test_under_a_promise_the_start_is_large_and_no_more_is_lost_than_by_mondrian(kind: str) -> None:
    frame = load_adult().sample(500, seed=1)
    columns = ["age", "education_num", "sex", "race"]
    rest = [c for c in frame.columns if c not in (*columns, "occupation")]
    loss = {
        name: shoal.anonymize(
            frame,
            10,
            quasi_identifiers=columns,
            sensitive="occupation",
            drop=rest,
            algorithm=name.split()[0],
            algorithm_options=options,
            privacy=[LDiversity(2, kind=kind)],  # type: ignore[arg-type]
            seed=0,
        ).scores["ncp"]
        for name, options in (
            ("mondrian", {}),
            ("sequential", {}),
            ("sequential as published", {"alpha": 0.5}),
        )
    }
    assert loss["sequential"] <= loss["mondrian"]
    assert loss["sequential"] < loss["sequential as published"]
