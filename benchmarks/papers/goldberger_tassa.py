"""Goldberger and Tassa: Figs. 1 to 6, Tables 1 to 3, the propositions and what the text claims."""

from __future__ import annotations

from functools import partial
from statistics import mean, pstdev
from typing import TYPE_CHECKING, Any

from benchmarks.draw import figures, tables
from benchmarks.papers import gt_theory
from benchmarks.papers.gt_claims import all_claims
from benchmarks.papers.gt_open import open_points, per_pass, plain
from benchmarks.papers.gt_open_page import (
    as_published,
    balanced,
    by_passes,
    dimension_table,
    figures_of_plain,
    norms,
    over_sites,
    points_per_pass,
    variants,
)
from benchmarks.papers.gt_runs import VARIANTS, adult, run, same_as_agglomerative
from benchmarks.papers.published_numbers import (
    AT_50,
    TABLE_2,
    TABLE_2_DEVIATION,
    TABLE_2_MINIMUM,
    TABLE_3,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from benchmarks.kept import Keep

TITLE = "Goldberger, Tassa: Efficient Anonymizations with Enhanced Utility"
SIZES = (5_000, 10_000, 15_000, 20_000, 30_000, 45_222)
DIMENSIONS = (5, 8, 11, 14)
SALARY_L = (1.0, 1.05, 1.1, 1.15, 1.2, 1.25, 1.28, 1.3, 1.31, 1.315, 1.3295)
EDUCATION_L = (1.0, 1.25, 1.5, 1.75, 2.0, 2.1, 2.2, 2.3, 2.4, 2.6, 3.05)
WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)
BALANCED_L = {"education": (2.6, 3.0)}
TRIED = (("alpha", 1.0), ("alpha", 2.0), ("omega", 1.2), ("omega", 2.0))
PASSES = (1, 2)
AT_ONCE = {"split": "at once"}
"""A cluster is split when it becomes too large (section 6.3), not after the pass (step 9)."""
ALPHAS, OMEGAS = (0.25, 0.5, 0.75, 1.0), (1.25, 1.5, 1.75, 2.0)
SCALED = tuple(name for name in VARIANTS if name != "hilbert, not rescaled")


