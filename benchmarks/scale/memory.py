"""Seconds and peak memory of every stage of ``shoal anonymize``, file to file.

    python -m benchmarks.scale.memory --rows 1000000 --formats csv,parquet

A process of its own runs the command line, as users do; this one reads its memory from /proc
every few milliseconds. The stages are those the progress bar shows.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

SAMPLE_SECONDS = 0.01
CENSUS_BLOCK = 1_000_000


def main() -> None:
    """Measure each format and print one table per run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="1000000", help="comma-separated")
    parser.add_argument("--formats", default="csv,parquet", help="csv, parquet, csv:parquet, ...")
    parser.add_argument("--algorithm", default="mondrian")
    parser.add_argument("--k", default="10")
    parser.add_argument("--folder", help="where the tables are kept; a temporary one unless given")
    parser.add_argument("--json", help="also write the numbers to this file")
    if sys.argv[1:2] == ["--child"]:
        _run_command(sys.argv[3:], Path(sys.argv[2]))
    options = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(options.folder or temporary)
        for n_rows in map(int, options.rows.split(",")):
            for form in options.formats.split(","):
                source, _, target = form.partition(":")
                result = measure(n_rows, source, target or source, folder, options)
                show(result)
                results.append(result)
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def measure(n_rows: int, source: str, target: str, folder: Path, options: Any) -> dict[str, Any]:
    """Return what one run from a file to a file took, by stage."""
    table = census_file(n_rows, source, folder)
    release = folder / f"release.{target}"
    log = folder / "stages.json"
    arguments = ["anonymize", str(table), "--replace", "-o", str(release), "--k", options.k]
    arguments += [*roles(), "--algorithm", options.algorithm, "--seed", "1"]
    command = [sys.executable, "-m", "benchmarks.scale.memory", "--child", str(log), *arguments]
    began = time.time()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    samples = list(watch(child))
    seconds = time.time() - began
    if child.returncode:
        sys.exit(f"the command failed with status {child.returncode}")
    marks = [(began, "starting"), *json.loads(log.read_text(encoding="utf-8"))]
    stages: dict[str, dict[str, float]] = {}
    for number, (at, name) in enumerate(marks):
        end = marks[number + 1][0] if number + 1 < len(marks) else began + seconds
        stage = stages.setdefault(name, {"seconds": 0.0, "peak": 0.0})
        stage["seconds"] += end - at
        inside = [rss for when, rss in samples if at <= when <= end]
        stage["peak"] = max([stage["peak"], *inside])
    return {
        "rows": n_rows,
        "from": source,
        "to": target,
        "algorithm": options.algorithm,
        "seconds": seconds,
        "peak": max(rss for _, rss in samples),
        "input_bytes": table.stat().st_size,
        "output_bytes": release.stat().st_size,
        "stages": stages,
    }


def census_file(n_rows: int, form: str, folder: Path) -> Path:
    """Return a file of the synthetic census; made in blocks, by a process of its own."""
    path = folder / f"census_{n_rows}.{form}"
    if not path.exists():
        script = "from benchmarks.scale.memory import write_census; import sys; write_census("
        script += f"{n_rows}, {str(path)!r})"
        subprocess.run([sys.executable, "-c", script], check=True)
    return path


def write_census(n_rows: int, path: str) -> None:
    """Write the census in the format of the path's ending."""
    from shoal.datasets import make_census

    frame = make_census(n_rows, seed=1)
    temporary = path + ".part"
    if path.endswith(".parquet"):
        frame.write_parquet(temporary)
    else:
        frame.write_csv(temporary)
    Path(temporary).rename(path)


def roles() -> list[str]:
    """Return the flags for eight quasi-identifiers, salary sensitive, the rest dropped."""
    from shoal.datasets import ADULT_COLUMNS, ADULT_QUASI_IDENTIFIERS

    kept = [*ADULT_QUASI_IDENTIFIERS, "salary"]
    dropped = [name for name in ADULT_COLUMNS if name not in kept]
    quasi = ",".join(ADULT_QUASI_IDENTIFIERS)
    return ["--qi", quasi, "--sensitive", "salary", "--drop", ",".join(dropped)]


def watch(child: subprocess.Popen[bytes]) -> Iterator[tuple[float, float]]:
    """Give time and resident memory (MB) of a process until it ends."""
    page = os.sysconf("SC_PAGE_SIZE")
    statm = Path(f"/proc/{child.pid}/statm")
    while child.poll() is None:
        try:
            pages = int(statm.read_text(encoding="ascii").split()[1])
        except (OSError, IndexError):
            break
        yield time.time(), pages * page / 1e6
        time.sleep(SAMPLE_SECONDS)
    child.wait()


def show(result: dict[str, Any]) -> None:
    """Print one run."""
    form = f"{result['from']} to {result['to']}"
    print(f"\n{result['rows']:,} rows, {form}, {result['algorithm']}")
    for name, stage in result["stages"].items():
        print(f"  {name:<14}{stage['seconds']:8.2f} s {stage['peak']:9,.0f} MB")
    print(f"  {'in all':<14}{result['seconds']:8.2f} s {result['peak']:9,.0f} MB")


def _run_command(arguments: list[str], log: Path) -> None:
    """Run the command line in this process and note when each stage begins."""
    import shoal.runtime.progress
    from shoal.cli.program import run

    marks: list[tuple[float, str]] = [(time.time(), "reading")]

    def report(done: int, total: int, what: str) -> None:
        del done, total
        if what != marks[-1][1]:
            marks.append((time.time(), what))

    @contextmanager
    def noting(*, quiet: bool = False) -> Iterator[Any]:
        del quiet
        yield report
        marks.append((time.time(), "writing"))

    shoal.runtime.progress.showing_progress = noting
    status = run(arguments)
    log.write_text(json.dumps(marks), encoding="utf-8")
    sys.exit(status)


if __name__ == "__main__":
    main()
