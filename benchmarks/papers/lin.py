"""Lin and Wei: Figs. 3 and 4, outliers, complexity, the clustering stage, and the outlook."""

from __future__ import annotations

from statistics import mean
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

import shoal
from benchmarks.common import eight as columns
from benchmarks.draw import figures, tables
from benchmarks.papers.as_published import anonymize
from benchmarks.papers.eight import (
    KS,
    Variant,
    plain_chiu_tsai,
    plain_k_member,
    plain_oka,
    release,
    run,
    summary,
)
from benchmarks.papers.lin_claims import all_claims
from benchmarks.papers.lin_stage import Parts, stage
from shoal.datasets import load_adult

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from benchmarks.kept import Keep

TITLE = "Lin, Wei: An Efficient Clustering Method for k-Anonymization"
VARIANTS = {
    "oka": Variant("oka"),
    "k-member": Variant("k-member"),
    "oka, 3 iterations": Variant("oka", {"iterations": 3}),
    "oka, 1 % suppressed": Variant("oka", more={"max_suppression": 0.01}),
    "chiu-tsai": Variant("chiu-tsai"),
}
DRAWN = ("oka", "k-member")
CONTEST = {
    ("trees", "sorted"): Variant("oka"),
    ("trees", "random"): Variant("oka", {"order": "random"}),
    ("flat", "sorted"): Variant("oka", told="flat"),
    ("flat", "random"): Variant("oka", {"order": "random"}, told="flat"),
}
"""OKA by what it is told about categories, and by the order in which records join clusters."""
CONTEST_KS = (5, 10, 50, 250)
PLAIN = "k-member, every record looked at"
PLAIN_OKA = "oka, every cluster looked at"
PLAIN_CHIU_TSAI = "chiu-tsai, every record looked at"
CHEAPER = Variant("oka", {"small": "cheaper"})
SIZES = (5_000, 10_000, 20_000, 40_000)
THRESHOLDS = (0.1, 0.2, 0.3, 0.5, 0.7)
OUTLIERS = 0.01
STAGES = {
    "as published": Parts(),
    "not sorted": Parts(sort=False),
    "centroids stay": Parts(move=False),
    "size does not count": Parts(by_size=False),
}
PRIVACY = {
    "l-diversity": shoal.LDiversity(1.2),
    "t-closeness": shoal.TCloseness(0.3),
    "alpha-k": shoal.AlphaK(0.9),
}


