"""`make dist`: what it builds holds the package and nothing else; its checks can fail."""

import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from tests.helpers.scripts import load_script

ROOT = Path(__file__).parents[2]
PACKED = zipfile.ZIP_DEFLATED


@pytest.fixture(scope="module")
def dist():
    return load_script("tools/dist.py")


@pytest.fixture(scope="module")
def tree(dist, tmp_path_factory):
    """A copy of the repository in which the program has run: it is full of caches."""
    root = tmp_path_factory.mktemp("tree")
    for name in dist.GOES_IN - {"src"}:
        shutil.copy2(ROOT / name, root)
    shutil.copytree(ROOT / "src", root / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in ("", "kernels", "report", "datasets"):
        cache = root / "src" / "shoal" / folder / "__pycache__"
        cache.mkdir(parents=True)
        for name in ("a.cpython-311.pyc", "a.scan-1.py311.nbi", "a.scan-1.py311.1.nbc"):
            (cache / name).write_bytes(b"cache")
        (cache.parent / "stray.nbi").write_bytes(b"cache")
    return root


@pytest.fixture(scope="module")
def built(dist, tree, tmp_path_factory):
    return dist.build(tree, tmp_path_factory.mktemp("dist"))


def test_what_is_built_from_a_used_tree_passes_every_check(dist, tree, built):
    sdist, wheel = built
    assert [*dist.sdist_problems(sdist), *dist.wheel_problems(wheel, tree)] == []


def test_the_wheel_runs_without_the_repository(built, tmp_path):
    with zipfile.ZipFile(built[1]) as archive:
        archive.extractall(tmp_path / "site")  # noqa: S202 - we built it
    code = "import shoal; print(shoal.__file__, shoal.datasets.load_adult().height)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site")},
        capture_output=True,
        text=True,
        check=True,
    )
    where, rows = done.stdout.split()
    assert Path(where).is_relative_to(tmp_path / "site")
    assert int(rows) == 45_222


def test_a_wheel_that_lacks_a_file_or_has_a_cache_is_reported(dist, tree, built, tmp_path):
    wheel = tmp_path / built[1].name
    with zipfile.ZipFile(built[1]) as old, zipfile.ZipFile(wheel, "w", PACKED) as new:
        for name in old.namelist():
            if name != "shoal/datasets/adult.parquet":
                new.writestr(name, old.read(name))
        new.writestr("shoal/kernels/__pycache__/scan.nbi", b"cache")
    assert set(dist.wheel_problems(wheel, tree)) >= {
        "wheel: shoal/datasets/adult.parquet is missing",
        "wheel: shoal/kernels/__pycache__/scan.nbi should not be in it",
        "wheel: RECORD lists other files than there are",
    }


def test_a_wheel_may_bring_compiled_kernels_and_lists_them(dist, tree, built, tmp_path):
    wheel = tmp_path / built[1].name
    shutil.copy2(built[1], wheel)
    name = "shoal/kernels/compiled/kernels-1/code/scan.load_query-1.nbi"
    dist._add_compiled(wheel, {name: b"compiled"})
    assert list(dist.wheel_problems(wheel, tree)) == []
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read(name) == b"compiled"
        assert archive.namelist().count(name) == 1


def test_a_wheel_whose_bytes_are_not_those_of_its_record_is_reported(dist, tree, built, tmp_path):
    wheel = tmp_path / built[1].name
    with zipfile.ZipFile(built[1]) as old, zipfile.ZipFile(wheel, "w", PACKED) as new:
        for name in old.namelist():
            more = b"# changed\n" if name == "shoal/api.py" else b""
            new.writestr(name, old.read(name) + more)
    found = list(dist.wheel_problems(wheel, tree))
    assert found == ["wheel: RECORD has another checksum for shoal/api.py"]


def test_a_wheel_with_other_dependencies_is_reported(dist, tree, built, tmp_path):
    wheel = tmp_path / built[1].name
    with zipfile.ZipFile(built[1]) as old, zipfile.ZipFile(wheel, "w", PACKED) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b"Requires-Dist: numba", b"Requires-Dist: x"))
    found = list(dist.wheel_problems(wheel, tree))
    assert "metadata: the dependencies are not those of pyproject.toml" in found


def test_an_sdist_with_tests_or_caches_is_reported(dist, built, tmp_path):
    root = tmp_path / "shoal_anonymity-0.1.0"
    with tarfile.open(built[0]) as archive:
        archive.extractall(tmp_path, filter="data")
    for name in ("tests/test_x.py", "src/shoal/__pycache__/x.nbi"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(b"")
    with tarfile.open(tmp_path / "new.tar.gz", "w:gz") as archive:
        archive.add(root, root.name)
    assert sorted(dist.sdist_problems(tmp_path / "new.tar.gz")) == [
        "sdist: tests/test_x.py should not be in it",
        "sdist: the cache src/shoal/__pycache__/x.nbi should not be in it",
    ]


def test_the_record_of_a_wheel_is_what_pip_compares(dist, built):
    # The checksums are computed here in another way than in the tool.
    with zipfile.ZipFile(built[1]) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/RECORD"))
        record = archive.read(name).decode()
        stated = dict(re.findall(r"^(shoal/[^,]+),sha256=([^,]+),", record, re.MULTILINE))
        assert len(stated) > 100
        for path, code in stated.items():
            digest = base64.urlsafe_b64decode(code + "=" * (-len(code) % 4)).hex()
            assert hashlib.sha256(archive.read(path)).hexdigest() == digest


def test_the_version_is_said_in_the_same_words_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(rf"^version: {re.escape(project['version'])}$", citation, re.MULTILINE)
    assert re.search(rf"^license: {project['license']}$", citation, re.MULTILINE)
