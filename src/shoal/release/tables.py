"""A release of several tables, with everything that can be done with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from shoal.errors import DataError, OptionError, PromiseError
from shoal.io.formats import detect_format
from shoal.io.location import DELTA, check_if_exists, is_database
from shoal.io.remote import is_remote
from shoal.messages import Message
from shoal.publish.release_data import TablesData
from shoal.release import Release
from shoal.table.frames import to_polars

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    import polars as pl

    from shoal.io.atomic import AtomicGroup
    from shoal.settings.files import About
    from shoal.study.audit.attack_context import Audit


@dataclass(frozen=True, eq=False)
class TablesRelease(TablesData[Release[Any]]):
    """Several published tables that hang together, verified."""

    def certificate(
        self, *, output_sha256: Mapping[str, str] | None = None, about: About | None = None
    ) -> dict[str, Any]:
        """Return what was promised and measured, ready for JSON; no value of the input.

        Args:
            output_sha256: the hash of the file of each table, where there are files.
            about: what its owner says about the release.
        """
        from shoal.report.tables import build_tables_certificate

        return build_tables_certificate(self, output_sha256, about)

    def report(self, path: str | os.PathLike[str], *, language: str = "en") -> None:
        """Write a self-contained HTML page: against whom, what was lost, what is left out.

        Args:
            path: the file; it appears whole or not at all.
            language: of the page, as ``"en"`` or ``"de"``.
        """
        from shoal.io.atomic import atomic_write_text
        from shoal.report.tables import render_tables_report

        atomic_write_text(path, render_tables_report(self, language=language))

    def audit(self, originals: Mapping[str, Any], *, targets: int = 1000, seed: int = 0) -> Audit:
        """Attack the release with the original tables in hand: with joins, from true rows.

        Args:
            originals: the tables that the release was made from, by name.
            targets: how many people are attacked; all if there are no more.
            seed: makes the choice of people and events repeatable.
        """
        from shoal.study.audit.tables import attack_tables

        return attack_tables(self, originals, targets=targets, seed=seed)

    def write(
        self,
        target: str | os.PathLike[str],
        *,
        format: str = "csv",  # noqa: A002 - the name users know from the command line
        if_exists: str = "fail",
    ) -> Self:
        """Write the tables into a folder or a database; they appear together or not at all.

        What was written is read back and verified, each table and all together, before anything
        appears.

        Args:
            target: the folder, which is made if it is not there, or the URL of a database.
            format: of the files, as ``"csv"`` or ``"parquet"``.
            if_exists: what to do if there is such a file or table: ``fail`` or ``replace``.

        Returns:
            The release with the verification of what was written.

        Raises:
            PromiseError: what was written does not keep the promises; nothing appears.
            DataError: something cannot be written.
        """
        from shoal.io.atomic import AtomicGroup

        places = places_in(target, [each.name for each in self.terms], format)
        refuse_places(places.values(), if_exists)
        with folder_of(places.values()), AtomicGroup() as group:
            release, _ = self.stage(group, places, format=format, if_exists=if_exists)
        return release

    def stage(
        self,
        group: AtomicGroup,
        places: Mapping[str, str],
        *,
        format: str = "csv",  # noqa: A002
        if_exists: str = "fail",
    ) -> tuple[Self, dict[str, str]]:
        """Write the tables beside their places and verify them there.

        Returns:
            The release with the verification of what was written, and the hash of each file.
        """
        from shoal.io.atomic import sha256_of
        from shoal.io.raw_reader import read_written
        from shoal.publish.verify_tables import verify_published_tables

        made, written, hashes = dict(self.releases), {}, {}
        for name, place in places.items():
            release = replace(self.releases[name], frame=to_polars(self.releases[name].frame))
            form = None if is_database(place) else format
            _refuse_lists(name, release.frame, form)
            staged = release.stage(group, place, format=form, if_exists=if_exists)
            made[name] = replace(staged.release, frame=self.releases[name].frame)
            if staged.path is None:  # the table was read back by its stage; rows have no order
                written[name] = release.frame
            else:
                hashes[name] = sha256_of(staged.path)
                written[name] = read_written(staged.path, format=form, own=True).frame
        verification = verify_published_tables(
            written,
            self.terms,
            k=self.k,
            knows_events=self.knows_events,
            read_from=Message("what was written") if len(hashes) == len(places) else None,
        )
        if not verification.holds:
            raise PromiseError(
                "The release does not keep its promise, so it is not written: {broken}",
                broken=verification.broken(),
            )
        return replace(self, releases=made, verification=verification), hashes

    def __repr__(self) -> str:
        """Return one line without any cell."""
        tables = ", ".join(
            f"{name} {self.releases[name].n_published:,} of {self.releases[name].n_rows:,} rows"
            for name in self.frames
        )
        return f"<TablesRelease k={self.k}, {self.knows_events} events: {tables}>"

    def _repr_html_(self) -> str:
        from shoal.runtime.notebook import lists, share, shown, table

        heads = ("table", "rows published", "rows left out", "detail lost (ncp)")
        rows = (
            (
                name,
                f"{each.n_published:,}",
                f"{each.n_suppressed:,}",
                share(each.public_scores["ncp"]),
            )
            for name, each in self.releases.items()
        )
        about = shown(table(heads, rows), lists(f"Warning: {text}" for text in self.warnings))
        return about + self.verification._repr_html_()


def places_in(target: str | os.PathLike[str], names: Sequence[str], form: str) -> dict[str, str]:
    """Return the file, or the table of a database, of each table.

    Raises:
        OptionError: a name cannot be that of a file, or a URL names a table.
    """
    if is_database(target):
        url = str(target)
        if url.lower().startswith(DELTA):
            raise OptionError(
                "Each table of Delta has a log of its own, so several do not appear together; "
                "name each input under [tables.NAME], and a folder of files or a database for the "
                "release."
            )
        if "table=" in url:
            raise OptionError(
                "The tables keep their names in the database; leave table=... out of the URL."
            )
        joint = "&" if "?" in url else "?"
        return {name: f"{url}{joint}table={name}" for name in names}
    if is_remote(target):
        raise OptionError(
            "Several tables appear together in a folder of this machine or in a database; objects "
            "of a store appear one after another, so name one of those."
        )
    for name in names:
        if Path(name).name != name or name.startswith("."):
            raise OptionError("Table {name!r} cannot be the name of a file.", name=name)
    return {name: str(Path(target) / f"{name}.{form}") for name in names}


def refuse_places(places: Iterable[str], if_exists: str) -> None:
    """Keep what is there, unless it is to be replaced.

    Raises:
        OptionError: one exists, or the folder is none.
    """
    check_if_exists(if_exists)
    for place in places:
        if is_database(place):
            continue
        path = Path(place)
        if path.exists() and if_exists == "fail":
            raise OptionError(
                "{path!r} exists; give another folder, or say that it is to be replaced.",
                path=place,
            )
        if path.parent.exists() and not path.parent.is_dir():
            raise OptionError("{path!r} is a file, not a folder.", path=str(path.parent))
        if not path.parent.parent.is_dir():
            raise OptionError(
                "The folder {path!r} cannot be made: the one above it is not there.",
                path=str(path.parent),
            )


@contextmanager
def folder_of(places: Iterable[str]) -> Iterator[None]:
    """Make the folder of files while the block runs; if it fails, a new one goes again.

    Raises:
        DataError: it cannot be made.
    """
    new = {Path(each).parent for each in places if not is_database(each)}
    new = {each for each in new if not each.exists()}
    try:
        for each in new:
            each.mkdir()
    except OSError as error:
        raise DataError(
            "Could not make the folder {path!r}: {strerror}.",
            path=str(each),
            strerror=error.strerror,
        ) from None
    try:
        yield
    except BaseException:
        for each in new:
            with suppress(OSError):
                each.rmdir()
        raise


def _refuse_lists(name: str, frame: pl.DataFrame, form: str | None) -> None:
    import polars as pl

    lists = [column for column, dtype in frame.schema.items() if isinstance(dtype, pl.List)]
    if lists and (form is None or detect_format(f"{name}.{form}").row.is_text):
        raise OptionError(
            "Column {column!r} of table {name!r} holds lists, which only Parquet can; choose that "
            "format, or give texts with | between codes.",
            column=lists[0],
            name=name,
        )
