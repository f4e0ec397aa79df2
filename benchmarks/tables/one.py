"""One run on many people, in a process of its own: prints time, memory and losses as JSON.

Run: python -m benchmarks.tables.one PEOPLE
"""

from __future__ import annotations

import json
import sys
import time
import warnings

import shoal
from benchmarks.common import peak_mebibytes
from benchmarks.tables.__main__ import tables_of, together

if __name__ == "__main__":
    warnings.simplefilter("ignore", shoal.ShoalWarning)
    together(tables_of(500), 2)  # kernels are loaded
    tables = tables_of(int(sys.argv[1]))
    cpu, began = time.process_time(), time.perf_counter()
    release = together(tables, 2)
    found = {
        "cpu": time.process_time() - cpu,
        "seconds": time.perf_counter() - began,
        "peak": peak_mebibytes(),
        "rows": {name: frame.height for name, frame in tables.items()},
        "loss": {name: each["ncp"] for name, each in release.scores.items()},
        "left out": {name: n / tables[name].height for name, n in release.left_out.items()},
    }
    print(json.dumps(found))
