"""``shoal secret`` and ``shoal fingerprint``: which input a certificate belongs to."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from shoal.cli.flags import Debug
from shoal.cli.screen import say
from shoal.errors import DataError

__all__ = ["fingerprint", "secret"]

_LARGEST = 64 << 20


def secret(
    path: Annotated[
        str, typer.Argument(metavar="FILE", help="The new key; readable by you alone.")
    ],
    debug: Debug = False,
) -> None:
    """Make a key for --secret, so that a certificate can be tied to its input.

    Keep it with the data and publish it never: with it, others could test guesses of the input.
    """
    del debug
    from shoal.io.secret import make_secret

    make_secret(path)
    typer.echo("The key is written. Keep it with the data; never publish it.")


def fingerprint(
    source: Annotated[str, typer.Argument(metavar="DATA", help="The input of a release, a file.")],
    secret: Annotated[
        str, typer.Option("--secret", help="The key file of the release.", metavar="FILE")
    ],
    certificate: Annotated[
        str | None,
        typer.Option(help="A certificate: say whether it belongs to this input.", metavar="FILE"),
    ] = None,
    debug: Debug = False,
) -> None:
    """Print the keyed hash of an input, or check it against a certificate.

    Exit status: 0 printed or the same, 1 another input, 2 it could not be read.
    """
    del debug
    from shoal.io.secret import keyed_sha256

    found = keyed_sha256(source, secret)
    if certificate is None:
        say(found)
        return
    stated = _stated(certificate)
    if stated == found:
        typer.echo("The certificate belongs to this input.")
        return
    typer.echo("The certificate belongs to another input, or to another key.", err=True)
    raise typer.Exit(1)


def _stated(path: str) -> str:
    import json
    from pathlib import Path

    try:
        with Path(path).open("rb") as file:
            found: Any = json.loads(file.read(_LARGEST))
        stated = found["input"]["hmac_sha256"]
    except OSError as error:
        raise DataError(f"Could not read {path!r}: {error.strerror}.") from None
    except (ValueError, TypeError, KeyError, RecursionError):
        raise DataError(f"{path!r} is no certificate of Shoal.") from None
    if not isinstance(stated, str):
        raise DataError(
            f"{path!r} has no keyed hash of its input: the release was made without --secret."
        )
    return stated
