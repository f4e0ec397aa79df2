"""The section of the report about attacks: what each attacker reaches; shares only, no cell."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shoal.study.audit.findings import Audit, Finding

__all__ = ["GROUPS", "attacked"]

GROUPS = {
    "linkage": "Who finds a person's row?",
    "regulators": "Singling out, linkability, inference",
    "secrets": "What becomes known about sensitive values?",
    "tight": "What follows from how tight cells are?",
    "two releases": "What do two releases tell together?",
}
"""The groups of attacks, and the question that each asks."""


def attacked(audit: Audit) -> str:
    """Return the section: a table for each group of attacks, and what was not tried."""
    parts = []
    for attack, title in GROUPS.items():
        found = audit.of(attack)
        if not found:
            continue
        body = "".join(_row(each) for each in found)
        parts.append(
            f'<div class="card scroll"><h3>{title}</h3><table><thead><tr>'
            '<th scope="col">attacker</th><th scope="col" class="number">right</th>'
            '<th scope="col" class="number">95 % interval</th>'
            '<th scope="col" class="number">without the release</th>'
            '<th scope="col" class="number">people outside</th>'
            f"</tr></thead><tbody>{body}</tbody></table></div>"
        )
    notes = "".join(f"<li>{escape(note)}</li>" for note in audit.notes)
    return (
        "".join(parts)
        + (f'<ul class="note">{notes}</ul>' if notes else "")
        + '<p class="note">Every number is measured by an attack on the release with the original '
        "in hand. This section is for the people who make the release.</p>"
    )


def _row(finding: Finding) -> str:
    known = "".join(
        f'<td class="number">{"" if each is None else f"{each:.2%}"}</td>'
        for each in (finding.baseline, finding.control)
    )
    return (
        f"<tr><td>{escape(finding.sentence)} <small>Lowered by {escape(finding.lowered_by)}."
        f'</small></td><td class="number">{finding.rate:.2%}</td>'
        f'<td class="number">{finding.low:.2%} to {finding.high:.2%}</td>{known}</tr>'
    )
