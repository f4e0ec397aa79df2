"""What Byun et al. claim, judged by our results."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from benchmarks.draw.figures import shown
from benchmarks.papers.claims import Claim, judge
from benchmarks.papers.criteria import (
    ALMOST_LINEAR,
    QUADRATIC,
    about,
    inside,
    nearly,
    r_squared,
)
from benchmarks.papers.eight import growth, span

PLAIN, MODIFIED = "k-member", "k-member, classification"
PUBLISHED = "mondrian, as published"
MEDIAN = ("mondrian", "mondrian, ordered values", PUBLISHED)
CLOSE = 0.10  # "very close": within a tenth
STRAIGHT = 0.98  # of the variance: "almost linearly"


def all_claims(results: dict[str, Any]) -> list[Claim]:
    """Return every claim of the paper."""
    return [
        *_theorems(results),
        *_over_k(results),
        *_classification(results),
        *_times(results),
        *_cardinality(results),
        *_approach(results),
    ]


def _ratios(
    cells: dict[str, Any], what: str, ours: str, others: tuple[str, ...]
) -> dict[str, float]:
    """Return per k (or cardinality) the best of the others divided by ours."""
    return {
        x: min(cells[other][x][what] for other in others) / cell[what]
        for x, cell in cells[ours].items()
    }


def _against_orders(results: dict[str, Any], what: str, ours: str) -> dict[str, float]:
    """Return per k the best order and cut of median partitioning divided by ours."""
    orders = results["orders"].values()
    return {
        k: min(row[k][what] for row in orders) / cell[what]
        for k, cell in results["over_k"][ours].items()
    }


def _slower(plain: dict[str, Any]) -> dict[str, float]:
    """Return how many times as long k-member takes as Mondrian, both as published."""
    return {x: c["k-member"]["seconds"] / c["mondrian"]["seconds"] for x, c in plain.items()}


def _where(ratios: dict[str, float], over: str = "k") -> str:
    bad = [x for x, ratio in ratios.items() if ratio <= 1]
    return f"not at {over} = {', '.join(bad)}" if bad else f"at every {over}"


def _theorems(results: dict[str, Any]) -> list[Claim]:
    flat = results["flat"]
    same = abs(flat["il"] - flat["suppressed_cells"]) < 1e-6 * max(1.0, flat["il"])
    bounds = [
        (int(k), cell["smallest"], cell["largest"])
        for name in (PLAIN, MODIFIED)
        for k, cell in results["over_k"][name].items()
    ]
    worst = max(bounds, key=lambda case: case[2] / case[0])
    times = results["over_n"][PLAIN]
    plain = results["plain"]["over_n"]
    largest = list(plain)[1:]
    ours = growth((int(n), times[n]["seconds"]) for n in largest)
    slope = growth((int(n), plain[n]["k-member"]["seconds"]) for n in largest)
    example = results["example"]
    right = {"India, USA": 1.0, "India, Iran": 2 / 3, "Sales, Tech-support": 1.0}
    return [
        Claim(
            "Byun, Example 1",
            "δ(India, USA) = 1, δ(India, Iran) = 0.66, any two occupations 1",
            ", ".join(f"{pair}: {value:.3f}" for pair, value in example.items()),
            judge(abs(example[pair] - value) < 1e-9 for pair, value in right.items()),
            "Half the Total-IL of a group of the two values is the distance of Definition 3.",
        ),
        Claim(
            "Byun, Theorem 1",
            "k-member clustering is NP-hard, because with flat trees Total-IL is the number of "
            "suppressed cells",
            f"Total-IL {flat['il']:,.0f}, suppressed cells {flat['suppressed_cells']:,} of "
            f"{flat['cells']:,} (k = 5)",
            judge([same]),
            "A proof is not measured; this is the equality it rests on, on a release with flat "
            "trees for all eight columns.",
        ),
        Claim(
            "Byun, Theorem 2",
            "every cluster of greedy k-member has k to 2k - 1 records",
            f"smallest ÷ k {span((low / k for k, low, _ in bounds))}, largest cluster "
            f"{worst[2]} at k = {worst[0]}",
            judge(k <= low and high <= 2 * k - 1 for k, low, high in bounds),
            "Leftover records, fewer than k, spread over the clusters.",
        ),
        Claim(
            "Byun, Theorem 3",
            "greedy k-member takes O(n²) time",
            f"as published time grows as n^{slope:.2f} from {int(largest[0]):,} to "
            f"{int(largest[-1]):,} rows (k = 5), with Shoal's skipping as n^{ours:.2f}",
            judge([inside(slope, QUADRATIC)]),
            f"A power of {QUADRATIC[0]} to {QUADRATIC[1]} is taken for n².",
        ),
    ]


def _over_k(results: dict[str, Any]) -> list[Claim]:
    cells = results["over_k"]
    il = _against_orders(results, "il", PLAIN)
    seen = results["dm"]
    seen_dm = {
        (name, k): min(seen[m][k]["published"] for m in MEDIAN if m in seen) / cell["published"]
        for name in (PLAIN, MODIFIED)
        for k, cell in seen[name].items()
    }
    least = {
        k: min(cells[name][k]["il"] for name in (*MEDIAN, MODIFIED)) / cell["il"]
        for k, cell in cells[PLAIN].items()
    }
    close = {k: cells[MODIFIED][k]["il"] / cell["il"] - 1 for k, cell in cells[PLAIN].items()}
    cheapest = {
        k: (cells["mondrian"][k]["il"] - cell["il"]) / (cells["mondrian"][k]["il"] - plain["il"])
        for (k, cell), plain in zip(
            cells["mondrian, cheapest cuts"].items(), cells[PLAIN].values(), strict=True
        )
        if cells["mondrian"][k]["il"] > plain["il"]
    }
    dm = {name: _ratios(cells, "dm", name, MEDIAN) for name in (PLAIN, MODIFIED)}
    sizes = {
        (name, k): results["rows"] / cell["groups"] / int(k)
        for name in (PLAIN, MODIFIED)
        for k, cell in cells[name].items()
    }
    return [
        Claim(
            "Byun, Fig. 6",
            "k-member has the least Total-IL of the three algorithms for all k",
            f"the best of {len(results['orders'])} orders and cuts of median partitioning has "
            f"{span(il.values())} times its loss; least of all three algorithms {_where(least)}",
            judge(ratio > 1 for ratio in (*least.values(), *il.values())),
            "Clusters grow in all columns at once. It holds against median partitioning; the "
            "modified k-member is as good at large k."
            if min(least.values()) <= 1 < min(il.values())
            else "Clusters grow in all columns at once.",
        ),
        Claim(
            "Byun, Fig. 6",
            "the modified k-member's Total-IL is very close to the unmodified one's",
            f"{span(close.values(), '+.1%')} (very close: within {CLOSE:.0%})",
            judge(about(more, 0, CLOSE) for more in close.values()),
            f"The penalty costs most at k = {max(close, key=close.__getitem__)}.",
        ),
        Claim(
            "Byun, Fig. 6",
            "median partitioning loses because each cut looks at a single dimension",
            f"cuts chosen by the loss in all columns close {span(cheapest.values(), '.0%')} of "
            "the gap to k-member"
            if cheapest
            else "there is no gap",
            judge(share > 0.5 for share in cheapest.values()) if cheapest else "not confirmed",
            "Confirmed where this closes more than half of the gap; even well-chosen cuts are "
            "straight cuts with k records on either side.",
        ),
        Claim(
            "Byun, Fig. 7",
            "both k-member algorithms have a lower DM than median partitioning",
            "median partitioning has "
            + " and ".join(span(ratios.values()) for ratios in dm.values())
            + " times the DM of the plain and the modified one by groups as formed, "
            f"{span(seen_dm.values())} times by published rows that are alike",
            judge(ratio > 1 for ratios in (*dm.values(), seen_dm) for ratio in ratios.values()),
            "DM only counts class sizes, and k-member's are k but for the leftovers; groups that "
            "publish the same cells are one class to a reader, which at small k are many.",
        ),
        Claim(
            "Byun, Fig. 7",
            "k-member's classes always have sizes very close to k",
            f"mean size ÷ k is {span(sizes.values(), '.3f')}",
            judge(nearly(size, CLOSE) for size in sizes.values()),
            "Fewer than k of all records are left over.",
        ),
    ]


def _classification(results: dict[str, Any]) -> list[Claim]:
    cells = results["over_k"]
    best = _ratios(cells, "cm", MODIFIED, (PLAIN, *MEDIAN))
    plain = _against_orders(results, "cm", PLAIN)
    as_published = _ratios(cells, "cm", PLAIN, (PUBLISHED,))
    less = {k: 1 - cells[MODIFIED][k]["cm"] / cell["cm"] for k, cell in cells[PLAIN].items()}
    more = {k: cells[MODIFIED][k]["il"] / cell["il"] - 1 for k, cell in cells[PLAIN].items()}
    return [
        Claim(
            "Byun, Fig. 8",
            "the modified k-member has the lowest CM of all algorithms",
            f"the best other one has {span(best.values())} times its CM; lowest {_where(best)}",
            judge(ratio > 1 for ratio in best.values()),
            "It pays for every record whose label is not the cluster's majority.",
        ),
        Claim(
            "Byun, Fig. 8",
            "even unmodified, k-member has a lower CM than median partitioning for every k",
            f"the best of {len(results['orders'])} orders and cuts of median partitioning has "
            f"{span(plain.values())} times its CM (lower {_where(plain)}), that as published "
            f"{span(as_published.values())} (lower {_where(as_published)})",
            judge(ratio > 1 for ratio in (*plain.values(), *as_published.values())),
            "k-member does not look at labels. Small clusters of similar records share theirs; at "
            "large k it has less Total-IL than the boxes and still mixes more labels."
            if min(plain.values()) <= 1
            else "Clusters of similar records share their label.",
        ),
        Claim(
            "Byun, § 3.4",
            "the modification reduces CM effectively without increasing information loss much",
            f"CM {span((-x for x in less.values()), '+.0%')}, Total-IL "
            f"{span(more.values(), '+.1%')}",
            judge(less[k] > 0.1 and about(more[k], 0, CLOSE) for k in less),
            f"Judged per k: CM at least 10 % lower for at most {CLOSE:.0%} more loss.",
        ),
    ]


def _times(results: dict[str, Any]) -> list[Claim]:
    cells, plain = results["over_k"], results["plain"]["over_k"]
    ours = {
        k: cell["seconds"] / max(cells[name][k]["seconds"] for name in MEDIAN if name != PUBLISHED)
        for k, cell in cells[PLAIN].items()
    }
    slower = _slower(plain)
    longest = max(cell["k-member"]["seconds"] for cell in plain.values())
    return [
        Claim(
            "Byun, Fig. 9",
            "k-member takes longer than median partitioning",
            f"as published {span(slower.values(), '.1f')} times as long, with Shoal's skipping "
            f"{span(ours.values(), '.1f')} times",
            judge(ratio > 1 for ratio in slower.values()),
            "A cluster searches all records that are left; a cut only sorts its own.",
        ),
        Claim(
            "Byun, Fig. 9",
            "its execution time is acceptable in practice",
            f"as published at most {longest:.1f} s for {results['rows']:,} rows, with Shoal's "
            f"skipping {max(cell['seconds'] for cell in cells[PLAIN].values()):.1f} s",
            judge([longest < 60]),
            "Acceptable: below a minute; twenty years of hardware help.",
        ),
    ]


def _cardinality(results: dict[str, Any]) -> list[Claim]:
    cells = results["over_n"]
    fits = {
        name: _line([(int(n), cell["il"]) for n, cell in cells[name].items()])
        for name in (PLAIN, *MEDIAN)
        if name in cells
    }
    drawn = tuple(name for name in MEDIAN if name in cells)
    il = _ratios(cells, "il", PLAIN, drawn)
    plain = results["plain"]["over_n"]
    slower = _slower(plain)
    longest = max(cell["k-member"]["seconds"] for cell in plain.values())
    return [
        Claim(
            "Byun, Fig. 10",
            "Total-IL grows almost linearly with the number of records, for both algorithms",
            "a straight line explains "
            + ", ".join(
                f"{share:.1%} ({shown(name)}: n^{b:.2f})" for name, (share, b) in fits.items()
            )
            + " of the variance",
            judge(
                case
                for share, b in fits.values()
                for case in (share >= STRAIGHT, inside(b, ALMOST_LINEAR))
            ),
            f"Almost linear: a line explains {STRAIGHT:.0%} and the exponent is "
            f"{ALMOST_LINEAR[0]} to {ALMOST_LINEAR[1]}. More records lie closer together, so the "
            "loss per record falls as the table grows.",
        ),
        Claim(
            "Byun, Fig. 10",
            "k-member has the least Total-IL for any size of the table",
            f"median partitioning (the better of both) has {span(il.values())} times its loss",
            judge(ratio > 1 for ratio in il.values()),
            "At k = 5 the order does not depend on the size.",
        ),
        Claim(
            "Byun, Fig. 11",
            "k-member is slower than median partitioning at every size, and acceptable",
            f"as published {span(slower.values(), '.1f')} times as long, at most {longest:.2f} s",
            judge([*(ratio > 1 for ratio in slower.values()), longest < 60]),
            "Acceptable: below a minute.",
        ),
    ]


def _approach(results: dict[str, Any]) -> list[Claim]:
    cells = results["over_k"]
    flat = {
        k: cells["k-member, without taxonomies"][k]["il"] / cell["il"]
        for k, cell in cells[PLAIN].items()
    }
    agreement = {}
    for k, found in results["diameters"].items():
        pairs = list(combinations(found.values(), 2))
        same = [(a["il"] < b["il"]) == (a["diameters"] < b["diameters"]) for a, b in pairs]
        agreement[k] = sum(same) / len(same)
    n_cells = len(next(iter(results["diameters"].values())))
    return [
        Claim(
            "Byun, § 1",
            "taxonomies, where there are some, let k-member find more desirable solutions",
            f"without them its clusters lose {span(flat.values())} times as much under them",
            judge(ratio > 1 for ratio in flat.values()),
            "Told that all values are equally different, it cannot prefer neighbours in the tree.",
        ),
        Claim(
            "Byun, § 3.2",
            "minimising Total-IL also minimises the sum of diameters of Definition 1",
            f"of two clusterings, out of {n_cells} per k, both costs prefer the same one in "
            f"{span(agreement.values(), '.0%')} of the cases (k = {', '.join(agreement)})",
            judge(share >= 0.9 for share in agreement.values()),
            "Both add up the extent of clusters; the diameter counts only the two records furthest "
            "apart. Asked for: 90 %.",
        ),
    ]


def _line(points: list[tuple[int, float]]) -> tuple[float, float]:
    """Return the share of variance that a straight line explains, and the exponent."""
    return r_squared([x for x, _ in points], [y for _, y in points]), growth(points)
