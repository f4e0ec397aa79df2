"""The walk of one table through `shoal anonymize`: which files and functions it passes, in order.

Run: python tools/walk.py [--draw] [--source FOLDER]
Prints how many files and lines of code there are (without blank lines, comments and docstrings),
and the rooms (folders and files of src/shoal) in the order in which they are first entered,
with the files and functions that are called in each. Functions count when they are called;
importing a module does not. Kernels count when they are called from outside: what they call in
turn is compiled into them. (They run uncompiled here, which does the same, and nothing has to be
compiled first.) --draw also writes docs/images/walk.svg; tests/house/test_walk.py holds that
the picture is the walk of today.
"""

import argparse
import ast
import inspect
import io
import json
import os
import subprocess
import sys
import tempfile
import threading
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "images" / "walk.svg"
NO_CODE = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE),
    *(tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
}
ROLES = ("--qi", "age,zip,sex", "--sensitive", "diagnosis", "--identifier", "name")
# Sums of kernels may go round, which only uncompiled they warn of.
UNCOMPILED = {
    "NUMBA_DISABLE_JIT": "1",
    "PYTHONWARNINGS": "ignore:overflow encountered:RuntimeWarning",
}
PER_ROW = 5
BOX, GAP, HEIGHT = 160, 26, 54
SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
    'height="{height}" role="img" aria-labelledby="title desc" '
    """font-family="Helvetica, Arial, 'DejaVu Sans', sans-serif" font-size="13">"""
)
ARROW = '<path d="M{x} {y}h16m-5 -4l5 4l-5 4" stroke="#829ab1" fill="none"/>'


@dataclass(frozen=True)
class Room:
    """A folder or a file of the package: what the walk touches in it."""

    name: str
    files: int
    functions: int


@dataclass(frozen=True)
class Walk:
    """Everything that was called: (file, function), in the order of the first call."""

    calls: tuple[tuple[str, str], ...]

    @property
    def files(self) -> tuple[str, ...]:
        """The files in the order of first touch."""
        return tuple(dict.fromkeys(file for file, _ in self.calls))

    @property
    def before_pipeline(self) -> int:
        """How many files are touched before `engine/pipeline.py` is."""
        first = "engine/pipeline.py"
        return self.files.index(first) if first in self.files else len(self.files)

    @property
    def rooms(self) -> tuple[Room, ...]:
        """The rooms in the order in which they are entered."""
        names = dict.fromkeys(room_of(file) for file in self.files)
        return tuple(
            Room(
                name,
                sum(room_of(file) == name for file in self.files),
                sum(room_of(file) == name for file, _ in self.calls),
            )
            for name in names
        )


def room_of(file: str) -> str:
    """Returns the room of a file: its folder below src/shoal, or the file itself."""
    first, slash, _ = file.partition("/")
    return first + slash


def people(n_rows: int = 40) -> str:
    """Returns a small table as CSV."""
    words = ("asthma", "flu", "migraine")
    rows = (
        f"person {row},{20 + 7 * row % 50},47{row % 6}0{row % 2},{'fm'[row % 2]},{words[row % 3]}"
        for row in range(n_rows)
    )
    return "\n".join(["name,age,zip,sex,diagnosis", *rows]) + "\n"


def follow(source: Path) -> Walk:
    """Anonymizes a small table in a new process, and notes what is called."""
    with tempfile.TemporaryDirectory() as folder:
        table, seen = Path(folder) / "people.csv", Path(folder) / "seen.json"
        table.write_text(people(), encoding="utf-8")
        release = str(Path(folder) / "safe.csv")
        arguments = ["anonymize", str(table), "-o", release, "--k", "3", *ROLES]
        arguments += ["--seed", "1", "--quiet"]
        command = [sys.executable, __file__, "--follow", str(seen), "--source", str(source)]
        subprocess.run(
            [*command, "--", *arguments],
            env={**os.environ, **UNCOMPILED, "PYTHONPATH": str(source)},
            check=True,
        )
        calls = json.loads(seen.read_text(encoding="utf-8"))
    return Walk(tuple((file, function) for file, function in calls))


