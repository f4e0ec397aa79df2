"""The papers, reproduced.

Run: python -m benchmarks.papers [part ...] [--quick] [--fresh] [--out FOLDER]
Parts: byun, li, lin, goldberger-tassa, utility, conjecture, cross; all if none is named.
Keeps every single run at once in benchmarks/papers/results/<part>.json.gz (a stopped benchmark goes
on where it was; --fresh starts anew), draws docs/results/papers/*.svg, and after each part writes
docs/results/papers.md of all parts that have results. With --out pages and figures go to FOLDER and
runs to FOLDER/runs; --quick alone means build/papers-quick.
"""

from __future__ import annotations

import argparse
import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.common import RESULTS, ROOT, raw_results
from benchmarks.kept import Keep, stored
from benchmarks.papers import page

if TYPE_CHECKING:
    from types import ModuleType

PARTS = ("byun", "li", "lin", "goldberger-tassa", "utility", "conjecture", "cross")


def part(name: str) -> ModuleType:
    """Return the module of a part."""
    return import_module(f"benchmarks.papers.{name.replace('-', '_')}")


def main() -> None:
    """Measure the parts asked for, draw them and write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(PARTS))
    parser.add_argument("--quick", action="store_true", help="small subsets, to try the scripts")
    parser.add_argument("--fresh", action="store_true", help="forget the runs that are stored")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="where results are written")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"unknown part {', '.join(sorted(unknown))}; known: {', '.join(PARTS)}")
    aside: Path | None = options.out or (ROOT / "build" / "papers-quick" if options.quick else None)
    out = aside or RESULTS
    runs = aside / "runs" if aside else raw_results("papers")
    for name in options.parts or PARTS:
        measure(name, runs, out / "papers", quick=options.quick, fresh=options.fresh)
        write_papers(runs, out, figures=False)
        print("written to", out / "papers.md", flush=True)


def write_papers(runs: Path, out: Path, *, figures: bool) -> None:
    """Write the page of all parts that have results; draw their figures, too, if asked."""
    contents = {name: stored(runs / f"{name}.json.gz") for name in PARTS}
    parts = {name: (part(name), found) for name, found in contents.items() if found}
    for module, content in parts.values() if figures else ():
        module.draw(content["results"], out / "papers")
    page.write(out / "papers.md", parts, [name for name in PARTS if name not in parts])


def measure(name: str, runs: Path, folder: Path, *, quick: bool, fresh: bool) -> None:
    """Measure one part, keep its results and draw its figures."""
    module = part(name)
    print(module.TITLE, flush=True)
    began = time.perf_counter()
    keep = Keep(runs / f"{name}.json.gz", quick=quick, fresh=fresh)
    keep.finish(module.measure(keep, quick=quick))
    content = stored(keep.path)
    assert content is not None
    drawn = module.draw(content["results"], folder)
    print(f"  {len(drawn)} figures; {time.perf_counter() - began:.0f} s in all", flush=True)


if __name__ == "__main__":
    main()
