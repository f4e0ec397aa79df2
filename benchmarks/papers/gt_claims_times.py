"""What Goldberger and Tassa claim about run times, judged by our results."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from benchmarks.papers.claims import Claim, judge
from benchmarks.papers.criteria import QUADRATIC, inside, linear, r_squared
from benchmarks.papers.eight import growth, span

SLOW = ("sequential", "agglomerative", "k-member")
QUICK = ("mondrian", "hilbert")
MUCH = 5.0  # "much faster"
FLAT = 1.5  # "almost independent of k": longest ÷ shortest
Times = dict[str, dict[str, float]]


def _seconds(cells: dict[str, Any]) -> Times:
    return {name: {x: c["seconds"] for x, c in row.items()} for name, row in cells.items()}


def times(results: dict[str, Any]) -> list[Claim]:
    """Return the claims of section 8.1 and 8.2, judged on the algorithms as published."""
    plain = results["plain"]
    time, ours = _seconds(plain["over_k"]), _seconds(results["over_k"])
    ks = list(time["sequential"])
    return [
        *_between(time, ours, ks),
        *_growing(results, time, ours, ks),
        _dimension(results),
    ]


def _apart(time: Times, ks: list[str]) -> list[float]:
    return [min(time[n][k] for n in SLOW) / max(time[n][k] for n in QUICK) for k in ks]


def _first(time: Times, ks: list[str]) -> list[bool]:
    return [time["sequential"][k] == min(time[n][k] for n in SLOW) for k in ks]


def _slowest(time: Times, ks: list[str]) -> list[float]:
    return [
        time["agglomerative"][k] / max(time[n][k] for n in ("sequential", "k-member")) for k in ks
    ]


def _between(time: Times, ours: Times, ks: list[str]) -> list[Claim]:
    first, slowest = _first(time, ks), _slowest(time, ks)
    return [
        Claim(
            "Goldberger & Tassa, Fig. 2",
            "Mondrian and Hilbert are much faster than the three others",
            f"as published the fastest of the three takes {span(_apart(time, ks), '.1f')} times as "
            f"long as the slower of the two (skipping: {span(_apart(ours, ks), '.1f')})",
            judge(ratio >= MUCH for ratio in _apart(time, ks)),
            f"Much is taken for {MUCH:g} times.",
        ),
        Claim(
            "Goldberger & Tassa, Fig. 2",
            "of the three, sequential has the best run time for most k",
            f"as published at {sum(first)} of {len(ks)} values of k ("
            + ", ".join(k for k, case in zip(ks, first, strict=True) if case)
            + f"); with Shoal's skipping at {sum(_first(ours, ks))}",
            "confirmed" if sum(first) > len(ks) / 2 else judge(first),
            "A pass compares every record with n/k clusters; skipping helps the two others more.",
        ),
        Claim(
            "Goldberger & Tassa, Fig. 2",
            "agglomerative clustering takes much longer than all others",
            f"as published {span(slowest, '.1f')} times the slower of sequential and k-member "
            f"(with Shoal's skipping {span(_slowest(ours, ks), '.1f')})",
            judge(ratio >= MUCH for ratio in slowest),
            f"Much is taken for {MUCH:g} times. Ours remembers the nearest cluster of each, which "
            "the paper does not say it does.",
        ),
    ]


def _growing(results: dict[str, Any], time: Times, ours: Times, ks: list[str]) -> list[Claim]:
    flat = {n: max(time[n].values()) / min(time[n].values()) for n in ("agglomerative", "k-member")}
    power = {
        name: growth((int(n), cell["seconds"]) for n, cell in cells.items())
        for name, cells in results["plain"]["over_n"].items()
        if name in SLOW
    }
    skipping = {
        name: growth((int(n), cell["seconds"]) for n, cell in list(cells.items())[-4:])
        for name, cells in results["over_n"].items()
        if name in SLOW
    }
    falls = [b < a for a, b in pairwise(time["sequential"].values())]
    drop = time["sequential"][ks[0]] / time["sequential"][ks[-1]]
    k_ratio = int(ks[-1]) / int(ks[0])
    ours_drop = ours["sequential"][ks[0]] / ours["sequential"][ks[-1]]
    passes = [results["table_2"][k]["passes"] for k in ks]
    return [
        Claim(
            "Goldberger & Tassa, section 8.1",
            "the run times of agglomerative and k-member are almost independent of k",
            "longest ÷ shortest over k as published: "
            + ", ".join(f"{n} {r:.2f}" for n, r in flat.items()),
            judge(ratio <= FLAT for ratio in flat.values()),
            f"Almost independent is taken for a factor of at most {FLAT}.",
        ),
        Claim(
            "Goldberger & Tassa, Fig. 3",
            "agglomerative and k-member take O(n²)",
            "as published time grows with the power "
            + ", ".join(f"{n} {b:.2f}" for n, b in power.items())
            + "; with Shoal's skipping "
            + ", ".join(f"{n} {b:.2f}" for n, b in skipping.items()),
            judge(inside(power[name], QUADRATIC) for name in ("agglomerative", "k-member")),
            f"A power of {QUADRATIC[0]} to {QUADRATIC[1]} is taken for n².",
        ),
        Claim(
            "Goldberger & Tassa, section 8.1",
            "the run time of sequential clustering decreases with k, faster than 1/k",
            f"as published it falls in {sum(falls)} of {len(falls)} steps of k, {drop:.1f} times "
            f"shorter at k = {ks[-1]} than at {ks[0]}, where 1/k would give {k_ratio:.0f}; with "
            f"Shoal's skipping {ours_drop:.1f} times",
            judge([all(falls), drop >= k_ratio]),
            "A pass compares every record with n/k clusters; ours compares only with those that "
            "may win, whose number hardly depends on k.",
        ),
        Claim(
            "Goldberger & Tassa, section 8.1",
            "the number of passes also falls with k",
            f"mean passes over k: {', '.join(f'{p:.1f}' for p in passes)}",
            judge([passes[-1] < passes[0], all(b <= a for a, b in pairwise(passes))]),
            "The first condition is fewer passes at the largest k than at the smallest, the second "
            "a fall in every step.",
        ),
    ]


def _dimension(results: dict[str, Any]) -> Claim:
    rows = {
        k: ([int(r) for r in row], [cell["pass"] for cell in row.values()])
        for k, row in results["plain"]["over_r"].items()
    }
    skipping = {
        k: r_squared([int(r) for r in row], [cell["pass"] for cell in row.values()])
        for k, row in results["over_r"].items()
    }
    return Claim(
        "Goldberger & Tassa, Fig. 4",
        "the run time grows roughly linearly with the number of public attributes",
        "R² of a line through the times of one pass, as published: "
        + ", ".join(f"k = {k}: {r_squared(*row):.3f}" for k, row in rows.items())
        + "; with Shoal's skipping "
        + ", ".join(f"{r:.3f}" for r in skipping.values()),
        judge(linear(x, y, 0.9) for x, y in rows.values()),
        "Roughly is taken for a rising line with R² of at least 0.9 over 5, 8, 11 and 14 columns. "
        "Judged on one pass, the median of three seeds: how many are made depends on chance.",
    )
