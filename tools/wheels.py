"""Asks for which systems, processors and Pythons every locked package comes as a wheel.

    python tools/wheels.py [LOCK...]        requirements/user.txt unless given

Nothing is installed: uv resolves each lock as if it ran there. PySpark, whose source package holds
nothing that is compiled, is left out. Exit status 1 if a wheel is missing anywhere.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from install import ROOT, settings_of_pip

PLATFORMS = {
    "Linux, x86-64": "x86_64-manylinux_2_28",
    "Linux, arm64": "aarch64-manylinux_2_28",
    "macOS, arm64": "aarch64-apple-darwin",
    "Windows, x86-64": "x86_64-pc-windows-msvc",
}
PYTHONS = ("3.11", "3.12", "3.13", "3.14")


def missing(lock: Path, platform: str, python: str) -> str:
    """Returns what is said about a wheel that is missing, and nothing if there are all."""
    pins = [line for line in lock.read_text().splitlines() if not line.startswith("pyspark==")]
    with tempfile.TemporaryDirectory() as folder:
        wanted = Path(folder) / "wanted.txt"
        wanted.write_text("\n".join(pins))
        command = [ROOT / ".venv/bin/uv", "pip", "install", "--dry-run", "--no-deps"]
        command += ["--only-binary", ":all:", "--python-platform", platform]
        command += ["--python-version", python, "--target", folder, "--requirement", wanted]
        settings = {**os.environ, **settings_of_pip()}
        made = subprocess.run(command, env=settings, capture_output=True, text=True, check=False)
    return made.stderr if made.returncode else ""


def main() -> int:
    """Prints a line for each platform and lock."""
    locks = [Path(each) for each in sys.argv[1:]] or [ROOT / "requirements" / "user.txt"]
    complete = True
    for lock in locks:
        for name, platform in PLATFORMS.items():
            lacks = {python: missing(lock, platform, python) for python in PYTHONS}
            told = ", ".join(f"{each} {'no' if lack else 'yes'}" for each, lack in lacks.items())
            print(f"{lock.name}, {name}: {told}")
            for lack in filter(None, dict.fromkeys(lacks.values())):
                print("  " + lack.strip().replace("\n", "\n  "))
            complete = complete and not any(lacks.values())
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
