"""Each campaign finds its class: a fault is planted, and the checker reports it."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

import shoal
from fuzz import (
    extremes,
    further,
    handmade,
    kept_files,
    linked,
    narrower,
    populations,
    sequences,
    visitors,
)
from fuzz.bytes import Published
from fuzz.counted import miscounted, off_the_grid
from fuzz.further import broken_together
from fuzz.parts import BROKEN, CRASHED, LEAKED, Ran, empty_folder, refuses_its_own
from fuzz.sequences import overclaimed
from fuzz.stories import Chapter, company, joined, lasting_values, learned, shared_values
from fuzz.tables import Case, Column


def verdicts(run, name, count):
    """What became of the first inputs of a campaign."""
    found = []
    for number in range(count):
        with empty_folder() as folder:
            found.append(run(f"{name}:planted:{number}", folder).verdict)
    return found


# Releases over time.


def chapter(told, k=2, ill=None, privacy=()):
    """A table from the group of each person, as "a1 b1 c2"."""
    people = [(each[0], each[1:]) for each in told.split()]
    ills = (ill or "xyz" * len(people))[: len(people)]
    rows = [(group, value) for (_, group), value in zip(people, ills, strict=True)]
    columns = [
        Column("age", "quasi", "numeric", "i64", [int(group) for _, group in people]),
        Column("ill", "sensitive", "", "text", list(ills)),
    ]
    case = Case("", columns, k, privacy=list(privacy))
    return Chapter(case, Published(["age", "ill"], rows), [who for who, _ in people])


DISTINCT = {"name": "l-diversity", "l": 2, "kind": "distinct"}


def test_people_who_are_never_together_are_found():
    chapters = [chapter("a1 b1 c2 d2"), chapter("a1 c1 b2 d2")]
    assert set(company(chapters).values()) == {1}
    assert learned(chapters)


def test_people_who_stay_together_are_no_find():
    chapters = [chapter("a1 b1 c2 d2"), chapter("a5 b5 c5 d5"), chapter("c3 d3")]
    assert company(chapters) == {"a": 2, "b": 2, "c": 2, "d": 2}
    assert learned(chapters) == []


def test_somebody_who_joins_a_group_alone_is_found():
    chapters = [chapter("a1 b1"), chapter("a1 b1 n1")]
    assert joined(chapters)["n"] == 1
    assert any("one past" in each for each in learned(chapters))


def test_a_value_that_only_one_of_a_story_has_is_found():
    first = chapter("a1 b1 c1 d1", ill="xyxy", privacy=[DISTINCT])
    then = chapter("a1 c1", ill="xx")
    assert lasting_values([first, then], "ill") == {"a": 1, "c": 1, "b": 1, "d": 1}
    assert shared_values([first, then], "ill")["a"] == 1
    assert any("story" in each for each in learned([first, then]))


@pytest.mark.parametrize(
    "model",
    [
        DISTINCT,
        {"name": "alpha-k", "alpha": 0.6},
        {"name": "t-closeness", "t": 0.2, "distance": "equal"},
    ],
)
def test_a_later_table_that_undoes_an_earlier_promise_is_found(model):
    first = chapter("a1 b1 c1 d1", ill="xyxy", privacy=[model])
    then = chapter("a1 b2 c1 d2", ill="xyxy")
    assert any("undoes" in each for each in learned([first, then]))


def test_a_later_table_with_a_smaller_k_is_found():
    assert learned([chapter("a1 b1 c1 d1", k=4), chapter("a1 b1 c2 d2", k=2)])


@pytest.mark.parametrize(("says", "wrong"), [(2, False), (3, True)])
def test_a_certificate_that_says_more_than_is_true_is_found(says, wrong):
    chapters = [chapter("a1 b1 c2 d2"), chapter("a1 b1 c1 d1")]
    name = "k-anonymity over 2 releases"
    claim = {"name": name, "promised": 2, "measured": says, "holds": True}
    assert bool(overclaimed(chapters, [claim])) is wrong


def test_releases_that_forget_what_is_out_are_found(monkeypatch):
    honest = shoal.anonymize

    def forgetful(frame, k, **options):
        return honest(frame, k, **options | {"previous": ()})

    monkeypatch.setattr(shoal, "anonymize", forgetful)
    assert BROKEN in verdicts(sequences.run, "sequences", 8)


# Further rows.


def several(rows, privacy):
    """A table from rows of person, group and value."""
    columns = [
        Column("age", "quasi", "numeric", "i64", [int(group) for _, group, _ in rows]),
        Column("ill", "sensitive", "", "text", [value for *_, value in rows]),
    ]
    case = Case("", columns, 2, privacy=privacy)
    published = Published(["age", "ill"], [row[1:] for row in rows])
    return Chapter(case, published, [who for who, *_ in rows])


def test_a_promise_that_holds_in_rows_and_not_in_people_is_found():
    model = {"name": "t-closeness", "t": 0.05, "distance": "equal"}
    old = [("p", "1", "flu")] * 9 + [("q", "1", "gout")]
    new = [(f"n{i}", "2", "flu" if i < 9 else "gout") for i in range(10)]
    assert broken_together([several(old, [model]), several(new, [model])])
    apart = [(f"p{i}", *row[1:]) for i, row in enumerate(old)]
    assert broken_together([several(apart, [model]), several(new, [model])]) == []


def test_further_rows_that_are_published_as_they_are_are_found(monkeypatch):
    honest = shoal.apply

    def careless(frame, release, **options):
        applied = honest(frame, release, **options)
        bare = frame.drop("id").with_columns(pl.col("age").cast(pl.String))
        shown = replace(applied.release, frame=bare.select(applied.frame.columns))
        return replace(applied, release=shown, waiting=frame.clear())

    monkeypatch.setattr(shoal, "apply", careless)
    assert BROKEN in verdicts(further.run, "further", 6)


# Populations.


def town(cells, **options):
    column = Column("town", "quasi", options.pop("kind", "flat"), "text", cells)
    return Case("", [column], 2, options=options)


@pytest.mark.parametrize(
    ("cell", "kind", "fits"),
    [("a", "flat", 2), ("*", "flat", 4), (None, "flat", 1), ("{a, b}", "set", 3)],
)
def test_people_of_a_population_are_counted_by_what_a_cell_covers(cell, kind, fits):
    case = town([None], kind=kind)
    people = [("a",), ("a",), ("b",), (None,)]
    for k in range(1, 6):
        found = miscounted(
            case, Published(["town"], [(cell,)]), people, [1] * 4, {"model": "k-map", "k": k}
        )
        assert bool(found) is (k > fits)


@pytest.mark.parametrize(("most", "wrong"), [(0.49, True), (0.5, False)])
def test_a_chance_to_be_in_the_table_above_its_bound_is_found(most, wrong):
    model = {"model": "delta-presence", "delta_max": most, "delta_min": 0.0}
    shown = Published(["town"], [("a",), ("b",)])
    people = [("a",), ("a",), ("b",), ("b",)]
    assert bool(miscounted(town([None]), shown, people, [1] * 4, model)) is wrong


def test_a_population_that_is_left_out_of_account_is_found(monkeypatch):
    honest = shoal.anonymize

    def unmindful(frame, k, **options):
        return honest(frame, k, **options | {"privacy": ()})

    monkeypatch.setattr(shoal, "anonymize", unmindful)
    assert BROKEN in verdicts(populations.run, "populations", 20)


# Ends of floating point.


@pytest.mark.parametrize(
    ("cell", "grid", "wrong"),
    [
        ("[1e+16 to 1e+17]", "powers of 10", False),
        ("[1e+16 to 9e+16]", "powers of 10", True),
        ("[1e+17 to 1e+18]", "powers of 10", True),
        ("[9007199254740992-18014398509481984]", "powers of 2", True),
        ("[0-72057594037927936]", "powers of 2", False),
        ("[2e+16 to 4e+16]", "2e16", False),
        ("[2e+16 to 5e+16]", "2e16", True),
        ("*", "powers of 10", False),
    ],
)
def test_a_cell_beside_its_value_or_its_lines_is_found(cell, grid, wrong):
    columns = [
        Column("q0", "quasi", "numeric", "f64", [2.5e16]),
        Column("mark", "insensitive", "", "text", ["m"]),
    ]
    case = Case("", columns, 2, options={"grid": {"q0": grid}})
    assert bool(off_the_grid(case, Published(["q0", "mark"], [(cell, "m")]))) is wrong


def test_a_run_that_turns_down_what_it_made_is_found(monkeypatch):
    assert refuses_its_own("The release does not keep its promise, so it is not written: Broken.")
    assert not refuses_its_own("The promise of k-map with k = 3 cannot be kept.")

    def refusing(frame, k, **options):
        del frame, k, options
        message = "The release does not keep its promise, so it is not written: Broken."
        raise shoal.PromiseError(message)

    monkeypatch.setattr(shoal, "anonymize", refusing)
    assert set(verdicts(extremes.run, "extremes", 2)) == {BROKEN}


# Visitors.


@pytest.fixture
def own_sites():
    """Servers of the test alone: what a planted fault leaves in them is no other's."""
    visitors.sites.cache_clear()
    visitors.sites()
    yield
    visitors.sites.cache_clear()


