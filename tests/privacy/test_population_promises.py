"""k-map, delta-presence and limits of risk, against brute force on small random tables."""

import math
import re
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.helpers.effort import share
from typer.testing import CliRunner

import shoal
from shoal.cli.app import app
from shoal.privacy.delta_presence import DeltaPresence
from shoal.privacy.k_map import KMap
from shoal.privacy.population_risk import PopulationRisk
from shoal.publish.uniques import estimate_uniques, pitman, snb, zayatz

TREE = {"north": ["a", "b"], "south": {"east": ["c"], "west": ["d", "e"]}}
ABOVE = {"a": "north", "b": "north", "c": "east south", "d": "west south", "e": "west south"}
SMALL = {"quasi_identifiers": ["age", "town"], "hierarchies": {"town": TREE}}


@st.composite
def people(draw, least=4, most=14):
    """Ages and towns, some of them missing."""
    person = st.tuples(st.none() | st.integers(0, 9), st.none() | st.sampled_from("abcde"))
    rows = draw(st.lists(person, min_size=least, max_size=most))
    # a column of nothing but missing values is refused
    frame = pl.DataFrame([*rows, (5, "a")], schema=["age", "town"], orient="row")
    return frame.cast({"age": pl.Int64})


def covers(cells, person):
    """Whether the cells of a row cover a person, read as text."""
    (age_cell, town_cell), (age, town) = cells, person
    if age_cell != "*":
        if (age_cell is None) != (age is None):
            return False
        if age is not None:
            low, _, high = age_cell.strip("[]").partition("-")
            if not int(low) <= age <= int(high or low):
                return False
    if town_cell == "*":
        return True
    if town_cell is None or town is None:
        return town_cell is None and town is None
    if town_cell.startswith("{"):
        return town in town_cell.strip("{}").split(", ")
    return town_cell == town or town_cell in ABOVE[town].split()


STYLES = st.sampled_from([{"categories": each} for each in ("node", "values")] + [
    {"flat_values": most} for most in (1, 2, 3)
])  # fmt: skip
# c and e are all values of one group, and d, whom their node covers, is not among them
TWO_TOWNS = pl.DataFrame({"age": [5] * 4, "town": ["a", "b", "c", "e"]})
OTHERS = pl.DataFrame({"age": [5] * 6, "town": ["a", "a", "a", "d", "d", "d"]})
# the values of one group lie below the root, and nobody whose town is missing is among them
FAR_TOWNS = pl.DataFrame({"age": [1, 1, 9, 9], "town": ["a", "c"] * 2})
NO_TOWNS = pl.DataFrame({"age": [1, 1, 1, 9, 9], "town": [None, None, None, "a", "a"]})


def brute(published, everybody, numbers=None):
    """Of each class: its rows and how many people it covers; and the presence of everybody."""
    numbers = numbers or [1] * everybody.height
    classes = published.group_by(["age", "town"]).len("rows").rows()
    presence, found = [0.0] * everybody.height, []
    for *cells, rows in classes:
        fits = [covers(cells, person) for person in everybody.rows()]
        total = sum(n for n, fit in zip(numbers, fits, strict=True) if fit)
        found.append((rows, total))
        presence = [
            p + (rows / total if fit and total else 0.0)
            for p, fit in zip(presence, fits, strict=True)
        ]
    return found, presence


def made(table, model, k=2, **more):
    columns = (
        {"quasi_identifiers": SMALL["quasi_identifiers"]}
        if "flat_values" in more.get("style", ())
        else SMALL
    )
    return shoal.anonymize(
        table, k=k, **columns, privacy=model, algorithm="mondrian", seed=1, rows_are_people=True,
        **more,
    )  # fmt: skip


