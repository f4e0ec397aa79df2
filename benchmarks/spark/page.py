"""docs/results/spark.md, from the numbers that are stored."""

from __future__ import annotations

from statistics import mean
from typing import TYPE_CHECKING, Any

from benchmarks.draw.tables import titled

if TYPE_CHECKING:
    from collections.abc import Iterator

CLUSTER_NODES, CLUSTER_CORES, CLUSTER_ROWS = 100, 16, 10_000_000_000
BLOCK_ROWS = 100_000
MB = 1_000_000
PER_BLOCK = 50
TUPLE = 4 * 8 + 8
"""Bytes of a sampled tuple: eight codes and how many rows have it."""
AIM_ROWS = 50_000_000


def page(content: dict[str, Any]) -> str:
    """Return the page; parts that were not measured are left out."""
    runs, machine = content["runs"], content["machine"]
    lines = [
        "# Spark beside one machine",
        "",
        (
            f"{machine['cores']} cores ({machine['processor']}), Python {machine['python']}, numba "
            f"{machine['numba']}, polars {machine['polars']}. Made by `make bench-spark`; the "
            "numbers are in `benchmarks/spark/results/`. A cluster of two executors with one core "
            "each, all on this machine, k = 10, eight quasi-identifiers, salary sensitive. Every "
            f"run is a process of its own and starts Spark anew. {_made(content)}"
        ),
        "",
        (
            "CPU seconds are those of all processes: Java and Python of driver and executors. The "
            "load says how many programs wanted the two cores when a run ended, its own included."
        ),
    ]
    lines += _loss(runs)
    lines += _same(runs)
    lines += _size(runs)
    lines += _faults(runs)
    lines += _connect(runs)
    lines += _paper(runs)
    return "\n".join(lines) + "\n"


def _made(content: dict[str, Any]) -> str:
    """Return at which commits the runs were made."""
    commits = list(dict.fromkeys(content.get("made", {}).values())) or content["commits"]
    return f"Made at commit {' and '.join(commits)}."


def _loss(runs: dict[str, Any]) -> Iterator[str]:
    pairs = [name.removesuffix(": Spark") for name in runs if name.endswith(": Spark")]
    pairs.sort(key=lambda name: int(runs[f"{name}: Spark"]["rows"]))
    rows = []
    for name in pairs:
        local, spark = runs.get(f"{name}: one machine"), runs[f"{name}: Spark"]
        if local is None:
            continue
        rows.append(
            [
                name,
                f"{local['loss']:.5f}",
                f"{spark['loss']:.5f}",
                f"{spark['loss'] / local['loss'] - 1:+.1%}",
                f"{local['groups']:,}",
                f"{spark['groups']:,}",
            ]
        )
    if not rows:
        return
    yield from (
        "",
        "## Loss",
        "",
        "The same options and the same effort; NCP. Aim: at most 3 % above one machine.",
    )
    heads = ["table", "one machine", "Spark", "difference", "groups, one machine", "groups, Spark"]
    yield from titled("NCP", heads, rows)


def _same(runs: dict[str, Any]) -> Iterator[str]:
    if "same" not in runs:
        return
    first = runs["same"]["as it lies"]
    rows = [
        [name, f"{told[2]:.6f}", "yes" if told[:2] == first[:2] else "no"]
        for name, told in runs["same"].items()
    ]
    yield from (
        "",
        "## The same rows in other partitions",
        "",
        (
            "100,000 rows in blocks of 20,000. Two releases are the same up to order if the sum of "
            "a 64-bit hash of their rows is."
        ),
    )
    yield from titled("One seed, and another", ["table", "NCP", "the same release"], rows)


def _connect(runs: dict[str, Any]) -> Iterator[str]:
    """Return what Spark Connect costs beside a session of the same process, turn by turn."""
    turns = {
        way: [run for name, run in runs.items() if name.startswith(f"{way}, turn ")]
        for way in ("classic", "connect")
    }
    if not all(turns.values()):
        return
    rows = [
        [
            way,
            ", ".join(f"{run['cpu']:.0f}" for run in found),
            f"{mean(run['cpu'] for run in found):.0f}",
            f"{mean(run['cpu of the start'] for run in found):.0f}",
            ", ".join(sorted({f"{run['loss']:.6f}" for run in found})),
        ]
        for way, found in turns.items()
    ]
    ratio = mean(run["cpu"] for run in turns["connect"]) / mean(
        run["cpu"] for run in turns["classic"]
    )
    yield from (
        "",
        "## Through Spark Connect",
        "",
        (
            f"{turns['classic'][0]['rows']:,} rows on two cores of one machine (`local[2]`), in "
            "turns, by a session of the process itself and through a server of Spark Connect that "
            "it starts; effort `fast`, with counting the published rows, without writing. "
            "`make bench-spark ARGS='--only connect'`."
        ),
    )
    heads = ["session", "CPU seconds of each turn", "mean", "of the start", "NCP"]
    yield from titled("CPU seconds", heads, rows)
    yield from ("", f"Connect takes {ratio:.2f} times the CPU seconds of the classic session.")