@pytest.mark.usefixtures("own_sites")
def test_pages_without_a_guard_are_found(monkeypatch):
    from shoal.app.access import Guarded

    monkeypatch.setattr(Guarded, "_refusal", lambda *_: None)
    assert LEAKED in verdicts(visitors.run, "visitors", 12)


def test_a_cookie_that_a_browser_sends_to_other_ports_is_found(monkeypatch):
    site = visitors.sites()[0]
    name, value, _ = site.cookies[0]
    monkeypatch.setattr(site, "cookies", [(name, value, "/")])
    assert site.sent_elsewhere("/x") == f"{name}={value}"
    monkeypatch.setattr(site, "cookies", [(name, value, "/secret")])
    assert site.sent_elsewhere("/") == site.sent_elsewhere("/secrets") == ""
    assert site.sent_elsewhere("/secret/x")


@pytest.mark.usefixtures("own_sites")
def test_a_job_that_opens_files_elsewhere_is_found(monkeypatch):
    from shoal.app.workspace import Workspace

    monkeypatch.setattr(Workspace, "may_open", lambda _, name: name)
    assert LEAKED in verdicts(visitors.run, "visitors", 40)


@pytest.mark.parametrize(
    ("job", "names"),
    [
        ('population = "../outside/a.csv"', True),
        ('previous = ["/etc/passwd"]', True),
        ('path = "sqlite:///../outside/a.csv?table=x"', True),
        ('path = "mine.csv"', False),
        ('role = "sensitive"', False),
    ],
)
def test_files_elsewhere_are_seen_in_a_job(tmp_path, job, names):
    root, outside = tmp_path / "files", tmp_path / "outside"
    assert bool(visitors.opened(outside, root, job)) is names


