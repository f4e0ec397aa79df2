"""Re-derives every promise from the published table alone.

This is the second opinion on a release, so it shares no code with what made the release: it
reads nothing but the published cells, knows no closures, no groups of the run and no algorithm,
and judges by predicates of its own (`shoal.publish.predicates`). Promises reach it as data. Only
a model of a plug-in, for which it has no predicate, is judged by the model's own rule, and the
check says so.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, OptionError, RoleError, did_you_mean
from shoal.messages import Message, joined, plural
from shoal.publish.cells import check_names, columns_needed, listed
from shoal.table.frames import to_polars

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from shoal.publish.cells import SensitiveCells
    from shoal.publish.grid_check import GridPromise
    from shoal.publish.judgement import Judgement
    from shoal.publish.limited import Limited
    from shoal.publish.predicates import Histograms, Outcome, Predicate


# What a promise is, and what verification says about it.

OwnRule = Callable[["Histograms", str, bool], "Outcome"]
"""A plug-in's rule: of the counts of a column, its name and whether its values have an order."""


BESIDE = "the people of all releases"
"""By what a check over several releases is judged (`shoal.life.guarantee`)."""
POPULATION = "verification, with the population"
"""By what a check is judged that compares the published cells with the table of everybody."""
GROUP_SIZE = "group size"
"""What is promised by k where cells are shuffled within groups."""
OWN_RULE = "the model's own rule"
"""By what a check is judged for which verification has no predicate."""


@dataclass(frozen=True)
class Promise:
    """A promise about the sensitive values of every group, as data.

    Attributes:
        table: model and options, as in a job file; ``column`` names one column, else all count.
        promised: the promised number.
        at_least: whether the number is a lower bound (otherwise an upper bound).
        describe: gives the promise for a column in words.
        own_rule: judges where verification has no predicate for the model.
        trees: per column the tree that a distance goes along: of each leaf the labels on its way
            up to the root.
    """

    table: Mapping[str, Any]
    promised: float
    at_least: bool
    describe: Callable[[str], str]
    own_rule: OwnRule | None = None
    trees: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)


@dataclass(frozen=True)
class WholePromise:
    """A promise about a release as a whole, as data and a rule.

    Attributes:
        name: the promise, as ``"k-map"``.
        promised: the promised number.
        sentence: the promise in words.
        judge: of the published table, the group of each row and the people of each group it tells
            the number reached, whether that is enough, and which rows break the promise.
        judged_by: who judges: verification, or that with the population.
    """

    name: str
    promised: float
    sentence: str
    judge: Callable[..., tuple[float, bool, NDArray[np.bool_]]]
    judged_by: str = "verification"


@dataclass(frozen=True)
class Check:
    """One promise and what was found.

    Attributes:
        name: the promise, as ``"k-anonymity"`` or ``"l-diversity of 'diagnosis'"``.
        promised: the promised number.
        measured: the worst number of any group.
        holds: whether every group keeps the promise, as written and after cleaning.
        sentence: the same in plain words.
        judged_by: ``"verification"``; `OWN_RULE` for a model of a plug-in, for which verification
            has no predicate of its own; `POPULATION` and `BESIDE` where published cells are not
            enough to tell.
        is_share: whether the numbers are a share of the rows, to be shown as per cent.
    """

    name: str
    promised: float
    measured: float
    holds: bool
    sentence: str
    judged_by: str = "verification"
    is_share: bool = False

    def shown(self, number: float) -> str:
        """Return the promised or the measured number as people read it."""
        if not self.is_share:
            return Message("{n:,.6g}", n=number)
        # never rounded up to a promise that is not kept
        return "100 %" if number >= 1.0 else Message("{n:.2%}", n=min(number, 0.9999))


