"""Random trees of tables, from files to files, joined and counted by sets.

Tables of people and of what hangs from them, up to three levels deep, with lists of codes, missing
cells, rows that hang from nobody, and names and keys that are planted. What was written is read by
other libraries; the checker writes down every choice of known events of every person.
"""

from __future__ import annotations

import json
import random
import warnings
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any

import polars as pl

from fuzz import bytes as files
from fuzz.parts import BROKEN, HELD, LEAKED, REFUSED, Outcome, crashed, refuses_its_own, run_command
from fuzz.tables import GRADES, tree_paths

if TYPE_CHECKING:
    from pathlib import Path

    from fuzz.bytes import Published

PLANTED = "planted-"
Told = tuple[Any, ...]


def run(seed: str, folder: Path) -> Outcome:
    """Publish a random tree of tables, and count what can be found in what was written."""
    rng = random.Random(seed)
    tables, said = _tables(rng)
    k, m, form = rng.choice((2, 2, 3, 4)), rng.choice((1, 2, 2, 3)), rng.choice(("csv", "parquet"))
    if form == "parquet":  # lists are lists there
        tables = {name: _as_lists(frame) for name, frame in tables.items()}
    note = f"{len(tables)} tables, {m} events"
    job = _job(tables, said, {"k": k, "knows_events": m, "seed": rng.randrange(2**31)}, form)
    (folder / "in").mkdir()
    for name, frame in tables.items():
        write = frame.write_csv if form == "csv" else frame.write_parquet
        write(folder / "in" / f"{name}.{form}")
    (folder / "job.toml").write_text(job, encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ran = run_command(["anonymize", "--job", "job.toml", "--quiet"], folder)
    message = ran.err.decode("utf-8", "replace")
    if PLANTED in message + ran.out.decode("utf-8", "replace"):
        return Outcome(LEAKED, ["a message shows what was planted"], note)
    left = sorted(path.name for path in folder.iterdir() if path.name not in ("in", "job.toml"))
    if ran.status in (1, 2):
        if left:
            return Outcome(BROKEN, [f"refused, but left {left}"], note)
        return Outcome(BROKEN if refuses_its_own(message) else REFUSED, [message[:300]], note)
    if ran.status:
        return crashed(RuntimeError(f"exit status {ran.status}: {message[-2000:]!r}"), note)
    written = {path.stem: path for path in (folder / "safe").iterdir()}
    if set(written) != set(tables):
        return Outcome(BROKEN, [f"{sorted(written)} were written"], note)
    published = {name: files.read(path, form) for name, path in written.items()}
    others = [folder / "certificate.json", folder / "report.html", *written.values()]
    for path in others:
        if any(PLANTED.encode() in layer for layer in files.layers(path.read_bytes())):
            return Outcome(LEAKED, [f"{path.name} shows what was planted"], note)
    wrong = miscounted(published, said, k, m)
    checked = run_command(["verify", "safe", "--job", "job.toml", "--json"], folder)
    if checked.status:
        wrong.append(f"verify ended with {checked.status}: {checked.err[-300:]!r}")
    return Outcome(BROKEN, wrong, note) if wrong else Outcome(HELD, note=note)


def _tables(rng: random.Random) -> tuple[dict[str, pl.DataFrame], dict[str, dict[str, Any]]]:
    """Return the tables, and what is said of each: key, link, above and its quasi-identifiers."""
    n = rng.randint(6, 40)
    tables = {"t0": _table(rng, "t0", n)}
    said: dict[str, dict[str, Any]] = {"t0": {}}
    for level in range(1, rng.choice((1, 2, 2, 3, 4))):
        name, above = f"t{level}", f"t{rng.randrange(level)}"
        keys = tables[above]["key"].to_list()
        size = max(rng.choice((0, 1, 2)) * len(keys), 1)
        links: list[str | None] = [rng.choice(keys) for _ in range(size)]
        if rng.random() < 0.2:
            links[0] = rng.choice((None, f"{PLANTED}nobody"))
        frame = _table(rng, name, size)
        tables[name] = frame.with_columns(pl.Series("up", links, pl.String))
        said[name] = {"link": "up", "above": above}
    for name, each in said.items():
        each["key"] = "key" if any(o.get("above") == name for o in said.values()) else None
        columns = [c for c in tables[name].columns if c[0] == "q"]
        each["quasi"] = [c for c in columns if c != "q_codes"]
        each["items"] = [c for c in columns if c == "q_codes"]
    return tables, said


def _table(rng: random.Random, name: str, n: int) -> pl.DataFrame:
    leaves = list(tree_paths())
    makers: dict[str, Any] = {
        "q_whole": lambda: rng.randrange(12),
        "q_flat": lambda: rng.choice(("u", "v", "w", "x", "rare" if rng.random() < 0.1 else "v")),
        "q_tree": lambda: rng.choice(leaves),
        "q_grade": lambda: rng.choice(GRADES),
        "q_codes": lambda: "|".join(rng.sample(leaves, rng.choice((1, 1, 2, 3)))),
    }
    chosen = rng.sample(sorted(makers), rng.choice((1, 1, 2)))
    if name == "t0" and chosen == ["q_codes"]:
        chosen.append("q_flat")
    share = rng.choice((0, 0, 0.1))
    columns: dict[str, list[Any]] = {"key": [f"{PLANTED}{name}-{row}" for row in range(n)]}
    for each in chosen:
        columns[each] = [None if rng.random() < share else makers[each]() for _ in range(n)]
        columns[each][0] = columns[each][0] or makers[each]()
    columns["name"] = [f"{PLANTED}name-{rng.randrange(10**9)}" for _ in range(n)]
    return pl.DataFrame(columns)


def _as_lists(frame: pl.DataFrame) -> pl.DataFrame:
    if "q_codes" not in frame.columns:
        return frame
    return frame.with_columns(pl.col("q_codes").str.split("|"))


def _job(
    tables: dict[str, pl.DataFrame], said: dict[str, dict[str, Any]], options: dict[str, Any],
    form: str,
) -> str:  # fmt: skip
    lines = [f"{name} = {value}" for name, value in options.items()]
    lines += ["[input]", 'path = "in"', "[output]", 'table = "safe"', f'format = "{form}"']
    lines += ['certificate = "certificate.json"', 'report = "report.html"']
    for name, frame in tables.items():
        own = said[name]
        lines.append(f"[tables.{name}]")
        if own["key"]:
            lines.append('key = "key"')
        if "above" in own:
            lines += [f'of = "{own["above"]}.key"', 'link = "up"']
        for column in frame.columns:
            if column == own.get("link") or (column == "key" and own["key"]):
                continue
            lines.append(f"[tables.{name}.columns.{column}]")
            role = "quasi-identifier" if column[0] == "q" else "identifier"
            lines.append(f'role = "{role}"')
            if column == "q_codes":
                lines.append('kind = "items"')
            if column == "q_grade":
                lines += ['kind = "ordinal"', f"order = {json.dumps(GRADES)}"]
            if column == "q_flat":
                lines.append('kind = "flat"')
            if column in ("q_tree", "q_codes"):
                lines.append('hierarchy = {rule = "prefix", keep = [2, 1]}')
    return "\n".join(lines) + "\n"


# -- the count -----------------------------------------------------------------------------------


def miscounted(
    published: dict[str, Published], said: dict[str, dict[str, Any]], k: int, m: int
) -> list[str]:
    """Say what tables that were read do not keep; nothing means that all is well."""
    people = _histories(published, said)
    if isinstance(people, str):
        return [people]
    if not people:
        return ["nobody is published"]
    for size in range(m + 1):
        who: dict[Told, set[int]] = {}
        for number, (cells, events) in enumerate(people):
            for chosen in combinations(events, size):
                who.setdefault((cells, _together(chosen)), set()).add(number)
        fewest = min((len(each) for each in who.values()), default=k)
        if fewest < k:
            return [f"who knows {size} events finds {fewest}, promised {k}"]
    return []


def _histories(
    published: dict[str, Published], said: dict[str, dict[str, Any]]
) -> str | list[tuple[Told, list[Told]]]:
    """Return of each person the cells of the first table and the events; or what is wrong."""
    people: list[tuple[Told, list[Told]]] = []
    known: dict[str, dict[Any, tuple[int, Told]]] = {}
    for name, own in said.items():  # each table after the one above it
        table = published[name]
        known[name] = {}
        for place in range(len(table.rows)):
            row = dict(zip(table.names, table.rows[place], strict=True))
            cells = tuple(repr(row[each]) for each in own["quasi"])
            if "above" not in own:
                person, path = len(people), ()
                people.append((cells, []))
            else:
                found = known[own["above"]].get(row["up"])
                if found is None:
                    return f"a row of {name} hangs from nothing"
                person, path = found[0], (*found[1], ((name, cells), (name, place)))
                people[person][1].append(path)
            for column in own["items"]:
                for code in _codes(row[column]):
                    told = ((f"{name}.{column}", (code,)), (name, place, code))
                    people[person][1].append((*path, told))
            if own["key"]:
                if row["key"] in known[name]:
                    return f"a key of {name} stands twice"
                known[name][row["key"]] = (person, path)
    return people


def _codes(cell: Any) -> list[str]:
    if cell is None or cell == "":
        return []
    return cell.split("|") if isinstance(cell, str) else list(map(str, cell))


def _together(events: tuple[Told, ...]) -> Told:
    """Return what events tell together: their cells, and which rows above they share."""

    def listed(order: tuple[Told, ...]) -> Told:
        cells = tuple(tuple(told for told, _ in event) for event in order)
        shared = tuple(
            len({row for _, row in one} & {row for _, row in other})
            for one, other in combinations(order, 2)
        )
        return cells, shared

    return min(listed(order) for order in permutations(events))
