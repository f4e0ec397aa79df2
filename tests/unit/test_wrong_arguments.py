"""Nothing that Python reaches in the rooms of kernels ends the interpreter, whatever it is given.

Kernels run as users get them here: with every index checked, a wrong one would be an error anyway.
"""

import json
import os
import subprocess
import sys

from tests.helpers.effort import share

CALLS = """
import dataclasses, faulthandler, importlib, inspect, json, pkgutil, random, sys, warnings
import narwhals as nw
import numpy as np
import polars as pl
import shoal.algorithm, shoal.kernels, shoal.search
from shoal.algorithm.base import Algorithm, create_algorithm
from shoal.measure.base import CostModel
from shoal.measure.scores import create_measure
from shoal.privacy.l_diversity import LDiversity
from shoal.search.points import points_of
from shoal.search.refine import EFFORTS
from shoal.search.scan import Run, Scanner
from shoal.settings.request import build_request
from shoal.table.encode import encode
from shoal.table.infer import infer_kinds
from shoal.table.partition import Partition

warnings.simplefilter("ignore")
faulthandler.dump_traceback_later(400, exit=True)
trials, chance = int(sys.argv[1]), random.Random(1)


def table_of(n, missing=False):
    frame = pl.DataFrame({
        "age": [20 + 7 * i % 50 for i in range(n)],
        "job": [None if missing and not i % 7 else "abcde"[i % 5] for i in range(n)],
        "seen": ["xyz"[i % 3] for i in range(n)],
    })
    asked = {"k": 3, "quasi_identifiers": ["age", "job"], "sensitive": ["seen"]}
    schema = build_request(asked).schema(frame.columns)
    return encode(frame, infer_kinds(schema, nw.from_native(frame)))


def run_of(table, measure="ncp", **changes):
    target = table.sensitive[0]
    model = CostModel.bind(create_measure(measure, {}), table, target)
    given = {"k": 3, "model": model, "scanner": Scanner.build(table, model)}
    return Run(**given, rng=np.random.default_rng(0), privacy=(LDiversity(1.5),), **changes)


def beyond(table, codes):
    wrong = dataclasses.replace(table.attributes[0], codes=codes)
    return dataclasses.replace(table, attributes=(wrong, *table.attributes[1:]))


many, few, holes = table_of(60), table_of(7), table_of(60, missing=True)
n = many.n_rows
strange = dataclasses.replace(many.sensitive[0], codes=np.full(n, 10**6, np.int32))
tables = [
    many, few, holes, dataclasses.replace(many, n_rows=10**5),
    beyond(many, np.full(n, 200, np.uint8)), beyond(many, np.full(n, 2**31, np.uint32)),
    beyond(many, np.full(n, -5)), beyond(many, many.attributes[0].codes[:9]),
    beyond(many, np.zeros((n, 2), np.uint8)), beyond(many, np.linspace(0, 1, n)),
    dataclasses.replace(many, sensitive=(strange,)),
    dataclasses.replace(many, person=np.full(n, -9, np.int32)),
    dataclasses.replace(many, attributes=()),
]
runs = [run_of(many), run_of(many, "pmi"), run_of(many, "mi"), run_of(few), run_of(holes)]
runs += [dataclasses.replace(runs[0], k=k) for k in (0, -3, 59, 10**5)]
runs += [dataclasses.replace(runs[0], scanner=runs[3].scanner)]
runs += [dataclasses.replace(runs[0], model=runs[3].model), run_of(many, threads=2)]
arrays = [
    np.zeros(0, np.int64), np.arange(5), np.array([10**9, -7]), np.full(n, 10**6, np.int32),
    np.zeros((3, 3)), np.ones(n, np.bool_), np.arange(n, dtype=np.int32), np.full((2, n), 2**40),
    np.array(["a"], object), np.uint8(3), np.full(9, np.nan),
]
groups = [Partition.from_labels(np.arange(m) // 4) for m in (60, 7, 8)]
groups.append(Partition(np.zeros(60, np.int64), 1))
others = [None, 0, -1, 5, 10**5, 0.5, "ncp", (), [3], {}, (1, 2), object()]
others += [EFFORTS["fast"], many.attributes, *many.attributes, runs[0].rng, print, [(0, 1)]]
pools = {
    "table": tables, "run": runs, "scanner": [run.scanner for run in runs], "partition": groups,
    "model": [run.model for run in runs], "points": [points_of(many)],
    "rows": arrays, "labels": arrays, "members": arrays, "effort": [EFFORTS["fast"]],
    "space": [run.scanner.space for run in runs], "records": [r.scanner.records for r in runs],
    "groups": [runs[0].scanner.closed(9), runs[0].scanner.groups(3)],
}
everything = [*others, *arrays, *(each for pool in pools.values() for each in pool)]
counted = {"made": 0, "refused": 0, "other": 0}


def throw(called, names):
    for _ in range(trials):
        given = [chance.choice(pools.get(name, everything)) for name in names]
        if chance.random() < 0.3 and given:
            given[chance.randrange(len(given))] = chance.choice(everything)
        try:
            called(*given)
            counted["made"] += 1
        except TypeError as error:
            told = "trusts what it is given" in str(error) or "for kernels only" in str(error)
            counted["refused" if told else "other"] += 1
        except Exception:
            counted["other"] += 1


def names_of(called):
    kinds = inspect.Parameter
    try:
        found = inspect.signature(getattr(called, "py_func", called)).parameters.values()
    except (TypeError, ValueError):
        return ["table", "run"]
    return [each.name for each in found if each.kind in (kinds.POSITIONAL_ONLY,
                                                         kinds.POSITIONAL_OR_KEYWORD)]


for room in (shoal.kernels, shoal.search, shoal.algorithm):
    for module in pkgutil.iter_modules(room.__path__, room.__name__ + "."):
        if module.name.endswith(".warm_up"):
            continue  # starts processes that compile
        found = importlib.import_module(module.name)
        for name, value in sorted(vars(found).items()):
            if name.startswith("_") or not callable(value) or inspect.isabstract(value):
                continue
            if getattr(getattr(value, "py_func", value), "__module__", "") != module.name:
                continue
            print(module.name, name, flush=True)
            throw(value, names_of(value))
            own = {"Scanner": runs[0].scanner, "Run": runs[0]}.get(name)
            if inspect.isclass(value) and issubclass(value, Algorithm):
                own = create_algorithm(value.name)
            for method in [m for m in dir(own) if own is not None and not m.startswith("_")]:
                if callable(getattr(own, method)):
                    print(module.name, name, method, flush=True)
                    throw(getattr(own, method), names_of(getattr(own, method)))
print(json.dumps(counted))
"""


def test_whatever_is_thrown_at_the_rooms_of_kernels_the_interpreter_lives():
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_BOUNDSCHECK"}
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", CALLS, str(share(24, least=8))],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    said = done.stdout.splitlines()
    assert done.returncode == 0, (said[-1:], done.stderr[-2000:])
    counted = json.loads(said[-1])
    assert len(said) > 200
    assert counted["made"] > 100
    assert counted["refused"] > 100
