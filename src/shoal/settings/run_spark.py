"""A job whose rows are on Spark: from a folder of files to a folder of files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, OptionError
from shoal.settings.files import INPUT_OPTIONS, OUTPUT_OPTIONS, Input, Output

if TYPE_CHECKING:
    from collections.abc import Callable

    from shoal.release import Release
    from shoal.settings.job import Job
    from shoal.settings.request import Request

__all__ = ["run_on_spark"]

_READ_HERE = ("path", "more", "missing_values", "delimiter", "format", "memory_check", "rename")
_ALWAYS = ("engine", "master")
_WRITTEN_HERE = (
    *("table", "format", "if_exists", "replace", "log", "certificate", "report", "save"),
    *("title", "owner", "purpose", "sampling_fraction"),
)


def run_on_spark(job: Job, progress: Callable[[int, int, str], None]) -> Release[Any]:
    """Read the folder of a job on Spark, anonymize and verify it, and write the folder it asks for.

    A session that runs is used, as under spark-submit or in a notebook; otherwise one is started
    and stopped again.

    Raises:
        ShoalError: with one sentence on what is wrong and what to do.
    """
    from shoal.engine.spark.errors import saying_why
    from shoal.engine.spark.folder import Folder
    from shoal.engine.spark.session import open_session
    from shoal.io import AtomicGroup
    from shoal.life.file import stage_kept
    from shoal.report.certificate import build_certificate, format_certificate
    from shoal.report.page import render_report
    from shoal.settings.outputs import Outputs
    from shoal.spark import release_of

    request = job.request()
    _refuse(job)
    assert job.output.table is not None
    session, ours = open_session(job.input.master)
    outputs, choice = job.output, job.output.replaces
    try:
        Folder.beside(session, str(outputs.table), replaces=choice)  # before the work, not after
        _check_files(outputs)
        progress(0, 0, "reading")
        with saying_why():
            frame = _read(session, job.input, request)
        release = release_of(frame, request, progress=progress)
        progress(0, release.n_published, "writing")
        with AtomicGroup() as group:
            staged = release.engine.write(
                group,
                release,
                str(outputs.table),
                format=outputs.format or job.input.format,
                delimiter=job.input.delimiter,
                if_exists="replace" if choice else "fail",
                escape_formulas=outputs.escape_formulas,
            )
            found: Release[Any] = staged.release
            written = Outputs.of(job.input, outputs)
            about = written.about
            if outputs.report is not None:
                fraction = outputs.sampling_fraction
                page = render_report(
                    found, sampling_fraction=fraction, about=about, files=written.named
                )
                group.add(outputs.report, page)
            if outputs.save is not None:
                stage_kept(group, release.kept(), outputs.save)
            if outputs.certificate is not None:
                text = format_certificate(build_certificate(found, None, None, about))
                group.add(outputs.certificate, text)
        release.forget()
        return found
    finally:
        if ours:
            session.stop()


def _check_files(outputs: Output) -> None:
    """Find out before the work which files would be in the way after it.

    Raises:
        OptionError: one exists and is not to be replaced, or two are the same.
    """
    from shoal.settings.outputs import STREAM, check_files

    files = {
        "the certificate": outputs.certificate,
        "the report": outputs.report,
        "the release file": outputs.save,
    }
    check_files(None, {**files, "the log": outputs.log})
    for path in files.values():
        if path == STREAM:
            raise OptionError("On Spark every output is a file or a folder; name it.")
        if path is not None and not outputs.replaces and Path(path).is_file():
            raise OptionError(
                f"{path!r} exists; give another name, or --replace (replace = true under [output] "
                "of the job file) to replace it."
            )


def _refuse(job: Job) -> None:
    """Raise if a job asks for something that is not done on Spark."""
    if job.input.path is None:
        raise OptionError("Say which folder is read: DATA on the command line.")
    if job.output.table in (None, "-"):
        raise OptionError("Say which folder the release goes to: -o out/.")
    plain = Input()
    for name in INPUT_OPTIONS:
        same = getattr(job.input, name) == getattr(plain, name)
        if not same and name not in _READ_HERE and name not in _ALWAYS:
            raise OptionError(f"{name} is not heeded on Spark; turn the files into Parquet first.")
    for name, row in OUTPUT_OPTIONS.items():
        if name not in _WRITTEN_HERE and getattr(job.output, name) != row.default:
            raise OptionError(f"{name} is not for Spark yet; leave it out.")


def _read(session: Any, source: Input, request: Request) -> Any:
    """Return the table of a folder.

    Raises:
        DataError: it cannot be read.
    """
    from pyspark.errors import AnalysisException, PySparkException

    kind = (source.format or _format_of(source.path)).lower()
    paths = list(source.sources)
    try:
        if kind == "parquet":
            return _renamed(session.read.parquet(*paths), source)
        if kind == "csv":
            read = session.read.csv(
                paths, header=True, sep=source.delimiter or ",", escape='"', multiLine=True
            )
            return _typed(_renamed(read, source), source, request)
    except AnalysisException as error:
        name = error.getCondition() or "unknown"
        raise DataError(f"{paths[0]!r} cannot be read on Spark ({name}).") from None
    except PySparkException as error:
        name = error.getCondition() or type(error).__name__
        raise DataError(f"{paths[0]!r} cannot be read on Spark ({name}).") from None
    raise OptionError(f"On Spark, folders of parquet and csv are read, and {kind!r} was given.")


def _renamed(frame: Any, source: Input) -> Any:
    from shoal.settings.inputs import renamed

    return frame.toDF(*renamed(frame.columns, source.rename)) if source.rename else frame


def _format_of(path: str | None) -> str:
    return "csv" if str(path).rstrip("/").lower().endswith((".csv", ".csv.gz")) else "parquet"


def _typed(frame: Any, source: Input, request: Request) -> Any:
    """Return a table of text with the types that its values have, as a CSV is read elsewhere."""
    import polars as pl

    from shoal.engine.spark.check import count_values
    from shoal.engine.spark.session import column, load_functions
    from shoal.io.celltypes import type_column
    from shoal.settings.inputs import numeric_columns

    functions = load_functions()
    schema = request.schema(frame.columns)
    numeric = numeric_columns(request.kinds)
    wanted = (*schema.quasi_identifiers, *schema.sensitive)
    columns = []
    for name in frame.columns:
        cells = column(name)
        if source.missing_values is not None:
            gone = cells.isin(list(source.missing_values))
            cells = functions.when(~gone, cells)
        columns.append(cells.alias(name))
    frame = frame.select(*columns)
    types = {pl.Int64: "bigint", pl.Float64: "double", pl.Date: "date", pl.String: "string"}
    for name in wanted:
        values, _ = count_values(frame, name)
        typed = type_column(values.sort(), lenient=name in numeric)
        found = typed.dtype
        known = next((title for kind, title in types.items() if found == kind), None)
        if known is None:
            raise DataError(
                f"Column {name!r} holds moments, which are not read from a CSV on Spark; turn the "
                "files into Parquet first."
            )
        if known != "string":
            # a cast that fails would say the cell
            cells = column(name).try_cast(known)
            lost = frame.filter(column(name).isNotNull() & cells.isNull()).select(column(name))
            if lost.distinct().count() != typed.null_count() - values.null_count():
                raise DataError(
                    f"Column {name!r} holds {found} that Spark reads in another way; turn the "
                    "files into Parquet first."
                )
            frame = frame.withColumn(name, cells)
    return frame
