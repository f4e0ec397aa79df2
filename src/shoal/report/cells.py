"""Reads published cells back: which closure of the original domain does a cell stand for?

A published cell is an exact value, an interval ``[lo-hi]``, a label of the taxonomy, a set
``{a, b}``, the suppression mark ``*``, or empty (a group of missing values only); the style says
how they are written. Ends and members are values of the original column, so a cell is split
where all parts are known values: a value may hold the separator itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.errors import DataError
from shoal.hierarchy import canonical_label
from shoal.table.closure import IntervalClosures, SetClosures, TreeClosures, wide_cells

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shoal.publish.recode import Style
    from shoal.table.closure import Closures
    from shoal.table.encode import Attribute

__all__ = ["CellReader"]

Found = tuple[int, ...]
"""Codes of the values a cell covers: (low, high), (node,) or the members of a set."""

EVERYTHING: Found = ()


class CellReader:
    """Turns the distinct cells of one published column into closures."""

    def __init__(self, attribute: Attribute, style: Style) -> None:
        """Learn the domain of a column and how its cells are written."""
        self.attribute = attribute
        self.style = style
        tree = attribute.taxonomy
        labels = tree.labels if tree is not None else [canonical_label(v) for v in attribute.values]
        self.codes = {label: code for code, label in enumerate(labels)}
        self.upper = self.codes
        if attribute.cells is not None:
            self.upper = {canonical_label(v): n for n, v in enumerate(attribute.cells.upper)}

    def closures(self, cells: Sequence[object], of_class: NDArray[np.int64]) -> Closures:
        """Return the closure of each class of rows, and "everything" as the last one.

        Args:
            cells: the distinct cells.
            of_class: which of them each class of rows publishes.

        Raises:
            DataError: a cell stands for nothing of the original column; cells are counted,
                never shown.
        """
        found = [self._read(cell) for cell in cells]
        unknown = sum(each is None for each in found)
        if unknown:
            message = (
                f"{unknown} of the {len(cells)} distinct cells that the release publishes in "
                f"column {self.attribute.name!r} stand for no value of the original; are the two "
                "files from the same data, and is the hierarchy the one that was used?"
            )
            raise DataError(message)
        known = [each for each in found if each is not None]
        chosen = [known[cell] for cell in of_class.tolist()]
        return self._assemble([*chosen, EVERYTHING])

    def between(self, low: object, high: object) -> Found | None:
        """Return the interval between two published ends; without ends it is suppressed."""
        if low is None or high is None:
            if self.attribute.has_missing:
                message = (
                    f"Bounds without a value in column {self.attribute.name!r} may be suppressed "
                    "or missing, so this release cannot be scored from the file; use the scores "
                    "of the run (--certificate)."
                )
                raise DataError(message)
            return EVERYTHING
        first, last = self._code(low), self._code(high, self.upper)
        return None if first is None or last is None or first > last else (first, last)

    def _read(self, cell: object) -> Found | None:
        if cell is None:
            return self._missing()
        if isinstance(cell, tuple):  # the two ends of an interval in columns of their own
            return self.between(*cell)
        code = self._code(cell)
        if code is not None and self._is_value(code):
            return (code, code) if self.attribute.algebra == "interval" else (code,)
        if cell == self.style.suppressed:
            return EVERYTHING
        return self._read_text(str(cell))

    def _read_text(self, text: str) -> Found | None:
        if self.attribute.algebra == "interval":
            return self._interval(text)
        tree = self.attribute.taxonomy
        if self.attribute.algebra == "set" or (tree and self.style.categories == "values"):
            before, after = self.style.set_format.split("{values}")
            inner = _unwrap(text, before, after)
            found = None if inner is None else self._members(inner.split(self.style.set_separator))
            if tree is None or not found:
                return found
            # a union set below a tree loses what its common node does
            first, last = tree.first_leaf[list(found)].min(), tree.last_leaf[list(found)].max()
            return (tree.lca(int(first), int(last)),)
        return None

    def _missing(self) -> Found:
        tree = self.attribute.taxonomy
        if tree is not None:
            return (tree.n_nodes,)
        size = self.attribute.size
        return (size, size) if self.attribute.algebra == "interval" else (size,)

    def _is_value(self, code: int) -> bool:
        cells = self.attribute.cells
        return cells is None or code == self.attribute.size or bool(cells.exact[code])

    def _code(self, value: object, codes: dict[str, int] | None = None) -> int | None:
        codes = self.codes if codes is None else codes
        label = canonical_label(value)
        code = codes.get(label)
        if code is None and self.attribute.algebra == "interval":
            try:
                # 1.50 in the file and 1.5 in the table are the same number.
                code = codes.get(canonical_label(float(label)))
            except ValueError:
                return None
        return code

    def _interval(self, text: str) -> Found | None:
        for form in (self.style.interval_format, self.style.wide_interval_format):
            before, rest = form.split("{low}")
            between, after = rest.split("{high}")
            inner = _unwrap(text, before, after)
            start = -1 if inner is None else inner.find(between)
            while inner is not None and start >= 0:
                found = self.between(inner[:start], inner[start + len(between) :])
                if found is not None:
                    return found
                start = inner.find(between, start + 1)
        return None

    def _members(self, parts: list[str]) -> Found | None:
        """Join parts back together where a value holds the separator itself."""
        members: list[int] = []
        start = 0
        while start < len(parts):
            for stop in range(len(parts), start, -1):
                code = self._code(self.style.set_separator.join(parts[start:stop]))
                if code is not None:
                    members.append(code)
                    start = stop
                    break
            else:
                return None
        return tuple(sorted(set(members)))

    def _assemble(self, found: list[Found]) -> Closures:
        everything = np.array([each == EVERYTHING for each in found])
        tree = self.attribute.taxonomy
        if tree is not None:
            nodes = [each[0] if each else tree.root for each in found]
            return TreeClosures(np.array(nodes, dtype=np.int32), tree.n_leaves, tree.n_nodes)
        if self.attribute.algebra == "interval":
            whole = (0, self.attribute.size - 1)
            ends = np.array([each or whole for each in found], dtype=np.int32)
            low, high = ends[:, 0].copy(), ends[:, 1].copy()
            return IntervalClosures(low, high, everything, wide_cells(self.attribute))
        counts = [len(each) for each in found]
        return SetClosures(
            np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
            np.array([code for each in found for code in each], dtype=np.int32),
            everything,
        )


def _unwrap(text: str, before: str, after: str) -> str | None:
    """Return what stands between two texts, or None if they are not there."""
    if len(text) < len(before) + len(after):
        return None
    if not (text.startswith(before) and text.endswith(after)):
        return None
    return text[len(before) : len(text) - len(after)]
