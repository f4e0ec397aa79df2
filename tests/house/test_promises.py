"""A promise is declared once: whatever asks for it, shows it or tells it is made from its class."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.helpers.scripts import load_script

from shoal.privacy.base import options_of
from shoal.registry import built_in, load

ROOT = Path(__file__).parents[2]
TOY = '''
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from shoal.options import Number
from shoal.privacy.base import COLUMN, PrivacyModel, most_frequent, n_rows, parameter


@dataclass(frozen=True)
class Others(PrivacyModel):
    """In every group, several rows have another value than the most frequent one."""

    name: ClassVar[str] = "others"
    title: ClassVar[str] = "several rows beside the most frequent value"
    citation: ClassVar[str] = "an example"
    at_least: ClassVar[bool] = True

    rows: int = parameter(
        Number(at_least=1, whole=True),
        help="How many rows have another value.",
        flag=("--others", "N", "At least N rows of every group have another value."),
        start=3,
    )
    _: KW_ONLY
    column: str | None = parameter(**COLUMN)

    @property
    def promised(self):
        return self.rows

    def describe(self, column=None):
        return f"In every group, at least {self.rows} rows have another value of {column!r}."

    def per_group(self, histograms, whole):
        return (n_rows(histograms) - most_frequent(histograms)).astype(float)
'''
ASK = """
import json, sys
from shoal import registry
registry._BUILT_IN["privacy"]["others"] = "toy:Others"
from typer.main import get_command
from typer.testing import CliRunner
from shoal.app.fields import model_fields, new_model
from shoal.cli.app import app
from shoal.cli.arguments import job_of
from shoal.errors import OptionError
from shoal.privacy import parse_privacy
from shoal.settings.job_file import read_job
from shoal.settings.request import Request
sys.path.insert(0, "tools")
import promises

flags = {name: each.help for each in get_command(app).commands["anonymize"].params
         for name in each.opts}
job = read_job(sys.argv[1])
model = parse_privacy(job.privacy)
try:
    parse_privacy({"model": "others", "rows": 0})
except OptionError as problem:
    refused = str(problem)
fields = model_fields(new_model("others"), 0, ["illness"])
print(json.dumps({
    "flag": flags["--others"],
    "asked": list(job_of(None, {}, promises={"others": 4, "privacy_column": "illness"}).privacy),
    "job": [each.to_dict() for each in model],
    "refused": refused,
    "fields": [[each.label, each.kind, each.value, each.help, each.choices] for each in fields],
    "certificate": Request(k=5, quasi_identifiers=["age"], privacy=model).parameters()["privacy"],
    "row": [line for line in promises.table().splitlines() if "`others`" in line],
}))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toy")
    (folder / "toy.py").write_text(TOY, encoding="utf-8")
    job = folder / "job.toml"
    job.write_text('[[privacy]]\nmodel = "others"\nrows = 2\ncolumn = "illness"\n')
    code = f"import sys; sys.path.insert(0, {str(folder)!r})\n{ASK}"
    done = subprocess.run(
        [sys.executable, "-c", code, str(job)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_a_new_promise_has_a_flag_a_job_key_and_an_entry_of_the_certificate(found):
    assert found["flag"] == "At least N rows of every group have another value."
    assert found["asked"] == [{"model": "others", "rows": 4, "column": "illness"}]
    told = [{"model": "others", "rows": 2, "column": "illness"}]
    assert (found["job"], found["certificate"]) == (told, told)
    assert found["refused"] == "rows must be a whole number of at least 1, but 0 was given."


def test_a_new_promise_has_fields_on_the_page(found):
    rows, column = found["fields"]
    assert rows == ["rows", "whole", "3", "How many rows have another value.", []]
    assert (column[0], column[1], column[4]) == ("column", "choice", ["illness"])


def test_a_new_promise_has_a_row_in_the_docs(found):
    (row,) = found["row"]
    assert "several rows beside the most frequent value" in row
    assert "`rows` (a whole number of at least 1; `--others`)" in row


def test_the_table_of_the_docs_is_that_of_the_models():
    tool = load_script("tools/promises.py")
    assert tool.page() == tool.PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", built_in("privacy"))
def test_every_option_of_a_promise_says_what_it_means(name):

    assert [
        row.name for row in options_of(load("privacy", name)) if not (row.help and row.check)
    ] == []
