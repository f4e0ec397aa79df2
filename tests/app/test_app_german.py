"""What the rooms below say on a German page: advice, checks, times, errors."""

import re
from dataclasses import replace

import polars as pl
import pytest
from tests.helpers.panels import ROLES, panel

from shoal import registry
from shoal.app.views import lead_in, quote, say
from shoal.engine.local import LocalEngine
from shoal.errors import DataError
from shoal.life.rerelease import _says_few_left, _says_given_up
from shoal.messages import Message
from shoal.messages.language import Language
from shoal.privacy import PrivacyModel
from shoal.profile.column_facts import _PERSONAL
from shoal.profile.guess import guess_column
from shoal.profile.repeated_people import find_repeats
from shoal.profile.roles import _SAYS
from shoal.profile.suggest import suggest_job
from shoal.publish.danger import says_nearly_unique
from shoal.publish.judgement import Counted, judge
from shoal.publish.release_data import doubt_of_pseudonyms
from shoal.publish.verification_terms import promises_of
from shoal.publish.verify import WholePromise, people_check, promise_check, size_check, whole_check
from shoal.runtime.progress import Pace
from shoal.study import findings
from shoal.study.explain import Change, _advise, _sentence
from shoal.study.findings import (
    Advice,
    find_lost,
    find_stretched,
    find_wide,
    price_of,
    told_of_relations,
)
from shoal.study.trials import Trial, TrialResult
from shoal.table.schema import COLUMN_ROWS, Column, Role, Schema, build_schema

GERMAN, ENGLISH = Language("de"), Language("en")
MODELS = {
    "l-diversity": [
        {"l": 3, "kind": "distinct"},
        {"l": 2.5, "kind": "entropy"},
        {"l": 3, "kind": "frequency"},
        {"l": 3, "kind": "recursive", "c": 1.5},
    ],
    "t-closeness": [{"t": 0.25, "distance": each} for each in ("equal", "ordered", "hierarchical")],
    "alpha-k": [{"alpha": 0.5}],
    "beta-likeness": [{"beta": 1.5, "kind": each} for each in ("basic", "enhanced")],
    "delta-disclosure": [{"delta": 0.7}],
    "ke-anonymity": [{"k": 3, "e": 1500}],
    "k-map": [{"k": 1200}],
    "delta-presence": [{"delta_max": 0.4}, {"delta_max": 0.4, "delta_min": 0.01}],
    "population-risk": [
        {"kind": each, "limit": 0.05, "population_size": 10_000}
        for each in ("average", "highest", "uniques")
    ],
}


def in_german(sentence):
    """Return the sentence in German, which it has to have."""
    assert GERMAN.knows(sentence), sentence
    told = GERMAN.translate(sentence)
    assert told != sentence
    assert ENGLISH.translate(sentence) == sentence
    return told


def test_what_was_checked_is_said_in_german_for_every_promise_that_there_is():
    assert set(MODELS) == set(registry.privacy_models())
    for name, tables in MODELS.items():
        for table in tables:
            model = PrivacyModel.from_dict({"model": name, **table})
            if model.about != "groups":
                whole = WholePromise(name, 0.3, model.describe(), None)
                said = whole_check(whole, 0.25, kept=True).sentence
                assert "versprochen 0,3, gemessen 0,25." in in_german(said)
                continue
            (promise,) = promises_of([model])
            for people in (False, True):
                for worst in (2.0, 0.123456, float("inf")):
                    made = promise_check(promise, "it's ill", worst, kept=True, people=people)
                    told = in_german(made.sentence)
                    assert told.startswith("Eingehalten: In jeder Gruppe ")
                    assert '"it\'s ill"' in told


def test_what_was_checked_about_k_is_said_in_german():
    assert in_german(size_check(1200, 1234).sentence) == (
        "Eingehalten: Jede Zeile teilt ihre Quasi-Identifikatoren mit mindestens 1.199 anderen; "
        "die kleinste Gruppe hat 1.234 Zeilen."
    )
    assert "mindestens 1 anderen" in in_german(size_check(2, 2).sentence)
    assert "mindestens 5 verschiedene Personen" in in_german(people_check(5, 7).sentence)


def changed(what, doing, saving, price=0.0, column=None):
    trial = Trial(what, column, doing, None, None, None)
    said = _sentence(trial, saving, price)
    return Change(what=what, column=column, saving=saving, price=price, loss=0.2, sentence=said)


