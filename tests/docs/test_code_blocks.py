"""Every code block of the documentation runs, and prints what the page shows."""

import faulthandler
import importlib.util
import os
import sys
from pathlib import Path

import pytest
from tests.helpers.effort import further

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md"))
RUN = {"sh", "python"}
SLOW = {
    "analysing-a-release",
    "audit",
    "benchmarking",
    "choosing-an-algorithm",
    "choosing-k-l-t",
    "command-line",
    "databases",
    "first-run",
    "grid",
    "hierarchies",
    "life-of-a-release",
    "measures",
    "missing-and-suppression",
    "python-reference",
    "reading",
    "several-rows-per-person",
    "utility",
}
"""Pages that run many commands, each in a process of its own."""


def _load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


tool = _load(ROOT / "tools" / "follow_tutorial.py")
WITH_CODE = [page for page in PAGES if any(b.language in RUN for b in tool.blocks_of(page))]


@pytest.fixture
def reader(tmp_path):
    """A folder to work in, and an environment in which `shoal` and `python` are these here."""
    # a page may compile for minutes in a fresh clone; each of its blocks has a limit of its own
    faulthandler.cancel_dump_traceback_later()
    programs, folder = tmp_path / "bin", tmp_path / "work"
    programs.mkdir()
    folder.mkdir()
    for name, words in (("shoal", "-m shoal"), ("python", "")):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        program.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(programs), os.environ["PATH"]]),
        "PYTHONPATH": str(ROOT / "src"),
        "NO_COLOR": "1",
        "COLUMNS": "80",
        "LANG": "C.UTF-8",
    }
    return folder, environment


@pytest.mark.parametrize(
    "page", further(WITH_CODE, lambda page: page.stem not in SLOW), ids=lambda page: page.stem
)
def test_the_code_blocks_of_a_page_run_from_top_to_bottom(page, reader):
    assert tool.follow(page, *reader, sys.executable) == []


def test_only_a_few_blocks_are_not_run_and_each_says_why():
    left_out = [
        (page.name, block.line, block.mark)
        for page in PAGES
        for block in tool.blocks_of(page)
        if block.language in RUN and block.mark.startswith("not run")
    ]
    assert all(len(mark.removeprefix("not run: ")) > 10 for _, _, mark in left_out)
    assert len(left_out) <= 12, left_out


def test_a_block_that_fails_or_prints_something_else_is_reported(tmp_path, reader):
    page = tmp_path / "page.md"
    page.write_text(
        "```sh\nexit 3\n```\n\n```sh\necho 1 two\n```\n\n```text\n7 two\n8 three\n```\n"
    )
    failed, other = tool.follow(page, *reader, sys.executable)
    assert "line 1: exit status 3" in failed
    assert "not printed:\n8 three\nbut" in other
