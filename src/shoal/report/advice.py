"""The section of measured advice, from what `shoal.explain` found."""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from shoal.errors import DataError
from shoal.io.limits import read_side_file
from shoal.report.svg import per_cent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike

    import polars as pl

__all__ = ["Explained", "advice", "read_explanation"]

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
        findings = json.loads(read_side_file(Path(path), "the explanation").decode("utf-8-sig"))
    except OSError as error:
        raise DataError(f"Could not read {str(path)!r}: {error.strerror}.") from None
    except (ValueError, RecursionError):
        findings = None
    if not _is_explanation(findings):
        raise DataError(f"{str(path)!r} is not what 'shoal explain --out' writes.")
    return _Saved(findings)


def _is_explanation(findings: Any) -> bool:
    def holds(each: Any, **checks: Callable[[Any], bool]) -> bool:
        return isinstance(each, dict) and all(is_(each.get(n)) for n, is_ in checks.items())

    return holds(findings, advice=_is_list, changes=_is_list, outliers=_is_list) and all(
        (
            *(isinstance(sentence, str) for sentence in findings["advice"]),
            _is_list(findings.get("promises", [])),
            *(holds(each, sentence=_is_text, loss=_is_number) for each in findings["changes"]),
            *(
                holds(each, cells=_is_plain, n_rows=_is_count, loss=_is_number)
                for each in findings["outliers"]
            ),
        )
    )


def _is_list(each: Any) -> bool:
    return isinstance(each, list)


def _is_text(each: Any) -> bool:
    return isinstance(each, str)


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


def advice(explanation: Explained, published: pl.DataFrame) -> str:
    """Return what costs most and what to do about it, as HTML.

    Groups that cost most are shown only if each of their cells is a cell of the release: an
    explanation may have been made from other groups.
    """
    found = explanation.to_dict()
    said = "".join(f"<li>{escape(str(text))}</li>" for text in found.get("advice", ()))
    parts = [f'<div class="card"><ul class="plain">{said}</ul></div>' if said else ""]
    further = "".join(f"<li>{escape(str(text))}</li>" for text in found.get("promises", ()))
    if further:
        parts.append(
            '<div class="card"><h3>What further promises would cost</h3>'
            f'<ul class="plain">{further}</ul></div>'
        )
    parts.append(_changes(found.get("changes", ())))
    parts.append(_outliers(found.get("outliers", ()), published))
    tried, rows = found.get("n_tried"), found.get("n_rows")
    where = ""
    if isinstance(tried, int) and isinstance(rows, int) and tried < rows:
        where = f", on a random sample of {tried:,} of {rows:,} rows"
    note = (
        f'<p class="note">Every number is measured by a run of its own{where}, with one thing '
        "changed. This section is for the people who make the release.</p>"
    )
    return "".join(parts) + note


def _changes(changes: Sequence[Mapping[str, Any]]) -> str:
    if not changes:
        return ""
    body = "".join(
        f"<tr><td>{escape(str(change['sentence']))}</td>{_share(change['loss'])}</tr>"
        for change in changes[:_MOST_CHANGES]
    )
    return (
        '<div class="card scroll"><h3>What was tried</h3><table><thead><tr>'
        '<th scope="col">change, largest saving first</th><th scope="col" class="number">loss then'
        f"</th></tr></thead><tbody>{body}</tbody></table></div>"
    )


def _outliers(outliers: Sequence[Mapping[str, Any]], published: pl.DataFrame) -> str:
    shown = [each for each in outliers if _is_published(each["cells"], published)]
    if not shown:
        return ""
    body = "".join(
        "<tr><td>"
        + ", ".join(
            f"{escape(name)} <b>{escape(str(cell)) or 'missing'}</b>"
            for name, cell in each["cells"].items()
        )
        + f'</td><td class="number">{each["n_rows"]:,}</td>{_share(each["loss"])}</tr>'
        for each in shown
    )
    return (
        '<div class="card scroll"><h3>The records that cost most, as they are published</h3>'
        '<table><thead><tr><th scope="col">published cells</th><th scope="col" class="number">rows'
        f'</th><th scope="col" class="number">loss</th></tr></thead><tbody>{body}</tbody></table>'
        "</div>"
    )


def _is_published(cells: Mapping[str, object], published: pl.DataFrame) -> bool:
    return all(
        name in published.columns
        and str(cell) in {"" if v is None else str(v) for v in published.get_column(name).unique()}
        for name, cell in cells.items()
    )


def _share(value: float) -> str:
    return f'<td class="number">{per_cent(value)}</td>'
