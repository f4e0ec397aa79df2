"""Algorithms named after a paper are never helped by ours, anywhere on the page of the papers."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from benchmarks.papers import as_published, cross, cross_guide, cross_run
from benchmarks.papers.as_published import HELP, helped, whole_table

from shoal import registry
from shoal.datasets import load_adult
from shoal.registry import built_in

PAPERS = Path(__file__).parents[2] / "benchmarks" / "papers"
OUT_OF_REACH = {"anonymize", "timed", "cpu_timed", "build_request", "run_pipeline"}
"""What makes a release; one module of the page may call it without the guard, and one with it."""


def of_papers():
    return [name for name in built_in("algorithms") if name not in as_published.OURS]


def sources_of_releases(path):
    """Yield (what makes a release, the module that it is taken from) of a source file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield from ((name.name, node.module) for name in node.names)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield node.attr, node.value.id


def test_no_part_of_the_page_makes_a_release_without_the_guard():
    found = {
        (path.stem, what, where)
        for path in PAPERS.glob("*.py")
        for what, where in sources_of_releases(path)
        if what in OUT_OF_REACH and not where.endswith("as_published")
    }
    assert found == {
        ("as_published", "anonymize", "shoal"),
        ("as_published", "timed", "common"),
        ("as_published", "cpu_timed", "common"),
        ("cross_run", "build_request", "shoal.settings.request"),
        ("cross_run", "run_pipeline", "shoal.engine.pipeline"),
    }


@pytest.mark.parametrize("name", of_papers())
def test_an_algorithm_of_a_paper_sees_the_whole_table_however_large_it_is(name):
    rows = 10_000_000
    options = whole_table(rows, {"algorithm": name})
    most = options["block_rows"]
    assert most >= rows
    algorithm = registry.load("algorithms", name)()
    assert not algorithm.afterwards
    assert not algorithm.rivals(None, None)


@pytest.mark.parametrize("more", [{"refine": "quick"}, {"block_rows": 99}])
@pytest.mark.parametrize("name", of_papers())
def test_help_for_an_algorithm_of_a_paper_is_refused(name, more):
    with pytest.raises(ValueError, match="is a paper's"):
        whole_table(100, {"algorithm": name, **more})


def test_ours_works_as_it_always_does():
    assert set(whole_table(10, {})) == {"style"}
    assert whole_table(10, {"algorithm": "auto", "block_rows": 5})["block_rows"] == 5


@pytest.mark.parametrize("name", ["auto", "sequential"])
def test_a_cell_without_a_hierarchy_is_kept_or_suppressed(name):
    frame = load_adult().head(200).select("occupation", "salary")
    given = {"quasi_identifiers": "occupation", "sensitive": "salary", "algorithm": name, "seed": 1}
    for release in (
        as_published.anonymize(frame, 5, **given),
        as_published.timed(frame, 5, {}, **given)[0],
    ):
        cells = set(release.frame["occupation"])
        assert "*" in cells
        assert cells <= {"*", *frame["occupation"]}
    style = whole_table(9, {"style": {"categories": "set"}})["style"]
    assert style == {"flat_values": 1, "categories": "set"}


def test_a_helped_algorithm_is_labelled():
    assert helped(f"mdav, {HELP}") == "mdav"
    for label in ("mdav", "mdav, as published", f"{HELP}"):
        with pytest.raises(ValueError, match="labelled"):
            helped(label)


def test_the_cross_table_cuts_what_its_label_says_and_nothing_else(monkeypatch):
    monkeypatch.setattr("shoal.algorithm.mdav.MDAV.whole_rows", 200)
    monkeypatch.setattr("shoal.algorithm.base.BLOCK_ROWS", 100)
    alone, told = (cross_run.run(label, "ncp", 0, 400, 10) for label in ("mdav", f"mdav, {HELP}"))
    plain = as_published.anonymize(
        cross_run.adult(400),
        10,
        algorithm="mdav",
        measure="ncp",
        seed=0,
        **cross_run.described(load_adult(), "mdav"),
    )
    assert alone["loss"]["ncp"] == pytest.approx(plain.scores["ncp"], rel=1e-5)
    assert told["same"] != alone["same"]
    assert told["loss"]["ncp"] < alone["loss"]["ncp"]


def test_whatever_the_cross_table_ranks_has_three_seeds_unless_chance_plays_no_part():
    names = (*built_in("algorithms"), *cross.HELPED)
    jobs = cross.jobs_of(names, cross_run.can_be_minimised(), 400, cross.KS)
    ranked = {}
    for _, (algorithm, measure, _, seeds, ks) in jobs.values():
        once = algorithm in cross.DETERMINISTIC or measure in cross_run.SAME
        once |= algorithm in as_published.OURS and measure in cross.LOGARITHMS  # not ranked
        assert len(seeds) == (1 if once else 3), (algorithm, measure)
        if measure in cross_guide.PUBLIC:
            assert ks == cross.KS
        if measure not in cross_run.SAME:
            ranked.setdefault(measure, set()).add(algorithm)
    assert ranked["ncp"] >= set(names)
    everywhere = set(built_in("algorithms")) - set(cross.BASELINES)
    assert set(ranked) >= {*cross_guide.PUBLIC, *cross_run.CLASSES}
    assert all(algorithms >= everywhere for algorithms in ranked.values())


@pytest.mark.parametrize("name", cross.DETERMINISTIC)
def test_an_algorithm_that_is_run_once_makes_the_same_groups_with_every_seed(name):
    found = {cross_run.run(name, "ncp", seed, 400, 10)["same"] for seed in range(3)}
    assert len(found) == 1
