"""What a run on several tables is asked: which table is about people, and what hangs from what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from shoal.errors import OptionError, RoleError, did_you_mean, refuse_unknown
from shoal.messages import Message
from shoal.options import Option, check_all, option, rows_of, whole
from shoal.publish.verify_tables import TableTerms
from shoal.settings.files import Input
from shoal.settings.job import Job
from shoal.settings.request import COLUMN_OPTIONS, OPTIONS, Request, build_request, open_key
from shoal.table.schema import COLUMN_ROWS, JobColumn, Role, parse_role

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shoal.settings.files import Output

ITEMS = "items"
"""The kind of a column whose cells are sets of codes; each code is a row of a table of its own."""
MOST_EVENTS = 3
DEEPEST = 6
SHARED = ("k", "privacy", "person_key", "max_suppression", "seed", "threads", "style", "strict")
"""Options of ``shoal.anonymize`` that a run on several tables takes, too."""
_OF_PEOPLE = ("privacy", "max_suppression")


def _few(name: str, value: Any) -> int:
    number: int = whole(1)(name, value)
    if number > MOST_EVENTS:
        raise OptionError(
            "{name} must be 1, 2 or 3, but {value!r} was given: what more events have in common "
            "is not counted.",
            name=name,
            value=value,
        )
    return number


@dataclass(frozen=True)
class EventOptions:
    """Options that only several tables have."""

    knows_events: int = option(
        default=2,
        check=_few,
        help=Message("How many rows of the further tables an attacker knows of a person: 1, 2, 3."),
        certificate=True,
        functions=("anonymize_tables",),
    )

    def __post_init__(self) -> None:
        """Check the options."""
        check_all(self)


EVENT_OPTIONS: dict[str, Option] = {row.name: row for row in rows_of(EventOptions)}


@dataclass(frozen=True)
class TableRequest:
    """One table of several.

    Attributes:
        name: what it is called.
        request: what is asked of it, as if it were alone.
        key: the column that others name its rows by; published as pseudonyms.
        link: the column that says which row of the table above a row hangs from.
        above: the table above; None for the one about people.
        items: columns of sets of codes.
    """

    name: str
    request: Request
    key: str | None
    link: str | None
    above: str | None
    items: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that become pseudonyms."""
        return tuple(dict.fromkeys(each for each in (self.key, self.link) if each is not None))


@dataclass(frozen=True)
class TablesRequest:
    """What a run on several tables is asked.

    Attributes:
        tables: by name, each after the one above it; the first is about people.
        k: how many people an attacker is left with.
        knows_events: how many events the attacker knows.
    """

    tables: Mapping[str, TableRequest]
    k: int
    knows_events: int
    person_key: bytes | None = field(default=None, repr=False)

    @property
    def main(self) -> TableRequest:
        """The table about people."""
        return next(iter(self.tables.values()))

    @property
    def others(self) -> tuple[TableRequest, ...]:
        """The further tables, parents first."""
        return tuple(self.tables.values())[1:]


def build_tables_request(
    names: Sequence[str],
    links: Mapping[str, str],
    roles: Mapping[str, Any],
    options: Mapping[str, Any],
) -> TablesRequest:
    """Return the request that these arguments of ``shoal.anonymize_tables`` make.

    Raises:
        OptionError: an option is wrong, or the tables do not hang together as a tree.
        RoleError: what a column is is not clear.
    """
    known = [*SHARED, *EVENT_OPTIONS]
    refuse_unknown(options, known, OptionError, Message("There is no option {name!r}.{hint}"))
    events = EventOptions(**{name: options[name] for name in EVENT_OPTIONS if name in options})
    shared = {name: options[name] for name in SHARED if name in options and name != "person_key"}
    up = _read_links(names, links)
    order = _parents_first(names, up)
    refuse_unknown(
        roles, names, OptionError, Message("Roles are said of {name!r}, which is no table.{hint}")
    )
    keys: dict[str, str] = {}
    for parent, key, _ in up.values():
        if keys.setdefault(parent, key) != key:
            raise OptionError(
                "Two columns of table {above!r}, {one!r} and {other!r}, are said to be its key; "
                "all links go to one.",
                above=parent,
                one=keys[parent],
                other=key,
            )
    found = {}
    for name in order:
        above: str | None = up[name][0] if name in up else None
        link = up[name][2] if name in up else None
        said = _column_options(name, roles.get(name, {}))
        key = keys.get(name) or said.pop("key", None)
        if said.pop("key", key) != key:
            raise OptionError(
                "Table {name!r} has key {key!r}, and a link goes to another column.",
                name=name,
                key=key,
            )
        own = {n: v for n, v in shared.items() if above is None or n not in _OF_PEOPLE}
        found[name] = _table_request(name, said, own, (key, link, above))
    first = found[order[0]].request
    if first.style.cells != "generalised" or first.style.numeric in ("mean", "median"):
        raise OptionError(
            "Several tables are published in generalised cells, so that what events tell can be "
            "counted; leave cells and numeric = mean or median out of the style."
        )
    person_key = open_key(options.get("person_key"))
    return TablesRequest(found, int(first.k), events.knows_events, person_key)


