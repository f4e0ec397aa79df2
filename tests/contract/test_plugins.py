"""A plug-in is a full citizen: its twin of something built in gives the same groups."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.helpers.contract_samples import EVERY_COLUMN, SEED, arguments, people

import shoal
from shoal.privacy import PrivacyModel

K = 4
N = 240
WAYS = {
    "auto": {"algorithm": "auto"},
    "mondrian refined": {"algorithm": "mondrian", "refine": "fast"},
    "sequential": {"algorithm": "sequential"},
    "k-member in blocks": {"algorithm": "k-member", "block_rows": 60, "threads": 2},
}


def release_of(**options):
    given = {"seed": SEED, **arguments(EVERY_COLUMN), **options}
    return shoal.anonymize(people(N, missing=True), K, **given)


def model_of(name):
    return PrivacyModel.from_dict({"model": name, "l": 3, "column": "disease"})


@pytest.mark.parametrize("name", ["several", "several-compiled"])
@pytest.mark.parametrize("way", WAYS)
def test_a_model_of_a_plug_in_gives_the_groups_of_its_built_in_twin(way, name):
    twin = release_of(privacy=[model_of(name)], **WAYS[way])
    built_in = release_of(
        privacy=[shoal.LDiversity(3, kind="distinct", column="disease")], **WAYS[way]
    )
    assert twin.groups.tolist() == built_in.groups.tolist()
    assert dict(twin.scores) == dict(built_in.scores)
    (check,) = [each for each in twin.verification.checks if each.name.startswith("several")]
    assert check.measured >= 3
    assert "own rule" in check.sentence


@pytest.mark.parametrize("way", WAYS)
def test_a_measure_of_a_plug_in_gives_the_groups_of_its_built_in_twin(way):
    twin, built_in = (release_of(measure=name, **WAYS[way]) for name in ("penalty", "ncp"))
    assert twin.groups.tolist() == built_in.groups.tolist()
    assert twin.scores["penalty"] == built_in.scores["ncp"]


@pytest.mark.parametrize("options", [{}, {"refine": "fast"}, {"block_rows": 60}])
def test_an_algorithm_of_a_plug_in_gives_the_groups_of_its_built_in_twin(options):
    twin, built_in = (release_of(algorithm=name, **options) for name in ("halves", "mondrian"))
    assert twin.groups.tolist() == built_in.groups.tolist()


def test_a_model_of_a_plug_in_is_rarely_asked_again_about_the_same_counts(monkeypatch):
    """Kernels ask about a group with every row that may join it, so they ask the same often."""
    model = model_of("several")
    asked, own = Counter(), type(model).holds

    def counted(self, histograms, whole):
        if len(histograms) == 1:  # one group at a time, as kernels ask
            asked[histograms.tobytes()] += 1
        return own(self, histograms, whole)

    monkeypatch.setattr(type(model), "holds", counted)
    release_of(privacy=[model])
    assert len(asked) > 20
    assert asked.total() < 10 * len(asked)  # of each part of the search once


def test_an_error_in_the_code_of_a_plug_in_reaches_the_caller(monkeypatch):
    model = model_of("several")

    def fail(*_):
        raise ZeroDivisionError("in the plug-in")

    monkeypatch.setattr(type(model), "per_group", fail)
    with pytest.raises(ZeroDivisionError, match="in the plug-in"):
        release_of(privacy=[model], algorithm="mondrian", refine="fast")