def record(seen: Path, source: Path, arguments: list[str]) -> None:
    """Runs the program in this process and writes down what is called."""
    package = str(source / "shoal") + os.sep
    kernels = package + "kernels" + os.sep
    calls: dict[tuple[str, str], None] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        # Bodies of modules and classes run once, at the import; they are no calls.
        is_function = code.co_flags & inspect.CO_OPTIMIZED and not code.co_name.startswith("<")
        if event == "call" and is_function and code.co_filename.startswith(package):
            caller = frame.f_back.f_code.co_filename if frame.f_back else ""
            if code.co_filename.startswith(kernels) and caller.startswith(kernels):
                return
            file = code.co_filename.removeprefix(package).replace(os.sep, "/")
            calls.setdefault((file, code.co_qualname))

    from shoal.cli import main

    sys.argv = ["shoal", *arguments]
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    seen.write_text(json.dumps(list(calls)), encoding="utf-8")


def code_lines(file: Path) -> int:
    """Counts the lines of a file that hold code: no blank lines, no comments, no docstrings."""
    text = file.read_text(encoding="utf-8")
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Expr(ast.Constant(str())):
                lines.difference_update(range(node.lineno, (node.end_lineno or 0) + 1))
    return len(lines)


def draw(walk: Walk) -> str:
    """Returns the rooms as boxes, in the order in which they are entered."""
    rooms = walk.rooms
    n_lines = -(-len(rooms) // PER_ROW)
    width, height = PER_ROW * (BOX + GAP) + GAP, 84 + n_lines * (HEIGHT + GAP)
    counts = f"{len(walk.files)} files, {len(walk.calls)} functions"
    order = ", ".join(f"{room.name} {room.files} {room.functions}" for room in rooms)
    lines = [
        SVG.format(width=width, height=height),
        f'<title id="title">One table through shoal anonymize: {counts}</title>',
        f'<desc id="desc">Rooms, with files and functions: {escape(order)}.</desc>',
        f'<rect width="{width}" height="{height}" rx="10" fill="#ffffff"/>',
        f'<text x="{GAP}" y="32" font-size="16" font-weight="bold" fill="#1f2933">',
        f"One table through shoal anonymize: {counts}</text>",
        f'<text x="{GAP}" y="54" fill="#52606d">Rooms of src/shoal in the order in which they are',
        f"entered; {walk.before_pipeline} files before engine/pipeline.py</text>",
    ]
    for number, room in enumerate(rooms):
        lines += _box(number, room, last=number == len(rooms) - 1)
    return "\n".join([*lines, "</svg>"]) + "\n"


def _box(number: int, room: Room, *, last: bool) -> Iterator[str]:
    """Yields one box and the arrow to the next; lines run left to right, as one reads."""
    line, place = divmod(number, PER_ROW)
    x, y = GAP + place * (BOX + GAP), 74 + line * (HEIGHT + GAP)
    fill = "#d9e8f5" if room.name.endswith("/") else "#f0f4f8"
    yield f'<rect x="{x}" y="{y}" width="{BOX}" height="{HEIGHT}" rx="6" fill="{fill}"/>'
    yield (
        f'<text x="{x + 10}" y="{y + 21}" font-weight="bold" fill="#102a43">{number + 1} '
        f"{escape(room.name)}</text>"
    )
    counts = f"{room.functions} function{'s' * (room.functions != 1)}"
    if room.name.endswith("/"):
        counts = f"{room.files} file{'s' * (room.files != 1)}, {counts}"
    yield f'<text x="{x + 10}" y="{y + 42}" fill="#334e68">{counts}</text>'
    if not last:
        yield ARROW.format(x=x + BOX + 4, y=y + HEIGHT // 2)


def main() -> None:
    """Prints the walk; draws it if asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--source", type=Path, default=ROOT / "src", help="another src to follow")
    parser.add_argument("--draw", action="store_true", help="write docs/images/walk.svg")
    parser.add_argument("--all", action="store_true", help="print every function")
    parser.add_argument("--follow", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("arguments", nargs="*", help=argparse.SUPPRESS)
    options = parser.parse_args()
    source = options.source.resolve()
    if options.follow:
        record(options.follow, source, options.arguments)
        return
    modules = sorted((source / "shoal").rglob("*.py"))
    print(f"{len(modules)} files, {sum(map(code_lines, modules)):,} lines of code")
    walk = follow(source)
    for room in walk.rooms:
        print(f"{room.name:<20} {room.files:>3} files {room.functions:>4} functions")
    for file, function in walk.calls if options.all else ():
        print(f"  {file}: {function}")
    print(
        f"{len(walk.files)} files, {len(walk.calls)} functions; "
        f"{walk.before_pipeline} files before engine/pipeline.py"
    )
    if options.draw:
        PICTURE.write_text(draw(walk), encoding="utf-8")


if __name__ == "__main__":
    main()
