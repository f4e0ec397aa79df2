"""The page docs/results/beyond.md and its plots, from the measured numbers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.common import RESULTS, machine


def write_page(results: dict[str, Any]) -> Path:
    """Write the page; return where it is."""
    path = RESULTS / "beyond.md"
    path.write_text("\n".join(_lines(results)) + "\n", encoding="utf-8")
    return path


def _lines(results: dict[str, Any]) -> Iterator[str]:
    about = machine()
    yield "# Beyond the papers: `auto`, refinement and the lower bound\n"
    yield (
        f"Made by `python -m benchmarks.beyond` at commit {about['commit']} (Python "
        f"{about['python']}, numpy {about['numpy']}, numba {about['numba']}, {about['cores']} "
        f"cores). The load average when it began was {results['load_average']:.1f} (times on "
        "an idle machine are shorter if that is above the number of cores). Compiling is not "
        "counted. One run per cell, seed 0."
    )
    if results["quick"]:
        yield "\n**Quick run on small samples: these numbers mean nothing.**"
    yield from _software(results.get("software", []))
    yield from _papers(results.get("papers", []))
    yield from _table_2(results.get("table_2", []))
    yield from _shapes(results.get("shapes", []))
    yield from _curves(results.get("curves", []))
    skipped = results.get("skipped", [])
    yield "\n## What did not run\n"
    if not skipped:
        yield "Everything ran."
        return
    yield "Left out for lack of time:\n"
    yield from (f"- {what}" for what in skipped)


def _software(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield "\n## Other software: 30,162 rows of adult.data, 8 columns, flat\n"
    yield (
        "ARX is the best local recoding of an expert (about 10 s); for LM, sdcMicro's MDAV. "
        "`loss ÷ bound` says how many times the best possible loss this is at most.\n"
    )
    yield "| measure | k | effort | loss | other | difference | bound | loss ÷ bound | seconds |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for row in rows:
        bound = row["bound"]
        last = "|  | " if bound is None else f"| {bound:.4f} | {row['loss'] / bound:.2f}"
        yield (
            f"| {row['measure']} | {row['k']} | {row['effort']} | {row['loss']:.4f} | "
            f"{row['other']:.4f} | {row['loss'] / row['other'] - 1:+.1%} {last} | "
            f"{row['seconds']:.1f} |"
        )


def _papers(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield "\n## Adult, 45,222 rows, 8 columns: `auto` beside the algorithms of the papers\n"
    yield from _comparison(rows, "trees")


def _shapes(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield "\n## Other shapes of data\n"
    yield from _comparison(rows, "shape")


def _comparison(rows: list[dict[str, Any]], key: str) -> Iterator[str]:
    names = list(dict.fromkeys(name for row in rows for name in row["found"]))
    yield f"| {key} | measure | k | {' | '.join(names)} | balanced against the best paper | bound |"
    yield "|---" * (len(names) + 5) + "|"
    for row in rows:
        found = row["found"]
        cells = [
            f"{found[n]['loss']:.4f} ({found[n]['seconds']:.1f} s)" if n in found else ""
            for n in names
        ]
        others = [value["loss"] for name, value in found.items() if not name.startswith("auto")]
        ours = found.get("auto, balanced")
        verdict = f"{ours['loss'] / min(others) - 1:+.1%}" if ours and others else ""
        bound = f"{row['bound']:.4f}" if row.get("bound") is not None else ""
        yield (
            f"| {row[key]} | {row['measure']} | {row['k']} | {' | '.join(cells)} | {verdict} | "
            f"{bound} |"
        )


def _table_2(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield "\n## Goldberger and Tassa, Table 2: 14 columns, kept or suppressed (LM)\n"
    yield "| k | published | auto, balanced | difference | seconds |"
    yield "|---|---|---|---|---|"
    for row in rows:
        yield (
            f"| {row['k']} | {row['published']:.3f} | {row['loss']:.4f} | "
            f"{row['loss'] - row['published']:+.4f} | {row['seconds']:.1f} |"
        )


def _curves(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield "\n## Loss over time while refining\n"
    yield "A sweep of `best` after another, from several starts; 5,000 rows of adult.data.\n"
    for row in rows:
        yield f"| k = {row['k']} | start | after 1 sweep | after 8 | seconds |"
        yield "|---|---|---|---|---|"
        for start, points in row["curves"].items():
            yield (
                f"| {start} | {points[0][1]:.4f} | {points[1][1]:.4f} | {points[-1][1]:.4f} | "
                f"{points[-1][0]:.1f} |"
            )
        yield f"| lower bound | {row['bound']:.4f} | | | |\n"
        if _plot(row):
            yield f"![Loss over time at k = {row['k']}](beyond_k{row['k']}.svg)\n"


def _plot(row: dict[str, Any]) -> bool:
    try:
        import matplotlib as mpl
    except ImportError:
        print("matplotlib (extra bench) is not installed; no plots.")
        return False
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4))
    for start, points in row["curves"].items():
        axes.plot(*zip(*points, strict=True), marker="o", markersize=3, label=start)
    axes.axhline(row["bound"], color="black", linestyle="--", label="lower bound")
    axes.set(
        xlabel="seconds", ylabel="loss (ncp)", title=f"Refining, k = {row['k']}", ylim=(0, None)
    )
    axes.legend()
    figure.tight_layout()
    for ending in ("svg", "png"):
        figure.savefig(
            RESULTS / f"beyond_k{row['k']}.{ending}",
            metadata={"Date": None} if ending == "svg" else None,
        )
    plt.close(figure)
    return True
