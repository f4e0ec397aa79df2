"""What each column of a table is: its role, its kind, its hierarchy and its weight.

Nothing defaults to published: a column that is given no role is an error, because a forgotten
column is how a name or a diagnosis slips into a release.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from shoal.errors import OptionError, RoleError, did_you_mean
from shoal.messages import Message, plural
from shoal.options import ColumnOption, column_option, detail_flag, in_words, rows_of

if TYPE_CHECKING:
    import polars as pl

    from shoal.hierarchy import Taxonomy
    from shoal.hierarchy.rules import HierarchyRule
    from shoal.table.coding import End
    from shoal.table.grid import Grid


# The words for what a column is: its role on the way to the release, and its kind.


class Role(StrEnum):
    """What happens to a column on the way to the release.

    Attributes:
        option: the option of ``shoal.anonymize`` that lists the columns of this role.
    """

    option: str

    def __new__(cls, value: str, option: str = "") -> Self:
        """Make a role from its name and the name of its option."""
        role = str.__new__(cls, value)
        role._value_ = value
        role.option = option
        return role

    IDENTIFIER = "identifier", "identifiers"
    """Names a person; removed from the release."""
    QUASI_IDENTIFIER = "quasi-identifier", "quasi_identifiers"
    """Could single a person out together with others; generalised."""
    SENSITIVE = "sensitive", "sensitive"
    """Kept as it is; privacy models look at it."""
    INSENSITIVE = "insensitive", "insensitive"
    """Kept as it is; no model looks at it."""
    DROP = "drop", "drop"
    """Removed from the release although it identifies nobody."""
    PERSON = "person", "person"
    """Says whose row it is, where a person may have several; removed, or made a pseudonym."""


Algebra = Literal["interval", "tree", "set"]
"""How the values of a group join (`shoal.table.closure`)."""


class Kind(StrEnum):
    """How the values of a quasi-identifier are generalised.

    Attributes:
        algebra: how the values of a group join.
        needs: the data that its values must be, in words; None if any will do.
        is_measured: whether values lie on a line of numbers or time, where shares of a range,
            grids of lines and scales mean something.
        is_time: whether that line is of time.
        has_mean: whether means and medians are published where they are asked for.
    """

    algebra: Algebra
    needs: str | None
    is_measured: bool
    is_time: bool
    has_mean: bool

    def __new__(
        cls,
        value: str,
        algebra: Algebra = "interval",
        needs: str | None = None,
        is_time: bool = False,  # noqa: FBT001, FBT002 - members are tuples
    ) -> Self:
        """Make a kind from its name and what there is to know about it."""
        kind = str.__new__(cls, value)
        kind._value_ = value
        kind.algebra, kind.needs, kind.is_time = algebra, needs, is_time
        kind.is_measured = needs is not None
        kind.has_mean = kind.is_measured and not is_time
        return kind

    NUMERIC = "numeric", "interval", "numbers"
    """Numbers, generalised to intervals."""
    ORDINAL = "ordinal", "interval"
    """Values in a known order, generalised to intervals of that order."""
    CATEGORICAL = "categorical", "tree"
    """Values of a hierarchy, generalised to a common ancestor."""
    FLAT = "flat", "tree"
    """Kept or suppressed: a tree of height 1."""
    SET = "set", "set"
    """Generalised to the set of the values seen."""
    DATE = "date", "interval", "dates", True
    """Calendar days, generalised to intervals."""
    DATETIME = "datetime", "interval", "dates with a time", True
    """Points in time, generalised to intervals."""


def parse_role(text: str, *, column: str) -> Role:
    """Return the role called ``text``, or raise a RoleError that lists the roles."""
    try:
        return Role(text)
    except ValueError:
        known = [role.value for role in Role]
        raise RoleError(
            "The role of column {column!r} must be one of {known}, not {text!r}.{hint}",
            column=column,
            known=", ".join(known),
            text=text,
            hint=did_you_mean(str(text), known),
        ) from None


def parse_kind(text: str, *, column: str) -> Kind | None:
    """Return the kind called ``text`` (None for ``"infer"``), or raise an OptionError."""
    if text == "infer":
        return None
    if text == "items":
        raise OptionError(
            "Column {column!r} is of kind items, whose codes are events: that is for "
            "shoal.anonymize_tables, also of a single table ([tables.people] in a job file).",
            column=column,
        )
    try:
        return Kind(text)
    except ValueError:
        known = [*(kind.value for kind in Kind), "infer"]
        raise OptionError(
            "The kind of column {column!r} must be one of {known}, not {text!r}.{hint}",
            column=column,
            known=", ".join(known),
            text=text,
            hint=did_you_mean(str(text), known),
        ) from None


# What is said about a quasi-identifier beside its kind: checked here, used by the schema.

_MOST = 1e100
"""The largest weight: sums and products of these are still numbers."""


def check_weight(name: str, weight: float) -> float:
    """Return the weight of a column after a check that it is a number above 0."""
    try:
        number = math.nan if isinstance(weight, bool) else float(weight)
    except (TypeError, ValueError):
        number = math.nan
    if not 0 < number <= _MOST:
        raise OptionError(
            "The weight of column {name!r} must be a number above 0 and at most {most:g}, not "
            "{weight!r}; to leave the column out of the release, drop it.",
            name=name,
            most=_MOST,
            weight=weight,
        )
    return number


def check_order(name: str, order: Sequence[object]) -> tuple[str, ...]:
    """Return the order of a column as labels after a check that each stands in it once."""
    from shoal.hierarchy.taxonomy import canonical_label

    if isinstance(order, str) or not isinstance(order, Iterable):
        raise OptionError(
            "The order of column {name!r} must be a list of its values from low to high.", name=name
        )
    labels = tuple(canonical_label(value) for value in order)
    if not labels:
        raise OptionError(
            "The order of column {name!r} is empty; list its values from low to high.", name=name
        )
    if len(set(labels)) < len(labels):
        raise OptionError("The order of column {name!r} lists a value more than once.", name=name)
    return labels


# What is said about a column beside its role: one row for each option, and nothing elsewhere.

_SHOWN = (Role.QUASI_IDENTIFIER, Role.SENSITIVE, Role.INSENSITIVE)
"""Roles of the columns that are published with what they hold."""


def _read_kind(column: str, value: Any) -> Kind | None:
    return parse_kind(value, column=column)


def _read_hierarchy(column: str, value: Any) -> Path | HierarchyRule:
    del column
    from shoal.hierarchy.rules import as_rule  # loads numpy

    return as_rule(value) or Path(value)


def _read_grid(column: str, value: Any) -> Grid:
    from shoal.table.grid import parse_grid

    return parse_grid(value, column=column)


def suggest_grid(kind: Kind | None, values: pl.Series, *, whole: bool = False) -> Grid:
    """Return a grid for a column whose ends would show more digits than a reader can use.

    It is the largest power of ten, or unit of the calendar, of which a hundred fit between the
    quartiles of the column: of all that the values could tell, no more than their order of
    magnitude. Values that lie on its lines anyway have none.

    Args:
        kind: of the column.
        values: the column; of another type than its kind says it has no grid.
        whole: whether whole numbers and days may have one, too.
    """
    from shoal.table.grid import NO_GRID
    from shoal.table.grid_cells import suggest_step, suggest_unit

    if kind is Kind.NUMERIC and values.dtype.is_numeric():
        return suggest_step(values, whole=whole)
    if kind is not None and kind.is_time and values.dtype.is_temporal():
        return suggest_unit(values, whole=whole)
    return NO_GRID


def _suggest_grid(kind: Kind | None, values: Any) -> str | None:
    found = suggest_grid(kind, values, whole=True)
    return str(found) if found else None


def _read_end(column: str, value: Any) -> End:
    from shoal.table.coding import parse_end

    return parse_end(value, column=column)


_OLD, _OLDEST = 90, 130


def _suggest_top(kind: Kind | None, values: Any) -> int | None:
    """Return 90 for ages of which some are above 89, as which people are few and known."""
    from shoal.io.vocabulary import topics_of

    del kind
    if not values.dtype.is_numeric() or "age" not in topics_of(values.name):
        return None
    return _OLD if _OLD <= (values.max() or 0) <= _OLDEST else None


def _read_spelling(column: str, value: Any) -> str:
    from shoal.io.spelling import check_spelling

    return check_spelling(column, value)


RANGE = "range"
SCALES = (RANGE, "rank", "trimmed")
"""What the search may take a wide interval to cost (`shoal.table.scale`)."""


def _read_scale(column: str, value: Any) -> str:
    """Return a scale, or raise an OptionError that lists them."""
    if not isinstance(value, str) or value not in SCALES:
        raise OptionError(
            "The scale of column {column!r} must be one of {scales}, not {value!r}.{hint}",
            column=column,
            scales=", ".join(SCALES),
            value=value,
            hint=did_you_mean(str(value), SCALES),
        )
    return value


def _read_codes(column: str, value: Any) -> tuple[str, ...]:
    """Return codes of missing values as texts, or raise an OptionError."""
    single = isinstance(value, str | int | float)
    found = tuple(str(each).strip() for each in ([value] if single else value))
    if not found or not all(found):
        raise OptionError(
            "The missing codes of column {column!r} must be texts or numbers, as in ['-9', '99'].",
            column=column,
        )
    return found


def _read_dates(column: str, value: Any) -> str:
    from shoal.table.date_offsets import read_dates

    return read_dates(column, value)


@dataclass(frozen=True, kw_only=True)
class JobColumn:
    """What is said about one column (``[columns.age]`` of a job file).

    Every field but the role is an option, and its row is all that is said about it: the mapping
    that ``shoal.anonymize`` takes, the flag, the key, checks, fields of the page, what
    ``shoal init`` writes and what the certificate tells are made from it.

    Attributes:
        role: what happens to the column; a job file has to say it.
        kind: how it is generalised; None is inferred from the data.
        hierarchy: the file of its hierarchy, or the rule by which it grows.
        weight: how much a loss in it counts.
        order: its values from low to high, when it is ordinal.
        grid: the step that its intervals are widened to: a number or a word.
        scale: what the search takes a wide interval to cost: range, rank or trimmed.
        top: the number or date from which on no more than that is published.
        bottom: the number or date down from which no more than that is published.
        dates: what happens to its dates before anything else: they are moved by one offset of each
            person, or counted from the person's first.
        read_as: how its dates or numbers are written in the input.
        missing_codes: what means a missing value in it, as texts.

    Raises:
        RoleError: there is no such role.
        OptionError: an option is wrong.
    """

    role: Role | None = None
    kind: Kind | None = column_option(
        option="kinds",
        mapping="Mapping[str, Kind | str] | None",
        toml="str",
        check=_read_kind,
        help=f"What a column holds: {in_words(Kind)}; may be repeated.",
        certificate=True,
        flag=detail_flag("kind", "KIND", "zip=set"),
        spark=True,
    )
    hierarchy: Path | HierarchyRule | None = column_option(
        option="hierarchies",
        mapping="Mapping[str, HierarchyLike] | None",
        roles=(Role.QUASI_IDENTIFIER, Role.SENSITIVE),
        toml="hierarchy",
        check=_read_hierarchy,
        help="The hierarchy file of a column; may be repeated.",
        flag=detail_flag("hierarchy", "FILE", "zip=zip.csv", "verify"),
        spark=True,
    )
    weight: float = column_option(
        default=1.0,
        option="weights",
        mapping="Mapping[str, float] | None",
        check=check_weight,
        help="How much a loss in a column counts, 1 unless given; may be repeated.",
        certificate=True,
        flag=detail_flag("weight", "NUMBER", "zip=2"),
        spark=True,
    )
    order: tuple[str, ...] | None = column_option(
        option="orders",
        mapping="Mapping[str, Sequence[Any]] | None",
        toml="list",
        check=check_order,
        help="The values of an ordinal column, low to high; may be repeated.",
        flag=detail_flag("order", "A,B,...", "size=small,medium,large", "verify"),
        spark=True,
    )
    grid: str | float | None = column_option(
        option="grid",
        mapping="Mapping[str, Any] | str | None",
        toml="number or text",
        check=_read_grid,
        as_written=True,
        help="Widen the intervals of a column to multiples of a step, as 5 or 0.01, to a unit of "
        "the calendar, as month, or to 'powers of 10'; of ordered words, publish so many together, "
        "as 2; of a hierarchy, nothing below a level, as 'level 1'; may be repeated.",
        certificate=True,
        flag=detail_flag("grid", "STEP", "age=5", "verify"),
        suggest=_suggest_grid,
        comment="Intervals are widened to these lines, so that no end is somebody's exact value. A "
        'coarser\ngrid protects more; "none" shows exact ends.',
        spark=True,
    )
    scale: str | None = column_option(
        mapping="Mapping[str, str] | None",
        option="scale",
        check=_read_scale,
        fits=lambda kind: kind.is_measured,
        help="What the search takes a wide interval to cost: its share of the range, of the people "
        "(rank), or of the range without outliers (trimmed); may be repeated.",
        certificate=True,
        flag=detail_flag("scale", "SCALE", "born=rank"),
        spark=True,
    )
    top: str | float | None = column_option(
        option="top",
        mapping="Mapping[str, Any] | None",
        roles=_SHOWN,
        toml="number or date",
        check=_read_end,
        fits=lambda kind: kind.is_measured,
        help="From this number or date on, publish no more than that: 90 and more as 90+; may be "
        "repeated.",
        certificate=True,
        card=True,
        flag=detail_flag("top", "VALUE", "age=90", "verify"),
        suggest=_suggest_top,
        comment="Ages above 89 are so rare that they single people out, so 90 and more is "
        "published as 90+.",
    )
    bottom: str | float | None = column_option(
        option="bottom",
        mapping="Mapping[str, Any] | None",
        roles=_SHOWN,
        toml="number or date",
        check=_read_end,
        fits=lambda kind: kind.is_measured,
        help="Down from this number or date, publish no more than that: 1934-12-31 and before as "
        "<=1934-12-31; may be repeated.",
        certificate=True,
        card=True,
        flag=detail_flag("bottom", "VALUE", "born=1934-12-31", "verify"),
    )
    dates: str | None = column_option(
        mapping="Mapping[str, str] | None",
        option="dates",
        roles=(Role.QUASI_IDENTIFIER, Role.INSENSITIVE),
        check=_read_dates,
        help="Move all dates of a person by one random offset (shift, or shift weeks to keep "
        "weekdays; shift 90 days says how far at most), or publish days since the person's first "
        "(since first); may be repeated.",
        certificate=True,
        flag=detail_flag("dates", "HOW", "admitted=shift"),
    )

    read_as: str | None = column_option(
        mapping="Mapping[str, str] | None",
        option="read_as",
        roles=(),
        toml="str",
        check=_read_spelling,
        help="How the dates or numbers of a column are written, as dd.mm.yyyy or 1.234,5; text "
        "if they stay as they are; may be repeated.",
        certificate=True,
        card=True,
        flag=detail_flag("read-as", "SPELLING", "born=dd.mm.yyyy", "apply"),
        comment="How its cells are written; all that reads the original reads them so.",
        spark=True,
    )

    missing_codes: tuple[str, ...] | None = column_option(
        mapping="Mapping[str, Sequence[Any]] | None",
        option="missing_codes",
        roles=(),
        toml="list",
        check=_read_codes,
        help="Codes that mean a missing value in a column, as -9 or n/a; may be repeated.",
        flag=detail_flag("missing-codes", "A,B,...", "age=-9,99", "apply"),
        comment="These codes mean that nothing is known; all that reads the original takes them "
        "so. Delete\nthe line if they are values.",
    )

    def __post_init__(self) -> None:
        """Read what was given as text."""
        if self.role is not None:
            object.__setattr__(self, "role", parse_role(self.role, column="of a job"))
        for row in COLUMN_ROWS.values():
            value = getattr(self, row.name)
            if value is not None and row.check is not None:
                checked = row.check("of a job", value)
                object.__setattr__(self, row.name, value if row.as_written else checked)


COLUMN_ROWS: dict[str, ColumnOption] = {
    row.name: row for row in rows_of(JobColumn) if isinstance(row, ColumnOption)
}
"""The options of a column, by the names of the fields of `JobColumn`."""


Names = str | Iterable[str]
"""Column names; a bare string is a list of one."""

_PUBLISHED = frozenset(_SHOWN)


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column of the table.

    Attributes:
        name: as the table spells it.
        role: what happens to it.
        kind: how it is generalised; None for columns that are not quasi-identifiers, and for
            quasi-identifiers whose kind is still to be inferred from the data.
        hierarchy: the taxonomy of a categorical column.
        weight: how much a loss in this column counts, relative to the others.
        order: the values of an ordinal column from low to high, as canonical labels.
    """

    name: str
    role: Role
    kind: Kind | None = None
    hierarchy: Taxonomy | None = None
    rule: HierarchyRule | None = None
    """How its hierarchy grows from the values, which are not known yet (`shoal.table.infer`)."""
    weight: float = 1.0
    order: tuple[str, ...] | None = None
    grid: Grid | None = None
    """Lines that its intervals end on (`shoal.table.grid`); None if nothing was said."""
    scale: str = "range"
    """What the search takes a wide interval to cost (`shoal.table.scale`)."""
    top: End | None = None
    bottom: End | None = None
    """From where on no more is published (`shoal.table.coding`)."""
    dates: str | None = None
    """What happens to its dates before anything else (`shoal.table.dates`)."""
    read_as: str | None = None
    """How its dates or numbers are written (`shoal.io.spelling`); None if nothing was said."""
    missing_codes: tuple[str, ...] | None = None
    """What means a missing value in it; None if nothing was said."""
    shuffled: bool = False
    """Of a published table: whether its exact cells are shuffled within groups."""

    @property
    def is_coded(self) -> bool:
        """Whether it has a top or a bottom."""
        return self.top is not None or self.bottom is not None