@dataclass(frozen=True)
class Verification:
    """What a published table keeps of what it promises; true if it keeps everything.

    Attributes:
        holds: whether every promise is kept.
        k: the promised group size.
        smallest_group: rows of the smallest group of equal quasi-identifiers.
        n_groups: number of groups.
        n_rows: number of published rows.
        highest_risk: chance to pick the right person of the smallest group, 1 / its people; where
            nobody has said whose rows they are, 1 / its rows, which is right only if every row
            is a different person. 1 where cells are shuffled: who is in the table is not hidden.
        violating_groups: groups that break at least one promise.
        violating_rows: rows in those groups.
        checks: each promise on its own, first k-anonymity, or the size of groups (`GROUP_SIZE`)
            where cells are shuffled, which is less.
        notes: where a reader and a person would disagree about which cells are equal: of the
            sensitive columns that promises are about, and of quasi-identifiers if k is broken;
            and what a file holds beside its table.
        read_from: what was checked: ``"the table in memory"`` or ``"what was written"``.
        fewest_people: different people in the group that has fewest; None if rows were counted.
        attacker: of whom alone the promises are about, in words, where somebody is meant who does
            not know all quasi-identifiers (`shoal.publish.limited`). A group is then a class of
            rows that look the same in one of the combinations that may be known; ``n_groups``
            counts the rows that differ in any column.
        certain: against such an attacker, by sensitive column, the most rows that lie in classes
            of one combination in which everybody has the same value.
        judgement: the headline of a table that was given to `shoal.verify`: ``"green"``,
            ``"amber"`` or ``"red"``, with ``.sentence`` and ``.open``, as of a release. None where
            a release has it (`Release.judgement`).
    """

    holds: bool
    k: int
    smallest_group: int
    n_groups: int
    n_rows: int
    highest_risk: float
    violating_groups: int
    violating_rows: int
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()
    read_from: str = Message("the table in memory")
    fewest_people: int | None = None
    attacker: str | None = None
    certain: Mapping[str, int] = field(default_factory=dict)
    judgement: Judgement | None = None

    def __bool__(self) -> bool:
        return self.holds

    @property
    def shuffled(self) -> bool:
        """Whether cells are exact and shuffled within groups, which is not k-anonymous."""
        return self.checks[0].name == GROUP_SIZE

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, ready for JSON."""
        return asdict(self) | {
            "checks": [asdict(check) for check in self.checks],
            "notes": list(self.notes),
            "judgement": None if self.judgement is None else self.judgement.to_dict(),
        }

    def broken(self) -> str:
        """Return what was found of the promises that are not kept."""
        return joined(" ", (check.sentence for check in self.checks if not check.holds))

    def how(self) -> str:
        """Return in a sentence or two what was checked, and by whom."""
        read_from = self.read_from
        text = [
            Message(
                "Checked on the published cells alone ({read_from}), by code that shares nothing "
                "with the search that made them.",
                read_from=read_from,
            )
            if self.fewest_people is None
            else Message(
                "Checked on the published cells with the ids of their people, which are not "
                "published ({read_from}), by code that shares nothing with the search that made "
                "them.",
                read_from=read_from,
            )
        ]
        for judge, how in (
            (OWN_RULE, Message("judged by the model's own rule.")),
            (
                POPULATION,
                Message("for these the cells are compared with the table of the population."),
            ),
            (
                BESIDE,
                Message("counted before writing, with the private files of the earlier releases."),
            ),
        ):
            names = [check.name for check in self.checks if check.judged_by == judge]
            if names:
                text.append(Message("Except {names}: {how}", names=", ".join(names), how=how))
        return joined(" ", text)

    def sentences(self) -> tuple[str, ...]:
        """Return one sentence per promise, and one about the rows that break any."""
        verdict = Message("Every promise holds.")
        if not self.holds:
            rows, groups = self.violating_rows, self.violating_groups
            verdict = Message(
                "{rows} in {groups} must not be published like this.",
                rows=plural("{n:,} row", "{n:,} rows", rows),
                groups=plural("{n:,} group", "{n:,} groups", groups),
            )
        return (*(check.sentence for check in self.checks), verdict)

    def _repr_html_(self) -> str:
        counted = [("Rows", f"{self.n_rows:,}"), ("Read from", self.read_from)]
        return html_of_checks(self.checks, counted, self.notes, holds=self.holds)


def html_of_checks(
    checks: Iterable[Check],
    counted: Iterable[tuple[str, object]],
    notes: Iterable[str] = (),
    *,
    holds: bool,
) -> str:
    """Return what a notebook shows of a verification."""
    from shoal.runtime.notebook import facts, lists, shown, table

    verdict = "every promise holds" if holds else "a promise is BROKEN"
    rows = (
        (each.name, each.shown(each.promised), "holds" if each.holds else "BROKEN")
        for each in checks
    )
    return shown(
        facts([("Verdict", verdict), *counted]),
        table(("promise", "promised", ""), rows),
        lists(notes),
    )


# The judge: of a table in memory, of a file and of many machines he is given counts, and no rows.


@dataclass(frozen=True, eq=False)
class Counts:
    """What was counted in the groups of a published table, or in some of them.

    Attributes:
        sizes: rows of each group.
        people: different people of each group; None where rows are what counts.
        values: gives, of the readings of sensitive columns, the counts of one by its number.
        broken: groups that are known to break a promise about the release as a whole, or a grid.
    """

    sizes: NDArray[np.int64]
    people: NDArray[np.int64] | None
    values: Callable[[int], Histograms]
    broken: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Rule:
    """How one reading of a column is judged by one promise.

    Attributes:
        promise: number of the promise about a column.
        reading: number of the reading.
        predicate: judges its counts.
        at_least: whether the promised number is a lower bound.
    """

    promise: int
    reading: int
    predicate: Predicate
    at_least: bool


@dataclass(frozen=True)
class Judged:
    """What the judge found in some groups; plain numbers.

    Attributes:
        n_groups: how many there are.
        n_rows: their rows.
        smallest: rows of the smallest.
        fewest: people of the one that has fewest; None where rows are what counts.
        holds: of each promise about a column, whether all groups keep it.
        worst: the worst number of any group, of each.
        broken_groups: how many break any promise.
        broken_rows: rows in those.
    """

    n_groups: int
    n_rows: int
    smallest: int
    fewest: int | None
    holds: Sequence[bool]
    worst: Sequence[float]
    broken_groups: int
    broken_rows: int


Subject = tuple[Promise, str]
"""A promise, and the column that it is about."""


def build_rules(
    promises: Sequence[Promise],
    sensitive: Sequence[str],
    columns: Mapping[str, tuple[pl.Series, SensitiveCells]],
    missing: frozenset[str],
    *,
    people: bool,
) -> tuple[list[Rule], list[Subject]]:
    """Return how promises are judged, and what each judgement is about.

    Readings are numbered column by column.

    Args:
        promises: the promises.
        sensitive: the sensitive columns.
        columns: those that promises are about: cells (all, or the different ones), and how they
            are read.
        missing: texts that stand for a missing value.
        people: whether people are counted, and not rows.

    Raises:
        OptionError: there is no rule, or the column is none for it.
    """
    first, number = {}, 0
    for name, (_, read) in columns.items():
        first[name] = number
        number += len(read.readings)
    rules: list[Rule] = []
    about: list[Subject] = []
    for promise in promises:
        for name in columns_of(promise, sensitive):
            found = _predicates(promise, *columns[name], missing, people=people)
            rules += [
                Rule(len(about), first[name] + place, rule, promise.at_least)
                for place, rule in enumerate(found)
            ]
            about.append((promise, name))
    return rules, about


def _predicates(
    promise: Promise,
    cells: pl.Series,
    column: SensitiveCells,
    missing: frozenset[str],
    *,
    people: bool,
) -> list[Predicate]:
    """Return the rules of a promise for the readings of a column, the one as written first."""
    from shoal.publish.predicates import looks_at_values, predicate_of, rule_by_value

    table, own = promise.table, promise.own_rule
    if own is not None:
        name, ordered = column.name, column.ordered  # and not its cells: rules go to workers
        return [lambda counted: own(counted, name, ordered)] * len(column.readings)
    if looks_at_values(table):
        # in a tree values that are one are no further apart than before: as written is stricter
        by_tree = table.get("distance") == "hierarchical" and not people
        readings = (column.written,) if by_tree else column.readings
        return [rule_by_value(table, promise.trees, cells, each, missing) for each in readings]
    rule = predicate_of(table)
    if rule is None:
        raise OptionError(
            "There is no rule to verify the promise {table!r} by.", table=table.get("model")
        )
    if table.get("distance") == "ordered" and not column.ordered:
        raise OptionError(
            "t-closeness with distance='ordered' needs numbers, dates or ordered categories, "
            "and column {name!r} holds none of them; use distance='equal', or name another "
            "column with column=...",
            name=column.name,
        )
    return [rule] * len(column.readings)


def judge_groups(
    counts: Counts, k: int, rules: Sequence[Rule], n_promises: int
) -> tuple[Judged, NDArray[np.bool_]]:
    """Judge groups by their counts; return what was found, and which of them break a promise.

    A promise about a column must hold in each of its readings; the worse one counts.
    """
    broken = counts.broken | ((counts.sizes if counts.people is None else counts.people) < k)
    holds = [True] * n_promises
    worst: list[float | None] = [None] * n_promises
    for rule in rules:
        outcome = rule.predicate(counts.values(rule.reading))
        broken = broken | ~outcome.holds
        holds[rule.promise] &= bool(outcome.holds.all())
        before = worst[rule.promise]
        worse = min if rule.at_least else max
        worst[rule.promise] = outcome.worst if before is None else worse(before, outcome.worst)
    found = Judged(
        n_groups=len(counts.sizes),
        n_rows=int(counts.sizes.sum()),
        smallest=int(counts.sizes.min()),
        fewest=None if counts.people is None else int(counts.people.min()),
        holds=holds,
        worst=[each for each in worst if each is not None],
        broken_groups=int(broken.sum()),
        broken_rows=int(counts.sizes[broken].sum()),
    )
    return found, broken


def verification_of(
    parts: Sequence[Judged],
    k: int,
    about: Sequence[Subject],
    *,
    more: Sequence[Check] = (),
    notes: Sequence[str] = (),
) -> Verification:
    """Return what was found in all parts of a published table together.

    Args:
        parts: what the judge found in each; they share no group.
        k: the promised size of the smallest group.
        about: what the promises about columns are about.
        more: what was found about the release as a whole, and about grids.
        notes: where a reader and a person would disagree.
    """
    smallest = min(each.smallest for each in parts)
    counted = [each.fewest for each in parts if each.fewest is not None]
    fewest = min(counted) if counted else None
    checks = [size_check(k, smallest) if fewest is None else people_check(k, fewest)]
    for number, (promise, name) in enumerate(about):
        worse = min if promise.at_least else max
        worst = worse(each.worst[number] for each in parts)
        kept = all(each.holds[number] for each in parts)
        checks.append(promise_check(promise, name, worst, kept=kept, people=fewest is not None))
    checks += more
    return Verification(
        holds=all(check.holds for check in checks),
        k=k,
        smallest_group=smallest,
        n_groups=sum(each.n_groups for each in parts),
        n_rows=sum(each.n_rows for each in parts),
        highest_risk=1 / (fewest or smallest),
        violating_groups=sum(each.broken_groups for each in parts),
        violating_rows=sum(each.broken_rows for each in parts),
        checks=tuple(checks),
        notes=tuple(notes),
        fewest_people=fewest,
    )


def verify_table(  # noqa: C901, PLR0913 - one named argument per promise
    frame: Any,
    *,
    k: int,
    quasi_identifiers: str | Iterable[str],
    sensitive: str | Iterable[str] = (),
    promises: Sequence[Promise] = (),
    missing_values: Iterable[str] = (),
    orders: Mapping[str, Sequence[str]] | None = None,
    spelled: bool = False,
    grids: Sequence[GridPromise] = (),
    people: NDArray[np.integer[Any]] | str | None = None,
    about_all: Sequence[WholePromise] = (),
    limited: Limited | None = None,
    shuffled: bool = False,
) -> Verification:
    """Check a published table against its promises.

    Rows belong to one group if nothing tells their quasi-identifier cells apart: two nulls are
    equal, NaN and null are not, nor are 0.0 and -0.0. A quasi-identifier published as bounds is
    given by its own name: ``age`` finds ``age_low`` and ``age_high`` if there is no column
    ``age``. A promise about sensitive values must hold for the values as written and for those
    that a person would tell apart (see `shoal.publish.cells`). Distances of t-closeness are
    measured against the published rows.

    Args:
        frame: the published table (pandas, polars or pyarrow).
        k: the promised size of the smallest group.
        quasi_identifiers: the columns that could single a person out.
        sensitive: the columns that the promises look at.
        promises: further promises.
        missing_values: texts that stand for a missing sensitive value, beside the usual ones.
        orders: values of sensitive text columns from low to high, where types do not say it.
        spelled: whether text is how the file spells numbers and dates, so that text columns may
            have their order.
        grids: columns whose intervals are said to end on lines.
        people: number of each row's person, or the column that says whose row it is. Groups are
            then counted in people, and so are sensitive values: each once for a person.
        about_all: promises about all groups together.
        limited: what an attacker may know, if that is not all quasi-identifiers.
        shuffled: whether the quasi-identifier is the group of a row, within which exact cells are
            shuffled; that is not called k-anonymity.

    Raises:
        OptionError: k is no whole number of at least 2, or a promise cannot be checked.
        RoleError: a column does not exist or is named twice.
        DataError: the table is empty or is no table.
    """
    import numpy as np

    from shoal.publish.cells import clean_missing, number_groups, pack_rows, read_cells
    from shoal.publish.grid_check import cells_off_grid
    from shoal.publish.predicates import count_people, count_values

    size = check_k(k)
    table = to_polars(frame)
    sensitive_names = listed(sensitive, "sensitive")
    keys = _keys(table.columns, listed(quasi_identifiers, "quasi_identifiers"), sensitive_names)
    if isinstance(people, str):
        check_names(keys, [*sensitive_names, people])
    if table.height == 0:
        raise DataError("The table has no rows, so there is nothing to verify.")
    person_of_row = _people_of(table, people)
    markers = clean_missing(tuple(listed(missing_values, "missing_values")))
    needed = {name for promise in promises for name in columns_of(promise, sensitive_names)}
    columns: dict[str, tuple[pl.Series, SensitiveCells]] = {}
    for name in sensitive_names:
        if name in needed:
            coded = [grid for grid in grids if grid.name == name]
            cells = _in_order(table.get_column(name), coded)
            order, find = (orders or {}).get(name), spelled or bool(coded)
            columns[name] = (
                cells,
                read_cells(cells, missing=markers, order=order, find_order=find),
            )
    rules, about = build_rules(
        promises, sensitive_names, columns, markers, people=person_of_row is not None
    )
    off_grid = [
        cells_off_grid(grid, table.select(columns_needed(table.columns, [grid.name])))
        for grid in grids
    ]

    if limited:
        judges = _Combinations(
            size, rules, about, [each for _, each in columns.values()], person_of_row
        )
        names = (listed(quasi_identifiers, "quasi_identifiers"), sensitive_names)
        return judges.of(limited, table, *names, [*zip(grids, off_grid, strict=True)])
    packed = pack_rows([table.get_column(name) for name in keys])
    groups = np.empty(0, np.int64)
    if promises or person_of_row is not None or about_all or any(each.any() for each in off_grid):
        groups, sizes = number_groups(packed)
    else:
        sizes = _sizes(packed)  # in no order, which is enough
    in_group = None if person_of_row is None else count_people(groups, person_of_row)
    many = sizes if in_group is None else in_group
    broken = np.zeros(len(sizes), np.bool_)
    more = []
    for whole in about_all:
        check, rows = _check_all_groups(whole, table, groups, many)
        more.append(check)
        broken |= np.bincount(groups, weights=rows, minlength=len(sizes)) > 0
    for grid, off in zip(grids, off_grid, strict=True):
        more.append(Check(grid.title, 1.0, *grid.verdict(off), is_share=True))
        if off.any():
            broken |= np.bincount(groups, weights=off, minlength=len(sizes)) > 0
    readings = [each for _, column in columns.values() for each in column.readings]
    counts = Counts(
        sizes,
        in_group,
        lambda number: count_values(
            groups, readings[number].codes, readings[number].size, person_of_row
        ),
        broken,
    )
    found, _ = judge_groups(counts, size, rules, len(about))
    notes = [note_on_readings(each) for _, each in columns.values() if len(each.readings) > 1]
    if int(many.min()) < size:
        notes += _notes_on_keys([table.get_column(name) for name in keys])
    verified = verification_of([found], size, about, more=more, notes=notes)
    return _of_shuffled(verified) if shuffled else verified


@dataclass(frozen=True, eq=False)
class _Combinations:
    """Judges the classes of every combination of columns that an attacker may know.

    Attributes:
        k: the promised size of the smallest class.
        rules: how promises are judged.
        about: what they are about.
        columns: the sensitive columns that they are about.
        person_of_row: number of each row's person; None where rows are counted.
    """

    k: int
    rules: Sequence[Rule]
    about: Sequence[Subject]
    columns: Sequence[SensitiveCells]
    person_of_row: NDArray[np.int64] | None

    def of(
        self,
        limited: Limited,
        table: pl.DataFrame,
        names: Sequence[str],
        sensitive: Sequence[str],
        off_grid: Sequence[tuple[GridPromise, NDArray[np.bool_]]],
    ) -> Verification:
        """Return what the combinations keep of the promises.

        Args:
            limited: what the attacker may know.
            table: the published table.
            names: the quasi-identifiers.
            sensitive: columns whose value may be known of everybody in a class.
            off_grid: where cells are not as a grid says.
        """
        import numpy as np

        from shoal.publish.cells import MISSING, number_groups, pack_rows, read_cells

        cells = {}
        for name in names:
            own = [table.get_column(each) for each in columns_needed(table.columns, [name])]
            cells[name] = number_groups(pack_rows(own))[0]
        values = {
            name: read_cells(table.get_column(name), missing=MISSING).cleaned.codes
            for name in sensitive
        }
        broken_rows = np.zeros(table.height, np.bool_)
        parts, certain = [], dict.fromkeys(values, 0)
        for one in limited.known(names):
            groups, sizes = _classes([cells[name] for name in one])
            found, broken = judge_groups(
                self._counts(groups, sizes), self.k, self.rules, len(self.about)
            )
            broken_rows |= broken[groups]
            parts.append(found)
            for name, codes in values.items():
                first = np.empty(len(sizes), codes.dtype)
                first[groups] = codes
                mixed = np.zeros(len(sizes), np.bool_)
                mixed[groups[codes != first[groups]]] = True
                certain[name] = max(certain[name], int(sizes[~mixed].sum()))
        more = []
        for grid, off in off_grid:
            more.append(Check(grid.title, 1.0, *grid.verdict(off), is_share=True))
            broken_rows |= off
        notes = [note_on_readings(each) for each in self.columns if len(each.readings) > 1]
        together = verification_of(parts, self.k, self.about, more=more, notes=notes)
        who = limited.who(len(names))
        return replace(
            together,
            n_rows=table.height,
            n_groups=len(_classes(list(cells.values()))[1]),
            violating_rows=int(broken_rows.sum()),
            checks=(_limited_check(self.k, together, who), *together.checks[1:]),
            attacker=who,
            certain=certain,
        )

    def _counts(self, groups: NDArray[np.int64], sizes: NDArray[np.int64]) -> Counts:
        import numpy as np

        from shoal.publish.predicates import count_people, count_values

        readings = [each for column in self.columns for each in column.readings]

        def values(number: int) -> Histograms:
            return count_values(
                groups, readings[number].codes, readings[number].size, self.person_of_row
            )

        people = None if self.person_of_row is None else count_people(groups, self.person_of_row)
        return Counts(sizes, people, values, np.zeros(len(sizes), np.bool_))


def _classes(
    columns: Sequence[NDArray[np.int64]],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the class of each row, of equal numbers in all of these columns, and its rows."""
    import numpy as np

    from shoal.publish.cells import number_groups

    packed = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        packed = packed * (int(column.max()) + 1) + column
        if packed.max() > _PACKED:
            packed = number_groups(packed)[0]
    if packed.max() >= _COUNTED:
        return number_groups(packed)
    rows = np.bincount(packed)
    there = rows > 0
    return (np.cumsum(there) - 1)[packed], rows[there]


