"""``shoal verify``, ``secret``, ``fingerprint`` and ``sign``: does a release keep its promises?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import arguments as opt
from shoal.cli.arguments import Asked, Promised, Reading, Said, takes_flags
from shoal.cli.screen import print_verification_json, say
from shoal.cli.state import words
from shoal.errors import DataError, OptionError
from shoal.io.overwrite_guard import current_watch
from shoal.messages import Message, joined
from shoal.runtime.sanitize import safe_text

if TYPE_CHECKING:
    from shoal.publish.verify import Verification
    from shoal.report.certificate import CertificateFile
    from shoal.report.verify_certificate import Certified


@takes_flags()
def verify(
    published: Annotated[
        str, typer.Argument(metavar="RELEASE", help="The published table; - is standard input.")
    ],
    *,
    job: opt.JobFile = None,
    certificate: Annotated[
        str | None,
        opt.in_files(
            "--certificate",
            help="The certificate of the release: says what was promised; also checks that it "
            "belongs to this file, and its signature.",
            metavar="FILE",
        ),
    ] = None,
    public_key: Annotated[
        str | None,
        opt.in_files(
            "--public-key",
            help="The public key of whom you trust; the certificate has to be signed with it.",
            metavar="FILE",
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Refuse a release with a warning: something in the file beside its table, "
            "values that differ only in how they are written, or a column that gives people away.",
        ),
    ] = False,
    asked: Asked,
    promises: Promised,
    reading: Reading,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Check a published table against its promises, from the file alone.

    The headline is green, amber or red, as that of a release: amber names what is open although
    every promise holds. What is in the file beside its table is named in a warning.

    Exit status: 0 every promise holds, 1 one does not (or, with --strict, there is a warning), 2
    it could not be checked.
    """
    from shoal.cli.arguments import job_of, release_of
    from shoal.run.outputs import name_of
    from shoal.settings.inputs import missing_texts

    if _verify_tables(
        published,
        (job, certificate),
        (asked, promises, {} if public_key is None else {"--public-key": public_key}, reading),
        as_json=as_json,
        quiet=quiet,
    ):
        return
    if certificate is not None:
        known = {"hierarchies", "population", "population_counts"}
        if job is not None or {*asked, *promises} - known:
            raise OptionError(
                "The certificate says what was promised; leave out --job, --k, --qi, --sensitive "
                "and the other promises."
            )
        files = opt.parse_pairs("--hierarchy", asked.get("hierarchies"), "ill=ill.csv")
        found = _with_certificate(
            published, certificate, public_key, reading, files, promises.get("population")
        )
        _show_with_certificate(
            found, name_of(published), strict=strict, as_json=as_json, quiet=quiet
        )
        return
    if public_key is not None:
        raise OptionError("--public-key is for a signed certificate; name it with --certificate.")
    wanted = job_of(job, asked, promises=promises, source=published, reading=reading)
    columns = wanted.schema_options()
    if wanted.k is None:
        raise OptionError("k is not given: say what was promised, with --k 10 or a job file.")
    from shoal.io.raw_reader import read_written
    from shoal.privacy import parse_privacy
    from shoal.publish.cells import columns_needed, note_on_names
    from shoal.publish.limited import limited_of
    from shoal.publish.recode import Style
    from shoal.publish.shuffled import GROUP
    from shoal.publish.verification_terms import promises_of, read_grids, read_trees
    from shoal.publish.verify import verify_table
    from shoal.release_reader.classes import promises_about_all, schema_of_population
    from shoal.report.headline import judged
    from shoal.settings.request import open_populations, read_combinations

    style, sensitive = Style.from_dict(wanted.style), columns["sensitive"]
    quasi = [GROUP] if style.shuffles else columns["quasi_identifiers"]
    person = counted = next(iter(columns["person"]), None)
    source = release_of(wanted, published, reading, alone=True)
    trees = {name: tree for name, tree in columns["hierarchies"].items() if name in sensitive}
    models = open_populations(
        parse_privacy(wanted.privacy), wanted.input, details=wanted.schema_options()
    )
    schema = schema_of_population(
        models,
        quasi,
        **{each: columns[each] for each in ("hierarchies", "kinds", "orders", "grid")},
    )

    def pick(names: list[str]) -> list[str]:
        columns_needed(names, quasi, sensitive)  # what is not there is said before rows are read
        return names

    written = read_written(
        published,
        format=source.format,
        delimiter=source.delimiter,
        encoding=source.encoding,
        header=source.header,
        pick=pick,
    )
    _refuse_twins([*quasi, *sensitive])
    if person is not None and person not in written.columns:
        # the usual case: the column is not published, so that only rows can be counted
        if "person" in asked:
            columns_needed(list(written.columns), (), [person])
        person = None
    checked = verify_table(
        written.frame,
        k=wanted.k,
        quasi_identifiers=quasi,
        sensitive=sensitive,
        promises=promises_of(models, read_trees(trees)),
        about_all=promises_about_all(models, schema, style),
        missing_values=missing_texts(source),
        people=person,
        limited=limited_of(
            wanted.knows, read_combinations("combinations", wanted.combinations or ())
        ),
        spelled=written.spelled,
        grids=read_grids(
            columns["grid"],
            style,
            columns["hierarchies"],
            columns["orders"],
            columns["top"],
            columns["bottom"],
        ),
        shuffled=style.shuffles,
    )
    in_promises = [*sensitive, *([] if person is None else [person])]
    beside = (*written.beside, *note_on_names(written.columns, quasi, in_promises))
    checked = judged(
        replace(checked, notes=(*checked.notes, *beside)),
        written.frame,
        quasi_identifiers=quasi,
        sensitive=sensitive,
        person=person,
        missing_values=missing_texts(source),
        spelled=written.spelled,
        unseen=counted is not None and person is None,
        shuffled=columns["quasi_identifiers"] if style.shuffles else (),
    )
    _show(checked, name_of(published), len(quasi), strict=strict, as_json=as_json, quiet=quiet)


