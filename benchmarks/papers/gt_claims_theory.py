"""What Goldberger and Tassa prove or work out by hand, judged by computing it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from benchmarks.papers.claims import Claim, judge


def theory(results: dict[str, Any]) -> list[Claim]:
    """Return the claims of the paper's sections 3 to 7."""
    g1, g2 = results["examples"]["g1"], results["examples"]["g2"]
    random = results["monotone"]
    levels = results["global"]
    up = [b >= a - 1e-12 for row in levels.values() for a, b in pairwise(row)]
    toy, special = results["table_1"], results["special_case"]
    return [
        Claim(
            "Goldberger & Tassa, Proposition 3",
            "MI is monotone: a coarser release never loses less",
            f"{random['falls']['mi']} of {random['chains']} random coarsenings lose less",
            judge([random["falls"]["mi"] == 0]),
            "Proved in the paper; checked here on random groups of Adult and unions of them.",
        ),
        Claim(
            "Goldberger & Tassa, section 5.1",
            "PMI is monotone under global recoding",
            f"rises or stays in {sum(up)} of {len(up)} steps up the taxonomies of {len(levels)} "
            "columns",
            judge(up),
            "The data processing lemma, checked level by level.",
        ),
        Claim(
            "Goldberger & Tassa, section 5.1",
            "PMI is not monotone under local recoding: g1 loses -0.126, g2 0.086",
            f"g1 {g1['pmi']:+.3f}, g2 {g2['pmi']:+.3f}; {random['falls']['pmi']} of "
            f"{random['chains']} random coarsenings of Adult lose less",
            judge([abs(g1["pmi"] + 0.126) < 5e-4, abs(g2["pmi"] - 0.086) < 5e-4]),
            "With logarithms to base 2; it takes a choice of records that suits the private "
            "column, which chance does not make.",
        ),
        Claim(
            "Goldberger & Tassa, section 5.1",
            "LM and MI cannot tell g1 from g2",
            f"LM {g1['lm']:.3f} and {g2['lm']:.3f}, MI {g1['mi']:.3f} and {g2['mi']:.3f}",
            judge(abs(g1[name] - g2[name]) < 1e-12 for name in ("lm", "mi")),
            "Neither looks at the private column.",
        ),
        Claim(
            "Goldberger & Tassa, Table 1",
            "the toy table costs 6k suppressed cells without rescaling, with it 2k, the optimum",
            f"{toy['unscaled']:g}k and {toy['rescaled']:g}k",
            judge([toy["unscaled"] == 6, toy["rescaled"] == 2]),
            "The clusters are compared; the printed positions depend on the variant of the curve.",
        ),
        Claim(
            "Goldberger & Tassa, section 6.3",
            "with start clusters of one record, sequential clustering is the agglomerative "
            "algorithm",
            f"{'the same' if special['same'] else 'different'} {special['groups']:,} groups on "
            f"{special['rows']:,} rows, k = 10",
            judge([special["same"]]),
            "No record has anywhere to move before the unification begins.",
        ),
        Claim(
            "Goldberger & Tassa, section 7",
            "l-diversity is monotone: a union of diverse clusters is as diverse",
            f"{random['falls']['diversity']} of {random['chains']} random coarsenings fall",
            judge([random["falls"]["diversity"] == 0]),
            "The largest frequency of a union lies between those of its parts.",
        ),
    ]
