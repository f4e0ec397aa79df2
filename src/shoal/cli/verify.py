"""``shoal verify``: does a published file keep its promises?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli import arguments as opt
from shoal.cli.arguments import Asked, Promised, Reading, Said, takes_flags
from shoal.cli.screen import print_verification_json
from shoal.errors import DataError, OptionError
from shoal.io.overwrite_guard import current_watch

if TYPE_CHECKING:
    from shoal.publish.verify import Verification
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
    debug: opt.Debug = False,
) -> None:
    """Check a published table against its promises, from the file alone.

    The headline is green, amber or red, as that of a release: amber names what is open although
    every promise holds. What is in the file beside its table is named in a warning.

    Exit status: 0 every promise holds, 1 one does not (or, with --strict, there is a warning), 2
    it could not be checked.
    """
    del debug
    from shoal.cli.arguments import job_of, release_of
    from shoal.run.outputs import name_of
    from shoal.settings.inputs import missing_texts

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
    from shoal.publish.recode import Style
    from shoal.publish.verification_terms import promises_of, read_grids, read_trees
    from shoal.publish.verify import verify_table
    from shoal.release_reader.population import promises_about_all, schema_of_population
    from shoal.report.headline import judged
    from shoal.settings.build_request import open_populations

    quasi, sensitive = columns["quasi_identifiers"], columns["sensitive"]
    person = counted = next(iter(columns["person"]), None)
    source = release_of(wanted, published, reading, alone=True)
    trees = {name: tree for name, tree in columns["hierarchies"].items() if name in sensitive}
    models = open_populations(parse_privacy(wanted.privacy), wanted.input)
    schema = schema_of_population(
        models,
        quasi,
        **{each: columns[each] for each in ("hierarchies", "kinds", "orders", "grid")},
    )
    style = Style.from_dict(wanted.style)

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
        spelled=written.spelled,
        grids=read_grids(columns["grid"], style, columns["hierarchies"], columns["orders"]),
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
    )
    _show(checked, name_of(published), len(quasi), strict=strict, as_json=as_json, quiet=quiet)


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
        return f"{name}: NOT as its certificate says, see below"
    if checked.holds and strict and checked.notes:
        return f"{name}: REFUSED for the warnings below (--strict)"
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
        say("\n" + "\n".join(found.lines))
    if not holds:
        raise typer.Exit(1)
