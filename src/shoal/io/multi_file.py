"""One table in several files: a list, a folder, or a pattern such as ``2026/*.csv``."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from shoal.errors import DataError, OptionError
from shoal.io.formats import detect_format
from shoal.io.location import is_database, refuse_almost_url

Sources = str | PathLike[str] | Sequence[str | PathLike[str]]
"""A file, a folder, a pattern, a URL; or several of them."""


def input_files(source: Sources, format: str | None = None) -> list[str]:  # noqa: A002 - the option's name
    """Return the files that a source stands for, in the order of their names.

    A URL and ``-`` stand for themselves, and so does a file that does not exist, which whoever
    opens it says.

    Raises:
        DataError: a folder holds no table, or no file fits a pattern.
        OptionError: a stream or a database is given beside something else.
    """
    given = [source] if isinstance(source, (str, PathLike)) else list(source)
    names = [os.fspath(each) for each in given]
    if len(names) > 1 and any(name == "-" or is_database(name) for name in names):
        raise OptionError("Several inputs must be files; a stream or a database stands alone.")
    files = [file for name in names for file in _files_of(name, format)]
    return list(dict.fromkeys(files))


def _files_of(name: str, file_format: str | None) -> list[str]:
    if name == "-" or is_database(name):
        return [name]
    path = Path(name) if "\0" not in name else None
    if path is not None and path.is_dir():
        tables = [each for each in sorted(path.iterdir()) if _is_table(each, file_format)]
        if not tables:
            raise DataError("There is no table in the folder {name!r}; name a file.", name=name)
        return [str(each) for each in tables]
    if path is not None and not path.exists() and glob.has_magic(name):
        refuse_almost_url(name)
        found = glob.glob(name, recursive=True)  # noqa: PTH207 - the pattern may be absolute
        matches = [each for each in sorted(found) if Path(each).is_file()]
        if not matches:
            raise DataError("No file fits {name!r}.", name=name)
        return matches
    return [name]


def _is_table(path: Path, file_format: str | None) -> bool:
    if path.name.startswith((".", "_")) or not path.is_file():
        return False
    try:
        detect_format(str(path), file_format)
    except DataError:
        return False
    return True


def refuse_among(source: Sources, output: str, what: str) -> None:
    """Make sure that an output would not be an input of the next run.

    Raises:
        OptionError: it would stand in a folder that is read, or fit a pattern.
    """
    given = [source] if isinstance(source, (str, PathLike)) else list(source)
    for name in [os.fspath(each) for each in given]:
        if name == "-" or is_database(name) or Path(name).is_file():
            continue
        inside = Path(name).is_dir() and Path(output).absolute().parent.samefile(name)
        if inside or (glob.has_magic(name) and Path(output).absolute().match(str(Path(name)))):
            raise OptionError(
                "{what:capital} {output!r} would be among the inputs {name!r} of the next run; "
                "write it to another folder.",
                what=what,
                output=output,
                name=name,
            )


def check_same_columns(first: str, names: Sequence[str], other: str, found: Sequence[str]) -> None:
    """Make sure that two files have the same columns, in whichever order.

    Raises:
        DataError: they have not; names are shown, since those of a first line that may be data
            are hidden by whoever shows messages.
    """
    missing = [each for each in names if each not in found]
    extra = [each for each in found if each not in names]
    if missing:
        raise DataError(
            "{other} has no column {missing!r}, which {first} has; several files are read as "
            "one table only if they have the same columns.",
            other=other,
            missing=missing[0],
            first=first,
        )
    if extra:
        raise DataError(
            "{other} has a column {extra!r}, which {first} has not; several files are read as "
            "one table only if they have the same columns.",
            other=other,
            extra=extra[0],
            first=first,
        )
