"""The line from a table to a verified release, read from top to bottom."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from shoal.algorithms.base import Algorithm, Run, create_algorithm
from shoal.bound import bound_table, check_measure
from shoal.encode import encode
from shoal.enforce import enforce, violations
from shoal.engine.local import cluster
from shoal.engine.polish import polish
from shoal.errors import DataError, OptionError, PromiseError
from shoal.facts import Facts, gather_facts
from shoal.forked import check_process
from shoal.infer import infer_kinds
from shoal.measures.base import CostMeasure, CostModel, Grouped, pick_target
from shoal.partition import SUPPRESSED, Partition
from shoal.promises import promises_of
from shoal.publish.danger import find_dangers
from shoal.publish.verify import Verification, verify_table
from shoal.recode import recode
from shoal.refine import EFFORTS
from shoal.scan import Scanner
from shoal.scores import Scores, create_measure, default_measures, score_table
from shoal.suppress import find_outliers

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl
    from numpy.typing import NDArray

    from shoal.encode import EncodedTable
    from shoal.privacy import PrivacyModel
    from shoal.schema import Schema
    from shoal.settings.request import Request

__all__ = ["Result", "run_pipeline"]

MANY = 1_000_000


@dataclass(frozen=True, eq=False)
class Result:
    """What the line produces."""

    published: pl.DataFrame
    partition: Partition
    scores: Scores
    verification: Verification
    schema: Schema
    facts: Facts
    warnings: tuple[str, ...]
    seconds: float
    bound: float | None = None


def run_pipeline(
    frame: pl.DataFrame,
    schema: Schema,
    request: Request,
    *,
    own: bool = False,
    start: NDArray[np.integer[Any]] | None = None,
) -> Result:
    """Take a table to a verified release.

    Args:
        frame: the table.
        schema: what its columns are.
        request: what to do.
        own: whether the frame is the run's own: columns are taken out of it once they are not
            needed any more, and published text stays codes (see `shoal.coded`).
        start: group of every row, negative if suppressed; refined instead of running the
            algorithm.

    Raises:
        ShoalError: the input or an option is wrong, or the promise cannot be kept.
    """
    check_process()
    began = time.perf_counter()
    measure = create_measure(request.measure, request.measure_options)
    if not isinstance(measure, CostMeasure):
        raise OptionError(
            f"Measure {request.measure!r} is a score and cannot be minimised; "
            "choose one such as 'ncp', 'lm' or 'mi'."
        )
    if request.bound:
        check_measure(measure)
    algorithm = create_algorithm(request.algorithm, request.algorithm_options)
    if frame.height == 0:
        raise DataError("The table has no rows; there is nothing to anonymize.")
    n_rows = frame.height
    _check_rows(n_rows, request.k)
    rng = np.random.default_rng(request.seed)

    request.progress(0, n_rows, "encoding")
    schema = infer_kinds(schema, nw.from_native(frame))
    table = encode(frame, schema)
    if own:
        for name in schema.quasi_identifiers:
            frame.drop_in_place(name)
    kept = _rows_to_publish(table, request)
    _check_possible(table, kept, request)

    notes: list[str] = []
    partition = _cluster(table, kept, algorithm, measure, request, rng, notes.append, start)

    request.progress(0, n_rows, "publishing")
    notes += find_dangers(frame, schema, table, partition)
    _check_notes(notes, request)
    published = recode(
        frame, schema, table, partition, request.style, shuffle=request.shuffle, coded=own
    )
    request.progress(0, n_rows, "verifying")
    verification = _verify(published, schema, request)
    notes += verification.notes
    _check_notes(notes, request)
    request.progress(0, n_rows, "scoring")
    scores = _score(table, partition, request)
    bound = None
    if request.bound:
        bound = bound_table(table, int(request.k), measure, request.threads, request.progress)
    facts = gather_facts(table, partition, published, k=int(request.k), style=request.style)
    request.progress(n_rows, n_rows, "done")
    return Result(
        published=published,
        partition=partition,
        scores=scores,
        verification=verification,
        schema=schema,
        facts=facts,
        warnings=tuple(dict.fromkeys(notes)),
        seconds=time.perf_counter() - began,
        bound=bound,
    )


def _check_notes(notes: list[str], request: Request) -> None:
    if notes and request.strict:
        raise PromiseError(
            f"The release would come with a warning, so with strict it is not made: {notes[0]}"
            + (f" ({len(notes) - 1} more of the kind.)" if len(notes) > 1 else "")
        )


def _check_rows(n_rows: int, k: int) -> None:
    if n_rows < k:
        raise PromiseError(
            f"The table has {n_rows} rows, fewer than k = {k}, so no k-anonymous release exists; "
            "lower k or add rows."
        )


def _rows_to_publish(table: EncodedTable, request: Request) -> NDArray[np.int64]:
    """Return the rows that take part, by the way missing values are to be treated."""
    missing = np.zeros(table.n_rows, np.bool_)
    for attribute in table.attributes:
        if attribute.has_missing:
            missing |= attribute.codes == attribute.size
    if not missing.any() or request.missing == "category":
        return np.arange(table.n_rows)
    if request.missing == "error":
        names = [repr(a.name) for a in table.attributes if a.has_missing]
        raise DataError(
            f"{int(missing.sum())} rows have a missing quasi-identifier (in {', '.join(names)}) "
            "and missing='error' was asked for; fill them or use missing='category'."
        )
    rows = np.flatnonzero(~missing)
    _check_rows(len(rows), request.k)
    return rows


def _check_possible(table: EncodedTable, kept: NDArray[np.int64], request: Request) -> None:
    part = table if len(kept) == table.n_rows else table.take(kept)
    _check_promises(part, request.privacy)


def _check_promises(part: EncodedTable, privacy: tuple[PrivacyModel, ...]) -> None:
    """Raise if not even one group of these rows keeps the promises."""
    for model in privacy:
        for column in model.columns(part):
            # a part of a table carries the counts of the whole table
            counts = np.bincount(column.codes, minlength=column.size).astype(np.int64)
            model.check_possible(replace(column, counts=counts))


def _cluster(
    table: EncodedTable,
    kept: NDArray[np.int64],
    algorithm: Algorithm,
    measure: CostMeasure,
    request: Request,
    rng: np.random.Generator,
    warn: Callable[[str], None],
    start: NDArray[np.integer[Any]] | None = None,
) -> Partition:
    """Group the kept rows, in an order of the run's own, and translate the labels back."""
    order = rng.permutation(kept)
    shuffled = table.take(order)
    target = pick_target(shuffled, request.measure_options)
    model = CostModel.bind(measure, shuffled, target)
    scanner = Scanner.build(shuffled, model)
    allowed = int(request.max_suppression * table.n_rows)
    run = Run(
        k=int(request.k),
        model=model,
        scanner=scanner,
        rng=rng,
        privacy=request.privacy,
        threads=request.threads or os.cpu_count() or 1,
        progress=request.progress,
        max_suppressed=allowed if request.max_suppression > 0 else None,
        warn=warn,
    )

    def group(part: EncodedTable, part_run: Run) -> Partition:
        effort = None if request.refine is None else EFFORTS[request.refine]
        return cluster(part, algorithm, part_run, request.block_rows, effort)

    if start is not None:
        partition = _refine_given(shuffled, start[order], run, request)
    else:
        partition = group(shuffled, run)
    if start is not None:
        pass  # who gave the groups has decided which rows are left out
    elif allowed and not algorithm.may_suppress:
        partition = _suppress_outliers(shuffled, partition, group, run, allowed)
    elif partition.n_suppressed and run.max_suppressed is None:
        run.warn(
            f"Algorithm {algorithm.name!r} leaves out {partition.n_suppressed} of "
            f"{table.n_rows} rows, as published; a max_suppression above 0 limits that."
        )
    labels = np.full(table.n_rows, SUPPRESSED, np.int32)
    labels[order] = partition.labels
    return Partition(labels, partition.n_groups, partition.recoded)