def terms_of_links(
    names: Sequence[str],
    links: Mapping[str, str],
    quasi_identifiers: Mapping[str, Sequence[str]],
    items: Mapping[str, Sequence[str]],
) -> list[TableTerms]:
    """Return what is promised of published tables, as verification takes it.

    Raises:
        OptionError: the links are wrong, or something is said of what is no table.
    """
    for said in (quasi_identifiers, items):
        missing = Message("Columns are named of {name!r}, which is no table.{hint}")
        refuse_unknown(said, names, OptionError, missing)
    up = _read_links(names, links)
    keys = {above: key for above, key, _ in up.values()}
    found = []
    for name in _parents_first(names, up):
        above, link = (up[name][0], up[name][2]) if name in up else (None, None)
        quasi, sets = (
            (each,) if isinstance(each, str) else tuple(each)
            for each in (quasi_identifiers.get(name, ()), items.get(name, ()))
        )
        found.append(TableTerms(name, quasi, keys.get(name), link, above, sets))
    return found


def _table_request(
    name: str,
    said: dict[str, Any],
    shared: dict[str, Any],
    place: tuple[str | None, str | None, str | None],
) -> TableRequest:
    key, link, above = place
    kinds = dict(said.get("kinds") or {})
    items = tuple(column for column, kind in kinds.items() if kind == ITEMS)
    said["kinds"] = {column: kind for column, kind in kinds.items() if kind != ITEMS}
    quasi = _listed(said, Role.QUASI_IDENTIFIER)
    for column in items:
        if column not in quasi:
            raise RoleError(
                "Column {column!r} of table {name!r} is of kind items and must be a "
                "quasi-identifier.",
                column=column,
                name=name,
            )
    plain = [column for column in quasi if column not in items]
    if not plain and (above is None or not items):
        raise RoleError(
            "Table {name!r} has no quasi-identifier{beside}; say what others may know of its rows.",
            name=name,
            beside=Message(" beside its items") if items else "",
        )
    _refuse_of_one(name, said)
    exact = _listed(said, Role.INSENSITIVE)
    own_keys = [column for column in dict.fromkeys((key, link)) if column is not None]
    for role in Role:
        for column in own_keys:
            if role is not Role.INSENSITIVE and column in _listed(said, role):
                raise RoleError(
                    "Column {column!r} of table {name!r} is a key, which is published as "
                    "pseudonyms; give it no role.",
                    column=column,
                    name=name,
                )
    options = {
        **shared,
        **said,
        "quasi_identifiers": [*plain, *items],
        "insensitive": [*exact, *(column for column in own_keys if column not in exact)],
        **({"rows_are_people": True} if above is None else {}),
    }
    return TableRequest(name, build_request(options), key, link, above, items)


def _listed(said: Mapping[str, Any], role: Role) -> list[str]:
    """Return the columns that are given a role."""
    given = said.get(role.option) or ()
    return [given] if isinstance(given, str) else list(given)


def _refuse_of_one(name: str, said: Mapping[str, Any]) -> None:
    """Refuse what only one table can keep.

    Raises:
        OptionError: something is said that several tables cannot.
    """
    for each in ("person", "dates"):
        if said.get(each):
            raise OptionError(
                "{option!r} is for one table; of several tables (here {name!r}) it cannot be "
                "kept. The table about people has one row for each person.",
                option=each,
                name=name,
            )