_PACKED = 1 << 40
"""Combinations are numbered anew above it, so that no number grows too large."""
_COUNTED = 1 << 22
"""Below it rows are counted at the place of their number."""


def _limited_check(k: int, found: Verification, who: str) -> Check:
    """Return what was found about k in the combinations that an attacker may know."""
    counted, people = found.checks[0], found.fewest_people is not None
    verdict = Message("Holds") if counted.holds else Message("Broken")
    if people:
        sentence = Message(
            "{verdict}: against {who}, what can be known of a row fits rows of at least {k:,} "
            "different people.",
            verdict=verdict,
            who=who,
            k=k,
        )
    else:
        sentence = Message(
            "{verdict}: against {who}, every row shares what can be known of it with at least "
            "{others}; the smallest class of any combination has {rows}.",
            verdict=verdict,
            who=who,
            others=plural("{n:,} other", "{n:,} others", k - 1),
            rows=plural("{n:,} row", "{n:,} rows", found.smallest_group),
        )
    return replace(counted, name="k-anonymity of combinations", sentence=sentence)


def _in_order(cells: pl.Series, coded: Sequence[GridPromise]) -> pl.Series:
    """Return sensitive cells without the marks of a top or a bottom, which have no order."""
    for promise in coded:
        cells = promise.without_marks(cells)
    return cells


