"""Importing Shoal is cheap: heavy packages wait until there is data to work on."""

import inspect
import pickle
import pkgutil
import subprocess
import sys

import pytest

import shoal

HEAVY = ("numba", "polars", "pandas", "pyarrow", "scipy", "llvmlite", "pyspark")
REPORT = f"import sys; print([name for name in {HEAVY} if name in sys.modules])"
SHOW_HELP = """
import runpy, sys
sys.argv = ["shoal", "--help"]
try:
    runpy.run_module("shoal", run_name="__main__")
except SystemExit as end:
    assert end.code in (0, None), end.code
"""


def run(*arguments):
    command = [sys.executable, "-W", "error", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize("code", ["import shoal", SHOW_HELP], ids=["import", "help"])
def test_no_heavy_package_is_imported_by(code):
    done = run("-c", f"{code}\n{REPORT}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_module_runs_as_a_program():
    done = run("-m", "shoal", "--help")
    assert done.returncode == 0, done.stderr
    assert "anonymize" in done.stdout


@pytest.mark.parametrize("name", shoal.__all__)
def test_a_public_name_resolves(name):
    assert getattr(shoal, name) is not None


FUNCTIONS = sorted(name for name in shoal.__all__ if name.islower() and name != "datasets")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_public_function_is_a_plain_one(name):
    function = getattr(shoal, name)
    assert inspect.isfunction(function)
    assert inspect.signature(function).return_annotation is not inspect.Signature.empty
    assert inspect.getdoc(function)
    assert pickle.loads(pickle.dumps(function)) is function  # noqa: S301 - our own bytes


def test_public_functions_stay_when_every_module_is_imported():
    """Python binds a module to its name in the package: no module may have a function's name."""
    modules = {each.name for each in pkgutil.iter_modules(shoal.__path__)}
    assert modules & set(FUNCTIONS) == set()


def test_public_names_are_listed_once_and_by_dir():
    assert len(set(shoal.__all__)) == len(shoal.__all__)
    assert set(shoal.__all__) <= set(dir(shoal))


def test_a_name_that_does_not_exist_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = shoal.no_such_name
