"""The state of work on several tables: which are open, the job that the page edits, its runs.

It lies beside that of the one table in the private folder: ``tables.toml`` is the job of several
tables, as `shoal.run_tables_job` reads it, and ``tables.json`` says which are copies that were
dropped, and what runs made. A run is `run_tables_job` with files of its own.
"""

from __future__ import annotations

import json
import secrets
import shutil
import tempfile
import threading
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.app.access import Opened
from shoal.app.hand_over import free_name, zip_of
from shoal.errors import JobError, OptionError
from shoal.io.formats import COMPRESSIONS
from shoal.io.location import is_database, typed_name
from shoal.messages import packed, unpacked
from shoal.profile.guess import guess_column
from shoal.profile.links import propose_links
from shoal.settings.files import INPUT_OPTIONS, Input, Output
from shoal.settings.job_file import format_tables_job, read_tables_job
from shoal.settings.tables import TableOfJob, TablesJob
from shoal.table.schema import JobColumn, Role

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from shoal.app.opening import OpenedTable
    from shoal.profile.guess import Guess
    from shoal.profile.links import Place
    from shoal.runtime.progress import Report

_JOB, _STATE = "tables.toml", "tables.json"
SEVERAL_FILES = (_JOB, _STATE)
_VERSION = 1
_MOST_RUNS = 10
_FEWEST = 2  # people are hidden among at least so many
_TABLES = "safe"
"""The folder of the published tables, in the folder of a run and in what is handed over."""


def empty_job() -> TablesJob:
    """Return a job of no table yet."""
    return TablesJob({}, Input(), Output(), {})


@dataclass(frozen=True, kw_only=True)
class TablesRun:
    """One run: settings, counts and sentences, no cell.

    Attributes:
        id: name of its folder.
        when: when it ended, in UTC.
        settings: the job without its outputs, as it was asked.
        k: how many people an attacker is left with.
        attacker: against whom it protects, in one sentence.
        checks: what was promised and measured, in words.
        tables: of each table its name, the rows that are published and left out, and its loss.
        warnings: what its owner should know.
        seconds: how long it took.
        attacked: whether attackers tried it; what they reached is in the report.
    """

    id: str
    when: str
    settings: str
    k: int
    attacker: str
    checks: tuple[str, ...]
    tables: tuple[tuple[str, int, int, float], ...]
    warnings: tuple[str, ...]
    seconds: float
    attacked: bool = False

    def public(self, results: Path) -> dict[str, Path]:
        """Return what may be given away, by the name under which it is downloaded."""
        folder = results / self.id
        tables = sorted(each for each in (folder / _TABLES).glob("*") if each.is_file())
        found = [*tables, folder / "report.html", folder / "certificate.json"]
        return {each.name: each for each in found if each.is_file()}

    def packed(self, results: Path) -> bytes:
        """Return all of that as one file."""
        files = self.public(results)
        return zip_of(
            {
                str(path.relative_to(results / self.id).as_posix()): path.read_bytes()
                for path in files.values()
            }
        )

    def job(self, results: Path) -> TablesJob:
        """Return the job as it was run, seed and all, while its files are there."""
        return read_tables_job(results / self.id / "job.toml")