def _keys(columns: list[str], quasi_identifiers: list[str], sensitive: list[str]) -> list[str]:
    """Return the columns that groups are told apart by, after a look at all names."""
    if not quasi_identifiers:
        raise RoleError(
            "There is no quasi-identifier; name the columns that could single a person out, "
            "with quasi_identifiers=[...] (--qi on the command line)."
        )
    keys = columns_needed(columns, quasi_identifiers)
    columns_needed(columns, (), sensitive)
    check_names(keys, sensitive)
    return keys


def _people_of(
    table: pl.DataFrame, people: NDArray[np.integer[Any]] | str | None
) -> NDArray[np.int64] | None:
    """Return the number of each row's person, 0 … without a gap."""
    import numpy as np

    if isinstance(people, str):
        from shoal.publish.cells import MISSING, read_cells

        columns_needed(table.columns, (), [people])
        people = read_cells(table.get_column(people), missing=MISSING).cleaned.codes
    if people is None:
        return None
    if len(people) != table.height:
        raise DataError(
            "There are {n} numbers of people for {height} rows.", n=len(people), height=table.height
        )
    numbers: NDArray[np.int64] = np.unique(people, return_inverse=True)[1]
    return numbers.astype(np.int64)


def people_check(k: int, fewest: int) -> Check:
    """Return what was found about k where people are counted."""
    # how many people there are is not published, so no more is said than what was promised
    holds = Message("Holds: every group holds at least {k:,} different people.", k=k)
    broken = Message(
        "Broken: a group has {people} and not {k:,} different people.",
        people=plural("{n:,} person", "{n:,} persons", fewest),
        k=k,
    )
    return _k_check(k, fewest, holds if fewest >= k else broken)


