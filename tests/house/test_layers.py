"""Holds the order of docs/architecture.md: a room imports only rooms above it, so none in a circle.

The rooms are read from the list of that page, so the page cannot go stale. Modules of one room do
not import each other in a circle either. Imports inside functions and inside `if TYPE_CHECKING`
count like any other.
"""

from pathlib import Path

import pytest
from tests.helpers.scripts import load_script

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "shoal"
PAGE = ROOT / "docs" / "architecture.md"
TOOL = load_script("tools/rooms.py")


def find_violations(package: Path, order: list[str]) -> list[str]:
    """Returns a sentence for every import of a room further down, and every unknown room."""
    imports = TOOL.imports_of_rooms(package)
    problems = [f"{room}: not in the list" for room in imports if room and room not in order]
    for place, room in enumerate(order):
        allowed = set() if room == "kernels" else set(order[:place])
        problems += [
            f"{room} imports {each or 'the front door'}"
            for each in sorted(imports.get(room, set()) - allowed)
        ]
    return problems


def reachable_from(start: str, package: Path) -> set[str]:
    """Returns every module of the package that importing `start` can lead to."""
    modules = TOOL.find_modules(package)
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        module = waiting.pop()
        if module in seen:
            continue
        seen.add(module)
        for name in TOOL.imported_names(modules[module], package.name):
            # `a.b.c` may be a module or a name inside the module `a.b`; packages come along.
            parts = name.split(".")
            candidates = [".".join(parts[:end]) for end in range(2, len(parts) + 1)]
            waiting.extend(found for found in candidates if found in modules)
    return seen - {package.name}


def test_the_page_lists_every_room_that_exists_once_and_no_other():
    order = TOOL.rooms_of_page(PAGE.read_text(encoding="utf-8"))
    assert sorted(order) == sorted(TOOL.imports_of_rooms(SOURCE).keys() - {""})


def test_rooms_import_only_rooms_above_them_in_the_list():
    order = TOOL.rooms_of_page(PAGE.read_text(encoding="utf-8"))
    assert find_violations(SOURCE, order) == []


def test_no_modules_of_a_room_import_each_other_in_a_circle():
    assert TOOL.rooms_in_circles(SOURCE) == {}


def test_the_picture_shows_the_imports_of_today():
    order = TOOL.rooms_of_page(PAGE.read_text(encoding="utf-8"))
    drawn = TOOL.draw(order, TOOL.imports_of_rooms(SOURCE))
    again = "run: python tools/rooms.py --draw"
    assert TOOL.PICTURE.read_text(encoding="utf-8") == drawn, again


def test_verification_reaches_nothing_of_what_makes_a_release():
    # Whatever it leads to: the few modules named here, none of which judges or groups anything.
    reached = reachable_from("shoal.publish.verify", SOURCE)
    inside = {name for name in reached if TOOL.room_of(name) == "publish"}
    below = {"shoal.errors", "shoal.messages", "shoal.table", "shoal.table.frames"}
    below |= {"shoal.runtime", "shoal.runtime.notebook", "shoal.runtime.sanitize"}  # to show it
    assert reached - inside == below
    assert inside == {
        "shoal.publish",
        "shoal.publish.cells",
        "shoal.publish.grid_check",
        "shoal.publish.judgement",  # the type of a headline, which is made elsewhere
        "shoal.publish.limited",  # what an attacker may know, and which combinations that makes
        "shoal.publish.predicates",
        "shoal.publish.uniques",
        "shoal.publish.verify",
    }


def test_a_release_reaches_its_file_through_one_door_only():
    # Whoever else writes a table writes something that was never read back and verified.
    writers = {"stage_table", "stage_sql", "write_table"}
    users = {
        module
        for module, path in TOOL.find_modules(SOURCE).items()
        if any(name.rpartition(".")[2] in writers for name in TOOL.imported_names(path, "shoal"))
    }
    assert {module for module in users if TOOL.room_of(module) not in {"io", ""}} == {
        "shoal.release.verified_write"
    }


