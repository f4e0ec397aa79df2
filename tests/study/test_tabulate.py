"""Tables of counts: what is hidden cannot be worked out, found by trying all tables there are."""

import itertools
import random

import numpy as np
import polars as pl
import pytest
from tests.helpers.effort import share

import shoal
from shoal.errors import DataError, OptionError, PromiseError, RoleError
from shoal.study.count_bounds import HIDDEN, CountBounds, RoundingRule, too_narrow
from shoal.study.tabulate import COUNT, STAR, TOTAL, count_rule, parse_counts, read_counts

# -- an oracle: every table that could have been counted, one after the other ---------------------


def shown_as(count, minimum, base):
    """What is printed for a count that is not hidden."""
    return count if base == 1 else ((count + base / 2) // 1) // base * base


def could_be(count, shown, minimum, base):
    """Whether a reader who sees this number must think this count possible."""
    if shown == HIDDEN:
        return count >= 1
    if 0 < count < minimum:
        return False
    return int(shown_as(count, minimum, base)) == shown


def all_tables(shown, minimum, base, candidates):
    """Yield each table of counts, as a mapping from line to count, that fits to what is shown."""
    sizes = [size - 1 for size in shown.shape]
    inner = list(itertools.product(*map(range, sizes)))
    lines_of = [list(itertools.product(*zip(place, sizes, strict=True))) for place in inner]
    last = {line: number for number, lines in enumerate(lines_of) for line in lines}
    table = dict.fromkeys(last, 0)

    def fill(number):
        if number == len(inner):
            yield dict(table)
            return
        for count in candidates(inner[number]):
            for line in lines_of[number]:
                table[line] += count
            # a line to which nothing more is added is complete
            done = [line for line in lines_of[number] if last[line] == number]
            if all(could_be(table[line], shown[line], minimum, base) for line in done):
                yield from fill(number + 1)
            for line in lines_of[number]:
                table[line] -= count

    yield from fill(0)


def possible_by_trying(shown, minimum, base, candidates):
    """Return the set of counts that are possible for each hidden line, with these in its cells."""
    found = {}
    for table in all_tables(shown, minimum, base, candidates):
        for line, number in table.items():
            if shown[line] == HIDDEN:
                found.setdefault(line, set()).add(number)
    return found


def frame_of(inner):
    lines = [
        [f"v{at}" for at in place]
        for place, number in np.ndenumerate(inner)
        for _ in range(int(number))
    ]
    random.Random(1).shuffle(lines)
    return pl.DataFrame(lines, schema=[f"c{n}" for n in range(inner.ndim)], orient="row")


SHAPES = [(2, 2), (2, 3), (4,), (2, 2, 2)]


@pytest.mark.parametrize("seed", range(share(40, 6)))
@pytest.mark.parametrize("base", [1, 3])
@pytest.mark.parametrize("shape", SHAPES)
def test_for_every_hidden_line_as_many_numbers_are_possible_as_the_minimum(shape, base, seed):
    rng = np.random.default_rng(seed)
    inner = rng.choice([0, 1, 2, 3, 5, 8], size=shape, p=[0.2, 0.15, 0.15, 0.2, 0.15, 0.15])
    inner.flat[0] += 4  # somebody is there
    frame = frame_of(inner)
    table = shoal.tabulate(frame, frame.columns, minimum=3, round_to=base)
    # three possible numbers are found near what was counted, or not at all
    near = 2 if inner.size > 6 else 3

    def candidates(place):
        return range(max(inner[place] - near, 0), inner[place] + near + 1)

    possible = possible_by_trying(table.shown, 3, base, candidates)
    for line in map(tuple, np.argwhere(table.shown == HIDDEN)):
        assert len(possible[line]) >= 3, (line, table.shown)
    assert not np.any((table.shown > 0) & (table.shown < 2))


@pytest.mark.parametrize("seed", range(share(60, 10)))
@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (1, 2, 2)])
def test_bounds_are_those_of_trying_all_tables(shape, seed):
    rng = np.random.default_rng(100 + seed)
    counts = rng.integers(0, 4, size=shape)
    for axis in range(counts.ndim):
        counts = np.concatenate([counts, counts.sum(axis=axis, keepdims=True)], axis=axis)
    shown = np.where(
        (counts > 0) & ((counts < 3) | (rng.random(counts.shape) < 0.4)), HIDDEN, counts
    )
    shown.flat[-1] = counts.flat[-1]  # the number of all people bounds every other
    bounds, rule = CountBounds(shown, RoundingRule(3)), RoundingRule(3)
    largest = int(counts.flat[-1])
    possible = possible_by_trying(shown, 3, 1, lambda _: range(largest + 1))
    for line, numbers in possible.items():
        assert bounds.of(line) == (min(numbers), max(numbers))
    narrow = {line for line, numbers in possible.items() if max(numbers) - min(numbers) < 2}
    assert set(too_narrow(shown, rule)) == narrow


