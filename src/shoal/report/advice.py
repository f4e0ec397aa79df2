"""The section of measured advice, from what `shoal.explain` found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Protocol

__all__ = ["Explained", "advice"]


class Explained(Protocol):
    """Anything that can tell its findings as plain values."""

    def to_dict(self) -> Mapping[str, Any]:
        """Return the findings: text, numbers, lists and mappings."""
        ...


def advice(explanation: Explained) -> str:
    """Return the findings as HTML; whatever shape they have, all of their texts are escaped."""
    return "".join(
        f'<section class="card"><h3>{escape(_words(title))}</h3>{_value(value)}</section>'
        for title, value in explanation.to_dict().items()
        if not _is_empty(value)
    )


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        pairs = "".join(
            f'<tr><th scope="row">{escape(_words(str(key)))}</th><td>{_value(each)}</td></tr>'
            for key, each in value.items()
            if not _is_empty(each)
        )
        return f"<table><tbody>{pairs}</tbody></table>"
    if isinstance(value, Sequence) and not isinstance(value, str):
        if value and all(isinstance(each, Mapping) for each in value):
            return _records(value)
        return "<ul>" + "".join(f"<li>{_value(each)}</li>" for each in value) + "</ul>"
    return escape(_text(value))


def _records(records: Sequence[Mapping[str, Any]]) -> str:
    keys = list(dict.fromkeys(key for record in records for key in record))
    head = "".join(f'<th scope="col">{escape(_words(key))}</th>' for key in keys)
    body = "".join(
        "<tr>" + "".join(f"<td>{_value(record.get(key, ''))}</td>" for key in keys) + "</tr>"
        for record in records
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="scroll">{table}</div>'


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _words(key: str) -> str:
    return key.replace("_", " ").capitalize()


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str | Mapping | Sequence) and not value)
