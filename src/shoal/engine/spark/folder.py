"""A release to a folder of files: written beside its place, read back, verified, then moved.

Works on whatever file system Spark works on, through Hadoop's own interface. What does not hold is
never moved to its place.

Whose the rows of a folder are is not written. A row is found again by all of its published cells.
Rows that are equal in every cell can stand for each other, so people are joined to what is read
from the files by a hash of the cells. Both sides must have each row equally often; otherwise the
files are not what was to be written.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from shoal.engine.spark.check import verify_frame
from shoal.engine.spark.domain import unused
from shoal.engine.spark.session import (
    column,
    errors_of_spark,
    is_connected,
    load_functions,
    saying_why,
)
from shoal.errors import DataError, OptionError, PromiseError
from shoal.messages import Message
from shoal.publish.recode import published_cells, published_names
from shoal.publish.release_data import HowWritten, Staged, refuse_broken, refuse_other_rows
from shoal.publish.verification_terms import promises_of, trees_of
from shoal.table.encode import narrow
from shoal.table.partition import Partition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shoal.engine.spark.plan import Named, Plan
    from shoal.engine.spark.population_check import AboutAll
    from shoal.publish.release_data import ReleaseData, ReleaseT
    from shoal.publish.verify import Verification


# Parquet files whose bytes follow from their rows alone.
#
# Parquet's writer in Java keeps the encodings of a column in a set without order, so that the list
# of them in the footer stands in another order in another process: two files of the same rows
# differ there. It tells nothing about a row, but it tells which files one process has written. So
# the lists are sorted before anybody sees the files. Pages are copied as they are.

MAGIC = b"PAR1"
_TAIL = 8
"""Bytes behind a footer: its length, and the name of the format."""


def settle_footer(session: Any, files: Any, path: Any, beside: Any) -> bool:
    """Sort what has no order in the footer of a file; return whether that changed anything.

    Args:
        session: of Spark.
        files: the file system, as Hadoop has it.
        path: the file.
        beside: a name that nobody has, in the same folder.

    Raises:
        DataError: it is no Parquet file, or cannot be put in place.
    """
    jvm = session._jvm  # noqa: SLF001 - the only way there
    size = int(files.getFileStatus(path).getLen())
    tail = _read(jvm, files, path, size - _TAIL)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != MAGIC or length + _TAIL > size:
        raise DataError("What was written is no Parquet file; nothing was published.")
    pages = size - _TAIL - length
    old = _read(jvm, files, path, pages)[:length]
    new = _sorted(jvm, old)
    if new == old:
        return False
    source, target = files.open(path), files.create(beside, True)
    try:
        jvm.org.apache.commons.io.IOUtils.copyLarge(source, target, 0, pages)
        target.write(bytearray(new + len(new).to_bytes(4, "little") + MAGIC))
    finally:
        source.close()
        target.close()
    if not (files.delete(path, False) and files.rename(beside, path)):
        raise DataError("What was written could not be put in order; look at the folder's rights.")
    return True


def _read(jvm: Any, files: Any, path: Any, start: int) -> bytes:
    """Return a file from some place to its end."""
    stream = files.open(path)
    try:
        stream.seek(start)
        return bytes(jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
    finally:
        stream.close()


def _sorted(jvm: Any, footer: bytes) -> bytes:
    """Return a footer with sorted encodings, by the library that wrote it."""
    formats = jvm.org.apache.parquet.format.Util
    found = formats.readFileMetaData(jvm.java.io.ByteArrayInputStream(bytearray(footer)))
    for group in found.getRow_groups():
        for chunk in group.getColumns():
            jvm.java.util.Collections.sort(chunk.getMeta_data().getEncodings())
    written = jvm.java.io.ByteArrayOutputStream()
    formats.writeFileMetaData(found, written)
    return bytes(written.toByteArray())


# How a published table lies on Spark: its types, its order, its files.
#
# A row's place depends on what it publishes and on nothing else: which file it is in is a hash of
# its published cells, and so is its place in there. So files and order tell nothing that the rows
# do not.

FILE_ROWS = 1_000_000
"""About so many rows are in a file."""


@dataclass(frozen=True, eq=False)
class Output:
    """A published column: its name, its type on Spark, and in Arrow (None: as it came)."""

    name: str
    kind: Any
    arrow: Any


def output_types(plan: Plan, schema: Any) -> list[Output]:
    """Return the published columns with their types.

    Args:
        plan: what is published.
        schema: types of the rows on their way.
    """
    import pyarrow as pa
    from pyspark.sql.pandas.types import from_arrow_type

    attributes = {each.name: number for number, each in enumerate(plan.attributes)}
    result, kept = [], 0
    alone = Partition(np.zeros(1, np.int32), 1)
    for name, titles in published_names(plan.schema, plan.request.style).items():
        if name not in attributes:
            result.append(Output(name, schema[f"x{kept}"].dataType, None))
            kept += 1
            continue
        number = attributes[name]
        attribute = plan.attributes[number]
        first = np.zeros(1, np.int64)
        one = replace(
            attribute,
            codes=narrow(first, attribute.size),
            original=None if attribute.original is None else first.astype(np.uint32),
        )
        cells = published_cells(one, alone, plan.styles[number])
        for title, each in zip(titles, cells, strict=True):
            arrow = each.to_arrow().type
            if pa.types.is_large_string(arrow) or pa.types.is_string_view(arrow):
                arrow = pa.string()
            if pa.types.is_struct(arrow):
                arrow = pa.struct([(f.name, _plain_text(f.type)) for f in arrow])
            kind = from_arrow_type(arrow, prefer_timestamp_ntz=True)
            result.append(Output(title, kind, arrow))
    return result


def _plain_text(kind: Any) -> Any:
    import pyarrow as pa

    text = pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    return pa.string() if text else kind


def laid_out(rows: Any, titles: Sequence[str], n_rows: int) -> Any:
    """Return the published rows under their names, in an order of their cells alone."""
    functions = load_functions()
    own = [f"f{number}" for number in range(len(titles))]
    files = max(1, -(-n_rows // FILE_ROWS))
    published = rows.filter("g >= 0").select(*own)
    spread = published.repartition(files, *own)
    placed = functions.xxhash64(functions.lit(1), *own)
    ordered = spread.sortWithinPartitions(placed, *own)
    return ordered.select(*(column(f).alias(t) for f, t in zip(own, titles, strict=True)))


FORMATS = ("parquet", "csv")
WRITING = {
    "escape": '"',
    "emptyValue": '""',
    "ignoreLeadingWhiteSpace": "false",
    "ignoreTrailingWhiteSpace": "false",
}
"""How Spark writes a CSV: cells as they are."""
READING = {"escape": '"', "multiLine": "true"}
_TRIES, _ABSENT, _PAUSE = 50, 3, 0.1
"""How often a folder is removed at most, until it stays away so often, with seconds between."""


def format_of_folder(given: str | None) -> str:
    """Return the format of a folder, Parquet unless it is said.

    Raises:
        OptionError: Spark writes and reads others, but we do not.
    """
    found = "parquet" if given is None else given.lower()
    if found not in FORMATS:
        raise OptionError(
            "On Spark a folder is of parquet or csv, but {given!r} was given.", given=given
        )
    return found


@dataclass(eq=False)
class Folder:
    """A folder that is complete but for its name; see `shoal.io.atomic.Transaction`."""

    session: Any
    side: str
    target: str
    replaces: bool
    done: bool = False

    @classmethod
    def beside(cls, session: Any, target: str, *, replaces: bool) -> Folder:
        """Return a folder that will become the target.

        Raises:
            OptionError: the target exists and is not to be replaced.
            DataError: the file system cannot be reached.
        """
        head, name = os.path.split(target.rstrip("/"))
        if not name:
            raise OptionError("{target!r} is no name for a folder.", target=target)
        side = f"_{name}-{secrets.token_hex(8)}"
        found = cls(session, f"{head}/{side}" if head else side, target.rstrip("/"), replaces)
        if found.exists(found.target) and not replaces:
            raise OptionError(
                "{target!r} exists; give another name, or replace it (--replace on the "
                "command line, if_exists='replace' in Python).",
                target=target,
            )
        return found

    def path(self, name: str) -> Any:
        """Return a path as Hadoop has it."""
        return self.session._jvm.org.apache.hadoop.fs.Path(name)  # noqa: SLF001 - the only way there

    def files(self) -> Any:
        """Return the file system of the target."""
        from py4j.protocol import Py4JError

        settings = self.session._jsc.hadoopConfiguration()  # noqa: SLF001 - as above
        try:
            return self.path(self.target).getFileSystem(settings)
        except Py4JError as error:
            raise DataError(
                "{target!r} cannot be reached from this cluster ({reason}).",
                target=self.target,
                reason=_reason(error),
            ) from None

    def exists(self, name: str) -> bool:
        """Return whether there is something of this name."""
        return bool(self.files().exists(self.path(name)))

    def refuse_inputs(self, inputs: Sequence[str]) -> None:
        """Raise if the folder would replace what the table is read from.

        Raises:
            OptionError: it would.
        """
        place = _bare(self.files().makeQualified(self.path(self.target)).toString())
        if any(_bare(each).startswith(f"{place}/") or _bare(each) == place for each in inputs):
            raise OptionError(
                "{target!r} is what the table is read from; give the release another name.",
                target=self.target,
            )

    def tidy(self) -> None:
        """Give the files names that only count, and remove what is no data."""
        files = self.files()
        names = sorted(each.getPath().getName() for each in files.listStatus(self.path(self.side)))
        number = 0
        for name in names:
            path = self.path(f"{self.side}/{name}")
            if name.startswith("part-"):
                suffix = name.split(".", 1)[1]
                numbered = self.path(f"{self.side}/part-{number:05d}.{suffix}")
                files.rename(path, numbered)
                if suffix.endswith("parquet"):
                    beside = self.path(f"{self.side}/_footer-{number:05d}")
                    settle_footer(self.session, files, numbered, beside)
                number += 1
            else:
                files.delete(path, True)

    def commit(self) -> None:
        """Move the folder to its place; what it replaces is removed after that."""
        files, target = self.files(), self.path(self.target)
        old = None
        if self.exists(self.target):
            if not self.replaces:
                raise DataError(
                    "{target!r} has appeared meanwhile; nothing was replaced.", target=self.target
                )
            old = self.path(self.side + "-old")
            self._rename(files, target, old)
        try:
            self._rename(files, self.path(self.side), target)
        except BaseException:
            if old is not None:
                files.rename(old, target)
            raise
        self.done = True
        if old is not None:
            files.delete(old, True)

    def _rename(self, files: Any, source: Any, target: Any) -> None:
        if not files.rename(source, target):
            raise DataError(
                "{target!r} could not be put in place; look at its rights.", target=self.target
            )

    def close(self) -> None:
        """Remove what was not moved, also while a task is writing or after Java has ended."""
        if self.done:
            return
        with contextlib.suppress(Exception):
            self.session.sparkContext.cancelJobsWithTag(self.tag)
        absent = 0
        for _ in range(_TRIES):
            absent = 0 if self._remove() else absent + 1
            if absent == _ABSENT:
                return
            time.sleep(_PAUSE)  # a task that was told to stop may still put a file there

    def _remove(self) -> bool:
        """Remove the folder; return whether there was one."""
        here = Path(_bare(self.side))
        try:
            found = self.exists(self.side)
            if found:
                self.files().delete(self.path(self.side), True)
        except Exception:  # noqa: BLE001 - Java has ended: what is on this machine can still go
            found = here.is_dir()
            shutil.rmtree(here, ignore_errors=True)
        return found

    @property
    def tag(self) -> str:
        """What the jobs that write are called, so that they can be stopped."""
        return self.side.rpartition("-")[2]


def write_folder(
    group: Any,
    release: ReleaseT,
    target: str | os.PathLike[str],
    *,
    inputs: Sequence[str] = (),
    people: Any = None,
    about_all: AboutAll | None = None,
    **how: Unpack[HowWritten],
) -> Staged[ReleaseT]:
    """Write a release beside its place and verify what was written; see `Release.write`.

    Args:
        group: what appears together.
        release: what is written.
        target: the folder.
        inputs: files that the table was read from.
        people: the published rows with their people, where those are counted.
        about_all: promises about the release as a whole.
        how: as in `Release.write`; formulas cannot be escaped.

    Raises:
        PromiseError: what was written does not keep the promises.
        DataError: it cannot be written.
        OptionError: something is asked that is not done on Spark.
    """
    if how.get("escape_formulas"):
        raise OptionError("Spark does not escape formulas; use the engine of one machine for that.")
    kind, separator = format_of_folder(how.get("format")), how.get("delimiter") or ","
    frame = release.frame
    session = frame.sparkSession
    if is_connected(session):
        raise OptionError(
            "Through Spark Connect nothing can be written beside its place, verified and moved; "
            "write release.frame with Spark itself, or use a session of the cluster."
        )
    folder = Folder.beside(session, os.fspath(target), replaces=how.get("if_exists") == "replace")
    folder.refuse_inputs(inputs)
    group.enlist(folder)
    session.sparkContext.addJobTag(folder.tag)
    writer = frame.write.mode("errorifexists")
    try:
        if kind == "parquet":
            writer.parquet(folder.side)
        else:
            writer.options(**WRITING).csv(folder.side, header=True, sep=separator)
    except errors_of_spark() as error:
        raise DataError(
            "{target!r} cannot be written ({reason}).", target=folder.target, reason=_reason(error)
        ) from None
    with saying_why():
        folder.tidy()
        written = read_folder(session, folder.side, kind, separator)
        if people is not None and kind == "csv":
            people = spelled(people, WRITING | {"sep": separator}, READING | {"sep": separator})
        found = _verify(release, written, kind, people, about_all)
    session.sparkContext.removeJobTag(folder.tag)
    return Staged.of(release, found, None)


def read_folder(session: Any, path: str, kind: str, delimiter: str | None = None) -> Any:
    """Return the table of a folder; of a CSV, cells as they are written."""
    if kind == "parquet":
        return session.read.parquet(path)
    return session.read.options(**READING).csv(path, header=True, sep=delimiter or ",")


def _verify(
    release: ReleaseData, written: Any, kind: str, people: Any, about_all: AboutAll | None
) -> Verification:
    """Verify what was written."""
    person = None
    if len(written.columns) != len(release.frame.columns):
        raise PromiseError(
            "What was written has {n} columns and the release {n2}, so it is not published.",
            n=len(written.columns),
            n2=len(release.frame.columns),
        )
    frame = written.toDF(*release.frame.columns)
    if people is not None:
        # whose rows they are is not written: each row is found again by all of its cells
        frame, person = with_people(frame, people), people.person
    found = verify_frame(
        frame,
        k=release.k,
        quasi_identifiers=release.schema.quasi_identifiers,
        sensitive=release.schema.sensitive,
        promises=promises_of(release.privacy, trees_of(release.schema)),
        grids=release.grids,
        person=person,
        spelled=kind == "csv",
        about_all=about_all,
    )
    refuse_other_rows(found.n_rows, release.n_published)
    refuse_broken(found)
    return replace(found, read_from=Message("what was written"))


def _bare(path: str) -> str:
    """Return a path of this machine without what says so; others as they are."""
    return "/" + path.removeprefix("file:").lstrip("/") if path.startswith("file:") else path


def _reason(error: Any) -> str:
    """Return why, in a word that holds no cell."""
    condition = getattr(error, "getCondition", lambda: None)()
    return str(condition or type(error).__name__)


def spelled(known: Named, writing: dict[str, str], reading: dict[str, str]) -> Named:
    """Return published rows as they are read from a CSV that Spark has written.

    Args:
        known: the published rows with their people.
        writing: how Spark writes the CSV.
        reading: how it is read.
    """
    functions = load_functions()
    person = str(known.person)
    titles = [name for name in known.frame.columns if name != person]
    own = [f"c{number}" for number in range(len(titles))]
    pairs = list(zip(own, titles, strict=True))
    cells = functions.struct(*(column(title).alias(name) for name, title in pairs))
    as_text = ", ".join(f"{name} string" for name in own)
    read = functions.from_csv(functions.to_csv(cells, writing), as_text, reading)
    rows = known.frame.select(read.alias("read"), column(person).alias("whose"))
    names = [functions.col(f"read.{name}").alias(title) for name, title in pairs]
    return replace(known, frame=rows.select(*names, functions.col("whose").alias(person)))


def with_people(written: Any, known: Named) -> Any:
    """Return the rows of a folder, each with the person whose it is.

    Args:
        written: what was read from the files, under the names of the release.
        known: the published rows with their people.

    Raises:
        PromiseError: the files hold other rows than the release.
    """
    functions = load_functions()
    person, titles = str(known.person), written.columns
    number = functions.count(functions.lit(1))
    both = [unused(name, [*titles, person]) for name in ("one", "two")]
    here = _numbered(written, titles, both)
    there = _numbered(known.frame, [*titles, person], both, cells=titles)
    read = here.groupBy(*both).agg(number.alias("here"))
    told = there.groupBy(*both).agg(number.alias("there"))
    differ = read.join(told, both, "full_outer").filter("not (here <=> there)").limit(1).count()
    if differ:
        raise PromiseError(
            "What was written holds other rows than the release, so it is not published."
        )
    once = here.dropDuplicates(both)
    whose = there.select(*both, column(person))
    return once.join(whose, both).select(*(column(name) for name in (*titles, person)))


def _numbered(frame: Any, names: list[str], both: list[str], cells: list[str] | None = None) -> Any:
    """Return rows with two hashes of all their cells."""
    functions = load_functions()
    looked_at = [column(name) for name in cells or names]
    hashes = [
        functions.xxhash64(functions.lit(salt), *looked_at).alias(title)
        for salt, title in enumerate(both)
    ]
    return frame.select(*(column(name) for name in names), *hashes)