# Files by hand.


@pytest.mark.parametrize(
    ("status", "sort", "strict", "said", "wrong"),
    [
        (0, "plain", False, "", False),
        (1, "plain", False, "", True),
        (0, "apart", False, "", True),
        (1, "apart", False, "", False),
        (0, "beside", False, "", True),
        (0, "beside", False, "a second sheet", False),
        (0, "beside", True, "a second sheet", True),
        (2, "beside", True, "", True),
        (2, "beside", True, "Error: a second sheet.", False),
        (70, "apart", False, "Error: unexpectedly.", True),
    ],
)
def test_an_answer_about_a_file_made_by_hand_is_judged(status, sort, strict, said, wrong):
    ran = Ran(status, b"", said.encode())
    assert bool(handmade.wrong_answer(ran, sort, "sheet", strict=strict)) is wrong


def test_a_release_file_that_ends_in_a_traceback_is_found(monkeypatch):
    import shoal.archive.release_file as module

    def falling_over(*_):
        raise KeyError("cells")

    monkeypatch.setattr(module, "_parsed", falling_over)
    assert CRASHED in verdicts(kept_files.run, "kept", 4)


# Known columns, strata, shuffled cells.


def small_case(rows, k=2, privacy=()):
    """A table of ages, towns and illnesses."""
    ages, towns, ills = zip(*rows, strict=True)
    columns = [
        Column("age", "quasi", "numeric", "i64", list(ages)),
        Column("town", "quasi", "flat", "text", list(towns)),
        Column("ill", "sensitive", "", "text", list(ills)),
    ]
    return Case("", columns, k, options={"algorithm": "auto"}, privacy=list(privacy))


ROWS = [(1, "a", "x"), (1, "a", "y"), (2, "b", "x"), (2, "b", "y")]