def _size(runs: dict[str, Any]) -> Iterator[str]:
    found = [(name, run) for name, run in runs.items() if "rows, fast" in name]
    found.sort(key=lambda each: (int(each[1]["rows"]), each[0]))
    if not found:
        return
    rows, memory = [], []
    for name, run in found:
        rows.append(
            [
                name.replace(" rows, fast: ", ", "),
                f"{run['seconds with writing']:,.0f}",
                f"{run['cpu with writing']:,.0f}",
                f"{1e6 * run['cpu with writing'] / run['rows']:,.0f}",
                f"{run['load']:.0f}",
            ]
        )
        if "peaks" in run:
            peaks, told = run["peaks"], run["events"]
            memory.append(
                [
                    f"{run['rows']:,}",
                    " and ".join(f"{each:,}" for each in peaks["executors"]),
                    " and ".join(f"{each:,}" for each in peaks["executors java"]),
                    " and ".join(f"{each:,}" for each in peaks["executors python"]),
                    f"{peaks['driver java']:,} + {peaks['driver python']:,}",
                    f"{told['shuffled'] / run['rows']:.0f}",
                    f"{told['spilled to disk'] / MB:,.0f}",
                    f"{peaks['disk']:,}" if "disk" in peaks else "",
                    f"{told['results'] / MB:,.0f}",
                ]
            )
    yield from (
        "",
        "## Size",
        "",
        (
            'Effort `"fast"`, as a nightly job would use; file to file, everything included: '
            "reading, grouping, verifying, writing, reading back and verifying again. Executors "
            "have a Java heap of 1 GB, and with their Python stay within 2 GB."
        ),
    )
    heads = ["rows", "seconds", "CPU seconds", "CPU µs per row", "load of the machine"]
    yield from titled("Seconds", heads, rows)
    heads = [
        *("rows", "executor MiB, at most", "of that Java", "of that Python", "driver MiB"),
        *("bytes shuffled per row", "MB spilled", "MiB on disk, at most"),
        "MB to the driver",
    ]
    yield from titled("Memory and bytes, on Spark", heads, memory)
    yield from _growth(runs)


def _start(runs: dict[str, Any]) -> float | None:
    """Return the CPU seconds that Spark takes beside the work: those of Adult, a small table."""
    names = ("Adult: Spark", "Adult: one machine")
    if any(name not in runs for name in names):
        return None
    spark, local = (float(runs[name]["cpu with writing"]) for name in names)
    return spark - local


def _elapsed(spark: dict[str, Any], local: dict[str, Any]) -> float:
    return float(spark["seconds with writing"] / local["seconds with writing"])


def _growth(runs: dict[str, Any]) -> Iterator[str]:
    found = {name: run for name, run in runs.items() if "rows, fast" in name}
    largest = max((run["rows"] for run in found.values()), default=0)
    start, spark = _start(runs), found.get(f"{largest:,} rows, fast: Spark")
    local = found.get(f"{largest:,} rows, fast: one machine")
    if start is not None and spark is not None and local is not None:
        row = 1e6 * (spark["cpu with writing"] - start) / largest
        other = 1e6 * local["cpu with writing"] / largest
        yield from (
            "",
            (
                "Starting Spark, compiling its own code and the many small stages cost "
                f"{start:,.0f} CPU seconds: that is what Adult takes on Spark less what it takes "
                f"on one machine. Beside that a row of {largest:,} costs {row:,.0f} µs on Spark "
                f"and {other:,.0f} µs on one machine: {row / other:.1f} times as much. Elapsed "
                f"seconds, start included, are {_elapsed(spark, local):.1f} times those of one "
                "machine. The aim was 2 times."
            ),
        )
    sizes = sorted(run["rows"] for name, run in found.items() if name.endswith(": Spark"))
    if start is not None and len(sizes) > 1:
        few, many = (found[f"{size:,} rows, fast: Spark"] for size in sizes[-2:])
        grown = [
            (many[what] - less) / (few[what] - less)
            for what, less in (("cpu with writing", start), ("seconds with writing", 0.0))
        ]
        yield from (
            "",
            (
                f"From {sizes[-2]:,} to {sizes[-1]:,} rows, {sizes[-1] / sizes[-2]:.0f} times as "
                f"many, CPU seconds beside the start grow {grown[0]:.1f} times and elapsed seconds "
                f"{grown[1]:.1f} times."
            ),
        )
    if largest < AIM_ROWS:
        yield from (
            "",
            (
                f"**{AIM_ROWS:,} rows have not been run**, so it is not shown that they finish and "
                "what a row costs there. `make bench-spark ARGS='--only growth'` does it."
            ),
        )


