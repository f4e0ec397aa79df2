"""Random releases: a random table, a random run, a random format, and a checker of its own.

Half of the inputs go through the function, in and out of memory; the others go from file to file
through the command line, with a certificate and now and then a report.
"""

from __future__ import annotations

import json
import random
import warnings
from typing import TYPE_CHECKING, Any

from fuzz import bytes as files
from fuzz.checker import broken_promises, not_from_rows, wrong_cells
from fuzz.frames import build, polars_frame, write_input
from fuzz.leaks import leaks
from fuzz.parts import BROKEN, HELD, LEAKED, REFUSED, Outcome, crashed, run_command
from fuzz.tables import TREE, WHOLE_COLUMNS, make_case, tree_paths

if TYPE_CHECKING:
    from pathlib import Path

    from fuzz.bytes import Published
    from fuzz.tables import Case

ROLES = {
    "quasi": "quasi_identifiers",
    "sensitive": "sensitive",
    "identifier": "identifiers",
    "insensitive": "insensitive",
    "drop": "drop",
}
JOB_ROLES = {"quasi": "quasi-identifier"}


def case_of(seed: str) -> Case:
    """Return the case of a seed, over all algorithms and measures that there are."""
    import shoal
    from shoal.registry import load

    able = tuple(n for n in shoal.measures() if load("measures", n).can_minimise)
    return make_case(seed, tuple(shoal.algorithms()), able)


def run(seed: str, folder: Path) -> Outcome:
    """Run one random release and check all that comes out of it."""
    case = case_of(seed)
    through_files = random.Random(f"way {seed}").random() < 0.4
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcome = _from_file_to_file(case, folder) if through_files else _in_memory(case, folder)
    outcome.note = f"{case.options['algorithm']} {case.format if through_files else case.frame}"
    return outcome


def arguments(case: Case) -> dict[str, Any]:
    """Return the options of a case as `shoal.anonymize` takes them."""
    given: dict[str, Any] = {
        option: [c.name for c in case.named(role)] for role, option in ROLES.items()
    }
    quasi = case.named("quasi")
    given["hierarchies"] = {c.name: TREE for c in quasi if c.kind == "tree"}
    given["kinds"] = {c.name: "set" for c in quasi if c.kind == "set"}
    given["orders"] = {c.name: c.levels for c in quasi if c.kind == "ordinal" and c.dtype == "text"}
    models = [{"model" if k == "name" else k: v for k, v in m.items()} for m in case.privacy]
    return given | {"privacy": models, "style": {"numeric": case.style}} | case.options


def _in_memory(case: Case, folder: Path) -> Outcome:
    import shoal

    frame = build(case)
    try:
        release = shoal.anonymize(frame, case.k, **arguments(case))
    except shoal.ShoalError as error:
        return _refused(case, str(error))
    except Exception as error:
        return crashed(error)
    published = files.of_frame(release.frame)
    labels = release.groups.tolist()
    broken = broken_promises(case, published) + _cells(case, published, labels)
    leaked = leaks(case, published, files.layers_of_frame(release.frame), "the frame")
    certificate = json.dumps(release.certificate(), ensure_ascii=False).encode()
    leaked += leaks(case, published, [certificate], "the certificate")
    if not (broken or leaked):
        target = folder / f"out.{case.format}"
        address = f"sqlite:///{target}?table=safe" if case.format == "db" else target
        try:
            release.write(address)
        except shoal.ShoalError as error:
            return _refused(case, str(error))
        except Exception as error:
            return crashed(error)
        broken, leaked = _check_file(case, target, labels)
    return _outcome(broken, leaked)


def _cells(case: Case, published: Published, labels: list[int] | None) -> list[str]:
    # On a grid intervals are wider than their groups: they must cover them.
    on_grid = case.options.get("default_grid", True)
    if labels is None or on_grid or case.options["algorithm"] in WHOLE_COLUMNS:
        return not_from_rows(case, published)
    return wrong_cells(case, published, labels)


def _check_file(case: Case, target: Path, labels: list[int] | None) -> tuple[list[str], list[str]]:
    published = files.read(target, case.format)
    broken = broken_promises(case, published) + _cells(case, published, labels)
    leaked = leaks(case, published, files.layers(target.read_bytes()), case.format)
    return broken, leaked