def measure(keep: Keep, *, quick: bool) -> dict[str, Any]:
    """Run everything: what is timed alone, what only shows quality two runs at a time."""
    ks: Sequence[int] = tuple(TABLE_2)
    sizes: Sequence[int] = SIZES
    salary: Sequence[float] = SALARY_L
    education: Sequence[float] = EDUCATION_L
    weights: Sequence[float] = WEIGHTS
    weighted_ks: Sequence[int] = tuple(TABLE_3)
    runs, few, mark = 10, 3, 50
    if quick:
        ks, sizes, runs, few, mark = (10, 20, 50), (500, 1_000, 1_500), 2, 1, 20
        salary, education, weights, weighted_ks = (1.0, 1.2), (1.0, 1.5), (0.0, 1.0), (20,)

    def timed(name: str, k: int, seed: int = 0, **given: Any) -> dict[str, Any]:
        told = "".join(f" {what}={value}" for what, value in given.items())
        # the one variant whose options have changed since its first runs were stored
        shown = "mondrian cuts=median" if name == "mondrian" else name
        return keep(
            f"{shown} k={k}{told} seed={seed}", partial(run, name, k, seed, quick=quick, **given)
        )

    over_k = {name: {k: timed(name, k) for k in ks} for name in VARIANTS}
    over_n = {name: {n: timed(name, mark, rows=n) for n in sizes} for name in SCALED}
    over_r = {
        k: {
            r: per_pass([timed("sequential", k, seed, columns=r) for seed in range(few)])
            for r in DIMENSIONS
        }
        for k in ((20, 50) if not quick else (20,))
    }

    jobs: dict[str, Any] = {}

    def job(key: str, k: int, seed: int, **given: Any) -> str:
        jobs[key] = (_quality, (k, seed, quick, given))
        return key

    repeated = {k: [job(f"repeated k={k} seed={s}", k, s) for s in range(runs)] for k in ks}
    diverse = {
        private: {
            l: job(f"diverse {private} l={l} seed=0", mark, 0, private=private, l=_demand(l))
            for l in levels
        }
        for private, levels in (("salary", salary), ("education", education))
    }
    weighted = {
        k: {
            w: [job(f"weighted k={k} w={w} seed={s}", k, s, w=w) for s in range(min(few, 2))]
            for w in weights
        }
        for k in weighted_ks
    }
    split = {
        k: [job(f"repeated at once k={k} seed={s}", k, s, options=AT_ONCE) for s in range(few)]
        for k in ks
    }
    split_weighted = {
        k: {
            w: [
                job(f"weighted at once k={k} w={w} seed={s}", k, s, w=w, options=AT_ONCE)
                for s in range(min(few, 2))
            ]
            for w in weights
        }
        for k in weighted_ks
    }
    split_first = {
        k: job(
            f"weighted at once k={k} w=0.0 passes=1 seed=0",
            k,
            0,
            w=0.0,
            options={**AT_ONCE, **_at_most(1)},
        )
        for k in weighted_ks
    }
    shapes = {
        f"{alpha} {omega}": [
            job(
                f"start alpha={alpha} omega={omega} seed={seed}",
                mark,
                seed,
                options={"alpha": alpha, "omega": omega},
            )
            for seed in range(few)
        ]
        for alpha, omega in dict.fromkeys([(a, 1.5) for a in ALPHAS] + [(0.5, o) for o in OMEGAS])
    }
    rounded = {
        private: {
            l: job(
                f"diverse {private} l={l} balanced seed=0",
                mark,
                0,
                private=private,
                l=l,
                options={"rounding": "balanced"},
            )
            for l in levels
        }
        for private, levels in (BALANCED_L if not quick else {"education": (1.5,)}).items()
    }
    passes = {
        n: job(f"weighted k={mark} w=0.0 passes={n} seed=0", mark, 0, w=0.0, options=_at_most(n))
        for n in (PASSES if not quick else (1,))
    }
    tried = {
        f"{what} = {value}": job(
            f"weighted k={mark} w=0.0 {what}={value} passes=20 seed=0",
            mark,
            0,
            w=0.0,
            options={what: value, **_at_most(20)},
        )
        for what, value in (TRIED if not quick else TRIED[:1])
    }
    done = keep.many(jobs)
    return {
        **open_points(keep, mark, quick=quick),
        "plain": plain(keep, ks, quick=quick),
        "rounded": {p: {l: done[key] for l, key in row.items()} for p, row in rounded.items()},
        "passes": {n: done[key] for n, key in passes.items()},
        "tried": {name: done[key] for name, key in tried.items()},
        "at_once": {
            "table_2": {k: _spread([done[key] for key in keys]) for k, keys in split.items()},
            "table_3": {
                k: {w: _average([done[key] for key in keys]) for w, keys in row.items()}
                for k, row in split_weighted.items()
            },
            "first": {k: done[key] for k, key in split_first.items()},
        },
        "rows": adult(quick=quick).height,
        "mark": mark,
        "runs": runs,
        "over_k": over_k,
        "over_n": over_n,
        "over_r": over_r,
        "table_2": {k: _spread([done[key] for key in keys]) for k, keys in repeated.items()},
        "diverse": {
            private: {l: done[key] for l, key in cells.items()}
            for private, cells in diverse.items()
        },
        "table_3": {
            k: {w: _average([done[key] for key in keys]) for w, keys in row.items()}
            for k, row in weighted.items()
        },
        "shapes": {name: mean(done[key]["lm"] for key in keys) for name, keys in shapes.items()},
        "examples": keep("section 5.1", gt_theory.section_5_1),
        "table_1": keep("table 1", gt_theory.table_1),
        "monotone": keep("monotone", partial(gt_theory.monotone, quick=quick)),
        "global": keep("global recoding", gt_theory.global_recoding),
        "facts": keep("facts", partial(gt_theory.facts, quick=quick)),
        "special_case": keep("special case", partial(same_as_agglomerative, quick=quick)),
    }


