"""What is asked on the command line: the flags, laid over a job file, are a job."""

from __future__ import annotations

import functools
import inspect
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from shoal.cli.program import show_traces
from shoal.errors import OptionError
from shoal.options import Flag, Option
from shoal.settings.files import INPUT_OPTIONS, OUTPUT_OPTIONS, Input
from shoal.settings.request import OPTIONS
from shoal.table.schema import Role

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shoal.settings.job import Job, JobColumn


# Flags that several commands take, made from the tables of options, and how they are read.
#
# A command names a group as one argument and receives it whole; ``takes_flags`` shows typer the
# single flags, those of the table that this command has::
#
#     @takes_flags()
#     def command(source: ..., *, asked: Asked, reading: Reading) -> None: ...
#
# A group of a table comes as a dictionary of what was said, by the name of the option; the flag of
# one entry of an option (``--effort``) as a key ``(option, entry)``.

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
            raise OptionError(
                "{option} must look like {option} {example}, not {text!r}.",
                option=option,
                example=example,
                text=text,
            )
        if name in pairs:
            raise OptionError(
                "{option} is given twice for {name!r}; keep one.", option=option, name=name
            )
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


# A column has one way to be generalised: a flag for one of these replaces the job's others.
_WAYS = ("hierarchy", "kind", "order")


def job_of(
    path: str | None,
    asked: Said,
    *,
    promises: PrivacyFlags | None = None,
    source: str | Sequence[str] | None = None,
    reading: Said | None = None,
    writing: Said | None = None,
) -> Job:
    """Return the job of a file with the flags of a command laid over it.

    Args:
        path: the job file; None starts from an empty job.
        asked: what the flags ask of the run.
        promises: what they promise beyond k.
        source: the table, if it is given on the command line.
        reading: what they say about the input.
        writing: what they say about the output.

    Raises:
        OptionError: a flag cannot be read.
        RoleError: two flags give a column a role.
        JobError: the job file cannot be read.
    """
    from shoal.settings.job import JOB_OPTIONS, Job
    from shoal.settings.job_file import read_job

    job = Job() if path is None else read_job(path)
    options = dict(job.options)
    for place, value in asked.items():
        name, part = place if isinstance(place, tuple) else (place, None)
        row = OPTIONS[name]
        if name not in JOB_OPTIONS:
            continue
        if part is not None:
            options[name] = {**options.get(name, {}), part: value}
        elif row.plain_type.startswith("Mapping"):
            assert row.flag is not None
            pairs = parse_pairs(row.flag.names[0], value, row.flag.example or "")
            given = {each: parse_value(text) for each, text in pairs.items()}
            options[name] = {**options.get(name, {}), **given}
        else:
            options[name] = value
    if ("algorithm_options", "effort") in asked:
        _check_effort(options)
    if promises is not None:
        options["privacy"] = merge_privacy(job, promises)
    return Job(
        input=input_of(job.input, source, reading or {}),
        output=replace(job.output, **(writing or {})),
        columns=_columns(job.columns, asked),
        **options,
    )


def release_of(job: Job, path: str, reading: Said, *, alone: bool = False) -> Input:
    """Return how a release is read: as the job would have written it.

    Args:
        job: the job, with the flags laid over it.
        path: of the release.
        reading: what the flags say about reading.
        alone: whether they are about the release, since no other table is read.
    """
    names = ("encoding", "header") if alone else ()
    usual = ("encoding", "header", "decimal", "rename")
    said = {name: INPUT_OPTIONS[name].default for name in usual}
    said |= {name: reading[name] for name in names if name in reading}
    said["more"] = ()
    said["format"] = reading.get("format", job.output.format)
    return replace(job.input, path=path, **said)


def _check_effort(options: Mapping[str, Any]) -> None:
    algorithm = options.get("algorithm", "auto")
    if algorithm != "auto":
        raise OptionError(
            "--effort belongs to the algorithm 'auto', but {algorithm!r} is asked for; use "
            "--refine to improve what it finds.",
            algorithm=algorithm,
        )


def input_of(before: Input, source: str | Sequence[str] | None, said: Said) -> Input:
    """Return how a table is read, with the flags of a command laid over what was said before.

    Raises:
        OptionError: a flag cannot be read.
    """
    values = dict(said)
    if "missing_values" in said:
        values["missing_values"] = ("", *parse_names([said["missing_values"]]))
    flag = INPUT_OPTIONS["rename"].flag
    if flag is not None and "rename" in said:
        given = parse_pairs(flag.names[0], said["rename"], flag.example or "")
        values["rename"] = {**(before.rename or {}), **given}
    if source:
        values["path"], *more = [source] if isinstance(source, str) else source
        values["more"] = more
    return replace(before, **values)


