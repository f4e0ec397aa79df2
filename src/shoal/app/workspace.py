"""The one state of work: which table is open, the job that the pages edit, and what was tried.

Everything lies in one private folder, so that a reload of the page, a restart of the server and a
kill bring it back:

- ``job.toml``: the job. Every page changes this and nothing else about the run.
- ``state.json``: which table is open, and what pages remember (`keep`).
- ``hierarchies/``: hierarchies of listed values. They hold values of the data.
- ``data/``: copies of tables that were dropped on the page.
- ``results/``: releases, reports and certificates until they are downloaded.
- ``temporary/``: what libraries put aside.
- ``tables.toml``, ``tables.json``: the same of several tables (`several`).
- ``aside/``: settings of tables that were closed or replaced.

The clean end of a server removes data, results and what is temporary; settings and hierarchies
stay. Where nothing is left then, the whole folder goes. Passwords are in memory only.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from shoal.app.access import Allowed, Opened
from shoal.app.opening import (
    STATE_FILES,
    Aside,
    Opening,
    State,
    find_asides,
    open_table,
    read_from,
    with_input,
)
from shoal.app.several import SEVERAL_FILES, Several
from shoal.errors import OptionError
from shoal.io.location import is_database
from shoal.io.remote import is_remote
from shoal.messages import Message
from shoal.settings.job import Job
from shoal.settings.job_file import format_job, read_job
from shoal.table.schema import JobColumn, Role

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from shoal.app.opening import OpenedTable
    from shoal.app.tasks import Task, Tasks
    from shoal.profile.guess import Guess
    from shoal.runtime.progress import Report


# The private folder: where it lies, that it is ours, and that one server works in it.

_CLAIM = ".claim"
"""The file that says whose folder it is."""


def user_folder() -> Path:
    """Return where the state of work lies unless somebody says otherwise."""
    home = Path.home()
    if sys.platform == "darwin":
        base = home / "Library" / "Application Support"
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    else:
        base = Path(os.environ.get("XDG_STATE_HOME") or home / ".local" / "state")
    return base / "shoal" / "app"


def claim_folder(folder: Path) -> IO[bytes]:
    """Make the private folder and keep other servers out of it.

    Returns:
        the open file that says so; the system closes it, whatever happens.

    Raises:
        OptionError: the folder cannot be made, holds other files, or another server works in it.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        ours = (folder / _CLAIM).exists() or not any(folder.iterdir())
        if ours:  # somebody else's folder stays as it is: ours is cleared at the end
            folder.chmod(0o700)
    except OSError as error:
        raise OptionError(
            "The private folder {folder!r} cannot be made ({strerror}); name another with "
            "--folder.",
            folder=str(folder),
            strerror=error.strerror,
        ) from None
    if not ours:
        raise OptionError(
            "{folder!r} holds other files, and the private folder is cleared at the end; name "
            "a new or an empty one with --folder.",
            folder=str(folder),
        )
    file = (folder / _CLAIM).open("ab")
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise OptionError(
            "Another 'shoal app' works in {folder!r}; use its page, or name another folder "
            "with --folder.",
            folder=str(folder),
        ) from None
    return file


def remove_folder(folder: Path, folders: Iterable[str], files: Iterable[str]) -> None:
    """Remove what is ours in the private folder, and the folder if nothing else is in it."""
    for name in folders:
        shutil.rmtree(folder / name, ignore_errors=True)
    with contextlib.suppress(OSError):
        for name in (*files, _CLAIM):
            (folder / name).unlink(missing_ok=True)
        folder.rmdir()


def place_for_copy(data: Path, name: str) -> Path:
    """Return where a copy of a dropped file goes; the name is its own, made harmless."""
    plain = "".join(c if c.isalnum() or c in "._- ()+" else "_" for c in Path(name).name)
    plain = plain.strip(". ")[-120:] or "table.csv"
    inner = data / secrets.token_hex(8)  # no two copies share a place
    inner.mkdir(mode=0o700)
    return inner / plain


_TEMPORARY = ("data", "results", "temporary")
_FOLDERS = (*_TEMPORARY, "hierarchies", "aside")
_MOST_ASIDE = 10
_OPEN: list[Workspace] = []


def leave_all() -> None:
    """Leave every open workspace; for a process that is being stopped."""
    for work in _OPEN:
        work.leave()


