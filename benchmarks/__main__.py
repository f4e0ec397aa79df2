"""Lists the benchmarks: python -m benchmarks, or make bench."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent


def benchmarks() -> Iterator[tuple[str, str]]:
    """Yield the name of each benchmark and what it measures, in alphabetical order."""
    for main in sorted(HERE.glob("*/__main__.py")):
        package = ast.parse((main.parent / "__init__.py").read_text(encoding="utf-8"))
        yield main.parent.name, ast.get_docstring(package) or ""


def main() -> None:
    """Print a line for each."""
    for name, about in benchmarks():
        print(f"  make bench-{name:<12} {about}")
    print('Options: make bench-NAME ARGS="--help". Pages are in docs/results.')


if __name__ == "__main__":
    main()
