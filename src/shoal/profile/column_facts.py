"""What is known about a column before anything is guessed."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from shoal.io.vocabulary import Topic, hints_of
from shoal.profile import value_shapes as values

if TYPE_CHECKING:
    import polars as pl


NEARLY_ALL = 0.9
"""Share of values of their own from which a column works like a name."""


@dataclass(frozen=True)
class Facts:
    """What the name and the values of a column say; nothing here is a cell that leaves."""

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

    @property
    def n_filled(self) -> int:
        """How many rows have a value."""
        return len(self.filled)

    @property
    def n_values(self) -> int:
        """How many different values there are."""
        return len(self.distinct)

    @cached_property
    def alone(self) -> int:
        """How many rows have a value that no other row has."""
        if self.column.dtype.is_nested():
            return 0
        return int(self.filled.is_unique().sum())

    @cached_property
    def n_runs(self) -> int:
        """How often the value changes from one row to the next."""
        return int(self.filled.rle_id()[-1]) + 1 if self.n_filled else 0

    @property
    def nearly_unique(self) -> bool:
        """Whether (nearly) every row has a value of its own."""
        return self.n_values > max(10, NEARLY_ALL * self.n_filled)

    @cached_property
    def is_text(self) -> bool:
        """Whether the column holds text."""
        import polars as pl

        dtype = self.column.dtype
        return dtype == pl.String or isinstance(dtype, pl.Categorical | pl.Enum)

    @cached_property
    def is_number(self) -> bool:
        """Whether the column holds numbers."""
        return self.column.dtype.is_numeric()

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
    def is_flag(self) -> bool:
        """Whether there are two values at most: yes and no."""
        return self.n_values <= 2

    @cached_property
    def scale(self) -> tuple[str, ...] | None:
        """The steps of a known scale, or bands, from low to high."""
        if not self.is_text:
            return None
        texts = self.texts.to_list()
        return values.scale_order(texts) or values.band_order(texts)

    @cached_property
    def is_icd(self) -> bool:
        """Whether the values are ICD codes, and the name does not speak against it."""
        if not self.is_text or not values.looks_like_icd(self.texts):
            return False
        return self.about("diagnosis") is not None or values.varied_icd(self.texts)

    @property
    def is_small_code(self) -> bool:
        """Whether the values are a few whole numbers, as for answers and categories."""
        return self.column.dtype.is_integer() and self.n_values <= 12

    @property
    def sentence(self) -> str:
        """How many values there are, for comments."""
        missing = len(self.column) - len(self.filled)
        gaps = f", {missing:,} missing" if missing else ""
        noun = "value" if self.n_values == 1 else "values"
        return f"{self.n_values:,} distinct {noun} in {self.n_filled:,} rows{gaps}"

    def about(self, *topics: Topic) -> Topic | None:
        """Return the first of these topics that the name speaks of."""
        return next((topic for topic in topics if topic in self.topics), None)

    def quantile(self, share: float) -> float:
        """Return a quantile of a column of numbers."""
        found = self.filled.quantile(share)
        return float(found) if found is not None else float("nan")


def facts_of(column: pl.Series) -> Facts:
    """Return the facts about one column."""
    if column.dtype.is_float():
        column = column.fill_nan(None)
    return Facts(column, hints_of(column.name))