def test_a_small_number_that_follows_from_its_total_is_found():
    # 20 people, 18 of them in the other cell: two are left, whatever is hidden
    shown = np.array([[18, HIDDEN, 20], [15, 12, 27], [33, HIDDEN, 47]])
    assert too_narrow(shown, RoundingRule(5)) == [(0, 1), (2, 1)]
    table = shoal.CountTable(("a", "b"), (("x", "y"), ("u", "v")), shown, RoundingRule(5))
    with pytest.raises(PromiseError, match=r"2 hidden numbers .* fewer than 5"):
        table.verify()


def test_a_small_number_that_is_shown_is_found():
    table = shoal.CountTable(("a",), (("x", "y"),), np.array([3, 17, 20]), RoundingRule(5))
    with pytest.raises(PromiseError, match="below its minimum"):
        table.verify()


def test_numbers_that_contradict_each_other_are_an_error():
    shown = np.array([[HIDDEN, 10, 12], [HIDDEN, 10, 30], [5, 20, 42]])
    with pytest.raises(DataError, match="contradict"):
        too_narrow(shown, RoundingRule(3))


def test_totals_hide_nothing_where_nothing_is_small():
    frame = frame_of(np.array([[10, 20], [30, 40]]))
    table = shoal.tabulate(frame, ["c0", "c1"])
    assert table.n_hidden == 0
    assert dict(zip(table.frame["c0"] + table.frame["c1"], table.frame[COUNT], strict=True)) == {
        "v0v0": 10,
        "v0v1": 20,
        f"v0{TOTAL}": 30,
        "v1v0": 30,
        "v1v1": 40,
        f"v1{TOTAL}": 70,
        f"{TOTAL}v0": 40,
        f"{TOTAL}v1": 60,
        f"{TOTAL}{TOTAL}": 100,
    }


def test_zero_is_shown_and_never_hidden():
    inner = np.array([[0, 4, 30], [25, 0, 40], [12, 33, 0]])
    frame = frame_of(inner)
    table = shoal.tabulate(frame, ["c0", "c1"])
    assert np.array_equal(table.shown[:3, :3][inner == 0], [0, 0, 0])
    assert table.n_hidden >= 4


def test_rounded_numbers_are_the_nearest_multiples():
    frame = frame_of(np.array([[12, 13], [22, 18]]))
    table = shoal.tabulate(frame, ["c0", "c1"], round_to=5)
    assert table.shown.tolist() == [[10, 15, 25], [20, 20, 40], [35, 30, 65]]


@pytest.mark.parametrize("base", [1, 2, 5, 10])
def test_the_range_of_a_shown_number_holds_what_rounds_to_it(base):
    rule = RoundingRule(4, base)
    for shown in range(0, 41, base):
        least, most = rule.range_of(shown)
        there = [n for n in (0, *range(4, 60)) if int(rule.shown(np.array(n))) == shown]
        if there:
            assert (least, most) == (min(there), max(there))


