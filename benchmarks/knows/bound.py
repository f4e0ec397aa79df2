"""What no release against attackers who know three columns can lose less than.

Run: python -m benchmarks.knows.bound [--rows N]

Take a row of a release that keeps the promise, and any three columns. At least k rows have its
cells there, so each of these cells covers the values of k rows, its own among them. What the three
cells lose together is therefore not less than what the closure of the row and its (k - 1)-th
nearest row loses in these columns. The same holds for any one and two columns. The least sum over
all columns that keeps all of this is a linear program for each row; rows are drawn by chance, so
the mean has a standard error. Cells may be cheaper than any release can make them: the k rows of
different columns need not fit together.
"""

from __future__ import annotations

import argparse
from itertools import combinations

import narwhals as nw
import numpy as np
from scipy.optimize import linprog

from benchmarks.knows.__main__ import KNOWS, MOST_ROWS, TABLES, K
from shoal.measure.base import CostModel
from shoal.measure.scores import create_cost_measure
from shoal.table.closure import CLOSURES
from shoal.table.encode import encode
from shoal.table.infer import infer_kinds
from shoal.table.schema import build_schema


def losses(attribute, form, code):
    """Return for each row what a cell loses that covers this code and the row's own."""
    codes, where = np.unique(attribute.codes.astype(np.int64), return_inverse=True)
    if attribute.algebra == "tree":
        parent, depth = attribute.taxonomy.parent, attribute.taxonomy.depth
        shapes = []
        for other in codes.tolist():
            one, two = code, other
            while one != two:
                one, two = (int(parent[one]), two) if depth[one] >= depth[two] else (
                    one, int(parent[two])
                )  # fmt: skip
            shapes.append(one)
    else:
        shapes = [(min(code, other), max(code, other), 0) for other in codes.tolist()]
    closures = CLOSURES[attribute.algebra].of_shapes(attribute, shapes)
    return np.asarray(form.cost(closures))[: len(shapes)][where]


def bound(name, n_rows):
    """Return the mean over some rows, and its standard error."""
    load, hierarchies, income = TABLES[name]
    frame = load()
    frame = frame.sample(min(frame.height, MOST_ROWS), seed=1)
    columns = [each for each in frame.columns if each != income]
    frame = frame.select(columns)
    trees = {each: tree for each, tree in hierarchies().items() if each in columns}
    schema = build_schema(columns, quasi_identifiers=columns, hierarchies=trees)
    table = encode(frame, infer_kinds(schema, nw.from_native(frame)))
    forms = CostModel.bind(create_cost_measure("ncp"), table).forms
    known = [one for size in range(1, KNOWS + 1) for one in combinations(range(len(columns)), size)]
    sums = np.zeros((len(known), len(columns)))
    for number, one in enumerate(known):
        sums[number, list(one)] = 1
    found = []
    for row in np.random.default_rng(0).choice(table.n_rows, n_rows, replace=False).tolist():
        lost = [
            losses(attribute, form, int(attribute.codes[row]))
            for attribute, form in zip(table.attributes, forms, strict=True)
        ]
        nearest = [np.partition(sum(lost[each] for each in one), K - 1)[K - 1] for one in known]
        least = linprog(
            np.ones(len(columns)), A_ub=-sums, b_ub=-np.array(nearest), bounds=(0, None)
        )
        found.append(least.fun / len(columns))
    return float(np.mean(found)), float(np.std(found) / np.sqrt(len(found)))


def main():
    """Print the bound of each table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.knows.bound", description=__doc__)
    parser.add_argument(
        "--rows", type=int, default=100, help="rows that are drawn; 100 unless given"
    )
    asked = parser.parse_args()
    for name in TABLES:
        mean, error = bound(name, asked.rows)
        print(f"{name}: no release loses less than {mean:.4f} (standard error {error:.4f})")


if __name__ == "__main__":
    main()
