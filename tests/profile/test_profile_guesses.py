"""`shoal.suggest_job` guesses what a data officer would, on four differently shaped tables."""

import polars as pl
import pytest
from tests.helpers import profile_samples

import shoal
from shoal.errors import OptionError
from shoal.io.vocabulary import topics_of
from shoal.profile.column_facts import band_order, date_format, looks_like_icd, scale_order
from shoal.profile.suggest import suggest_job
from shoal.settings.job_file import read_job

EXPECTED = {
    "adult": {
        "age": "quasi-identifier numeric",
        "workclass": "quasi-identifier flat",
        "fnlwgt": "drop",
        "education": "drop",  # education_num says the same
        "education_num": "quasi-identifier numeric",
        "marital_status": "quasi-identifier flat",
        "occupation": "quasi-identifier categorical",
        "relationship": "quasi-identifier flat",
        "race": "quasi-identifier flat",
        "sex": "quasi-identifier flat",
        "capital_gain": "sensitive",
        "capital_loss": "sensitive",
        "hours_per_week": "quasi-identifier numeric",
        "native_country": "quasi-identifier categorical",
        "salary": "sensitive",
    },
    "hospital": {
        "patient_no": "identifier",
        "admitted": "quasi-identifier date",
        "discharged": "quasi-identifier date",
        "birth_date": "quasi-identifier date",
        "sex": "quasi-identifier flat",
        "plz": "quasi-identifier categorical",
        "ward": "quasi-identifier flat",
        "icd10": "sensitive",
        "length_of_stay": "quasi-identifier numeric",
        "systolic": "sensitive",
        "insurance": "quasi-identifier flat",
        "remarks": "drop",
        "clinic": "insensitive",
    },
    "customers": {
        "CustomerID": "identifier",
        "FullName": "identifier",
        "E-Mail": "identifier",
        "Phone": "identifier",
        "ZipCode": "quasi-identifier categorical",
        "City": "quasi-identifier categorical",
        "Country": "quasi-identifier categorical",
        "SignupDate": "quasi-identifier date",
        "Segment": "quasi-identifier flat",
        "TotalSpent": "quasi-identifier numeric",  # exact sums are as good as names
        "IP": "identifier",
    },
    "survey": {
        "respondent_id": "identifier",
        "age_group": "quasi-identifier ordinal",
        "gender": "quasi-identifier flat",
        "region": "quasi-identifier flat",
        "education": "quasi-identifier ordinal",
        "job_title": "quasi-identifier flat",
        "Q1": "sensitive",
        "Q2": "sensitive",
        "q3_score_food": "sensitive",
        "overall": "sensitive",
        "religion": "sensitive",
        "comments": "drop",
        "sample_weight": "drop",
    },
}
MARKERS = {
    "adult": ("", "?"),
    "hospital": ("", "?", "NA"),
    "customers": None,  # NA is a country here
    "survey": None,
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    shoal.datasets.load_adult("keep").fill_null("?").write_csv(folder / "adult.csv")
    for name in ("hospital", "customers", "survey"):
        text = getattr(profile_samples, name)()
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    return folder


def shown(guess):
    kind = f" {guess.kind}" if guess.role == "quasi-identifier" else ""
    return f"{guess.role}{kind}"


@pytest.mark.parametrize("name", EXPECTED)
def test_roles_and_kinds_are_those_a_data_officer_expects(files, name):
    suggestion = suggest_job(files / f"{name}.csv")
    assert {guess.name: shown(guess) for guess in suggestion.columns} == EXPECTED[name]
    assert suggestion.missing_values == MARKERS[name]
    assert suggestion.k == 10
    assert all(guess.why.endswith(".") for guess in suggestion.columns)


@pytest.mark.parametrize("name", EXPECTED)
def test_no_comment_shows_a_cell_and_the_written_job_says_what_was_guessed(files, name, tmp_path):
    suggestion = suggest_job(files / f"{name}.csv")
    target = tmp_path / "job.toml"
    written = suggestion.write(target, source="data.csv")
    assert all(path.exists() for path in written)
    job = read_job(target)
    for guess in suggestion.columns:
        assert job.columns[guess.name].role == guess.role
        assert (job.columns[guess.name].hierarchy is not None) == guess.uses_hierarchy
    frame = pl.read_csv(
        files / f"{name}.csv", infer_schema=False, separator=";" if name == "customers" else ","
    )
    comments = " ".join(
        line for line in target.read_text(encoding="utf-8").splitlines() if line.startswith("#")
    )
    for guess in suggestion.columns:
        values = frame.get_column(guess.name).drop_nulls().unique().to_list()
        words = {value for value in values if len(value) > 6 and not value.isdecimal()}
        assert not [value for value in words if value in comments]


def test_hierarchies_mask_codes_from_the_right_and_keep_leading_zeros(files):
    paths = suggest_job(files / "customers.csv")["ZipCode"].hierarchy.to_paths()
    assert all(len(path[0]) == 5 and path[1] == path[0][:4] + "*" for path in paths)
    assert any(path[0].startswith("00") for path in paths)


def test_icd_codes_go_to_their_category_block_and_chapter(files):
    tree = suggest_job(files / "hospital.csv")["icd10"].hierarchy
    path = next(each for each in tree.to_paths() if each[0] == "E11.9")
    assert [label.split()[0] for label in path[1:]] == ["E11.0-E11.9", "E10-E14", "E00-E90", "*"]


def test_dates_in_other_forms_than_iso_get_months_and_years(files):
    suggestion = suggest_job(files / "customers.csv")
    day, month, year, decade, root = suggestion["SignupDate"].hierarchy.to_paths()[0]
    assert (day[:4], day[:7]) == (year, month)
    assert decade == f"{year[:3]}0s"
    assert root == "*"
    assert suggestion.details["read_as"]["SignupDate"] == "dd.mm.yyyy"


def test_a_long_tail_is_put_together_by_frequency(files):
    tree = suggest_job(files / "adult.csv")["native_country"].hierarchy
    depth = {tree.labels[leaf]: tree.depth[leaf] for leaf in range(tree.n_leaves)}
    assert depth["United-States"] == min(depth.values()) < max(depth.values())


def test_a_suggestion_runs_from_python(files):
    frame = shoal.read_table(files / "survey.csv")
    release = shoal.anonymize(
        frame, algorithm="mondrian", seed=1, **shoal.suggest_job(frame).arguments()
    )
    assert release.verification.holds
    assert set(release.frame.columns) == {
        name for name, what in EXPECTED["survey"].items() if what not in ("identifier", "drop")
    }


def test_files_that_exist_are_never_replaced_unless_forced(files, tmp_path):
    suggestion = suggest_job(files / "customers.csv")
    tree = tmp_path / "job-hierarchies" / "City.csv"
    tree.parent.mkdir()
    tree.write_text("mine", encoding="utf-8")
    with pytest.raises(OptionError, match=r"City\.csv.*exists"):
        suggestion.write(tmp_path / "job.toml")
    assert not (tmp_path / "job.toml").exists()
    suggestion.write(tmp_path / "job.toml", force=True)
    assert tree.read_text(encoding="utf-8") != "mine"


@pytest.mark.parametrize(
    ("name", "topics"),
    [
        ("PatientFirstName", {"person", "whose", "name"}),
        ("Geburtsdatum", {"birth", "date"}),
        ("code_postal", {"key", "postcode"}),
        ("Nationalität", {"place"}),
        ("household_income", {"whose", "money", "family"}),
        ("package", set()),
        ("message_id", {"key", "text"}),
    ],
)
def test_a_name_is_cut_into_words_before_it_is_looked_up(name, topics):
    assert set(topics_of(name)) == topics


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["65+", "under 18", "18-24", "25-64"], ("under 18", "18-24", "25-64", "65+")),
        (["1-2", "3-4", "5-9", "10+"], ("1-2", "3-4", "5-9", "10+")),
        (["1", "2", "3"], None),
        (["A1", "B2", "C3"], None),
    ],
)
def test_bands_are_ordered_by_their_numbers(values, expected):
    assert band_order(values) == expected


