"""Holds the line of docs/architecture.md: imports point down the layers, never up.

The layers are read from the table of that page, so the page cannot go stale. Imports inside
functions and inside `if TYPE_CHECKING` count like any other.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "shoal"
PAGE = ROOT / "docs" / "architecture.md"

TABLE_ROW = re.compile(r"^\|\s*(\d+)\s*\|(.*)\|\s*$", re.MULTILINE)
ROOM = re.compile(r"`(\w+(?:/\w+)?)(?:/|\.py)`")


def read_layers(page: str) -> dict[str, int]:
    """Returns the layer of each room (`hierarchy`, `encode`, ...) in the page's table.

    A file of a room may have a layer of its own (`settings/run_job`).
    """
    return {
        room: int(layer) for layer, rooms in TABLE_ROW.findall(page) for room in ROOM.findall(rooms)
    }


def find_modules(package: Path) -> dict[str, Path]:
    """Returns the file of each module, named from the package's own name downwards."""
    modules = {}
    for path in sorted(package.rglob("*.py")):
        parts = [package.name, *path.relative_to(package).with_suffix("").parts]
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return modules


@cache
def nodes_of(text: str) -> tuple[ast.AST, ...]:
    """Returns the syntax of a file; each is read by several tests."""
    return tuple(ast.walk(ast.parse(text)))


def imported_names(path: Path, package: str) -> Iterator[str]:
    """Yields the full name of everything a file imports from the package."""
    for node in nodes_of(path.read_text(encoding="utf-8")):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            # A relative import is reported as such: the linter bans them.
            base = "." * node.level + (node.module or "")
            names = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name.split(".")[0] in {package, ""}:
                yield name


def room_of(name: str) -> str:
    """Returns the room of a module; the package itself and its `__main__` are the front door."""
    parts = name.split(".")
    return "" if len(parts) == 1 or parts[1].startswith("__") else parts[1]


def place_of(name: str, layers: dict[str, int]) -> str:
    """Returns the row of the table that a module belongs to: its own, or else its room's."""
    own = "/".join(name.split(".")[1:3])
    return own if own in layers else room_of(name)


def find_violations(package: Path, layers: dict[str, int]) -> list[str]:
    """Returns a sentence for every import that does not point down, and every unknown room."""
    front_door = max(layers.values())
    problems = []
    for module, path in find_modules(package).items():
        room = place_of(module, layers)
        if room and room not in layers:
            problems.append(f"{module}: room '{room}' has no layer in the table")
            continue
        for name in imported_names(path, package.name):
            target = place_of(name, layers)
            if target not in layers:
                # `from shoal import anonymize` goes through the front door, as users do.
                target = ""
            if room == "kernels" and target != "kernels":
                problems.append(f"{module} imports {name}: kernels import nothing of ours")
            elif room and layers.get(target, front_door) > layers[room]:
                problems.append(f"{module} imports {name}: it lies in a higher layer")
    return problems


def reachable_from(start: str, package: Path) -> set[str]:
    """Returns every module of the package that importing `start` can lead to."""
    modules = find_modules(package)
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        module = waiting.pop()
        if module in seen:
            continue
        seen.add(module)
        for name in imported_names(modules[module], package.name):
            # `a.b.c` may be a module or a name inside the module `a.b`; packages come along.
            parts = name.split(".")
            candidates = [".".join(parts[:end]) for end in range(2, len(parts) + 1)]
            waiting.extend(found for found in candidates if found in modules)
    return seen - {package.name}


def test_the_page_gives_a_layer_to_every_room_that_exists():
    rooms = {room_of(module) for module in find_modules(SOURCE)} - {""}
    assert rooms <= read_layers(PAGE.read_text(encoding="utf-8")).keys()


def test_imports_point_down_the_layers():
    layers = read_layers(PAGE.read_text(encoding="utf-8"))
    assert find_violations(SOURCE, layers) == []


