"""`utility`: what can still be learnt from a release."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from shoal.errors import DataError, OptionError, did_you_mean
from shoal.opened.classes import Classes, open_classes, values_of
from shoal.study.described import Described, schema_and_style
from shoal.study.use.counts import ask_counts, associations, one_way, two_way
from shoal.study.use.models import train
from shoal.study.use.views import exact_column, view_of
from shoal.table.frames import to_polars

if TYPE_CHECKING:
    import polars as pl

    from shoal.publish.recode import Style
    from shoal.study.use.views import View
    from shoal.table.schema import Schema

__all__ = ["Utility", "count_error", "utility"]


@dataclass(frozen=True, kw_only=True)
class Utility:
    """What analysts get from a release, beside the original; shares and errors, no cell.

    Attributes:
        queries: relative errors of random counts, by number of columns and selectivity.
        one_way: how far the distribution of each column is off, from 0 to 1.
        two_way: the same for pairs of columns: ``mean`` and ``worst``.
        associations: how far correlations are off: ``mean`` and ``worst``.
        models: accuracy, balanced accuracy and AUC of each model, by what it was trained on.
        notes: what should be known about these numbers.
    """

    queries: tuple[dict[str, Any], ...]
    one_way: dict[str, float]
    two_way: dict[str, float]
    associations: dict[str, float]
    models: tuple[dict[str, Any], ...]
    notes: tuple[str, ...]

    @property
    def query_error(self) -> float:
        """The median relative error over all kinds of questions: one number for all of them."""
        return float(np.median([each["median_error"] for each in self.queries]))

    def best_model(self, trained_on: str) -> dict[str, Any] | None:
        """Return the model with the highest balanced accuracy of those trained on this."""
        found = [each for each in self.models if each["trained_on"] == trained_on]
        return max(found, key=lambda each: float(each["balanced_accuracy"]), default=None)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The most important numbers in words."""
        off = f"{self.query_error:.1%}"
        said = [f"A count of people is off by {off} (median, questions of 1 to 4 columns)."]
        if self.one_way:
            worst = max(self.one_way, key=lambda name: self.one_way[name])
            mean = float(np.mean(list(self.one_way.values())))
            said.append(
                f"Distributions of single columns are off by {mean:.1%} on average; most "
                f"in {worst!r}, by {self.one_way[worst]:.1%}."
            )
        if self.two_way:
            said.append(
                f"Joint distributions of two columns are off by {self.two_way['mean']:.1%}."
            )
        first = self.best_model("original")
        after = [self.best_model(each) for each in ("middle", "draw", "set", "weights")]
        known = [each for each in after if each is not None]
        if first is not None and known:
            best = max(known, key=lambda each: float(each["balanced_accuracy"]))
            said.append(
                f"The best model trained on the release has a balanced accuracy of "
                f"{best['balanced_accuracy']:.1%} ({best['model']}, cells read as "
                f"{best['trained_on']}); trained on the original {first['balanced_accuracy']:.1%}."
            )
        return tuple(said)

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return {**asdict(self), "query_error": self.query_error}


def utility(
    original: Any,
    published: Any,
    *,
    target: str | None = None,
    held_out: Any = None,
    seed: int = 0,
    **described: Unpack[Described],
) -> Utility:
    """Say what can still be learnt from a release: counts, distributions, models.

    Args:
        original: the table before (pandas, polars or pyarrow).
        published: the release, also of other software.
        target: the column that models predict; needs scikit-learn. No models unless given.
        held_out: rows of people who are in neither table, to test the models on.
        seed: makes questions and models repeatable.
        described: how the release was made (`shoal.study.described.Described`):
            ``quasi_identifiers``, which have to be said, ``sensitive``, ``hierarchies``,
            ``kinds``, ``orders``, ``grid``, ``default_grid``, ``unknown_values`` and ``style``.

    Raises:
        OptionError: an option is wrong, a column does not exist, or scikit-learn is missing.
        DataError: the release cannot have been made from the original.
    """
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise OptionError(f"seed must be a whole number of at least 0, but {seed!r} was given.")
    before, after = to_polars(original), to_polars(published)
    if not before.height or not after.height:
        raise DataError("A table has no rows, so there is nothing to learn from.")
    schema, form = schema_and_style(before, **described)
    test = None if held_out is None else to_polars(held_out)
    views, tested = _views(before, after, test, schema, form, target)
    notes = []
    if before.height > after.height:
        notes.append(f"{before.height - after.height:,} rows of the original are not published.")
    models: list[dict[str, Any]] = []
    if target is not None:
        place = next(n for n, view in enumerate(views) if view.name == target)
        features = [view for view in views if view.name != target]
        outside = None if tested is None else [v for v in tested if v.name != target]
        truth = None if tested is None else tested[place].before
        models = train(features, views[place], outside, truth, np.random.default_rng([seed, 3]))
        if test is None:
            notes.append(
                "No rows were held out: models were tested on a part of the original whose "
                "generalised rows may be in the release."
            )
    return Utility(
        queries=tuple(ask_counts(views, np.random.default_rng([seed, 1]))),
        one_way=one_way(views),
        two_way=two_way(views, np.random.default_rng([seed, 2])),
        associations=associations(views),
        models=tuple(models),
        notes=tuple(notes),
    )


def count_error(before: pl.DataFrame, after: pl.DataFrame, schema: Schema, style: Style) -> float:
    """Return the median relative error of random counts from a release; 0 if nothing was lost."""
    views, _ = _views(before, after, None, schema, style, None)
    found = ask_counts(views, np.random.default_rng([0, 1]))
    return float(np.median([each["median_error"] for each in found]))


def _views(
    before: pl.DataFrame,
    after: pl.DataFrame,
    test: pl.DataFrame | None,
    schema: Schema,
    style: Style,
    target: str | None,
) -> tuple[list[View], list[View] | None]:
    """Return a view of every column that matters, and that of the people who were held out."""
    import polars as pl

    classes = open_classes(after, schema, style)
    names = list(dict.fromkeys([*schema.sensitive, *([] if target is None else [target])]))
    for name in names:
        if name not in before.columns:
            raise OptionError(
                f"The table has no column {name!r}.{did_you_mean(name, before.columns)}"
            )
    kept = [exact_column(name, after) for name in names if name not in schema.quasi_identifiers]
    every = Classes((*classes.columns, *kept), classes.cells, classes.of_row, classes.sizes)
    used = [column.name for column in every.columns]
    table = before.select(used)
    if test is not None:
        missing = next((name for name in used if name not in test.columns), None)
        if missing is not None:
            raise OptionError(f"The rows that were held out have no column {missing!r}.")
        table = pl.concat([table, test.select(used)], how="vertical_relaxed")
    people = values_of(table, every)
    views = [view_of(c, v) for c, v in zip(every.columns, people.values, strict=True)]
    n = before.height
    first = [replace(v, before=v.before[:n], middles=v.middles[:n]) for v in views]
    if test is None:
        return first, None
    return first, [replace(v, before=v.before[n:], middles=v.middles[n:]) for v in views]
