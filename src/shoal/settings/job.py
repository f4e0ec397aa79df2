"""A job: everything that a run from a file to files needs to know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import OptionError, did_you_mean, refuse_unknown
from shoal.messages import Message
from shoal.settings.files import INPUT_OPTIONS, Input, Output
from shoal.settings.request import COLUMN_OPTIONS, OPTIONS
from shoal.table.schema import COLUMN_ROWS, JobColumn, Role

if TYPE_CHECKING:
    from shoal.options import Option
    from shoal.settings.request import Request

TABLE = "Mapping[str, Any]"
MODELS = "models"

JOB_OPTIONS: dict[str, Option] = {
    row.name: row
    for row in OPTIONS.values()
    if "anonymize" in row.functions and row.name not in COLUMN_OPTIONS
}
"""The options of a run that a job file says by their own names."""


class Job:
    """A run from a file to files, as a job file describes it.

    What is not said is left to the defaults of ``shoal.anonymize``; an attribute of such an
    option is None, or empty for tables and lists.

    Args:
        input: where the table is and how it is read; a path or URL stands for an `Input`.
        output: where the release goes; a path or URL stands for an `Output`.
        columns: the role of each column, and what else is said about it.
        missing_values: what stands for a missing value in a text file.
        file: the job file that it was read from, if it was.
        options: the options of ``shoal.anonymize`` that are not about columns, by their names;
            ``privacy`` as models or as tables with a ``model`` and that model's options.

    Raises:
        OptionError: there is no such option.
    """

    def __init__(
        self,
        *,
        input: Input | str | None = None,  # noqa: A002 - the name of the table in the file
        output: Output | str | None = None,
        columns: Mapping[str, JobColumn] | None = None,
        missing_values: tuple[str, ...] | None = None,
        file: Path | None = None,
        **options: Any,
    ) -> None:
        missing = Message("There is no option {name!r}.{hint}")
        refuse_unknown(options, JOB_OPTIONS, OptionError, missing)
        source = input if isinstance(input, Input) else Input(path=input)
        if missing_values is not None:
            source = replace(source, missing_values=missing_values)
        self.input = source
        self.output = output if isinstance(output, Output) else Output(table=output)
        self.columns = dict(columns or {})
        self.file = file
        said = {name: _plain(value, JOB_OPTIONS[name]) for name, value in options.items()}
        self.options: dict[str, Any] = {
            name: value
            for name, value in said.items()
            if value is not None and (value or not is_open(JOB_OPTIONS[name]))
        }

    @property
    def missing_values(self) -> tuple[str, ...] | None:
        """What stands for a missing value in a text file."""
        return self.input.missing_values

    def __getattr__(self, name: str) -> Any:
        """Return an option; None or empty if the job does not say it."""
        if name.startswith("_") or name not in JOB_OPTIONS:
            raise AttributeError(f"A job has no {name!r}.{did_you_mean(name, JOB_OPTIONS)}")
        empty: Any = {TABLE: {}, MODELS: ()}.get(JOB_OPTIONS[name].plain_type)
        return self.options.get(name, empty)

    def __eq__(self, other: object) -> bool:
        """Tell whether two jobs say the same, wherever they were read from."""
        return isinstance(other, Job) and vars(self) | {"file": other.file} == vars(other)

    __hash__ = None  # type: ignore[assignment]  # it holds dictionaries

    def __repr__(self) -> str:
        """Return one line; neither URLs, which may hold a password, nor the seed."""
        return f"<Job of {len(self.columns)} columns, k = {self.options.get('k')}>"

    def replaced(self, **changes: Any) -> Job:
        """Return the job with other values for some of its arguments."""
        said: dict[str, Any] = {"input": self.input, "output": self.output, "file": self.file}
        return Job(**{**said, "columns": self.columns, **self.options, **changes})

    def with_files(self, named: Callable[[str], str]) -> Job:
        """Return the job with every file that it reads named as a function says.

        Which options name files is what their rows and the promises say themselves.
        """

        def anew(value: Any) -> Any:
            if isinstance(value, str | Path):
                return type(value)(named(str(value)))
            return tuple(map(anew, value)) if isinstance(value, tuple | list) else value

        changes: dict[str, Any] = {
            name: anew(value) for name, value in self.options.items() if JOB_OPTIONS[name].path
        }
        if self.privacy:
            from shoal.privacy.base import file_options

            changes["privacy"] = tuple(
                {
                    name: anew(value) if name in file_options(model.get("model")) else value
                    for name, value in model.items()
                }
                for model in self.privacy
            )
        rows = [name for name, row in INPUT_OPTIONS.items() if row.path]
        columns = {
            name: replace(column, hierarchy=anew(column.hierarchy))
            if isinstance(column.hierarchy, Path)
            else column
            for name, column in self.columns.items()
        }
        source = replace(self.input, **{name: anew(getattr(self.input, name)) for name in rows})
        return self.replaced(**changes, input=source, columns=columns)

    def files(self) -> tuple[str, ...]:
        """Return every file that the job reads, and every table of a database."""
        found: list[str] = []
        self.with_files(lambda name: found.append(name) or name)  # type: ignore[func-returns-value]
        return tuple(found)

    def schema_options(self) -> dict[str, Any]:
        """Return the columns as the keyword arguments of ``shoal.table.schema.build_schema``."""
        options: dict[str, Any] = {role.option: [] for role in Role}
        options |= {row.option: {} for row in COLUMN_ROWS.values()}
        for name, column in self.columns.items():
            if column.role is not None:
                options[column.role.option].append(name)
            for row in COLUMN_ROWS.values():
                value = getattr(column, row.name)
                if value is not None and value != row.default:
                    options[row.option][name] = value
        return options

    def arguments(self) -> dict[str, Any]:
        """Return the keyword arguments for ``shoal.anonymize(frame, **arguments)``.

        The population of a promise is in it as a table, read as the input is.

        Raises:
            OptionError: k is not said, or there is no such promise.
            DataError: the population cannot be read.
        """
        from shoal.privacy import parse_privacy
        from shoal.settings.request import open_populations

        said = self.said()
        if "privacy" in said:
            said["privacy"] = open_populations(
                parse_privacy(said["privacy"]), self.input, details=self.schema_options()
            )
        return said

    def request(self) -> Request:
        """Return what the run is asked to do, with every file that it names opened.

        Raises:
            OptionError: an option is out of range, or k is not said.
            DataError: a file cannot be read.
        """
        from shoal.settings.request import build_request  # loads numpy

        return build_request(self.said(), reading=self.input, saving=self.output.save)

    def said(self) -> dict[str, Any]:
        """Return what is said about the run, by the names of the options.

        Raises:
            OptionError: k is not said.
        """
        said = {**self.schema_options(), **self.options}
        if "k" not in said:
            from shoal.settings.regimes import k_of

            said["k"] = k_of(self.output.regime)
        return said


def _plain(value: Any, row: Option) -> Any:
    """Return what a file can hold: tables for models and styles, Python's numbers for numpy's."""
    if value is None:
        return None
    if row.plain_type == MODELS:
        models = [value] if isinstance(value, Mapping) or hasattr(value, "to_dict") else value
        return tuple(model.to_dict() if hasattr(model, "to_dict") else model for model in models)
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    return value.item() if hasattr(value, "item") else value


def is_open(row: Option) -> bool:
    """Tell whether an option is a table or list, for which empty is the same as not said."""
    return row.plain_type in (TABLE, MODELS)
