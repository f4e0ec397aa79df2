"""Verifies a published table of any size: Spark counts, predicates of verification judge.

Nothing here knows how the groups were made. Groups are the rows whose published cells are equal;
Spark counts them and the sensitive values in each, and the counts are judged by the predicates of
`shoal.publish.predicates`, some thousand groups at a time. What comes back is one line per share of
the groups.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.engine.spark.population_check import check_all
from shoal.engine.spark.session import column, guarded, guarded_batches, load_functions
from shoal.errors import DataError, OptionError
from shoal.publish.cells import MISSING, columns_needed, number_groups, pack_rows, read_cells
from shoal.publish.grid_check import cells_off_grid
from shoal.publish.predicates import (
    Histograms,
    Outcome,
    looks_at_values,
    predicate_of,
    rule_by_value,
)
from shoal.publish.verify import (
    Check,
    Verification,
    columns_of,
    note_on_readings,
    people_check,
    promise_check,
    size_check,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from shoal.engine.spark.population_check import AboutAll
    from shoal.publish.cells import SensitiveCells
    from shoal.publish.grid_check import GridPromise
    from shoal.publish.predicates import Predicate
    from shoal.publish.verify import OwnRule, Promise


# In a worker: some thousand published groups are judged from counts of their values.

MOST_BROKEN = 100
"""So many of them are named if they break a promise."""


@dataclass(frozen=True, eq=False)
class Judged:
    """One promise on one reading of a column: which counts it looks at, and by which rule."""

    which: int
    promise: int
    rule: Predicate
    at_least: bool
    whole: NDArray[np.int64]


def judge_share(
    rows: Any, n_keys: int, k: int, judged: Sequence[Judged], *, person: bool
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

    _, _, sizes = of(-1)
    told: dict[str, Any] = {"groups": len(sizes), "rows": int(sizes.sum())}
    told["smallest"] = int(sizes.min())
    broken = sizes < k
    if person:
        _, _, people = of(-2)
        told["fewest"] = int(people.min())
        broken = people < k
    promises = 1 + max((each.promise for each in judged), default=-1)
    holds = [True] * promises
    worst: list[float | None] = [None] * promises
    for each in judged:
        group, value, count = of(each.which)
        first = np.flatnonzero(np.diff(group, prepend=-1))
        outcome = each.rule(Histograms(group, value, count, first, each.whole))
        broken |= ~outcome.holds
        holds[each.promise] &= bool(outcome.holds.all())
        before = worst[each.promise]
        best = min if each.at_least else max
        worst[each.promise] = outcome.worst if before is None else best(before, outcome.worst)
    every = numbered.filter(pl.col("which") == -1)
    if "bad" in every.columns:  # by a promise about the release as a whole
        broken = broken | every.get_column("bad").fill_null(value=False).to_numpy()
    own = every.get_column("own").to_numpy()
    told |= {"holds": holds, "worst": worst, "which": own[broken][:MOST_BROKEN].tolist()}
    return told | {"broken": int(broken.sum()), "broken rows": int(sizes[broken].sum())}


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
    shares, about = found.shares, found.about
    if not shares:
        raise DataError("The table has no rows, so there is nothing to verify.")
    smallest = min(each["smallest"] for each in shares)
    fewest = min(each["fewest"] for each in shares) if person is not None else None
    checks = [size_check(k, smallest) if fewest is None else people_check(k, fewest)]
    for number, (promise, name) in enumerate(about):
        best = min if promise.at_least else max
        worst = best(each["worst"][number] for each in shares)
        kept = all(each["holds"][number] for each in shares)
        checks.append(promise_check(promise, name, worst, kept=kept, people=person is not None))
    checks += found.whole
    n_rows = sum(each["rows"] for each in shares)
    names = [name for name in frame.columns if name != person]
    checks += [_check_grid(frame, names, grid, n_rows) for grid in grids]
    read = found.columns.values()
    return Verification(
        holds=all(check.holds for check in checks),
        k=k,
        smallest_group=smallest,
        n_groups=sum(each["groups"] for each in shares),
        n_rows=n_rows,
        highest_risk=1 / (fewest or smallest),
        violating_groups=sum(each["broken"] for each in shares),
        violating_rows=sum(each["broken rows"] for each in shares),
        checks=tuple(checks),
        notes=tuple(note_on_readings(column) for column in read if len(column.readings) > 1),
        fewest_people=fewest,
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
    return [number for each in found.shares for number in each["which"]]


def group_number(frame: Any, quasi_identifiers: Sequence[str]) -> Any:
    """Return a number of a row's group, from its published cells."""
    names = columns_needed(frame.columns, list(quasi_identifiers))
    return load_functions().xxhash64(*_keys(frame, names))


