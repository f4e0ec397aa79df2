"""Verifies a published table of any size: Spark counts, predicates of verification judge.

Nothing here knows how the groups were made. Groups are the rows whose published cells are equal;
Spark counts them and the sensitive values in each, and the counts are judged by the predicates of
`shoal.publish.predicates`, some thousand groups at a time. What comes back is one line per share of
the groups.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.engine.spark.population_check import check_all
from shoal.engine.spark.session import column, guarded, guarded_batches, load_functions
from shoal.errors import DataError
from shoal.messages import Message
from shoal.publish.cells import MISSING, columns_needed, number_groups, pack_rows, read_cells
from shoal.publish.grid_check import cells_off_grid
from shoal.publish.predicates import Histograms
from shoal.publish.verify import (
    Check,
    Counts,
    Judged,
    Verification,
    build_rules,
    columns_of,
    judge_groups,
    note_on_readings,
    verification_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from shoal.engine.spark.population_check import AboutAll
    from shoal.publish.cells import SensitiveCells
    from shoal.publish.grid_check import GridPromise
    from shoal.publish.verify import Promise, Rule, Subject


# In a worker: some thousand published groups are judged from counts of their values.

ROWS, PEOPLE = -1, -2
"""What is counted in a group beside the values of the readings, which have numbers from 0."""
MOST_BROKEN = 100
"""So many of them are named if they break a promise."""


def judge_share(
    rows: Any,
    n_keys: int,
    k: int,
    rules: Sequence[Rule],
    n_promises: int,
    wholes: Sequence[NDArray[np.int64]],
) -> dict[str, Any]:
    """In a worker: judge all groups of a share, from counts of values."""
    import polars as pl

    table = pl.DataFrame(pl.from_arrow(rows))
    packed = pack_rows([table.get_column(f"k{number}") for number in range(n_keys)])
    groups = pl.Series("group", number_groups(packed)[0])
    numbered = table.drop([f"k{number}" for number in range(n_keys)]).with_columns(groups)
    numbered = numbered.sort("which", "group", "value")

    def of(which: int) -> tuple[NDArray[np.int64], ...]:
        own = numbered.filter(pl.col("which") == which)
        return tuple(own.get_column(name).to_numpy() for name in ("group", "value", "n"))

    def values(reading: int) -> Histograms:
        group, value, count = of(reading)
        first = np.flatnonzero(np.diff(group, prepend=-1))
        return Histograms(group, value, count, first, wholes[reading])

    every = numbered.filter(pl.col("which") == ROWS)
    sizes, people = every.get_column("n").to_numpy(), of(PEOPLE)[2]
    broken = np.zeros(len(sizes), np.bool_)
    if "bad" in every.columns:  # by a promise about the release as a whole
        broken = every.get_column("bad").fill_null(value=False).to_numpy()
    counts = Counts(sizes, people if len(people) else None, values, broken)
    found, broken = judge_groups(counts, k, rules, n_promises)
    own = every.get_column("own").to_numpy()
    return {"judged": asdict(found), "broken": own[broken][:MOST_BROKEN].tolist()}


MOST_VALUES = 1_000_000
"""A column with more different values than this is refused: they have to fit the driver."""
SHARE_GROUPS = 50_000
"""About so many groups are judged at a time."""


def count_values(
    frame: Any, name: str, title: str | None = None
) -> tuple[pl.Series, NDArray[np.int64]]:
    """Return the different values of a column and how many rows have each.

    Args:
        frame: a table of Spark.
        name: of the column there.
        title: its name in messages and in what is returned.

    Raises:
        DataError: there are too many.
    """
    import polars as pl

    counted = frame.groupBy(column(name)).count().limit(MOST_VALUES + 1).toArrow()
    if counted.num_rows > MOST_VALUES:
        raise DataError(
            "Column {title!r} has more than {most_values:,} different values, which is more "
            "than Spark may hand to one machine here; round them or group them first.",
            title=title or name,
            most_values=MOST_VALUES,
        )
    values = pl.Series(title or name, pl.from_arrow(counted.column(0)))
    return values, counted.column(1).to_numpy().astype(np.int64)


def verify_frame(
    frame: Any,
    *,
    k: int,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str] = (),
    promises: Sequence[Promise] = (),
    grids: Sequence[GridPromise] = (),
    person: str | None = None,
    spelled: bool = False,
    about_all: AboutAll | None = None,
) -> Verification:
    """Check a published table of Spark against its promises, as `shoal.verify` does.

    Args:
        frame: the published table.
        k: the promised size of the smallest group.
        quasi_identifiers: the columns that could single a person out.
        sensitive: the columns that promises look at.
        promises: further promises.
        grids: columns whose intervals are said to end on lines.
        person: a column that tells people apart: they are counted then.
        spelled: whether text is how a file spells numbers and dates.
        about_all: promises about the release as a whole.
    """
    asked = (frame, k, quasi_identifiers, sensitive, promises, person)
    found = _examine(*asked, spelled=spelled, about_all=about_all)
    if not found.shares:
        raise DataError("The table has no rows, so there is nothing to verify.")
    parts = [Judged(**each["judged"]) for each in found.shares]
    n_rows = sum(each.n_rows for each in parts)
    names = [name for name in frame.columns if name != person]
    return verification_of(
        parts,
        k,
        found.about,
        more=[*found.whole, *(_check_grid(frame, names, grid, n_rows) for grid in grids)],
        notes=[note_on_readings(each) for each in found.columns if len(each.readings) > 1],
    )


def broken_groups(
    frame: Any,
    *,
    k: int,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str],
    promises: Sequence[Promise],
    person: str,
) -> list[int]:
    """Return the numbers (as `group_number` has them) of groups that break a promise, or some."""
    found = _examine(frame, k, quasi_identifiers, sensitive, promises, person, spelled=False)
    return [number for each in found.shares for number in each["broken"]]


def group_number(frame: Any, quasi_identifiers: Sequence[str]) -> Any:
    """Return a number of a row's group, from its published cells."""
    names = columns_needed(frame.columns, list(quasi_identifiers))
    return load_functions().xxhash64(*_keys(frame, names))


