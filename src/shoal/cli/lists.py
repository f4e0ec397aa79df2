"""``shoal algorithms``, ``measures``, ``privacy-models``, ``register`` and ``warm-up``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli import arguments as opt
from shoal.cli.arguments import Quiet
from shoal.cli.screen import print_json, say
from shoal.cli.state import number, translated, words
from shoal.errors import DataError
from shoal.messages import Message, joined

if TYPE_CHECKING:
    from shoal.registry import Family


def algorithms() -> None:
    """List the algorithms."""
    _show("algorithms", words("Algorithms (--algorithm)"))


def measures() -> None:
    """List the measures; those marked can be minimised with --measure."""
    _show("measures", words("Measures (--measure)"))


def privacy_models() -> None:
    """List the promises that can be made beyond k-anonymity."""
    _show("privacy", words("Privacy models (--job or flags of their own)"))


def schema() -> None:
    """Print a JSON Schema of job files, by which editors complete and check them."""
    from shoal.settings.job_schema import job_schema

    print_json(job_schema())


def _show(family: Family, title: str) -> None:
    from rich.table import Table

    from shoal import registry
    from shoal.cli.screen import open_console

    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column(words("name"), no_wrap=True, style="bold")
    if family == "measures":
        table.add_column(words("minimise"), justify="center")
    table.add_column(words("what"))
    table.add_column(words("source"), style="dim")
    for name in registry.names(family):
        found = registry.load(family, name)
        marks = [words("yes") if found.can_minimise else ""] if family == "measures" else []
        table.add_row(name, *marks, words(found.title), found.citation)
    open_console().print(table)


# ``shoal register``: which releases are out.


def register(
    folder: Annotated[
        str, typer.Argument(metavar="FOLDER", help="A folder with release files (.shoal).")
    ],
    *,
    as_json: opt.Json = False,
) -> None:
    """List the releases that are out: the release files of a folder, and what they promise.

    Prints counts and promises, never a cell.
    """
    from shoal.archive.release_file import list_releases

    found = list_releases(folder)
    if as_json:
        print_json({"releases": found})
        return
    from rich.table import Table
    from rich.text import Text

    from shoal.cli.screen import open_console
    from shoal.runtime.sanitize import safe_text

    table = Table(box=None, pad_edge=False)
    table.add_column(words("file"), overflow="fold")
    for name in (words("rows"), words("groups"), "k"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in (words("promises"), words("people"), words("beside"), words("file of")):
        table.add_column(name, overflow="fold")
    for each in found:
        if "problem" in each:
            problem = Text(translated(each["problem"]))
            table.add_row(Text(safe_text(each["file"])), "", "", "", problem)
            continue
        promises = translated(joined(", ", each["promises"])) or "k"
        table.add_row(
            Text(safe_text(each["file"])),
            number(each["rows"]),
            number(each["groups"]),
            number(each["k"]),
            Text(safe_text(promises)),
            words("known") if each["people"] else words("not known"),
            Text(safe_text(", ".join(each["beside"]) or words("none"))),
            each["written"],
        )
    open_console().print(table)


# -- ``shoal warm-up``: compile the kernels before the first run needs them ------------------------


def warm_up(
    everything: Annotated[
        bool, typer.Option("--all", help="What every algorithm needs, not only the default one.")
    ] = False,
    processes: Annotated[
        int | None,
        typer.Option(
            "--processes", min=1, help="How many at the same time; as many as cores.", metavar="N"
        ),
    ] = None,
    prune: Annotated[
        bool, typer.Option("--prune", help="Remove what other versions have left behind, too.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Compile for this machine now, so that the first run starts at once."""
    import time

    from shoal.algorithm.warm_up import DEFAULT, EVERYTHING
    from shoal.algorithm.warm_up import warm_up as compile_in_processes
    from shoal.kernels.cache import TEMPORARY, remove_stale

    if TEMPORARY:
        raise DataError(
            "There is no folder that compiled code could be kept in; make one that can be written "
            "to and name it in the environment variable NUMBA_CACHE_DIR."
        )
    began = time.monotonic()
    folder = compile_in_processes(EVERYTHING if everything else DEFAULT, processes)
    removed = remove_stale() if prune else 0
    if not quiet:
        seconds = time.monotonic() - began
        say(
            Message(
                "Compiled in {seconds:.0f} s. The code is kept in {folder}.",
                seconds=seconds,
                folder=folder,
            )
        )
        if prune:
            say(Message("Removed the code of {n} other versions.", n=removed))