@dataclass(frozen=True)
class Schema:
    """The columns of a table, in table order.

    Attributes:
        columns: what each of them is.
        pseudonyms: whether the column of the person is published, as a random number of each.
    """

    columns: tuple[Column, ...]
    pseudonyms: bool = False

    def names(self, role: Role) -> tuple[str, ...]:
        """Return the names of the columns with this role, in table order."""
        return tuple(column.name for column in self.columns if column.role is role)

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        """Names of the columns that are generalised."""
        return self.names(Role.QUASI_IDENTIFIER)

    @property
    def sensitive(self) -> tuple[str, ...]:
        """Names of the columns that privacy models look at."""
        return self.names(Role.SENSITIVE)

    @property
    def identifiers(self) -> tuple[str, ...]:
        """Names of the columns that are removed because they name people."""
        return self.names(Role.IDENTIFIER)

    @property
    def insensitive(self) -> tuple[str, ...]:
        """Names of the columns that are published untouched."""
        return self.names(Role.INSENSITIVE)

    @property
    def exact(self) -> tuple[str, ...]:
        """Names of the columns that are published as they are, sensitive or not."""
        unlinked = {column.name for column in self.columns if column.shuffled}
        return (*self.sensitive, *(each for each in self.insensitive if each not in unlinked))

    @property
    def shuffled(self) -> tuple[str, ...]:
        """Names of the columns whose exact cells are shuffled within groups."""
        return tuple(column.name for column in self.columns if column.shuffled)

    @property
    def dropped(self) -> tuple[str, ...]:
        """Names of the columns that are removed on request."""
        return self.names(Role.DROP)

    @property
    def person(self) -> str | None:
        """Name of the column that says whose row it is, if there is one."""
        found = self.names(Role.PERSON)
        return found[0] if found else None

    @property
    def published(self) -> tuple[str, ...]:
        """Names of the columns of the release: all but identifiers and dropped ones."""
        shown = _PUBLISHED | {Role.PERSON} if self.pseudonyms else _PUBLISHED
        return tuple(column.name for column in self.columns if column.role in shown)

    @property
    def used(self) -> tuple[str, ...]:
        """Names of the columns that a run reads: the published ones, and whose row it is."""
        read = _PUBLISHED | {Role.PERSON}
        return tuple(column.name for column in self.columns if column.role in read)

    @property
    def has_means(self) -> bool:
        """Whether any column publishes means or medians where they are asked for."""
        kinds = (self[name].kind for name in self.quasi_identifiers)
        return any(kind is not None and kind.has_mean for kind in kinds)

    @property
    def is_coded(self) -> bool:
        """Whether any column has a top or a bottom."""
        return any(column.is_coded for column in self.columns)

    @property
    def moved_dates(self) -> dict[str, str]:
        """What happens to the dates of each column before anything else, where it is said."""
        return {each.name: each.dates for each in self.columns if each.dates is not None}

    @property
    def is_shifted(self) -> bool:
        """Whether dates are moved by offsets, which only the key tells."""
        return any(dates != "since first" for dates in self.moved_dates.values())

    @property
    def shifted(self) -> tuple[str, ...]:
        """Names of the quasi-identifiers whose dates are moved by such offsets."""
        moved = self.moved_dates
        return tuple(
            n for n in self.quasi_identifiers if moved.get(n, "since first") != "since first"
        )

    @property
    def grids(self) -> dict[str, Grid | None]:
        """Grid of each column that is generalised."""
        return {name: self[name].grid for name in self.quasi_identifiers}

    def read_as(self, found: Mapping[str, str]) -> Schema:
        """Return the schema with how its columns were found to be written."""
        columns = tuple(
            replace(each, read_as=each.read_as or found.get(each.name)) for each in self.columns
        )
        return replace(self, columns=columns)

    def details(self) -> dict[str, dict[str, Any]]:
        """Return what is said about the columns, by the options of `shoal.anonymize`."""
        found: dict[str, dict[str, Any]] = {
            row.option: {
                column.name: getattr(column, row.name)
                for column in self.columns
                if row.is_for(column.role) and getattr(column, row.name) is not None
            }
            for row in COLUMN_ROWS.values()
        }
        rules = {each.name: each.rule for each in self.columns if each.rule is not None}
        return {**found, "hierarchies": found["hierarchies"] | rules}

    def __getitem__(self, name: str) -> Column:
        """Return the column called ``name``."""
        for column in self.columns:
            if column.name == name:
                return column
        known = (column.name for column in self.columns)
        raise RoleError(
            "There is no column {name!r} in the table.{hint}",
            name=name,
            hint=did_you_mean(name, known),
        )


