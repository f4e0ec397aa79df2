"""The engine of one machine: codes in memory, rows grouped as `shoal.engine.grouping` does it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from secrets import token_bytes
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from shoal.algorithm.base import create_algorithm
from shoal.engine.grouping import (
    LocalWork,
    cells_against,
    check_people,
    check_promises,
    follow_measure,
    form_groups,
    group_within,
    merge_violating,
    refine_for_release,
)
from shoal.engine.pipeline import Measured, Task
from shoal.errors import DataError, OptionError
from shoal.measure.base import CostModel, pick_target
from shoal.measure.scores import (
    Scores,
    create_cost_measure,
    default_measures,
    score_table,
)
from shoal.messages import Message
from shoal.profile.repeated_people import find_signs
from shoal.publish.aggregates import gather_facts, without_intervals
from shoal.publish.danger import find_dangers
from shoal.publish.limited import limited_of
from shoal.publish.recode import recode, with_listings
from shoal.publish.release_data import (
    PublishedTable,
    doubts_of_pseudonyms,
    number_people,
)
from shoal.publish.shuffled import doubt_of_shuffled, schema_of_shuffled, shuffle_within_groups
from shoal.publish.verification_terms import grids_of, promises_of, trees_of
from shoal.publish.verify import Verification, verify_table
from shoal.search.enforce import violations
from shoal.search.refine import EFFORTS
from shoal.search.scan import Run, Scanner
from shoal.table.encode import encode
from shoal.table.frames import to_polars
from shoal.table.infer import infer_kinds, notes_on_unknown, settle_grids
from shoal.table.partition import SUPPRESSED, Partition
from shoal.table.scale import check_width, rescaled

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl
    from numpy.typing import NDArray

    from shoal.algorithm.base import Algorithm
    from shoal.engine.grouping import Regroup
    from shoal.publish.judgement import Doubt
    from shoal.publish.verify import WholePromise
    from shoal.settings.request import Request
    from shoal.table.encode import EncodedTable
    from shoal.table.schema import Schema


MANY = 1_000_000
"""More sweeps and rounds than anybody waits for."""


def suppress_outliers(work: LocalWork, groups: Partition, regroup: Regroup) -> Partition:
    """Leave out the worst outliers, group the others anew, and keep whichever loses less.

    Args:
        work: the table and what is asked.
        groups: of all rows.
        regroup: forms the groups of what is left.
    """
    run = work.run
    allowed = run.max_suppressed or 0
    if work.algorithm.suppresses or not allowed:
        if groups.n_suppressed and run.max_suppressed is None:
            run.warn(
                Message(
                    "Algorithm {name!r} leaves out {n_suppressed} of {n_rows} rows, as published; "
                    "a max_suppression above 0 limits that.",
                    name=work.algorithm.name,
                    n_suppressed=groups.n_suppressed,
                    n_rows=work.table.n_rows,
                )
            )
        return groups
    from shoal.engine.suppression import leave_out_outliers

    return leave_out_outliers(work, groups, regroup, allowed)


@dataclass(eq=False)
class LocalEngine:
    """One machine, in memory; see `shoal.engine.pipeline.Engine` for the stages.

    Attributes:
        owned: whether the table is the run's alone: its quasi-identifiers are forgotten once they
            are encoded, and its text may be codes (see `shoal.io.columns`).
        looks: whether signs are looked for that rows are not people, or that columns which are
            published as they are name them.
        moves: whether dates are moved that are to be; otherwise they were already.
        key: of people, under which pseudonyms are made and dates are moved; one that is forgotten
            unless given.
    """

    owned: bool = False
    looks: bool = False
    moves: bool = False
    key: bytes | None = field(default=None, repr=False)

    def describe(self, task: Task[Any]) -> LocalWork:
        """Encode the table and put the rows that take part into an order of the run's own."""
        table, schema, request, warn, progress = task
        measure = create_cost_measure(request.measure, request.measure_options)
        if request.bound:
            from shoal.search.bound import check_measure

            check_measure(measure)
        algorithm = create_algorithm(request.algorithm, request.algorithm_options)
        _check_suppress_for(request, algorithm)
        frame = self._take(table, schema, request, warn)
        rng = np.random.default_rng(request.seed)
        asked, schema = schema, infer_kinds(schema, nw.from_native(frame), request.unknown_values)
        for note in notes_on_unknown(asked, schema):
            warn(note)
        schema = settle_grids(schema, frame, by_default=request.grids_by_default)
        if schema.is_coded:
            from shoal.table.coding import clamp_frame

            frame = clamp_frame(frame, schema.columns)
        whole = with_listings(encode(frame, schema), request.listing_style, int(request.k))
        for attribute in whole.attributes:
            check_width(attribute)
        if request.style.shuffles:
            warn(doubt_of_shuffled(int(request.k)))
            schema_of_shuffled(schema)  # the name of its groups is free
        elif self.owned:
            for name in schema.quasi_identifiers:
                frame.drop_in_place(name)
        kept = _rows_to_publish(whole, request)
        taking_part = whole if len(kept) == whole.n_rows else whole.take(kept)
        check_people(taking_part.n_people, request.k, "people")
        check_promises(taking_part, request.privacy)
        rows = rng.permutation(kept)
        searched = rescaled(whole, schema).take(rows)
        model = CostModel.bind(measure, searched, pick_target(searched, request.measure_options))
        allowed = int(request.max_suppression * whole.n_rows)
        run = Run(
            k=int(request.k),
            model=model,
            scanner=Scanner.build(searched, model),
            rng=rng,
            privacy=tuple(model for model in request.privacy if model.about == "groups"),
            threads=request.threads or os.cpu_count() or 1,
            progress=progress,
            max_suppressed=allowed if request.max_suppression > 0 else None,
            warn=warn,
        )
        if request.pseudonyms:
            for doubt in doubts_of_pseudonyms(kept=request.person_key is not None):
                warn(doubt)
        return LocalWork(
            frame, schema, request, algorithm, whole, rows, searched, run, coded=self.owned
        )

    def _take(
        self, table: Any, schema: Schema, request: Request, warn: Callable[[str], None]
    ) -> pl.DataFrame:
        """Return the rows, after a look for what no promise covers."""
        frame = to_polars(table)
        for sign in find_signs(frame, schema, request) if self.looks else ():
            warn(sign)
        if self.owned:  # what only these signs needed
            for name in set(frame.columns) - set(schema.used):
                frame.drop_in_place(name)
        if self.moves and schema.moved_dates:
            from shoal.publish.moved_dates import doubts_of_dates
            from shoal.table.dates import move_dates

            for doubt in doubts_of_dates(frame, schema):
                warn(doubt)
            frame = move_dates(frame, schema, self.key)
        if frame.height == 0:
            raise DataError("The table has no rows; there is nothing to anonymize.")
        check_people(frame.height, request.k)
        return frame

    def group(self, work: LocalWork) -> Partition:
        """Return the group of every row of the input."""

        def regroup(of: LocalWork) -> Partition:
            return follow_measure(of, form_groups(of), form_groups)

        def grouped(of: LocalWork) -> Partition:
            groups = follow_measure(of, form_groups(of), form_groups)
            return suppress_outliers(of, groups, regroup)

        if work.request.is_limited:
            return work.in_input_order(cells_against(work))
        if work.request.within is None:
            return work.in_input_order(grouped(work))
        return work.in_input_order(group_within(work, work.request.within, grouped))

    def publish(self, work: LocalWork, groups: Partition) -> PublishedTable:
        """Generalise the rows of each group to what they have in common."""
        import polars as pl

        frame, person_of_row, name = work.frame, work.whole.person, work.schema.person
        if work.schema.moved_dates:
            from shoal.publish.moved_dates import refuse_first_of_others

            refuse_first_of_others(work.schema, person_of_row, groups.labels == SUPPRESSED)
        ids = None if name is None else frame.get_column(name)
        if name is not None and work.schema.pseudonyms:
            from shoal.table.person_key import KEY_BYTES, keyed_pseudonyms

            key = self.key or token_bytes(KEY_BYTES)
            frame = frame.with_columns(keyed_pseudonyms(frame.get_column(name), key))
        if work.request.style.shuffles:
            published, rows = shuffle_within_groups(
                frame, work.schema, groups, shuffle=work.request.shuffle
            )
        else:
            published, rows = recode(
                frame,
                work.schema,
                work.whole,
                groups,
                work.request.style,
                shuffle=work.request.shuffle,
                coded=work.coded,
            )
        if ids is not None:
            ids = ids.gather(pl.Series(rows, dtype=pl.UInt32))
        return PublishedTable(published, number_people(work.schema, person_of_row, rows), ids)

    def find_dangers(self, work: LocalWork, groups: Partition) -> list[Doubt]:
        """Return a sentence for each published column that can undo the release."""
        return find_dangers(work.frame, work.schema, work.whole, groups)

    def verify(self, work: LocalWork, published: PublishedTable) -> Verification:
        """Check every promise again, from the published table alone."""
        about_all: tuple[WholePromise, ...] = ()
        if work.request.privacy:
            from shoal.release_reader.classes import promises_about_all

            about_all = promises_about_all(work.request.privacy, work.schema, work.request.style)
        return verify_table(
            published.frame,
            people=published.people,
            k=int(work.request.k),
            quasi_identifiers=work.published_schema.quasi_identifiers,
            sensitive=work.schema.sensitive,
            promises=promises_of(work.request.privacy, trees_of(work.schema)),
            about_all=about_all,
            limited=limited_of(work.request.knows, work.request.combinations),
            grids=grids_of(work.published_schema, work.request.style),
            shuffled=work.request.style.shuffles,
        )

    def measure(self, work: LocalWork, groups: Partition, published: PublishedTable) -> Measured:
        """Score the release and gather what the report needs."""
        request, whole = work.request, work.whole
        bound = None
        if request.bound:
            from shoal.search.bound import bound_table

            measure = work.run.model.measure
            bound = bound_table(whole, int(request.k), measure, request.threads, work.run.progress)
        exact = request.style.shuffles  # every cell is as it was
        equal_rows = _of_equal_rows(whole, groups) if exact else groups
        facts = gather_facts(
            whole,
            equal_rows,
            published.frame,
            k=int(request.k),
            style=request.style,
            within=request.within,
        )
        return Measured(
            schema=work.published_schema,
            n_rows=whole.n_rows,
            n_groups=groups.n_groups,
            n_suppressed=groups.n_suppressed,
            scores=_score(whole, groups, request),
            facts=without_intervals(facts) if exact else facts,
            bound=bound,
        )