@settings(max_examples=share(60))
@given(people(), people(least=0), st.integers(2, 12), STYLES)
@example(TWO_TOWNS, OTHERS, 5, {"categories": "values"})
@example(FAR_TOWNS, NO_TOWNS, 4, {"categories": "values"})
def test_every_row_of_a_release_fits_k_people_or_there_is_none(table, others, k, style):
    everybody = pl.concat([table, others])
    try:
        release = made(table, KMap(k, population=everybody), style=style)
    except shoal.PromiseError:
        assert k > brute(_all_in_one(table, style), everybody)[0][0][1]
        return
    found, _ = brute(release.frame, everybody)
    assert min(total for _, total in found) >= k
    check = release.verification.checks[1]
    assert (check.name, check.measured) == ("k-map", min(total for _, total in found))


def _all_in_one(table, style):
    """The release with all rows in one group."""
    return made(table, (), k=table.height, style=style).frame


@settings(max_examples=share(60))
@given(people(), people(least=3), st.sampled_from([0.3, 0.5, 0.7, 0.9]), st.booleans(), STYLES)
@example(TWO_TOWNS, OTHERS, 0.9, False, {"categories": "values"})
@example(FAR_TOWNS, NO_TOWNS, 0.9, False, {"categories": "values"})
def test_nobody_is_in_the_table_with_a_chance_outside_the_bounds(table, others, most, lower, style):
    everybody = pl.concat([table, others])
    model = DeltaPresence(most, delta_min=0.1 if lower else 0.0, population=everybody)
    try:
        release = made(table, model, style=style)
    except shoal.PromiseError:
        _, presence = brute(_all_in_one(table, style), everybody)
        assert max(presence) > most or min(presence) < model.delta_min
        return
    _, presence = brute(release.frame, everybody)
    assert max(presence) <= most + 1e-9
    assert min(presence) >= model.delta_min - 1e-9
    assert release.verification.checks[1].measured == pytest.approx(max(presence))


GRIDS = st.sampled_from([None, 0.5, 1, 2, 5, "powers of 10", "powers of 2"])
ENDS = re.compile(r"\[(-?[^-]+?(?:e-\d+)?)(?: to |-)(-?[^-]+(?:e-\d+)?)\]")


def lies_in(cell, value, grid, *, whole):
    """Whether a cell covers a number, as the page on grids says it."""
    if cell == "*" or cell is None or value is None:
        return cell == "*" or (cell is None and value is None)
    found = ENDS.fullmatch(cell)
    low, high = (Fraction(each) for each in (found.groups() if found else (cell, cell)))
    number = Fraction(value)
    if whole or grid is None or low == high:
        return low <= number <= high
    of_its_own = isinstance(grid, str) and high == 0  # powers have a cell of 0 and nothing else
    return low <= number < high or (of_its_own and number == 0)


@settings(max_examples=share(150), deadline=None)
@given(
    st.lists(st.none() | st.integers(-24, 24), min_size=3, max_size=14),
    st.lists(st.none() | st.integers(-24, 24), max_size=20),
    GRIDS,
    st.booleans(),
    st.data(),
)
@example([1, 2, 3, 4], [0, 20, 20, 20], 5, False, None)
@example([-20, -20, -2, -2], [-4, -4, -4, -40], "powers of 10", False, None)
@example([-6, -6, 0, 0], [0, 0], "powers of 10", False, None)
@example([2, 3, 6, 7], [8, 8, 4, 4], 1, False, None)
def test_numbers_at_the_ends_of_cells_are_counted_as_their_grid_says(
    table, others, grid, whole, data
):
    # quarters, so that many of them are lines; the same as whole numbers
    grid = 1 if whole and grid == 0.5 else grid
    part, dtype = (1, pl.Int64) if whole else (4.0, pl.Float64)
    frames = [
        pl.DataFrame({"x": [None if n is None else n / part for n in each]}).cast({"x": dtype})
        for each in ([*table, 5], [*table, 5, *others])
    ]
    asked = {"quasi_identifiers": "x", "grid": "none" if grid is None else {"x": grid}}
    release = shoal.anonymize(
        frames[0], k=2, **asked, privacy=KMap(2, population=frames[1]), algorithm="mondrian",
        seed=1, rows_are_people=True, shuffle=False,
    )  # fmt: skip
    published, people = release.frame["x"].to_list(), frames[1]["x"].to_list()

    def covered(cell):
        return sum(lies_in(cell, each, grid, whole=whole) for each in people)

    for cell, value in zip(published, frames[0]["x"].to_list(), strict=True):
        assert lies_in(cell, value, grid, whole=whole)
    least = min(covered(cell) for cell in published)
    assert release.verification.checks[1].measured == least
    asked["grid"] = None if grid is None else asked["grid"]
    number = 2 if data is None else data.draw(st.integers(2, 6))
    model = KMap(number, population=frames[1])
    check = shoal.verify(release.frame, 2, **asked, privacy=model).checks[1]
    assert (check.measured, check.holds) == (least, least >= number)
    model = DeltaPresence(0.5, population=frames[1])
    check = shoal.verify(release.frame, 2, **asked, privacy=model).checks[1]
    rows = {cell: published.count(cell) for cell in published}
    chances = [
        sum(n / covered(cell) for cell, n in rows.items() if lies_in(cell, each, grid, whole=whole))
        for each in people
    ]
    assert check.measured == pytest.approx(max(chances))


