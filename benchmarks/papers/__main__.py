"""The papers, reproduced.

Run: python -m benchmarks.papers [part ...] [--quick] [--fresh] [--out FOLDER]
Parts: byun, li, lin, goldberger-tassa, utility, cross; all of them if none is named.
Writes FOLDER/papers/<part>.json after every single run (a stopped benchmark goes on where it was;
--fresh starts anew), FOLDER/papers/*.png and *.svg, and FOLDER/papers.md of all parts that have
results. FOLDER is docs/results, with --quick build/papers-quick.
"""

from __future__ import annotations

import argparse
import time
from importlib import import_module
from pathlib import Path
from types import ModuleType

from benchmarks.common import RESULTS
from benchmarks.papers import page
from benchmarks.papers.kept import Keep, stored

PARTS = ("byun", "li", "lin", "goldberger-tassa", "utility", "cross")


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
    usual = RESULTS.parents[1] / "build" / "papers-quick" if options.quick else RESULTS
    out: Path = options.out or usual
    folder = out / "papers"
    folder.mkdir(parents=True, exist_ok=True)
    for name in options.parts or PARTS:
        measure(name, folder, quick=options.quick, fresh=options.fresh)
    contents = {name: stored(folder / f"{name}.json") for name in PARTS}
    parts = {name: (part(name), found) for name, found in contents.items() if found}
    page.write(out / "papers.md", parts, [name for name in PARTS if name not in parts])
    print("written to", out / "papers.md")


def measure(name: str, folder: Path, *, quick: bool, fresh: bool) -> None:
    """Measure one part, keep its results and draw its figures."""
    module = part(name)
    print(module.TITLE, flush=True)
    began = time.perf_counter()
    keep = Keep(folder / f"{name}.json", quick=quick, fresh=fresh)
    keep.finish(module.measure(keep, quick=quick))
    content = stored(keep.path)
    assert content is not None
    drawn = module.draw(content["results"], folder)
    print(f"  {len(drawn)} figures; {time.perf_counter() - began:.0f} s in all", flush=True)


if __name__ == "__main__":
    main()
