"""Peers beside Shoal: python -m benchmarks.peers [--rows 5000,30162] [--limit 300] [--folder F].

Installs each peer from the package index into an environment of its own, runs it on the training
part of Adult (eight quasi-identifiers, k = 10), and scores what it publishes with Shoal's own
reader of published tables. Writes benchmarks/peers/results/ and docs/results/peers.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from typing import Any

import narwhals as nw
import polars as pl

from benchmarks.common import (
    RESULTS,
    load_json,
    machine,
    peak_mebibytes,
    raw_results,
    save_json,
    timed,
)
from benchmarks.draw.tables import table
from shoal.datasets import ADULT_QUASI_IDENTIFIERS, load_adult
from shoal.report.scoring import score_published
from shoal.table.infer import infer_kinds
from shoal.table.schema import build_schema

NAMES = list(ADULT_QUASI_IDENTIFIERS)
NUMBERS = ("age", "education_num")
PEERS = {
    "anonypyx_mondrian": ("anonypyx", "anonypyx, Mondrian"),
    "anonypyx_mdav": ("anonypyx", "anonypyx, MDAV"),
    "anonypy": ("anonypy", "anonypy, Mondrian"),
    "polarfrost": ("polarfrost", "polarfrost, Mondrian"),
    "anjana": ("anjana", "anjana, full-domain with intervals"),
}
ALSO = {
    "anonypyx": ("pandas<3",),  # MDAV writes floats into integer columns, an error since pandas 3
    "anonypy": ("pandas<3",),  # does not declare that it needs pandas
    "polarfrost": ("pyspark",),  # does not declare that it cannot be imported without it
}
OURS: dict[str, dict[str, Any]] = {
    "Shoal, Mondrian": {"algorithm": "mondrian"},
    "Shoal, Mondrian with the cheapest cuts": {
        "algorithm": "mondrian",
        "algorithm_options": {"cuts": "cheapest"},
    },
    "Shoal, k-member": {"algorithm": "k-member"},
    "Shoal, default": {},
}


def main() -> None:
    """Run every peer and Shoal at every size and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="5000,30162", help="comma-separated")
    parser.add_argument("--limit", type=float, default=300, help="seconds a peer may take")
    parser.add_argument("--folder", help="where environments are kept; temporary unless given")
    parser.add_argument("--only", help="these peers alone; what was measured before is kept")
    parser.add_argument("--minutes", type=float, default=120, help="no new run after this long")
    options = parser.parse_args()
    deadline = time.time() + 60 * options.minutes
    only = options.only.split(",") if options.only else ["shoal", *PEERS]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(options.folder or temporary).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        for n_rows in map(int, options.rows.split(",")):
            frame = load_adult().select([*NAMES, "salary"]).head(n_rows)
            table = folder / f"adult_{n_rows}.csv"
            frame.write_csv(table)
            for label in OURS if "shoal" in only else ():
                keep({"rows": n_rows, "name": label, **shoal_alone(label, n_rows)})
            for peer in only:
                if peer == "shoal":
                    continue
                package, label = PEERS[peer]
                if time.time() > deadline:
                    found: dict[str, Any] = {"error": "not run: no time left"}
                else:
                    found = run_peer(peer, package, table, frame, folder, options.limit)
                keep({"rows": n_rows, "name": label, **found})


def keep(row: dict[str, Any]) -> None:
    """Add a result to those of this and earlier runs and write the page."""
    print(row, flush=True)
    path = raw_results("peers") / "peers.json.gz"
    rows = (load_json(path) or {"results": []})["results"]
    rows = [r for r in rows if (r["rows"], r["name"]) != (row["rows"], row["name"])]
    labels = [*OURS, *(label for _, label in PEERS.values())]
    load = round(os.getloadavg()[0], 1)
    rows = sorted(
        [*rows, {**row, "load": load}], key=lambda r: (r["rows"], labels.index(r["name"]))
    )
    content = {"machine": machine(), "results": rows}
    save_json(path, content)
    (RESULTS / "peers.md").write_text(page(content), encoding="utf-8")


