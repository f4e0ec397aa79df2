"""The second opinion: does what was written keep its promises, and does it give anything away?

Everything is derived from the description of the table, from the cells that another library has
read, and from bytes. Nothing of the package is imported, here or in what is imported here; a test
holds that.

Each function returns sentences about what is wrong; none means that all is well. The sentences
show cells of random tables, which belong to nobody.
"""

from __future__ import annotations

import datetime as dt
import math
import re
import struct
import unicodedata
from collections import Counter, defaultdict
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from fuzz.frames import aware, zoneinfo_names
from fuzz.tables import tree_paths

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fuzz.bytes import Published
    from fuzz.tables import Case, Column

EVERYTHING = ("everything",)
TOLERANCE = 1e-8
NOTHING = {"", "?", "-", "--", ".", "*", "na", "n/a", "#n/a", "nan", "null", "none", "missing"}
NOTHING |= {"unknown"}
NUMBER = re.compile(r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)")
SHORTEST = 8  # letters of a text that is looked for
LARGE = 10**9  # a whole number above this does not occur by chance


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


def broken_promises(case: Case, published: Published) -> list[str]:
    """Check k and every privacy model on the cells that were read."""
    if not published.rows:
        return ["the release has no rows"]
    groups = groups_of(case, published)
    smallest = min(map(len, groups))
    found = []
    if smallest < case.k:
        found.append(f"k is {smallest}, promised {case.k}")
    for model in case.privacy:
        for column in case.named("sensitive"):
            if model.get("column") in (None, column.name):
                for values in readings(column, published):
                    found += _breaks(model, column, values, groups)
    return found


def readings(column: Column, published: Published) -> list[list[Any]]:
    """Return the values of a sensitive column as written, and as a person reads them.

    None is missing. A promise must hold for both.
    """
    written = [canonical(column, cell, published) for cell in published.column(column.name)]
    cleaned = [_cleaned(value) if isinstance(value, str) else value for value in written]
    return [written] if written == cleaned else [written, cleaned]


def _cleaned(text: str) -> Any:
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
    model: dict[str, Any], column: Column, values: list[Any], groups: list[list[int]]
) -> list[str]:
    whole = Counter(values)
    order = _ordered(column, whole)
    for rows in groups:
        group = Counter(values[row] for row in rows)
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
        places = {_cleaned(level): place for place, level in enumerate(column.levels)}
        known.sort(key=lambda value: places[_cleaned(value)])
    else:
        known.sort(key=lambda value: (str(type(value)), value))
    return known + [None] * (None in whole)


# -- cells --------------------------------------------------------------------------------------


