"""The audit finds what is planted, agrees with brute force, and shows no cell."""

import json
from itertools import combinations

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.publish.recode import Style
from shoal.release_reader.classes import open_classes, values_of
from shoal.study.audit.attack_context import interval_of

QI = ["age", "town"]
TREE = {"north": ["a", "b"], "south": ["c", "d"]}


def make_table(seed, n_rows=40):
    chance = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": chance.integers(20, 60, n_rows),
            "town": chance.choice(list("abcd"), n_rows),
            "weight": np.round(chance.random(n_rows) * 50, 2),
            "ill": chance.choice(["flu", "gout", "none"], n_rows),
        }
    )


def make_release(table, k=3, **options):
    given = {"hierarchies": {"town": TREE}, "grid": "none", "algorithm": "mondrian"} | options
    return shoal.anonymize(
        table,
        k=k,
        quasi_identifiers=["age", "town", "weight"],
        sensitive="ill",
        rows_are_people=True,
        seed=1,
        **given,
    )


def audit(original, published, **options):
    given = {"quasi_identifiers": QI, "sensitive": "ill"} | options
    return shoal.audit(original, published, **given)


# -- what is planted is found ----------------------------------------------------------


def test_a_planted_unique_person_is_found():
    original = pl.DataFrame(
        {"age": [30, 31, 32, 70], "town": ["a", "a", "a", "b"], "ill": ["x", "y", "x", "z"]}
    )
    published = pl.DataFrame(
        {"age": ["[30-32]"] * 3 + ["70"], "town": ["a"] * 3 + ["b"], "ill": ["x", "y", "x", "z"]}
    )
    found = audit(original, published)
    whole = found["linkage: prosecutor, 2 of 2 columns"]
    assert whole.worst == 1.0
    assert whole.rate == pytest.approx((3 / 3 + 1) / 4)
    assert (whole.low, whole.high) == (whole.rate, whole.rate)  # everybody was attacked
    assert found["linkage: marketer"].rate == pytest.approx(0.5)
    assert found["secret ill: certain"].rate == pytest.approx(0.25)
    assert found["singling out: one column"].rate > 0


def test_a_wrong_value_halves_the_chance_and_a_coarse_one_does_not_help_the_person():
    # forty people who differ in both columns, published as they are
    table = pl.DataFrame(
        {"age": range(0, 400, 10), "town": [f"t{n}" for n in range(40)], "ill": ["x", "y"] * 20}
    )
    found = audit(table, table.cast({"age": pl.String}), kinds={"age": "numeric"})
    assert found["linkage: prosecutor, 2 of 2 columns"].rate == 1.0
    # with one value of somebody else, that person's row fits as well as the right one
    assert 0.5 <= found["linkage: prosecutor, one value wrong"].rate < 0.6
    assert found["linkage: prosecutor, one value coarse"].rate == 1.0


def test_what_is_said_about_a_release_is_checked_once_for_audit_and_utility():
    table = pl.DataFrame({"age": [1, 1, 2, 2], "ill": list("xyxy")})
    for call in (shoal.audit, shoal.utility):
        with pytest.raises(shoal.OptionError, match=r"There is no option 'kind'\. Did you mean"):
            call(table, table, quasi_identifiers="age", kind={"age": "numeric"})
        with pytest.raises(shoal.OptionError, match="quasi_identifiers="):
            call(table, table)


def test_a_homogeneous_group_is_found_and_a_mixed_one_is_not():
    original = pl.DataFrame(
        {"age": [30, 31, 50, 51], "town": list("aabb"), "ill": ["flu", "flu", "flu", "gout"]}
    )
    published = original.with_columns(age=pl.Series(["[30-31]"] * 2 + ["[50-51]"] * 2))
    found = audit(original, published)
    assert found["secret ill: certain"].rate == 0.5
    assert found["secret ill: certain if one value is ruled out"].rate == 1.0
    belief = found["secret ill: belief in the true value"]
    assert belief.rate == pytest.approx((1 + 1 + 0.5 + 0.5) / 4)
    assert belief.baseline == pytest.approx((0.75 * 3 + 0.25) / 4)
    assert belief.worst == pytest.approx(0.25)
    assert found["inference: ill"].rate == pytest.approx((1 + 1 + 0.5 + 0.5) / 4)


