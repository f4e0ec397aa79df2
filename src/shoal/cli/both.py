"""Two tables that a command compares, and what is said about them: the original and its release."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    from shoal.cli.flags import Said
    from shoal.settings.files import Input
    from shoal.settings.job import Job
    from shoal.study.described import Described

__all__ = ["Both", "read_both"]


@dataclass(frozen=True, eq=False)
class Both:
    """The tables, and how the release was made."""

    job: Job
    reading: Said
    before: pl.DataFrame
    after: pl.DataFrame
    described: Described

    def like_original(self, path: str | None, **but: Any) -> pl.DataFrame | None:
        """Read a further table as the original is read, but for these options."""
        if path is None:
            return None
        return _read(replace(self.job.input, path=path, more=(), **but), self.job)

    def like_release(self, path: str | None) -> pl.DataFrame | None:
        """Read a further table as the release is read."""
        from shoal.cli.job import release_of

        return None if path is None else _read(release_of(self.job, path, self.reading), self.job)


def read_both(
    job_file: str | None, asked: Said, original: str, published: str, reading: Said
) -> Both:
    """Read the original and its release, by the job and the flags of a command."""
    from shoal.cli.job import job_of, release_of
    from shoal.study.described import described_by

    job = job_of(job_file, asked, source=original, reading=reading)
    before = _read(job.input, job)
    after = _read(release_of(job, published, reading), job)
    return Both(job, reading, before, after, described_by(job))


def _read(source: Input, job: Job) -> pl.DataFrame:
    from shoal.settings.inputs import numeric_columns, read_input

    return read_input(source, numeric=numeric_columns(job.schema_options()["kinds"]))
