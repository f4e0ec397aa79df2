"""Tests stand where what they test stands, and what they share has one address."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
ACROSS = {"benchmarks", "browser", "contract", "db", "docs", "fuzz", "helpers", "house", "leaks"}
ACROSS |= {"oracle", "packaging", "property", "unit"}
"""Folders that test across rooms, or the package as a whole (unit: single modules, too)."""


def folders(root):
    return {path.parent.relative_to(root).parts[0] for path in root.glob("*/**/*.py")}


def test_every_folder_of_tests_is_one_of_src_or_tests_across_them():
    assert folders(TESTS) - folders(ROOT / "src" / "shoal") - ACROSS == set()


def test_what_tests_share_is_in_the_package_of_helpers():
    files = [path.relative_to(TESTS) for path in TESTS.rglob("*.py")]
    others = [
        path.as_posix()
        for path in files
        if not path.name.startswith("test_")
        and path.name not in {"conftest.py", "__init__.py"}
        and path.parts[0] != "helpers"
    ]
    # the packages of somebody else
    assert sorted(others) == [
        "contract/plugin/shoal_neighbours.py",
        "contract/plugin/shoal_twins.py",
    ]


def test_every_folder_of_tests_is_run_by_make_once():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    lists = dict(re.findall(r"^(HOUSE|CHECKED|AS_SHIPPED) := (.*)$", makefile, re.MULTILINE))
    assert len(lists) == 3
    run = sorted(" ".join(lists.values()).split())
    assert run == sorted(folders(TESTS) - {"helpers"})
