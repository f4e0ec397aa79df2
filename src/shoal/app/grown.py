"""From the values of a column to a hierarchy, a grid, and what values become in it."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shoal.app.trees import Draft, EditTree
from shoal.errors import HierarchyError, OptionError, did_you_mean
from shoal.hierarchy import Taxonomy, canonical_label, require_cover
from shoal.hierarchy.rules import HierarchyRule
from shoal.table.schema import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

__all__ = [
    "METHODS",
    "MOST_VALUES",
    "Built",
    "Level",
    "Part",
    "Values",
    "build",
    "export_csv",
    "grid_choices",
    "import_csv",
    "natural_method",
    "preview",
    "preview_grid",
]

METHODS = ("intervals", "prefix", "dates", "frequency", "flat")
"""How a hierarchy can be made from values."""
MOST_VALUES = 5_000
"""With more values a tree is no longer edited by hand; rules still work."""
_STEPS = (1, 2, 5)
_MOST_CELLS = 1_000


@dataclass(frozen=True, eq=False)
class Values:
    """The distinct values of a column that are not missing, in order, and how often they occur.

    Attributes:
        name: of the column.
        series: the values in their own type, sorted.
        counts: rows of each.
        n_missing: rows without a value.
    """

    name: str
    series: pl.Series
    counts: tuple[int, ...]
    n_missing: int

    @classmethod
    def of(cls, column: pl.Series) -> Values:
        """Count the values of a column; numbers that are not finite count as missing."""
        import polars as pl

        known = column.drop_nulls()
        if known.dtype.is_float():
            known = known.filter(known.is_finite())
        if isinstance(known.dtype, pl.Categorical | pl.Enum):
            known = known.cast(pl.String)
        counted = known.alias("value").value_counts(name="n rows").sort("value")
        return cls(
            column.name,
            counted.get_column("value"),
            tuple(counted.get_column("n rows").to_list()),
            len(column) - len(known),
        )

    def __len__(self) -> int:
        """Return how many values there are."""
        return len(self.counts)

    @property
    def labels(self) -> list[str]:
        """The values as hierarchies write them."""
        return [canonical_label(value) for value in self.series.to_list()]

    @property
    def by_label(self) -> dict[str, int]:
        """Rows of each label; two values may have the same, as 17 and 17.0."""
        found: dict[str, int] = {}
        for label, count in zip(self.labels, self.counts, strict=True):
            found[label] = found.get(label, 0) + count
        return found


@dataclass(frozen=True)
class Built:
    """A hierarchy that was made from values.

    Attributes:
        tree: over all of them.
        rule: by which it grew; None where the values have to be listed in a file.
    """

    tree: Taxonomy
    rule: HierarchyRule | None = None


def natural_method(values: Values) -> str:
    """Return the method that is likely to suit a column."""
    import polars as pl

    from shoal.profile.values import looks_like_code

    dtype = values.series.dtype
    if dtype.is_numeric():
        return "intervals"
    if dtype.is_temporal():
        return "dates"
    is_code = dtype == pl.String and len(values) > 0 and looks_like_code(values.series)
    return "prefix" if is_code else "frequency"


def build(values: Values, method: str, options: Mapping[str, Any]) -> Built:
    """Make a hierarchy; what is not given is chosen by the data.

    Args:
        values: of the column.
        method: one of `METHODS`.
        options: widths and origin of intervals, keep and mask of prefixes, levels and form of
            dates, fanout of frequencies.

    Raises:
        HierarchyError: the values do not fit the method; no message shows one of them.
        OptionError: an option is out of range, or there is no such method.
    """
    if method not in METHODS:
        raise OptionError(
            f"The method must be one of {', '.join(METHODS)}, not {method!r}."
            f"{did_you_mean(method, METHODS)}"
        )
    if not len(values):
        raise HierarchyError(f"Column {values.name!r} has no value at all.")
    given = {name: value for name, value in options.items() if value not in (None, "", (), [])}
    if method == "flat":
        return Built(Taxonomy.flat(dict.fromkeys(values.labels)))
    if method == "frequency":
        return Built(_by_frequency(values, int(given.get("fanout", 4))))
    rule = HierarchyRule.of({"rule": method, **_defaults(values, method, given), **given})
    series = values.series
    return Built(rule.build(series.to_list(), decimals=series.dtype.is_float()), rule)


def _by_frequency(values: Values, fanout: int) -> Taxonomy:
    from shoal.hierarchy import frequency_hierarchy

    # frequent values first, ties by label: as `shoal.explain` tries it
    ranked = sorted(values.by_label.items(), key=lambda each: (-each[1], each[0]))
    return frequency_hierarchy([label for label, _ in ranked], [n for _, n in ranked], fanout)


def _defaults(values: Values, method: str, given: Mapping[str, Any]) -> dict[str, Any]:
    from shoal.profile.trees import nice_width

    if method == "prefix":
        length = max(map(len, values.labels))
        kept = given.get("keep") or list(range(length - 1, 0, -1)) or [1]
        widest = max(kept) if isinstance(kept, list | tuple) else int(kept)
        # codes of one length are filled up with the mask
        return {"keep": kept} | ({"length": length} if length > widest else {})
    if method == "intervals" and "widths" not in given and values.series.dtype.is_numeric():
        low, high = float(values.series[0]), float(values.series[-1])
        width = nice_width(low, high)
        width = max(width, 2) if values.series.dtype.is_integer() else width
        widths = [float(f"{times * width:.12g}") for times in (1, 2, 4)]
        return {"widths": [int(each) if each.is_integer() else each for each in widths]}
    return {}


# -- files ---------------------------------------------------------------------------------------


def import_csv(text: str, values: Values, *, unknown: str = "error") -> Draft:
    """Read an ARX-style file over the values of a column.

    Args:
        text: one line ``leaf;level 1;…;root`` per value.
        values: of the column.
        unknown: what happens to values that the file lacks: ``error``, or ``root`` puts them
            directly below its root.

    Raises:
        HierarchyError: it is no tree, or does not cover the column.
    """
    tree = Taxonomy.from_csv(io.StringIO(text, newline=""))
    labels = list(dict.fromkeys(values.labels))
    if unknown == "root":
        missing = [each for each in labels if each not in set(tree.leaf_labels)]
        root = tree.labels[tree.root]
        tree = Taxonomy.from_paths([*tree.to_paths(), *([label, root] for label in missing)])
    require_cover(tree, values.name, labels)
    return Draft(EditTree.of(tree))


def export_csv(tree: Taxonomy) -> str:
    """Return an ARX-style file; `import_csv` reads it back as the same tree."""
    text = io.StringIO(newline="")
    tree.to_csv(text)
    return text.getvalue()


# -- previews ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """What some values become.

    Attributes:
        label: what is published.
        n_values: how many values it stands for.
        n_rows: how many rows have one of them.
    """

    label: str
    n_values: int
    n_rows: int


@dataclass(frozen=True)
class Level:
    """One level of a hierarchy.

    Attributes:
        number: 0 is the values themselves.
        parts: what is published at it, in the order of the tree.
        smallest: rows of its smallest part that has any.
    """

    number: int
    parts: tuple[Part, ...]
    smallest: int


def preview(tree: Taxonomy, values: Values) -> list[Level]:
    """Return what the values of a column become at each level, and how many rows that are."""
    import numpy as np

    counts = values.by_label
    rows = np.array([counts.get(label, 0) for label in tree.leaf_labels], dtype=np.int64)
    levels = []
    for number in range(tree.tree_height + 1):
        nodes, first, place = np.unique(
            tree.generalization(number), return_index=True, return_inverse=True
        )
        n_rows = np.bincount(place, weights=rows).astype(np.int64)
        n_values = np.bincount(place[rows > 0], minlength=len(nodes))
        parts = [
            Part(tree.labels[nodes[each]], int(n_values[each]), int(n_rows[each]))
            for each in np.argsort(first)
        ]
        filled = [part.n_rows for part in parts if part.n_rows]
        levels.append(Level(number, tuple(parts), min(filled, default=0)))
    return levels


def grid_choices(values: Values, kind: Kind) -> list[str]:
    """Return steps that are worth choosing for a column of numbers or dates, fine to coarse."""
    from shoal.table.grid import CALENDAR, WITHIN_A_DAY, suggest_grid

    series = values.series
    if kind in (Kind.DATE, Kind.DATETIME):
        units = [u for u in CALENDAR if kind is Kind.DATETIME or u not in WITHIN_A_DAY]
        return ["none", *units]
    if not len(values) or not series.dtype.is_numeric():
        return ["none"]
    from shoal.profile.trees import nice_width

    low, high = float(series[0]), float(series[-1])
    found = {nice_width(low, high, parts) for parts in (200, 100, 50, 25, 16, 10, 5, 2)}
    whole = series.dtype.is_integer()
    steps = [f"{step:.12g}" for step in sorted(found) if not whole or step >= 2]
    suggested = str(suggest_grid(kind, series, whole=True))
    if suggested != "none" and suggested not in steps:
        steps = [suggested, *steps]
    return ["none", *steps]


def preview_grid(values: Values, grid: Any) -> list[Part]:
    """Return the cells that the values of a column lie in.

    Raises:
        OptionError: the grid cannot be read, or does not fit the column.
    """
    import numpy as np

    from shoal.table.cells import find_cells
    from shoal.table.grid import parse_grid

    lines = parse_grid(grid, column=values.name)
    if not lines:
        labels = values.labels
        return [Part(label, 1, n) for label, n in zip(labels, values.counts, strict=True)]
    cells = find_cells(values.series, lines, values.name)
    rows = np.bincount(cells.of_value, weights=values.counts).astype(np.int64)
    distinct = np.bincount(cells.of_value)
    ends: Sequence[tuple[Any, Any]] = list(
        zip(cells.lower.to_list(), cells.upper.to_list(), strict=True)
    )
    return [
        Part(_cell(*ends[each], exact=bool(cells.exact[each])), int(distinct[each]), int(n))
        for each, n in enumerate(rows)
        if n
    ]


def _cell(low: Any, high: Any, *, exact: bool) -> str:
    first, last = canonical_label(low), canonical_label(high)
    if exact or first == last:
        return first
    between = " to " if "-" in first + last else "-"
    return f"[{first}{between}{last}]"
