"""From measured advice to a job: what a button beside a sentence of `explain` does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shoal.errors import OptionError
from shoal.settings.job import JOB_OPTIONS, Job
from shoal.table.grid import parse_grid
from shoal.table.schema import COLUMN_ROWS, JobColumn, Kind, Role

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def _(text: str) -> str:
    """Mark a text for the message files."""
    return text


NO_CHANGE = _("There is nothing to apply.")
"""Why advice has no button: it recommends no change. What does is done by settings."""


def apply_settings(
    job: Job, settings: Mapping[str, Any], list_values: Callable[[str, str], Path]
) -> Job:
    """Return the job with the settings of one piece of advice.

    Args:
        job: as it is.
        settings: as `shoal.study.findings.Advice` has them.
        list_values: given a column and how its tree is built, writes a hierarchy file and returns
            where it is; for trees that no rule describes.

    Raises:
        OptionError: an option or column is unknown.
    """
    changes: dict[str, Any] = {}
    columns = dict(job.columns)
    for name, value in settings.items():
        if name == "columns":
            for column, said in value.items():
                if column not in columns:
                    raise OptionError(
                        "The job says nothing about a column {column!r}.", column=column
                    )
                columns[column] = _advised(columns[column], column, said, list_values)
        elif name == "privacy":
            changes["privacy"] = (*job.privacy, *value)
        elif name in JOB_OPTIONS:
            changes[name] = value
        else:
            raise OptionError("There is no option {name!r} that advice could set.", name=name)
    return job.replaced(columns=columns, **changes)


def _advised(
    before: JobColumn, name: str, said: Mapping[str, Any], list_values: Callable[[str, str], Path]
) -> JobColumn:
    changes = dict(said)
    tree = changes.get("hierarchy")
    if isinstance(tree, Mapping) and "build" in tree:
        changes["hierarchy"] = list_values(name, str(tree["build"]))
    return changed_column(before, **changes)


def changed_column(before: JobColumn, **changes: Any) -> JobColumn:
    """Return a column with changes, without what would contradict them.

    A column that is not generalised has no details; one with a hierarchy is categorical and has no
    order and nothing that is for lines, as a scale, and no grid but a level of the hierarchy; these
    are for columns without one; only an ordinal column has an order.
    """
    after = replace(before, **changes)
    if "kind" in changes and after.kind not in (None, Kind.ORDINAL):
        after = replace(after, order=None)
    no_words = before.order is not None and after.order is None
    no_tree = after.hierarchy is None and _is_level(after.grid)
    if "grid" not in changes and (no_words or no_tree):
        after = replace(after, grid=None)  # steps of words, or a level of a tree that is gone
    if after.role is not Role.QUASI_IDENTIFIER:
        keep_tree = after.role is Role.SENSITIVE and "role" not in changes
        rows = COLUMN_ROWS.values()
        gone = {row.name: row.default for row in rows if row.name != "hierarchy" or not keep_tree}
        return replace(after, **gone)
    if changes.get("hierarchy") is not None:
        grid = changes["grid"] if _is_level(changes.get("grid")) else None
        return replace(after, **_for_lines(), kind=Kind.CATEGORICAL, order=None, grid=grid)
    if after.hierarchy is not None and _is_level(changes.get("grid")):
        return after
    ways = ("grid", *_for_lines(), "order", "kind")
    said = [name for name in ways if changes.get(name) is not None]
    if said and after.kind is not Kind.CATEGORICAL:
        after = replace(after, hierarchy=None)
    elif said and said != ["kind"]:
        after = replace(after, hierarchy=None, kind=None)
    return after


def _for_lines() -> dict[str, Any]:
    """Return the options that columns with a hierarchy do not have, with what they then hold."""
    return {
        row.name: row.default
        for row in COLUMN_ROWS.values()
        if row.fits is not None and not row.fits(Kind.CATEGORICAL)
    }


def _is_level(grid: object) -> bool:
    return grid is not None and parse_grid(grid, column="of a job").level > 0
