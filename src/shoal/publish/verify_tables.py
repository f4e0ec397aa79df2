"""Counts again, from published tables alone, whom m events leave.

Shares nothing with the search: rows are joined as anybody would join them, every combination of at
most m rows of a person is written down, and the people who have each are counted.

**What is promised.** A person is a row of the main table. An event of a person is a row of another
table that hangs from that person, directly or through rows above it. What an event tells is its
own quasi-identifiers and those of the rows it hangs from. What m events tell together is that, and
which of them hang from the same row of which table. For everybody in the tables, and for all of at
most m of their events as published: at least k people, the person among them, share the published
quasi-identifiers of the main table and have different events that tell the same.

For one table of sets of codes this is k^m-anonymity (Terrovitis, Mamoulis and Kalnis, PVLDB 2008)
within each group of people of equal quasi-identifiers; it differs in that codes are generalised
locally, and in that equal codes count as often as they are there. What a person is over several
relations follows Nergiz, Clifton and Nergiz (IEEE TKDE 2009), whose multirelational k-anonymity
asks for k people with equal histories, whatever their length; here it is k for every m events.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError
from shoal.io.columns import decode_text
from shoal.messages import Message, joined, plural
from shoal.publish.verify import Check, html_of_checks

if TYPE_CHECKING:
    import polars as pl

_COMBINATIONS = 2_000_000
"""So many combinations are written down at a time."""
_TYPES = 1 << 17
_DEPTHS = 8
"""Three numbers of types and three of depths fit into one of 64 bits."""


@dataclass(frozen=True)
class TableTerms:
    """What is promised of one of several tables.

    Attributes:
        name: of the table.
        quasi_identifiers: the columns, as they are published.
        key: the column that names its rows.
        link: the column that names the row of the table above.
        above: that table; None for the one about people.
        items: columns of sets of codes, each of which is an event.
        separator: between the codes of a cell of text.
    """

    name: str
    quasi_identifiers: tuple[str, ...]
    key: str | None = None
    link: str | None = None
    above: str | None = None
    items: tuple[str, ...] = ()
    separator: str = "|"


@dataclass(frozen=True)
class TablesVerification:
    """What published tables keep of what they promise; true if it is everything.

    Attributes:
        holds: whether all of it.
        k: people whom an attacker is left with.
        knows_events: how many events the attacker knows.
        people: rows of the main table.
        fewest: people who have what so many events tell, by their number from 0; the fewest.
        checks: one sentence for each promise.
        read_from: what was checked.
    """

    holds: bool
    k: int
    knows_events: int
    people: int
    fewest: tuple[int, ...]
    checks: tuple[Check, ...]
    read_from: str = Message("the tables in memory")

    def __bool__(self) -> bool:
        return self.holds

    def broken(self) -> str:
        """Return what was found of the promises that are not kept."""
        return joined(" ", (check.sentence for check in self.checks if not check.holds))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, ready for JSON."""
        return asdict(self)

    def _repr_html_(self) -> str:
        counted = [("People", f"{self.people:,}"), ("Events that are known", self.knows_events)]
        return html_of_checks(self.checks, counted, holds=self.holds)


def verify_published_tables(
    tables: Mapping[str, pl.DataFrame],
    terms: Sequence[TableTerms],
    *,
    k: int,
    knows_events: int,
    read_from: str | None = None,
) -> TablesVerification:
    """Say whether published tables keep what they promise.

    Args:
        tables: by name.
        terms: parents first, the table about people before all.
        k: how many people an attacker has to be left with.
        knows_events: how many events the attacker knows, 1 to 3.
        read_from: what is checked, in words.

    Raises:
        DataError: a table or a column is not there.

    Cost: every combination of ``knows_events`` rows of a person is looked at once.
    """
    needed = {}
    for each in terms:
        if each.name not in tables:
            raise DataError("The release has no table {name!r}.", name=each.name)
        wanted = [*each.quasi_identifiers, *each.items, each.key, each.link]
        for column in wanted:
            if column is not None and column not in tables[each.name].columns:
                raise DataError(
                    "Table {name!r} of the release has no column {column!r}.",
                    name=each.name,
                    column=column,
                )
        columns = dict.fromkeys(column for column in wanted if column is not None)
        needed[each.name] = decode_text(tables[each.name].select(list(columns)))
    tables = needed
    main = tables[terms[0].name]
    classes = _numbers(main, terms[0].quasi_identifiers)
    sizes = classes.to_frame("class").group_by("class").len("people").get_column("people")
    fewest = [int(sizes.min() or 0)]  # type: ignore[arg-type]  # of numbers
    checks = [_link_check(tables, terms)]
    if checks[0].holds:
        events = _events(tables, terms, classes, knows_events)
        sizes_of = range(1, knows_events + 1)
        fewest += [_fewest(events, m) if events.height else k for m in sizes_of]
    checks += [_count_check(k, m, number) for m, number in enumerate(fewest)]
    found = {} if read_from is None else {"read_from": read_from}
    holds = all(check.holds for check in checks)
    return TablesVerification(
        holds, k, knows_events, main.height, tuple(fewest), tuple(checks), **found
    )


