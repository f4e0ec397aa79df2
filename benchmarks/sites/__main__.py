"""One release of rows that several sites hold, against the pooled release and each site alone.

Run: python -m benchmarks.sites [--only NAME]
Each site and the coordinator are processes of their own, which speak TLS on this machine. Adult
with eight quasi-identifiers, hierarchies and k = 10; and 3 × 100,000 generated rows. Writes
benchmarks/sites/results/ and docs/results/sites.md.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

import shoal
from benchmarks.common import RESULTS, eight
from benchmarks.draw.tables import titled
from benchmarks.kept import Keep
from shoal.datasets import load_adult
from shoal.sites.keys import make_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shoal.hierarchy import Taxonomy

K = 10
RANGES = {"age": (17, 90), "education_num": (1, 16)}
NUMBERS = tuple(RANGES)
FILE = Path(__file__).parent / "results" / "sites.json.gz"
SPLITS = {
    "2 sites, by chance": "chance-2",
    "3 sites, by chance": "chance-3",
    "5 sites, by chance": "chance-5",
    "3 unequal sites, by age": "age",
    "3 unequal sites, by country": "country",
}


def adult() -> tuple[pl.DataFrame, Mapping[str, Taxonomy]]:
    """Return the rows of Adult without missing cells, and the hierarchies of text columns."""
    frame = load_adult()
    roles = eight(frame, taxonomies=True)
    trees = {name: tree for name, tree in roles["hierarchies"].items() if name not in RANGES}
    return frame.select([*roles["quasi_identifiers"], "salary"]), trees


def part(frame: pl.DataFrame, how: str) -> list[pl.DataFrame]:
    """Return the rows of each site."""
    kind, _, n = how.partition("-")
    if kind == "chance":
        site = np.random.default_rng(7).integers(0, int(n), frame.height)
    elif kind == "age":
        site = np.digitize(frame.get_column("age").to_numpy(), [30, 60])
    else:
        country = frame.get_column("native_country")
        site = np.select([country == "United-States", country == "Mexico"], [0, 1], 2)
    return [frame.filter(pl.Series(site == each)) for each in np.unique(site)]


def loss(frame: pl.DataFrame, trees: Mapping[str, Taxonomy]) -> float:
    """Return the NCP of published cells, by reading each."""
    total = 0.0
    for name, (low, high) in RANGES.items():
        cells = frame.get_column(name).cast(pl.String).to_list()
        ends = [cell.strip("[]").split("-") for cell in cells]
        total += sum((int(each[-1]) - int(each[0])) / (high - low) for each in ends)
    for name, tree in trees.items():
        cost = {
            label: height / tree.tree_height
            for label, height in zip(tree.labels, tree.height.tolist(), strict=True)
        }
        total += sum(cost[cell] for cell in frame.get_column(name).to_list())
    return total / frame.height / (len(RANGES) + len(trees))


def anonymized(frame: pl.DataFrame, trees: Mapping[str, Taxonomy]) -> pl.DataFrame:
    """Return the release of rows at one place."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", shoal.ShoalWarning)
        release = shoal.anonymize(
            frame,
            K,
            quasi_identifiers=[name for name in frame.columns if name != "salary"],
            sensitive="salary",
            hierarchies=trees,
            kinds=dict.fromkeys(NUMBERS, "numeric"),
            seed=7,
        )
    found: pl.DataFrame = release.frame
    return found


def job(folder: Path, names: list[str], trees: Mapping[str, Taxonomy], salaries: list[str]) -> Path:
    """Write keys, hierarchies and the job of a run."""
    prints = {name: make_key(name, folder)[2] for name in [*names, "coordinator"]}
    for name, tree in trees.items():
        tree.to_csv(folder / f"{name}.tree.csv")
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
    lines = [f"k = {K}"]
    for name in [*RANGES, *trees]:
        lines += [f"[columns.{name}]", 'role = "quasi-identifier"']
        lines += [f'hierarchy = "{name}.tree.csv"'] if name in trees else []
    lines += ["[columns.salary]", 'role = "sensitive"']
    lines += ["[sites]", f'coordinator = "127.0.0.1:{port}"', "[sites.ranges]"]
    lines += [f"{name} = {list(ends)}" for name, ends in RANGES.items()]
    lines += ["[sites.values]", f"salary = {json.dumps(salaries)}", "[sites.fingerprints]"]
    lines += [f'{name} = "{each}"' for name, each in prints.items()]
    path = folder / "job.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    assert tomllib.loads(path.read_text(encoding="utf-8"))
    return path


