"""Tables of one style, as lines of Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Yield the lines of a table.

    Raises:
        ValueError: if a row has more or fewer cells than there are heads.
    """
    yield _line(heads)
    yield "|---" * len(heads) + "|"
    for row in rows:
        if len(row) != len(heads):
            raise ValueError(f"{len(row)} cells below {len(heads)} heads: {row}")
        yield _line(row)


def titled(title: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Yield a bold line and a table below it."""
    yield ""
    yield f"**{title}**"
    yield ""
    yield from table(heads, rows)


def _line(cells: Iterable[object]) -> str:
    texts = (str(cell).replace("|", "\\|") for cell in cells)
    return "|" + "".join(f" {text} |" if text else " |" for text in texts)
