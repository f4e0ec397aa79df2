"""A release on grids: what it shows, what it costs by every measure, and who says so."""

import datetime as dt
import itertools
import json
import math

import numpy as np
import polars as pl
import pytest
from tests.helpers.contract_array import TREES_ONLY
from tests.helpers.effort import share

import shoal
from shoal.measure.base import CostMeasure, CostModel, Grouped
from shoal.measure.scores import create_measure
from shoal.report.scoring import score_published
from shoal.search.enforce import GroupState
from shoal.search.scan import Scanner
from shoal.table.encode import encode
from shoal.table.partition import Partition

K = 3
QI = ["age", "lon", "seen", "born", "income"]
GRID = {"age": 5, "lon": 0.01, "seen": "hour", "born": "month", "income": "powers of 10"}


def people(n=60, seed=3):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "lon": rng.normal(8, 2, n),
            "seen": [
                dt.datetime(2024, 1, 1) + dt.timedelta(seconds=int(s))
                for s in rng.integers(0, 10**6, n)
            ],
            "born": [
                dt.date(1950, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(0, 9999, n)
            ],
            "income": rng.lognormal(8, 2, n).round(2),
            "ill": rng.choice(["a", "b", "c"], n),
        }
    )


def released(frame, **more):
    options = {"quasi_identifiers": QI, "sensitive": ["ill"], "seed": 1, "grid": GRID, **more}
    return shoal.anonymize(frame, K, **options)


@pytest.fixture(scope="module")
def frame():
    return people()


@pytest.fixture(scope="module")
def release(frame):
    return released(frame, shuffle=False, style={"numeric": "bounds"})


ON_LINES = [name for name in shoal.algorithms() if name not in TREES_ONLY]


@pytest.mark.parametrize("algorithm", ON_LINES)
def test_every_algorithm_publishes_lines_that_cover_the_original(algorithm, frame):
    made = released(frame, algorithm=algorithm, shuffle=False, style={"numeric": "bounds"})
    assert made.verification.holds
    assert [c.name for c in made.verification.checks[1:]] == [f"grid of {name!r}" for name in QI]
    kept = frame.filter(pl.Series(made.groups >= 0))
    for name in QI:
        low, high = made.frame.get_column(f"{name}_low"), made.frame.get_column(f"{name}_high")
        known = low.is_not_null()
        values = kept.get_column(name)
        assert bool(((low <= values) & (values <= high)).filter(known).all())


def test_nobody_s_exact_value_is_shown_even_where_a_group_has_one_value():
    table = pl.DataFrame({"lon": [23.4178] * 5 + [7.1234567] * 5, "age": [23] * 5 + [71] * 5})
    made = shoal.anonymize(table, 5, quasi_identifiers=["lon", "age"], grid={"lon": 0.01, "age": 5})
    assert sorted(set(made.frame.rows())) == [
        ("[23.41-23.42]", "[20-24]"),
        ("[7.12-7.13]", "[70-74]"),
    ]


def test_groups_whose_cells_coincide_look_alike_and_that_is_verified():
    table = pl.DataFrame({"x": [1.21, 1.22, 1.23, 1.27, 1.28, 1.29]})
    made = shoal.refine(
        table, [0, 0, 0, 1, 1, 1], 3, quasi_identifiers=["x"], grid={"x": 0.1}, sweeps=1
    )
    assert made.verification.smallest_group == 6
    assert set(made.frame["x"]) == {"[1.2-1.3]"}


def test_missing_values_stay_missing_beside_cells():
    table = pl.DataFrame({"x": [1.11, 1.12, 1.13, None, None, None]})
    made = shoal.anonymize(table, 3, quasi_identifiers=["x"], grid={"x": 0.1})
    assert sorted(made.frame["x"].to_list(), key=str) == [None] * 3 + ["[1.1-1.2]"] * 3


@pytest.mark.parametrize("form", ["mean", "median"])
def test_means_and_medians_are_those_of_cells_not_of_values(form):
    table = pl.DataFrame({"x": [23.4178] * 3 + [7.1 / 3] * 3})
    made = shoal.anonymize(
        table, 3, quasi_identifiers=["x"], grid={"x": 0.01}, style={"numeric": form}
    )
    assert sorted(set(made.frame["x"])) == [2.365, 23.415]
    assert [check.name for check in made.verification.checks] == ["k-anonymity"]


# -- measures ------------------------------------------------------------------------------------


def boxes(frame, made):
    """Per column: the original values and the published ends, as numbers."""
    found = {}
    for name in QI:
        low, high = made.frame[f"{name}_low"], made.frame[f"{name}_high"]
        values = frame[name]
        found[name] = tuple(
            each.to_physical().cast(pl.Float64).to_numpy() for each in (values, low, high)
        )
    return found


