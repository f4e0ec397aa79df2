"""The shapes in which offices hand over tables, taken through the commands as an officer would."""

import json

import pytest
from tests.helpers.shapes import SHAPES

import shoal


def test_there_are_eighteen_shapes():
    assert len(SHAPES) == 18


@pytest.mark.parametrize("name", SHAPES)
def test_a_file_of_this_shape_goes_through_every_command(name, tmp_path, monkeypatch, shoal_runs):
    shape = SHAPES[name]
    (tmp_path / "next").mkdir()
    data, following = shape.make(tmp_path, 1).name, shape.make(tmp_path / "next", 2)
    monkeypatch.chdir(tmp_path)
    told = []

    def run(*arguments, status=0):
        made = shoal_runs(*arguments)
        assert made.status == status, made.err
        told.append(made.out + made.err)
        return made

    run("init", data, "--yes", *shape.flags)
    job = shoal.read_job("job.toml")
    found = {each: str(job.columns[each].role) for each in shape.roles}
    assert found == dict(shape.roles)
    for column, wanted in shape.columns.items():
        for option, value in wanted.items():
            given = getattr(job.columns[column], option)
            assert value(given) if callable(value) else given == value, (column, option, given)
    for option, value in shape.input.items():
        assert getattr(job.input, option) == value, option
    text = (tmp_path / "job.toml").read_text()
    for column in shape.doubtful:
        assert "CHECK THIS" in text.split(f"[columns.{column}]")[0].rpartition("[columns.")[2]
    assert shape.note in text

    kept = ["--save", "r.shoal", "--certificate", "c.json", "--report", "r.html", "--seed", "1"]
    asked = ["--job", "job.toml"]
    (tmp_path / "job.toml").write_text(text.replace("k = 10", "k = 4"))
    run("anonymize", data, "-o", "safe.csv", *asked, *kept)
    certificate = json.loads((tmp_path / "c.json").read_text())
    assert certificate["input"]["rows"] == shape.rows
    run("verify", "safe.csv", "--certificate", "c.json")
    run("score", data, "safe.csv", *asked)
    run("audit", data, "safe.csv", *asked, "--targets", "40", "--json")
    run("utility", data, "safe.csv", *asked, "--json")
    more = ["-o", "more.csv", "--waiting", "wait.csv", "--save", "r2.shoal", "--seed", "2"]
    run("apply", following, "--release", "r.shoal", *asked, *more)
    for path in ("safe.csv", "more.csv", "c.json", "r.html", "r.shoal", "job.toml"):
        assert "SECRET" not in (tmp_path / path).read_bytes().decode(errors="replace"), path
    assert not any("SECRET" in each for each in told)
