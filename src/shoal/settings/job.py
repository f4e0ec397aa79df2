"""The job file: everything a run needs to know, as TOML that people read and edit."""

from __future__ import annotations

import contextlib
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import date, datetime, time
from os import PathLike
from pathlib import Path
from typing import Any

from shoal.errors import JobError, OptionError, RoleError, did_you_mean
from shoal.inputs import refuse_input
from shoal.limits import read_side_file
from shoal.schema import Kind, Role, parse_kind, parse_role

__all__ = ["Job", "JobColumn", "format_job", "read_job", "write_job"]

_ROLE_OPTIONS = {
    Role.QUASI_IDENTIFIER: "quasi_identifiers",
    Role.SENSITIVE: "sensitive",
    Role.IDENTIFIER: "identifiers",
    Role.INSENSITIVE: "insensitive",
    Role.DROP: "drop",
}
_TYPES = {
    "bool": "a truth value",
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "list": "a list",
    "dict": "a table",
}
# The parts of a job that are TOML tables rather than plain keys.
_TABLES = frozenset({"style", "algorithm_options", "measure_options", "privacy", "columns"})


@dataclass(frozen=True, kw_only=True)
class JobColumn:
    """What a job file says about one column (``[columns.age]``).

    Attributes:
        role: what happens to the column.
        kind: how it is generalised; None is inferred from the data.
        hierarchy: the file of its hierarchy.
        weight: how much a loss in it counts.
        order: its values from low to high, when it is ordinal.
    """

    role: Role
    kind: Kind | None = None
    hierarchy: Path | None = None
    weight: float = 1.0
    order: tuple[str, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class Job:
    """A run as a job file describes it; None is "not said here".

    Attributes:
        k: nobody stands out from fewer than this many.
        algorithm: name of the algorithm.
        measure: name of the measure that is minimised.
        max_suppression: share of the rows that may be dropped as outliers.
        missing: how missing values are treated.
        seed: of the run's random generator.
        threads: how many threads to use.
        block_rows: tables above this size are cut into blocks.
        refine: how hard the result is refined.
        missing_values: what stands for a missing value in a text file.
        style: how published cells look.
        algorithm_options: options of the algorithm.
        measure_options: options of the measure.
        privacy: further promises, each with a ``model`` and that model's options.
        columns: the role, kind, hierarchy, weight and order of each column.
    """

    k: int | None = None
    algorithm: str | None = None
    measure: str | None = None
    max_suppression: float | None = None
    missing: str | None = None
    seed: int | None = None
    threads: int | None = None
    block_rows: int | None = None
    refine: str | None = None
    missing_values: tuple[str, ...] | None = None
    style: Mapping[str, Any] = field(default_factory=dict)
    algorithm_options: Mapping[str, Any] = field(default_factory=dict)
    measure_options: Mapping[str, Any] = field(default_factory=dict)
    privacy: tuple[Mapping[str, Any], ...] = ()
    columns: Mapping[str, JobColumn] = field(default_factory=dict)

    def schema_options(self) -> dict[str, Any]:
        """Return the columns as the keyword arguments of ``shoal.schema.build_schema``."""
        options: dict[str, Any] = {option: [] for option in _ROLE_OPTIONS.values()}
        options |= {"hierarchies": {}, "kinds": {}, "orders": {}, "weights": {}}
        for name, column in self.columns.items():
            options[_ROLE_OPTIONS[column.role]].append(name)
            for option, value in (
                ("hierarchies", column.hierarchy),
                ("kinds", column.kind),
                ("orders", column.order),
                ("weights", None if column.weight == 1.0 else column.weight),
            ):
                if value is not None:
                    options[option][name] = value
        return options


def read_job(path: str | PathLike[str]) -> Job:
    """Read a job file.

    Relative hierarchy paths are resolved against the folder of the job file, so a job works
    from wherever it is started.

    Raises:
        JobError: the file cannot be read, is not TOML, or holds an unknown key or a value of
            the wrong type; the message names the key's place.
    """
    file = Path(path)
    try:
        text = read_side_file(file, "the job file").decode("utf-8-sig")
    except FileNotFoundError:
        raise JobError(f"There is no job file {str(file)!r}.") from None
    except UnicodeDecodeError:
        message = f"The job file {str(file)!r} is not UTF-8 text; save it again as UTF-8."
        raise JobError(message) from None
    except OSError as error:
        raise JobError(f"The job file {str(file)!r} cannot be read: {error.strerror}.") from None
    try:
        tables = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise JobError(f"The job file {str(file)!r} is not valid TOML: {error}.") from None
    return _Reader(file).job(tables)


@dataclass(frozen=True)
class _Reader:
    """Checks the tables of one job file; errors name the file and the key's place."""

    file: Path

    def job(self, tables: dict[str, Any]) -> Job:
        self.known(tables, [each.name for each in fields(Job)], "")
        return Job(
            k=self.integer(tables, "k"),
            algorithm=self.text(tables, "algorithm"),
            measure=self.text(tables, "measure"),
            max_suppression=self.number(tables, "max_suppression"),
            missing=self.text(tables, "missing"),
            seed=self.integer(tables, "seed"),
            threads=self.integer(tables, "threads"),
            block_rows=self.integer(tables, "block_rows"),
            refine=self.text(tables, "refine"),
            missing_values=self.texts(tables, "missing_values"),
            style=self.table(tables, "style"),
            algorithm_options=self.table(tables, "algorithm_options"),
            measure_options=self.table(tables, "measure_options"),
            privacy=self.privacy(tables.get("privacy", [])),
            columns={
                name: self.column(column, f"columns.{name}")
                for name, column in self.table(tables, "columns").items()
            },
        )

    def column(self, table: object, place: str) -> JobColumn:
        if not isinstance(table, dict):
            raise self.wrong(place, "a table", table)
        self.known(table, [each.name for each in fields(JobColumn)], place)
        name = place.removeprefix("columns.")
        role = self.text(table, "role", place)
        if role is None:
            message = (
                f"Column {name!r} has no role in {self.at(place)}; "
                f"add role = one of {', '.join(repr(each.value) for each in Role)}."
            )
            raise JobError(message)
        kind = self.text(table, "kind", place)
        hierarchy = self.text(table, "hierarchy", place)
        try:
            parsed_role = parse_role(role, column=name)
            parsed_kind = None if kind is None else parse_kind(kind, column=name)
        except (OptionError, RoleError) as error:
            raise JobError(f"In {self.at(place)}: {error}") from None
        weight = self.number(table, "weight", place)
        return JobColumn(
            role=parsed_role,
            kind=parsed_kind,
            hierarchy=None if hierarchy is None else self.file.parent / hierarchy,
            weight=1.0 if weight is None else weight,
            order=self.order(table, place),
        )

    def order(self, table: dict[str, Any], place: str) -> tuple[str, ...] | None:
        values = table.get("order")
        if values is None:
            return None
        if not isinstance(values, list) or any(isinstance(each, (list, dict)) for each in values):
            raise self.wrong(f"{place}.order", "a list of values from low to high", values)
        from shoal.hierarchy.labels import canonical_label

        return tuple(canonical_label(value) for value in values)

    def privacy(self, models: object) -> tuple[dict[str, Any], ...]:
        if not isinstance(models, list) or not all(isinstance(each, dict) for each in models):
            raise self.wrong("privacy", "written as [[privacy]] tables", models)
        for number, model in enumerate(models, start=1):
            if self.text(model, "model", f"privacy {number}") is None:
                message = (
                    f"[[privacy]] table {number} of {str(self.file)!r} names no model; "
                    "add, for example, model = 'l-diversity'."
                )
                raise JobError(message)
        return tuple(models)

    def table(self, tables: dict[str, Any], key: str) -> dict[str, Any]:
        value = tables.get(key, {})
        if not isinstance(value, dict):
            raise self.wrong(key, f"a table, written as [{key}]", value)
        return value

    def text(self, table: dict[str, Any], key: str, place: str = "") -> str | None:
        value = table.get(key)
        if value is not None and not isinstance(value, str):
            raise self.wrong(_join(place, key), "text in quotation marks", value)
        return value

    def integer(self, table: dict[str, Any], key: str) -> int | None:
        value = table.get(key)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise self.wrong(key, "a whole number", value)
        return value

    def number(self, table: dict[str, Any], key: str, place: str = "") -> float | None:
        value = table.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.wrong(_join(place, key), "a number", value)
        return float(value)

    def texts(self, table: dict[str, Any], key: str) -> tuple[str, ...] | None:
        value = table.get(key)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise self.wrong(key, "a list of texts, as in ['', '?']", value)
        return tuple(value)

    def known(self, table: dict[str, Any], keys: list[str], place: str) -> None:
        for key in table:
            if key not in keys:
                hint = did_you_mean(key, keys) or f" Known keys: {', '.join(keys)}."
                raise JobError(f"Unknown key {key!r} in {self.at(place)}.{hint}")

    def at(self, place: str) -> str:
        return f"[{place}] of {str(self.file)!r}" if place else repr(str(self.file))

    def wrong(self, place: str, expected: str, given: object) -> JobError:
        found = _TYPES.get(type(given).__name__, "a date or time")
        message = f"{place} in {str(self.file)!r} must be {expected}, not {found}."
        return JobError(message)


def _join(place: str, key: str) -> str:
    return f"{place}.{key}" if place else key


def write_job(
    job: Job, path: str | PathLike[str], comments: Mapping[str, str] | None = None
) -> None:
    """Write a job file, whole or not at all; see ``format_job`` for the comments.

    Hierarchy files in or below the job's folder are written relative to it, so that the folder
    can be moved.
    """
    file = Path(path)
    refuse_input(file, "the job file")
    data = format_job(job, comments, folder=file.parent).encode()
    partial = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        partial.write_bytes(data)
        partial.replace(file)
    except BaseException as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        if isinstance(error, OSError):
            message = f"Could not write the job file {str(file)!r}: {error.strerror}."
            raise JobError(message) from None
        raise


def format_job(
    job: Job,
    comments: Mapping[str, str] | None = None,
    *,
    folder: str | PathLike[str] | None = None,
) -> str:
    """Return the job as TOML text that ``read_job`` reads back as the same job.

    Args:
        job: what to write.
        comments: text to put above a place: ``""`` is the top of the file, ``"k"`` a key,
            ``"columns.age"`` a table, ``"columns.age.role"`` a key in it, ``"privacy.0"`` the
            first ``[[privacy]]`` table.
        folder: hierarchy paths in or below it are written relative to it.
    """
    lines = list(_job_lines(job, dict(comments or {}), folder))
    text = "\n".join(lines).strip("\n") + "\n"
    try:
        text.encode()
    except UnicodeEncodeError:
        message = "The job holds text that is not valid Unicode and cannot be written to a file."
        raise JobError(message) from None
    return text


def _job_lines(
    job: Job, comments: dict[str, str], folder: str | PathLike[str] | None
) -> Iterator[str]:
    if "" in comments:
        yield from _comment(comments[""])
        yield ""
    # TOML wants plain keys before the first table.
    plain = [each.name for each in fields(Job) if each.name not in _TABLES]
    yield from _pairs({name: getattr(job, name) for name in plain}, "", comments)
    for name in ("style", "algorithm_options", "measure_options"):
        if getattr(job, name):
            yield from _table(f"[{name}]", name, getattr(job, name), comments)
    for number, model in enumerate(job.privacy):
        yield from _table("[[privacy]]", f"privacy.{number}", model, comments)
    for name, column in job.columns.items():
        values = {
            "role": column.role.value,
            "kind": None if column.kind is None else column.kind.value,
            "hierarchy": None if column.hierarchy is None else _relative(column.hierarchy, folder),
            "weight": None if column.weight == 1.0 else column.weight,
            "order": column.order,
        }
        yield from _table(f"[columns.{_key(name)}]", f"columns.{name}", values, comments)


def _table(
    header: str, place: str, values: Mapping[str, Any], comments: dict[str, str]
) -> Iterator[str]:
    yield ""
    yield from _comment(comments.get(place))
    yield header
    yield from _pairs(values, place, comments)


def _pairs(values: Mapping[str, Any], place: str, comments: dict[str, str]) -> Iterator[str]:
    for key, value in values.items():
        if value is not None:
            yield from _comment(comments.get(_join(place, key)))
            yield f"{_key(key)} = {_toml(value, _join(place, key))}"


def _comment(text: str | None) -> Iterator[str]:
    for line in (text or "").splitlines():
        yield "# " + "".join(c if c.isprintable() or c == "\t" else " " for c in line)


def _relative(path: Path, folder: str | PathLike[str] | None) -> str:
    if folder is None:
        return str(path)
    base, full = Path(folder).resolve(), path.resolve()
    return full.relative_to(base).as_posix() if full.is_relative_to(base) else str(full)


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _string(key)


def _string(text: str) -> str:
    # The short escapes of TOML, and \uXXXX for every other character it bans from a string.
    short = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    escaped = "".join(
        short.get(c) or (f"\\u{ord(c):04X}" if ord(c) < 0x20 or ord(c) == 0x7F else c) for c in text
    )
    return f'"{escaped}"'


def _toml(value: object, place: str) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return _string(value)
        case int() | float():
            return repr(value)
        case datetime() | date() | time():
            return value.isoformat()
        case list() | tuple():
            return "[" + ", ".join(_toml(each, place) for each in value) + "]"
        case Mapping():
            pairs = (f"{_key(k)} = {_toml(v, _join(place, k))}" for k, v in value.items())
            return "{" + ", ".join(pairs) + "}"
        case _:
            message = f"{place} is of type {type(value).__name__}, which a job file cannot hold."
            raise JobError(message)