@dataclass(frozen=True, eq=False)
class _Examined:
    """What was found in each share of the groups, and about what."""

    shares: list[dict[str, Any]]
    about: list[Subject]
    columns: list[SensitiveCells]
    whole: list[Check]


def _examine(
    frame: Any,
    k: int,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str],
    promises: Sequence[Promise],
    person: str | None,
    *,
    spelled: bool,
    about_all: AboutAll | None = None,
) -> _Examined:
    """Count the published rows, and judge every group."""
    names = [name for name in frame.columns if name != person]
    keys = _keys(frame, columns_needed(names, list(quasi_identifiers)))
    looked_at = {name for promise in promises for name in columns_of(promise, sensitive)}
    columns: dict[str, tuple[pl.Series, SensitiveCells]] = {}
    for name in sensitive:
        if name in looked_at:
            series, _ = count_values(frame, name)
            columns[name] = series, read_cells(series, missing=MISSING, find_order=spelled)
    rules, about = build_rules(promises, sensitive, columns, MISSING, people=person is not None)
    n_readings = sum(len(read.readings) for _, read in columns.values())
    coded = _coded(frame, keys, columns, person)
    once = _once(coded, len(keys), n_readings, person=person is not None)
    whole: list[Check] = []
    broken, held = None, once
    try:
        if about_all is not None:
            whole, broken, held = check_all(frame, keys, about_all, person)
        counted, wholes = _counted(once, len(keys), n_readings, person=person is not None)

        n_keys, n_promises = len(keys), len(about)

        def judge(rows: Any) -> dict[str, Any]:
            return judge_share(rows, n_keys, k, rules, n_promises, wholes)

        shares = _judge(once, counted, n_keys, judge, broken)
    finally:
        once.unpersist()
        held.unpersist()
    return _Examined(shares, about, [read for _, read in columns.values()], whole)


def _keys(frame: Any, names: Sequence[str]) -> list[Any]:
    """Return what groups are told apart by; floats as text, which tells 0.0 from -0.0."""
    from pyspark.sql import types

    keys = []
    for name in names:
        kind, cells = frame.schema[name].dataType, column(name)
        parts = [(kind, cells)]
        if isinstance(kind, types.StructType):
            parts = [(each.dataType, cells.getField(each.name)) for each in kind.fields]
        for of, part in parts:
            floating = isinstance(of, types.FloatType | types.DoubleType)
            keys.append(part.cast("string") if floating else part)
    return [each.alias(f"k{number}") for number, each in enumerate(keys)]


def _coded(
    frame: Any,
    keys: Sequence[Any],
    columns: dict[str, tuple[pl.Series, SensitiveCells]],
    person: str | None,
) -> Any:
    """Return keys, and sensitive values in each reading as numbers, column by column."""
    from pyspark.sql import types

    whose = [] if person is None else [column(person).alias("w")]
    cells = [column(name).alias(f"v{number}") for number, name in enumerate(columns)]
    table = frame.select(*keys, *whose, *cells)
    if not columns:
        return table
    kept = table.select(*(f"k{n}" for n in range(len(keys))), *(["w"] if whose else []))
    fields = [*kept.schema.fields]
    values = [series for series, _ in columns.values()]
    readings = [[each.codes.astype(np.int64) for each in c.readings] for _, c in columns.values()]
    n_readings = sum(map(len, readings))
    fields += [types.StructField(f"c{number}", types.LongType()) for number in range(n_readings)]
    titles = kept.columns

    def look_up(batches: Iterator[Any]) -> Iterator[Any]:
        import polars as pl
        import pyarrow as pa

        known = [
            pl.DataFrame({"v": series, **{f"c{n}": each for n, each in enumerate(own)}})
            for series, own in zip(values, readings, strict=True)
        ]
        for batch in batches:
            if not batch.num_rows:
                continue
            found = {name: batch.column(name) for name in titles}
            for number, table in enumerate(known):
                given = pl.DataFrame(
                    {"v": pl.Series(pl.from_arrow(batch.column(f"v{number}")))}
                ).with_columns(pl.col("v").cast(table.schema["v"]))
                own = given.join(table, on="v", how="left", nulls_equal=True, maintain_order="left")
                for name in own.columns[1:]:
                    found[f"c{len(found) - len(titles)}"] = own.get_column(name).to_arrow()
            yield pa.RecordBatch.from_pydict(found)

    return table.mapInArrow(guarded_batches(look_up), types.StructType(fields))


