"""What a command has read, so that no output of it can replace an input.

Every reader says which file it opens (`note_input`), every writer asks before it touches one
(`refuse_input`). Files are compared by what they are, not by what they are called: a link, a hard
link, another spelling or a redirected stream is the same file. Outside a command nothing is
remembered: a program may read a file and replace it later.
"""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import OptionError
from shoal.messages import Message

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from shoal.io.spelling import Found


_STREAM = "-"


@dataclass
class HowRead:
    """How a text file was read, where nobody had said so.

    Attributes:
        encoding: of its text.
        delimiter: between its fields.
        decimal: what stands before the decimals of its numbers; None if there was no question.
        header: whether its first line was taken for names.
        twins: names that more than one column had, with what the others are called.
        spelled: how the dates and numbers of columns were found to be written.
        sheet: which sheet of a workbook was read, if it has several.
        sheets: all that it has.
        extra_rows: numbers of the rows that are no records, by what they are.
        notes: what people should know about it, in sentences without a cell.
        doubts: what they should say, since the file does not tell.
    """

    encoding: str = "utf-8"
    delimiter: str | None = None
    decimal: str | None = None
    header: bool = True
    twins: dict[str, list[str]] = field(default_factory=dict)
    spelled: dict[str, Found] = field(default_factory=dict)
    sheet: str | None = None
    sheets: tuple[str, ...] = ()
    extra_rows: dict[str, list[int]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)

    def comma(self, decimal: str | None) -> str | None:
        """Return the decimal sign to look for: the one said, else a comma where it can be one."""
        if decimal is None and self.delimiter not in (None, ","):
            return ","
        return decimal


@dataclass
class Watch:
    """What one command has read.

    Attributes:
        files: what each file is for, by its device and number, and by its path.
        databases: the same for the files of databases, other tables of which may be written.
        tables: what each table of a database is for, by what tells it apart.
        doubtful: column names that may be cells, with the place of each.
        how_read: how text files were read, by what messages call them.
        found: what was found where the command begins, in sentences.
        versions: which version of a table was read, by what messages call it.
        copies: of objects that were read, by their URLs; they go when the command ends.
    """

    found: list[str] = field(default_factory=list)

    files: dict[Hashable, str] = field(default_factory=dict)
    databases: dict[Hashable, str] = field(default_factory=dict)
    tables: dict[Hashable, str] = field(default_factory=dict)
    doubtful: dict[str, int] = field(default_factory=dict)
    how_read: dict[str, HowRead] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    copies: dict[str, Path] = field(default_factory=dict)

    @property
    def notes(self) -> list[str]:
        """What people should know about how files were read, each sentence once."""
        told = (note for how in self.how_read.values() for note in (*how.notes, *how.doubts))
        return list(dict.fromkeys([*self.found, *told]))


_INPUT, _OUTPUT, _TABLE = Message("the input"), Message("the output"), Message("the table")
_CURRENT: ContextVar[Watch | None] = ContextVar("shoal_inputs", default=None)


@contextmanager
def watching_inputs() -> Iterator[Watch]:
    """Remember what is read while the block runs; for one command."""
    watch = Watch()
    token = _CURRENT.set(watch)
    try:
        yield watch
    finally:
        _CURRENT.reset(token)
        for copy in watch.copies.values():
            copy.unlink(missing_ok=True)


@contextmanager
def watched() -> Iterator[Watch]:
    """Remember what is read while the block runs, unless a command does already."""
    watch = _CURRENT.get()
    if watch is not None:
        yield watch
        return
    with watching_inputs() as new:
        yield new


def current_watch() -> Watch | None:
    """Return what the present command has read; None outside a command."""
    return _CURRENT.get()


def note_input(path: str | PathLike[str], what: str = _INPUT) -> None:
    """Remember a file that is read, or is about to be; ``-`` is standard input.

    Args:
        path: the file; one that does not exist is nobody's input.
        what: what to call it in a message.

    Raises:
        OptionError: no file can have this name.
    """
    check_name(path)
    watch = _CURRENT.get()
    if watch is None:
        return
    for key in _keys(path, stream=0):
        watch.files.setdefault(key, what)


def check_name(path: str | PathLike[str]) -> None:
    """Make sure that a file can have this name at all; the system takes any but one character.

    Raises:
        OptionError: it holds that character.
    """
    if "\0" in str(os.fspath(path)):
        raise OptionError(
            "{path!r} is no name of a file: no name can hold the character NUL.",
            path=os.fspath(path),
        )


def note_database(path: str | PathLike[str], what: str = _INPUT) -> None:
    """Remember the file of a database that is read, and the files that belong to it."""
    watch = _CURRENT.get()
    if watch is None:
        return
    for ending in ("", "-wal", "-shm", "-journal"):
        for key in _keys(os.fspath(path) + ending, stream=0):
            watch.databases.setdefault(key, what)


def note_table(identity: Hashable, what: str = _INPUT) -> None:
    """Remember a table of a database that is read."""
    watch = _CURRENT.get()
    if watch is not None and identity is not None:
        watch.tables.setdefault(identity, what)


def note_read(name: str, how: HowRead) -> None:
    """Remember how a text file was read."""
    watch = _CURRENT.get()
    if watch is not None:
        watch.how_read[name] = how


def how_read(name: str) -> HowRead:
    """Return how a file was read as far as it is known, to be told more."""
    watch = _CURRENT.get()
    return HowRead() if watch is None else watch.how_read.setdefault(name, HowRead())


def refuse_input(
    path: str | PathLike[str], output: str = _OUTPUT, *, database: bool = False
) -> None:
    """Make sure that a file about to be written is none that the command reads.

    Args:
        path: the file; ``-`` is standard output, which may be a file as well.
        output: what to call it in a message.
        database: whether a table of it is written rather than the whole file.

    Raises:
        OptionError: it is an input, or no file can have this name.
    """
    check_name(path)
    watch = _CURRENT.get()
    if watch is None:
        return
    for key in _keys(path, stream=1):
        found = watch.files.get(key) or (None if database else watch.databases.get(key))
        if found is not None:
            raise OptionError(
                "{output:capital} and {what} would be the same file, {file!r}. Give each its own.",
                output=output,
                what=found,
                file=os.fspath(path),
            )


def refuse_table(identity: Hashable, shown: str, output: str = _TABLE) -> None:
    """Make sure that a table of a database about to be replaced is none that the command reads.

    Raises:
        OptionError: it is an input, or an input is a view of it.
    """
    watch = _CURRENT.get()
    if watch is not None and identity is not None and identity in watch.tables:
        raise OptionError(
            "{output:capital} and {what} would be the same, {shown!r}. Give each its own.",
            output=output,
            what=watch.tables[identity],
            shown=shown,
        )


def _keys(path: str | PathLike[str], *, stream: int) -> list[Hashable]:
    """Return by what a file is known: its number on its device, and where it is."""
    name = os.fspath(path)
    number = _number_of(stream if name == _STREAM else name)
    if number is None:
        return [name] if "://" in name else []  # an object is known by its URL
    # The path too: the file may be replaced by another program while we work.
    return [number] if name == _STREAM else [number, os.path.realpath(name)]


def _number_of(file: str | int) -> tuple[int, int] | None:
    try:
        status = os.fstat(file) if isinstance(file, int) else Path(file).stat()
    except (OSError, ValueError):
        return None
    # A terminal or a pipe may well be read from and written to.
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISBLK(status.st_mode)):
        return None
    return status.st_dev, status.st_ino
