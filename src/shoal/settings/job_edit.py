"""Changes the columns of a job file, and leaves the rest of its text as it was written."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from shoal.errors import JobError
from shoal.settings.job_file import toml_key

if TYPE_CHECKING:
    from pathlib import Path


def with_columns(text: str, file: Path, *, dropped: Collection[str], gone: Collection[str]) -> str:
    """Return the text of a job file in which further columns are dropped, and others are not named.

    Comments, order and values from outside stay. What comes out is read again and compared with
    what was asked for.

    Args:
        text: what the file holds.
        file: what to call it in a message.
        dropped: columns to be named, with the role drop.
        gone: columns whose tables go, with the comment right above each.

    Raises:
        JobError: the columns are not written as tables of their own.
    """
    wanted = tomllib.loads(text)
    columns = wanted.setdefault("columns", {})
    for name in gone:
        columns.pop(name, None)
        wanted.get("hierarchies", {}).pop(name, None)
    columns.update({name: {"role": "drop"} for name in dropped})
    end = "\r\n" if "\r\n" in text else "\n"
    made = "".join(_without(text.splitlines(keepends=True), gone)).rstrip("\r\n") + end
    for name in dropped:
        made += f'{end}[columns.{toml_key(name)}]{end}role = "drop"{end}'
    try:
        same = tomllib.loads(made) == wanted
    except tomllib.TOMLDecodeError:
        same = False
    if not same:
        raise JobError(
            "The columns of {file!r} are not written as [columns.NAME] each, so that they cannot "
            "be changed by a command; change them by hand.",
            file=str(file),
        )
    return made


def _without(lines: list[str], gone: Collection[str]) -> Iterator[str]:
    """Give the lines without the tables of these columns and the comments right above them."""
    held: list[str] = []  # what belongs to the next table, if one comes
    skipping = False
    for line in lines:
        if not line.strip() or line.lstrip().startswith("#"):
            held.append(line)
            continue
        path = _header(line)
        if path is not None:
            skipping = len(path) > 1 and path[0] in ("columns", "hierarchies") and path[1] in gone
            if skipping:
                while held and held[-1].strip():
                    held.pop()
                while held and not held[-1].strip():
                    held.pop()
            yield from held
        elif not skipping:
            yield from held
        held = []
        if not skipping:
            yield line
    yield from held


def _header(line: str) -> list[str] | None:
    """Return the path of the table that a line begins; None if it begins none."""
    if not line.lstrip().startswith("["):
        return None
    try:
        found: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return None
    path = []
    while isinstance(found, dict) and found:
        ((name, found),) = found.items()
        path.append(name)
    return path