def _once(coded: Any, n_keys: int, n_codes: int, *, person: bool) -> Any:
    """Return the different rows with how many there are: what follows looks at fewer."""
    from pyspark import StorageLevel

    functions = load_functions()
    names = [f"k{n}" for n in range(n_keys)] + [f"c{n}" for n in range(n_codes)]
    whose = [functions.coalesce("w", functions.lit(0).cast("long")).alias("w")] if person else []
    rows = coded.select(*names, *whose).groupBy(*names, *(["w"] if person else []))
    return rows.agg(functions.count(functions.lit(1)).alias("rows")).persist(StorageLevel.DISK_ONLY)


def _counted(
    once: Any, n_keys: int, n_readings: int, *, person: bool
) -> tuple[Any, list[NDArray[np.int64]]]:
    """Return how often each value occurs in each group, and in the whole table."""
    functions = load_functions()
    keys = [f"k{number}" for number in range(n_keys)]
    rows = functions.sum("rows")
    how = functions.count_distinct("w") if person else rows

    def long(which: int, by: list[str], value: Any, number: Any) -> Any:
        counted = once.groupBy(*by).agg(number.alias("n"))
        return counted.select(*keys, functions.lit(which).alias("which"), value.alias("value"), "n")

    nothing = functions.lit(0).cast("long")
    counted = long(ROWS, keys, nothing, rows)
    if person:
        counted = counted.unionByName(long(PEOPLE, keys, nothing, functions.count_distinct("w")))
    wholes = []
    for which in range(n_readings):
        name = f"c{which}"
        counted = counted.unionByName(long(which, [*keys, name], functions.col(name), how))
        whole = once.groupBy(name).agg(how.alias("n")).toArrow().sort_by(name)
        assert whole.column(0).null_count == 0
        wholes.append(whole.column(1).to_numpy().astype(np.int64))
    return counted, wholes


def _judge(
    once: Any,
    counted: Any,
    n_keys: int,
    judge: Callable[[Any], dict[str, Any]],
    broken: Any,
) -> list[dict[str, Any]]:
    """Return what was found in each share of the groups; of some it is known that they break."""
    functions = load_functions()
    keys = [f"k{number}" for number in range(n_keys)]
    groups = once.select(*keys).distinct().count()
    shares = functions.lit(max(1, groups // SHARE_GROUPS + 1)).cast("long")
    spread = counted.withColumn("own", functions.xxhash64(*keys))
    if broken is not None:
        bad = broken.distinct().withColumn("bad", functions.lit(True))
        spread = spread.join(bad, "own", "left")
    spread = spread.withColumn("share", functions.pmod("own", shares))

    def work(rows: Any) -> Any:
        import pyarrow as pa

        return pa.table({"told": [json.dumps(judge(rows))]})

    told = spread.groupBy("share").applyInArrow(guarded(work), "told string").toArrow()
    return [json.loads(each) for each in sorted(told.column(0).to_pylist())]


def _check_grid(frame: Any, names: Sequence[str], grid: GridPromise, n_rows: int) -> Check:
    """Return whether every interval of a column ends on lines, by its different cells."""
    columns = columns_needed(list(names), [grid.name])
    cells = frame.groupBy(*(column(name) for name in columns)).count()

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        import polars as pl
        import pyarrow as pa

        for batch in batches:
            if batch.num_rows:
                table = pl.DataFrame(pl.from_arrow(batch))
                off = cells_off_grid(grid, table.select(columns))
                yield pa.RecordBatch.from_pydict(
                    {"off": [int(table.get_column("count").to_numpy()[off].sum())]}
                )

    told = cells.mapInArrow(guarded_batches(work), "off long").toArrow()
    off = sum(told.column(0).to_pylist())
    _, holds, words = grid.verdict(np.array([off > 0]))
    name = Message("grid of {column!r}", column=grid.name)
    return Check(name, 1.0, 1.0 - off / n_rows, holds, words, is_share=True)
