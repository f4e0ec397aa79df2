"""Types of what users may write: names for editors and type checkers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from os import PathLike

    from narwhals.typing import IntoDataFrame, IntoSeries
    from numpy.typing import ArrayLike

    from shoal.hierarchy import Taxonomy
    from shoal.privacy import PrivacyModel

__all__ = ["HierarchyLike", "LabelsLike", "PreviousLike", "PrivacyLike", "TableLike"]

HierarchyLike: TypeAlias = "Taxonomy | str | PathLike[str] | Mapping[str, Any] | Sequence[Any]"
"""A hierarchy, the path of its file, or nested mappings and lists of values."""

PrivacyLike: TypeAlias = (
    "PrivacyModel | Mapping[str, Any] | Iterable[PrivacyModel | Mapping[str, Any]] | None"
)
"""Promises beyond k: models or their tables, one or several."""

PreviousLike: TypeAlias = "Any"
"""Releases that are out: a `shoal.Release`, what `shoal.load_release` returns, or the path of a
release file; one or several."""

LabelsLike: TypeAlias = "ArrayLike | IntoSeries"
"""The group of each row: a list, an array or a column of whole numbers."""

TableLike: TypeAlias = "IntoDataFrame | ArrayLike"
"""Rows as scikit-learn takes them: a dataframe, or an array of numbers."""
