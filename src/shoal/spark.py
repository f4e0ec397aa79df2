"""The same release on Apache Spark: tables of Spark in, tables of Spark out.

Needs ``pip install 'shoal-anonymity[spark]'`` on the driver and on every worker.
"""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from shoal.engine.spark.engine import SparkEngine
from shoal.engine.spark.session import check_frame, saying_why
from shoal.errors import DataError, OptionError, ShoalWarning
from shoal.publish.judgement import Doubt
from shoal.release import Release
from shoal.run import run
from shoal.settings.build_request import build_request

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator

    import polars as pl

    from shoal.archive.kept import KeptRelease
    from shoal.engine.pipeline import Result
    from shoal.engine.spark.finish import Named
    from shoal.engine.spark.state import SparkGroups, SparkPublished
    from shoal.io.atomic import AtomicGroup
    from shoal.publish.reader_view import ReaderView
    from shoal.release.verified_write import Staged
    from shoal.runtime.progress import Report
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
        from shoal.engine.spark.reader_view import view_on_spark

        with saying_why():
            return view_on_spark(self.frame, self.schema, self.with_people)

    def stage(
        self,
        group: AtomicGroup,
        target: str | os.PathLike[str],
        *,
        format: str | None = None,  # noqa: A002 - the name users know
        delimiter: str | None = None,
        if_exists: str = "fail",
        escape_formulas: bool = False,
    ) -> Staged:
        """Write the release to a folder beside its place, verify it there, and move it."""
        from shoal.engine.spark.folder import write_folder

        return write_folder(
            group,
            self,
            target,
            format=format,
            delimiter=delimiter,
            if_exists=if_exists,
            escape_formulas=escape_formulas,
            inputs=self.engine.read,
            people=self.with_people,
            about_all=self.engine.about_all,
        )

    def cells_of(self, name: str) -> pl.DataFrame:
        """Return the different published cells of a quasi-identifier."""
        import polars as pl

        from shoal.engine.spark.session import column
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
        from shoal.archive.kept import ValueCounts, check_style, keep_cells, number_classes
        from shoal.engine.spark.reader_view import classes_of
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


def anonymize(
    frame: Any,
    k: int,
    *,
    quasi_identifiers: str | Iterable[str],
    key: str | Iterable[str] = (),
    progress: bool | Callable[[int, int, str], None] = False,
    **options: Any,
) -> SparkRelease:
    """Return a k-anonymous release of a Spark table, made by the cluster that holds it.

    The rows are grouped and published where they are. The driver sees counts of values, a sample of
    combinations and a rule of a few kilobytes (of ``incognito``, the counts of all combinations);
    and the first 100,000 rows, in which it looks for what no promise covers. The same seed gives
    the same release up to order, however the table is partitioned and whichever worker fails on
    the way.

    Args:
        frame: a DataFrame of Spark (4.0 or newer). It must give the same rows whenever it is read.
        k: smallest allowed group, at least 2.
        quasi_identifiers: columns that could single a person out; they are generalised.
        key: columns by which you find rows again in ``release.groups``, which is a table of Spark
            with them and ``group`` (−1 if suppressed). It is private: never publish it.
        progress: as in `shoal.anonymize`.
        **options: as in `shoal.anonymize`: roles of columns (sensitive, identifiers, …),
            hierarchies, kinds, orders, weights, grid, scale, privacy, person, algorithm, measure,
            max_suppression, missing, seed, block_rows, refine, style, strict, ….

    Returns:
        A release as of `shoal.anonymize`. ``frame`` is a table of Spark, in an order of its
        published cells alone; ``groups`` is one, too, or None without ``key``. What it needs lies
        on the disks of the workers until ``release.forget()``, or the end of the session.

    Raises:
        ShoalError: with one sentence on what is wrong and what to do, also for what is not done
            on Spark.
    """
    request = build_request({"k": k, "quasi_identifiers": quasi_identifiers, **options})
    release = run(request, SparkSource(frame, key), progress=progress)
    assert isinstance(release, SparkRelease)
    for sentence in release.warnings:
        warnings.warn(sentence, ShoalWarning, stacklevel=2)
    return release


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

    def notes(self) -> list[str]:
        """Return nothing: the engine looks at the first rows for signs when it describes them."""
        return []

    def release(self, result: Result[SparkGroups, SparkPublished]) -> SparkRelease:
        """Return what a run of it has made, as a release."""
        people = result.published.people
        doubts = [each.point.what for each in result.warnings if isinstance(each, Doubt)]
        declared = "declared" if self._request.rows_are_people else "assumed"
        return SparkRelease.of(
            result,
            self._request,
            frame=result.published.frame,
            groups=self.engine.groups_by_key(result.groups),
            engine=self.engine,
            with_people=None if people.person is None else people,
            asked=self.schema,
            whose="doubtful" if "several rows" in doubts else declared,
        )
