"""The rooms of the package and what they import: who stands on whom.

Run: python tools/rooms.py [--draw]
Prints every room of docs/architecture.md with the rooms that it imports. A room is a folder or a
file of src/shoal; imports inside functions and inside `if TYPE_CHECKING` count like any other.
--draw also writes docs/images/rooms.svg; tests/house/test_layers.py holds that the picture is that
of today, and that no room imports one that stands below it on the page.
"""

import argparse
import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "shoal"
PAGE = ROOT / "docs" / "architecture.md"
PICTURE = ROOT / "docs" / "images" / "rooms.svg"

ROW = re.compile(r"^\| `(\w+)(?:/|\.py)` \|", re.MULTILINE)
CELL, LEFT, TOP = 20, 26, 78
SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
    'height="{height}" role="img" aria-labelledby="title desc" '
    """font-family="Helvetica, Arial, 'DejaVu Sans', sans-serif" font-size="13">"""
)


def rooms_of_page(page: str) -> list[str]:
    """Returns the rooms in the order of the page, from the ground up."""
    return ROW.findall(page)


def find_modules(package: Path) -> dict[str, Path]:
    """Returns the file of each module, named from the package's own name downwards."""
    modules = {}
    for path in sorted(package.rglob("*.py")):
        parts = [package.name, *path.relative_to(package).with_suffix("").parts]
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return modules


@cache
def nodes_of(text: str) -> tuple[ast.AST, ...]:
    """Returns the syntax of a file; each is read several times."""
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


def imports_of_rooms(package: Path) -> dict[str, set[str]]:
    """Returns the other rooms that each room imports; what is no room is the front door."""
    modules = find_modules(package)
    found: dict[str, set[str]] = {room_of(module): set() for module in modules}
    for module, path in modules.items():
        for name in imported_names(path, package.name):
            target = room_of(name)
            # `from shoal import anonymize` goes through the front door, as users do.
            found[room_of(module)].add(target if target in found else "")
    return {room: targets - {room} for room, targets in found.items()}


def rooms_in_circles(package: Path) -> dict[str, list[str]]:
    """Returns the rooms with modules that import each other in a circle, and a circle of each."""
    modules = find_modules(package)
    imports: dict[str, dict[str, set[str]]] = {}
    for module, path in modules.items():
        room = room_of(module)
        found = imports.setdefault(room, {}).setdefault(module, set())
        for name in imported_names(path, package.name):
            # `a.b.c` may be a module or a name inside the module `a.b`.
            target = name if name in modules else name.rpartition(".")[0]
            if target in modules and room_of(target) == room and target != module:
                found.add(target)
    circles = {}
    for room, graph in imports.items():
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            circles[room] = error.args[1]
    return circles


def draw(order: list[str], imports: dict[str, set[str]]) -> str:
    """Returns a triangle: each row is a room, and a dot in it stands above a room it imports."""
    width = LEFT + CELL * len(order) + 150
    height = TOP + CELL * len(order) + 14
    below = {room: [each for each in order if each in imports[room]] for room in order}
    told = " ".join(f"{room}: {', '.join(below[room]) or 'none'}." for room in order)
    lines = [
        SVG.format(width=width, height=height),
        f'<title id="title">{len(order)} rooms, and which of them import which</title>',
        f'<desc id="desc">{told}</desc>',
        f'<rect width="{width}" height="{height}" rx="10" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="30" font-size="16" font-weight="bold" fill="#1f2933">',
        "Rooms of src/shoal, from the ground up</text>",
        f'<text x="{LEFT}" y="52" fill="#52606d">A dot: the room of its row imports the room at',
        "the top of its column. A circle would need a dot right of the steps.</text>",
    ]
    for number in range(len(order)):
        x, y = LEFT + number * CELL, TOP + number * CELL
        fill, rest = "#f0f4f8" if number % 2 else "#fafbfc", TOP + CELL * len(order) - y
        lines.append(f'<rect x="{x}" y="{y}" width="{CELL}" height="{rest}" fill="{fill}"/>')
    for number, room in enumerate(order):
        x, y = LEFT + number * CELL, TOP + number * CELL
        lines.append(f'<rect x="{x}" y="{y}" width="{CELL}" height="{CELL}" fill="#d9e8f5"/>')
        lines.append(
            f'<text x="{x + CELL + 8}" y="{y + 14}" font-weight="bold" fill="#102a43">{room}</text>'
        )
        lines += [
            f'<circle cx="{LEFT + order.index(each) * CELL + CELL // 2}" cy="{y + CELL // 2}" '
            'r="4" fill="#486581"/>'
            for each in below[room]
        ]
    return "\n".join([*lines, "</svg>"]) + "\n"


def main() -> None:
    """Prints what each room imports; draws it if asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--draw", action="store_true", help="write docs/images/rooms.svg")
    options = parser.parse_args()
    order = rooms_of_page(PAGE.read_text(encoding="utf-8"))
    imports = imports_of_rooms(SOURCE)
    for room in order:
        print(f"{room:<16} {' '.join(each for each in order if each in imports[room])}")
    if options.draw:
        PICTURE.write_text(draw(order, imports), encoding="utf-8")


if __name__ == "__main__":
    main()
