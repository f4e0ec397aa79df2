"""``shoal algorithms``, ``measures`` and ``privacy-models``: what there is, one line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.cli.flags import Debug

if TYPE_CHECKING:
    from shoal.registry import Family

__all__ = ["algorithms", "measures", "privacy_models"]


def algorithms(debug: Debug = False) -> None:
    """List the algorithms."""
    del debug
    _show("algorithms", "Algorithms", "--algorithm")


def measures(debug: Debug = False) -> None:
    """List the measures; those marked can be minimised with --measure."""
    del debug
    _show("measures", "Measures", "--measure")


def privacy_models(debug: Debug = False) -> None:
    """List the promises that can be made beyond k-anonymity."""
    del debug
    _show("privacy", "Privacy models", "--job or flags of their own")


def _show(family: Family, title: str, option: str) -> None:
    from rich.table import Table

    from shoal import registry
    from shoal.cli.screen import open_console

    table = Table(title=f"{title} ({option})", title_justify="left", box=None, pad_edge=False)
    table.add_column("name", no_wrap=True, style="bold")
    if family == "measures":
        table.add_column("minimise", justify="center")
    table.add_column("what")
    table.add_column("source", style="dim")
    for name in registry.names(family):
        found = registry.load(family, name)
        marks = ["yes" if found.can_minimise else ""] if family == "measures" else []
        table.add_row(name, *marks, found.title, found.citation)
    open_console().print(table)