def test_what_ends_on_a_line_ends_before_it_whatever_the_population_is_counted_in():
    # cells of whole numbers end one below a line, so that the cell alone tells which it is
    for published, ages, covered in (
        (["[20-25]"] * 2, [20, 24, 25], 2),
        (["[20-24]"] * 2, [20.0, 24.0, 25.0], 2),
        (["[20-24]", "[20-24]"], [20, 24, 25], 2),
        (["[20-25]", "[20-25]"], [20.0, 24.0, 25.0], 2),
    ):
        frame, everybody = pl.DataFrame({"age": published}), pl.DataFrame({"age": ages})
        model = KMap(2, population=everybody)
        [_, check, _] = shoal.verify(
            frame, 2, quasi_identifiers="age", grid={"age": 5}, privacy=model
        ).checks
        assert check.measured == covered


def test_a_certificate_without_a_grid_is_not_read_as_one_with_it(tmp_path):
    rng = np.random.default_rng(3)
    table = pl.DataFrame({"lon": rng.normal(8, 20, 60)})
    table.write_csv(tmp_path / "people.csv")
    files = [str(tmp_path / name) for name in ("people.csv", "safe.csv", "c.json")]
    words = ["anonymize", files[0], "-o", files[1], "--k", "3", "--qi", "lon", "--no-grid"]
    asked = ["--k-map", "3", "--rows-are-people", "--certificate", files[2], "-q"]
    done = CliRunner().invoke(app, [*words, *asked, "--population", files[0]])
    assert done.exit_code == 0, done.output
    check = ["verify", files[1], "--certificate", files[2], "--population", files[0]]
    found = CliRunner().invoke(app, check)
    assert found.exit_code == 0, found.output


CELLS = st.tuples(
    st.sampled_from([None, "*", "3", "[0-4]", "[2-9]", "[5-9]"]),
    st.sampled_from([None, "*", "a", "north", "south", "west", "e"]),
)


@given(st.lists(CELLS, min_size=1, max_size=6), people(), st.integers(2, 6), st.data())
def test_verification_counts_from_the_published_cells_alone(cells, everybody, k, data):
    published = pl.DataFrame(cells * 2, schema=["age", "town"], orient="row")
    numbers = data.draw(st.lists(st.integers(0, 3), min_size=everybody.height, max_size=99))
    numbers = numbers[: everybody.height]
    counted = everybody.with_columns(n=pl.Series(numbers, dtype=pl.Int64))
    found, presence = brute(published, everybody, numbers)
    options = {"k": 2, **SMALL}
    check = shoal.verify(
        published, privacy=KMap(k, population=counted, counts="n"), **options
    ).checks[1]
    least = min(total for _, total in found)
    assert (check.measured, check.holds) == (least, least >= k)
    model = DeltaPresence(0.8, population=counted, counts="n")
    check = shoal.verify(published, privacy=model, **options).checks[1]
    some = [p for p, n in zip(presence, numbers, strict=True) if n]
    if least == 0:
        assert not check.holds
        assert math.isinf(check.measured)
    else:
        assert check.measured == pytest.approx(max(some))
        assert check.holds == (max(some) <= 0.8 + 1e-9)


