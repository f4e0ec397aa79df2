"""Stored runs are compared with those made again in everything but their times."""

import math

import pytest
from benchmarks.papers.again import Again, apart


@pytest.mark.parametrize(
    ("one", "other", "far"),
    [
        ({"lm": 0.5, "seconds": 1.0}, {"lm": 0.5, "seconds": 9.0}, 0.0),
        ({"k": {"5": {"loss": {"lm": 2.0}}}}, {"k": {"5": {"loss": {"lm": 1.0}}}}, 0.5),
        ({"a": [1, 2, 4]}, {"a": [1, 2, 3]}, 0.25),
        ({"a": math.nan}, {"a": math.nan}, 0.0),
        ({"a": [1, 2]}, {"a": [1]}, math.inf),
        ({"a": 1}, {"b": 1}, math.inf),
        ({"a": "x"}, {"a": "y"}, math.inf),
    ],
)
def test_the_largest_difference_is_found(one, other, far):
    assert apart(one, other) == far


def test_what_differs_is_told_and_nothing_is_stored(tmp_path, capsys):
    keep = Again(tmp_path / "part.json.gz", quick=False)
    keep.content.update(
        runs={"a": {"lm": 0.5, "seconds": 1}, "b": {"lm": 0.5}, "long": {}},
        cpu={"a": 1.0, "b": 1.0, "long": 99.0},
    )
    keep.choose(5, 0)
    found = keep.many({"a": (dict, ((("lm", 0.5), ("seconds", 7)),)), "b": (dict, ((("lm", 1),),))})
    assert found == {"a": {"lm": 0.5, "seconds": 1}, "b": {"lm": 0.5}}
    assert keep.worst == {"a": 0.0, "b": 0.5}
    keep.finish({})
    assert not (tmp_path / "part.json.gz").exists()
    assert "b: 0.5" in capsys.readouterr().out
