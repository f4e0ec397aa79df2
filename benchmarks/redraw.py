"""Writes every page and figure of docs/results again, from the numbers that are stored.

Run: python -m benchmarks.redraw [FOLDER]
Nothing is measured. FOLDER is docs/results unless given.
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.again.__main__ import page as again_page
from benchmarks.algorithms.__main__ import report
from benchmarks.app.__main__ import page as app_page
from benchmarks.audit.__main__ import page as audit_page
from benchmarks.beyond.page import write_page
from benchmarks.common import RESULTS, load_json, raw_results
from benchmarks.grid.__main__ import page as grid_page
from benchmarks.init.__main__ import page as init_page
from benchmarks.means.__main__ import page as means_page
from benchmarks.moves.__main__ import page as moves_page
from benchmarks.optimum.__main__ import page as optimum_page
from benchmarks.papers.__main__ import write_papers
from benchmarks.peers.__main__ import page as peers_page
from benchmarks.person.__main__ import page as person_page
from benchmarks.plain_scan.__main__ import page as plain_scan_page
from benchmarks.scale import page as scale_page
from benchmarks.spark.page import page as spark_page
from fuzz.page import page as hunt_page
from fuzz.page import stored as stored_hunts


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
    content = load_json(raw_results("algorithms") / "algorithms.json.gz")
    algorithms = report(content["machine"], content["rows"])
    (folder / "algorithms.md").write_text(algorithms, encoding="utf-8")
    peers = peers_page(load_json(raw_results("peers") / "peers.json.gz"))
    (folder / "peers.md").write_text(peers, encoding="utf-8")
    init = init_page(load_json(raw_results("init") / "init.json.gz"))
    (folder / "init.md").write_text(init, encoding="utf-8")
    again = again_page(load_json(raw_results("again") / "again.json.gz"))
    (folder / "again.md").write_text(again, encoding="utf-8")
    audit = audit_page(load_json(raw_results("audit") / "audit.json.gz"))
    (folder / "audit.md").write_text(audit, encoding="utf-8")
    app = app_page(load_json(raw_results("app") / "app.json.gz"))
    (folder / "app.md").write_text(app, encoding="utf-8")
    grid = grid_page(load_json(raw_results("grid") / "grid.json.gz"))
    (folder / "grid.md").write_text(grid, encoding="utf-8")
    means = means_page(load_json(raw_results("means") / "means.json.gz"))
    (folder / "means.md").write_text(means, encoding="utf-8")
    moves = moves_page(load_json(raw_results("moves") / "moves.json.gz"))
    (folder / "moves.md").write_text(moves, encoding="utf-8")
    optimum = optimum_page(load_json(raw_results("optimum") / "optimum.json.gz"))
    (folder / "optimum.md").write_text(optimum, encoding="utf-8")
    plain = plain_scan_page(load_json(raw_results("plain_scan") / "plain_scan.json.gz"))
    (folder / "plain_scan.md").write_text(plain, encoding="utf-8")
    person = person_page(load_json(raw_results("person") / "person.json.gz"))
    (folder / "person.md").write_text(person, encoding="utf-8")
    spark = spark_page(load_json(raw_results("spark") / "spark.json.gz"))
    (folder / "spark.md").write_text(spark, encoding="utf-8")
    (folder / "fuzz.md").write_text(hunt_page(stored_hunts()), encoding="utf-8")


if __name__ == "__main__":
    redraw(Path(sys.argv[1]) if len(sys.argv) > 1 else RESULTS)
