"""``shoal utility``: what can still be learnt from a release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli import flags as opt
from shoal.cli.flags import Asked, Reading, takes_flags
from shoal.cli.screen import print_json

if TYPE_CHECKING:
    from shoal.study.use.run import Utility

__all__ = ["utility"]


@takes_flags()
def utility(
    original: Annotated[str, typer.Argument(metavar="DATA", help="The original table.")],
    published: Annotated[str, typer.Argument(metavar="RELEASE", help="The published table.")],
    *,
    job: opt.JobFile = None,
    asked: Asked,
    target: Annotated[
        str | None,
        typer.Option("--target", help="The column that models predict.", metavar="COLUMN"),
    ] = None,
    held_out: Annotated[
        str | None,
        opt.in_files(
            "--held-out", help="Rows in neither table, to test the models on.", metavar="FILE"
        ),
    ] = None,
    reading: Reading,
    as_json: opt.Json = False,
    debug: opt.Debug = False,
) -> None:
    """Say what analysts get from a published table: counts, distributions, models.

    Prints shares and errors, never a cell.
    """
    del debug
    from shoal.cli.both import read_both
    from shoal.study.use.run import utility as run_utility

    both = read_both(job, asked, original, published, reading)
    found = run_utility(
        both.before,
        both.after,
        target=target,
        held_out=both.like_original(held_out),
        **both.described,
    )
    if as_json:
        print_json(found.to_dict())
        return
    from shoal.io.location import shown_name

    _print(found, f"{shown_name(published)}, beside {shown_name(original)}")


def _print(found: Utility, title: str) -> None:
    from rich.table import Table
    from rich.text import Text

    from shoal.cli.screen import open_console
    from shoal.runtime.sanitize import safe_text

    console = open_console()
    console.print(title, style="bold", markup=False, soft_wrap=True)
    for sentence in found.sentences:
        console.print(f"- {sentence}", markup=False, soft_wrap=True)
    table = Table("columns", "share of the people", "median error", "mean error", box=None)
    for each in found.queries:
        table.add_row(
            str(each["columns"]),
            f"{each['selectivity']:.0%}",
            f"{each['median_error']:.1%}",
            f"{each['mean_error']:.1%}",
        )
    console.print("\nRandom counts", style="bold")
    console.print(table)
    table = Table("column", "off by", box=None)
    for name, off in found.one_way.items():
        table.add_row(Text(safe_text(name)), f"{off:.1%}")
    console.print("\nDistributions", style="bold")
    console.print(table)
    if found.models:
        table = Table("trained on", "model", "accuracy", "balanced", "AUC", box=None)
        for model in found.models:
            auc = model.get("auc")
            table.add_row(
                model["trained_on"],
                model["model"],
                f"{model['accuracy']:.1%}",
                f"{model['balanced_accuracy']:.1%}",
                "" if auc is None else f"{auc:.3f}",
            )
        console.print("\nModels", style="bold")
        console.print(table)
    for note in found.notes:
        console.print(f"Note: {note}", markup=False, soft_wrap=True)
