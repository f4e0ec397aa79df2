"""Writes the lock files next to this script: `make lock`.

pip resolves the extras of pyproject.toml together, so both files agree with each other. Only names
and versions are kept: where packages are downloaded from is a setting of the machine, not of the
project.
"""

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
HEADER = "# Exact versions of {what}. Made by `make lock`; do not edit by hand.\n"


def resolve(extras: str) -> dict[str, str]:
    """Returns name and version of everything that `pip install .[extras]` would install."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
    report = subprocess.run(
        [*command, "--report", "-", f"{ROOT}[{extras}]"], check=True, stdout=subprocess.PIPE
    )
    installs = json.loads(report.stdout)["install"]
    metadata = (install["metadata"] for install in installs)
    pins = {item["name"].lower().replace("_", "-"): item["version"] for item in metadata}
    del pins["shoal"]
    return pins


def write(path: Path, header: str, pins: dict[str, str]) -> None:
    """Writes one `name==version` per line in alphabetical order."""
    lines = [f"{name}=={version}\n" for name, version in sorted(pins.items())]
    path.write_text(header + "".join(lines), encoding="utf-8")


def main() -> None:
    """Resolves everything once, then splits it into what CI needs and what only the docs need."""
    everything = resolve("dev,docs")
    ci = {name: everything[name] for name in resolve("dev")}
    docs = {name: version for name, version in everything.items() if name not in ci}
    write(HERE / "ci.txt", HEADER.format(what="what `make demo` and `make test` install"), ci)
    write(HERE / "docs.txt", HEADER.format(what="what `make docs` adds to ci.txt"), docs)
    print(f"locked {len(ci)} packages for CI and {len(docs)} more for the documentation")


if __name__ == "__main__":
    main()
