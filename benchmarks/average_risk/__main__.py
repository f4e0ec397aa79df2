"""What a limit on the average risk loses, beside one k for all.

Run: python -m benchmarks.average_risk [--seeds N]
adult.data (in the package) and the synthetic census. Writes benchmarks/average_risk/results/ and
docs/results/average_risk.md.
"""

from __future__ import annotations

from typing import Any

import shoal
from benchmarks.common import cpu_timed, eight, machine, run_benchmark
from shoal.datasets import ADULT_QUASI_IDENTIFIERS, load_adult, make_census

K, LEAST, LIMIT = 11, 3, 0.0909
ROWS = (2_000, 30_162, 300_000)
WAYS: dict[str, tuple[int, dict[str, Any]]] = {
    f"k = {K}": (K, {}),
    f"k = {LEAST}, average risk": (
        LEAST,
        {"privacy": shoal.PopulationRisk(LIMIT, kind="average")},
    ),
}


def measure(seeds: int) -> dict[str, Any]:
    """Publish each table in both ways."""
    runs = []
    adult = load_adult(part="train")
    for n_rows in ROWS:
        large = n_rows > adult.height
        frame = make_census(n_rows, seed=1) if large else adult.head(n_rows)
        roles = eight(frame)
        if large:
            names = [name for name in ADULT_QUASI_IDENTIFIERS if name in frame.columns]
            rest = [name for name in frame.columns if name not in names]
            roles = {"quasi_identifiers": names, "drop": rest}
        for way, (k, options) in WAYS.items():
            for seed in range(seeds):
                release, seconds = cpu_timed(frame, k, roles, seed=seed, **options)
                runs.append(
                    {
                        "rows": n_rows,
                        "way": way,
                        "seed": seed,
                        "ncp": release.scores["ncp"],
                        "groups": release.n_groups,
                        "seconds": seconds,
                    }
                )
                print(runs[-1], flush=True)
    return {"machine": machine(), "seeds": seeds, "runs": runs}


def page(content: dict[str, Any]) -> str:
    """Return the page of results."""
    seeds, made_by = content["seeds"], content["machine"]
    lines = [
        "# A limit on the average risk, beside one k for all",
        "",
        (
            f"A risk of 1/{K} can be kept for everybody, by groups of {K}, or on average, with no "
            f"group below {LEAST}. The average is at most {LIMIT} in both; the second lets large "
            "groups pay for small ones, and the search decides where "
            "([how](../choosing-k-l-t.md#what-if-the-attacker-does-not-know-who-is-in-the-table))."
        ),
        "",
        (
            f"NCP of `auto`, mean of {seeds} seeds, eight columns without hierarchies; up to "
            "30,162 rows adult.data, above that the synthetic census. CPU seconds of all threads, "
            f"the fastest run. Commit {made_by['commit']}, Python {made_by['python']}, "
            f"{made_by['cores']} cores. Again: `python -m benchmarks.average_risk`."
        ),
        "",
        f"| rows | {' | '.join(WAYS)} | less | groups | seconds |",
        "|---|---|---|---|---|---|",
    ]
    for n_rows in ROWS:
        found = [
            [run for run in content["runs"] if (run["rows"], run["way"]) == (n_rows, way)]
            for way in WAYS
        ]
        plain, limited = (sum(run["ncp"] for run in runs) / len(runs) for runs in found)
        groups = [f"{runs[0]['groups']:,}" for runs in found]
        seconds = [f"{min(run['seconds'] for run in runs):.1f}" for runs in found]
        lines.append(
            f"| {n_rows:,} | {plain:.4f} | {limited:.4f} | {1 - limited / plain:.0%} "
            f"| {' and '.join(groups)} | {' and '.join(seconds)} |"
        )
    lines += [
        "",
        (
            "What it costs: nobody in the second release is hidden among fewer than "
            f"{LEAST}, but some are among no more. Where a regulator or the recipient asks for the "
            "highest risk of each person, only k is the answer."
        ),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    run_benchmark("average_risk", __doc__, measure, page, seeds=(3, "runs of each"))
