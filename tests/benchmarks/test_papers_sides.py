"""Every claim of the papers page, from both sides: numbers that meet it, and numbers that do not.

The stored results are changed in the places that a claim looks at. A claim with a number or an
"about" in it fails below as well as above; one that only says more, less or never fails on its one
wrong side.
"""

import copy
from importlib import import_module

import pytest
from benchmarks.common import raw_results
from benchmarks.kept import stored
from benchmarks.papers.__main__ import PARTS
from tests.helpers.papers_sides import SIDES, TWO_SIDED, conjecture_results

CASES = [
    (part, words, side)
    for part, rows in SIDES.items()
    for words, row in rows.items()
    for side in row
]


@pytest.fixture(scope="module")
def results():
    found = {part: stored(raw_results("papers") / f"{part}.json.gz") for part in PARTS}
    plain = {part: content["results"] for part, content in found.items() if content}
    return {"conjecture": conjecture_results(), **plain}


def put(found, path, value, whole, keys=()):
    """Write a value, or what a function makes of the keys, to all places of a path."""
    first, _, rest = path.partition("/")
    if first == "*":
        names = list(found) if isinstance(found, dict) else range(len(found))
    else:
        names = first.split("|")
    for name in names:
        if rest:
            put(found[name], rest, value, whole, (*keys, name))
        else:
            assert name in found or isinstance(found, list), (path, name)
            found[name] = value(whole, (*keys, name)) if callable(value) else value


def claims_of(part, results):
    return import_module(f"benchmarks.papers.{part.replace('-', '_')}").claims(results)


@pytest.mark.parametrize(("part", "words", "side"), CASES)
def test_a_claim_is_confirmed_on_its_side_only(part, words, side, results):
    changed = copy.deepcopy(results[part])
    for path, value in SIDES[part][words][side].items():
        put(changed, path, value, changed)
    (claim,) = [claim for claim in claims_of(part, changed) if words in claim.text]
    if side == "holds":
        assert claim.verdict == "confirmed"
    else:
        assert claim.verdict != "confirmed"


@pytest.mark.parametrize("part", PARTS)
def test_every_claim_has_numbers_that_meet_it_and_numbers_that_do_not(part, results):
    rows = SIDES.get(part, {})
    for claim in claims_of(part, results[part]):
        matching = [words for words in rows if words in claim.text]
        assert len(matching) == 1, claim.text
        sides = set(rows[matching[0]])
        assert "holds" in sides
        assert len(sides) > 1
        if any(word in claim.text for word in TWO_SIDED):
            assert {"below", "above"} <= sides, claim.text
    assert len(rows) == len(claims_of(part, results[part]))
