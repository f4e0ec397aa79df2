"""File to file by the command line, as users run it: seconds and peak memory of the process."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from benchmarks.scale.memory import census_file, roles, watch

if TYPE_CHECKING:
    from pathlib import Path


def file_to_file(
    n_rows: int,
    form: str,
    folder: Path,
    limit: float,
    more: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Run ``shoal anonymize`` on a census file with k = 10; ended after ``limit`` seconds."""
    table = census_file(n_rows, form, folder)
    release = folder / f"release.{form}"
    release.unlink(missing_ok=True)
    command = [sys.executable, "-m", "shoal", "anonymize", str(table), "-o", str(release)]
    command += ["--k", "10", "--seed", "1", *roles(), *more]
    log = folder / "output.txt"
    began, used = time.time(), _children_cpu()
    peak, late = 0.0, False
    with log.open("wb") as output:
        child = subprocess.Popen(command, stdout=output, stderr=output)
        for when, rss in watch(child):
            peak = max(peak, rss)
            if when - began > limit and not late:
                late = True
                child.kill()
    result = {
        "rows": n_rows,
        "format": form,
        "options": " ".join(more),
        "limit": limit,
        "seconds": time.time() - began,
        "cpu": _children_cpu() - used,
        "peak_mb": peak,
    }
    if late:
        result["error"] = f"ended after {limit:.0f} s"
    elif child.returncode:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        result["error"] = lines[-1] if lines else f"status {child.returncode}"
    return result


def _children_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