def test_pinned_values_are_found_and_a_grid_hides_them():
    table = make_table(3, 60)
    tight = make_release(table).audit(table)
    wide = make_release(table, grid={"age": 10, "weight": 10}).audit(table)
    ends = tight["tight: ends of intervals"]
    assert ends.rate == 1.0
    assert ends.rate > ends.baseline
    assert wide["tight: ends of intervals"].rate < 0.5
    assert tight["tight: groups that follow"].rate >= wide["tight: groups that follow"].rate


def test_the_group_of_a_person_follows_where_only_one_could_have_made_its_end():
    # both classes fit age 40 in town a; only the first holds the end 40, and only one person has it
    original = pl.DataFrame(
        {"age": [30, 40, 35, 45], "town": ["a", "a", "a", "a"], "ill": ["x", "y", "x", "y"]}
    )
    published = original.with_columns(age=pl.Series(["[30-40]", "[30-40]", "[35-45]", "[35-45]"]))
    found = audit(original, published)["tight: groups that follow"]
    assert found.rate == 0.5  # 40 and 35 fit both classes, and each must be in one


def test_two_releases_give_away_what_neither_does():
    original = pl.DataFrame(
        {"age": [30, 31, 30, 31], "town": list("aabb"), "ill": ["x", "y", "z", "w"]}
    )
    one = original.with_columns(age=pl.lit("[30-31]"))
    two = original.with_columns(town=pl.lit("*"))
    found = audit(original, one, second=two)["two releases: ill certain"]
    alone = audit(original, one)["secret ill: certain"]
    assert alone.rate == 0.0
    assert (found.rate, found.baseline) == (1.0, 0.0)


def test_a_population_protects_against_the_journalist():
    original = pl.DataFrame({"age": [30, 31], "town": ["a", "a"], "ill": ["x", "y"]})
    published = original.with_columns(age=pl.Series(["30", "31"]))
    crowd = pl.DataFrame({"age": [30] * 9 + [31], "town": ["a"] * 10})
    found = audit(original, published, population=crowd)
    assert found["linkage: prosecutor, 2 of 2 columns"].worst == 1.0
    journalist = found["linkage: journalist"]
    assert journalist.rate == pytest.approx((1 / 9 + 1) / 2)
    assert journalist.worst == 1.0


def test_what_holds_outside_the_table_is_no_leak():
    chance = np.random.default_rng(1)

    def people(n):
        age = chance.integers(20, 60, n)
        ill = np.where(age < 40, "young illness", "old illness")
        return pl.DataFrame({"age": age, "town": ["a"] * n, "ill": ill})

    original, control = people(200), people(200)
    published = original.with_columns(
        age=pl.when(pl.col("age") < 40).then(pl.lit("[20-39]")).otherwise(pl.lit("[40-59]"))
    )
    found = audit(original, published, control=control)["inference: ill"]
    assert found.rate == 1.0  # everybody is guessed
    assert found.control == 1.0  # so are people who never were in the table
    assert found.risk == 0.0


# -- brute force -----------------------------------------------------------------------


