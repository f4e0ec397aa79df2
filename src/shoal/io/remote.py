"""Objects of stores by URL, ``s3://``, ``gs://`` and ``abfs://``, and files read by ``https://``.

An object is copied to a private file of this machine before it is read, once for a command, so
that all who look at it see the same bytes; the copy goes when the command ends. What is written is
a finished file that is put into the store in one piece: readers see an object once its upload is
complete, and until then what was there before. Who may do that is said by the environment alone,
in the variables of each store.
"""

from __future__ import annotations

import atexit
import os
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from shoal.errors import DataError, OptionError
from shoal.io.overwrite_guard import current_watch
from shoal.io.temporaries import make_temporary
from shoal.messages import Message

if TYPE_CHECKING:
    from collections.abc import Iterator

STORES = {
    "s3": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT_URL",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "abfs": "AZURE_STORAGE_ACCOUNT_NAME, AZURE_STORAGE_ACCOUNT_KEY",
    "abfss": "AZURE_STORAGE_ACCOUNT_NAME, AZURE_STORAGE_ACCOUNT_KEY",
    "https": "",
}
"""What a URL begins with, and the variables that usually say who may read and write there."""
_AZURE = ("abfs", "abfss")
_AT_ONCE = 8 << 20
_PATIENCE = {"max_retries": 2, "retry_timeout": timedelta(seconds=30)}
_CONNECTION = {"connect_timeout": "10s", "timeout": "10m"}


@dataclass(frozen=True)
class _Address:
    """Where an object is: a store, and its key there."""

    scheme: str
    store: str
    key: str


def is_remote(name: str | PathLike[str]) -> bool:
    """Tell whether a name is the URL of an object, rather than a file or a table of a database."""
    return isinstance(name, str) and name.partition("://")[0].lower() in STORES and "://" in name


def check_address(name: str) -> None:
    """Make sure that the URL of an object holds nothing that is nobody else's business.

    Raises:
        OptionError: it holds a user, a password or a query, or names nothing; the message shows
            none of it.
    """
    if is_remote(name):
        _address(name)


def _address(url: str) -> _Address:
    scheme = url.partition("://")[0].lower()
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - a port that is no number is an error
    except ValueError:
        raise OptionError("The {scheme}:// URL cannot be read.", scheme=scheme) from None
    user = parts.netloc.rpartition("@")[0]
    if "?" in url or "#" in url or ":" in user or (user and scheme not in _AZURE):
        raise OptionError(
            "The {scheme}:// URL holds a user, a password or something after ? or #, which may be "
            "a signature; leave it out{instead}.",
            scheme=scheme,
            instead=Message(
                ": who may read and write is said by the environment ({variables})",
                variables=STORES[scheme],
            )
            if STORES[scheme]
            else Message(", or fetch the file first"),
        )
    if not parts.netloc:
        raise OptionError(
            "The {scheme}:// URL names no place; write {scheme}://bucket/folder/table.csv.",
            scheme=scheme,
        )
    key = parts.path.lstrip("/")
    return _Address(
        scheme, f"{scheme}://{parts.netloc}", unquote(key) if scheme == "https" else key
    )


def on_disk(name: str | PathLike[str]) -> Path:
    """Return the file to open: of an object its copy, made once for each command.

    Raises:
        DataError: there is no such object, or the store does not give it.
        OptionError: the URL is none.
    """
    text = os.fspath(name)
    if not is_remote(text):
        return Path(name)
    watch = current_watch()
    known = None if watch is None else watch.copies.get(text)
    if known is not None:
        return known
    copy = fetched(text)
    if watch is None:  # nobody tells when it is needed no more
        atexit.register(copy.unlink, missing_ok=True)
    else:
        watch.copies[text] = copy
    return copy


def fetched(url: str) -> Path:
    """Copy an object to a private file and return that.

    Raises:
        DataError: there is none, or the store does not give it.
    """
    with _reporting(url, Message("read")):
        obstore, store, key = _open(url)
        handle, copy = make_temporary()
        try:
            with os.fdopen(handle, "wb") as file:
                for part in obstore.get(store, key).stream(min_chunk_size=_AT_ONCE):
                    file.write(part)
        except BaseException:
            copy.unlink(missing_ok=True)
            raise
    return copy