def size_check(k: int, smallest: int) -> Check:
    """Return what was found about k where rows are counted."""
    sentence = Message(
        "{verdict}: every row shares its quasi-identifiers with at least {others}; the "
        "smallest group has {rows}.",
        verdict=Message("Holds") if smallest >= k else Message("Broken"),
        others=plural("{n:,} other", "{n:,} others", k - 1),
        rows=plural("{n:,} row", "{n:,} rows", smallest),
    )
    return _k_check(k, smallest, sentence)


def _k_check(k: int, smallest: int, sentence: Message) -> Check:
    return Check(
        name="k-anonymity",
        promised=k,
        measured=smallest,
        holds=smallest >= k,
        sentence=sentence,
    )


def _of_shuffled(found: Verification) -> Verification:
    """Return what was found of shuffled cells: how large groups are, and that this is less."""
    check, people = found.checks[0], found.fewest_people is not None
    smallest = check.promised if people and check.holds else check.measured
    sentence = Message(
        "{verdict}: exact cells are shuffled within groups of at least {k:,} {who}; the smallest "
        "has {n:,} or more. That is not k-anonymity.",
        verdict=Message("Holds") if check.holds else Message("Broken"),
        k=found.k,
        who=Message("people") if people else Message("rows"),
        n=int(smallest),
    )
    first = replace(check, name=GROUP_SIZE, sentence=sentence)
    return replace(found, checks=(first, *found.checks[1:]), highest_risk=1.0)


