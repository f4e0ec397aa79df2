"""Anything of the input in what was written, unless a published cell shows it.

Nothing of the package is imported here.
"""

from __future__ import annotations

import math
import re
import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fuzz.bytes import Published
    from fuzz.tables import Case

SHORTEST = 8  # letters of a text that is looked for
_EXPONENT = re.compile(r"(?<=\d)[eE]([+-]?)(\d{1,3})\b")
LARGE = 10**9  # a whole number above this does not occur by chance


def secrets_of(case: Case, published: Published) -> tuple[list[bytes], list[bytes]]:
    """Return the texts and the packed numbers of the input that no published cell shows."""
    shown = "\n".join(_shown(cell) for row in published.rows for cell in row)
    shown += "\n" + _EXPONENT.sub(_as_python_writes, shown)  # 1e-7 and 1e-07 are one number
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


def _as_python_writes(found: re.Match[str]) -> str:
    return f"e{found[1] or '+'}{int(found[2]):02d}"


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
