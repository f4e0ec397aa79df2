"""Names lead to classes, plug-ins add names, and a wrong name is an error that helps."""

from __future__ import annotations

import importlib.metadata
import importlib.util

import pytest

from shoal import registry
from shoal.errors import OptionError
from shoal.measure.base import CostMeasure, Measure

API_MEASURES = [
    "ncp",
    "il",
    "lm",
    "tree",
    "whd",
    "whd-height",
    "suppression",
    "sse",
    "mi",
    "pmi",
    "pmi-l2",
    "pmi-max",
    "wmi",
    "am",
    "dm",
    "cm",
    "kl",
    "modification-rate",
    "distortion-ratio",
    "entropy-diversity",
    "average-class-size",
    "c-avg",
    "diameters",
]


@pytest.fixture
def plug_ins(monkeypatch):
    """Pretends that installed packages declare these entry points."""

    def install(**points):
        found = [
            importlib.metadata.EntryPoint(name.replace("_", "-"), value, "shoal.measures")
            for name, value in points.items()
        ]

        def entry_points(*, group):
            return [point for point in found if point.group == group]

        monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
        registry._table.cache_clear()

    yield install
    monkeypatch.undo()
    registry._table.cache_clear()


def test_the_measures_of_the_api_are_all_there():
    assert list(registry.measures()) == API_MEASURES


@pytest.mark.parametrize("name", registry.measures())
def test_a_measure_declares_what_lists_and_bounds_need(name):
    cls = registry.load("measures", name)
    assert issubclass(cls, Measure)
    assert cls.name == name
    assert cls.title
    assert "\n" not in cls.title
    assert cls.citation
    assert cls.direction in {"lower", "higher"}
    low, high = cls.bounds
    assert low is None or high is None or low < high
    assert cls.can_minimise == issubclass(cls, CostMeasure)
    assert cls.__doc__
    assert isinstance(cls().options, tuple)


@pytest.mark.parametrize("room", ["algorithms", "measures", "privacy"])
def test_every_built_in_name_leads_to_a_module(room):
    for target in registry._BUILT_IN[room].values():
        module, _, attribute = target.partition(":")
        assert attribute
        assert importlib.util.find_spec(module) is not None, module


def test_rooms_are_listed_by_their_functions():
    assert registry.algorithms() == registry.names("algorithms")
    assert registry.measures() == registry.names("measures")
    assert registry.privacy_models() == registry.names("privacy")
    assert "k-member" in registry.algorithms()
    assert "l-diversity" in registry.privacy_models()


@pytest.mark.parametrize(
    ("room", "given", "meant", "noun"),
    [
        ("measures", "NCPP", "ncp", "measure"),
        ("algorithms", "kmember", "k-member", "algorithm"),
        ("privacy", "t-closenes", "t-closeness", "privacy model"),
    ],
)
def test_an_unknown_name_is_an_error_with_the_name_that_was_meant(room, given, meant, noun):
    with pytest.raises(OptionError) as caught:
        registry.load(room, given)
    assert f"Unknown {noun} {given!r}. Did you mean {meant!r}?" in str(caught.value)


def test_a_name_that_resembles_nothing_is_answered_with_the_known_ones():
    with pytest.raises(OptionError, match=r"Unknown measure 'xyzzy'\. Known: .*, ncp, "):
        registry.load("measures", "xyzzy")


def test_a_plug_in_adds_a_name(plug_ins):
    plug_ins(their_own="shoal.measure.group_sizes:Discernibility")
    assert registry.measures()[-1] == "their-own"
    assert registry.load("measures", "their-own").name == "dm"


def test_a_plug_in_cannot_replace_a_built_in_name(plug_ins):
    plug_ins(ncp="shoal.measure.group_sizes:Discernibility")
    assert registry.load("measures", "ncp").name == "ncp"
    assert registry.measures().count("ncp") == 1
