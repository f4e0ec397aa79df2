"""Formats, kinds of attributes and options of columns are each listed once in the sources."""

import ast
import re
from pathlib import Path

import shoal
from shoal.app.steps.columns import KINDS as KIND_WORDS
from shoal.io.formats import ENDINGS, FORMATS
from shoal.table.schema import Kind

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


def test_what_differs_between_algebras_is_a_method_of_their_closures():
    """An assertion that tells the type checker what is known is no branch."""
    branches = [
        (name, node.lineno)
        for name, tree in MODULES.items()
        for statement in ast.walk(tree)
        if not isinstance(statement, ast.Assert)
        for node in ast.iter_child_nodes(statement)
        if isinstance(node, ast.Call)
        if getattr(node.func, "id", "") == "isinstance" and "Closures" in ast.dump(node.args[1])
    ]
    assert branches == []


def test_what_kinds_have_in_common_is_a_property_of_theirs():
    """Words for pages and the reader of published cells, which trusts nobody, have lists."""
    named = {each.name for each in Kind}
    lists = {
        name
        for name, tree in MODULES.items()
        for node in ast.walk(tree)
        if isinstance(node, (ast.List, ast.Tuple, ast.Set, ast.Dict))
        for parts in [node.keys if isinstance(node, ast.Dict) else node.elts]
        if len({p.attr for p in parts if isinstance(p, ast.Attribute)} & named) > 1
        or len({p.value for p in parts if isinstance(p, ast.Constant)} & {*Kind}) > 2
    }
    assert lists == {"app/steps/columns.py", "release_reader/columns.py"}


def test_pages_have_words_for_every_kind():
    assert set(KIND_WORDS) == set(Kind)


def test_published_cells_are_taken_apart_in_one_place_outside_publish():
    """Spark writes with a style, and takes nothing apart."""
    forms = {"interval_format", "wide_interval_format", "set_format", "set_separator"}
    users = {
        name
        for name, tree in MODULES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in forms
        if not name.startswith("publish/")
    }
    assert users == {"release_reader/columns.py", "engine/spark/domain.py"}
