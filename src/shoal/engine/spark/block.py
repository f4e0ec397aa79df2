"""What a worker does with the rows of one block: encode, group, repair, publish.

Every function here is one of its rows as a set, of the seed and of the number of the block: rows
are sorted before anything else, and rows that tie are equal in all that matters. So it changes
nothing who runs it, in which order a shuffle delivers the rows, and how often it is run again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.algorithm.base import create_algorithm
from shoal.algorithm.warm_up import MOVES, compile_missing
from shoal.engine.blocks import cut_table
from shoal.engine.grouping import SEAM, LocalWork, cluster, form_groups, merge_violating, refine
from shoal.engine.local import suppress_outliers
from shoal.engine.refine_across_blocks import polish
from shoal.engine.spark.plan import clean_person
from shoal.engine.spark.tally import tally
from shoal.errors import PromiseError
from shoal.measure.base import CostModel
from shoal.measure.scores import create_cost_measure
from shoal.publish.recode import published_cells, published_names, unite_equal
from shoal.search.enforce import enforce
from shoal.search.refine import EFFORTS
from shoal.search.scan import Run, Scanner
from shoal.table.partition import SUPPRESSED, Partition
from shoal.table.person_key import keyed_pseudonyms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from shoal.algorithm.base import Algorithm
    from shoal.engine.spark.plan import Columns, Parts, Plan, Rule
    from shoal.search.scan import Effort
    from shoal.settings.request import Request
    from shoal.table.encode import EncodedTable


GROUP_BITS = 32
"""A group's number is that of its block, and behind it its own in so many bits."""
CLUSTERING, REFINING = 1, 2


def encode_batches(plan: Plan, batches: Iterator[Any]) -> Iterator[Any]:
    """Replace quasi-identifiers, sensitive columns and people of some rows by codes."""
    import polars as pl
    import pyarrow as pa

    names = plan.columns
    kept = [name for name in plan.schema.published if name not in plan.schema.quasi_identifiers]
    for batch in batches:
        if not batch.num_rows:
            continue
        cells = {name: batch.column(name) for name in batch.schema.names}
        whose = clean_person(pl.Series(pl.from_arrow(cells["rp"]))) if names.person else None
        if whose is not None and plan.schema.person in kept:
            ids = pl.Series(pl.from_arrow(cells["rp"]))
            drawn = keyed_pseudonyms(ids, plan.secret).to_arrow().cast(pa.string())
            cells[f"x{kept.index(plan.schema.person)}"] = drawn
        result = {name: cells[name] for name in (*names.kept, *names.keys)}
        for number, (raw, coding) in enumerate(zip(names.raw, plan.codings, strict=True)):
            codes = coding.of(pl.Series(pl.from_arrow(cells[raw])))
            if plan.cells[number] is not None:
                result[f"o{number}"] = pa.array(codes, pa.int32())
                codes = plan.cell_of(number)[codes]
            result[f"q{number}"] = pa.array(codes, pa.int32())
        for number, coding in enumerate(plan.sensitive_codings):
            column = cells[f"x{kept.index(coding.name)}"]
            codes = coding.of(pl.Series(pl.from_arrow(column)))
            result[f"s{number}"] = pa.array(codes, pa.int32())
        if whose is not None:
            result["wt"] = whose.to_arrow().cast(pa.string())
        yield pa.RecordBatch.from_pydict(result)


def assign_leaves(rule: Rule, n_codes: int, batches: Iterator[Any]) -> Iterator[Any]:
    """Add the leaf of every row."""
    for batch, leaves in _with_leaves(rule, n_codes, batches):
        yield _widened(batch, {"leaf": leaves})


def assign_blocks(rule: Rule, n_codes: int, batches: Iterator[Any]) -> Iterator[Any]:
    """Add the first block of every row, and to how many its like are dealt."""
    for batch, leaves in _with_leaves(rule, n_codes, batches):
        yield _widened(batch, {"b": rule.first[leaves], "pieces": rule.pieces[leaves]})


def _with_leaves(
    rule: Rule, n_codes: int, batches: Iterator[Any]
) -> Iterator[tuple[Any, NDArray[np.int64]]]:
    for batch in batches:
        if batch.num_rows:
            codes = [batch.column(f"q{number}").to_numpy() for number in range(n_codes)]
            yield batch, rule.tree.leaves_of(codes)


def _widened(batch: Any, more: dict[str, NDArray[np.int64]]) -> Any:
    import pyarrow as pa

    columns = [*batch.columns, *(pa.array(each, pa.int64()) for each in more.values())]
    return pa.RecordBatch.from_arrays(columns, names=[*batch.schema.names, *more])


