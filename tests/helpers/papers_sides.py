"""Numbers that meet each claim of the papers page, and numbers below and above that do not."""

from benchmarks.papers.conjecture_compare import METRICS
from benchmarks.papers.conjecture_models import MODELS
from benchmarks.papers.conjecture_readings import READINGS
from benchmarks.papers.published_numbers import TABLE_2, TABLE_3

TWO_SIDED = (
    "about as much",
    "very close",
    "close to",
    "similar",
    "nearly",
    "almost",
    "roughly",
    "slightly",
    "O(",
    "times lower",
    "printed numbers",
    "standard deviation",
    "δ(",
    "l0 is",
)
"""Words that name a number or a likeness: too little fails as too much does."""
WORSE, BETTER = [-0.1, 0.01], [0.1, 0.01]


def _number(keys):
    return next(float(key) for key in reversed(keys) if str(key).replace(".", "").isdigit())


def power(exponent, factor=1.0):
    """Return a writer of factor · x^exponent, x being the last key that is a number."""
    return lambda whole, keys: factor * _number(keys) ** exponent


def of_classes(exponent):
    """Return a writer of E^exponent, E being the classes of so many rows."""
    return lambda whole, keys: float(whole["tuples_over_n"][keys[-2]]) ** exponent


def sized(factor):
    """Return a writer of the number of groups whose mean size is factor · k."""
    return lambda whole, keys: whole["rows"] / (factor * _number(keys))


def printed_mean(more):
    """Return a writer of Table 2's averages."""
    return lambda whole, keys: TABLE_2[int(keys[-2])] + more


def printed_entropy(more):
    """Return a writer of Table 3's numbers."""
    return lambda whole, keys: TABLE_3[int(keys[-3])][float(keys[-2])] + more


def three(path, holds, below, above):
    """Return the sides of a claim that looks at one place."""
    return {"holds": {path: holds}, "below": {path: below}, "above": {path: above}}


def two(path, holds, fails):
    """Return the sides of a claim that can fail on one side only."""
    return {"holds": {path: holds}, "fails": {path: fails}}


def beside(same, sides):
    """Return sides that share some places."""
    return {side: {**same, **places} for side, places in sides.items()}


IL, PLAIN_IL = "over_k/k-member, classification/*/il", {"over_k/k-member/*/il": 100}
BYUN = {
    "δ(India, USA)": three("example/India, Iran", 2 / 3, 0.5, 0.8),
    "k-member clustering is NP-hard": beside(
        {"flat/il": 1000}, three("flat/suppressed_cells", 1000, 900, 1100)
    ),
    "every cluster of greedy k-member": {
        "holds": {},
        "below": {"over_k/k-member/5/smallest": 4},
        "above": {"over_k/k-member/5/largest": 10},
    },
    "greedy k-member takes O(n²)": three(
        "plain/over_n/*/k-member/seconds", power(2), power(1.5), power(2.5)
    ),
    "has the least Total-IL of the three": two("over_k/k-member/*/il", 1, 1e9),
    "modified k-member's Total-IL is very close": beside(PLAIN_IL, three(IL, 101, 80, 120)),
    "each cut looks at a single dimension": beside(
        {**PLAIN_IL, "over_k/mondrian/*/il": 200},
        two("over_k/mondrian, cheapest cuts/*/il", 120, 190),
    ),
    "have a lower DM than median": {
        side: {
            "over_k/k-member|k-member, classification/*/dm": value,
            "dm/k-member|k-member, classification/*/published": value,
        }
        for side, value in (("holds", 1), ("fails", 1e12))
    },
    "sizes very close to k": three(
        "over_k/k-member|k-member, classification/*/groups", sized(1.01), sized(0.8), sized(1.3)
    ),
    "the lowest CM of all": two("over_k/k-member, classification/*/cm", 1e-6, 0.9),
    "even unmodified, k-member": two("over_k/k-member/*/cm", 1e-6, 0.9),
    "the modification reduces CM effectively": {
        side: {**PLAIN_IL, "over_k/k-member/*/cm": 0.2, IL: il, IL.replace("il", "cm"): cm}
        for side, il, cm in (("holds", 105, 0.1), ("fails", 105, 0.2), ("above", 130, 0.1))
    },
    "k-member takes longer than": two("plain/over_k/*/k-member/seconds", 50, 1e-9),
    "execution time is acceptable": two("plain/over_k/*/k-member/seconds", 50, 70),
    "grows almost linearly": three("over_n/*/*/il", power(1), power(0.6), power(1.5)),
    "for any size of the table": two("over_n/k-member/*/il", 1, 1e9),
    "slower than median partitioning at every size": three(
        "plain/over_n/*/k-member/seconds", 50, 1e-9, 70
    ),
    "taxonomies, where there are some": two("over_k/k-member, without taxonomies/*/il", 1e9, 1),
    "minimises the sum of diameters": {
        side: {
            "diameters/*/*/diameters": lambda whole, keys, sign=sign: (
                sign * whole["diameters"][keys[1]][keys[2]]["il"]
            )
        }
        for side, sign in (("holds", 1), ("fails", -1))
    },
}