def test_verification_reaches_nothing_of_what_makes_a_release():
    # Whatever it leads to: the few modules named here, none of which judges or groups anything.
    reached = reachable_from("shoal.publish.verify", SOURCE)
    inside = {name for name in reached if room_of(name) == "publish"}
    below = {"shoal.errors", "shoal.messages", "shoal.table", "shoal.table.frames"}
    assert reached - inside == below
    assert inside == {
        "shoal.publish",
        "shoal.publish.cells",
        "shoal.publish.grid_check",
        "shoal.publish.judgement",  # the type of a headline, which is made elsewhere
        "shoal.publish.predicates",
        "shoal.publish.uniques",
        "shoal.publish.verify",
    }


def test_a_release_reaches_its_file_through_one_door_only():
    # Whoever else writes a table writes something that was never read back and verified.
    writers = {"stage_table", "stage_sql", "write_table"}
    users = {
        module
        for module, path in find_modules(SOURCE).items()
        if any(name.rpartition(".")[2] in writers for name in imported_names(path, "shoal"))
    }
    assert {module for module in users if room_of(module) not in {"io", ""}} == {
        "shoal.release.verified_write"
    }


def test_no_file_is_named_utils():
    assert [path.name for path in SOURCE.rglob("*.py") if path.stem in {"util", "utils"}] == []


# The checker itself, on a package of its own.

TABLE = """
| layer | rooms |
|---|---|
| 0 | `errors.py`, `kernels/` (nothing of ours) |
| 1 | `encode.py`, then `schema.py` (`read`), `settings/` |
| 2 | `algorithms/`, `verify.py`, `settings/run.py` |
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


def test_the_table_is_read_by_its_file_and_folder_names():
    assert read_layers(TABLE) == {
        "errors": 0,
        "kernels": 0,
        "encode": 1,
        "schema": 1,
        "settings": 1,
        "algorithms": 2,
        "verify": 2,
        "settings/run": 2,
    }


@pytest.mark.parametrize(
    "files",
    [
        {"encode": "from house.errors import Wrong\nimport numpy"},
        {"encode": "from house import schema", "schema": ""},
        {"kernels__in__scan": "import house.kernels.join", "kernels__in__join": ""},
        {"__init__": "from house.algorithms import run", "algorithms__in____init__": ""},
        {"algorithms__in__mondrian": "from house import split"},
        {
            "settings__in__run": "import house.verify",
            "settings__in__options": "import house.schema",
        },
    ],
    ids=[
        "down",
        "same layer",
        "within kernels",
        "front door",
        "through the front door on top",
        "a file with a layer of its own",
    ],
)
def test_the_checker_accepts_imports_that_point_down(house, files):
    assert find_violations(house(**files), read_layers(TABLE)) == []


@pytest.mark.parametrize(
    "files",
    [
        {"errors": "import house.encode"},
        {"errors": "from house import encode"},
        {"encode": "def late():\n    from house.algorithms.mondrian import split"},
        {"encode": "if TYPE_CHECKING:\n    from house.verify import Verdict"},
        {"encode": "from house import anything"},
        {"encode": "from . import errors"},
        {"kernels__in__scan": "from house.errors import Wrong"},
        {"helpers": ""},
        {"settings__in__options": "from house.settings import run", "settings__in__run": ""},
    ],
    ids=[
        "up",
        "up by from",
        "up inside a function",
        "up for types",
        "through the front door from below",
        "relative",
        "out of kernels",
        "unknown room",
        "up within a room",
    ],
)
def test_the_checker_reports_what_breaks_the_line(house, files):
    assert len(find_violations(house(**files), read_layers(TABLE))) == 1


def test_the_checker_follows_imports_through_other_modules(house):
    package = house(
        verify="from house.encode import codes",
        encode="def late():\n    import house.algorithms.mondrian",
        algorithms__in__mondrian="",
        schema="",
    )
    reached = reachable_from("house.verify", package)
    assert reached == {"house.verify", "house.encode", "house.algorithms.mondrian"}
