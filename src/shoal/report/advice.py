"""Reads the measured advice of `shoal explain`, and picks what the report may show of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from shoal.errors import DataError
from shoal.io.limits import read_side_file
from shoal.messages import Message

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    import polars as pl

_MOST_CHANGES = 12


class Explained(Protocol):
    """Anything that tells its findings as a `shoal.Explanation` does."""

    def to_dict(self) -> Mapping[str, Any]:
        """Return the findings: ``advice``, ``changes``, ``outliers``, ``n_rows``, ``n_tried``."""
        ...


@dataclass(frozen=True)
class _Saved:
    """Findings that were read from a file."""

    findings: Mapping[str, Any]

    def to_dict(self) -> Mapping[str, Any]:
        return self.findings


def read_explanation(path: str | PathLike[str]) -> Explained:
    """Read what ``shoal explain --out`` has written.

    Raises:
        DataError: the file cannot be read, or is none of those.
    """
    try:
        findings = json.loads(read_side_file(path, Message("the explanation")).decode("utf-8-sig"))
    except OSError as error:
        raise DataError(
            "Could not read {path!r}: {strerror}.", path=str(path), strerror=error.strerror
        ) from None
    except (ValueError, RecursionError):
        findings = None
    if not _is_explanation(findings):
        raise DataError("{path!r} is not what 'shoal explain --out' writes.", path=str(path))
    return _Saved(findings)


def _is_explanation(findings: Any) -> bool:
    if not isinstance(findings, dict) or not isinstance(findings.get("promises", []), list):
        return False
    sentences, changes, outliers = (findings.get(n) for n in ("advice", "changes", "outliers"))
    if not (isinstance(sentences, list) and isinstance(changes, list)):
        return False
    return (
        isinstance(outliers, list)
        and all(isinstance(text, str) for text in sentences)
        and all(isinstance(each, dict) for each in (*changes, *outliers))
        and all(_is_number(each.get("loss")) for each in (*changes, *outliers))
        and all(isinstance(each.get("sentence"), str) for each in changes)
        and all(_is_count(each.get("n_rows")) for each in outliers)
        and all(_is_plain(each.get("cells")) for each in outliers)
    )


def _is_count(each: Any) -> bool:
    return isinstance(each, int) and not isinstance(each, bool) and 0 <= each < 2**63


def _is_number(each: Any) -> bool:
    # What a share of loss is: JSON as Python reads it also has NaN, and numbers of any length.
    is_number = isinstance(each, (int, float)) and not isinstance(each, bool)
    return is_number and -1e9 < each < 1e9


def _is_plain(cells: Any) -> bool:
    """Tell whether cells are a table of texts and numbers, with nothing nested in it."""
    return isinstance(cells, dict) and all(
        cell is None or isinstance(cell, (str, int, float)) for cell in cells.values()
    )


def shown_advice(explanation: Explained, published: pl.DataFrame) -> dict[str, Any]:
    """Return what the section of advice shows.

    Groups that cost most are shown only if each of their cells is a cell of the release: an
    explanation may have been made from other groups.
    """
    found = explanation.to_dict()
    tried, rows = found.get("n_tried"), found.get("n_rows")
    sampled = isinstance(tried, int) and isinstance(rows, int) and tried < rows
    return {
        "sentences": found.get("advice", ()),
        "promises": found.get("promises", ()),
        "changes": found.get("changes", ())[:_MOST_CHANGES],
        "outliers": [
            each for each in found.get("outliers", ()) if _is_published(each["cells"], published)
        ],
        "sample": (tried, rows) if sampled else None,
    }


def _is_published(cells: Mapping[str, object], published: pl.DataFrame) -> bool:
    return all(
        name in published.columns
        and str(cell) in {"" if v is None else str(v) for v in published.get_column(name).unique()}
        for name, cell in cells.items()
    )
