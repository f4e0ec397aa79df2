"""From a request to a release: the one line that command line, jobs, pages, Python and Spark call.

    request ─► source (a table) ─► pipeline ─► release ─► sink (files that appear)

A source is a frame in memory, a file, a table of a database or a table of Spark. A sink takes a
release and makes it appear, whole or not at all; without one the release is only returned.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from secrets import token_bytes
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from shoal.engine.local import GivenGroupsEngine, LocalEngine
from shoal.engine.pipeline import run_pipeline
from shoal.errors import OptionError
from shoal.release import Release
from shoal.runtime.progress import Report, watching
from shoal.runtime.threads import check_process
from shoal.table.frames import back_from_polars, to_polars

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import polars as pl
    from numpy.typing import NDArray

    from shoal.engine.pipeline import Engine, Result
    from shoal.publish.release_data import PublishedTable
    from shoal.settings.request import LabelsLike, Request
    from shoal.table.partition import Partition
    from shoal.table.schema import Schema


class OpenTable(Protocol):
    """A table that is ready for its run.

    Attributes:
        table: its rows, as its engine takes them.
        schema: what its columns are.
        notes: what the user should know already before the run.
    """

    table: Any
    schema: Schema
    notes: tuple[str, ...]

    @property
    def engine(self) -> Engine[Any, Any, Any, Any]:
        """Where it is run."""

    def release(self, result: Result[Any, Any]) -> Release[Any]:
        """Return what a run of it has made, as a release."""


class Source(Protocol):
    """Where a table comes from."""

    def opened(self, request: Request, progress: Report) -> AbstractContextManager[OpenTable]:
        """Give the table while the block runs, with as much of it as the request needs."""


class Sink(Protocol):
    """Where a release goes."""

    def look_at(self, table: Any) -> None:
        """Take from the original what will be told about it; the run uses the table up."""

    def write(self, release: Release[Any], progress: Report) -> Release[Any]:
        """Make the release appear; return it with the verification of what was written."""


def run(
    request: Request,
    source: Source,
    sink: Sink | None = None,
    *,
    progress: bool | Report = False,
) -> Release[Any]:
    """Make the release that a request asks for. Warnings are in it, and nobody is warned.

    Args:
        request: what is asked, as `shoal.settings.request` makes it.
        source: where the table comes from.
        sink: where the release goes.
        progress: True for a bar, or a function of (done, total, what).

    Raises:
        ShoalError: with one sentence on what is wrong and what to do; nothing has appeared.
    """
    check_process()  # before anything is asked of the table: a forked child would wait for ever
    with watching(progress) as report, source.opened(request, report) as opened:
        if sink is not None:
            sink.look_at(opened.table)
        result = run_pipeline(
            opened.table,
            opened.schema,
            request,
            opened.engine,
            notes=opened.notes,
            progress=report,
        )
        release = opened.release(result)
        return release if sink is None else sink.write(release, report)


class TableRead(NamedTuple):
    """How the table of a job was read, where nobody had said so.

    Attributes:
        parameters: becomes part of a release's parameters: a run that is repeated reads the same.
        read_as: how the dates and numbers of columns are written.
        doubts: what somebody should say, in sentences; the release warns of it.
    """

    parameters: Mapping[str, Any] = MappingProxyType({})
    read_as: Mapping[str, str] = MappingProxyType({})
    doubts: tuple[str, ...] = ()


AS_USUAL = TableRead()
"""A table that was read without a question."""


@dataclass(frozen=True)
class FrameSource:
    """A frame in memory: pandas, polars or pyarrow.

    Attributes:
        frame: the frame.
        read: how it was read.
        owned: whether nobody else needs it, so that the run may take it apart.
        groups: of every row, to be refined instead of running the algorithm.
    """

    frame: Any
    read: TableRead = AS_USUAL
    owned: bool = False
    groups: LabelsLike | None = None

    @contextmanager
    def opened(self, request: Request, progress: Report) -> Iterator[LocalTable]:
        """Give the table; the release has the type of the frame."""
        del progress
        table, groups = to_polars(self.frame), self.groups
        if request.details.get("missing_codes") or request.details.get("read_as"):
            from shoal.io.spelling import read_as_asked

            table = read_as_asked(table, request.details)
        yield LocalTable(
            table,
            request.schema(table.columns),
            request,
            self.read,
            like=self.frame,
            owned=self.owned,
            groups=None if groups is None else labels_of(groups, table.height),
        )


class LocalTable:
    """A table in memory, ready for its run on one machine.

    Args:
        table: a frame of polars.
        schema: what its columns are.
        request: what is asked.
        read: how it was read.
        like: the frame as it was given; the release has its type.
        owned: whether nobody else needs the table: columns are forgotten once they are not needed,
            and text may be codes (see `shoal.io.columns`), that of the release, too.
        groups: of every row, to be refined instead of running the algorithm.
    """

    def __init__(
        self,
        table: pl.DataFrame,
        schema: Schema,
        request: Request,
        read: TableRead,
        *,
        like: Any = None,
        owned: bool = False,
        groups: NDArray[np.integer[Any]] | None = None,
    ) -> None:
        self.table, self.schema = table, schema.read_as(read.read_as)
        self.notes = read.doubts
        self.key = None if schema.person is None else key_for(request)
        made: dict[str, Any] = {"owned": owned, "looks": True, "moves": True, "key": self.key}
        self.engine = LocalEngine(**made)
        self._request, self._parameters = request, {**read.parameters}
        if request.previous or request.reserve > 1:
            from shoal.life.rerelease import AgainEngine  # what only releases beside others need

            assert groups is None  # no function takes both: the promise beside others is its own
            self.engine = AgainEngine(request.previous, **made)
        if groups is not None:
            self.engine = GivenGroupsEngine(groups, **made)
            told = {"algorithm": "given groups", "algorithm_options": {}, "refine": request.effort}
            self._parameters = told | self._parameters
        self._like = table if like is None else like

    def release(self, result: Result[Partition, PublishedTable]) -> Release[Any]:
        """Return what a run of it has made, as a release."""
        request, published, found = self._request, result.published, result.measured
        kept = [*found.schema.sensitive, *found.schema.insensitive]
        return Release.of(
            result,
            request,
            frame=back_from_polars(published.frame, self._like, kept),
            groups=result.groups.labels.astype(np.int64),
            asked=self.schema,
            parameters=self._parameters,
            people=published.people,
            ids=published.ids,
            recoded=result.groups.recoded,
            **({} if published.ids is None else self._known_again()),
        )

    def _known_again(self) -> dict[str, Any]:
        """Return what a release file needs to know people again in later releases."""
        from shoal.archive.kept import marks_of, new_mark

        return {"key": self.key, "mark": new_mark(), "beside": marks_of(self._request.previous)}


def key_for(request: Request) -> bytes:
    """Return the key of people: that of earlier releases, the holder's, or a new one.

    Raises:
        OptionError: the holder's is another than that of the earlier releases.
    """
    from shoal.table.person_key import KEY_BYTES

    earlier = None
    if request.previous:
        from shoal.archive.kept import key_of

        earlier = key_of(request.previous)
    if earlier is not None and request.person_key not in (None, earlier):
        raise OptionError(
            "The key of person_key is another than that of the releases given as previous; give "
            "the one they were made with, or leave it out: they hold what is needed of it."
        )
    return earlier or request.person_key or token_bytes(KEY_BYTES)


def labels_of(groups: LabelsLike, n_rows: int) -> NDArray[np.integer[Any]]:
    """Return the group of each row as an array.

    Raises:
        OptionError: it is no whole number for each row.
    """
    labels: NDArray[Any] = np.asarray(groups)
    if labels.ndim != 1 or len(labels) != n_rows or labels.dtype.kind not in "iu":
        raise OptionError(
            "groups must hold one whole number per row of the table ({n_rows} rows); negative "
            "ones mean suppressed.",
            n_rows=n_rows,
        )
    return labels
