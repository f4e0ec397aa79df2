"""``shoal sign``: a person vouches for a certificate, with a key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.arguments import Debug
from shoal.cli.screen import say
from shoal.errors import DataError, OptionError
from shoal.runtime.sanitize import safe_text

if TYPE_CHECKING:
    from shoal.report.certificate import CertificateFile


# ``shoal secret`` and ``shoal fingerprint``: which input a certificate belongs to.

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
    from shoal.io.keys import make_secret

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
    from shoal.io.keys import keyed_sha256

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
        raise DataError(
            "Could not read {path!r}: {strerror}.", path=path, strerror=error.strerror
        ) from None
    except (ValueError, TypeError, KeyError, RecursionError):
        raise DataError("{path!r} is no certificate of Shoal.", path=path) from None
    if not isinstance(stated, str):
        raise DataError(
            "{path!r} has no keyed hash of its input: the release was made without --secret.",
            path=path,
        )
    return stated


def sign(
    certificate: Annotated[
        str | None,
        typer.Argument(
            metavar="CERTIFICATE",
            show_default=False,
            help="The certificate of a release; the signature is put into it.",
        ),
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", help="Your private key (Ed25519, PEM).", metavar="FILE")
    ] = None,
    new_key: Annotated[
        str | None,
        typer.Option(
            "--new-key",
            help="Make a private key, readable by you alone, and its public half beside it "
            "(FILE with the ending .pub).",
            metavar="FILE",
        ),
    ] = None,
    passphrase: Annotated[
        str | None,
        typer.Option(
            "--passphrase",
            help="A file whose first line protects the private key.",
            metavar="FILE",
        ),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace a signature that is there already.")
    ] = False,
    debug: Debug = False,
) -> None:
    """Sign the certificate of a release, so that others can see who vouches for it.

    Shows the promises and every column with its role first.

    Exit status: 0 signed, 1 the certificate says that a promise does not hold, 2 it could not be
    signed.
    """
    del debug
    from shoal.io.keys import make_key_pair, read_private_key
    from shoal.report.certificate import sign_certificate

    if key is not None and new_key is not None:
        raise OptionError("Give --key to sign with a key you have, or --new-key to make one.")
    if new_key is not None:
        public, number = make_key_pair(new_key, passphrase)
        say(f"The key is written. Keep {new_key} to yourself; give {public} to everybody.")
        say(f"Public key: {number.hex()}")
    if certificate is None:
        if new_key is None:
            raise OptionError(
                "Say what to sign, as in shoal sign certificate.json --key officer.key; "
                "shoal sign --new-key officer.key makes a key."
            )
        return
    private = key if key is not None else new_key
    if private is None:
        raise OptionError(
            "Say with which key, as in --key officer.key; shoal sign --new-key officer.key makes "
            "one."
        )
    signed = sign_certificate(
        certificate, read_private_key(private, passphrase), replace=replace, show=_show_terms
    )
    say(f"Signed: k = {signed.terms.k:,}, a file with the SHA-256 {signed.terms.sha256}.")


def _show_terms(before: CertificateFile) -> None:
    """Show what a signature will vouch for: promises, and every column with its role."""
    terms = before.terms
    say(f"Promised with k = {terms.k:,}: {', '.join(terms.names)}. The columns and their roles:")
    for role in dict.fromkeys(role for _, role in terms.roles):
        for name in (name for name, each in terms.roles if each == role):
            say(f"  {role:17} {safe_text(name)}")