def cluster_block(plan: Plan, parts: Parts, block: int, rows: Any) -> Any:
    """Group the rows of a block, and say in which region each group is refined."""
    import pyarrow as pa

    rows = in_order(plan.columns, rows)
    codes, person = arrays_of(plan, rows)
    chance = np.random.default_rng([plan.seed, CLUSTERING, block])
    turn = chance.permutation(rows.num_rows)
    shuffled = {name: column[turn] for name, column in codes.items()}
    table = plan.table(shuffled, None if person is None else person[turn], searched=True)
    algorithm, run = run_of(plan, table, chance, seamed=parts.seamed)
    work = LocalWork(
        None,  # type: ignore[arg-type]  # what is published as it is stays where it is
        plan.schema,
        replace(plan.request, block_rows=None),
        algorithm,
        table,
        np.arange(table.n_rows),
        table,
        run,
        False,
    )
    # rounds of a measure are the driver's
    form = _part_of_table if parts.seamed else form_groups
    try:
        found = suppress_outliers(work, form(work), form)
    except PromiseError:
        if person is None or not parts.seamed:
            raise
        # people who have rows elsewhere, too, were counted twice: regions keep what it cannot
        found = Partition(np.zeros(table.n_rows, np.int32), 1)
    labels = np.empty(rows.num_rows, np.int64)
    labels[turn] = found.labels
    heads = np.empty(rows.num_rows, np.int64)  # one row that stands for the group of each row
    heads[turn] = np.where(found.labels >= 0, turn[np.append(found.heads, 0)[found.labels]], turn)
    groups = np.where(labels >= 0, (block << GROUP_BITS) + labels, SUPPRESSED)
    own = [codes[name][heads] for name in plan.columns.codes]
    regions = parts.regions
    leaves = regions.tree.leaves_of(own)
    # groups of one and the same tuple are dealt to regions: there is nothing to gain from mixing
    region = regions.first[leaves] + np.abs(labels) % regions.pieces[leaves]
    return rows.append_column("g", pa.array(groups, pa.int64())).append_column(
        "r", pa.array(region, pa.int64())
    )


def _part_of_table(work: LocalWork) -> Partition:
    """Group a block of a larger table; regions refine across its cuts later, so once is enough."""
    blocks = cut_table(work.table, work.algorithm, work.run, work.request.block_rows)
    groups = cluster(work, blocks)
    groups = merge_violating(work, groups, blocks)
    if blocks.seamed:
        steps = _steps(work.request, work.algorithm)
        groups = refine(work, groups, [replace(step, rounds=1) for step in steps])
    return merge_violating(work, groups)


def _steps(request: Request, algorithm: Algorithm) -> tuple[Effort, ...]:
    """Return how groups are refined across cuts, as on one machine."""
    asked = request.refine
    return (EFFORTS[asked],) if asked is not None else algorithm.seams or (SEAM,)


def moved_to(region_of: NDArray[np.int64], batches: Iterator[Any]) -> Iterator[Any]:
    """Give rows the region that theirs was united with."""
    import pyarrow as pa

    for batch in batches:
        if batch.num_rows:
            place = batch.schema.get_field_index("r")
            own = pa.array(region_of[batch.column(place).to_numpy()], pa.int64())
            yield batch.set_column(place, "r", own)


def finish_region(plan: Plan, region: int, rows: Any, *, seamed: bool, types: Any) -> Any:
    """Refine the groups of a region, and publish what the rows of each have in common."""
    import polars as pl
    import pyarrow as pa

    rows = in_order(plan.columns, rows)
    given = rows.column("g").to_numpy()
    left_out = rows.filter(pa.array(given < 0))
    rows = rows.filter(pa.array(given >= 0))
    codes, person = arrays_of(plan, rows)
    partition = Partition.from_labels(given[given >= 0])
    if partition.n_groups and seamed:
        partition = refined(plan, region, codes, person, partition)
    table = plan.table(codes, person, searched=False)
    parts: list[pa.Array] = []
    cells_of: dict[str, list[Any]] = {}
    if partition.n_groups:
        numbers = pl.Series(partition.labels, dtype=pl.UInt32)
        for attribute, style in zip(table.attributes, plan.styles, strict=True):
            cells = published_cells(attribute, partition, style)
            cells_of[attribute.name] = [each.gather(numbers).to_arrow() for each in cells]
    kept = 0
    titles = published_names(plan.schema, plan.request.style)
    for name, under in titles.items():
        if name in plan.schema.quasi_identifiers:
            parts += cells_of.get(name, [pa.nulls(0)] * len(under))
        else:
            parts.append(rows.column(f"x{kept}"))
            kept += 1
    n_rows, n_out = rows.num_rows, left_out.num_rows
    groups = (np.int64(region) << GROUP_BITS) + partition.labels
    gone = plan.table(arrays_of(plan, left_out)[0], None, searched=False)
    nothing = [None] * max(n_rows + n_out - 1, 0)
    told, counts = ([each, *nothing] for each in tally(plan, region, table, partition, gone))
    columns = []
    for part, (_, wanted) in zip(parts, types, strict=True):
        kind = part.type if wanted is None else wanted
        columns.append(pa.concat_arrays([_plain(part, kind), pa.nulls(n_out, kind)]))
    names = [name for name, _ in types]
    for name in plan.columns.keys:
        both = [*rows.column(name).chunks, *left_out.column(name).chunks]
        columns.append(pa.concat_arrays([_plain(c, rows.schema.field(name).type) for c in both]))
        names.append(name)
    for name in plan.columns.beside:
        own = _plain(rows.column(name), pa.int64())
        columns.append(pa.concat_arrays([own, pa.nulls(n_out, pa.int64())]))
        names.append(name)
    everyone = np.concatenate((groups, np.full(n_out, SUPPRESSED)))
    columns += [pa.array(everyone, pa.int64())]
    columns += [pa.array(each, pa.string()) for each in (told, counts)]
    return pa.Table.from_arrays(columns, names=[*names, "g", "told", "counts"])


