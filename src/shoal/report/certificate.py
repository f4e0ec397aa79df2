"""Makes, reads and signs the certificate of a release: what was promised and what was measured.

A certificate can be shown to anybody who may see the release. Every number in it is a function of
the published table, of the settings, or the number of rows that were read or left out; so it tells
about nobody what the release does not tell. Scores that compare with the original, the bound and
the input's plain hash would (see `shoal.publish.loss`); they stay with the holder of the data.

A signed certificate ends with an entry ``signature``: algorithm, time, public key and, last, the
value. What is signed is the file as `format_certificate` writes it without that value: JSON with
two spaces of indentation, entries in the order of the file, a line feed at the end, UTF-8. A file
that is not byte for byte what its content would be written as is not the one that was signed.
"""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from os import PathLike
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, OptionError, PromiseError
from shoal.messages import Message
from shoal.publish.coding_check import CodingPromise
from shoal.publish.judgement import OpenPoint, point_of
from shoal.publish.label_check import LabelPromise
from shoal.publish.limited import Limited, limited_of
from shoal.publish.shuffled import NOT_K_ANONYMOUS
from shoal.runtime.sanitize import plain_values
from shoal.settings.files import About
from shoal.table.grid import Grid
from shoal.table.schema import COLUMN_ROWS, Kind

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from shoal.options import ColumnOption
    from shoal.publish.grid_check import GridPromise
    from shoal.publish.release_data import ReleaseData
    from shoal.publish.verify import Check
    from shoal.table.schema import Column

SCHEMA_VERSION = 2
"""Grows when a key changes its meaning or disappears; new keys may appear without."""

SHUFFLED = "shuffled"
"""What a certificate calls the role of a column whose exact cells are shuffled within groups."""
_PACKAGES = {"shoal": "shoal-anonymity", "numpy": "numpy", "numba": "numba", "polars": "polars"}
# Values of a column would be cells of the table; with the seed and the input a run is repeated.
_NEVER = frozenset({"seed", "orders", "hierarchies", "missing_values"})
_ALGORITHM = "Ed25519"
_SIGNATURE_KEYS = ["algorithm", "signed", "public_key", "value"]


def build_certificate(
    release: ReleaseData,
    input_hmac: str | None = None,
    output_sha256: str | None = None,
    about: About | None = None,
) -> dict[str, Any]:
    """Return the certificate as plain values, ready for JSON.

    Args:
        release: a finished release.
        input_hmac: keyed hash of the input file (`io.secret.keyed_sha256`), if there is one. A
            plain hash would let anybody try guesses of the input until one fits.
        output_sha256: hash of the published file, if there is one.
        about: what its owner says about the release.
    """
    verification = release.verification
    highest_risk: float | None = verification.highest_risk
    if release.counts_people:
        highest_risk = 1 / release.k
    elif release.whose == "doubtful":  # it has not been established
        highest_risk = None
    if verification.shuffled:  # who is in the table is not hidden
        highest_risk = None
    scores = release.facts.scores.to_dict()  # what the published table tells by itself
    scores["scores"]["average-class-size"] = release.n_published / max(verification.n_groups, 1)
    certificate = {
        "schema_version": SCHEMA_VERSION,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "about": asdict(about or About()),
        "versions": {"python": platform.python_version()} | package_versions(),
        "input": {"hmac_sha256": input_hmac, "rows": release.n_rows},
        "output": {
            "sha256": output_sha256,
            "rows": release.n_published,
            "suppressed_rows": release.n_suppressed,
        },
        "columns": [
            {
                "name": column.name,
                "role": SHUFFLED if column.shuffled else column.role.value,
                **{
                    row.name: _entry_of(column, row)
                    for row in COLUMN_ROWS.values()
                    if row.certificate
                },
                "hierarchy_height": (
                    None if column.hierarchy is None else column.hierarchy.tree_height
                ),
            }
            for column in release.schema.columns
        ],
        "parameters": {"k": release.k}
        | {name: value for name, value in release.parameters.items() if name not in _NEVER},
        "attacker": verification.attacker,
        "judgement": release.judgement.to_dict(),
        "holds": verification.holds,
        "promises": [
            {
                "name": check.name,
                "promised": check.promised,
                "measured": disclosed_number(release, check),
                "holds": check.holds,
                "judged_by": check.judged_by,
            }
            for check in verification.checks
        ],
        "grids": [_promised(grid, release) for grid in release.grids],
        "verified": verification.read_from,
        "counted": what_is_counted(release),
        **({"shuffled": NOT_K_ANONYMOUS.sentence} if verification.shuffled else {}),
        "risk": {
            "groups": verification.n_groups,
            "smallest_group": verification.smallest_group,
            "highest_reidentification_risk": highest_risk,
        },
        **scores,
        "strata": [asdict(each) for each in release.facts.strata],
        "warnings": list(release.warnings),
        "seconds": round(release.seconds),
    }
    plain = plain_values(certificate)
    assert isinstance(plain, dict)
    return plain


