"""CONTRIBUTING.md says what is so."""

import re
from pathlib import Path

from shoal.kernels import jit

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_the_decorators_of_the_page_are_those_of_the_kernels():
    (line,) = [line for line in PAGE.splitlines() if "`kernels/jit.py` and no others" in line]
    named = {name for name in re.findall(r"`(\w+)`", line) if hasattr(jit, name)}
    sources = (ROOT / "src" / "shoal" / "kernels").glob("*.py")
    text = "".join(path.read_text(encoding="utf-8") for path in sources)
    used = set(re.findall(r"^@(\w+)$", text, re.MULTILINE)) & set(vars(jit))
    assert named == used


def test_every_file_and_folder_of_the_table_exists():
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and "`" in line]
    names = [name for row in rows for name in re.findall(r"`([\w/]+(?:/|\.py))`", row)]
    assert len(names) > 10
    source = ROOT / "src" / "shoal"
    places = (source, ROOT)
    assert [n for n in names if not any((place / n).exists() for place in places)] == []


def test_every_make_target_that_pages_name_is_in_the_makefile():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    known = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    patterns = tuple(re.findall(r"^([a-z]+-)%:", makefile, re.MULTILINE))
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    text = "".join(path.read_text(encoding="utf-8") for path in pages)
    named = set(re.findall(r"`make ([a-z-]+)", text)) | set(
        re.findall(r"^make ([a-z-]+)", text, re.MULTILINE)
    )
    assert {"demo", "test", "dist", "test-lowest"} <= named
    assert [name for name in named if name not in known and not name.startswith(patterns)] == []
