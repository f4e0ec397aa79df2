"""The report: one self-contained HTML page that a data officer can read, sign and file.

It names columns, counts and scores, and values only where they are part of a published cell:
labels of the quasi-identifiers (see `shoal.facts.bars`) and sensitive values of the release.
"""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING, Any

from shoal.report import sections
from shoal.report.about import About
from shoal.report.advice import advice
from shoal.report.by_hand import said_about, signature_block
from shoal.report.certificate import counted, package_versions, told_in_words
from shoal.report.glossary import GLOSSARY
from shoal.report.risk import check_fraction, coarse_sizes, risk_of
from shoal.report.style import STYLE
from shoal.report.words import in_plain_words, verdict
from shoal.table.schema import Role

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from shoal.release import Release
    from shoal.report.advice import Explained
    from shoal.study.audit.findings import Audit

__all__ = ["render_report", "write_report"]

# Nothing may be fetched, whatever a cell or a name of a column tries.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_LIMITS = (
    (
        "Groups that agree.",
        (
            "If everybody in a group has the same sensitive value, it is known without finding the "
            "row. l-diversity or t-closeness are promises against that; k-anonymity alone is not."
        ),
    ),
    (
        "Background knowledge.",
        "Who can rule out some people of a group, or some values, is left with fewer.",
    ),
    (
        "Other columns.",
        (
            "A column that is not named as a quasi-identifier is published as it is. If others "
            "know it about a person, it can single that person out."
        ),
    ),
    (
        "Several releases.",
        (
            "Two releases about the same people can be laid over each other. Each keeps its "
            "promise, both together need not."
        ),
    ),
)
_ROWS = (
    "Rows, not people.",
    "If one person has several rows, a group of k rows may hold fewer than k people.",
)
_PEOPLE = (
    "Several rows of one person.",
    (
        "Each published combination belongs to at least k people. Who knows several rows of a "
        "person may look for somebody who fits all of them, and those may be fewer."
    ),
)
_LINKED = (
    "Pseudonyms.",
    (
        "Rows of one person can be put together. k holds for each of them alone; the people who "
        "fit all of them may be fewer than k."
    ),
)


def write_report(
    release: Release,
    path: str | PathLike[str],
    *,
    explanation: Explained | None = None,
    audit: Audit | None = None,
    sampling_fraction: float | None = None,
    about: About | None = None,
) -> None:
    """Write the report of a release to a file, whole or not at all."""
    from shoal.io import atomic_write_text

    page = render_report(
        release,
        explanation=explanation,
        audit=audit,
        sampling_fraction=sampling_fraction,
        about=about,
    )
    atomic_write_text(path, page)


def render_report(
    release: Release,
    *,
    explanation: Explained | None = None,
    audit: Audit | None = None,
    sampling_fraction: float | None = None,
    input_hmac: str | None = None,
    output_sha256: str | None = None,
    about: About | None = None,
    files: Mapping[str, str] | None = None,
) -> str:
    """Return the report of a release as HTML.

    Args:
        release: a finished release.
        explanation: measured advice, which becomes a section of its own.
        audit: attacks on the release, which become a section, too.
        sampling_fraction: share of the population that is in the table, if known; the risks of
            journalist and marketer and the estimate of population uniques depend on it.
        input_hmac: keyed hash of the input file, if there is one.
        output_sha256: hash of the published file, if there is one.
        about: what its owner says about the release.
        files: names of the ``table`` and the ``certificate``, for the commands in it.

    Raises:
        OptionError: the fraction is not above 0 and at most 1.
    """
    from shoal.report.attacked import attacked
    from shoal.table.encode import to_polars

    fraction, said = check_fraction(sampling_fraction), about or About()
    seen = release.seen
    found, values = seen.groups, seen.sensitive
    before, after = coarse_sizes(release.facts.tuple_sizes, release.k), found.size_counts
    if release.counts_people:
        # how many people each group has is not published: that they are k is all that is told
        after = ((release.k, found.number),)
    advised = "" if explanation is None else advice(explanation, to_polars(release.frame))
    risks = risk_of(before), risk_of(after)
    parts = [
        ("summary", "In plain words", in_plain_words(release, *risks, values)),
        ("promises", "What was promised and what was measured", _promises(release)),
        ("advice", "What to do next", advised),
        ("risk", "The risk that remains", _doubt(release) + sections.risk(before, after, fraction)),
        ("attacks", "What attackers reach", "" if audit is None else attacked(audit)),
        ("groups", "How large the groups are", sections.groups(found, release.k)),
        ("loss", "What was lost", sections.loss(release)),
        ("columns", "Column by column, before and after", sections.columns(release)),
        (
            "sensitive",
            "Sensitive values in the groups",
            sections.sensitive(values, found.number, rows=release.counts_people) if values else "",
        ),
        ("limits", "What this does not protect against", _limits(release)),
        ("details", "How it was made", _made(release, input_hmac, output_sha256)),
        ("glossary", "Words explained", _glossary()),
        ("signature", "Signature", signature_block(said, output_sha256, files)),
    ]
    return _page(release, [part for part in parts if part[2]], said)


