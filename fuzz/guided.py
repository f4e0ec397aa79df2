"""A fuzzer that is guided by coverage, for what parses text by hand: needs the package atheris.

`python -m fuzz.guided --seconds 60` (or `make fuzz-guided`) gives each of the readers below a
minute. Each reader is run in a process of its own, because the fuzzer ends the process it is in.
What makes a reader fail in an unplanned way is saved beside the results and named at the end.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

SAMPLES = {
    "csv": ['age,zip\n31,"a ""b"" c"\n32,\n', "a;b\r\n1;2\r\n", "\ufeffx\ty\n1\t2\n"],
    "jsonl": ['{"a": 1, "b": "x"}\n{"a": null, "b": "y"}\n'],
    "hierarchy": ["a;ab;*\nb;ab;*\n", "1,2-3,*\n2,2-3,*\n", '"x;y";"*"\n'],
    "job": ['k = 3\n[columns.age]\nrole = "quasi-identifier"\nweight = 2.0\n'],
    "explanation": ['{"version": 1, "changes": []}'],
}


def reader(name: str, path: Path) -> Callable[[], object]:
    """Return what is called on the file that the fuzzer has written."""
    import shoal
    from shoal.hierarchy import load_hierarchy
    from shoal.report.advice import read_explanation

    return {
        "csv": lambda: shoal.read_table(path, format="csv"),
        "jsonl": lambda: shoal.read_table(path, format="jsonl"),
        "hierarchy": lambda: load_hierarchy(path),
        "job": lambda: shoal.read_job(path),
        "explanation": lambda: read_explanation(path),
    }[name]


def hunt(name: str, folder: Path, seconds: int, seed: int) -> None:
    """Feed one reader until the time is over; ends the process."""
    import atheris

    warnings.simplefilter("ignore")
    with atheris.instrument_imports(include=["shoal.io", "shoal.hierarchy", "shoal.settings"]):
        path = folder / "input"
        path.write_bytes(b"")
        read = reader(name, path)
    from shoal.errors import ShoalError

    def once(data: bytes) -> None:
        path.write_bytes(data)
        try:
            read()
        except ShoalError as error:
            if "\n" in str(error):
                message = "a message of several lines"
                raise RuntimeError(message) from error

    corpus = folder / f"corpus-{name}"
    corpus.mkdir(exist_ok=True)
    for number, text in enumerate(SAMPLES[name]):
        (corpus / f"sample-{number}").write_text(text, encoding="utf-8", newline="")
    options = [f"-max_total_time={seconds}", f"-seed={seed}", "-max_len=2000", "-timeout=30"]
    options += ["-rss_limit_mb=4096", f"-artifact_prefix={folder}/{name}-", "-print_final_stats=1"]
    atheris.Setup([sys.argv[0], *options, str(corpus)], once)
    atheris.Fuzz()


def main() -> int:
    """Run every reader in a process of its own and count."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.guided", description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="for each reader")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("build/fuzz/guided"))
    parser.add_argument("--only", choices=sorted(SAMPLES), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if importlib.util.find_spec("atheris") is None:
        print("This needs the package atheris: pip install atheris.", file=sys.stderr)
        return 2
    options.out.mkdir(parents=True, exist_ok=True)
    if options.only:
        hunt(options.only, options.out.resolve(), options.seconds, options.seed)
    failed = []
    counts: dict[str, Any] = {}
    for name in SAMPLES:
        words = ["--only", name, "--seconds", str(options.seconds), "--seed", str(options.seed)]
        done = subprocess.run(
            [sys.executable, "-m", "fuzz.guided", *words, "--out", str(options.out)],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        found = re.search(r"stat::number_of_executed_units: +(\d+)", done.stderr)
        counts[name] = int(found.group(1)) if found else None
        print(
            f"{name:<12}{counts[name] or 0:>10,} inputs, exit status {done.returncode}", flush=True
        )
        if done.returncode or not found:
            failed.append(name)
            print(done.stderr[-3000:])
    (options.out / "guided.json").write_text(json.dumps(counts, indent=2) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
