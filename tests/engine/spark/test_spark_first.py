"""Workers that start side by side on a new machine compile one after the other."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

LOOK = """
import os, sys, time
from pathlib import Path
from shoal.engine.spark.first import one_compiles
mark = Path(sys.argv[1])
with one_compiles():
    print("together" if mark.exists() else "alone")
    mark.touch()
    time.sleep(0.3)
    mark.unlink(missing_ok=True)
"""


def test_the_first_blocks_of_two_workers_are_not_worked_on_at_the_same_time(tmp_path):
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    command = [sys.executable, "-c", LOOK, str(tmp_path / "mark")]
    workers = [
        subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    assert [worker.communicate()[0].strip() for worker in workers] == ["alone", "alone"]
    assert list(Path(tmp_path / "kernels").rglob(".first"))
