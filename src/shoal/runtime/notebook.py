"""What a notebook shows of a result: plain HTML, without a script and without a network.

Whatever is shown is escaped here. No function is given a cell of an input.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from shoal.runtime.sanitize import safe_text

_STYLE = """<style>
.shoal-shown { font: 14px/1.5 system-ui, sans-serif; max-width: 46rem; color: #14212b;
  background: #fff; padding: .6rem .8rem; }
.shoal-shown table { border-collapse: collapse; margin: .4rem 0; }
.shoal-shown th, .shoal-shown td { text-align: left; padding: .15rem 1rem .15rem 0;
  background: #fff; color: #14212b; }
.shoal-shown svg { display: block; overflow: visible; font-size: 12.5px; margin: .3rem 0 1rem; }
.shoal-shown svg svg { overflow: hidden; } .shoal-shown svg text { fill: #14212b; }
.shoal-shown svg .bar { fill: #0b6e7f; } .shoal-shown svg .track { fill: #e8eff1; }
.shoal-shown svg .axis { stroke: #52626d; } .shoal-shown svg .soft { fill: #52626d; }
</style>"""
_MOST_ROWS = 60


def shown(*parts: str) -> str:
    """Return parts of HTML as one output of a cell; the styles touch nothing else on its page."""
    return f'{_STYLE}<div class="shoal-shown">{"".join(parts)}</div>'


def facts(pairs: Iterable[tuple[str, object]]) -> str:
    """Return what and how much, a line each."""
    return _table(
        "", (f'<th scope="row">{_cell(what)}</th><td>{_cell(text)}</td>' for what, text in pairs)
    )


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table; a long one ends with how many rows are left out."""
    body = [list(row) for row in rows]
    head = "".join(f"<th>{_cell(each)}</th>" for each in heads)
    lines = ["".join(f"<td>{_cell(each)}</td>" for each in row) for row in body[:_MOST_ROWS]]
    left = len(body) - len(lines)
    more = lists([f"{left:,} further rows"]) if left else ""
    return _table(f"<thead><tr>{head}</tr></thead>", lines) + more


def lists(texts: Iterable[str]) -> str:
    """Return sentences below each other."""
    return "".join(f"<p>{_cell(each)}</p>" for each in texts)


def share(number: float | None) -> str:
    """Return a share as per cent, and nothing where there is none."""
    return "" if number is None else f"{number:.1%}"


def _table(head: str, lines: Iterable[str]) -> str:
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table>{head}<tbody>{body}</tbody></table>"


def _cell(text: object) -> str:
    return escape(safe_text(text, 2_000))


@dataclass(frozen=True, eq=False)
class Page:
    """A page of HTML that a notebook shows inside a cell.

    Attributes:
        html: the page, which needs no other file and no network.
    """

    html: str

    def __repr__(self) -> str:
        """Return one line."""
        return f"<Page of {len(self.html):,} characters; a notebook shows it>"

    def _repr_html_(self) -> str:
        """Return a frame that holds the page, apart from the styles around it."""
        return (
            f'<iframe srcdoc="{escape(self.html)}" sandbox="" width="100%" height="640" '
            'style="border: 1px solid #c7d2d6"></iframe>'
        )