def measure(keep: Keep, *, quick: bool) -> dict[str, Any]:
    """Run everything."""
    adult = load_adult().sample(fraction=1.0, shuffle=True, seed=1)
    train = load_adult(part="train")
    ks, sizes, seeds, small, k = KS, SIZES, 5, 4_000, 10
    if quick:
        adult, train = adult.head(400), train.head(300)
        ks, sizes, seeds, small = (2, 5, 10), (100, 200, 400), 2, 200
    found = {
        "rows": adult.height,
        "train_rows": train.height,
        "seeds": seeds,
        "over_k": {name: {k: _cell(keep, adult, k, name, seeds) for k in ks} for name in VARIANTS},
        "train": {name: {k: _cell(keep, train, k, name, seeds) for k in ks} for name in DRAWN},
        "over_n": {
            name: {n: _cell(keep, adult.head(n), k, name, min(seeds, 3)) for n in sizes}
            for name in (*DRAWN, "chiu-tsai")
        },
        "plain": {k: _plain(keep, adult, k) for k in ks},
        "plain_over_n": {n: _plain(keep, adult.head(n), k) for n in sizes},
        "plain_oka": {k: _plain_oka(keep, adult, k) for k in ks},
        "plain_oka_over_n": {n: _plain_oka(keep, adult.head(n), k) for n in sizes},
        "plain_chiu_tsai_over_n": {
            n: keep(
                f"{PLAIN_CHIU_TSAI} n={n} k={k} seed=0",
                lambda n=n: plain_chiu_tsai(adult.head(n), k, 0),
            )
            for n in sizes
        },
        "outliers": {},
        "deleted": {},
        "stages": {"rows": small, "k": k},
        "models": {},
        "contest": contest(keep, adult, CONTEST_KS if not quick else (5, 10), min(seeds, 2)),
        "cheaper": {
            k: summary(
                [
                    keep(
                        f"oka, suppressed or filled n={adult.height} k={k} seed={seed}",
                        lambda k=k, seed=seed: run(adult, k, CHEAPER, seed),
                    )
                    for seed in range(min(seeds, 2))
                ]
            )
            for k in ks
        },
        "levels": keep(f"levels k={k}", lambda: _levels(adult, k)),
    }
    mixed = _with_outliers(adult)
    for name in DRAWN:
        found["outliers"][name] = _cell(keep, mixed, k, name, seeds, "outliers ")
    for limit in THRESHOLDS:
        found["deleted"][limit] = keep(
            f"loukides-shao threshold={limit} k={k} seed=0",
            lambda limit=limit: _deleted(adult, k, limit),
        )
    for name, parts in STAGES.items():
        found["stages"][name] = [
            keep(
                f"stage {name} k={k} seed={seed}",
                lambda parts=parts, seed=seed: stage(adult.head(small), k, parts, seed),
            )
            for seed in range(min(seeds, 3))
        ]
    for name in DRAWN:
        found["stages"][name] = _cell(keep, adult.head(small), k, name, min(seeds, 3))
    for name, model in PRIVACY.items():
        found["models"][name] = keep(
            f"oka {name} k={k} seed=0", lambda model=model: _model(adult, k, model)
        )
    return found


def _cell(
    keep: Keep, frame: Any, k: int, name: str, seeds: int, what: str = ""
) -> dict[str, float]:
    runs = [
        keep(
            f"{what}{name} n={frame.height} k={k} seed={seed}",
            lambda seed=seed: run(frame, k, VARIANTS[name], seed),
        )
        for seed in range(seeds)
    ]
    return summary(runs)


def contest(keep: Keep, frame: Any, ks: Sequence[int], seeds: int) -> dict[str, Any]:
    """Run OKA and k-member over trees, k and orders; losses count under what both were told."""
    found: dict[str, Any] = {}
    for told in ("trees", "flat"):
        variants = {
            **{f"oka, {order}": v for (t, order), v in CONTEST.items() if t == told},
            "k-member": Variant("k-member", told=told),  # type: ignore[arg-type]
        }
        found[told] = {
            name: {
                str(k): mean(
                    keep(
                        f"contest {told} {name} k={k} seed={seed}",
                        lambda k=k, v=v, seed=seed: _own_loss(frame, k, v, seed),
                    )["il"]
                    for seed in range(seeds)
                )
                for k in ks
            }
            for name, v in variants.items()
        }
    return found


def _own_loss(frame: Any, k: int, variant: Variant, seed: int) -> dict[str, float]:
    return {"il": release(frame, k, variant, seed)[0].scores["il"]}


def _plain(keep: Keep, frame: Any, k: int) -> dict[str, float]:
    return keep(f"{PLAIN} n={frame.height} k={k} seed=0", lambda: plain_k_member(frame, k, 0))


def _plain_oka(keep: Keep, frame: Any, k: int) -> dict[str, float]:
    return keep(f"{PLAIN_OKA} n={frame.height} k={k} seed=0", lambda: plain_oka(frame, k, 0))


