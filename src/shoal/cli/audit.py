"""``shoal audit``: a release attacked before others do it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli import flags as opt
from shoal.cli.flags import Asked, Reading, takes_flags
from shoal.cli.screen import print_json

if TYPE_CHECKING:
    from shoal.study.audit.findings import Audit

__all__ = ["audit", "print_audit"]


@takes_flags()
def audit(
    original: Annotated[str, typer.Argument(metavar="DATA", help="The original table.")],
    published: Annotated[str, typer.Argument(metavar="RELEASE", help="The published table.")],
    *,
    job: opt.JobFile = None,
    asked: Asked,
    population: Annotated[
        str | None,
        opt.in_files(
            "--population",
            help="A table of everybody who could be in DATA; for the journalist.",
            metavar="FILE",
        ),
    ] = None,
    control: Annotated[
        str | None,
        opt.in_files(
            "--control",
            help="A table of people who are not in DATA, with the same columns.",
            metavar="FILE",
        ),
    ] = None,
    second: Annotated[
        str | None,
        opt.in_files("--second", help="Another release of these people.", metavar="FILE"),
    ] = None,
    targets: Annotated[
        int, typer.Option("--targets", help="How many people are attacked.", metavar="N")
    ] = 1000,
    reading: Reading,
    as_json: opt.Json = False,
    debug: opt.Debug = False,
) -> None:
    """Attack a published table with the original in hand, and say how far each attacker gets.

    Also for releases of other software. Prints counts and shares, never a cell.
    """
    del debug
    from shoal.cli.both import read_both
    from shoal.study.audit.run import audit as run_audit

    both = read_both(job, asked, original, published, reading)
    found = run_audit(
        both.before,
        both.after,
        population=both.like_original(population, rename=None),
        control=both.like_original(control),
        second=both.like_release(second),
        targets=targets,
        **both.described,
    )
    if as_json:
        print_json(found.to_dict())
        return
    from shoal.io.location import shown_name

    print_audit(found, f"{shown_name(published)}, attacked with {shown_name(original)}")


def print_audit(found: Audit, title: str, *, stderr: bool = False) -> None:
    """Print how far each attacker gets, in numbers and in words."""
    from rich.table import Table
    from rich.text import Text

    from shoal.cli.screen import open_console
    from shoal.runtime.sanitize import safe_text

    console = open_console(stderr=stderr)
    console.print(title, style="bold", markup=False, soft_wrap=True)
    table = Table(box=None, pad_edge=False)
    table.add_column("attacker", overflow="fold")
    for name in ("right", "95 % interval", "without", "outside", "worst"):
        table.add_column(name, justify="right", no_wrap=True)
    for each in found.findings:
        numbers = (each.baseline, each.control, each.worst)
        table.add_row(
            Text(safe_text(each.name)),
            f"{each.rate:.2%}",
            f"{each.low:.2%} to {each.high:.2%}",
            *("" if number is None else f"{number:.2%}" for number in numbers),
        )
    console.print(table)
    console.print()
    for each in found.findings:
        console.print(f"- {each.sentence}", markup=False, soft_wrap=True)
    for note in found.notes:
        console.print(f"Note: {note}", markup=False, soft_wrap=True)
