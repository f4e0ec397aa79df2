"""Languages: ordinary message files, and the one that a reader asks for."""

import gettext

import pytest
from tests.helpers.scripts import load_script

from shoal.messages.language import LANGUAGES, Language, language_of


@pytest.fixture(scope="module")
def tool():
    return load_script("tools/messages.py")


@pytest.fixture(scope="module")
def texts(tool):
    return tool.find_texts()


@pytest.mark.parametrize(
    ("cookie", "accepted", "language"),
    [
        (None, "", "en"),
        (None, "de", "de"),
        (None, "de-AT,de;q=0.9,en;q=0.8", "de"),
        (None, "fr-FR,fr;q=0.9,de;q=0.5,en;q=0.4", "de"),
        (None, "en;q=0.4,de;q=0.5", "de"),
        (None, "de;q=0,en", "en"),
        (None, "de;q=x", "en"),
        ("en", "de", "en"),
        ("de", "en", "de"),
        ("../..", "de", "de"),
    ],
)
def test_the_language_is_the_chosen_one_or_what_the_browser_asks_for(cookie, accepted, language):
    assert language_of(cookie, accepted) == language


def test_numbers_are_written_as_the_language_does():
    assert LANGUAGES == ("en", "de")
    assert [Language(code)("English") for code in LANGUAGES] == ["English", "Deutsch"]
    english, german = Language("en"), Language("de")
    assert (english.number(1234567.5, 1), german.number(1234567.5, 1)) == (
        "1,234,567.5",
        "1.234.567,5",
    )
    assert (english.share(0.714), german.share(0.714)) == ("71.4%", "71,4 %")
    assert [english.share(x) for x in (0, 1e-9, 0.9999999, 1)] == [
        "0%",
        "< 0.1%",
        "> 99.9%",
        "100%",
    ]
    assert german.plural("%(n)s value", "%(n)s values", 1) == "1 Wert"
    assert german.plural("%(n)s value", "%(n)s values", 1000) == "1.000 Werte"


def test_another_language_is_a_message_file_and_nothing_else(tool, texts, tmp_path):
    path = tmp_path / "fr" / "LC_MESSAGES" / "shoal.po"
    path.parent.mkdir(parents=True)
    catalog = tool.updated(path, texts)
    catalog.get("Columns").string = "Colonnes"
    path.write_bytes(tool.as_po(catalog))
    path.with_suffix(".mo").write_bytes(tool.as_mo(path.read_bytes(), "fr"))
    found = gettext.translation("shoal", tmp_path, ["fr"])
    assert (found.gettext("Columns"), found.gettext("Table")) == ("Colonnes", "Table")


def test_a_page_is_german_when_it_is_asked_for(pages, patients):
    pages.drop("patients.csv", patients)
    text = pages.get("/columns", headers={"accept-language": "de"}).text
    assert '<html lang="de">' in text
    assert "Was ist jede Spalte?" in text
    answer = pages.post("/language", {"language": "de", "back": "/columns"})
    assert answer.headers["location"] == "/columns"
    assert "Wie einzigartig sind die Personen?" in pages.get("/columns").text
    assert "There is no" not in pages.get("/nowhere").text