def _faults(runs: dict[str, Any]) -> Iterator[str]:
    if "faults" not in runs:
        return
    found = {name: run for name, run in runs["faults"].items() if name != "events"}
    first = found["none"]["told"]
    rows = [
        [name, run["killed"], "yes" if run["told"] == first else "no", f"{run['seconds']:.0f}"]
        for name, run in found.items()
    ]
    yield from (
        "",
        "## An executor is killed",
        "",
        (
            "500,000 rows in blocks of 100,000. One of the two executors is ended with SIGKILL a "
            f"second after a stage began. Spark counted {_lost(runs)}."
        ),
    )
    heads = ["during", "executors killed", "the same release", "seconds"]
    yield from titled("Release", heads, rows)


def _lost(runs: dict[str, Any]) -> str:
    told = runs["faults"]["events"]
    return (
        f"{told['executors lost']} executors that were lost and {told['tasks that failed']} tasks "
        "that failed"
    )


def _paper(runs: dict[str, Any]) -> Iterator[str]:
    found = [run for name, run in runs.items() if name.endswith("rows, fast: Spark")]
    start = _start(runs)
    if not found or start is None:
        return
    many = max(found, key=lambda run: int(run["rows"]))
    cpu = (many["cpu with writing"] - start) / many["rows"]
    shuffled = many["events"]["shuffled"] / many["rows"]
    told = many["events"]["results"] / many["rows"]
    tasks = CLUSTER_ROWS // many["rows"] * many["events"]["tasks"]
    cores = CLUSTER_NODES * CLUSTER_CORES
    blocks = CLUSTER_ROWS // BLOCK_ROWS
    yield from (
        "",
        "## On paper: 100 machines, 10 billion rows",
        "",
        (
            f"From the numbers above, for {CLUSTER_NODES} machines of {CLUSTER_CORES} cores; "
            "nobody has run this."
        ),
    )
    total, each = CLUSTER_ROWS * shuffled / 1e12, CLUSTER_ROWS * shuffled / 1e9 / CLUSTER_NODES
    tuples = PER_BLOCK * blocks
    handed = (
        f"{CLUSTER_ROWS * told / 1e9:,.0f} GB over the whole run, from {tasks / 1e6:,.1f} million "
        "tasks"
    )
    held = f"two samples of {tuples / 1e6:,.0f} million tuples, {TUPLE} bytes each"
    grows = "the same: Java fills the heap it is given, and Python needs room for a block"
    minutes = f"{CLUSTER_ROWS * cpu / cores / 60:,.0f} minutes"
    rows = [
        ["CPU", f"{cpu * 1e6:,.0f} µs per row", minutes],
        [
            "shuffle, all stages",
            f"{shuffled:,.0f} bytes per row",
            f"{total:,.1f} TB, {each:,.0f} GB per machine",
        ],
        ["results to the driver", f"{told:,.1f} bytes per row", handed],
        ["of that, held by the driver", "", held],
        ["blocks of 100,000 rows", "", f"{blocks:,}, {blocks / cores:,.0f} per core"],
        ["an executor with one core", f"{max(many['peaks']['executors']):,} MiB", grows],
    ]
    yield from titled("What it needs", ["", "measured", "10 billion rows"], rows)
    yield from (
        "",
        (
            "Rounds over the rows: one to count each column's values, one to encode, two to count "
            "tuples and leaves, one to cluster, one to refine and publish, two to verify, one to "
            "write. The driver holds a sample, the rule and a kilobyte of each region, and hears "
            "of every task: that is the limit that is met first; beyond it give a larger "
            "`block_rows`, which makes blocks and tasks fewer."
        ),
    )