def test_delta_presence_is_not_monotone():
    # cells of the first two groups do not cover town b; that of their union does
    everybody = pl.DataFrame({"age": [1] * 9, "town": list("aaaabbbbb")})
    everybody = pl.concat([everybody, pl.DataFrame({"age": [2] * 4, "town": list("aaaa")})])
    apart = [("[1-1]", "a"), ("[1-1]", "b"), ("[1-1]", "b"), ("[2-2]", "a")]
    published = pl.DataFrame(apart, schema=["age", "town"], orient="row")
    _, before = brute(published, everybody)
    merged = published.with_columns(
        age=pl.when(pl.col("town") == "a").then(pl.lit("[1-2]")).otherwise("age"),
        town=pl.when(pl.col("town") == "a").then(pl.lit("north")).otherwise("town"),
    )
    _, after = brute(merged, everybody)
    assert max(after) > max(before)
    assert not DeltaPresence.monotone
    assert KMap.monotone


# -- limits of risk ------------------------------------------------------------------------------


@given(
    st.integers(12, 60),
    st.sampled_from([0.04, 0.1, 0.2, 0.3]),
    st.sampled_from(["average", "highest"]),
    st.sampled_from([None, 100]),
)
@settings(max_examples=share(40))
def test_a_limit_of_risk_holds_for_the_groups_that_are_published(n, limit, kind, population):
    table = pl.DataFrame({"age": np.arange(n) % 10, "town": [TOWNS[i * 7 % 5] for i in range(n)]})
    model = PopulationRisk(limit, kind=kind, population_size=population)
    fraction = 1 if population is None else min(n / population, 1)
    try:
        release = made(table, model)
    except shoal.PromiseError:
        assert fraction / n > limit
        return
    sizes = release.frame.group_by(["age", "town"]).len("rows")["rows"]
    reached = len(sizes) / n if kind == "average" else 1 / sizes.min()
    assert fraction * reached <= limit + 1e-9
    assert release.verification.checks[1].measured == pytest.approx(fraction * reached)


TOWNS = "abcde"


def test_merging_for_the_average_goes_no_further_than_needed():
    table = pl.DataFrame({"age": list(range(10)) * 10, "town": ["a"] * 100})
    free, limited = made(table, ()), made(table, PopulationRisk(0.05))
    assert free.n_groups > 5
    assert 3 <= limited.n_groups <= 5


def test_a_table_of_groups_of_at_least_two_has_no_population_uniques():
    published = pl.DataFrame({"age": ["1", "1", "2", "2", "2"]})
    model = PopulationRisk(0.001, kind="uniques", sampling_fraction=0.1)
    check = shoal.verify(published, 2, quasi_identifiers="age", privacy=model).checks[1]
    assert (check.holds, check.measured) == (True, 0.0)
    with_unique = pl.concat([published, pl.DataFrame({"age": ["3"]})])
    check = shoal.verify(with_unique, 2, quasi_identifiers="age", privacy=model).checks[1]
    assert not check.holds


def test_zayatz_is_the_number_computed_by_hand():
    # u_1 = 2, u_2 = 1, one half is sampled: 2² / (2·1·1 + 1·2·½) = 4/3 of 4 rows
    assert zayatz(np.array([1, 1, 2]), 0.5) == pytest.approx(4 / 3 / 4)


def restaurant(alpha, theta, n, rng):
    """Classes of n people by Pitman's process: a draw that starts a new class or joins one."""
    of_person, n_classes = np.empty(n, np.int64), 0
    for i in range(n):
        if rng.random() < (theta + alpha * n_classes) / (theta + i):
            of_person[i], n_classes = n_classes, n_classes + 1
            continue
        while True:  # join in proportion to size - alpha: a random person's class, but not always
            cls = of_person[rng.integers(i)]
            if rng.random() >= alpha / max(np.count_nonzero(of_person[:i] == cls), 1):
                of_person[i] = cls
                break
    return of_person


