"""What a run is to do: the job file, with the flags of the command line laid over it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shoal.cli.options import parse_names, parse_pairs, parse_value
from shoal.errors import OptionError
from shoal.inputs import note_input

if TYPE_CHECKING:
    import polars as pl

    from shoal.cli.flags import ColumnFlags, InputFlags, PrivacyFlags
    from shoal.recode import Style
    from shoal.settings.job import Job

__all__ = [
    "RunFlags",
    "build_style",
    "load_job",
    "merge",
    "merge_columns",
    "merge_privacy",
    "missing_texts",
    "parse_options",
    "read_input",
]

_ROLES = ("quasi_identifiers", "sensitive", "identifiers", "insensitive", "drop")
_DETAILS = ("hierarchies", "kinds", "orders", "weights")
# A column has one way to be generalised: a flag for one of these replaces the job's others.
_WAYS = ("hierarchies", "kinds", "orders")


@dataclass(frozen=True, kw_only=True)
class RunFlags:
    """The flags about the run itself."""

    k: int | None = None
    algorithm: str | None = None
    algorithm_option: Sequence[str] | None = None
    measure: str | None = None
    measure_option: Sequence[str] | None = None
    max_suppression: float | None = None
    missing: str | None = None
    seed: int | None = None
    threads: int | None = None
    block_rows: int | None = None
    refine: str | None = None
    effort: str | None = None
    bound: bool = False
    numeric_output: str | None = None
    shuffle: bool = True


_SCALARS = (
    "k",
    "algorithm",
    "measure",
    "max_suppression",
    "missing",
    "seed",
    "threads",
    "block_rows",
    "refine",
)


def load_job(path: str | None) -> Job:
    """Return the job of a file, or an empty one when there is none."""
    from shoal.settings.job import Job, read_job

    return Job() if path is None else read_job(path)


def merge(
    job: Job, columns: ColumnFlags, promises: PrivacyFlags, flags: RunFlags
) -> dict[str, Any]:
    """Return the keyword arguments of ``shoal.anonymize``; what nobody gave is left out.

    Raises:
        OptionError: a flag cannot be read, or k is given nowhere.
    """
    arguments: dict[str, Any] = {
        **merge_columns(job, columns),
        "privacy": merge_privacy(job, promises),
        "algorithm_options": parse_options(
            "--algorithm-option", flags.algorithm_option, job.algorithm_options
        ),
        "measure_options": parse_options(
            "--measure-option", flags.measure_option, job.measure_options
        ),
        "shuffle": flags.shuffle,
    }
    for name in _SCALARS:
        flag = getattr(flags, name)
        value = getattr(job, name) if flag is None else flag
        if value is not None:
            arguments[name] = value
    if flags.effort is not None:
        arguments["algorithm_options"] = _with_effort(arguments, flags.effort)
    if flags.bound:
        arguments["bound"] = True
    if "k" not in arguments:
        message = "k is not given: say from how many people nobody may stand out, with --k 10."
        raise OptionError(message)
    style = dict(job.style)
    if flags.numeric_output is not None:
        style["numeric"] = flags.numeric_output
    if style:
        arguments["style"] = build_style(style)
    return arguments


def _with_effort(arguments: Mapping[str, Any], effort: str) -> dict[str, Any]:
    """Return the options of the algorithm with ``--effort``, which only auto has."""
    algorithm = arguments.get("algorithm", "auto")
    if algorithm != "auto":
        raise OptionError(
            f"--effort belongs to the algorithm 'auto', but {algorithm!r} is asked for; "
            "use --refine to improve what it finds."
        )
    return {**arguments["algorithm_options"], "effort": effort}


def merge_columns(job: Job, flags: ColumnFlags) -> dict[str, Any]:
    """Return roles, kinds, hierarchies, orders and weights as ``shoal.anonymize`` takes them.

    A column named by a flag has that flag's role, whatever the job says about it.
    """
    options = job.schema_options()
    given = {
        "quasi_identifiers": parse_names(flags.qi),
        "sensitive": parse_names(flags.sensitive),
        "identifiers": parse_names(flags.identifier),
        "insensitive": parse_names(flags.insensitive),
        "drop": parse_names(flags.drop),
    }
    named = {name for names in given.values() for name in names}
    for role in _ROLES:
        options[role] = [name for name in options[role] if name not in named] + given[role]
    for detail in _DETAILS:
        # What the job says about a quasi-identifier is void once a flag gives it another role.
        void = named.difference(given["quasi_identifiers"])
        options[detail] = {n: value for n, value in options[detail].items() if n not in void}
    orders = parse_pairs("--order", flags.order, "size=small,medium,large")
    details: dict[str, dict[str, Any]] = {
        "hierarchies": dict(parse_pairs("--hierarchy", flags.hierarchy, "zip=zip.csv")),
        "kinds": dict(parse_pairs("--kind", flags.kind, "zip=set")),
        "orders": {name: parse_names([text]) for name, text in orders.items()},
    }
    for way in _WAYS:
        for other in _WAYS:
            if other != way:
                for name in details[way]:
                    options[other].pop(name, None)
    for way in _WAYS:
        options[way] |= details[way]
    for name, text in parse_pairs("--weight", flags.weight, "zip=2").items():
        options["weights"][name] = _number("--weight", name, text)
    for file in options["hierarchies"].values():
        note_input(file, "the hierarchy file")
    return options


def _number(option: str, name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise OptionError(f"{option} of {name!r} must be a number, not {text!r}.") from None


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
    ):
        if value is not None and getattr(flags, needed[2:].replace("-", "_")) is None:
            raise OptionError(f"{option} refines {needed}, which is not given.")
    models: list[dict[str, Any]] = []
    if flags.l_diversity is not None:
        models.append(
            {"model": "l-diversity", "l": flags.l_diversity, "kind": flags.l_kind, "c": flags.l_c}
        )
    if flags.t_closeness is not None:
        models.append(
            {"model": "t-closeness", "t": flags.t_closeness, "distance": flags.t_distance}
        )
    if flags.alpha is not None:
        models.append({"model": "alpha-k", "alpha": flags.alpha})
    if flags.privacy_column is not None and not models:
        message = "--privacy-column names the column of --l-diversity, --t-closeness or --alpha."
        raise OptionError(f"{message} Give one of them.")
    return [
        {
            key: value
            for key, value in (model | {"column": flags.privacy_column}).items()
            if value is not None
        }
        for model in models
    ]


def parse_options(
    option: str, given: Sequence[str] | None, job: Mapping[str, Any]
) -> dict[str, Any]:
    """Return ``--algorithm-option`` or ``--measure-option`` pairs laid over the job's."""
    pairs = parse_pairs(option, given, "name=value")
    return {**job, **{name: parse_value(text) for name, text in pairs.items()}}


