"""Earlier releases as users give them: in memory, or as the names of their files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from shoal.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shoal.life.kept import KeptRelease

__all__ = ["key_of", "marks_of", "open_previous"]


def open_previous(given: Sequence[Any], written: str | None = None) -> tuple[KeptRelease, ...]:
    """Return what was kept of earlier releases.

    Args:
        given: releases, or the names of their files.
        written: the release file that is about to be written.

    Raises:
        OptionError: one is neither a release nor the name of a file, or a release of the same
            people lies beside a file and is not given.
        DataError: a file cannot be read.
    """
    if not given:
        return ()
    from shoal.life.file import load_release, refuse_missing
    from shoal.life.kept import KeptRelease, keep
    from shoal.release import Release

    found = []
    for each in given:
        if isinstance(each, str | os.PathLike):
            found.append(load_release(each))
        elif isinstance(each, Release | KeptRelease):
            found.append(keep(each))
        else:
            raise OptionError(
                "previous must be releases, what shoal.load_release returns, or names of release "
                f"files, not {type(each).__name__}."
            )
    refuse_missing([each for each in given if isinstance(each, str | os.PathLike)], found, written)
    return tuple(found)


def key_of(earlier: Sequence[KeptRelease]) -> bytes | None:
    """Return the key that earlier releases share; None if there are none."""
    return next((kept.people.key for kept in earlier if kept.people is not None), None)


def marks_of(earlier: Sequence[KeptRelease]) -> tuple[str, ...]:
    """Return what tells earlier releases apart."""
    return tuple(kept.people.mark for kept in earlier if kept.people is not None)
