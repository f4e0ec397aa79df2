"""The conjecture's halves, judged: what holds however a release is read, and what does not."""

from __future__ import annotations

from typing import Any

from benchmarks.papers.claims import Claim, judge
from benchmarks.papers.conjecture_compare import (
    METRICS,
    OTHERS,
    cases,
    depends,
    rule_cases,
    tally,
)


def all_claims(results: dict[str, Any]) -> list[Claim]:
    """Return the conjecture's halves, and the sentence of section 8.4 they rest on."""
    rules = rule_cases(results)
    closer = [case.kind == "better" for case in rules]
    pairs = [
        (pmi["scores"]["entropy-diversity"], row[k]["scores"]["entropy-diversity"])
        for found in results["settings"].values()
        for k, pmi in found["cells"]["pmi"].items()
        for other, row in found["cells"].items()
        if other in OTHERS
    ]
    lower = [pmi < other for pmi, other in pairs]
    return [
        *(_classifier(results, metric) for metric in METRICS),
        Claim(
            "Goldberger & Tassa, section 9",
            "the rules of a PMI release are closer to the original's than those of other measures",
            f"{tally(rules)} (F1 of the rule sets, two ways of mining)",
            judge(closer),
            f"Confirmed if closer in every comparison, not confirmed if in none. {depends(rules)}",
        ),
        Claim(
            "Goldberger & Tassa, section 8.4",
            "the lower diversity of PMI clusters shows that PMI releases are more valuable for "
            "mining rules",
            f"the diversity is lower in {sum(lower)} of {len(lower)} comparisons, rules are "
            f"closer in {sum(closer)} of {len(closer)}",
            judge([*lower, *closer]),
            "A cluster of one class is also what sorting rows by class gives; diversity alone "
            "does not say whether original rows can be told apart.",
        ),
    ]


def _classifier(results: dict[str, Any], metric: str) -> Claim:
    found = cases(results, metric)
    return Claim(
        "Goldberger & Tassa, section 9",
        "a classifier made from a PMI release is more accurate than one made with another "
        f"measure: by {METRICS[metric]}",
        tally(found),
        judge(case.kind == "better" for case in found),
        depends(found),
    )
