"""What an attack found: a number, how sure it is, what it is compared with, and a sentence."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Audit", "Finding", "interval_of"]

_Z = 1.959963984540054
"""The 97.5 % point of the normal distribution: intervals hold with 95 %."""


def interval_of(total: float, n: int, *, everybody: bool = False) -> tuple[float, float]:
    """Return a 95 % interval for a mean of n numbers between 0 and 1 (Wilson 1927).

    Of all distributions on [0, 1] with one mean, 0 or 1 spreads most, so that the interval of a
    share holds for any of them.

    Args:
        total: their sum.
        n: how many there are.
        everybody: whether nobody was left out, so that there is nothing to be unsure of.
    """
    if n == 0:
        return 0.0, 1.0
    share = min(max(total / n, 0.0), 1.0)
    if everybody:
        return share, share
    middle = (share + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z / (1 + _Z**2 / n) * math.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2))
    # The ends are 0 and 1 there, and rounding must not say otherwise.
    low = 0.0 if share == 0 else max(middle - half, 0.0)
    return low, 1.0 if share == 1 else min(middle + half, 1.0)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What one attacker reaches.

    Attributes:
        name: what it is called, as in ``linkage: prosecutor, all 3 columns``.
        attack: the group it belongs to.
        rate: how often the attacker is right: a mean over the people who were attacked.
        low: lower end of a 95 % interval.
        high: upper end.
        n: how many people, guesses or groups were tried.
        baseline: what is reached without the release; None where that means nothing.
        control: what is reached about people who are not in the table; None without any.
        worst: the highest chance of a single person, where there is such a number.
        sentence: all this in words.
        lowered_by: which option lowers the number.
    """

    name: str
    attack: str
    rate: float
    low: float
    high: float
    n: int
    sentence: str
    lowered_by: str
    baseline: float | None = None
    control: float | None = None
    worst: float | None = None

    @property
    def risk(self) -> float:
        """How much of what was left to find is found: (rate - control) / (1 - control).

        The control is what holds for people outside the table; without one it is the baseline.
        """
        known = self.control if self.control is not None else self.baseline
        if known is None:
            return self.rate
        return 0.0 if known >= 1 else max((self.rate - known) / (1 - known), 0.0)

    def to_dict(self) -> dict[str, Any]:
        """Return the finding, ready for JSON."""
        return {**asdict(self), "risk": self.risk}


class Audit(Mapping[str, Finding]):
    """The findings of all attackers, by name; no cell of a table is in them.

    Attributes:
        findings: in the order of the attacks.
        notes: what could not be tried, and why.
        n_rows: rows of the original.
        n_published: rows of the release.
    """

    def __init__(
        self, findings: Sequence[Finding], notes: Sequence[str], n_rows: int, n_published: int
    ) -> None:
        self.findings = tuple(findings)
        self.notes = tuple(notes)
        self.n_rows = n_rows
        self.n_published = n_published
        self._by_name = {each.name: each for each in findings}

    def __getitem__(self, name: str) -> Finding:
        """Return a finding by its name."""
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        """Go through the names."""
        return iter(self._by_name)

    def __len__(self) -> int:
        """Return how many findings there are."""
        return len(self._by_name)

    def of(self, attack: str) -> tuple[Finding, ...]:
        """Return the findings of one group of attacks."""
        return tuple(each for each in self.findings if each.attack == attack)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Everything in words."""
        return tuple(each.sentence for each in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return the audit, ready for JSON."""
        return {
            "n_rows": self.n_rows,
            "n_published": self.n_published,
            "findings": [each.to_dict() for each in self.findings],
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        """Return one line."""
        return f"<Audit: {len(self)} findings about {self.n_published} published rows>"