def _columns(before: Mapping[str, JobColumn], asked: Said) -> dict[str, JobColumn]:
    """Return the columns with the flags laid over them.

    A column named by a flag has that flag's role, whatever the job says about it; what the job
    says about a quasi-identifier is void once a flag gives it another role.
    """
    from shoal.settings.job import JobColumn
    from shoal.table.scale import check_scale
    from shoal.table.schema import parse_kind, roles_of

    columns = dict(before)
    given = roles_of({role: parse_names(asked.get(role.option)) for role in Role})
    for name, role in given.items():
        # Last, as if the job had named it there: tables are read column by column anyway.
        old = columns.pop(name, JobColumn())
        stays = role in (Role.QUASI_IDENTIFIER, old.role)
        columns[name] = replace(old, role=role) if stays else JobColumn(role=role)
    named = {way: _named(asked, way) for way in _WAYS}
    read: dict[str, Callable[[str, str], Any]] = {
        "hierarchy": lambda _, text: Path(text),
        "kind": lambda name, text: parse_kind(text, column=name),
        "order": lambda _, text: tuple(parse_names([text])),
        "weight": _number,
        "grid": _grid,
        "scale": lambda name, text: check_scale(text.strip(), column=name),
    }
    for row in OPTIONS.values():
        if row.detail is None or row.flag is None:
            continue
        pairs = parse_pairs(row.flag.names[0], asked.get(row.name), row.flag.example or "")
        for name, text in pairs.items():
            changes: dict[str, Any] = {row.detail: read[row.detail](name, text)}
            if row.detail in _WAYS:
                changes = {way: None for way in _WAYS if name not in named[way]} | changes
            columns[name] = replace(columns.get(name, JobColumn()), **changes)
    return columns


def _named(asked: Said, detail: str) -> set[str]:
    """Return the columns that a flag says this about."""
    row = next(row for row in OPTIONS.values() if row.detail == detail)
    return {text.partition("=")[0].strip() for text in asked.get(row.name, ())}


def _grid(name: str, text: str) -> str:
    from shoal.table.grid import parse_grid

    parse_grid(text.strip(), column=name)
    return text.strip()


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise OptionError(
            "--weight of {name!r} must be a number, not {text!r}.", name=name, text=text
        ) from None


def merge_privacy(job: Job, flags: PrivacyFlags) -> list[dict[str, Any]]:
    """Return the privacy models of the job and the flags, as tables of a job file.

    A model given by a flag replaces what the job says about the same model.

    Raises:
        OptionError: a flag refines a promise that is not given.
    """
    given = _given_models(flags)
    named = {model["model"] for model in given}
    return [*(dict(model) for model in job.privacy if model["model"] not in named), *given]


def _given_models(flags: PrivacyFlags) -> list[dict[str, Any]]:
    for value, option, needed in (
        (flags.l_kind, "--l-kind", "--l-diversity"),
        (flags.l_c, "--l-c", "--l-diversity"),
        (flags.t_distance, "--t-distance", "--t-closeness"),
        (flags.beta_kind, "--beta-kind", "--beta-likeness"),
        (flags.ke_values, "--ke-values", "--ke-range"),
        (flags.presence_min, "--presence-min", "--presence-max"),
    ):
        if value is not None and getattr(flags, needed[2:].replace("-", "_")) is None:
            raise OptionError(
                "{option} refines {needed}, which is not given.", option=option, needed=needed
            )
    about_values: list[tuple[str, dict[str, Any]]] = [
        ("l-diversity", {"l": flags.l_diversity, "kind": flags.l_kind, "c": flags.l_c}),
        ("t-closeness", {"t": flags.t_closeness, "distance": flags.t_distance}),
        ("alpha-k", {"alpha": flags.alpha}),
        ("beta-likeness", {"beta": flags.beta_likeness, "kind": flags.beta_kind}),
        ("delta-disclosure", {"delta": flags.delta_disclosure}),
        ("ke-anonymity", {"e": flags.ke_range, "k": flags.ke_values}),
    ]
    models = _asked_for(about_values, column=flags.privacy_column)
    if flags.privacy_column is not None and not models:
        message = (
            "--privacy-column names the column of --l-diversity, --t-closeness, --alpha, "
            "--beta-likeness, --delta-disclosure or --ke-range."
        )
        raise OptionError("{message} Give one of them.", message=message)
    people = {"population": flags.population, "counts": flags.population_counts}
    about_people: list[tuple[str, dict[str, Any]]] = [
        ("k-map", {"k": flags.k_map}),
        ("delta-presence", {"delta_max": flags.presence_max, "delta_min": flags.presence_min}),
    ]
    about_risk: list[tuple[str, dict[str, Any]]] = [
        ("population-risk", {"limit": flags.average_risk, "kind": "average"}),
        ("population-risk", {"limit": flags.highest_risk, "kind": "highest"}),
        ("population-risk", {"limit": flags.population_uniques, "kind": "uniques"}),
    ]
    of_all = _asked_for(about_people, **people)
    if not of_all and any(value is not None for value in people.values()):
        raise OptionError(
            "--population is the table of --k-map and --presence-max; give one of them."
        )
    risks = _asked_for(about_risk, population_size=flags.population_size)
    if not risks and flags.population_size is not None:
        raise OptionError(
            "--population-size belongs to --average-risk, --highest-risk and "
            "--population-uniques; give one of them."
        )
    return [*models, *of_all, *risks]


def _asked_for(models: list[tuple[str, dict[str, Any]]], **more: Any) -> list[dict[str, Any]]:
    """Return the tables of the models whose first option is given, with what all of them take."""
    return [
        {"model": name}
        | {key: value for key, value in (options | more).items() if value is not None}
        for name, options in models
        if next(iter(options.values())) is not None
    ]
