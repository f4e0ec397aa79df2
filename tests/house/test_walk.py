"""The picture of docs/architecture.md is the walk of today: `python tools/walk.py --draw`.

How long the walk may be and what is loaded on it stands here; the page says the same numbers.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.helpers.scripts import load_script

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "architecture.md"
PICTURE = ROOT / "docs" / "images" / "walk.svg"

MOST_FILES, MOST_FUNCTIONS, MOST_BEFORE, MOST_MODULES = 95, 761, 41, 107
"""Files and functions of the walk, files before `engine/pipeline.py`, and modules of ours that
`shoal.anonymize` of a frame loads. They may become smaller."""

TWO_COLUMNS = """
import sys
import polars as pl
import shoal
frame = pl.DataFrame({"age": [30, 31, 50, 51], "ill": ["flu", "cold", "flu", "cold"]})
shoal.anonymize(frame, k=2, quasi_identifiers=["age"], sensitive=["ill"])
print(sum(name.partition(".")[0] == "shoal" for name in sys.modules))
"""


@pytest.fixture(scope="module")
def tool():
    return load_script("tools/walk.py")


@pytest.fixture(scope="module")
def walk(tool):
    return tool.follow(ROOT / "src")


def drawn_rooms():
    """Name, files and functions of each room, as the picture says."""
    text = re.search(r"<desc[^>]*>[^:]*: (.*)\.</desc>", PICTURE.read_text(encoding="utf-8"))
    cells = [cell.rsplit(" ", 2) for cell in text[1].split(", ")]
    return {name: (int(files), int(functions)) for name, files, functions in cells}


def test_the_picture_shows_the_rooms_of_the_walk_and_about_its_numbers(walk):
    again = "run: python tools/walk.py --draw"
    drawn, found = drawn_rooms(), {room.name: room for room in walk.rooms}
    assert set(drawn) == set(found), again
    for what, numbers in (("files", 0), ("functions", 1)):
        shown = sum(cell[numbers] for cell in drawn.values())
        now = sum(getattr(room, what) for room in found.values())
        assert now == pytest.approx(shown, rel=0.05), f"{what}: {again}"


def test_the_walk_goes_from_the_command_line_through_the_line_of_the_page(walk):
    order = [file for file in walk.files if file in LINE]
    assert order == LINE
    assert {room.name for room in walk.rooms} >= {"cli/", "io/", "publish/", "kernels/", "search/"}


LINE = ["cli/__init__.py", "run/job.py", "run/__init__.py", "engine/pipeline.py"]


def test_a_room_is_a_folder_or_a_file_at_the_top(tool):
    line = "engine/pipeline.py"
    walk = tool.Walk((("cli/program.py", "run"), (line, "f"), ("cli/x.py", "g"), (line, "h")))
    assert [(room.name, room.files, room.functions) for room in walk.rooms] == [
        ("cli/", 2, 2),
        ("engine/", 1, 2),
    ]
    assert walk.before_pipeline == 1


def test_the_walk_becomes_no_longer(walk):
    assert len(walk.files) <= MOST_FILES
    assert len(walk.calls) <= MOST_FUNCTIONS
    assert walk.before_pipeline <= MOST_BEFORE


def test_a_frame_of_two_columns_loads_no_more_modules():
    done = subprocess.run(
        [sys.executable, "-c", TWO_COLUMNS],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) <= MOST_MODULES


def test_the_page_says_these_numbers():
    most = (MOST_FILES, MOST_FUNCTIONS, MOST_BEFORE, MOST_MODULES)
    row = " | ".join(["| what a test allows now", *map(str, most)]) + " |"
    assert row in PAGE.read_text(encoding="utf-8").splitlines()


def test_the_page_says_about_how_much_code_there_is(tool):
    page = PAGE.read_text(encoding="utf-8")
    said = [re.search(rf"^\| {what}[^|]*\|[^|]*\| ([\d,]+) \|", page, re.MULTILINE)[1]
            for what in ("files of `src`", "lines of code")]  # fmt: skip
    files = list((ROOT / "src" / "shoal").rglob("*.py"))
    assert len(files) == pytest.approx(int(said[0]), rel=0.03)
    lines = sum(map(tool.code_lines, files))
    assert lines == pytest.approx(int(said[1].replace(",", "")), rel=0.03)