def canonical(column: Column, cell: Any, published: Published | None) -> Any:
    """Return a cell of a column that is published as it is, the same for every format."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return None
    if cell == "" and published is not None and published.textual:
        return None
    dtype = column.dtype
    if dtype in ("i64", "i8", "u32", "f64", "f32", "dec"):
        return _number(cell, dtype)
    if dtype == "bool":
        return cell in (True, 1, "true", "True", "TRUE")
    if dtype == "date":
        return _moment(cell).date()
    if dtype == "time" or dtype in zoneinfo_names():
        return _moment(cell)
    return cell


def _number(cell: Any, dtype: str) -> Decimal | None:
    if isinstance(cell, float) and math.isnan(cell):
        return None
    if isinstance(cell, str) and cell.lower() in ("nan", "=#num!", "#num!"):
        return None
    if dtype == "f32":
        number = Decimal(repr(struct.unpack("f", struct.pack("f", float(cell)))[0]))
    elif dtype == "f64":
        number = Decimal(f"{float(cell):.10g}")  # a spreadsheet keeps 15 digits
    else:
        number = Decimal(str(cell))
    return number.normalize() + 0


def _moment(cell: Any) -> dt.datetime:
    """Return a moment in UTC, in the milliseconds that every format keeps."""
    if isinstance(cell, str):
        cell = dt.datetime.fromisoformat(cell)
    if isinstance(cell, dt.date) and not isinstance(cell, dt.datetime):
        cell = dt.datetime(cell.year, cell.month, cell.day)
    if cell.tzinfo is not None:
        cell = cell.astimezone(dt.UTC).replace(tzinfo=None)
    return cell


# -- what a group of values must be published as ------------------------------------------------


def closure(column: Column, values: Iterable[Any]) -> Any:
    """Return what the values of a group have in common, by definition."""
    cells = list(values)
    present = [cell for cell in cells if not _is_missing(cell)]
    if not present:
        return None
    if len(present) < len(cells):
        return EVERYTHING
    kind = column.kind
    if kind in ("numeric", "date", "datetime"):
        places = [_place(column, cell) for cell in present]
        return min(places), max(places)
    if kind == "ordinal":
        ranks = [column.levels.index(cell) for cell in present]
        return min(ranks), max(ranks)
    if kind == "set":
        return frozenset(present)
    labels = {_label(cell) for cell in present}
    if len(labels) == 1:
        return labels.pop()
    if kind == "tree":
        paths = tree_paths()
        common = [node for node in paths[present[0]] if all(node in paths[v] for v in present)]
        return common[0] if common else EVERYTHING
    return EVERYTHING


def _place(column: Column, cell: Any) -> Any:
    if column.kind == "numeric":
        return _number(cell, column.dtype)
    return _moment(cell).date() if column.kind == "date" else _moment(cell)


def _label(cell: Any) -> str:
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return str(cell)


def _is_missing(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def published_closure(case: Case, column: Column, row: dict[str, Any], textual: bool) -> Any:
    """Return what the published cells of a quasi-identifier say, in the words of `closure`."""
    name = column.name
    intervals = column.kind in ("numeric", "date", "datetime", "ordinal")
    if intervals and case.style == "bounds":
        return _bounds(column, row[f"{name}_low"], row[f"{name}_high"], textual)
    cell = row[name]
    if intervals and case.style == "struct":
        return _bounds(column, cell and cell["low"], cell and cell["high"], textual)
    if cell is None or (textual and cell == ""):
        return None
    if not intervals:
        return _text_closure(column, cell)
    if cell == "*":
        return EVERYTHING
    low, high = _ends(cell)
    return _parsed(column, low), _parsed(column, high)


def _ends(cell: Any) -> tuple[Any, Any]:
    if not (isinstance(cell, str) and cell.startswith("[") and cell.endswith("]")):
        return cell, cell
    low, _, high = cell[1:-1].partition(" to " if " to " in cell else "-")
    return low, high


def _text_closure(column: Column, cell: Any) -> Any:
    if cell == "*":
        return EVERYTHING
    if column.kind == "set":
        many = cell.startswith("{") and cell.endswith("}")
        return frozenset(cell[1:-1].split(", ") if many else [cell])
    return cell


def _bounds(column: Column, low: Any, high: Any, textual: bool) -> Any:
    if low is None or (textual and low == ""):
        return None  # suppressed or missing: published alike
    return _parsed(column, low), _parsed(column, high)


def _parsed(column: Column, cell: Any) -> Any:
    if column.kind == "ordinal":
        return column.levels.index(cell)
    try:
        return _place(column, cell)
    except (ValueError, InvalidOperation, TypeError):
        return ("unreadable", cell)


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
            key.append(_as_styled(case, column, made, own, published.textual))
        for row in rows:
            rest = tuple(
                _comparable(canonical(c, cells[c.name][row], published), published) for c in kept
            )
            expected[tuple(key), rest] += 1
    found: Counter[Any] = Counter()
    for row in published.rows:
        named = dict(zip(published.names, row, strict=True))
        key = [_seen(case, column, named, published, blurred) for column in case.named("quasi")]
        rest = tuple(_comparable(canonical(c, named[c.name], published), published) for c in kept)
        found[tuple(key), rest] += 1
    if expected == found:
        return []
    extra, lacking = found - expected, expected - found
    return [f"published but not made from rows: {_few(extra)}; lacking: {_few(lacking)}"]


def _comparable(value: Any, published: Published) -> Any:
    if isinstance(value, dt.datetime):
        return value.replace(microsecond=0)
    return None if published.textual and value == "" else value


def _as_styled(
    case: Case, column: Column, made: Any, cells: list[Any], textual: bool = False
) -> Any:
    """Return a closure as the style publishes it."""
    intervals = column.kind in ("numeric", "date", "datetime", "ordinal")
    if intervals and case.style in ("bounds", "struct"):
        return None if made == EVERYTHING else _second(made)
    if column.kind == "numeric" and case.style in ("mean", "median"):
        if made in (None, EVERYTHING):
            return None
        numbers = sorted(float(cell) for cell in cells)
        half = len(numbers) // 2
        middle = (numbers[half] + numbers[-half - 1]) / 2
        return _rounded(math.fsum(numbers) / len(numbers) if case.style == "mean" else middle)
    if column.kind == "flat" and made == "":
        return None if textual else made
    return _second(made)


def _seen(
    case: Case, column: Column, named: dict[str, Any], published: Published, blurred: bool
) -> Any:
    if blurred and column.kind == "numeric" and case.style in ("mean", "median"):
        cell = named[column.name]
        return None if cell is None or cell == "" else _rounded(float(cell))
    return _second(published_closure(case, column, named, published.textual))


def _second(made: Any) -> Any:
    if isinstance(made, tuple) and isinstance(made[0], dt.datetime):
        return tuple(each.replace(microsecond=0) for each in made)
    return made


def _rounded(number: float) -> str:
    return f"{number + 0.0:.5g}".replace("-0", "0") if abs(number) < 1e-9 else f"{number:.5g}"


def _few(counted: Counter[Any]) -> str:
    return str(list(counted.items())[:2])


# -- leaks --------------------------------------------------------------------------------------


def secrets_of(case: Case, published: Published) -> tuple[list[bytes], list[bytes]]:
    """Return the texts and the packed numbers of the input that no published cell shows."""
    shown = "\n".join(_shown(cell) for row in published.rows for cell in row)
    texts: set[str] = set()
    numbers: set[Any] = set()
    for column in case.columns:
        for cell in (*column.cells, *column.hidden.values(), *column.levels):
            if isinstance(cell, str):
                if len(cell) >= SHORTEST:
                    texts.add(cell)
            elif isinstance(cell, (int, float)) and _unlikely(cell):
                numbers.add(cell)
    seen = {cell for row in published.rows for cell in row if isinstance(cell, (int, float))}
    hidden = [text for text in texts if text not in shown and text not in _spoken(case)]
    packed = []
    for number in numbers:
        text = str(number)
        # A spreadsheet keeps 16 digits.
        if text in shown or any(math.isclose(number, each, rel_tol=1e-14) for each in seen):
            continue
        packed.append(struct.pack("<q" if isinstance(number, int) else "<d", number))
        hidden.append(text)
    return [text.encode() for text in hidden], packed


def _shown(cell: Any) -> str:
    if isinstance(cell, dict):
        return "\n".join(_shown(each) for each in cell.values())
    return "" if cell is None else str(cell)


def _spoken(case: Case) -> str:
    """What the user has said himself: orders and names of columns."""
    said = [
        level
        for c in case.columns
        if c.kind == "ordinal" and c.dtype == "text"
        for level in c.levels
    ]
    return "\n".join([*said, *(column.name for column in case.columns)])


def _unlikely(number: float) -> bool:
    if isinstance(number, bool):
        return False
    if isinstance(number, int):  # not 2^60, whose bytes are nearly all zero
        return abs(number) > LARGE and len(set(struct.pack("<q", number)) - {0, 255}) > 4
    return math.isfinite(number) and len(repr(number)) > 10


def leaks(case: Case, published: Published, layers: Iterable[bytes], where: str) -> list[str]:
    """Look for anything of the input that was not published in what was written."""
    texts, packed = secrets_of(case, published)
    found = []
    for number, layer in enumerate(layers):
        place = f"layer {number} of {where}"
        found += [f"{secret!r} is in {place}" for secret in texts if secret in layer]
        found += [
            f"the number {secret.hex()} is in {place}" for secret in packed if secret in layer
        ]
        if len(found) > 4:
            break
    return found[:5]


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
        made = [_seen(case, c, named, published, blurred=False) for c in quasi]
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
                    _covers(case, column, cell, cells[column.name][row])
                    for column, cell in zip(quasi, meaning[key], strict=True)
                )
            ]
            for key in slots
        }
        if not _assignable(slots, edges):
            return [f"rows with {kept_key!r} cannot come from the {len(candidates)} of the input"]
    return []


def _kept_key(kept: list[Column], named: dict[str, Any], published: Published) -> tuple[Any, ...]:
    return tuple(_comparable(canonical(c, named[c.name], published), published) for c in kept)


def _covers(case: Case, column: Column, made: Any, cell: Any) -> bool:
    """Return whether what was published can stand for a cell of the input."""
    if made == EVERYTHING:
        return True
    intervals = column.kind in ("numeric", "date", "datetime", "ordinal")
    if column.kind == "numeric" and case.style in ("mean", "median"):
        return True  # a number inside the span of its group: nothing to hold it against
    if made is None:
        bounds = intervals and case.style in ("bounds", "struct")
        return bounds or _is_missing(cell) or cell == ""
    if _is_missing(cell):
        return False
    own = _as_styled(case, column, closure(column, [cell]), [cell])
    if intervals:
        return made[0] <= own[0] and own[1] <= made[1]
    if column.kind == "set":
        return own <= made
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
