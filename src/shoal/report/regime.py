"""What a release answers of the questions that a regulator asks, and what is left to its owner.

An answer is made of what was asked for, what was measured and what is published; nothing here says
that a release is lawful. Where only people can know, there is none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from shoal.io.vocabulary import topics_of, words_of
from shoal.messages import Message, joined, named_of
from shoal.settings.regimes import REGIMES
from shoal.table.schema import COLUMN_ROWS, Role

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from shoal.publish.release_data import ReleaseData
    from shoal.report.risk import Risk
    from shoal.settings.files import About
    from shoal.settings.regimes import Regime
    from shoal.study.audit.attack_context import Audit
    from shoal.table.schema import Column

    Answer = Callable[["Evidence"], str | None]

MOST_NAMES = 12
OLDEST = 89
_PUBLISHED = (Role.QUASI_IDENTIFIER, Role.SENSITIVE, Role.INSENSITIVE)
_COARSE = ("year", "decade")
_SHOWN_ALREADY = ("kind", "grid", "weight", "scale", "read_as", "top", "bottom")


@dataclass(frozen=True)
class Evidence:
    """What is known of a release when its report is made.

    Attributes:
        release: the release.
        was: the risk before, rounded.
        now: the risk after.
        audit: how far attackers get, if that was asked.
        about: what its owner says.
        fraction: the share of the population that is in the table, if known.
    """

    release: ReleaseData
    was: Risk
    now: Risk
    audit: Audit | None
    about: About
    fraction: float | None

    def of_role(self, *roles: Role) -> list[str]:
        """Return the columns of these roles."""
        return [each.name for each in self.release.schema.columns if each.role in roles]


@dataclass(frozen=True)
class Answered:
    """The section of a report about one regime.

    Attributes:
        regime: what is asked.
        techniques: every column, its role, what became of it, and the loss of its cells.
        questions: every question with its answer; None where it is left to the owner.
        unmet: what the release does not keep.
        keeps: whether the risk that the regime names is not exceeded; None if it names none.
    """

    regime: Regime
    techniques: tuple[tuple[str, str, str, float | None], ...]
    questions: tuple[tuple[str, str | None], ...]
    unmet: tuple[str, ...]
    keeps: bool | None


def answer(name: str, evidence: Evidence) -> Answered:
    """Return what a release answers of the questions of a regime."""
    regime, release = REGIMES[name], evidence.release
    loss = {column.name: column.loss for column in release.facts.columns}
    return Answered(
        regime,
        tuple(
            (each.name, each.role.value, technique(each, release), loss.get(each.name))
            for each in release.schema.columns
        ),
        tuple((question, found(evidence)) for question, found in _QUESTIONS[name]),
        tuple(unmet(name, release)),
        None if regime.risk is None else evidence.now.prosecutor_highest <= regime.risk,
    )


def technique(column: Column, release: ReleaseData) -> str:
    """Return what became of a column, in words."""
    if column.role is Role.PERSON:
        return (
            Message("replaced by a pseudonym for each person")
            if release.schema.pseudonyms
            else Message("removed; people are counted by it")
        )
    if column.role not in _PUBLISHED:
        return Message("removed")
    grid = release.schema.grids.get(column.name)
    if column.role is not Role.QUASI_IDENTIFIER or column.kind is None:
        done: str = Message("published as it is")
    elif column.name in _exact(release):
        done = Message("published as it is: every group agrees")
    elif column.kind.algebra == "interval":
        done = Message("generalised to intervals")
        if grid:
            done = Message(
                "generalised to intervals that end on lines: {grid}", grid=Message(str(grid))
            )
    elif column.kind.algebra == "set":
        done = Message("generalised to sets of values")
    elif column.hierarchy is not None and column.hierarchy.tree_height > 1:
        done = Message("generalised along its hierarchy")
    else:
        done = Message("kept or not published")
    ends = (
        (Message("{end} and more are one value", end=str(column.top)), column.top),
        (Message("{end} and less are one value", end=str(column.bottom)), column.bottom),
    )
    limits = [words for words, end in ends if end is not None]
    limits += [
        Message("{option}: {value}", option=row.name.replace("_", " "), value=str(value))
        for row in COLUMN_ROWS.values()
        if row.certificate and row.name not in _SHOWN_ALREADY
        for value in (getattr(column, row.name, None),)
        if value not in (None, row.default)
    ]
    return joined("; ", [done, *limits]) if limits else done


def _exact(release: ReleaseData) -> set[str]:
    """Return the quasi-identifiers of which no cell was changed."""
    return {each.name for each in release.facts.columns if each.kept == 1}


# -- what a release does not keep ------------------------------------------------------------------


def unmet(name: str, release: ReleaseData) -> Iterator[str]:
    """Yield a sentence for everything that a regime asks and the release does not keep."""
    regime = REGIMES[name]
    # of groups of people no more is told than that they are k
    least = release.k if release.counts_people else release.verification.smallest_group
    if release.verification.attacker is not None:
        yield Message(
            "{regime} stands for groups that are alike in all quasi-identifiers, and the promise "
            "is against {who} alone.",
            regime=regime.title,
            who=release.verification.attacker,
        )
    if regime.risk is not None and 1 / least > regime.risk:
        yield Message(
            "The smallest group has {least}: a highest risk of {risk:.4f}, above the {limit:g} of "
            "{regime}; groups of {asked} keep it.",
            least=least,
            risk=1 / least,
            limit=regime.risk,
            regime=regime.title,
            asked=regime.k,
        )
    elif regime.risk is None and regime.k is not None and least < regime.k:
        yield Message(
            "{regime} stands for groups of at least {asked}, and the smallest has {least}.",
            regime=regime.title,
            asked=regime.k,
            least=least,
        )
    if name == "hipaa-safe-harbor":
        for column in release.schema.columns:
            if column.role in _PUBLISHED:
                yield from _breaks_safe_harbor(column, release)
        if release.schema.pseudonyms:
            yield Message(
                "Safe harbor removes every unique number of a person; the pseudonyms that are "
                "published have to be made without anything about the person, and nobody may be "
                "told how."
            )


def _breaks_safe_harbor(column: Column, release: ReleaseData) -> Iterator[str]:
    topics, words = topics_of(column.name), words_of(column.name)
    if any(pattern.search(words) for _, pattern in _DIRECT):
        yield Message(
            "Safe harbor: column {name!r} is called like an identifier and is published; give it "
            "the role identifier.",
            name=column.name,
        )
    if _is_time(column, release) and not _in_years(column, release):
        yield Message(
            "Safe harbor: of dates only the year may be published, and column {name!r} says more; "
            "add --grid {name}=year.",
            name=column.name,
        )
    elif "age" in topics and _is_old(column, release):
        yield Message(
            "Safe harbor: ages above 89 may only be published as one group of 90 and more, and "
            "column {name!r} tells them apart; add --top {name}=90.",
            name=column.name,
        )
    if "postcode" in topics and any(re.search(r"\d{4}", each) for each in _labels(column, release)):
        yield Message(
            "Safe harbor: of a ZIP code only the first three digits may be published, and column "
            "{name!r} shows more.",
            name=column.name,
        )
    elif "place" in topics and not _WIDE_PLACES.search(words):
        yield Message(
            "Safe harbor: no place smaller than a state may be published but the first three "
            "digits of a ZIP code, and column {name!r} may name one.",
            name=column.name,
        )


def _is_time(column: Column, release: ReleaseData) -> bool:
    if column.kind is not None:
        return column.kind.is_time
    return bool(_published(column.name, release)[0].dtype.is_temporal())


def _in_years(column: Column, release: ReleaseData) -> bool:
    grid = release.schema.grids.get(column.name)
    return grid is not None and grid.unit in _COARSE


def _is_old(column: Column, release: ReleaseData) -> bool:
    """Return whether an age above 89 can be told from others above it."""
    cells = _published(column.name, release)
    if column.role is Role.QUASI_IDENTIFIER and release.style is not None:
        from shoal.release_reader.classes import open_cells

        cells_read = open_cells(column.name, cells, release.schema, release.style)
        if cells_read.line == "label":
            return False
        from numpy import isinf

        last = cells_read.high - (cells_read.open_high & cells_read.whole)
        # what is open upwards ("90+") says no more than where it begins
        return bool(((last > OLDEST) & (~isinf(last) | (cells_read.low > OLDEST + 1))).any())
    return bool(cells[0].dtype.is_numeric() and (cells[0] > OLDEST).any())


def _labels(column: Column, release: ReleaseData) -> set[str]:
    return {str(cell) for each in _published(column.name, release) for cell in each.unique()}


def _published(name: str, release: ReleaseData) -> list[Any]:
    from shoal.release_reader.columns import source_names
    from shoal.table.frames import to_polars

    frame = to_polars(release.frame)
    return [frame.get_column(each) for each in source_names(name, frame.columns)]


# -- answers ---------------------------------------------------------------------------------------


def _nobody(evidence: Evidence) -> None:
    """Leave a question to the owner of the release."""
    del evidence


def _names(names: list[str]) -> str:
    return named_of(names, MOST_NAMES) if names else Message("none")


def _removed(evidence: Evidence) -> str:
    roles = (Role.IDENTIFIER, Role.DROP, Role.PERSON)
    return Message("Removed: {names}.", names=_names(evidence.of_role(*roles)))


def _generalised(evidence: Evidence) -> str:
    return Message(
        "Taken for known to others, and generalised: {names}. Published as they are: {others}.",
        names=_names(evidence.of_role(Role.QUASI_IDENTIFIER)),
        others=_names(evidence.of_role(Role.SENSITIVE, Role.INSENSITIVE)),
    )


def _attackers(evidence: Evidence) -> str:
    return Message(
        "Somebody who knows that a person is in the table finds the row with a chance of at most "
        "{highest:.2%}; somebody who links every row is right in {mean:.2%} of them.",
        highest=evidence.now.prosecutor_highest,
        mean=evidence.now.marketer,
    )


def _threshold(evidence: Evidence) -> str:
    return Message(
        "Groups of at least {k}: a highest risk of 1/{k} = {risk:.4f}.",
        k=evidence.release.k,
        risk=1 / evidence.release.k,
    )


def _before_and_after(evidence: Evidence) -> str:
    return Message(
        "Highest risk {was:.0%} before and {now:.2%} after; average {was_mean:.0%} before and "
        "{now_mean:.2%} after. Numbers about the original are rounded.",
        was=evidence.was.prosecutor_highest,
        now=evidence.now.prosecutor_highest,
        was_mean=evidence.was.prosecutor_mean,
        now_mean=evidence.now.prosecutor_mean,
    )


def _population(evidence: Evidence) -> str:
    if evidence.fraction is None:
        return Message(
            "The people in the table alone, which errs on the careful side; nobody has said which "
            "share of a population they are."
        )
    return Message("{share:.2%} of a population are in the table.", share=evidence.fraction)


def _per_column(evidence: Evidence) -> str:
    del evidence
    return Message("In the table of columns above, one by one.")


def _useful(evidence: Evidence) -> str:
    release = evidence.release
    return Message(
        "Generalised cells lose {loss:.1%} (NCP: 0 % is exact, 100 % tells nothing); {left:,} of "
        "{rows:,} rows are left out.",
        loss=release.public_scores["ncp"],
        left=release.n_suppressed,
        rows=release.n_rows,
    )


def _inferred(evidence: Evidence) -> str:
    points = evidence.release.judgement.open
    if not points:
        return Message("Nothing was found open beside the promises.")
    return joined(" ", [each.sentence for each in points])


def _method(evidence: Evidence) -> str:
    return evidence.release.verification.how()


def _purpose(evidence: Evidence) -> str | None:
    return evidence.about.purpose


def _owner(evidence: Evidence) -> str | None:
    return evidence.about.owner


def _smallest(evidence: Evidence) -> str:
    return Message(
        "No combination of the quasi-identifiers is shown for fewer than {k} rows.",
        k=evidence.release.k,
    )


def _attacked(begin: str, evidence: Evidence) -> str | None:
    if evidence.audit is None:
        return None
    found = [each.sentence for each in evidence.audit.of("regulators") if begin in each.name]
    return joined(" ", found) if found else None


def _called(pattern: re.Pattern[str], evidence: Evidence) -> str:
    """Return what became of the columns that are called like an identifier."""
    found = [
        Message("{name}: {done}", name=each.name, done=technique(each, evidence.release))
        for each in evidence.release.schema.columns
        if pattern.search(words_of(each.name))
    ]
    if not found:
        return Message("No column is called so.")
    return Message("{columns}.", columns=joined("; ", found))


def _by_topic(topics: frozenset[str], evidence: Evidence) -> str:
    found = [
        Message("{name}: {done}", name=each.name, done=technique(each, evidence.release))
        for each in evidence.release.schema.columns
        if topics & set(topics_of(each.name))
        or ("date" in topics and each.kind is not None and each.kind.is_time)
    ]
    if not found:
        return Message("No column is called so.")
    return Message("{columns}.", columns=joined("; ", found))


def _words(text: str) -> re.Pattern[str]:
    return re.compile(rf"(?:^|_)(?:{text})(?:_|$)")


_WIDE_PLACES = _words("state|states|country|countries|nation|nationality|continent|native_country")
_DIRECT: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        Message("(A) Names"),
        re.compile(
            r"^(?:(?:patient|person|first|last|full|family|given|maiden|middle)_?)?names?$"
            r"|surname|forename|vorname|nachname"
        ),
    ),
    (
        Message("(D) Telephone numbers"),
        _words("phones?|telephones?|tel|mobile|cell_?phone|telefon"),
    ),
    (Message("(E) Fax numbers"), _words("fax")),
    (Message("(F) Electronic mail addresses"), _words("mail|email|e_mail")),
    (Message("(G) Social security numbers"), _words("ssn|social_security(?:_number)?")),
    (Message("(H) Medical record numbers"), _words("mrn|medical_record(?:_number)?|patient_id")),
    (
        Message("(I) Health plan beneficiary numbers"),
        _words("beneficiary|(?:insurance|health_plan)_(?:id|number|no)"),
    ),
    (Message("(J) Account numbers"), _words("iban|account(?:_(?:id|number|no))?|kontonummer")),
    (
        Message("(K) Certificate and license numbers"),
        _words("(?:licen[sc]e|certificate)(?:_(?:id|number|no))?"),
    ),
    (
        Message("(L) Vehicle identifiers and license plates"),
        _words("vin|(?:licen[sc]e_)?plate|vehicle_(?:id|number|no)|kennzeichen"),
    ),
    (
        Message("(M) Device identifiers and serial numbers"),
        _words("device_(?:id|number|no)|serial(?:_(?:number|no))?|imei"),
    ),
    (Message("(N) Web addresses"), _words("url|website|homepage")),
    (Message("(O) IP addresses"), _words("ip|ip_address")),
    (
        Message("(P) Biometric identifiers"),
        _words("fingerprint|voice_?print|iris_scan|retina|biometric\\w*"),
    ),
    (Message("(Q) Full-face photographs"), _words("photo|photos|photograph|portrait")),
    (
        Message("(R) Any other unique number, characteristic or code"),
        _words("id|uuid|guid|passport|record_(?:id|no|number)"),
    ),
)
_SAFE_HARBOR: tuple[tuple[str, Answer], ...] = (
    (_DIRECT[0][0], partial(_called, _DIRECT[0][1])),
    (
        Message("(B) Places smaller than a state, ZIP codes beyond three digits"),
        partial(_by_topic, frozenset({"place", "postcode", "address"})),
    ),
    (
        Message("(B) Do more than 20,000 people live in each area of three digits (else 000)?"),
        _nobody,
    ),
    (
        Message("(C) Dates beyond the year, and ages above 89"),
        partial(_by_topic, frozenset({"birth", "age", "date"})),
    ),
    (
        Message("(C) Does a year, such as that of a birth, tell that somebody is older than 89?"),
        _nobody,
    ),
    *((words, partial(_called, pattern)) for words, pattern in _DIRECT[1:]),
    (
        Message("Does anybody of you know that what is left could identify a person?"),
        _nobody,
    ),
)
_RISK_REPORT: tuple[tuple[str, Answer], ...] = (
    (Message("What is the release for?"), _purpose),
    (Message("Which variables identify a person by themselves?"), _removed),
    (Message("Which could identify a person together?"), _generalised),
    (Message("Which threshold was chosen?"), _threshold),
    (Message("What is the risk before and after?"), _before_and_after),
    (Message("How was each variable changed?"), _per_column),
    (Message("How was that checked?"), _method),
    (Message("How useful are the data still?"), _useful),
    (Message("What could still be inferred?"), _inferred),
)
_QUESTIONS: Mapping[str, tuple[tuple[str, Answer], ...]] = {
    "ema": (
        *_RISK_REPORT,
        (Message("Who could try to find people, and how far would they get?"), _attackers),
        (Message("Which attacks are plausible where it is published, and why no others?"), _nobody),
        (Message("Is the disease rare, or the trial small?"), _nobody),
        (Message("What do the texts of the report say about single patients?"), _nobody),
    ),
    "health-canada": (
        *_RISK_REPORT,
        (Message("Which people is the risk measured on?"), _population),
        (Message("Which similar trials or groups were counted in, and why?"), _nobody),
        (Message("Is the disease rare, or the trial small?"), _nobody),
        (Message("What do the texts of the report say about single patients?"), _nobody),
    ),
    "hipaa-expert": (
        (Message("Who determined the risk, with which knowledge of such methods?"), _nobody),
        (Message("Who will receive the data, and what else can they get hold of?"), _nobody),
        *_RISK_REPORT,
        (Message("Is that risk very small for this recipient, and why?"), _nobody),
        (Message("Until when does the determination hold?"), _nobody),
    ),
    "hipaa-safe-harbor": _SAFE_HARBOR,
    "cms": (
        (Message("Is any number from 1 to 10 shown?"), _smallest),
        (Message("Who answers for the data?"), _owner),
        (Message("What is the release for?"), _purpose),
        (
            Message(
                "Could a number from 1 to 10 be worked out from totals, shares or other tables?"
            ),
            _nobody,
        ),
        (Message("Does the data use agreement allow this release?"), _nobody),
    ),
    "nhs": (
        (Message("Is any number from 1 to 7 shown?"), _smallest),
        (Message("Who answers for the data?"), _owner),
        (Message("What is the release for?"), _purpose),
        (Message("Are counts made from it rounded to 5, below the national level?"), _nobody),
        (Message("Which other tables about these people are out?"), _nobody),
    ),
    "eu": (
        (
            Message("Singling out: can the records of one person be isolated?"),
            partial(_attacked, "singling out"),
        ),
        (
            Message("Linkability: can two records about one person be linked?"),
            partial(_attacked, "linkability"),
        ),
        (
            Message("Inference: can a value of a person be worked out?"),
            partial(_attacked, "inference"),
        ),
        (Message("What else was found open?"), _inferred),
        (Message("What is the release for?"), _purpose),
        (
            Message("Which means is anybody reasonably likely to use (GDPR, recital 26)?"),
            _nobody,
        ),
        (Message("What became of the original data, and who can reach them?"), _nobody),
    ),
}
