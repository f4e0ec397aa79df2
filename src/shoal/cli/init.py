"""``shoal init``: a first job file for a table, to be read and edited by a person."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.options import Debug, Delimiter, FileFormat, MissingValues
from shoal.errors import OptionError

if TYPE_CHECKING:
    import polars as pl

    from shoal.job import JobColumn
    from shoal.schema import Role

__all__ = ["guess_column", "init"]

# Parts of column names that say what a column is. English only; the person decides anyway.
_NAMES_PEOPLE = re.compile(
    r"(^|_)(id|uuid|guid|name|surname|firstname|lastname|email|mail|phone|telephone|mobile|fax|"
    r"ssn|passport|licen[cs]e|account|iban|address|street|url|ip)(_|$)"
)
_SENSITIVE = re.compile(
    r"(^|_)(diagnos[ie]s|disease|illness|condition|treatment|medication|salary|income|wage|"
    r"result|outcome|religion|politics|offen[cs]e|conviction)(_|$)"
)
_MOSTLY_UNIQUE = 0.9
_MANY = 100


def init(
    source: Annotated[str, typer.Argument(metavar="DATA", help="The table to look at.")],
    output: Annotated[
        str, typer.Option("--output", "-o", help="The job file to write.", metavar="FILE")
    ] = "job.toml",
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    file_format: FileFormat = None,
    delimiter: Delimiter = None,
    missing_values: MissingValues = None,
    debug: Debug = False,
) -> None:
    """Look at a table and write a job file with guessed roles, to check and to edit.

    The guesses err on the side of caution: what is not recognised is generalised.
    """
    del debug
    if Path(output).exists() and not force:
        raise OptionError(
            f"{output!r} exists; give another name with -o, or --force to replace it."
        )
    from shoal.cli.run import note_written
    from shoal.cli.settings import load_job, missing_texts, read_input
    from shoal.job import Job, write_job

    frame = read_input(
        source,
        load_job(None),
        kinds={},
        file_format=file_format,
        delimiter=delimiter,
        missing_values=missing_values,
    )
    columns: dict[str, JobColumn] = {}
    comments = {
        "": f"A job for {source}, guessed by 'shoal init'. Nobody but you knows the data: check\n"
        "every role below. Then run:\n"
        f"  shoal anonymize {source} -o safe.csv --job {output}\n"
        "Roles: identifier (removed), quasi-identifier (generalised), sensitive and insensitive\n"
        "(published as they are), drop (removed).",
        "k": "Nobody stands out from fewer than k people. At least 2; 5 to 20 is common.",
    }
    for name in frame.columns:
        columns[name], comments[f"columns.{name}"] = guess_column(frame.get_column(name))
    texts = missing_texts(load_job(None), missing_values)
    job = Job(
        k=min(10, max(2, frame.height // 10)),
        algorithm="k-member",
        measure="ncp",
        missing_values=texts if missing_values is not None else None,
        columns=columns,
    )
    write_job(job, output, comments)
    note_written()
    from rich.console import Console
    from rich.table import Table

    table = Table("column", "guessed role", "why", box=None, pad_edge=False)
    for name, column in columns.items():
        table.add_row(name, column.role.value, comments[f"columns.{name}"].splitlines()[0])
    console = Console()
    console.print(table, markup=False)
    console.print(
        f"\nWrote {output}. Check every role in it, then run: "
        f"shoal anonymize {source} -o safe.csv --job {output}",
        markup=False,
        soft_wrap=True,
    )


def guess_column(column: pl.Series) -> tuple[JobColumn, str]:
    """Return the guessed role of a column, and a comment that says why; never a cell."""
    from shoal.job import JobColumn

    role, why = _guess_role(column)
    return JobColumn(role=role), why


def _guess_role(column: pl.Series) -> tuple[Role, str]:
    from shoal.schema import Role

    filled = column.drop_nulls()
    n_filled = len(filled)
    if not n_filled or column.dtype.is_nested():
        return Role.DROP, "Holds no value at all, or lists, which cannot be generalised."
    n_values = filled.n_unique()
    missing = f", {len(column) - n_filled:,} missing" if n_filled < len(column) else ""
    facts = f"{n_values:,} distinct values in {n_filled:,} rows{missing}"
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|\W+", "_", column.name).lower()
    is_text = not (column.dtype.is_numeric() or column.dtype.is_temporal())
    if _NAMES_PEOPLE.search(words):
        return Role.IDENTIFIER, f"Its name suggests an identifier ({facts})."
    if is_text and n_values > max(10, _MOSTLY_UNIQUE * n_filled):
        return Role.IDENTIFIER, f"Almost every row has its own value ({facts})."
    if n_filled > 10 and column.dtype.is_integer() and _counts_up(filled):
        return Role.IDENTIFIER, f"Numbers the rows ({facts})."
    if _SENSITIVE.search(words):
        return Role.SENSITIVE, f"Its name suggests something private ({facts})."
    advice = _advice(column.name, n_values, is_text=is_text)
    return Role.QUASI_IDENTIFIER, f"Could help to single somebody out ({facts}).\n{advice}"


def _advice(name: str, n_values: int, *, is_text: bool) -> str:
    if not is_text:
        return "Generalised to intervals; 'drop' it if nobody needs it."
    if n_values > _MANY:
        return (
            "Without a hierarchy it is kept or suppressed as a whole. Build one with:\n"
            f"  shoal hierarchy build DATA --column {name} --method prefix -o FILE\n"
            'and name it here: hierarchy = "FILE"'
        )
    return (
        'Without hierarchy = "FILE" it is kept or suppressed as a whole;\n'
        'kind = "set" publishes the values of a group as a set.'
    )


def _counts_up(column: pl.Series) -> bool:
    steps = column.diff().drop_nulls()
    return bool((steps == 1).all())
