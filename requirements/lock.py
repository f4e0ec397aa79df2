"""Writes the lock files next to this script: `make lock`.

pip resolves the extras of pyproject.toml together, so that `user.txt` (what Shoal itself needs),
`ci.txt` (what tests add) and `docs.txt` agree with each other. `lowest.txt` pins what
pyproject.toml names at its lower bound, and the rest at the newest version that goes with it: that
is what somebody gets who has old packages and installs Shoal. Only names and versions are kept:
where packages are downloaded from is a setting of the machine, not of the project. Only wheels
count: nobody shall need a compiler. (PySpark has none: its source package is Python and jars, and
nothing in it is compiled.)
"""

import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

HERE = Path(__file__).parent
ROOT = HERE.parent
HEADER = "# Exact versions of {what}. Made by `make lock`; do not edit by hand.\n"


def resolve(extras: str, *more: str) -> dict[str, str]:
    """Returns name and version of everything that `pip install .[extras]` would install."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
    command += [
        "--only-binary",
        ":all:",
        "--no-binary",
        "pyspark",
        *more,
        "--report",
        "-",
        f"{ROOT}[{extras}]" if extras else str(ROOT),
    ]
    report = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    installs = json.loads(report.stdout)["install"]
    metadata = (install["metadata"] for install in installs)
    pins = {canonicalize_name(item["name"]): item["version"] for item in metadata}
    del pins["shoal-anonymity"]
    return pins


def lower_bounds(extra: str, project: Path = ROOT / "pyproject.toml") -> dict[str, str]:
    """Returns the lowest version that pyproject.toml allows of each package it names.

    Args:
        extra: which extra counts, beside what is needed to build and to run; other extras that it
            names (`shoal-anonymity[pandas]`) are followed.
        project: the pyproject.toml.

    Raises:
        ValueError: if a requirement has no lower bound, or anything else.
    """
    content = tomllib.loads(project.read_text(encoding="utf-8"))
    table = content["project"]
    waiting = [*content["build-system"]["requires"], *table["dependencies"]]
    waiting.append(f"{table['name']}[{extra}]")
    bounds: dict[str, str] = {}
    while waiting:
        need = Requirement(waiting.pop())
        if need.name == table["name"]:
            for each in need.extras:
                waiting += table["optional-dependencies"][each]
            continue
        bound = [one.version for one in need.specifier if one.operator == ">="]
        if len(bound) != 1 or len(need.specifier) != 1:
            raise ValueError(f"pyproject.toml: '{need}' should have a lower bound and nothing else")
        bounds[canonicalize_name(need.name)] = bound[0]
    return bounds


def resolve_lowest(extra: str) -> dict[str, str]:
    """Returns versions of what an extra installs, what pyproject.toml names at its lower bound."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "constraints.txt"
        bounds = lower_bounds(extra)
        path.write_text("".join(f"{name}=={bound}\n" for name, bound in bounds.items()))
        return resolve(extra, "--constraint", str(path), *bounds)


def write(path: Path, header: str, pins: dict[str, str]) -> None:
    """Writes one `name==version` per line in alphabetical order."""
    lines = [f"{name}=={version}\n" for name, version in sorted(pins.items())]
    path.write_text(header + "".join(lines), encoding="utf-8")


def main() -> None:
    """Resolves everything once, then splits it into what users, tests and the docs need."""
    if "--lowest" not in sys.argv[1:]:
        left = resolve("dev,docs")
        for name, extras, what in (
            ("user", "", "what `make demo` installs"),
            ("ci", "dev", "what `make test` adds to user.txt"),
            ("docs", "docs", "what `make docs` adds to user.txt and ci.txt"),
        ):
            # setuptools installs the project itself
            wanted = resolve(extras) | ({} if extras else {"setuptools": ""})
            pins = {package: left.pop(package) for package in wanted if package in left}
            write(HERE / f"{name}.txt", HEADER.format(what=what), pins)
            print(f"{name}.txt: {len(pins)} packages")
    lowest = resolve_lowest("test")
    write(HERE / "lowest.txt", HEADER.format(what="what `make test-lowest` installs"), lowest)
    print(f"locked {len(lowest)} packages at the lowest versions that pyproject.toml allows")


if __name__ == "__main__":
    main()
