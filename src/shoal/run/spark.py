"""A job whose rows are on Spark: from a folder of files to a folder of files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoal.archive.release_file import stage_kept
from shoal.engine.spark.check import count_values
from shoal.engine.spark.folder import Folder
from shoal.engine.spark.session import column, load_functions, open_session, saying_why
from shoal.errors import DataError, OptionError
from shoal.io.atomic import AtomicGroup
from shoal.io.columns import type_column
from shoal.messages import Message
from shoal.run import run
from shoal.run.outputs import STREAM, FileSink, check_files, refuse_existing
from shoal.runtime.progress import Report, no_progress
from shoal.settings.files import INPUT_OPTIONS, OUTPUT_OPTIONS, Input, Output
from shoal.settings.inputs import numeric_columns, renamed
from shoal.spark import SparkRelease, SparkSource

if TYPE_CHECKING:
    from shoal.release import Release
    from shoal.settings.request import Request

_READ_HERE = ("path", "more", "missing_values", "delimiter", "format", "memory_check", "rename")
_ALWAYS = ("engine", "master")
_WRITTEN_HERE = (
    *("table", "format", "if_exists", "replace", "log", "certificate", "report", "save"),
    *("title", "owner", "purpose", "sampling_fraction"),
)


def run_on_spark(request: Request, source: Input, output: Output, progress: Report) -> Release[Any]:
    """Read the folder of a job on Spark, anonymize and verify it, and write the folder it asks for.

    A session that runs is used, as under spark-submit or in a notebook; otherwise one is started
    and stopped again.

    Args:
        request: what is asked.
        source: where the table is, and how it is read.
        output: where everything goes.
        progress: told how far it is.

    Raises:
        ShoalError: with one sentence on what is wrong and what to do.
    """
    _refuse(source, output)
    sink = FolderSink(source, output)
    session, ours = open_session(source.master)
    try:
        Folder.beside(session, sink.table, replaces=output.replaces)  # before the work, not after
        _check_files(output)
        progress(0, 0, "reading")
        with saying_why():
            frame = _read(session, source, request)
        return run(request, SparkSource(frame), sink, progress=progress)
    finally:
        if ours:
            session.stop()


class FolderSink(FileSink):
    """A folder that Spark writes, and the files about it."""

    def look_at(self, table: Any) -> None:
        """Take nothing: the rows are where they are."""

    def write(self, release: Release[Any], progress: Report = no_progress) -> Release[Any]:
        """Write the folder and the files; they appear together or not at all."""
        from shoal.report.certificate import build_certificate, format_certificate
        from shoal.report.page import render_report

        assert isinstance(release, SparkRelease)
        output = self.output
        progress(0, release.n_published, "writing")
        with AtomicGroup() as group:
            staged = release.stage(
                group,
                self.table,
                format=output.format or self.source.format,
                delimiter=self.source.delimiter,
                if_exists=output.choice,
                escape_formulas=output.escape_formulas,
            )
            found: Release[Any] = staged.release
            if output.report is not None:
                page = render_report(
                    found,
                    sampling_fraction=output.sampling_fraction,
                    about=self.about,
                    files=self.named,
                )
                group.add(output.report, page)
            if output.save is not None:
                stage_kept(group, release.kept(), output.save)
            if output.certificate is not None:
                text = format_certificate(build_certificate(found, None, None, self.about))
                group.add(output.certificate, text)
        release.forget()
        return found


def _check_files(outputs: Output) -> None:
    """Find out before the work which files would be in the way after it.

    Raises:
        OptionError: one exists and is not to be replaced, or two are the same.
    """
    files: dict[str, str | None] = {
        Message("the certificate"): outputs.certificate,
        Message("the report"): outputs.report,
        Message("the release file"): outputs.save,
    }
    check_files(None, {**files, Message("the log"): outputs.log})
    if STREAM in files.values():
        raise OptionError("On Spark every output is a file or a folder; name it.")
    if not outputs.replaces:
        refuse_existing(files.values())


def _refuse(source: Input, output: Output) -> None:
    """Raise if a job asks for something that is not done on Spark."""
    if source.path is None:
        raise OptionError("Say which folder is read: DATA on the command line.")
    if output.table in (None, "-"):
        raise OptionError("Say which folder the release goes to: -o out/.")
    plain = Input()
    for name in INPUT_OPTIONS:
        same = getattr(source, name) == getattr(plain, name)
        if not same and name not in _READ_HERE and name not in _ALWAYS:
            raise OptionError(
                "{name} is not heeded on Spark; turn the files into Parquet first.", name=name
            )
    for name, row in OUTPUT_OPTIONS.items():
        if name not in _WRITTEN_HERE and getattr(output, name) != row.default:
            raise OptionError("{name} is not for Spark yet; leave it out.", name=name)


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
        raise DataError(
            "{paths!r} cannot be read on Spark ({name}).", paths=paths[0], name=name
        ) from None
    except PySparkException as error:
        name = error.getCondition() or type(error).__name__
        raise DataError(
            "{paths!r} cannot be read on Spark ({name}).", paths=paths[0], name=name
        ) from None
    raise OptionError(
        "On Spark, folders of parquet and csv are read, and {kind!r} was given.", kind=kind
    )


def _renamed(frame: Any, source: Input) -> Any:
    return frame.toDF(*renamed(frame.columns, source.rename)) if source.rename else frame


def _format_of(path: str | None) -> str:
    return "csv" if str(path).rstrip("/").lower().endswith((".csv", ".csv.gz")) else "parquet"


def _typed(frame: Any, source: Input, request: Request) -> Any:
    """Return a table of text with the types that its values have, as a CSV is read elsewhere."""
    import polars as pl

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
                "Column {name!r} holds moments, which are not read from a CSV on Spark; turn "
                "the files into Parquet first.",
                name=name,
            )
        if known != "string":
            # a cast that fails would say the cell
            cells = column(name).try_cast(known)
            lost = frame.filter(column(name).isNotNull() & cells.isNull()).select(column(name))
            if lost.distinct().count() != typed.null_count() - values.null_count():
                raise DataError(
                    "Column {name!r} holds {found} that Spark reads in another way; turn the "
                    "files into Parquet first.",
                    name=name,
                    found=found,
                )
            frame = frame.withColumn(name, cells)
    return frame
