"""Twelve monthly releases of one register, with those that are out in mind and without.

Run: python -m benchmarks.again [--people N] [--months N]
A generated register: each month 10 % of the people are new, 5 % are gone, 20 % changed one of
their values. Writes benchmarks/again/results/ and docs/results/again.md.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

import shoal
from benchmarks.common import machine, run_benchmark
from benchmarks.draw.tables import titled

if TYPE_CHECKING:
    from collections.abc import Iterator

SEED = 7
K, L, RESERVE = 5, 2, 3.0
NEW, GONE, CHANGED = 0.10, 0.05, 0.20
QI = ["age", "zip", "sex", "status"]
ILLS = ("asthma", "diabetes", "flu", "gout", "measles", "none")
STATUS = ("single", "married", "divorced", "widowed")


def months(n_people: int, n_months: int) -> Iterator[pl.DataFrame]:
    """Yield the register of each month."""
    rng = np.random.default_rng(SEED)

    def value(name: str, n: int) -> Any:
        if name == "age":
            return rng.integers(18, 90, n)
        if name == "zip":
            return 10_000 + 100 * rng.integers(0, 30, n) + rng.integers(0, 5, n)
        return rng.choice({"sex": ["F", "M"], "status": STATUS, "ill": ILLS}[name], n)

    def people(first: int, n: int) -> pl.DataFrame:
        columns = {name: value(name, n) for name in (*QI, "ill")}
        return pl.DataFrame({"id": np.arange(first, first + n), **columns})

    table, known = people(0, n_people), n_people
    for month in range(n_months):
        if month:
            n = table.height
            table = table[np.sort(rng.permutation(n)[: n - round(GONE * n)]).tolist()]
            who = rng.permutation(table.height)[: round(CHANGED * n)]
            which = rng.choice(["age", "zip", "status", "ill"], len(who))
            for name in ("age", "zip", "status", "ill"):
                rows = who[which == name]
                cells = table.get_column(name).to_numpy().copy()
                cells[rows] = value(name, len(rows))
                table = table.with_columns(pl.Series(name, cells))
            more = round(NEW * n)
            table = pl.concat([table, people(known, more)], how="vertical_relaxed")
            known += more
        yield table


def release(table: pl.DataFrame, previous: list[Any], reserve: float) -> Any:
    """Return one release."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", shoal.ShoalWarning)
        return shoal.anonymize(
            table,
            K,
            quasi_identifiers=QI,
            sensitive=["ill"],
            person="id",
            kinds={"zip": "numeric"},
            privacy=[shoal.LDiversity(L, kind="distinct")],
            previous=previous,
            reserve=reserve,
            seed=SEED,
        )


def attack(releases: list[Any]) -> dict[str, Any]:
    """Intersect the groups of every person who is in more than one release."""
    people: dict[Any, list[frozenset[Any]]] = defaultdict(list)
    values: dict[Any, list[frozenset[Any]]] = defaultdict(list)
    for made in releases:
        groups: dict[Any, list[tuple[Any, Any]]] = defaultdict(list)
        cells = made.frame.select(QI).rows()
        ills = made.frame.get_column("ill").to_list()
        for who, cell, ill in zip(made.ids.to_list(), cells, ills, strict=True):
            groups[cell].append((who, ill))
        for rows in groups.values():
            everybody = frozenset(who for who, _ in rows)
            shown = frozenset(ill for _, ill in rows)
            for who in everybody:
                people[who].append(everybody)
                values[who].append(shown)
    several = [who for who, groups in people.items() if len(groups) > 1]
    left = [len(frozenset.intersection(*people[who])) for who in several]
    shown_left = [len(frozenset.intersection(*values[who])) for who in several]
    n = max(len(several), 1)
    return {
        "people": len(several),
        "fewest_people": min(left, default=0),
        "fewest_values": min(shown_left, default=0),
        "below_k": sum(each < K for each in left) / n,
        "alone": sum(each == 1 for each in left) / n,
        "below_l": sum(each < L for each in shown_left) / n,
    }


def audited(table: pl.DataFrame, first: Any, second: Any) -> dict[str, float]:
    """Return what the audit's attacker with two releases reaches."""
    found = first.audit(table, second=second, targets=200)
    certain = next(f for f in found.findings if f.name == "two releases: ill certain")
    return {"certain": certain.rate, "alone": certain.baseline or 0.0}


