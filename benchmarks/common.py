"""What all benchmarks share: Adult as the papers use it, one timed run, the machine's name card."""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import shoal
from shoal.datasets import ADULT_QUASI_IDENTIFIERS, adult_hierarchies

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "results"


def machine() -> dict[str, Any]:
    """Return what a reader needs to judge a time: versions, cores, commit."""
    import numba
    import numpy as np
    import polars as pl

    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],  # noqa: S607 - whichever git is at hand
        cwd=ROOT,  # wherever a benchmark is started
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    return {
        "commit": commit,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "polars": pl.__version__,
        "cores": os.cpu_count(),
        "processor": platform.machine(),
    }


def peak_mebibytes() -> float:
    """Return the most memory this process ever held, in MiB."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20


def eight(frame: Any, *, taxonomies: bool = False) -> dict[str, Any]:
    """Return the roles of Byun's and Lin's setting: eight quasi-identifiers, salary sensitive."""
    trees = adult_hierarchies()
    categorical = [c for c in ADULT_QUASI_IDENTIFIERS if c in trees and c != "age"]
    return {
        "quasi_identifiers": list(ADULT_QUASI_IDENTIFIERS),
        "sensitive": ["salary"],
        "drop": [c for c in frame.columns if c not in (*ADULT_QUASI_IDENTIFIERS, "salary")],
        "hierarchies": {c: trees[c] for c in categorical} if taxonomies else {},
    }


def fourteen(frame: Any) -> dict[str, Any]:
    """Return Goldberger and Tassa's setting: 14 public columns, kept or suppressed."""
    public = [c for c in frame.columns if c != "salary"]
    return {
        "quasi_identifiers": public,
        "sensitive": ["salary"],
        "kinds": dict.fromkeys(public, "flat"),
    }


def cpu_timed(frame: Any, k: int, roles: dict[str, Any], **options: Any) -> tuple[Any, float]:
    """Return a release and the CPU seconds of all threads: other programs matter little."""
    began = time.process_time()
    release = shoal.anonymize(frame, k, **roles, **options)
    return release, time.process_time() - began


def timed(frame: Any, k: int, roles: dict[str, Any], **options: Any) -> tuple[Any, float]:
    """Return a release and the seconds it took, reading and compiling left out."""
    began = time.perf_counter()
    release = shoal.anonymize(frame, k, **roles, **options)
    return release, time.perf_counter() - began


def raw_results(benchmark: str) -> Path:
    """Return the folder in which a benchmark keeps its numbers; its page is in docs/results."""
    return ROOT / "benchmarks" / benchmark / "results"


def save_json(path: Path, content: Any) -> None:
    """Write numbers, compressed; the same content has the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(content, indent=1) + "\n"
    beside = path.with_name(path.name + ".part")
    beside.write_bytes(gzip.compress(text.encode(), mtime=0))
    beside.replace(path)


def load_json(path: Path) -> Any | None:
    """Return what was saved, None if nothing was."""
    return json.loads(gzip.decompress(path.read_bytes())) if path.exists() else None


def run_benchmark(
    name: str,
    about: str | None,
    measure: Callable[..., dict[str, Any]],
    page: Callable[[dict[str, Any]], str],
    **options: tuple[int, str],
) -> dict[str, Any]:
    """Measure, store the numbers and write the page; return the numbers.

    Args:
        name: of the benchmark's folder and of its page.
        about: what ``--help`` says.
        measure: takes the options in their order.
        page: makes the page of the numbers.
        options: whole numbers of the command line, each with its default and its help.
    """
    parser = argparse.ArgumentParser(description=about)
    for option, (default, help_text) in options.items():
        parser.add_argument(f"--{option}", type=int, default=default, help=help_text)
    content = measure(*vars(parser.parse_args()).values())
    save_json(raw_results(name) / f"{name}.json.gz", content)
    (RESULTS / f"{name}.md").write_text(page(content), encoding="utf-8")
    return content
