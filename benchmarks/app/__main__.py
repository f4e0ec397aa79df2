"""How long the pages of `shoal app` take to answer on a large table, and how much memory.

Run: python -m benchmarks.app
A server is started as a process and asked as a browser does, while it reads the table too. Writes
benchmarks/app/results/ and docs/results/app.md.
"""

from __future__ import annotations

import argparse
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import polars as pl

from benchmarks.common import RESULTS, machine, raw_results, save_json
from benchmarks.draw.tables import titled
from shoal.app.steps import STEPS
from shoal.datasets import make_census

TIMES = 5
_MEMORY = {
    "read": "after reading",
    "visited": "after all pages",
    "run": "after a run",
    "most": "the most",
}


def make_table(n_rows: int, seed: int = 1) -> pl.DataFrame:
    """Return a table of 40 columns: a census, and what hospitals add to it."""
    chance = np.random.default_rng(seed)
    census = make_census(n_rows, seed)
    day = chance.integers(0, 3_650, n_rows)
    more: dict[str, Any] = {
        "patient_id": chance.permutation(n_rows) + 10_000_000,
        "zip": chance.integers(10_000, 12_000, n_rows).astype(str),
        "admitted": pl.Series(day).cast(pl.Date),
        "discharged": pl.Series(day + chance.integers(1, 30, n_rows)).cast(pl.Date),
        "diagnosis": [f"{'ABCDEFGHIJ'[i]}{j:02}" for i, j in chance.integers(0, 10, (n_rows, 2))],
        "ward": [f"ward {i}" for i in chance.integers(1, 40, n_rows)],
        "weight": np.round(chance.normal(75, 15, n_rows), 1),
        "height": np.round(chance.normal(170, 10, n_rows)),
    }
    for number in range(1, 10):
        more[f"lab_{number}"] = np.round(chance.gamma(number, 3.0, n_rows), 2)
    for number in range(1, 40 - census.width - len(more) + 1):
        more[f"item_{number}"] = chance.integers(1, 6, n_rows)
    return census.with_columns(pl.Series(name, column) for name, column in more.items())


class Server:
    """The program, and a client that is let in."""

    def __init__(self, table: Path, folder: Path) -> None:
        command = [sys.executable, "-m", "shoal", "app", str(table), "--no-browser", "--port", "0"]
        self.process = subprocess.Popen(
            [*command, "--folder", str(folder)], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        address = self.process.stdout.readline().split()[-1]
        self.origin = address.partition("/?")[0]
        self.client = httpx.Client(base_url=self.origin, trust_env=False, timeout=120)
        way_in = re.search(r"url=(/[^\"]+)", self.client.get(address).text)
        assert way_in is not None
        self.client.base_url = self.client.base_url.join(way_in[1])
        self.times: dict[str, list[float]] = {}

    def ask(self, what: str, method: str, path: str, **options: Any) -> httpx.Response:
        """Ask once, and note the seconds until the whole answer is there."""
        headers = {"origin": self.origin, "accept": "application/json"}
        began = time.perf_counter()
        answer = self.client.request(method, path, headers=headers, **options)
        self.times.setdefault(what, []).append(time.perf_counter() - began)
        assert answer.status_code < 400, (path, answer.text)
        return answer

    def wait(self, what: str, path: str = "/open") -> float:
        """Ask for progress as a page does until the work on it is over; return the seconds."""
        began = time.perf_counter()
        while found := re.search(r'data-task="([^"]+)"', self.ask(what, "GET", path).text):
            while self.ask(what, "GET", f"/task/{found[1]}").json()["state"] == "running":
                time.sleep(0.3)
        return time.perf_counter() - began

    def memory(self) -> tuple[float, float]:
        """Return the memory that the server holds now and the most it held, in MiB."""
        text = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        now, most = (
            int(re.search(rf"{name}:\s+(\d+)", text)[1]) / 1024 for name in ("VmRSS", "VmHWM")
        )
        return now, most

    def end(self) -> None:
        """End the server as Ctrl-C does."""
        self.client.close()
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=60)