def exists(url: str) -> bool:
    """Tell whether there is such an object.

    Raises:
        DataError: the store does not say.
        OptionError: the URL is none.
    """
    with _reporting(url, Message("read")):
        obstore, store, key = _open(url)
        try:
            obstore.head(store, key)
        except FileNotFoundError:
            return False
    return True


def check_writable(url: str) -> None:
    """Make sure that objects can be written there, as far as is known before.

    Raises:
        DataError: the store does not answer.
        OptionError: the URL is none that is written to.
    """
    address = _address(url)
    if address.scheme == "https":
        raise OptionError(
            "Files are read by https://, not written; write to a file, s3://, gs:// or abfs://."
        )
    if not address.key or address.key.endswith("/"):
        raise OptionError("{url!r} names no object; end it with a name, as in safe.csv.", url=url)
    exists(url)


def put(file: Path, url: str) -> None:
    """Write an object; it appears when all of it is there.

    Raises:
        DataError: the store does not take it; what was there before still is.
    """
    with _reporting(url, Message("write")):
        obstore, store, key = _open(url)
        with file.open("rb") as content:
            obstore.put(store, key, content)


def remove(url: str) -> None:
    """Remove an object, if it is there.

    Raises:
        DataError: the store does not do it.
    """
    with _reporting(url, Message("write")):
        obstore, store, key = _open(url)
        with suppress(FileNotFoundError):
            obstore.delete(store, key)


def objects_below(url: str) -> list[str]:
    """Return the URLs of all objects in a folder and in the folders in it.

    Raises:
        DataError: the store does not say.
        OptionError: the URL is none, or a store that does not say what it has.
    """
    address = _address(url)
    if address.scheme == "https":
        raise OptionError(
            "https:// does not say what is in a folder; name the file, as in "
            "https://example.org/people.csv."
        )
    with _reporting(url, Message("read")):
        obstore, store, key = _open(url)
        found = [each["path"] for part in obstore.list(store, key or None) for each in part]
    inside = f"{key.rstrip('/')}/" if key else ""
    return [f"{address.store}/{each}" for each in found if each.startswith(inside)]


def _open(url: str) -> tuple[Any, Any, str]:
    """Return the library, the store of an object, and its key there."""
    try:
        import obstore
        from obstore.store import from_url
    except ImportError:
        raise DataError(
            "Objects of stores and files by https:// need the package obstore: pip install "
            "'shoal-anonymity[cloud]'."
        ) from None
    address = _address(url)
    retry: Any = _PATIENCE
    # What is given here takes the place of what the environment says about connections.
    plain = [
        os.environ.get(f"{each}_ALLOW_HTTP", "").lower() for each in ("AWS", "AZURE", "GOOGLE")
    ]
    options: Any = _CONNECTION | {"allow_http": address.scheme != "https" and "true" in plain}
    store = from_url(address.store, retry_config=retry, client_options=options)
    return obstore, store, address.key


@contextmanager
def _reporting(url: str, verb: str) -> Iterator[None]:
    """Turn the errors of the store, which may show whose request it was, into sentences."""
    from shoal.errors import ShoalError

    try:
        yield
        return
    except ShoalError:
        raise
    except FileNotFoundError:
        raise DataError("There is no object {url!r}.", url=url) from None
    except OSError as error:
        if error.strerror:  # of this machine
            raise DataError(
                "Could not {verb} {shown!r}: {reason}.", verb=verb, shown=url, reason=error.strerror
            ) from None
        reason = _reason(error, url)
    except Exception as error:  # noqa: BLE001 - its message is shown to nobody
        reason = _reason(error, url)
    raise DataError("Could not {verb} {shown!r}: {reason}.", verb=verb, shown=url, reason=reason)


def _reason(error: Exception, url: str) -> str:
    from obstore import exceptions

    variables = STORES[_address(url).scheme]
    if isinstance(
        error, (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError, PermissionError)
    ):
        if not variables:
            return Message("the server does not let us in")
        return Message(
            "the store does not let us in; it asks the environment who we are ({variables})",
            variables=variables,
        )
    if not variables:
        return Message("the server does not answer, or not with this file")
    return Message(
        "the store does not answer, or not to us; it asks the environment who and where we are "
        "({variables})",
        variables=variables,
    )
