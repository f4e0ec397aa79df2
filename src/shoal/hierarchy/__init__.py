"""Generalisation hierarchies: taxonomies as flat arrays, their files, builders and checks."""

from __future__ import annotations

from shoal.hierarchy.checks import check_hierarchy, missing_values, require_cover
from shoal.hierarchy.labels import canonical_label
from shoal.hierarchy.load import load_hierarchy
from shoal.hierarchy.taxonomy import Taxonomy

__all__ = [
    "Taxonomy",
    "canonical_label",
    "check_hierarchy",
    "load_hierarchy",
    "missing_values",
    "require_cover",
]