class Several:
    """Several tables that hang together; safe to use from several threads.

    Args:
        folder: the private folder.

    Attributes:
        opened: where each table is, by its name.
        job: what the page says about them.
        tables: those that are read.
        runs: the latest first.
        revision: goes up with every change.
        ended: whether nothing is written any more.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lock = threading.RLock()
        self.opened: dict[str, Opened] = {}
        self.job = empty_job()
        self.tables: dict[str, OpenedTable] = {}
        self.runs: list[TablesRun] = []
        self.revision = 0
        self._placed: set[str] = set()  # tables whose place somebody has said
        self._secrets: dict[str, str] = {}
        self.ended = False
        self._load()

    # -- tables ----------------------------------------------------------------------------------

    @property
    def unread(self) -> list[str]:
        """The tables that are still to be read; copies that the end of a server removed are not."""
        return [
            name
            for name, each in self.opened.items()
            if name not in self.tables and not each.lacks_copy
        ]

    @property
    def missing(self) -> list[str]:
        """The names of files that have to be dropped again."""
        return [each.name for each in self.opened.values() if each.lacks_copy]

    def add(self, *opened: Opened) -> None:
        """Add tables, or copies that were removed at the end of a server.

        Raises:
            OptionError: there is a table of such a name.
        """
        with self.lock:
            found: dict[str, Opened] = {}
            for each in opened:
                name = table_name(each.name)
                before = self.opened.get(name)
                if name in found or (before is not None and not before.lacks_copy):
                    raise OptionError(
                        "There is a table {name!r} already; take it away first, or give the file "
                        "another name.",
                        name=name,
                    )
                found[name] = each if before is None else replace(each, id=before.id)
            for name, each in found.items():
                self.opened[name] = each
                said = self.job.tables.get(name, TableOfJob())
                self._say(name, replace(said, read={**said.read, "path": each.path}))

    def remove(self, name: str) -> None:
        """Take a table away; what hangs from it hangs from nothing.

        Raises:
            OptionError: there is no such table.
        """
        with self.lock:
            self._known(name)
            gone = self.opened.pop(name)
            self._remove_copies([gone])
            self.tables.pop(name, None)
            self._placed.discard(name)
            self._secrets.pop(name, None)
            kept = {each: said for each, said in self.job.tables.items() if each != name}
            for each, said in kept.items():
                if said.of is not None and said.of.partition(".")[0] == name:
                    column = said.link or said.of.partition(".")[2]
                    columns = {**said.columns, column: JobColumn(role=Role.DROP)}
                    kept[each] = replace(said, of=None, link=None, columns=columns)
            self.change(replace(self.job, tables=kept))

    def take_job(self, job: TablesJob, inputs: Mapping[str, Input]) -> None:
        """Open the tables of a job, in place of those that are open.

        Args:
            job: what is said about them.
            inputs: where each is and how it is read.
        """
        with self.lock:
            self.clear()
            tables = {}
            for name, source in inputs.items():
                assert source.path is not None
                path = source.path
                if is_database(path):
                    self._secrets[name], path = path, typed_name(path)
                    self.opened[name] = Opened(kind="database", name=path, path=path)
                else:
                    path = str(Path(path).resolve())
                    self.opened[name] = Opened(kind="file", name=Path(path).name, path=path)
                read = {
                    option: getattr(source, option)
                    for option, row in INPUT_OPTIONS.items()
                    if option != "missing_values" and getattr(source, option) != row.default
                }
                tables[name] = replace(job.tables[name], read={**read, "path": path})
            shared = Input(missing_values=job.input.missing_values)
            self._placed = set(tables)
            self.change(replace(job, tables=tables, input=shared, output=_about(job.output)))

    def take_settings(self, job: TablesJob, may_open: Callable[[str], str]) -> None:
        """Take what a job says about the tables that are open.

        Args:
            job: what it says.
            may_open: returns a file that it names, or refuses it.

        Raises:
            OptionError: it is about others, or names a file that a page may not open.
        """
        with self.lock:
            if set(job.tables) != set(self.opened):
                raise OptionError(
                    "The job file speaks of tables {said}; open these, and drop it then.",
                    said=", ".join(map(repr, job.tables)),
                )
            mine = self.files()
            tables = {
                name: replace(
                    said,
                    read=self.job.tables[name].read,
                    columns={
                        column: replace(one, hierarchy=self._tree(name, column))
                        if isinstance(one.hierarchy, Path)
                        else one
                        for column, one in said.columns.items()
                    },
                )
                for name, said in job.tables.items()
            }
            self._placed = set(tables)
            options = {n: v for n, v in job.options.items() if n != "person_key"}
            said = replace(self.job, tables=tables, options=options)
            self.change(said.with_files(lambda name: name if name in mine else may_open(name)))

    def _tree(self, name: str, column: str) -> Any:
        """Return the hierarchy that a column has: files of others are not opened."""
        return self.job.tables[name].columns.get(column, JobColumn()).hierarchy

    def inputs(self) -> dict[str, Input]:
        """Return how each table that is still to be read is read, passwords and all."""
        with self.lock:
            return {
                name: Input(
                    **{**self.job.tables[name].read, **self._secret(name)},
                    missing_values=self.job.input.missing_values,
                )
                for name in self.unread
            }

    def take(self, found: Mapping[str, OpenedTable]) -> None:
        """Take tables that were read, and propose what nobody has said of them."""
        with self.lock:
            self.tables.update({name: each for name, each in found.items() if name in self.opened})
            fresh = [name for name in found if name in self.opened and name not in self._placed]
            for name in found:
                if name in self._placed:
                    self._check_columns(name)
            if fresh:
                self._propose(fresh)

    def _check_columns(self, name: str) -> None:
        said, names = self.job.tables[name], self.tables[name].names
        spoken = [*said.columns, *(each for each in (said.key, said.link) if each)]
        unknown = [each for each in spoken if each not in names]
        if unknown:
            raise OptionError(
                "The settings of table {name!r} speak of {n} columns that it does not have (the "
                "first is {unknown!r}).",
                name=name,
                n=len(unknown),
                unknown=unknown[0],
            )

    def _propose(self, fresh: Iterable[str]) -> None:
        """Propose places of tables and roles of columns; what was chosen stays."""
        frames = {name: each.frame for name, each in self.tables.items()}
        places = propose_links(frames)
        tables = dict(self.job.tables)
        for name in self.tables:
            if name in self._placed:
                continue
            tables[name] = self._proposed(name, places[name], tables[name], places)
        k = max(_FEWEST, self._main_k(tables))
        missing = {
            text
            for name in fresh
            for text in self.tables[name].suggestion.missing_values or ()
            if text
        }
        texts = tuple(sorted({*(self.job.input.missing_values or ()), *missing} - {""}))
        shared = replace(self.job.input, missing_values=("", *texts) if texts else None)
        options = {"k": k, **self.job.options}
        self.change(replace(self.job, tables=tables, input=shared, options=options))

    def _main_k(self, tables: Mapping[str, TableOfJob]) -> int:
        tops = [name for name in self.tables if tables[name].of is None]
        return min((self.tables[name].suggestion.k for name in tops), default=_FEWEST)

    def _proposed(
        self, name: str, place: Place, said: TableOfJob, places: Mapping[str, Place]
    ) -> TableOfJob:
        table = self.tables[name]
        of = None if place.above is None else f"{place.above}.{places[place.above].key}"
        link = place.link if of is not None and place.link != of.partition(".")[2] else None
        columns, items = {}, []
        keys = {place.key, place.link}
        for guess in table.suggestion.columns:
            if guess.name in keys:
                continue
            if guess.name in place.others:
                columns[guess.name] = JobColumn(role=Role.DROP)
            elif is_list_of_codes(table, guess.name) and guess.role is not Role.IDENTIFIER:
                columns[guess.name] = JobColumn(role=Role.QUASI_IDENTIFIER)
                items.append(guess.name)
            else:
                columns[guess.name] = self.proposed_column(name, guess, is_event=of is not None)
        if not any(each.role is Role.QUASI_IDENTIFIER for each in columns.values()):
            # somebody knows these rows: a code that comes again and again names nobody
            for column in (each for each, one in columns.items() if one.role is Role.IDENTIFIER):
                cells = table.frame.get_column(column)
                if 2 * cells.n_unique() <= len(cells):
                    guess = guess_column(cells, Role.QUASI_IDENTIFIER)
                    columns[column] = self.proposed_column(name, guess, is_event=True)
        return replace(said, key=place.key, of=of, link=link, columns=columns, items=tuple(items))

    def proposed_column(self, name: str, guess: Guess, *, is_event: bool) -> JobColumn:
        """Return what is proposed for a column: what tells of an event is known to others."""
        role = guess.role
        if is_event and role is Role.SENSITIVE:
            role = Role.QUASI_IDENTIFIER
        if role is Role.PERSON:
            role = Role.DROP  # a person is a row of the first table
        table = self.tables[name]
        if role is not guess.role and role is Role.QUASI_IDENTIFIER:
            guess = guess_column(table.frame.get_column(guess.name), role)
        hierarchy: Any = None
        if role is Role.QUASI_IDENTIFIER and guess.uses_hierarchy:
            hierarchy = guess.rule
            if hierarchy is None and guess.hierarchy is not None:
                hierarchy = self._tree_file(name, guess.name)
                guess.hierarchy.to_csv(hierarchy)
        quasi = role is Role.QUASI_IDENTIFIER
        details = table.suggestion.details_of(replace(guess, role=role)) if quasi else {}
        details.pop("dates", None)  # days of several tables cannot be moved together
        return JobColumn(
            role=role,
            kind=guess.kind if quasi else None,
            order=guess.order if quasi else None,
            hierarchy=hierarchy,
            **details,
        )

    def _tree_file(self, name: str, column: str) -> Path:
        folder = self.folder / "hierarchies" / self.opened[name].id
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder / f"column_{self.tables[name].names.index(column) + 1}.csv"

    # -- the job ---------------------------------------------------------------------------------

    def change(self, job: TablesJob) -> None:
        """Put another job in place of the present one, and save it."""
        with self.lock:
            self.job = job
            self.revision += 1
            self._save()

    def say(self, name: str, said: TableOfJob) -> None:
        """Take what somebody says about one table."""
        with self.lock:
            self._known(name)
            self._placed.add(name)
            self._say(name, said)

    def _say(self, name: str, said: TableOfJob) -> None:
        self.change(replace(self.job, tables={**self.job.tables, name: said}))

    def _known(self, name: str) -> None:
        if name not in self.opened:
            raise OptionError("There is no such table here.")

    def runnable(self) -> TablesJob:
        """Return the job with passwords of databases, if there are any. Never shown."""
        with self.lock:
            tables = {
                name: replace(said, read={**said.read, **self._secret(name)})
                for name, said in self.job.tables.items()
            }
            return replace(self.job, tables=tables)

    def _secret(self, name: str) -> dict[str, str]:
        return {"path": self._secrets[name]} if name in self._secrets else {}

    @property
    def settings(self) -> str:
        """The job without what it writes, to tell settings from others."""
        return format_tables_job(replace(self.job, output=Output()))

    def portable(self, job: TablesJob) -> dict[str, bytes]:
        """Return a job file as its owner saves it elsewhere, and the hierarchies that it names."""
        trees: dict[str, Path] = {}
        tables = {}
        for name, said in job.tables.items():
            columns = dict(said.columns)
            for column, one in columns.items():
                if isinstance(one.hierarchy, Path):
                    plain = free_name(f"{name}-{one.hierarchy.name}", trees)
                    trees[plain] = one.hierarchy
                    columns[column] = replace(one, hierarchy=Path("hierarchies") / plain)
            read = {**said.read, "path": self.opened[name].name}
            tables[name] = replace(said, columns=columns, read=read)
        output = replace(
            _about(job.output),
            table=_TABLES,
            report="report.html",
            certificate="certificate.json",
            audit=job.output.audit,
        )
        text = format_tables_job(replace(job, tables=tables, output=output))
        files = {f"hierarchies/{plain}": path.read_bytes() for plain, path in trees.items()}
        return {"job.toml": text.encode(), **files}

    def files(self) -> set[str]:
        """Return the files that the job names."""
        return set(self.job.files())

    # -- runs ------------------------------------------------------------------------------------

    def find_run(self, run_id: str) -> TablesRun:
        """Return a run by its id.

        Raises:
            OptionError: there is none.
        """
        for run in self.runs:
            if run.id == run_id:
                return run
        raise OptionError("There is no such run any more.")

    def is_current(self, run: TablesRun) -> bool:
        """Tell whether a run is of the settings as they are now."""
        return run.settings == self.settings

    def record(self, run: TablesRun, results: Path) -> None:
        """Add a run; the oldest one goes, with its files, when there are too many."""
        with self.lock:
            self.runs = [run, *self.runs]
            for old in self.runs[_MOST_RUNS:]:
                shutil.rmtree(results / old.id, ignore_errors=True)
            self.runs = self.runs[:_MOST_RUNS]
            self._save()

    def go_back(self, run: TablesRun) -> None:
        """Take the settings of a run again.

        Raises:
            JobError: a hierarchy file that it names is gone.
        """
        with self.lock, tempfile.TemporaryDirectory(dir=self.folder) as folder:
            path = Path(folder) / "job.toml"
            path.write_text(run.settings, encoding="utf-8")
            job = read_tables_job(path)
            if set(job.tables) != set(self.opened):
                raise OptionError("This run was of other tables.")
            self.change(replace(job, output=self.job.output))

    # -- the folder ------------------------------------------------------------------------------

    def clear(self) -> None:
        """Close all tables, and forget what was said of them; files of runs go, too."""
        with self.lock:
            self._remove_copies(self.opened.values())
            for run in self.runs:
                shutil.rmtree(self.folder / "results" / run.id, ignore_errors=True)
            self.opened, self.tables, self.runs = {}, {}, []
            self._placed, self._secrets = set(), {}
            self.change(empty_job())

    def _remove_copies(self, gone: Iterable[Opened]) -> None:
        for each in gone:
            shutil.rmtree(self.folder / "hierarchies" / each.id, ignore_errors=True)
            if each.kind == "copy":
                shutil.rmtree(Path(each.path).parent, ignore_errors=True)

    def _load(self) -> None:
        try:
            plain = json.loads((self.folder / _STATE).read_bytes())
            if plain["version"] != _VERSION:
                return
            opened = {name: Opened(**each) for name, each in plain["opened"].items()}
            job = read_tables_job(self.folder / _JOB) if opened else empty_job()
            runs = [_run_of(each) for each in unpacked(plain["runs"])]
            placed = set(plain["placed"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError, JobError):
            return  # whoever damaged it: a page that starts anew is better than none at all
        self.opened, self.job, self.runs, self._placed = opened, job, runs, placed

    def _save(self) -> None:
        from shoal.io.atomic import AtomicGroup

        plain = {
            "version": _VERSION,
            "opened": {name: asdict(each) for name, each in self.opened.items()},
            "placed": sorted(self._placed),
            "runs": packed([asdict(run) for run in self.runs]),
        }
        if self.ended:
            return
        if not self.opened:
            for name in SEVERAL_FILES:
                (self.folder / name).unlink(missing_ok=True)
            return
        with AtomicGroup() as group:
            group.add(self.folder / _JOB, format_tables_job(self.job, folder=self.folder))
            group.add(self.folder / _STATE, json.dumps(plain, ensure_ascii=False, indent=1))


def _run_of(plain: Mapping[str, Any]) -> TablesRun:
    tables = tuple(tuple(each) for each in plain["tables"])
    lists = {name: tuple(plain[name]) for name in ("checks", "warnings")}
    return TablesRun(**{**plain, **lists, "tables": tables})


def _about(output: Output) -> Output:
    """Return what the owner says about the release, and its format, without where it goes."""
    kept = ("format", "title", "owner", "purpose", "language", "audit")
    return Output(**{name: getattr(output, name) for name in kept})


def table_name(file: str) -> str:
    """Return what a table in a file of this name is called."""
    name = Path(file).name
    for ending in COMPRESSIONS:
        name = name.removesuffix(ending)
    return Path(name).stem.strip(". ") or "table"


def is_list_of_codes(table: OpenedTable, name: str) -> bool:
    """Tell whether the cells of a column are lists, or texts with ``|`` between codes."""
    import polars as pl

    column = table.frame.get_column(name)
    if isinstance(column.dtype, pl.List):
        return column.dtype.inner == pl.String
    return column.dtype == pl.String and bool(column.str.contains("|", literal=True).any())


def run_tables_in(results: Path, job: TablesJob, settings: str, progress: Report) -> TablesRun:
    """Run a job of several tables with files of its own.

    Args:
        results: the folder of all results.
        job: what to run; its outputs go to a new folder. Without a seed it gets one.
        settings: the job as the page shows it.
        progress: told how far it is; what it raises stops the run, and nothing is left.

    Raises:
        ShoalError: as `run_tables_job`.
    """
    from time import monotonic

    from shoal.run.tables_job import run_tables_job

    folder, began = results / secrets.token_hex(8), monotonic()
    folder.mkdir(mode=0o700, parents=True)
    seed = job.options.get("seed")
    output = replace(
        job.output,
        table=str(folder / _TABLES),
        report=str(folder / "report.html"),
        certificate=str(folder / "certificate.json"),
    )
    options = {**job.options, "seed": secrets.randbits(62) if seed is None else seed}
    asked = replace(job, options=options, output=output)
    try:
        release = run_tables_job(asked, progress=progress).release
        text = format_tables_job(replace(asked, tables=_without_passwords(asked)))
        (folder / "job.toml").write_text(text, encoding="utf-8")
        (folder / "job.toml").chmod(0o600)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return TablesRun(
        id=folder.name,
        when=datetime.now(UTC).isoformat(timespec="seconds"),
        settings=settings,
        k=release.k,
        attacker=release.attacker,
        checks=tuple(check.sentence for check in release.verification.checks),
        tables=tuple(
            (name, each.n_published, each.n_suppressed, float(each.facts.scores["ncp"]))
            for name, each in release.releases.items()
        ),
        warnings=release.warnings,
        seconds=round(monotonic() - began, 2),
        attacked=output.audit,
    )


def _without_passwords(job: TablesJob) -> dict[str, TableOfJob]:
    def shown(path: str) -> str:
        return typed_name(path) if is_database(path) else path

    return {
        name: replace(said, read={**said.read, "path": shown(said.read["path"])})
        for name, said in job.tables.items()
    }
