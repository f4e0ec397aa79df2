"""``shoal register``: which releases are out."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.cli import options as opt
from shoal.cli.json_summary import print_json

__all__ = ["register"]


def register(
    folder: Annotated[
        str, typer.Argument(metavar="FOLDER", help="A folder with release files (.shoal).")
    ],
    *,
    as_json: opt.Json = False,
    debug: opt.Debug = False,
) -> None:
    """List the releases that are out: the release files of a folder, and what they promise.

    Prints counts and promises, never a cell.
    """
    del debug
    from shoal.life.register import list_releases

    found = list_releases(folder)
    if as_json:
        print_json({"releases": found})
        return
    from rich.table import Table
    from rich.text import Text

    from shoal.cli.screen import open_console
    from shoal.runtime.sanitize import safe_text

    table = Table(box=None, pad_edge=False)
    table.add_column("file", overflow="fold")
    for name in ("rows", "groups", "k"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("promises", "people", "beside", "file of"):
        table.add_column(name, overflow="fold")
    for each in found:
        if "problem" in each:
            table.add_row(Text(safe_text(each["file"])), "", "", "", Text(each["problem"]))
            continue
        table.add_row(
            Text(safe_text(each["file"])),
            f"{each['rows']:,}",
            f"{each['groups']:,}",
            f"{each['k']:,}",
            Text(safe_text(", ".join(each["promises"]) or "k")),
            "known" if each["people"] else "not known",
            Text(safe_text(", ".join(each["beside"]) or "none")),
            each["written"],
        )
    open_console().print(table)
