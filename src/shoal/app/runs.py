"""Runs of the job, and a history of them to go back to.

A run is `run_job` on a job whose files lie in a private folder of its own. What is kept of it in
the state of work are settings and counts; the files last as long as the server.
"""

from __future__ import annotations

import secrets
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from shoal.app.dictionary import dictionary_of
from shoal.app.hand_over import RunFiles
from shoal.settings.job_file import format_job, read_job

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import polars as pl

    from shoal.app.beside import Beside
    from shoal.runtime.progress import Report
    from shoal.settings.job import Job

__all__ = ["MOST_RUNS", "Tried", "look_beside", "run_in", "settled_schema"]

MOST_RUNS = 30
"""Runs of the history; older ones are forgotten, with their files."""


@dataclass(frozen=True, kw_only=True)
class Tried:
    """One run of the history: settings and counts, no cell.

    Attributes:
        id: name of its folder.
        when: when it ended, in UTC.
        job: the job file, without where the table is, with its seed.
        k: what was promised.
        promises: what was promised beyond k, in words.
        loss: share of detail lost.
        by_column: the same, by column.
        n_rows: rows of the table.
        n_groups: groups that a reader can tell apart.
        n_suppressed: rows that are not published.
        smallest: rows of the smallest group, or people of the one that has fewest.
        people: whether people are counted.
        seconds: how long it took.
        warnings: what its owner should know.
        checks: the promises, each with what was measured, in words.
        suffix: format of the release.
        signed: the public key it was signed with, or "".
        state: the judgement, or "" of a run that was made before there were any.
        headline: its sentence.
        open: what is open, in words.
    """

    id: str
    when: str
    job: str
    k: int
    promises: tuple[str, ...]
    loss: float
    by_column: Mapping[str, float]
    n_rows: int
    n_groups: int
    n_suppressed: int
    smallest: int
    seconds: float
    warnings: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    suffix: str = "csv"
    signed: str = ""
    notes: tuple[str, ...] = field(default=())
    people: bool = False
    state: str = ""
    headline: str = ""
    open: tuple[str, ...] = ()

    def files(self, results: Path) -> RunFiles:
        """Return its files in the folder of all results."""
        return RunFiles(results / self.id, self.suffix)

    def read_job(self, results: Path) -> Job:
        """Return the job as it was run, paths and all, while its files are there."""
        return read_job(self.files(results).job)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Tried:
        """Return the run that `to_dict` told."""
        lists = {n: tuple(v) for n, v in plain.items() if isinstance(v, list)}
        return cls(**{**plain, **lists})


def run_in(
    results: Path,
    job: Job,
    progress: Report,
    *,
    suffix: str = "csv",
    frame: pl.DataFrame | None = None,
) -> Tried:
    """Run a job with files of its own.

    Args:
        results: the folder of all results.
        job: what to run; its outputs go to a new folder. Without a seed it gets one.
        progress: told how far it is; what it raises stops the run, and nothing is left.
        suffix: format of the release.
        frame: the table that is run, for the dictionary of its labels; without it there is none.

    Raises:
        ShoalError: as `run_job`.
    """
    import shutil

    import numpy as np

    from shoal.settings.run_job import run_job

    files = RunFiles(results / secrets.token_hex(8), suffix)
    files.folder.mkdir(mode=0o700, parents=True)
    seed = secrets.randbits(62) if job.seed is None else job.seed
    asked = job.replaced(seed=seed, output=files.output(job.output))
    try:
        made = run_job(asked, progress=progress)
        release = made.release
        with files.groups.open("wb") as stream:
            nodes: dict[str, Any] = {f"recoded {n}": each for n, each in release.recoded.items()}
            np.savez(stream, groups=release.groups.astype(np.int32), **nodes)
        labels = "" if frame is None else dictionary_of(asked, release, frame)
        if labels:
            files.labels.write_text(labels, encoding="utf-8", newline="")
        shown = asked.replaced(input=_without_password(asked))
        files.job.write_text(format_job(shown), encoding="utf-8")
        files.job.chmod(0o600)
    except BaseException:
        shutil.rmtree(files.folder, ignore_errors=True)
        raise
    return Tried(
        id=files.folder.name,
        when=datetime.now(UTC).isoformat(timespec="seconds"),
        job=format_job(shown),
        k=release.k,
        promises=tuple(model.label for model in release.privacy),
        loss=float(release.scores["ncp"]),
        by_column={n: float(v) for n, v in release.scores.by_column["ncp"].items()},
        n_rows=release.n_rows,
        n_groups=release.n_groups,
        n_suppressed=release.n_suppressed,
        smallest=release.verification.fewest_people or release.verification.smallest_group,
        people=release.counts_people,
        seconds=round(release.seconds, 2),
        warnings=made.warnings,
        checks=tuple(check.sentence for check in release.verification.checks),
        suffix=suffix,
        notes=made.notes,
        state=str(release.judgement),
        headline=release.judgement.sentence,
        open=tuple(point.sentence for point in release.judgement.open),
    )


def _without_password(job: Job) -> Any:
    from shoal.io.location import is_database, typed_name
    from shoal.settings.files import INPUT_OPTIONS, Input

    said = {name: getattr(job.input, name) for name in INPUT_OPTIONS}
    path = job.input.path
    if path is not None and is_database(path):
        said["path"] = typed_name(path)
    return Input(**said)


def settled_schema(job: Job, frame: pl.DataFrame) -> Any:
    """Return roles and kinds of the columns as a run settles them."""
    import narwhals as nw

    from shoal.table.grid import settle_grids
    from shoal.table.infer import infer_kinds

    request = job.request()
    schema = request.schema(frame.columns)
    schema = infer_kinds(schema, nw.from_native(frame), request.unknown_values)
    return settle_grids(schema, frame, by_default=request.default_grid)


def look_beside(files: RunFiles, job: Job, frame: pl.DataFrame) -> Beside | None:
    """Put the table of a run beside its release; None if the table is no longer the same.

    Args:
        files: of the run.
        job: as it was run.
        frame: the table, as the job reads it.
    """
    import numpy as np

    from shoal.app.beside import Beside

    with np.load(files.groups) as stored:
        groups = stored["groups"]
        recoded = {
            name.removeprefix("recoded "): stored[name]
            for name in stored.files
            if name.startswith("recoded ")
        }
    if len(groups) != frame.height:
        return None
    style = job.request().style
    return Beside.of(frame, settled_schema(job, frame), style, groups, recoded)
