"""Re-derives every promise from the published table alone.

This is the second opinion on a release, so it shares no code with what made the release: it
reads nothing but the published cells, knows no closures, no groups of the run and no algorithm,
and judges by predicates of its own (`shoal.publish.predicates`). Promises reach it as data. Only
a model of a plug-in, for which it has no predicate, is judged by the model's own rule, and the
check says so.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, OptionError, RoleError, did_you_mean
from shoal.table.frames import to_polars

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from shoal.publish.cells import SensitiveCells
    from shoal.publish.lines import GridPromise
    from shoal.publish.predicates import Outcome

__all__ = ["Check", "OwnRule", "Promise", "Verification", "columns_needed", "verify_table"]

OwnRule = Callable[..., tuple["NDArray[np.bool_]", float]]
"""A plug-in's rule: of group and value of each row, numbers of groups and values, and the name
and order of the column it tells which groups hold and the worst number."""


@dataclass(frozen=True)
class Promise:
    """A promise about the sensitive values of every group, as data.

    Attributes:
        table: model and options, as in a job file; ``column`` names one column, else all count.
        promised: the promised number.
        at_least: whether the number is a lower bound (otherwise an upper bound).
        describe: gives the promise for a column in words.
        own_rule: judges where verification has no predicate for the model.
    """

    table: Mapping[str, Any]
    promised: float
    at_least: bool
    describe: Callable[[str], str]
    own_rule: OwnRule | None = None


@dataclass(frozen=True)
class Check:
    """One promise and what was found.

    Attributes:
        name: the promise, as ``"k-anonymity"`` or ``"l-diversity of 'diagnosis'"``.
        promised: the promised number.
        measured: the worst number of any group.
        holds: whether every group keeps the promise, as written and after cleaning.
        sentence: the same in plain words.
        judged_by: ``"verification"``, or ``"the model's own rule"`` for a model of a plug-in,
            for which verification has no predicate of its own.
    """

    name: str
    promised: float
    measured: float
    holds: bool
    sentence: str
    judged_by: str = "verification"


@dataclass(frozen=True)
class Verification:
    """What a published table keeps of what it promises; true if it keeps everything.

    Attributes:
        holds: whether every promise is kept.
        k: the promised group size.
        smallest_group: rows of the smallest group of equal quasi-identifiers.
        n_groups: number of groups.
        n_rows: number of published rows.
        highest_risk: chance to pick the right row of the smallest group, 1 / its size.
        violating_groups: groups that break at least one promise.
        violating_rows: rows in those groups.
        checks: each promise on its own, k-anonymity first.
        notes: where a reader and a person would disagree about which cells are equal: of the
            sensitive columns that promises are about, and of quasi-identifiers if k is broken.
        read_from: what was checked: ``"the table in memory"`` or ``"what was written"``.
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
    read_from: str = "the table in memory"

    def __bool__(self) -> bool:
        return self.holds

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, ready for JSON."""
        return asdict(self) | {
            "checks": [asdict(check) for check in self.checks],
            "notes": list(self.notes),
        }

    def how(self) -> str:
        """Return in a sentence or two what was checked, and by whom."""
        own = [check.name for check in self.checks if check.judged_by != "verification"]
        text = (
            f"Checked on the published cells alone ({self.read_from}), by code that shares nothing "
            "with the search that made them."
        )
        if not own:
            return text
        return f"{text} Except {', '.join(own)}: judged by the model's own rule."

    def sentences(self) -> tuple[str, ...]:
        """Return one sentence per promise, and one about the rows that break any."""
        verdict = "Every promise holds."
        if not self.holds:
            rows, groups = self.violating_rows, self.violating_groups
            verdict = (
                f"{_count(rows, 'row')} in {_count(groups, 'group')} must not be published like "
                "this."
            )
        return (*(check.sentence for check in self.checks), verdict)


def verify_table(
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
) -> Verification:
    """Check a published table against its promises.

    Rows belong to one group if nothing tells their quasi-identifier cells apart: two nulls are
    equal, NaN and null are not, nor are 0.0 and -0.0. A quasi-identifier published as bounds is
    given by its own name: ``age`` finds ``age_low`` and ``age_high`` if there is no column
    ``age``. A promise about sensitive values must hold for the values as written and for those
    that a person would tell apart (see `shoal.publish.cleaning`). Distances of t-closeness are
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

    Raises:
        OptionError: k is no whole number of at least 2, or a promise cannot be checked.
        RoleError: a column does not exist or is named twice.
        DataError: the table is empty or is no table.
    """
    import numpy as np

    from shoal.publish.cells import number_groups, pack_rows, read_cells
    from shoal.publish.cleaning import clean_missing
    from shoal.publish.lines import cells_off_grid

    size = _check_k(k)
    table = to_polars(frame)
    names = _listed(quasi_identifiers, "quasi_identifiers")
    sensitive_names = _listed(sensitive, "sensitive")
    if not names:
        raise RoleError(
            "There is no quasi-identifier; name the columns that could single a person out, "
            "with quasi_identifiers=[...] (--qi on the command line)."
        )
    keys = columns_needed(table.columns, names)
    columns_needed(table.columns, (), sensitive_names)
    _check_names(keys, sensitive_names)
    if table.height == 0:
        raise DataError("The table has no rows, so there is nothing to verify.")

    packed = pack_rows([table.get_column(name) for name in keys])
    looked_at = [_columns_of(promise, sensitive_names) for promise in promises]
    notes: list[str] = []
    if not promises:
        sizes = _sizes(packed)
        violated = sizes < size
    else:
        groups, sizes = number_groups(packed)
        violated = sizes < size
        markers = clean_missing(tuple(_listed(missing_values, "missing_values")))
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
        notes = [_note(column) for column in columns.values() if len(column.readings) > 1]
    smallest = int(sizes.min())
    if smallest < size:
        notes += _notes_on_keys([table.get_column(name) for name in keys])
    checks = [_check_group_size(size, smallest)]
    for promise, about in zip(promises, looked_at, strict=True):
        for name in about:
            check, holds = _check_promise(promise, columns[name], groups, len(sizes))
            checks.append(check)
            violated |= ~holds
    for grid in grids:
        off = cells_off_grid(grid, table.select(columns_needed(table.columns, [grid.name])))
        checks.append(Check(f"grid of {grid.name!r}", 1.0, *grid.verdict(off)))
        if off.any():
            groups, again = number_groups(packed)
            bad = np.bincount(groups, weights=off, minlength=len(again)) > 0
            # Without promises the sizes stand in no order, so what is too small is told anew.
            violated = bad | (violated if promises else again < size)
            sizes = again
    return Verification(
        holds=all(check.holds for check in checks),
        k=size,
        smallest_group=smallest,
        n_groups=len(sizes),
        n_rows=table.height,
        highest_risk=1 / smallest,
        violating_groups=int(violated.sum()),
        violating_rows=int(sizes[violated].sum()),
        checks=tuple(checks),
        notes=tuple(notes),
    )


def _check_group_size(k: int, smallest: int) -> Check:
    holds = smallest >= k
    return Check(
        name="k-anonymity",
        promised=k,
        measured=smallest,
        holds=holds,
        sentence=(
            f"{'Holds' if holds else 'Broken'}: every row shares its quasi-identifiers with at "
            f"least {_count(k - 1, 'other')}; the smallest group has {_count(smallest, 'row')}."
        ),
    )


def _check_promise(
    promise: Promise, column: SensitiveCells, groups: NDArray[np.int64], n_groups: int
) -> tuple[Check, NDArray[np.bool_]]:
    """Judge a promise about one column, under both readings; the worse one counts."""
    import numpy as np

    outcomes = _outcomes(promise, column, groups, n_groups)
    holds = np.logical_and.reduce([outcome.holds for outcome in outcomes])
    worst = (min if promise.at_least else max)(outcome.worst for outcome in outcomes)
    kept = bool(holds.all())
    words = promise.describe(column.name)
    own = "" if promise.own_rule is None else "; judged by the model's own rule"
    check = Check(
        name=f"{promise.table.get('model')} of {column.name!r}",
        promised=promise.promised,
        measured=worst,
        holds=kept,
        sentence=(
            f"{'Holds' if kept else 'Broken'}: {words[0].lower()}{words[1:].rstrip('.')}; "
            f"promised {promise.promised:.4g}, measured {worst:.4g}{own}."
        ),
        judged_by="verification" if promise.own_rule is None else "the model's own rule",
    )
    return check, holds


def _outcomes(
    promise: Promise, column: SensitiveCells, groups: NDArray[np.int64], n_groups: int
) -> list[Outcome]:
    from shoal.publish.predicates import Outcome, count_values, predicate_of

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
                )
            )
            for reading in column.readings
        ]
    rule = predicate_of(promise.table)
    if rule is None:
        raise OptionError(
            f"There is no rule to verify the promise {promise.table.get('model')!r} by."
        )
    if promise.table.get("distance") == "ordered" and not column.ordered:
        raise OptionError(
            "t-closeness with distance='ordered' needs numbers, dates or ordered categories, "
            f"and column {column.name!r} holds none of them; use distance='equal', or name "
            "another column with column=..."
        )
    return [rule(count_values(groups, reading.codes, reading.size)) for reading in column.readings]


def _columns_of(promise: Promise, sensitive: list[str]) -> list[str]:
    """Return the sensitive columns a promise is about: all, or the one it names."""
    model, wanted = promise.table.get("model"), promise.table.get("column")
    if not sensitive:
        raise OptionError(
            f"The privacy model {model!r} looks at a sensitive column and none was given; "
            "name one with sensitive=[...] (--sensitive on the command line)."
        )
    chosen = [name for name in sensitive if wanted in (None, name)]
    if not chosen:
        hint = did_you_mean(str(wanted), sensitive) or f" Sensitive: {', '.join(sensitive)}."
        raise OptionError(
            f"The privacy model {model!r} names column {wanted!r}, which is not a sensitive "
            f"column.{hint}"
        )
    return chosen


def _notes_on_keys(columns: list[pl.Series]) -> list[str]:
    """Say which quasi-identifiers have cells that differ only in how they are written."""
    from shoal.publish.cells import read_cells
    from shoal.publish.cleaning import MISSING

    notes = []
    for column in columns:
        cells = read_cells(column, missing=MISSING)
        if len(cells.readings) > 1:
            notes.append(
                f"Column {column.name!r} has {_count(cells.written.size, 'different cell')} as "
                f"written, but only {cells.cleaned.size:,} after cleaning; rows that a reader can "
                "tell apart by them are not in one group."
            )
    return notes


def _note(column: SensitiveCells) -> str:
    written, cleaned = column.written.size, column.cleaned.size
    return (
        f"Column {column.name!r} has {_count(written, 'value')} as written, but only "
        f"{cleaned:,} after cleaning (white space, letter case, forms of one number, ways to say "
        "missing); every promise is judged for both. Clean the column to settle which is meant."
    )


def _sizes(packed: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many rows each number has, in no order."""
    import numpy as np
    import polars as pl

    counted = pl.DataFrame({"packed": packed}).group_by("packed").len("rows")
    return counted.get_column("rows").to_numpy().astype(np.int64)