def covers(cell, value):
    """Whether a published cell covers a value, by its text alone."""
    if cell in ("*", None):
        return cell == "*" or value is None
    if cell in TREE:
        return value in TREE[cell]
    if cell.startswith("["):
        low, high = map(float, cell[1:-1].split("-"))
        return low <= value < high if cell.endswith(")") else low <= value <= high
    return float(cell) == value if isinstance(value, int | float) else cell == value


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("algorithm", ["mondrian", "incognito", "k-member"])
def test_linkage_and_secrets_agree_with_brute_force(seed, algorithm):
    table = make_table(seed, 30)
    columns = ["age", "town", "weight"]
    trees = {"town": TREE}
    if algorithm == "incognito":  # full-domain recoding: labels of hierarchies everywhere
        trees |= {name: shoal.interval_hierarchy(table[name]) for name in ("age", "weight")}
    release = make_release(table, algorithm=algorithm, hierarchies=trees)
    found = release.audit(table)
    rows = [dict(zip(release.frame.columns, row, strict=True)) for row in release.frame.rows()]
    for known in range(1, 4):
        chances = []
        for person in table.iter_rows(named=True):
            per_subset = []
            for subset in combinations(columns, known):
                fit = [r for r in rows if all(covers(r[c], person[c]) for c in subset)]
                per_subset.append(1 / len(fit))
            chances.append(np.mean(per_subset))
        finding = found[f"linkage: prosecutor, {known} of 3 columns"]
        assert finding.rate == pytest.approx(np.mean(chances))
        assert finding.worst == pytest.approx(max(chances))
    certain, belief = [], []
    for person in table.iter_rows(named=True):
        fit = [r["ill"] for r in rows if all(covers(r[c], person[c]) for c in columns)]
        belief.append(fit.count(person["ill"]) / len(fit))
        certain.append(set(fit) == {person["ill"]})
    assert found["secret ill: certain"].rate == pytest.approx(np.mean(certain))
    assert found["secret ill: belief in the true value"].rate == pytest.approx(np.mean(belief))
    assert found["secret ill: likelier than 50%"].rate == pytest.approx(
        np.mean([each > 0.5 for each in belief])
    )


@pytest.mark.parametrize("seed", range(6))
def test_people_whose_group_follows_are_in_that_group(seed):
    from shoal.study.audit.attack_context import Scene
    from shoal.study.audit.minimality import _Branches, _ends, _tight_labels, who_must_be_in

    table = make_table(seed, 40)
    release = make_release(table, shuffle=False)
    classes = open_classes(release.frame, release.schema, Style())
    people = values_of(table, classes)
    scene = Scene(
        classes, people, table, release.frame, release.schema, (), np.arange(40), None, None, 0
    )
    fitted = {g: classes.fitted(people, g) for g in range(len(classes.sizes))}
    tight = _ends(scene, fitted)[2]
    labels = {1: _Branches(scene, 1)}
    tight |= _tight_labels(labels, fitted)
    forced = {g: who_must_be_in(scene, g, fits, tight, labels) for g, fits in fitted.items()}
    assert any(forced.values())
    for group, who in forced.items():
        assert (classes.of_row[who] == group).all()  # rows were not shuffled


# -- releases of others ----------------------------------------------------------------


def test_masks_labels_and_half_open_intervals_of_other_software_are_attacked():
    original = pl.DataFrame(
        {
            "zip": ["47906", "47901", "47304", "47302"],
            "age": [20, 29, 30, 39],
            "town": ["a", "b", "c", "d"],
            "ill": ["x", "y", "x", "y"],
        }
    )
    published = pl.DataFrame(
        {
            "zip": ["479**"] * 2 + ["473**"] * 2,
            "age": ["[20, 30["] * 2 + ["[30, 40["] * 2,
            "town": ["north"] * 2 + ["south"] * 2,
            "ill": ["x", "y", "x", "y"],
        }
    )
    found = shoal.audit(
        original,
        published,
        quasi_identifiers=["zip", "age", "town"],
        sensitive="ill",
        hierarchies={"town": TREE},
    )
    assert found["linkage: prosecutor, 3 of 3 columns"].rate == 0.5
    assert found["linkage: prosecutor, 1 of 3 columns"].rate == 0.5


def test_labels_without_their_hierarchy_are_counted_and_not_shown():
    original = make_table(1)
    published = original.with_columns(town=pl.lit("secret-label"))
    with pytest.raises(shoal.DataError, match="1 of the 1 distinct cells") as caught:
        audit(original, published)
    assert "secret-label" not in str(caught.value)


def test_files_that_do_not_belong_together_are_refused():
    original = make_table(1)
    with pytest.raises(shoal.DataError, match="No published row fits"):
        audit(original, original.with_columns(age=pl.lit("[900-901]")))


# -- the numbers, and what is shown ----------------------------------------------------