def in_people(words: str) -> str:
    """Return what a promise says where people are counted, and not rows."""
    if not isinstance(words, Message):  # a plug-in's
        return words.replace("of the rows", "of the people").replace("fewer rows", "fewer people")
    if "who" not in words.values:
        return words
    return Message(words.template, **{**words.values, "who": Message("people")})


def promise_check(promise: Promise, name: str, worst: float, *, kept: bool, people: bool) -> Check:
    """Return what was found about a promise on one column.

    Args:
        promise: the promise.
        name: of the column.
        worst: the worst number of any group.
        kept: whether all groups keep it.
        people: whether people are counted, and not rows.
    """
    words: str = promise.describe(name)
    if people:
        words = in_people(words)
    found = [
        Message(
            "promised {promised:.4g}, measured {measured:.4g}",
            promised=promise.promised,
            measured=worst,
        )
    ]
    if people:  # as above
        found = [Message("each value counted once for a person"), *([] if kept else found)]
    if promise.own_rule is not None:
        found.append(Message("judged by the model's own rule"))
    return Check(
        name=Message("{promise} of {column!r}", promise=promise.table.get("model"), column=name),
        promised=promise.promised,
        measured=worst,
        holds=kept,
        sentence=_verdict(words, found, kept=kept),
        judged_by="verification" if promise.own_rule is None else OWN_RULE,
    )


