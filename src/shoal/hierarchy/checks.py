"""Questions to a finished hierarchy: does it cover the data, and is anything odd about it?

What makes a hierarchy unusable is named while it is read, in `shoal.hierarchy.draft`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.errors import HierarchyError
from shoal.hierarchy.load import load_hierarchy

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shoal.hierarchy.taxonomy import Taxonomy

__all__ = ["check_hierarchy", "missing_values", "require_cover"]


def check_hierarchy(source: object) -> list[str]:
    """Return notes on a usable hierarchy, one sentence each; none is an error.

    Args:
        source: anything that `load_hierarchy` takes.

    Raises:
        HierarchyError: it is not usable; names up to five problems and counts the rest.
    """
    tree = load_hierarchy(source)
    notes = []
    leaf_depth = tree.depth[: tree.n_leaves]
    if leaf_depth.min() < leaf_depth.max():
        shallow = int(np.count_nonzero(leaf_depth < leaf_depth.max()))
        notes.append(
            f"Depth is unbalanced: {shallow} of {tree.n_leaves} leaves lie less than "
            f"{tree.tree_height} levels below the root; this is allowed, and the height of a "
            "node counts down to its deepest leaf."
        )
    children = np.bincount(tree.parent[:-1], minlength=tree.n_nodes)
    only = int(np.count_nonzero(children == 1))
    if only:
        nodes, verb = ("1 node", "has") if only == 1 else (f"{only} nodes", "have")
        notes.append(
            f"{nodes} {verb} a single child: climbing from that child hides nothing and still "
            "counts as a level."
        )
    return notes


def missing_values(taxonomy: Taxonomy, values: Iterable[str]) -> int:
    """Count the distinct labels among the values that are no leaf of the taxonomy."""
    return len(set(values).difference(taxonomy.leaf_labels))


def require_cover(taxonomy: Taxonomy, column_name: str, labels: Iterable[str]) -> None:
    """Make sure that every label of a column is a leaf.

    Raises:
        HierarchyError: with the column and the number of distinct missing values, never the
            values themselves, which are private.
    """
    distinct = set(labels)
    missing = missing_values(taxonomy, distinct)
    if missing:
        are = "is" if missing == 1 else "are"
        msg = (
            f"The hierarchy of column {column_name!r} does not cover the data: {missing} of "
            f"{len(distinct)} distinct values {are} no leaf of it; add them to the hierarchy "
            "('shoal hierarchy check' finds the difference), put them directly below its root "
            "with --unknown-values root, or use a rule instead of listed values."
        )
        raise HierarchyError(msg)
