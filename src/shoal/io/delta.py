"""Tables of Delta, with the package deltalake: a folder of Parquet files and a log of versions.

What a version consists of is said by the log alone, so a release is a Parquet file that nobody
knows of until one entry of the log names it; that entry is the commit. A replaced table keeps its
earlier versions, as every table of Delta does. Reading stays with one version for a whole command,
whoever writes to the table meanwhile.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from typing import IO, TYPE_CHECKING, Any
from uuid import uuid4

from shoal.errors import DataError, ShoalError
from shoal.io import remote
from shoal.io.atomic import AtomicGroup
from shoal.io.database import choose_columns
from shoal.io.overwrite_guard import current_watch, note_table, refuse_table
from shoal.io.temporaries import make_temporary
from shoal.io.write import Cells, write_parquet
from shoal.messages import Message

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence
    from pathlib import Path

    import polars as pl

    from shoal.io.location import Location


def column_names(location: Location) -> list[str]:
    """Return the names of a table's columns."""
    with _reporting(location, Message("read")):
        return [field.name for field in _opened(location).schema().fields]


def read(
    location: Location, columns: Sequence[str] | None, *, written: bool = False
) -> pl.DataFrame:
    """Read a version of a table, the present one, or only some of its columns."""
    del written  # cells have types, and differ in the table where they differ in the file
    import polars as pl

    note_table(identity(location))
    with _reporting(location, Message("read")):
        table = _opened(location)
        names = choose_columns(columns, [each.name for each in table.schema().fields], location)
        return pl.scan_delta(table).select(names).collect()


def check_target(location: Location, if_exists: str) -> None:
    """Raise unless the table could be written."""
    _library()
    folder = location.path
    if folder is None:
        remote.check_writable(f"{_place(location)}/_delta_log")
    elif not folder.parent.is_dir():
        raise DataError(
            "Could not write {shown!r}: the folder {parent!r} does not exist.",
            shown=location.shown,
            parent=str(folder.parent),
        )
    if _is_there(location):
        if if_exists != "replace":
            raise DataError(
                "{shown!r} exists; choose another table, or replace it with --if-exists replace "
                "(if_exists='replace').",
                shown=location.shown,
            )
    elif folder is not None and folder.exists() and (folder.is_file() or any(folder.iterdir())):
        raise DataError(
            "{shown!r} is no table of Delta, and something else is there; choose another folder.",
            shown=location.shown,
        )


def identity(location: Location) -> Hashable:
    """Return what tells the table apart from all others."""
    return "delta", _place(location)


def tables_read(location: Location) -> list[Hashable]:
    """Return every table that reading this one reads."""
    return [identity(location)]


def stage(
    location: Location, frame: pl.DataFrame, if_exists: str, beside: Sequence[object] = ()
) -> _Pending:
    """Write the table to a file that no version names yet."""
    del beside  # each table has a log of its own
    check_target(location, if_exists)
    refuse_table(identity(location), location.shown)
    return _Pending(location, _storable(frame), if_exists)


