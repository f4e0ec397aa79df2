"""Top and bottom coding: what is published, what it tells, and who finds out if it tells more."""

import datetime as dt
import json
import random
import re

import polars as pl
import pytest

import shoal
from shoal.cli.program import run as run_command
from shoal.publish.coding_check import CodingPromise
from shoal.publish.recode import Style
from shoal.release_reader.classes import open_classes, values_of

TOP, BOTTOM = {"age": 90, "stay": 30, "beds": 7}, {"born": "1934-12-31", "beds": 2}
ROLES = {"quasi_identifiers": ["age", "born", "sex"], "sensitive": ["stay"]}


def table(seed=1, rows=240):
    chance = random.Random(seed)
    day = dt.date(1921, 1, 1)
    return pl.DataFrame(
        {
            "age": [chance.randint(60, 104) for _ in range(rows)],
            "born": [day + dt.timedelta(days=chance.randrange(20_000)) for _ in range(rows)],
            "sex": [chance.choice("FM") for _ in range(rows)],
            "stay": [chance.randint(0, 60) for _ in range(rows)],
            "beds": [chance.randint(1, 9) for _ in range(rows)],
        }
    )


def released(frame, **more):
    options = {"algorithm": "mondrian", "seed": 3, "top": TOP, "bottom": BOTTOM} | more
    return shoal.anonymize(frame, k=5, insensitive="beds", **ROLES, **options)


def meant(cell, values):
    """Return the values that a published cell stands for: a set, by the words of the docs."""
    if cell is None:
        return set()
    read = type(next(iter(values)))
    as_value = dt.date.fromisoformat if read is dt.date else int
    text = str(cell)
    if text == "*":
        return set(values)
    inner = text.strip("[]")
    low, high = inner.split(" to ") if " to " in inner else (inner.split("-", 1) * 2)[:2]
    if read is dt.date and " to " not in inner:
        low = high = inner
    if text[0] != "[":
        low = high = text
    first = None if low.startswith("<=") else as_value(low.removesuffix("+"))
    last = None if high.endswith("+") else as_value(high.removeprefix("<="))
    return {v for v in values if (first is None or v >= first) and (last is None or v <= last)}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("grid", [{}, {"age": 7, "born": "year"}, {"age": "powers of 2"}])
def test_a_cell_allows_all_or_none_of_the_values_beyond_an_end(seed, grid):
    frame = table(seed)
    release = released(frame, grid=grid)
    for name in ("age", "born", "stay", "beds"):
        every = set(frame[name].to_list())
        beyond = [
            {v for v in every if name in TOP and v >= TOP[name]},
            {
                v
                for v in every
                if name in BOTTOM and str(v).rjust(10) <= str(BOTTOM[name]).rjust(10)
            },
        ]
        cells = release.frame[name].to_list()
        for cell in set(cells):
            for values in beyond:
                assert meant(cell, every) & values in (set(), values), (name, cell)


def test_every_row_is_published_in_cells_that_stand_for_its_values():
    frame = table()
    release = released(frame, shuffle=False)
    every = {name: set(frame[name].to_list()) for name in frame.columns}
    rows = [
        row for row, group in zip(frame.rows(named=True), release.groups, strict=True) if group >= 0
    ]
    for row, published in zip(rows, release.frame.rows(named=True), strict=True):
        for name in ("age", "born", "stay", "beds"):
            assert row[name] in meant(published[name], every[name])


def test_ninety_and_more_is_published_as_90_plus_wherever_it_stands_alone():
    frame = table().with_columns(age=pl.lit(97), born=pl.lit(dt.date(1930, 5, 5)))
    release = released(frame)
    assert set(release.frame["age"]) == {"90+"}
    assert set(release.frame["born"]) == {"<=1934-12-31"}
    assert {"30+", "29"} <= set(release.frame["stay"])
    assert set(release.frame["beds"]) == {"<=2", "3", "4", "5", "6", "7+"}


def test_an_interval_that_reaches_an_end_says_so():
    release = released(table())
    reaching = [cell for cell in release.frame["age"] if "90" in cell]
    assert reaching
    assert all(re.fullmatch(r"\[\d\d-90\+\]|90\+", cell) for cell in reaching)


def test_the_bytes_do_not_depend_on_how_far_beyond_an_end_somebody_is(tmp_path):
    near, far = table(), table()
    far = far.with_columns(
        age=pl.when(pl.col("age") >= 90).then(pl.col("age") + 20).otherwise(pl.col("age")),
        stay=pl.when(pl.col("stay") >= 30).then(90 - pl.col("stay")).otherwise(pl.col("stay")),
        beds=pl.when(pl.col("beds") >= 7).then(16 - pl.col("beds")).otherwise(pl.col("beds")),
    )
    files = []
    for number, frame in enumerate((near, far)):
        release = released(frame)
        release.write(tmp_path / f"{number}.csv")
        files.append((tmp_path / f"{number}.csv").read_bytes())
    assert files[0] == files[1]