def _read_links(names: Sequence[str], links: Mapping[str, str]) -> dict[str, tuple[str, str, str]]:
    """Return for each table that hangs from one: the table above, its key, the own column."""
    if not isinstance(links, Mapping):
        raise OptionError(
            "links must say which column names a row of which table, as "
            "{{'stays.patient_id': 'patients.patient_id'}}."
        )
    found: dict[str, tuple[str, str, str]] = {}
    for one, other in links.items():
        (table, column), (above, key) = (_table_and_column(each, names) for each in (one, other))
        if table in found:
            raise OptionError(
                "Table {table!r} hangs from two tables; an event belongs to one row above it. "
                "Leave one of the links out.",
                table=table,
            )
        if table == above:
            raise OptionError("Table {table!r} cannot hang from itself.", table=table)
        found[table] = (above, key, column)
    return found


def _table_and_column(text: Any, names: Sequence[str]) -> tuple[str, str]:
    table, dot, column = str(text).partition(".")
    if not dot or not column:
        raise OptionError(
            "A link names a table and a column, as 'stays.patient_id', not {text!r}.", text=text
        )
    if table not in names:
        raise OptionError(
            "There is no table {table!r}.{hint}", table=table, hint=did_you_mean(table, names)
        )
    return table, column


def _parents_first(names: Sequence[str], up: Mapping[str, tuple[str, str, str]]) -> list[str]:
    """Return the tables so that each stands after the one above it.

    Raises:
        OptionError: not exactly one table is above all others.
    """
    tops = [name for name in names if name not in up]
    if len(tops) != 1:
        raise OptionError(
            "One table is about people and all others hang from it; here {n} hang from none: "
            "{tops}. Say with links (of = ... in a job) what each hangs from.",
            n=len(tops),
            tops=", ".join(map(repr, tops)) or Message("not one"),
        )
    order = tops
    for name in order:
        order.extend(each for each in names if up.get(each, ("",))[0] == name)
    depth = {tops[0]: 0}
    for name in order[1:]:
        depth[name] = depth[up[name][0]] + 1
    if max(depth.values()) > DEEPEST:
        raise OptionError("Tables hang below one another at most {n} deep.", n=DEEPEST)
    if len(order) < len(names):
        raise OptionError(
            "The links of tables {names} go round in a circle.",
            names=", ".join(repr(name) for name in names if name not in order),
        )
    return order


def _column_options(table: str, said: Any) -> dict[str, Any]:
    """Return what is said of the columns of a table by the names of the options.

    Either these options (``{"quasi_identifiers": ["age"]}``), or each column with its role or
    with what a job file says of it (``{"age": "quasi-identifier"}``).
    """
    if not isinstance(said, Mapping):
        raise OptionError(
            "Roles of table {table!r} must be a mapping, as {{'quasi_identifiers': ['age']}}.",
            table=table,
        )
    found: dict[str, Any] = {}
    columns: dict[str, tuple[Role, dict[str, Any]]] = {}
    for name, value in said.items():
        if isinstance(value, JobColumn):
            assert value.role is not None
            columns[name] = value.role, {row: getattr(value, row) for row in COLUMN_ROWS}
        elif name in COLUMN_OPTIONS or name == "key":
            found[name] = value
        elif name in OPTIONS:
            raise OptionError(
                "{name!r} is said for all tables together, not for table {table!r}.",
                name=name,
                table=table,
            )
        elif isinstance(value, str) or (isinstance(value, Mapping) and "role" in value):
            details = {"role": value} if isinstance(value, str) else dict(value)
            missing = Message("A column has no detail {name!r}.{hint}")
            refuse_unknown(details, ["role", *COLUMN_ROWS], OptionError, missing)
            columns[name] = parse_role(details.pop("role"), column=name), details
        else:
            raise OptionError(
                "{name!r} of table {table!r} is no option and has no role.{hint}",
                name=name,
                table=table,
                hint=did_you_mean(name, COLUMN_OPTIONS),
            )
    for name, (role, details) in columns.items():
        listed = found.setdefault(role.option, [])
        found[role.option] = [*([listed] if isinstance(listed, str) else listed), name]
        for row in COLUMN_ROWS.values():
            value = details.get(row.name, row.default)
            if value != row.default:
                found[row.option] = {**(found.get(row.option) or {}), name: value}
    return found


