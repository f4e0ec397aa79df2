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
from typing import TYPE_CHECKING, Any, Literal, Self

from shoal.errors import OptionError, RoleError, did_you_mean
from shoal.messages import Message, plural

if TYPE_CHECKING:
    from shoal.hierarchy import Taxonomy
    from shoal.hierarchy.rules import HierarchyRule
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


Names = str | Iterable[str]
"""Column names; a bare string is a list of one."""

_PUBLISHED = frozenset({Role.QUASI_IDENTIFIER, Role.SENSITIVE, Role.INSENSITIVE})


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
        return (*self.sensitive, *self.insensitive)

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
    def grids(self) -> dict[str, Grid | None]:
        """Grid of each column that is generalised."""
        return {name: self[name].grid for name in self.quasi_identifiers}

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


def build_schema(  # noqa: PLR0913 - one named argument for every role and detail
    columns: Sequence[str],
    *,
    quasi_identifiers: Names,
    sensitive: Names = (),
    identifiers: Names = (),
    insensitive: Names = (),
    drop: Names = (),
    person: Names | None = None,
    hierarchies: Mapping[str, object] | None = None,
    kinds: Mapping[str, str | Kind] | None = None,
    orders: Mapping[str, Sequence[object]] | None = None,
    weights: Mapping[str, float] | None = None,
    grid: Mapping[str, object] | str | None = None,
    scale: Mapping[str, object] | None = None,
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
        hierarchies: a Taxonomy, the path of an ARX-style CSV, a nested dict/list or a rule such
            as ``{"rule": "prefix", "keep": [3, 1]}`` per column; it makes the column categorical
            whatever its data type.
        kinds: a kind per column; columns without one are inferred from the data later.
        orders: the values of ordinal columns, from low to high.
        weights: how much a loss in a column counts; 1 unless given.
        grid: lines that the intervals of a column end on (`shoal.table.grid`).
        scale: how wide the search takes intervals to be (`shoal.table.scale`).

    Raises:
        RoleError: a column is unknown, occurs twice, has two roles or none, or there is no
            quasi-identifier.
        OptionError: a kind, hierarchy, order, weight or grid is wrong or contradicts another.
    """
    table = _check_table(columns)
    given = {
        Role.QUASI_IDENTIFIER: quasi_identifiers,
        Role.SENSITIVE: sensitive,
        Role.IDENTIFIER: identifiers,
        Role.INSENSITIVE: insensitive,
        Role.DROP: drop,
        Role.PERSON: () if person is None else person,
    }
    listed = {role: _as_names(names, role.option) for role, names in given.items()}
    if len(listed[Role.PERSON]) > 1:
        raise RoleError(
            "person must name one column, not {n}; put several ids together into one column first.",
            n=len(listed[Role.PERSON]),
        )
    roles = _assign_roles(table, listed)
    qis = [name for name in table if roles[name] is Role.QUASI_IDENTIFIER]
    private = [name for name in table if roles[name] is Role.SENSITIVE]
    _check_keys("hierarchies", hierarchies, table, [*qis, *private])
    for option, mapping in (
        ("kinds", kinds),
        ("orders", orders),
        *(("weights", weights), ("scale", scale)),
    ):
        _check_keys(option, mapping, table, qis)
    schema = Schema(
        tuple(
            _quasi_identifier(
                name,
                hierarchy=(hierarchies or {}).get(name),
                kind=(kinds or {}).get(name),
                order=(orders or {}).get(name),
                weight=(weights or {}).get(name, 1.0),
            )
            if roles[name] is Role.QUASI_IDENTIFIER
            else _with_tree(Column(name=name, role=roles[name]), (hierarchies or {}).get(name))
            for name in table
        )
    )
    if grid not in (None, {}):
        from shoal.table.grid import with_grids

        schema = with_grids(schema, grid)
    if scale:
        from shoal.table.scale import with_scales

        schema = with_scales(schema, scale)
    return schema


def _with_tree(column: Column, hierarchy: object) -> Column:
    """Return a sensitive column with the tree that a distance between its values goes along."""
    if hierarchy is None:
        return column
    from shoal.hierarchy import load_hierarchy
    from shoal.hierarchy.rules import as_rule

    rule = as_rule(hierarchy)
    return replace(column, rule=rule, hierarchy=load_hierarchy(hierarchy) if rule is None else None)


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


def roles_of(given: Mapping[Role, Iterable[str]]) -> dict[str, Role]:
    """Return the role of each column that is given one.

    Raises:
        RoleError: a column is given twice.
    """
    roles: dict[str, Role] = {}
    for role, names in given.items():
        for name in names:
            if name in roles:
                if roles[name] is role:
                    raise RoleError(
                        "Column {name!r} is given twice as {role}; name it once.",
                        name=name,
                        role=role.value,
                    )
                raise RoleError(
                    "Column {name!r} is given two roles, {one} and {other}; keep one.",
                    name=name,
                    one=roles[name].value,
                    other=role.value,
                )
            roles[name] = role
    return roles


def _assign_roles(table: list[str], given: dict[Role, list[str]]) -> dict[str, Role]:
    known = set(table)
    roles = roles_of(given)
    for name, role in roles.items():
        if name not in known:
            raise RoleError(
                "There is no column {name!r} (given as {value}) in the table.{hint}",
                name=name,
                value=role.value,
                hint=did_you_mean(name, table) or Message(" It has {names}.", names=_quote(table)),
            )
    if not given[Role.QUASI_IDENTIFIER]:
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


def _check_keys(
    option: str, mapping: Mapping[str, Any] | None, table: list[str], qis: list[str]
) -> None:
    if mapping is None:
        return
    if not isinstance(mapping, Mapping):
        raise OptionError(
            "{option} must map column names to values, as in {option}={{{qis!r}: ...}}, not "
            "{name}.",
            option=option,
            qis=qis[0],
            name=type(mapping).__name__,
        )
    for name in mapping:
        if name in qis:
            continue
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
            hint=did_you_mean(str(name), qis),
        )


def _quasi_identifier(
    name: str,
    *,
    hierarchy: object,
    kind: str | Kind | None,
    order: Sequence[object] | None,
    weight: float,
) -> Column:
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
    return Column(
        name=name,
        role=Role.QUASI_IDENTIFIER,
        kind=parsed,
        hierarchy=taxonomy,
        rule=rule,
        weight=check_weight(name, weight),
        order=None if order is None else check_order(name, order),
    )


def _quote(names: Sequence[str]) -> str:
    shown = [repr(name) for name in names[:20]]
    if len(names) > len(shown):
        shown.append(f"{len(names) - len(shown)} more")
    if len(shown) == 1:
        return shown[0]
    return ", ".join(shown[:-1]) + " and " + shown[-1]