def true_and_estimates(of_person, fraction, rng):
    """The true share of population uniques, and each estimate from a sample."""
    sizes = np.bincount(of_person)
    true = np.count_nonzero(sizes == 1) / len(of_person)
    sample = rng.random(len(of_person)) < fraction
    seen = np.bincount(of_person[sample])
    seen = seen[seen > 0]
    return true, {each.__name__: each(seen, fraction) for each in (zayatz, pitman, snb)}


def test_pitman_finds_the_uniques_of_populations_that_it_describes():
    true, estimated = 0.0, 0.0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        share, found = true_and_estimates(restaurant(0.6, 60, 9000, rng), 0.1, rng)
        true, estimated = true + share, estimated + found["pitman"]
    assert estimated == pytest.approx(true, rel=0.15)


def test_snb_finds_the_uniques_of_a_population_that_it_describes():
    rng = np.random.default_rng(8)
    sizes = 1 + rng.negative_binomial(1.5, 0.3, 6000)
    of_person = np.repeat(np.arange(6000), sizes)
    for fraction in (0.2, 0.5):
        true, found = true_and_estimates(of_person, fraction, rng)
        assert found["snb"] == pytest.approx(true, rel=0.2)


def test_an_estimator_that_does_not_converge_says_so():
    alone = np.ones(50, np.int64)
    assert pitman(alone, 0.1) is None
    published = pl.DataFrame({"age": [str(n) for n in range(50)]})
    model = PopulationRisk(0.5, kind="uniques", sampling_fraction=0.05, estimator="pitman")
    with pytest.raises(shoal.OptionError, match="'pitman' does not converge"):
        shoal.verify(published, 2, quasi_identifiers="age", privacy=model)
    assert estimate_uniques(alone, 0.05) == zayatz(alone, 0.05)
    assert estimate_uniques(np.array([2, 3]), 0.05, "snb") == 0.0
    assert estimate_uniques(np.array([1, 1, 2]), 1.0) == 0.5


# -- what is asked -------------------------------------------------------------------------------


def test_flags_jobs_and_certificates_know_the_promises(tmp_path):
    rng = np.random.default_rng(2)
    table = pl.DataFrame({"age": rng.integers(0, 60, 200), "sex": rng.choice(["f", "m"], 200)})
    table.write_csv(tmp_path / "people.csv")
    more = pl.DataFrame({"age": rng.integers(0, 60, 900), "sex": rng.choice(["f", "m"], 900)})
    pl.concat([table, more]).group_by("age", "sex").len("n").write_csv(tmp_path / "all.csv")
    files = {
        "safe": str(tmp_path / "safe.csv"),
        "all": str(tmp_path / "all.csv"),
        "certificate": str(tmp_path / "c.json"),
    }
    asked = ["--k-map", "40", "--presence-max", "0.4", "--population", files["all"]]
    asked += ["--population-counts", "n", "--average-risk", "0.05", "--highest-risk", "0.05"]
    asked += ["--population-uniques", "0.01", "--population-size", "1100"]
    words = ["anonymize", str(tmp_path / "people.csv"), "-o", files["safe"], "--k", "3"]
    words += ["--qi", "age,sex", "--rows-are-people", "--certificate", files["certificate"], "-q"]
    done = CliRunner().invoke(app, [*words, *asked])
    assert done.exit_code == 0, done.output
    check = ["verify", files["safe"]]
    assert CliRunner().invoke(app, [*check, "--k", "3", "--qi", "age,sex", *asked]).exit_code == 0
    too_much = [*asked, "--k-map", "1101"]
    assert (
        CliRunner().invoke(app, [*check, "--k", "3", "--qi", "age,sex", *too_much]).exit_code == 1
    )
    told = (tmp_path / "c.json").read_text()
    assert "all.csv" not in told
    assert '"k-map"' in told
    certified = [*check, "--certificate", files["certificate"]]
    found = CliRunner().invoke(app, [*certified, "--population", files["all"]])
    assert found.exit_code == 0, found.output
    refused = CliRunner().invoke(app, certified).exception
    assert isinstance(refused, shoal.OptionError)
    assert "--population FILE" in str(refused)
    job = """
        k = 3
        rows_are_people = true
        [input]
        path = "people.csv"
        [output]
        table = "again.csv"
        [columns.age]
        role = "quasi-identifier"
        [columns.sex]
        role = "quasi-identifier"
        [[privacy]]
        model = "k-map"
        k = 40
        population = "all.csv"
        counts = "n"
    """
    (tmp_path / "job.toml").write_text(job)
    result = shoal.run_job(shoal.read_job(tmp_path / "job.toml"))
    assert result.release.verification.checks[1].measured >= 40


