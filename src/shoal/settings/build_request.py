"""Makes the one request of a run: options checked, and every file that they name opened once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from shoal.errors import OptionError, did_you_mean
from shoal.hierarchy import load_hierarchy
from shoal.options import REQUIRED
from shoal.settings.request import COLUMN_DETAILS, OPTIONS, Request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shoal.privacy import PrivacyModel
    from shoal.settings.files import Input


def build_request(
    options: Mapping[str, Any], *, reading: Input | None = None, saving: str | None = None
) -> Request:
    """Return the request that these options of ``shoal.anonymize`` make.

    Hierarchies, populations and previous releases that are given as files are read here, and
    nowhere else in a run.

    Args:
        options: what was said, by the names of the options.
        reading: how the table of the run is read; populations are read likewise.
        saving: the release file that is about to be written.

    Raises:
        OptionError: an option does not exist, is out of range, or has to be given.
        ShoalError: a file cannot be read.
    """
    for name in options:
        if name not in OPTIONS:
            raise OptionError(
                "There is no option {name!r}.{hint}", name=name, hint=did_you_mean(name, OPTIONS)
            )
    for name, row in OPTIONS.items():
        if row.default is REQUIRED and name not in options:
            raise OptionError("{name} is not given; say it as for shoal.anonymize.", name=name)
    details = {name: options[name] for name in COLUMN_DETAILS if options.get(name) is not None}
    rest = {name: value for name, value in options.items() if name not in COLUMN_DETAILS}
    request = Request(**rest, details=details)
    trees = details.get("hierarchies")
    if not (trees or request.privacy or request.previous):
        return request
    request = replace(
        request,
        details=details | ({"hierarchies": _open_hierarchies(trees)} if trees else {}),
        privacy=open_populations(request.privacy, reading),
    )
    if not request.previous:
        return request
    from shoal.archive.release_file import open_previous

    return replace(request, previous=open_previous(request.previous, saving))


def _open_hierarchies(given: Any) -> Any:
    """Return the hierarchies with those that are files read; what is wrong is said later."""
    if not isinstance(given, Mapping):
        return given
    return {
        name: load_hierarchy(each) if isinstance(each, str | PathLike) else each
        for name, each in given.items()
    }


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
    from shoal.privacy.whole import PopulationModel

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
    from shoal.io.read import read_table
    from shoal.settings.inputs import read_input

    if source is None:
        return read_table(path)
    return read_input(replace(source, path=path, more=(), format=None, rename=None))
