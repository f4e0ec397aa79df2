"""From a request and a table in memory to a release."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.engine.local import LocalEngine
from shoal.errors import OptionError, ShoalWarning
from shoal.life.again import AgainEngine
from shoal.life.open import key_of, marks_of, open_previous
from shoal.life.people import new_key, new_mark
from shoal.pipeline import run_pipeline
from shoal.profile.repeats import find_repeats, says_whose
from shoal.profile.slips import find_slips
from shoal.promises import grids_of
from shoal.release import Release
from shoal.runtime.fork_guard import check_process
from shoal.settings.population import open_populations
from shoal.table.encode import DisposableTable, to_polars
from shoal.table.frames import back_from_polars

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from shoal.release import FrameT
    from shoal.settings.given import LabelsLike
    from shoal.settings.request import Request

__all__ = ["labels_of", "make_release"]

_MADE_HERE: Any = object()


def make_release(
    frame: FrameT,
    request: Request,
    progress: bool | Callable[[int, int, str], None],  # noqa: FBT001 - as users give it
    groups: LabelsLike = _MADE_HERE,
) -> Release[FrameT]:
    """Run the pipeline and wrap what it makes; warnings point at who called the caller."""
    from shoal.runtime.progress import watching

    check_process()  # before anything is asked of the table: a forked child would wait for ever
    table = frame if isinstance(frame, DisposableTable) else to_polars(frame)
    n_rows = to_polars(frame).height
    request = replace(request, privacy=open_populations(request.privacy))
    schema = request.schema(table.columns)
    start, said = None, request.parameters()
    if groups is not _MADE_HERE:
        start = labels_of(groups, n_rows)
        said |= {"algorithm": "given groups", "algorithm_options": {}, "refine": request.effort}
    earlier = open_previous(request.previous)
    again = bool(earlier) or request.reserve > 1
    engine = AgainEngine(earlier) if again else LocalEngine()
    doubts = [] if says_whose(request) else find_repeats(to_polars(frame), schema, request.k)
    notes = [*doubts, *find_slips(to_polars(frame), schema.exact)]
    if isinstance(frame, DisposableTable):
        frame.forget(schema.used)
    with watching(progress) as report:
        request = replace(request, progress=report)
        result = run_pipeline(table, schema, request, engine, start=start, notes=notes)
    found = result.measured
    if not isinstance(table, DisposableTable):  # what a command reads, the command shows
        for sentence in result.warnings:
            warnings.warn(sentence, ShoalWarning, stacklevel=3)
    return Release(
        frame=back_from_polars(
            result.published.frame, frame, [*found.schema.sensitive, *found.schema.insensitive]
        ),
        groups=found.groups.labels.astype(np.int64),
        scores=found.scores,
        verification=result.verification,
        k=request.k,
        n_rows=found.n_rows,
        n_suppressed=found.n_suppressed,
        parameters=said
        | {"weights": {c.name: c.weight for c in found.schema.columns if c.weight != 1.0}},
        schema=found.schema,
        facts=found.facts,
        warnings=result.warnings,
        seconds=result.seconds,
        engine=engine,
        bound=found.bound,
        privacy=request.privacy,
        grids=grids_of(found.schema, request.style),
        people=result.published.people,
        whose="doubtful" if doubts else "declared" if request.rows_are_people else "assumed",
        style=request.style,
        asked=schema,
        ids=result.published.ids,
        key=None if result.published.ids is None else (key_of(earlier) or new_key()),
        mark=new_mark(),
        beside=marks_of(earlier),
        recoded=found.groups.recoded,
    )


def labels_of(groups: LabelsLike, n_rows: int) -> NDArray[np.integer[Any]]:
    """Return the group of each row as an array.

    Raises:
        OptionError: it is no whole number for each row.
    """
    labels: NDArray[Any] = np.asarray(groups)
    if labels.ndim != 1 or len(labels) != n_rows or labels.dtype.kind not in "iu":
        raise OptionError(
            f"groups must hold one whole number per row of the table ({n_rows} rows); "
            "negative ones mean suppressed."
        )
    return labels
