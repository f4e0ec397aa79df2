"""Random releases with promises of other groups: knows, combinations, strata, shuffled cells.

Random tables with an option each that changes what a group is. What was written is counted again,
by sets: of each combination of columns that may be known, the rows that look alike; of each stratum
its own rows; of each shuffled group its columns one by one. Half go through memory and a file, half
through the command line.
"""

from __future__ import annotations

import json
import random
import warnings
from collections import Counter, defaultdict
from itertools import combinations
from typing import TYPE_CHECKING, Any

from fuzz import bytes as files
from fuzz.cells import canonical
from fuzz.checker import broken_in, broken_promises, not_from_rows
from fuzz.frames import aware, build, polars_frame, zoneinfo_names
from fuzz.leaks import leaks
from fuzz.parts import BROKEN, HELD, LEAKED, REFUSED, Outcome, crashed, refuses_its_own, run_command
from fuzz.releases import arguments, case_of, job_text, tree_rows

if TYPE_CHECKING:
    from pathlib import Path

    from fuzz.bytes import Published
    from fuzz.tables import Case

WAYS = ("knows", "knows", "combinations", "both", "within", "shuffled")
_OWN_SEARCH = ("algorithm", "max_suppression", "suppress_for", "refine", "block_rows", "bound")
"""Options that a release against attackers of limited knowledge cannot have."""


def run(seed: str, folder: Path) -> Outcome:
    """Release a random table with one of these promises, and count what was written."""
    rng = random.Random(f"narrower {seed}")
    case, way = case_of(seed), rng.choice(WAYS)
    asked = _asked(rng, case, way)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = (_in_memory if rng.random() < 0.6 else _in_files)(case, asked, folder)
        except Exception as error:
            return crashed(error)
    if isinstance(made, str):
        leaked = leaks(case, files.Published([], []), [made.encode()], "the message")
        if leaked:
            return Outcome(LEAKED, leaked, way)
        return Outcome(BROKEN if refuses_its_own(made) else REFUSED, [made[:300]], way)
    published, layers = made
    wrong = miscounted(case, published, asked)
    if wrong:
        return Outcome(BROKEN, wrong, way)
    leaked = leaks(case, published, layers, "the file")
    return Outcome(LEAKED, leaked, way) if leaked else Outcome(HELD, note=way)


def _asked(rng: random.Random, case: Case, way: str) -> dict[str, Any]:
    """Return the option that is added; the case loses what cannot go with it."""
    names = [column.name for column in case.named("quasi")]
    if way == "within":
        plain = [c.name for c in case.named("quasi") if c.kind in ("flat", "tree", "ordinal")]
        case.options.pop("bound", None)
        return {"within": rng.choice(plain or names)}
    if way == "shuffled":
        case.style = "interval"
        for name in ("grid", "default_grid"):
            case.options.pop(name, None)
        case.options["default_grid"] = False
        return {"style": {"cells": "shuffled"}}
    for name in _OWN_SEARCH:
        case.options.pop(name, None)
    if case.style in ("mean", "median"):
        case.style = "interval"
    made: dict[str, Any] = {}
    if way in ("knows", "both"):
        made["knows"] = rng.choice((1, 2, 2, 3))
    if way in ("combinations", "both"):
        made["combinations"] = [
            sorted(rng.sample(names, rng.randint(1, len(names)))) for _ in range(rng.choice((1, 2)))
        ]
    return made


def _in_memory(
    case: Case, asked: dict[str, Any], folder: Path
) -> str | tuple[Published, list[bytes]]:
    import shoal

    target = folder / f"out.{case.format}"
    address = f"sqlite:///{target}?table=safe" if case.format == "db" else target
    try:
        release = shoal.anonymize(build(case), case.k, **{**arguments(case), **asked})
        wrong = miscounted(case, files.of_frame(release.frame), asked)
        if wrong:
            raise AssertionError(wrong)
        release.write(address)
    except shoal.ShoalError as error:
        return str(error)
    certificate = json.dumps(release.certificate(), ensure_ascii=False).encode()
    return files.read(target, case.format), [*files.layers(target.read_bytes()), certificate]


