"""What Goldberger and Tassa claim about diversity, judged by our results."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from benchmarks.papers.claims import Claim, judge
from benchmarks.papers.criteria import about, inside

QUICK = ("mondrian", "hilbert")
CLOSE = 0.01  # in LM
VERY_NEAR, NEAR = (0.98, 1 + 1e-9), (0.95, 1 + 1e-9)  # share of l0, which nothing can exceed


def diverse(results: dict[str, Any]) -> list[Claim]:
    """Return the claims of sections 7 and 8.3."""
    facts, mark = results["facts"], str(results["mark"])
    curves = {
        private: [cell for cell in cells.values() if cell["groups"] > 1]
        for private, cells in results["diverse"].items()
    }
    loss = {name: results["over_k"][name][mark]["lm"] for name in ("sequential", *QUICK)}
    most = {private: cells[-1] for private, cells in curves.items()}
    rises = {
        p: [b["lm"] >= a["lm"] - CLOSE for a, b in pairwise(cells)] for p, cells in curves.items()
    }
    free = curves["salary"][0]["lm"]
    l0 = {private: facts[private]["l0"] for private in curves}
    start = {p: facts[p]["l1"] / l0[p] for p in curves}
    rounded = [c for c in results["rounded"]["education"].values() if c["groups"] > 1]
    best = max((c["diversity"] for c in rounded), default=0.0)
    full = results["diverse"]["salary"]
    at_l0 = full[list(full)[-1]]
    return [
        Claim(
            "Goldberger & Tassa, section 8.3",
            "l0 is 1.3295 with salary private (11,208 and 34,014 rows), 3.06 with education",
            f"{l0['salary']:.4f} ({' and '.join(f'{c:,}' for c in facts['salary']['counts'])} "
            f"rows), {l0['education']:.4f}",
            judge([abs(l0["salary"] - 1.3295) < 5e-5, abs(l0["education"] - 3.06) < 5e-3]),
            "Counts of the 45,222 complete rows of both files.",
        ),
        Claim(
            "Goldberger & Tassa, Fig. 5",
            "without a demand (l = 1) the result is that of Fig. 1, roughly 0.4",
            f"LM {free:.3f}, Fig. 1 {loss['sequential']:.3f}",
            judge([about(free, loss["sequential"], CLOSE), about(free, 0.4, 2 * CLOSE)]),
            "Without a privacy model Algorithm 2 is Algorithm 1.",
        ),
        *(
            Claim(
                f"Goldberger & Tassa, Fig. {number}",
                f"the loss grows with the diversity in {private} that is demanded",
                f"LM {curves[private][0]['lm']:.3f} to {most[private]['lm']:.3f}; grows in "
                f"{sum(rises[private])} of {len(rises[private])} steps",
                judge(rises[private]),
                f"A fall of up to {CLOSE} counts as chance.",
            )
            for private, number in (("salary", 5), ("education", 6))
        ),
        Claim(
            "Goldberger & Tassa, Fig. 5",
            "the highest diversity is very close to l0 = 1.3295",
            f"{most['salary']['diversity']:.4f}, {most['salary']['diversity'] / l0['salary']:.1%} "
            "of l0",
            judge([inside(most["salary"]["diversity"] / l0["salary"], VERY_NEAR)]),
            "Very close is taken for 98 %.",
        ),
        Claim(
            "Goldberger & Tassa, Fig. 5",
            "even the most diverse release loses less than improved Hilbert and Mondrian without "
            "any demand",
            "; ".join(
                f"l = {cell['diversity']:.3f}: LM {cell['lm']:.3f}" for cell in curves["salary"]
            )
            + f"; against {loss['hilbert']:.3f} (Hilbert) and {loss['mondrian']:.3f} (Mondrian)",
            judge(cell["lm"] < loss[name] for cell in curves["salary"] for name in QUICK),
            f"Judged at every l. Up to l = {_cheaper(curves['salary'], loss['hilbert'])} it loses "
            f"less than Hilbert, up to {_cheaper(curves['salary'], loss['mondrian'])} less than "
            "Mondrian; near l0 hardly a record may move.",
        ),
        Claim(
            "Goldberger & Tassa, Fig. 6",
            "with education private the most diverse release loses about as much as improved "
            "Hilbert and less than Mondrian",
            f"LM {most['education']['lm']:.3f} at diversity {most['education']['diversity']:.2f}, "
            f"against {loss['hilbert']:.3f} and {loss['mondrian']:.3f}; with balanced rounding "
            + ", ".join(f"{c['lm']:.3f} at {c['diversity']:.2f}" for c in rounded),
            judge(
                [
                    about(most["education"]["lm"], loss["hilbert"], 5 * CLOSE),
                    most["education"]["lm"] < loss["mondrian"],
                    *(about(c["lm"], loss["hilbert"], 5 * CLOSE) for c in rounded[-1:]),
                ]
            ),
            f"About is taken for at most {5 * CLOSE:g} more or less; with the published rounding "
            f"the most diverse release reaches {most['education']['diversity']:.2f} of "
            f"{l0['education']:.2f}.",
        ),
        Claim(
            "Goldberger & Tassa, section 7",
            "Algorithm 3 starts with clusters whose diversity l1 is close to l0",
            f"l1 ÷ l0: salary {start['salary']:.3f}, education {start['education']:.3f} (k0 = 25)",
            judge(inside(share, NEAR) for share in start.values()),
            "Close is taken for 95 %; with 16 values, rounding up the most frequent one and down "
            "the others in the same cluster is likely somewhere.",
        ),
        Claim(
            "Goldberger & Tassa, section 7.1",
            "better rounding of the start (which the paper leaves to integer programming) brings "
            "the highest diversity in education close to l0",
            "; ".join(
                f"l = {l}: reached {cell['diversity']:.3f}, LM {cell['lm']:.3f}"
                for l, cell in results["rounded"]["education"].items()
            ),
            judge([inside(best / l0["education"], NEAR), best > most["education"]["diversity"]]),
            f"Rows dealt out in turn: {best / l0['education']:.1%} of l0 where the published "
            f"rounding ends at {most['education']['diversity'] / l0['education']:.1%}; close is "
            "taken for 95 %.",
        ),
        Claim(
            "Goldberger & Tassa, section 7",
            "demanding l0 itself may leave nothing but one cluster of all rows",
            f"{at_l0['groups']} cluster; {facts['most_exact_parts']} clusters of exactly the "
            "table's distribution would be possible",
            judge([at_l0["groups"] == 1]),
            "Algorithm 2 gives up when its start is not l-diverse.",
        ),
    ]


def _cheaper(cells: list[dict[str, Any]], limit: float) -> str:
    below = [cell["diversity"] for cell in cells if cell["lm"] < limit]
    return f"{max(below):.3f}" if below else "1"
