"""What all benchmarks share: Adult as the papers use it, one timed run, the machine's name card."""

from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import shoal
from shoal.datasets import ADULT_QUASI_IDENTIFIERS, adult_hierarchies, load_adult, make_census

RESULTS = Path(__file__).parent.parent / "docs" / "results"


def machine() -> dict[str, Any]:
    """Return what a reader needs to judge a time: versions, cores, commit."""
    import numba
    import numpy as np
    import polars as pl

    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],  # noqa: S607 - whichever git is at hand
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


def timed(frame: Any, k: int, roles: dict[str, Any], **options: Any) -> tuple[Any, float]:
    """Return a release and the seconds it took, reading and compiling left out."""
    began = time.perf_counter()
    release = shoal.anonymize(frame, k, **roles, **options)
    return release, time.perf_counter() - began


def write_json(name: str, content: Any) -> Path:
    """Write results with the machine they were measured on."""
    path = RESULTS / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"machine": machine(), **content}, indent=1) + "\n")
    return path


__all__ = [
    "RESULTS",
    "eight",
    "fourteen",
    "load_adult",
    "machine",
    "make_census",
    "peak_mebibytes",
    "timed",
    "write_json",
]
