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
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.app.open_table import OpenedTable, open_table
from shoal.errors import JobError, OptionError
from shoal.messages import packed, unpacked
from shoal.settings.files import INPUT_OPTIONS, Input
from shoal.settings.job_file import format_job, read_job

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shoal.app.tasks import Task, Tasks
    from shoal.app.workspace import Workspace
    from shoal.profile.guess import Guess
    from shoal.runtime.progress import Report
    from shoal.settings.job import Job


# Reads the open table behind the page, and makes a first job of the guesses.


def start_reading(work: Workspace, tasks: Tasks) -> Task:
    """Read the table that is on its way in, in the background, and open it when it is there."""
    opening = work.opening or work.open_again()

    def read(report: Report) -> OpenedTable:
        return open_table(opening.input, report)

    def take(task: Task) -> None:
        table: OpenedTable = task.result
        unknown = [name for name in opening.job.columns if name not in table.names]
        if unknown:
            raise OptionError(
                "The settings speak of {n} columns that this table does not have (the first "
                "is {unknown!r}); open the table anew to start with fresh guesses.",
                n=len(unknown),
                unknown=unknown[0],
            )
        job = opening.job if opening.job.columns else _first_job(work, opening, table)
        work.take(opening, table, job)
        task.result = None  # the workspace has it

    return tasks.start("open", read, revision=opening.number, next_page="/open", then=take)


def _first_job(work: Workspace, opening: Opening, table: OpenedTable) -> Job:
    """Return the job that ``shoal init`` would write, with this table as its input."""
    folder, said = work.tree_folder(opening.source), opening.job
    table.suggestion.write(folder / "guess.toml", source=opening.source.name, force=True)
    guessed = read_job(folder / "guess.toml")
    (folder / "guess.toml").unlink()
    found = {
        name: getattr(guessed.input, name)
        for name in ("delimiter", "encoding", "decimal", "missing_values")
        if getattr(guessed.input, name) is not None
    }
    return guessed.replaced(input=with_input(said, **found).input, output=said.output)


def hierarchy_file(work: Workspace, table: OpenedTable, column: str) -> Path:
    """Return where the hierarchy of a column lies when it lists values."""
    return work.tree_folder() / f"column_{table.names.index(column) + 1}.csv"


def column_of(work: Workspace, table: OpenedTable, guess: Guess) -> dict[str, object]:
    """Return what a job says about a column that is guessed to be this."""
    from shoal.table.schema import JobColumn, Role

    is_quasi = guess.role is Role.QUASI_IDENTIFIER
    hierarchy: object = None
    if guess.uses_hierarchy:
        hierarchy = guess.rule
        if hierarchy is None and guess.hierarchy is not None:
            file = hierarchy_file(work, table, guess.name)
            guess.hierarchy.to_csv(file)
            hierarchy = file
    column = JobColumn(
        role=guess.role,
        kind=guess.kind if is_quasi else None,
        order=guess.order if is_quasi else None,
        **table.suggestion.details_of(guess),
    )
    return {**vars(column), "hierarchy": hierarchy}


# Gives a column of the open table another name: in the job, and in what pages remember.


def rename_column(work: Workspace, old: str, new: str) -> None:
    """Call a column otherwise, wherever the job or a page names it.

    Raises:
        OptionError: the new name is empty, or that of another column.
    """
    with work.lock:
        job, before = work.job, work.job.input.rename or {}
        first = next((name for name, now in before.items() if now == old), old)
        new = (replace(job.input, rename={first: new}).rename or {})[first]  # as it was checked
        if new == old:
            return
        others = {name: now for name, now in before.items() if name != first}
        source = replace(job.input, rename=others if new == first else {**others, first: new})

        def moved(name: str) -> str:
            return new if name == old else name

        def named(options: Mapping[str, Any]) -> dict[str, Any]:
            """Return options of a promise or a measure, which may be about columns."""
            about = options.get("column")
            now = moved(about) if isinstance(about, str) else [moved(each) for each in about or ()]
            return {**options, "column": now} if about else dict(options)

        work.change(
            job.replaced(
                input=source,
                columns={moved(name): column for name, column in job.columns.items()},
                privacy=[named(model) for model in job.privacy],
                measure_options=named(job.measure_options),
            )
        )
        # What is remembered under the new name was said about a column that is gone.
        decided = [name for name in work.kept("decided") or () if name != new]
        answers = [(about, name) for about, name in work.kept("answers") or () if name != new]
        trees = {name: tree for name, tree in (work.kept("trees") or {}).items() if name != new}
        work.keep("decided", [moved(name) for name in decided])
        work.keep("answers", [[about, moved(name)] for about, name in answers])
        work.keep("trees", {moved(name): tree for name, tree in trees.items()})


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
            "kept": packed(dict(self.kept)),
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
        return State(source=source, job=job, kept=unpacked(found["kept"])), found.get("when", "")
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