def is_open(name):
    return name not in ("age", "born")


def inside(name, value, low, high):
    """Whether a published interval stands for a value."""
    if not is_open(name) or low == high:
        return (low <= value) & (value <= high)
    return (low <= value) & (value < high)


def of_ncp(frame, made):
    result = []
    for _, low, high in boxes(frame, made).values():
        result.append(np.mean((high - low) / (high.max() - low.min())))
    return float(np.mean(result))


def covered_values(name, values, low, high):
    distinct = np.unique(values)
    return np.array([inside(name, distinct, a, b).sum() for a, b in zip(low, high, strict=True)])


def of_lm(frame, made):
    result = [
        np.mean((covered_values(name, *box) - 1) / (len(np.unique(box[0])) - 1))
        for name, box in boxes(frame, made).items()
    ]
    return float(np.mean(result))


def of_am(frame, made):
    product = math.prod(covered_values(name, *box) for name, box in boxes(frame, made).items())
    return float(np.mean(product))


def of_suppression(frame, made):
    return float(np.mean([low != high for _, low, high in boxes(frame, made).values()]))


def of_mi(frame, made):
    bits = []
    for name, (values, low, high) in boxes(frame, made).items():
        rows = np.array([inside(name, values, a, b).sum() for a, b in zip(low, high, strict=True)])
        own = np.array([(values == value).sum() for value in values])
        bits.append(np.mean(np.log2(rows / own)))
    return float(np.mean(bits))


def of_pmi(frame, made):
    ill, bits = frame["ill"].to_numpy(), []
    for name, (values, low, high) in boxes(frame, made).items():
        for a, b, y in zip(low, high, ill, strict=True):
            covered = inside(name, values, a, b)
            bits.append(-np.log2((covered & (ill == y)).sum() / covered.sum()))
    return float(np.mean(bits))


def of_kl(frame, made):
    found = boxes(frame, made)
    sizes = {name: covered_values(name, *box) for name, box in found.items()}
    n = frame.height
    weight = 1 / (n * math.prod(sizes[name].astype(float) for name in QI))
    originals = [tuple(found[name][0][i] for name in QI) for i in range(n)]
    total = 0.0
    for x in set(originals):
        covers = np.ones(n, bool)
        for name, value in zip(QI, x, strict=True):
            _, low, high = found[name]
            covers &= np.array(
                [bool(inside(name, value, a, b)) for a, b in zip(low, high, strict=True)]
            )
        p = originals.count(x) / n
        total += p * np.log2(p / weight[covers].sum())
    return total


def of_sse(frame, made):
    """The error of the means that the same groups publish, as means."""
    means = released(frame, shuffle=False, style={"numeric": "mean"}).frame
    lost = []
    for name in ("age", "lon", "income"):
        value, cell = (each[name].cast(pl.Float64).to_numpy() for each in (frame, means))
        lost.append(np.sum((value - cell) ** 2) / np.sum((value - value.mean()) ** 2))
    return float(np.mean(lost))


EXPECTED = {
    "sse": of_sse,
    "ncp": of_ncp,
    "il": lambda f, m: of_ncp(f, m) * f.height * len(QI),
    "lm": of_lm,
    "tree": of_ncp,
    "whd": lambda f, m: of_ncp(f, m) * f.height * len(QI),
    "whd-height": lambda f, m: of_ncp(f, m) * f.height * len(QI),
    "suppression": of_suppression,
    "mi": of_mi,
    "pmi": of_pmi,
    "wmi": lambda f, m: (of_mi(f, m) + of_pmi(f, m)) / 2,
    "am": of_am,
    "kl": of_kl,
    "modification-rate": of_suppression,
    "distortion-ratio": of_ncp,
}
OF_GROUPS = ("dm", "cm", "entropy-diversity", "average-class-size", "c-avg")


def scored(frame, made, grid, names):
    return shoal.score(
        frame, made.groups, quasi_identifiers=QI, sensitive=["ill"], grid=grid, measures=names
    )


@pytest.mark.parametrize("measure", EXPECTED)
def test_a_measure_counts_what_the_published_intervals_stand_for(measure, frame, release):
    assert scored(frame, release, GRID, [measure])[measure] == pytest.approx(
        EXPECTED[measure](frame, release), rel=1e-9
    )


def test_a_diameter_is_as_wide_as_what_a_pair_publishes(frame):
    pairs = np.arange(frame.height) // 2
    found = shoal.score(
        frame, pairs, quasi_identifiers=QI, sensitive=["ill"], grid=GRID,
        measures=["diameters", "il"],
    )  # fmt: skip
    assert found["diameters"] == pytest.approx(found["il"], rel=1e-12)
    assert found["diameters"] > 0


