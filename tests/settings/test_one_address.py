"""One row more in the table of options is all it takes: flag, job file, check, certificate."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import shoal

SOURCE = Path(shoal.__file__).parent
ROW = """
    patience: int = option(
        default=3,
        check=whole(1),
        help="How long to wait.",
        certificate=True,
        functions=("anonymize",),
        flag=search_flag("--patience", on=("anonymize",), metavar="N"),
    )
"""
FILE_ROW = """
    ledger: str | None = option(
        default=None,
        help="A list of releases.",
        path=True,
        flag=_file("--ledger", on=("anonymize",)),
    )
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """A copy of the package whose tables have one row more, and nothing else."""
    folder = tmp_path_factory.mktemp("house")
    skipped = shutil.ignore_patterns("__pycache__", "*.parquet", "*.nbi", "*.nbc")
    shutil.copytree(SOURCE, folder / "shoal", ignore=skipped)
    for name, before, row in (
        ("request.py", "    def __post_init__", ROW),
        ("files.py", "    sampling_fraction: float", FILE_ROW),
    ):
        path = folder / "shoal" / "settings" / name
        text = path.read_text(encoding="utf-8")
        assert text.count(before) == 1
        path.write_text(text.replace(before, row.lstrip("\n") + before), encoding="utf-8")
    return folder


@pytest.fixture
def run_there(house, tmp_path):
    def call(code):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": str(house), "COLUMNS": "100"},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


def test_a_new_option_is_in_the_help(run_there):
    said = run_there("from shoal.cli.program import run; run(['anonymize', '--help'])")
    assert "--patience" in said
    assert "How long to wait." in said
    assert "--ledger" in said
    assert "A list of releases." in said


def test_a_new_option_survives_a_job_file(run_there):
    said = run_there(
        "import shoal\n"
        "job = shoal.Job(k=2, patience=5, output=shoal.Output(ledger='list.txt'))\n"
        "shoal.write_job(job, 'job.toml')\n"
        "assert shoal.read_job('job.toml') == job\n"
        "print(open('job.toml').read())"
    )
    assert "patience = 5" in said
    assert 'ledger = "list.txt"' in said


def test_a_new_option_is_checked_by_its_row(run_there):
    said = run_there(
        "import shoal\n"
        "open('job.toml', 'w').write('k = 2\\npatience = \"long\"')\n"
        "for call in (\n"
        "    lambda: shoal.Job(k=2, patience=0).request(),\n"
        "    lambda: shoal.read_job('job.toml'),\n"
        "):\n"
        "    try:\n"
        "        call()\n"
        "    except shoal.ShoalError as error:\n"
        "        print(error)\n"
    )
    assert "patience must be a whole number of at least 1, got 0." in said
    assert "patience in 'job.toml' must be a whole number, not text." in said


def test_a_new_option_goes_from_the_command_line_to_the_certificate(run_there):
    said = run_there(
        "from shoal.cli.arguments import Asked, takes_flags\n"
        "from shoal.cli.arguments import job_of\n"
        "import typer\n"
        "@takes_flags()\n"
        "def anonymize(*, asked: Asked):\n"
        "    print(job_of(None, asked).request().parameters())\n"
        "app = typer.Typer()\n"
        "app.command()(anonymize)\n"
        "app(['--k', '4', '--qi', 'age', '--patience', '7'], standalone_mode=False)\n"
    )
    assert "'patience': 7" in said


def test_a_row_that_the_signature_lacks_is_noticed(run_there):
    said = run_there(
        "import inspect, shoal.api\n"
        "from shoal.settings.request import OPTIONS\n"
        "rows = {n for n, row in OPTIONS.items() if 'anonymize' in row.functions}\n"
        "print(rows - set(inspect.signature(shoal.api.anonymize).parameters))\n"
    )
    assert said.strip() == "{'patience'}"
