"""``shoal score``: how much detail a published file has lost."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.cli import flags as opt
from shoal.cli.flags import Asked, Reading, takes_flags

__all__ = ["score"]


@takes_flags(measure_options="An option of a measure; may be repeated.")
def score(
    original: Annotated[str, typer.Argument(metavar="DATA", help="The original table.")],
    published: Annotated[str, typer.Argument(metavar="RELEASE", help="The published table.")],
    *,
    job: opt.JobFile = None,
    asked: Asked,
    measures: Annotated[
        str | None,
        typer.Option(
            help="Which ones, as in ncp,lm,kl; the common ones unless given.", metavar="NAMES"
        ),
    ] = None,
    reading: Reading,
    debug: opt.Debug = False,
) -> None:
    """Score a published table against the one it was made from.

    The rows of a release are shuffled, so its groups are read from the published cells. Rows
    that are not published count as fully generalised.
    """
    del debug
    from shoal.cli.job import job_of, release_of
    from shoal.settings.inputs import numeric_columns, read_input

    wanted = job_of(job, asked, source=original, reading=reading)
    columns = wanted.schema_options()
    numeric = numeric_columns(columns["kinds"])
    before = read_input(wanted.input, numeric=numeric)
    after = read_input(release_of(wanted, published, reading), numeric=numeric)
    names = None if measures is None else opt.parse_names([measures])

    import narwhals as nw

    from shoal.publish.recode import Style
    from shoal.report.scoring import score_published
    from shoal.table.infer import schema_of_used

    # Columns that were removed or kept as they are play no part in the scores.
    for role in ("identifiers", "insensitive", "drop", "person"):
        del columns[role]
    # The job's options belong to the measure it minimises.
    given = wanted if names is None or wanted.measure in names else job_of(None, asked)
    scores = score_published(
        before,
        after,
        schema_of_used(
            nw.from_native(before, eager_only=True),
            default_grid=wanted.default_grid is not False,
            unknown_values=wanted.unknown_values or "error",
            **columns,
        ),
        measures=names,
        also=[] if wanted.measure is None else [wanted.measure],
        measure_options=given.measure_options,
        style=Style.from_dict(wanted.style),
    )
    from shoal.cli.summary import print_scores
    from shoal.io.location import shown_name

    print_scores(scores, title=f"{shown_name(published)}, made from {shown_name(original)}")