def _verdict(promise: str, found: Sequence[str], *, kept: bool) -> Message:
    words = promise if isinstance(promise, Message) else Message("{text}", text=Message(promise))
    details = joined("; ", found)
    if kept:
        return Message("Holds: {promise:clause}; {found}.", promise=words, found=details)
    return Message("Broken: {promise:clause}; {found}.", promise=words, found=details)


def _check_all_groups(
    promise: WholePromise,
    table: pl.DataFrame,
    groups: NDArray[np.int64],
    in_group: NDArray[np.int64],
) -> tuple[Check, NDArray[np.bool_]]:
    """Judge a promise about all groups together."""
    reached, kept, rows = promise.judge(table, groups, in_group)
    return whole_check(promise, reached, kept=bool(kept)), rows


def whole_check(promise: WholePromise, reached: float, *, kept: bool) -> Check:
    """Return what was found about a promise about all groups together."""
    found = Message(
        "promised {promised:.4g}, measured {measured:.4g}",
        promised=promise.promised,
        measured=reached,
    )
    return Check(
        name=promise.name,
        promised=promise.promised,
        measured=reached,
        holds=kept,
        sentence=_verdict(promise.sentence, [found], kept=kept),
        judged_by=promise.judged_by,
    )


def columns_of(promise: Promise, sensitive: Sequence[str]) -> list[str]:
    """Return the sensitive columns a promise is about: all, or the one it names."""
    model, wanted = promise.table.get("model"), promise.table.get("column")
    if not sensitive:
        raise OptionError(
            "The privacy model {model!r} looks at a sensitive column and none was given; name "
            "one with sensitive=[...] (--sensitive on the command line).",
            model=model,
        )
    chosen = [name for name in sensitive if wanted in (None, name)]
    if not chosen:
        hint = did_you_mean(str(wanted), sensitive) or Message(
            " Sensitive: {names}.", names=", ".join(sensitive)
        )
        raise OptionError(
            "The privacy model {model!r} names column {wanted!r}, which is not a sensitive "
            "column.{hint}",
            model=model,
            wanted=wanted,
            hint=hint,
        )
    return chosen


