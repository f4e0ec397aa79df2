"""The steps of the work, one module each; a step has a page and exposes its ``routes``."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["SEVERAL", "STEPS", "Step"]


@dataclass(frozen=True)
class Step:
    """One step.

    Attributes:
        name: its module in this folder.
        path: its page.
        title: in English, as in the message files.
        needs_table: whether there is nothing to see before a table is open.
    """

    name: str
    path: str
    title: str
    needs_table: bool = True


def _(text: str) -> str:
    """Mark a text for the message files."""
    return text


STEPS = (
    Step("open", "/open", _("Table"), needs_table=False),
    Step("columns", "/columns", _("Columns")),
    Step("hierarchies", "/hierarchies", _("Hierarchies")),
    Step("promises", "/promises", _("Promises")),
    Step("run", "/run", _("Run")),
    Step("attack", "/attack", _("Attack")),
    Step("hand_over", "/hand-over", _("Hand over")),
)
SEVERAL = Step("tables", "/tables", _("Several tables"), needs_table=False)
"""The page of several tables that hang together; it has all steps on it."""
