"""Bad input, case by case: a clear line, the right status, and the previous release untouched."""

import json

import pytest
from tests.helpers.cli_samples import ROLES, patients


@pytest.fixture
def attempt(shoal_runs, previous):
    """Tries to anonymize a file over the previous release."""

    def call(source, *arguments, k=3, roles=ROLES):
        # Quiet, so that a slow machine has no progress to report beside the error.
        command = ["anonymize", source, "--replace", "-o", previous, "--k", k, "--quiet"]
        return shoal_runs(*command, *roles, *arguments)

    return call


@pytest.fixture
def text_file(tmp_path):
    def write(text, name="input.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


# k


@pytest.mark.parametrize("k", [1, 0, -3])
def test_k_below_two_is_refused(attempt, refused, table, k):
    refused(attempt(table, k=k), 2, "k must be", "at least 2")


def test_k_that_is_no_number_is_refused(attempt, refused, table):
    refused(attempt(table, k="ten"), 2, "--k", "--help")


def test_k_above_the_number_of_rows_cannot_be_promised(attempt, refused, table):
    refused(attempt(table, k=41), 1, "41", "40")


def test_k_given_nowhere_is_asked_for(shoal_runs, refused, table, previous):
    refused(shoal_runs("anonymize", table, "--replace", "-o", previous, *ROLES), 2, "--k 10")


# columns


def test_an_unknown_column_is_named_with_the_one_probably_meant(attempt, refused, table):
    outcome = attempt(table, roles=["--qi", "age,zipp,sex", *ROLES[2:]])
    refused(outcome, 2, "'zipp'", "Did you mean 'zip'?")


def test_a_column_named_twice_is_refused(attempt, refused, table):
    refused(attempt(table, "--qi", "age"), 2, "'age'", "twice")


def test_a_sensitive_column_that_is_also_a_quasi_identifier_is_refused(attempt, refused, table):
    refused(attempt(table, "--qi", "diagnosis"), 2, "'diagnosis'", "two roles")


def test_a_column_without_a_role_is_an_error_that_shows_how_to_give_one(attempt, refused, table):
    outcome = attempt(table, roles=ROLES[:4])
    refused(outcome, 2, "'name'", "no role", "--insensitive", "--drop")


def test_no_quasi_identifier_is_refused(attempt, refused, table):
    refused(attempt(table, roles=["--sensitive", "age,zip,sex,diagnosis,name"]), 2, "--qi")


def test_the_second_of_two_columns_of_one_name_needs_a_role_of_its_own(attempt, refused, text_file):
    source = text_file("age,age,zip\n1,2,SECRET\n3,4,SECRET\n5,6,SECRET\n")
    refused(attempt(source, roles=["--qi", "age,zip"]), 2, "'age_2'")


# files


def test_a_file_that_does_not_exist_is_named(attempt, refused, tmp_path):
    refused(attempt(tmp_path / "nothing.csv"), 2, "There is no file", "nothing.csv")


def test_an_empty_file_is_refused(attempt, refused, text_file):
    refused(attempt(text_file("")), 2, "is empty")


def test_a_header_without_rows_is_refused(attempt, refused, text_file):
    refused(attempt(text_file("name,age,zip,sex,diagnosis\n")), 2, "no rows")


def test_a_ragged_row_is_named_by_its_line(attempt, refused, text_file):
    source = text_file(patients() + "SECRET-x,30\n")
    refused(attempt(source), 2, "line 42")


def test_text_that_is_not_utf8_is_named_by_its_line(attempt, refused, text_file):
    source = text_file(patients().encode() + b"SECRET-\xff\xfe,30,SECRET-47,M,SECRET-flu\n")
    refused(attempt(source), 2, "UTF-8", "line 42")


def test_a_folder_is_no_table(attempt, refused, tmp_path):
    (tmp_path / "folder.csv").mkdir()
    refused(attempt(tmp_path / "folder.csv"), 2, "no table in the folder")


def test_an_unknown_ending_asks_for_the_format(attempt, refused, text_file):
    refused(attempt(text_file(patients(), "patients.dat")), 2, "'.dat'", "format")


def test_output_in_a_folder_that_does_not_exist_is_refused_before_the_work(
    shoal_runs, refused, table, tmp_path
):
    outcome = shoal_runs("anonymize", table, "-o", tmp_path / "no" / "x.csv", "--k", 3, *ROLES)
    refused(outcome, 2, "does not exist")


def test_the_input_is_never_overwritten(shoal_runs, refused, table):
    before = table.read_bytes()
    refused(shoal_runs("anonymize", table, "-o", table, "--k", 3, *ROLES), 2, "the same file")
    assert table.read_bytes() == before


def test_two_outputs_in_one_file_are_refused(attempt, refused, table, previous):
    refused(attempt(table, "--report", previous), 2, "the same file")


# values


def test_mixed_types_in_a_numeric_column_are_refused(attempt, refused, text_file):
    source = text_file(patients() + "SECRET-x,SECRET-old,SECRET-47,M,SECRET-flu\n")
    refused(attempt(source, "--kind", "age=numeric"), 2, "'age'", "numeric")


def test_mixed_types_in_json_lines_are_refused(attempt, refused, text_file):
    rows = [
        {"age": 31, "zip": "SECRET"},
        {"age": [1], "zip": "SECRET"},
        {"age": "SECRET", "zip": 1},
    ]
    source = text_file("\n".join(map(json.dumps, rows)), "rows.jsonl")
    outcome = attempt(source, roles=["--qi", "age,zip"], k=2)
    refused(outcome, 2, "Error: ")


def test_infinite_numbers_are_refused(attempt, refused, tmp_path):
    import polars as pl

    source = tmp_path / "numbers.parquet"
    pl.DataFrame({"age": [1.0, 2.0, float("inf"), 4.0]}).write_parquet(source)
    refused(attempt(source, roles=["--qi", "age"], k=2), 2, "'age'", "infinite")


def test_nan_is_a_missing_value(attempt, tmp_path, previous):
    import polars as pl

    source = tmp_path / "numbers.parquet"
    pl.DataFrame({"age": [1.0, float("nan"), float("nan"), 4.0]}).write_parquet(source)
    outcome = attempt(source, roles=["--qi", "age"], k=2)
    assert outcome.status == 0, outcome.err
    assert "nan" not in previous.read_text(encoding="utf-8").lower()


def test_missing_values_can_be_refused(attempt, refused, text_file):
    source = text_file(patients() + "SECRET-x,,SECRET-47,M,SECRET-flu\n")
    refused(attempt(source, "--missing", "error"), 2, "'age'", "missing")


def test_a_column_without_any_value_is_refused(attempt, refused, text_file):
    source = text_file("age,zip\n" + ",SECRET\n" * 5)
    refused(attempt(source, roles=["--qi", "age,zip"]), 2, "'age'", "drop")


def test_a_constant_column_is_published_as_it_is(attempt, text_file, previous):
    source = text_file("age,zip\n" + "".join(f"{30 + n},12345\n" for n in range(9)))
    outcome = attempt(source, roles=["--qi", "age,zip"])
    assert outcome.status == 0, outcome.err
    rows = previous.read_text(encoding="utf-8").splitlines()[1:]
    assert {row.rsplit(",", 1)[1] for row in rows} == {"12345"}


# hierarchies


@pytest.fixture
def zip_hierarchy(tmp_path):
    def write(*lines):
        path = tmp_path / "zip.csv"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return f"zip={path}"

    return write


COMPLETE = tuple(f"SECRET-47{digit}0;SECRET-47**;*" for digit in range(6))


def test_values_that_a_hierarchy_lacks_are_counted_and_not_shown(
    attempt, refused, table, zip_hierarchy
):
    outcome = attempt(table, "--hierarchy", zip_hierarchy(*COMPLETE[:4]))
    refused(outcome, 2, "'zip'", "2 of 6")


def test_a_hierarchy_with_a_cycle_is_refused(attempt, refused, table, zip_hierarchy):
    outcome = attempt(table, "--hierarchy", zip_hierarchy("a;b;c;*", "d;c;b;*"))
    refused(outcome, 2, "a cycle", "line 1, cell 2", "line 1, cell 3")


def test_an_unbalanced_hierarchy_works(attempt, table, zip_hierarchy):
    lines = [*COMPLETE[:5], "SECRET-4750;*;*"]
    outcome = attempt(table, "--hierarchy", zip_hierarchy(*lines))
    assert outcome.status == 0, outcome.err


def test_a_hierarchy_file_that_does_not_exist_is_named(attempt, refused, table):
    refused(attempt(table, "--hierarchy", "zip=nothing.csv"), 2, "nothing.csv")


def test_a_pair_without_a_column_is_refused(attempt, refused, table):
    refused(attempt(table, "--hierarchy", "zip.csv"), 2, "--hierarchy zip=zip.csv")


# promises


def test_an_impossible_l_is_refused_and_says_what_is_possible(attempt, refused, table):
    outcome = attempt(table, "--l-diversity", 4, "--l-kind", "distinct")
    refused(outcome, 1, "l-diversity", "'diagnosis'", "at most 3")


def test_an_impossible_alpha_is_refused(attempt, refused, table):
    refused(attempt(table, "--alpha", 0.1), 1, "alpha", "'diagnosis'")


@pytest.mark.parametrize("t", [-0.1, 1.5])
def test_a_t_that_is_no_distance_is_refused(attempt, refused, table, t):
    refused(attempt(table, "--t-closeness", t), 2, "t must be")


def test_an_ordered_distance_of_text_is_refused(attempt, refused, table):
    outcome = attempt(table, "--t-closeness", 0.3, "--t-distance", "ordered")
    refused(outcome, 2, "'diagnosis'", "ordered")


def test_a_promise_about_a_column_that_is_not_sensitive_is_refused(attempt, refused, table):
    outcome = attempt(table, "--l-diversity", 2, "--privacy-column", "age")
    refused(outcome, 2, "'age'", "not a sensitive column")


def test_a_refinement_without_its_promise_is_refused(attempt, refused, table):
    refused(attempt(table, "--l-kind", "distinct"), 2, "--l-diversity")


# other options


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--algorithm", "kmember"], ["'kmember'", "Did you mean 'k-member'?"]),
        (["--algorithm-option", "colour=red"], ["colour"]),
        (["--algorithm-option", "colour"], ["name=value"]),
        (["--measure", "ncpp"], ["'ncpp'", "Did you mean"]),
        (["--measure", "dm"], ["'dm'"]),
        (["--measure-option", "w=2"], ["w"]),
        (["--kind", "age=number"], ["'age'", "numeric"]),
        (["--kind", "diagnosis=set"], ["'diagnosis'", "not a quasi-identifier"]),
        (["--weight", "age=heavy"], ["'age'", "'heavy'"]),
        (["--weight", "age=-1"], ["'age'", "above 0"]),
        (["--missing", "ignore"], ["missing", "'ignore'"]),
        (["--max-suppression", "2"], ["max_suppression"]),
        (["--numeric-output", "fancy"], ["'fancy'", "interval"]),
        (["--format", "word"], ["'word'", "csv"]),
        (["--delimiter", "::"], ["delimiter"]),
        (["--threads", "0"], ["threads"]),
        (["--job", "nothing.toml"], ["nothing.toml"]),
        (["--colour"], ["--colour"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_a_wrong_option_is_named(attempt, refused, table, arguments, words):
    refused(attempt(table, *arguments), 2, *words)