def _refine_given(
    table: EncodedTable, labels: NDArray[np.integer[Any]], run: Run, request: Request
) -> Partition:
    """Refine groups that were made elsewhere; those that break a promise are merged first."""
    given = Partition.from_labels(labels)
    if not given.n_groups:
        raise DataError("Every row of the given groups is suppressed; there is nothing to publish.")
    broken = int(violations(table, given, run.k, run.privacy).sum())
    if broken:
        run.warn(
            f"{broken} of the {given.n_groups} given groups break a promise and were merged with "
            "others."
        )
    held = enforce(table, given, run.scanner, run.k, run.privacy, run.progress)
    effort = replace(EFFORTS[request.effort], seconds=request.seconds, keep_on_interrupt=True)
    if request.sweeps is not None:
        effort = replace(effort, sweeps=request.sweeps, rounds=1, min_gain=0.0)
    elif request.seconds is not None:  # as long as there is time and anything is gained
        effort = replace(effort, sweeps=MANY, rounds=MANY, min_gain=0.0)
    return polish(table, held, run, effort)


def _suppress_outliers(
    table: EncodedTable,
    partition: Partition,
    group: Callable[[EncodedTable, Run], Partition],
    run: Run,
    allowed: int,
) -> Partition:
    """Leave out the worst outliers, group the others anew, and keep whichever loses less."""
    room = min(allowed - partition.n_suppressed, table.n_rows - run.k)
    outliers = find_outliers(run.scanner, partition, room) if room > 0 else np.empty(0, np.int64)
    if not len(outliers):
        return partition
    keep = np.ones(table.n_rows, np.bool_)
    keep[outliers] = False
    rows = np.flatnonzero(keep)
    part = table.take(rows)
    try:
        _check_promises(part, run.privacy)
        again = replace(
            run,
            model=run.model.take(rows),
            scanner=run.scanner.take(rows),
            max_suppressed=allowed - len(outliers),
        )
        regrouped = group(part, again)
    except PromiseError:
        return partition  # without these rows the promise is out of reach
    labels = np.full(table.n_rows, SUPPRESSED, np.int32)
    labels[rows] = regrouped.labels
    fewer = Partition(labels, regrouped.n_groups, regrouped.recoded)
    before, after = (
        run.model.measure.score(Grouped(table, p, run.model.target)) for p in (partition, fewer)
    )
    return fewer if after < before and fewer.n_suppressed <= allowed else partition


def _verify(published: pl.DataFrame, schema: Schema, request: Request) -> Verification:
    verification = verify_table(
        published,
        k=int(request.k),
        quasi_identifiers=schema.quasi_identifiers,
        sensitive=schema.sensitive,
        promises=promises_of(request.privacy),
    )
    if not verification.holds:
        raise PromiseError(
            "The release does not keep its promise, so it is not written: "
            + " ".join(check.sentence for check in verification.checks if not check.holds)
        )
    return verification


def _score(table: EncodedTable, partition: Partition, request: Request) -> Scores:
    names = dict.fromkeys((request.measure, *default_measures(table)))
    return score_table(table, partition, tuple(names), measure_options=request.measure_options)
