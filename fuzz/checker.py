"""The second opinion: does what was written keep its promises, and was it made from the input?

Everything is derived from the description of the table, from the cells that another library has
read, and from bytes. Nothing of the package is imported, here or in what is imported here; a test
holds that.

Each function returns sentences about what is wrong; none means that all is well. The sentences
show cells of random tables, which belong to nobody.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter, defaultdict
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from fuzz.cells import (
    EVERYTHING,
    as_styled,
    canonical,
    closure,
    comparable,
    is_missing,
    listed,
    seen_in,
)
from fuzz.frames import aware, zoneinfo_names
from fuzz.tables import tree_paths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fuzz.bytes import Published
    from fuzz.tables import Case, Column

TOLERANCE = 1e-8
NOTHING = {"", "?", "-", "--", ".", "*", "na", "n/a", "#n/a", "nan", "null", "none", "missing"}
NOTHING |= {"unknown"}
NUMBER = re.compile(r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)")


# -- what a reader finds ------------------------------------------------------------------------


def keys_of(case: Case, published: Published) -> list[str]:
    """Return the published columns that the quasi-identifiers became."""
    keys = []
    for column in case.named("quasi"):
        bounds = [f"{column.name}_low", f"{column.name}_high"]
        keys += [column.name] if column.name in published.names else bounds
    return keys


def groups_of(case: Case, published: Published) -> list[list[int]]:
    """Return the rows of each group: equal in every published byte of the quasi-identifiers."""
    places = [published.names.index(key) for key in keys_of(case, published)]
    groups: dict[Any, list[int]] = defaultdict(list)
    for number, row in enumerate(published.rows):
        groups[tuple(_exact(row[place]) for place in places)].append(number)
    return list(groups.values())


def _exact(cell: Any) -> Any:
    """A key that differs wherever a reader could tell two cells apart."""
    if cell is None or isinstance(cell, (str, bytes)):
        return cell
    return type(cell).__name__, repr(cell)


# -- promises -----------------------------------------------------------------------------------


def broken_promises(
    case: Case, published: Published, whose: Sequence[Any] | None = None
) -> list[str]:
    """Check k and every privacy model on the cells that were read.

    Args:
        case: what was promised.
        published: what was read.
        whose: the person of each published row, where people have several: k counts people then,
            and a value counts once for a person. Every row is a person unless given.
    """
    if not published.rows:
        return ["the release has no rows"]
    whose = range(len(published.rows)) if whose is None else whose
    groups = groups_of(case, published)
    smallest = min(len({whose[row] for row in rows}) for rows in groups)
    found = []
    if smallest < case.k:
        found.append(f"k is {smallest}, promised {case.k}")
    return found + broken_in(case, published, groups, whose)


def broken_in(
    case: Case,
    published: Published,
    groups: list[list[int]],
    whose: Sequence[Any] | None = None,
) -> list[str]:
    """Check every privacy model in groups of rows; the arguments are those of the above."""
    whose = range(len(published.rows)) if whose is None else whose
    found = []
    for model in case.privacy:
        for column in case.named("sensitive"):
            if model.get("column") in (None, column.name):
                for values in readings(column, published):
                    pairs = list(zip(whose, values, strict=True))
                    found += _breaks(model, column, pairs, groups)
    return found


def readings(column: Column, published: Published) -> list[list[Any]]:
    """Return the values of a sensitive column as written, and as a person reads them.

    None is missing. A promise must hold for both.
    """
    written = [canonical(column, cell, published) for cell in published.column(column.name)]
    read = [cleaned(value) if isinstance(value, str) else value for value in written]
    return [written] if written == read else [written, read]


def cleaned(text: str) -> Any:
    """Return what a person takes a text for: letter case, blanks and zeros do not count."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    visible = (c for c in folded if c.isspace() or unicodedata.category(c)[0] != "C")
    plain = " ".join("".join(visible).split())
    if len(plain) > 1 and plain[0] == plain[-1] == '"':
        plain = plain[1:-1].strip()
    if plain in NOTHING:
        return None
    if NUMBER.fullmatch(plain):
        return str(Decimal(plain).normalize() + 0)
    return plain


def _breaks(
    model: dict[str, Any], column: Column, pairs: list[tuple[Any, Any]], groups: list[list[int]]
) -> list[str]:
    whole = Counter(value for _, value in set(pairs))
    order = _ordered(column, whole)
    for rows in groups:
        group = Counter(value for _, value in {pairs[row] for row in rows})
        if not keeps(model, group, whole, order):
            return [f"{model} of {column.name} is broken by {sorted(group.values())}"]
    return []


def keeps(
    model: dict[str, Any], group: Counter[Any], whole: Counter[Any], order: list[Any]
) -> bool:
    """Return whether the values of one group keep a promise."""
    size, counts = sum(group.values()), sorted(group.values(), reverse=True)
    if model["name"] == "alpha-k":
        return counts[0] <= model["alpha"] * size + TOLERANCE
    if model["name"] == "t-closeness":
        return _distance(model["distance"], group, whole, order) <= model["t"] + TOLERANCE
    l = model["l"]
    if model["kind"] == "distinct":
        return len(counts) >= l
    if model["kind"] == "frequency":
        return counts[0] * l <= size + TOLERANCE * size
    if model["kind"] == "entropy":
        entropy = -sum(c / size * math.log(c / size) for c in counts)
        return entropy >= math.log(l) - TOLERANCE
    return counts[0] < model["c"] * sum(counts[l - 1 :])


def _distance(kind: str, group: Counter[Any], whole: Counter[Any], order: list[Any]) -> float:
    size, n = sum(group.values()), sum(whole.values())
    gaps = [group[value] / size - whole[value] / n for value in order]
    if kind == "equal":
        return sum(map(abs, gaps)) / 2
    total, moved = 0.0, 0.0
    for gap in gaps[:-1]:
        total += gap
        moved += abs(total)
    return moved / max(len(order) - 1, 1)


