"""What docs/results shows is what is stored; one way starts every benchmark."""

import runpy
import sys
from pathlib import Path

import pytest
from benchmarks.__main__ import benchmarks
from benchmarks.app.__main__ import page as app_page
from benchmarks.common import load_json, raw_results
from benchmarks.draw import tables
from benchmarks.redraw import redraw

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"


def test_every_page_is_what_the_stored_numbers_say(tmp_path):
    redraw(tmp_path, figures=False)
    pages = {path.name for path in tmp_path.glob("*.md")}
    assert pages == {path.name for path in RESULTS.glob("*.md")}
    for name in pages:
        written = (tmp_path / name).read_text(encoding="utf-8")
        assert written == (RESULTS / name).read_text(encoding="utf-8"), f"{name}: redraw it"


def test_the_results_are_pages_and_figures_and_every_figure_is_shown():
    files = [path for path in RESULTS.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} == {".md", ".svg"}
    text = "".join(path.read_text(encoding="utf-8") for path in RESULTS.glob("*.md"))
    figures = [path.relative_to(RESULTS).as_posix() for path in files if path.suffix == ".svg"]
    assert [name for name in figures if f"({name})" not in text] == []


def test_what_is_stored_is_compressed_and_small():
    stored = [path for path in ROOT.glob("benchmarks/*/results/*") if path.is_file()]
    assert stored
    assert {"".join(path.suffixes) for path in stored} == {".json.gz"}
    assert sum(path.stat().st_size for path in stored) < 1_000_000


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
def test_a_benchmark_starts_as_a_module_and_says_what_it_does(monkeypatch, capsys):
    for name, _ in benchmarks():
        monkeypatch.setattr(sys, "argv", [name, "--help"])
        with pytest.raises(SystemExit) as end:
            runpy.run_module(f"benchmarks.{name}", run_name="__main__")
        assert end.value.code in {0, None}, name
        assert capsys.readouterr().out.startswith("usage:"), name


def test_the_list_of_benchmarks_has_a_line_about_each():
    listed = dict(benchmarks())
    assert {"algorithms", "beyond", "papers", "peers", "scale", "speed"} <= set(listed)
    assert all(listed.values())


def test_a_table_escapes_bars_and_leaves_empty_cells_empty():
    found = list(tables.titled("Title", ["", "a|b"], [["x", ""], [1, "y|z"]]))
    assert found == ["", "**Title**", "", "| | a\\|b |", "|---|---|", "| x | |", "| 1 | y\\|z |"]


def test_a_row_with_too_few_cells_is_refused():
    with pytest.raises(ValueError, match="1 cells below 2 heads"):
        list(tables.table(["a", "b"], [["x"]]))


def test_the_page_of_the_app_shows_runs_where_they_were_measured():
    stored = load_json(raw_results("app") / "app.json.gz")
    measured = {**stored, "running": 12.34, "times": {**stored["times"], "a tree is edited": [0.2]}}
    measured["memory"] = {**stored["memory"], "run": 700.0}
    text = app_page(measured)
    assert "; a run with Mondrian does so, too, and took 12.3 s. " in text
    assert "| a tree is edited | 1 | 0.200 | 0.200 |" in text
    assert "| after reading | after all pages | after a run | the most |" in text
    del measured["running"], measured["memory"]["run"]
    assert "Mondrian" not in app_page(measured)
    assert "| after a run |" not in app_page(measured)
