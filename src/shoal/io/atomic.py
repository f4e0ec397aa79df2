"""Writes that happen whole or not at all.

Everything is first written to a temporary file beside the target, forced to the disk, and only
then renamed over it. Whatever goes wrong before the rename (a full disk, Ctrl-C, a crash, a
kill), the previous file is still there, byte for byte. What becomes an object of a store is a
file of this machine until then, and is put into the store instead of being renamed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import IO, TYPE_CHECKING, ClassVar, Protocol, Self

from shoal.errors import DataError, OptionError, ShoalError
from shoal.io import remote
from shoal.io.overwrite_guard import check_name, refuse_input, watched
from shoal.io.temporaries import make_temporary
from shoal.messages import Message
from shoal.runtime.sanitize import hide_credentials

if TYPE_CHECKING:
    from types import TracebackType


Content = str | bytes | Callable[[IO[bytes]], object]
"""What to write: text (as UTF-8), bytes, or a function that writes to an open binary file."""

_CHUNK = 1 << 20


@dataclass
class _Staged:
    """One output on its way: where it will appear, and the temporary that holds it."""

    shown: str
    target: Path | None  # None is standard output, or an object
    temporary: Path
    stream: bool  # copied into the target (a pipe, a device) rather than renamed over it
    backup: Path | None = None
    done: bool = False

    @property
    def is_object(self) -> bool:
        """Whether it is put into a store."""
        return remote.is_remote(self.shown)


class Transaction(Protocol):
    """A change to a database that is complete but for its commit."""

    def commit(self) -> None:
        """Make the change last."""

    def close(self) -> None:
        """Undo the change unless it was committed, and leave the database."""


class AtomicGroup:
    """Several files that appear together or not at all.

    ``add`` writes temporaries; leaving the ``with`` block without an error renames them, one
    after another. If a rename fails, the files already renamed are put back as they were.
    Leaving the block with an error removes the temporaries and touches nothing else.

    Objects of a store are put there after the files, one after another: each appears whole, and if
    one fails, those before it are put back or removed. Standard output (``-``), pipes and devices
    cannot be renamed over: they receive their bytes last, after everything is in place. A database
    transaction that takes part (``enlist``) is committed at the very end: until then everything can
    be undone, a commit cannot.
    """

    def __init__(self) -> None:
        self._staged: list[_Staged] = []
        _Stop.open.append(self)
        self._transactions: list[Transaction] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self._commit()
        finally:
            with _Stop.lock:
                self._clean()
                if self in _Stop.open:
                    _Stop.open.remove(self)

    def add(self, target: str | PathLike[str], content: Content) -> Path:
        """Write ``content`` to a temporary that will become ``target``; return the temporary.

        Raises:
            DataError: the folder is missing, the target is a folder, or the disk is full.
            OptionError: the group already writes to this target, or the command reads it.
        """
        shown = os.fspath(target)
        check_name(shown)
        away = remote.is_remote(shown)
        path = None if shown == "-" or away else Path(shown)
        final, stream = (None, not away) if path is None else _resolve(path, shown)
        if any((each.target or each.shown) == (final or shown) for each in self._staged):
            raise OptionError(
                "Two outputs would be written to {name}; give each its own file.", name=_name(shown)
            )
        refuse_input(shown)
        folder = None if stream or final is None else final.parent
        with _reporting(shown):
            with _undisturbed():
                handle, temporary = make_temporary(folder)
                staged = _Staged(shown, final, temporary, stream)
                self._staged.append(staged)
            with os.fdopen(handle, "wb") as file:
                _write(file, content)
                file.flush()
                os.fsync(file.fileno())
            if final is not None and not stream:
                staged.temporary.chmod(_mode_for(final))
        return staged.temporary

    @property
    def transactions(self) -> tuple[Transaction, ...]:
        """The transactions that take part so far."""
        return tuple(self._transactions)

    def enlist(self, transaction: Transaction) -> None:
        """Let a database transaction take part: committed after the files, or rolled back."""
        self._transactions.append(transaction)

    def _commit(self) -> None:
        written: set[tuple[int, int]] = set()
        try:
            for staged in sorted(self._staged, key=lambda each: (each.stream, each.is_object)):
                # A stream may take its time; what it got cannot be taken back anyway.
                guard = contextlib.nullcontext() if staged.stream else _undisturbed()
                with _reporting(staged.shown), guard:
                    if not staged.stream and not staged.is_object:
                        # Another spelling of a name may be the same file on this disk.
                        _check_new(staged, written)
                    _publish(staged)
            for transaction in self._transactions:
                transaction.commit()
            with _undisturbed():
                _Stop.open.remove(self)  # from here on it is done
        except BaseException:
            self._undo()
            raise

    def _undo(self) -> None:
        for staged in self._staged:
            _put_back(staged)

    def _clean(self) -> None:
        for transaction in self._transactions:
            transaction.close()
        self._transactions.clear()
        for staged in self._staged:
            for path in (staged.temporary, staged.backup):
                if path is not None:
                    with contextlib.suppress(OSError):
                        path.unlink()
        self._staged.clear()


class _Stop:
    """What a stop from another thread has to know."""

    lock = threading.RLock()
    open: ClassVar[list[AtomicGroup]] = []
    stopped = False


def abandon_outputs() -> None:
    """Undo what is not complete, from whichever thread: no file appears after this.

    For a process that is about to end while a thread of it may still be writing. Outputs that
    are complete stay.
    """
    with _Stop.lock:
        _Stop.stopped = True
        for group in _Stop.open:
            group._undo()  # noqa: SLF001 - a function of the class's own file
            group._clean()  # noqa: SLF001
        _Stop.open.clear()


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Keep a stop from another thread out while the block runs."""
    with _Stop.lock:
        if _Stop.stopped:
            raise DataError("The run was stopped.")
        yield