RATIO = "fig2/uniform/*/{}/*/ratio"
KACA, INCOGNITO = RATIO.format("kaca"), RATIO.format("incognito")
LI = {
    "modification rates of Table 1": three("examples/WHD(2, 1)", 1.0, 0.5, 2.0),
    "distance of tuples is a metric": two("triangles/triangle", 0, 3),
    "the result is k-anonymous": two("fig2/*/*/*/*/smallest", 10, 1),
    "far fewer equivalence classes": two("tuples/*", 10, 45_000),
    "O(n log n + E²)": three(
        "plain/over_n/kaca/*/seconds", of_classes(2), of_classes(1.5), of_classes(2.5)
    ),
    "taking a stub": two("stubs/with/ratio", 1e-6, 0.99),
    "time of both algorithms increases": two(
        "plain/fig2/*/*/*/seconds", power(1), power(-1, 100.0)
    ),
    "on average KACA takes longer": beside(
        {"plain/fig2/*/incognito/*/seconds": 1}, two("plain/fig2/*/kaca/*/seconds", 9, 0.5)
    ),
    "KACA is more scalable": {
        side: {
            "plain/fig2/*/kaca/*/seconds": power(kaca),
            "plain/fig2/*/incognito/*/seconds": power(incognito),
            "plain/over_n/kaca/*/seconds": power(kaca),
            "plain/over_n/incognito/*/seconds": power(incognito),
        }
        for side, kaca, incognito in (("holds", 1, 3), ("fails", 3, 1))
    },
    "ratio increases with the quasi-identifier": two(
        "fig2/uniform/*/*/*/ratio", power(1, 0.01), power(-1)
    ),
    "times lower than Incognito's": beside({KACA: 0.1}, three(INCOGNITO, 0.557, 0.2, 0.95)),
    "significantly less distortion": beside({KACA: 0.1}, two(INCOGNITO, 0.5, 0.12)),
    "when k increases": two(
        "fig2/uniform/*/*/*/ratio",
        lambda _, keys: 0.01 * float(keys[2]),
        lambda _, keys: 0.1 / float(keys[2]),
    ),
    "with height weights the results are similar": beside(
        {KACA: 0.1, INCOGNITO: 0.5, KACA.replace("uniform", "height"): 0.1},
        three(INCOGNITO.replace("uniform", "height"), 0.6, 0.2, 5.0),
    ),
}

LIN = {
    "less information loss than k-member": {
        side: {
            "over_k|train/oka/*/il": value,
            "contest/*/oka, sorted|oka, random/*": value,
        }
        for side, value in (("holds", 1), ("fails", 1e12))
    },
    "takes much less time": beside({"plain/*/seconds": 10}, two("plain_oka/*/seconds", 1, 9)),
    "O(n² ÷ k) time": {
        side: {
            "plain_oka_over_n/*/seconds": power(rows),
            "plain_oka/*/seconds": power(least, 100.0),
        }
        for side, rows, least in (
            ("holds", 2, -1),
            ("below", 1.5, -1),
            ("above", 2.5, -1),
            ("too little with k", 2, -0.5),
            ("too much with k", 2, -1.5),
        )
    },
    "k-member is slow": three("plain_over_n/*/seconds", power(2), power(1.5), power(2.5)),
    "O(c n² ÷ k)": beside(
        {"plain_chiu_tsai_over_n/*/iterations": 3},
        three("plain_chiu_tsai_over_n/*/seconds", power(2), power(1.5), power(2.5)),
    ),
    "more resilient to outliers": beside(
        {"over_k/oka|k-member/10/il": 100, "outliers/k-member/il": 110},
        two("outliers/oka/il", 101, 130),
    ),
    "k-member is sensitive to outliers": beside(
        {"over_k/k-member/10/il": 100}, two("outliers/k-member/il", 110, 101)
    ),
    "identical ones are always": two("stages/as published/*/together", 1.0, 0.9),
    "counting the size of a cluster": two("stages/as published/*/deviation", 0.1, 1e9),
    "updating the centroid": two("stages/as published/*/il", 1, 1e12),
    "cells loses less than": two("levels/oka", 1, 1e12),
    "might delete many records": two(
        "deleted",
        {"0.1": {"suppressed": 20_000, "il": 5.0}},
        {"0.1": {"suppressed": 20, "il": 5.0}},
    ),
    "proper threshold": {
        side: {"deleted": {str(n): {"suppressed": 1, "il": il} for n, il in enumerate(losses)}}
        for side, losses in (("holds", (1.0, 2.0)), ("fails", (1.0, 1.2)))
    },
    "more iterations of the clustering": two("over_k/oka, 3 iterations/*/il", 1, 1e12),
    "better to suppress some records": two("cheaper/*/il", 1, 1e12),
    "extend OKA to l-diversity": two("models/*/holds", True, False),
}