def build_schema(
    columns: Sequence[str],
    *,
    quasi_identifiers: Names,
    sensitive: Names = (),
    identifiers: Names = (),
    insensitive: Names = (),
    drop: Names = (),
    person: Names | None = None,
    **details: Any,
) -> Schema:
    """Give every column of a table its role, and every quasi-identifier what it needs.

    Args:
        columns: the column names of the table, in table order.
        quasi_identifiers: columns to generalise; at least one.
        sensitive: columns kept as they are, which privacy models look at.
        identifiers: columns that name people, removed.
        insensitive: columns kept as they are.
        drop: columns removed on request.
        person: the column that says whose row it is, where a person may have several.
        **details: what is said about single columns (`JobColumn`): hierarchies, kinds, orders,
            weights, grid, scale, …, each a mapping from columns. A hierarchy is a Taxonomy, the
            path of an ARX-style CSV, a nested dict/list or a rule such as
            ``{"rule": "prefix", "keep": [3, 1]}``; it makes the column categorical whatever its
            data type. Columns without a kind get one from the data later.

    Raises:
        RoleError: a column is unknown, occurs twice, has two roles or none, or there is no
            quasi-identifier.
        OptionError: a detail of a column is wrong or contradicts another.
    """
    table = _check_table(columns)
    names_of_role = {
        Role.QUASI_IDENTIFIER: quasi_identifiers,
        Role.SENSITIVE: sensitive,
        Role.IDENTIFIER: identifiers,
        Role.INSENSITIVE: insensitive,
        Role.DROP: drop,
        Role.PERSON: () if person is None else person,
    }
    listed = {role: _as_names(names, role.option) for role, names in names_of_role.items()}
    if len(listed[Role.PERSON]) > 1:
        raise RoleError(
            "person must name one column, not {n}; put several ids together into one column first.",
            n=len(listed[Role.PERSON]),
        )
    roles = _assign_roles(table, listed)
    qis = [name for name in table if roles[name] is Role.QUASI_IDENTIFIER]
    by_column: dict[str, dict[str, Any]] = {}
    rows = {row.option: row for row in COLUMN_ROWS.values()}
    for option, mapping in details.items():
        if option not in rows:
            hint = did_you_mean(option, rows)
            raise OptionError("There is no option {name!r}.{hint}", name=option, hint=hint)
        row, each = rows[option], mapping
        if row.name == "grid" and not isinstance(mapping, Mapping | None):
            from shoal.table.grid import grids_of

            each = grids_of(mapping, qis)
        _check_keys(row, each, table, [name for name in table if row.is_for(roles[name])])
        for name, value in (each or {}).items():
            if value is not None or row.default is not None:
                by_column.setdefault(name, {})[row.name] = value
    schema = Schema(
        tuple(
            _quasi_identifier(name, by_column.get(name, {}))
            if roles[name] is Role.QUASI_IDENTIFIER
            else _as_it_is(name, roles[name], by_column.get(name, {}))
            for name in table
        )
    )
    if schema.moved_dates:
        from shoal.table.date_offsets import check_alike

        check_alike(schema.moved_dates)
    return schema