def _is_of_several(job: str | None, certificate: str | None) -> bool:
    """Tell whether a job or a certificate is about several tables."""
    from shoal.report.tables import is_tables_certificate
    from shoal.settings.job_file import names_tables

    if job is not None and names_tables(job):
        return True
    return certificate is not None and is_tables_certificate(certificate)


def _verify_tables(
    published: str,
    terms: tuple[str | None, str | None],
    others: tuple[Said, ...],
    *,
    as_json: bool,
    quiet: bool,
) -> bool:
    """Check several tables against their job or their certificate; return whether they are of such.

    Raises:
        OptionError: something is said that these say already.
    """
    from shoal.run.tables_job import verify_tables_certificate, verify_tables_job
    from shoal.settings.job_file import read_tables_job

    job, certificate = terms
    if not _is_of_several(job, certificate):
        return False
    said = [name for other in others for name in other if name != "format"]
    if said:
        raise OptionError(
            "Of several tables, the job or the certificate says what was promised; leave {name} "
            "out.",
            name=str(said[0]),
        )
    if job is not None and certificate is not None:
        raise OptionError("Give the job or the certificate, not both.")
    form = others[-1].get("format")
    if certificate is not None:
        found = verify_tables_certificate(published, certificate, form=form)
    else:
        assert job is not None
        found = verify_tables_job(published, read_tables_job(job), form=form)
    if as_json:
        from shoal.cli.screen import print_json

        print_json(found.to_dict())
    elif not quiet:
        from shoal.cli.screen import print_tables_verification

        print_tables_verification(found)
    if not found.holds:
        raise typer.Exit(1)
    return True


def _show(
    checked: Verification, name: str, n_columns: int, *, strict: bool, as_json: bool, quiet: bool
) -> None:
    holds = checked.holds and not (strict and checked.notes)
    if as_json:
        print_verification_json(checked, name, {"holds": holds})
    elif not quiet:
        from shoal.cli.screen import print_verification

        title = _title(name, checked, strict=strict)
        print_verification(checked, title=title, n_columns=n_columns)
    if not holds:
        raise typer.Exit(1)


def _title(name: str, checked: Verification, *, strict: bool, as_certified: bool = True) -> str:
    if checked.holds and not as_certified:
        return Message("{name}: NOT as its certificate says, see below", name=name)
    if checked.holds and strict and checked.notes:
        return Message("{name}: REFUSED for the warnings below (--strict)", name=name)
    return name


def _refuse_twins(names: list[str]) -> None:
    """Refuse a promise about a name that several columns have: only one of them would be checked.

    Raises:
        DataError: there is such a column.
    """
    watch = current_watch()
    for how in () if watch is None else watch.how_read.values():
        for name in names:
            if name in how.twins:
                raise DataError(
                    "The release has more than one column {name!r}, and a promise about one "
                    "says nothing about the others; rename them.",
                    name=name,
                )


