"""How long a million census rows take from a dataframe to codes, eight quasi-identifiers wide.

Run by itself (`python -m benchmarks.speed.encode`) or as the first part of `make bench-speed`.
"""

from __future__ import annotations

import json
import statistics
import time

ROWS = 1_000_000
REPEATS = 3


def run(n_rows: int = ROWS, repeats: int = REPEATS) -> dict[str, float]:
    """Encode a synthetic census; return the median seconds with and without hierarchies."""
    import narwhals as nw

    from shoal.datasets import ADULT_QUASI_IDENTIFIERS, adult_hierarchies, make_census
    from shoal.table.encode import encode
    from shoal.table.infer import infer_kinds
    from shoal.table.schema import build_schema

    names = list(ADULT_QUASI_IDENTIFIERS)[:8]
    frame = make_census(n_rows, seed=1).select([*names, "salary"])
    trees = {name: tree for name, tree in adult_hierarchies().items() if name in names}
    result: dict[str, float] = {"rows": n_rows, "columns": len(names)}
    for label, hierarchies in (("flat", {}), ("hierarchies", trees)):
        schema = build_schema(
            frame.columns, quasi_identifiers=names, sensitive=["salary"], hierarchies=hierarchies
        )
        seconds = []
        for _ in range(repeats):
            start = time.perf_counter()
            table = encode(frame, infer_kinds(schema, nw.from_native(frame)))
            seconds.append(time.perf_counter() - start)
        result[f"seconds_{label}"] = round(statistics.median(seconds), 4)
        result[f"bytes_per_row_{label}"] = sum(a.codes.itemsize for a in table.attributes)
    result["million_rows_per_second"] = round(n_rows / result["seconds_flat"] / 1e6, 2)
    return result


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
