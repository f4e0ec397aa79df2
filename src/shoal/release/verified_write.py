"""A release to its file: written, read back as a reader would, verified, and only then in place.

A promise that holds in memory may be broken in a file: an empty text and null are two values in a
frame and one in CSV. So what counts is what was written. Whatever writes a release goes through
here; what does not hold is never moved to its place, nor committed to its database.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shoal.errors import PromiseError
from shoal.io.columns import decode_text
from shoal.io.database import stage_sql
from shoal.io.formats import check_delimiter, detect_format
from shoal.io.location import is_database
from shoal.io.overwrite_guard import watching_inputs
from shoal.io.raw_reader import Written, read_written
from shoal.io.write import stage_table
from shoal.messages import Message
from shoal.publish.cells import columns_needed
from shoal.publish.limited import limited_of
from shoal.publish.recode import Style
from shoal.publish.release_data import Staged, refuse_broken, refuse_other_rows, stands_as_made
from shoal.publish.verification_terms import promises_of, trees_of
from shoal.publish.verify import BESIDE, verify_table
from shoal.table.frames import to_polars

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

    from shoal.io.atomic import AtomicGroup
    from shoal.publish.release_data import ReleaseData, ReleaseT
    from shoal.publish.verify import Verification, WholePromise


def stage_release(
    group: AtomicGroup,
    release: ReleaseT,
    target: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - the name users know from the command line
    delimiter: str | None = None,
    if_exists: str = "fail",
    escape_formulas: bool = False,
) -> Staged[ReleaseT]:
    """Add a release to a group of files that appear together, after a look at its bytes.

    Raises:
        PromiseError: what was written does not keep the promises.
        DataError: the table cannot be written.
    """
    frame = to_polars(release.frame)
    path = None
    if is_database(target):
        frame = decode_text(frame)
        pending = stage_sql(group, frame, os.fspath(target), if_exists)
        names = pending.names()
        columns = _same_places(release, frame, names)
        written = Written(pending.read(list(columns)), tuple(names), spelled=True)
    else:
        found = detect_format(os.fspath(target), format)
        separator = check_delimiter(delimiter) or found.row.separator or ","
        path = stage_table(
            group,
            frame,
            target,
            format=format,
            delimiter=delimiter,
            escape_formulas=escape_formulas,
        )
        with watching_inputs():  # what we have just written is nobody's input
            written = read_written(
                path,
                format=f"{found.name}.{found.compression}" if found.compression else found.name,
                delimiter=separator,
                pick=lambda names: list(_same_places(release, frame, names)),
                own=True,
            )
        columns = _same_places(release, frame, list(written.columns))
    back = _with_empty_rows(written, frame)
    verification = _verify(release, frame, back, columns, in_order=path is not None)
    # who was where in other releases is not in the file, and was checked in memory
    over_all = [each for each in release.verification.checks if each.judged_by == BESIDE]
    verification = replace(verification, checks=(*verification.checks, *over_all))
    return Staged.of(release, verification, path)


def stage_judged(
    group: AtomicGroup,
    rows: pl.DataFrame,
    target: str,
    judge: Callable[[pl.DataFrame], Verification],
) -> Verification:
    """Add published rows to a group of files, after a look at the bytes by who knows the promises.

    Args:
        group: the files.
        rows: what is published; no run of this machine has made all of it.
        target: where it goes.
        judge: says what the rows, as they were written, keep of what was promised.

    Raises:
        PromiseError: they do not keep it.
        DataError: the table cannot be written.
    """
    found = detect_format(target, None)
    path = stage_table(group, rows, target)
    name = f"{found.name}.{found.compression}" if found.compression else found.name
    with watching_inputs():  # what we have just written is nobody's input
        written = read_written(path, format=name, own=True)
    verification = judge(written.frame)
    if not verification.holds:
        raise PromiseError(
            "The release does not keep its promise, so it is not written: {broken}",
            broken=verification.broken(),
        )
    return verification


def stage_waiting(
    group: AtomicGroup,
    rows: pl.DataFrame,
    target: str | os.PathLike[str],
    form: str | None,
    **written: Any,
) -> None:
    """Add rows that are not published to a group of files; they stay with the holder of the data.

    Args:
        group: the files.
        rows: those that wait.
        target: where they go.
        form: the format, where the name does not say it.
        written: how text is written, as in `shoal.io.write.stage_table`.

    Raises:
        DataError: the table cannot be written.
    """
    stage_table(group, rows, target, format=form, **written).chmod(0o600)


def _same_places(release: ReleaseData, frame: pl.DataFrame, names: list[str]) -> dict[str, str]:
    """Return the written name of each column that promises are about, and its name.

    Columns are found by their places: a file may lack a name, a database may cut it short.
    """
    if len(names) != frame.width:
        raise PromiseError(
            "What was written has {n} columns and the release {width}, so it is not "
            "published; this format does not hold the table.",
            n=len(names),
            width=frame.width,
        )
    sensitive = _sensitive_columns(release)
    coded = [grid.name for grid in release.grids if grid.name in release.schema.exact]
    needed = {
        *columns_needed(frame.columns, release.schema.quasi_identifiers, sensitive),
        *coded,
    }
    return {
        written: name for written, name in zip(names, frame.columns, strict=True) if name in needed
    }


def _sensitive_columns(release: ReleaseData) -> tuple[str, ...]:
    """Return the sensitive columns that promises, or what is said beside them, look at."""
    needed = release.privacy or release.verification.attacker is not None
    return release.schema.sensitive if needed else ()


def _with_empty_rows(written: Written, frame: pl.DataFrame) -> Written:
    """Return what was read with rows of nothing at its end, which a sheet does not show."""
    import polars as pl

    lost = frame.height - written.frame.height
    if lost <= 0 or not frame.tail(lost).null_count().equals(_all_null(frame, lost)):
        return written
    empty = pl.DataFrame(schema=written.frame.schema).clear(lost)
    return replace(written, frame=pl.concat([written.frame, empty]))


def _all_null(frame: pl.DataFrame, n_rows: int) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame(
        {name: [n_rows] for name in frame.columns},
        schema_overrides={name: pl.get_index_type() for name in frame.columns},
    )


def _verify(
    release: ReleaseData,
    frame: pl.DataFrame,
    written: Written,
    columns: dict[str, str],
    *,
    in_order: bool,
) -> Verification:
    """Verify what was written; a file has its rows in order, a database may not."""
    import polars as pl

    people, memory = release.people, release.verification
    refuse_other_rows(written.frame.height, frame.height)
    table = written.frame.rename(columns)
    keys = columns_needed(table.columns, release.schema.quasi_identifiers)
    stands = people is None or in_order
    stands = stands or stands_as_made(frame.select(keys), table.select(keys))
    about_all: tuple[WholePromise, ...] = ()
    if release.privacy:
        from shoal.release_reader.classes import promises_about_all

        style = release.style or Style()
        about_all = promises_about_all(release.privacy, release.schema, style)
    verification = verify_table(
        table,
        people=people if stands else None,
        k=release.k,
        quasi_identifiers=release.schema.quasi_identifiers,
        sensitive=_sensitive_columns(release),
        limited=limited_of(
            release.parameters.get("knows"), release.parameters.get("combinations") or ()
        ),
        promises=promises_of(release.privacy, trees_of(release.schema)),
        about_all=about_all,
        grids=release.grids,
        orders={
            name: dtype.categories.to_list()
            for name, dtype in frame.schema.items()
            if isinstance(dtype, pl.Enum)
        },
        spelled=written.spelled,
        shuffled=bool(release.schema.shuffled),
    )
    refuse_broken(verification)
    if not stands:
        # a database gave the rows back in another order: whose they are is known in memory
        if verification.n_groups != memory.n_groups:
            raise PromiseError(
                "What was written has {n_groups:,} groups and the release {n_groups2:,}, so "
                "it is not published; people cannot be counted there.",
                n_groups=verification.n_groups,
                n_groups2=memory.n_groups,
            )
        return replace(memory, read_from="the table in memory, and rows in what was written")
    return replace(verification, read_from=Message("what was written"))
