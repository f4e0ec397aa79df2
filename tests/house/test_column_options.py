"""An option of a column is declared once: flag, key, check, card and certificate come from its row.

A toy is added to a copy of the package, and the files are counted that had to be touched for it.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import shoal
from shoal.table.schema import COLUMN_ROWS

SOURCE = Path(shoal.__file__).parent
ROW = """
    times: float | None = column_option(
        option="times",
        mapping="Mapping[str, float] | None",
        check=_read_times,
        fits=lambda kind: kind.is_measured,
        help="How many times as dear a wide interval is.",
        certificate=True,
        card=True,
        flag=detail_flag("times", "NUMBER", "age=2"),
        suggest=lambda kind, values: 3.0 if kind is Kind.NUMERIC else None,
        comment="Numbers are dear.",
    )

    def __post_init__(self) -> None:
        \"\"\"Read what was given as text.\"\"\"
"""
CHECK = """
def _read_times(column: str, value: Any) -> float:
    if not value > 0:
        raise OptionError("times of {name!r} must be above 0.", name=column)
    return float(value)


@dataclass(frozen=True, kw_only=True)
class JobColumn:
"""
READ = '    def __post_init__(self) -> None:\n        """Read what was given as text."""\n'
GIVEN = "    scale: Mapping[str, str] | None = None,\n"
# By file: what is found once or twice, and what stands there instead.
TOUCHED = {
    "table/schema.py": [
        ("\n@dataclass(frozen=True, kw_only=True)\nclass JobColumn:\n", CHECK),
        (
            '\n    def __post_init__(self) -> None:\n        """Read what was given as text."""\n',
            ROW,
        ),
        ('    scale: str = "range"\n', '    scale: str = "range"\n    times: float = 1.0\n'),
    ],
    "table/encode.py": [
        ("weight=column.weight,", "weight=column.weight * column.times,"),
    ],
    "api.py": [
        (GIVEN, GIVEN + GIVEN.replace("scale", "times").replace("str]", "float]")),
        ('        "scale": scale,\n', '        "scale": scale,\n        "times": times,\n'),
    ],
}
ASK = """
import json, sys
import polars as pl
import shoal
from typer.main import get_command
from shoal.app.fields import column_fields, read_column
from shoal.cli.app import app
from shoal.cli.arguments import job_of
from shoal.settings.job_file import format_job
from shoal.table.schema import JobColumn, Kind

frame = pl.DataFrame({"age": list(range(60)), "town": ["a", "b", "c"] * 20})
commands = get_command(app).commands
flags = {name: each.help for each in commands["anonymize"].params for name in each.opts}
asked = job_of(None, {"quasi_identifiers": ["age,town"], "times": ["age=4"], "k": 5})
shoal.write_job(asked, "job.toml")
read = shoal.read_job("job.toml")
refused = []
for wrong in ("times = 0", "times = 'many'"):
    open("wrong.toml", "w").write(f"[columns.age]\\nrole = 'quasi-identifier'\\n{wrong}\\n")
    try:
        shoal.read_job("wrong.toml")
    except shoal.ShoalError as problem:
        refused.append(str(problem))
release = shoal.anonymize(
    frame, k=5, quasi_identifiers=["age", "town"], times={"age": 4}, algorithm="mondrian", seed=1
)
plain = shoal.anonymize(
    frame, k=5, quasi_identifiers=["age", "town"], weights={"age": 4}, algorithm="mondrian", seed=1
)
release.save("release.shoal")
people = JobColumn(role="quasi-identifier", kind="numeric", times=4)
guess = shoal.suggest_job(pl.DataFrame({"age": [31, 47, 47, 52] * 20}))
guess.write("guess.toml")
print(json.dumps({
    "flag": flags["--times"],
    "same": read == asked,
    "toml": open("job.toml").read(),
    "refused": refused,
    "certificate": [each["times"] for each in release.certificate()["columns"]],
    "weighed": release.frame.equals(plain.frame),
    "kept": shoal.load_release("release.shoal").schema["age"].times,
    "fields": [[each.name, each.kind, each.value, each.help]
               for each in column_fields(people, Kind.NUMERIC)],
    "elsewhere": [each.name for each in column_fields(people, Kind.FLAT)],
    "typed": read_column("age", people, Kind.NUMERIC, {"times": "2.5"})["times"],
    "guessed": open("guess.toml").read(),
}))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("house")
    skipped = shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc")
    shutil.copytree(SOURCE, folder / "shoal", ignore=skipped)
    for name, changes in TOUCHED.items():
        path = folder / "shoal" / name
        text = path.read_text(encoding="utf-8")
        for before, after in changes:
            assert before in text, (name, before)
            text = text.replace(before, after.removeprefix("\n") if "class" in after else after)
        path.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", ASK],
        env={**os.environ, "PYTHONPATH": str(folder)},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_a_new_option_of_a_column_touches_at_most_five_source_files():
    assert len(TOUCHED) <= 5


def test_a_new_option_of_a_column_has_a_flag_and_a_key_of_the_job_file(found):
    assert found["flag"] == "How many times as dear a wide interval is."
    assert found["same"]
    assert '[columns.age]\nrole = "quasi-identifier"\ntimes = 4.0\n' in found["toml"]


def test_a_new_option_of_a_column_is_checked_by_its_row(found):
    out_of_range, no_number = found["refused"]
    assert "[columns.age]" in out_of_range
    assert out_of_range.endswith("times of 'age' must be above 0.")
    assert "columns.age.times in" in no_number


def test_a_new_option_of_a_column_reaches_the_run_and_the_certificate(found):
    assert found["weighed"]
    assert found["certificate"] == [4.0, None]
    assert found["kept"] == 4.0


def test_a_new_option_of_a_column_has_a_field_on_its_card_where_it_fits(found):
    help_text = "How many times as dear a wide interval is."
    assert ["times", "number", "4.0", help_text] in found["fields"]
    assert "times" not in found["elsewhere"]
    assert found["typed"] == 2.5


def test_what_a_row_proposes_is_written_into_a_first_job(found):
    assert "# Numbers are dear.\ntimes = 3.0\n" in found["guessed"]


@pytest.mark.parametrize("row", COLUMN_ROWS.values(), ids=lambda row: row.name)
def test_every_option_of_a_column_says_what_it_is_for_and_is_checked(row):
    assert row.help.endswith(".")
    assert row.check is not None
    assert row.flag is not None
