"""The page on security names tests that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_test_that_the_page_names_exists():
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(test_\w+)`", page))
    assert len(named) >= 15
    defined = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert named - defined == set()


def test_every_finding_has_a_row_with_a_test():
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    first, second = page.split("\n## What a second attack found")
    rows = re.findall(r"^\| (\d+) \|.*`test_\w+`.*\|$", first, re.MULTILINE)
    assert rows == [str(number) for number in range(1, 16)]
    rows = re.findall(r"^\| \d+[a-z]? \|.*\|$", second, re.MULTILINE)
    assert rows
    assert [each for each in rows if "`test_" not in each] == []
