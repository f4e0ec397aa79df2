"""Ed25519 keys in files: with one a certificate is signed, with its other half anybody checks it.

Keys are PEM files as OpenSSL writes them (PKCS #8 and SubjectPublicKeyInfo), so a key that an
organisation has can be used, and ours can be used elsewhere.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import re
import secrets
import stat
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import DataError, OptionError
from shoal.io.limits import read_side_file
from shoal.io.overwrite_guard import check_name
from shoal.io.remote import on_disk
from shoal.messages import Message

if TYPE_CHECKING:
    import polars as pl
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


# Keyed hashes: a certificate can be tied to its input without giving the input away.
#
# A plain hash of a file in a public certificate is a test for guesses: whoever knows all but a few
# cells tries them until the hash fits. With a key that stays with the holder of the data, the hash
# says nothing to others, and the holder can still show, with the key, which input it was.

_BYTES = 32
_CHUNK = 1 << 20
_LONGEST = 4096


def make_secret(path: str | PathLike[str]) -> None:
    """Write a new key to a file that only its owner can read.

    Raises:
        OptionError: the file exists already; a key that is lost cannot be made again.
        DataError: the file cannot be written.
    """
    write_new(Path(path), f"{secrets.token_hex(_BYTES)}\n".encode(), 0o600)


def read_secret(path: str | PathLike[str]) -> bytes:
    """Return the key of a file that `make_secret` has written.

    Raises:
        DataError: the file cannot be read or holds no key.
        OptionError: others can read it.
    """
    shown = os.fspath(path)
    missing = Message(
        "There is no key file {shown!r}; make one with 'shoal secret {shown}' and keep it.",
        shown=shown,
    )
    text = read_side_file(Path(path), Message("the key"), missing)
    if not re.fullmatch(rb"[0-9a-f]{64}\s*", text):
        raise DataError(
            "{shown!r} holds no key: it should be 64 hexadecimal digits, as 'shoal secret' writes.",
            shown=shown,
        )
    refuse_shared(path)
    key = bytes.fromhex(text.decode())
    if len(set(key)) < _BYTES // 2:  # of random keys less than one in 10^12
        raise OptionError(
            "The key {shown!r} was not drawn at random, so that others could guess it; make one "
            "with 'shoal secret'.",
            shown=shown,
        )
    return key


def keyed_sha256(source: str | PathLike[str] | pl.DataFrame, secret: str | PathLike[str]) -> str:
    """Return the HMAC-SHA-256 of an input, as 64 hexadecimal digits.

    Args:
        source: a file, whose bytes count; or the rows that were read from a database, which have
            no bytes of their own and count as in `shoal.io.database.rows_sha256`.
        secret: the file of the key.

    Raises:
        DataError: a file cannot be read, or the key file holds no key.
    """
    key = read_secret(secret)
    if not isinstance(source, str | PathLike):
        from shoal.io.database import rows_sha256

        return hmac.new(key, bytes.fromhex(rows_sha256(source)), "sha256").hexdigest()
    digest = hmac.new(key, digestmod="sha256")
    try:
        with on_disk(source).open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    except OSError as error:
        raise DataError(
            "Could not read {source!r}: {strerror}.",
            source=os.fspath(source),
            strerror=error.strerror,
        ) from None
    return digest.hexdigest()


_PRIME = 2**255 - 19
# y of a point of order 8, (0, 1) being the neutral one; 1, -1 and 0 are those of order 1, 2 and 4
_Y_OF_ORDER_8 = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
_WEAK = frozenset({0, 1, _PRIME - 1, _Y_OF_ORDER_8, _PRIME - _Y_OF_ORDER_8})


def check_library() -> None:
    """Make sure that signatures can be made and checked here.

    Raises:
        DataError: the package that does it is missing; an installation without it is not whole.
    """
    try:
        import cryptography  # noqa: F401 - whether it is there
    except ImportError:
        raise DataError(
            "Signatures need the package cryptography, which this installation lacks: "
            "pip install cryptography."
        ) from None


def make_key(path: str | PathLike[str], passphrase: str | PathLike[str] | None = None) -> Path:
    """Make a private key to sign with (`shoal.sign`), and its public half beside it.

    Args:
        path: the file of the private key, which only you can read; keep it to yourself.
        passphrase: a file whose first line protects it.

    Returns:
        The file of the public key: the same name with the ending ``.pub``; give it to everybody.

    Raises:
        OptionError: one of the files exists already; a key is never replaced.
        DataError: a file cannot be written.
    """
    return make_key_pair(path, passphrase)[0]


def make_key_pair(
    path: str | PathLike[str], passphrase: str | PathLike[str] | None = None
) -> tuple[Path, bytes]:
    """Write a new private key that only its owner can read, and its public half beside it.

    Args:
        path: the file of the private key; the public one has the ending ``.pub`` in place of its.
        passphrase: a file whose first line protects the private key.

    Returns:
        The file of the public key, and the 32 bytes of that key.

    Raises:
        OptionError: one of the files exists already; a key is never replaced.
        DataError: a file cannot be written.
    """
    check_library()
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    check_name(path)
    private, public = Path(path), Path(path).with_suffix(".pub")
    if private == public:
        raise OptionError(
            "{private!r} is how the public key would be called; give the private key another "
            "ending, as in officer.key.",
            private=str(private),
        )
    secret = _passphrase(passphrase)
    key = Ed25519PrivateKey.generate()
    sealed: form.KeySerializationEncryption = (
        form.NoEncryption() if secret is None else form.BestAvailableEncryption(secret)
    )
    private_text = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, sealed)
    public_text = key.public_key().public_bytes(
        form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo
    )
    write_new(private, private_text, 0o600)
    try:
        write_new(public, public_text, 0o644)
    except BaseException:
        private.unlink(missing_ok=True)  # ours, and of no use alone
        raise
    return public, public_half(key)


def read_private_key(
    path: str | PathLike[str], passphrase: str | PathLike[str] | None = None
) -> Ed25519PrivateKey:
    """Return the private key of a file.

    Raises:
        DataError: the file cannot be read, holds no such key, or its passphrase is another.
        OptionError: others can read the file; the key needs a passphrase, or has none although
            one is given.
    """
    check_library()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    shown = os.fspath(path)
    secret = _passphrase(passphrase)
    data = _read(
        path, Message("the key"), Message("make one with 'shoal sign --new-key officer.key'")
    )
    sealed = b"ENCRYPTED" in data
    if sealed and secret is None:
        raise OptionError(
            "The key {shown!r} is protected by a passphrase; name a file that holds it, with "
            "--passphrase FILE.",
            shown=shown,
        )
    if not sealed and secret is not None:
        raise OptionError(
            "The key {shown!r} has no passphrase; leave --passphrase out.", shown=shown
        )
    key: object = None
    with contextlib.suppress(ValueError, TypeError, UnsupportedAlgorithm):
        key = load_pem_private_key(data, secret)
    if isinstance(key, Ed25519PrivateKey):
        refuse_shared(path)
        return key
    if sealed:
        raise DataError("The passphrase does not open the key {shown!r}.", shown=shown)
    raise DataError(
        "{shown!r} holds no private Ed25519 key in PEM form, as 'shoal sign --new-key' writes it.",
        shown=shown,
    )


def read_public_key(path: str | PathLike[str]) -> bytes:
    """Return the 32 bytes of the public key of a file.

    Raises:
        DataError: the file cannot be read, holds no such key, or one that belongs to nobody.
    """
    check_library()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    shown = os.fspath(path)
    data = _read(path, Message("the public key"), Message("ask whoever signs for it"))
    key: object = None
    with contextlib.suppress(ValueError, TypeError, UnsupportedAlgorithm):
        key = load_pem_public_key(data)
    if isinstance(key, Ed25519PublicKey):
        number = bytes(key.public_bytes_raw())
        if is_weak(number):
            raise DataError(
                "{shown!r} holds a key that anybody can sign with (a point of small order); "
                "ask whoever signs for another.",
                shown=shown,
            )
        return number
    raise DataError(
        "{shown!r} holds no public Ed25519 key in PEM form, as 'shoal sign --new-key' writes "
        "it with the ending .pub.",
        shown=shown,
    )


def public_half(key: Ed25519PrivateKey) -> bytes:
    """Return the 32 bytes of the public key that belongs to a private one."""
    return bytes(key.public_key().public_bytes_raw())


def is_weak(public: bytes) -> bool:
    """Return whether everybody can sign for a public key: its point has an order of at most 8.

    Such a key has no private half, and one signature is valid for any content, or for one content
    in two, four or eight. Also where the number is not written in its shortest form.
    """
    y = int.from_bytes(public, "little") & ((1 << 255) - 1)
    return y % _PRIME in _WEAK


def refuse_shared(path: str | PathLike[str]) -> None:
    """Refuse a key in a file that others than its owner can read or change.

    Raises:
        OptionError: they can.
    """
    if os.name == "posix" and stat.S_IMODE(Path(path).stat().st_mode) & 0o077:
        shown = os.fspath(path)
        raise OptionError(
            "Others can read or change the key {shown!r}, so that it is not yours alone; if "
            "nobody has copied it: chmod 600 {shown}. Otherwise make a new one.",
            shown=shown,
        )


def _passphrase(path: str | PathLike[str] | None) -> bytes | None:
    if path is None:
        return None
    lines = _read(
        path, Message("the passphrase"), Message("write it into the first line of a file")
    ).splitlines()
    if not lines or not lines[0]:
        raise DataError(
            "{path!r} holds no passphrase: its first line is empty.", path=os.fspath(path)
        )
    return lines[0]


def _read(path: str | PathLike[str], what: str, advice: str) -> bytes:
    shown = os.fspath(path)
    missing = Message(
        "There is no file {shown!r} for {what}; {advice}.", shown=shown, what=what, advice=advice
    )
    return read_side_file(Path(path), what, missing)


def write_new(path: Path, content: bytes, mode: int) -> None:
    """Write a file that does not exist yet.

    Raises:
        OptionError: it exists.
        DataError: it cannot be written.
    """
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except FileExistsError:
        raise OptionError(
            "{path!r} exists already; a key is never replaced. Name a file that does not exist.",
            path=str(path),
        ) from None
    except OSError as error:
        raise DataError(
            "Could not write {path!r}: {strerror}.", path=str(path), strerror=error.strerror
        ) from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        path.unlink(missing_ok=True)
        raise DataError(
            "Could not write {path!r}: {strerror}.", path=str(path), strerror=error.strerror
        ) from None