def columns_needed(
    columns: Sequence[str], quasi_identifiers: Iterable[str], sensitive: Iterable[str] = ()
) -> list[str]:
    """Return the columns of quasi-identifiers (each itself, or its two bounds) and of the others.

    Raises:
        RoleError: one of them does not exist.
    """
    found = []
    for name in quasi_identifiers:
        bounds = [f"{name}_low", f"{name}_high"]
        if name in columns:
            found.append(name)
        elif all(bound in columns for bound in bounds):
            found.extend(bounds)
        else:
            raise _unknown(columns, name, "quasi-identifier")
    for name in sensitive:
        if name not in columns:
            raise _unknown(columns, name, "sensitive")
        found.append(name)
    return found


def _check_names(keys: list[str], sensitive: list[str]) -> None:
    for names in (keys, sensitive):
        for number, name in enumerate(names):
            if name in names[:number]:
                raise RoleError(f"Column {name!r} is named twice; name it once.")
    for name in sensitive:
        if name in keys:
            raise RoleError(
                f"Column {name!r} is given two roles, quasi-identifier and sensitive; keep one."
            )


def _unknown(known: Sequence[str], name: str, role: str) -> RoleError:
    hint = did_you_mean(name, known) or f" It has {', '.join(map(repr, known[:20]))}."
    return RoleError(f"There is no column {name!r} (given as {role}) in the table.{hint}")


def _listed(names: str | Iterable[str], option: str) -> list[str]:
    listed = [names] if isinstance(names, str) else list(names)
    if not all(isinstance(name, str) for name in listed):
        raise RoleError(f"{option} must be a list of column names as text.")
    return listed


def _check_k(k: object) -> int:
    try:
        size = 0 if isinstance(k, bool) else operator.index(k)  # type: ignore[arg-type]  # that is the test
    except TypeError:
        size = 0
    if size < 2:
        raise OptionError(f"k must be a whole number of at least 2, but {k!r} was given.")
    return size


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