def refined(
    plan: Plan,
    region: int,
    codes: dict[str, NDArray[Any]],
    person: NDArray[np.int64] | None,
    partition: Partition,
) -> Partition:
    """Return the groups of a region, refined across the cuts of the blocks they come from."""
    chance = np.random.default_rng([plan.seed, REFINING, region])
    turn = chance.permutation(partition.n_rows)
    shuffled = {name: column[turn] for name, column in codes.items()}
    table = plan.table(shuffled, None if person is None else person[turn], searched=True)
    algorithm, run = run_of(plan, table, chance, seamed=True)
    groups = Partition(partition.labels[turn], partition.n_groups)
    if run.privacy:  # rows that were left out change what the others are compared with
        groups = enforce(table, groups, run.scanner, run.k, run.privacy, run.progress)
    compile_missing(MOVES, run.scanner, run.progress)
    for step in _steps(plan.request, algorithm):  # blocks have had one of the rounds
        groups = polish(table, groups, run, replace(step, rounds=max(step.rounds - 1, 1)))
    while run.privacy and table.person is not None:
        # groups that publish the same are one to a reader, and may share people
        seen = unite_equal(table, groups, plan.request.style)
        if seen.n_groups == groups.n_groups:
            break
        groups = enforce(table, seen, run.scanner, run.k, run.privacy, run.progress)
    labels = np.empty(partition.n_rows, np.int32)
    labels[turn] = groups.labels
    return Partition(labels, groups.n_groups)


def run_of(
    plan: Plan, table: EncodedTable, chance: np.random.Generator, *, seamed: bool
) -> tuple[Algorithm, Run]:
    """Return the algorithm, and what it is told about a part of the table."""
    request = plan.request
    measure = create_cost_measure(request.measure, request.measure_options)
    target = None if plan.target is None else plan.target.of(table, searched=True)
    model = CostModel.bind(measure, table, target)
    if plan.weights is not None:
        model = replace(model, weights=plan.weights)
    allowed = int(request.max_suppression * table.n_rows)
    run = Run(
        k=int(request.k),
        model=model,
        scanner=Scanner.build(table, model),
        rng=chance,
        privacy=request.privacy,
        max_suppressed=allowed if request.max_suppression > 0 else None,
        part_of=plan.n_rows if seamed else None,
    )
    return create_algorithm(request.algorithm, request.algorithm_options), run


def in_order(columns: Columns, rows: Any) -> Any:
    """Return the rows in an order of their own; those that came as one with a number are many.

    Rows that are equal may be in different groups, so the group is a part of the order.
    """
    import pyarrow as pa

    names = [*(name for name in ("g",) if name in rows.column_names), *columns.order]
    order = np.lexsort([rows.column(name).to_numpy() for name in names])
    if "m" in rows.column_names:
        order = np.repeat(order, rows.column("m").to_numpy()[order])
    return rows.combine_chunks().take(pa.array(order))


def arrays_of(plan: Plan, rows: Any) -> tuple[dict[str, NDArray[Any]], NDArray[np.int64] | None]:
    """Return codes and people of rows."""
    names = (*plan.columns.coded, *plan.columns.sensitive)
    codes = {name: rows.column(name).to_numpy() for name in names}
    return codes, rows.column("w").to_numpy() if plan.columns.person else None


def _plain(column: Any, wanted: Any) -> Any:
    """Return a column as one array of a type."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
        if isinstance(column, pa.ChunkedArray):
            column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.nulls(0, wanted)
    if column.type != wanted:
        column = column.cast(wanted)
    return column
