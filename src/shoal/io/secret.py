"""Keyed hashes: a certificate can be tied to its input without giving the input away.

A plain hash of a file in a public certificate is a test for guesses: whoever knows all but a few
cells tries them until the hash fits. With a key that stays with the holder of the data, the hash
says nothing to others, and the holder can still show, with the key, which input it was.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import DataError, OptionError
from shoal.io.keys import refuse_shared
from shoal.io.overwrite_guard import note_input

if TYPE_CHECKING:
    import polars as pl

__all__ = ["keyed_sha256", "make_secret", "read_secret"]

_BYTES = 32
_CHUNK = 1 << 20
_LONGEST = 4096


def make_secret(path: str | PathLike[str]) -> None:
    """Write a new key to a file that only its owner can read.

    Raises:
        OptionError: the file exists already; a key that is lost cannot be made again.
        DataError: the file cannot be written.
    """
    shown = os.fspath(path)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise OptionError(
            f"{shown!r} exists already; a key is never replaced. Name a file that does not exist."
        ) from None
    except OSError as error:
        raise DataError(f"Could not write {shown!r}: {error.strerror}.") from None
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(secrets.token_hex(_BYTES) + "\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        Path(path).unlink(missing_ok=True)
        raise DataError(f"Could not write {shown!r}: {error.strerror}.") from None


def read_secret(path: str | PathLike[str]) -> bytes:
    """Return the key of a file that `make_secret` has written.

    Raises:
        DataError: the file cannot be read or holds no key.
        OptionError: others can read it.
    """
    shown = os.fspath(path)
    note_input(path, "the key")
    try:
        with Path(path).open("rb") as file:
            text = file.read(_LONGEST)
    except FileNotFoundError:
        raise DataError(
            f"There is no key file {shown!r}; make one with 'shoal secret {shown}' and keep it."
        ) from None
    except OSError as error:
        raise DataError(f"Could not read {shown!r}: {error.strerror}.") from None
    if not re.fullmatch(rb"[0-9a-f]{64}\s*", text):
        raise DataError(
            f"{shown!r} holds no key: it should be 64 hexadecimal digits, as 'shoal secret' writes."
        )
    refuse_shared(path)
    return bytes.fromhex(text.decode())


def keyed_sha256(source: str | PathLike[str] | pl.DataFrame, secret: str | PathLike[str]) -> str:
    """Return the HMAC-SHA-256 of an input, as 64 hexadecimal digits.

    Args:
        source: a file, whose bytes count; or the rows that were read from a database, which have
            no bytes of their own and count as in `shoal.io.sql.rows_sha256`.
        secret: the file of the key.

    Raises:
        DataError: a file cannot be read, or the key file holds no key.
    """
    key = read_secret(secret)
    if not isinstance(source, str | PathLike):
        from shoal.io.sql import rows_sha256

        return hmac.new(key, bytes.fromhex(rows_sha256(source)), "sha256").hexdigest()
    digest = hmac.new(key, digestmod="sha256")
    try:
        with Path(source).open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    except OSError as error:
        raise DataError(f"Could not read {os.fspath(source)!r}: {error.strerror}.") from None
    return digest.hexdigest()
