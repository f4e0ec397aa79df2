"""Flags that several commands take, made from the tables of options, and how they are read.

A command names a group as one argument and receives it whole; ``takes_flags`` shows typer the
single flags, those of the table that this command has::

    @takes_flags()
    def command(source: ..., *, asked: Asked, reading: Reading) -> None: ...

A group of a table comes as a dictionary of what was said, by the name of the option; the flag of
one entry of an option (``--effort``) as a key ``(option, entry)``.
"""

from __future__ import annotations

import functools
import inspect
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from typing import Annotated, Any, get_type_hints

import typer

from shoal.cli.run import show_traces
from shoal.errors import OptionError
from shoal.settings.files import INPUT_OPTIONS, OUTPUT_OPTIONS
from shoal.settings.options import Flag, Option
from shoal.settings.request import OPTIONS
from shoal.table.schema import Role

# An option in one of the panels of --help.
in_promises = partial(typer.Option, rich_help_panel="Promises")
in_files = partial(typer.Option, rich_help_panel="Files")


def typer_option(row: Option, flag: Flag | None = None, help: str | None = None) -> Any:  # noqa: A002 - typer's word
    """Return a row of a table of options as typer takes it."""
    flag = flag or row.flag
    assert flag is not None
    return typer.Option(
        *flag.names,
        help=help or flag.help or row.help,
        metavar=flag.metavar,
        rich_help_panel=flag.panel,
    )


Debug = Annotated[
    bool,
    typer.Option(
        "--debug", callback=show_traces, is_eager=True, help="Show the traceback of an error."
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="No progress and no summary; errors still show.")
]
Json = Annotated[
    bool,
    typer.Option("--json", help="Print the summary as JSON, and nothing else, to standard output."),
]
JobFile = Annotated[
    str | None,
    in_files("--job", help="A job file; options given here count more than it.", metavar="FILE"),
]


def parse_names(given: Iterable[str] | None) -> list[str]:
    """Return the column names of a repeatable option whose texts are separated by commas."""
    parts = (part.strip() for text in given or () for part in text.split(","))
    return [part for part in parts if part]


def parse_pairs(option: str, given: Sequence[str] | None, example: str) -> dict[str, str]:
    """Return the pairs of a repeatable option such as ``--kind zip=set``.

    Raises:
        OptionError: a text is no pair, or a column is given twice.
    """
    pairs: dict[str, str] = {}
    for text in given or ():
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals and value):
            raise OptionError(f"{option} must look like {option} {example}, not {text!r}.")
        if name in pairs:
            raise OptionError(f"{option} is given twice for {name!r}; keep one.")
        pairs[name] = value
    return pairs


def parse_value(text: str) -> Any:
    """Return a number or truth value if the text is one as a job file writes it, else the text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


Said = dict[Any, Any]
Asked = Annotated[Said, OPTIONS]
"""What is asked of the run: a column's role, k, the algorithm, …."""
Reading = Annotated[Said, INPUT_OPTIONS]
"""How the table is read."""
Writing = Annotated[Said, OUTPUT_OPTIONS]
"""What is written, and where."""

_TYPES = {"int": int, "float": float, "str": str, "tuple[str, ...]": str}
_ROLES = frozenset(role.option for role in Role)


@dataclass(frozen=True, kw_only=True)
class PrivacyFlags:
    """What is promised beyond k."""

    l_diversity: Annotated[
        float | None,
        in_promises(
            help="Every group holds L sensitive values; --l-kind says how they count.", metavar="L"
        ),
    ] = None
    l_kind: Annotated[
        str | None,
        in_promises(
            help="How they count: frequency, distinct, entropy or recursive.", metavar="KIND"
        ),
    ] = None
    l_c: Annotated[
        float | None, in_promises(help="The c of recursive (c,l)-diversity.", metavar="C")
    ] = None
    t_closeness: Annotated[
        float | None,
        in_promises(
            help="Sensitive values are spread in a group as in the table, up to T.", metavar="T"
        ),
    ] = None
    t_distance: Annotated[
        str | None,
        in_promises(help="How T is measured: equal, ordered or hierarchical.", metavar="DISTANCE"),
    ] = None
    alpha: Annotated[
        float | None,
        in_promises(help="No sensitive value has a larger share of a group.", metavar="ALPHA"),
    ] = None
    beta_likeness: Annotated[
        float | None,
        in_promises(
            help="No sensitive value gains more than BETA times its share in a group.",
            metavar="BETA",
        ),
    ] = None
    beta_kind: Annotated[
        str | None, in_promises(help="Which form: basic or enhanced.", metavar="KIND")
    ] = None
    delta_disclosure: Annotated[
        float | None,
        in_promises(
            help="Every sensitive value is about as frequent in a group as in the table; DELTA "
            "bounds the logarithm.",
            metavar="DELTA",
        ),
    ] = None
    ke_range: Annotated[
        float | None,
        in_promises(
            help="In every group, the largest sensitive number is at least E above the smallest.",
            metavar="E",
        ),
    ] = None
    ke_values: Annotated[
        int | None,
        in_promises(
            help="How many different numbers a group has at least, with --ke-range; 2 unless "
            "given.",
            metavar="K",
        ),
    ] = None
    k_map: Annotated[
        int | None,
        in_promises(
            help="Every published row fits at least K people of --population.", metavar="K"
        ),
    ] = None
    presence_max: Annotated[
        float | None,
        in_promises(
            help="The chance that a person of --population is in the table is at most DELTA.",
            metavar="DELTA",
        ),
    ] = None
    presence_min: Annotated[
        float | None,
        in_promises(
            help="And at least DELTA, with --presence-max; 0 unless given.", metavar="DELTA"
        ),
    ] = None
    population: Annotated[
        str | None,
        in_promises(
            help="The table of everybody who could be in the data, for --k-map and --presence-max.",
            metavar="FILE",
        ),
    ] = None
    population_counts: Annotated[
        str | None,
        in_promises(
            help="The column of --population that says how many people a row stands for.",
            metavar="COLUMN",
        ),
    ] = None
    average_risk: Annotated[
        float | None,
        in_promises(
            help="Whoever links every row with a person is right in at most this share.",
            metavar="SHARE",
        ),
    ] = None
    highest_risk: Annotated[
        float | None,
        in_promises(help="Nobody is found with a higher chance than this.", metavar="SHARE"),
    ] = None
    population_uniques: Annotated[
        float | None,
        in_promises(
            help="At most this share of the rows is estimated to be unique in the population.",
            metavar="SHARE",
        ),
    ] = None
    population_size: Annotated[
        int | None,
        in_promises(help="How many people the population has, for the three risks.", metavar="N"),
    ] = None
    privacy_column: Annotated[
        str | None,
        in_promises(
            help="The sensitive column these promises are about; all unless given.",
            metavar="COLUMN",
        ),
    ] = None