@pytest.mark.parametrize(("total", "n"), [(0, 10), (3, 10), (10, 10), (2.5, 40)])
def test_intervals_hold_the_share_and_narrow_with_more_tries(total, n):
    low, high = interval_of(total, n)
    assert 0 <= low <= total / n <= high <= 1
    wider = high - low
    low, high = interval_of(total * 100, n * 100)
    assert high - low < wider
    assert interval_of(total, n, everybody=True) == (total / n, total / n)


def test_an_interval_is_wilsons():
    # 3 of 10: the classical example
    assert interval_of(3, 10) == (pytest.approx(0.1078, abs=1e-4), pytest.approx(0.6032, abs=1e-4))


def test_a_sample_of_people_says_how_sure_it_is():
    table = make_table(5, 200)
    release = make_release(table)
    every, some = release.audit(table), release.audit(table, targets=50)
    name = "linkage: marketer"
    assert every[name].n == 200
    assert some[name].n == 50
    assert some[name].low <= every[name].rate <= some[name].high
    again = release.audit(table, targets=50)
    assert again.to_dict() == some.to_dict()


def test_no_cell_is_in_the_result():
    table = make_table(2).with_columns(
        ill=pl.Series([f"illness-{n % 3}-zzz" for n in range(40)]),
        town=pl.Series([f"town-{n % 4}-qqq" for n in range(40)]),
    )
    release = make_release(table, hierarchies={})
    found = release.audit(table, control=table, population=table, second=release)
    text = json.dumps(found.to_dict()) + repr(found) + "".join(found.sentences)
    assert "zzz" not in text
    assert "qqq" not in text
    assert all(each.sentence.endswith(".") and each.lowered_by for each in found.findings)


def test_the_report_has_a_section_about_attacks(tmp_path):
    table = make_table(2)
    release = make_release(table)
    release.report(tmp_path / "r.html", audit=release.audit(table))
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert 'id="attacks"' in page
    release.report(tmp_path / "s.html")
    assert 'id="attacks"' not in (tmp_path / "s.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"targets": 0}, "targets must be"),
        ({"seed": 1.5}, "seed must be"),
        ({"quasi_identifiers": ["agee"]}, "agee"),
        ({"sensitive": "il"}, "'il'"),
    ],
)
def test_wrong_options_are_one_sentence(options, words):
    table = make_table(1)
    with pytest.raises(shoal.ShoalError, match=words):
        audit(table, table, **options)


def test_means_cannot_be_audited():
    table = make_table(1)
    release = make_release(table, style={"numeric": "mean"})
    with pytest.raises(shoal.DataError, match="published as mean"):
        release.audit(table)


# -- sites of a release ------------------------------------------------------------------


def test_sites_take_their_own_rows_away_and_find_whom_they_leave_alone():
    parts = [
        pl.DataFrame({"age": [30, 31], "town": ["a", "a"], "ill": ["x", "y"]}),
        pl.DataFrame({"age": [32, 70], "town": ["a", "b"], "ill": ["x", "z"]}),
        pl.DataFrame({"age": [71, 72], "town": ["b", "b"], "ill": ["x", "z"]}),
    ]
    original = pl.concat(parts)
    published = pl.DataFrame(
        {"age": ["[30-32]"] * 3 + ["[70-72]"] * 3, "town": ["a"] * 3 + ["b"] * 3,
         "ill": list("xyxzxz")}
    )  # fmt: skip
    found = audit(original, published, sites=parts)
    # the first site leaves 32 alone in its group of three, and 70, 71, 72 among three
    assert found["linkage: site 1, which knows its own rows"].rate == pytest.approx(1 / 2)
    # the second has one row in each group: two are left in both
    assert found["linkage: site 2, which knows its own rows"].rate == pytest.approx(1 / 2)
    assert found["linkage: site 3, which knows its own rows"].worst == 1
    assert found["linkage: sites 1 and 3 together"].rate == 1
    with pytest.raises(shoal.OptionError, match="every row once"):
        audit(original, published, sites=parts[:2])


# -- the attacker who is meant ---------------------------------------------------------