def _quality(k: int, seed: int, quick: bool, given: dict[str, Any]) -> dict[str, Any]:  # noqa: FBT001
    """Return a run of sequential clustering without its time, which shared the machine."""
    found = run("sequential", k, seed, quick=quick, **given)
    del found["seconds"]
    return found


def _at_most(passes: int) -> dict[str, Any]:
    return {"max_passes": passes}


def _demand(l: float) -> float | None:
    return None if l == 1.0 else l


def _spread(runs: list[dict[str, Any]]) -> dict[str, Any]:
    losses = [one["lm"] for one in runs]
    return {
        "runs": len(losses),
        "mean": mean(losses),
        "minimum": min(losses),
        "deviation": pstdev(losses),
        "pure": mean(one["pure"] for one in runs),
        "passes": mean(one["passes"] for one in runs),
    }


AVERAGED = ("entropy", "entropy_by_size", "pure", "lm", "passes")


def _average(runs: list[dict[str, Any]]) -> dict[str, float]:
    return {what: mean(one[what] for one in runs) for what in AVERAGED}


def draw(results: dict[str, Any], folder: Path) -> list[str]:
    """Draw Figs. 1 to 6."""
    over_k, over_n, mark = results["over_k"], results["over_n"], results["mark"]
    stems = [
        figures.lines(
            "gt_fig1_utility",
            folder,
            {name: _points(over_k[name], "lm") for name in SCALED},
            x_label="k (records)",
            y_label="LM (share of suppressed cells)",
            title="Goldberger & Tassa, Fig. 1 and Table 2: information loss over k",
            printed={
                "sequential": list(TABLE_2.items()),
                **{name: [(50, loss)] for name, loss in AT_50.items()},
            },
        )
    ]
    rows = f", {results['rows']:,} rows"
    for stem, cells, size, x_label, title in (
        ("gt_fig2_runtime", over_k, rows, "k (records)", "Fig. 2: run time over k"),
        (
            "gt_fig3_scalability",
            over_n,
            "",
            "records",
            f"Fig. 3: run time over records, k = {mark}",
        ),
    ):
        stems.append(
            figures.lines(
                stem,
                folder,
                {
                    **{f"{name}{size}": _points(cells[name], "seconds") for name in SCALED},
                    **figures_of_plain(results["plain"], stem),
                },
                x_label=x_label,
                y_label="time (s)",
                title=f"Goldberger & Tassa, {title}",
                log_y=True,
            )
        )
    stems.append(
        figures.lines(
            "gt_fig4_dimension",
            folder,
            {
                f"sequential{rows}, k = {k}": points_per_pass(row)
                for k, row in results["over_r"].items()
            }
            | figures_of_plain(results["plain"], "gt_fig4_dimension"),
            x_label="public attributes",
            y_label="time of one pass (s)",
            title="Goldberger & Tassa, Fig. 4: run time over dimension",
            log_y=True,
        )
    )
    for stem, private, number in (
        ("gt_fig5_diversity", "salary", 5),
        ("gt_fig6_education", "education", 6),
    ):
        found = sorted(
            (cell["diversity"], cell["lm"])
            for cell in results["diverse"][private].values()
            if cell["groups"] > 1
        )
        series = {f"sequential, diverse in {private}": found}
        more = sorted(
            (cell["diversity"], cell["lm"])
            for cell in results["rounded"].get(private, {}).values()
            if cell["groups"] > 1
        )
        if more:
            series[f"sequential, diverse in {private}, balanced rounding"] = more
        ends = (found[0][0], max(found[-1][0], *(x for x, _ in more), found[0][0]))
        for name in ("hilbert", "mondrian"):
            loss = over_k[name][str(mark)]["lm"]
            series[f"{name}, no diversity asked for"] = [(x, loss) for x in ends]
        stems.append(
            figures.lines(
                stem,
                folder,
                series,
                x_label=f"diversity of the least diverse cluster in {private} (1 / frequency)",
                y_label="LM (share of suppressed cells)",
                title=f"Goldberger & Tassa, Fig. {number}: loss over diversity, k = {mark}",
            )
        )
    stems.append(
        figures.lines(
            "gt_table3_entropy",
            folder,
            {
                f"k = {k}": [(float(w), cell["entropy"]) for w, cell in row.items()]
                for k, row in results["table_3"].items()
            },
            x_label="weight w of MI (0: PMI alone)",
            y_label="mean entropy of a cluster (bits)",
            title="Goldberger & Tassa, Table 3: diversity over the measure",
            printed={
                f"k = {k}": list(TABLE_3[int(k)].items())
                for k in results["table_3"]
                if int(k) in TABLE_3
            },
        )
    )
    return stems


