"""What is asked on the command line: the flags, laid over a job file, are a job."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.cli.flags import PrivacyFlags, Said
from shoal.cli.options import parse_names, parse_pairs, parse_value
from shoal.errors import OptionError
from shoal.settings.files import INPUT_OPTIONS, OUTPUT_OPTIONS, Input, Output
from shoal.settings.request import OPTIONS
from shoal.table.schema import Role

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from shoal.settings.job import Job, JobColumn

__all__ = ["input_of", "job_of", "merge_privacy", "noting_written", "release_of"]

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
    from shoal.settings.inputs import note_hierarchies
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
    wanted = Job(
        input=input_of(job.input, source, reading or {}),
        output=_output(job.output, writing or {}),
        columns=_columns(job.columns, asked),
        **options,
    )
    note_hierarchies(wanted)
    return wanted


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
            f"--effort belongs to the algorithm 'auto', but {algorithm!r} is asked for; "
            "use --refine to improve what it finds."
        )


def input_of(before: Input, source: str | Sequence[str] | None, said: Said) -> Input:
    """Return how a table is read, with the flags of a command laid over what was said before.

    Raises:
        OptionError: a flag cannot be read.
    """
    values = {name: getattr(before, name) for name in INPUT_OPTIONS} | said
    if "missing_values" in said:
        values["missing_values"] = ("", *parse_names([said["missing_values"]]))
    flag = INPUT_OPTIONS["rename"].flag
    if flag is not None and "rename" in said:
        given = parse_pairs(flag.names[0], said["rename"], flag.example or "")
        values["rename"] = {**(before.rename or {}), **given}
    if source:
        values["path"], *more = [source] if isinstance(source, str) else source
        values["more"] = more
    return Input(**values)


def _output(before: Output, said: Said) -> Output:
    return Output(**{name: getattr(before, name) for name in OUTPUT_OPTIONS} | said)


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
        raise OptionError(f"--weight of {name!r} must be a number, not {text!r}.") from None


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
            raise OptionError(f"{option} refines {needed}, which is not given.")
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
        raise OptionError(f"{message} Give one of them.")
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


def noting_written(
    progress: Callable[[int, int, str], None],
) -> Callable[[int, int, str], None]:
    """Return a progress function that remembers when the output is in place."""
    from shoal.cli.run import note_written
    from shoal.settings.run_job import WRITTEN

    def report(done: int, total: int, what: str) -> None:
        if what == WRITTEN:
            note_written()
        else:
            progress(done, total, what)

    return report
