"""What regulators ask of a release: a row for each of them, with the source of its numbers.

A row says what a run, or a table of counts, is to keep where nothing else is said. What the report
answers is `shoal.report.regime`. Keeping a number is not the same as keeping a law.
"""

from __future__ import annotations

from dataclasses import dataclass

from shoal.errors import OptionError
from shoal.messages import Message


@dataclass(frozen=True, kw_only=True)
class Regime:
    """What one regulator asks for.

    Attributes:
        title: whose rules they are.
        source: where they stand.
        about: what the source says of numbers, and what it leaves open.
        k: the fewest people of a group; None where the source names no number.
        risk: the highest chance to be found, where the source names one.
        minimum: the smallest number of a table of counts; None where it is about none.
        round_to: what numbers of a table of counts are rounded to multiples of.
        audits: whether its questions are answered by attacks on the release.
    """

    title: str
    source: str
    about: str
    k: int | None = None
    risk: float | None = None
    minimum: int | None = None
    round_to: int = 1
    audits: bool = False


_ELEVEN_OR_TWELVE = Message(
    "The threshold is 0.09. Groups of 11, which are commonly taken for it, have 1/11 = 0.0909, "
    "which is above it; groups of 12 have 0.0833. k is 12 unless you say --k 11."
)

REGIMES: dict[str, Regime] = {
    "ema": Regime(
        title=Message("European Medicines Agency, Policy 0070"),
        source="External guidance on the implementation of Policy 0070, EMA/90915/2016, chapter 3",
        about=_ELEVEN_OR_TWELVE,
        k=12,
        risk=0.09,
    ),
    "health-canada": Regime(
        title=Message("Health Canada, Public Release of Clinical Information"),
        source="Guidance document on Public Release of Clinical Information, 2019",
        about=_ELEVEN_OR_TWELVE,
        k=12,
        risk=0.09,
    ),
    "hipaa-expert": Regime(
        title=Message("HIPAA, expert determination"),
        source="45 CFR 164.514(b)(1)",
        about=Message(
            "The rule asks for a very small risk and names no number; what is very small the "
            "expert determines. k is 11 unless you say another: the cell size of the Centers for "
            "Medicare & Medicaid Services, which experts often begin with."
        ),
        k=11,
    ),
    "hipaa-safe-harbor": Regime(
        title=Message("HIPAA, safe harbor"),
        source="45 CFR 164.514(b)(2)",
        about=Message(
            "The rule lists 18 kinds of identifiers to be removed and names no size of groups, so "
            "you say k. Of places it lets states stand, and the first three digits of a ZIP code "
            "where more than 20,000 people live there; of dates the year; of ages those up to 89."
        ),
    ),
    "cms": Regime(
        title=Message("Centers for Medicare & Medicaid Services, cell size"),
        source="CMS cell size suppression policy",
        about=Message(
            "No number from 1 to 10 is shown, nor what it could be worked out from. Rows are held "
            "to the same: k is 11."
        ),
        k=11,
        minimum=11,
    ),
    "nhs": Regime(
        title=Message("NHS England, hospital statistics"),
        source=(
            "Disclosure control methodology for Hospital Episode Statistics and Emergency Care "
            "Data Set, 2018"
        ),
        about=Message(
            "Below the national level numbers from 1 to 7 are not shown, and others are rounded to "
            "multiples of 5. The method is about tables of counts; rows are held to the same "
            "number: k is 8."
        ),
        k=8,
        minimum=8,
        round_to=5,
    ),
    "eu": Regime(
        title=Message("European Union, anonymous data"),
        source="Article 29 Working Party, Opinion 05/2014 on Anonymisation Techniques (WP 216)",
        about=Message(
            "The opinion asks three questions (singling out, linkability, inference) and names no "
            "number, so you say k. Attacks on the release answer them."
        ),
        audits=True,
    ),
}
"""The regimes, by what users type."""


def k_of(regime: str | None) -> int:
    """Return the size of groups that a regime stands for, where a job names none.

    Raises:
        OptionError: it names none either, or there is no regime.
    """
    if regime is None:
        raise OptionError(
            "k is not given: say from how many people nobody may stand out, with --k 10."
        )
    found = REGIMES[regime].k
    if found is None:
        raise OptionError(
            "{regime!r} names no size of groups: say from how many people nobody may stand out, "
            "with --k 10.",
            regime=regime,
        )
    return found


def cells_of(regime: str) -> tuple[int, int]:
    """Return the smallest number of a table of counts, and what is rounded to, as a regime asks.

    Raises:
        OptionError: it is not about tables of counts.
    """
    found = REGIMES[regime]
    if found.minimum is None:
        raise OptionError(
            "{regime!r} is not about tables of counts; {known} are.",
            regime=regime,
            known=", ".join(name for name, each in REGIMES.items() if each.minimum),
        )
    return found.minimum, found.round_to
