"""A job of several tables: from files, a folder or a database into a folder or a database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, OptionError
from shoal.io.atomic import AtomicGroup, sha256_of
from shoal.io.columns import decode_text
from shoal.io.formats import FORMATS, detect_format
from shoal.io.location import is_database, shown_name
from shoal.io.overwrite_guard import current_watch, watching_inputs
from shoal.io.raw_reader import read_written
from shoal.io.remote import is_remote
from shoal.messages import Message
from shoal.publish.verification_terms import promises_of, read_trees
from shoal.publish.verify import Check, verify_table
from shoal.publish.verify_tables import TableTerms, verify_published_tables
from shoal.release.tables import folder_of, places_in, refuse_places
from shoal.release_reader.columns import source_names
from shoal.report.certificate import format_certificate
from shoal.report.tables import (
    build_tables_certificate,
    read_tables_certificate,
    render_tables_report,
)
from shoal.run.outputs import check_files, refuse_existing
from shoal.run.tables import run_tables
from shoal.runtime.progress import watching
from shoal.settings.files import OUTPUT_OPTIONS, About, Input
from shoal.settings.inputs import read_input
from shoal.settings.job_file import read_tables_job
from shoal.settings.tables import TablesJob, TablesRequest

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

    import polars as pl

    from shoal.publish.verify import Promise
    from shoal.publish.verify_tables import TablesVerification
    from shoal.release.tables import TablesRelease
    from shoal.settings.files import Output
    from shoal.study.audit.attack_context import Audit

_WRITES = frozenset(
    (
        *("table", "format", "if_exists", "replace", "certificate", "report", "audit"),
        *("title", "owner", "purpose", "language"),
    )
)
"""What can be said under [output] of several tables."""


@dataclass(frozen=True, eq=False)
class TablesJobResult:
    """What a job of several tables made.

    Attributes:
        release: the release, verified.
        files: where everything was written: each table by its name, ``certificate``, ``report``.
        audit: how far attackers get with the release, if that was asked.
    """

    release: TablesRelease
    files: Mapping[str, str]
    audit: Audit | None = None

    def _repr_html_(self) -> str:
        from shoal.runtime.notebook import facts, shown

        files = shown(facts(self.files.items()))
        return self.release._repr_html_() + files


def run_tables_job(
    job: TablesJob | str | PathLike[str],
    *,
    progress: bool | Callable[[int, int, str], None] = False,
    when_written: Callable[[], None] | None = None,
) -> TablesJobResult:
    """Read the tables of a job, anonymize and verify them, and write what the job asks for.

    Args:
        job: a job, or the path of a job file with ``[tables.…]``.
        progress: True for a bar, or a function of (done, total, what).
        when_written: called once, as soon as every file is in place.

    Raises:
        ShoalError: with one sentence on what is wrong and what to do; files that exist are as
            they were. `PromiseError` if no release can keep the promise.
    """
    with nullcontext() if current_watch() else watching_inputs(), watching(progress) as report:
        asked = job if isinstance(job, TablesJob) else read_tables_job(job)
        request = asked.request()
        inputs = inputs_of(asked)
        output = asked.output
        places, form = _places(asked, inputs)
        report(0, 0, "reading")
        frames = {}
        for name, source in inputs.items():
            wanted = request.tables[name].request

            def needed(names: list[str], wanted: Any = wanted) -> list[str]:
                used = wanted.schema(names).used
                return [each for each in names if each in used]

            details = {key: each for key, each in wanted.details.items() if key != "kinds"}
            kinds = wanted.details.get("kinds") or {}
            frames[name] = read_input(source, details={**details, "kinds": kinds}, columns=needed)
        release = run_tables(_as_read(request), frames, progress=report)
        found = release.audit(frames) if output.audit else None
        report(0, 0, "writing")
        release = _write(release, places, form, output, found)
        if when_written is not None:
            when_written()
    files = dict(places)
    for kind in ("certificate", "report"):
        if getattr(output, kind) is not None:
            files[kind] = getattr(output, kind)
    return TablesJobResult(release, files, found)


def _as_read(request: TablesRequest) -> TablesRequest:
    """Return the request without the columns that are removed: they were never read."""
    tables = {
        name: replace(each, request=replace(each.request, identifiers=(), drop=()))
        for name, each in request.tables.items()
    }
    return replace(request, tables=tables)


def _write(
    release: TablesRelease,
    places: Mapping[str, str],
    form: str,
    output: Output,
    audit: Audit | None,
) -> TablesRelease:
    about = About(title=output.title, owner=output.owner, purpose=output.purpose)
    refuse_places(places.values(), output.choice)  # nobody may have put one there meanwhile
    with folder_of(places.values()), AtomicGroup() as group:
        release, hashes = release.stage(group, places, format=form, if_exists=output.choice)
        if output.certificate is not None:
            certificate = build_tables_certificate(release, hashes, about)
            group.add(output.certificate, format_certificate(certificate))
        if output.report is not None:
            page = render_tables_report(release, about=about, audit=audit, language=output.language)
            group.add(output.report, page)
    return release


def inputs_of(job: TablesJob) -> dict[str, Input]:
    """Return where each table is and how it is read.

    Raises:
        OptionError: it is not said, or several machines are asked for.
        DataError: a folder lacks a table, or has several files of it.
    """
    found = {}
    for name, each in job.tables.items():
        source = replace(job.input, **each.read)
        if "path" not in each.read:
            source = replace(source, path=_inside(job.input.path, name))
        if source.engine != "local":
            raise OptionError("Several tables are anonymized on one machine; leave engine out.")
        found[name] = source
    return found


def _inside(path: str | None, name: str) -> str:
    """Return where a table is in a folder or a database."""
    if path is None:
        raise OptionError(
            "Say where table {name!r} is: path = '{name}.csv' under [tables.{name}], or the folder "
            "or database of all tables as path under [input].",
            name=name,
        )
    if is_database(path):
        return places_in(path, [name], "")[name]
    if is_remote(path):
        raise OptionError(
            "Name each table of a store, as in path = 's3://bucket/{name}.csv' under "
            "[tables.{name}].",
            name=name,
        )
    folder = Path(path)
    if not folder.is_dir():
        raise DataError("There is no folder {path!r}.", path=path)
    files = [each for each in sorted(folder.iterdir()) if _is_table(each, name)]
    if len(files) != 1:
        raise DataError(
            "The folder {path!r} has {n} files of table {name!r}; name the one that is meant with "
            "path under [tables.{name}].",
            path=path,
            n=len(files),
            name=name,
        )
    return str(files[0])


def _is_table(file: Path, name: str) -> bool:
    if file.name.partition(".")[0] != name or not file.is_file():
        return False
    try:
        detect_format(str(file))
    except DataError:
        return False
    return True


def _places(job: TablesJob, inputs: Mapping[str, Input]) -> tuple[dict[str, str], str]:
    """Return where each table goes and in which format, after a look at what would fail later."""
    output = job.output
    for each in fields(output):
        if (
            each.name not in _WRITES
            and getattr(output, each.name) != OUTPUT_OPTIONS[each.name].default
        ):
            raise OptionError(
                "{name} (under [output]) is for one table; leave it out where there are several.",
                name=each.name,
            )
    if output.table is None:
        raise OptionError(
            "Say where the tables go: -o folder, or table = 'folder' under [output] of the job "
            "file; a folder or the URL of a database."
        )
    if output.table == "-":
        raise OptionError("Several tables do not fit into a stream; give a folder with -o.")
    form = output.format or _format_of(inputs)
    places = places_in(output.table, list(job.tables), form)
    for source in inputs.values():
        if source.path is not None and source.path in places.values():
            raise OptionError(
                "The tables would replace those they are made from, in {place!r}; give another "
                "folder or database.",
                place=shown_name(output.table),
            )
    others = {"the certificate": output.certificate, "the report": output.report}
    check_files(
        [each.path for each in inputs.values() if each.path and not is_database(each.path)] or None,
        others,
    )
    if not output.replaces:
        refuse_existing([output.certificate, output.report])
    refuse_places(places.values(), output.choice)
    return places, form


def _format_of(inputs: Mapping[str, Input]) -> str:
    """Return the format of the first file that is read, if it can be written; else CSV."""
    for source in inputs.values():
        if source.path is not None and not is_database(source.path):
            form = source.format or detect_format(source.path).name
            if form in FORMATS:
                return form
    return "csv"


def verify_tables_job(
    target: str, job: TablesJob, *, form: str | None = None
) -> TablesVerification:
    """Say whether tables in a folder or a database keep what a job promises, from their bytes.

    Raises:
        ShoalError: the job or a table cannot be read, or a column is not there.
    """
    request = job.request()
    read = _read_published(target, list(request.tables), form or job.output.format)
    terms = []
    for name, asked in request.tables.items():
        plain = [each for each in asked.request.quasi_identifiers if each not in asked.items]
        columns = read[name].columns
        quasi = [each for column in plain for each in source_names(column, columns)]
        terms.append(
            TableTerms(name, tuple(quasi), asked.key, asked.link, asked.above, asked.items)
        )
    main = request.main.request
    trees = read_trees(
        {
            name: tree
            for name, tree in (main.details.get("hierarchies") or {}).items()
            if name in main.sensitive
        }
    )
    promises = promises_of(main.privacy, trees)
    return _verify_read(
        read, terms, (request.k, request.knows_events), promises, tuple(main.sensitive)
    )


def verify_tables_certificate(
    target: str, certificate: str, *, form: str | None = None
) -> TablesVerification:
    """Say whether tables keep what their certificate promises, and are those it was made for.

    Raises:
        DataError: the certificate or a table cannot be read.
    """
    from shoal.privacy import parse_privacy

    said = read_tables_certificate(certificate)
    terms = [
        TableTerms(
            each["table"],
            tuple(each["quasi_identifiers"]),
            each["key"],
            each["link"],
            each["above"],
            tuple(each["items"]),
        )
        for each in said["terms"]
    ]
    names = [each.name for each in terms]
    read = _read_published(target, names, form)
    main = said["tables"][names[0]]
    promises = promises_of(parse_privacy(main["parameters"]["privacy"]), {})
    sensitive = [each["name"] for each in main["columns"] if each["role"] == "sensitive"]
    found = _verify_read(read, terms, (said["k"], said["knows_events"]), promises, tuple(sensitive))
    if is_database(target):
        return found
    places = {name: _inside(target, name) for name in names}
    other = [
        name
        for name, place in places.items()
        if sha256_of(place) != said["tables"][name]["output"]["sha256"]
    ]
    sentence = (
        Message("Broken: {tables} are not the files of the certificate.", tables=", ".join(other))
        if other
        else Message("Holds: these are the files of the certificate.")
    )
    check = Check(Message("files"), 0, len(other), not other, sentence)
    return replace(found, holds=found.holds and not other, checks=(*found.checks, check))


def _read_published(target: str, names: list[str], form: str | None) -> dict[str, pl.DataFrame]:
    found = {}
    for name in names:
        place = _inside(target, name)
        form_of_one = None if is_database(place) else form
        found[name] = read_written(place, format=form_of_one).frame
    return found


def _verify_read(
    read: Mapping[str, pl.DataFrame],
    terms: Sequence[TableTerms],
    against: tuple[int, int],
    promises: Sequence[Promise],
    sensitive: tuple[str, ...],
) -> TablesVerification:
    k, knows_events = against
    found = verify_published_tables(
        read, terms, k=k, knows_events=knows_events, read_from=Message("what was written")
    )
    if not promises:
        return found
    main = verify_table(
        decode_text(read[terms[0].name]),
        k=k,
        quasi_identifiers=terms[0].quasi_identifiers,
        sensitive=sensitive,
        promises=tuple(promises),
    )
    checks = (*found.checks, *main.checks[1:])
    return replace(found, holds=found.holds and main.holds, checks=checks)