def what_sets_say(original, published, known, column="ill"):
    """Returns the chance to pick each person's row and the belief, by the worst combination."""
    chances, beliefs = [], []
    rows = published.rows(named=True)
    for person in original.rows(named=True):
        sets = [
            {place for place, row in enumerate(rows) if all(covers(row[c], person[c]) for c in one)}
            for one in known
        ]
        chances.append(max(1 / len(each) for each in sets))
        beliefs.append(
            max(sum(rows[p][column] == person[column] for p in each) / len(each) for each in sets)
        )
    return chances, beliefs


THREE = ["age", "town", "weight"]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("said", "known"),
    [
        ({"knows": 1}, [["age"], ["town"], ["weight"]]),
        ({"knows": 2}, [list(each) for each in combinations(THREE, 2)]),
        ({"combinations": [["town", "weight"]]}, [["town", "weight"]]),
        ({"knows": 1, "combinations": [THREE]}, [["age"], ["town"], ["weight"], THREE]),
    ],
)
def test_the_attacker_who_is_meant_reaches_what_sets_say(seed, said, known):
    table = make_table(seed, 60)
    options = {"algorithm": "auto", **said}
    release = make_release(table, k=4, **options)
    chances, beliefs = what_sets_say(table, release.frame, known)
    found = release.audit(table)
    meant = found["linkage: the attacker who is meant"]
    assert meant.rate == pytest.approx(np.mean(chances))
    assert meant.worst == pytest.approx(max(chances))
    assert meant.worst <= 1 / 4
    believed = found["secret ill: belief of the attacker who is meant"]
    assert believed.rate == pytest.approx(np.mean(beliefs))
    assert believed.worst == pytest.approx(max(beliefs))
    certain = found["secret ill: certain to the attacker who is meant"]
    assert certain.rate == pytest.approx(np.mean([each == 1 for each in beliefs]))
    # the one who knows everything is there as well, and gets further
    assert found["linkage: prosecutor, 3 of 3 columns"].worst >= meant.worst
    again = shoal.audit(
        table,
        release.frame,
        quasi_identifiers=THREE,
        sensitive="ill",
        hierarchies={"town": TREE},
        grid="none",
        **said,
    )
    assert again["linkage: the attacker who is meant"] == meant


def test_a_class_that_is_too_small_is_found_by_the_attacker_who_is_meant():
    table = pl.DataFrame(
        {
            "age": [30, 30, 40, 40, 30],
            "town": ["a", "a", "b", "b", "b"],  # the last is alone with both, and with neither
            "ill": ["flu", "flu", "gout", "flu", "gout"],
        }
    )
    published = table.with_columns(pl.col("age").cast(pl.String))
    one, both = (audit(table, published, kinds={"age": "numeric"}, knows=knows) for knows in (1, 2))
    meant = "linkage: the attacker who is meant"
    assert (one[meant].worst, both[meant].worst) == (pytest.approx(1 / 2), 1.0)
    certain = "secret ill: certain to the attacker who is meant"
    assert [each[certain].rate for each in (one, both)] == pytest.approx([2 / 5, 3 / 5])


def test_without_limited_knowledge_there_is_no_other_attacker():
    table = make_table(1)
    assert not [name for name in make_release(table).audit(table) if "who is meant" in name]


def test_too_many_combinations_are_drawn_and_a_note_says_so(monkeypatch):
    from shoal.study.audit import limited

    monkeypatch.setattr(limited, "_WORK", 1)
    monkeypatch.setattr(limited, "_FEWEST", 2)
    table = make_table(1, 60)
    found = make_release(table, k=4, algorithm="auto", knows=2).audit(table)
    assert any("tried 2 of the 3 combinations" in note for note in found.notes)
    assert found["linkage: the attacker who is meant"].worst <= 1 / 4


def test_a_combination_of_another_column_is_refused():
    table = make_table(1)
    release = make_release(table)
    with pytest.raises(shoal.OptionError, match="no quasi-identifier"):
        audit(table, release.frame, hierarchies={"town": TREE}, combinations=[["ill"]])
