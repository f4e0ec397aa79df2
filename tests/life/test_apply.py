"""Further rows: covered by their cells, promises kept alone and together, nobody lost."""

import random

import polars as pl
import pytest
from tests.helpers.effort import further
from tests.life.conftest import ILLS, ROLES, others, register, release_of

import shoal
from shoal.errors import DataError, PromiseError, RoleError

QI = ["age", "zip", "sex"]
MODELS = {
    "k alone": (),
    "distinct": (shoal.LDiversity(2, kind="distinct"),),
    "frequency": (shoal.LDiversity(2),),
    "alpha": (shoal.AlphaK(0.8),),
    "t": (shoal.TCloseness(0.5),),
    "beta": (shoal.BetaLikeness(3),),
}
TAGGED = {"person": None, "drop": ["id"], "insensitive": ["tag"]}


def tagged(n_rows, seed, first=0):
    """Rows that can be told apart, so that a test sees what became of each."""
    return register(n_rows, seed, first).with_columns(
        tag=pl.int_range(first, first + n_rows, eager=True)
    )


def covers(cells, row):
    low, _, high = cells["age"].strip("[]").partition("-")
    whole = cells["zip"].rstrip("*")
    return (
        (cells["age"] == "*" or int(low) <= row["age"] <= int(high or low))
        and (row["zip"].startswith(whole) if "*" in cells["zip"] else cells["zip"] == row["zip"])
        and cells["sex"] in ("*", row["sex"])
    )


@pytest.mark.filterwarnings("ignore::shoal.ShoalWarning")
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seed", further(range(4), lambda seed: seed < 2))
def test_promises_hold_alone_and_together_and_every_cell_covers_its_row(name, seed):
    chance = random.Random(seed)
    k = chance.choice([2, 3])
    first, second = tagged(90, seed), tagged(chance.choice([25, 70]), seed + 50, 1000)
    release = release_of(first, k, roles=TAGGED, privacy=MODELS[name], rows_are_people=True)
    try:
        applied = shoal.apply(second, release, seed=1)
    except PromiseError:
        # then not even all of the rows as one group may keep the promise together
        assert MODELS[name]
        return
    promise = {"quasi_identifiers": QI, "sensitive": ["ill"], "privacy": MODELS[name]}
    assert shoal.verify(applied.frame, k, **promise)
    assert shoal.verify(pl.concat([release.frame, applied.frame]), k, **promise)
    assert applied.together.n_rows == 90 + applied.frame.height
    rows = {row["tag"]: row for row in second.to_dicts()}
    for cells in applied.frame.to_dicts():
        assert covers(cells, rows[cells["tag"]])
        assert cells["ill"] == rows[cells["tag"]]["ill"]
    out = applied.frame.get_column("tag").to_list()
    waits = applied.waiting.get_column("tag").to_list()
    assert sorted([*out, *waits]) == sorted(rows)
    assert applied.n_waiting == len(waits)


def test_people_alike_fill_the_same_cells(people, release):
    applied = shoal.apply(others(people), release)
    old = set(release.frame.select(QI).rows())
    assert applied.n_waiting < 4  # k rows or more would have been a group
    shared = sum(cells in old for cells in applied.frame.select(QI).rows())
    assert shared > 0.8 * people.height


def test_rows_that_no_cell_covers_form_groups_of_their_own(release):
    far = register(12, 3, 500).with_columns(zip=pl.lit("99999"))
    applied = shoal.apply(far, release, seed=1)
    assert applied.n_waiting == 0
    assert set(applied.frame.get_column("zip").to_list()) == {"99999"}
    assert applied.release.verification.fewest_people >= 4


def test_fewer_than_k_rows_wait_until_there_are_enough(release):
    far = register(6, 3, 500).with_columns(zip=pl.lit("99999"))
    with pytest.raises(PromiseError, match="None of the 3 rows can be published yet"):
        shoal.apply(far.head(3), release)
    assert shoal.apply(far, release).n_waiting == 0


def test_people_are_counted_not_rows(release):
    one = register(1, 3, 500).with_columns(zip=pl.lit("99999"))
    with pytest.raises(PromiseError):
        shoal.apply(pl.concat([one] * 10), release)


def test_what_is_kept_of_both_serves_the_next_rows(people, release, tmp_path):
    applied = shoal.apply(register(80, 4, 200), release)
    applied.kept.save(tmp_path / "both.shoal")
    both = shoal.load_release(tmp_path / "both.shoal")
    assert both.n_rows == release.n_published + applied.release.n_published
    again = shoal.apply(register(80, 5, 400), both)
    assert again.together.n_rows == both.n_rows + again.release.n_published
    assert again.together.holds


def test_the_certificate_tells_what_holds_together(people, release):
    applied = shoal.apply(others(people), release)
    found = applied.certificate()
    assert found["holds"]
    assert found["together"]["holds"]
    assert found["together"]["rows"] == 240 - applied.n_waiting
    text = str(found)
    assert not any(zip_code in text for zip_code in people.get_column("zip").to_list())


def test_the_order_of_the_rows_is_one_of_what_is_published(people, release):
    new = others(people)
    mixed = new.sample(fraction=1, shuffle=True, seed=9)
    assert shoal.apply(new, release).frame.equals(shoal.apply(mixed, release).frame)


def test_columns_that_are_removed_may_be_missing_and_others_may_not(people):
    roles = {"person": None, "identifiers": ["id"]}
    release = release_of(people, roles=roles, rows_are_people=True)
    assert shoal.apply(people.drop("id"), release).n_waiting < 4
    with pytest.raises(RoleError, match="no column 'ill'"):
        shoal.apply(people.drop("ill"), release)
    with pytest.raises(RoleError, match="'more' has no role"):
        shoal.apply(people.with_columns(more=pl.lit(1)), release)


def test_bad_input_is_refused_in_a_sentence(people, release):
    with pytest.raises(DataError, match="no rows"):
        shoal.apply(people.head(0), release)
    numbers = others(people).with_columns(ill=pl.int_range(people.height))
    with pytest.raises(DataError, match="Column 'ill' is of type"):
        shoal.apply(numbers, release)


def test_missing_values_wait_where_the_release_leaves_them_out(people):
    release = release_of(people, missing="suppress")
    holes = others(people).with_columns(
        age=pl.when(pl.int_range(people.height) < 5).then(None).otherwise("age")
    )
    applied = shoal.apply(holes, release)
    assert applied.waiting.get_column("age").null_count() == 5


def test_pandas_comes_out_where_it_went_in(people, release):
    applied = shoal.apply(others(people).to_pandas(), release)
    assert type(applied.frame).__module__.startswith("pandas")
    assert type(applied.waiting).__module__.startswith("pandas")
    assert set(applied.frame["ill"]) <= set(ILLS)
    assert ROLES["person"] not in applied.frame.columns
