"""Privacy models and grids as the data that verification takes: it shall know no model's code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.privacy import (
    AlphaK,
    BetaLikeness,
    DeltaDisclosure,
    LDiversity,
    TCloseness,
    judge,
)
from shoal.publish.lines import GridPromise
from shoal.publish.verify import Promise
from shoal.table.encode import Sensitive

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from shoal.privacy import PrivacyModel
    from shoal.publish.verify import OwnRule
    from shoal.recode import Style
    from shoal.table.grid import Grid

__all__ = ["grids_of", "promises_of"]

_OURS = (LDiversity, TCloseness, AlphaK, BetaLikeness, DeltaDisclosure)
"""Models for which verification has predicates of its own."""


def grids_of(grids: Mapping[str, Grid | None], style: Style) -> tuple[GridPromise, ...]:
    """Return what grids promise about how their columns are written.

    A mean or a median is no end of an interval, so nothing is promised about it.
    """
    formats = (style.interval_format, style.wide_interval_format)
    return tuple(
        GridPromise(name, str(grid), formats, style.suppressed)
        for name, grid in grids.items()
        if grid and (grid.unit or style.numeric not in ("mean", "median"))
    )


def promises_of(models: Sequence[PrivacyModel]) -> tuple[Promise, ...]:
    """Return what models promise; the rule of a plug-in's model goes along, no other does."""
    return tuple(
        Promise(
            table=model.to_dict(),
            promised=model.promised,
            at_least=model.at_least,
            describe=model.describe,
            own_rule=None if type(model) in _OURS else _rule_of(model),
        )
        for model in models
    )


def _rule_of(model: PrivacyModel) -> OwnRule:
    def rule(
        *,
        groups: NDArray[np.int64],
        n_groups: int,
        codes: NDArray[np.int64],
        n_codes: int,
        name: str,
        ordered: bool,
        people: NDArray[np.int64] | None,
    ) -> tuple[NDArray[np.bool_], float]:
        counts: NDArray[Any] = np.bincount(codes, minlength=n_codes)
        model.check_column(Sensitive(name, codes.astype(np.int32), n_codes, ordered, counts))
        verdict = judge(model, groups, n_groups, codes, n_codes, people=people)
        return verdict.holds, verdict.measured

    return rule
