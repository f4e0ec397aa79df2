"""Where people have several rows, every algorithm and engine forms groups of k people."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from tests.helpers.contract_array import ALGORITHMS, TREES_ONLY
from tests.helpers.contract_checks import _keeps
from tests.helpers.disk_engine import DiskEngine
from tests.helpers.panels import (
    ROLES,
    TREES,
    counted_once,
    fewest_people,
    panel,
    people_in_groups,
)

import shoal
from shoal import AlphaK, LDiversity, TCloseness
from shoal.engine.local import LocalEngine
from shoal.engine.pipeline import run_pipeline
from shoal.errors import OptionError, PromiseError, RoleError
from shoal.settings.request import Request

QUASI = ROLES["quasi_identifiers"]
MODELS = {
    "frequency": LDiversity(2),
    "distinct": LDiversity(3, kind="distinct"),
    "entropy": LDiversity(2.5, kind="entropy"),
    "recursive": LDiversity(2, kind="recursive", c=1.2),
    "t": TCloseness(0.3),
    "alpha": AlphaK(0.5),
}
every_algorithm = pytest.mark.parametrize("algorithm", ALGORITHMS)


def options_of(algorithm):
    if algorithm not in TREES_ONLY:
        return dict(ROLES)
    ages = shoal.interval_hierarchy(panel()["age"].to_list(), widths=[5, 10, 20, 40, 80])
    return {**ROLES, "hierarchies": {**TREES, "age": ages}}


def release_of(algorithm, frame, k=5, **options):
    asked = {"seed": 11, "threads": 1, "shuffle": False, **options_of(algorithm), **options}
    return shoal.anonymize(frame, k, algorithm=algorithm, **asked)


def ids_of(release, frame):
    """Whose the published rows are; they stand in the order of the input."""
    return frame["patient"].filter(pl.Series(release.groups >= 0)).to_list()


def check(release, frame, k, privacy=()):
    ids = ids_of(release, frame)
    fewest = fewest_people(release.frame, QUASI, ids)
    assert fewest >= k
    assert release.verification.holds
    assert release.verification.fewest_people == fewest
    assert release.verification.highest_risk == 1 / fewest
    assert "different people" in release.verification.checks[0].sentence
    assert "patient" not in release.frame.columns
    for model in privacy:
        groups, whole = counted_once(release.frame, QUASI, ids, "sick")
        assert all(_keeps(model, Counter(group), Counter(whole)) for group in groups)


@pytest.mark.parametrize("k", [5, 10])
@every_algorithm
@pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
def test_no_published_combination_belongs_to_fewer_than_k_people(algorithm, k):
    frame = panel()
    release = release_of(algorithm, frame, k)
    check(release, frame, k)
    assert release.verification.n_groups > 1


@every_algorithm
@pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
def test_the_panel_has_groups_of_fewer_people_if_rows_are_counted(algorithm):
    frame, asked = panel(), options_of(algorithm)
    asked |= {"person": None, "drop": ["patient"]}
    release = shoal.anonymize(frame, 5, algorithm=algorithm, seed=11, shuffle=False, **asked)
    counted = fewest_people(release.frame, QUASI, ids_of(release, frame))
    large = {*TREES_ONLY, "r-gather"}  # their groups are large enough here
    assert counted < 5 or algorithm in large


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    "algorithm", ["auto", "k-member", "mondrian", "sequential", *sorted(TREES_ONLY)]
)
@pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
def test_models_count_a_value_once_for_a_person(algorithm, name):
    frame = panel()
    release = release_of(algorithm, frame, 4, privacy=[MODELS[name]])
    check(release, frame, 4, [MODELS[name]])


@pytest.mark.parametrize("algorithm", ["auto", "hilbert", "kaca"])
@pytest.mark.parametrize("numbers", ["interval", "mean", "bounds"])
@pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
def test_groups_that_publish_the_same_are_judged_as_one(algorithm, numbers):
    frame = panel()
    style = {"numeric": numbers}
    release = release_of(algorithm, frame, 4, privacy=[MODELS["frequency"]], style=style)
    assert release.verification.holds


@every_algorithm
@pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
def test_people_are_counted_where_rows_are_left_out_and_values_missing(algorithm):
    frame = panel().with_columns(
        home=pl.when(pl.int_range(pl.len()) % 17 == 0).then(None).otherwise(pl.col("home"))
    )
    for missing in ("category", "suppress"):
        release = release_of(algorithm, frame, 5, missing=missing, max_suppression=0.1)
        check(release, frame, 5)


@pytest.mark.parametrize("algorithm", ["auto", "k-member", "mondrian"])
@pytest.mark.parametrize("privacy", [(), (MODELS["t"],)], ids=["k only", "t"])
@pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
def test_people_are_counted_across_blocks_and_with_any_number_of_threads(algorithm, privacy):
    frame = panel(500, 5, seed=8)
    first, other = (
        release_of(algorithm, frame, 5, privacy=privacy, block_rows=90, threads=threads)
        for threads in (1, 3)
    )
    check(first, frame, 5, privacy)
    assert first.frame.equals(other.frame)


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    engine = DiskEngine(tmp_path_factory.mktemp("parts"))
    yield engine
    engine.close()


@pytest.mark.parametrize("algorithm", ["mondrian", "k-member"])
@pytest.mark.parametrize("name", ["local", "disk"])
def test_every_engine_counts_people(disk, name, algorithm):
    frame = panel()
    request = Request(**ROLES, k=5, seed=3, shuffle=False, algorithm=algorithm, block_rows=60)
    engine = disk if name == "disk" else LocalEngine()
    result = run_pipeline(frame, request.schema(frame.columns), request, engine)
    published = result.published.frame
    assert fewest_people(published, QUASI, frame["patient"].to_list()) >= 5
    assert result.verification.fewest_people >= 5


@pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
def test_given_groups_are_judged_and_refined_in_people():
    frame = panel()
    whose = frame["patient"].rank("dense").to_numpy().astype(np.int64)
    release = shoal.refine(frame, whose, 5, **ROLES, shuffle=False, seed=2)
    check(release, frame, 5)
    assert any("break a promise" in each for each in release.warnings)


def test_one_person_with_most_of_the_rows_is_one_person():
    frame = panel()
    rng = np.random.default_rng(4)
    heavy = frame.sample(3000, with_replacement=True, seed=1).with_columns(
        patient=pl.lit("MRN-busy"), age=pl.Series(rng.integers(1, 90, 3000))
    )
    both = pl.concat([frame, heavy])
    for algorithm in ("auto", "mondrian"):
        check(release_of(algorithm, both, 5), both, 5)


def test_rows_without_an_id_are_one_person_all_together():
    frame = panel()
    nobody = frame.with_columns(
        patient=pl.when(pl.int_range(pl.len()) % 3 == 0).then(None).otherwise(pl.col("patient"))
    )
    check(release_of("k-member", nobody, 5), nobody, 5)
    few = frame.head(12).with_columns(patient=pl.Series([*"abc", *[None] * 9]))
    with pytest.raises(PromiseError, match="rows of 4 people, fewer than k = 5"):
        release_of("k-member", few, 5)


def test_ids_that_a_reader_would_call_the_same_are_one_person():
    frame = panel()
    spelled = frame.with_columns(
        patient=pl.when(pl.int_range(pl.len()) % 2 == 0)
        .then(pl.col("patient").str.to_lowercase() + " ")
        .otherwise(pl.col("patient"))
    )
    release = release_of("mondrian", spelled, 5)
    assert fewest_people(release.frame, QUASI, frame["patient"].to_list()) >= 5


def test_a_column_of_ids_that_never_repeat_changes_nothing_but_the_words():
    frame = panel().with_columns(patient=pl.int_range(pl.len()))
    with_ids = release_of("auto", frame, 5)
    without = release_of("auto", frame, 5, person=None, identifiers=["patient"])
    assert with_ids.frame.equals(without.frame)
    assert with_ids.verification.fewest_people == without.verification.smallest_group


def test_ids_of_every_type_are_read(tmp_path):
    frame = panel()
    numbers = frame["patient"].str.slice(4).cast(pl.Int64)
    kinds = [numbers, numbers.cast(pl.Float64), frame["patient"].cast(pl.Categorical)]
    for ids in kinds:
        table = frame.with_columns(patient=ids)
        for given in (table, table.to_pandas()):
            release = shoal.anonymize(
                given, 5, **ROLES, shuffle=False, algorithm="mondrian", seed=1
            )
            assert release.verification.fewest_people >= 5


def test_the_estimator_counts_people_and_does_not_pass_their_column_on():
    from shoal.sklearn import Anonymizer

    frame = panel()
    step = Anonymizer(
        k=5, person="patient", sensitive=["sick"], algorithm="mondrian", remainder="passthrough"
    )
    found = step.fit_transform(frame.to_pandas())
    assert list(found.columns) == ["age", "sex", "home", "sick"]
    whose = frame["patient"].to_list()
    people = {label: set() for label in step.labels_}
    for label, who in zip(step.labels_, whose, strict=True):
        people[label].add(who)
    assert min(map(len, people.values())) >= 5


# -- pseudonyms ----------------------------------------------------------------------------------


def test_pseudonyms_are_random_and_as_many_as_people_and_come_with_a_warning():
    frame = panel()
    with pytest.warns(shoal.ShoalWarning, match="put the rows of one person together"):
        first = release_of("mondrian", frame, 5, pseudonyms=True)
    with pytest.warns(shoal.ShoalWarning):
        again = release_of("mondrian", frame, 5, pseudonyms=True)
    drawn = first.frame["patient"]
    assert len(set(zip(drawn, frame["patient"], strict=True))) == frame["patient"].n_unique()
    assert drawn.n_unique() == frame["patient"].n_unique()
    assert not set(drawn) & set(frame["patient"])
    assert not set(drawn) & set(again.frame["patient"]), "they are drawn anew, whatever the seed"
    assert first.frame.drop("patient").equals(again.frame.drop("patient"))
    found = shoal.verify(first.frame, 5, quasi_identifiers=QUASI, person="patient")
    assert found.holds
    assert found.fewest_people == first.verification.fewest_people


def test_a_row_without_an_id_gets_no_pseudonym():
    frame = panel().with_columns(
        patient=pl.when(pl.col("patient").str.ends_with("1"))
        .then(None)
        .otherwise(pl.col("patient"))
    )
    with pytest.warns(shoal.ShoalWarning):
        release = release_of("mondrian", frame, 5, pseudonyms=True)
    assert release.frame["patient"].is_null().equals(frame["patient"].is_null())


# -- what is refused -----------------------------------------------------------------------------


def test_too_few_people_are_refused_however_many_rows_there_are():
    frame = panel().with_columns(patient=pl.int_range(pl.len()) % 4)
    with pytest.raises(PromiseError, match="rows of 4 people, fewer than k = 5"):
        release_of("auto", frame, 5)


def test_a_promise_that_everybody_together_breaks_is_refused():
    with pytest.raises(PromiseError, match="counted in people"):
        release_of("mondrian", panel(), 5, privacy=[LDiversity(40)])


def test_person_is_one_column_that_exists_and_has_no_other_role():
    frame = panel()
    with pytest.raises(RoleError, match="person must name one column, not 2"):
        release_of("mondrian", frame, 5, person=["patient", "sex"])
    with pytest.raises(RoleError, match=r"'nobody' \(given as person\)"):
        release_of("mondrian", frame, 5, person="nobody")
    with pytest.raises(RoleError, match="two roles"):
        release_of("mondrian", frame, 5, person="sick")
    with pytest.raises(OptionError, match="no column says whose row it is"):
        release_of("mondrian", frame, 5, person=None, drop=["patient"], pseudonyms=True)


def test_the_check_can_fail():
    groups = people_in_groups(panel(), QUASI, panel()["patient"].to_list())
    assert min(map(len, groups.values())) == 1
    found = shoal.verify(panel(), 2, quasi_identifiers=QUASI, person="patient")
    assert not found.holds
    assert found.fewest_people == 1