def _entry_of(column: Column, row: ColumnOption) -> Any:
    """Return what a certificate tells of an option of a column; None where it is not for it.

    Lines that intervals end on, chosen by default, tell an order of magnitude.
    """
    value = getattr(column, row.name)
    if row.fits is not None and not (column.kind and row.fits(column.kind)):
        return None
    if isinstance(value, Grid):
        chosen = "by default" if value.by_default else "as asked"
        return {"step": str(value), "chosen": chosen} if value else None
    return value.value if isinstance(value, Kind) else value


_ENDS = ("top", "bottom")
_CODED = ("numbers", "half_open")


def _promised(grid: GridPromise, release: ReleaseData) -> dict[str, Any]:
    """Return what a grid promises; of labels those alone that the published cells show."""
    entry: dict[str, Any] = {
        "column": grid.name,
        "step": grid.step,
        "formats": grid.formats,
        "suppressed": grid.suppressed,
    }
    entry |= {side: end for side in _ENDS if (end := getattr(grid, side))}
    if isinstance(grid, CodingPromise):
        return entry | {name: getattr(grid, name) for name in _CODED}
    if not isinstance(grid, LabelPromise):
        return entry
    shown = grid.told_by(release.cells_of(grid.name))
    lists = {"labels": shown.labels, "starts": shown.starts, "ends": shown.ends}
    return entry | {name: sorted(each) for name, each in lists.items()} | {"sets": shown.sets}


