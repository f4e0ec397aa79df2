"""Everything about size, one command: python -m benchmarks.scale [--quick] [--only files,adult].

Keeps benchmarks/scale/results/scale.json.gz after every part (so that an interrupted run keeps what
it has), then writes docs/results/scale.md and its plots; a quick run writes to build/scale-quick
instead. Parts: files, adult, wide, threads, growth. Growth keeps each run in growth.json.gz beside
it and goes on where it was; delete that file to measure anew.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import shoal
from benchmarks.common import RESULTS, ROOT, load_json, machine, raw_results, save_json
from benchmarks.kept import Keep
from benchmarks.scale import adult, growth, page, wide
from benchmarks.scale.files import file_to_file
from shoal.registry import load

PARTS = ("files", "adult", "wide", "threads", "growth")
WHOLE_K_MEMBER = ("--algorithm", "k-member", "--block-rows", "100000000")


def main() -> None:
    """Measure the parts asked for and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small tables, to try the script")
    parser.add_argument("--only", default=",".join(PARTS), help="comma-separated parts")
    parser.add_argument("--cap", type=float, default=600, help="CPU seconds per run of growth")
    parser.add_argument("--algorithms", help="of growth, comma-separated; all unless given")
    parser.add_argument("--modes", default=",".join(growth.MODES), help="of growth")
    parser.add_argument("--minutes", type=float, default=180, help="no new run after this long")
    parser.add_argument("--largest", type=int, default=10_000_000, help="rows of the largest file")
    parser.add_argument("--folder", help="where tables are kept; a temporary one unless given")
    options = parser.parse_args()
    deadline = time.time() + 60 * options.minutes
    aside = ROOT / "build" / "scale-quick"
    kept, pages = (aside, aside) if options.quick else (raw_results("scale"), RESULTS)
    path = kept / "scale.json.gz"
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(options.folder or temporary)
        for part in options.only.split(","):
            load = os.getloadavg()[0]  # what else kept the cores busy before the part began
            found = measure(part, options, folder, deadline, kept)
            # read again for every part: another run may have added one of its own
            content: dict[str, Any] = load_json(path) or {}
            content["machine"] = machine()
            content[part] = found
            content.setdefault("load", {})[part] = load
            content.setdefault("commit", {})[part] = content["machine"]["commit"]
            save_json(path, content)
            page.write(load_json(path), pages)


def measure(
    part: str, options: argparse.Namespace, folder: Path, deadline: float, kept: Path
) -> Any:
    """Return the results of one part."""
    quick = options.quick
    if part == "files":
        million = 20_000 if quick else 1_000_000
        wanted: list[tuple[int, str, float, tuple[str, ...]]] = [
            (million, "parquet", 300, ()),
            (million, "csv", 300, ()),
            (million, "parquet", 300, WHOLE_K_MEMBER),
        ]
        if not quick and options.largest > million:
            wanted.append((options.largest, "parquet", 600, ()))
        for more in ((), WHOLE_K_MEMBER):  # compile
            file_to_file(20_000, "parquet", folder, 300, more)
        found = []
        for rows, form, limit, more in wanted:
            if time.time() > deadline:
                error = {"seconds": 0.0, "cpu": 0.0, "peak_mb": 0.0, "error": "no time left"}
                found.append({"rows": rows, "format": form, "options": " ".join(more), **error})
                continue
            found.append(file_to_file(rows, form, folder, limit, more))
            print(found[-1], flush=True)
        return found
    if part == "adult":
        n_rows = 5_000 if quick else 45_222
        found_ratios = adult.ratios(n_rows)
        print(found_ratios, flush=True)
        return {"ratios": found_ratios, "quality": adult.quality(n_rows)}
    if part == "wide":
        return wide.widths(20_000 if quick else 300_000)
    if part == "threads":
        return growth.threads(20_000 if quick else 200_000)
    sizes = growth.QUICK_SIZES if quick else growth.SIZES
    names = [name for name in shoal.algorithms() if load("algorithms", name).works_in_blocks]
    if options.algorithms:
        names = options.algorithms.split(",")
    cap = min(options.cap, 20) if quick else options.cap
    keep = Keep(kept / "growth.json.gz", quick=quick)
    rows = growth.growth(names, options.modes.split(","), list(sizes), cap, keep)
    return {
        "cap": cap,
        "sizes": list(sizes),
        "commits": keep.content["commits"],
        "rows": rows,
    }


if __name__ == "__main__":
    main()