def takes_flags(**help_texts: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a command for typer: in place of each group of flags it has the flags themselves.

    Args:
        help_texts: by the name of an option, its line in this command's help, where another one
            than that of the table is better.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        declared = inspect.signature(command, eval_str=True)
        groups = {
            name: _group_of(name, parameter.annotation, command.__name__, help_texts)
            for name, parameter in declared.parameters.items()
            if is_dataclass(parameter.annotation) or _table_of(parameter.annotation) is not None
        }

        @functools.wraps(command)
        def run(**given: Any) -> None:
            for name, (_, collect) in groups.items():
                given[name] = collect(given)
            command(**given)

        shown: list[inspect.Parameter] = []
        for name, parameter in declared.parameters.items():
            shown += groups[name][0] if name in groups else [parameter]
        run.__signature__ = declared.replace(parameters=shown)  # type: ignore[attr-defined]
        return run

    return decorate


Group = tuple[list[inspect.Parameter], Callable[[dict[str, Any]], Any]]


def _table_of(annotation: Any) -> dict[str, Option] | None:
    for each in getattr(annotation, "__metadata__", ()):
        if each is OPTIONS or each is INPUT_OPTIONS or each is OUTPUT_OPTIONS:
            table: dict[str, Option] = each
            return table
    return None


def _group_of(name: str, annotation: Any, command: str, help_texts: dict[str, str]) -> Group:
    table = _table_of(annotation)
    if table is None:
        return _flags_of(annotation)
    shown: list[inspect.Parameter] = []
    places: dict[str, tuple[Any, bool | None]] = {}
    for row in table.values():
        parts: list[tuple[str | None, Flag]] = [(None, row.flag)] if row.flag else []
        for part, flag in (*parts, *row.parts.items()):
            if command not in flag.on:
                continue
            parameter = "_".join(filter(None, (name, row.name, part)))
            places[parameter] = row.name if part is None else (row.name, part), _switch(row, flag)
            shown.append(_parameter(parameter, row, part, flag, help_texts.get(row.name)))

    def collect(given: dict[str, Any]) -> Said:
        said: Said = {}
        for parameter, (place, switch) in places.items():
            value = given.pop(parameter)
            if switch is not None:
                value = switch if value else None
            if value is not None:
                said[place] = value
        return said

    return shown, collect


def _switch(row: Option, flag: Flag) -> bool | None:
    """Return what a flag without a value says; None for other flags."""
    return None if row.plain_type != "bool" else not flag.names[0].startswith("--no-")


def _parameter(
    name: str,
    row: Option,
    part: str | None,
    flag: Flag,
    help_text: str | None,
) -> inspect.Parameter:
    option = typer_option(row, flag, help_text)
    kind, default = _TYPES.get(row.plain_type, str), None
    if row.plain_type == "bool":
        annotation, default = Annotated[bool, option], False
    elif part is None and (row.name in _ROLES or row.plain_type.startswith(("Mapping", "list"))):
        annotation = Annotated[list[str] | None, option]
    else:
        annotation = Annotated[kind | None, option]
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def _flags_of(group: Any) -> Group:
    types = get_type_hints(group, include_extras=True)
    kind = inspect.Parameter.KEYWORD_ONLY
    shown = [
        inspect.Parameter(flag.name, kind, default=flag.default, annotation=types[flag.name])
        for flag in fields(group)
    ]
    return shown, lambda given: group(**{flag.name: given.pop(flag.name) for flag in fields(group)})
