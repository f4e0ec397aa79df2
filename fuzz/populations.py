"""Promises about a population: k-map and δ-presence, beside a count of whom each cell covers.

Half of the inputs are frames, half are files with codes for missing values, which the population
has as the table has. Cells are opened as a reader does: an interval, a node of a tree, a set of
values, everything; a missing cell stands for people whose value is missing.
"""

from __future__ import annotations

import csv
import io
import random
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fuzz import bytes as files
from fuzz.checker import broken_promises, not_from_rows
from fuzz.counted import Person, as_read, miscounted
from fuzz.frames import polars_frame
from fuzz.parts import BROKEN, HELD, REFUSED, Outcome, crashed, refuses_its_own, run_command
from fuzz.releases import tree_rows
from fuzz.tables import GRADES, TREE, Case, Column, tree_paths

if TYPE_CHECKING:
    from pathlib import Path

    from fuzz.bytes import Published

CODES = ("-9", "?")


def run(seed: str, folder: Path) -> Outcome:
    """Release a table with a promise about a population, and count the population."""
    rng = random.Random(seed)
    case = _case(rng, seed)
    people = _everybody(rng, case)
    numbers = [rng.randint(0, 3) for _ in people] if rng.random() < 0.3 else [1] * len(people)
    model = _model(rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = (_in_memory if rng.random() < 0.6 else _in_files)(
                case, people, numbers, model, folder
            )
        except Exception as error:
            return crashed(error)
    note = f"{model['model']} {case.options['categories']}"
    if isinstance(made, str):
        return Outcome(BROKEN if refuses_its_own(made) else REFUSED, [made], note)
    read = as_read(case)
    wrong = broken_promises(read, made) + not_from_rows(read, made)
    wrong += miscounted(read, made, people, numbers, model)
    return Outcome(BROKEN, wrong, note) if wrong else Outcome(HELD, note=note)


def _case(rng: random.Random, seed: str) -> Case:
    n, names = (
        rng.randint(5, 20),
        rng.sample(("age", "land", "sex", "grade"), rng.choice((1, 2, 3))),
    )
    columns = []
    for name in names:
        column = _column(name, [_value(rng, name) for _ in range(n)])
        if rng.random() < 0.5:
            column.cells = [None if rng.random() < 0.15 else each for each in column.cells]
            column.cells[0] = column.cells[0] or _value(rng, name)
        columns.append(column)
    options = {
        "categories": rng.choice(("node", "values")),
        "algorithm": rng.choice(("mondrian", "mondrian", "hilbert", "k-member")),
        "missing": rng.choice(("category", "category", "suppress")),
        "grid": {"age": rng.choice((5, 7))} if "age" in names and rng.random() < 0.4 else {},
    }
    return Case(seed, columns, rng.choice((2, 2, 3)), options=options)


def _column(name: str, cells: list[Any]) -> Column:
    kind, dtype, levels = {
        "age": ("numeric", "i64", []),
        "land": ("tree", "text", []),
        "sex": ("flat", "text", []),
        "grade": ("ordinal", "text", list(GRADES)),
    }[name]
    return Column(name, "quasi", kind, dtype, cells, levels)


def _value(rng: random.Random, name: str) -> Any:
    values = {"land": list(tree_paths()), "sex": ["f", "m", "x"], "grade": GRADES}
    return rng.randint(20, 50) if name == "age" else rng.choice(values[name])


def _everybody(rng: random.Random, case: Case) -> list[Person]:
    """Return the table's people and others; now and then not all of them."""
    rows: list[Person] = list(zip(*(column.cells for column in case.columns), strict=True))
    if rng.random() < 0.15:
        rows = rows[2:]
    for _ in range(rng.randint(0, 25)):
        like = list(rng.choice(rows))
        at = rng.randrange(len(like))
        like[at] = None if rng.random() < 0.1 else _value(rng, case.columns[at].name)
        rows.append(tuple(like))
    rng.shuffle(rows)
    return rows


def _model(rng: random.Random) -> dict[str, Any]:
    if rng.random() < 0.5:
        return {"model": "k-map", "k": rng.randint(2, 8)}
    least = rng.choice((0.0, 0.0, 0.05))
    return {
        "model": "delta-presence",
        "delta_max": rng.choice((0.5, 0.8, 0.95)),
        "delta_min": least,
    }


def _in_memory(
    case: Case, people: list[Person], numbers: list[int], model: dict[str, Any], folder: Path
) -> Published | str:
    import shoal

    del folder
    everybody = polars_frame(_as_case(case, people, numbers))
    asked = model | {"population": everybody, "counts": "people"}
    plain = {name: case.options[name] for name in ("algorithm", "missing", "grid")}
    names = [column.name for column in case.columns]
    try:
        release = shoal.anonymize(
            polars_frame(case),
            case.k,
            quasi_identifiers=names,
            hierarchies={"land": TREE} if "land" in names else {},
            orders={"grade": GRADES} if "grade" in names else {},
            privacy=asked,
            style={"categories": case.options["categories"]},
            rows_are_people=True,
            threads=1,
            **plain,
        )
    except shoal.ShoalError as error:
        return str(error)
    return files.of_frame(release.frame)


def _as_case(case: Case, people: list[Person], numbers: list[int]) -> Case:
    columns = [
        replace(column, cells=list(cells), hidden={})
        for column, cells in zip(case.columns, zip(*people, strict=True), strict=True)
    ]
    return replace(case, columns=[*columns, Column("people", "", "", "i64", numbers)])


def _in_files(
    case: Case, people: list[Person], numbers: list[int], model: dict[str, Any], folder: Path
) -> Published | str:
    names = [column.name for column in case.columns]
    rows = list(zip(*(column.cells for column in case.columns), strict=True))
    counted = [(*person, number) for person, number in zip(people, numbers, strict=True)]
    (folder / "data.csv").write_text(_text(names, rows), encoding="utf-8")
    (folder / "all.csv").write_text(_text([*names, "people"], counted), encoding="utf-8")
    lines = [";".join([leaf, *path, "*"]) for leaf, path in tree_rows()]
    (folder / "tree.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    job = [
        f"k = {case.k}",
        f'algorithm = "{case.options["algorithm"]}"',
        f'missing = "{case.options["missing"]}"',
        "rows_are_people = true",
        "[style]",
        f'categories = "{case.options["categories"]}"',
        *(line for name in names for line in _said(case, name)),
    ]
    (folder / "job.toml").write_text("\n".join(job) + "\n", encoding="utf-8")
    words = ["anonymize", "data.csv", "-o", "out.csv", "--job", "job.toml", "--quiet"]
    words += ["--missing-values", ",".join(CODES), "--population", "all.csv"]
    words += ["--population-counts", "people"]
    if model["model"] == "k-map":
        words += ["--k-map", str(model["k"])]
    else:
        words += ["--presence-max", str(model["delta_max"])]
        words += ["--presence-min", str(model["delta_min"])]
    ran = run_command(words, folder)
    said = ran.err.decode("utf-8", "replace")
    if ran.status in (1, 2) and "Traceback" not in said:
        return said
    if ran.status:
        raise RuntimeError(f"exit status {ran.status}: {said[-2000:]}")
    return files.read(folder / "out.csv", "csv")


def _said(case: Case, name: str) -> list[str]:
    lines = [f"[columns.{name}]", 'role = "quasi-identifier"']
    if name == "land":
        lines.append('hierarchy = "tree.csv"')
    if name == "grade":
        lines.append(f"order = {GRADES!r}".replace("'", '"'))
    if name in case.options["grid"]:
        lines.append(f"grid = {case.options['grid'][name]}")
    return lines


def _text(names: list[str], rows: list[Person]) -> str:
    made = io.StringIO()
    writer = csv.writer(made, lineterminator="\n")
    writer.writerow(names)
    for number, row in enumerate(rows):
        code = CODES[number % len(CODES)]
        writer.writerow([code if cell is None else cell for cell in row])
    return made.getvalue()
