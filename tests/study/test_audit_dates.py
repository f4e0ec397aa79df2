"""Attacks on moved dates find what an attacker finds who tries every offset in turn."""

import random
from datetime import date, timedelta

import polars as pl
import pytest

import shoal

BEGIN = date(2024, 1, 1)


def visits(n_people, seed):
    """Few people with up to three visits in a month, so that several fit by chance."""
    chance, rows = random.Random(seed), []
    for who in range(n_people):
        for _ in range(chance.randint(1, 3)):
            day = BEGIN + timedelta(chance.randrange(30))
            rows.append((who, "FM"[who % 2], day, day + timedelta(chance.randrange(3))))
    return pl.DataFrame(rows, ["id", "sex", "admitted", "left"], orient="row")


def release_of(frame, how, **more):
    with pytest.warns(shoal.ShoalWarning):
        return shoal.anonymize(
            frame,
            k=3,
            quasi_identifiers="sex",
            insensitive=["admitted", "left"],
            person="id",
            dates={"admitted": how, "left": how},
            algorithm="mondrian",
            **more,
        )


def people_of(frame):
    """By person: the visits, as (sex, admitted, left)."""
    found = {}
    for who, *visit in frame.rows():
        found.setdefault(who, []).append(tuple(visit))
    return {who: each for who, each in found.items() if 2 * len(each) >= 2}


def mean(numbers):
    return pytest.approx(sum(numbers) / len(numbers))


@pytest.mark.parametrize(
    ("how", "step", "most"), [("shift 30 days", 1, 30), ("shift 4 weeks", 7, 28)]
)
def test_one_known_date_leaves_the_rows_that_an_offset_can_bring_there(how, step, most):
    frame = visits(30, 1)
    release = release_of(frame, how)
    published = release.frame.select("sex", "admitted").rows()
    chances, blind = [], []
    for sex, day in frame.select("sex", "admitted").rows():
        rows = [there for here, there in published if here == sex]
        apart = [(there - day).days for there in rows]
        near = [each for each in apart if each and abs(each) <= most and each % step == 0]
        chances.append(1 / len(near))
        blind.append(1 / len(rows))
    found = release.audit(frame)["dates: one date known"]
    assert found.rate == mean(chances)
    assert found.baseline == mean(blind)
    assert found.worst == pytest.approx(max(chances))
    assert found.n == frame.height


def test_known_intervals_leave_the_places_where_all_visits_fit_at_once():
    frame = visits(30, 2)
    release = release_of(frame, "shift 60 days")
    published = set(release.frame.select("sex", "admitted", "left").rows())
    firsts = set(release.frame.select("sex", "admitted").rows())
    chances, blind = [], []
    for known in people_of(frame).values():
        offsets = [timedelta(each) for each in range(-200, 200)]
        fit = [o for o in offsets if all((s, a + o, b + o) in published for s, a, b in known)]
        alone = [o for o in offsets if (known[0][0], known[0][1] + o) in firsts]
        chances.append(1 / len(fit))
        blind.append(1 / len(alone))
    found = release.audit(frame)["dates: days between them known"]
    assert found.rate == mean(chances)
    assert found.baseline == mean(blind)
    assert 0 <= found.low <= found.rate <= found.high <= 1


@pytest.mark.parametrize("how", ["shift 60 days", "since first"])
def test_with_pseudonyms_whole_people_are_compared(how):
    frame = visits(40, 3)
    release = release_of(frame, how, pseudonyms=True)
    by_name = {}
    for name, *row in release.frame.select("id", "sex", "admitted", "left").rows():
        by_name.setdefault(name, set()).add(tuple(row))
    first = {w: min(a for _, a, _ in each) for w, each in people_of(frame).items()}
    chances, blind = [], []
    for who, known in people_of(frame).items():
        if how == "since first":
            days = [(s, (a - first[who]).days, (b - first[who]).days) for s, a, b in known]
            fit = [n for n, rows in by_name.items() if set(days) <= rows]
        else:
            offsets = [timedelta(each) for each in range(-200, 200)]
            fit = [
                n
                for n, rows in by_name.items()
                if any(all((s, a + o, b + o) in rows for s, a, b in known) for o in offsets)
            ]
        chances.append(1 / len(fit))
        blind.append(1 / sum(known[0][0] in {row[0] for row in rows} for rows in by_name.values()))
    name = (
        "dates: days between them known"
        if how != "since first"
        else "dates: days since the first known"
    )
    found = release.audit(frame)[name]
    assert found.rate == mean(chances)
    assert found.baseline == mean(blind)
    assert found.rate > 3 * found.baseline


def test_days_since_the_first_leave_the_rows_with_the_same_days():
    frame = visits(30, 4)
    release = release_of(frame, "since first")
    published = release.frame.select("sex", "admitted", "left").rows()
    chances = []
    for known in people_of(frame).values():
        first = min(a for _, a, _ in known)
        left = [
            sum(row == (s, (a - first).days, (b - first).days) for row in published)
            for s, a, b in known
        ]
        chances.append(1 / min(left))
    found = release.audit(frame)["dates: days since the first known"]
    assert found.rate == mean(chances)
    assert found.rate > found.baseline


def test_generalised_dates_tell_less_than_exact_ones():
    frame = visits(60, 5)
    exact = release_of(frame, "shift 60 days").audit(frame)["dates: days between them known"]
    with pytest.warns(shoal.ShoalWarning):
        release = shoal.anonymize(
            frame, k=3, quasi_identifiers=["sex", "admitted", "left"], person="id",
            dates={"admitted": "shift 60 days", "left": "shift 60 days"}, algorithm="mondrian",
        )  # fmt: skip
    coarse = release.audit(frame)["dates: days between them known"]
    assert coarse.rate < exact.rate


def test_those_who_know_other_columns_are_given_no_moved_dates_and_a_note_says_so():
    frame = visits(30, 6)
    audit = release_of(frame, "shift").audit(frame)
    assert "linkage: prosecutor, 1 of 1 columns" in audit
    assert any("offsets that nobody knows" in note for note in audit.notes)
    from_tables = shoal.audit(
        frame,
        release_of(frame, "shift 60 days").frame,
        quasi_identifiers="sex",
        person="id",
        dates={"admitted": "shift 60 days", "left": "shift 60 days"},
    )
    assert "dates: one date known" in from_tables
    assert "dates: days between them known" in from_tables