class Workspace(Allowed):
    """The state of work in a private folder; safe to use from several threads.

    Attributes:
        folder: the private folder; nobody else may look into it.
        root: files are opened by their path in this folder and below it, and nowhere else.
        revision: goes up with every change of the job or the table, so that results of earlier
            settings can be told apart.
        table: the open table in memory; None while it is being read.
        source: which table is open.
        opening: the table that is on its way in; the one that is open stays until it is there.
        several: tables that hang together, with a job of their own.
        elsewhere: files outside the folder that go at the end, whatever it is.

    Raises:
        OptionError: the folder cannot be made, or another server works in it.
    """

    def __init__(self, folder: Path, root: Path | None = None, *, keep_data: bool = False) -> None:
        super().__init__(folder.absolute(), (root or Path.cwd()).resolve())
        self.revision = 0
        self.table: OpenedTable | None = None
        self.elsewhere: list[Path] = []
        self.source: Opened | None = None
        self.opening: Opening | None = None
        self._fresh = 0  # the revision that nobody has worked on yet
        self._keep_data = keep_data
        self._lock = threading.RLock()
        self._job = Job()
        self._kept: dict[str, Any] = {}
        self._secret: str | None = None  # the URL of the database with its password
        self._gone = self._unknown = False
        self._claim: IO[bytes] | None = claim_folder(self.folder)
        self.several = Several(self.folder)
        self._load()
        _OPEN.append(self)

    # -- the job ---------------------------------------------------------------------------------

    @property
    def lock(self) -> threading.RLock:
        """Held by whoever reads and then changes."""
        return self._lock

    @property
    def job(self) -> Job:
        """The job as the pages have made it; its input is the open table."""
        return self._job

    def change(self, job: Job) -> None:
        """Put another job in place of the present one, and save it.

        The open table has the names of columns that the job gives it.

        Raises:
            OptionError: it names a file that pages may not open (`may_open`), or columns cannot
                be called so.
        """
        with self._lock:
            said = job.with_files(self.may_open)
            if self.table is not None:
                self.table = self.table.called(said.input.rename)
            self._job = said
            self.revision += 1
            self._save()

    def update(self, **changes: Any) -> None:
        """Change options of the job: ``work.update(k=5, privacy=[...])``; None takes one away."""
        with self._lock:
            self.change(self._job.replaced(**changes))

    def update_column(self, name: str, **changes: Any) -> None:
        """Change what the job says about one column: ``role``, ``kind``, ``hierarchy``, …."""
        with self._lock:
            columns = dict(self._job.columns)
            columns[name] = replace(columns.get(name, JobColumn()), **changes)
            self.change(self._job.replaced(columns=columns))

    def runnable(self) -> Job:
        """Return the job with the password of its database, if one was typed. Never shown."""
        with self._lock:
            if self._secret is None or self._job.input.path is None:
                return self._job
            return with_input(self._job, path=self._secret)

    def job_text(self, job: Job | None = None) -> str:
        """Return a job file to save elsewhere: it names the table as its owner does."""
        shown = job or self._job
        if self.source is not None and self.source.kind == "copy":
            shown = with_input(shown, path=self.source.name)
        return format_job(shown)

    # -- the table -------------------------------------------------------------------------------

    def open(
        self,
        opened: Opened,
        *,
        secret: str | None = None,
        job: Job | None = None,
        anywhere: bool = False,
    ) -> None:
        """Begin to open another table; the one that is open stays until it is read.

        A table whose settings are here already, but which could not be read for want of its copy
        or its password, goes on with them.

        Args:
            opened: the table.
            secret: the URL of its database with a password.
            job: what is already known about it, from a job file.
            anywhere: whether its files may lie anywhere: somebody named it in the terminal.

        Raises:
            OptionError: a page may not open a file of it.
        """
        with self._lock:
            unread = (self.opening, self._present() if self.table is None else None)
            waiting = (each for each in unread if each is not None and each.waits_for(opened))
            known = None if job is not None else next(waiting, None)
            if known is None:
                known = Opening(source=opened, job=job or Job())
            source = replace(opened, id=known.source.id)
            said = with_input(known.job, path=opened.path)
            if anywhere:
                self._typed.update(said.files())
            said = said.with_files(self.may_open)
            self._begin(replace(known, source=source, secret=secret, job=said))

    def open_again(self) -> Opening:
        """Begin to read the table of the present settings, after a restart of the server."""
        with self._lock:
            self._begin(self._present())
            assert self.opening is not None
            return self.opening

    def reopen(self, aside: Aside) -> None:
        """Begin to open a table with the settings that were put aside."""
        with self._lock:
            self._begin(aside.opening)

    def _present(self) -> Opening | None:
        if self.source is None:
            return None
        kept, secret = dict(self._kept), self._secret
        return Opening(source=self.source, job=self._job, kept=kept, secret=secret, again=True)

    def _begin(self, opening: Opening | None) -> None:
        before, self.opening = self.opening, opening
        if before is not None:
            self._clear(before.state)

    def take(self, opening: Opening, table: OpenedTable, job: Job) -> None:
        """Put a table that was read in place of the open one, or let the page ask first.

        Args:
            opening: what was read.
            table: the table.
            job: what is said about it.
        """
        with self._lock:
            if self.opening is not opening:
                return
            self.opening = replace(opening, table=table, job=job)
            is_same = self.source is not None and self.source.path == opening.source.path
            asked_for = opening.again or opening.aside or is_same
            if asked_for or self.table is None or not self.touched:
                self.take_opening()

    def take_opening(self) -> None:
        """Put the table that was read in place of the open one, which is put aside.

        Raises:
            OptionError: none was read.
        """
        with self._lock:
            opening = self.opening
            if opening is None or opening.table is None:
                raise OptionError("There is no table that waits to be opened.")
            before = self.close() if not opening.again else None
            self.source, self._secret, self.table = opening.source, opening.secret, opening.table
            self._kept = dict(opening.kept)
            self.change(opening.job)
            self.opening = None
            self._fresh = -1 if opening.again or opening.aside else self.revision
            for aside in self.asides():
                if aside.id == opening.aside:
                    aside.remove()
            if before is not None:
                self._clear(before)

    def leave_opening(self) -> None:
        """Do not open the table that is on its way in."""
        with self._lock:
            self._begin(None)

    @property
    def touched(self) -> bool:
        """Whether somebody has worked on the open table, so that there is something to lose."""
        return self.source is not None and self.revision != self._fresh

    def put_aside(self) -> None:
        """Keep the present settings and runs, to be reopened; the oldest of many go."""
        with self._lock:
            Aside.put(self._state, self.subfolder("aside"))
            for old in self.asides()[_MOST_ASIDE:]:
                self.forget_aside(old)

    def close(self) -> State:
        """Close the open table, and put it aside if somebody has worked on it."""
        with self._lock:
            before = self._state
            if self.touched:
                self.put_aside()
            self.source = self._secret = self.table = None
            self._kept = {}
            self.change(Job())
            if self.opening is None:
                self._clear(before)
            return before

    def asides(self) -> list[Aside]:
        """Return the work that was put aside, the latest first."""
        return find_asides(self.folder / "aside")

    def forget_aside(self, aside: Aside) -> None:
        """Remove work that was put aside, with its files."""
        with self._lock:
            aside.remove()
            self._clear(aside.state)

    def _clear(self, state: State) -> None:
        """Remove folders of a state that no other one has."""
        others = [self._state, *(aside.state for aside in self.asides())]
        others += [] if self.opening is None else [self.opening.state]
        used = set().union(*(each.folders(self.folder) for each in others))
        for folder in state.folders(self.folder) - used:
            shutil.rmtree(folder, ignore_errors=True)

    def open_job(self, job: Job, *, anywhere: bool = False) -> None:
        """Open the table that a job names, with everything that it says; see `open`.

        Raises:
            OptionError: it names no table, or files that a page may not open.
        """
        source = job.input.path
        if source is None or source == "-":
            raise OptionError(
                "This job file names no table; open the table first, and the job file after it."
            )
        if is_database(source):
            found = self.check_database(source, anywhere=anywhere)
            self.open(found, secret=source, job=job, anywhere=anywhere)
        else:
            if is_remote(source):
                self.inside_root(source)  # which says why not
            full = Path(source).resolve()
            found = Opened(kind="file", name=full.name, path=str(full))
            self.open(found, job=job, anywhere=anywhere)

    def reread(self, **how: Any) -> None:
        """Begin to read the table in another way, with roles guessed anew.

        Raises:
            OptionError: no table is open.
        """
        with self._lock:
            base = self.opening or self._present()
            if base is None:
                raise OptionError("Open a table first.")
            job = with_input(Job(input=base.job.input, output=base.job.output), **how)
            job = job.with_files(self.may_open)
            source = Opened(kind=base.source.kind, name=base.source.name, path=base.source.path)
            self._begin(Opening(source=source, secret=base.secret, job=job))

    def own_words(self, text: str) -> str:
        """Return a sentence with tables called as their owner does, not by our private paths."""
        if isinstance(text, Message):
            return text.mapped(self._in_own_words)
        return self._in_own_words(text)

    def _in_own_words(self, text: str) -> str:
        sources = (self.source, self.opening.source if self.opening else None)
        for source in (*sources, *self.several.opened.values()):
            if source is not None and source.kind == "copy":
                text = text.replace(source.path, source.name)
        return text.replace(str(self.folder) + os.sep, "")

    def subfolder(self, name: str) -> Path:
        """Return a folder inside the private one: ``data``, ``results``, ``aside``, …."""
        folder = self.folder / name
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    def tree_folder(self, source: Opened | None = None) -> Path:
        """Return the folder for hierarchies of a table; of the open one if none is named."""
        named = source or self.source
        assert named is not None
        folder = self.subfolder("hierarchies") / named.id
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    def _named(self) -> set[str]:
        """Return the files that the present job names, and that of the table on its way in."""
        jobs = [self._job] if self.opening is None else [self._job, self.opening.job]
        return {name for job in jobs for name in job.files()} | self.several.files()

    # -- what pages remember ---------------------------------------------------------------------

    def kept(self, name: str, default: Any = None) -> Any:
        """Return what a page has kept under this name."""
        with self._lock:
            return self._kept.get(name, default)

    def keep(self, name: str, value: Any) -> None:
        """Keep something that JSON can hold beside the job; None forgets it."""
        with self._lock:
            if value is None:
                self._kept.pop(name, None)
            else:
                self._kept[name] = value
            self._save()

    def keep_with(self, name: str, change: Callable[[Any], Any]) -> Any:
        """Change what is kept under a name, with nobody in between; return the new value."""
        with self._lock:
            value = change(self._kept.get(name))
            self.keep(name, value)
            return value

    # -- the folder ------------------------------------------------------------------------------

    def forget_table(self) -> None:
        """Close the open table and remove everything that was kept, work put aside included."""
        with self._lock:
            self.source = self._secret = self.table = self.opening = None
            self._kept.clear()
            self.several.clear()
            for name in _FOLDERS:
                shutil.rmtree(self.folder / name, ignore_errors=True)
            self.subfolder("temporary")  # libraries go on to put things there
            self.change(Job())

    def leave(self) -> None:
        """End this use of the folder: copies and results go, settings stay if there are any."""
        with self._lock:
            if self._gone:
                return
            self._gone = self.several.ended = True
            for file in self.elsewhere:
                file.unlink(missing_ok=True)
            if not self._keep_data:
                for name in _TEMPORARY:
                    shutil.rmtree(self.folder / name, ignore_errors=True)
            kept = self.source is not None or self._kept or self._unknown or self.asides()
            kept = kept or self.several.opened
            if self in _OPEN:
                _OPEN.remove(self)
            if self._claim is not None:
                self._claim.close()
                self._claim = None
            if not kept:
                remove_folder(self.folder, _FOLDERS, (*STATE_FILES, *SEVERAL_FILES))

    @property
    def _state(self) -> State:
        return State(source=self.source, job=self._job, kept=dict(self._kept))

    def _load(self) -> None:
        try:
            found = read_from(self.folder)
        except FileNotFoundError:
            return
        if found is None:
            # Whoever damaged it: a page that starts anew is better than none at all.
            self._unknown = True  # a newer version may read it: it stays until a table is opened
            return
        state, self._fresh = found[0], -1
        self.source, self._job, self._kept = state.source, state.job, dict(state.kept)

    def _save(self) -> None:
        if not self._gone:
            self._state.write_to(self.folder)


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
        for name in ("delimiter", "encoding", "decimal", "missing_values", "sheet", "extra_rows")
        if getattr(guessed.input, name) is not None
    }
    return guessed.replaced(input=with_input(said, **found).input, output=said.output)


def hierarchy_file(work: Workspace, table: OpenedTable, column: str) -> Path:
    """Return where the hierarchy of a column lies when it lists values."""
    return work.tree_folder() / f"column_{table.names.index(column) + 1}.csv"


def column_of(work: Workspace, table: OpenedTable, guess: Guess) -> dict[str, object]:
    """Return what a job says about a column that is guessed to be this."""
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
