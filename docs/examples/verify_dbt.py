"""Verify every model of a dbt project that says what it promises.

    python verify_dbt.py target/manifest.json postgresql://host/warehouse

A model says it in its ``meta``::

    meta: {shoal: {k: 10, quasi_identifiers: [age, zip], sensitive: [diagnosis]}}

Exit status 0 if all of them hold, else the worst status of ``shoal verify``: 1 or 2.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def promises_of(manifest: dict) -> dict[str, dict]:
    """Return what each model promises, by its table."""
    return {
        node.get("alias") or node["name"]: promised
        for node in manifest["nodes"].values()
        if (promised := node.get("config", {}).get("meta", node.get("meta", {})).get("shoal"))
    }


def verify(table: str, promised: dict) -> int:
    """Return the exit status of ``shoal verify`` for one table."""
    words = [sys.executable, "-m", "shoal", "verify", table, "--k", str(promised["k"])]
    words += ["--qi", ",".join(promised["quasi_identifiers"])]
    if promised.get("sensitive"):
        words += ["--sensitive", ",".join(promised["sensitive"])]
    return subprocess.run(words, check=False).returncode


def main(manifest: str, database: str) -> int:
    """Verify all models, and return the worst status."""
    known = promises_of(json.loads(Path(manifest).read_text(encoding="utf-8")))
    return max((verify(f"{database}?table={t}", each) for t, each in known.items()), default=0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