def _in_files(
    case: Case, asked: dict[str, Any], folder: Path
) -> str | tuple[Published, list[bytes]]:
    for column in case.columns:
        if column.role == "quasi" and column.dtype == "enum":
            column.kind = "ordinal"  # in a file it is one, whatever frame the case has
    polars_frame(case).write_parquet(folder / "in.parquet")
    said = {name: value for name, value in asked.items() if name != "style"}
    lines = [f"{name} = {json.dumps(value)}" for name, value in said.items()]
    (folder / "job.toml").write_text("\n".join([*lines, job_text(case)]), encoding="utf-8")
    rows = [";".join([leaf, *path, *["*"] * (3 - len(path))]) for leaf, path in tree_rows()]
    (folder / "tree.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    name = f"out.{case.format}"
    address = f"sqlite:///{name}?table=safe" if case.format == "db" else name
    words = ["anonymize", "in.parquet", "-o", address, "--job", "job.toml", "--quiet"]
    words += ["--certificate", "certificate.json"]
    words += ["--cells", "shuffled"] if "style" in asked else ["--numeric-output", case.style]
    ran = run_command(words, folder)
    if ran.status in (1, 2):
        return ran.err.decode("utf-8", "replace")
    if ran.status:
        raise RuntimeError(f"exit status {ran.status}: {ran.err[-2000:]!r}")
    verified = run_command(
        ["verify", address, "--certificate", "certificate.json", "--json"], folder
    )
    if verified.status:
        raise RuntimeError(f"verify ended with {verified.status}: {verified.out[-2000:]!r}")
    data, certificate = (folder / name).read_bytes(), (folder / "certificate.json").read_bytes()
    return files.read(folder / name, case.format), [*files.layers(data), certificate]


# -- the count -----------------------------------------------------------------------------------


def miscounted(case: Case, published: Published, asked: dict[str, Any]) -> list[str]:
    """Say what a release of a random table does not keep; nothing means that all is well."""
    if not published.rows:
        return ["the release has no rows"]
    if "style" in asked:
        return _shuffled(case, published)
    if "within" in asked:
        return [*broken_promises(case, published), *_strata(case, published, asked["within"])]
    return [*_known(case, published, asked), *not_from_rows(case, published)]


def _known(case: Case, published: Published, asked: dict[str, Any]) -> list[str]:
    """Count every combination of columns that may be known."""
    names = [column.name for column in case.named("quasi")]
    known = [tuple(each) for each in asked.get("combinations", ())]
    if "knows" in asked:
        most = min(asked["knows"], len(names))
        known += [one for size in range(1, most + 1) for one in combinations(names, size)]
    found = []
    for one in known:
        classes: dict[Any, list[int]] = defaultdict(list)
        for row, cells in enumerate(published.rows):
            classes[tuple(map(repr, _cells_of(published, cells, one)))].append(row)
        smallest = min(map(len, classes.values()))
        if smallest < case.k:
            found.append(f"{one}: a class of {smallest}, promised {case.k}")
        found += [f"{one}: {each}" for each in broken_in(case, published, list(classes.values()))]
    return found


def _cells_of(published: Published, cells: tuple[Any, ...], names: tuple[str, ...]) -> list[Any]:
    """Return the cells of these columns, which may be published as two."""
    chosen = []
    for name in names:
        own = [name] if name in published.names else [f"{name}_low", f"{name}_high"]
        chosen += [cells[published.names.index(each)] for each in own]
    return chosen


def _strata(case: Case, published: Published, name: str) -> list[str]:
    """See that the column of strata is published as it is."""
    column = next(each for each in case.columns if each.name == name)
    cells = aware(column) if column.dtype in zoneinfo_names() else column.cells
    true = {repr(canonical(column, cell, published)) for cell in cells}
    if name not in published.names:
        return [f"{name} is not published as one column"]
    shown = {repr(canonical(column, cell, published)) for cell in published.column(name)}
    extra = sorted(shown - true)
    return [f"{name} is published as {extra[:2]}, which no row has"] if extra else []


def _shuffled(case: Case, published: Published) -> list[str]:
    """Count groups by their number, and see that every column holds cells of as many rows."""
    if published.names[0] != "group":
        return [f"the first column is {published.names[0]!r} and not the group"]
    groups: dict[str, list[int]] = defaultdict(list)
    for row, whole in enumerate(published.rows):
        groups[str(whole[0])].append(row)
    smallest = min(map(len, groups.values()))
    found = [f"k is {smallest}, promised {case.k}"] if smallest < case.k else []
    found += broken_in(case, published, list(groups.values()))
    for column in case.named("quasi"):
        cells = aware(column) if column.dtype in zoneinfo_names() else column.cells
        true = Counter(repr(canonical(column, cell, published)) for cell in cells)
        shown = Counter(
            repr(canonical(column, c, published)) for c in published.column(column.name)
        )
        if shown - true:
            found.append(f"{column.name} shows cells that no row has: {list(shown - true)[:2]}")
    return found