@dataclass(frozen=True, eq=False)
class _Examined:
    """What was found in each share of the groups, and about what."""

    shares: list[dict[str, Any]]
    about: list[tuple[Promise, str]]
    columns: dict[str, SensitiveCells]
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
    looked_at = [columns_of(promise, list(sensitive)) for promise in promises]
    needed = [name for name in sensitive if any(name in names for names in looked_at)]
    columns: dict[str, SensitiveCells] = {}
    values: list[pl.Series] = []
    for name in needed:
        series, _ = count_values(frame, name)
        columns[name] = read_cells(series, missing=MISSING, find_order=spelled)
        values.append(series)
    coded, codes = _coded(frame, keys, needed, values, columns, person)
    once = _once(coded, len(keys), len(codes), person=person is not None)
    whole: list[Check] = []
    broken, held = None, once
    try:
        if about_all is not None:
            whole, broken, held = check_all(frame, keys, about_all, person)
        counted, wholes = _counted(once, len(keys), codes, person=person is not None)
        by_name = dict(zip(needed, values, strict=True))
        judged, about = _judged(promises, looked_at, columns, by_name, codes, wholes)
        shares = _judge(once, counted, len(keys), k, judged, broken, person=person is not None)
    finally:
        once.unpersist()
        held.unpersist()
    return _Examined(shares, about, columns, whole)


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
    needed: Sequence[str],
    values: Sequence[pl.Series],
    columns: dict[str, SensitiveCells],
    person: str | None,
) -> tuple[Any, list[tuple[str, int]]]:
    """Return keys, and sensitive values in each reading as numbers; and which numbers those are."""
    from pyspark.sql import types

    whose = [] if person is None else [column(person).alias("w")]
    cells = [column(name).alias(f"v{number}") for number, name in enumerate(needed)]
    codes = [(name, place) for name in needed for place in range(len(columns[name].readings))]
    table = frame.select(*keys, *whose, *cells)
    if not needed:
        return table, codes
    kept = table.select(*(f"k{n}" for n in range(len(keys))), *(["w"] if whose else []))
    fields = [*kept.schema.fields]
    fields += [types.StructField(f"c{number}", types.LongType()) for number in range(len(codes))]
    readings = [[each.codes.astype(np.int64) for each in columns[name].readings] for name in needed]
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

    return table.mapInArrow(guarded_batches(look_up), types.StructType(fields)), codes


def _once(coded: Any, n_keys: int, n_codes: int, *, person: bool) -> Any:
    """Return the different rows with how many there are: what follows looks at fewer."""
    from pyspark import StorageLevel

    functions = load_functions()
    names = [f"k{n}" for n in range(n_keys)] + [f"c{n}" for n in range(n_codes)]
    whose = [functions.coalesce("w", functions.lit(0).cast("long")).alias("w")] if person else []
    rows = coded.select(*names, *whose).groupBy(*names, *(["w"] if person else []))
    return rows.agg(functions.count(functions.lit(1)).alias("rows")).persist(StorageLevel.DISK_ONLY)


def _counted(
    once: Any, n_keys: int, codes: Sequence[tuple[str, int]], *, person: bool
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
    counted = long(-1, keys, nothing, rows)
    if person:
        counted = counted.unionByName(long(-2, keys, nothing, functions.count_distinct("w")))
    wholes = []
    for which in range(len(codes)):
        name = f"c{which}"
        counted = counted.unionByName(long(which, [*keys, name], functions.col(name), how))
        whole = once.groupBy(name).agg(how.alias("n")).toArrow().sort_by(name)
        assert whole.column(0).null_count == 0
        wholes.append(whole.column(1).to_numpy().astype(np.int64))
    return counted, wholes


def _judged(
    promises: Sequence[Promise],
    looked_at: Sequence[Sequence[str]],
    columns: dict[str, SensitiveCells],
    series: dict[str, pl.Series],
    codes: Sequence[tuple[str, int]],
    wholes: Sequence[NDArray[np.int64]],
) -> tuple[list[Judged], list[tuple[Promise, str]]]:
    judged: list[Judged] = []
    about: list[tuple[Promise, str]] = []
    for promise, names in zip(promises, looked_at, strict=True):
        table = dict(promise.table)
        by_value = looks_at_values(promise.table)
        plain = predicate_of(table)
        for name in names:
            if table.get("distance") == "ordered" and not columns[name].ordered:
                raise OptionError(
                    "t-closeness with distance='ordered' needs numbers, dates or ordered "
                    "categories, and column {name!r} holds none of them; use distance='equal'.",
                    name=name,
                )
            for which, (own, place) in enumerate(codes):
                if own != name:
                    continue
                rule = plain
                if promise.own_rule is not None:
                    rule = _own_rule(promise.own_rule, columns[name])
                elif by_value:
                    reading = columns[name].readings[place]
                    rule = rule_by_value(table, promise.trees, series[name], reading, MISSING)
                if rule is None:
                    raise OptionError(
                        "There is no rule to verify the promise {table!r} by.",
                        table=table.get("model"),
                    )
                judged.append(Judged(which, len(about), rule, promise.at_least, wholes[which]))
            about.append((promise, name))
    return judged, about


def _own_rule(rule: OwnRule, cells: SensitiveCells) -> Predicate:
    """Return a plug-in's rule, as it judges counts."""
    name, ordered = cells.name, cells.ordered

    def judge(counted: Histograms) -> Outcome:
        verdict = rule(
            groups=counted.group,
            n_groups=len(counted.starts),
            codes=counted.value,
            n_codes=len(counted.whole),
            name=name,
            ordered=ordered,
            people=None,
            counted=(counted.count, counted.whole),
        )
        return Outcome(*verdict)

    return judge


def _judge(
    once: Any,
    counted: Any,
    n_keys: int,
    k: int,
    judged: Sequence[Judged],
    broken: Any,
    *,
    person: bool,
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

        return pa.table({"told": [json.dumps(judge_share(rows, n_keys, k, judged, person=person))]})

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
    return Check(f"grid of {grid.name!r}", 1.0, 1.0 - off / n_rows, holds, words, is_share=True)