def _points(cells: dict[str, Any], what: str) -> list[tuple[int, float]]:
    return [(int(x), cell[what]) for x, cell in cells.items()]


def section(results: dict[str, Any]) -> Iterator[str]:
    """Yield the part of the page, below its title."""
    yield (
        f"{results['rows']:,} rows of Adult, its 14 public columns (fnlwgt included), cells kept "
        "or suppressed, so that LM is the share of suppressed cells; salary is private; alpha is "
        "0.5, omega 1.5. Mondrian and the Hilbert curve see the order of numbers, their cells are "
        "kept or suppressed all the same. All runs use one thread; seed 0 where one run is shown, "
        f"seeds 0 to {results['runs'] - 1} in Table 2. *k-member (Goldberger, Tassa)* is the "
        "variant their section 6.2.1 describes: the k - 1 records nearest to a centre, where Byun "
        "et al. add the record that the growing cluster can take at least cost. The paper leaves "
        "agglomerative clustering out of its figures; here it is in them."
    )
    yield ""
    for stem, text in (
        ("gt_fig1_utility", "Fig. 1: information loss over k"),
        ("gt_fig2_runtime", "Fig. 2: run time over k"),
        ("gt_fig3_scalability", "Fig. 3: run time over records"),
        ("gt_fig4_dimension", "Fig. 4: run time over dimension"),
        ("gt_fig5_diversity", "Fig. 5: loss over diversity in salary"),
        ("gt_fig6_education", "Fig. 6: loss over diversity in education"),
        ("gt_table3_entropy", "Table 3: diversity over the measure"),
    ):
        yield figures.picture(stem, text)
    yield from _over(results["over_k"], "LM over k (Fig. 1)", "k", "lm", ".3f")
    yield ""
    yield (
        "Published at k = 50: improved Hilbert "
        f"{AT_50['hilbert']}, Mondrian {AT_50['mondrian']}, sequential {TABLE_2[50]}."
    )
    yield from _over(results["over_k"], "Seconds over k (Fig. 2)", "k", "seconds", ".2f")
    title = f"Seconds over records (Fig. 3), k = {results['mark']}"
    yield from _over(results["over_n"], title, "records", "seconds", ".2f")
    yield from dimension_table(
        "Sequential clustering over public columns (Fig. 4)", results["over_r"]
    )
    yield from as_published(results["plain"])
    yield from variants(results)
    yield from over_sites(results["sites"])
    yield from norms(results)
    toy = results["table_1"]
    yield ""
    yield (
        f"**Table 1** (the Hilbert toy): {toy['unscaled']:g}k suppressed cells without rescaling "
        f"(published 6k), {toy['rescaled']:g}k with it (published 2k)."
    )
    yield from _table_2(results["table_2"], results["at_once"]["table_2"])
    for private, number in (("salary", 5), ("education", 6)):
        yield from tables.titled(
            f"Loss and diversity in {private} (Fig. {number}), k = {results['mark']}",
            ["demanded l", "reached", "LM", "clusters"],
            [
                [l, f"{cell['diversity']:.4f}", f"{cell['lm']:.3f}", f"{cell['groups']:,}"]
                for l, cell in results["diverse"][private].items()
            ],
        )
    yield ""
    yield (
        "Where the start of Algorithm 3 is less diverse than demanded, Algorithm 2 gives one "
        "cluster of all rows (step 3); these points are not in the figures."
    )
    yield from balanced(results["rounded"], results["facts"])
    yield from _table_3(results["table_3"], results["at_once"])
    yield from by_passes(results)
    yield from tables.titled(
        f"LM over alpha and omega, k = {results['mark']}",
        ["alpha", "omega", "LM"],
        [[*shape.split(), f"{lm:.4f}"] for shape, lm in results["shapes"].items()],
    )


