"""`make test` finds a wrong index in any kernel, although kernels are compiled unchecked."""

import os
import subprocess
import sys

import pytest

KERNEL = """
import numpy as np
from shoal.kernels.callers import trust
from shoal.kernels.groups import link_members
trust(__name__)
label, three = np.array([0, 1, 5], np.int32), np.zeros(3, np.int64)
link_members(label, np.zeros(2, np.int64), three, three.copy(), np.zeros(2, np.int64))
"""
HELPER_WITHOUT_COUNTED_REFERENCES = """
import numpy as np
from shoal.kernels.jit import kernel
from shoal.kernels.codes import load_codes
from shoal.kernels.space import Columns, Query
levels, none = np.zeros((1, 4), np.uint8), np.zeros((0, 4), np.int32)
one, empty = np.zeros(1, np.uint8), np.zeros(0, np.int32)
columns = Columns(levels, none, none, none, none, none, none, none)
query = Query(one, levels, *[empty] * 11)

@kernel
def load(columns, i, query):
    load_codes(columns, i, query)

load(columns, 3, query)
load(columns, 4, query)
"""


@pytest.mark.parametrize("code", [KERNEL, HELPER_WITHOUT_COUNTED_REFERENCES])
def test_an_index_out_of_bounds_is_an_error_where_checks_are_asked_for(code, tmp_path):
    script = tmp_path / "wrong_index.py"
    script.write_text(code)
    checked = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, script],
        env={**os.environ, **checked},
        capture_output=True,
        check=False,
        timeout=300,
        text=True,
    )
    assert done.returncode == 1
    assert "IndexError: index is out of bounds" in done.stderr.splitlines()[-1]