_WAYS = ("hierarchy", "kind", "order")
"""How a column is generalised: it has one of these."""


def _as_it_is(name: str, role: Role, options: Mapping[str, Any]) -> Column:
    """Return a column that is not generalised; a tree is what a distance of its values follows."""
    column = Column(name=name, role=role, **_details(name, options))
    hierarchy = options.get("hierarchy")
    if hierarchy is None:
        return column
    from shoal.hierarchy import load_hierarchy
    from shoal.hierarchy.rules import as_rule

    rule = as_rule(hierarchy)
    return replace(column, rule=rule, hierarchy=load_hierarchy(hierarchy) if rule is None else None)


def _details(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is said about a column beside how it is generalised, checked."""
    return {
        row.name: options[row.name] if row.check is None else row.check(name, options[row.name])
        for row in COLUMN_ROWS.values()
        if row.name in options and row.name not in _WAYS
    }


def _as_names(names: Names, option: str) -> list[str]:
    if isinstance(names, str):
        return [names]
    listed = list(names) if isinstance(names, Iterable) else None
    if listed is None or not all(isinstance(name, str) for name in listed):
        if listed is not None:
            raise RoleError(
                "{option} must hold column names as text only; rename the columns first.",
                option=option,
            )
        raise RoleError(
            "{option} must be a list of column names, not {name}.",
            option=option,
            name=type(names).__name__,
        )
    return listed


def _check_table(columns: Sequence[str]) -> list[str]:
    table = list(columns)
    if not all(isinstance(name, str) for name in table):
        raise RoleError("Every column name of the table must be text; rename the columns first.")
    twice = [name for name, count in Counter(table).items() if count > 1]
    if twice:
        raise RoleError(
            "The table has more than one column called {quote}; rename one of them.",
            quote=_quote(twice),
        )
    return table


def roles_of(names_of_role: Mapping[Role, Iterable[str]]) -> dict[str, Role]:
    """Return the role of each column that is given one.

    Raises:
        RoleError: a column is given twice.
    """
    roles: dict[str, Role] = {}
    for role, names in names_of_role.items():
        for name in names:
            if name in roles:
                if roles[name] is role:
                    raise RoleError(
                        "Column {name!r} is given twice as {role}; name it once.",
                        name=name,
                        role=Message(role.value),
                    )
                raise RoleError(
                    "Column {name!r} is given two roles, {one} and {other}; keep one.",
                    name=name,
                    one=Message(roles[name].value),
                    other=Message(role.value),
                )
            roles[name] = role
    return roles


def _assign_roles(table: list[str], names_of_role: dict[Role, list[str]]) -> dict[str, Role]:
    known = set(table)
    roles = roles_of(names_of_role)
    for name, role in roles.items():
        if name not in known:
            raise RoleError(
                "There is no column {name!r} (given as {value}) in the table.{hint}",
                name=name,
                value=Message(role.value),
                hint=did_you_mean(name, table) or Message(" It has {names}.", names=_quote(table)),
            )
    if not names_of_role[Role.QUASI_IDENTIFIER]:
        raise RoleError(
            "There is no quasi-identifier; name the columns that could single a person out, "
            "with quasi_identifiers=[...] (--qi on the command line)."
        )
    without = [name for name in table if name not in roles]
    if without:
        example = "[" + ", ".join(repr(name) for name in without) + "]"
        raise RoleError(
            plural(
                "Column {names} has no role; publish as it is with insensitive={example} or remove "
                "with drop={example} (--insensitive or --drop on the command line).",
                "Columns {names} have no role; publish as they are with insensitive={example} or "
                "remove with drop={example} (--insensitive or --drop on the command line).",
                len(without),
                names=_quote(without),
                example=example,
            )
        )
    return roles


def check_named(details: Mapping[str, Any], table: list[str]) -> None:
    """Check that what is said about the reading of columns names columns of the table.

    Raises:
        OptionError: one is not in the table.
    """
    for row in COLUMN_ROWS.values():
        if not row.roles:
            _check_keys(row, details.get(row.option), table, table)


def _check_keys(
    row: ColumnOption, mapping: Mapping[str, Any] | None, table: list[str], fitting: list[str]
) -> None:
    option = row.option
    if mapping is None:
        return
    if not isinstance(mapping, Mapping):
        raise OptionError(
            "{option} must map column names to values, as in {option}={{{qis!r}: ...}}, not "
            "{name}.",
            option=option,
            qis=(fitting or table)[0],
            name=type(mapping).__name__,
        )
    for name in mapping:
        if name in fitting:
            continue
        if name in table and Role.INSENSITIVE in row.roles:
            raise OptionError(
                "{option} names column {name!r}, which is neither a quasi-identifier nor "
                "insensitive.",
                option=option,
                name=name,
            )
        if name in table:
            raise OptionError(
                "{option} names column {name!r}, which is not a quasi-identifier.",
                option=option,
                name=name,
            )
        raise OptionError(
            "{option} names column {name!r}, which is not in the table.{hint}",
            option=option,
            name=str(name),
            hint=did_you_mean(str(name), fitting),
        )


def _quasi_identifier(name: str, options: Mapping[str, Any]) -> Column:
    """Return a column that is generalised, as it is described."""
    hierarchy, kind, order = (options.get(way) for way in _WAYS)
    parsed = None if kind is None else parse_kind(kind, column=name)
    taxonomy: Taxonomy | None = None
    rule: HierarchyRule | None = None
    if hierarchy is not None:
        if order is not None:
            raise OptionError(
                "Column {name!r} is given both a hierarchy and an order; keep one of them.",
                name=name,
            )
        if parsed not in (None, Kind.CATEGORICAL):
            raise OptionError(
                "Column {name!r} is given a hierarchy, which makes it categorical, and the "
                "kind {value!r}; keep one of them.",
                name=name,
                value=parsed.value,
            )
        from shoal.hierarchy import load_hierarchy
        from shoal.hierarchy.rules import as_rule

        parsed, rule = Kind.CATEGORICAL, as_rule(hierarchy)
        taxonomy = load_hierarchy(hierarchy) if rule is None else None
    elif parsed is Kind.CATEGORICAL:
        raise OptionError(
            "Column {name!r} is of kind 'categorical' but has no hierarchy; give it one with "
            "hierarchies={{{name!r}: ...}}, or make it 'flat'.",
            name=name,
        )
    if order is not None:
        if parsed not in (None, Kind.ORDINAL):
            raise OptionError(
                "Column {name!r} is given an order, which makes it ordinal, and the kind "
                "{value!r}; keep one of them.",
                name=name,
                value=parsed.value,
            )
        parsed = Kind.ORDINAL
    details = _details(name, options)
    if details.get("dates") == "since first" and parsed is not None and parsed.is_time:
        parsed = None  # days are numbers
    return Column(
        name=name,
        role=Role.QUASI_IDENTIFIER,
        kind=parsed,
        hierarchy=taxonomy,
        rule=rule,
        order=None if order is None else check_order(name, order),
        **details,
    )


def _quote(names: Sequence[str]) -> str:
    shown = [repr(name) for name in names[:20]]
    if len(names) > len(shown):
        shown.append(f"{len(names) - len(shown)} more")
    if len(shown) == 1:
        return shown[0]
    return ", ".join(shown[:-1]) + " and " + shown[-1]
