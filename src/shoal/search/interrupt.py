"""What a search says when Ctrl-C ends it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shoal.table.partition import Partition

__all__ = ["SearchInterrupt"]


class SearchInterrupt(KeyboardInterrupt):
    """Ctrl-C ended a search; who does not mind goes on with what it found.

    Attributes:
        found: the best partition so far, as valid as the one that was given.
    """

    def __init__(self, found: Partition) -> None:
        super().__init__()
        self.found = found
