"""The report: one self-contained HTML page that a data officer can file.

It holds names of columns, counts and scores, and no cell at all, published or not.
"""

from __future__ import annotations

from datetime import UTC, datetime
from html import escape
from os import PathLike
from typing import TYPE_CHECKING

from shoal.report.svg import bars, histogram

if TYPE_CHECKING:
    from shoal.release import Release

__all__ = ["render_report", "write_report"]

_STYLE = """
:root { color-scheme: light dark; --ink: #16242e; --soft: #5b6b76; --paper: #fbfcfc;
  --card: #ffffff; --line: #dde4e8; --bar: #0f7c90; --good: #1a7f4b; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e5ecef; --soft: #9db0ba; --paper: #10181d;
  --card: #182329; --line: #2b3a42; --bar: #38b0c6; --good: #58c98d; --bad: #ff8a80; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2.5rem 1.25rem 4rem; max-width: 56rem; background: var(--paper);
  color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
h1 { font-size: 1.7rem; margin: 0 0 .25rem; } h2 { font-size: 1.15rem; margin: 2.25rem 0 .75rem; }
p.note, footer { color: var(--soft); font-size: .9rem; }
.verdict { border-left: 5px solid var(--good); padding: .75rem 1rem; background: var(--card);
  margin: 1.25rem 0; } .verdict.broken { border-color: var(--bad); }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .75rem; }
.facts div { background: var(--card); border: 1px solid var(--line); border-radius: 8px;
  padding: .75rem 1rem; } .facts b { display: block; font-size: 1.4rem; }
.facts span { color: var(--soft); font-size: .85rem; }
table { border-collapse: collapse; width: 100%; background: var(--card); }
th, td { text-align: left; padding: .45rem .7rem; border-bottom: 1px solid var(--line); }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
.holds { color: var(--good); font-weight: 600; } .broken td:last-child { color: var(--bad); }
svg { width: 100%; height: auto; font-size: 13px; } svg text { fill: var(--ink); }
svg .bar { fill: var(--bar); } svg .track { fill: var(--line); }
footer { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 1rem; }
"""
_MOST_BARS = 12


def write_report(release: Release, path: str | PathLike[str]) -> None:
    """Write the report of a release to a file, whole or not at all."""
    from shoal.io import atomic_write_text

    atomic_write_text(path, render_report(release))


def render_report(release: Release) -> str:
    """Return the report of a release as HTML."""
    sections = (_verdict, _facts, _promises, _loss, _groups, _measures, _columns)
    body = "\n".join(section(release) for section in sections)
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Shoal report</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"{body}\n"
        f"<footer>Made with Shoal on {made}. This page holds no cell of the table.</footer>\n"
        "</body>\n</html>\n"
    )


def _verdict(release: Release) -> str:
    found = release.verification
    word = "Every promise holds" if found.holds else "A promise does not hold"
    others = "1 other" if found.smallest_group == 2 else f"{found.smallest_group - 1:,} others"
    n_columns = len(release.schema.quasi_identifiers)
    columns = "the quasi-identifier" if n_columns == 1 else f"the {n_columns} quasi-identifiers"
    return (
        "<h1>Report of a release</h1>\n"
        f'<div class="verdict{"" if found.holds else " broken"}"><strong>{word}.</strong> '
        f"Everybody in this table looks the same as at least {others} in {columns}. "
        "Who knows all of them about a person finds that person's row with a chance of at most "
        f"{found.highest_risk:.2%}.</div>"
    )


def _facts(release: Release) -> str:
    found = release.verification
    facts = (
        (f"{release.n_published:,}", f"rows published of {release.n_rows:,}"),
        (f"{release.n_suppressed:,}", "rows suppressed"),
        (f"{found.n_groups:,}", "groups"),
        (f"{found.smallest_group:,}", f"rows in the smallest group (k = {release.k:,})"),
        (f"{found.highest_risk:.2%}", "highest re-identification risk"),
        (f"{release.scores['ncp']:.1%}", "of the detail lost (ncp)"),
    )
    cells = "".join(f"<div><b>{value}</b><span>{what}</span></div>" for value, what in facts)
    return f'<div class="facts">{cells}</div>'


def _promises(release: Release) -> str:
    rows = "".join(
        f"<tr{'' if check.holds else ' class=broken'}><td>{escape(check.name)}</td>"
        f'<td class="number">{check.promised:.6g}</td><td class="number">{check.measured:.6g}</td>'
        f'<td class="{"holds" if check.holds else ""}">{"holds" if check.holds else "broken"}</td>'
        "</tr>"
        for check in release.verification.checks
    )
    return (
        "<h2>What was promised</h2>\n<table><tr><th>promise</th><th>promised</th>"
        f"<th>measured</th><th></th></tr>{rows}</table>\n"
        '<p class="note">Measured on the published table alone, by code that shares nothing with '
        "the search.</p>"
    )


def _loss(release: Release) -> str:
    columns = list(release.scores.by_column.get("ncp", {}).items())
    return (
        "<h2>What was lost, by column</h2>\n"
        f"{bars(columns, title='Detail lost per column')}\n"
        '<p class="note">0 % is an exact value, 100 % a suppressed one.</p>'
    )


def _groups(release: Release) -> str:
    return (
        "<h2>How large the groups are</h2>\n"
        f"{histogram(_size_bins(release), title='Number of groups by size')}\n"
        '<p class="note">Number of groups (above the bars) by the rows they hold (below; '
        "a bar begins with the size it names).</p>"
    )


def _size_bins(release: Release) -> list[tuple[str, int]]:
    """Count the groups that a reader of the table can tell apart, by size."""
    import numpy as np

    from shoal.encode import to_polars

    frame = to_polars(release.frame)
    published = [
        column
        for name in release.schema.quasi_identifiers
        for column in ([name] if name in frame.columns else [f"{name}_low", f"{name}_high"])
    ]
    sizes = (
        frame.select(published).group_by(published).len("n rows").get_column("n rows").to_numpy()
    )
    if not sizes.size:
        return []
    low, high = int(sizes.min()), int(sizes.max())
    width = max(1, -(-(high - low + 1) // _MOST_BARS))
    counts = np.bincount((sizes - low) // width)
    return [(f"{low + number * width:,}", count) for number, count in enumerate(counts.tolist())]


def _measures(release: Release) -> str:
    from shoal import registry

    rows = "".join(
        f'<tr><td>{escape(name)}</td><td class="number">{value:.6g}</td>'
        f"<td>{escape(registry.load('measures', name).title)}</td></tr>"
        for name, value in release.scores.items()
    )
    return (
        "<h2>Measures</h2>\n<table><tr><th>measure</th><th>value</th><th>what</th></tr>"
        f"{rows}</table>"
    )


def _columns(release: Release) -> str:
    rows = "".join(
        f"<tr><td>{escape(column.name)}</td><td>{column.role.value}</td>"
        f"<td>{'' if column.kind is None else column.kind.value}</td></tr>"
        for column in release.schema.columns
    )
    parameters = release.parameters
    return (
        "<h2>Columns</h2>\n<table><tr><th>column</th><th>role</th><th>kind</th></tr>"
        f"{rows}</table>\n"
        f'<p class="note">Algorithm {escape(str(parameters.get("algorithm")))}, minimising '
        f"{escape(str(parameters.get('measure')))}, in {release.seconds:.1f} s.</p>"
    )