def format_certificate(certificate: Mapping[str, Any]) -> str:
    """Return a certificate as the text of its file; signatures are about exactly this text."""
    return json.dumps(certificate, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def disclosed_number(release: ReleaseData, check: Check) -> float:
    """Return what may be published of a measured number.

    Whose the rows are is not published, so that a number counted in people says more than the
    release does. That the promise is kept is all that is told of it.
    """
    return check.measured if not release.counts_people or not check.holds else check.promised


def disclosed_text(release: ReleaseData, check: Check) -> str:
    """Return what may be published of a measured number, as people read it."""
    if release.counts_people and check.holds:
        return Message("as promised")
    return check.shown(check.measured)


def who_is_counted(release: ReleaseData) -> str:
    """Return whom the share that an interval covers counts, as far as the published table tells.

    Whose the rows are is not published; a share of people would tell more than the release does.
    """
    return Message("rows") if release.counts_people else Message("people")


def what_is_counted(release: ReleaseData) -> str:
    """Return what the promises count, and what a reader can check of that."""
    if release.verification.attacker is not None:
        return Message(
            "{what} Every class of rows that look the same in a combination of columns that may be "
            "known holds at least {k:,}.",
            what=Message("People.") if release.counts_people else Message("Rows."),
            k=release.k,
        )
    if not release.counts_people:
        sentence = {
            "declared": Message(
                "Rows. Every group holds at least {k:,} rows; that is as many people because every "
                "row was declared to be a different person."
            ),
            "assumed": Message(
                "Rows. Every group holds at least {k:,} rows; that is as many people only if every "
                "row is a different person."
            ),
            "doubtful": Message(
                "Rows. Every group holds at least {k:,} rows; that is as many people only if every "
                "row is a different person; there are signs against it."
            ),
        }[release.whose]
        return Message(sentence.template, k=release.k)
    return Message(
        "People. Every group holds at least {k:,} different people; this was checked with their "
        "ids, which are not published. Who reads the release can check the number of rows only. "
        "By how much a promise is kept is not told: what was measured is given as what was "
        "promised.",
        k=release.k,
    )


def package_versions() -> dict[str, str | None]:
    """Return the version of each package that a result may depend on."""
    found: dict[str, str | None] = {}
    for package, distribution in _PACKAGES.items():
        try:
            found[package] = version(distribution)
        except PackageNotFoundError:  # a source tree that is not installed
            found[package] = None
    return found


# -- certificates in files --------------------------------------------------------------


@dataclass(frozen=True)
class Terms:
    """What a certificate promises, and about which file.

    Attributes:
        k: the promised size of the smallest group.
        quasi_identifiers: the columns that could single a person out.
        sensitive: the columns that further promises look at.
        privacy: further promises, as tables of a job file.
        grids: columns whose intervals end on lines: what verification takes, as tables.
        names: all promises, as the certificate calls them.
        roles: name and role of every column.
        sha256: hash of the published file; None if the certificate belongs to no file.
        holds: whether the promises held when the certificate was made.
        people: whether the promises count people and not rows.
        person: the column that says whose row it is, if it is published (as pseudonyms).
        open: what was found open when the certificate was made.
        broken: promises that it says are broken.
        read_as: how the dates and numbers of columns are written in the input.
        limited: what an attacker may know, if that is not all quasi-identifiers.
        shuffled: the columns whose exact cells are shuffled within groups.
    """

    k: int
    quasi_identifiers: tuple[str, ...]
    sensitive: tuple[str, ...]
    privacy: tuple[Mapping[str, Any], ...]
    grids: tuple[Mapping[str, Any], ...]
    names: tuple[str, ...]
    roles: tuple[tuple[str, str], ...]
    sha256: str | None
    holds: bool
    people: bool = False
    person: str | None = None
    open: tuple[OpenPoint, ...] = ()
    broken: tuple[str, ...] = ()
    read_as: Mapping[str, str] = field(default_factory=dict)
    limited: Limited = field(default_factory=Limited)
    shuffled: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class CertificateFile:
    """A certificate as it was read.

    Attributes:
        content: its entries.
        terms: what it promises.
        data: the bytes of the file.
    """

    content: Mapping[str, Any]
    terms: Terms
    data: bytes

    @property
    def signed(self) -> bool:
        """Whether there is a signature; not whether it is valid."""
        return "signature" in self.content

    def signed_by(self) -> bytes | None:
        """Return the public key whose owner signed exactly these bytes; None if nobody did.

        The key is the one that the certificate names. That says nothing about whose it is:
        anybody can make a key and sign. A key that everybody can sign for is nobody's.
        """
        from shoal.io.keys import check_library, is_weak

        if not self.signed:
            return None
        check_library()
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        signature = self.content["signature"]
        if (
            not isinstance(signature, dict)
            or list(signature) != _SIGNATURE_KEYS
            or signature["algorithm"] != _ALGORITHM
        ):
            return None
        public, value = _bytes_of(signature["public_key"], 32), _bytes_of(signature["value"], 64)
        if public is None or value is None or is_weak(public) or not self._is_as_written():
            return None
        try:
            Ed25519PublicKey.from_public_bytes(public).verify(value, signed_bytes(self.content))
        except (InvalidSignature, ValueError):
            return None
        return public

    def _is_as_written(self) -> bool:
        try:
            return format_certificate(self.content).encode() == self.data
        except UnicodeEncodeError:  # half a character, which no file of ours holds
            return False


def read_certificate(path: str | PathLike[str]) -> CertificateFile:
    """Read a certificate.

    Raises:
        DataError: the file cannot be read or is no certificate.
    """
    from shoal.io.limits import read_side_file

    shown = os.fspath(path)
    missing = Message("There is no certificate {shown!r}.", shown=shown)
    data = read_side_file(path, Message("the certificate"), missing)
    try:
        content = json.loads(data, object_pairs_hook=_once, parse_constant=_refuse)
        version = content["schema_version"]
        if isinstance(version, int) and version > SCHEMA_VERSION:
            raise DataError(
                "The certificate {shown!r} is of a newer version of Shoal; check it with that one.",
                shown=shown,
            )
        return CertificateFile(content, _terms_of(content), data)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise DataError("{shown!r} is no certificate of Shoal.", shown=shown) from None


def sign(
    certificate: str | PathLike[str],
    key: str | PathLike[str],
    *,
    passphrase: str | PathLike[str] | None = None,
    replace: bool = False,
) -> str:
    """Sign the certificate of a release, so that others can see who vouches for it.

    The signature is put into the file. `shoal.make_key` makes a key, `shoal.verify_certificate`
    checks a release against its signed certificate.

    Args:
        certificate: the file of the certificate.
        key: the file of your private key (Ed25519, PEM).
        passphrase: a file whose first line protects that key.
        replace: whether a signature that is there already may be replaced.

    Returns:
        The public key, in hexadecimal digits, as the certificate names it.

    Raises:
        DataError: a file cannot be read or written, or is not what it should be.
        OptionError: the certificate is signed already, or belongs to no file; or others can read
            the key.
        PromiseError: it says itself that a promise does not hold.
    """
    from shoal.io.keys import public_half, read_private_key

    private = read_private_key(key, passphrase)
    sign_certificate(certificate, private, replace=replace)
    return public_half(private).hex()


def sign_certificate(
    path: str | PathLike[str],
    key: Ed25519PrivateKey,
    *,
    replace: bool = False,
    show: Callable[[CertificateFile], None] = lambda _: None,
) -> CertificateFile:
    """Sign a certificate: put the signature into its file, whole or not at all.

    Args:
        path: the certificate.
        key: a private key.
        replace: whether a signature that is there already may be replaced.
        show: shows what is about to be signed.

    Returns:
        What the file now holds.

    Raises:
        DataError: the file cannot be read or written, or is no certificate.
        OptionError: it is signed already, or belongs to no file.
        PromiseError: it says itself that a promise does not hold.
    """
    from shoal.io.atomic import atomic_write_bytes
    from shoal.io.keys import public_half
    from shoal.io.overwrite_guard import watching_inputs

    shown = os.fspath(path)
    with watching_inputs():  # it is read to be written again
        before = read_certificate(path)
    if before.signed and not replace:
        raise OptionError(
            "{shown!r} is signed already; with --replace your signature takes the place of "
            "that one.",
            shown=shown,
        )
    if before.terms.sha256 is None:
        raise OptionError(
            "{shown!r} holds no hash of a published file, so a signature would vouch for "
            "none; let 'shoal anonymize' write table and certificate together.",
            shown=shown,
        )
    if not before.terms.holds:
        raise PromiseError(
            "{shown!r} says that a promise does not hold; it is not to be signed.", shown=shown
        )
    show(before)
    content = {name: value for name, value in before.content.items() if name != "signature"}
    content["signature"] = {
        "algorithm": _ALGORITHM,
        "signed": datetime.now(UTC).isoformat(timespec="seconds"),
        "public_key": public_half(key).hex(),
    }
    value = key.sign(signed_bytes(content)).hex()
    content["signature"] = {**content["signature"], "value": value}
    data = format_certificate(content).encode()
    atomic_write_bytes(path, data)
    return CertificateFile(content, before.terms, data)


def signed_bytes(content: Mapping[str, Any]) -> bytes:
    """Return what is signed: the certificate as it is written, without the signature's value."""
    signature = {name: each for name, each in content["signature"].items() if name != "value"}
    return format_certificate({**content, "signature": signature}).encode()


def _terms_of(content: Mapping[str, Any]) -> Terms:
    """Return what a certificate promises; errors of Python where it is none."""
    columns = [(_text(each["name"]), _text(each["role"])) for each in content["columns"]]
    asked, output, holds = content["parameters"], content["output"], content["holds"]
    sha256 = output["sha256"]
    if sha256 is not None and _bytes_of(sha256, 32) is None:
        raise ValueError
    if not isinstance(holds, bool) or not all(isinstance(each, dict) for each in asked["privacy"]):
        raise TypeError
    names = [_text(each["name"]) for each in content["promises"]]
    kept = [each["holds"] is True for each in content["promises"]]
    return Terms(
        k=_whole_number(asked["k"]),
        quasi_identifiers=tuple(name for name, role in columns if role == "quasi-identifier"),
        sensitive=tuple(name for name, role in columns if role == "sensitive"),
        privacy=tuple(asked["privacy"]),
        grids=tuple(_grid_terms(each) for each in content.get("grids", ())),
        names=tuple(names),
        roles=tuple(columns),
        sha256=sha256,
        holds=holds and all(kept),
        people=str(content.get("counted", "")).startswith("People"),
        person=next(
            (name for name, role in columns if role == "person" and asked.get("pseudonyms")), None
        ),
        open=tuple(map(point_of, content.get("judgement", {}).get("open", ()))),
        broken=tuple(name for name, each in zip(names, kept, strict=True) if not each),
        read_as={
            each["name"]: _text(each["read_as"])
            for each in content["columns"]
            if each.get("read_as") is not None
        },
        limited=_limited(asked.get("knows"), asked.get("combinations", ())),
        shuffled=tuple(name for name, role in columns if role == SHUFFLED),
    )


def _limited(knows: object, chosen: Iterable[Iterable[object]]) -> Limited:
    """Return what an attacker may know; nobody is said to know no column at all."""
    found = limited_of(
        None if knows is None else _whole_number(knows),
        [[_text(name) for name in one] for one in chosen],
    )
    if (found.knows is not None and found.knows < 1) or not all(found.chosen):
        raise ValueError
    return found


def _grid_terms(table: Mapping[str, Any]) -> dict[str, Any]:
    entry = {
        "name": _text(table["column"]),
        "step": _text(table["step"]),
        "formats": [_text(each) for each in table["formats"]],
        "suppressed": _text(table["suppressed"]),
    }
    entry |= {side: _text(table[side]) for side in _ENDS if side in table}
    if "half_open" in table:
        return entry | {name: bool(table[name]) for name in _CODED}
    if "labels" not in table:
        return entry
    lists = ("labels", "starts", "ends", "sets")
    return entry | {name: [_text(each) for each in table[name]] for name in lists}


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _whole_number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError
    return value


def _bytes_of(value: object, length: int) -> bytes | None:
    """Return bytes that are written as lower-case hexadecimal digits, so in one way only."""
    if not isinstance(value, str) or not re.fullmatch(rf"[0-9a-f]{{{2 * length}}}", value):
        return None
    return bytes.fromhex(value)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an entry that is there twice: readers would not agree on which one counts."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


def _refuse(constant: str) -> None:
    raise ValueError(constant)
