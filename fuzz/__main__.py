"""`python -m fuzz`: hunt for leaks, crashes and broken promises; exit status 1 if there is one."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from fuzz.campaign import (
    PARTS,
    Tally,
    as_table,
    commit,
    limit_memory,
    run_campaign,
    run_one,
    save,
    serve,
)
from fuzz.parts import FAILURES


def main() -> int:
    """Read the command line and do what it says."""
    options = _parser().parse_args()
    if options.helper is not None:
        serve(options.helper)
        return 0
    if options.replay:
        return _replay(options.replay)
    names = options.parts.split(",") if options.parts else list(PARTS)
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        print(f"There is no part {unknown[0]!r}; there are {', '.join(PARTS)}.", file=sys.stderr)
        return 2
    minutes = options.minutes if options.inputs is None else None
    print(f"Seed {options.seed}, parts {', '.join(names)}.", flush=True)
    began = time.monotonic()
    settings = {
        "seed": options.seed,
        "minutes": minutes,
        "asked_inputs": options.inputs,
        "processes": options.processes,
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "commit": commit(),
    }

    def tell(tally: Tally) -> None:
        print(f"{tally.inputs:,} inputs, {len(tally.failures)} failures", flush=True)
        save(tally, options.out, settings | {"seconds": round(time.monotonic() - began)})

    tally = run_campaign(
        seed=options.seed,
        minutes=minutes,
        inputs=options.inputs,
        processes=options.processes,
        names=names,
        tell=tell,
    )
    seconds = time.monotonic() - began
    save(tally, options.out, settings | {"seconds": round(seconds)})
    print(as_table(tally, seconds))
    for failure in tally.failures[:20]:
        print(f"\n{failure['verdict']}: python -m fuzz --replay {failure['seed']}")
        print("  " + "\n  ".join(text[:600] for text in failure["detail"][:3]))
    print(f"\nCounts and failing inputs are in {options.out}.")
    if options.store:
        from fuzz.page import main as store

        store([str(options.out / "summary.json")])
    return 1 if tally.failures else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5, help="how long (5 unless given)")
    parser.add_argument("--inputs", type=int, help="how many inputs, instead of how long")
    parser.add_argument("--seed", type=int, default=1, help="of the whole campaign")
    parser.add_argument("--parts", help=f"some of {','.join(PARTS)}")
    parser.add_argument(
        "--processes", type=int, default=os.cpu_count() or 1, help="how many run side by side"
    )
    parser.add_argument("--out", type=Path, default=Path("build/fuzz"), help="folder of results")
    parser.add_argument(
        "--store", action="store_true", help="keep the counts in fuzz/results and draw the page"
    )
    parser.add_argument("--replay", metavar="SEED", help="run one input again, as releases:1:42")
    parser.add_argument("--helper", type=int, help=argparse.SUPPRESS)
    return parser


def _replay(seed: str) -> int:
    folder = Path("build/fuzz") / seed.replace(":", "-")
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        if path.is_file():
            path.unlink()
    limit_memory()
    outcome = run_one(seed, folder.resolve())
    print(outcome.verdict, outcome.note)
    print("\n".join(outcome.detail))
    print(f"Its files are in {folder}.")
    return 1 if outcome.verdict in FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())
