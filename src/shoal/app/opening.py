"""Tables on their way in, and work that was put aside.

A table is read before it takes the place of another, so that one that cannot be read costs
nothing. The work on the other is put aside: its settings and what pages remember of it go to a
folder of their own, to be reopened.
"""

from __future__ import annotations

import itertools
import json
import secrets
import shutil
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import JobError, OptionError
from shoal.settings.files import INPUT_OPTIONS, Input
from shoal.settings.job_file import format_job, read_job

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shoal.app.table import OpenedTable
    from shoal.settings.job import Job

__all__ = [
    "STATE_FILES",
    "Aside",
    "Opened",
    "Opening",
    "State",
    "find_aside",
    "find_asides",
    "read_from",
    "with_input",
]

_VERSION = 1
_JOB, _STATE = "job.toml", "state.json"
STATE_FILES = (_JOB, _STATE)
_COUNT = itertools.count(1)


def with_input(job: Job, **changes: Any) -> Job:
    """Return a job that reads its table differently."""
    said = {name: getattr(job.input, name) for name in INPUT_OPTIONS}
    return job.replaced(input=Input(**{**said, **changes}))


@dataclass(frozen=True, kw_only=True)
class Opened:
    """Which table is open.

    Attributes:
        kind: ``file`` (read where it lies), ``copy`` (dropped on the page) or ``database``.
        name: what the page calls it; a URL without user and password.
        path: what is read; a URL without a password.
        id: names the folder of its hierarchies.
    """

    kind: str
    name: str
    path: str
    id: str = field(default_factory=lambda: secrets.token_hex(4), compare=False)

    @property
    def lacks_copy(self) -> bool:
        """Whether it is a copy that the end of a server has removed."""
        return self.kind == "copy" and not Path(self.path).exists()


@dataclass(frozen=True, kw_only=True)
class State:
    """What is known about one table: what was said about it, and what pages remember."""

    source: Opened | None
    job: Job
    kept: Mapping[str, Any] = field(default_factory=dict)

    def folders(self, folder: Path) -> set[Path]:
        """Return the folders that belong to it in the private folder."""
        if self.source is None:
            return set()
        found = {folder / "hierarchies" / self.source.id}
        if self.source.kind == "copy":
            found.add(folder / "data" / Path(self.source.path).parent.name)
        return found | {folder / "results" / run["id"] for run in self.kept.get("history") or ()}

    def write_to(self, folder: Path, **more: Any) -> None:
        """Write it to a folder."""
        from shoal.io.atomic import AtomicGroup

        plain = {
            "version": _VERSION,
            "source": None if self.source is None else asdict(self.source),
            "kept": dict(self.kept),
            **more,
        }
        with AtomicGroup() as group:
            group.add(folder / _JOB, format_job(self.job, folder=folder))
            group.add(folder / _STATE, json.dumps(plain, ensure_ascii=False, indent=1))


def read_from(folder: Path) -> tuple[State, str] | None:
    """Return what `State.write_to` wrote, and when; None if it is damaged.

    Raises:
        FileNotFoundError: there is nothing.
    """
    text = (folder / _STATE).read_bytes()
    try:
        found = json.loads(text)
        if found["version"] != _VERSION:
            return None
        source = Opened(**found["source"]) if found["source"] else None
        job = read_job(folder / _JOB)
        return State(source=source, job=job, kept=dict(found["kept"])), found.get("when", "")
    except (OSError, ValueError, KeyError, TypeError, JobError):
        return None


@dataclass(frozen=True, kw_only=True)
class Opening:
    """A table that is being read, could not be read, or waits to take the place of another.

    Attributes:
        source: the table.
        job: what is known about it; without columns they are guessed.
        secret: the URL of its database with a password.
        kept: what pages remember of it.
        again: whether the present settings are about it, so that it replaces nothing.
        aside: the work put aside that goes on with it, or "".
        table: the table, when it is read.
        number: tells one from another.
    """

    source: Opened
    job: Job
    secret: str | None = field(default=None, repr=False)
    kept: Mapping[str, Any] = field(default_factory=dict)
    again: bool = False
    aside: str = ""
    table: OpenedTable | None = None
    number: int = field(default_factory=lambda: next(_COUNT))

    @property
    def input(self) -> Input:
        """How it is read, with the password of its database."""
        job = self.job if self.secret is None else with_input(self.job, path=self.secret)
        return job.input

    def waits_for(self, opened: Opened) -> bool:
        """Tell whether these settings only lack this table: its copy, or its password."""
        if self.source.kind != opened.kind:
            return False
        if opened.kind == "database":
            return self.source.path == opened.path
        return self.source.lacks_copy and self.source.name == opened.name

    @property
    def state(self) -> State:
        """What is known about it."""
        return State(source=self.source, job=self.job, kept=self.kept)


@dataclass(frozen=True, kw_only=True)
class Aside:
    """Work that was put aside.

    Attributes:
        folder: where it lies.
        when: when it was put aside, in UTC.
        state: what was known.
    """

    folder: Path
    when: str
    state: State

    @property
    def id(self) -> str:
        """What it is asked for by."""
        return self.folder.name

    @property
    def name(self) -> str:
        """What the owner calls the table."""
        return "" if self.state.source is None else self.state.source.name

    @property
    def opening(self) -> Opening:
        """What opens it again."""
        state = self.state
        assert state.source is not None
        return Opening(source=state.source, job=state.job, kept=state.kept, aside=self.id)

    @property
    def n_runs(self) -> int:
        """How many runs its history has."""
        return len(self.state.kept.get("history") or ())

    @classmethod
    def put(cls, state: State, among: Path) -> None:
        """Put a state aside, in a folder among others."""
        folder = among / secrets.token_hex(8)
        folder.mkdir(mode=0o700, parents=True)
        state.write_to(folder, when=datetime.now(UTC).isoformat())

    def remove(self) -> None:
        """Forget it; folders that belong to its state stay."""
        shutil.rmtree(self.folder, ignore_errors=True)


def find_asides(among: Path) -> list[Aside]:
    """Return all work that was put aside, the latest first."""
    found = []
    for folder in among.glob("*"):
        read = read_from(folder) if (folder / _STATE).is_file() else None
        if read is not None:
            found.append(Aside(folder=folder, when=read[1], state=read[0]))
    return sorted(found, key=lambda each: each.when, reverse=True)


def find_aside(asides: list[Aside], aside_id: str) -> Aside:
    """Return the work that was put aside under this name.

    Raises:
        OptionError: there is none.
    """
    for aside in asides:
        if aside.id == aside_id:
            return aside
    raise OptionError("This work is no longer here.")