@pytest.mark.parametrize(
    ("cell", "holds"),
    [
        ("90+", True),
        ("[85-90+]", True),
        ("[18-89]", False),
        ("[19-89]", True),
        ("<=18", True),
        ("[<=18-40]", True),
        ("[<=18-90+]", True),
        ("*", True),
        (None, True),
        (89, True),
        (90, False),
        ("90", False),
        ("93", False),
        ("[85-90]", False),
        ("[85-95]", False),
        ("95+", False),
        ("[85-95+]", False),
        ("[91-90+]", False),
        ("[17-40]", False),
        ("<=12", False),
        ((85, None), True),
        ((90, None), True),
        ((91, None), False),
        ((None, 18), True),
        ((None, 17), False),
        ((None, 90), False),
        ((None, None), True),
        ((20, 95), False),
        ("a person of 97", False),
    ],
)
def test_a_cell_that_tells_more_than_an_end_is_refused(cell, holds):
    assert CodingPromise("age", top="90", bottom="18").holds(cell) is holds


def test_verification_by_hand_finds_a_cell_beyond_the_top():
    release = released(table())
    options = {"k": 5, "quasi_identifiers": ROLES["quasi_identifiers"]}
    assert shoal.verify(release.frame, top=TOP, bottom=BOTTOM, **options)
    told = release.frame.with_columns(beds=pl.Series(["9", *release.frame["beds"][1:].to_list()]))
    found = shoal.verify(told, top=TOP, bottom=BOTTOM, **options)
    assert not found
    assert [check.holds for check in found.checks if "beds" in check.name] == [False]
    assert not shoal.verify(release.frame, top={"age": 80}, **options)


@pytest.mark.parametrize("numeric", ["bounds", "struct", "mean", "median"])
def test_every_style_of_numbers_keeps_the_ends(numeric):
    release = released(table(), style={"numeric": numeric})
    assert release.verification.holds
    if numeric == "bounds":
        assert release.frame["age_high"].max() < 90
        assert release.frame["born_low"].min() > dt.date(1934, 12, 31)
    elif numeric in ("mean", "median"):
        assert release.frame["age"].max() <= 90


def test_promises_about_a_coded_sensitive_column_are_judged_on_what_is_published():
    frame = table()
    release = released(frame, privacy=shoal.TCloseness(0.9, distance="ordered"))
    values = [min(v, 30) for v in frame["stay"].to_list()]
    ranks = sorted(set(values))
    worst = 0.0
    groups = [g for g in set(release.groups.tolist()) if g >= 0]
    for group in groups:
        own = [v for v, g in zip(values, release.groups.tolist(), strict=True) if g == group]
        gone = sum(
            abs(
                sum(v <= rank for v in own) / len(own)
                - sum(v <= rank for v in values) / len(values)
            )
            for rank in ranks
        )
        worst = max(worst, gone / (len(ranks) - 1))
    check = next(c for c in release.verification.checks if "t-closeness" in c.name)
    # equal cells of two groups are one group to a reader, so that it may be less
    assert check.measured <= worst + 1e-9
    assert check.measured > 0


def test_loss_counts_what_lies_beyond_an_end_as_the_end():
    frame = table()
    clamped = frame.with_columns(
        age=pl.col("age").clip(upper_bound=90), born=pl.col("born").clip(dt.date(1934, 12, 31))
    )
    release = released(frame)
    plain = released(clamped, top={}, bottom={})
    assert release.scores["ncp"] == plain.scores["ncp"]
    again = shoal.score(frame, release.frame, top=TOP, bottom=BOTTOM, **ROLES)
    assert again["ncp"] == pytest.approx(release.scores["ncp"])


def test_a_release_with_ends_is_read_as_numbers_that_have_no_end_there():
    release = released(table())
    ends = shoal.read_release(release.frame)
    coded = release.frame["age"].str.ends_with("+]") | release.frame["age"].str.ends_with("+")
    assert ends.filter(coded)["age_high"].null_count() == coded.sum()
    assert ends.filter(~coded)["age_high"].null_count() == 0


def run(*words):
    return run_command(list(map(str, words)))


