"""Stored runs are compared with those made again in everything but their times."""

import math

import pytest
from benchmarks.common import load_json, save_json
from benchmarks.kept import Keep
from benchmarks.papers.again import Again, apart
from benchmarks.papers.page import compared


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


def test_what_differs_is_told_and_noted_beside_the_runs(tmp_path, capsys):
    path = tmp_path / "part.json.gz"
    keep = Again(path, quick=False)
    runs = {"a": {"lm": 0.5, "seconds": 1}, "b": {"lm": 0.5}, "long": {}}
    keep.content.update(runs=runs, cpu={"a": 1.0, "b": 1.0, "long": 99.0}, results={})
    save_json(path, keep.content)
    before = path.read_bytes()
    keep.choose(5, 0)
    found = keep.many({"a": (dict, ((("lm", 0.5), ("seconds", 7)),)), "b": (dict, ((("lm", 1),),))})
    assert found == {"a": {"lm": 0.5, "seconds": 1}, "b": {"lm": 0.5}}
    assert keep.worst == {"a": 0.0, "b": 0.5}
    assert "b: 0.5" in capsys.readouterr().out
    assert path.read_bytes() == before
    commit = keep.content["machine"]["commit"]
    assert keep.note() == {"commit": commit, "runs": 2, "same": 1, "most": 0.5}
    noted = load_json(path)
    assert noted["runs"] == runs
    assert compared(noted) == f"2 at {commit}: 1 the same, 5.0e-01 apart at most"


def test_a_comparison_is_forgotten_where_runs_are_made_anew(tmp_path):
    path = tmp_path / "part.json.gz"
    keep = Keep(path, quick=False)
    keep("a", lambda: {"lm": 0.5})
    keep.finish({})
    assert compared(load_json(path)) == "-"
    found = {"commit": "c", "runs": 1, "same": 1, "most": 0.0}
    save_json(path, {**load_json(path), "again": found})
    assert compared(load_json(path)) == "1 at c: 1 the same"
    Keep(path, quick=False)("a", lambda: {"lm": 9.0})
    assert "again" in load_json(path)
    Keep(path, quick=False)("b", lambda: {"lm": 9.0})
    assert "again" not in load_json(path)