def _ordered(column: Column, whole: Counter[Any]) -> list[Any]:
    known = [value for value in whole if value is not None]
    if column.dtype == "enum":
        places = {cleaned(level): place for place, level in enumerate(column.levels)}
        known.sort(key=lambda value: places[cleaned(value)])
    else:
        known.sort(key=lambda value: (str(type(value)), value))
    return known + [None] * (None in whole)


# -- the whole table ----------------------------------------------------------------------------


def wrong_cells(case: Case, published: Published, labels: list[int]) -> list[str]:
    """Compare the whole table with what the groups of the run must be published as.

    Args:
        case: the table.
        published: what was read.
        labels: the group of each input row, negative if it is left out; the run's own account,
            which is taken as a witness only: if it is wrong, this says so.
    """
    members: dict[int, list[int]] = defaultdict(list)
    for row, label in enumerate(labels):
        if label >= 0:
            members[label].append(row)
    kept = case.named("sensitive", "insensitive")
    cells = {c.name: aware(c) if c.dtype in zoneinfo_names() else c.cells for c in case.columns}
    expected: Counter[Any] = Counter()
    blurred = case.style in ("bounds", "struct", "mean", "median")
    for rows in members.values():
        key = []
        for column in case.named("quasi"):
            made = closure(column, [cells[column.name][row] for row in rows])
            own = [cells[column.name][row] for row in rows]
            if column.kind == "flat" and made == EVERYTHING:
                made = listed(column, own, case.k)
            key.append(as_styled(case, column, made, own, published.textual))
        for row in rows:
            rest = tuple(
                comparable(canonical(c, cells[c.name][row], published), published) for c in kept
            )
            expected[tuple(key), rest] += 1
    found: Counter[Any] = Counter()
    for row in published.rows:
        named = dict(zip(published.names, row, strict=True))
        key = [seen_in(case, column, named, published, blurred) for column in case.named("quasi")]
        rest = tuple(comparable(canonical(c, named[c.name], published), published) for c in kept)
        found[tuple(key), rest] += 1
    if expected == found:
        return []
    extra, lacking = found - expected, expected - found
    return [f"published but not made from rows: {_few(extra)}; lacking: {_few(lacking)}"]


def _few(counted: Counter[Any]) -> str:
    return str(list(counted.items())[:2])


# -- an assignment exists -----------------------------------------------------------------------


def not_from_rows(case: Case, published: Published) -> list[str]:
    """Say whether the published rows cannot all come from different rows of the input.

    Without the run's own account of its groups: a published row can come from an input row if the
    columns that are kept are equal and every published cell covers the cell of the input. There
    must be an assignment that uses no input row twice.
    """
    kept = case.named("sensitive", "insensitive")
    quasi = case.named("quasi")
    cells = {c.name: aware(c) if c.dtype in zoneinfo_names() else c.cells for c in case.columns}
    rows: dict[Any, list[int]] = defaultdict(list)
    for row in range(case.n_rows):
        rows[_kept_key(kept, {c.name: cells[c.name][row] for c in kept}, published)].append(row)
    wanted: dict[Any, Counter[Any]] = defaultdict(Counter)
    meaning: dict[Any, list[Any]] = {}
    for row in published.rows:
        named = dict(zip(published.names, row, strict=True))
        made = [seen_in(case, c, named, published, blurred=False) for c in quasi]
        key = repr(made)
        meaning[key] = made
        wanted[_kept_key(kept, named, published)][key] += 1
    for kept_key, slots in wanted.items():
        candidates = rows.get(kept_key, [])
        edges = {
            key: [
                row
                for row in candidates
                if all(
                    covers(case, column, cell, cells[column.name][row])
                    for column, cell in zip(quasi, meaning[key], strict=True)
                )
            ]
            for key in slots
        }
        if not _assignable(slots, edges):
            return [f"rows with {kept_key!r} cannot come from the {len(candidates)} of the input"]
    return []


def _kept_key(kept: list[Column], named: dict[str, Any], published: Published) -> tuple[Any, ...]:
    return tuple(comparable(canonical(c, named[c.name], published), published) for c in kept)


def covers(case: Case, column: Column, made: Any, cell: Any) -> bool:
    """Return whether what was published can stand for a cell of the input."""
    if made == EVERYTHING:
        return True
    intervals = column.kind in ("numeric", "date", "datetime", "ordinal")
    if column.kind == "numeric" and case.style in ("mean", "median"):
        return True  # a number inside the span of its group: nothing to hold it against
    if made is None:
        bounds = intervals and case.style in ("bounds", "struct")
        return bounds or is_missing(cell) or cell == ""
    if is_missing(cell):
        return False
    own = as_styled(case, column, closure(column, [cell]), [cell])
    if intervals:
        return made[0] <= own[0] and own[1] <= made[1]
    if column.kind == "set":
        return own <= made
    if column.kind == "flat" and isinstance(made, frozenset):
        return own in made
    if column.kind == "tree":
        return made == own or made in tree_paths()[own]
    return made == own


def _assignable(slots: Counter[Any], edges: dict[Any, list[int]]) -> bool:
    """Return whether every slot gets as many rows of its own as it needs (augmenting paths)."""
    taken: dict[int, Any] = {}

    def place(key: Any, seen: set[int]) -> bool:
        for row in edges[key]:
            if row in seen:
                continue
            seen.add(row)
            if row not in taken or place(taken[row], seen):
                taken[row] = key
                return True
        return False

    return all(place(key, set()) for key, count in slots.items() for _ in range(count))
