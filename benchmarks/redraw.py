"""Writes every page and figure of docs/results again, from the numbers that are stored.

Run: python -m benchmarks.redraw [FOLDER]
Nothing is measured. FOLDER is docs/results unless given.
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.again.__main__ import page as again_page
from benchmarks.algorithms.__main__ import page as algorithms_page
from benchmarks.app.__main__ import page as app_page
from benchmarks.audit.__main__ import page as audit_page
from benchmarks.average_risk.__main__ import page as average_risk_page
from benchmarks.beyond.page import write_page
from benchmarks.common import RESULTS, load_json, raw_results
from benchmarks.first_run.__main__ import page as first_run_page
from benchmarks.grid.__main__ import page as grid_page
from benchmarks.init.__main__ import page as init_page
from benchmarks.knows.__main__ import page as knows_page
from benchmarks.means.__main__ import page as means_page
from benchmarks.moves.__main__ import page as moves_page
from benchmarks.optimum.__main__ import page as optimum_page
from benchmarks.papers.__main__ import write_papers
from benchmarks.peers.__main__ import page as peers_page
from benchmarks.person.__main__ import page as person_page
from benchmarks.plain_scan.__main__ import page as plain_scan_page
from benchmarks.scale import page as scale_page
from benchmarks.sites.__main__ import page as sites_page
from benchmarks.spark.page import page as spark_page
from benchmarks.tables.__main__ import page as tables_page
from fuzz.page import page as hunt_page
from fuzz.page import stored as stored_hunts

PAGES = {
    "again": again_page,
    "algorithms": algorithms_page,
    "app": app_page,
    "audit": audit_page,
    "average_risk": average_risk_page,
    "first_run": first_run_page,
    "grid": grid_page,
    "init": init_page,
    "knows": knows_page,
    "means": means_page,
    "moves": moves_page,
    "optimum": optimum_page,
    "peers": peers_page,
    "person": person_page,
    "plain_scan": plain_scan_page,
    "sites": sites_page,
    "spark": spark_page,
    "tables": tables_page,
}
"""What makes the page of a benchmark from its numbers, by the name of both."""


def redraw(folder: Path, *, figures: bool = True) -> None:
    """Write all pages into a folder.

    Args:
        folder: where they go.
        figures: also draw those of the papers, which take longest.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_papers(raw_results("papers"), folder, figures=figures)
    write_page(load_json(raw_results("beyond") / "beyond.json.gz"), folder)
    scale_page.write(load_json(raw_results("scale") / "scale.json.gz"), folder)
    for name, page in PAGES.items():
        stored = load_json(raw_results(name) / f"{name}.json.gz")
        (folder / f"{name}.md").write_text(page(stored), encoding="utf-8")
    (folder / "fuzz.md").write_text(hunt_page(stored_hunts()), encoding="utf-8")


if __name__ == "__main__":
    redraw(Path(sys.argv[1]) if len(sys.argv) > 1 else RESULTS)
