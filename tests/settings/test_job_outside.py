"""Values of a job file that come from outside, and the schema by which editors complete one."""

import json

import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.app import app
from shoal.errors import JobError
from shoal.settings.job import Job
from shoal.settings.job_file import SCHEMA_FILE, format_job, read_job
from shoal.settings.job_schema import job_schema
from shoal.settings.request import OPTIONS
from shoal.table.schema import COLUMN_ROWS

JOB = """
k = "${K}"
strict = "${STRICT}"
[input]
path = "${IN}"
[output]
table = "out/${DAY}-${DAY}.csv"
[style]
flat_values = "${MOST}"
[columns.age]
role = "quasi-identifier"
grid = "${GRID}"
[columns.ill]
role = "${ROLE}"
[[privacy]]
model = "l-diversity"
l = "${L}"
"""
VALUES = {
    "K": "7",
    "STRICT": "true",
    "IN": "2024",
    "DAY": "5",
    "MOST": "3",
    "GRID": "5",
    "ROLE": "sensitive",
    "L": "2",
}


@pytest.fixture
def written(tmp_path):
    def write(text):
        path = tmp_path / "job.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_values_are_what_they_would_be_if_they_stood_in_the_file(written, tmp_path):
    plain = JOB
    for name in ("K", "STRICT", "MOST", "GRID", "L"):
        plain = plain.replace(f'"${{{name}}}"', VALUES[name])
    for name in ("IN", "DAY", "ROLE"):
        plain = plain.replace(f"${{{name}}}", VALUES[name])
    expected = read_job(written(plain), outside={})
    found = read_job(written(JOB), outside=VALUES)
    assert found == expected
    assert found.k == 7
    assert found.input.path == str(tmp_path / "2024")


def test_environment_variables_are_outside_unless_a_mapping_is_given(written, monkeypatch):
    job = written('[input]\npath = "${SHOAL_IN}"\n')
    monkeypatch.setenv("SHOAL_IN", "a.csv")
    assert shoal.read_job(job).input.path.endswith("a.csv")
    with pytest.raises(JobError, match="'SHOAL_IN'"):
        read_job(job, outside={})


def test_a_missing_value_is_named_with_its_place_and_no_value_is_shown(written):
    with pytest.raises(JobError, match=r"columns.ill.role in .*'ROLE'.* set the environment"):
        read_job(written(JOB), outside=_without("ROLE"))
    with pytest.raises(JobError) as error:
        read_job(written(JOB), outside={**VALUES, "K": "s3cret"})
    assert "s3cret" not in str(error.value)
    assert "whole number" in str(error.value)


def _without(name):
    return {each: value for each, value in VALUES.items() if each != name}


@pytest.mark.parametrize("text", ["${in file}", "${}", "a ${IN", "${1}"])
def test_what_looks_like_a_reference_and_is_none_is_an_error(written, text):
    with pytest.raises(JobError, match="without a name"):
        read_job(written(f'[input]\npath = "{text}"\n'), outside=VALUES)


def test_a_text_with_a_dollar_and_a_brace_survives_writing_and_reading(written):
    job = Job(k=3, missing_values=("${K}", "$${K}", "$", "{K}", "${"))
    assert read_job(written(format_job(job)), outside={"K": "no"}) == job


def test_a_job_of_the_command_line_runs_with_values_from_outside(tmp_path, monkeypatch):
    (tmp_path / "in.csv").write_text("age\n" + "\n".join(map(str, [30, 31, 32] * 4)) + "\n")
    (tmp_path / "job.toml").write_text(
        'k = "${K}"\n[input]\npath = "${IN}"\n[output]\ntable = "${OUT}"\n'
        '[columns.age]\nrole = "quasi-identifier"\n'
    )
    for name, value in {"K": "4", "IN": "in.csv", "OUT": "safe.csv"}.items():
        monkeypatch.setenv(name, value)
    result = CliRunner().invoke(app, ["anonymize", "--job", str(tmp_path / "job.toml"), "--json"])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "safe.csv").exists()


SEVERAL = """
k = 5
knows_events = 2
[input]
path = "hospital"
[output]
table = "safe"
[tables.patients]
key = "patient_id"
[tables.patients.columns]
born = {role = "quasi-identifier"}
[tables.stays]
of = "patients.patient_id"
[tables.stays.columns]
codes = {role = "quasi-identifier", kind = "items"}
"""


def test_the_schema_knows_every_option_and_takes_what_the_reader_takes(written):
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(CliRunner().invoke(app, ["schema"]).stdout)
    assert schema == json.loads(json.dumps(job_schema()))
    jsonschema.Draft7Validator.check_schema(schema)
    check = jsonschema.Draft7Validator(schema)
    import tomllib

    assert not list(check.iter_errors(tomllib.loads(JOB)))
    assert not list(check.iter_errors(tomllib.loads(SEVERAL)))
    for wrong in (
        "kk = 3",
        'k = "many"',
        'missing = "maybe"',
        "[columns.age]\nkind = 'flat'",
        "[columns.age]\nrole = 'sensitive'\nweigth = 2",
        "[[privacy]]\nl = 2",
        "[style]\ncells = 'mixed'",
        "[input]\npaths = 'a'",
        "[tables.stays]\nabove = 'patients.patient_id'",
        "knows_events = 'all'",
    ):
        assert list(check.iter_errors(tomllib.loads(wrong))), wrong


def test_the_schema_has_a_description_of_every_row_of_the_tables():
    schema = job_schema()["properties"]
    for name, row in OPTIONS.items():
        if name in schema:
            assert schema[name].get("description", str(row.help)) == str(row.help)
    columns = schema["columns"]["additionalProperties"]["properties"]
    assert set(columns) == {"role", *COLUMN_ROWS}


def test_init_names_the_schema_in_its_first_line_and_the_job_is_read(tmp_path):
    (tmp_path / "in.csv").write_text(
        "age,ill\n" + "\n".join(f"{n % 9 + 30},x{n % 3}" for n in range(50))
    )
    result = CliRunner().invoke(
        app, ["init", str(tmp_path / "in.csv"), "-o", str(tmp_path / "job.toml"), "--yes"]
    )
    text = (tmp_path / "job.toml").read_text()
    assert text.startswith(f"#:schema {SCHEMA_FILE}\n"), result.output
    assert read_job(tmp_path / "job.toml", outside={}).columns
