"""From several tables to a release of all: people are grouped, then events, then all is verified.

    tables ─► whose each row is ─► groups of people ─► types of events ─► a release of each ─► check

People are grouped by their quasi-identifiers and by what their histories have in common, which is
not published for that. Each table is then published by the line of one table, with groups that
are given.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from secrets import token_bytes
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.engine.local import LocalEngine
from shoal.engine.pipeline import Task, check_notes
from shoal.errors import DataError, OptionError, PromiseError, ShoalError
from shoal.messages import Message, plural
from shoal.publish.recode import published_names
from shoal.publish.verify_tables import TableTerms, verify_published_tables
from shoal.release.tables import TablesRelease
from shoal.run import AS_USUAL, LocalTable, run
from shoal.runtime.progress import watching
from shoal.runtime.threads import check_process
from shoal.settings.tables import TableRequest, TablesRequest, items_of, without
from shoal.table.frames import back_from_polars, to_polars
from shoal.table.items import SEPARATOR, as_sets, codes_of
from shoal.table.partition import Partition
from shoal.table.person_key import KEY_BYTES, keyed_pseudonyms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from shoal.engine.grouping import LocalWork
    from shoal.publish.judgement import Doubt
    from shoal.release import Release
    from shoal.runtime.progress import Report
    from shoal.search.events import EventTable
    from shoal.settings.request import Request
    from shoal.table.encode import Attribute

SPREAD = {1: 3, 2: 5, 3: 8}
"""Groups of people are so many times k large, by the number of events an attacker knows."""
_MOST_KINDS = 40
"""Of a column of a further table, people are compared at the lowest level with so few nodes."""
_WEIGHTS = (1.0, 0.5, 0.5)
"""What people have in common of a column: the value they have most, the next, how many rows."""


@dataclass(eq=False)
class _Opened:
    """One table: its rows with pseudonyms as keys, and the row above each.

    Attributes:
        asked: what is asked of it.
        frame: its rows.
        up: the row of the table above that each hangs from.
        like: the table as it was given.
        lists: of columns of sets: the row that each code hangs from, and the codes.
        codes: what is asked of these codes.
    """

    asked: TableRequest
    frame: pl.DataFrame
    up: NDArray[np.int64]
    like: Any
    lists: dict[str, tuple[NDArray[np.int64], pl.DataFrame]]
    codes: dict[str, Request]


class GroupedEngine(LocalEngine):
    """One machine; the groups are those that are given.

    Args:
        labels: the group of each row, negative if it is left out.
        quiet: columns of which nobody need be warned: keys, and sets that are generalised.
    """

    def __init__(self, labels: NDArray[np.integer[Any]], quiet: Sequence[str]) -> None:
        super().__init__()
        self.labels, self.quiet = labels, tuple(quiet)

    def group(self, work: LocalWork) -> Partition:
        """Return the given groups."""
        del work
        return Partition.from_labels(self.labels)

    def find_dangers(self, work: LocalWork, groups: Partition) -> list[Doubt]:
        """Return a sentence for each published column that can undo the release."""
        columns = tuple(each for each in work.schema.columns if each.name not in self.quiet)
        return super().find_dangers(
            replace(work, schema=replace(work.schema, columns=columns)), groups
        )


@dataclass(frozen=True)
class _GroupedSource:
    """A table whose groups are known."""

    frame: pl.DataFrame
    engine: GroupedEngine

    @contextmanager
    def opened(self, request: Request, progress: Report) -> Iterator[LocalTable]:
        """Give the table."""
        del progress
        schema = request.schema(self.frame.columns)
        table = LocalTable(self.frame, schema, request, AS_USUAL)
        table.engine = self.engine
        yield table


def run_tables(
    request: TablesRequest,
    tables: Mapping[str, Any],
    *,
    progress: bool | Callable[[int, int, str], None] = False,
) -> TablesRelease:
    """Make a release of several tables.

    Raises:
        ShoalError: with one sentence on what is wrong and what to do.
    """
    check_process()
    with watching(progress) as report:
        report(0, 0, "linking")
        notes: list[str] = []
        opened = _open(request, tables, notes)
        rng = np.random.default_rng(request.main.request.seed)
        events = _event_tables(opened)
        groups = _group_people(request, opened, events, notes, report)
        from shoal.algorithm.warm_up import compile_ahead
        from shoal.search.events import find_types  # loads kernels

        compile_ahead(("events",), report)
        types = find_types(
            [each for each, _ in events.values()],
            groups.labels,
            k=request.k,
            m=request.knows_events,
            rng=rng,
            threads=_threads(request),
            progress=report,
        )
        found = dict(zip(events, types, strict=True))
        made = _release_all(opened, groups, found, report)
        report(0, 0, "verifying")
        frames = {name: to_polars(each.frame) for name, each in made.items() if "." not in name}
        terms = terms_of(request, made)
        verification = verify_published_tables(
            frames, terms, k=request.k, knows_events=request.knows_events
        )
        if not verification.holds:
            raise PromiseError(
                "The release does not keep its promise, so it is not written: {broken}",
                broken=verification.broken(),
            )
        for name, each in made.items():
            notes += [_of_table(name, note) for note in each.warnings]
        notes = list(dict.fromkeys(notes))
        check_notes(notes, strict=request.main.request.strict)
        return TablesRelease(made, verification, terms, tuple(notes))


def _threads(request: TablesRequest) -> int:
    import os

    return request.main.request.threads or os.cpu_count() or 1


def _of_table(name: str, note: str) -> Message:
    return Message("Table {name!r}: {note}", name=name, note=note)


@contextmanager
def _about(name: str) -> Iterator[None]:
    """Say in errors which table they are about."""
    try:
        yield
    except ShoalError as error:
        raise type(error)("Table {name!r}: {error}", name=name, error=error.message) from None


# -- whose each row is ----------------------------------------------------------------------------


def _open(
    request: TablesRequest, tables: Mapping[str, Any], notes: list[str]
) -> dict[str, _Opened]:
    """Return every table with new keys and without rows that hang from nothing."""
    import polars as pl

    key = request.person_key or token_bytes(KEY_BYTES)
    found: dict[str, _Opened] = {}
    for name, asked in request.tables.items():
        with _about(name):
            like = tables[name]
            frame = to_polars(like)
            if asked.request.details.get("missing_codes") or asked.request.details.get("read_as"):
                from shoal.io.spelling import read_as_asked

                frame = read_as_asked(frame, asked.request.details)
            asked.request.schema(frame.columns)  # every column has a role, before anything is done
            if frame.height == 0:
                raise DataError("The table has no rows; there is nothing to anonymize.")
            up = np.arange(frame.height, dtype=np.int64)
            if asked.key is not None:
                use = "pseudonym" if asked.above is None else f"pseudonym of {name}.{asked.key}"
                frame = frame.with_columns(_keys(frame, asked, key, use))
            if asked.above is not None:
                above = request.tables[asked.above]
                assert above.key is not None
                assert asked.link is not None
                use = f"pseudonym of {above.name}.{above.key}"
                use = "pseudonym" if above.above is None else use
                links = keyed_pseudonyms(frame.get_column(asked.link), key, use)
                frame = frame.with_columns(links)
                rows = found[above.name].frame.select(pl.col(above.key).alias("key"))
                place = (
                    links.to_frame("key")
                    .join(rows.with_row_index("up"), on="key", how="left", maintain_order="left")
                    .get_column("up")
                )
                there = place.is_not_null()
                orphans = len(there) - int(there.sum())
                if orphans == frame.height:
                    raise DataError(
                        "No row hangs from a row of table {above!r}; are {link!r} and {key!r} the "
                        "right columns?",
                        above=above.name,
                        link=asked.link,
                        key=above.key,
                    )
                if orphans:
                    note = Message(
                        "{rows} of the input hang from no row of table {above!r}; they belong to "
                        "nobody and are left out.",
                        rows=plural("{n:,} row", "{n:,} rows", orphans),
                        above=above.name,
                    )
                    notes.append(_of_table(name, note))
                frame, place = frame.filter(there), place.filter(there)
                up = place.to_numpy().astype(np.int64)
            lists = {column: codes_of(frame.get_column(column)) for column in asked.items}
            codes = {column: items_of(asked.request, [column]) for column in asked.items}
            found[name] = _Opened(asked, frame, up, like, lists, codes)
    return found


def _keys(frame: pl.DataFrame, asked: TableRequest, key: bytes, use: str) -> pl.Series:
    """Return the pseudonyms of the rows of a table.

    Raises:
        DataError: a row has no key, or two have the same.
    """
    assert asked.key is not None
    made = keyed_pseudonyms(frame.get_column(asked.key), key, use)
    missing = made.null_count()
    if missing:
        raise DataError(
            "Column {key!r} names the rows, and {rows} no value in it.",
            key=asked.key,
            rows=plural("{n:,} row has", "{n:,} rows have", missing),
        )
    twice = len(made) - made.n_unique()
    if twice:
        raise DataError(
            "Column {key!r} names the rows, and {rows} the same value as another one (white "
            "space, letter case and forms of a number do not count).{hint}",
            key=asked.key,
            rows=plural("{n:,} row has", "{n:,} rows have", twice),
            hint=Message(" The table about people has one row for each person.")
            if asked.above is None
            else "",
        )
    return made


# -- groups of people and types of events ---------------------------------------------------------


def _event_tables(opened: Mapping[str, _Opened]) -> dict[str, tuple[EventTable, str]]:
    """Return every table of events, encoded, parents first; sets of codes are such tables."""
    from shoal.search.events import EventTable

    found: dict[str, tuple[EventTable, str]] = {}
    place: dict[str, int] = {}
    for name, each in opened.items():
        above = -1
        if each.asked.above is not None:
            above = place.get(each.asked.above, -1)
            place[name] = len(found)
            with _about(name):
                request = without(each.asked.request, each.asked.items)
                codes = _encoded(each.frame.drop(each.asked.items), request)
            found[name] = (EventTable(codes, each.up, above), name)
        for column, (rows, codes_frame) in each.lists.items():
            with _about(name):
                encoded = _encoded(codes_frame, each.codes[column])
            found[f"{name}.{column}"] = (EventTable(encoded, rows, place.get(name, -1)), name)
    return found


def _encoded(frame: pl.DataFrame, request: Request) -> Any:
    """Return the quasi-identifiers of a table as the line of one table encodes them."""
    import narwhals as nw

    from shoal.table.encode import encode
    from shoal.table.infer import infer_kinds, settle_grids

    schema = request.schema(frame.columns)
    schema = infer_kinds(schema, nw.from_native(frame, eager_only=True), request.unknown_values)
    schema = settle_grids(schema, frame, by_default=request.default_grid)
    if schema.is_coded:
        from shoal.table.coding import clamp_frame

        frame = clamp_frame(frame, schema.columns)
    for name in schema.quasi_identifiers:
        kind = schema[name].kind
        if kind is not None and kind.algebra == "set":
            raise OptionError(
                "Column {name!r} is of kind set, which events cannot have; give it a hierarchy, "
                "or leave the kind out.",
                name=name,
            )
    return encode(frame.select(schema.quasi_identifiers), replace(schema, columns=_quasi(schema)))


def _quasi(schema: Any) -> tuple[Any, ...]:
    return tuple(each for each in schema.columns if each.name in schema.quasi_identifiers)


def _group_people(
    request: TablesRequest,
    opened: Mapping[str, _Opened],
    events: Mapping[str, tuple[EventTable, str]],
    notes: list[str],
    report: Report,
) -> Partition:
    """Return groups of people who are alike, in the main table and in what happened to them."""
    main = opened[request.main.name]
    asked = without(request.main.request, request.main.items)
    frame = main.frame.drop(request.main.items)
    history = _histories(events, frame.height)
    hidden: dict[str, pl.Series] = {}
    kinds = dict(asked.details.get("kinds") or {})
    weights = dict(asked.details.get("weights") or {})
    grids = asked.details.get("grid")
    grids = {} if grids is None else grids if isinstance(grids, str) else dict(grids)
    for number, (values, kind, weight) in enumerate(history):
        name = f"history {number}"
        while name in frame.columns:
            name += "'"
        hidden[name], kinds[name], weights[name] = values, kind, weight
        if isinstance(grids, dict):
            grids[name] = "none"
    details = {**asked.details, "kinds": kinds, "weights": weights}
    if grids:
        details["grid"] = grids
    n = frame.height
    k = max(request.k, min(request.k * SPREAD[request.knows_events], n // 2))
    asked = replace(
        asked,
        k=k,
        quasi_identifiers=(*asked.quasi_identifiers, *hidden),
        details=details,
    )
    frame = frame.with_columns(series.alias(name) for name, series in hidden.items())
    engine = LocalEngine()
    with _about(request.main.name):
        report(0, 0, "encoding")
        work = engine.describe(
            Task(frame, asked.schema(frame.columns), asked, notes.append, report)
        )
        groups = engine.group(work)
    return Partition.from_labels(groups.labels)


def _histories(
    events: Mapping[str, tuple[EventTable, str]], n_people: int
) -> list[tuple[Any, str, float]]:
    """Return what people can be compared by: columns of one cell for each person."""
    import polars as pl

    found: list[tuple[Any, str, float]] = []
    whose: list[NDArray[np.int64]] = []
    most, second, many = _WEIGHTS
    for table, _ in events.values():
        person = table.up if table.above < 0 else whose[table.above][table.up]
        whose.append(person)
        counts = np.bincount(person, minlength=n_people)
        found.append((pl.Series(np.log2(1.0 + counts).round(1)), "numeric", many))
        for attribute in table.table.attributes:
            values = _coarse(attribute)
            if values is None:
                continue
            pairs = pl.DataFrame({"who": person, "value": values[attribute.codes]})
            ranked = (
                pairs.group_by("who", "value")
                .len("rows")
                .sort(["who", "rows", "value"], descending=[False, True, False])
                .group_by("who", maintain_order=True)
                .agg(
                    pl.col("value").first().alias("most"),
                    pl.col("value").slice(1, 1).first().alias("next"),
                )
            )
            cells = pl.DataFrame({"who": np.arange(n_people)}).join(
                ranked, on="who", how="left", maintain_order="left"
            )
            for column, weight in (("most", most), ("next", second)):
                texts = cells.get_column(column).cast(pl.String).fill_null("none")
                if texts.n_unique() > 1:
                    found.append((texts, "flat", weight))
    return [each for each in found if each[0].n_unique() > 1]


def _coarse(attribute: Attribute) -> NDArray[np.int64] | None:
    """Return a node for each code, at the lowest level with few nodes; None if there is none."""
    taxonomy = attribute.taxonomy
    if taxonomy is None:
        return None
    for level in range(taxonomy.tree_height):
        nodes = np.asarray(taxonomy.generalization(level), np.int64)
        if (
            len(np.unique(nodes[np.unique(attribute.codes[attribute.codes < attribute.size])]))
            <= _MOST_KINDS
        ):
            return np.append(nodes, -1)
    return None


# -- a release of each table ----------------------------------------------------------------------


def _release_all(
    opened: Mapping[str, _Opened],
    groups: Partition,
    types: Mapping[str, NDArray[np.int64]],
    report: Report,
) -> dict[str, Release]:
    """Return the release of each table, and of each column of sets as ``table.column``."""
    made: dict[str, Release] = {}
    for name, each in opened.items():
        labels = groups.labels if each.asked.above is None else types[name]
        frame = each.frame
        for column, (rows, codes) in each.lists.items():
            of_codes = types[f"{name}.{column}"]
            with _about(name):
                _refuse_empty(of_codes)
                source = _GroupedSource(codes, GroupedEngine(of_codes, ()))
                asked = replace(each.codes[column], shuffle=False)
                release = run(asked, source, progress=report)
            made[f"{name}.{column}"] = release
            cells = release.frame.get_column(column)
            frame = frame.with_columns(
                as_sets(cells, rows[of_codes >= 0], frame.get_column(column))
            )
        asked = without(each.asked.request, each.asked.items)
        asked = replace(asked, insensitive=(*asked.insensitive, *each.asked.items))
        with _about(name):
            _refuse_empty(labels)
            engine = GroupedEngine(labels, (*each.asked.keys, *each.asked.items))
            release = run(asked, _GroupedSource(frame, engine), progress=report)
        exact = [column for column in release.schema.exact if column not in engine.quiet]
        made[name] = replace(release, frame=back_from_polars(release.frame, each.like, exact))
    return made


def _refuse_empty(labels: NDArray[np.integer[Any]]) -> None:
    if not (labels >= 0).any():
        raise PromiseError(
            "No row can be published so that nobody is singled out; take a smaller k or fewer "
            "known events, or leave the table out."
        )


def terms_of(request: TablesRequest, made: Mapping[str, Release]) -> tuple[TableTerms, ...]:
    """Return what is promised, as verification takes it."""
    found = []
    for name, asked in request.tables.items():
        release = made[name]
        names = published_names(release.schema, asked.request.style)
        quasi = [each for column in release.schema.quasi_identifiers for each in names[column]]
        found.append(
            TableTerms(
                name, tuple(quasi), asked.key, asked.link, asked.above, asked.items, SEPARATOR
            )
        )
    return tuple(found)
