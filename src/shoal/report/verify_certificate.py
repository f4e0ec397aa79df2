"""Checks a published table against its certificate: promises, hash and signature in one go."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, OptionError
from shoal.messages import Message, joined
from shoal.publish.cells import columns_needed, note_on_names
from shoal.publish.coding_check import CodingPromise
from shoal.publish.grid_check import GridPromise
from shoal.publish.label_check import LabelPromise
from shoal.publish.recode import Style
from shoal.publish.verification_terms import promises_of, read_trees
from shoal.publish.verify import Verification, verify_table
from shoal.release_reader.classes import promises_about_all, schema_of_population
from shoal.report.headline import judged
from shoal.settings.request import open_populations

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from shoal.io.raw_reader import Written
    from shoal.report.certificate import CertificateFile, Terms
    from shoal.settings.request import HierarchyLike


@dataclass(frozen=True, eq=False)
class Certified:
    """What was found about a published table and its certificate; true if nothing speaks against.

    Attributes:
        promises: the promises of the certificate, checked on the table alone.
        same_file: whether it is the table that the certificate is about, by its hash.
        signed_by: public key of whoever signed the certificate as it is; None if nobody did.
        trusted: whether that is the key that was asked for; None if none was.
        lines: one sentence each about promises, file and signature.
        holds: whether all of them hold.
        n_columns: how many quasi-identifiers there are.
        columns: the columns that the promises are about.
        people: whether the promises count people, not rows.
    """

    promises: Verification
    same_file: bool
    signed_by: str | None
    trusted: bool | None
    lines: tuple[str, str, str]
    holds: bool
    n_columns: int
    columns: tuple[str, ...]
    people: bool = False

    def __bool__(self) -> bool:
        return self.holds

    def _repr_html_(self) -> str:
        from shoal.runtime.notebook import facts, lists, shown

        verdict = "nothing speaks against it" if self.holds else "something speaks AGAINST it"
        return shown(facts([("Verdict", verdict)]), lists(self.lines))


def verify_certificate(
    published: str | PathLike[str],
    certificate: str | PathLike[str],
    *,
    public_key: str | PathLike[str] | None = None,
    format: str | None = None,  # noqa: A002 - the name users know from the command line
    delimiter: str | None = None,
    missing_values: Iterable[str] = (),
    encoding: str = "utf-8",
    hierarchies: Mapping[str, HierarchyLike] | None = None,
    population: Any = None,
) -> Certified:
    """Check a published table against its certificate, and the certificate against its signature.

    What was promised, and about which columns, is taken from the certificate.

    Args:
        published: the file, or the URL of a table of a database.
        certificate: the file of the certificate.
        public_key: the file of the public key whose owner you trust. Without it a signature shows
            nothing: whoever changed the certificate may have signed it with a key of their own.
        format: the format of the table when the suffix does not say it.
        delimiter: of a CSV; recognised unless given.
        missing_values: texts that stand for a missing sensitive value, beside the usual ones.
        encoding: of a text file; releases are written in UTF-8.
        hierarchies: of sensitive columns, where t-closeness is measured along them: a certificate
            holds no values. Also of quasi-identifiers, where promises are about a population.
        population: the table of everybody, or its file, for k-map and delta-presence.

    Raises:
        DataError: a file cannot be read, or is not what it should be.
        ShoalError: the table lacks a column of the certificate, or the like.
    """
    from shoal.io.keys import read_public_key
    from shoal.report.certificate import read_certificate

    trusted = None if public_key is None else read_public_key(public_key)
    stated = read_certificate(certificate)
    terms = stated.terms
    if os.fspath(published) == "-":
        raise OptionError("A stream has no hash of its own; give the release as a file.")
    written = _read(published, terms, format, delimiter, encoding)
    same_file = terms.sha256 is not None and _hash_of(published) == terms.sha256
    texts = tuple(missing_values)
    promises = judged(
        _verify(written, terms, texts, hierarchies or {}, population),
        written.frame,
        quasi_identifiers=terms.quasi_identifiers,
        sensitive=[name for name in terms.sensitive if name in written.columns],
        person=terms.person,
        missing_values=texts,
        spelled=written.spelled,
        unseen=terms.people and terms.person is None,
        also_open=terms.open if same_file else (),
        broken=() if terms.holds else terms.broken or (Message("by the word of the certificate"),),
        shuffled=terms.shuffled,
    )
    key = stated.signed_by()
    by_trusted = None if trusted is None else key == trusted
    return Certified(
        promises=promises,
        same_file=same_file,
        signed_by=None if key is None else key.hex(),
        trusted=by_trusted,
        lines=(
            _about_promises(promises, terms),
            _about_file(terms, same=same_file),
            _about_signature(stated, key, trusted=by_trusted),
        ),
        holds=(
            promises.holds
            and terms.holds
            and same_file
            and by_trusted is not False
            and not (stated.signed and key is None)
        ),
        n_columns=len(terms.quasi_identifiers),
        columns=(*terms.quasi_identifiers, *terms.sensitive),
        people=terms.people,
    )


def _read(
    published: str | PathLike[str],
    terms: Terms,
    file_format: str | None,
    delimiter: str | None,
    encoding: str,
) -> Written:
    from shoal.io.raw_reader import read_written

    quasi = terms.quasi_identifiers
    sensitive = terms.sensitive if terms.privacy or terms.limited else ()
    if terms.person is not None:
        sensitive = (*sensitive, terms.person)

    def pick(names: list[str]) -> list[str]:
        columns_needed(names, quasi, sensitive)  # what is not there is said before rows are read
        return names

    return read_written(
        published, format=file_format, delimiter=delimiter, encoding=encoding, pick=pick
    )


def _verify(
    written: Written,
    terms: Terms,
    missing_values: Iterable[str],
    hierarchies: Mapping[str, HierarchyLike],
    population: Any,
) -> Verification:
    from shoal.privacy import parse_privacy

    models = open_populations(
        parse_privacy(terms.privacy), given=population, details={"read_as": terms.read_as}
    )
    trees = {name: tree for name, tree in hierarchies.items() if name in terms.sensitive}
    # what was counted in people says nothing about rows: without ids, only k can be looked at
    unseen = terms.people and terms.person is None
    schema = None
    if not unseen:
        lines = [each for each in terms.grids if not {"labels", "half_open"} & {*each}]
        grid = {each["name"]: each["step"] for each in lines}
        schema = schema_of_population(
            models,
            terms.quasi_identifiers,
            default_grid=False,
            hierarchies=hierarchies,
            grid=grid,
        )
    found = verify_table(
        written.frame,
        k=terms.k,
        quasi_identifiers=terms.quasi_identifiers,
        limited=terms.limited,
        sensitive=terms.sensitive if terms.privacy or terms.limited else (),
        promises=() if unseen else promises_of(models, read_trees(trees)),
        about_all=() if unseen else promises_about_all(models, schema, Style()),
        people=terms.person if terms.people else None,
        missing_values=missing_values,
        spelled=written.spelled,
        grids=[_promise_of(grid) for grid in terms.grids],
        shuffled=bool(terms.shuffled),
    )
    named = [*terms.sensitive, *([] if terms.person is None else [terms.person])]
    notes = (*written.beside, *note_on_names(written.columns, terms.quasi_identifiers, named))
    found = replace(found, notes=(*found.notes, *notes))
    unchecked = [name for name in terms.names if name not in {each.name for each in found.checks}]
    if unchecked and not unseen:
        raise DataError(
            "The certificate promises {unchecked!r}, but does not say how that is checked; it "
            "is damaged or was made by another program.",
            unchecked=unchecked[0],
        )
    return found


def _promise_of(terms: Mapping[str, Any]) -> GridPromise:
    """Return what a certificate says of the cells of a column, as verification takes it."""
    if "half_open" in terms:
        return CodingPromise(**{name: value for name, value in terms.items() if name != "step"})
    return LabelPromise(**terms) if "labels" in terms else GridPromise(**terms)


def _hash_of(published: str | PathLike[str]) -> str:
    from shoal.io.atomic import sha256_of
    from shoal.io.database import rows_sha256
    from shoal.io.location import is_database
    from shoal.io.read import read_table

    if is_database(published):
        return rows_sha256(read_table(published))
    return sha256_of(published)


def _about_promises(found: Verification, terms: Terms) -> str:
    broken = [check.name for check in found.checks if not check.holds]
    if broken:
        return Message("Promises: BROKEN in this table: {names}.", names=joined(", ", broken))
    if not terms.holds:
        return Message(
            "Promises: BROKEN by the certificate's own word, although this table keeps them."
        )
    if terms.people and found.fewest_people is None:
        return Message(
            "Promises: every group of this table has {k:,} rows. They count people; whose "
            "rows they are is not published, so that only who made the release can check that.",
            k=found.k,
        )
    further = len(found.checks) - 1
    more = Message(" and {n} more", n=further) if further else ""
    return Message("Promises: hold in this table (k = {k:,}{more}).", k=found.k, more=more)


def _about_file(terms: Terms, *, same: bool) -> str:
    if same:
        return Message("File: the one that the certificate is about (SHA-256).")
    if terms.sha256 is None:
        return Message("File: UNKNOWN; the certificate holds no hash of a published file.")
    return Message("File: NOT the one that the certificate is about, or changed since (SHA-256).")


def _about_signature(stated: CertificateFile, key: bytes | None, *, trusted: bool | None) -> str:
    if not stated.signed:
        end = Message(", and a signature was asked for") if trusted is not None else ""
        return Message(
            "Signature: NONE; anybody may have written or changed this certificate{end}.", end=end
        )
    if key is None:
        return Message(
            "Signature: NOT VALID; the certificate is not as it was signed, or its key is one that "
            "everybody can sign for."
        )
    if trusted is None:
        return Message(
            "Signature: signed by a key that you have not named, {key}. Anybody can make "
            "one, and sign anew what they have changed: give --public-key to see whether it is "
            "the one you trust.",
            key=key.hex(),
        )
    if not trusted:
        return Message("Signature: by ANOTHER key than yours, {key}.", key=key.hex())
    when = stated.content["signature"]["signed"]
    return Message("Signature: valid, by the key that you trust; signed {when}.", when=when)