@pytest.mark.parametrize(
    ("saving", "price", "german"),
    [
        (0.1234, 0.05, "bringt in den anderen Spalten 12,3 Punkte Genauigkeit zurück und kostet 5"),
        (0.1234, 0.0, "zurück und kostet nichts in 'zip' selbst."),
        (-0.02, 0.0, "'zip' wegzulassen macht es schlechter: Es kostet 2,0 Punkte mehr."),
        (0.0, 0.0, "'zip' wegzulassen würde nicht helfen: Es bringt 0,0 Punkte zurück."),
    ],
)
def test_what_a_change_does_is_said_in_german(saving, price, german):
    assert german in in_german(
        changed("drop", Message("Dropping {name!r}", name="zip"), saving, price, "zip").sentence
    )


def test_all_that_stands_out_is_said_in_german():
    drop = changed("drop", Message("Dropping {name!r}", name="a"), 0.2, 0.1, "a")
    best = Advice(sentence=drop.sentence)
    for finding in (
        *find_lost({"a": 0.97, "b": 1.0}, {"a": best}),
        told_of_relations(["a", "b and 'c'", "d"], best),
        told_of_relations(["a", "b"], None),
    ):
        assert in_german(finding.sentence)
    assert "'a', 'b' und 'c' folgen" in in_german(told_of_relations("abc", None).sentence)
    column = Column(name="a", role=Role.QUASI_IDENTIFIER)
    before = TrialResult({"a": 0.02}, None, None, Schema((column,)), {"a": 0.4})
    after = replace(before, covered={"a": 0.1})
    who = replace(before, schema=Schema((column, Column(name="p", role=Role.PERSON))))
    for found in (
        find_stretched(before, "a", None, 0.0),
        find_stretched(before, "a", after, 0.0),
        find_stretched(before, "a", after, 0.013),
        find_stretched(who, "a", after, 0.013),
    ):
        assert in_german(found.sentence)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(findings, "wide_trees", lambda _: ("zip",))
        patch.setattr(findings, "_leaves_lost", lambda of: {"zip": of.losses["a"]})
        other = Trial("measure", None, "", None, None, None)
        (found,) = find_wide(before, other, replace(before, losses={"a": 0.0051}))
    assert in_german(found.sentence).endswith("sie für 0,5 %.")
    for changes, loss in (((drop,), 0.2), ((), 0.2), ((), 0.01)):
        for advice in _advise(tuple(replace(each, price=0.3) for each in changes), (), loss):
            assert in_german(advice.sentence)
    promise = Trial(
        "promise",
        None,
        Message("Promising {l} different values of each sensitive column in every group", l=2),
        None, None, None,
    )  # fmt: skip
    for cost in (None, 0.0, 0.021):
        assert in_german(price_of(promise, cost).sentence)


def test_the_time_left_is_said_in_german():
    for rows, german in ((50, "5 Zeilen/s, noch 3:10"), (25_000, "2,5 k Zeilen/s")):
        pace = Pace()
        pace.text(0, 1000, "searching", 0.0)
        assert in_german(pace.text(rows, 1000, "searching", 10.0)) == german


def test_a_sentence_that_nobody_knows_is_marked_as_english():
    attack = "Column '<script>' fails."
    assert not GERMAN.knows(attack)
    assert say(GERMAN, attack) == '<span lang="en">Column &#39;&lt;script&gt;&#39; fails.</span>'
    assert quote(GERMAN, attack) == (
        'Shoal meldet auf Englisch: <q lang="en">Column &#39;&lt;script&gt;&#39; fails.</q>'
    )
    assert quote(ENGLISH, attack) == "Column &#39;&lt;script&gt;&#39; fails."
    dropped = changed("drop", Message("Dropping {name!r}", name="<b>"), 0.01, 0.0, "<b>").sentence
    assert say(GERMAN, dropped).startswith('<span lang="de">&#39;&lt;b&gt;&#39; wegzulassen')
    assert lead_in(ENGLISH) == ""


def test_an_error_on_a_german_page_is_german(pages, patients):
    pages.drop("patients.csv", patients)
    german = {"accept-language": "de"}
    told = pages.post("/promises", {"k": "many"}, headers=german).json()
    assert told == {"error": "k muss eine ganze Zahl sein, nicht 'many'.", "lead": ""}
    english = pages.post("/promises", {"k": "many"}).json()
    assert english == {"error": "k must be a whole number, not 'many'.", "lead": ""}
    pages.post("/promises", {"k": "many"}, script=False, headers=german)
    page = pages.get("/promises", headers=german).text
    assert re.search(r'role="alert">k muss eine ganze Zahl sein[^<]+</p>', page)