@pytest.fixture
def job(tmp_path):
    table().write_csv(tmp_path / "p.csv")
    table(2, 80).write_csv(tmp_path / "more.csv")
    (tmp_path / "job.toml").write_text(
        """k = 5
seed = 3
[columns.age]
role = "quasi-identifier"
top = 90
[columns.born]
role = "quasi-identifier"
bottom = 1934-12-31
[columns.sex]
role = "quasi-identifier"
[columns.stay]
role = "sensitive"
top = 30
[columns.beds]
role = "insensitive"
top = 7
bottom = 2
""",
        encoding="utf-8",
    )
    return tmp_path


def test_a_job_with_ends_is_kept_by_every_command_that_reads_the_original(job, capsys):
    data, safe, file = job / "p.csv", job / "s.csv", job / "job.toml"
    kept = ("--save", job / "r.shoal", "--certificate", job / "c.json")
    assert run("anonymize", data, "-o", safe, "--job", file, *kept, "--report", job / "r.html") == 0
    assert run("verify", safe, "--certificate", job / "c.json") == 0
    for command in ("score", "audit", "utility"):
        assert run(command, data, safe, "--job", file) == 0, command
    more = job / "out.csv"
    assert run("apply", job / "more.csv", "--release", job / "r.shoal", "-o", more) == 0
    beyond = re.compile(r"\b9[1-9]\b|\b10\d\b")
    for file in (safe, more):
        text = file.read_text(encoding="utf-8")
        rows = [row.split(",") for row in text.splitlines()]
        assert not any(beyond.search(row[0]) for row in rows)
        assert {row[4] for row in rows[1:]} == {"<=2", "3", "4", "5", "6", "7+"}
    told = json.loads((job / "c.json").read_text(encoding="utf-8"))
    by_name = {each["name"]: each for each in told["columns"]}
    assert (by_name["age"]["top"], by_name["born"]["bottom"]) == (90, "1934-12-31")
    assert "90+" in (job / "r.html").read_text(encoding="utf-8")
    capsys.readouterr()


def test_a_certificate_with_ends_does_not_hold_for_a_table_that_tells_more(job, capsys):
    data, safe, stated = job / "p.csv", job / "s.csv", job / "c.json"
    run("anonymize", data, "-o", safe, "--job", job / "job.toml", "--certificate", stated)
    text = safe.read_text(encoding="utf-8")
    (job / "told.csv").write_text(text.replace(",7+", ",9", 1), encoding="utf-8")
    capsys.readouterr()
    assert run("verify", job / "told.csv", "--certificate", stated) == 1
    assert "top and bottom of 'beds'" in capsys.readouterr().out


def test_a_release_is_made_again_with_its_ends_and_safe_beside_the_first():
    people = table().with_row_index("id")
    options = {"k": 5, "person": "id", "insensitive": "beds", "top": TOP, "bottom": BOTTOM, **ROLES}
    first = shoal.anonymize(people, seed=1, **options)
    second = shoal.anonymize(people[40:], seed=2, previous=[first], **options)
    assert second.verification.holds
    assert not any(re.search(r"9[1-9]|10\d", cell) for cell in second.frame["age"])


def test_k_map_counts_everybody_beyond_the_top():
    people = pl.DataFrame({"age": [85, 86, 91, 92, 95, 99], "sex": ["F"] * 6})
    own = pl.DataFrame({"age": [91, 92], "sex": ["F"] * 2})
    options = {"k": 2, "quasi_identifiers": ["age", "sex"], "top": {"age": 90}}
    release = shoal.anonymize(own, privacy=shoal.KMap(4, population=people), **options)
    assert release.frame["age"].to_list() == ["90+", "90+"]
    with pytest.raises(shoal.PromiseError):
        shoal.anonymize(own, privacy=shoal.KMap(5, population=people), **options)


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
@pytest.mark.parametrize("numeric", ["interval", "bounds", "struct"])
def test_moments_on_a_grid_have_ends_in_every_style(numeric, zone):
    start = dt.datetime(2020, 1, 1, 7)
    times = pl.Series("seen", [start + dt.timedelta(days=3 * n) for n in range(100)])
    frame = pl.DataFrame([times.dt.replace_time_zone(zone)])
    release = shoal.anonymize(
        frame,
        k=4,
        quasi_identifiers="seen",
        grid={"seen": "month"},
        top={"seen": "2020-10-01"},
        bottom={"seen": "2020-02-01"},
        style=Style(numeric=numeric),
    )
    assert release.verification.holds