class GivenGroupsEngine(LocalEngine):
    """One machine; groups that were made elsewhere are refined, and no algorithm runs.

    Args:
        labels: the group of each row of the input, negative if suppressed.
        made: the attributes of a `LocalEngine`.
    """

    def __init__(self, labels: NDArray[np.integer[Any]], **made: Any) -> None:
        super().__init__(**made)
        self.labels = labels

    def group(self, work: LocalWork) -> Partition:
        """Merge the given groups that break a promise, and refine them.

        Raises:
            DataError: they suppress every row.
        """
        run, request = work.run, work.request
        groups = Partition.from_labels(self.labels[work.rows])
        if not groups.n_groups:
            raise DataError(
                "Every row of the given groups is suppressed; there is nothing to publish."
            )
        broken = int(violations(work.table, groups, run.k, run.privacy).sum())
        if broken:
            run.warn(
                Message(
                    "{broken} of the {n_groups} given groups break a promise and were merged with "
                    "others.",
                    broken=broken,
                    n_groups=groups.n_groups,
                )
            )
        groups = merge_violating(work, groups)
        effort = replace(EFFORTS[request.effort], seconds=request.seconds, keep_on_interrupt=True)
        if request.sweeps is not None:
            effort = replace(effort, sweeps=request.sweeps, hot=(0, 0), renewals=0)
            effort = replace(effort, rounds=1, min_gain=0.0)
        elif request.seconds is not None:  # as long as there is time and anything is gained
            effort = replace(effort, sweeps=MANY, rounds=MANY, min_gain=0.0)
        return work.in_input_order(refine_for_release(work, groups, effort))