TIME = "plain/over_k/{}/*/seconds"
PAIR = "sequential|agglomerative|k-member"
LM = "over_k/{}/*/lm"
G_T = {
    "best utility of the five": two(LM.format("sequential|agglomerative"), 0.01, 0.99),
    "results are almost identical": beside(
        {LM.format("sequential"): 0.4}, three(LM.format("agglomerative"), 0.405, 0.35, 0.45)
    ),
    "only slightly smaller utility": beside(
        {LM.format("sequential"): 0.4}, three(LM.format("k-member"), 0.41, 0.3, 0.5)
    ),
    "significantly outperform": two(LM.format(f"{PAIR}|k-member, goldberger-tassa"), 0.01, 0.99),
    "improved Hilbert loses 0.645": {
        side: {"variants/mondrian/*/lm": mondrian, "variants/hilbert/*/lm": hilbert}
        for side, mondrian, hilbert in (
            ("holds", 0.74, 0.64),
            ("below", 0.6, 0.5),
            ("above", 0.9, 0.8),
        )
    },
    "rescaling all attributes": beside(
        {LM.format("hilbert"): 0.6}, two(LM.format("hilbert, not rescaled"), 0.9, 0.61)
    ),
    "alpha below 1 and omega": two("shapes/0.5 1.5", 0.01, 0.99),
    "nearly the same DM": beside(
        {f"over_k/{PAIR}/*/dm": 100, f"dm/{PAIR}/published": 100},
        three("over_k/k-member/*/dm", 110, 60, 160),
    ),
    "much faster than the three": two(TIME.format("mondrian|hilbert"), 1e-9, 1e9),
    "sequential has the best run time": two(TIME.format("sequential"), 1e-9, 1e9),
    "takes much longer than all": two(TIME.format("agglomerative"), 1e9, 1e-9),
    "almost independent of k": three(TIME.format("agglomerative|k-member"), 5, power(-1), power(1)),
    "agglomerative and k-member take O(n²)": three(
        "plain/over_n/agglomerative|k-member/*/seconds", power(2), power(1.5), power(2.5)
    ),
    "faster than 1/k": three(TIME.format("sequential"), power(-1.2), power(-0.5), power(1)),
    "number of passes also falls": two("table_2/*/passes", power(-1, 100.0), power(1)),
    "grows roughly linearly": three("plain/over_r/*/*/pass", power(1), power(-1), power(9)),
    "average LM 0.302": three(
        "table_2/*/mean", printed_mean(0), printed_mean(-0.05), printed_mean(0.05)
    ),
    "repeated runs hardly improve": beside(
        {"table_2/*/mean": 0.4}, two("table_2/*/minimum", 0.396, 0.3)
    ),
    "the standard deviation over": three("table_2/*/deviation", 0.035, 0.002, 0.09),
    "l0 is 1.3295": three("facts/salary/l0", 1.3295, 1.2, 1.4),
    "without a demand": beside(
        {LM.format("sequential"): 0.403}, three("diverse/salary/*/lm", 0.404, 0.3, 0.5)
    ),
    "diversity in salary that": two("diverse/salary/*/lm", power(1), power(-3)),
    "diversity in education that": two("diverse/education/*/lm", power(1), power(-3)),
    "the highest diversity is very close": three("diverse/salary/*/diversity", 1.32, 1.1, 1.5),
    "even the most diverse release": two("diverse/salary/*/lm", 0.01, 0.99),
    "with education private the most": beside(
        {LM.format("hilbert"): 0.645, LM.format("mondrian"): 0.735},
        {
            side: {"diverse|rounded/education/*/lm": value}
            for side, value in (("holds", 0.66), ("below", 0.5), ("above", 0.72))
        },
    ),
    "diversity l1 is close to l0": {
        side: {"facts/salary/l1": salary, "facts/education/l1": education}
        for side, salary, education in (
            ("holds", 1.32, 3.0),
            ("below", 1.0, 2.0),
            ("above", 1.6, 4.0),
        )
    },
    "better rounding of the start": three("rounded/education/*/diversity", 3.0, 2.0, 4.0),
    "demanding l0 itself": {"holds": {}, "fails": {"diverse/salary/*/groups": 7}},
    "PMI clusters are much less": two("table_3/*/0.0/entropy", 0.01, 0.5),
    "grows with the weight of MI": three(
        "table_3/*/*/entropy", printed_entropy(0), printed_entropy(-0.2), printed_entropy(0.2)
    ),
    "at w = 0 the mean diversity": beside(
        {"at_once/first/*/entropy": lambda whole, keys: TABLE_3[int(keys[-2])][0.0]},
        three("table_3/*/0.0/entropy", printed_entropy(0), 0.02, 0.2),
    ),
    "clusters of zero diversity": {
        side: dict.fromkeys(("table_3/*/*/pure", "table_2/*/pure", "over_k/*/*/pure"), share)
        for side, share in (("holds", 0.5), ("fails", 0.0))
    },
    "MI is monotone: a coarser": two("monotone/falls/mi", 0, 3),
    "monotone under global recoding": two("global/*", [1.0, 2.0], [2.0, 1.0]),
    "not monotone under local": three("examples/g1/pmi", -0.126, -0.3, 0.1),
    "cannot tell g1 from g2": beside(
        {"examples/g2/lm": 0.5}, three("examples/g1/lm", 0.5, 0.4, 0.6)
    ),
    "toy table costs": three("table_1/unscaled", 6, 5, 7),
    "start clusters of one record": two("special_case/same", True, False),
    "l-diversity is monotone": two("monotone/falls/diversity", 0, 3),
    "several sites hold": beside(
        {"sites/central/lm": 0.5}, three("sites/1|2|4/lm", 0.51, 0.4, 0.6)
    ),
}

