"""A claim of a paper, what we measured, and the verdict."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from benchmarks.draw import tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Verdict = Literal["confirmed", "partly", "not confirmed"]


@dataclass(frozen=True)
class Claim:
    """One claim.

    Attributes:
        paper: who claims it, and where, e.g. "Byun, Fig. 6".
        text: the claim in our words.
        measured: what came out, with numbers.
        verdict: confirmed, partly or not confirmed.
        why: one sentence.
    """

    paper: str
    text: str
    measured: str
    verdict: Verdict
    why: str

    def __post_init__(self) -> None:
        """Refuse what the table could not show."""
        if self.verdict not in get_args(Verdict):
            raise ValueError(f"unknown verdict {self.verdict!r} of {self.text!r}")
        if not all((self.paper, self.text, self.measured, self.why)):
            raise ValueError(f"a claim needs every field: {self}")


def judge(holds: Iterable[bool]) -> Verdict:
    """Return confirmed if it holds everywhere, not confirmed if nowhere, else partly."""
    cases = [bool(case) for case in holds]
    if not cases:
        raise ValueError("no cases to judge a claim by")
    if all(cases):
        return "confirmed"
    return "partly" if any(cases) else "not confirmed"


def count(claims: Iterable[Claim]) -> str:
    """Return how many claims have each verdict, as a sentence."""
    found = Counter(claim.verdict for claim in claims)
    parts = [f"{found[verdict]} {verdict}" for verdict in get_args(Verdict)]
    return f"{found.total()} claims: {', '.join(parts)}."


def table(claims: Iterable[Claim]) -> Iterator[str]:
    """Return the lines of the claims table."""
    return tables.table(
        ["paper", "claim", "measured", "verdict", "why"],
        ((c.paper, c.text, c.measured, f"**{c.verdict}**", c.why) for c in claims),
    )
