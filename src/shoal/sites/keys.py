"""Keys and certificates of the parties, and TLS in which only these may speak.

Every party has a key of its own and a certificate that it signed itself. Certificates are sent to
the others in any way, and fingerprints compared in another one: they stand in the job of every
party. A connection is taken if both sides show a certificate of the job (TLS 1.3).
"""

from __future__ import annotations

import hashlib
import os
import re
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import OptionError
from shoal.io.keys import write_new
from shoal.io.limits import read_side_file
from shoal.messages import Message

if TYPE_CHECKING:
    from collections.abc import Mapping

COORDINATOR = "coordinator"
_YEARS = 2
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")


def check_party(name: str) -> str:
    """Return the name of a party, which names files, too.

    Raises:
        OptionError: it is no plain word.
    """
    if not _NAME.fullmatch(name):
        raise OptionError(
            "{name!r} is no name of a site; take small letters, digits, - and _, at most 40.",
            name=name,
        )
    return name


def make_key(name: str, folder: Path) -> tuple[Path, Path, str]:
    """Write a new key and its certificate; return both files and the fingerprint.

    Raises:
        OptionError: one of the files exists already.
        DataError: a file cannot be written.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    check_party(name)
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    today = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(today - timedelta(days=1))
        .not_valid_after(today + timedelta(days=365 * _YEARS))
        .sign(key, hashes.SHA256())
    )
    files = folder / f"{name}.key", folder / f"{name}.crt"
    for file in files:
        if file.exists():
            raise OptionError("{name!r} exists already; choose another name.", name=str(file))
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    write_new(files[0], secret, 0o600)
    write_new(files[1], certificate.public_bytes(serialization.Encoding.PEM), 0o644)
    return *files, fingerprint_of(files[1])


def fingerprint_of(file: Path) -> str:
    """Return the SHA-256 of a certificate, as 64 hexadecimal digits.

    Raises:
        DataError: the file cannot be read.
        OptionError: it holds no certificate.
    """
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(_certificate(file))).hexdigest()


def _certificate(file: Path) -> str:
    missing = Message(
        "There is no certificate {file!r}; each party makes one with 'shoal sites key'.",
        file=str(file),
    )
    text = read_side_file(file, Message("the certificate"), missing).decode("ascii", "replace")
    try:
        ssl.PEM_cert_to_DER_cert(text)
    except ValueError:
        raise OptionError("{file!r} holds no certificate.", file=str(file)) from None
    return text


@dataclass(frozen=True)
class Identity:
    """Who speaks here, and whom it speaks with.

    Attributes:
        name: the own name in the job.
        key: the file of the own key.
        certificate: the file of the own certificate.
        others: the certificates of all other parties, as PEM.
        fingerprints: of all parties, by name.
    """

    name: str
    key: Path
    certificate: Path
    others: str
    fingerprints: Mapping[str, str]

    def context(self, *, server: bool) -> ssl.SSLContext:
        """Return how TLS is spoken: both sides show a certificate of the job."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname = False  # a fingerprint says who it is, not an address
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=self.others)
        context.load_cert_chain(self.certificate, self.key)
        return context

    def party_of(self, certificate: bytes | None) -> str | None:
        """Return the name of the party that shows this certificate; None if it is none."""
        shown = hashlib.sha256(certificate or b"").hexdigest()
        return next((n for n, each in self.fingerprints.items() if each == shown), None)


def read_identity(key: Path, folder: Path, fingerprints: Mapping[str, str]) -> Identity:
    """Open the own key, and the certificates of all parties.

    Args:
        key: the own key, NAME.key; its certificate is NAME.crt beside it.
        folder: where the certificates of the others are, each as NAME.crt.
        fingerprints: what they have to be.

    Raises:
        OptionError: a certificate is another one than the job says.
        DataError: a file cannot be read.
    """
    name, own = key.stem, key.with_suffix(".crt")
    if name not in fingerprints:
        raise OptionError(
            "The job has no party {name!r}, which the key {key!r} belongs to; its parties are "
            "{parties}.",
            name=name,
            key=os.fspath(key),
            parties=", ".join(fingerprints),
        )
    others = []
    for party, fingerprint in fingerprints.items():
        file = own if party == name else folder / f"{party}.crt"
        if fingerprint_of(file) != fingerprint:
            raise OptionError(
                "The certificate {file!r} has another fingerprint than the job says of "
                "{party!r}; compare it with its owner.",
                file=str(file),
                party=party,
            )
        if party != name:
            others.append(_certificate(file))
    return Identity(name, key, own, "\n".join(others), fingerprints)
