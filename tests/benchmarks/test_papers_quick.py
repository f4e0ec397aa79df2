"""`make papers` on small tables: the scripts run, go on where they stopped, and can say no."""

import gzip
import json
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from tests.helpers.effort import further

ROOT = Path(__file__).parents[2]
PARTS = ("byun", "li", "lin", "goldberger-tassa", "utility", "conjecture", "cross")


def _papers(part, out):
    paths = [str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.papers", part, "--quick", "--out", str(out)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _module(part):
    return import_module(f"benchmarks.papers.{part.replace('-', '_')}")


@pytest.mark.parametrize("part", further(PARTS, lambda part: part == "li"))
def test_a_part_writes_results_figures_and_every_claim(part, tmp_path):
    _papers(part, tmp_path)
    content = json.loads(gzip.decompress((tmp_path / "runs" / f"{part}.json.gz").read_bytes()))
    assert content["quick"]
    assert content["runs"]
    assert content["commits"]
    assert {"python", "numba", "cores", "model"} <= set(content["machine"])
    page = (tmp_path / "papers.md").read_text(encoding="utf-8")
    shown = re.findall(r"\]\((papers/[^)]+)\.svg\)", page)
    drawn = {f"papers/{path.stem}" for path in (tmp_path / "papers").iterdir()}
    assert set(shown) == drawn
    assert all((tmp_path / f"{stem}.svg").read_text().startswith("<?xml") for stem in shown)
    module = _module(part)
    assert f"## {module.TITLE}" in page
    table = [line for line in page.splitlines() if line.endswith(" |")]
    for claim in module.claims(content["results"]):
        row = [line for line in table if claim.text.replace("|", "\\|") in line]
        assert any(f"**{claim.verdict}**" in line for line in row), claim


def test_a_run_that_is_stored_is_not_made_again(tmp_path):
    kept = import_module("benchmarks.kept")
    made = []

    def make(name):
        made.append(name)
        return {"value": (1, 2)}

    def benchmark(*, fresh=False):
        keep = kept.Keep(tmp_path / "part.json.gz", quick=True, fresh=fresh)
        keep("first", lambda: make("first"))
        return keep("second", lambda: make("second"))

    stopped = kept.Keep(tmp_path / "part.json.gz", quick=True)
    stopped("first", lambda: make("first"))
    assert kept.stored(tmp_path / "part.json.gz") is None  # it has not finished
    assert benchmark() == {"value": [1, 2]}
    assert made == ["first", "second"]
    benchmark(fresh=True)
    assert made == ["first", "second", "first", "second"]


@pytest.mark.parametrize(
    ("cm", "verdict"), [(0.1, "confirmed"), (0.4, "not confirmed"), (0.25, "partly")]
)
def test_a_verdict_follows_the_results(cm, verdict):
    names = ("k-member", "mondrian", "mondrian, ordered values", "mondrian, as published")
    others = {name: {"2": {"cm": 0.2, "il": 1.0}, "5": {"cm": 0.3, "il": 2.0}} for name in names}
    modified = {k: {"cm": cm, "il": 1.0} for k in ("2", "5")}
    results = {
        "over_k": {**others, "k-member, classification": modified},
        "orders": {"one": others["mondrian"]},
    }
    (claim,) = [
        claim
        for claim in import_module("benchmarks.papers.byun_claims")._classification(results)
        if "lowest CM" in claim.text
    ]
    assert claim.verdict == verdict


def test_claims_hold_everywhere_somewhere_or_nowhere():
    claims = import_module("benchmarks.papers.claims")
    assert claims.judge([True, True]) == "confirmed"
    assert claims.judge([True, False]) == "partly"
    assert claims.judge([False]) == "not confirmed"
    with pytest.raises(ValueError, match="no cases"):
        claims.judge([])
    with pytest.raises(ValueError, match="unknown verdict"):
        claims.Claim("paper", "text", "measured", "perhaps", "why")


def test_an_algorithm_looks_the_same_in_every_figure():
    figures = import_module("benchmarks.draw.figures")
    alone = figures._looks(["k-member"])["k-member"]
    among = figures._looks(["ncp", "oka", "k-member, k = 5", "k-member"])
    assert among["k-member"] == alone
    assert among["k-member, k = 5"].color == alone.color
    looks = list(figures.LOOKS.values())
    assert len({(look.marker, look.dash) for look in looks}) == len(looks)  # readable in grey