@pytest.mark.parametrize(
    ("own", "cell", "ends", "fits"),
    [
        ([18.7, 19.2], "[18-20]", {"bottom": {"age": 18}}, {18.7, 19.2}),
        ([17.0, 18.0], "<=18", {"bottom": {"age": 18}}, {17.0, 18.0}),
        ([17.0, 18.7], "[<=18-20]", {"bottom": {"age": 18}}, {17.0, 18.0, 18.7, 19.2}),
        ([86.1, 87.2], "[85-88]", {"top": {"age": 88}}, {86.1, 87.2}),
        ([86.1, 93.0], "[85-88+]", {"top": {"age": 88}}, {86.1, 87.2, 88.0, 93.0}),
    ],
)
def test_a_population_counts_who_is_exactly_on_an_end_where_the_end_is(own, cell, ends, fits):
    ages = [17.0, 18.0, 18.7, 19.2, 20.0, 84.0, 86.1, 87.2, 88.0, 93.0]
    people = pl.DataFrame({"age": ages, "sex": ["F"] * len(ages)})
    frame = people.filter(pl.col("age").is_in(own))
    options = {"k": 2, "quasi_identifiers": ["age", "sex"], "grid": {"age": 5}, **ends}
    model = shoal.KMap(len(fits), population=people)
    release = shoal.anonymize(frame, privacy=model, **options)
    assert set(release.frame["age"]) == {cell}
    with pytest.raises(shoal.PromiseError):
        shoal.anonymize(frame, privacy=shoal.KMap(len(fits) + 1, population=people), **options)
    # verification reads the cells, and shares nothing with the run
    style, schema = Style(), release.schema
    classes = open_classes(release.frame, schema, style)
    fitted = classes.fitted(values_of(people, classes, known=False), 0)
    assert set(people.filter(fitted)["age"]) == fits


@pytest.mark.parametrize(
    ("values", "top", "shown"),
    [
        (pl.Series([89.5, 90.25, 91.5] * 5), 90.25, "90.25+"),
        (pl.Series([89.5, 90.25, 91.5] * 5, dtype=pl.Float32), 90.1, "90.1+"),
        (pl.Series([200, 255, 250] * 5, dtype=pl.UInt8), 250, "250+"),
        (pl.Series([1, 2, 3] * 5, dtype=pl.UInt8), -5, "-5+"),
        (pl.Series([1, 2, 3] * 5).cast(pl.Decimal(10, 2)), 2, "2+"),
        (pl.Series([dt.datetime(2020, 1, d) for d in (1, 2, 3)] * 5), "2020-01-02", None),
    ],
)
def test_an_end_is_one_of_the_type_of_its_column(values, top, shown):
    frame = pl.DataFrame({"x": values, "sex": ["F"] * 15})
    release = shoal.anonymize(
        frame, k=5, quasi_identifiers=["sex"], insensitive="x", top={"x": top}
    )
    marked = {cell for cell in release.frame["x"] if cell.endswith("+")}
    assert marked == ({shown} if shown else {"2020-01-02 00:00:00+"})


def test_missing_values_stay_missing_beside_an_end():
    frame = pl.DataFrame({"x": [None, float("nan"), 95.0] * 5, "age": [None, 95, 99] * 5})
    release = shoal.anonymize(
        frame, k=5, quasi_identifiers=["age"], insensitive="x", top={"x": 90, "age": 90}
    )
    assert release.frame["x"].null_count() == 10
    assert set(release.frame["age"].to_list()) <= {None, "*", "90+"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"top": {"sex": 3}}, "for numbers and dates"),
        ({"top": {"age": "high"}}, "must be a number or a date"),
        ({"top": {"age": "2020-01-01"}}, "holds numbers"),
        ({"top": {"age": 90.5}}, "holds whole numbers"),
        ({"top": {"born": 90}}, "holds dates"),
        ({"top": {"age": 60}, "bottom": {"age": 70}}, "must lie below its top"),
        (
            {"top": {"age": 90}, "hierarchies": {"age": {"rule": "intervals"}}},
            "without a hierarchy",
        ),
        ({"top": {"height": 90}}, "height"),
    ],
)
def test_an_end_that_does_not_fit_is_one_sentence(options, words):
    with pytest.raises(shoal.ShoalError, match=words):
        shoal.anonymize(table(), k=5, insensitive="beds", **ROLES, **options)


def test_a_first_job_proposes_90_plus_for_ages_above_89_and_says_why(tmp_path):
    frame = table().select("age", "sex", other=pl.col("age"), points=pl.col("stay") * 2)
    guess = shoal.suggest_job(frame)
    guess.write(tmp_path / "job.toml")
    text = (tmp_path / "job.toml").read_text(encoding="utf-8")
    assert text.count("top = ") == 1
    assert "so 90 and more is published as 90+.\ntop = 90\n" in text
    young = shoal.suggest_job(frame.with_columns(age=pl.col("age") - 20))
    young.write(tmp_path / "young.toml")
    assert "top = " not in (tmp_path / "young.toml").read_text(encoding="utf-8")
