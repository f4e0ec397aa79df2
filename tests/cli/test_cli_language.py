"""`--language`: what a command prints, and its help, is in that language; JSON stays English."""

import json

import pytest
from tests.helpers.pseudo import forget_languages, plain_words, write_catalogue

from shoal.cli import program
from shoal.messages import language

COLUMNS = {"age", "town", "ill", "flu", "gout", "asthma", "north", "south"}
NAMES = {
    *("d.csv", "safe.csv", "safe.shoal", "c.json", "job.toml", "h.csv", "shoal", "anonymize"),
    *("auto", "ncp", "lm", "dm", "mi", "pmi", "cm", "average-class-size", "suppression", "kl"),
    *(
        "entropy-diversity",
        "k-anonymity",
        "l-diversity",
        "SHA-256",
        "k",
        "distinct",
        "job",
        "Total",
    ),
}
ROLES = ("--qi", "age,town", "--sensitive", "ill", "--seed", "1")
SAFE = ("--k", "3", "--qi", "age,town", "--sensitive", "ill")


@pytest.fixture
def wide(tmp_path, monkeypatch):
    """German, spoken in wide letters, and a table in the present folder."""
    write_catalogue(tmp_path / "languages")
    monkeypatch.setattr(language, "_FOLDER", tmp_path / "languages")
    monkeypatch.chdir(tmp_path)
    rows = [
        f"{20 + 7 * n % 60},{('north', 'south')[n % 2]},{('flu', 'gout', 'asthma')[n % 3]}"
        for n in range(48)
    ]
    (tmp_path / "d.csv").write_text("\n".join(["age,town,ill", *rows]) + "\n", encoding="utf-8")
    forget_languages()
    program._commands.cache_clear()
    yield "--language=de"
    forget_languages()
    program._commands.cache_clear()


def left_in_english(outcome):
    return plain_words(outcome.out + outcome.err, COLUMNS | NAMES)


def test_every_word_that_commands_print_comes_from_the_catalogue(shoal_runs, wide):
    more = ("--l-diversity", "2", "--l-kind", "distinct", "--save", "safe.shoal")
    for arguments, status in (
        (("anonymize", "d.csv", "--k", "3", *ROLES, "--dry-run"), 0),
        (
            (
                "anonymize",
                "d.csv",
                "-o",
                "safe.csv",
                "--certificate",
                "c.json",
                *ROLES,
                "--k",
                "3",
                *more,
            ),
            0,
        ),
        (("verify", "safe.csv", *SAFE), 0),
        (("verify", "safe.csv", "--certificate", "c.json"), 0),
        (("verify", "safe.csv", "--k", "40", "--qi", "age,town"), 1),
        (("score", "d.csv", "safe.csv", "--qi", "age,town", "--sensitive", "ill"), 0),
        (("audit", "d.csv", "safe.csv", "--qi", "age,town", "--sensitive", "ill"), 0),
        (("utility", "d.csv", "safe.csv", "--qi", "age,town", "--sensitive", "ill"), 0),
        (("explain", "d.csv", "--k", "3", *ROLES), 0),
        (("init", "d.csv", "-o", "job.toml", "--yes"), 0),
        (("tabulate", "d.csv", "--by", "town,ill"), 0),
        (("hierarchy", "build", "d.csv", "--column", "age", "-o", "h.csv"), 0),
        (("hierarchy", "check", "h.csv"), 0),
        (("register", "."), 0),
        (("anonymize", "d.csv", "-o", "no.csv", "--k", "100", *ROLES), 1),
        (("anonymize", "d.csv", "-o", "safe.csv", "--k", "3", *ROLES), 2),
    ):
        made = shoal_runs(*arguments, wide)
        assert made.status == status, (arguments, made.err)
        assert left_in_english(made) == [], arguments


def test_json_is_english_in_every_language(shoal_runs, wide):
    shoal_runs("anonymize", "d.csv", "-o", "safe.csv", "--k", "3", *ROLES)
    made = [shoal_runs("verify", "safe.csv", *SAFE, "--json", *more) for more in ((), (wide,))]
    assert json.loads(made[0].out) == json.loads(made[1].out)


def test_help_is_in_the_language_wherever_it_is_said(shoal_runs, wide):
    for arguments in (("verify", "--help", wide), ("verify", "--language", "de", "--help")):
        text = shoal_runs(*arguments).out
        for english in ("published table", "Exit status", "What was promised", "Files"):
            assert english not in text
    assert "published table" in shoal_runs("verify", "--help").out


def test_a_language_that_nobody_has_made_is_refused(shoal_runs, wide):
    made = shoal_runs("measures", "--language", "xx")
    assert made.status == 2
    assert "--language must be one of" in made.err