def _from_file_to_file(case: Case, folder: Path) -> Outcome:
    rng = random.Random(f"files {case.seed}")
    for column in case.columns:
        if column.role == "quasi" and column.dtype == "enum":
            column.kind = "ordinal"  # in a file it is one, whatever frame the case has
    plain = all(column.dtype in ("i64", "f64", "text") for column in case.columns)
    name = rng.choice(("in.parquet", "in.arrow", "in.csv") if plain else ("in.parquet", "in.arrow"))
    source, target = folder / name, folder / f"out.{case.format}"
    if name == "in.csv":
        _as_text_files_can(case)
        write_input(case, source)
    elif name == "in.parquet":
        polars_frame(case).write_parquet(source)
    else:
        polars_frame(case).write_ipc(source)
    (folder / "job.toml").write_text(job_text(case), encoding="utf-8")
    rows = [";".join([leaf, *path, *["*"] * (3 - len(path))]) for leaf, path in tree_rows()]
    (folder / "tree.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    address = f"sqlite:///{target.name}?table=safe" if case.format == "db" else target.name
    words = ["anonymize", name, "-o", address, "--job", "job.toml"]
    words += ["--numeric-output", case.style, "--certificate", "certificate.json"]
    words += ["--replace"]
    if rng.random() < 0.15:
        words += ["--report", "report.html"]
    if rng.random() < 0.5:
        words += ["--quiet"]
    ran = run_command(words, folder)
    if ran.status in (1, 2):
        left = sorted(path.name for path in folder.iterdir())
        if any(each.startswith(("out", "cert", "report", ".shoal")) for each in left):
            return Outcome(BROKEN, [f"refused, but left {left}"])
        return _refused(case, ran.err.decode("utf-8", "replace"))
    if ran.status:
        return crashed(RuntimeError(f"exit status {ran.status}: {ran.err[-2000:]!r}"))
    broken, leaked = _check_file(case, target, None)
    published = files.read(target, case.format)
    for other in ("certificate.json", "report.html"):
        path = folder / other
        if path.exists():
            leaked += leaks(case, published, files.layers(path.read_bytes()), other)
    leaked += leaks(case, published, [ran.out, ran.err], "the streams")
    return _outcome(broken, leaked)


def _as_text_files_can(case: Case) -> None:
    """Take out what a CSV cannot say: empty beside missing, text like numbers, outer spaces."""
    for column in case.columns:
        if column.dtype == "text":
            column.cells = [
                None
                if not cell or cell.isspace() or cell.strip() in ("NA", "nan", "null")
                else f"n{cell.strip()}"
                if cell[0] in "015-t"
                else cell.strip()
                for cell in column.cells
            ]


def tree_rows() -> list[tuple[str, list[str]]]:
    """Return the tree as lines of a hierarchy file: every leaf with three levels above it."""
    made = []
    for leaf, path in tree_paths().items():
        made.append((leaf, path if len(path) == 2 else [path[0], path[0]]))
    return made


def job_text(case: Case) -> str:
    """Return the case as a job file."""
    plain = {k: v for k, v in case.options.items() if k not in ("weights", "bound", "grid")}
    lines = [f"{name} = {_toml(value)}" for name, value in {"k": case.k, **plain}.items()]
    for model in case.privacy:
        lines.append("[[privacy]]")
        for key, value in model.items():
            lines.append(f"{'model' if key == 'name' else key} = {_toml(value)}")
    weights, grids = case.options.get("weights", {}), case.options.get("grid", {})
    for column in case.columns:
        lines += [f"[columns.{column.name}]", f'role = "{JOB_ROLES.get(column.role, column.role)}"']
        if column.kind == "tree":
            lines.append('hierarchy = "tree.csv"')
        if column.kind == "set":
            lines.append('kind = "set"')
        if column.kind == "ordinal" and column.dtype == "text":
            lines.append(f"order = {_toml(column.levels)}")
        if column.name in weights:
            lines.append(f"weight = {weights[column.name]}")
        if column.name in grids:
            lines.append(f"grid = {_toml(grids[column.name])}")
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    return json.dumps(value)


def _refused(case: Case, message: str) -> Outcome:
    """An error is no place for a cell either."""
    from fuzz.bytes import Published

    leaked = leaks(case, Published([], []), [message.encode()], "the message")
    if "Traceback" in message or "panicked" in message:
        return Outcome("crashed", [message])
    return Outcome(LEAKED, leaked) if leaked else Outcome(REFUSED, [message.strip()[:300]])


def _outcome(broken: list[str], leaked: list[str]) -> Outcome:
    if broken:
        return Outcome(BROKEN, broken + leaked)
    return Outcome(LEAKED, leaked) if leaked else Outcome(HELD)
