"""The reading guide of the cross table: sentences made from its numbers."""

from __future__ import annotations

from itertools import product
from statistics import geometric_mean, median
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.draw.figures import shown
from benchmarks.papers.as_published import HELP, OURS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

PUBLIC = ("ncp", "lm", "whd-height", "suppression", "mi")
"""Measures that do not look at the sensitive column, each of them once."""
ENDS = ("loss", "least", "most")
"""The mean over the seeds, and its ends."""
PROMPT = 1.0  # seconds
CLOSE = 1.05  # times the least


def runs_of(results: dict[str, Any]) -> Iterator[tuple[str, str, str, dict[str, Any], int]]:
    """Yield algorithm, minimised measure, k, the run and the memory of every run."""
    for algorithm, row in results["cells"].items():
        for minimised, entry in row.items():
            for k, cell in entry["k"].items():
                yield algorithm, minimised, k, cell, entry["mebibytes"]


def complete(results: dict[str, Any]) -> dict[str, Any]:
    """Return the algorithms that were run with every measure; baselines were with NCP only."""
    most = max(len(row) for row in results["cells"].values())
    return {a: row for a, row in results["cells"].items() if len(row) == most}


def not_refined(results: dict[str, Any]) -> dict[str, Any]:
    """Return the algorithms as published, baselines, too."""
    return {a: row for a, row in results["cells"].items() if a not in OURS and HELP not in a}


def published(results: dict[str, Any]) -> dict[str, Any]:
    """Return the algorithms as published that were run with every measure."""
    return {a: row for a, row in complete(results).items() if a in not_refined(results)}


def refined(results: dict[str, Any]) -> dict[str, Any]:
    """Return what is refined, with labels that say so."""
    return {
        f"{a}, refined" if a in OURS else a: row
        for a, row in results["cells"].items()
        if a not in not_refined(results)
    }


def ignoring(results: dict[str, Any]) -> list[str]:
    """Return the algorithms whose groups are the same whatever is minimised."""
    found = []
    for algorithm, row in complete(results).items():
        seen: dict[str, set[str]] = {}
        for entry in row.values():
            for k, cell in entry["k"].items():
                if "same" in cell:
                    seen.setdefault(k, set()).add(cell["same"])
        if seen and all(len(hashes) == 1 for hashes in seen.values()):
            found.append(algorithm)
    return found


def lowest(cells: Iterable[Mapping[str, Any]], name: str) -> float | None:
    """Return the least loss of those cells that have a release, None if none has."""
    return min((cell["loss"][name] for cell in cells if "loss" in cell), default=None)


class Ratio(NamedTuple):
    """Loss ÷ least loss: the mean, and what it is with the least and the most of all seeds."""

    mean: float
    least: float
    most: float

    def __str__(self) -> str:
        if f"{self.least:.2f}" == f"{self.most:.2f}":
            return f"{self.mean:.2f}"
        return f"{self.mean:.2f} [{self.least:.2f}, {self.most:.2f}]"


def excess(
    rows: Mapping[str, Any], names: Iterable[str], ks: Iterable[str], *, among: Mapping[str, Any]
) -> dict[str, Ratio]:
    """Return how rows compare with the least loss among others, over measures and k, best first."""
    found: dict[str, list[list[float]]] = {}
    for name, k in product(names, ks):
        least = lowest([_at(row, name, k) for row in among.values()], name)
        if not least:
            continue
        for label, row in rows.items():
            cell = _at(row, name, k)
            if "loss" in cell:
                found.setdefault(label, []).append([cell[end][name] / least for end in ENDS])
    means = {a: Ratio(*map(geometric_mean, zip(*r, strict=True))) for a, r in found.items()}
    return dict(sorted(means.items(), key=lambda item: item[1]))


def _at(row: Mapping[str, Any], name: str, k: str) -> dict[str, Any]:
    cell: dict[str, Any] = row.get(name, {"k": {}})["k"].get(k, {})
    return cell


def _seconds(results: dict[str, Any], names: tuple[str, ...]) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for algorithm, minimised, _, cell, _ in runs_of(results):
        if minimised in names and "seconds" in cell:
            found.setdefault(algorithm, []).append(cell["seconds"])
    return {algorithm: median(times) for algorithm, times in found.items()}


def _wins(results: dict[str, Any], names: tuple[str, ...]) -> tuple[dict[str, int], int]:
    """Return how often each algorithm has the least loss, and of how many cells."""
    wins: dict[str, int] = {}
    total = 0
    for name, k in product(names, map(str, results["ks"])):
        found = {
            a: cell["loss"][name]
            for a, row in published(results).items()
            if "loss" in (cell := _at(row, name, k))
        }
        if found:
            total += 1
            best = min(found, key=lambda a: found[a])
            wins[best] = wins.get(best, 0) + 1
    return wins, total