def test_what_is_written_is_what_is_read():
    frame = frame_of(np.array([[3, 14, 30], [25, 8, 40], [12, 33, 6]]))
    table = shoal.tabulate(frame, ["c0", "c1"])
    again = parse_counts(table.to_csv(), ["c0", "c1"], table.rule)
    assert np.array_equal(again.shown, table.shown)
    assert again.levels == table.levels
    mixed = table.frame.with_columns(pl.col(COUNT).cast(pl.String).fill_null(STAR)).sample(
        fraction=1.0, shuffle=True, seed=3
    )
    read_counts(mixed, ["c0", "c1"], table.rule).verify()


def test_the_order_of_rows_changes_nothing():
    frame = frame_of(np.array([[3, 14, 30], [25, 8, 40], [12, 33, 6]]))
    table = shoal.tabulate(frame, ["c0", "c1"])
    other = shoal.tabulate(frame.sample(fraction=1.0, shuffle=True, seed=5), ["c0", "c1"])
    assert table.to_csv() == other.to_csv()


def test_values_are_in_the_order_of_their_numbers_and_missing_ones_last():
    frame = pl.DataFrame({"age": ["[9 to 10]", None, "[10 to 12]", "[100 to 120]"] * 10})
    assert shoal.tabulate(frame, "age").levels == (
        ("[9 to 10]", "[10 to 12]", "[100 to 120]", "(missing)"),
    )


def test_frames_of_other_libraries_are_counted():
    frame = frame_of(np.array([[10, 20], [30, 40]]))
    assert shoal.tabulate(frame.to_pandas(), "c0").shown.tolist() == [30, 70, 100]


@pytest.mark.parametrize(
    ("by", "options", "error", "says"),
    [
        (["c9"], {}, RoleError, "no column 'c9'"),
        ([], {}, OptionError, "one to 4 different columns"),
        (["c0", "c0"], {}, OptionError, "different columns"),
        (["c0"], {"minimum": 1}, OptionError, "minimum must be a whole number of at least 2"),
        (["c0"], {"minimum": 2.5}, OptionError, "minimum"),
        (["c0"], {"round_to": 0}, OptionError, "round_to"),
    ],
)
def test_wrong_options_are_refused_in_a_sentence(by, options, error, says):
    with pytest.raises(error, match=says):
        shoal.tabulate(frame_of(np.array([[10, 20], [30, 40]])), by, **options)


def test_tables_that_cannot_be_counted_are_refused():
    with pytest.raises(DataError, match="no rows"):
        shoal.tabulate(pl.DataFrame({"a": pl.Series([], dtype=pl.String)}), "a")
    with pytest.raises(DataError, match="leave totals out"):
        shoal.tabulate(pl.DataFrame({"a": ["x", TOTAL]}), "a")
    with pytest.raises(OptionError, match="rename yours"):
        shoal.tabulate(pl.DataFrame({COUNT: ["x"]}), COUNT)
    many = pl.DataFrame({"a": range(30_000)})
    with pytest.raises(OptionError, match="more than 20000 lines"):
        shoal.tabulate(many, "a")


@pytest.mark.parametrize(
    ("csv", "says"),
    [
        ("a,b\nx,1\n", "has the columns"),
        ("a,count\nx,1\n", "one line for each combination"),
        ("a,count\nx,-3\nTotal,4\n", "neither a whole number"),
    ],
)
def test_what_is_no_table_of_counts_is_refused(csv, says):
    with pytest.raises(DataError, match=says):
        parse_counts(csv, ["a"], count_rule(10, 1))


# -- people who have several rows ------------------------------------------------------------------


def visits(seed, n=60):
    chance = random.Random(seed)
    return [
        (f"p{who}", ward, sex)
        for who in range(n)
        for sex in [chance.choice("FM")]
        for ward in chance.choices(["a", "b", "c"], [5, 3, 1], k=chance.randint(1, 4))
    ]


