"""What one run is asked to do: the table of run options.

A field of `Request` is all there is to say about an option. The parameters of
``shoal.anonymize`` and ``shoal.refine`` carry the same names, types and defaults (a test holds
them together); checks, job files, flags, ``--help`` and the certificate are made from here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeAlias

from shoal.errors import OptionError, did_you_mean
from shoal.messages import Message
from shoal.options import (
    AFTERWARDS,
    ALL_COMMANDS,
    BOTH,
    REQUIRED,
    TABLE_COMMANDS,
    Flag,
    Option,
    anything,
    check_all,
    factor,
    in_words,
    mapping,
    one_of,
    option,
    or_none,
    positive,
    rows_of,
    share,
    truth,
    whole,
)
from shoal.table.infer import UNKNOWN
from shoal.table.schema import COLUMN_ROWS, Role, build_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narwhals.typing import IntoDataFrame, IntoSeries
    from numpy.typing import ArrayLike

    from shoal.hierarchy import Taxonomy
    from shoal.privacy import PrivacyModel
    from shoal.publish.recode import Style
    from shoal.settings.files import Input
    from shoal.table.schema import Schema

# Types of what users may write: names for editors and type checkers.

HierarchyLike: TypeAlias = "Taxonomy | str | PathLike[str] | Mapping[str, Any] | Sequence[Any]"
"""A hierarchy, the path of its file, or nested mappings and lists of values."""

PrivacyLike: TypeAlias = (
    "PrivacyModel | Mapping[str, Any] | Iterable[PrivacyModel | Mapping[str, Any]] | None"
)
"""Promises beyond k: models or their tables, one or several."""

PreviousLike: TypeAlias = "Any"
"""Releases that are out: a `shoal.Release`, what `shoal.load_release` returns, or the path of a
release file; one or several."""

LabelsLike: TypeAlias = "ArrayLike | IntoSeries"
"""The group of each row: a list, an array or a column of whole numbers."""

TableLike: TypeAlias = "IntoDataFrame | ArrayLike"
"""Rows as scikit-learn takes them: a dataframe, or an array of numbers."""

# -- flags ----------------------------------------------------------------------------------------


def columns_flag(
    *names: str, on: tuple[str, ...] = TABLE_COMMANDS, metavar: str = "COLUMNS"
) -> Flag:
    """Return the flag of an option that names columns."""
    return Flag(names=names, on=on, panel="Columns", metavar=metavar)


def promise_flag(*names: str, on: tuple[str, ...], metavar: str | None = None) -> Flag:
    """Return the flag of an option about what is promised."""
    return Flag(names=names, on=on, panel="Promises", metavar=metavar)


def search_flag(*names: str, on: tuple[str, ...], metavar: str | None = None, **more: str) -> Flag:
    """Return the flag of an option of the search."""
    return Flag(names=names, on=on, panel="Search", metavar=metavar, **more)


# -- readers: what users may write in several ways -------------------------------------------------


def read_names(name: str, value: Any) -> Any:
    """Keep what can be read only once; what is no list of names is found with the table."""
    del name
    is_list = isinstance(value, Iterable) and not isinstance(value, str)
    return tuple(value) if is_list else value


def read_one_name(name: str, value: Any) -> Any:
    """Read one name, or a list of at most one, as jobs have it."""
    del name
    if value is None or isinstance(value, str) or not isinstance(value, Iterable):
        return value
    listed = tuple(value)
    if len(listed) > 1:  # said with the table, as everything about roles
        return listed
    return listed[0] if listed else None


def read_several(name: str, value: Any) -> tuple[Any, ...]:
    """Read one thing or several; a bare text or path is one."""
    del name
    if value is None:
        return ()
    is_list = isinstance(value, Iterable) and not isinstance(value, str)
    return tuple(value) if is_list else (value,)


def read_combinations(name: str, value: Any) -> tuple[tuple[str, ...], ...]:
    """Read combinations of columns; a text has names with commas between them."""
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, Iterable):
        value = [None]
    found = []
    for one in value:
        listed = [each.strip() for each in one.split(",")] if isinstance(one, str) else one
        names = tuple(listed) if isinstance(listed, Iterable) else ()
        if not names or not all(isinstance(each, str) and each for each in names):
            raise OptionError(
                "{name} must be lists of column names, as in [['age', 'zip'], ['age', 'sex']].",
                name=name,
            )
        found.append(tuple(dict.fromkeys(names)))
    return tuple(found)


def read_models(name: str, value: Any) -> tuple[PrivacyModel, ...]:
    """Read privacy models, or their tables."""
    del name
    from shoal.privacy import parse_privacy

    return parse_privacy(value)


def read_style(name: str, value: Any) -> Style:
    """Read a style, or its options."""
    from shoal.publish.recode import Style

    if isinstance(value, Style):
        return value
    if isinstance(value, str):
        value = {"cells": value}
    return Style.from_dict(mapping(name, value))


NOT_KEPT = Message(
    "A release against attackers of limited knowledge cannot be kept for further rows or later "
    "releases, whose promise is about whole groups; leave --save out."
)

# -- the table ------------------------------------------------------------------------------------

EFFORTS = ("fast", "balanced", "best")
MISSING_MODES = ("category", "suppress", "error")


@dataclass(frozen=True, kw_only=True)
class Request:
    """What one run is asked to do, checked as far as it can be without the data.

    Raises:
        OptionError: an option is out of range.
    """

    previous: tuple[Any, ...] = option(
        default=(),
        check=read_several,
        given="PreviousLike",
        toml="list[str]",
        help="A release of these people that is out, as --save kept it; may be repeated, and all "
        "of them are needed. Needs --person.",
        functions=("anonymize",),
        path=True,
        flag=promise_flag("--previous", on=("anonymize",), metavar="FILE"),
    )
    reserve: float = option(
        default=1.0,
        check=factor,
        help=Message(
            "Groups of people who are new are so many times k large, so that some may leave "
            "before the others have to wait; for releases that others follow."
        ),
        certificate=True,
        functions=("anonymize",),
        flag=promise_flag("--reserve", on=("anonymize",), metavar="TIMES"),
    )
    weaken: bool = option(
        default=False,
        check=truth,
        help=Message(
            "Promise less than the releases that are out, or what does not hold over all of them; "
            "what is given up is named in the certificate."
        ),
        certificate=True,
        functions=("anonymize",),
        flag=promise_flag("--weaken", on=("anonymize",)),
    )
    quasi_identifiers: str | Iterable[str] = option(
        check=read_names,
        help="Columns that could single a person out, as age or ZIP code; generalised.",
        functions=BOTH,
        flag=columns_flag("--qi", "--quasi-identifier", on=ALL_COMMANDS),
    )
    sensitive: str | Iterable[str] = option(
        default=(),
        check=read_names,
        help="Columns to be protected, as a diagnosis; published as they are.",
        functions=BOTH,
        flag=columns_flag("--sensitive", on=ALL_COMMANDS),
    )
    identifiers: str | Iterable[str] = option(
        default=(),
        check=read_names,
        help="Columns that name people; removed.",
        functions=BOTH,
        flag=columns_flag("--identifier"),
    )
    insensitive: str | Iterable[str] = option(
        default=(),
        check=read_names,
        help="Columns that give nobody away; published as they are.",
        functions=BOTH,
        flag=columns_flag("--insensitive"),
    )
    drop: str | Iterable[str] = option(
        default=(),
        check=read_names,
        help="Columns that are not needed; removed.",
        functions=BOTH,
        flag=columns_flag("--drop"),
    )
    person: str | None = option(
        default=None,
        check=read_one_name,
        help="The column that says whose row it is, where people have several: k counts people.",
        functions=BOTH,
        flag=columns_flag("--person", on=ALL_COMMANDS, metavar="COLUMN"),
    )
    rows_are_people: bool = option(
        default=False,
        check=truth,
        help="Every row is a different person: no warning if ids or rows repeat.",
        certificate=True,
        functions=BOTH,
        flag=Flag(names=("--rows-are-people",), on=("anonymize", "refine"), panel="Columns"),
    )
    pseudonyms: bool = option(
        default=False,
        check=truth,
        help="Publish the column of --person, as a random number for each person.",
        certificate=True,
        functions=BOTH,
        flag=Flag(names=("--pseudonyms",), on=("anonymize", "refine"), panel="Columns"),
    )
    person_key: Any = option(
        default=None,
        hidden=True,
        check=anything,
        given="str | PathLike[str] | None",
        toml="str",
        help="A key of 'shoal secret': a person has the same pseudonym and the same shift of dates "
        "in every table that is made with it.",
        functions=BOTH,
        path=True,
        flag=columns_flag("--person-key", on=("anonymize", "refine", *AFTERWARDS), metavar="FILE"),
    )
    details: Mapping[str, Any] = field(default_factory=dict)
    """What is said about single columns, by the names of `COLUMN_DETAILS`."""
    unknown_values: str = option(
        default="error",
        check=one_of(*UNKNOWN),
        help="Values that a hierarchy does not list: error, or root, directly below its root.",
        certificate=True,
        functions=BOTH,
        flag=Flag(
            names=("--unknown-values",),
            on=(*TABLE_COMMANDS, *AFTERWARDS),
            panel="Columns",
            metavar="CHOICE",
        ),
    )
    default_grid: bool = option(
        default=True,
        check=truth,
        help="Widen the intervals of floats and datetimes to a fine grid, if none is given.",
        certificate=True,
        functions=BOTH,
        flag=Flag(
            names=("--no-grid",),
            on=(*TABLE_COMMANDS, *AFTERWARDS),
            panel="Columns",
            help="No grid unless --grid gives one: intervals end on somebody's exact values.",
        ),
    )
    k: int = option(
        check=whole(2),
        help="Nobody stands out from fewer than k rows.",
        certificate=True,
        functions=BOTH,
        flag=promise_flag(
            "--k", "-k", on=("anonymize", "refine", "explain", "verify"), metavar="K"
        ),
    )
    privacy: tuple[PrivacyModel, ...] = option(
        default=(),
        check=read_models,
        given="PrivacyLike",
        toml="models",
        help="Promises beyond k.",  # its flags are those of each model, in shoal.cli.arguments
        certificate=True,
        functions=BOTH,
    )
    knows: int | None = option(
        default=None,
        check=or_none(whole(1)),
        help="Promise only against somebody who knows at most so many of the quasi-identifiers.",
        certificate=True,
        functions=("anonymize",),
        flag=promise_flag("--knows", on=("anonymize", "verify", "audit"), metavar="N"),
    )
    combinations: tuple[tuple[str, ...], ...] = option(
        default=(),
        check=read_combinations,
        given="Iterable[Iterable[str]]",
        toml="list[list[str]]",
        help="Promise only against somebody who knows one of these combinations of "
        "quasi-identifiers, as age,zip; may be repeated.",
        certificate=True,
        functions=("anonymize",),
        flag=promise_flag("--combination", on=("anonymize", "verify", "audit"), metavar="COLUMNS"),
    )
    within: str | None = option(
        default=None,
        check=read_one_name,
        help="A column whose values are kept apart, as a hospital: no group has rows of two of "
        "them. It is a quasi-identifier and is published exactly.",
        certificate=True,
        functions=("anonymize",),
        flag=promise_flag("--within", on=("anonymize",), metavar="COLUMN"),
    )
    max_suppression: float = option(
        default=0.0,
        check=share,
        help="The share of rows that may be left out, 0 to 1.",
        certificate=True,
        functions=("anonymize",),
        flag=promise_flag("--max-suppression", on=("anonymize",), metavar="SHARE"),
    )
    suppress_for: str = option(
        default="all",
        check=one_of("all", "kept"),
        help=Message("Whose loss leaving rows out lowers: all rows', or the kept rows'."),
        certificate=True,
        functions=("anonymize",),
        flag=promise_flag("--suppress-for", on=("anonymize",), metavar="WHOSE"),
    )
    missing: str = option(
        default="category",
        check=one_of(*MISSING_MODES),
        help=f"How missing values are treated: {in_words(MISSING_MODES)}.",
        certificate=True,
        functions=BOTH,
        flag=columns_flag("--missing", on=("anonymize",), metavar="HOW"),
    )
    algorithm: str = option(
        default="auto",
        check=anything,
        help=Message("How groups are formed; 'shoal algorithms' lists the ways."),
        certificate=True,
        functions=("anonymize",),
        flag=search_flag("--algorithm", on=("anonymize", "explain"), metavar="NAME"),
    )
    algorithm_options: Mapping[str, Any] = option(
        default=None,
        check=mapping,
        given="Mapping[str, Any] | None",
        help="An option of the algorithm; may be repeated.",
        certificate=True,
        functions=("anonymize",),
        flag=search_flag(
            "--algorithm-option", on=("anonymize",), metavar="NAME=VALUE", example="name=value"
        ),
        parts={
            "effort": search_flag(
                "--effort",
                on=("anonymize",),
                metavar="EFFORT",
                help=Message(
                    "How hard the algorithm auto searches: {efforts}.", efforts=in_words(EFFORTS)
                ),
            )
        },
    )
    measure: str = option(
        default="ncp",
        check=anything,
        help=Message("The loss that is kept small; 'shoal measures' lists them."),
        certificate=True,
        functions=BOTH,
        flag=search_flag("--measure", on=("anonymize", "refine", "explain"), metavar="NAME"),
    )
    measure_options: Mapping[str, Any] = option(
        default=None,
        check=mapping,
        given="Mapping[str, Any] | None",
        help="An option of the measure; may be repeated.",
        certificate=True,
        functions=BOTH,
        flag=search_flag(
            "--measure-option",
            on=("anonymize", "refine", "score"),
            metavar="NAME=VALUE",
            example="name=value",
        ),
    )
    seed: int | None = option(
        default=None,
        check=or_none(whole(0)),
        help=Message("A number that repeats a run exactly; keep it secret."),
        functions=BOTH,
        flag=search_flag("--seed", on=(*TABLE_COMMANDS, "apply"), metavar="NUMBER"),
    )
    threads: int | None = option(
        default=None,
        check=or_none(whole(1)),
        help=Message("How many threads work; one per core unless given."),
        functions=BOTH,
        flag=search_flag("--threads", on=("anonymize", "apply"), metavar="NUMBER"),
    )
    block_rows: int | None = option(
        default=None,
        check=or_none(whole(1)),
        help=Message("Larger tables are cut into blocks of so many rows; chosen unless given."),
        certificate=True,
        functions=("anonymize",),
        flag=search_flag("--block-rows", on=("anonymize",), metavar="ROWS"),
    )
    refine: str | None = option(
        default=None,
        check=or_none(one_of(*EFFORTS)),
        help=Message(
            "Also improve what the algorithm found: {efforts}.", efforts=in_words(EFFORTS)
        ),
        certificate=True,
        functions=("anonymize",),
        flag=search_flag("--refine", on=("anonymize",), metavar="EFFORT"),
    )
    effort: str = option(
        default="balanced",
        check=one_of(*EFFORTS),
        help=f"How hard to search: {in_words(EFFORTS)}.",
        functions=("refine",),
        flag=search_flag("--effort", on=("refine",), metavar="EFFORT"),
    )
    sweeps: int | None = option(
        default=None,
        check=or_none(whole(1)),
        help="Go over all groups so many times, not as often as it pays.",
        functions=("refine",),
        flag=search_flag("--sweeps", on=("refine",), metavar="N"),
    )
    seconds: float | None = option(
        default=None,
        check=or_none(positive),
        help="Search for this long. Ctrl-C ends the search at any time, and the best so far is "
        "published.",
        functions=("refine",),
        flag=search_flag("--seconds", on=("refine",), metavar="S"),
    )
    bound: bool = option(
        default=False,
        check=truth,
        help=Message("Also say how far from the best possible release this one can be at most."),
        certificate=True,
        functions=BOTH,
        flag=search_flag("--bound", on=("anonymize", "refine")),
    )
    shuffle: bool = option(
        default=True,
        check=truth,
        help="Publish the rows in a random order.",
        certificate=True,
        functions=BOTH,
        flag=Flag(
            names=("--no-shuffle",),
            on=("anonymize",),
            help="Keep the order of the rows; it may give people away.",
        ),
    )
    strict: bool = option(
        default=False,
        check=truth,
        help=Message("Make no release that comes with a warning."),
        certificate=True,
        functions=BOTH,
        flag=promise_flag("--strict", on=("anonymize", "refine")),
    )
    style: Style = option(
        default=None,
        check=read_style,
        given="Style | Mapping[str, Any] | str | None",
        toml="Mapping[str, Any]",
        help="How generalised cells are written.",
        functions=BOTH,
        parts={
            "numeric": Flag(
                names=("--numeric-output",),
                on=("anonymize",),
                panel="Files",
                metavar="FORM",
                help="How numbers are written: interval, bounds, struct, mean or median.",
            ),
            "flat_values": Flag(
                names=("--flat-values",),
                on=("anonymize",),
                panel="Promises",
                metavar="N",
                help=Message(
                    "Of a column without a hierarchy, list up to so many values of a group, 8 "
                    "unless given; 1 publishes * instead."
                ),
            ),
            "cells": Flag(
                names=("--cells",),
                on=("anonymize", "verify"),
                panel="Promises",
                metavar="FORM",
                help=Message(
                    "generalised, or shuffled: exact values, each column permuted by itself "
                    "within every group, which is not k-anonymous."
                ),
            ),
        },
    )

    def __post_init__(self) -> None:
        """Check the options; what groups lie within is a quasi-identifier without being named."""
        check_all(self)
        if self.is_limited:
            self._check_limited()
        if self.within is None:
            return
        if not isinstance(self.within, str):
            raise OptionError("within must be the name of one column.")
        if self.previous or self.reserve > 1:
            raise OptionError(
                "Groups of a release beside earlier ones follow the people in them and may mix the "
                "values of {within!r}; leave within out, or previous and reserve.",
                within=self.within,
            )
        for model in self.privacy:
            if model.about != "groups":
                raise OptionError(
                    "{promise} is a promise about the release as a whole and may need rows of two "
                    "values of {within!r} in one group; leave within out, or the promise.",
                    promise=model.label,
                    within=self.within,
                )
        named = self.quasi_identifiers
        quasi = [named] if isinstance(named, str) else list(named)
        if self.within not in quasi:
            object.__setattr__(self, "quasi_identifiers", (*quasi, self.within))

    @property
    def is_limited(self) -> bool:
        """Whether attackers are meant who know some of the quasi-identifiers only."""
        return self.knows is not None or bool(self.combinations)

    @property
    def listing_style(self) -> Style:
        """The style, without lists of values where rows of one cell differ in other columns."""
        return replace(self.style, flat_values=1) if self.is_limited else self.style

    def refuse_limited(self) -> None:
        """Refuse attackers of limited knowledge, where groups of all columns are tried.

        Raises:
            OptionError: they are asked for.
        """
        if self.is_limited:
            raise OptionError(
                "explain and compare try groups that are alike in all quasi-identifiers; leave "
                "knows and combinations out there."
            )

    def _check_limited(self) -> None:
        """Refuse what does not go with attackers of limited knowledge."""
        named = self.quasi_identifiers
        quasi = [named] if isinstance(named, str) else list(named)
        for name in (each for one in self.combinations for each in one):
            if name not in quasi:
                raise OptionError(
                    "combinations name column {name!r}, which is no quasi-identifier.{hint}",
                    name=name,
                    hint=did_you_mean(name, quasi),
                )
        style = self.style
        refused = (
            (self.previous or self.reserve > 1, "previous"),
            (self.algorithm != "auto" or self.algorithm_options, "algorithm"),
            (self.refine is not None, "refine"),
            (self.block_rows is not None, "block_rows"),
            (self.max_suppression > 0, "max_suppression"),
            (self.suppress_for != "all", "suppress_for"),
            (self.bound, "bound"),
            (self.within is not None, "within"),
            (style.numeric in ("mean", "median"), f"style numeric = {style.numeric!r}"),
            (style.shuffles, "shuffled cells"),
            (style.categories == "values", "style categories = 'values'"),
            (self.privacy and self.person is not None, "a promise beyond k where people have rows"),
        )
        for asked, what in refused:
            if asked:
                raise OptionError(
                    "A release against attackers of limited knowledge (knows, combinations) has a "
                    "search of its own and cannot be made with {what}; leave one of them out.",
                    what=what,
                )
        for model in self.privacy:
            if model.about != "groups" or not model.monotone:
                raise OptionError(
                    "{promise} cannot be promised for combinations of columns, only about the "
                    "groups of all of them; leave it out, or knows and combinations.",
                    promise=model.label,
                )

    @property
    def grids_by_default(self) -> bool:
        """Whether columns of which no grid is said may have one: exact cells have none."""
        return self.default_grid and not self.style.shuffles

    def _check_shuffled(self) -> None:
        """Raise if something is asked that exact cells cannot keep.

        Raises:
            OptionError: it is.
        """
        about = [model.label for model in self.privacy if model.about != "groups"]
        asked = {
            "a grid": any(self.details.get("grid", {}).values()),
            "previous": self.previous,
            "within": self.within,
            **dict.fromkeys(about, True),
        }
        for what, said in asked.items():
            if said:
                raise OptionError(
                    "Shuffled cells are exact values, so {what} cannot be kept; leave it out, or "
                    "publish generalised cells.",
                    what=what,
                )

    def schema(self, columns: Sequence[str]) -> Schema:
        """Return what the columns of a table are, by their names.

        Raises:
            RoleError: a column has no role, or two.
            OptionError: a detail of a column is wrong.
        """
        if self.style.shuffles:
            self._check_shuffled()
        if self.pseudonyms and self.person is None:
            raise OptionError(
                "pseudonyms are asked for, but no column says whose row it is; name it with "
                "person=... (--person on the command line)."
            )
        if self.rows_are_people and self.person is not None:
            raise OptionError(
                "Column {person!r} says whose row it is, and rows_are_people that every row "
                "is a different person; keep one of the two.",
                person=self.person,
            )
        roles = {role.option: getattr(self, role.option) for role in Role}
        schema = build_schema(columns, **roles, **self.details)
        moved = schema.moved_dates
        if moved and self.person is None and not self.rows_are_people:
            raise OptionError(
                "The dates of column {name!r} are to be moved for each person, but no column says "
                "whose row it is; name it with person=... (--person), or say rows_are_people=True "
                "(--rows-are-people).",
                name=next(iter(moved)),
            )
        known = [name for name in moved if name in schema.quasi_identifiers]
        compared = [model.label for model in self.privacy if model.about == "people"]
        if known and compared:
            raise OptionError(
                "{promise} compares with a population, whose dates are where they were, and those "
                "of column {name!r} are moved; make the column insensitive, drop it, or leave the "
                "promise out.",
                promise=compared[0],
                name=known[0],
            )
        uses = self.pseudonyms or schema.is_shifted
        if self.person_key is not None and (self.person is None or not uses):
            raise OptionError(
                "person_key is the key of pseudonyms and of moved dates, and neither is asked for; "
                "leave it out, or ask for them with person=... and pseudonyms=True (--pseudonyms) "
                "or dates={{...: 'shift'}} (--dates)."
            )
        return replace(schema, pseudonyms=self.pseudonyms)

    def parameters(self) -> dict[str, Any]:
        """Return what was asked for, in plain values; never the seed."""
        said = {row.name: getattr(self, row.name) for row in OPTIONS.values() if row.certificate}
        said["privacy"] = [model.to_dict() for model in self.privacy]
        return said


COLUMN_DETAILS: dict[str, Option] = {
    row.option: Option(
        help=row.help,
        flag=row.flag,
        functions=BOTH,
        detail=row.name,
        name=row.option,
        type=row.mapping,
        default=None,
    )
    for row in COLUMN_ROWS.values()
}
"""Options that say something about single columns."""

OPTIONS: dict[str, Option] = {}
"""The options of a run, by name; those about single columns where a request has its details."""
_rows = {row.name: row for row in rows_of(Request)}
for _field in fields(Request):
    OPTIONS |= COLUMN_DETAILS if _field.name == "details" else {_field.name: _rows[_field.name]}

COLUMN_OPTIONS = (*(role.option for role in Role), *COLUMN_DETAILS)
"""Those that say what the columns are."""


# -- making a request: every file that it names is opened once -----------------------------------


def build_request(
    options: Mapping[str, Any], *, reading: Input | None = None, saving: str | None = None
) -> Request:
    """Return the request that these options of ``shoal.anonymize`` make.

    Hierarchies, populations and previous releases that are given as files are read here, and
    nowhere else in a run.

    Args:
        options: what was said, by the names of the options.
        reading: how the table of the run is read; populations are read likewise.
        saving: the release file that is about to be written.

    Raises:
        OptionError: an option does not exist, is out of range, or has to be given.
        ShoalError: a file cannot be read.
    """
    for name in options:
        if name not in OPTIONS:
            raise OptionError(
                "There is no option {name!r}.{hint}", name=name, hint=did_you_mean(name, OPTIONS)
            )
    for name, row in OPTIONS.items():
        if row.default is REQUIRED and name not in options:
            raise OptionError("{name} is not given; say it as for shoal.anonymize.", name=name)
    details = {name: options[name] for name in COLUMN_DETAILS if options.get(name) is not None}
    rest = {name: value for name, value in options.items() if name not in COLUMN_DETAILS}
    request = Request(**rest, details=details)
    if saving is not None and request.is_limited:
        raise OptionError(NOT_KEPT)
    trees = request.details.get("hierarchies")
    if not (trees or request.privacy or request.previous or request.person_key is not None):
        return request
    request = replace(
        request,
        person_key=open_key(request.person_key),
        details={**request.details, **({"hierarchies": _open_hierarchies(trees)} if trees else {})},
        privacy=open_populations(request.privacy, reading, details=request.details),
    )
    if not request.previous:
        return request
    from shoal.archive.kept import open_previous

    return replace(request, previous=open_previous(request.previous, saving))


def open_key(given: Any) -> bytes | None:
    """Return the key of people that a file stands for.

    Raises:
        OptionError: it is not the name of a file, or others can read it.
        DataError: it cannot be read, or holds no key.
    """
    if given is None:
        return None
    if not isinstance(given, str | PathLike):
        raise OptionError("person_key must be the name of a file that 'shoal secret' has written.")
    from shoal.io.keys import read_secret
    from shoal.table.person_key import key_of_people

    return key_of_people(read_secret(given))


def _open_hierarchies(given: Any) -> Any:
    """Return the hierarchies with those that are files read; what is wrong is said later."""
    from shoal.hierarchy import load_hierarchy  # loads numpy
    from shoal.hierarchy.rules import as_rule

    if not isinstance(given, Mapping):
        return given
    return {
        name: as_rule(each) or load_hierarchy(each) if isinstance(each, str | PathLike) else each
        for name, each in given.items()
    }


def open_populations(
    models: Sequence[PrivacyModel],
    source: Input | None = None,
    given: Any = None,
    *,
    details: Mapping[str, Any] | None = None,
) -> tuple[PrivacyModel, ...]:
    """Return the models with their populations as tables.

    Args:
        models: what is promised.
        source: how the table of the run is read; populations are read likewise, but their
            columns are called as in the release, as for whoever verifies it.
        given: the population of those that have none of their own.
        details: what is said about the columns of the table, by the options of `JobColumn`.

    Raises:
        DataError: a file cannot be read.
    """
    from shoal.privacy.release_wide import PopulationModel

    tables: dict[str, Any] = {}
    found = []
    for model in models:
        if not isinstance(model, PopulationModel):
            found.append(model)
            continue
        people = given if model.population is None else model.population
        if isinstance(people, str | PathLike):
            path = str(people)
            if path not in tables:
                tables[path] = _read(path, source, details)
            people = tables[path]
        found.append(replace(model, population=people))  # type: ignore[type-var]  # they are dataclasses
    return tuple(found)


def _read(path: str, source: Input | None, details: Mapping[str, Any] | None) -> Any:
    from shoal.io.read import read_table
    from shoal.settings.inputs import read_input

    if source is None:
        return read_table(path, read_as=(details or {}).get("read_as"))
    source = replace(source, path=path, more=(), format=None, sheet=None, rename=None)
    return read_input(source, details=details)
