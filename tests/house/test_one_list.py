"""Formats, kinds of attributes and options of columns are each listed once in the sources."""

import ast
import re
from pathlib import Path

import shoal
from shoal.io.formats import ENDINGS, FORMATS

SOURCE = Path(shoal.__file__).parent
PAGES = [*SOURCE.glob("**/*.html"), *SOURCE.glob("**/*.js")]
MODULES = {p.relative_to(SOURCE).as_posix(): ast.parse(p.read_text()) for p in SOURCE.rglob("*.py")}


def texts_in(tree):
    """The texts of every list, tuple, set and dictionary."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.List, ast.Tuple, ast.Set, ast.Dict)):
            parts = node.keys if isinstance(node, ast.Dict) else node.elts
            yield node.lineno, [p.value for p in parts if isinstance(p, ast.Constant)]


def compared_with(tree):
    """What is compared with by == or in."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            for part in ast.walk(node):
                if isinstance(part, ast.Constant):
                    yield node.lineno, part.value


def test_formats_of_files_stand_in_one_table():
    words = {*FORMATS, *ENDINGS}
    lists = [
        (name, line)
        for name, tree in MODULES.items()
        for line, texts in texts_in(tree)
        if name != "io/formats.py" and len({*texts} & words) > 2
    ]
    assert lists == []
    pattern = re.compile("|".join(rf"\{end}\b" for end in ENDINGS))
    assert [
        p.name
        for p in PAGES
        if any(len({*pattern.findall(x)}) > 2 for x in p.read_text().split("\n"))
    ] == []


def test_only_the_engine_of_folders_asks_which_format_it_is():
    """Spark writes and reads two formats itself; elsewhere the row of a format says what to do."""
    asked = {
        name
        for name, tree in MODULES.items()
        for _, text in compared_with(tree)
        if text in FORMATS and name != "io/formats.py"
    }
    assert asked == {"engine/spark/folder.py", "run/spark.py"}
