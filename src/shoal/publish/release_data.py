"""What is known about a release: the published table, and how it was made."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Self, TypedDict, TypeVar

import numpy as np

from shoal.errors import PromiseError
from shoal.hierarchy import canonical_label
from shoal.messages import Message
from shoal.publish.judgement import Counted, Doubt, Judgement, OpenPoint, judge, point_of_attacker
from shoal.table.schema import Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import polars as pl
    from numpy.typing import NDArray
    from typing_extensions import TypeVar as TypeVarWithDefault

    from shoal.measure.scores import Scores
    from shoal.privacy import PrivacyModel
    from shoal.publish.aggregates import Facts, Stratum
    from shoal.publish.grid_check import GridPromise
    from shoal.publish.reader_view import ReaderView
    from shoal.publish.recode import Style
    from shoal.publish.verify import Verification
    from shoal.publish.verify_tables import TablesVerification, TableTerms
    from shoal.table.schema import Schema

    FrameT = TypeVarWithDefault("FrameT", default=Any)
else:  # type checkers know a variable with a default before Python 3.13 does
    FrameT = TypeVar("FrameT")


@dataclass(frozen=True, eq=False)
class ReleaseData(Generic[FrameT]):
    """What is known about a verified release; what can be done with it is `shoal.Release`.

    Attributes:
        frame: the published table, of the type that came in.
        groups: group of each *input* row, −1 if suppressed. Private: never publish it.
        scores: what was lost, by measure; ``scores.by_column`` breaks it down. Exact scores over
            the original can give rows away that were left out: hand `public_scores` on instead.
        verification: the promises, checked again from the published table alone.
        k: the promised size of the smallest group.
        n_rows: rows of the input.
        n_suppressed: rows of the input that are not published.
        parameters: everything that was asked for, never the seed.
        schema: roles and kinds of the columns.
        facts: aggregates for the report, told in published labels only.
        warnings: what the user should know although the run went on; from Python they are also
            issued as `ShoalWarning`.
        seconds: how long the run took.
        bound: a loss that no release can be below, in the measure that was minimised; None unless
            asked for with ``bound=True``.
        privacy: what was promised beyond k.
        grids: which columns promise to end on lines, as verification takes it.
        people: a number for the person of each *published* row where people were counted, else
            None. Private: never publish it.
        style: how generalised cells are written.
        asked: roles and kinds as they were said, without what grew from the rows.
        ids: whose each published row is, where `person` says it. Private: never publish it.
        key: under which people are kept. Private: never publish it.
        mark: random; tells it from any other release of the same people. Private.
        beside: marks of the earlier releases that it was made beside. Private.
        recoded: by column, the node of each group where whole columns are generalised alike.
    """

    frame: FrameT
    groups: NDArray[np.int64]
    scores: Scores
    verification: Verification
    k: int
    n_rows: int
    n_suppressed: int
    parameters: dict[str, Any]
    schema: Schema
    facts: Facts
    warnings: tuple[str, ...]
    seconds: float
    bound: float | None = None
    privacy: tuple[PrivacyModel, ...] = ()
    grids: tuple[GridPromise, ...] = ()
    people: NDArray[np.int64] | None = None
    style: Style | None = None
    asked: Schema | None = None
    ids: pl.Series | None = None
    key: bytes | None = None
    mark: str = ""
    beside: tuple[str, ...] = ()
    recoded: Mapping[str, NDArray[np.int32]] = field(default_factory=dict)

    @property
    def n_groups(self) -> int:
        """How many groups a reader of the release can tell apart: the one count of groups.

        Two groups of the search that publish the same cells are one to every reader, so ``groups``
        may hold more labels than this.
        """
        return self.verification.n_groups

    @property
    def n_published(self) -> int:
        """Rows of the published table."""
        return self.n_rows - self.n_suppressed

    @property
    def whose(self) -> str:
        """Where rows were counted, whether each is a different person.

        ``"declared"``, ``"assumed"``, or ``"doubtful"`` if ids or rows repeat.
        """
        doubts = (each for each in self.warnings if isinstance(each, Doubt))
        if any(each.point.what == "several rows" for each in doubts):
            return "doubtful"
        return "declared" if self.parameters.get("rows_are_people") else "assumed"

    @property
    def counts_people(self) -> bool:
        """Whether the promises count people, and not rows."""
        return self.verification.fewest_people is not None

    @cached_property
    def reader_view(self) -> ReaderView:
        """What a reader of the published table sees, counted once."""
        from shoal.publish.reader_view import view_in_table
        from shoal.table.frames import to_polars

        return view_in_table(to_polars(self.frame), self.schema, self.people)

    @property
    def judgement(self) -> Judgement:
        """``"green"``, ``"amber"`` or ``"red"``, with ``.sentence`` and ``.open``.

        Green: every promise holds, no sensitive value is known for more than one per cent of the
        rows, the columns that are published as they are together single out less than five per
        cent, and nothing else was found. Amber: every promise holds and something is open, which
        ``open`` names with its number. Red: a promise is broken.
        """
        view, people, who = self.reader_view, self.counts_people, self.verification.attacker
        known = {facts.name: facts.certain_rows for facts in view.sensitive}
        counted = Counted(
            n_rows=self.n_published,
            known=known if who is None else self.verification.certain,
            exact=self.schema.exact,
            alone=view.alone,
            who="rows" if people or self.whose == "doubtful" else "people",
            with_ids=people,
        )
        broken = [check.name for check in self.verification.checks if not check.holds]
        about_attacker = () if who is None else (point_of_attacker(self.k, who),)
        return judge(broken, counted, self.warnings, about_attacker)

    @property
    def gap(self) -> float | None:
        """How many times the best possible loss this release has at most: loss ÷ bound.

        None without a bound, infinite where the bound is 0 and the loss is not.
        """
        if self.bound is None:
            return None
        from shoal.search.bound import gap_of

        return gap_of(self.scores[str(self.parameters["measure"])], self.bound)

    @property
    def strata(self) -> tuple[Stratum, ...]:
        """Rows, groups and loss of each value of the column that groups lie within, if any."""
        return self.facts.strata

    @property
    def kept_loss(self) -> float:
        """What the published rows lose, as ``ncp``; rows that were left out do not count."""
        lost = self.scores["ncp"] * self.n_rows - self.n_suppressed
        return max(lost / max(self.n_published, 1), 0.0)

    @property
    def public_scores(self) -> Scores:
        """What was lost, as far as the published table tells it; this may be handed on.

        ``scores`` compares with the original and belongs to the holder of the data.
        """
        return self.facts.scores

    def cells_of(self, name: str) -> pl.DataFrame:
        """Return the published cells of a quasi-identifier: of its column, or of both bounds."""
        from shoal.publish.cells import columns_needed
        from shoal.table.frames import to_polars

        table = to_polars(self.frame)
        return table.select(columns_needed(table.columns, [name]))


ReleaseT = TypeVar("ReleaseT", bound=ReleaseData)


class HowWritten(TypedDict, total=False):
    """How a table is written, as `Release.write` takes it."""

    format: str | None
    delimiter: str | None
    if_exists: str
    escape_formulas: bool


@dataclass(frozen=True, eq=False)
class Staged(Generic[ReleaseT]):
    """A release that waits for its group of files to appear.

    Attributes:
        release: the release, with the verification of what was written.
        path: the temporary file, None for a table of a database.
    """

    release: ReleaseT
    path: Path | None

    @classmethod
    def of(cls, release: ReleaseT, found: Verification, path: Path | None) -> Self:
        """Return a release with the verification of what was written.

        Raises:
            PromiseError: there is a warning about what was written, and the run is strict.
        """
        if found.notes and release.parameters.get("strict"):
            raise PromiseError(
                "What was written would come with a warning, so with strict it is not published: "
                "{notes}",
                notes=found.notes[0],
            )
        old = release.verification.notes
        warnings = [each for each in release.warnings if each not in old]
        warnings.extend(each for each in found.notes if each not in warnings)
        return cls(replace(release, verification=found, warnings=tuple(warnings)), path)


def refuse_other_rows(n_written: int, n_rows: int) -> None:
    """Raise a PromiseError if there are not as many rows in what was written as in the release."""
    if n_written != n_rows:
        raise PromiseError(
            "What was written has {n_written:,} rows and the release {n_rows:,}, so it is not "
            "published; this format does not hold the table.",
            n_written=n_written,
            n_rows=n_rows,
        )


def refuse_broken(found: Verification) -> None:
    """Raise a PromiseError if what was written does not keep the promises."""
    if not found.holds:
        raise PromiseError(
            "What was written does not keep the promise, although the table before does, so it is "
            "not published: {broken}",
            broken=found.broken(),
        )


# Whose rows are published: known to the run, which counts people, and to nobody else.


class PublishedTable(NamedTuple):
    """A published table, and whose its rows are where people are counted.

    Attributes:
        frame: the table.
        people: number of each row's person.
        ids: id of each row's person, as the input has it; private.
    """

    frame: pl.DataFrame
    people: NDArray[np.int64] | None
    ids: pl.Series | None = None


def doubt_of_pseudonyms() -> Doubt:
    """Return what a user must know who publishes whose rows belong together."""
    short = Message(
        "Pseudonyms are published: k holds for each row alone, and fewer people than k may fit all "
        "rows of a person."
    )
    return Doubt(
        Message(
            "Pseudonyms are published: whoever reads the release can put the rows of one person "
            "together. k holds for the combination of each row alone; the few people who fit all "
            "rows of a person may be fewer than k."
        ),
        OpenPoint("pseudonyms", short),
    )


def doubt_of_kept_pseudonyms() -> Doubt:
    """Return what a user must know whose pseudonyms are the same in several files."""
    sentence = Message(
        "The pseudonyms are the same in every file that is made with this key: rows of one person "
        "can be put together across these files, and k holds in none of them for what they tell "
        "together."
    )
    return Doubt(sentence, OpenPoint("kept pseudonyms", sentence))


def doubts_of_pseudonyms(*, kept: bool) -> list[Doubt]:
    """Return what a user must know who publishes pseudonyms.

    Args:
        kept: whether they are made with a key that the holder keeps.
    """
    return [doubt_of_pseudonyms(), *([doubt_of_kept_pseudonyms()] if kept else [])]


def number_people(
    schema: Schema, person: NDArray[np.int32] | None, rows: NDArray[np.int64]
) -> NDArray[np.int64] | None:
    """Return a number for the person of each published row; None if rows are what counts.

    Args:
        schema: what the columns are.
        person: code of each input row's person; None if every row is one of its own.
        rows: the input row of each published row.
    """
    if schema.person is None:
        return None
    if person is None:
        return np.arange(len(rows), dtype=np.int64)
    # numbered as the published rows have them: neither the ids nor their order are left
    _, first, number = np.unique(person[rows], return_index=True, return_inverse=True)
    place = np.empty(len(first), np.int64)
    place[np.argsort(first)] = np.arange(len(first))
    return place[number]


def stands_as_made(made: pl.DataFrame, read: pl.DataFrame) -> bool:
    """Return whether a table that was read back stands in the order in which it was made.

    Rows of one group that were made are then rows of one group that was read. Cells may be of
    other types in a file; but if rows had changed places, groups would be torn.
    """
    from shoal.publish.cells import number_groups, pack_rows

    before, after = (number_groups(pack_rows(frame.get_columns()))[0] for frame in (made, read))
    n_after = int(after.max(initial=0)) + 1
    return len(np.unique(before * n_after + after)) == len(np.unique(before))


# Several tables that hang together.

OneT = TypeVar("OneT", bound="ReleaseData[Any]")


@dataclass(frozen=True, eq=False)
class TablesData(Generic[OneT]):
    """Several published tables that hang together, verified.

    Attributes:
        releases: the release of each table, by its name, and of each column of sets of codes as
            ``table.column``, with one row for each code.
        verification: what the tables keep together, found again from the published tables alone.
        terms: what that was told of the tables, the one about people first.
        warnings: what the user should know.
    """

    releases: Mapping[str, OneT]
    verification: TablesVerification
    terms: tuple[TableTerms, ...]
    warnings: tuple[str, ...]

    @property
    def k(self) -> int:
        """How many people an attacker is left with."""
        return self.verification.k

    @property
    def knows_events(self) -> int:
        """How many events the attacker knows."""
        return self.verification.knows_events

    @property
    def frames(self) -> dict[str, Any]:
        """The published tables, of the type that came in."""
        return {each.name: self.releases[each.name].frame for each in self.terms}

    @property
    def scores(self) -> dict[str, Scores]:
        """What was lost, by table; rows that are left out count as lost."""
        return {name: each.scores for name, each in self.releases.items()}

    @property
    def left_out(self) -> dict[str, int]:
        """How many rows of each table are not published."""
        return {name: each.n_suppressed for name, each in self.releases.items()}

    @property
    def attacker(self) -> Message:
        """Against whom the release protects, in one sentence."""
        return attacker_of(self.terms[0].name, self.knows_events, self.k)


def attacker_of(main: str, knows_events: int, k: int) -> Message:
    """Return against whom a release of several tables protects, in one sentence."""
    return Message(
        "Whoever knows somebody's quasi-identifiers in table {main!r} and at most {m} of the "
        "person's events finds at least {k:,} people.",
        main=main,
        m=knows_events,
        k=k,
    )


# The dictionary of published labels: which values of a listed hierarchy each one stands for.
#
# A label such as ``{baker … nurse}`` is short for a set, and whoever receives the release cannot
# look into the hierarchy, which stays: it lists values of rows that are not published, too. So the
# dictionary has the labels that the release shows, each with its values of published rows.


def dictionary_of(release: ReleaseData, groups: Any, frame: pl.DataFrame) -> str:
    """Return the dictionary of a release as CSV; "" if no label needs one.

    What a rule makes of values is told by its labels, so those of listed hierarchies are in it.

    Args:
        release: what was published.
        groups: the group of each row of the table; those below 0 are not published.
        frame: the table.
    """
    if frame.height != len(groups):
        return ""
    numbers, lines = groups.tolist(), []
    for column in release.schema.columns:
        tree = column.hierarchy
        if column.role is not Role.QUASI_IDENTIFIER or tree is None or column.rule is not None:
            continue
        paths = {path[0]: path[1:] for path in tree.to_paths()}
        shown = {str(cell) for row in release.cells_of(column.name).iter_rows() for cell in row}
        rows = [
            None if value is None else canonical_label(value)
            for value in frame.get_column(column.name).to_list()
        ]
        lines += [(column.name, *each) for each in sorted(label_rows(paths, rows, numbers, shown))]
    if not lines:
        return ""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([("column", "label", "value"), *lines])
    return text.getvalue()


def label_rows(
    paths: Mapping[str, Sequence[str]],
    rows: Iterable[str | None],
    groups: Iterable[int],
    shown: set[str],
) -> Iterator[tuple[str, str]]:
    """Yield every published label with each value of a published row that it stands for.

    Args:
        paths: of each value, from the label above it to the top, which stands for anything.
        rows: the value of each row.
        groups: the group of each row; those below 0 are not published.
        shown: what the published cells show.
    """
    present = {value for value, group in zip(rows, groups, strict=True) if group >= 0}
    for value in present:
        above = () if value is None else paths.get(value, ())[:-1]
        yield from ((label, value) for label in dict.fromkeys(above) if label in shown and value)
