"""Advice on the page: everything that recommends a change has a button that does it."""

import re
from dataclasses import asdict
from html import unescape

import polars as pl
import pytest
from tests.helpers.app_people import people

import shoal
from shoal.app.runs import changed_column, differences, history_of
from shoal.messages.language import Language
from shoal.settings.job import JobColumn
from shoal.study import findings
from shoal.study.findings import Advice
from shoal.study.trials import KINDS

MOODS = ["awful", "bad", "fair", "good", "great", "superb"]
GRADES = ["1", "2", "3", "4", "5", "6"]
N = 240


@pytest.fixture(scope="module")
def table():
    """People of whom every kind of change can be tried."""
    numbers = pl.int_range(N, eager=True)
    far = (numbers % 97 == 0).cast(pl.Int64) * 10_000_000
    return people(N).with_columns(
        mood=pl.Series([MOODS[(5 * n + n // 7) % 6] for n in range(N)]),
        grade=1 + (numbers * 11 + numbers // 5) % 6,
        income=20_000 + 10 * ((numbers * 37) % 199) + far,
    )


@pytest.fixture(scope="module")
def columns():
    quasi = {
        "age": {},
        "zip": {"hierarchy": {"rule": "prefix", "keep": [3], "length": 5}},
        "job": {"kind": "flat"},
        "mood": {"kind": "ordinal", "order": MOODS},
        "grade": {"kind": "ordinal", "order": GRADES},
        "income": {"kind": "numeric"},
    }
    return {
        "name": JobColumn(role="identifier"),
        **{name: JobColumn(role="quasi-identifier", **said) for name, said in quasi.items()},
        "illness": JobColumn(role="sensitive"),
    }


@pytest.fixture
def opened(pages, table, columns):
    table.write_csv(pages.work.root / "people.csv")
    pages.open_file("people.csv")
    pages.work.update(k=4, algorithm="mondrian", seed=3, columns=columns, privacy=None)
    pages.post("/run/answer", {"answer": "without:illness"}, script=False)
    return pages


def run(pages):
    pages.post("/run", {"suffix": "csv"}, script=False)
    pages.wait("run")
    return history_of(pages.work)[0]


def all_advice(pages, table):
    """Everything that could be recommended for this table, whether it is worth it or not."""
    found = shoal.explain(table, workers=1, **pages.work.job.arguments())
    changes = [
        Advice(sentence=each.sentence, settings=each.settings, change=each.what)
        for each in found.changes
    ]
    findings = [
        Advice(sentence=each.sentence, settings=each.settings, change=each.change)
        for each in found.findings
    ]
    return [*found.to_do, *changes, *findings, *found.further]


def items(page):
    """Return what stands beside each sentence of the page: a place to post to, or a reason."""
    found, advice = {}, page.partition('<ul class="advice">')[2].partition("</ul>")[0]
    for item in re.findall(r'<li><span lang="en">(.*?)</li>', advice, re.DOTALL):
        action = re.search(r'action="/[\w-]{43}(/run/\w+/apply/\d+)"', item)
        why = re.search(r'no-button">([^<]+)<', item)
        sentence = unescape(item.partition("</span>")[0])
        found[sentence] = (action and action[1], why and why[1])
    return found


def test_advice_of_every_kind_has_a_button_that_runs_again(opened, table, monkeypatch):
    for name, value in (("_MANY_LEAVES", 2), ("_WIDE", 1), ("_FEWER", 2.0)):
        monkeypatch.setattr(findings, name, value)  # the small tree counts as a wide one
    made = run(opened)
    advice = all_advice(opened, table)
    assert {each.change for each in advice} - {""} == set(KINDS), "a kind that nobody has tried"
    opened.work.keep(
        "explained",
        {
            "run": made.id,
            "advice": [asdict(each) for each in advice],
            "n_to_do": len(advice),
            "n_tried": N,
            "n_rows": N,
            "loss": made.loss,
        },
    )
    english = [each.sentence for each in advice if not Language("de").knows(each.sentence)]
    assert english == [], "advice that is not German on a German page"
    shown = items(opened.get(f"/run?run={made.id}").text)
    assert set(shown) == {each.sentence for each in advice}
    buttons = {}
    for each in advice:
        action, why = shown[each.sentence]
        assert (action is None) is (why is not None), each.sentence
        if action is None:
            assert each.change == "", f"no button for {each.change}"
            assert not each.settings
        else:
            names = tuple(each.settings.get("columns", ()))
            buttons.setdefault((each.change, names if each.change == "coarsen" else ()), action)
    assert {change for change, _ in buttons} == set(KINDS)
    assert {names for change, names in buttons if change == "coarsen"} == {
        ("age",), ("grade",), ("income",), ("mood",), ("zip",),
    }  # fmt: skip
    for (change, _), action in buttons.items():
        n_before = len(history_of(opened.work))
        assert opened.post(action, script=False).headers["location"] == "/run"
        opened.wait("run")
        latest, *before = history_of(opened.work)
        assert len(before) == n_before, change
        assert differences(made, latest), change


def test_what_recommends_no_change_is_not_applied_and_says_why(opened):
    made = run(opened)
    before = opened.work.job
    told = {"sentence": "Leave it as it is.", "settings": {}, "change": ""}
    about = {"n_to_do": 1, "n_tried": N, "n_rows": N, "loss": 0.5}
    opened.work.keep("explained", {"run": made.id, "advice": [told], **about})
    answer = opened.post(f"/run/{made.id}/apply/0")
    assert answer.status_code == 400
    assert answer.json()["error"] == "There is nothing to apply."
    assert opened.work.job == before


@pytest.mark.parametrize(
    ("column", "said"),
    [("zip", {"grid": "level 1"}), ("mood", {"grid": 2}), ("grade", {"grid": 2})],
)
def test_the_button_of_a_coarser_column_publishes_it_that_coarsely(opened, table, column, said):
    run(opened)
    (coarser,) = [
        each
        for each in all_advice(opened, table)
        if each.change == "coarsen" and list(each.settings["columns"]) == [column]
        and each.sentence.startswith("Publishing")
    ]  # fmt: skip
    assert coarser.settings == {"columns": {column: said}}
    made = history_of(opened.work)[0]
    told = {"sentence": coarser.sentence, "settings": coarser.settings, "change": "coarsen"}
    about = {"n_to_do": 1, "n_tried": N, "n_rows": N, "loss": 0.5}
    opened.work.keep("explained", {"run": made.id, "advice": [told], **about})
    before = opened.work.job.columns[column]
    opened.post(f"/run/{made.id}/apply/0", script=False)
    opened.wait("run")
    after = opened.work.job.columns[column]
    assert (after.hierarchy, after.order) == (before.hierarchy, before.order)
    assert after.grid == said["grid"]
    release = shoal.anonymize(table, **opened.work.job.arguments())
    assert f"grid of {column!r}" in [check.name for check in release.verification.checks]
    finest = {"zip": r"\d{3}\*\*|\*+", "mood": r"\[(awful|fair|great)-(bad|good|superb)\]"}
    finest["grade"] = r"\[[135]-[246]\]"
    assert all(re.fullmatch(finest[column], cell) for cell in release.frame[column])


def test_how_fine_a_column_may_be_is_seen_and_chosen_on_its_page(opened):
    numbers = {name: n for n, name in enumerate(opened.work.table.frame.columns)}
    for name, hold, offered, how in (
        ("zip", "level 1", "level 1", "no finer than level 1"),
        ("mood", "3", "5 neighbours together", "3 neighbours together"),
    ):
        place = f"/hierarchies/{numbers[name]}"
        assert offered in opened.get(place).text
        opened.post(f"{place}/use", {"method": "hold", "hold": hold}, script=False)
        assert str(opened.work.job.columns[name].grid) == hold
        assert how in opened.get(place).text
        opened.post(f"{place}/use", {"method": "hold", "hold": "9"}, script=False)
        assert str(opened.work.job.columns[name].grid) == hold  # does not fit
        opened.post(f"{place}/use", {"method": "hold", "hold": "none"}, script=False)
        assert opened.work.job.columns[name].grid is None


def test_a_level_stays_while_its_tree_has_it_and_goes_with_it(columns):
    zips = changed_column(columns["zip"], grid="level 1")
    assert zips.hierarchy == columns["zip"].hierarchy
    assert changed_column(zips, hierarchy=None).grid is None
    assert changed_column(zips, hierarchy=zips.hierarchy).grid is None
    assert changed_column(zips, hierarchy=zips.hierarchy, grid="level 1").grid == "level 1"
    mood = changed_column(columns["mood"], grid=2)
    assert mood.order == columns["mood"].order
    assert changed_column(mood, kind="flat").grid is None
