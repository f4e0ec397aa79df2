"""Builds the sdist and, from it, the wheel with compiled kernels; checks both: `make dist`.

The build backend is called directly, so that nothing has to be installed for it. The tree is
copied as it is, caches and all: what must not be in a package is kept out by pyproject.toml, and
the checks below see whether it was.
"""

import argparse
import base64
import csv
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from packaging.metadata import Metadata
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
GOES_IN = {"src", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE"}
GOES_IN |= {"CHANGELOG.md", "CITATION.cff", "SECURITY.md"}
GENERATED = {"PKG-INFO", "setup.cfg"}
CACHES = {".pyc", ".pyo", ".nbi", ".nbc"}
COMPILED = "shoal/kernels/compiled/"
MOST_BYTES = 9_000_000
HOOK = """
import sys
from setuptools import build_meta
print(getattr(build_meta, sys.argv[1])(sys.argv[2]))
"""


def build(root: Path, out: Path, *, compiled: bool = False) -> tuple[Path, Path]:
    """Builds both into a folder; returns the sdist and the wheel that was built from it.

    Args:
        root: the repository.
        out: the folder.
        compiled: whether the wheel brings compiled kernels; this takes a minute or two.
    """
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        tree.mkdir()
        for name in GOES_IN - {"src"}:
            shutil.copy2(root / name, tree)
        shutil.copytree(root / "src", tree / "src", ignore=_egg_info)
        sdist = out / _hook("build_sdist", tree, out)
        with tarfile.open(sdist) as archive:
            archive.extractall(folder, filter="data")
        unpacked = Path(folder) / sdist.name.removesuffix(".tar.gz")
        wheel = out / _hook("build_wheel", unpacked, out)
        if compiled:
            _add_compiled(wheel, _compile(unpacked / "src"))
        return sdist, wheel


def _egg_info(folder: str, names: list[str]) -> list[str]:
    """Leaves out what an editable install wrote: its list of files may be an old one."""
    del folder
    return [name for name in names if name.endswith(".egg-info")]


def _compile(source: Path) -> dict[str, bytes]:
    """Compiles what a run needs that names no algorithm (`cache.COMMON` says for whom)."""
    theirs = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    ours = {"NUMBA_CPU_NAME": "x86-64-v3", "NUMBA_CPU_FEATURES": ""}
    ours |= {"NUMBA_CACHE_DIR": str(source / COMPILED), "PYTHONPATH": str(source)}
    subprocess.run([sys.executable, "-m", "shoal", "warm-up"], env=theirs | ours, check=True)
    found = sorted((source / COMPILED).glob("*/*/*"))
    return {
        path.relative_to(source).as_posix(): path.read_bytes()
        for path in found
        if path.parent.name != "helpers"  # which are for those who compile
    }


def _add_compiled(wheel: Path, compiled: dict[str, bytes]) -> None:
    """Writes the wheel anew with these files, and with their lines in RECORD."""
    with zipfile.ZipFile(wheel) as archive:
        files = {info: archive.read(info) for info in archive.infolist()}
    lines = [f"{name},{_checksum(content)},{len(content)}\n" for name, content in compiled.items()]
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in compiled.items():
            archive.writestr(name, content)
        for info, content in files.items():
            more = "".join(lines) if info.filename.endswith(".dist-info/RECORD") else ""
            archive.writestr(info, content + more.encode())


def _checksum(content: bytes) -> str:
    code = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode()
    return "sha256=" + code.rstrip("=")


def _hook(name: str, tree: Path, out: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", HOOK, name, str(out.resolve())],
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    return done.stdout.splitlines()[-1]


def wheel_problems(wheel: Path, root: Path) -> Iterator[str]:
    """Yields what is wrong with a wheel: files, checksums, metadata."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
        info = f"{project['name'].replace('-', '_')}-{project['version']}.dist-info/"
        package = {name for name in names if not name.startswith(info)}
        wanted = {path.relative_to(root / "src").as_posix() for path in _sources(root)}
        yield from (f"wheel: {name} is missing" for name in sorted(wanted - package))
        package = {name for name in package if not name.startswith(COMPILED)}
        yield from (f"wheel: {name} should not be in it" for name in sorted(package - wanted))
        yield from _metadata_problems(archive.read(f"{info}METADATA"), project)
        yield from _record_problems(archive, names, f"{info}RECORD")
        scripts = archive.read(f"{info}entry_points.txt").decode()
        for script, target in project["scripts"].items():
            if f"{script} = {target}" not in scripts:
                yield f"wheel: no command {script}"
        if not any(name.startswith(info) and name.endswith("LICENSE") for name in names):
            yield "wheel: no licence"
    if wheel.stat().st_size > MOST_BYTES:
        yield f"wheel: {wheel.stat().st_size:,} bytes are more than {MOST_BYTES:,}"


def _sources(root: Path) -> Iterator[Path]:
    """Yields the files that a wheel must hold: everything in the package but caches."""
    for path in (root / "src" / "shoal").rglob("*"):
        if path.is_file() and path.suffix not in CACHES and "__pycache__" not in path.parts:
            yield path


def _metadata_problems(text: bytes, project: dict[str, object]) -> Iterator[str]:
    # Refuses fields that the specification of package metadata does not allow.
    metadata = Metadata.from_email(text, validate=True)
    if str(metadata.version) != project["version"] or metadata.name != project["name"]:
        yield f"metadata: this is {metadata.name} {metadata.version}"
    needed = project["dependencies"]
    assert isinstance(needed, list)
    stated = {str(need) for need in metadata.requires_dist or () if need.marker is None}
    if stated != {str(Requirement(need)) for need in needed}:
        yield "metadata: the dependencies are not those of pyproject.toml"
    if metadata.description_content_type != "text/markdown" or not metadata.description:
        yield "metadata: the README is missing"


def _record_problems(archive: zipfile.ZipFile, names: set[str], record: str) -> Iterator[str]:
    rows = {row[0]: row for row in csv.reader(io.StringIO(archive.read(record).decode()))}
    if set(rows) != names:
        yield "wheel: RECORD lists other files than there are"
    for name in (names & set(rows)) - {record}:
        content = archive.read(name)
        if rows[name][1:] != [_checksum(content), str(len(content))]:
            yield f"wheel: RECORD has another checksum for {name}"


def sdist_problems(sdist: Path) -> Iterator[str]:
    """Yields what is wrong with an sdist: caches, and files that are not for users."""
    with tarfile.open(sdist) as archive:
        names = [PurePosixPath(member.name) for member in archive if member.isfile()]
    for name in names:
        inside = PurePosixPath(*name.parts[1:])
        if inside.suffix in CACHES or "__pycache__" in inside.parts:
            yield f"sdist: the cache {inside} should not be in it"
        elif inside.parts[0] not in GOES_IN | GENERATED:
            yield f"sdist: {inside} should not be in it"
    missing = GOES_IN - {name.parts[1] for name in names}
    yield from (f"sdist: {name} is missing" for name in sorted(missing))


def main() -> int:
    """Builds, checks, and says what was built."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="where both go")
    out: Path = parser.parse_args().out
    shutil.rmtree(out, ignore_errors=True)
    sdist, wheel = build(ROOT, out, compiled=True)
    problems = [*sdist_problems(sdist), *wheel_problems(wheel, ROOT)]
    for problem in problems:
        print(problem, file=sys.stderr)
    for path in (sdist, wheel):
        print(f"{path.name}: {path.stat().st_size:,} bytes")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
