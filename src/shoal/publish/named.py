"""Columns of a published table by the names that users know them by."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shoal.errors import RoleError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["check_names", "columns_needed", "listed", "note_on_names"]


def columns_needed(
    columns: Sequence[str], quasi_identifiers: Iterable[str], sensitive: Iterable[str] = ()
) -> list[str]:
    """Return the columns of quasi-identifiers (each itself, or its two bounds) and of the others.

    Raises:
        RoleError: one of them does not exist.
    """
    found = []
    for name in quasi_identifiers:
        bounds = [f"{name}_low", f"{name}_high"]
        if name in columns:
            found.append(name)
        elif all(bound in columns for bound in bounds):
            found.extend(bounds)
        else:
            raise _unknown(columns, name, "quasi-identifier")
    for name in sensitive:
        if name not in columns:
            raise _unknown(columns, name, "sensitive")
        found.append(name)
    return found


def check_names(keys: list[str], sensitive: list[str]) -> None:
    """Raise a RoleError if a column is named twice."""
    for names in (keys, sensitive):
        for number, name in enumerate(names):
            if name in names[:number]:
                raise RoleError(f"Column {name!r} is named twice; name it once.")
    for name in sensitive:
        if name in keys:
            raise RoleError(
                f"Column {name!r} is given two roles, quasi-identifier and sensitive; keep one."
            )


def _unknown(known: Sequence[str], name: str, role: str) -> RoleError:
    hint = did_you_mean(name, known) or f" It has {', '.join(map(repr, known[:20]))}."
    return RoleError(f"There is no column {name!r} (given as {role}) in the table.{hint}")


def listed(names: str | Iterable[str], option: str) -> list[str]:
    """Return names as a list; a bare text is a list of one."""
    given = [names] if isinstance(names, str) else list(names)
    if not all(isinstance(name, str) for name in given):
        raise RoleError(f"{option} must be a list of column names as text.")
    return given


def note_on_names(
    columns: Sequence[str], quasi_identifiers: Sequence[str], others: Sequence[str]
) -> list[str]:
    """Name columns in no promise that are called after a quasi-identifier, as age_low beside age.

    Args:
        columns: of the table.
        quasi_identifiers: as they were promised.
        others: further columns that promises are about.
    """
    looked_at = {*columns_needed(list(columns), list(quasi_identifiers)), *others}
    notes = []
    for name in quasi_identifiers:
        stem = re.escape(name.strip().casefold())
        found = [
            each
            for each in columns
            if each not in looked_at and re.match(rf"{stem}(?:$|[\W_])", each.strip().casefold())
        ]
        if found:
            notes.append(
                f"{', '.join(map(repr, found))} beside {name!r} may say more about it and is in no "
                "promise; name it with --qi, or leave it out of the release."
            )
    return notes
