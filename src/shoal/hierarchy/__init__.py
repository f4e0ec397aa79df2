"""Generalisation hierarchies: taxonomies as flat arrays, their files, builders and checks."""

from __future__ import annotations

from shoal.hierarchy.builders import (
    date_hierarchy,
    frequency_hierarchy,
    interval_hierarchy,
    prefix_hierarchy,
)
from shoal.hierarchy.taxonomy import (
    Taxonomy,
    canonical_label,
    check_hierarchy,
    load_hierarchy,
    missing_values,
    require_cover,
)

__all__ = [
    "Taxonomy",
    "canonical_label",
    "check_hierarchy",
    "date_hierarchy",
    "frequency_hierarchy",
    "interval_hierarchy",
    "load_hierarchy",
    "missing_values",
    "prefix_hierarchy",
    "require_cover",
]
