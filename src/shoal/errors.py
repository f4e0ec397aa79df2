"""One exception tree for everything a user can get wrong.

A message says what is wrong, what was given and what to do, in one sentence; it never shows a
cell of the input. Column names, file names, options and hierarchy *labels written by the user*
may appear; values of the data may not.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from shoal.messages import Message

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


_LONGEST, _MOST = 100, 5_000  # letters and names worth comparing


class ShoalError(Exception):
    """Base of every error that Shoal raises on purpose.

    Attributes:
        exit_status: what the command line returns for it: 2 when the input or an option is
            wrong, 1 when the promise cannot be or was not met.
        message: what is wrong, for any language (`shoal.messages`).
    """

    exit_status = 2

    def __init__(self, template: str = "", /, **values: Any) -> None:
        """Take a message, or a template and its values: ``OptionError("No {name!r}.", name=n)``."""
        if not isinstance(template, Message) or values:
            template = Message(template, **values)
        self.message: Message = template
        super().__init__(template)


class OptionError(ShoalError):
    """An option or argument is outside what it allows."""


class RoleError(ShoalError):
    """A column is unknown, has no role, or has two."""


class DataError(ShoalError):
    """The table itself cannot be used: empty, ragged, badly encoded, mixed types."""


class HierarchyError(ShoalError):
    """A hierarchy is malformed, or does not cover the data."""


class JobError(ShoalError):
    """A job file cannot be read or contradicts itself."""


class DriftError(ShoalError):
    """The table is no longer the one that a job describes.

    Attributes:
        changes: how it differs (`shoal.run.drift.ColumnChange`).
    """

    changes: tuple[Any, ...] = ()


class AlgorithmError(ShoalError):
    """The chosen algorithm cannot work on this table (it needs a hierarchy, say)."""


class PromiseError(ShoalError):
    """No release of this table can hold the promise, or a release does not hold it."""

    exit_status = 1


class ShoalWarning(UserWarning):
    """Something the user should know about although the run goes on."""


def refuse_unknown(
    names: Iterable[str],
    known: Collection[str],
    error: type[ShoalError],
    sentence: Message,
    /,
    **holes: Any,
) -> None:
    """Raise an error for the first name that is not known.

    Args:
        names: what is asked for.
        known: what there is.
        error: the class of the error.
        sentence: says that there is no ``{name}``, with a ``{hint}`` at what may be meant.
        holes: what fills its other holes.
    """
    for name in names:
        if name not in known:
            raise error(sentence, name=name, hint=did_you_mean(str(name), known), **holes)


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """Return `` Did you mean 'x'?`` for the closest known name, or an empty string."""
    # Comparing takes time that grows with the square of the length.
    names = [name for name in map(str, known) if len(name) <= _LONGEST]
    if len(given) > _LONGEST or len(names) > _MOST:
        return ""
    folded = {name.casefold(): name for name in names}
    close = difflib.get_close_matches(given.casefold(), list(folded), n=1, cutoff=0.6)
    return Message(" Did you mean {name!r}?", name=folded[close[0]]) if close else ""
