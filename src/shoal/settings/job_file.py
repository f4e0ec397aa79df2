"""The job file: a job as TOML that people read and edit."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from datetime import date, datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, JobError, OptionError, RoleError, did_you_mean
from shoal.hierarchy.rules import HierarchyRule, as_rule
from shoal.io.atomic import atomic_write_text
from shoal.io.limits import read_side_file
from shoal.io.location import is_database
from shoal.io.overwrite_guard import refuse_input
from shoal.io.remote import is_remote
from shoal.messages import Message
from shoal.privacy.base import file_options
from shoal.settings.files import INPUT_OPTIONS, OUTPUT_OPTIONS, Input, Output
from shoal.settings.job import JOB_OPTIONS, MODELS, TABLE, Job, is_open
from shoal.settings.tables import (
    EVENT_OPTIONS,
    ITEMS,
    SHARED,
    TABLE_KEYS,
    TABLES,
    TableOfJob,
    TablesJob,
)
from shoal.table.schema import COLUMN_ROWS, JobColumn, Role, parse_role

if TYPE_CHECKING:
    from os import PathLike

    from shoal.options import ColumnOption, Option

_TYPES = {
    "bool": Message("a truth value"),
    "int": Message("a whole number"),
    "float": Message("a number"),
    "str": Message("text"),
    "list": Message("a list"),
    "dict": Message("a table"),
}
# What an option is in TOML, by its type.
_TEXTS = "tuple[str, ...]"
_FILES = "list[str]"
_LISTS = "list[list[str]]"
_WANTED = {
    "int": (int, Message("a whole number")),
    "float": (float, Message("a number")),
    "str": (str, Message("text in quotation marks")),
    "bool": (bool, Message("true or false")),
}


SCHEMA_FILE = "shoal.schema.json"
"""What the first line of a job made by ``shoal init`` calls the output of ``shoal schema``."""


SITES = "sites"
"""The table of a job file that several sites agree on (`shoal sites`)."""


class Outside(str):
    """A value of a job file that came from outside as a whole: a text, or what it says."""

    __slots__ = ()

    def plain(self) -> Any:
        """Return the number or truth value that it is as a job file writes one, else the text."""
        try:
            found = tomllib.loads(f"value = {self}")
        except tomllib.TOMLDecodeError:
            return str(self)
        value = found["value"]
        return value if len(found) == 1 and isinstance(value, int | float) else str(self)


_REFERENCE = re.compile(r"\$\$\{|\$\{(?:([A-Za-z_][A-Za-z0-9_]*)\})?")
"""``${NAME}``, or ``$${`` for the text ``${``; a ``${`` of another form has no name."""


def read_job(path: str | PathLike[str], *, outside: Mapping[str, str] | None = None) -> Job:
    """Read a job file.

    Relative paths are resolved against the folder of the job file, so a job works from wherever
    it is started. ``${NAME}`` in a text stands for a value from outside, ``$${`` for the text
    ``${``.

    Args:
        path: the file.
        outside: the values that ``${NAME}`` stands for; environment variables unless given.

    Raises:
        JobError: the file cannot be read, is not TOML, or holds an unknown key or a value of
            the wrong type; the message names the key's place.
    """
    file = Path(path)
    tables = _tables_of(file)
    if TABLES in tables:
        raise JobError(
            "The job file {file!r} names several tables; it is for 'shoal anonymize --job' and "
            "shoal.run_tables_job.",
            file=str(file),
        )
    known = os.environ if outside is None else outside
    return job_from_tables(_with_outside(tables, known, file, ""), file)


def read_tables_job(
    path: str | PathLike[str], *, outside: Mapping[str, str] | None = None
) -> TablesJob:
    """Read a job file that names several tables; see `read_job`.

    Raises:
        JobError: as `read_job`, or it names no tables.
    """
    file = Path(path)
    known = os.environ if outside is None else outside
    return _Reader(file).tables_job(_with_outside(_tables_of(file), known, file, ""))


def read_sites_job(path: str | PathLike[str]) -> tuple[Job, dict[str, Any]]:
    """Read a job of several sites; see `read_job`. Return the job, and its table ``[sites]``.

    Raises:
        JobError: as `read_job`, or there is no such table.
    """
    file = Path(path)
    tables = _with_outside(_tables_of(file), os.environ, file, "")
    sites = tables.pop(SITES, None)
    if not isinstance(sites, dict):
        raise JobError(
            "The job file {file!r} has no table [sites], which says who takes part.",
            file=str(file),
        )
    return job_from_tables(tables, file), sites


def names_tables(path: str | PathLike[str]) -> bool:
    """Tell whether a job file names several tables.

    Raises:
        JobError: it cannot be read.
    """
    return TABLES in _tables_of(Path(path))


def _tables_of(file: Path) -> dict[str, Any]:
    """Return what stands in a job file.

    Raises:
        JobError: it cannot be read, or is not TOML.
    """
    try:
        text = read_side_file(file, Message("the job file")).decode("utf-8-sig")
    except FileNotFoundError:
        raise JobError("There is no job file {file!r}.", file=str(file)) from None
    except UnicodeDecodeError:
        raise JobError(
            "The job file {file!r} is not UTF-8 text; save it again as UTF-8.", file=str(file)
        ) from None
    except OSError as error:
        raise JobError(
            "The job file {file!r} cannot be read: {strerror}.",
            file=str(file),
            strerror=error.strerror,
        ) from None
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        # Not the message: it may show a key or a letter of a file that was named by mistake.
        place = re.search(r"\(at (line (\d+), column (\d+)|end of document)\)$", str(error))
        where = ""
        if place is not None and place[2] is None:
            where = Message(" at the end of the document")
        elif place is not None:
            where = Message(" at line {line}, column {column}", line=place[2], column=place[3])
        raise JobError(
            "The job file {file!r} is not valid TOML{where}; look for a missing quotation "
            "mark or bracket, or a key that is there twice.",
            file=str(file),
            where=where,
        ) from None
    except RecursionError:
        raise JobError("The job file {file!r} is nested too deeply.", file=str(file)) from None


def _with_outside(value: Any, known: Mapping[str, str], file: Path, place: str) -> Any:
    """Return what a job file holds with the values that it takes from outside.

    Raises:
        JobError: there is no such value, or a reference to one is not written as one.
    """
    if isinstance(value, dict):
        return {k: _with_outside(v, known, file, _join(place, k)) for k, v in value.items()}
    if isinstance(value, list):
        return [_with_outside(each, known, file, place) for each in value]
    if not isinstance(value, str) or "${" not in value:
        return value

    def found(match: re.Match[str]) -> str:
        name = match[1]
        if match[0] == "$${":
            return "${"
        if name is None:
            raise JobError(
                "{place} in {file!r} holds '${{' without a name behind it; write '${{NAME}}' for a "
                "value from outside, or '$${{' for these characters.",
                place=place,
                file=str(file),
            )
        if name not in known:
            raise JobError(
                "{place} in {file!r} takes the value of {name!r} from outside, and there is none; "
                "set the environment variable {name}.",
                place=place,
                file=str(file),
                name=name,
            )
        return known[name]

    text = _REFERENCE.sub(found, value)
    whole = _REFERENCE.fullmatch(value)
    return Outside(text) if whole is not None and whole[1] else text


def _plain(value: Any) -> Any:
    """Return a table whose values from outside are numbers where they are written as such."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value.plain() if isinstance(value, Outside) else value


def job_from_tables(tables: dict[str, Any], file: Path) -> Job:
    """Return the job that the tables of a job file say.

    Raises:
        JobError: there is an unknown key or a value of the wrong type.
    """
    return _Reader(file).job(tables)


@dataclass(frozen=True)
class _Reader:
    """Checks the tables of one job file; errors name the file and the key's place."""

    file: Path

    def job(self, tables: dict[str, Any]) -> Job:
        sections = ["missing_values", "input", "output", "columns", "hierarchies"]
        self.known(tables, [*JOB_OPTIONS, *sections], "")
        files = {
            name: self.rows(self.table(tables, name), table, name)
            for name, table in (("input", INPUT_OPTIONS), ("output", OUTPUT_OPTIONS))
        }
        return Job(
            input=Input(**files["input"]),
            output=Output(**files["output"]),
            missing_values=self.texts(tables, "missing_values"),
            columns=self.columns(tables),
            file=self.file,
            **{
                name: self.value(tables, row) for name, row in JOB_OPTIONS.items() if name in tables
            },
        )

    def tables_job(self, tables: dict[str, Any]) -> TablesJob:
        known = _tables_options()
        self.known(tables, [*known, "missing_values", "input", "output", TABLES], "")
        shared = self.input(self.table(tables, "input"), "input")
        named = self.table(tables, TABLES)
        if not named:
            raise JobError(
                "The job file {file!r} names no tables; add [tables.patients] and what hangs "
                "from it.",
                file=str(self.file),
            )
        return TablesJob(
            tables={
                name: self.table_of_job(self.table(named, name, TABLES), f"{TABLES}.{name}")
                for name in named
            },
            input=replace(shared, missing_values=self.texts(tables, "missing_values")),
            output=Output(**self.rows(self.table(tables, "output"), OUTPUT_OPTIONS, "output")),
            options={
                name: self.value(tables, row) for name, row in known.items() if name in tables
            },
        )

    def input(self, table: dict[str, Any], place: str) -> Input:
        return Input(**self.rows(table, INPUT_OPTIONS, place))

    def table_of_job(self, table: dict[str, Any], place: str) -> TableOfJob:
        own: dict[str, Any] = {
            name: table[name] for name in ("columns", "hierarchies") if name in table
        }
        table = {name: value for name, value in table.items() if name not in own}
        items = []
        for name, column in self.table(own, "columns").items():
            if isinstance(column, dict) and column.get("kind") == ITEMS:
                items.append(name)
                own["columns"] = {**own["columns"], name: {**column, "kind": "infer"}}
        said = {name: self.text(table, name, place) for name in TABLE_KEYS}
        rest = {name: value for name, value in table.items() if name not in TABLE_KEYS}
        reading = [name for name in INPUT_OPTIONS if name != "missing_values"]
        self.known(rest, [*TABLE_KEYS, "columns", "hierarchies", *reading], place)
        return TableOfJob(
            columns=self.columns(own, f"{place}."),
            items=tuple(items),
            read=self.rows(rest, INPUT_OPTIONS, place),
            **said,
        )

    def columns(self, tables: dict[str, Any], above: str = "") -> dict[str, JobColumn]:
        """Return the columns, with the hierarchies of ``[hierarchies]``, which say the same."""
        found = {
            name: self.column(column, f"{above}columns.{name}")
            for name, column in self.table(tables, "columns").items()
        }
        for name, value in self.table(tables, "hierarchies").items():
            place = f"{above}hierarchies.{name}"
            column = found.get(name, JobColumn())
            if column.hierarchy is not None:
                raise JobError(
                    "Column {name!r} has a hierarchy in {at} and one in [columns.{name}]; "
                    "keep one of them.",
                    name=name,
                    at=self.at(place),
                )
            found[name] = replace(column, hierarchy=self.hierarchy(value, place))
        return found

    def rows(
        self, table: dict[str, Any], options: Mapping[str, Option], place: str
    ) -> dict[str, Any]:
        """Return the options of ``[input]`` or ``[output]``; files are beside the job file."""
        known = [name for name in options if name != "missing_values"]  # at the top of the file
        self.known(table, known, place)
        found = {name: self.value(table, options[name], place) for name in known if name in table}
        return {
            name: self.beside(value) if options[name].path else value
            for name, value in found.items()
            if value is not None
        }

    def beside(self, path: str | tuple[str, ...]) -> str | tuple[str, ...]:
        if isinstance(path, tuple):
            return tuple(str(self.beside(each)) for each in path)
        return path if _is_no_file(path) else str(self.file.parent / path)

    def value(self, table: dict[str, Any], row: Option, place: str = "") -> Any:
        if row.plain_type == MODELS:
            return self.privacy(_plain(table[row.name]))
        if row.plain_type == TABLE:
            return _plain(self.table(table, row.name, place))
        if row.plain_type == _TEXTS:
            return self.texts(table, row.name)
        if row.plain_type == _LISTS:
            return self.lists(table, row.name)
        if row.plain_type == _FILES:
            return self.beside(self.texts(table, row.name) or ())
        return self.scalar(table, row.name, row.plain_type, place)

    def scalar(self, table: dict[str, Any], key: str, kind: str, place: str = "") -> Any:
        value = table.get(key)
        if value is None:
            return None
        wanted, words = _WANTED[kind]
        if isinstance(value, Outside):
            value = str(value) if wanted is str else value.plain()
        is_number = wanted is float and isinstance(value, int) and not isinstance(value, bool)
        if is_number:
            return float(value)
        if not isinstance(value, wanted) or (wanted is not bool and isinstance(value, bool)):
            raise self.wrong(_join(place, key), words, value)
        return value

    def column(self, table: object, place: str) -> JobColumn:
        if not isinstance(table, dict):
            raise self.wrong(place, Message("a table"), table)
        self.known(table, [each.name for each in fields(JobColumn)], place)
        name = place.rpartition("columns.")[2]
        role = self.text(table, "role", place)
        if role is None:
            raise JobError(
                "Column {name!r} has no role in {at}; add role = one of {role}.",
                name=name,
                at=self.at(place),
                role=", ".join(repr(each.value) for each in Role),
            )
        said: dict[str, Any] = {}
        try:
            parsed_role = parse_role(role, column=name)
            for row in COLUMN_ROWS.values():
                value = self.detail(table, row, place)
                if value is not None and row.check is not None:
                    checked = row.check(name, value)
                    said[row.name] = value if row.as_written else checked
        except (OptionError, RoleError) as error:
            raise JobError("In {at}: {error}", at=self.at(place), error=error) from None
        return JobColumn(role=parsed_role, **said)

    def detail(self, table: dict[str, Any], row: ColumnOption, place: str) -> Any:
        """Return what a column's table says under one key, of the type that its row names."""
        value = table.get(row.name)
        if value is None:
            return None
        if isinstance(value, Outside) and row.plain_type.startswith("number"):
            value = value.plain()
        if row.plain_type == "hierarchy":
            return self.hierarchy(value, f"{place}.{row.name}")
        if row.plain_type == "list":
            if not isinstance(value, list) or any(isinstance(e, (list, dict)) for e in value):
                expected = Message("a list of values from low to high")
                raise self.wrong(f"{place}.{row.name}", expected, value)
            return value
        if row.plain_type == "number or text":
            if isinstance(value, bool) or not isinstance(value, int | float | str):
                raise self.wrong(f"{place}.{row.name}", Message("a number or text"), value)
            return value
        if row.plain_type == "number or date":
            if isinstance(value, bool) or not isinstance(value, int | float | str | date):
                raise self.wrong(f"{place}.{row.name}", Message("a number or a date"), value)
            return value
        return self.scalar(table, row.name, row.plain_type, place)

    def hierarchy(self, value: object, place: str) -> Path | HierarchyRule | None:
        if value is None:
            return None
        if isinstance(value, str):
            return as_rule(value) or self.file.parent / value
        if not isinstance(value, dict) or "rule" not in value:
            raise self.wrong(
                place, "the name of a file or a rule, as in {rule = 'prefix', keep = [3, 1]}", value
            )
        try:
            return HierarchyRule.of(value)
        except OptionError as error:
            raise JobError("In {at}: {error}", at=self.at(place), error=error) from None

    def privacy(self, models: object) -> tuple[dict[str, Any], ...]:
        if not isinstance(models, list) or not all(isinstance(each, dict) for each in models):
            raise self.wrong("privacy", Message("written as [[privacy]] tables"), models)
        for number, model in enumerate(models, start=1):
            if self.text(model, "model", f"privacy {number}") is None:
                raise JobError(
                    "[[privacy]] table {number} of {file!r} names no model; add, for example, "
                    "model = 'l-diversity'.",
                    number=number,
                    file=str(self.file),
                )
            for option in file_options(model["model"]):
                path = self.text(model, option, f"privacy {number}")
                if path is not None:
                    model[option] = str(self.file.parent / path)
        return tuple(models)

    def table(self, tables: dict[str, Any], key: str, place: str = "") -> dict[str, Any]:
        value = tables.get(key, {})
        if not isinstance(value, dict):
            key = _join(place, key)
            raise self.wrong(key, Message("a table, written as [{key}]", key=key), value)
        return value

    def text(self, table: dict[str, Any], key: str, place: str = "") -> str | None:
        value: str | None = self.scalar(table, key, "str", place)
        return value

    def texts(self, table: dict[str, Any], key: str) -> tuple[str, ...] | None:
        value = table.get(key)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise self.wrong(key, Message("a list of texts, as in ['', '?']"), value)
        return tuple(value)

    def lists(self, table: dict[str, Any], key: str) -> tuple[tuple[str, ...], ...]:
        value = table[key]
        if not isinstance(value, list) or not all(isinstance(each, list) for each in value):
            raise self.wrong(key, Message("lists of texts, as in [['age', 'zip']]"), value)
        return tuple(self.texts({key: each}, key) or () for each in value)

    def known(self, table: dict[str, Any], keys: list[str], place: str) -> None:
        for key in table:
            if key not in keys:
                hint = did_you_mean(key, keys) or Message(
                    " Known keys: {keys}.", keys=", ".join(keys)
                )
                raise JobError(
                    "Unknown key {key!r} in {at}.{hint}", key=key, at=self.at(place), hint=hint
                )

    def at(self, place: str) -> str:
        if not place:
            return repr(str(self.file))
        return Message("[{place}] of {file!r}", place=place, file=str(self.file))

    def wrong(self, place: str, expected: str, given: object) -> JobError:
        found = _TYPES.get(type(given).__name__, Message("a date or time"))
        return JobError(
            "{place} in {file!r} must be {expected}, not {found}.",
            place=place,
            file=str(self.file),
            expected=expected,
            found=found,
        )


def _join(place: str, key: str) -> str:
    return f"{place}.{key}" if place else key


def write_job(
    job: Job, path: str | PathLike[str], comments: Mapping[str, str] | None = None
) -> None:
    """Write a job file, whole or not at all; see ``format_job`` for the comments.

    Files in or below the job's folder are written relative to it, so that the folder can be
    moved.

    Raises:
        JobError: the file cannot be written, or the job holds what TOML cannot.
    """
    file = Path(path)
    refuse_input(file, Message("the job file"))
    text = format_job(job, comments, folder=file.parent)
    try:
        atomic_write_text(file, text)
    except DataError as error:
        raise JobError(error.message) from None


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
        folder: files in or below it are written relative to it.
    """
    return _text_of(_job_lines(job, dict(comments or {}), folder))


def format_tables_job(job: TablesJob, *, folder: str | PathLike[str] | None = None) -> str:
    """Return a job of several tables as TOML text that ``read_tables_job`` reads back as the same.

    Args:
        job: what to write.
        folder: files in or below it are written relative to it.
    """
    return _text_of(_tables_lines(job, folder))


def _text_of(lines: Iterator[str]) -> str:
    text = "\n".join(lines).strip("\n") + "\n"
    try:
        text.encode()
    except UnicodeEncodeError:
        raise JobError(
            "The job holds text that is not valid Unicode and cannot be written to a file."
        ) from None
    return text


def _job_lines(
    job: Job, comments: dict[str, str], folder: str | PathLike[str] | None
) -> Iterator[str]:
    if "" in comments:
        yield from _comment(comments[""])
        yield ""
    yield from _shared_lines(JOB_OPTIONS, job, comments, folder)
    for name, column in job.columns.items():
        place = f"columns.{name}"
        yield from _table(f"[columns.{toml_key(name)}]", place, _said_of(column, folder), comments)


def _tables_lines(job: TablesJob, folder: str | PathLike[str] | None) -> Iterator[str]:
    yield from _shared_lines(_tables_options(), job, {}, folder)
    for name, each in job.tables.items():
        place = f"{TABLES}.{toml_key(name)}"
        read = _files_said(Input(**each.read), INPUT_OPTIONS, folder)
        said = {**{key: getattr(each, key) for key in TABLE_KEYS}, **read}
        yield from _table(f"[{place}]", place, said, {})
        for column, one in each.columns.items():
            inside = f"{place}.columns.{toml_key(column)}"
            kind = {"kind": ITEMS} if column in each.items else {}
            yield from _table(f"[{inside}]", inside, {**_said_of(one, folder), **kind}, {})


def _tables_options() -> dict[str, Option]:
    """Return the options at the top of a job of several tables."""
    return {**{name: JOB_OPTIONS[name] for name in JOB_OPTIONS if name in SHARED}, **EVENT_OPTIONS}


def _shared_lines(
    rows: Mapping[str, Option],
    job: Job | TablesJob,
    comments: dict[str, str],
    folder: str | PathLike[str] | None,
) -> Iterator[str]:
    # TOML wants plain keys before the first table.
    plain = {name: job.options.get(name) for name, row in rows.items() if not is_open(row)}
    yield from _pairs({**plain, "missing_values": job.input.missing_values}, "", comments)
    for name, row in rows.items():
        if row.plain_type == TABLE and name in job.options:
            yield from _table(f"[{name}]", name, job.options[name], comments)
    for place, said in (
        ("input", _files_said(job.input, INPUT_OPTIONS, folder)),
        ("output", _files_said(job.output, OUTPUT_OPTIONS, folder)),
    ):
        if said:
            yield from _table(f"[{place}]", place, said, comments)
    for number, model in enumerate(job.options.get("privacy") or ()):
        yield from _table("[[privacy]]", f"privacy.{number}", model, comments)


def _files_said(
    files: Input | Output, options: Mapping[str, Option], folder: str | PathLike[str] | None
) -> dict[str, Any]:
    """Return what is said about files beyond what holds anyway."""
    return {
        name: _files(getattr(files, name), folder) if row.path else getattr(files, name)
        for name, row in options.items()
        if name != "missing_values" and getattr(files, name) != row.default
    }


def _said_of(column: JobColumn, folder: str | PathLike[str] | None) -> dict[str, Any]:
    return {
        "role": None if column.role is None else column.role.value,
        **{
            row.name: _detail(getattr(column, row.name), row, folder)
            for row in COLUMN_ROWS.values()
        },
    }


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
            yield f"{toml_key(key)} = {toml_of(value, _join(place, key))}"


def _comment(text: str | None) -> Iterator[str]:
    for line in (text or "").splitlines():
        yield "# " + "".join(c if c.isprintable() or c == "\t" else " " for c in line)


def _is_no_file(path: str) -> bool:
    return path == "-" or is_database(path) or is_remote(path)


def _detail(value: Any, row: ColumnOption, folder: str | PathLike[str] | None) -> Any:
    """Return what is said about a column as TOML has it; None if it need not be said."""
    if value == row.default:
        return None
    if isinstance(value, HierarchyRule):
        return value.to_dict()
    return _relative(value, folder) if isinstance(value, Path) else value


def _files(path: str | tuple[str, ...], folder: str | PathLike[str] | None) -> str | list[str]:
    return _file(path, folder) if isinstance(path, str) else [_file(each, folder) for each in path]


def _file(path: str, folder: str | PathLike[str] | None) -> str:
    return path if _is_no_file(path) else _relative(Path(path), folder)


def _relative(path: Path, folder: str | PathLike[str] | None) -> str:
    if folder is None:
        return str(path)
    base, full = Path(folder).resolve(), path.resolve()
    return full.relative_to(base).as_posix() if full.is_relative_to(base) else str(full)


# -- values as TOML writes them ------------------------------------------------------------------


def toml_key(key: str) -> str:
    """Return the name of a key as TOML writes it."""
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _string(key)


def _string(text: str) -> str:
    # The short escapes of TOML, and \uXXXX for every other character it bans from a string.
    short = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    escaped = "".join(
        short.get(c) or (f"\\u{ord(c):04X}" if ord(c) < 0x20 or ord(c) == 0x7F else c) for c in text
    )
    return f'"{escaped}"'


def toml_of(value: object, place: str) -> str:
    """Return a value as a job file writes it.

    Raises:
        JobError: TOML has no such values.
    """
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return _string(value.replace("${", "$${"))  # it comes from here, not from outside
        case int() | float():
            return repr(value)
        case datetime() | date() | time():
            return value.isoformat()
        case list() | tuple():
            return "[" + ", ".join(toml_of(each, place) for each in value) + "]"
        case Mapping():
            pairs = (f"{toml_key(k)} = {toml_of(v, f'{place}.{k}')}" for k, v in value.items())
            return "{" + ", ".join(pairs) + "}"
        case _:
            raise JobError(
                "{place} is of type {name}, which a job file cannot hold.",
                place=place,
                name=type(value).__name__,
            )
