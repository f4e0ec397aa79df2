"""Tables of Spark: from a request to a release, and from a folder of files to a folder of files."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

from shoal.archive.release_file import stage_kept
from shoal.engine.spark.check import count_values
from shoal.engine.spark.engine import SparkEngine
from shoal.engine.spark.folder import Folder
from shoal.engine.spark.session import (
    check_frame,
    column,
    errors_of_spark,
    load_functions,
    open_session,
    refuse_options,
    saying_why,
)
from shoal.errors import DataError, OptionError
from shoal.io.atomic import AtomicGroup
from shoal.io.columns import type_column
from shoal.io.recognise import recognise
from shoal.io.spelling import TEXT
from shoal.messages import Message
from shoal.release import Release
from shoal.run import run
from shoal.run.outputs import STREAM, FileSink, check_files, refuse_existing
from shoal.runtime.progress import Report, no_progress
from shoal.settings.files import INPUT_OPTIONS, OUTPUT_OPTIONS, Input, Output
from shoal.settings.inputs import numeric_columns, renamed

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator

    import polars as pl

    from shoal.archive.release_file import KeptRelease
    from shoal.engine.pipeline import Result
    from shoal.engine.spark.engine import SparkGroups, SparkPublished
    from shoal.engine.spark.plan import Named
    from shoal.publish.reader_view import ReaderView
    from shoal.publish.release_data import HowWritten, Staged
    from shoal.settings.request import Request


@dataclass(frozen=True, eq=False)
class SparkRelease(Release[Any]):
    """A release whose table is one of Spark; see `shoal.Release`.

    Attributes:
        engine: where it was made; holds what of it lies on the disks of the workers.
        with_people: the published rows with a column that tells people apart, where they are
            counted. Private: never publish it.
    """

    engine: SparkEngine = field(kw_only=True)
    with_people: Named | None = field(kw_only=True)

    def forget(self) -> None:
        """Give the disks of the workers back; ``frame`` and ``groups`` cannot be read any more."""
        self.engine.forget()

    @cached_property
    def reader_view(self) -> ReaderView:
        """What a reader of the published table sees, counted once."""
        from shoal.engine.spark.tally import view_on_spark

        with saying_why():
            return view_on_spark(self.frame, self.schema, self.with_people)

    def stage(
        self,
        group: AtomicGroup,
        target: str | os.PathLike[str],
        **how: Unpack[HowWritten],
    ) -> Staged[Self]:
        """Write the release to a folder beside its place, verify it there, and move it."""
        from shoal.engine.spark.folder import write_folder

        return write_folder(
            group,
            self,
            target,
            inputs=self.engine.read,
            people=self.with_people,
            about_all=self.engine.about_all,
            **how,
        )

    def cells_of(self, name: str) -> pl.DataFrame:
        """Return the different published cells of a quasi-identifier."""
        import polars as pl

        from shoal.publish.cells import columns_needed

        names = columns_needed(self.frame.columns, [name])
        with saying_why():
            found = self.frame.select(*(column(each) for each in names)).distinct().toArrow()
        return pl.DataFrame(pl.from_arrow(found))

    def kept(self) -> KeptRelease:
        """Return what further rows and later releases need: the published cells and their counts.

        Raises:
            DataError: there are too many of them, or people are counted.
        """
        from shoal.archive.kept import check_style, keep_cells, number_classes
        from shoal.archive.release_file import ValueCounts
        from shoal.engine.spark.tally import classes_of
        from shoal.publish.cells import columns_needed

        if self.counts_people:
            raise DataError(
                "Who is in which group is not collected from Spark, so a release that counts "
                "people cannot be kept; leave --save out."
            )
        check_style(self)
        names = columns_needed(self.frame.columns, list(self.schema.quasi_identifiers))
        own = [f"c{number}" for number in range(len(names))]
        with saying_why():
            found = classes_of(self.frame, names).sort(own, nulls_last=True)
            counted = {name: classes_of(self.frame, names, name) for name in self.schema.sensitive}
        numbered = found.select(own).with_row_index("group")
        sensitive = {}
        for name, table in counted.items():
            placed = table.join(numbered, on=own, how="left", nulls_equal=True)
            values, codes, _ = number_classes(placed.select(f"c{len(names)}"))
            order = placed.select("group", "n").with_columns(value=codes).sort("group", "value")
            numbers = (order.get_column(each).to_numpy() for each in ("group", "value", "n"))
            group, value, count = (each.astype("int64") for each in numbers)
            sensitive[name] = ValueCounts(values.to_series().alias(name), group, value, count)
        cells = found.select(own).rename(dict(zip(own, names, strict=True)))
        return keep_cells(self, cells, found.get_column("n").to_numpy().astype("int64"), sensitive)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Keep what further rows and later releases need, in a file; see `shoal.Release.save`.

        Raises:
            DataError: there are too many groups, or people are counted.
        """
        from shoal.archive.release_file import write_kept

        write_kept(self.kept(), path)

    def audit(self, *arguments: Any, **options: Any) -> Any:
        """Refuse: attacks need both tables in memory."""
        del arguments, options
        raise OptionError(
            "An audit is not made of a table of Spark; write the release and read what fits."
        )


