"""CONTRIBUTING.md, followed literally, makes a plug-in that works."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## A package of your own\n")[2].partition("\n## ")[0]
BLOCK = re.compile(
    r"(?:^`(?P<file>[\w./-]+)`:\n\n)?^```(?P<language>\w+)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


def run(command, folder, environment):
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    """The files of the page in an empty folder, the package installed as the page says."""
    folder = tmp_path_factory.mktemp("followed")
    blocks = [found.groupdict() for found in BLOCK.finditer(SECTION)]
    for block in blocks:
        if block["file"]:
            (folder / block["file"]).parent.mkdir(exist_ok=True)
            (folder / block["file"]).write_text(block["text"], encoding="utf-8")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(folder / "site")]),
        "PYTHONWARNINGS": "error::DeprecationWarning:my_package",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    commands = next(block["text"] for block in blocks if block["language"] == "sh").splitlines()
    assert commands[0] == "pip install ./my-package"
    # Into a folder of its own, with what is installed here: nothing is downloaded.
    options = ["--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--target", "site"]
    run([sys.executable, "-m", "pip", "install", *options, "./my-package"], folder, environment)
    return folder, environment, blocks, commands


def test_the_page_shows_two_files_two_commands_and_a_program(followed):
    _, _, blocks, commands = followed
    assert [block["file"] for block in blocks if block["file"]] == [
        "my-package/pyproject.toml",
        "my-package/my_package.py",
    ]
    assert len(commands) == 2
    assert [block["language"] for block in blocks] == ["toml", "python", "sh", "python"]


def test_the_names_of_the_plug_in_are_listed(followed):
    folder, environment, _, commands = followed
    assert commands[1] == "shoal algorithms"
    for command, name in (
        ("algorithms", "side-by-side"),
        ("measures", "not-exact"),
        ("privacy-models", "at-least"),
    ):
        assert name in run([sys.executable, "-m", "shoal", command], folder, environment)


def test_the_program_of_the_page_runs_with_all_three(followed):
    folder, environment, blocks, _ = followed
    shown = run([sys.executable, "-c", blocks[-1]["text"]], folder, environment)
    assert "at-least of 'illness': 2, " in shown
    assert "BROKEN" not in shown


def test_the_plug_in_works_from_a_job_file_and_the_certificate_names_its_judge(followed):
    folder, environment, _, _ = followed
    rows = "".join(f"{20 + 7 * n % 50},{'abc'[n % 3]}\n" for n in range(60))
    (folder / "data.csv").write_text("age,ill\n" + rows)
    (folder / "job.toml").write_text(
        'k = 5\nalgorithm = "side-by-side"\nmeasure = "not-exact"\n[input]\npath = "data.csv"\n'
        '[output]\ntable = "safe.csv"\ncertificate = "c.json"\n[[privacy]]\nmodel = "at-least"\n'
        'values = 2\n[columns.age]\nrole = "quasi-identifier"\n[columns.ill]\n'
        'role = "sensitive"\n'
    )
    shoal = [sys.executable, "-m", "shoal"]
    run([*shoal, "anonymize", "--job", "job.toml"], folder, environment)
    assert "the model's own rule" in (folder / "c.json").read_text()
    shown = run([*shoal, "verify", "safe.csv", "--certificate", "c.json"], folder, environment)
    assert "Promises: hold in this table (k = 5 and 1 more)." in shown