AGAINST = "settings/*/against/*/*/"
MIXED = "settings/*/cells/pmi/*/scores/entropy-diversity"
RULES = ("rules, F1 by shares", "rules, F1 by certain cells")
UTILITY = {
    **{
        f"by {metric}, a lost cell": three(AGAINST + metric, BETTER, WORSE, [0.0, 0.01])
        for metric in ("accuracy", "balanced accuracy", "AUC")
    },
    "rules of a PMI release": {
        side: {AGAINST + what: value for what in RULES}
        for side, value in (("holds", BETTER), ("fails", WORSE), ("even", [0.0, 0.01]))
    },
    "lower diversity of PMI": {
        side: {**{AGAINST + what: BETTER for what in RULES}, MIXED: entropy}
        for side, entropy in (("holds", -1.0), ("fails", 9.0))
    },
}
CONJECTURE = {
    **{
        f"another measure: by {shown}": three(
            f"{AGAINST}models/*/*/{metric}", BETTER, WORSE, [0.0, 0.01]
        )
        for metric, shown in METRICS.items()
    },
    "rules of a PMI release": two(f"{AGAINST}rules/*", BETTER, WORSE),
    "lower diversity of PMI": beside({f"{AGAINST}rules/*": BETTER}, two(MIXED, -1.0, 9.0)),
}
SIDES = {
    "byun": BYUN,
    "li": LI,
    "lin": LIN,
    "goldberger-tassa": G_T,
    "utility": UTILITY,
    "conjecture": CONJECTURE,
}


def conjecture_results():
    """Return results of the conjecture as small as they can be."""
    models = {r: {m: {w: [0.0, 0.01] for w in METRICS} for m in MODELS} for r in READINGS}
    cell = {"models": models, "rules": {"shares": [0.0, 0.01], "certain": [0.0, 0.01]}}
    found = {
        "against": {"mi": {"10": cell}},
        "cells": {name: {"10": {"scores": {"entropy-diversity": 0.5}}} for name in ("pmi", "mi")},
    }
    return {"settings": {"taxonomies": found}}
