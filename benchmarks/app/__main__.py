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

from benchmarks.common import RESULTS, machine, make_census, raw_results, save_json
from benchmarks.draw.tables import titled
from shoal.app.steps import STEPS

TIMES = 5


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
        self.client.get(address)
        self.times: dict[str, list[float]] = {}

    def ask(self, what: str, method: str, path: str, **options: Any) -> httpx.Response:
        """Ask once, and note the seconds until the whole answer is there."""
        headers = {"origin": self.origin, "accept": "application/json"}
        began = time.perf_counter()
        answer = self.client.request(method, path, headers=headers, **options)
        self.times.setdefault(what, []).append(time.perf_counter() - began)
        assert answer.status_code < 400, (path, answer.text)
        return answer

    def wait(self, what: str) -> float:
        """Ask for progress as the page does until the work on it is over; return the seconds."""
        began = time.perf_counter()
        while found := re.search(r'data-task="([^"]+)"', self.ask(what, "GET", "/open").text):
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
    """Ask for everything that the first steps show, and the page of every further step."""
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
            now, most = server.memory()
        finally:
            server.end()
    return {
        "machine": machine(),
        "rows": n_rows,
        "columns": frame.width,
        "bytes": size,
        "reading": reading,
        "times": server.times,
        "memory": {"read": idle, "visited": now, "most": most},
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
            f"and took {content['reading']:.1f} s. {about['cores']} cores, Python "
            f"{about['python']}, commit {about['commit']}; other programs ran beside it. Again: "
            "`python -m benchmarks.app`."
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
            ["after reading", "after all pages", "the most"],
            [[f"{memory['read']:.0f}", f"{memory['visited']:.0f}", f"{memory['most']:.0f}"]],
        ),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=300_000, help="rows of the table")
    content = measure(parser.parse_args().rows)
    save_json(raw_results("app") / "app.json.gz", content)
    text = page(content)
    (RESULTS / "app.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