def _count_check(k: int, m: int, fewest: int) -> Check:
    # more than k is a number that nobody has promised
    if m == 0:
        what = Message("whoever knows somebody's quasi-identifiers in the main table")
    else:
        events = plural("{n} event", "{n} events", m)
        what = Message("whoever knows these and {events} of the person", events=events)
    sentence = (
        Message("Holds: {what} finds at least {k:,} people.", what=what, k=k)
        if fewest >= k
        else Message(
            "Broken: {what} may find only {people}, and not {k:,}.",
            what=what,
            people=plural("{n:,} person", "{n:,} persons", fewest),
            k=k,
        )
    )
    name = "k-anonymity" if m == 0 else Message("k-anonymity with {m} known events", m=m)
    return Check(name, k, fewest, fewest >= k, sentence)


def _link_check(tables: Mapping[str, pl.DataFrame], terms: Sequence[TableTerms]) -> Check:
    """Return whether keys name one row each, and every link a row that is there."""
    broken = 0
    keys = {each.name: each.key for each in terms}
    for each in terms:
        if each.key is not None:
            column = tables[each.name].get_column(each.key)
            broken += column.null_count() + len(column) - column.n_unique()
        if each.above is not None and each.link is not None:
            key = keys[each.above]
            assert key is not None
            link = tables[each.name].get_column(each.link)
            there = link.is_in(tables[each.above].get_column(key).implode())
            broken += len(there) - int(there.fill_null(value=False).sum())
    sentence = (
        Message(
            "Broken: {rows} with a key or a link that does not name one row.", rows=_rows(broken)
        )
        if broken
        else Message("Holds: every row hangs from one row of the table above it.")
    )
    return Check(Message("links"), 0, broken, not broken, sentence)


def _rows(n: int) -> Message:
    return plural("{n:,} row", "{n:,} rows", n)


def _numbers(frame: pl.DataFrame, columns: Sequence[str]) -> pl.Series:
    """Return a number for each row that is equal for rows with equal cells."""
    import polars as pl

    if not columns:
        return pl.zeros(frame.height, pl.UInt32, eager=True).alias("number")
    cells = frame.select(
        pl.col(name).fill_null("").alias(str(place))
        if frame.schema[name] == pl.String
        else pl.col(name).alias(str(place))
        for place, name in enumerate(columns)
    )
    distinct = cells.unique().with_row_index("number")
    on = cells.columns
    found = cells.join(distinct, on=on, how="left", nulls_equal=True, maintain_order="left")
    return found.get_column("number")


def _events(
    tables: Mapping[str, pl.DataFrame], terms: Sequence[TableTerms], classes: pl.Series, m: int
) -> pl.DataFrame:
    """Return every event: whose, of which class, what it tells, and the rows it hangs from."""
    import polars as pl

    deepest = len(terms) + 1
    paths = [f"row{depth}" for depth in range(1, deepest + 1)]
    nothing = [pl.lit(None, pl.Int64).alias(path) for path in paths]
    known = {
        terms[0].name: pl.DataFrame({"class": classes})
        .with_row_index("who")
        .with_columns(pl.lit(0, pl.Int64).alias("told"), pl.lit(0).alias("depth"), *nothing)
    }
    found: list[pl.DataFrame] = []
    offset, kinds = 0, 1

    def add(rows: pl.DataFrame, cells: pl.Series) -> pl.DataFrame:
        """Take rows with what is known of the row above each; return what is known of them."""
        nonlocal offset, kinds
        told = _numbers(rows.select("told").with_columns(cells.alias("own")), ["told", "own"])
        depth = int(rows.get_column("depth").max() or 0) + 1  # type: ignore[arg-type]
        number = pl.int_range(offset, offset + rows.height, dtype=pl.Int64, eager=True)
        rows = rows.with_columns(
            (told.cast(pl.Int64) + kinds).alias("told"),
            pl.lit(depth).alias("depth"),
            number.alias(f"row{depth}"),
        )
        offset += rows.height
        kinds += int(told.max() or 0) + 1  # type: ignore[arg-type]
        found.append(rows.select("class", "who", "told", *paths))
        return rows

    for each in terms:
        own = tables[each.name]
        if each.above is not None:
            above = next(other for other in terms if other.name == each.above)
            assert above.key is not None
            assert each.link is not None
            keyed = known[above.name].with_columns(
                tables[above.name].get_column(above.key).alias("key")
            )
            links = own.select(pl.col(each.link).alias("key"))
            rows = links.join(keyed, on="key", how="left", maintain_order="left").drop("key")
            known[each.name] = add(rows, _numbers(own, each.quasi_identifiers))
        for column in each.items:
            cells = own.get_column(column)
            if not isinstance(cells.dtype, pl.List):
                cells = cells.cast(pl.String).str.split(each.separator)
            rows = known[each.name].with_columns(cells.alias("item")).explode("item")
            rows = rows.filter(
                pl.col("item").is_not_null() & (pl.col("item").cast(pl.String) != "")
            )
            if rows.height:
                add(rows.drop("item"), _numbers(rows, ["item"]))
    if not found:
        return pl.DataFrame(schema={"class": pl.UInt32, "who": pl.UInt32, "told": pl.Int64})
    return _fewer(pl.concat(found), paths, m)