def _notes_on_keys(columns: list[pl.Series]) -> list[str]:
    """Say which quasi-identifiers have cells that differ only in how they are written."""
    from shoal.publish.cells import MISSING, read_cells

    notes: list[str] = []
    for column in columns:
        cells = read_cells(column, missing=MISSING)
        if len(cells.readings) > 1:
            notes.append(
                Message(
                    "Column {name!r} has {cells} as written, but only {cleaned:,} after cleaning; "
                    "rows that a reader can tell apart by them are not in one group.",
                    name=column.name,
                    cells=plural(
                        "{n:,} different cell", "{n:,} different cells", cells.written.size
                    ),
                    cleaned=cells.cleaned.size,
                )
            )
    return notes


def note_on_readings(column: SensitiveCells) -> str:
    """Say that values of a column differ only in how they are written."""
    written, cleaned = column.written.size, column.cleaned.size
    return Message(
        "Column {name!r} has {values} as written, but only {cleaned:,} after cleaning (white "
        "space, letter case, forms of one number, ways to say missing); every promise is judged "
        "for both. Clean the column to settle which is meant.",
        name=column.name,
        values=plural("{n:,} value", "{n:,} values", written),
        cleaned=cleaned,
    )


def _sizes(packed: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many rows each number has, in no order."""
    import numpy as np
    import polars as pl

    counted = pl.DataFrame({"packed": packed}).group_by("packed").len("rows")
    return counted.get_column("rows").to_numpy().astype(np.int64)


def check_k(k: object) -> int:
    """Return the promised size of the smallest group as a number, after a look at it."""
    try:
        size = 0 if isinstance(k, bool) else operator.index(k)  # type: ignore[arg-type]  # that is the test
    except TypeError:
        size = 0
    if size < 2:
        raise OptionError("k must be a whole number of at least 2, but {k!r} was given.", k=k)
    return size