def test_a_scale_needs_all_values_on_it():
    assert scale_order(["good", "poor", "excellent"]) == ("poor", "good", "excellent")
    assert scale_order(["good", "poor", "purple"]) is None


@pytest.mark.parametrize(
    ("texts", "form"),
    [
        (["31.12.2020", "1.2.2021"], "%d.%m.%Y"),
        (["12/31/2020", "01/02/2021"], "%m/%d/%Y"),
        (["01/02/2021", "03/04/2021"], "%d/%m/%Y"),
        (["2020/12/31"], "%Y/%m/%d"),
        (["31.12.2020", "soon"], None),
        (["1.2.3", "4.5.6"], None),
    ],
)
def test_the_form_of_a_date_reads_every_value(texts, form):
    assert date_format(pl.Series(texts)) == form


def test_a_letter_and_two_digits_are_an_icd_code_only_in_company():
    assert looks_like_icd(pl.Series(["E11.9", "I10", "J45.0"]))
    assert not looks_like_icd(pl.Series(["A1", "B2", "C3"]))
    assert not looks_like_icd(pl.Series(["E1134", "B2245", "C3356"]))


@pytest.mark.parametrize(
    ("columns", "role"),
    [
        ({"note": [f"n{i}" for i in range(60)]}, "drop"),
        ({"account_balance": list(range(100, 160))}, "quasi-identifier"),
        ({"email_opt_in": ["yes", "no"] * 30}, "quasi-identifier"),
        ({"x": [3 * i % 61 for i in range(60)]}, "identifier"),
        ({"region_id": [1, 2, 3] * 20}, "quasi-identifier"),
        ({"tokens": [None] * 60}, "drop"),
        ({"tags": [["a"], ["b"]] * 30}, "drop"),
        ({"x": ["same"] * 60}, "insensitive"),
        ({"active": [True, False, None] * 20}, "quasi-identifier"),
        ({"temperature": [36.6, float("nan"), 38.2] * 20}, "sensitive"),
    ],
)
def test_single_columns_get_their_role(columns, role):
    (guess,) = suggest_job(pl.DataFrame(columns, strict=False)).columns
    assert guess.role == role


def test_a_number_is_a_code_of_the_column_in_which_it_is_far_away(tmp_path):
    path = tmp_path / "data.csv"
    lines = [f"{20 + n % 50 if n % 10 else 999},{n % 3},{900 + n}" for n in range(200)]
    path.write_text("\n".join(["age,floor,price", *lines]), encoding="utf-8")
    found = suggest_job(path)
    assert found.details["missing_codes"] == {"age": ("999",)}  # 999 is a price, too
    assert found.missing_values is None