def shoal_alone(label: str, n_rows: int) -> dict[str, Any]:
    """Measure Shoal in a process of its own, as the peers are."""
    command = [sys.executable, "-c", "from benchmarks.peers.__main__ import ours; ours()"]
    done = subprocess.run(
        [*command, label, str(n_rows)], capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def ours() -> None:
    """Print seconds, memory and loss of Shoal, compiling left out (a second on a fresh machine)."""
    label, n_rows = sys.argv[1], int(sys.argv[2])
    frame = load_adult().select([*NAMES, "salary"]).head(n_rows)
    roles = {"quasi_identifiers": NAMES, "sensitive": ["salary"]}
    timed(frame.head(1000), 10, roles, seed=0, **OURS[label])
    release, seconds = timed(frame, 10, roles, seed=0, **OURS[label])
    print(
        json.dumps(
            {"seconds": seconds, "peak_mib": peak_mebibytes(), **score(frame, release.frame)}
        )
    )


def run_peer(
    peer: str, package: str, table: Path, frame: pl.DataFrame, folder: Path, limit: float
) -> dict[str, Any]:
    """Install a peer if it is not there yet, run it, and score its output."""
    python = folder / package / "bin" / "python"
    try:
        if not (folder / package / "ready").exists():
            venv.create(folder / package, with_pip=True)
            command = [str(python), "-m", "pip", "install", "-q", package, *ALSO.get(package, ())]
            subprocess.run(command, check=True, capture_output=True, timeout=600)
            (folder / package / "ready").touch()
        published = folder / f"{peer}.csv"
        script = Path(__file__).with_name("call.py")
        done = subprocess.run(
            [str(python), str(script), peer, str(table), str(published)],
            capture_output=True,
            text=True,
            timeout=limit,
            check=False,
        )
        if done.returncode:
            return {"error": done.stderr.strip().splitlines()[-1][:200]}
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return {**found, **score(frame, in_our_cells(pl.read_csv(published, infer_schema=False)))}
    except subprocess.TimeoutExpired:
        return {"error": f"over {limit:.0f} seconds"}
    except subprocess.CalledProcessError:
        return {"error": "could not be installed"}


def in_our_cells(published: pl.DataFrame) -> pl.DataFrame:
    """Write intervals and sets of a peer as Shoal does, one row per person.

    A set of more than one word counts as suppressed, as it does for Shoal's flat columns.
    """
    rows = published.with_columns(pl.col("count").cast(pl.Float64).cast(pl.Int64))
    rows = rows.select(pl.exclude("count").repeat_by("count").explode())
    interval = [
        pl.when(pl.col(name).str.contains(r"^\d.*-")).then("[" + pl.col(name) + "]")
        .otherwise(pl.col(name)).alias(name)
        for name in NUMBERS
    ]  # fmt: skip
    words = [
        pl.when(pl.col(name).str.contains(",")).then(pl.lit("*"))
        .otherwise(pl.col(name)).alias(name)
        for name in NAMES
        if name not in NUMBERS
    ]  # fmt: skip
    return rows.with_columns(*interval, *words)


def score(frame: pl.DataFrame, published: pl.DataFrame) -> dict[str, Any]:
    """Return the losses of a published table, its rows, and its smallest group."""
    names = frame.select(NAMES)
    schema = infer_kinds(build_schema(NAMES, quasi_identifiers=NAMES), nw.from_native(names))
    scores = score_published(names, published.select(NAMES), schema, measures=["ncp", "lm"])
    smallest = published.group_by(NAMES).len()["len"].min()
    return {
        "ncp": scores["ncp"],
        "lm": scores["lm"],
        "published": published.height,
        "smallest": smallest,
    }


def page(content: dict[str, Any]) -> str:
    """Return the results as a page."""
    card = content["machine"]
    lines = [
        "# Beside other packages",
        "",
        (
            "Training part of Adult, eight quasi-identifiers without hierarchies, k = 10. Every "
            "package runs in a process and an environment of its own; seconds are those of the "
            "call (reading, installing and compiling left out), memory is the peak of the "
            "process. NCP and LM are read by Shoal from the cells that each package publishes; a "
            "set of several words counts as suppressed, for everyone. anjana recodes full columns "
            f"and gets intervals for numbers. {card['cores']} cores, Python {card['python']}, "
            f"commit {card['commit']}. The load is that of the machine after the run: above 1, "
            "other programs shared the cores, and seconds are longer than on an idle machine. "
            "Made by `make bench-peers`."
        ),
        "",
    ]
    heads = ["rows", "package", "seconds", "peak MiB", "NCP", "LM", "rows out", "smallest group"]
    body = []
    for row in content["results"]:
        start = [f"{row['rows']:,}", row["name"]]
        if "error" in row:
            body.append([*start, row["error"], *[""] * 6])
            continue
        cost = [f"{row['seconds']:.2f}", f"{row['peak_mib']:,.0f}"]
        losses = [f"{row['ncp']:.4f}", f"{row['lm']:.4f}"]
        out = [f"{row['published']:,}", row["smallest"], row["load"]]
        body.append([*start, *cost, *losses, *out])
    lines += table([*heads, "load"], body)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