@pytest.mark.parametrize("seed", range(8))
def test_people_count_once_in_a_line_and_lines_about_few_of_them_are_hidden(seed):
    rows = visits(seed)
    frame = pl.DataFrame(rows, ["who", "ward", "sex"], orient="row")
    table = shoal.tabulate(frame, ["ward", "sex"], minimum=8, person="who")
    lines = {(ward, sex): set() for ward in ["a", "b", "c", TOTAL] for sex in ["F", "M", TOTAL]}
    pairs = dict.fromkeys(lines, 0)
    for who, ward, sex in {*rows}:
        for line in itertools.product((ward, TOTAL), (sex, TOTAL)):
            lines[line].add(who)
            pairs[line] += 1
    for ward, sex, count in table.frame.rows():
        people = len(lines[ward, sex])
        if count is not None:
            assert count == pairs[ward, sex]
        if 0 < people < 8:
            assert count is None, (ward, sex, people)
    several = [who for who in lines[TOTAL, TOTAL] if len({w for p, w, _ in rows if p == who}) > 1]
    assert (table.n_people, table.n_in_several) == (60, len(several))
    assert several
    table.verify()
    turned = frame.sample(fraction=1.0, shuffle=True, seed=3)
    again = shoal.tabulate(turned, ["ward", "sex"], minimum=8, person="who")
    assert again.to_csv() == table.to_csv()


def test_many_rows_of_few_people_are_few_people():
    frame = pl.DataFrame({"who": [n % 4 for n in range(40)], "ward": ["x"] * 40})
    assert shoal.tabulate(frame, "ward").n_hidden == 0
    assert shoal.tabulate(frame, "ward", person="who").n_hidden == 2
    own = frame.with_columns(who=pl.int_range(pl.len()))
    assert shoal.tabulate(own, "ward", person="who").shown.tolist() == [40, 40]
    unknown = frame.with_columns(who=pl.lit(None, dtype=pl.String))
    assert shoal.tabulate(unknown, "ward", person="who").n_hidden == 2


def test_a_total_of_enough_pairs_and_too_few_people_is_hidden():
    rows = [(f"p{n}", ward) for n in range(6) for ward in "ab"]
    frame = pl.DataFrame(rows, ["who", "ward"], orient="row")
    table = shoal.tabulate(frame, "ward", minimum=8, person="who")
    assert table.shown.tolist() == [HIDDEN] * 3  # the total would be 12, and tells of 6


# -- whole numbers -----------------------------------------------------------------------------


def test_bounds_are_whole_where_corners_are_not():
    optimize = pytest.importorskip("scipy.optimize")
    rng = np.random.default_rng(2)
    halves = 0
    for _ in range(share(40, 12)):
        inner = rng.integers(1, 4, size=(3, 3, 3))
        counts = inner
        for axis in range(3):
            counts = np.concatenate([counts, counts.sum(axis=axis, keepdims=True)], axis=axis)
        shown = counts.copy()
        shown[:3, :3, :3] = HIDDEN
        shown[3, 3, :3] = HIDDEN
        rows, ends = [], []
        for line in np.ndindex(shown.shape):
            if max(line) == 3 and shown[line] != HIDDEN:
                inside = [
                    all(t in (3, p) for p, t in zip(place, line, strict=True))
                    for place in np.ndindex(3, 3, 3)
                ]
                rows.append(np.array(inside, float))
                ends.append(shown[line])
        equal = optimize.LinearConstraint(np.array(rows), ends, ends)
        bounds = CountBounds(shown, RoundingRule(3))
        for place in [(0, 0, 0), (1, 2, 0), (2, 1, 1)]:
            cost = np.array([float(each == place) for each in np.ndindex(3, 3, 3)])
            found = [
                optimize.milp(
                    sign * cost,
                    constraints=equal,
                    integrality=np.ones(27),
                    bounds=optimize.Bounds(1, np.inf),
                )
                for sign in (1, -1)
            ]
            wanted = tuple(float(round(abs(each.fun))) for each in found)
            assert bounds.of(place) == wanted
        halves += bounds._in_whole_numbers is not None
    assert halves  # or nothing was tried
