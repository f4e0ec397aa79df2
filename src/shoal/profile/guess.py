"""From one column to a guess: its role, its kind, its hierarchy, and why."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from shoal.profile import trees, values
from shoal.profile.names import Topic, topics_of, words_of
from shoal.table.schema import Kind, Role

if TYPE_CHECKING:
    import polars as pl

    from shoal.hierarchy import Taxonomy

__all__ = ["Guess", "guess_column"]

_LONG_TAIL = 12
"""A text column with more values than this is worth a hierarchy."""
_MOSTLY_UNIQUE = 0.9
_SURVEY_ITEM = re.compile(r"(?:q|question|item|frage|likert|pregunta)_?[0-9]+[a-z]?(?:_.*)?")

_NAMED_IDENTIFIERS = ("contact", "person", "number of a person", "address")
_SENSITIVE = ("diagnosis", "treatment", "money", "belief", "offence", "result")
_QUASI = (
    "birth", "age", "sex", "postcode", "place", "occupation", "family", "education", "origin",
    "body", "date",
)  # fmt: skip
_SAYS = {
    "contact": "a way to reach a person",
    "person": "the name of a person",
    "number of a person": "a number that belongs to one person",
    "address": "an address",
    "diagnosis": "a diagnosis",
    "treatment": "a treatment or a medical result",
    "money": "money",
    "belief": "belief or orientation",
    "offence": "an offence",
    "result": "a result or an opinion",
    "birth": "when or where somebody was born",
    "age": "age",
    "sex": "sex",
    "postcode": "a postcode",
    "place": "a place",
    "occupation": "work",
    "family": "family",
    "education": "education",
    "origin": "origin or language",
    "body": "what a person looks like",
    "date": "a date",
}


@dataclass(frozen=True, kw_only=True)
class Guess:
    """What a column probably is.

    Attributes:
        name: the column.
        role: what should happen to it.
        kind: how it would be generalised; used only if it is a quasi-identifier.
        order: the values of an ordinal column, from low to high.
        hierarchy: a hierarchy built from its values. It is in use if the kind is categorical;
            for numbers, dates and sensitive codes it is an alternative on offer.
        why: one sentence for the role; never a cell.
        how: one sentence for the kind and the hierarchy; never a cell.
    """

    name: str
    role: Role
    kind: Kind | None = None
    order: tuple[str, ...] | None = None
    hierarchy: Taxonomy | None = None
    why: str = ""
    how: str = ""

    @property
    def uses_hierarchy(self) -> bool:
        """Whether the run needs the hierarchy."""
        return self.role is Role.QUASI_IDENTIFIER and self.kind is Kind.CATEGORICAL


@dataclass(frozen=True)
class Facts:
    """What is known about a column before guessing."""

    column: pl.Series
    topics: tuple[Topic, ...] = field(default=())

    @cached_property
    def filled(self) -> pl.Series:
        """The values that are not missing."""
        return self.column.drop_nulls()

    @cached_property
    def distinct(self) -> pl.Series:
        """The distinct values, sorted."""
        return self.filled.unique().sort()

    @cached_property
    def is_text(self) -> bool:
        """Whether the column holds text."""
        import polars as pl

        return self.column.dtype in (pl.String, pl.Categorical, pl.Enum)

    @cached_property
    def texts(self) -> pl.Series:
        """The distinct values as text; empty if the column holds something else."""
        import polars as pl

        return self.distinct.cast(pl.String) if self.is_text else pl.Series([], dtype=pl.String)

    @cached_property
    def date_form(self) -> str | None:
        """The form of dates that are written as text."""
        return values.date_format(self.texts) if self.is_text else None

    @cached_property
    def is_date(self) -> bool:
        """Whether the values are days or points in time."""
        import polars as pl

        return self.column.dtype in (pl.Date, pl.Datetime) or self.date_form is not None

    @cached_property
    def scale(self) -> tuple[str, ...] | None:
        """The steps of a known scale, or bands, from low to high."""
        if not self.is_text:
            return None
        texts = self.texts.to_list()
        return values.scale_order(texts) or values.band_order(texts)

    @cached_property
    def is_icd(self) -> bool:
        """Whether the values are ICD codes."""
        return self.is_text and values.looks_like_icd(self.texts)

    @property
    def sentence(self) -> str:
        """How many values there are, for comments."""
        missing = len(self.column) - len(self.filled)
        gaps = f", {missing:,} missing" if missing else ""
        n_values = len(self.distinct)
        noun = "value" if n_values == 1 else "values"
        return f"{n_values:,} distinct {noun} in {len(self.filled):,} rows{gaps}"

    def about(self, *topics: Topic) -> Topic | None:
        """Return the first of these topics that the name speaks of."""
        return next((topic for topic in topics if topic in self.topics), None)


def guess_column(column: pl.Series, role: Role | None = None) -> Guess:
    """Return the guess for one column, or for one whose role a person has decided."""
    if column.dtype.is_float():
        column = column.fill_nan(None)
    facts = Facts(column, topics_of(column.name))
    guessed, why = _guess_role(facts)
    if role is not None and role is not guessed:
        guessed, why = role, "You said so"
    why = f"{why} ({facts.sentence})." if len(facts.filled) else f"{why}."
    if guessed not in (Role.QUASI_IDENTIFIER, Role.SENSITIVE) or not len(facts.filled):
        return Guess(name=column.name, role=guessed, why=why)
    kind, order, tree, how = _guess_kind(facts)
    if guessed is Role.SENSITIVE and not facts.is_icd:
        tree = None  # published as it is; only codes are worth offering one
    return Guess(
        name=column.name, role=guessed, kind=kind, order=order, hierarchy=tree, why=why, how=how
    )


def _guess_role(facts: Facts) -> tuple[Role, str]:
    import polars as pl

    dtype, n_values = facts.column.dtype, len(facts.filled)
    if not n_values:
        return Role.DROP, "Holds no value at all"
    if dtype.is_nested() or dtype in (pl.Time, pl.Duration, pl.Binary, pl.Object):
        return Role.DROP, f"Its data type {dtype} cannot be generalised; convert it to keep it"
    for rule in (_as_identifier, _as_text_or_constant, _as_known, _as_unknown):
        found = rule(facts)
        if found is not None:
            return found
    return Role.QUASI_IDENTIFIER, "Not recognised, so treated with caution: others may know it"


def _as_identifier(facts: Facts) -> tuple[Role, str] | None:
    if facts.is_text and not facts.is_date:
        pattern = values.personal_pattern(facts.texts)
        if pattern is not None:
            return Role.IDENTIFIER, f"Its values look like {pattern}"
    if facts.is_date or facts.column.dtype.is_float():
        return None
    n_values, n_filled = len(facts.distinct), len(facts.filled)
    many = n_values > 10 or n_values > 0.5 * n_filled
    topic = facts.about(*_NAMED_IDENTIFIERS)
    # "account_balance" is money, and "email_opt_in" is no e-mail.
    amount = facts.column.dtype.is_numeric() and facts.about("money")
    if topic is not None and many and not amount and facts.about("postcode") is None:
        return Role.IDENTIFIER, f"Its name suggests {_SAYS[topic]}"
    other = facts.about(*_SENSITIVE, *_QUASI)
    if facts.about("name") and other is None and many and facts.is_text:
        return Role.IDENTIFIER, "Its name suggests the name of a person"
    if facts.about("key") and other is None and n_values > max(10, 0.2 * n_filled):
        return Role.IDENTIFIER, "Its name and its many values suggest a number of a person or case"
    return None


def _as_text_or_constant(facts: Facts) -> tuple[Role, str] | None:
    n_values, n_filled = len(facts.distinct), len(facts.filled)
    if facts.about("survey weight"):
        return Role.DROP, "A survey weight has so many values that it works like a fingerprint"
    if n_values == 1 and n_filled == len(facts.column):
        return Role.INSENSITIVE, "The same value in every row tells nobody apart"
    if facts.is_text and n_values > max(10, 0.2 * n_filled):
        if values.is_free_text(facts.texts):
            return Role.DROP, "Free text: it may hold names and stories that no rule finds"
        if facts.about("text"):
            return Role.DROP, "Its name suggests free text, which may hold names"
    return None


def _as_known(facts: Facts) -> tuple[Role, str] | None:
    if facts.is_date:
        return Role.QUASI_IDENTIFIER, "A date that others may know about a person"
    if facts.is_icd:
        return Role.SENSITIVE, "Its values look like ICD codes of diagnoses"
    topic = facts.about(*_SENSITIVE)
    if topic is not None:
        return Role.SENSITIVE, f"Its name suggests {_SAYS[topic]}, which is private"
    topic = facts.about(*_QUASI)
    if topic is not None and not (facts.is_text and topic == "date" and facts.scale is None):
        return Role.QUASI_IDENTIFIER, f"Its name suggests {_SAYS[topic]}, which others may know"
    return None


def _as_unknown(facts: Facts) -> tuple[Role, str] | None:
    n_values, n_filled = len(facts.distinct), len(facts.filled)
    is_integer = facts.column.dtype.is_integer()
    if facts.is_text and n_values > max(10, _MOSTLY_UNIQUE * n_filled):
        return Role.IDENTIFIER, "Almost every row has its own value"
    if is_integer and n_filled > 10:
        if bool((facts.filled.diff().drop_nulls() == 1).all()):
            return Role.IDENTIFIER, "It numbers the rows"
        if n_values == n_filled and n_filled > 50:
            return Role.IDENTIFIER, "Every row has its own number"
    item = _SURVEY_ITEM.fullmatch(words_of(facts.column.name)) is not None
    short = is_integer and n_values <= 11 and facts.distinct[0] >= 0 and facts.distinct[-1] <= 10
    on_scale = facts.is_text and values.scale_order(facts.texts.to_list()) is not None
    if on_scale or (item and short):
        return Role.SENSITIVE, "An answer on a scale: an opinion that others hardly know"
    return None


def _guess_kind(
    facts: Facts,
) -> tuple[Kind, tuple[str, ...] | None, Taxonomy | None, str]:
    import polars as pl

    dtype = facts.column.dtype
    if dtype in (pl.Date, pl.Datetime):
        kind = Kind.DATE if dtype == pl.Date else Kind.DATETIME
        return kind, None, trees.date_tree(facts.distinct), "Published as spans of time."
    if dtype.is_numeric() and facts.about("postcode") is None:
        return Kind.NUMERIC, None, trees.interval_tree(facts.distinct), "Published as intervals."
    if facts.scale is not None:
        return Kind.ORDINAL, facts.scale, None, "An ordered scale, published as ranges of steps."
    if isinstance(dtype, pl.Enum):
        return Kind.ORDINAL, tuple(dtype.categories), None, "Ordered by its data type."
    tree, how = _guess_tree(facts)
    if tree is not None:
        return Kind.CATEGORICAL, None, tree, how
    return (
        Kind.FLAT,
        None,
        None,
        ('Kept or suppressed as a whole; a hierarchy, or kind = "set", would keep more.'),
    )


def _guess_tree(facts: Facts) -> tuple[Taxonomy | None, str]:
    import polars as pl

    tree, how = None, ""
    if facts.column.dtype == pl.Boolean:
        pass
    elif facts.date_form is not None:
        tree = trees.date_text_tree(facts.texts, facts.date_form)
        how = "Dates, published as month, year or decade."
    elif facts.is_icd:
        tree, how = trees.prefix_tree(facts.texts, keep=(3, 1)), "Codes, masked from the right."
    elif facts.about("postcode"):
        tree, how = trees.prefix_tree(facts.distinct), "Codes, masked from the right."
    elif len(facts.distinct) > _LONG_TAIL and values.looks_like_code(facts.texts):
        tree, how = trees.prefix_tree(facts.texts), "Codes, masked from the right."
    elif len(facts.distinct) > _LONG_TAIL:
        tree = trees.frequency_tree(facts.filled)
        how = "Many values, so put together by frequency; a hierarchy by meaning would be better."
    return tree, how
