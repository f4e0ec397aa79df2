"""Kernels can be found by name and take few arguments."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "shoal"
SOURCES = sorted((PACKAGE / "kernels").glob("*.py"))
MOST_PARAMETERS = 12
SHARED = {
    "__init__",
    "blocks",
    "bundle",
    "cache",
    "callers",
    "codes",
    "group_blocks",
    "groups",
    "jit",
    "people",
    "private",
    "scan",
    "space",
}


def test_a_kernel_carries_the_name_of_what_uses_it_or_is_shared():
    users = [path for path in PACKAGE.rglob("*.py") if path.parent.name != "kernels"]
    texts = [(path.stem, path.read_text(encoding="utf-8")) for path in users]
    unused = [
        source.stem
        for source in SOURCES
        if source.stem not in SHARED
        and not any(
            f"{source.stem}_".startswith(f"{user}_")
            and f"shoal.kernels.{source.stem} import" in text
            for user, text in texts
        )
    ]
    assert unused == []


def test_no_kernel_takes_more_parameters_than_one_can_count():
    found = [
        (source.stem, node.name)
        for source in SOURCES
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
        and len(node.args.posonlyargs + node.args.args + node.args.kwonlyargs) > MOST_PARAMETERS
    ]
    assert found == [], "make them a named tuple"