def test_a_class_of_known_columns_that_is_too_small_is_found():
    case = small_case(ROWS)
    whole = Published(["age", "town", "ill"], [("1", "a", "x"), ("1", "a", "y"),
                                               ("2", "b", "x"), ("2", "b", "y")])  # fmt: skip
    crossed = Published(whole.names, [("1", "a", "x"), ("1", "b", "y"),
                                      ("2", "b", "x"), ("2", "a", "y")])  # fmt: skip
    assert narrower.miscounted(case, whole, {"knows": 2}) == []
    assert narrower.miscounted(case, crossed, {"combinations": [["age"]]}) != []  # not from rows
    assert any("a class of 1" in each for each in narrower.miscounted(case, crossed, {"knows": 2}))
    told = small_case(ROWS, privacy=[DISTINCT])
    same = Published(whole.names, [("1", "a", "x"), ("1", "a", "x"), *whole.rows[2:]])
    assert any("broken" in each for each in narrower.miscounted(told, same, {"knows": 1}))


def test_a_stratum_that_is_generalised_is_found():
    case = small_case(ROWS)
    wide = Published(["age", "town", "ill"], [("*", "{a, b}", ill) for _, _, ill in ROWS])
    found = narrower.miscounted(case, wide, {"within": "town"})
    assert any("which no row has" in each for each in found)


def test_a_shuffled_group_that_is_too_small_or_holds_a_foreign_cell_is_found():
    case, asked = small_case(ROWS), {"style": {"cells": "shuffled"}}
    names = ["group", "age", "town", "ill"]
    whole = [("1", 1, "a", "x"), ("1", 1, "a", "y"), ("2", 2, "b", "x"), ("2", 2, "b", "y")]
    assert narrower.miscounted(case, Published(names, whole), asked) == []
    alone = [*whole[:3], ("3", 2, "b", "y")]
    assert any("k is 1" in e for e in narrower.miscounted(case, Published(names, alone), asked))
    twice = [*whole[:3], ("2", 1, "b", "y")]
    found = narrower.miscounted(case, Published(names, twice), asked)
    assert any("cells that no row has" in each for each in found)


def test_known_columns_that_are_not_kept_are_found_in_a_run(monkeypatch):
    """The search is given half the k that was asked; its release says so, and is refused."""
    from shoal.search import limited

    real = limited.cells_for

    def lax(table, run, known):
        return real(table, replace(run, k=max(run.k // 2, 1)), known)

    monkeypatch.setattr("shoal.engine.limited.cells_for", lax)
    monkeypatch.setattr("fuzz.narrower.WAYS", ("knows",))
    assert BROKEN in verdicts(narrower.run, "narrower", 12)


# Several tables.

SAID = {
    "t0": {"key": "key", "quasi": ["sex"], "items": ["codes"]},
    "t1": {"key": None, "link": "up", "above": "t0", "quasi": ["ward"], "items": []},
}


def joined_tables(stays):
    people = Published(["key", "sex", "codes"], [(p, "f", "x|y") for p in "abcd"])
    return {"t0": people, "t1": Published(["up", "ward"], stays)}


def test_events_that_too_few_people_have_are_found():
    alike = [(person, ward) for person in "abcd" for ward in "uv"]
    assert linked.miscounted(joined_tables(alike), SAID, 4, 3) == []
    alone = [*alike, ("a", "w")]
    assert linked.miscounted(joined_tables(alone), SAID, 4, 1) == [
        "who knows 1 events finds 1, promised 4"
    ]
    twice = [*alike, ("a", "u")]  # a second stay of one kind
    assert linked.miscounted(joined_tables(twice), SAID, 4, 1) == []
    assert linked.miscounted(joined_tables(twice), SAID, 4, 2) != []
    assert linked.miscounted(joined_tables([*alike, ("z", "u")]), SAID, 2, 1) == [
        "a row of t1 hangs from nothing"
    ]


def test_events_that_are_not_hidden_are_found_in_a_run(monkeypatch):
    """The search of events is given half the k; verification refuses what it made."""
    from shoal.search import events

    real = events.find_types

    def lax(tables, labels, *, k, **more):
        return real(tables, labels, k=max(k // 2, 1), **more)

    monkeypatch.setattr("shoal.search.events.find_types", lax)
    assert BROKEN in verdicts(linked.run, "linked", 12)


def test_a_name_that_is_written_is_found(monkeypatch):
    """Names are taken for what may be published."""
    real = linked._job

    def kept(*given):
        return real(*given).replace('role = "identifier"', 'role = "insensitive"')

    monkeypatch.setattr("fuzz.linked._job", kept)
    assert LEAKED in verdicts(linked.run, "linked", 3)
