"""Importing Shoal is cheap: heavy packages wait until there is data to work on."""

import subprocess
import sys

import pytest

HEAVY = (
    "numba",
    "polars",
    "pandas",
    "pyarrow",
    "scipy",
    "llvmlite",
    "pyspark",
    "jinja2",
    "fastexcel",
    "xlsxwriter",
)
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