def run_sites(parts: list[pl.DataFrame], trees: Mapping[str, Taxonomy]) -> dict[str, Any]:
    """Run all parties as processes; return what it took, and the loss of the union."""
    names = [f"site{number}" for number in range(1, len(parts) + 1)]
    with tempfile.TemporaryDirectory() as there:
        folder = Path(there)
        salaries = sorted({v for each in parts for v in each.get_column("salary").unique()})
        path = job(folder, names, trees, salaries)
        for name, each in zip(names, parts, strict=True):
            each.write_csv(folder / f"{name}.csv")
        begin, before = time.monotonic(), os.times()
        shoals = [sys.executable, "-m", "shoal", "sites"]
        said = ["--job", str(path), "--patience", "3600"]
        started = [
            subprocess.Popen(
                [*shoals, "run", *said, "--key", str(folder / "coordinator.key")],
                stdout=subprocess.PIPE,
                text=True,
            )
        ]
        for name in names:
            own = ["--table", f"{folder / name}.csv", "--key", f"{folder / name}.key"]
            files = ["-o", f"{folder / name}-safe.csv", "--transcript", f"{folder / name}.jsonl"]
            started.append(subprocess.Popen([*shoals, "serve", *said, *own, *files, "--quiet"]))
        outs = [each.communicate()[0] for each in started]
        assert not any(each.returncode for each in started)
        after = os.times()
        seconds = time.monotonic() - begin
        union = pl.read_csv(folder / f"{names[0]}-safe.csv", infer_schema=False)
        others = [(folder / f"{name}-safe.csv").read_bytes() for name in names]
        assert len(set(others)) == 1
        lines = [
            json.loads(line)
            for line in (folder / f"{names[0]}.jsonl").read_text(encoding="utf-8").splitlines()
        ]
        sent = outs[0].replace(",", "").split()
    groups = union.group_by([n for n in union.columns if n != "salary"]).len().get_column("len")
    assert groups.min() >= K
    return {
        "rows": union.height,
        "groups": len(groups),
        "loss": loss(union, trees),
        "seconds": seconds,
        "cpu": (after.children_user + after.children_system)
        - (before.children_user + before.children_system),
        "messages": int(sent[sent.index("messages") - 1]),
        "bytes_from_sites": int(sent[sent.index("bytes") - 1]),
        "bytes_to_a_site": sum(each.get("bytes", 0) for each in lines if "by" in each),
        "rounds": sum(each["kind"] == "ask" for each in lines),
        "mebibytes": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024,
    }


def measure(how: str) -> dict[str, Any]:
    """Return the loss of a split of Adult: together, pooled, and each site alone."""
    frame, trees = adult()
    parts = part(frame, how)
    found = run_sites(parts, trees)
    pooled = loss(anonymized(frame, trees), trees)
    alone = [loss(anonymized(each, trees), trees) for each in parts]
    sizes = [each.height for each in parts]
    return {
        **found,
        "sizes": sizes,
        "pooled": pooled,
        "alone": float(np.average(alone, weights=sizes)),
        "each_alone": alone,
    }


def large() -> dict[str, Any]:
    """Return what 3 × 100,000 rows take: Adult's rows, drawn anew with noise on age."""
    frame, trees = adult()
    rng = np.random.default_rng(7)
    rows = frame[rng.integers(0, frame.height, 300_000)]
    age = np.clip(rows.get_column("age").to_numpy() + rng.integers(-3, 4, rows.height), 17, 90)
    rows = rows.with_columns(age=pl.Series(age))
    parts = [rows[begin : begin + 100_000] for begin in range(0, 300_000, 100_000)]
    return {**run_sites(parts, trees), "sizes": [100_000] * 3}


def page(content: dict[str, Any]) -> str:
    """Return the page of the results."""
    runs = content["runs"]
    titles = {how: title for title, how in SPLITS.items()}
    rows = [
        [
            titles[how],
            " + ".join(f"{n:,}" for n in run["sizes"]),
            f"{run['loss']:.4f}",
            f"{run['pooled']:.4f}",
            f"{run['loss'] / run['pooled'] - 1:+.0%}",
            f"{run['alone']:.4f}",
            f"{run['groups']:,}",
        ]
        for how, run in runs.items()
        if how in titles
    ]
    lines = [
        "# Several sites",
        "",
        (
            "What [`shoal sites`](../sites.md) loses and takes. Adult (45,222 rows, eight "
            "quasi-identifiers, hierarchies as in the other benchmarks), k = 10, each site and the "
            "coordinator a process of its own, TLS on one machine. Loss is `ncp`, from 0 to 1, "
            "read from the published cells. *Pooled* is `shoal.anonymize` of all rows in one "
            "place, *alone* the mean over rows where each site anonymizes its own."
        ),
        *titled(
            "Loss",
            ["sites", "rows", "together", "pooled", "beside pooled", "alone", "groups"],
            rows,
        ),
        "",
        (
            "The goals were at most 10 % above pooled for three sites by chance and 20 % for three "
            "unequal ones. The second is kept, where sites differ in age or country: a site that "
            "holds most of a region refines it by its own search. The first is **not** kept. Two "
            "things cost it. Groups of several sites are boxes that lie apart, made by cuts, where "
            "the search over pooled rows lets groups overlap; the cuts are those that somebody who "
            "sees all rows would make, so it is not the secrecy. And to let groups overlap, a site "
            "would have to know how far the others' rows reach inside a group, which is what "
            "must not be told. Three sites alone lose as much as together; with five sites, "
            "together is better, and a group of few patients per site is possible only together."
        ),
        *titled(
            "What a run takes",
            ["sites", "messages", "MB from all sites", "MB to one", "rounds", "CPU s", "s"],
            [
                [
                    titles.get(how, "3 sites of 100,000 rows"),
                    f"{run['messages']:,}",
                    f"{run['bytes_from_sites'] / 1e6:.1f}",
                    f"{run['bytes_to_a_site'] / 1e6:.1f}",
                    f"{run['rounds']:,}",
                    f"{run['cpu']:.0f}",
                    f"{run['seconds']:.0f}",
                ]
                for how, run in runs.items()
            ],
        ),
        "",
        (
            "Messages and bytes are what the coordinator got from all sites, relayed messages "
            "between sites among them, and what one site got. CPU seconds are those of all "
            "processes, starting them included; seconds are by the clock of a machine of two cores "
            "that was busy with other work, so they are upper bounds."
        ),
        "",
        (
            f"Commit {content['machine']['commit']}. Again: `python -m benchmarks.sites`; the loss "
            "of one run differs from another's in the rows that sites refine alone."
        ),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="a part of the name of the runs to make")
    only = parser.parse_args().only
    keep = Keep(FILE, quick=False)
    for how in SPLITS.values():
        if only in how:
            keep(how, lambda how=how: measure(how))
    if only in "large":
        keep("large", large)
    (RESULTS / "sites.md").write_text(page(keep.content), encoding="utf-8")


if __name__ == "__main__":
    main()