def build_style(options: Mapping[str, Any]) -> Style:
    """Return the style of published cells."""
    from shoal.recode import Style

    return Style.from_dict(options)


def missing_texts(job: Job, flag: str | None) -> tuple[str, ...]:
    """Return what stands for a missing value in text files."""
    if flag is not None:
        return ("", *parse_names([flag]))
    return ("",) if job.missing_values is None else job.missing_values


def read_input(
    source: str,
    job: Job,
    flags: InputFlags,
    *,
    kinds: Mapping[str, Any],
    columns: Callable[[list[str]], Sequence[str]] | None = None,
    coded: bool = False,
    progress: Callable[[int, int, str], None] | None = None,
) -> pl.DataFrame:
    """Read the table of a command, with the job's and the flags' notion of a missing value.

    Args:
        source: file, stream or database.
        job: the job file.
        flags: how to read it.
        kinds: of columns.
        columns: picks the columns that are needed, before any row is read.
        coded: whether text stays codes.
        progress: told how far reading has come.
    """
    from shoal.io import read_table

    return read_table(
        source,
        format=flags.file_format,
        delimiter=flags.delimiter,
        missing_values=missing_texts(job, flags.missing_values),
        numeric=[name for name, kind in kinds.items() if kind == "numeric"],
        columns=columns,
        coded=coded,
        progress=progress,
    )
