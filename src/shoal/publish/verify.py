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
from dataclasses import asdict, dataclass, field
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
    from shoal.publish.predicates import Outcome


# What a promise is, and what verification says about it.

OwnRule = Callable[..., tuple["NDArray[np.bool_]", float]]
"""A plug-in's rule: of group, value and person of each row, numbers of groups and values, and the
name and order of the column it tells which groups hold and the worst number."""


BESIDE = "the people of all releases"
"""By what a check over several releases is judged (`shoal.life.guarantee`)."""
POPULATION = "verification, with the population"
"""By what a check is judged that compares the published cells with the table of everybody."""
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
            return f"{number:,.6g}"
        # never rounded up to a promise that is not kept
        return "100 %" if number >= 1.0 else f"{min(number, 0.9999):.2%}"


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
            is a different person.
        violating_groups: groups that break at least one promise.
        violating_rows: rows in those groups.
        checks: each promise on its own, k-anonymity first.
        notes: where a reader and a person would disagree about which cells are equal: of the
            sensitive columns that promises are about, and of quasi-identifiers if k is broken;
            and what a file holds beside its table.
        read_from: what was checked: ``"the table in memory"`` or ``"what was written"``.
        fewest_people: different people in the group that has fewest; None if rows were counted.
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
    judgement: Judgement | None = None

    def __bool__(self) -> bool:
        return self.holds

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


