"""docs/where-it-runs.md: every row says how it is tested, and the tests are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_place_names_tests_that_are_there():
    page = (ROOT / "docs" / "where-it-runs.md").read_text(encoding="utf-8")
    rows = [line.split("|") for line in page.splitlines() if line.startswith("| ")]
    places = [row for row in rows if len(row) == 6 and row[1].strip() != "where"]
    assert len(places) >= 8
    for row in places:
        tests = re.findall(r"`(tests/[\w/.]+)`", row[3])
        assert tests, row[1]
        assert [each for each in tests if not (ROOT / each).exists()] == []
