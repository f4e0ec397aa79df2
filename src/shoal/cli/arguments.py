"""What is asked on the command line: the flags, laid over a job file, are a job."""

from __future__ import annotations

import functools
import inspect
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from shoal.cli.state import choose_language, chosen_language, show_traces
from shoal.errors import OptionError
from shoal.messages.language import LANGUAGES
from shoal.options import ColumnOption, Flag, Option
from shoal.privacy.base import options_of
from shoal.registry import built_in, load
from shoal.settings.files import INPUT_OPTIONS, OUTPUT_OPTIONS, Input
from shoal.settings.request import OPTIONS
from shoal.table.schema import COLUMN_ROWS, JobColumn, Role, roles_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shoal.settings.job import Job


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
ChosenLanguage = Annotated[
    str | None,
    typer.Option(
        "--language",
        callback=choose_language,
        is_eager=True,
        help=f"The language of what is said and reported: {' or '.join(LANGUAGES)}; en unless "
        "given. JSON stays English.",
        metavar="CODE",
    ),
]
Original = Annotated[str, typer.Argument(metavar="DATA", help="The original table.")]
Published = Annotated[str, typer.Argument(metavar="RELEASE", help="The published table.")]
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


class _PromiseFlag(NamedTuple):
    """A flag of a promise: what it is called, and which option of which model it says.

    That of a model's first option makes the promise, perhaps of a kind; the others refine it.
    """

    flag: str
    key: str
    model: str
    option: str
    makes: bool
    kind: str | None


PROMISES: dict[str, Option] = {}
_PROMISE_FLAGS: list[_PromiseFlag] = []
for _model in built_in("privacy"):
    for _place, _row in enumerate(options_of(load("privacy", _model))):
        for _kind, _flag in (*(((None, _row.flag),) if _row.flag else ()), *_row.parts.items()):
            _name = _flag.names[0]
            _key = _name.removeprefix("--").replace("-", "_")
            PROMISES.pop(_key, None)  # what several share comes after the last of them
            PROMISES[_key] = replace(_row, name=_key, flag=_flag, parts={})
            _PROMISE_FLAGS.append(
                _PromiseFlag(_name, _key, _model, _row.name, makes=_place == 0, kind=_kind)
            )
PROMISES["privacy_column"] = PROMISES.pop("privacy_column")  # of all promises about groups

Promised = Annotated[Said, PROMISES]
"""What is promised beyond k."""

_TYPES = {"int": int, "float": float, "str": str, "tuple[str, ...]": str}
_ROLES = frozenset(role.option for role in Role)


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
            if _table_of(parameter.annotation) is not None
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


def with_common_flags(command: Callable[..., None]) -> Callable[..., None]:
    """Make a command for typer: it has the flags of all commands, which act where they are met."""
    declared = inspect.signature(command, eval_str=True)
    common = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, kind, default in (("debug", Debug, False), ("language", ChosenLanguage, None))
    ]

    @functools.wraps(command)
    def run(**given: Any) -> None:
        for each in common:
            del given[each.name]
        command(**given)

    shown = [*declared.parameters.values(), *common]
    run.__signature__ = declared.replace(parameters=shown)  # type: ignore[attr-defined]
    return run


Group = tuple[list[inspect.Parameter], Callable[[dict[str, Any]], Any]]


def _table_of(annotation: Any) -> dict[str, Option] | None:
    for each in getattr(annotation, "__metadata__", ()):
        if any(each is table for table in (OPTIONS, PROMISES, INPUT_OPTIONS, OUTPUT_OPTIONS)):
            return each  # type: ignore[no-any-return]
    return None


def _group_of(name: str, annotation: Any, command: str, help_texts: dict[str, str]) -> Group:
    table = _table_of(annotation) or {}
    shown: list[inspect.Parameter] = []
    places: dict[str, tuple[Any, bool | None]] = {}
    for row in table.values():
        parts: list[tuple[str | None, Flag]] = [(None, row.flag)] if row.flag else []
        for part, flag in (*parts, *row.parts.items()):
            if command not in flag.on:
                continue
            parameter = "_".join(filter(None, (name, row.name, part)))
            # what a flag without a value says; None for other flags
            switch = None if row.plain_type != "bool" else not flag.names[0].startswith("--no-")
            places[parameter] = row.name if part is None else (row.name, part), switch
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


