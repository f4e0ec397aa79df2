"""Runs one peer inside the peer's own environment; knows nothing of Shoal.

    python call.py PEER ROWS.csv PUBLISHED.csv

Prints seconds of the call and peak memory as JSON. Writes the published quasi-identifiers with a
column ``count``. Imports are inside the functions: each environment has one of the packages.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

K = 10
SENSITIVE = "salary"
NUMBERS = {"age": (5, 10, 20, 40), "education_num": (2, 4, 8)}


def anonypy(table: str) -> Any:
    import anonypy as package
    import pandas as pd

    frame, names = _categories(pd.read_csv(table))
    yield
    rows = package.Preserver(frame, names, SENSITIVE).anonymize_k_anonymity(K)
    found = pd.DataFrame(rows)[[*names, "count"]]
    for name in names:  # every cell is a list of one text
        found[name] = [cell[0] if isinstance(cell, list) else cell for cell in found[name]]
    yield found


def _anonypyx(table: str, algorithm: str) -> Any:
    import anonypyx as package
    import pandas as pd

    frame, names = _categories(pd.read_csv(table))
    yield
    anonymiser = package.Anonymiser(
        frame,
        k=K,
        algorithm=algorithm,
        feature_columns=names,
        sensitive_column=SENSITIVE,
        generalisation_strategy="human-readable",
    )
    found = pd.DataFrame(anonymiser.anonymise())
    if "count" not in found.columns:
        found["count"] = 1
    yield found[[*names, "count"]]


def anonypyx_mondrian(table: str) -> Any:
    return _anonypyx(table, "Mondrian")


def anonypyx_mdav(table: str) -> Any:
    return _anonypyx(table, "MDAV-generic")


def polarfrost(table: str) -> Any:
    import polars as pl
    from polarfrost.mondrian import mondrian_k_anonymity_polars as mondrian_k_anonymity

    frame = pl.read_csv(table)
    names = [name for name in frame.columns if name != SENSITIVE]
    words = [name for name in names if name not in NUMBERS]
    yield
    found = mondrian_k_anonymity(frame, names, SENSITIVE, K, words)
    if isinstance(found, pl.LazyFrame):
        found = found.collect()
    if "count" not in found.columns:
        found = found.with_columns(count=pl.lit(1))
    yield found.select([*names, "count"])


def anjana(table: str) -> Any:
    """Full-domain generalisation with intervals for numbers, kept-or-suppressed words."""
    import numpy as np
    import pandas as pd
    from anjana.anonymity import k_anonymity

    frame = pd.read_csv(table)
    names = [name for name in frame.columns if name != SENSITIVE]
    levels = {}
    for name in names:
        values = frame[name].to_numpy()
        levels[name] = {0: values}
        for level, width in enumerate(NUMBERS.get(name, ()), 1):
            # the ends of an interval are values that occur, as they are for everyone else
            parts = frame[name].groupby(values // width)
            low, high = parts.transform("min"), parts.transform("max")
            cells = [str(a) if a == b else f"{a}-{b}" for a, b in zip(low, high, strict=True)]
            levels[name][level] = np.array(cells)
        levels[name][len(levels[name])] = np.array(["*"] * len(values))
    yield
    found = k_anonymity(frame, [], names, K, 0, levels)
    yield found.assign(count=1)[[*names, "count"]]


def _categories(frame: Any) -> tuple[Any, list[str]]:
    for name in frame.columns:
        if name not in NUMBERS:
            frame[name] = frame[name].astype("category")
    return frame, [name for name in frame.columns if name != SENSITIVE]


def _peak_mebibytes() -> float:
    """Return the most memory this program held; ru_maxrss would count the one that started it."""
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = [x for x in status.read_text().splitlines() if x.startswith("VmHWM")]
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    peer, table, target = sys.argv[1:]
    steps = globals()[peer](table)
    next(steps)  # reads the table
    began = time.perf_counter()
    found = next(steps)
    seconds = time.perf_counter() - began
    if hasattr(found, "write_csv"):
        found.write_csv(target)
    else:
        found.to_csv(target, index=False)
    peak = _peak_mebibytes()
    print(json.dumps({"seconds": seconds, "peak_mib": peak}))


if __name__ == "__main__":
    main()
