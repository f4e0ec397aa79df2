"""Promises about whom of a population the published cells cover, judged from those cells.

The second opinion on what `shoal.privacy.population` found from codes: cells are read as anybody
reads them, and nothing of the search is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from shoal.errors import DataError, OptionError, did_you_mean
from shoal.privacy.delta_presence import DeltaPresence
from shoal.privacy.k_map import KMap
from shoal.privacy.population_risk import PopulationRisk
from shoal.privacy.whole import numbers_of_people
from shoal.publish.predicates import judge_sizes
from shoal.publish.verify import POPULATION, WholePromise
from shoal.release_reader.classes import open_classes, values_of
from shoal.table.infer import schema_of_used

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from numpy.typing import NDArray

    from shoal.privacy import PrivacyModel
    from shoal.publish.recode import Style
    from shoal.table.schema import Schema


SLACK = 1e-9
"""What a comparison of presence with a bound allows."""
_MEANS = ("mean", "median")


def promises_about_all(
    models: Sequence[PrivacyModel], schema: Schema | None, style: Style
) -> tuple[WholePromise, ...]:
    """Return what models promise about a release as a whole.

    Args:
        models: the promises; those about sensitive values are left out.
        schema: how its columns were generalised; found from the population unless given.
        style: how generalised cells are written.
    """
    found = []
    for model in models:
        if isinstance(model, PopulationRisk):
            judge, name, by = judge_sizes(model.to_dict()), f"{model.kind} risk", "verification"
        elif isinstance(model, KMap | DeltaPresence):
            judge, name, by = _Cells(model, schema, style).judge, model.name, POPULATION
        else:
            continue
        found.append(WholePromise(name, model.promised, model.describe(), judge, by))
    return tuple(found)


def schema_of_population(
    models: Sequence[PrivacyModel],
    quasi_identifiers: Any,
    *,
    default_grid: bool = True,
    **details: Any,
) -> Schema | None:
    """Return what the columns are, from the population that a model has; None if none has one.

    ``details`` are hierarchies, kinds, orders and grids, as for `shoal.anonymize`. Columns of
    which no grid is said are read as those that have one by default, unless it is known that they
    have none (``default_grid``): of two readings the one that covers fewer people.
    """
    for model in models:
        if isinstance(model, KMap | DeltaPresence):
            frame = nw.from_native(model.people(), eager_only=True)
            names = [quasi_identifiers] if isinstance(quasi_identifiers, str) else quasi_identifiers
            known: dict[str, Any] = {
                option: {name: each for name, each in given.items() if name in names}
                for option, given in details.items()
                if isinstance(given, Mapping)
            }
            return schema_of_used(
                frame, quasi_identifiers=list(names), default_grid=default_grid, **known
            )
    return None


class _Cells:
    """Judges one promise from published cells and a population."""

    def __init__(self, model: KMap | DeltaPresence, schema: Schema | None, style: Style) -> None:
        self.model, self.schema, self.style = model, schema, style

    def judge(
        self, table: pl.DataFrame, groups: NDArray[np.int64], in_group: NDArray[np.int64]
    ) -> tuple[float, bool, NDArray[np.bool_]]:
        """Return the number reached, whether that is enough, and the rows that break it."""
        schema = self.schema
        assert schema is not None
        if self.style.numeric in _MEANS and schema.has_means:
            raise DataError(
                "Numbers published as {numeric} do not tell whom they cover, so that {name} "
                "cannot be judged; publish intervals or bounds.",
                numeric=self.style.numeric,
                name=self.model.name,
            )
        classes = open_classes(table, schema, self.style)
        distinct = different_people(self.model, schema.quasi_identifiers)
        people = values_of(distinct, classes, known=False)
        many = distinct.to_series(-1).to_numpy().astype(np.float64)
        n_classes = len(classes.sizes)
        covered = np.array([many[classes.fitted(people, c)].sum() for c in range(n_classes)])
        if isinstance(self.model, KMap):
            bad = covered < self.model.k
            return float(covered.min()), not bad.any(), bad[classes.of_row]
        sizes = np.zeros(n_classes)
        sizes[classes.of_row] = in_group[groups]
        return self._presence(people, classes, covered, sizes)

    def _presence(
        self, people: Any, classes: Any, covered: NDArray[np.float64], sizes: NDArray[np.float64]
    ) -> tuple[float, bool, NDArray[np.bool_]]:
        assert isinstance(self.model, DeltaPresence)
        least, most = self.model.delta_min - SLACK, self.model.delta_max + SLACK
        presence = np.zeros(people.n)
        for c in np.flatnonzero(covered > 0).tolist():
            presence[classes.fitted(people, c)] += sizes[c] / covered[c]
        if (covered == 0).any():  # people whom the population does not have
            return float("inf"), False, (covered == 0)[classes.of_row]
        highest, lowest = float(presence.max(initial=0.0)), float(presence.min(initial=1.0))
        if highest > most:
            worst = np.array(
                [
                    presence[classes.fitted(people, c)].max(initial=0.0) > most
                    for c in range(len(covered))
                ]
            )
            return highest, False, worst[classes.of_row]
        if lowest < least:
            return lowest, False, np.ones(len(classes.of_row), np.bool_)
        return highest, True, np.zeros(len(classes.of_row), np.bool_)


def different_people(model: KMap | DeltaPresence, quasi_identifiers: Sequence[str]) -> pl.DataFrame:
    """Return the different combinations of a population; the last column says how many people.

    Raises:
        OptionError: the population lacks a column.
        DataError: its counts are no counts.
    """
    import polars as pl

    everybody: pl.DataFrame = model.people()
    names = list(quasi_identifiers)
    for name in names:
        if name not in everybody.columns:
            hint = did_you_mean(name, everybody.columns)
            raise OptionError("The population has no column {name!r}.{hint}", name=name, hint=hint)
    number = numbers_of_people(everybody, model.counts)
    title = people_title(names)
    some = everybody.select(names).with_columns(**{title: number}).filter(number > 0)
    return some.group_by(names, maintain_order=True).agg(pl.col(title).sum())


def people_title(names: Sequence[str]) -> str:
    """Return the title of numbers of people, which none of these columns has."""
    return "".join(names) + " of people"