def _table_2(rows: dict[str, Any], at_once: dict[str, Any]) -> Iterator[str]:
    body = [
        [
            k,
            f"{TABLE_2_MINIMUM[int(k)]:.3f}",
            f"{row['minimum']:.4f}",
            f"{TABLE_2[int(k)]:.3f}",
            f"{row['mean']:.4f}",
            f"{row['mean'] - TABLE_2[int(k)]:+.4f}",
            f"{TABLE_2_DEVIATION[int(k)]:.2f}",
            f"{row['deviation']:.4f}",
            f"{row['passes']:.1f}",
            f"{at_once[k]['mean']:.4f}",
            f"{at_once[k]['mean'] - TABLE_2[int(k)]:+.4f}",
        ]
        for k, row in rows.items()
    ]
    heads = ["k", "minimum, published", "ours", "average, published", "ours", "difference"]
    heads += ["deviation, published", "ours", "passes", "split at once", "difference"]
    yield from tables.titled("Table 2: LM of repeated runs of sequential clustering", heads, body)
    yield ""
    runs = next(iter(at_once.values()))["runs"]
    nearer = sum(
        abs(at_once[k]["mean"] - TABLE_2[int(k)]) < abs(row["mean"] - TABLE_2[int(k)])
        for k, row in rows.items()
    )
    yield (
        "Section 6.3 reads as if a cluster were split when a record makes it too large, step 9 of "
        'Algorithm 1 splits after a pass. Ours does what step 9 says; `split="at once"` is in the '
        f"last two columns (average of {runs} seeds), nearer to the printed average in {nearer} of "
        f"{len(rows)} rows."
    )
    yield ""
    yield (
        "The paper prints the row of k = 75, which its other experiments use, as 60; 0.419 lies "
        "off the trend at 60. Its deviations cannot be right as printed: if the least of ten "
        "numbers lies 0.002 to 0.006 below their average, their deviation is at most three times "
        "that, 0.006 to 0.018. A tenth of the printed values would fit."
    )


def _table_3(rows: dict[str, Any], at_once: dict[str, Any]) -> Iterator[str]:
    weights = list(next(iter(rows.values())))
    body = []
    for k, row in rows.items():
        printed = TABLE_3.get(int(k), {})
        body.append(
            [f"{k}, published", *(f"{printed.get(float(w), float('nan')):.2f}" for w in weights)]
        )
        body.append([f"{k}, ours", *(f"{row[w]['entropy']:.3f}" for w in weights)])
        split = at_once["table_3"][k]
        body.append([f"{k}, split at once", *(f"{split[w]['entropy']:.3f}" for w in weights)])
        if k in at_once["first"]:
            first = f"{at_once['first'][k]['entropy']:.3f}"
            body.append([f"{k}, split at once, one pass", first, *[""] * (len(weights) - 1)])
        body.append([f"{k}, passes", *(f"{row[w]['passes']:.0f}" for w in weights)])
        body.append(
            [f"{k}, passes, split at once", *(f"{split[w]['passes']:.0f}" for w in weights)]
        )
        body.append([f"{k}, clusters of one value", *(f"{row[w]['pure']:.0%}" for w in weights)])
    heads = ["k", *(f"w = {w}" for w in weights)]
    yield from tables.titled("Table 3: mean entropy of the clusters' salaries (bits)", heads, body)


def _over(cells: dict[str, Any], title: str, over: str, what: str, form: str) -> Iterator[str]:
    heads = [f"{int(x):,}" for x in next(iter(cells.values()))]
    body = [
        [figures.shown(name), *(f"{cell[what]:{form}}" for cell in row.values())]
        for name, row in cells.items()
    ]
    yield from tables.titled(title, [over, *heads], body)


claims = all_claims
