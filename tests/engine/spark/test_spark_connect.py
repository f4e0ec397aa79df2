"""Through Spark Connect: the release of a session of the cluster, without anything of Java."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.engine.spark.conftest import MASTER
from tests.helpers.spark_samples import rows_of
from tests.helpers.through_connect import HIDDEN

from shoal.engine.spark.session import open_session
from shoal.errors import OptionError

pytestmark = pytest.mark.long
SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
ROOT = Path(__file__).parents[3]
PATH = os.pathsep.join([str(ROOT), str(ROOT / "src")])


def alone(**more):
    """The environment of a process that knows nothing of the session of these tests."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_"))}
    own = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": PATH}
    return env | own | more


def through(remote, *more, **environment):
    """What the process says that is told to use Spark Connect."""
    command = [sys.executable, "-m", "tests.helpers.through_connect", remote, *more]
    done = subprocess.run(
        command, cwd=ROOT, env=alone(**environment), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def check(found, plain):
    assert "connect" in found["session"]
    assert found["errors"] == ["A worker ended in ValueError.", "A sentence of ours."]
    assert found["rows"] == rows_of(plain)
    assert found["scores"] == dict(plain.scores)
    assert found["holds"]
    assert "Spark Connect" in found["written"]
    assert found["left"] == []


def test_a_session_through_connect_makes_the_release_of_the_cluster(plain):
    check(through("local[2]"), plain)


def answers(port):
    """Whether there is a server at a port of this machine."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def server(tmp_path):
    """A server of Spark Connect on loopback, before a cluster of two workers."""
    import pyspark

    home = Path(pyspark.__file__).parent
    port = 20_000 + os.getpid() % 20_000
    options = {
        "spark.connect.grpc.binding.port": port,
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.executorEnv.PYTHONPATH": PATH,
        "spark.local.dir": tmp_path,
        "spark.ui.enabled": "false",
    }
    said = [word for name, value in options.items() for word in ("--conf", f"{name}={value}")]
    command = [str(home / "bin" / "spark-submit"), "--master", MASTER, *said]
    command += ["--class", SERVER, "spark-internal"]
    log = tmp_path / "server.log"
    with log.open("w") as file:
        running = subprocess.Popen(
            command, env=alone(SPARK_HOME=str(home)), stdout=file, stderr=file, cwd=tmp_path
        )
    try:
        while not answers(port):
            assert running.poll() is None, log.read_text()[-2000:]
            time.sleep(0.2)
        yield f"sc://127.0.0.1:{port}"
    finally:
        running.terminate()
        running.wait()


def test_a_server_before_a_cluster_makes_the_same_release(server, plain):
    check(through(server), plain)


def test_workers_without_the_package_are_said_in_one_sentence(tmp_path):
    blocked = (
        "import sys\n"
        "class Hidden:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] == 'shoal':\n"
        "            raise ModuleNotFoundError(f\"No module named '{name}'\")\n"
        "sys.meta_path.insert(0, Hidden())\n"
    )
    (tmp_path / "sitecustomize.py").write_text(blocked)
    worker = tmp_path / "python"
    worker.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path}:$PYTHONPATH exec {sys.executable} "$@"\n')
    worker.chmod(0o755)
    found = through("local[1]", "only errors", PYSPARK_PYTHON=str(worker))
    assert len(found["errors"]) == 2
    for sentence in found["errors"]:
        assert "do not have the package" in sentence
        assert HIDDEN not in sentence


def test_the_command_line_says_that_it_needs_a_session_of_the_cluster():
    with pytest.raises(OptionError, match="through Spark Connect use"):
        open_session("sc://127.0.0.1:1")
