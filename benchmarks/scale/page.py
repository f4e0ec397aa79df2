"""Writes the results of `benchmarks.scale` as a page with plots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.draw.figures import lines as figure
from benchmarks.draw.tables import table
from benchmarks.scale.growth import exponent
from shoal.engine.refine_across_blocks import WHOLE_ROWS as ALSO_WHOLE

if TYPE_CHECKING:
    from pathlib import Path

CLAIMS = {
    (1_000_000, "parquet", ""): "at most 60 s and 1,500 MB",
    (1_000_000, "csv", ""): "at most 80 s",
    (10_000_000, "parquet", ""): "at most 600 s and 6,000 MB",
}


def write(content: dict[str, Any], folder: Path) -> None:
    """Write scale.md and the plots it shows."""
    card = content["machine"]
    lines = [
        "# A million rows on a laptop",
        "",
        (
            f"{card['cores']} cores ({card['processor']}), Python {card['python']}, numba "
            f"{card['numba']}, polars {card['polars']}. Made by "
            "`make bench-scale`; the numbers are in `benchmarks/scale/results/`. Census rows "
            "come from `shoal.datasets.make_census`: "
            "eight quasi-identifiers, salary sensitive, no hierarchies, k = 10."
        ),
        "",
    ]
    if content.get("note"):
        lines += [content["note"], ""]
    if load := content.get("load"):
        commits = content["commit"]
        shares = ", ".join(
            f"{value:.1f} before {part} (commit {commits[part]})" for part, value in load.items()
        )
        lines += [
            (
                f"Load of the machine: {shares}. A load above 0 means that other programs shared "
                "the cores: elapsed seconds are then longer than on an idle machine. CPU seconds "
                "are those of the process alone, over all its threads."
            ),
            "",
        ]
    for part, writer in (
        ("files", files),
        ("adult", adult),
        ("wide", wide),
        ("threads", threads),
        ("growth", growth),
    ):
        if part in content:
            lines += [*writer(content[part], folder), ""]
        else:
            lines += [f"## {part.capitalize()}", "", "Not measured in this run.", ""]
    (folder / "scale.md").write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


def files(rows: list[dict[str, Any]], folder: Path) -> list[str]:
    """Describe the runs of the command line."""
    del folder
    lines = [
        "## File to file",
        "",
        "`shoal anonymize` in a process of its own, everything included; memory is its peak.",
        "",
    ]
    heads = ["rows", "format", "options", "seconds", "CPU seconds", "peak MB", "aim", ""]
    body = []
    for row in rows:
        options = row["options"]
        aim = CLAIMS.get((row["rows"], row["format"], options), "")
        if "k-member" in options and row["rows"] == 1_000_000:
            aim = "at most 300 s"
        taken = f"{row['seconds']:.1f}" if row["seconds"] else ""  # 0 for a run that never began
        memory = f"{row['peak_mb']:,.0f}" if row["peak_mb"] else ""
        cpu = "" if row["cpu"] is None else f"{row['cpu']:.1f}"
        what = [f"{row['rows']:,}", row["format"], options or "default"]
        body.append([*what, taken, cpu, memory, aim, row.get("error", "")])
    return [*lines, *table(heads, body)]


def adult(found: dict[str, Any], folder: Path) -> list[str]:
    """Describe the runs on Adult."""
    del folder
    lines = [
        "## Adult beside straightforward scans",
        "",
        (
            "The same process, seed and table, CPU seconds of one thread; the straightforward twin "
            "evaluates every candidate."
        ),
        "",
    ]
    heads = ["algorithm", "rows", "seconds", "straightforward", "share of its time", "same groups"]
    ratios, quality = [], []
    for row in found["ratios"]:
        share = row["seconds"] / row["straightforward"]
        seconds = [f"{row['seconds']:.2f}", f"{row['straightforward']:.2f}"]
        faster = f"{share:.3f} ({1 / share:.1f} times as fast)"
        same = "yes" if row["identical"] else "NO"
        ratios.append([row["algorithm"], f"{row['rows']:,}", *seconds, faster, same])
    lines += [
        *table(heads, ratios),
        "",
        "Aims: k-member at most 0.05, sequential at most 0.2.",
        "",
        "## Adult in blocks beside the whole table",
        "",
    ]
    heads = ["algorithm", "NCP whole", "NCP in blocks", "difference", "seconds whole", "in blocks"]
    for row in found["quality"]:
        losses = [f"{row['whole_ncp']:.4f}", f"{row['block_ncp']:.4f}"]
        more = f"{row['block_ncp'] / row['whole_ncp'] - 1:+.1%}"
        seconds = [f"{row['whole_seconds']:.2f}", f"{row['block_seconds']:.2f}"]
        quality.append([row["algorithm"], *losses, more, *seconds])
    row = found["quality"][0]
    lines += [
        *table(heads, quality),
        "",
        (
            f"{row['rows']:,} rows, blocks of {row['block_rows']:,}. Aim: at most +2 %. Blocks end "
            "with the repair of their seams, which refines groups and which whole tables do not "
            "get, so blocks may lose less than the whole table."
        ),
    ]
    return lines


def wide(rows: list[dict[str, Any]], folder: Path) -> list[str]:
    """Describe tables of many columns."""
    del folder
    first = rows[0]
    body = [
        [
            f"{row['rows']:,}",
            row["columns"],
            f"{row['cpu']:.1f}",
            f"{row['cpu'] / first['cpu']:.2f}",
            f"{row['ncp']:.4f}",
            f"{row['peak_mb']:,.0f}",
        ]
        for row in rows
    ]
    heads = ["rows", "quasi-identifiers", "CPU seconds", "times the first", "NCP", "peak MB"]
    said = (
        "The census with further columns of 2 to 14 values, `auto`. A scan takes time with every "
        "column, so blocks and regions of wide tables have fewer rows; groups lose no more by it, "
        "because few rows are near to each other there. Memory is the peak of the process so far. "
        "Aim: at most twice the time of the first."
    )
    tried = (
        "With 60 columns the start of each block (agglomerative clustering) takes half of the "
        "time. Tried against that, by hand, at 110,000 rows and 60 columns: blocks and regions of "
        "half as many rows take longer (30 CPU seconds instead "
        "of 28, NCP 0.653 instead of 0.648; where nine of ten cells follow a person's type 91 "
        "instead of 56 and 0.200 instead of 0.196); k-member as the start is faster, and loses 4 % "
        "more where columns go together."
    )
    return ["## Wide tables", "", said, "", *table(heads, body), "", tried]


def threads(rows: list[dict[str, Any]], folder: Path) -> list[str]:
    """Describe one thread beside two."""
    del folder
    body = [
        [f"{row['rows']:,}", row["threads"], f"{row['seconds']:.2f}", f"{row['ncp']:.4f}"]
        for row in rows
    ]
    faster = rows[0]["seconds"] / rows[-1]["seconds"]
    said = f"Two threads are {faster:.2f} times as fast as one."
    heads = ["rows", "threads", "seconds", "NCP"]
    return ["## Threads", "", *table(heads, body), "", said]


def growth(found: dict[str, Any], folder: Path) -> list[str]:
    """Describe how time grows, and draw it."""
    sizes = found["sizes"]
    lines = [
        "## Growth",
        "",
        (
            "CPU seconds of the whole call; the exponent is b of time = a · rows^b over the sizes "
            f"that finished. Runs of over {found['cap']:g} CPU seconds are stopped, or not begun "
            "where the growth so far foretells it. Other programs ran at the same time; "
            f"measured at commit {', '.join(found['commits'])}."
        ),
        "",
        (
            "Blocks end with the repair of their seams, which takes most of the time and is why "
            f"whole tables can be faster. Tables up to {ALSO_WHOLE:,} rows are refined as a whole "
            "in the end, larger ones are not: exponents of blocks that begin below that come out "
            "low, so the exponent above that size is shown, too."
        ),
        "",
    ]
    heads = ["algorithm", "", *(f"{n:,}" for n in sizes), "exponent", f"above {ALSO_WHOLE:,} rows"]
    body = []
    for row in found["rows"]:
        seconds = row.get("seconds", {})
        cells = [f"{seconds[str(n)]:.2f}" if str(n) in seconds else "-" for n in sizes]
        above = {n: t for n, t in seconds.items() if int(n) > ALSO_WHOLE}
        slopes = ["-" if b is None else f"{b:.2f}" for b in (row.get("exponent"), exponent(above))]
        note = row.get("error", "")
        if row.get("stopped"):
            note = f"too long from {row['stopped']:,} rows on"
        body.append([row["algorithm"], row["mode"], *cells, *slopes, note])
    lines += table([*heads, ""], body)
    for mode in ("blocks", "whole"):
        series = {
            row["algorithm"]: [(int(n), t) for n, t in row["seconds"].items()]
            for row in found["rows"]
            if row["mode"] == mode and row.get("seconds")
        }
        if series:
            figure(
                f"scale-{mode}",
                folder,
                series,
                x_label="rows",
                y_label="CPU time (s)",
                title="In blocks" if mode == "blocks" else "The whole table at once",
                log_x=True,
                log_y=True,
            )
            lines += ["", f"![CPU seconds over rows, {mode}](scale-{mode}.svg)"]
    return lines