def measure(n_rows: int) -> dict[str, Any]:
    """Ask for everything that the steps show, and change, edit and run as a person does."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "large.csv"
        frame = make_table(n_rows)
        frame.write_csv(path)
        size = path.stat().st_size
        server = Server(path, Path(name) / "private")
        try:
            reading = server.wait("a page or progress, while the table is read")
            idle, _ = server.memory()
            _visit(server, frame.columns, n_rows)
            now, _ = server.memory()
            _edit(server, frame.columns)
            running = _run(server)
            then, most = server.memory()
        finally:
            server.end()
    return {
        "machine": machine(),
        "rows": n_rows,
        "columns": frame.width,
        "bytes": size,
        "reading": reading,
        "running": running,
        "times": server.times,
        "memory": {"read": idle, "visited": now, "run": then, "most": most},
    }


def _visit(server: Server, names: list[str], n_rows: int) -> None:
    last = -(-n_rows // 50)
    for turn in range(TIMES):
        server.ask("page “Table”", "GET", "/open")
        for place in (1, last // 2 + turn, last):
            server.ask("another fifty rows", "GET", "/open/rows", params={"page": str(place)})
        server.ask("page “Columns”", "GET", "/columns")
    for name in ("age", "zip", "admitted", "ward", "lab_1", "fnlwgt", "patient_id"):
        place = names.index(name)
        for role in ("quasi-identifier", "drop"):
            server.ask("a role is chosen", "POST", f"/columns/{place}", data={"role": role})
            first: int | None = 0
            while first is not None:
                told = server.ask("four columns counted anew", "GET", f"/columns/counts/{first}")
                first = told.json()["next"]
    for step in STEPS[2:]:
        for _ in range(TIMES):
            server.ask(f"page “{step.title}”", "GET", step.path)
    server.ask("the job file", "GET", "/open/job.toml")


def _edit(server: Server, names: list[str]) -> None:
    """Build trees, look at what values become, and edit one by hand, there and back."""
    for name in ("age", "zip", "admitted", "ward"):
        role = {"role": "quasi-identifier"}
        server.ask("a role is chosen", "POST", f"/columns/{names.index(name)}", data=role)
    built = {"age": "intervals", "zip": "prefix", "admitted": "dates", "ward": "frequency"}
    for name, method in built.items():
        path = f"/hierarchies/{names.index(name)}"
        for _ in range(TIMES):
            said = {"method": method}
            server.ask("what values would become", "GET", f"{path}/try", params=said)
        server.ask("a tree is built and used", "POST", f"{path}/use", data={"method": method})
        server.ask("page of a tree", "GET", path)
    path = f"/hierarchies/{names.index('zip')}"
    for turn in range(TIMES):
        for said in (
            {"edit": "add", "name": f"new {turn}", "to": "*"},
            {"edit": "undo"},
            {"edit": "redo"},
        ):
            server.ask("a tree of 2,000 values is edited", "POST", f"{path}/edit", data=said)
    for turn in range(TIMES):
        said = {"k": str(10 + turn), "algorithm": "mondrian", "seed": "1"}
        server.ask("a promise is changed", "POST", "/promises", data=said)
        server.ask("the curve, while it is drawn", "GET", "/promises/curve")


def _run(server: Server) -> float:
    """Run, watch it, look at before and after; return the seconds of the run."""
    server.ask("a run is started", "POST", "/run", data={"suffix": "csv"})
    seconds = server.wait("a page or progress, while the job runs", "/run")
    server.ask("page “Run”, the first after a run", "GET", "/run")
    for _ in range(TIMES):
        server.ask("page “Run” with before and after", "GET", "/run")
    for turn in range(TIMES):
        place = {"page": str(2 + 7 * turn)}
        server.ask("before and after, other groups", "GET", "/run/groups", params=place)
    for _ in range(TIMES):
        server.ask("page “Hand over” with files", "GET", "/hand-over")
    return seconds


def page(content: dict[str, Any]) -> str:
    """Return the page of results."""
    memory, about = content["memory"], content["machine"]
    lines = [
        "# Pages of a large table",
        "",
        (
            f"`shoal app` with {content['rows']:,} rows and {content['columns']} columns "
            f"({content['bytes'] / 2**20:.0f} MiB of CSV): the seconds until an answer is there in "
            "full, asked as the pages ask. Reading the table and guessing roles shows its progress "
            f"and took {content['reading']:.1f} s{_of_run(content)}. {about['cores']} cores, "
            f"Python {about['python']}, commit {about['commit']}; other programs ran beside it. "
            "Again: `python -m benchmarks.app`."
        ),
        *titled(
            "Seconds of an answer",
            ["what", "asked", "median", "longest"],
            [
                [what, len(times), f"{sorted(times)[len(times) // 2]:.3f}", f"{max(times):.3f}"]
                for what, times in content["times"].items()
            ],
        ),
        *titled(
            "Memory of the server, MiB",
            [title for name, title in _MEMORY.items() if name in memory],
            [[f"{memory[name]:.0f}" for name in _MEMORY if name in memory]],
        ),
    ]
    return "\n".join(lines) + "\n"


def _of_run(content: dict[str, Any]) -> str:
    if "running" not in content:  # results from before runs were measured
        return ""
    return f"; a run with Mondrian does so, too, and took {content['running']:.1f} s"


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=300_000, help="rows of the table")
    parser.add_argument("--dry", action="store_true", help="print the page, and write nothing")
    asked = parser.parse_args()
    content = measure(asked.rows)
    if asked.dry:
        print(page(content))
        return
    save_json(raw_results("app") / "app.json.gz", content)
    text = page(content)
    (RESULTS / "app.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
