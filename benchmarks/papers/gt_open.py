"""Runs of what the paper leaves open, and the algorithms as published, nothing skipped."""

from __future__ import annotations

from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.papers import gt_plain, gt_variants
from benchmarks.papers.gt_runs import VARIANTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.kept import Keep

ROWS = 20_000
"""Of the plain series over k: agglomerative clustering looks at all pairs of clusters."""
SIZES = (2_500, 5_000, 10_000, 20_000)
DIMENSIONS = (5, 8, 11, 14)
QUICK = ("mondrian", "hilbert")


def per_pass(runs: list[dict[str, Any]]) -> dict[str, float]:
    """Return the median time of several seeds, and the time of one pass with its ends."""
    each = [one["seconds"] / one["passes"] for one in runs]
    return {
        "seconds": median(one["seconds"] for one in runs),
        "pass": median(each),
        "least": min(each),
        "most": max(each),
    }


def plain(keep: Keep, ks: Sequence[int], *, quick: bool) -> dict[str, Any]:
    """Time the algorithms as published: one core, CPU seconds of the clustering alone."""
    rows, sizes, mark = (ROWS, SIZES, 50) if not quick else (300, (100, 200, 300), 10)
    wide, seeds = ((20,), range(3)) if not quick else ((10,), range(1))

    def slow(name: str, k: int, n: int) -> dict[str, Any]:
        return keep(f"plain {name} k={k} rows={n} columns=14", partial(gt_plain.run, name, k, n))

    def fast(name: str, k: int, n: int) -> dict[str, Any]:
        return keep(f"plain {name} k={k} rows={n}", partial(gt_plain.quick_run, name, k, n))

    return {
        "rows": rows,
        "mark": mark,
        "over_k": {
            **{name: {k: slow(name, k, rows) for k in ks} for name in gt_plain.PLAIN},
            **{name: {k: fast(name, k, rows) for k in ks} for name in QUICK},
        },
        "over_n": {
            **{name: {n: slow(name, mark, n) for n in sizes} for name in gt_plain.PLAIN},
            **{name: {n: fast(name, mark, n) for n in sizes} for name in QUICK},
        },
        "over_r": {
            k: {
                r: per_pass(
                    [
                        keep(
                            f"plain passes k={k} rows={rows} columns={r} seed={seed}",
                            partial(gt_plain.passes_run, k, rows, r, seed),
                        )
                        for seed in seeds
                    ]
                )
                for r in DIMENSIONS
            }
            for k in wide
        },
    }


def open_points(keep: Keep, mark: int, *, quick: bool) -> dict[str, Any]:
    """Run the variants of Mondrian and of the curve, and DM of groups and of published rows."""
    few, sites = (1_500, (1, 2, 4)) if not quick else (150, (1, 2))
    many = 5_000 if not quick else 300
    return {
        "sites": {
            "rows": few,
            "k": 20,
            **{
                str(n): keep(
                    f"sites={n} rows={few} k=20 seed=0", partial(gt_variants.over_sites, n, few, 20)
                )
                for n in sites
            },
            "central": keep(
                f"sites: central rows={few} k=20 seed=0", partial(gt_variants.central, few, 20)
            ),
        },
        "norms": {
            name: keep(
                f"norm {name} rows={many} k={mark} seed=0",
                partial(gt_variants.norm, name, many, mark),
            )
            for name in ("l1", "l2", "max", "mi")
        },
        "norm_rows": many,
        "variants": {
            "mondrian": {
                name: keep(
                    f"mondrian {name} k={mark}",
                    partial(gt_variants.mondrian, name, mark, quick=quick),
                )
                for name in gt_variants.MONDRIAN
            },
            "hilbert": {
                name: keep(
                    f"hilbert axes {name} k={mark}",
                    partial(gt_variants.hilbert, name, mark, quick=quick),
                )
                for name in gt_variants.axes()
            },
        },
        "dm": {
            name: keep(
                f"dm both ways {name} rows={gt_variants.DM_ROWS} k={mark}",
                partial(gt_variants.both_dm, name, mark, quick=quick),
            )
            for name in VARIANTS
            if name != "hilbert, not rescaled"
        },
    }