def test_what_is_told_about_a_sensitive_column_follows_from_pmi(frame, release):
    found = scored(frame, release, GRID, ["pmi-max", "pmi-l2"])
    parts = []
    shares = frame["ill"].value_counts(normalize=True)["proportion"].to_numpy()
    entropy = -float(np.sum(shares * np.log2(shares)))
    ill = frame["ill"].to_numpy()
    for name, (values, low, high) in boxes(frame, release).items():
        bits = []
        for a, b, y in zip(low, high, ill, strict=True):
            covered = inside(name, values, a, b)
            bits.append(-np.log2((covered & (ill == y)).sum() / covered.sum()))
        parts.append(entropy - np.mean(bits))
    assert found["pmi-max"] == pytest.approx(max(parts))
    assert found["pmi-l2"] == pytest.approx(float(np.linalg.norm(parts)) / len(QI))


def test_measures_of_the_groups_do_not_change_with_a_grid(frame, release):
    on, off = (scored(frame, release, grid, OF_GROUPS) for grid in (GRID, "none"))
    assert dict(on) == dict(off)


def test_every_measure_is_looked_at():
    assert {*EXPECTED, *OF_GROUPS, "pmi-max", "pmi-l2", "diameters"} == set(shoal.measures())


def test_the_search_minimises_what_is_scored_also_where_cells_differ_in_width(frame, release):
    table = encode(frame, release.schema)
    groups = Partition.from_labels(release.groups)
    for name in shoal.measures():
        measure = create_measure(name)
        if not isinstance(measure, CostMeasure) or measure.of_means:
            continue  # means are searched by their error itself, not by a cost of closures
        model = CostModel.bind(measure, table, table.sensitive[0])
        scanner = Scanner.build(table, model)
        total = GroupState(scanner, groups).costs.sum() / scanner.scale
        constants = sum(measure.constant(attribute) for attribute in table.attributes)
        score = measure.score(Grouped(table, groups, table.sensitive[0]))
        if measure.per_cell:
            score *= frame.height * len(QI)
        assert total - constants == pytest.approx(score, rel=1e-4, abs=1e-3), name


def test_the_release_is_scored_as_its_file_is(frame, release, tmp_path):
    plain = released(frame)
    for form in ("interval", "struct", "bounds"):
        made = released(frame, style={"numeric": form})
        found = score_published(
            frame,
            made.frame,
            made.schema,
            measures=list(plain.scores),
            style=shoal.Style(numeric=form),
        )
        for name in ("ncp", "lm", "suppression", "mi", "pmi"):
            assert found[name] == pytest.approx(made.scores[name])
    assert plain.public_scores["ncp"] == pytest.approx(plain.scores["ncp"], abs=1e-6)


def test_no_release_is_below_the_bound_and_small_ones_reach_the_best(frame, release):
    options = {"quasi_identifiers": QI, "grid": GRID}
    for measure in ("ncp", "mi", "lm", "suppression")[: share(4, least=2)]:
        bound = shoal.lower_bound(frame, K, measure=measure, **options)
        made = shoal.anonymize(frame.drop("ill"), K, measure=measure, seed=1, **options)
        assert 0 < bound <= made.scores[measure] * (1 + 1e-9)
    few = frame.head(7)
    best = min(
        shoal.score(
            few, [0 if row in chosen else 1 for row in range(7)], **options, measures="ncp"
        )["ncp"]
        for chosen in itertools.combinations(range(7), 3)
    )
    best = min(best, shoal.score(few, [0] * 7, **options, measures="ncp")["ncp"])
    assert shoal.lower_bound(few, K, **options) <= best
    found = shoal.anonymize(
        few.drop("ill"), K, algorithm_options={"effort": "best"}, seed=1, **options
    )
    assert found.scores["ncp"] == pytest.approx(best)


# -- where it is said ----------------------------------------------------------------------------


def test_floats_and_datetimes_have_a_grid_by_default_and_one_option_turns_it_off(frame):
    shown = ["lon", "seen", "born", "age"]
    options = {"quasi_identifiers": shown, "drop": ["income", "ill"], "seed": 1}
    made = shoal.anonymize(frame, K, **options)
    told = {c["name"]: c["grid"] for c in made.certificate()["columns"]}
    assert told["lon"] == {"step": "0.01", "chosen": "by default"}
    assert told["seen"] == {"step": "hour", "chosen": "by default"}
    assert told["age"] is told["born"] is told["ill"] is None
    exact = {str(value) for value in frame["lon"].to_list()}
    assert not any(value in str(made.frame["lon"].to_list()) for value in exact)
    for off in ({"default_grid": False}, {"grid": "none"}):
        plain = shoal.anonymize(frame, K, **options, **off)
        assert any(value in str(plain.frame["lon"].to_list()) for value in exact)
        assert [check.name for check in plain.verification.checks] == ["k-anonymity"]


