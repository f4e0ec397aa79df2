"""``shoal score``: how much detail a published file has lost."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.cli import options as opt
from shoal.cli.flags import ColumnFlags, InputFlags, takes_flags

__all__ = ["score"]


@takes_flags
def score(
    original: Annotated[str, typer.Argument(metavar="DATA", help="The table before.")],
    published: Annotated[str, typer.Argument(metavar="RELEASE", help="The published table.")],
    *,
    job: opt.JobFile = None,
    qi: opt.Qi = None,
    sensitive: opt.SensitiveColumns = None,
    hierarchy: opt.Hierarchies = None,
    kind: opt.Kinds = None,
    order: opt.Orders = None,
    weight: opt.Weights = None,
    measures: Annotated[
        str | None,
        typer.Option(help="As in ncp,lm,kl; the common ones unless given.", metavar="NAMES"),
    ] = None,
    measure_option: Annotated[
        list[str] | None,
        typer.Option(help="Option of a measure; repeat it.", metavar="NAME=VALUE"),
    ] = None,
    reading: InputFlags,
    debug: opt.Debug = False,
) -> None:
    """Score a published table against the one it was made from.

    The rows of a release are shuffled, so its groups are read from the published cells. Rows
    that are not published count as fully generalised.
    """
    del debug
    from shoal.cli.settings import (
        build_style,
        load_job,
        merge_columns,
        parse_options,
        read_input,
    )

    base = load_job(job)
    columns = merge_columns(
        base,
        ColumnFlags(
            qi=qi, sensitive=sensitive, hierarchy=hierarchy, kind=kind, order=order, weight=weight
        ),
    )
    tables = [
        read_input(path, base, reading, kinds=columns["kinds"]) for path in (original, published)
    ]
    names = None if measures is None else opt.parse_names([measures])
    before, after = tables

    import narwhals as nw

    from shoal.infer import schema_of_used
    from shoal.report.published import score_published

    # Columns that were removed or kept as they are play no part in the scores.
    for role in ("identifiers", "insensitive", "drop"):
        del columns[role]
    scores = score_published(
        before,
        after,
        schema_of_used(nw.from_native(before, eager_only=True), **columns),
        measures=names,
        also=[] if base.measure is None else [base.measure],
        measure_options=parse_options(
            "--measure-option",
            measure_option,
            # The job's options belong to the measure it minimises.
            base.measure_options if names is None or base.measure in names else {},
        ),
        style=build_style(base.style),
    )
    from shoal.cli.summary import print_scores
    from shoal.io import shown_name

    print_scores(scores, title=f"{shown_name(published)}, made from {shown_name(original)}")
