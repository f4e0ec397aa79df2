"""The dictionary of published labels: which values of a listed hierarchy each one stands for.

A label such as ``{baker … nurse}`` is short for a set, and whoever receives the release cannot look
into the hierarchy, which stays: it lists values of rows that are not published, too. So the
dictionary has the labels that the release shows, each with its values of published rows.
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

from shoal.hierarchy import canonical_label
from shoal.table.schema import Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import polars as pl

    from shoal.publish.release_data import ReleaseData


def dictionary_of(release: ReleaseData, groups: Any, frame: pl.DataFrame) -> str:
    """Return the dictionary of a release as CSV; "" if no label needs one.

    What a rule makes of values is told by its labels, so those of listed hierarchies are in it.

    Args:
        release: what was published.
        groups: the group of each row of the table; those below 0 are not published.
        frame: the table.
    """
    if frame.height != len(groups):
        return ""
    numbers, lines = groups.tolist(), []
    for column in release.schema.columns:
        tree = column.hierarchy
        if column.role is not Role.QUASI_IDENTIFIER or tree is None or column.rule is not None:
            continue
        paths = {path[0]: path[1:] for path in tree.to_paths()}
        shown = {str(cell) for row in release.cells_of(column.name).iter_rows() for cell in row}
        rows = [
            None if value is None else canonical_label(value)
            for value in frame.get_column(column.name).to_list()
        ]
        lines += [(column.name, *each) for each in sorted(label_rows(paths, rows, numbers, shown))]
    if not lines:
        return ""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([("column", "label", "value"), *lines])
    return text.getvalue()


def label_rows(
    paths: Mapping[str, Sequence[str]],
    rows: Iterable[str | None],
    groups: Iterable[int],
    shown: set[str],
) -> Iterator[tuple[str, str]]:
    """Yield every published label with each value of a published row that it stands for.

    Args:
        paths: of each value, from the label above it to the top, which stands for anything.
        rows: the value of each row.
        groups: the group of each row; those below 0 are not published.
        shown: what the published cells show.
    """
    present = {value for value, group in zip(rows, groups, strict=True) if group >= 0}
    for value in present:
        above = () if value is None else paths.get(value, ())[:-1]
        yield from ((label, value) for label in dict.fromkeys(above) if label in shown and value)