def _with_certificate(
    published: str,
    certificate: str,
    public_key: str | None,
    reading: Said,
    trees: dict[str, str],
    population: str | None,
) -> Certified:
    from shoal.report.verify_certificate import verify_certificate

    found = verify_certificate(
        published,
        certificate,
        public_key=public_key,
        format=reading.get("format"),
        delimiter=reading.get("delimiter"),
        missing_values=opt.parse_names([reading.get("missing_values", "")]),
        encoding=reading.get("encoding", "utf-8"),
        hierarchies=trees,
        population=population,
    )
    _refuse_twins(list(found.columns))
    return found


def _show_with_certificate(
    found: Certified, name: str, *, strict: bool, as_json: bool, quiet: bool
) -> None:
    holds = found.holds and not (strict and found.promises.notes)
    if as_json:
        more = {
            "holds": holds,
            "same_file": found.same_file,
            "signed_by": found.signed_by,
            "trusted": found.trusted,
            "sentences": found.lines,
        }
        print_verification_json(found.promises, name, more)
    elif not quiet:
        from shoal.cli.screen import print_verification, say

        print_verification(
            found.promises,
            title=_title(name, found.promises, strict=strict, as_certified=found.holds),
            n_columns=found.n_columns,
            whose="hidden" if found.people else "assumed",
        )
        say(joined("\n", ("", *found.lines)))
    if not holds:
        raise typer.Exit(1)


# -- ``shoal sign``: a person vouches for a certificate, with a key --------------------------------
#
# ``shoal secret`` and ``shoal fingerprint``: which input a certificate belongs to.

_LARGEST = 64 << 20


def secret(
    path: Annotated[
        str, typer.Argument(metavar="FILE", help="The new key; readable by you alone.")
    ],
) -> None:
    """Make a key, for --secret (tie a certificate to its input) or --person-key (keep pseudonyms).

    Keep it with the data and publish it never: with it, others could test guesses of the input,
    or compute which pseudonym a person has.
    """
    from shoal.io.keys import make_secret

    make_secret(path)
    say(Message("The key is written. Keep it with the data; never publish it."))


def fingerprint(
    source: Annotated[str, typer.Argument(metavar="DATA", help="The input of a release, a file.")],
    secret: Annotated[
        str, typer.Option("--secret", help="The key file of the release.", metavar="FILE")
    ],
    certificate: Annotated[
        str | None,
        typer.Option(help="A certificate: say whether it belongs to this input.", metavar="FILE"),
    ] = None,
) -> None:
    """Print the keyed hash of an input, or check it against a certificate.

    Exit status: 0 printed or the same, 1 another input, 2 it could not be read.
    """
    from shoal.io.keys import keyed_sha256

    found = keyed_sha256(source, secret)
    if certificate is None:
        say(found)
        return
    stated = _stated(certificate)
    if stated == found:
        say(Message("The certificate belongs to this input."))
        return
    say(Message("The certificate belongs to another input, or to another key."), stderr=True)
    raise typer.Exit(1)


def _stated(path: str) -> str:
    import json

    from shoal.io.remote import on_disk

    try:
        with on_disk(path).open("rb") as file:
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
) -> None:
    """Sign the certificate of a release, so that others can see who vouches for it.

    Shows the promises and every column with its role first.

    Exit status: 0 signed, 1 the certificate says that a promise does not hold, 2 it could not be
    signed.
    """
    from shoal.io.keys import make_key_pair, read_private_key
    from shoal.report.certificate import sign_certificate

    if key is not None and new_key is not None:
        raise OptionError("Give --key to sign with a key you have, or --new-key to make one.")
    if new_key is not None:
        public, number = make_key_pair(new_key, passphrase)
        say(
            Message(
                "The key is written. Keep {private} to yourself; give {public} to everybody.",
                private=new_key,
                public=public,
            )
        )
        say(Message("Public key: {number}", number=number.hex()))
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
    k, sha256 = signed.terms.k, signed.terms.sha256
    say(Message("Signed: k = {k:,}, a file with the SHA-256 {sha256}.", k=k, sha256=sha256))


def _show_terms(before: CertificateFile) -> None:
    """Show what a signature will vouch for: promises, and every column with its role."""
    terms = before.terms
    names = ", ".join(terms.names)
    say(
        Message(
            "Promised with k = {k:,}: {names}. The columns and their roles:",
            k=terms.k,
            names=names,
        )
    )
    width = max(17, *(len(words(role)) for _, role in terms.roles))
    for role in dict.fromkeys(role for _, role in terms.roles):
        for name in (name for name, each in terms.roles if each == role):
            say(f"  {words(role):{width}} {safe_text(name)}")
