"""The contract of every engine: the same stages, the same promises, wherever the work is done."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from tests.helpers.contract_checks import check_release
from tests.helpers.contract_samples import EVERY_COLUMN, PRIVACY, SEED, arguments, people
from tests.helpers.disk_engine import DiskEngine
from tests.helpers.effort import further

import shoal
from shoal.engine.local import GivenGroupsEngine, LocalEngine
from shoal.engine.pipeline import Engine, run_pipeline
from shoal.errors import DataError, OptionError, PromiseError
from shoal.settings.request import build_request

K = 4
N = 240
ENGINES = ["local", "disk"]
every_engine = pytest.mark.parametrize("engine", ENGINES, indirect=True)


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    engine = DiskEngine(tmp_path_factory.mktemp("parts"))
    yield engine
    engine.close()


@pytest.fixture
def engine(request, disk):
    return {"local": LocalEngine(), "disk": disk}[request.param]


def release_of(engine, frame, *, names=EVERY_COLUMN, **options):
    asked = {"k": K, "seed": SEED, "shuffle": False, "algorithm": "mondrian", "block_rows": 60}
    request = build_request({**asked, **arguments(names), **options})
    result = run_pipeline(frame, request.schema(frame.columns), request, engine)
    found = result.measured
    return SimpleNamespace(
        frame=result.published.frame,
        groups=result.groups.labels,
        n_groups=result.verification.n_groups,
        n_suppressed=found.n_suppressed,
        n_published=found.n_rows - found.n_suppressed,
        verification=result.verification,
        scores=found.scores,
        facts=found.facts,
        bound=found.bound,
        warnings=result.warnings,
    )


def test_every_stage_of_the_protocol_is_there(disk):
    stages = {name for name in vars(Engine) if not name.startswith("_")}
    assert stages == {"describe", "group", "find_dangers", "publish", "verify", "measure"}
    for each in (LocalEngine(), disk):
        assert all(callable(getattr(each, stage, None)) for stage in stages)


@pytest.mark.parametrize("algorithm", further(["mondrian", "k-member"], lambda a: a == "k-member"))
@pytest.mark.parametrize("promise", PRIVACY)
@every_engine
def test_every_promise_is_kept(engine, promise, algorithm):
    frame = people(N, missing=True)
    release = release_of(engine, frame, privacy=PRIVACY[promise], algorithm=algorithm)
    check_release(release, frame, K, EVERY_COLUMN, PRIVACY[promise])


@pytest.mark.parametrize("missing", ["category", "suppress"])
@pytest.mark.parametrize("measure", ["ncp", "lm", "pmi"])
@every_engine
def test_every_kind_of_measure_and_of_missing_cells(engine, measure, missing):
    frame = people(N, missing=True)
    release = release_of(engine, frame, measure=measure, missing=missing)
    check_release(release, frame, K, EVERY_COLUMN)
    assert release.n_groups > 4


@every_engine
def test_the_same_seed_gives_the_same_release(engine):
    first, again, other = (
        release_of(engine, people(N), algorithm="k-member", seed=seed, shuffle=True)
        for seed in (1, 1, 2)
    )
    assert again.frame.equals(first.frame)
    assert again.groups.tolist() == first.groups.tolist()
    assert other.groups.tolist() != first.groups.tolist()


@every_engine
def test_no_more_rows_are_left_out_than_allowed(engine):
    frame = people(N, missing=True)
    release = release_of(engine, frame, max_suppression=0.1, algorithm="k-member")
    check_release(release, frame, K, EVERY_COLUMN)
    assert release.n_suppressed <= 0.1 * N


@every_engine
def test_an_algorithm_that_leaves_rows_out_says_so(engine):
    frame = people(N)
    release = release_of(engine, frame, algorithm="loukides-shao")
    check_release(release, frame, K, EVERY_COLUMN)
    assert bool(release.n_suppressed) == any("leaves out" in each for each in release.warnings)


def test_groups_made_elsewhere_are_repaired_and_refined():
    frame = people(N)
    engine = GivenGroupsEngine(np.arange(N) // 3)  # fewer than k rows each
    release = release_of(engine, frame, sweeps=1)
    check_release(release, frame, K, EVERY_COLUMN)
    assert any("break a promise" in each for each in release.warnings)


@every_engine
def test_refinement_loses_no_more(engine):
    plain, refined = (
        release_of(engine, people(N), algorithm="hilbert", block_rows=N, refine=effort)
        for effort in (None, "fast")
    )
    check_release(refined, people(N), K, EVERY_COLUMN)
    assert refined.scores["ncp"] <= plain.scores["ncp"]


@every_engine
def test_an_algorithm_for_whole_columns_is_not_cut(engine):
    names = ["country", "city"]
    release = release_of(engine, people(N), names=names, algorithm="incognito", block_rows=None)
    check_release(release, people(N), K, names)
    with pytest.raises(OptionError):
        release_of(engine, people(N), names=names, algorithm="incognito", block_rows=60)


@every_engine
def test_what_cannot_be_done_is_said_before_the_work(engine):
    with pytest.raises(PromiseError, match="fewer than k"):
        release_of(engine, people(N).head(3))
    with pytest.raises(DataError, match="no rows"):
        release_of(engine, people(N).clear())
    with pytest.raises(PromiseError, match="can be at most"):
        release_of(engine, people(N), privacy=[{"model": "l-diversity", "l": 99}])


@every_engine
def test_warnings_bound_and_facts_come_along(engine):
    frame = people(N)
    release = release_of(engine, frame, bound=True)
    assert any("'token'" in each for each in release.warnings)  # a number of its own in every row
    assert 0 < release.bound <= release.scores["ncp"]
    assert [column.name for column in release.facts.columns] == [
        name for name in frame.columns if name in EVERY_COLUMN
    ]
    with pytest.raises(PromiseError, match="with strict"):
        release_of(engine, frame, strict=True)


def test_the_simple_engine_really_used_processes_and_files(disk):
    before = disk.parts_made
    release_of(disk, people(N))
    assert disk.parts_made - before >= N // 60


def test_pipeline_names_no_engine():
    import ast
    from pathlib import Path

    import shoal.engine.pipeline

    tree = ast.parse(Path(shoal.engine.pipeline.__file__).read_text(encoding="utf-8"))
    imported = [
        f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    assert imported
    assert [name for name in imported if name.startswith("shoal.engine")] == []


def test_a_release_says_by_itself_how_it_is_written(tmp_path, monkeypatch):
    asked = {"algorithm": "mondrian", "seed": SEED, **arguments(EVERY_COLUMN)}
    release = shoal.anonymize(people(N), K, **asked)
    asked = []
    monkeypatch.setattr(
        type(release), "stage", lambda self, group, target, **options: asked.append(target)
    )
    with pytest.raises(AttributeError):  # nothing was staged
        release.write(tmp_path / "safe.csv")
    assert asked == [tmp_path / "safe.csv"]
