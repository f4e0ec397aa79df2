"""``shoal sign``: a person vouches for a certificate, with a key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.flags import Debug
from shoal.cli.screen import say
from shoal.errors import OptionError
from shoal.runtime.sanitize import safe_text

if TYPE_CHECKING:
    from shoal.report.certificate import CertificateFile

__all__ = ["sign"]


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
