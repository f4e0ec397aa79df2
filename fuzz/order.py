"""The order of a release tells nothing: equal published rows are equal bytes.

The same people in another order, under another seed. Where the runs publish the same rows, the
files must be the same, byte for byte; and so must certificate and report, but for the time.
"""

from __future__ import annotations

import random
import re
import warnings
from collections import Counter
from typing import TYPE_CHECKING, Any

from fuzz import bytes as files
from fuzz.frames import polars_frame
from fuzz.parts import HELD, LEAKED, REFUSED, Outcome, crashed, run_command
from fuzz.releases import job_text, tree_rows
from fuzz.tables import GRADES, WHOLE_COLUMNS, Case, Column, token, tree_paths

if TYPE_CHECKING:
    from pathlib import Path

FORMATS = ("csv", "tsv", "csv.gz", "csv.zst", "parquet", "arrow", "xlsx", "jsonl", "db")
TIMES = re.compile(
    rb'"created": "[^"]*"|"seconds": [0-9.]+|20[0-9]{2}-[0-9]{2}-[0-9]{2}[T ][0-9:.+Z]*( UTC)?'
    rb'|[0-9.]+ (s|ms|seconds?)\b|"(hmac_)?sha256": "[0-9a-f]{64}"|[0-9a-f]{64}'
)


def run(seed: str, folder: Path) -> Outcome:
    """Publish one table twice, in two orders."""
    import shoal

    rng = random.Random(seed)
    case = _separate_groups(rng, seed, tuple(shoal.algorithms()))
    shuffled = _permuted(rng, case)
    made: list[Any] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, each in enumerate((case, shuffled)):
            place = folder / str(number)
            place.mkdir()
            try:
                made.append(_release(each, place))
            except Exception as error:
                return crashed(error)
    if any(isinstance(each, str) for each in made):
        return Outcome(REFUSED, [str(each)[:300] for each in made if isinstance(each, str)])
    (rows, outputs), (other_rows, other_outputs) = made
    if rows != other_rows:
        return Outcome(HELD, note="other rows, so nothing to compare")
    different = [name for name, data in outputs.items() if other_outputs[name] != data]
    if different:
        detail = f"{different} differ although the rows are equal ({case.options['algorithm']})"
        return Outcome(LEAKED, [detail])
    return Outcome(HELD, note="equal rows, equal bytes")


def _separate_groups(rng: random.Random, seed: str, algorithms: tuple[str, ...]) -> Case:
    """Return a table whose groups are so far apart that any algorithm finds the same."""
    k = rng.choice((2, 3, 4))
    sizes = [rng.randint(k, 2 * k - 1) for _ in range(rng.randint(2, 5))]
    n = sum(sizes)
    group = [number for number, size in enumerate(sizes) for _ in range(size)]
    leaves = list(tree_paths())
    ages = [100_000 * g + rng.choice((0, 1, 2)) for g in group]
    places = [leaves[(g * 2) % len(leaves)] for g in group]
    ill = [rng.choice((token(rng, 20), "flu", "gout")) for _ in group]
    algorithm = rng.choice(algorithms)
    columns = [
        Column("home", "quasi", "tree", "text", places),
        Column("ill", "sensitive", "", "text", ill),
        Column("name", "identifier", "", "text", [token(rng) for _ in range(n)]),
    ]
    if algorithm not in WHOLE_COLUMNS:
        columns.insert(0, Column("age", "quasi", "numeric", "i64", ages))
    if rng.random() < 0.5:
        cells = [rng.choice(GRADES) for _ in range(n)]
        columns.append(Column("grade", "insensitive", "", "text", cells))
    options = {"algorithm": algorithm, "seed": rng.randrange(1000)}
    return Case(seed, columns, k, format=rng.choice(FORMATS), options=options)


def _permuted(rng: random.Random, case: Case) -> Case:
    order = list(range(case.n_rows))
    rng.shuffle(order)
    columns = [
        Column(c.name, c.role, c.kind, c.dtype, [c.cells[row] for row in order])
        for c in case.columns
    ]
    options = case.options | {"seed": rng.randrange(1000)}
    return Case(case.seed, columns, case.k, format=case.format, options=options)


def _release(case: Case, place: Path) -> Any:
    polars_frame(case).write_parquet(place / "in.parquet")
    (place / "job.toml").write_text(job_text(case), encoding="utf-8")
    rows = [";".join([leaf, *path, "*"]) for leaf, path in tree_rows()]
    (place / "tree.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    name = f"out.{case.format}"
    address = f"sqlite:///{name}?table=safe" if case.format == "db" else name
    words = ["anonymize", "in.parquet", "-o", address, "--job", "job.toml", "--quiet"]
    words += ["--replace", "--certificate", "c.json", "--report", "r.html"]
    ran = run_command(words, place)
    if ran.status in (1, 2):
        return ran.err.decode()
    if ran.status:
        message = f"exit status {ran.status}: {ran.err[-2000:]!r}"
        raise RuntimeError(message)
    outputs = {
        path.name: path.read_bytes() for path in (place / name, place / "c.json", place / "r.html")
    }
    if case.format == "db":  # the file of a database has counters of its own
        outputs[name] = repr(files.read(place / name, "db").rows).encode()
    if case.format == "xlsx":
        outputs[name] = repr(files.read(place / name, "xlsx").rows).encode()
    for each in ("c.json", "r.html"):
        outputs[each] = TIMES.sub(b"", outputs[each])
    published = files.read(place / name, case.format)
    return Counter(map(repr, published.rows)), outputs