@pytest.mark.parametrize(
    "model",
    [
        KMap(4, population=pl.DataFrame({"age": [0, 1, 2, 3] * 3, "town": list("aabb") * 3})),
        PopulationRisk(0.5),
        shoal.TCloseness(0.9, distance="hierarchical"),
    ],
    ids=lambda model: model.name,
)
def test_further_rows_are_refused_where_the_promise_cannot_be_kept_for_them(model, tmp_path):
    table = pl.DataFrame({"age": [0, 1, 2, 3] * 3, "town": list("aabb") * 3, "ill": ["x", "y"] * 6})
    release = shoal.anonymize(
        table, k=2, quasi_identifiers=["age", "town"], sensitive="ill", privacy=model,
        hierarchies={"ill": ["x", "y"], "town": TREE}, algorithm="mondrian", seed=1,
        rows_are_people=True,
    )  # fmt: skip
    release.save(tmp_path / "release.shoal")
    for kept in (release, shoal.load_release(tmp_path / "release.shoal")):
        with pytest.raises(shoal.OptionError, match="cannot be kept for further rows"):
            shoal.apply(table, kept)


def test_options_are_checked():
    for build, words in (
        (lambda: KMap(1), "whole number of at least 2, but 1 was given"),
        (lambda: DeltaPresence(0), "above 0 and at most 1, but 0 was given"),
        (lambda: DeltaPresence(0.5, delta_min=0.6), "at most delta_max, but 0.6 was given"),
        (lambda: PopulationRisk(2), "limit must be a number above 0 and at most 1"),
        (lambda: PopulationRisk(0.1, kind="uniques"), "how large the population is"),
        (lambda: PopulationRisk(0.1, estimator="snb"), "estimator belongs to kind='uniques'"),
        (lambda: PopulationRisk(0.1, population_size=0), "at least 1, but 0 was given"),
        (
            lambda: PopulationRisk(0.1, population_size=9, sampling_fraction=0.1),
            "say the same thing",
        ),
    ):
        with pytest.raises(shoal.OptionError, match=words):
            build()


@pytest.mark.parametrize("model", [KMap(3), DeltaPresence(0.5)], ids=lambda model: model.name)
def test_a_population_that_is_missing_or_lacks_a_column_is_one_clear_sentence(model):
    table = pl.DataFrame({"age": [1, 1, 2, 2], "town": list("aabb")})
    with pytest.raises(shoal.OptionError, match="needs a table of the population"):
        made(table, model)
    for people, error, words in (
        (table.drop("age"), shoal.OptionError, "The population has no column 'age'"),
        (table.cast({"age": pl.String}), shoal.DataError, "'age' of the population is of another"),
    ):
        with pytest.raises(error, match=words):
            made(table, type(model)(model.promised, population=people))
    counted = type(model)(model.promised, population=table, counts="n")
    with pytest.raises(shoal.OptionError, match="no column 'n' of counts"):
        made(table, counted)
    wrong = type(model)(model.promised, population=table, counts="town")
    with pytest.raises(shoal.DataError, match="whole numbers of at least 0"):
        made(table, wrong)
