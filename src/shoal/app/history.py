"""The history of runs: kept in the state of work, compared, and gone back to."""

from __future__ import annotations

import shutil
import tempfile
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from shoal.app.runs import MOST_RUNS, Tried
from shoal.errors import OptionError, ShoalError
from shoal.settings.job import JOB_OPTIONS
from shoal.settings.job_file import read_job

if TYPE_CHECKING:
    from shoal.app.workspace import Workspace
    from shoal.settings.job import Job

__all__ = [
    "Difference",
    "differences",
    "find_run",
    "go_back",
    "history_of",
    "is_current",
    "mark_signed",
    "record",
]

_KEPT = "history"
_PRIVATE = ("seed", "output", "input")
"""Places of a job that say nothing about the settings."""


class Difference(NamedTuple):
    """A setting that two runs do not share; "" is not said."""

    place: str
    one: str
    other: str


def history_of(work: Workspace) -> list[Tried]:
    """Return the runs, the latest first."""
    return [Tried.from_dict(plain) for plain in reversed(work.kept(_KEPT) or [])]


def find_run(work: Workspace, run_id: str) -> Tried:
    """Return a run by its id.

    Raises:
        OptionError: there is none.
    """
    for tried in history_of(work):
        if tried.id == run_id:
            return tried
    raise OptionError("There is no such run any more.")


def record(work: Workspace, tried: Tried) -> None:
    """Add a run; the oldest one goes, with its files, when there are too many."""
    results = work.subfolder("results")

    def add(kept: list[dict[str, Any]] | None) -> list[dict[str, Any]]:
        runs = [*(kept or []), tried.to_dict()]
        for old in runs[:-MOST_RUNS]:
            shutil.rmtree(results / old["id"], ignore_errors=True)
        return runs[-MOST_RUNS:]

    work.keep_with(_KEPT, add)


def mark_signed(work: Workspace, run_id: str, number: str) -> None:
    """Remember with which public key a run was signed."""
    work.keep_with(
        _KEPT,
        lambda kept: [
            {**plain, "signed": number} if plain["id"] == run_id else plain for plain in kept or []
        ],
    )


def go_back(work: Workspace, tried: Tried) -> Job:
    """Return the job of a run with the table that is open now; files are written anew.

    Raises:
        JobError: a hierarchy file that it names is gone.
    """
    with tempfile.TemporaryDirectory(dir=work.folder) as folder:
        path = Path(folder) / "job.toml"
        path.write_text(tried.job, encoding="utf-8")
        job = read_job(path)
    source = replace(work.job.input, rename=job.input.rename)  # its columns are called so
    return job.replaced(input=source, output=work.job.output)


def is_current(work: Workspace, tried: Tried) -> bool:
    """Tell whether a run is of the settings as they are now."""
    try:
        job = go_back(work, tried)
    except ShoalError:  # a file that it names is gone
        return False
    now = work.job
    return job.replaced(seed=now.seed) == now and now.seed in (None, job.seed)


def differences(one: Tried, other: Tried) -> list[Difference]:
    """Return the settings that two runs do not share, by their places in a job file."""
    first, second = (_flat(tomllib.loads(each.job)) for each in (one, other))
    return [
        Difference(place, first.get(place, ""), second.get(place, ""))
        for place in dict.fromkeys([*first, *second])
        if first.get(place, "") != second.get(place, "")
    ]


def _is_usual(name: str, value: Any) -> bool:
    """Tell whether an option says what holds anyway."""
    return name in JOB_OPTIONS and value == JOB_OPTIONS[name].default


def _flat(table: Any, place: str = "") -> dict[str, str]:
    if not place:
        table = {
            name: value
            for name, value in table.items()
            if name not in _PRIVATE and not _is_usual(name, value)
        }
    if place.endswith(".hierarchy"):
        return {place: str(table) if isinstance(table, dict) else Path(str(table)).name}
    if isinstance(table, dict):
        items = list(table.items())
    elif isinstance(table, list) and table and isinstance(table[0], dict):
        items = [(str(number), each) for number, each in enumerate(table, start=1)]
    else:
        return {place: str(table)}
    found: dict[str, str] = {}
    for name, value in items:
        found |= _flat(value, f"{place}.{name}" if place else name)
    return found
