"""Facts about files of SPSS, Stata and SAS."""

import datetime as dt
import sys
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.cli.program import run
from shoal.errors import DataError, OptionError
from shoal.io.overwrite_guard import watching_inputs
from shoal.io.read import read_table
from shoal.io.write import write_table
from shoal.profile.suggest import suggest_job

pyreadstat = pytest.importorskip("pyreadstat")

N = 40
CODES = pl.DataFrame(
    {
        "id": [float(n) for n in range(N)],
        "sex": [[1.0, 2.0, 9.0, 1.0][n % 4] for n in range(N)],
        "mobility": [[3.0, 1.0, 2.0, -8.0][n % 4] for n in range(N)],
        "age": [[30.0 + n, 97.0, -9.0, 41.0][n % 4] for n in range(N)],
        "town": [["Bonn", "Köln ", "", "XX"][n % 4] for n in range(N)],
        "weight": [[70.5, 80.0][n % 2] for n in range(N)],
        "born": [dt.date(1980, 1, 1 + n % 28) for n in range(N)],
    }
)
LABELS = {
    "sex": {1.0: "male", 2.0: "female", 9.0: "other"},
    "mobility": {3.0: "fine", 1.0: "awful", 2.0: "so so", -8.0: "Refused"},
    "age": {97.0: "97 and older", -9.0: "keine Angabe"},
}


@pytest.fixture
def survey(tmp_path):
    path = tmp_path / "t.sav"
    pyreadstat.write_sav(
        CODES,
        path,
        variable_value_labels=LABELS,
        missing_ranges={"sex": [9.0], "town": ["XX"]},
        variable_measure={"mobility": "ordinal", "sex": "nominal"},
    )
    return path


def test_labels_are_values_and_codes_of_missing_are_missing(survey):
    with watching_inputs() as watch:
        frame = read_table(survey)
    assert frame.head(4).to_dict(as_series=False) == {
        "id": [0, 1, 2, 3],
        "sex": ["male", "female", None, "male"],
        "mobility": ["fine", "awful", "so so", None],
        "age": [30, 97, None, 41],
        "town": ["Bonn", "Köln", None, None],
        "weight": [70.5, 80.0, 70.5, 80.0],
        "born": [dt.date(1980, 1, 1 + n) for n in range(4)],
    }
    said = " ".join(watch.notes)
    assert "2 columns are their labels" in said
    assert "Refused" not in said


def test_an_ordinal_column_proposes_the_order_of_its_codes(survey, tmp_path):
    guess = suggest_job(survey)
    assert guess["mobility"].order == ("awful", "so so", "fine")
    guess.write(tmp_path / "job.toml")
    assert 'order = ["awful", "so so", "fine"]' in (tmp_path / "job.toml").read_text()


def test_a_survey_is_anonymized_from_file_to_file(survey, tmp_path):
    job = tmp_path / "job.toml"
    job.write_text(
        'k = 4\n[input]\npath = "t.sav"\n[output]\ntable = "safe.csv"\n'
        + "".join(
            f'[columns.{name}]\nrole = "{role}"\n'
            for name, role in {
                **dict.fromkeys(("id", "town", "born", "weight", "age"), "drop"),
                **dict.fromkeys(("sex", "mobility"), "quasi-identifier"),
            }.items()
        )
    )
    shoal.run_job(shoal.read_job(job))
    safe = read_table(tmp_path / "safe.csv")
    assert safe.height == N
    assert safe.group_by("sex", "mobility").len()["len"].min() >= 4


def test_compressed_portable_stata_and_transport_files_are_read(tmp_path):
    plain = CODES.select("id", "sex", "town").with_columns(town=pl.lit("Bonn"))
    pyreadstat.write_sav(plain, tmp_path / "t.zsav", compress=True)
    pyreadstat.write_por(plain, tmp_path / "t.por")
    pyreadstat.write_xport(plain, tmp_path / "t.xpt")
    pyreadstat.write_dta(
        plain.cast({"id": pl.Int64, "sex": pl.Int64}),
        tmp_path / "t.dta",
        variable_value_labels={"sex": {1: "male", 2: "female", 9: "no answer"}},
    )
    for name in ("t.zsav", "t.por", "t.xpt", "t.dta"):
        frame = read_table(tmp_path / name)
        assert [each.lower() for each in frame.columns] == ["id", "sex", "town"]
        assert frame.to_series(0).to_list() == list(range(N))
        assert frame.to_series(2).unique().to_list() == ["Bonn"]
    assert frame["sex"].head(4).to_list() == ["male", "female", None, "male"]


def test_columns_can_be_chosen_and_further_files_read_with_the_first(survey, tmp_path):
    (tmp_path / "u.sav").write_bytes(survey.read_bytes())
    assert read_table([survey, tmp_path / "u.sav"], columns=["age", "id"]).shape == (2 * N, 2)


@pytest.mark.parametrize("name", ["t.sav", "t.por", "t.dta", "t.xpt", "t.sas7bdat"])
def test_a_damaged_file_is_one_sentence(tmp_path, survey, name):
    (tmp_path / name).write_bytes(survey.read_bytes()[:300] if name == "t.sav" else b"?" * 900)
    with pytest.raises(DataError, match="is not a readable SPSS, Stata or SAS file"):
        read_table(tmp_path / name)


def test_they_are_read_and_not_written(tmp_path):
    with pytest.raises(OptionError, match="Files of SPSS are read, not written; write one of csv"):
        write_table(pl.DataFrame({"a": [1]}), tmp_path / "t.sav")
    assert not list(tmp_path.iterdir())


def test_without_the_package_it_is_one_sentence(survey, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(DataError, match=r"install 'shoal-anonymity\[stats\]'"):
        read_table(survey)


# Files that the programs themselves wrote: the same table in three formats (iris/LICENSE).
IRIS = Path(__file__).parent / "iris"


@pytest.fixture(scope="module")
def flowers():
    frames = [read_table(IRIS / f"iris.{ending}") for ending in ("sas7bdat", "sav", "dta")]
    names = ["sepal_length", "sepal_width", "petal_length", "petal_width", "species"]
    return [frame.rename(dict(zip(frame.columns, names, strict=True))) for frame in frames]


def test_files_of_sas_spss_and_stata_that_they_wrote_hold_the_same_table(flowers):
    of_sas, of_spss, of_stata = flowers
    assert of_spss.shape == (150, 5)
    assert of_spss.equals(of_stata)  # whose numbers have seven digits
    # SAS kept the species in six letters.
    assert of_sas.equals(of_spss.with_columns(pl.col("species").str.slice(0, 6)))
    assert of_spss.row(0) == (5.1, 3.5, 1.4, 0.2, "setosa")  # the label of code 1
    assert of_spss["species"].value_counts().sort("species").rows() == [
        *(("setosa", 50), ("versicolor", 50), ("virginica", 50)),
    ]


@pytest.mark.parametrize("ending", ["sas7bdat", "sav", "dta"])
def test_a_file_of_each_program_is_looked_at_and_anonymized_on_the_command_line(tmp_path, ending):
    source, job, safe = IRIS / f"iris.{ending}", tmp_path / "job.toml", tmp_path / "safe.csv"
    assert run(["init", str(source), "-o", str(job)]) == 0
    length, *others, species = read_table(source).columns
    asked = ["--qi", length, "--insensitive", species, "--drop", ",".join(others), "-k", "5"]
    assert run(["anonymize", str(source), "-o", str(safe), *asked]) == 0
    found = read_table(safe)
    assert found.columns == [length, species]
    assert found.group_by(length).len()["len"].min() >= 5
