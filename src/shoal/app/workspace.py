"""The one state of work: which table is open, the job that the pages edit, and what was tried.

Everything lies in one private folder, so that a reload of the page, a restart of the server and a
kill bring it back:

- ``job.toml``: the job. Every page changes this and nothing else about the run.
- ``state.json``: which table is open, and what pages remember (`keep`).
- ``hierarchies/``: hierarchies of listed values. They hold values of the data.
- ``data/``: copies of tables that were dropped on the page.
- ``results/``: releases, reports and certificates until they are downloaded.
- ``temporary/``: what libraries put aside.

The clean end of a server removes the last three; settings and hierarchies stay. Where nothing is
open then, the whole folder goes. Passwords are in memory only.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from shoal.app.private import CLAIM, claim_folder
from shoal.errors import JobError, OptionError
from shoal.io.location import is_database, parse_location, typed_name
from shoal.io.several import input_files
from shoal.settings.files import INPUT_OPTIONS, Input
from shoal.settings.job import Job, JobColumn
from shoal.settings.job_file import format_job, read_job

if TYPE_CHECKING:
    from shoal.app.table import OpenedTable

__all__ = ["Opened", "Workspace", "leave_all"]

_VERSION = 1
_JOB, _STATE = "job.toml", "state.json"
_TEMPORARY = ("data", "results", "temporary")
_OPEN: list[Workspace] = []


def leave_all() -> None:
    """Leave every open workspace; for a process that is being stopped."""
    for work in _OPEN:
        work.leave()


@dataclass(frozen=True, kw_only=True)
class Opened:
    """Which table is open.

    Attributes:
        kind: ``file`` (read where it lies), ``copy`` (dropped on the page) or ``database``.
        name: what the page calls it; a URL without user and password.
        path: what is read; a URL without a password.
    """

    kind: str
    name: str
    path: str


class Workspace:
    """The state of work in a private folder; safe to use from several threads.

    Attributes:
        folder: the private folder; nobody else may look into it.
        root: files are opened by their path in this folder and below it, and nowhere else.
        revision: goes up with every change of the job or the table, so that results of earlier
            settings can be told apart.
        table: the open table in memory; None while it is being read.
        source: which table is open.

    Raises:
        OptionError: the folder cannot be made, or another server works in it.
    """

    def __init__(self, folder: Path, root: Path | None = None, *, keep_data: bool = False) -> None:
        self.folder = folder.absolute()
        self.root = (root or Path.cwd()).resolve()
        self.revision = 0
        self.table: OpenedTable | None = None
        self.source: Opened | None = None
        self._keep_data = keep_data
        self._lock = threading.RLock()
        self._job = Job()
        self._kept: dict[str, Any] = {}
        self._secret: str | None = None  # the URL of the database with its password
        self._typed: set[str] = set()  # files that somebody named in the terminal
        self._gone = self._unknown = False
        self._claim: IO[bytes] | None = claim_folder(self.folder)
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

        Raises:
            OptionError: it names a file that pages may not open (`may_open`).
        """
        with self._lock:
            self._job = job.with_files(self.may_open)
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

    def update_input(self, **changes: Any) -> None:
        """Change how the table is read."""
        with self._lock:
            said = {name: getattr(self._job.input, name) for name in INPUT_OPTIONS}
            self.change(self._job.replaced(input=Input(**{**said, **changes})))

    def runnable(self) -> Job:
        """Return the job with the password of its database, if one was typed. Never shown."""
        with self._lock:
            if self._secret is None or self._job.input.path is None:
                return self._job
            said = {name: getattr(self._job.input, name) for name in INPUT_OPTIONS}
            return self._job.replaced(input=Input(**{**said, "path": self._secret}))

    def job_text(self, job: Job | None = None) -> str:
        """Return a job file to save elsewhere: it names the table as its owner does."""
        shown = job or self._job
        if self.source is not None and self.source.kind == "copy":
            said = {name: getattr(shown.input, name) for name in INPUT_OPTIONS}
            shown = shown.replaced(input=Input(**{**said, "path": self.source.name}))
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
        """Take another table; what was said about the one before is forgotten.

        Args:
            opened: the table.
            secret: the URL of its database with a password.
            job: what is already known about it, from a job file.
            anywhere: whether its files may lie anywhere: somebody named it in the terminal.

        Raises:
            OptionError: a page may not open a file of it; then nothing is forgotten.
        """
        said = {} if job is None else {n: getattr(job.input, n) for n in INPUT_OPTIONS}
        job = (job or Job()).replaced(input=Input(**{**said, "path": opened.path}))
        with self._lock:
            if anywhere:
                self._typed.update(job.files())
            job = job.with_files(self.may_open)
            if self.source is not None and self.source.path != opened.path:
                self._remove_copy(self.source)
                shutil.rmtree(self.folder / "results", ignore_errors=True)
            self.source, self._secret, self.table = opened, secret, None
            self._kept.clear()
            self.change(job)

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
            full = Path(source).resolve()
            found = Opened(kind="file", name=full.name, path=str(full))
            self.open(found, job=job, anywhere=anywhere)

    def reread(self, **how: Any) -> None:
        """Forget what was said about the columns and read the table in another way."""
        with self._lock:
            said = {name: getattr(self._job.input, name) for name in INPUT_OPTIONS}
            job = Job(input=Input(**{**said, **how}), output=self._job.output)
            job = job.with_files(self.may_open)  # before anything is forgotten
            self.table = None
            self._kept.clear()
            self.change(job)

    def renew_copy(self, path: Path) -> bool:
        """Take a new copy of the table whose copy is gone, and keep what was said about it.

        Returns:
            whether that was it: the open table was a copy of this name, and it is gone.
        """
        with self._lock:
            if self.source is None or not self.missing_copy() or self.source.name != path.name:
                return False
            self.source = Opened(kind="copy", name=path.name, path=str(path))
            self.table = None
            self.update_input(path=str(path))
            return True

    def drop_copy(self, path: Path) -> None:
        """Remove a copy that is not wanted."""
        shutil.rmtree(path.parent, ignore_errors=True)

    def set_secret(self, url: str) -> None:
        """Remember the URL of the open database with its password, until the server ends."""
        self._secret = url

    def own_words(self, text: str) -> str:
        """Return a sentence with tables called as their owner does, not by our private paths."""
        source = self.source
        if source is not None and source.kind == "copy":
            text = text.replace(source.path, source.name)
        return text.replace(str(self.folder) + os.sep, "")

    def place_for_copy(self, name: str) -> Path:
        """Return where a copy of a dropped file goes; the name is its own, made harmless."""
        plain = "".join(c if c.isalnum() or c in "._- ()+" else "_" for c in Path(name).name)
        plain = plain.strip(". ")[-120:] or "table.csv"
        inner = self.subfolder("data") / secrets.token_hex(8)  # no two copies share a place
        inner.mkdir(mode=0o700)
        return inner / plain

    def subfolder(self, name: str) -> Path:
        """Return a folder inside the private one: ``data``, ``results`` or ``hierarchies``."""
        folder = self.folder / name
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    def inside_root(self, path: str) -> Path:
        """Return a path that somebody typed or chose, if it lies where files may be opened.

        Raises:
            OptionError: it lies elsewhere; links are followed first.
        """
        if "\0" in path:
            raise OptionError("No name of a file holds the character NUL.")
        full = (self.root / Path(path).expanduser()).resolve()
        if not full.is_relative_to(self.root):
            raise OptionError(
                f"Files are opened only in {str(self.root)!r} and below; drop the file on the "
                "page, or start 'shoal app' with --files and the folder it lies in."
            )
        return full

    def check_database(self, url: str, *, anywhere: bool = False) -> Opened:
        """Return a table of a database as it may be remembered.

        Args:
            url: of the table.
            anywhere: whether its file may lie outside the root: somebody typed it in the terminal.

        Raises:
            OptionError: the URL is none, or its file lies elsewhere.
        """
        location = parse_location(url)
        if location.path is not None and not anywhere:
            self.inside_root(str(location.path))
        return Opened(kind="database", name=location.shown, path=typed_name(url))

    def may_open(self, name: str) -> str:
        """Return a file that a job names, or refuse it: here alone it is decided.

        A page opens what the terminal named, what the job names already, what is its own, and
        what lies in the root; a folder or a pattern, if all that it stands for lies there.

        Raises:
            ShoalError: it lies elsewhere, or there is none.
        """
        if name in self._typed or name in self._job.files():
            return name
        if is_database(name):
            self.check_database(name)
            return name
        own = ((self.folder / each).resolve() for each in ("data", "hierarchies"))
        if "\0" not in name and any(Path(name).resolve().is_relative_to(each) for each in own):
            return name
        full = self.inside_root(name)
        for each in input_files(str(full)):
            if not self.inside_root(each).is_file():
                raise OptionError(f"There is no file {name!r} in {str(self.root)!r}.")
        return str(full)

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
        """Close the open table and remove everything that was kept about it."""
        with self._lock:
            self.source = self._secret = self.table = None
            self._kept.clear()
            for name in (*_TEMPORARY, "hierarchies"):
                shutil.rmtree(self.folder / name, ignore_errors=True)
            self.subfolder("temporary")  # libraries go on to put things there
            self.change(Job())

    def leave(self) -> None:
        """End this use of the folder: copies and results go, settings stay if there are any."""
        with self._lock:
            if self._gone:
                return
            self._gone = True
            if not self._keep_data:
                for name in _TEMPORARY:
                    shutil.rmtree(self.folder / name, ignore_errors=True)
            nothing_left = self.source is None and not self._kept and not self._unknown
            if self in _OPEN:
                _OPEN.remove(self)
            if self._claim is not None:
                self._claim.close()
                self._claim = None
            if nothing_left:
                self._remove_folder()

    def _remove_folder(self) -> None:
        """Remove what is ours in the folder, and the folder if nothing else is in it."""
        for name in (*_TEMPORARY, "hierarchies"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        with contextlib.suppress(OSError):
            for name in (_JOB, _STATE, CLAIM):
                (self.folder / name).unlink(missing_ok=True)
            self.folder.rmdir()

    def missing_copy(self) -> bool:
        """Tell whether the open table was a copy that the end of the last server removed."""
        source = self.source
        return source is not None and source.kind == "copy" and not Path(source.path).exists()

    def _remove_copy(self, source: Opened) -> None:
        inner = Path(source.path).parent
        if source.kind == "copy" and inner.parent == self.folder / "data":
            shutil.rmtree(inner, ignore_errors=True)

    def _load(self) -> None:
        state = self.folder / _STATE
        if not state.exists():
            return
        try:
            found = json.loads(state.read_text(encoding="utf-8"))
            if found["version"] != _VERSION:
                raise ValueError  # noqa: TRY301 - as good as damaged
            self._job = read_job(self.folder / _JOB)
            self.source = Opened(**found["source"]) if found["source"] else None
            self._kept = dict(found["kept"])
        except (OSError, ValueError, KeyError, TypeError, JobError):
            # Whoever damaged it: a page that starts anew is better than none at all.
            self._unknown = True  # a newer version may read it: it stays until a table is opened
            self._job, self.source, self._kept = Job(), None, {}

    def _save(self) -> None:
        from shoal.io import AtomicGroup

        if self._gone:
            return
        state = {
            "version": _VERSION,
            "source": None if self.source is None else asdict(self.source),
            "kept": self._kept,
        }
        with AtomicGroup() as group:
            group.add(self.folder / _JOB, format_job(self._job, folder=self.folder))
            group.add(self.folder / _STATE, json.dumps(state, ensure_ascii=False, indent=1))