def _fewer(events: pl.DataFrame, paths: Sequence[str], m: int) -> pl.DataFrame:
    """Leave out what cannot make a difference: of equal rows below one row all but m."""
    import polars as pl

    used = [path for path in paths if events.get_column(path).null_count() < events.height]
    own = pl.coalesce(*reversed(used))
    events = events.with_columns(own.alias("own"))
    counts = pl.concat([events.select(pl.col(path).alias("own")) for path in used]).drop_nulls()
    alone = counts.group_by("own").len("rows").filter(pl.col("rows") == 1).get_column("own")
    above = [
        pl.when(pl.col(path) != pl.col("own")).then(pl.col(path)).alias(f"_{path}") for path in used
    ]
    place = pl.int_range(pl.len()).over(["who", "told", *(f"_{path}" for path in used)])
    events = events.with_columns(above).with_columns(place.alias("place"))
    leaf = pl.col("own").is_in(alone.implode())
    kept = events.filter(~leaf | (pl.col("place") < m)).select("class", "who", "told", *used)
    # what is told gets small numbers within a class, so that three of them fit into one
    return (
        kept.with_columns(pl.col("told").rank("dense").over("class").cast(pl.Int64).alias("told"))
        .sort("class", "who")
        .with_row_index("row")
    )


def _fewest(events: pl.DataFrame, m: int) -> int:
    """Return the fewest people who have what m events of somebody tell."""
    import polars as pl

    if int(events.get_column("told").max() or 0) >= _TYPES:  # type: ignore[arg-type]
        raise DataError(
            "A group of people has more than {n:,} different events, which is more than can be "
            "counted.",
            n=_TYPES,
        )
    if m == 1:
        pairs = events.select("class", pl.col("told").alias("pattern"), "who").unique()
        return int(pairs.group_by("class", "pattern").len().get_column("len").min() or 0)  # type: ignore[arg-type]
    counted = [
        _combined(part, m)
        .unique()
        .group_by("class", "pattern")
        .len("people")
        .cast({"people": pl.Int64})
        for part in _parts(events, m)
    ]
    whole = pl.concat(counted).group_by("class", "pattern").agg(pl.col("people").sum())
    if not whole.height:  # nobody has so many
        return int(events.get_column("who").n_unique())
    return int(whole.get_column("people").min() or 0)  # type: ignore[arg-type]


def _parts(events: pl.DataFrame, m: int) -> Iterator[pl.DataFrame]:
    """Yield the events of some people after the other, few enough to be combined at once."""
    import numpy as np

    people = events.group_by("who", maintain_order=True).len("rows")
    work = np.cumsum(people.get_column("rows").to_numpy().astype(float) ** m) // _COMBINATIONS
    rows = people.get_column("rows").to_numpy().astype(np.int64)
    ends = np.cumsum(rows)
    last = np.append(np.flatnonzero(np.diff(work)), len(work) - 1)
    start = 0
    for end in ends[last].tolist():
        yield events.slice(start, end - start)
        start = end


def _combined(events: pl.DataFrame, m: int) -> pl.DataFrame:
    """Return what every m rows of a person tell together, as (class, pattern, who)."""
    import polars as pl

    paths = [name for name in events.columns if name.startswith("row") and name != "row"]
    rows = [f"r{place}" for place in range(m)]

    def renamed(place: int) -> pl.DataFrame:
        names = {"row": f"r{place}", "told": f"t{place}"} | {p: f"{p}_{place}" for p in paths}
        return events.rename(names) if place == 0 else events.drop("class").rename(names)

    found = renamed(0)
    for place in range(1, m):
        found = found.join(renamed(place), on="who").filter(
            pl.col(rows[place - 1]) < pl.col(rows[place])
        )

    def shared(a: int, b: int) -> pl.Expr:
        same = [(pl.col(f"{p}_{a}") == pl.col(f"{p}_{b}")).fill_null(value=False) for p in paths]
        return pl.sum_horizontal(same).cast(pl.Int64)

    spelled = []
    for order in permutations(range(m)):
        text = pl.lit(0, pl.Int64)
        for place in order:
            text = text * _TYPES + pl.col(f"t{place}")
        for a in range(m):
            for b in range(a + 1, m):
                text = text * _DEPTHS + shared(order[a], order[b])
        spelled.append(text)
    return found.select("class", pl.min_horizontal(spelled).alias("pattern"), "who")