def _page(release: Release, parts: Sequence[tuple[str, str, str]], about: About) -> str:
    title = escape(about.title or "Report of a release")
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    links = "".join(f'<li><a href="#{key}">{key.capitalize()}</a></li>' for key, _, _ in parts)
    body = "\n".join(
        f'<section id="{key}"><h2>{title}</h2>\n{inside}</section>' for key, title, inside in parts
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{title}, k = {release.k}</title>\n<style>{STYLE}</style>\n</head>\n"
        f"<body>\n<header>\n<h1>{title}</h1>\n"
        f'<p class="soft">{release.n_published:,} rows, k = {release.k:,}, made with Shoal on '
        f"{made}</p>\n{said_about(about)}{verdict(release)}\n{_warnings(release)}"
        f'<nav aria-label="Sections"><ul>{links}</ul></nav>\n</header>\n<main>\n{body}\n</main>\n'
        "<footer>This page is complete in itself and fetches nothing. It names a value only where "
        "it is part of a published cell. Keep it with the release.</footer>\n</body>\n</html>\n"
    )


def _warnings(release: Release) -> str:
    if not release.warnings:
        return ""
    items = "".join(f"<li>{escape(text)}</li>" for text in release.warnings)
    return f'<div class="warning" role="note"><b>To be aware of</b><ul>{items}</ul></div>\n'


def _promises(release: Release) -> str:
    rows = [
        (
            f'<th scope="row">{escape(check.name)}</th>',
            f'<td class="number">{check.shown(check.promised)}</td>',
            f'<td class="number">{told_in_words(release, check)}</td>',
            '<td class="number holds">✓ holds</td>'
            if check.holds
            else '<td class="number broken-word">✗ broken</td>',
        )
        for check in release.verification.checks
    ]
    heads = ("promise", "promised", "measured (worst group)", "")
    how = escape(release.verification.how())
    what = escape(counted(release))
    return _table(heads, rows) + f'<p class="note">{how}</p><p class="note">Counted: {what}</p>'


def _doubt(release: Release) -> str:
    """Return a sentence above numbers that hold only if every row is a different person."""
    if release.counts_people or release.whose != "doubtful":
        return ""
    return (
        '<p class="warning">People seem to have several rows. The numbers below are those of a '
        "table in which every row is a different person; the true risk is higher.</p>"
    )


def _limits(release: Release) -> str:
    last = _PEOPLE if release.counts_people else _ROWS
    shown = (*_LIMITS, last, *((_LINKED,) if release.schema.pseudonyms else ()))
    items = "".join(f"<li><b>{what}</b> {why}</li>" for what, why in shown)
    return f'<div class="card"><ul class="plain">{items}</ul></div>'


def _made(release: Release, input_hmac: str | None, output_sha256: str | None) -> str:
    from shoal import registry

    measures = [
        (
            f'<th scope="row">{escape(name)}</th>',
            f"<td>{escape(registry.load('measures', name).title)}</td>",
            _number(value),
        )
        for name, value in release.public_scores.items()
    ]
    columns = [
        (
            f'<th scope="row">{escape(column.name)}</th>',
            f"<td>{column.role.value}</td>",
            f"<td>{'' if column.kind is None else column.kind.value}</td>",
            _number(column.weight) if column.role is Role.QUASI_IDENTIFIER else "<td></td>",
        )
        for column in release.schema.columns
    ]
    versions = {"python": platform.python_version()} | package_versions()
    facts = {
        "Rows": f"{release.n_rows:,} in, {release.n_published:,} out, "
        f"{release.n_suppressed:,} left out",
        "HMAC-SHA-256 of the input": input_hmac,
        "SHA-256 of the release": output_sha256,
        "Settings": _settings(release.parameters),
        "Time": f"{release.seconds:.1f} s",
        "Versions": ", ".join(f"{name} {number}" for name, number in versions.items() if number),
    }
    known = [
        (f'<th scope="row">{what}</th>', f"<td>{_mono(what, text)}</td>")
        for what, text in facts.items()
        if text
    ]
    return (
        _table((), known)
        + '<div class="grid tables" style="margin-top:1rem">'
        + _table(("measure", "what it says", "value"), measures)
        + _table(("column", "role", "kind", "weight"), columns)
        + "</div>"
    )


def _mono(what: str, text: str) -> str:
    return f"<code>{escape(text)}</code>" if "SHA-256" in what else escape(text)


def _settings(parameters: dict[str, Any]) -> str:
    """Return what was asked for, without what is empty; never the seed or labels of values."""
    hidden = {"seed", "orders", "hierarchies", "k"}
    shown = []
    for name, value in parameters.items():
        if name in hidden or value in (None, (), [], {}):
            continue
        if isinstance(value, dict):
            value = ", ".join(f"{key} = {each}" for key, each in value.items())  # noqa: PLW2901 - as text
        elif name == "privacy":
            value = ", ".join(  # noqa: PLW2901 - as text
                " ".join(f"{key} {each}" for key, each in model.items() if each is not None)
                for model in value
            )
        shown.append(f"{name.replace('_', ' ')}: {value}")
    return "; ".join(shown)


def _glossary() -> str:
    terms = "".join(
        f"<div><dt>{escape(term)}</dt><dd>{escape(text)}</dd></div>" for term, text in GLOSSARY
    )
    return f'<div class="card"><dl>{terms}</dl></div>'


def _number(value: float) -> str:
    return f'<td class="number">{value:,.6g}</td>'


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    numeric = {"promised", "measured (worst group)", "value", "weight", ""}
    head = "".join(
        f'<th scope="col"{" class=number" if title in numeric else ""}>{title}</th>'
        for title in heads
    )
    body = "".join(f"<tr>{''.join(cells)}</tr>" for cells in rows)
    top = f"<thead><tr>{head}</tr></thead>" if heads else ""
    return f'<div class="card scroll"><table>{top}<tbody>{body}</tbody></table></div>'
