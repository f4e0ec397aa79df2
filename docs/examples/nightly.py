"""A release every night: plain functions, which Airflow, Dagster or anything else may call."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import shoal


def make_release(job: str | Path, day: date, folder: str | Path) -> dict[str, object]:
    """Make the release of a day, and return what a scheduler may know of it: no cell.

    An error of Shoal ends the task; files that exist stay as they were.
    """
    outside = {"DAY": day.isoformat(), "OUT": str(Path(folder).resolve())}
    result = shoal.run_job(shoal.read_job(job, outside=outside))
    release = result.release
    return {
        "rows": release.n_published,
        "judgement": str(release.judgement),
        "sentence": release.judgement.sentence,
        "files": {name: str(path) for name, path in result.files.items()},
    }


def check_release(made: dict[str, object]) -> None:
    """Stop what comes next unless nothing was found open."""
    if made["judgement"] != "green":
        raise ValueError(made["sentence"])
