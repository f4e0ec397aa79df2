"""Follow a page of the documentation word for word in a clean environment.

Creates a virtual environment in a temporary folder, installs the checkout into it with pip, and
runs every code block of the page from top to bottom in an empty folder, as a reader would.

    python tools/follow_tutorial.py [docs/tutorial.md]

Exit status 0: every block ran and printed what the page shows.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

MOST_SECONDS = 900  # for one block; the first ones compile
ROOT = Path(__file__).resolve().parents[1]
_FENCE = re.compile(
    r"^(?:<!-- (?P<mark>[^\n]*) -->\n+)?```(?P<language>[^\s`{]*)[^\n]*\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A code block of a page.

    Attributes:
        language: what stands after the fence: ``sh``, ``python``, ``text`` (output of the block
            before), or something that is not run.
        text: the code.
        line: where it starts, for messages.
        mark: the comment right above it: ``not run: why`` leaves a block out, ``needs: program``
            leaves it out where that program is not installed, ``exit status: 1`` expects one.
    """

    language: str
    text: str
    line: int
    mark: str

    @property
    def left_out(self) -> bool:
        """Tell whether this block does not run here."""
        what, _, rest = self.mark.partition(": ")
        return what == "not run" or (what == "needs" and shutil.which(rest) is None)

    @property
    def status(self) -> int:
        """The exit status that the page announces."""
        what, _, rest = self.mark.partition(": ")
        return int(rest) if what == "exit status" else 0


def blocks_of(page: Path) -> list[Block]:
    """Return the code blocks of a page, from top to bottom."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            found["language"],
            found["text"],
            text.count("\n", 0, found.start()) + 1,
            found["mark"] or "",
        )
        for found in _FENCE.finditer(text)
    ]


def shape(line: str) -> str:
    """Return a line without what may differ between two runs: numbers, bars, spaces."""
    words = re.sub(r"[0-9a-f]{32,}|-?\d[\d,.:]*", "#", line)
    return " ".join(re.sub("[█▏▎▍▌▋▊▉]+", "", words).split())


def not_printed(shown: str, printed: str) -> list[str]:
    """Return the lines that a page shows and the program did not print, numbers aside."""
    real = {shape(line) for line in printed.splitlines()}
    return [line for line in shown.splitlines() if line.strip(" …") and shape(line) not in real]


def run_block(
    block: Block, folder: Path, environment: dict[str, str], python: str
) -> subprocess.CompletedProcess[str]:
    """Run one block of shell or Python in a folder."""
    if block.language == "python":
        command = [python, "-W", "error", "-c", block.text]
        if ">>>" in block.text:
            (folder / ".session.txt").write_text(block.text, encoding="utf-8")
            command = [python, "-m", "doctest", ".session.txt"]
    else:
        command = ["/bin/sh", "-e", "-c", block.text]
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        check=False,
        text=True,
        encoding="utf-8",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        timeout=MOST_SECONDS,
    )


def follow(page: Path, folder: Path, environment: dict[str, str], python: str) -> list[str]:
    """Run all blocks of a page in one folder; return what went wrong, one text per block."""
    wrong: list[str] = []
    printed = ""
    for block in blocks_of(page):
        place = f"{page.name}, line {block.line}"
        if block.left_out:
            continue
        if block.language in {"sh", "python"}:
            done = run_block(block, folder, environment, python)
            printed = done.stdout
            if done.returncode != block.status:
                wrong.append(f"{place}: exit status {done.returncode}\n{printed}")
        elif block.language == "text" and block.mark != "an example":
            missing = not_printed(block.text, printed)
            if missing:
                lines = "\n".join(missing)
                wrong.append(f"{place}: not printed:\n{lines}\nbut this was:\n{printed}")
    return wrong


def clean_environment(folder: Path) -> Path:
    """Make a virtual environment with Shoal and nothing else; return its folder of programs."""
    # pip builds where the sources are: a copy, so that the checkout stays as it is
    source = folder / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    shutil.copytree(ROOT / "src", source / "src", ignore=ignored)
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    programs = folder / "venv" / "bin"
    pip = [str(programs / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", str(source)], check=True)
    return programs


def main() -> int:
    """Follow the page that is named, or the tutorial."""
    page = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "tutorial.md"
    with tempfile.TemporaryDirectory(prefix="shoal-tutorial-") as name:
        folder = Path(name)
        print("Installing Shoal into a clean environment ...", flush=True)
        programs = clean_environment(folder)
        home = folder / "reader"
        home.mkdir()
        environment = {
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "PATH": os.pathsep.join([str(programs), "/usr/local/bin", "/usr/bin", "/bin"]),
        }
        start = time.monotonic()
        wrong = follow(page, home, environment, str(programs / "python"))
        for each in wrong:
            print(each, file=sys.stderr)
        end = "as printed" if not wrong else f"{len(wrong)} blocks did not"
        print(f"Followed {page.name} in {time.monotonic() - start:.0f} s: {end}.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
