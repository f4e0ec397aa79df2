"""Further rows in the cells of a release.

Each new row gets the cheapest published cell that covers it, as long as at least k new rows have
that cell and the promises hold for them. The other rows are grouped among themselves; who cannot
be grouped waits. Promises are verified twice: for the new table alone, and for it together with
what is out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, NamedTuple

import numpy as np

from shoal.archive.kept import (
    digests_of,
    keep,
    number_classes,
    number_people,
    rows_of,
    with_further,
)
from shoal.archive.release_file import READING
from shoal.errors import DataError, OptionError, PromiseError
from shoal.io.columns import fresh_column
from shoal.io.spelling import read_as_asked
from shoal.life.coverage import Coverage
from shoal.measure.scores import Scores
from shoal.messages import Message
from shoal.publish.aggregates import Facts
from shoal.publish.moved_dates import doubts_of_dates, refuse_first_of_others
from shoal.publish.recode import RowHash, published_names, with_coded
from shoal.publish.release_data import FrameT
from shoal.publish.verification_terms import grids_of, promises_of
from shoal.publish.verify import Verification, verify_table
from shoal.release import Release
from shoal.runtime.progress import Report, Stopwatch, watching
from shoal.runtime.threads import check_process
from shoal.search.enforce import violations
from shoal.table.coding import in_order
from shoal.table.encode import EncodedTable, encode, encode_sensitive
from shoal.table.frames import back_from_polars, to_polars
from shoal.table.partition import Partition
from shoal.table.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl
    from numpy.typing import NDArray

    from shoal.archive.release_file import Digests, KeptRelease
    from shoal.publish.release_data import PublishedTable
    from shoal.settings.request import Request


# -- What two tables of one release have to do with each other: options, types, sensitive values ---


def request_of_kept(kept: KeptRelease, columns: list[str], **more: Any) -> Request:
    """Return the request by which rows were grouped, for a table with these columns.

    Columns that are removed anyway may be missing.

    Raises:
        OptionError: an option cannot be used.
    """
    from shoal.settings.request import build_request

    schema = kept.schema
    if schema.pseudonyms:
        raise OptionError(
            "The release publishes pseudonyms, which further rows would not fit; make a new "
            "release of all rows instead."
        )
    for model in kept.privacy:
        # what they look at, a population or a tree of values, is not kept
        if model.about != "groups" or getattr(model, "distance", "") == "hierarchical":
            raise OptionError(
                "The release promises {label}, which cannot be kept for further rows; make a "
                "new release of all rows instead.",
                label=model.label,
            )
    found = tuple(column for column in schema.columns if column.name in columns)
    return build_request(
        {
            **{name: said for name, said in kept.options.items() if name not in READING},
            "k": kept.k,
            "privacy": kept.privacy,
            "quasi_identifiers": schema.quasi_identifiers,
            "sensitive": schema.sensitive,
            "insensitive": schema.insensitive,
            "identifiers": [name for name in schema.identifiers if name in columns],
            "drop": [name for name in schema.dropped if name in columns],
            "person": schema.person,
            **Schema(found).details(),
            "style": kept.style,
            **more,
        }
    )


class Whose(NamedTuple):
    """Whose the rows of a release and of a new table are.

    Attributes:
        old: the published rows of the release.
        old_person: number of the person of each of them.
        person: number of the person of each new row; the same numbers.
        digests: keyed hash of each person, first the old rows and then the new ones; None where
            every row is a person of its own.
    """

    old: pl.DataFrame
    old_person: NDArray[np.int64]
    person: NDArray[np.int64]
    digests: Digests | None


def check_people(kept: KeptRelease) -> None:
    """Raise if people are to be counted and nobody can tell who they are.

    Raises:
        OptionError: the private half is not there, or not all of it.
    """
    if kept.schema.person is None:
        return
    if kept.people is None:
        raise OptionError(
            "The release counts people and does not say who they are; its private file "
            "(.shoal.people) must lie beside it."
        )
    if kept.people.beside:
        raise OptionError(
            "The release was made beside others, in which the new people may be; make a new "
            "release of everybody with previous=... (--previous) instead."
        )


def whose_are(kept: KeptRelease, table: pl.DataFrame) -> Whose:
    """Number the people of a release and of a new table, so that each counts once.

    Raises:
        DataError: somebody is in both.
    """
    people, n_new = kept.people, table.height
    if people is None:
        old = kept.table()
        return Whose(old, np.arange(old.height) + n_new, np.arange(n_new), None)
    old, of_old = rows_of(kept)
    of_new = digests_of(table.get_column(str(kept.schema.person)), people.key)
    digests = np.concatenate([of_old, of_new])
    number, _ = number_people(digests)
    old_person, person = number[: old.height], number[old.height :]
    n_again = len(np.intersect1d(old_person[: len(people.digests)], person))
    if n_again:
        raise DataError(
            "{n_again:,} people of the new table are in the release already, where their rows "
            "could be put together; leave them out, or make a new release of everybody with "
            "previous=... (--previous).",
            n_again=n_again,
        )
    return Whose(old, old_person, person, digests)


def sensitive_only(table: pl.DataFrame, schema: Schema, person: NDArray[np.int64]) -> EncodedTable:
    """Return the sensitive columns of a published table, encoded, with whose its rows are."""
    codes = np.unique(person, return_inverse=True)[1].astype(np.int32)
    several = int(np.bincount(codes).max(initial=0)) > 1
    people = codes if several and schema.person is not None else None
    columns = tuple(
        replace(encode_sensitive(in_order(table.get_column(name), schema[name])), people=people)
        for name in schema.sensitive
    )
    return EncodedTable(table.height, (), columns, people)


def stacked(first: pl.DataFrame, second: pl.DataFrame) -> pl.DataFrame:
    """Return two published tables as one.

    Raises:
        DataError: a column is of different types in them.
    """
    import polars as pl

    from shoal.io.columns import decode_text

    tables = []
    for each in (first, second):
        levels = [n for n, t in each.schema.items() if isinstance(t, pl.Categorical | pl.Enum)]
        tables.append(decode_text(each).with_columns(pl.col(levels).cast(pl.String)))
    for name in first.columns:
        types = [each.schema[name] for each in tables]
        if pl.Null not in types and len({each.is_numeric() for each in types}) > 1:
            raise DataError(
                "Column {name!r} is of type {types} in the release and {types2} in the new "
                "table; read both alike, for example with --kind or --missing-values.",
                name=name,
                types=types[0],
                types2=types[1],
            )
    try:
        return pl.concat(tables, how="vertical_relaxed")
    except pl.exceptions.PolarsError:
        raise DataError(
            "The columns of the new table are of other types than those of the release; read both "
            "alike, for example with --kind or --missing-values."
        ) from None


_ROUNDS = 50


@dataclass(frozen=True, eq=False)
class Applied(Generic[FrameT]):
    """Further rows of a release.

    Attributes:
        release: the new rows as a release of their own, verified alone.
        together: the promises, verified on the new rows and those of the release together.
        waiting: rows of the input that could not be published yet. Private: never publish them.
        kept: what is kept of both together, for rows that come later.
    """

    release: Release[FrameT]
    together: Verification
    waiting: FrameT
    kept: KeptRelease

    @property
    def frame(self) -> FrameT:
        """The published table of the new rows."""
        return self.release.frame

    @property
    def n_waiting(self) -> int:
        """Rows of the input that wait."""
        return self.release.n_suppressed

    def certificate(self, **said: str | None) -> dict[str, Any]:
        """Return the certificate of the new rows, and what holds for both tables together.

        Args:
            said: as in `shoal.Release.certificate`.
        """
        from shoal.report.certificate import disclosed_number
        from shoal.runtime.sanitize import plain_values

        found = self.release.certificate(**said)
        found["together"] = {
            "holds": self.together.holds,
            "rows": self.together.n_rows,
            "groups": self.together.n_groups,
            "promises": [
                {
                    "name": check.name,
                    "promised": check.promised,
                    "measured": plain_values(disclosed_number(self.release, check)),
                    "holds": check.holds,
                }
                for check in self.together.checks
            ],
        }
        return found

    def __repr__(self) -> str:
        """Return one line without any cell."""
        return f"<Applied {self.release!r}, {self.n_waiting} rows wait>"

    def _repr_html_(self) -> str:
        from shoal.runtime.notebook import facts, shown

        waiting = shown(facts([("Rows that wait", f"{self.n_waiting:,}")]))
        return self.release._repr_html_() + waiting


def apply(
    frame: FrameT,
    release: Release | KeptRelease,
    *,
    seed: int | None = None,
    threads: int | None = None,
    progress: bool | Callable[[int, int, str], None] = False,
) -> Applied[FrameT]:
    """Publish further rows as those of a release were.

    Each row gets the cheapest published cell that covers it and that at least k of the new rows
    can share; rows that are left form groups of their own, or wait. All promises of the release
    hold for the new table alone and for both tables together. Where `person` says whose rows
    they are, people are counted in both, which takes the private half of the release; somebody
    who is in the release already is for ``anonymize(previous=...)``.

    Args:
        frame: the further rows, with the columns of the first table (pandas, polars or pyarrow).
        release: a release, or what `shoal.load_release` returns.
        seed: makes the run reproducible; keep it secret.
        threads: how many threads may be used.
        progress: True for a bar, or a function of (done, total, what).

    Raises:
        PromiseError: none of the rows can be published yet.
        ShoalError: with one sentence on what is wrong and what to do.
    """
    check_process()
    watch = Stopwatch()
    kept = keep(release)
    table = read_as_asked(to_polars(frame), kept.schema.details())
    if table.height == 0:
        raise DataError("The table has no rows; there is nothing to apply the release to.")
    check_people(kept)
    request = request_of_kept(kept, table.columns, seed=seed, threads=threads)
    with watching(progress) as report:
        work = _Work(kept, table, request, report)
        made = work.settle()
    names = [*work.schema.sensitive, *work.schema.insensitive]
    out = np.ones(table.height, np.bool_)
    out[made.rows] = False
    refuse_first_of_others(work.schema, work.person, out)
    waits = np.flatnonzero(out)
    labels = np.full(table.height, -1, np.int64)
    labels[made.rows] = made.classes
    notes = [*work.notes, *made.alone.notes]
    if len(waits):
        notes.append(
            Message(
                "{n:,} of {height:,} rows cannot be published yet and wait; give them again with "
                "the next ones.",
                n=len(waits),
                height=table.height,
            )
        )
    if request.strict and notes:
        raise PromiseError(
            "The rows would come with a warning, so with strict they are not published: {notes}",
            notes=notes[0],
        )
    done = Release(
        frame=back_from_polars(made.frame, frame, names),
        groups=labels,
        scores=made.scores,
        verification=made.alone,
        k=kept.k,
        n_rows=table.height,
        n_suppressed=len(waits),
        parameters=request.parameters() | {"applied": True},
        schema=work.schema,
        facts=Facts((), (), (), (), made.scores),
        warnings=tuple(dict.fromkeys(notes)),
        seconds=watch.seconds(),
        privacy=kept.privacy,
        grids=grids_of(work.schema, kept.style),
        people=made.people,
        style=kept.style,
    )
    side = table[waits.tolist()]
    return Applied(
        release=done,
        together=made.together,
        waiting=back_from_polars(side, frame, side.columns),
        kept=with_further(kept, made.both, made.digests, work.old.height),
    )


@dataclass(frozen=True, eq=False)
class _Made:
    """Rows that can be published, and what holds for them."""

    frame: pl.DataFrame
    rows: NDArray[np.int64]
    classes: NDArray[np.int64]
    people: NDArray[np.int64] | None
    alone: Verification
    together: Verification
    both: pl.DataFrame
    digests: Digests | None
    scores: Scores


class _Work:
    """New rows and the groups of a release that cover them."""

    def __init__(
        self, kept: KeptRelease, table: pl.DataFrame, request: Request, progress: Report
    ) -> None:
        import narwhals as nw

        from shoal.profile.repeated_people import find_signs
        from shoal.table.dates import move_dates
        from shoal.table.infer import infer_kinds, notes_on_unknown, settle_grids

        asked = request.schema(table.columns)
        signs = [*find_signs(table, asked, request), *doubts_of_dates(table, asked)]
        table = move_dates(table, asked, None if kept.people is None else kept.people.key)
        self.kept, self.table, self.request = kept, table, request
        self.progress = progress
        progress(0, 0, "encoding")
        known = infer_kinds(asked, nw.from_native(table), request.unknown_values)
        self.schema: Schema = settle_grids(known, table, by_default=False)
        self.notes = [*signs, *notes_on_unknown(asked, self.schema)]
        self.whole = encode(table, self.schema)
        self.shown = with_coded(table, self.schema)
        self.old, self.old_person, self.person, self.digests = whose_are(kept, table)
        self.cover = Coverage(kept.cells, self.schema, kept.style, table)
        self.names = published_names(self.schema, kept.style)

    def settle(self) -> _Made:
        """Return the rows that can be published.

        Raises:
            PromiseError: there are none.
        """
        alive = np.ones(self.kept.n_groups, np.bool_)
        taking = self._taking_part()
        for _ in range(_ROUNDS):
            self.progress(0, 0, "covering")
            group = self._covered(taking, alive)
            own, rows = self._group_rest(taking[group < 0])
            used = np.concatenate([taking[group >= 0], rows])
            if not len(used):
                break
            published = self._publish(taking[group >= 0], group[group >= 0], own)
            broken = self._broken(published, used)
            if not broken.any():
                return self._verified(published, used)
            of_release = np.arange(len(used)) < int((group >= 0).sum())
            bad = group[group >= 0][broken[of_release]]
            if len(bad):
                alive[bad] = False
            else:  # groups of their own that the whole table does not allow
                taking = np.setdiff1d(taking, used[broken])
        raise PromiseError(
            "None of the {height:,} rows can be published yet: no {k:,} of them share a "
            "published cell or form a group that keeps the promises, alone and with the "
            "release; wait for more.",
            height=self.table.height,
            k=self.kept.k,
        )

    def _taking_part(self) -> NDArray[np.int64]:
        missing = np.zeros(self.table.height, np.bool_)
        for attribute in self.whole.attributes:
            missing |= attribute.codes == attribute.size
        if self.request.missing == "error" and missing.any():
            raise DataError(
                "{n:,} rows lack a quasi-identifier; fill it in, or make the release with "
                "missing='category' or 'suppress'.",
                n=int(missing.sum()),
            )
        return np.flatnonzero(~missing | (self.request.missing != "suppress"))

    def _covered(self, rows: NDArray[np.int64], alive: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the group of each row; groups that too few new people share are given up.

        The smallest are given up first, so that their rows may fill others.
        """
        found = self.cover.cheapest(rows, alive)
        limit = 1
        while limit < 2 * self.kept.k:
            people = self._people_in(found, rows)
            few = (people > 0) & (people < min(limit + 1, self.kept.k))
            if few.any():
                alive[few] = False
                again = np.flatnonzero((found >= 0) & few[found])
                found[again] = self.cover.cheapest(rows[again], alive)
            elif limit + 1 >= self.kept.k:
                break
            if limit + 1 < self.kept.k:
                limit = min(2 * limit, self.kept.k - 1)
        return found

    def _people_in(self, group: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
        inside = group >= 0
        n_people = int(self.person.max(initial=0)) + 1
        pairs = np.unique(group[inside] * n_people + self.person[rows[inside]])
        return np.bincount(pairs // n_people, minlength=self.kept.n_groups)

    def _group_rest(self, rows: NDArray[np.int64]) -> tuple[pl.DataFrame | None, NDArray[np.int64]]:
        """Return groups of their own for rows that no cell covers, and which rows these are."""
        from shoal.engine.local import LocalEngine
        from shoal.engine.pipeline import run_pipeline

        nobody = np.empty(0, np.int64)
        if len(np.unique(self.person[rows])) < self.kept.k:
            return None, nobody

        class _Ordered(LocalEngine):
            """Publishes in the order of the rows: all rows are put in order in the end."""

            def publish(self, work: Any, groups: Any) -> PublishedTable:
                plain = replace(work, request=replace(work.request, shuffle=False))
                return super().publish(plain, groups)

        request = replace(self.request, missing="category", strict=False)
        part = self.table[rows.tolist()]
        try:
            made = run_pipeline(
                part, request.schema(part.columns), request, _Ordered(), progress=self.progress
            )
        except PromiseError:
            return None, nobody
        return made.published.frame, rows[made.groups.labels >= 0]

    def _publish(
        self,
        rows: NDArray[np.int64],
        group: NDArray[np.int64],
        own: pl.DataFrame | None,
    ) -> pl.DataFrame:
        import polars as pl

        cells = pl.Series(group, dtype=pl.UInt32)
        columns = []
        for name, titles in self.names.items():
            if name in self.schema.quasi_identifiers:
                columns += [self.kept.cells.get_column(each).gather(cells) for each in titles]
            else:
                columns.append(self.shown.get_column(name)[rows.tolist()])
        covered = pl.DataFrame(columns)
        return covered if own is None else stacked(covered, own)

    def _both(self, published: pl.DataFrame) -> pl.DataFrame:
        return stacked(self.old, published.select(self.old.columns))

    def _broken(self, published: pl.DataFrame, used: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which rows are in a group that breaks a promise, alone or together."""
        keys = self.kept.cells.columns
        broken = np.zeros(len(used), np.bool_)
        both = self._both(published)
        n_old = self.old.height
        whose = np.concatenate([self.old_person, self.person[used]])
        for table, person, at in ((published, self.person[used], 0), (both, whose, n_old)):
            _, labels, _ = number_classes(table.select(keys))
            groups = Partition.from_labels(labels)
            sensitive = sensitive_only(table, self.schema, person)
            found = violations(sensitive, groups, self.kept.k, self.kept.privacy)
            broken |= found[groups.labels][at:]
        return broken

    def _verified(self, published: pl.DataFrame, used: NDArray[np.int64]) -> _Made:
        self.progress(0, 0, "verifying")
        hashes = RowHash(published.height)
        for column in published.get_columns():
            hashes.add(column)
        order = hashes.order() if self.request.shuffle else np.argsort(used, kind="stable")
        import polars as pl

        at = pl.Series(order, dtype=pl.UInt32)
        frame = pl.DataFrame([fresh_column(c.gather(at)) for c in published.get_columns()])
        rows = used[order]
        both = self._both(frame)
        people = whose = digests = None
        if self.digests is not None:
            people = _dense(self.person[rows])
            whose = _dense(np.concatenate([self.old_person, self.person[rows]]))
            n_old = self.old.height
            digests = np.concatenate([self.digests[:n_old], self.digests[n_old:][rows]])
        alone, together = (
            verify_table(
                each,
                people=who,
                k=self.kept.k,
                quasi_identifiers=self.schema.quasi_identifiers,
                sensitive=self.schema.sensitive if self.kept.privacy else (),
                promises=promises_of(self.kept.privacy),
                grids=[
                    grid
                    for grid in grids_of(self.schema, self.kept.style)
                    if each is frame or grid.name not in self.schema.insensitive  # not kept
                ],
                orders={
                    name: counts.order
                    for name, counts in self.kept.sensitive.items()
                    if counts.order is not None
                },
            )
            for each, who in ((frame, people), (both, whose))
        )
        if not alone.holds:
            raise PromiseError(
                "The new rows do not keep the promise, so nothing is published: {broken}",
                broken=alone.broken(),
            )
        if not together.holds:
            raise PromiseError(
                "Both tables together do not keep the promise, so nothing is published: {broken}",
                broken=together.broken(),
            )
        cells, classes, _ = number_classes(frame.select(self.kept.cells.columns))
        return _Made(
            frame=frame,
            rows=rows,
            classes=classes,
            people=people,
            alone=alone,
            together=together,
            both=both,
            digests=digests,
            scores=self._scores(cells, classes),
        )

    def _scores(self, cells: pl.DataFrame, classes: NDArray[np.int64]) -> Scores:
        """Return what the new rows lose; those that wait count as lost."""
        loss = Coverage(cells, self.schema, self.kept.style, self.table).loss
        lost = loss[:, classes].sum(axis=1) + (self.table.height - len(classes))
        shares = np.round(lost / self.table.height, 6)
        names = self.schema.quasi_identifiers
        weights = [self.schema[name].weight for name in names]
        mean = round(float(np.average(shares, weights=weights)), 6)
        return Scores({"ncp": mean}, {"ncp": dict(zip(names, shares.tolist(), strict=True))})


def _dense(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.unique(numbers, return_inverse=True)[1].astype(np.int64)