def _with_outliers(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the table with records added that are like nobody.

    Their numbers are the lowest or the highest, their categories rare ones: each value is drawn
    with a chance that falls with its frequency.
    """
    rng = np.random.default_rng(7)
    n = max(2, round(OUTLIERS * frame.height))
    told = columns(frame)["quasi_identifiers"]
    strange = {}
    for name in frame.columns:
        cells = frame.get_column(name)
        if name in told and cells.dtype.is_numeric():
            strange[name] = rng.choice([cells.min(), cells.max()], n)
        elif name in told:
            values, counts = np.unique(cells.to_numpy(), return_counts=True)
            chance = 1 / counts
            strange[name] = rng.choice(values, n, p=chance / chance.sum())
        else:
            strange[name] = cells.sample(n, seed=3).to_numpy()
    return pl.concat([frame, pl.DataFrame(strange, schema=frame.schema)])


def _deleted(frame: Any, k: int, threshold: float) -> dict[str, Any]:
    """Return what Loukides and Shao's algorithm loses, and how much of it by deletion."""
    try:
        return run(frame, k, Variant("loukides-shao", {"threshold": threshold}), 0)
    except shoal.ShoalError as problem:
        return {"error": str(problem)}


def _model(frame: Any, k: int, model: Any) -> dict[str, Any]:
    """Return whether OKA's release keeps a promise beyond k."""
    found, seconds = release(frame, k, Variant("oka", more={"privacy": [model]}), 0)
    return {
        "holds": bool(found.verification),
        "model": str(model),
        "il": found.scores["il"],
        "seconds": seconds,
    }


def _levels(frame: Any, k: int) -> dict[str, float]:
    """Return the loss of generalisation at the level of attributes and at that of cells."""
    trees = shoal.datasets.adult_hierarchies()
    years = sorted(set(frame.get_column("education_num")))
    told = columns(frame, taxonomies=True)
    told["hierarchies"] = {
        **told["hierarchies"],
        "age": trees["age"],
        "education_num": shoal.interval_hierarchy(years, widths=(2, 4, 8)),
    }
    return {
        name: anonymize(frame, k, **told, algorithm=name, measure="il", seed=0).scores["il"]
        for name in ("incognito", "oka")
    }


def draw(results: dict[str, Any], folder: Path) -> list[str]:
    """Draw Figs. 3 and 4."""
    stems = []
    for stem, what, label, title in (
        ("lin_fig3_il", "il", "Total-IL (sum over all records)", "Fig. 3: information loss over k"),
        ("lin_fig4_time", "seconds", "time (s)", "Fig. 4: execution time over k"),
    ):
        series = {
            name: [(int(k), cell[what]) for k, cell in results["over_k"][name].items()]
            for name in DRAWN
        }
        if what == "seconds":
            series[PLAIN] = [(int(k), cell[what]) for k, cell in results["plain"].items()]
            series[PLAIN_OKA] = [(int(k), c[what]) for k, c in results["plain_oka"].items()]
        stems.append(
            figures.lines(
                stem,
                folder,
                series,
                x_label="k (records)",
                y_label=label,
                title=f"Lin and Wei, {title}",
                log_x=True,
                log_y=what == "seconds",
            )
        )
    return stems


def section(results: dict[str, Any]) -> Iterator[str]:
    """Yield the part of the page, below its title."""
    yield (
        f"Adult without missing values, {results['rows']:,} rows (the paper does not say whether "
        f"it takes these or the {results['train_rows']:,} of adult.data; both are in the table), "
        "columns and taxonomies as for Byun et al. The paper prints neither the values of k nor a "
        f"number of its figures. Mean of {results['seeds']} seeds (0 to {results['seeds'] - 1}), "
        "times their median. Below the two algorithms of the figures: what the paper proposes for "
        "later (more iterations, suppressing some records, 1 % here) and the algorithm of Chiu "
        "and Tsai that it describes. That one, and the algorithm of Loukides and Shao, are ours "
        "from its paragraphs: the full texts could not be had (of the first, a public copy of "
        "which only the abstract and the introduction are at hand, of the second, summaries). "
        "Our k-member and OKA pass over records and clusters that "
        "provably cannot win, with the same result; the paper's looked at all of them, so times of "
        "that are here too (seed 0, CPU seconds of the clustering alone), and claims about time "
        "are judged on these."
    )
    yield ""
    yield figures.picture("lin_fig3_il", "Fig. 3: information loss over k")
    yield figures.picture("lin_fig4_time", "Fig. 4: execution time over k")
    for what, title, form in (
        ("il", "Total-IL (Fig. 3)", ",.0f"),
        ("seconds", "Seconds (Fig. 4)", ".3f"),
    ):
        heads = ["rows", "k", *results["over_k"]["oka"]]
        body = [
            (results[rows], name, row)
            for rows, found in (
                ("rows", _with_plain(results)),
                ("train_rows", results["train"]),
            )
            for name, row in found.items()
        ]
        yield from tables.titled(
            f"{title} over k",
            heads,
            (
                [f"{rows:,}", figures.shown(name), *(f"{c[what]:{form}}" for c in row.values())]
                for rows, name, row in body
            ),
        )
    yield from _plain_over_n(results)
    yield from _contest(results["contest"])
    yield from tables.titled(
        "OKA with small clusters filled, or suppressed where that loses less (outlook)",
        ["k", *results["cheaper"]],
        [
            ["filled", *(f"{results['over_k']['oka'][k]['il']:,.0f}" for k in results["cheaper"])],
            ["whichever loses less", *(f"{c['il']:,.0f}" for c in results["cheaper"].values())],
            [
                "rows suppressed",
                *(f"{c['suppressed'] / results['rows']:.1%}" for c in results["cheaper"].values()),
            ],
        ],
    )
    yield ""
    yield (
        f"**The clustering stage alone** ({results['stages']['rows']:,} rows, "
        f"k = {results['stages']['k']}, mean of the seeds; a plain second implementation whose "
        "parts can be left out)"
    )
    yield ""
    lines: list[list[object]] = []
    for name in STAGES:
        runs = results["stages"][name]
        cells = [np.mean([run[what] for run in runs]) for what in ("together", "il")]
        low, high = min(run["smallest"] for run in runs), max(run["largest"] for run in runs)
        lines.append([name, f"{cells[0]:.0%}", low, high, f"{cells[1]:,.0f}"])
    for name, what in (("oka", "OKA with its adjustment stage"), ("k-member", "k-member")):
        cell = results["stages"][name]
        lines.append([what, "", cell["smallest"], cell["largest"], f"{cell['il']:,.0f}"])
    heads = ["", "equal records all in one cluster", "smallest", "largest", "Total-IL"]
    yield from tables.table(heads, lines)


def _with_plain(results: dict[str, Any]) -> dict[str, Any]:
    return {**results["over_k"], PLAIN: results["plain"], PLAIN_OKA: results["plain_oka"]}


def _plain_over_n(results: dict[str, Any]) -> Iterator[str]:
    """Yield the times over records by which the complexities are judged."""
    rows = {
        PLAIN: results["plain_over_n"],
        PLAIN_OKA: results["plain_oka_over_n"],
        PLAIN_CHIU_TSAI: results["plain_chiu_tsai_over_n"],
    }
    lines = [
        [figures.shown(name), *(f"{c['seconds']:.3f}" for c in row.values())]
        for name, row in rows.items()
    ]
    rounds = [str(c["iterations"]) for c in results["plain_chiu_tsai_over_n"].values()]
    lines.append(["iterations of chiu-tsai", *rounds])
    heads = [f"{int(n):,}" for n in results["plain_over_n"]]
    title = "As published: CPU seconds over records, nothing skipped, k = 10"
    yield from tables.titled(title, ["", *heads], lines)


def _contest(contest: dict[str, Any]) -> Iterator[str]:
    """Yield OKA's loss divided by k-member's over trees, orders and k."""
    ks = list(next(iter(contest.values()))["k-member"])
    rows = [
        [told, name.partition(", ")[2], *(f"{row[k] / found['k-member'][k]:.2f}" for k in ks)]
        for told, found in contest.items()
        for name, row in found.items()
        if name != "k-member"
    ]
    title = "OKA's Total-IL ÷ k-member's, by trees, order of the records and k (below 1: OKA wins)"
    yield from tables.titled(title, ["categories", "records", *ks], rows)


claims = all_claims
