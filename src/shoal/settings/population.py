"""The population tables of promises, read from their files."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from shoal.privacy.whole import PopulationModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shoal.privacy import PrivacyModel
    from shoal.settings.files import Input

__all__ = ["open_populations"]


def open_populations(
    models: Sequence[PrivacyModel], source: Input | None = None, given: Any = None
) -> tuple[PrivacyModel, ...]:
    """Return the models with their populations as tables.

    Args:
        models: what is promised.
        source: how the table of the run is read; populations are read likewise, but their
            columns are called as in the release, as for whoever verifies it.
        given: the population of those that have none of their own.

    Raises:
        DataError: a file cannot be read.
    """
    tables: dict[str, Any] = {}
    found = []
    for model in models:
        if not isinstance(model, PopulationModel):
            found.append(model)
            continue
        people = given if model.population is None else model.population
        if isinstance(people, str | PathLike):
            path = str(people)
            if path not in tables:
                tables[path] = _read(path, source)
            people = tables[path]
        found.append(replace(model, population=people))  # type: ignore[type-var]  # they are dataclasses
    return tuple(found)


def _read(path: str, source: Input | None) -> Any:
    from shoal.io import read_table
    from shoal.settings.inputs import read_input

    if source is None:
        return read_table(path)
    return read_input(replace(source, path=path, more=(), format=None, rename=None))