def test_an_error_of_another_room_is_german_on_a_german_page(pages, patients):
    pages.drop("patients.csv", patients)
    pages.work.update(k=1000)
    page = pages.get("/promises", headers={"accept-language": "de"}).text
    assert re.search(r'impossible" role="alert">Die Tabelle hat [^<]+k = 1000[^<]+</p>', page)


def test_an_error_without_a_translation_is_introduced_in_german_and_marked_as_english(
    pages, patients, monkeypatch
):
    def refuse(*_, **__):
        raise DataError("A plug-in says no.")

    pages.drop("patients.csv", patients)
    german = {"accept-language": "de"}
    monkeypatch.setattr(LocalEngine, "describe", refuse)
    pages.post("/run", {"suffix": "csv"}, script=False)
    task = pages.app.state.tasks.latest("run")
    assert task.wait(60)
    told = pages.get(f"/task/{task.id}", headers=german).json()
    assert told["lead"] == "Shoal meldet auf Englisch:"
    assert '<q lang="en">A plug-in says no.</q>' in pages.get("/run", headers=german).text
    assert '<q lang="en">' not in pages.get("/run", headers={"accept-language": "en"}).text


def test_every_judgement_has_a_german_sentence():
    known = {"a 'b'": 70, "c": 50}
    exact = ("a 'b'", "c", "d", "e", "f")
    doubts = (
        doubt_of_pseudonyms(),
        _says_given_up("k = 10 (now 2)"),
        _says_few_left(10),
        says_nearly_unique("c"),
        *find_repeats(
            twice := panel(),
            build_schema(
                twice.columns,
                quasi_identifiers=ROLES["quasi_identifiers"],
                sensitive=["sick"],
                drop=["patient"],
            ),
            5,
        ),
    )
    told = [
        judge([], Counted(1000, known, exact, 400), doubts),
        judge([], Counted(1000, {"c": 20}, ("c",), 400, "rows"), doubts),
        judge([], Counted(1000, {}, exact[:2], 400, "rows", with_ids=True)),
        judge([], Counted(1000, {})),
    ]
    for each in told:
        in_german(each.sentence)
        for point in each.open:
            in_german(point.sentence)
    assert in_german(told[3].sentence).startswith("Jede Zusage gilt")


def test_the_reasons_of_guesses_are_in_german(tmp_path):
    numbers = range(300)
    frame = pl.DataFrame(
        {
            "patient_id": [f"P{n:05}" for n in numbers],
            "mail": [f"p{n}@example.org" for n in numbers],
            "alter": [20 + n * 7 % 60 for n in numbers],
            "alter_klasse": ["jung" if n * 7 % 60 < 30 else "alt" for n in numbers],
            "plz": [("20095", "20097", "80331")[n % 3] for n in numbers],
            "aufnahme": [f"{n % 28 + 1:02}.{n % 12 + 1:02}.2023" for n in numbers],
            "gehalt": [20_000 + n * 37 for n in numbers],
            "hba1c": [None if n % 11 == 0 else 4 + n % 90 / 10 for n in numbers],
            "diagnose": [("E11.9", "I10", "J45.0", "F32.1")[n % 4] for n in numbers],
            "kinder": [(0, 1, 2, 3, -9)[n % 5] for n in numbers],
            "leer": [None] * 300,
            "gleich": ["ja"] * 300,
            "q1": [n % 5 + 1 for n in numbers],
            "zz": [n * 31 % 9 for n in numbers],
            "gewicht": [0.5 + n / 100 for n in numbers],
            **{f"merkmal_{each}": [(n // each) % 2 for n in numbers] for each in range(1, 12)},
        }
    )
    path = tmp_path / "t.csv"
    frame.write_csv(path)
    for guess in (*suggest_job(path).columns, *suggest_job(frame).columns):
        in_german(guess.why)
    in_german(guess_column(frame.get_column("zz"), Role.SENSITIVE).why)


def test_every_topic_of_a_reason_has_german_words():
    for words in (*_SAYS.values(), *_PERSONAL):
        in_german(words)


def test_help_of_a_card_is_in_german():
    for row in COLUMN_ROWS.values():
        if row.card:
            assert GERMAN(row.help) != row.help, row.name
