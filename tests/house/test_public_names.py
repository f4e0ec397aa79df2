"""What `import shoal` offers is there, plain, described, and listed once."""

import inspect
import pickle
import pkgutil
from pathlib import Path

import pytest

import shoal

ROOT = Path(__file__).parents[2]


def test_every_public_name_resolves():
    assert [name for name in shoal.__all__ if getattr(shoal, name) is None] == []


FUNCTIONS = sorted(name for name in shoal.__all__ if name.islower() and name != "datasets")


def test_every_public_function_is_a_plain_one():
    for name in FUNCTIONS:
        function = getattr(shoal, name)
        assert inspect.isfunction(function), name
        assert inspect.signature(function).return_annotation is not inspect.Signature.empty, name
        assert inspect.getdoc(function), name
        assert pickle.loads(pickle.dumps(function)) is function, name  # noqa: S301 - our own bytes


def test_public_functions_stay_when_every_module_is_imported():
    """Python binds a module to its name in the package: no module may have a function's name."""
    modules = {each.name for each in pkgutil.iter_modules(shoal.__path__)}
    assert modules & set(FUNCTIONS) == set()


def test_public_names_are_listed_once_and_by_dir():
    assert len(set(shoal.__all__)) == len(shoal.__all__)
    assert set(shoal.__all__) <= set(dir(shoal))


def test_only_the_doors_of_packages_list_their_names():
    files = [path for each in ("src", "benchmarks") for path in (ROOT / each).rglob("*.py")]
    lists = [path for path in files if "__all__ =" in path.read_text(encoding="utf-8")]
    assert lists != []
    assert [path for path in lists if path.name != "__init__.py"] == []


def test_a_name_that_does_not_exist_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = shoal.no_such_name