@dataclass(frozen=True)
class TableOfJob:
    """What a job file says of one of several tables.

    Attributes:
        key: the column that other tables name its rows by.
        of: the table above and its key, as ``patients.patient_id``; None for that about people.
        link: the column that names the row above, where it is not called as the key is.
        columns: what each column is.
        items: columns of sets of codes.
        read: how it is read, where that differs from the other tables.
    """

    key: str | None = None
    of: str | None = None
    link: str | None = None
    columns: Mapping[str, JobColumn] = field(default_factory=dict)
    items: tuple[str, ...] = ()
    read: Mapping[str, Any] = field(default_factory=dict)


TABLES = "tables"
TABLE_KEYS = ("key", "of", "link")


@dataclass(frozen=True)
class TablesJob:
    """A run from several tables to several tables, as a job file describes it.

    Attributes:
        tables: by name.
        input: how all are read, and the folder or the database where they are.
        output: where they go: ``table`` is a folder or the URL of a database.
        options: options of ``shoal.anonymize_tables``, by their names.
    """

    tables: Mapping[str, TableOfJob]
    input: Input
    output: Output
    options: Mapping[str, Any]

    def links(self) -> dict[str, str]:
        """Return which column names a row of which table.

        Raises:
            OptionError: a table hangs from what names no column.
        """
        found = {}
        for name, each in self.tables.items():
            if each.of is None:
                continue
            above, dot, key = each.of.partition(".")
            if not dot or not key:
                raise OptionError(
                    "Table {name!r} hangs from {of!r}; write a table and its key, as in "
                    "of = 'patients.patient_id'.",
                    name=name,
                    of=each.of,
                )
            said = self.tables.get(above, TableOfJob()).key
            if said is not None and said != key:
                raise OptionError(
                    "Table {name!r} hangs from {of!r}, but the key of {above!r} is {key!r}.",
                    name=name,
                    of=each.of,
                    above=above,
                    key=said,
                )
            found[f"{name}.{each.link or key}"] = each.of
        return found

    def with_files(self, named: Callable[[str], str]) -> TablesJob:
        """Return the job with every file that it reads named as a function says."""
        shared = {name: value for name, value in self.options.items() if name not in EVENT_OPTIONS}
        whole = Job(input=self.input, **shared).with_files(named)
        tables = {}
        for name, each in self.tables.items():
            one = Job(input=Input(**each.read), columns=each.columns).with_files(named)
            read = {option: getattr(one.input, option) for option in each.read}
            tables[name] = replace(each, read=read, columns=one.columns)
        options = {name: whole.options.get(name, value) for name, value in self.options.items()}
        return replace(self, tables=tables, input=whole.input, options=options)

    def files(self) -> tuple[str, ...]:
        """Return every file that the job reads, and every table of a database."""
        found: list[str] = []
        self.with_files(lambda name: found.append(name) or name)  # type: ignore[func-returns-value]
        return tuple(found)

    def request(self) -> TablesRequest:
        """Return what is asked.

        Raises:
            OptionError: an option is wrong, or has to be given.
        """
        roles = {
            name: {
                "kinds": dict.fromkeys(each.items, ITEMS),
                **each.columns,
                **({} if each.key is None else {"key": each.key}),
            }
            for name, each in self.tables.items()
        }
        return build_tables_request(list(self.tables), self.links(), roles, self.options)


def items_of(request: Request, columns: Sequence[str]) -> Request:
    """Return what is asked of the codes of columns of sets: each a table with one column."""
    details = {
        name: {column: said for column, said in each.items() if column in columns}
        for name, each in request.details.items()
        if isinstance(each, Mapping)
    }
    return replace(
        request,
        quasi_identifiers=tuple(columns),
        sensitive=(),
        insensitive=(),
        identifiers=(),
        drop=(),
        privacy=(),
        rows_are_people=False,
        details={name: each for name, each in details.items() if each},
    )


def without(request: Request, columns: Sequence[str]) -> Request:
    """Return a request that says nothing of some columns."""
    quasi = [name for name in request.quasi_identifiers if name not in columns]
    details = {
        name: {column: said for column, said in each.items() if column not in columns}
        if isinstance(each, Mapping)
        else each
        for name, each in request.details.items()
    }
    return replace(request, quasi_identifiers=tuple(quasi), details=details)
