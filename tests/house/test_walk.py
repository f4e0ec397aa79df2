"""The picture of docs/architecture.md is the walk of today: `python tools/walk.py --draw`."""

import re
from pathlib import Path

import pytest
from tests.helpers.scripts import load_script

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "images" / "walk.svg"


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


LINE = ["cli/__init__.py", "settings/run_job.py", "run.py", "pipeline.py"]


def test_a_room_is_a_folder_or_a_file_at_the_top(tool):
    line = "pipeline.py"
    walk = tool.Walk((("cli/run.py", "run"), (line, "f"), ("cli/x.py", "g"), (line, "h")))
    assert [(room.name, room.files, room.functions) for room in walk.rooms] == [
        ("cli/", 2, 2),
        ("pipeline.py", 1, 2),
    ]
    assert walk.before_pipeline == 1