def test_certificate_and_report_tell_the_grid(frame, release, tmp_path):
    told = {c["name"]: c["grid"] for c in release.certificate()["columns"]}
    assert told["income"] == {"step": "powers of 10", "chosen": "as asked"}
    promised = [each["name"] for each in release.certificate()["promises"]]
    assert promised == ["k-anonymity", *(f"grid of {name!r}" for name in QI)]
    json.dumps(release.certificate())
    release.report(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "Ends are lines of a grid: powers of 10, as asked." in page


def test_the_report_names_no_line_that_is_not_published(frame, release):
    ends = set()
    for name in ("lon", "age"):
        for side in ("low", "high"):
            ends |= {str(each) for each in release.frame[f"{name}_{side}"].to_list()}
    for column in release.facts.columns:
        if column.name in ("lon", "age"):
            for bar in column.bars:
                for word in bar.label.split():
                    number = word.strip("[]")
                    if number[:1].isdigit():
                        assert number in ends or f"{float(number)}" in ends


def test_ends_of_a_struct_are_read_from_lines_of_json(frame, tmp_path):
    made = released(frame, style={"numeric": "struct"})
    for ending in ("jsonl", "parquet", "arrow"):
        assert made.write(tmp_path / f"safe.{ending}").verification.holds


@pytest.mark.parametrize("form", ["interval", "bounds"])
@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet", "arrow", "xlsx", "db"])
def test_every_format_keeps_its_lines_in_the_file(ending, form, frame, tmp_path):
    made = released(frame, style={"numeric": form})
    path = tmp_path / f"safe.{ending}"
    target = f"sqlite:///{path}?table=safe" if ending == "db" else path
    written = made.write(target)
    assert written.verification.holds
    assert written.verification.read_from == "what was written"
    assert len(written.verification.checks) == 1 + len(QI)


def test_a_table_with_time_zones_and_decimals_is_written_on_lines(tmp_path):
    n = 40
    seen = pl.Series(
        [dt.datetime(2024, 3, 1) + dt.timedelta(hours=29 * i, minutes=7) for i in range(n)]
    )
    table = pl.DataFrame(
        {
            "seen": seen.dt.replace_time_zone("Europe/Berlin"),
            "paid": pl.Series([f"{i * 3.37:.2f}" for i in range(n)]).cast(pl.Decimal(10, 2)),
        }
    )
    for form in ("interval", "bounds"):
        made = shoal.anonymize(
            table,
            4,
            quasi_identifiers=["seen", "paid"],
            grid={"seen": "day", "paid": 0.5},
            style={"numeric": form},
            seed=1,
        )
        for ending in ("csv", "parquet", "jsonl"):
            assert made.write(tmp_path / f"{form}.{ending}").verification.holds


def test_an_engine_that_forgets_the_grid_is_stopped(frame, monkeypatch):
    from shoal.engine.local import LocalEngine

    publish = LocalEngine.publish

    def forgets(self, work, groups):
        made = publish(self, work, groups)
        return made._replace(frame=made.frame.with_columns(age=pl.lit("[21-24]")))

    monkeypatch.setattr(LocalEngine, "publish", forgets)
    with pytest.raises(shoal.PromiseError, match="ends on lines of its grid"):
        released(frame.select("age", "ill"), quasi_identifiers=["age"], grid={"age": 5})


@pytest.mark.parametrize(
    ("values", "refused"),
    [
        ([1.0, 5e-324, 0.5, -1.0], False),
        ([0.0, 1e-289, 0.0, 1e-289], False),
        ([0.0, 1e299, 0.0, -1e299], False),
        ([7.0, 7.0, 7.0, 7.0], False),
        ([0.0, 5e-324, 1e-310, 0.0], True),
        ([-1.7e308, 1.7e308, 0.0, 0.0], True),
    ],
)
def test_a_column_too_wide_or_too_narrow_to_compute_with_is_refused(values, refused):
    frame = pl.DataFrame({"x": values, "y": [1, 2, 3, 4]})
    for grid in (None, False):
        asked = {"quasi_identifiers": ["x", "y"], "seed": 1, "default_grid": grid is None}
        if refused:
            with pytest.raises(shoal.DataError, match="Column 'x' holds numbers that cannot be"):
                shoal.anonymize(frame, 2, **asked)
        else:
            assert shoal.anonymize(frame, 2, **asked).verification.holds
