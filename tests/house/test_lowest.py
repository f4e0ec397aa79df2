"""`make test-lowest`: the versions that it installs are the lower bounds of pyproject.toml."""

import re
from pathlib import Path

import pytest
from packaging.version import Version
from tests.helpers.scripts import load_script

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def lock():
    return load_script("requirements/lock.py")


def pins(name):
    text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    return dict(re.findall(r"^([\w.-]+)==(\S+)$", text, re.MULTILINE))


def test_every_lower_bound_is_the_version_that_is_tested(lock):
    bounds = lock.lower_bounds("test")
    assert {"numba", "polars", "pandas", "psycopg", "pytest", "setuptools"} <= set(bounds)
    tested = pins("lowest")
    assert {name: Version(bound) for name, bound in bounds.items()} == {
        name: Version(tested[name]) for name in bounds
    }


def test_no_lower_bound_is_above_what_the_other_tests_run_with(lock):
    newest = pins("user") | pins("ci")
    for name, bound in lock.lower_bounds("dev").items():
        assert Version(bound) <= Version(newest[name]), name


def test_extras_that_name_other_extras_are_followed(lock, tmp_path):
    project = tmp_path / "pyproject.toml"
    project.write_text(
        '[build-system]\nrequires = ["setuptools>=77"]\n'
        '[project]\nname = "shoal-anonymity"\ndependencies = ["numpy>=2.0"]\n'
        '[project.optional-dependencies]\none = ["pandas>=2.2", "shoal-anonymity[two]"]\n'
        'two = ["psycopg[binary]>=3.1"]\nthree = ["x>=1"]\n'
    )
    assert lock.lower_bounds("one", project) == {
        "setuptools": "77",
        "numpy": "2.0",
        "pandas": "2.2",
        "psycopg": "3.1",
    }


@pytest.mark.parametrize("requirement", ["numpy", "numpy<3", "numpy>=2,<3", "numpy==2.0"])
def test_a_requirement_has_a_lower_bound_and_nothing_else(lock, tmp_path, requirement):
    project = tmp_path / "pyproject.toml"
    project.write_text(
        f'[build-system]\nrequires = []\n[project]\nname = "shoal-anonymity"\ndependencies = '
        f'["{requirement}"]\n[project.optional-dependencies]\ntest = []\n'
    )
    with pytest.raises(ValueError, match="should have a lower bound and nothing else"):
        lock.lower_bounds("test", project)