def test_no_file_is_named_utils():
    assert [path.name for path in SOURCE.rglob("*.py") if path.stem in {"util", "utils"}] == []


# The checker itself, on a package of its own.

LIST = """
| room | what is in it |
|---|---|
| `errors.py` | what went wrong |
| `kernels/` | nothing of ours |
| `encode.py` | rows as codes, after `schema.py` |
| `algorithms/` | `mondrian` |
"""


@pytest.fixture
def house(tmp_path):
    """Builds a package named `house` from file names and sources."""

    def build(**files):
        for name, text in {"__init__": "", **files}.items():
            path = tmp_path / "house" / (name.replace("__in__", "/") + ".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return tmp_path / "house"

    return build


def test_the_list_is_read_by_its_file_and_folder_names():
    assert TOOL.rooms_of_page(LIST) == ["errors", "kernels", "encode", "algorithms"]


@pytest.mark.parametrize(
    "files",
    [
        {"encode": "from house.errors import Wrong\nimport numpy", "errors": ""},
        {"encode": "from house import errors", "errors": ""},
        {"kernels__in__scan": "import house.kernels.join", "kernels__in__join": ""},
        {"__init__": "from house.algorithms import run", "algorithms__in____init__": ""},
        {"algorithms__in__oka": "from house.kernels.scan import cost", "kernels__in__scan": ""},
    ],
    ids=["above", "above by from", "within kernels", "the front door", "folder"],
)
def test_the_checker_accepts_imports_of_rooms_above(house, files):
    assert find_violations(house(**files), TOOL.rooms_of_page(LIST)) == []


@pytest.mark.parametrize(
    "files",
    [
        {"errors": "import house.encode", "encode": ""},
        {"errors": "from house import encode", "encode": ""},
        {
            "encode": "def late():\n    from house.algorithms.mondrian import split",
            "algorithms__in__mondrian": "",
        },
        {
            "encode": "if TYPE_CHECKING:\n    from house.algorithms.mondrian import Cut",
            "algorithms__in__mondrian": "import house.encode",
        },
        {"encode": "from house import anything"},
        {"encode": "from . import errors"},
        {"kernels__in__scan": "from house.errors import Wrong", "errors": ""},
        {"helpers": ""},
    ],
    ids=[
        "below",
        "below by from",
        "below inside a function",
        "a circle for types",
        "through the front door",
        "relative",
        "out of kernels",
        "unknown room",
    ],
)
def test_the_checker_reports_what_breaks_the_order(house, files):
    assert len(find_violations(house(**files), TOOL.rooms_of_page(LIST))) == 1


def test_the_checker_follows_imports_through_other_modules(house):
    package = house(
        verify="from house.encode import codes",
        encode="def late():\n    import house.algorithms.mondrian",
        algorithms__in__mondrian="",
        schema="",
    )
    reached = reachable_from("house.verify", package)
    assert reached == {"house.verify", "house.encode", "house.algorithms.mondrian"}


@pytest.mark.parametrize(
    ("files", "circles"),
    [
        ({"a__in__x": "import house.a.y", "a__in__y": "def f():\n from house.a import x"}, {"a"}),
        (
            {"a__in__x": "from house.a.b.y import f", "a__in__b__in__y": "from house.a.x import g"},
            {"a"},
        ),
        (
            {
                "a__in__x": "from house.a.y import f",
                "a__in__y": "from house.a.z import f",
                "a__in__z": "",
            },
            set(),
        ),
        ({"a__in__x": "import house.c.y", "c__in__y": "import house.a.x"}, set()),
    ],
    ids=["late", "in folders", "a line", "between rooms"],
)
def test_the_checker_finds_circles_of_modules_in_a_room(house, files, circles):
    assert TOOL.rooms_in_circles(house(**files)).keys() == circles