# A column has one way to be generalised: a flag for one of these replaces the job's others.
_WAYS = ("hierarchy", "kind", "order")


def job_of(
    path: str | None,
    asked: Said,
    *,
    promises: Said | None = None,
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
        output=replace(
            job.output, **(writing or {}), language=chosen_language(job.output.language)
        ),
        columns=_columns(job.columns, asked),
        file=job.file,
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
    usual = ("encoding", "header", "decimal", "rename", "sheet")
    said = {name: INPUT_OPTIONS[name].default for name in usual}
    said |= {name: reading[name] for name in names if name in reading}
    said |= {"more": (), "extra_rows": "keep"}
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
    columns = dict(before)
    given = roles_of({role: parse_names(asked.get(role.option)) for role in Role})
    for name, role in given.items():
        # Last, as if the job had named it there: tables are read column by column anyway.
        old = columns.pop(name, JobColumn())
        stays = role in (Role.QUASI_IDENTIFIER, old.role)
        gone = {
            row.name: row.default
            for row in COLUMN_ROWS.values()
            if not (stays or (row.is_for(role) and row.is_for(None)))
        }
        columns[name] = replace(old, role=role, **gone)
    pairs = {
        row.name: parse_pairs(row.flag.names[0], asked.get(row.option), row.flag.example or "")
        for row in COLUMN_ROWS.values()
        if row.flag is not None
    }
    for detail, said in pairs.items():
        row = COLUMN_ROWS[detail]
        for name, text in said.items():
            value = _typed(row, name, text)
            checked = value if row.check is None else row.check(name, value)
            changes: dict[str, Any] = {detail: value if row.as_written else checked}
            if detail in _WAYS:
                changes = {way: None for way in _WAYS if name not in pairs[way]} | changes
            columns[name] = replace(columns.get(name, JobColumn()), **changes)
    return columns


def _typed(row: ColumnOption, name: str, text: str) -> Any:
    """Return what a flag says about a column, of the type that a job file would have."""
    if row.plain_type == "list":
        return parse_names([text])
    if row.plain_type != "float":
        return text
    try:
        return float(text)
    except ValueError:
        raise OptionError(
            "--{option} of {name!r} must be a number, not {text!r}.",
            option=row.name,
            name=name,
            text=text,
        ) from None


def merge_privacy(job: Job, flags: Said) -> list[dict[str, Any]]:
    """Return the privacy models of the job and the flags, as tables of a job file.

    A model given by a flag replaces what the job says about the same model.

    Raises:
        OptionError: a flag refines a promise that is not given.
    """
    given = _given_models(flags)
    named = {model["model"] for model in given}
    return [*(dict(model) for model in job.privacy if model["model"] not in named), *given]


def _given_models(flags: Said) -> list[dict[str, Any]]:
    """Return a table for each flag that makes a promise, with what the others say about it."""
    given = [each for each in _PROMISE_FLAGS if each.key in flags]
    made = {each.model for each in given if each.makes}
    for refining in given:
        models = {each.model for each in given if each.key == refining.key}
        if made & models:
            continue
        *some, last = [each.flag for each in _PROMISE_FLAGS if each.makes and each.model in models]
        if not some:
            raise OptionError(
                "{option} refines {needed}, which is not given.", option=refining.flag, needed=last
            )
        raise OptionError(
            "{option} belongs to {some} and {last}; give one of them.",
            option=refining.flag,
            some=", ".join(some),
            last=last,
        )
    return [
        {"model": each.model, each.option: flags[each.key]}
        | ({} if each.kind is None else {"kind": each.kind})
        | {
            more.option: flags[more.key]
            for more in given
            if more.model == each.model and not more.makes
        }
        for each in given
        if each.makes
    ]
