"""The Dockerfile, without Docker: its steps are done by a shell, and what they make is run.

Building the image itself needs Docker's own server, which tests do not have.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from shoal.cli.app import app

ROOT = Path(__file__).parents[2]
PLACE = "/opt/shoal"


def stages():
    """Return the instructions of each stage, as pairs of a word and what follows it."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    text = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    lines = [line.split(None, 1) for line in text.splitlines() if line.strip()]
    found = []
    for word, rest in lines:
        if word == "FROM":
            found.append([])
        found[-1].append((word, rest))
    return found


def settings(stage):
    """Return the environment of a stage."""
    build = dict(rest.split("=") for word, rest in stage if word == "ARG")
    said = " ".join(rest for word, rest in stage if word == "ENV")
    pairs = dict(each.split("=", 1) for each in said.split())
    return {k: v.strip('"').replace("${CPU}", build["CPU"]) for k, v in pairs.items()}


def test_everything_that_is_copied_is_there_and_is_sent_to_who_builds_it():
    first, _ = stages()
    sent = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    for word, rest in first:
        if word == "COPY":
            *sources, _ = rest.split()
            for each in sources:
                assert (ROOT / each).exists(), each
                assert f"!{each}" in sent, each


def test_the_image_runs_as_nobody_for_the_processor_that_it_was_compiled_for():
    first, last = stages()
    assert ("USER", "65534:65534") in last
    compiled, run = settings(first), settings(last)
    assert compiled["NUMBA_CPU_NAME"] == run["NUMBA_CPU_NAME"] == "x86-64-v3"
    assert compiled["NUMBA_CPU_FEATURES"] == run["NUMBA_CPU_FEATURES"] == ""
    entry = next(json.loads(rest) for word, rest in last if word == "ENTRYPOINT")
    assert entry == [f"{PLACE}/bin/shoal"]
    called = [rest.split()[1] for word, rest in first if word == "RUN" and "bin/shoal " in rest]
    assert called == ["warm-up"]
    assert set(called) <= set(get_command(app).commands)


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux" or os.uname().machine != "x86_64", reason="x86-64 only")
def test_what_the_steps_make_runs_from_files_that_nobody_may_write(tmp_path):
    first, last = stages()
    place, build, data = tmp_path / "shoal", tmp_path / "build", tmp_path / "data"
    build.mkdir()
    data.mkdir()
    outside = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "PIP_CONFIG_FILE")}
    for word, rest in first:
        if word == "COPY":
            *sources, _ = rest.split()
            for each in sources:
                (build / each).parent.mkdir(parents=True, exist_ok=True)
                ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
                if (ROOT / each).is_dir():
                    shutil.copytree(ROOT / each, build / each, ignore=ignored)
                else:
                    shutil.copy(ROOT / each, build / each)
        if word == "RUN":
            step = rest.replace(PLACE, str(place)).replace("python -m", f"{sys.executable} -m")
            environment = {**outside, **settings(first)}
            subprocess.run(["/bin/sh", "-ec", step], check=True, cwd=build, env=environment)
    shutil.rmtree(build)
    compiled = sorted(each.name for each in place.rglob("*.nb[ci]"))
    assert compiled
    for each in place.rglob("*"):
        if not each.is_symlink():
            each.chmod(each.stat().st_mode & 0o555)
    rows = "\n".join(f"{20 + n % 50},{'fm'[n % 2]},{'xyz'[n % 3]}" for n in range(200))
    (data / "people.csv").write_text(f"age,sex,ill\n{rows}\n")
    words = ["anonymize", "people.csv", "-o", "safe.csv", "--k", "5", "--qi", "age,sex"]
    inside = {**settings(last), "PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}
    alone = ["/usr/bin/unshare", "--net", *(["--map-root-user"] * (os.geteuid() != 0))]
    if subprocess.run([*alone, "/bin/true"], check=False, capture_output=True).returncode:
        alone = []  # this machine lets nobody take the network away
    done = subprocess.run(
        [*alone, place / "bin/shoal", *words, "--sensitive", "ill", "--seed", "1"],
        cwd=data,
        env=inside,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "ompil" not in done.stderr, "nothing is compiled any more"
    assert sorted(each.name for each in place.rglob("*.nb[ci]")) == compiled
    assert (data / "safe.csv").is_file()
