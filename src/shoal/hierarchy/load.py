"""One door for every form in which a user may hand over a hierarchy."""

from __future__ import annotations

from os import PathLike

from shoal.hierarchy.taxonomy import Taxonomy

__all__ = ["load_hierarchy"]


def load_hierarchy(source: object) -> Taxonomy:
    """Return the taxonomy that a user meant.

    Args:
        source: a `Taxonomy`, the path of a hierarchy file (text or path object), or a nested
            dict or list.

    Raises:
        HierarchyError: it cannot be read, or is no tree.
    """
    if isinstance(source, Taxonomy):
        return source
    if isinstance(source, (str, PathLike)):
        return Taxonomy.from_csv(source)
    return Taxonomy.from_nested(source)
