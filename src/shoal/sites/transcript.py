"""What a site has seen of a run: every message and every number that was opened."""

from __future__ import annotations

import json
from typing import Any


class Transcript:
    """The messages of a run, in order; what was opened is in them, shares are not.

    Attributes:
        lines: each message with its kind, who sent or got it, and its bytes.
    """

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []

    def note(self, kind: str, **said: Any) -> None:
        """Add a message that came or went, or numbers that were opened."""
        self.lines.append({"kind": kind, **said})

    @property
    def n_bytes(self) -> int:
        """How many bytes came and went."""
        return sum(each.get("bytes", 0) for each in self.lines)

    def text(self) -> str:
        """Return all of it as lines of JSON."""
        return "".join(json.dumps(each) + "\n" for each in self.lines)