def verify_table(  # noqa: C901, PLR0913, PLR0915 - one named argument and one step per promise
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

    Raises:
        OptionError: k is no whole number of at least 2, or a promise cannot be checked.
        RoleError: a column does not exist or is named twice.
        DataError: the table is empty or is no table.
    """
    import numpy as np

    from shoal.publish.cells import clean_missing, number_groups, pack_rows, read_cells
    from shoal.publish.grid_check import cells_off_grid
    from shoal.publish.predicates import count_people

    size = check_k(k)
    table = to_polars(frame)
    sensitive_names = listed(sensitive, "sensitive")
    keys = _keys(table.columns, listed(quasi_identifiers, "quasi_identifiers"), sensitive_names)
    if isinstance(people, str):
        check_names(keys, [*sensitive_names, people])
    if table.height == 0:
        raise DataError("The table has no rows, so there is nothing to verify.")
    whose = _people_of(table, people)

    packed = pack_rows([table.get_column(name) for name in keys])
    looked_at = [columns_of(promise, sensitive_names) for promise in promises]
    notes: list[str] = []
    if not promises and whose is None and not about_all:
        sizes = _sizes(packed)
        violated = sizes < size
    else:
        groups, sizes = number_groups(packed)
        violated = sizes < size
        markers = clean_missing(tuple(listed(missing_values, "missing_values")))
        needed = {name for names in looked_at for name in names}
        columns = {
            name: read_cells(
                table.get_column(name),
                missing=markers,
                order=(orders or {}).get(name),
                find_order=spelled,
            )
            for name in sensitive_names
            if name in needed
        }
        notes = [
            note_on_readings(column) for column in columns.values() if len(column.readings) > 1
        ]
    smallest, fewest = int(sizes.min()), None
    if whose is None:
        checks = [size_check(size, smallest)]
    else:
        in_group = count_people(groups, whose)
        fewest = int(in_group.min())
        violated = in_group < size
        checks = [people_check(size, fewest)]
    if violated.any():
        notes += _notes_on_keys([table.get_column(name) for name in keys])
    for promise, about in zip(promises, looked_at, strict=True):
        for name in about:
            outcomes = _outcomes(
                promise, columns[name], table.get_column(name), markers, groups, len(sizes), whose
            )
            check, holds = _check_promise(promise, name, outcomes, people=whose is not None)
            checks.append(check)
            violated |= ~holds
    for whole in about_all:
        check, rows = _check_whole(whole, table, groups, sizes if whose is None else in_group)
        checks.append(check)
        violated |= np.bincount(groups, weights=rows, minlength=len(sizes)) > 0
    for grid in grids:
        off = cells_off_grid(grid, table.select(columns_needed(table.columns, [grid.name])))
        checks.append(Check(f"grid of {grid.name!r}", 1.0, *grid.verdict(off), is_share=True))
        if off.any():
            groups, again = number_groups(packed)
            bad = np.bincount(groups, weights=off, minlength=len(again)) > 0
            # Without promises the sizes stand in no order, so what is too small is told anew.
            ordered = promises or whose is not None or about_all
            violated = bad | (violated if ordered else again < size)
            sizes = again
    return Verification(
        holds=all(check.holds for check in checks),
        k=size,
        smallest_group=smallest,
        n_groups=len(sizes),
        n_rows=table.height,
        highest_risk=1 / (fewest or smallest),
        violating_groups=int(violated.sum()),
        violating_rows=int(sizes[violated].sum()),
        checks=tuple(checks),
        notes=tuple(notes),
        fewest_people=fewest,
    )


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
    holds = fewest >= k
    return Check(
        name="k-anonymity",
        promised=k,
        measured=fewest,
        holds=holds,
        # how many people there are is not published, so no more is said than what was promised
        sentence=Message("Holds: every group holds at least {k:,} different people.", k=k)
        if holds
        else Message(
            "Broken: a group has {people} and not {k:,} different people.",
            people=plural("{n:,} person", "{n:,} persons", fewest),
            k=k,
        ),
    )


def size_check(k: int, smallest: int) -> Check:
    """Return what was found about k where rows are counted."""
    holds = smallest >= k
    return Check(
        name="k-anonymity",
        promised=k,
        measured=smallest,
        holds=holds,
        sentence=Message(
            "{verdict}: every row shares its quasi-identifiers with at least {others}; the "
            "smallest group has {rows}.",
            verdict=Message("Holds") if holds else Message("Broken"),
            others=plural("{n:,} other", "{n:,} others", k - 1),
            rows=plural("{n:,} row", "{n:,} rows", smallest),
        ),
    )


def _check_promise(
    promise: Promise, column: str, outcomes: list[Outcome], *, people: bool
) -> tuple[Check, NDArray[np.bool_]]:
    """Judge a promise about one column, under both readings; the worse one counts."""
    import numpy as np

    holds = np.logical_and.reduce([outcome.holds for outcome in outcomes])
    worst = (min if promise.at_least else max)(outcome.worst for outcome in outcomes)
    kept = bool(holds.all())
    return promise_check(promise, column, worst, kept=kept, people=people), holds


def in_people(words: str) -> str:
    """Return what a promise says where people are counted, and not rows."""
    if not isinstance(words, Message) or "who" not in words.values:
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
        name=f"{promise.table.get('model')} of {name!r}",
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


def _check_whole(
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


def _outcomes(
    promise: Promise,
    column: SensitiveCells,
    cells: pl.Series,
    missing: frozenset[str],
    groups: NDArray[np.int64],
    n_groups: int,
    people: NDArray[np.int64] | None,
) -> list[Outcome]:
    from shoal.publish.predicates import (
        Outcome,
        count_values,
        looks_at_values,
        predicate_of,
        rule_by_value,
    )

    if promise.own_rule is not None:
        return [
            Outcome(
                *promise.own_rule(
                    groups=groups,
                    n_groups=n_groups,
                    codes=reading.codes,
                    n_codes=reading.size,
                    name=column.name,
                    ordered=column.ordered,
                    people=people,
                )
            )
            for reading in column.readings
        ]
    if looks_at_values(promise.table):
        # in a tree values that are one are no further apart than before: as written is stricter
        by_tree = promise.table.get("distance") == "hierarchical" and people is None
        return [
            rule_by_value(promise.table, promise.trees, cells, reading, missing)(
                count_values(groups, reading.codes, reading.size, people)
            )
            for reading in ((column.written,) if by_tree else column.readings)
        ]
    rule = predicate_of(promise.table)
    if rule is None:
        raise OptionError(
            "There is no rule to verify the promise {table!r} by.", table=promise.table.get("model")
        )
    if promise.table.get("distance") == "ordered" and not column.ordered:
        raise OptionError(
            "t-closeness with distance='ordered' needs numbers, dates or ordered categories, "
            "and column {name!r} holds none of them; use distance='equal', or name another "
            "column with column=...",
            name=column.name,
        )
    return [
        rule(count_values(groups, reading.codes, reading.size, people))
        for reading in column.readings
    ]


def columns_of(promise: Promise, sensitive: list[str]) -> list[str]:
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
        hint = did_you_mean(str(wanted), sensitive) or f" Sensitive: {', '.join(sensitive)}."
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