def guide(results: dict[str, Any]) -> Iterator[str]:
    """Yield one sentence per purpose."""
    ranked, ks = published(results), [str(k) for k in results["ks"]]
    measured = next(iter(ranked.values()))
    public = tuple(name for name in PUBLIC if name in measured)
    classes = tuple(name for name in ("pmi", "wmi") if name in measured)
    found, seconds = excess(ranked, public, ks, among=ranked), _seconds(results, public)
    wins, total = _wins(results, public)
    best = max(wins, key=lambda a: wins[a])
    yield (
        f"- **Least loss, time is no matter:** {shown(best)} has the least loss in {wins[best]} "
        f"of {total} cells (measures without a class, all k), in {seconds[best]:.1f} s "
        f"(median); {_runner_up(found, best)}."
    )
    prompt = [a for a in found if seconds[a] <= PROMPT]
    if prompt:
        first = prompt[0]
        yield (
            f"- **A good release at once:** of the algorithms that take at most {PROMPT:g} s, "
            f"{shown(first)} loses least, on average {found[first].mean:.2f} times the least loss "
            f"({seconds[first]:.2f} s)."
        )
    quickest = min(found, key=lambda a: seconds[a])
    yield (
        f"- **As fast as possible:** {shown(quickest)} takes {seconds[quickest]:.2f} s and loses "
        f"{found[quickest].mean:.2f} times the least."
    )
    yield from _sensitive(results, classes)
    yield from _suppressing(results)
    yield from _wholes(found)
    memory = {a: max(entry["mebibytes"] for entry in row.values()) for a, row in ranked.items()}
    low, high = min(memory, key=memory.__getitem__), max(memory, key=memory.__getitem__)
    yield (
        f"- **Memory** decides nothing at this size: {memory[low]} MiB ({shown(low)}) to "
        f"{memory[high]} MiB ({shown(high)})."
    )
    yield (
        "- **In order of loss** (mean of loss ÷ least loss over measures without a class and all "
        "k, in brackets what it is with the least and the most of the seeds; median seconds): "
        + _listed(found, seconds)
    )
    everybody = not_refined(results)
    by_ncp = excess(everybody, ("ncp",), ks, among=everybody)
    yield (
        "- **With the baselines**, which minimise `ncp` only, in order of that: "
        + _listed(by_ncp, _seconds(results, ("ncp",)))
    )
    yield from _apart(results, public)
    worst = _worst_measure(results, public)
    if worst:
        yield worst


def _listed(found: Mapping[str, Ratio], seconds: Mapping[str, float]) -> str:
    each = (f"{shown(a)} {ratio} ({seconds[a]:.1f} s)" for a, ratio in found.items())
    return ", ".join(each) + "."


def _apart(results: dict[str, Any], public: tuple[str, ...]) -> Iterator[str]:
    """Say what is gained where groups are refined, which no paper does."""
    ks, rows = [str(k) for k in results["ks"]], refined(results)
    found = excess(rows, public, ks, among=not_refined(results))
    if found:
        each = (f"{shown(label)} {ratio}" for label, ratio in found.items())
        yield (
            "- **Refined, and so not ranked** (loss ÷ least loss as published, of the measures "
            f"that each has below): {', '.join(each)}."
        )


def _runner_up(found: Mapping[str, Ratio], best: str) -> str:
    others = [a for a in found if a != best]
    if not others:
        return "there is no other"
    second = others[0]
    word = "within 5 % of" if found[second].mean <= CLOSE * found[best].mean else "behind"
    return (
        f"{shown(second)} comes next, {word} it ({found[second].mean:.2f} times the least loss on "
        f"average, {shown(best)} {found[best].mean:.2f})"
    )


def _sensitive(results: dict[str, Any], classes: tuple[str, ...]) -> Iterator[str]:
    if not classes:
        return
    wins, total = _wins(results, classes)
    best = max(wins, key=lambda a: wins[a])
    price = []
    for row in published(results).values():
        for k in map(str, results["ks"]):
            plain, own = (row[m]["k"].get(k, {}) for m in ("ncp", classes[0]))
            if "loss" in plain and "loss" in own and plain["loss"]["ncp"] > 0:
                price.append(own["loss"]["ncp"] / plain["loss"]["ncp"])
    yield (
        f"- **Clusters that go with the sensitive column** ({', '.join(classes)}): {shown(best)} "
        f"has the least loss in {wins[best]} of {total} cells. Minimising {classes[0]} instead of "
        f"ncp makes NCP {median(price):.1f} times as high (median); the part on the open "
        "conjecture shows what models make of it."
    )


def _suppressing(results: dict[str, Any]) -> Iterator[str]:
    gone: dict[str, int] = {}
    for algorithm, _, _, cell, _ in runs_of(results):
        if cell.get("suppressed"):
            gone[algorithm] = max(gone.get(algorithm, 0), cell["suppressed"])
    for algorithm, most in gone.items():
        yield (
            f"- **Every row has to stay:** not {shown(algorithm)}, which leaves out up to "
            f"{most:,} of {results['rows']:,} rows, as published."
        )


def _wholes(found: Mapping[str, Ratio]) -> Iterator[str]:
    if "incognito" in found:
        yield (
            "- **One level per column for all rows** (simple to explain, easy to join): "
            f"{shown('incognito')}, at {found['incognito'].mean:.1f} times the least loss."
        )


def _worst_measure(results: dict[str, Any], public: tuple[str, ...]) -> str:
    """Say how much is lost in one measure by minimising another."""
    ratios: dict[tuple[str, str], list[float]] = {}
    for row in published(results).values():
        for k in map(str, results["ks"]):
            for name in public:
                own = row[name]["k"].get(k, {})
                for other in public:
                    cell = row[other]["k"].get(k, {})
                    if other != name and "loss" in own and "loss" in cell and own["loss"][name] > 0:
                        ratio = cell["loss"][name] / own["loss"][name]
                        ratios.setdefault((name, other), []).append(ratio)
    if not ratios:
        return ""
    means = {pair: geometric_mean(found) for pair, found in ratios.items()}
    (name, other), worst = max(means.items(), key=lambda item: item[1])
    (near, beside), least = min(means.items(), key=lambda item: abs(item[1] - 1))
    return (
        f"- **Choosing the measure:** minimise what will be judged. Minimising {other} instead of "
        f"{name} makes {name} {worst:.2f} times as high (the worst pair); {beside} instead of "
        f"{near} makes {least:.2f} times (the closest pair)."
    )