def _of_equal_rows(table: EncodedTable, groups: Partition) -> Partition:
    """Return the published rows in groups of those that are equal in all quasi-identifiers."""
    kept = groups.labels != SUPPRESSED
    equal = Partition.of_equal_rows([each.codes[kept] for each in table.attributes])
    labels = np.full(table.n_rows, SUPPRESSED, np.int32)
    labels[kept] = equal.labels
    return Partition(labels, equal.n_groups)


def _check_suppress_for(request: Request, algorithm: Algorithm) -> None:
    """Raise if rows are to be left out for the others' sake and none would be."""
    if request.suppress_for == "all":
        return
    if not request.max_suppression > 0:
        raise OptionError(
            "suppress_for={suppress_for!r} says what rows are left out for, but none may be; "
            "give a max_suppression above 0.",
            suppress_for=request.suppress_for,
        )
    if algorithm.suppresses:
        raise OptionError(
            "Algorithm {name!r} chooses by itself which rows it leaves out, so "
            "suppress_for={suppress_for!r} cannot be kept; choose another algorithm.",
            name=algorithm.name,
            suppress_for=request.suppress_for,
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
            "{n} rows have a missing quasi-identifier (in {names}) and missing='error' was "
            "asked for; fill them or use missing='category'.",
            n=int(missing.sum()),
            names=", ".join(names),
        )
    rows = np.flatnonzero(~missing)
    check_people(len(rows), request.k)
    return rows


def _score(table: EncodedTable, partition: Partition, request: Request) -> Scores:
    names = (request.measure, *default_measures(table))
    if request.style.numeric == "mean":
        from shoal.measure.sse import is_number

        names += ("sse",) * any(is_number(a) for a in table.attributes)
    return score_table(
        table, partition, tuple(dict.fromkeys(names)), measure_options=request.measure_options
    )