class _Pending:
    """A written table that waits for its entry in the log."""

    def __init__(self, location: Location, frame: pl.DataFrame, if_exists: str) -> None:
        self._location, self._replaces = location, if_exists == "replace"
        self._n_rows = frame.height
        with _reporting(location, Message("write")):
            self._schema = _schema_of(frame)
            handle, self._file = make_temporary()
            try:
                with os.fdopen(handle, "wb") as file:
                    write_parquet(frame, file, Cells(",", escape_formulas=False))
            except BaseException:
                self.close()
                raise

    def names(self) -> list[str]:
        """Return the names of the written columns."""
        import polars as pl

        return pl.scan_parquet(self._file, glob=False).collect_schema().names()

    def read(self, columns: Sequence[str]) -> pl.DataFrame:
        """Return columns as they are written."""
        import polars as pl

        return pl.scan_parquet(self._file, glob=False).select(columns).collect()

    def commit(self) -> None:
        """Put the file into the folder of the table, and name it in the log."""
        from deltalake.transaction import AddAction, create_table_with_add_actions

        location, name = self._location, f"part-00000-{uuid4()}.parquet"
        place, folder = f"{_place(location)}/{name}", location.path
        size, now = self._file.stat().st_size, time.time_ns() // 1_000_000
        stats = json.dumps({"numRecords": self._n_rows})
        made = folder is not None and not folder.exists()
        try:
            with _reporting(location, Message("write")):
                if folder is not None and made:
                    folder.mkdir()
                with AtomicGroup() as group:
                    group.add(place, self._copy)
                create_table_with_add_actions(
                    _place(location),
                    self._schema,
                    [AddAction(name, size, {}, now, data_change=True, stats=stats)],
                    mode="overwrite" if self._replaces else "error",
                )
        except BaseException:
            self._take_back(place, folder if made else None)
            raise

    def _copy(self, file: IO[bytes]) -> None:
        with self._file.open("rb") as source:
            shutil.copyfileobj(source, file)

    def _take_back(self, place: str, folder: Path | None) -> None:
        """Remove a file that no version names, and the folder if it was made for it."""
        with contextlib.suppress(OSError, ShoalError):
            if self._location.path is None:
                remote.remove(place)
                return
            with contextlib.suppress(FileNotFoundError):
                os.unlink(place)  # noqa: PTH108 - a name
            if folder is not None:
                with contextlib.suppress(OSError):
                    (folder / "_delta_log").rmdir()
                folder.rmdir()

    def close(self) -> None:
        """Forget what was not committed."""
        self._file.unlink(missing_ok=True)


def _place(location: Location) -> str:
    """Return the folder of a table: the full path, or the URL of a store."""
    return location.options.get("url") or os.path.realpath(str(location.path))


def _library() -> Any:
    try:
        import deltalake
    except ImportError:
        raise DataError(
            "Tables of Delta need the package deltalake: pip install 'shoal-anonymity[delta]'."
        ) from None
    return deltalake


def _opened(location: Location) -> Any:
    """Return the table at the version that the present command reads."""
    library, watch = _library(), current_watch()
    known = None if watch is None else watch.versions.get(location.shown)
    table = library.DeltaTable(
        _place(location), version=None if known is None else int(known.split()[-1])
    )
    if watch is not None:
        watch.versions[location.shown] = f"Delta version {table.version()}"
    return table


def _is_there(location: Location) -> bool:
    library = _library()
    from deltalake.exceptions import TableNotFoundError

    with _reporting(location, Message("read")):
        try:
            library.DeltaTable(_place(location))
        except TableNotFoundError:
            return False
    return True


def _schema_of(frame: pl.DataFrame) -> Any:
    from arro3.core import Table

    return _library().Schema.from_arrow(Table(frame.head(0)).schema)


def _storable(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the table with the types that Delta has: no unsigned numbers, no times of the day."""
    import polars as pl

    wider: dict[Any, Any] = {pl.UInt8: pl.Int16, pl.UInt16: pl.Int32, pl.UInt32: pl.Int64}
    wider |= {pl.UInt64: pl.Decimal(20, 0), pl.Int128: pl.Decimal(38, 0)}
    moments = [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.Datetime)]
    return frame.cast({**wider}).with_columns(
        pl.col(moments).dt.cast_time_unit("us"), pl.col(pl.Time).cast(pl.String)
    )


@contextlib.contextmanager
def _reporting(location: Location, verb: str) -> Iterator[None]:
    """Turn the errors of the libraries, which may show paths and requests, into sentences."""
    try:
        yield
        return
    except ShoalError:
        raise
    except Exception as error:  # noqa: BLE001 - its message is shown to nobody
        reason = Message("the table is damaged, or of a kind that is not read here")
        if type(error).__name__ == "TableNotFoundError":
            reason = Message("there is no table of Delta")
        elif "already exists" in str(error) or type(error).__name__ == "CommitFailedError":
            reason = Message("another program has just written to it")
        elif verb == Message("write"):
            reason = Message("the place or the library does not take it")
    raise DataError(
        "Could not {verb} {shown!r}: {reason}.", verb=verb, shown=location.shown, reason=reason
    )