class SparkSource:
    """A table of Spark.

    Args:
        frame: the table.
        key: columns by which rows are found again in the groups of the release.
    """

    def __init__(self, frame: Any, key: str | Iterable[str] = ()) -> None:
        self.frame = check_frame(frame)
        self.keys = [key] if isinstance(key, str) else list(key)
        for name in self.keys:
            if name not in self.frame.columns:
                raise OptionError(
                    "key names column {name!r}, which the table does not have.", name=name
                )
            if name == "group":
                raise OptionError("A key cannot be called 'group', as that is the group of a row.")

    @contextmanager
    def opened(self, request: Request, progress: Report) -> Iterator[SparkTable]:
        """Give the table; what an error leaves on the disks of the workers is forgotten."""
        del progress
        engine = SparkEngine(self.keys)
        try:
            with saying_why():
                yield SparkTable(self.frame, request, engine)
        except BaseException:
            engine.forget()
            raise


class SparkTable:
    """A table of Spark, ready for its run."""

    def __init__(self, frame: Any, request: Request, engine: SparkEngine) -> None:
        self.table, self.engine, self._request = frame, engine, request
        self.schema = request.schema(frame.columns)
        self.notes: tuple[str, ...] = ()
        for name, spelling in (request.details.get("read_as") or {}).items():
            if spelling != TEXT:
                raise _refused(name, spelling)

    def release(self, result: Result[SparkGroups, SparkPublished]) -> SparkRelease:
        """Return what a run of it has made, as a release."""
        people = result.published.people
        return SparkRelease.of(
            result,
            self._request,
            frame=result.published.frame,
            groups=self.engine.groups_by_key(result.groups),
            engine=self.engine,
            with_people=None if people.person is None else people,
            asked=self.schema,
        )


# Folders.

_READ_HERE = ("path", "more", "missing_values", "delimiter", "format", "memory_check", "rename")
_ALWAYS = ("engine", "master")
_WRITTEN_HERE = (
    *(
        "table",
        "format",
        "if_exists",
        "replace",
        "log",
        "log_json",
        "certificate",
        "report",
        "save",
    ),
    *("title", "owner", "purpose", "sampling_fraction"),
)


def run_on_spark(
    request: Request,
    source: Input,
    output: Output,
    progress: Report,
    when_written: Callable[[], None] | None = None,
) -> Release[Any]:
    """Read the folder of a job on Spark, anonymize and verify it, and write the folder it asks for.

    A session that runs is used, as under spark-submit or in a notebook; otherwise one is started
    and stopped again.

    Args:
        request: what is asked.
        source: where the table is, and how it is read.
        output: where everything goes.
        progress: told how far it is.
        when_written: called once, as soon as every file is in place.

    Raises:
        ShoalError: with one sentence on what is wrong and what to do.
    """
    _refuse(source, output)
    refuse_options(request)
    source = replace(source, format=source.format or _format_of(source.path))
    sink = FolderSink(source, output, when_written)
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
                    language=output.language,
                )
                group.add(output.report, page)
            if output.save is not None:
                stage_kept(group, release.kept(), output.save)
            if output.certificate is not None:
                text = format_certificate(build_certificate(found, None, None, self.about))
                group.add(output.certificate, text)
        release.forget()
        if self._when_written is not None:
            self._when_written()
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
    kind = (source.format or "").lower()
    paths = list(source.sources)
    if kind not in ("parquet", "csv"):
        raise OptionError(
            "On Spark, folders of parquet and csv are read, and {kind!r} was given.", kind=kind
        )
    try:
        if kind == "parquet":
            return _renamed(session.read.parquet(*paths), source)
        read = session.read.csv(
            paths, header=True, sep=source.delimiter or ",", escape='"', multiLine=True
        )
    except errors_of_spark() as error:
        condition = getattr(error, "getCondition", lambda: None)()
        raise DataError(
            "{path!r} cannot be read as {kind} on Spark ({name}); if its files are of another "
            "format, say which: --format parquet or --format csv.",
            path=paths[0],
            kind=kind,
            name=condition or type(error).__name__,
        ) from None
    return _typed(_renamed(read, source), source, request)


def _renamed(frame: Any, source: Input) -> Any:
    return frame.toDF(*renamed(frame.columns, source.rename)) if source.rename else frame


def _format_of(path: str | None) -> str:
    """Return the format that the names of files say, of those in a folder; Parquet if none does."""
    name = str(path)
    folder = Path(name.removeprefix("file://"))
    inside = folder.rglob("[!._]*") if folder.is_dir() else ()
    files = [each.name for each in inside if each.is_file()] or [name.rstrip("/")]
    return "csv" if all(each.lower().endswith((".csv", ".csv.gz")) for each in files) else "parquet"


def _refused(name: str, spelling: str) -> DataError:
    return DataError(
        "Column {name!r} is written as {spelling}, which is not read on Spark; turn it into dates "
        "or numbers first, or say --read-as {name}=text if it stays as it is.",
        name=name,
        spelling=spelling,
    )


def _typed(frame: Any, source: Input, request: Request) -> Any:
    """Return a table of text with the types that its values have, as a CSV is read elsewhere."""
    import polars as pl

    functions = load_functions()
    schema = request.schema(frame.columns)
    numeric = numeric_columns(request.details.get("kinds"))
    stays = request.details.get("read_as") or {}
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
        if found == pl.String and name not in stays:
            for said in recognise(values.to_frame())[1].values():
                if said.spelling == TEXT and said.doubt is not None:
                    raise DataError(said.doubt)
                raise _refused(name, said.spelling)
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