def write_together(outputs: Iterable[tuple[str | PathLike[str], Content]]) -> None:
    """Write several files so that they appear together or not at all.

    Args:
        outputs: pairs of a target and its content (text, bytes, or a function that writes to
            the open file it is given).
    """
    with AtomicGroup() as group:
        for target, content in outputs:
            group.add(target, content)


def atomic_write_text(path: str | PathLike[str], text: str) -> None:
    """Write UTF-8 text to a file, whole or not at all."""
    write_together([(path, text)])


def atomic_write_bytes(path: str | PathLike[str], data: bytes) -> None:
    """Write bytes to a file, whole or not at all."""
    write_together([(path, data)])


@watched()
def sha256_of(path: str | PathLike[str]) -> str:
    """Return the SHA-256 of a file as 64 hexadecimal digits."""
    try:
        with remote.on_disk(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(
            "Could not read {name}: {strerror}.",
            name=_name(os.fspath(path)),
            strerror=error.strerror,
        ) from None


def _resolve(path: Path, shown: str) -> tuple[Path, bool]:
    """Return the file behind links, and whether it is a pipe or device."""
    # Not Path.resolve, which ends in another error than OSError when links go in a circle.
    final = Path(os.path.realpath(path))
    try:
        mode = final.stat().st_mode
    except FileNotFoundError:
        if not final.parent.is_dir():
            raise DataError(
                "Could not write {name}: the folder {hide_credentials!r} does not exist.",
                name=_name(shown),
                hide_credentials=hide_credentials(str(path.parent)),
            ) from None
        return final, False
    except OSError as error:
        raise DataError(
            "Could not write {name}: {strerror}.", name=_name(shown), strerror=error.strerror
        ) from None
    if stat.S_ISDIR(mode):
        raise DataError(
            "Could not write {name}: it is a folder; name a file in it.", name=_name(shown)
        )
    return final, not stat.S_ISREG(mode)


def _write(file: IO[bytes], content: Content) -> None:
    if callable(content):
        content(file)
    else:
        file.write(content.encode() if isinstance(content, str) else content)


def _mode_for(final: Path) -> int:
    try:
        return stat.S_IMODE(final.stat().st_mode)
    except FileNotFoundError:
        # What open() would have given a new file; the mask can only be read by setting it.
        mask = os.umask(0o077)
        os.umask(mask)
        return 0o666 & ~mask


def _check_new(staged: _Staged, written: set[tuple[int, int]]) -> None:
    """Make sure that the target is no file that the group has written, and note this one."""
    assert staged.target is not None
    with contextlib.suppress(FileNotFoundError):
        there = staged.target.stat()
        if (there.st_dev, there.st_ino) in written:
            raise OptionError(
                "Two outputs would be written to {name}; give each its own.",
                name=_name(staged.shown),
            )
    status = staged.temporary.stat()
    written.add((status.st_dev, status.st_ino))


def _publish(staged: _Staged) -> None:
    refuse_input(staged.shown)
    if staged.stream:
        with staged.temporary.open("rb") as source:
            if staged.target is None:
                _copy(source, sys.stdout.buffer)
            else:
                with staged.target.open("wb", buffering=0) as sink:
                    _copy(source, sink)
        return
    if staged.target is None:
        if remote.exists(staged.shown):
            staged.backup = remote.fetched(staged.shown)
        staged.done = True
        remote.put(staged.temporary, staged.shown)
        return
    if staged.target.exists():
        # A second name for the previous file: the way back if a later rename fails.
        backup = staged.temporary.with_suffix(".old")
        with contextlib.suppress(OSError):  # file systems without hard links go without
            os.link(staged.target, backup)
            staged.backup = backup
        staged.done = staged.backup is not None
        staged.temporary.replace(staged.target)
    else:
        staged.done = True
        staged.temporary.replace(staged.target)
    _sync_folder(staged.target.parent)


def _copy(source: IO[bytes], sink: IO[bytes]) -> None:
    while chunk := source.read(_CHUNK):
        view = memoryview(chunk)
        while view:  # an unbuffered pipe may take less than it is offered
            view = view[sink.write(view) :]
    sink.flush()


def _put_back(staged: _Staged) -> None:
    if not staged.done:
        return
    if staged.target is None:
        with contextlib.suppress(ShoalError):
            if staged.backup is not None:
                remote.put(staged.backup, staged.shown)
            else:
                remote.remove(staged.shown)
        return
    with contextlib.suppress(OSError):
        if staged.backup is not None:
            staged.backup.replace(staged.target)
        elif not staged.temporary.exists():  # it was renamed, so the target is ours to remove
            staged.target.unlink()


def _sync_folder(folder: Path) -> None:
    # Without this a power cut may forget the rename; not every system can open folders.
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextlib.contextmanager
def _reporting(shown: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DataError(
            "Could not write {name}: {strerror}.",
            name=_name(shown),
            strerror=error.strerror or Message("the write failed"),
        ) from error


def _name(shown: str) -> str:
    return Message("to standard output") if shown == "-" else repr(hide_credentials(shown))