def measure(n_people: int, n_months: int) -> dict[str, Any]:
    """Make all releases both ways, and attack them."""
    runs: dict[str, Any] = {}
    for name, reserve in (("beside", RESERVE), ("alone", 1.0)):
        releases: list[Any] = []
        rows = []
        before: pl.DataFrame | None = None
        for month, table in enumerate(months(n_people, n_months), start=1):
            made = release(table, releases if name == "beside" else [], reserve)
            line = {
                "month": month,
                "rows": table.height,
                "waiting": made.n_suppressed,
                "loss": made.kept_loss,
                "holds": made.verification.holds,
                "smallest": made.verification.fewest_people or made.verification.smallest_group,
                "seconds": round(made.seconds, 1),
            }
            if before is not None:
                found = audited(before, releases[-1], made)
                line |= {f"two_{key}": rate for key, rate in found.items()}
            releases.append(made)
            line |= attack(releases)
            rows.append(line)
            before = table
            print(name, line, flush=True)
        runs[name] = rows
    return {"machine": machine(), "people": n_people, "months": n_months, "runs": runs}


def page(content: dict[str, Any]) -> str:
    """Return the page of results."""
    said = {name: runs[-1] for name, runs in content["runs"].items()}
    alone, beside = said["alone"], said["beside"]
    lines = [
        "# Twelve months, released again and again",
        "",
        (
            f"A generated register of {content['people']:,} people over {content['months']} "
            "months: each month 10 % are new, 5 % are gone and 20 % changed one of age, ZIP code, "
            f"status and illness. Every month is released with k = {K} and {L}-diversity of the "
            "illness: once with `--previous`, all that is out in mind ([the guarantee]"
            "(../life-of-a-release.md#the-same-people-again)), with `--reserve 3`; once as if "
            "nothing were out."
        ),
        "",
        (
            f"**A warning.** Each of the {content['months']} releases that ignore one another "
            "keeps its promises alone. Together they do not: for "
            f"{alone['below_k']:.1%} of the people who are in more than one, their groups have "
            f"fewer than {K} people in common, for {alone['alone']:.1%} only the person, and for "
            f"{alone['below_l']:.1%} fewer than {L} illnesses are left. With `--previous` it is "
            f"{beside['below_k']:.1%}, {beside['alone']:.1%} and {beside['below_l']:.1%}; the "
            f"fewest people are {beside['fewest_people']}, the fewest illnesses "
            f"{beside['fewest_values']}."
        ),
        "",
        (
            "The price: wider groups and rows that wait. *Waiting* are rows that the month's "
            "release leaves out; *loss* is that of the published rows (`ncp`, 0 to 1). *Found* is "
            "the share of people in several releases so far whose groups have only themselves in "
            "common; *below k* and *below l* count those with fewer than k people or l illnesses. "
            "*Two releases* is the audit's attacker who has this month and the last one: how "
            "often the illness is certain."
        ),
    ]
    heads = [
        "month",
        "rows",
        "waiting",
        "loss",
        "promises alone",
        "below k",
        "below l",
        "found",
        "fewest people",
        "two releases",
    ]
    for name, title in (
        ("beside", "With `--previous`"),
        ("alone", "Without, as a warning"),
    ):
        rows = [
            [
                run["month"],
                f"{run['rows']:,}",
                f"{run['waiting'] / run['rows']:.1%}",
                f"{run['loss']:.3f}",
                "hold" if run["holds"] else "broken",
                *(f"{run[each]:.1%}" if run["people"] else "" for each in ("below_k", "below_l")),
                f"{run['alone']:.1%}" if run["people"] else "",
                run["fewest_people"] if run["people"] else "",
                f"{run['two_certain']:.1%}" if "two_certain" in run else "",
            ]
            for run in content["runs"][name]
        ]
        lines += titled(title, heads, rows)
    lines += [
        "",
        (
            "Waiting people are those of whose group too many have left, and those who are held "
            "back so that who left stays hidden; they do not come back. Nobody changes company, "
            "so groups get wider as people change. For a series that goes on for long, begin "
            "anew from time to time with people who were never published, or publish less often."
        ),
        "",
        (
            f"`auto`, seed {SEED}, commit {content['machine']['commit']}. Again: `python -m "
            "benchmarks.again`."
        ),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    run_benchmark(
        "again",
        __doc__,
        measure,
        page,
        people=(5000, "people of the first month"),
        months=(12, "number of releases"),
    )
