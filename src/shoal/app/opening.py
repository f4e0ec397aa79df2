"""Tables on their way in, the open table in memory, and work that was put aside.

A table is read before it takes the place of another, so that one that cannot be read costs
nothing. The work on the other is put aside: its settings and what pages remember of it go to a
folder of their own, to be reopened.

What was counted once of the open table is remembered: a page asks again and again, and columns do
not change.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import secrets
import shutil
import threading
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.app.access import Opened
from shoal.errors import JobError, OptionError
from shoal.io.formats import COMPRESSIONS, ENDINGS
from shoal.io.overwrite_guard import HowRead, watching_inputs
from shoal.messages import packed, unpacked
from shoal.profile.guess import spread_cells
from shoal.profile.suggest import Suggestion, look_at
from shoal.settings.files import INPUT_OPTIONS, Input
from shoal.settings.inputs import missing_texts, renamed
from shoal.settings.job_file import format_job, read_job

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl
    from numpy.typing import NDArray

    from shoal.runtime.progress import Report
    from shoal.settings.job import Job

_VERSION = 1
_JOB, _STATE = "job.toml", "state.json"
STATE_FILES = (_JOB, _STATE)
_COUNT = itertools.count(1)


def with_input(job: Job, **changes: Any) -> Job:
    """Return a job that reads its table differently."""
    said = {name: getattr(job.input, name) for name in INPUT_OPTIONS}
    return job.replaced(input=Input(**{**said, **changes}))


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


JOB_ENDING = ".toml"


def kind_of(entry: os.DirEntry[str]) -> str:
    """Return what an entry of a folder is to the page: a folder, a table, a job or nothing."""
    with contextlib.suppress(OSError):
        if entry.is_dir():
            return "folder"
        name = entry.name.lower()
        for ending in COMPRESSIONS:
            name = name.removesuffix(ending)
        if name.endswith(tuple(ENDINGS)):
            return "table"
        if name.endswith(JOB_ENDING):
            return "job"
    return ""


_MOST_BARS = 16
_MOST_VALUES = 7
_LONGEST_CELL = 120
_COUNTS_KEPT = 4_000
_KEYS_KEPT = 64  # columns whose keys are remembered; eight bytes a row each


@dataclass(frozen=True)
class Picture:
    """How the values of a column are spread.

    Attributes:
        bars: a label and a number of rows each; of numbers and dates from low to high.
        in_order: whether the bars have an order, so that they stand side by side.
        missing: how many rows have no value.
        n_values: how many different values there are.
        ends: the lowest and the highest value, where there is an order.
    """

    bars: tuple[tuple[str, int], ...]
    in_order: bool
    missing: int
    n_values: int
    ends: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class Unique:
    """How unique people are by some columns.

    Attributes:
        n_rows: rows in all.
        alone: rows that nobody shares all these values with.
        small: rows in groups of 2 up to k - 1.
        large: rows in groups of k and more.
        n_groups: how many different combinations there are.
    """

    n_rows: int
    alone: int
    small: int
    large: int
    n_groups: int


@dataclass(eq=False)
class OpenedTable:
    """A table, what it is guessed to be, and how it was read.

    Attributes:
        frame: the table.
        suggestion: the guess for each column.
        how: how its text was read, if it is text.
        notes: what people should know about how it was read.
        doubtful: names of columns that may be cells of a first line that is data.
        rename: new names of columns, by what the file calls them.
    """

    frame: pl.DataFrame
    suggestion: Suggestion
    how: HowRead = field(default_factory=HowRead)
    notes: tuple[str, ...] = ()
    doubtful: tuple[str, ...] = ()
    rename: Mapping[str, str] | None = None
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _pictures: dict[str, Picture] = field(default_factory=dict)
    _keys: dict[str, NDArray[np.uint64]] = field(default_factory=dict)
    _counted: dict[tuple[Any, ...], Any] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return self.frame.height

    @property
    def names(self) -> list[str]:
        """The columns, in table order."""
        return self.frame.columns

    def called(self, rename: Mapping[str, str] | None) -> OpenedTable:
        """Return the table with these new names of columns and no others; nothing is read anew.

        Raises:
            OptionError: there is no such column, or a new name is that of another one.
        """
        if rename == self.rename:
            return self
        first = {new: old for old, new in (self.rename or {}).items()}
        names = renamed([first.get(name, name) for name in self.names], rename)
        now = dict(zip(self.names, names, strict=True))
        guessed = self.suggestion
        with self._lock:
            return replace(
                self,
                frame=self.frame.rename(now),
                suggestion=replace(
                    guessed,
                    columns=tuple(replace(each, name=now[each.name]) for each in guessed.columns),
                    details={
                        option: {now[name]: each for name, each in found.items()}
                        for option, found in guessed.details.items()
                    },
                    others={now[name]: each for name, each in guessed.others.items()},
                ),
                rename=rename,
                _lock=threading.RLock(),
                _pictures={now[name]: each for name, each in self._pictures.items()},
                _keys={now[name]: each for name, each in self._keys.items()},
                _counted={
                    (what, *sorted(now[name] for name in columns)): each
                    for (what, *columns), each in self._counted.items()
                },
            )

    def rows(self, first: int, count: int) -> list[list[str | None]]:
        """Return some rows as texts; None is a missing value."""
        part = self.frame.slice(first, count)
        columns = [[_text(value) for value in column.to_list()] for column in part.get_columns()]
        return [list(row) for row in zip(*columns, strict=True)]

    def picture(self, name: str) -> Picture:
        """Return how the values of a column are spread."""
        with self._lock:
            if name not in self._pictures:
                self._pictures[name] = _picture(self.frame.get_column(name))
            return self._pictures[name]

    def unique(self, columns: tuple[str, ...], k: int) -> Unique:
        """Return how unique people are by these columns together."""
        sizes = self._remembered(("sizes", *sorted(columns)), lambda: self._sizes(columns))
        rows = sizes.astype(np.int64)
        alone = int(rows[rows == 1].sum())
        small = int(rows[(rows > 1) & (rows < k)].sum())
        return Unique(self.n_rows, alone, small, self.n_rows - alone - small, len(rows))

    def alone(self, columns: tuple[str, ...]) -> int:
        """Return how many rows nobody shares the values of all these columns with."""
        key = ("alone", *sorted(columns))
        return int(self._remembered(key, lambda: int(self._combined(columns).is_unique().sum())))

    def _sizes(self, columns: tuple[str, ...]) -> NDArray[np.int64]:
        """Return the number of rows of every combination of values that occurs."""
        found = self._combined(columns).value_counts(name="rows")
        return found.get_column("rows").to_numpy().astype(np.int64)

    def _combined(self, columns: tuple[str, ...]) -> pl.Series:
        """Return a number for the values of these columns in each row; equal ones are equal."""
        import polars as pl

        total = np.zeros(self.n_rows, np.uint64)
        for name in columns:
            total += self._key(name)
        return pl.Series("key", total)

    def _key(self, name: str) -> NDArray[np.uint64]:
        with self._lock:
            if name not in self._keys:
                if len(self._keys) >= _KEYS_KEPT:
                    self._keys.pop(next(iter(self._keys)))
                column = self.frame.get_column(name)
                nested = column.dtype.is_nested()
                self._keys[name] = (
                    np.zeros(len(column), np.uint64) if nested else spread_cells(column)
                )
            return self._keys[name]

    def _remembered(self, key: tuple[Any, ...], count: Any) -> Any:
        with self._lock:
            if key not in self._counted:
                if len(self._counted) >= _COUNTS_KEPT:
                    self._counted.clear()
                self._counted[key] = count()
            return self._counted[key]


def open_table(source: Input, report: Report) -> OpenedTable:
    """Read a table, guess what its columns are, and count what the first page shows.

    Raises:
        ShoalError: it cannot be read.
    """
    import shoal.engine.local  # noqa: F401 - here progress is shown; later a page would wait for it
    from shoal.errors import OptionError

    if source.path is None:
        raise OptionError("Open a table: a file, or a table of a database.")
    report(0, 0, "reading")
    with watching_inputs() as watch:
        given = None if source.missing_values is None else missing_texts(source)
        suggestion, frame = look_at(replace(source, missing_values=given), report)
        found = [*watch.how_read.values()]
        table = OpenedTable(
            frame,
            suggestion,
            found[-1] if found else HowRead(),
            tuple(watch.notes),
            tuple(watch.doubtful),
            source.rename,
        )
    for number, name in enumerate(frame.columns, start=1):
        report(number, frame.width, "looking")
        table.picture(name)
        table.alone((name,))
    return table


def _picture(column: pl.Series) -> Picture:
    import polars as pl

    if column.dtype.is_float():
        column = column.fill_nan(None)
    filled = column.drop_nulls()
    missing = len(column) - len(filled)
    if column.dtype.is_nested() or filled.is_empty():
        return Picture((), in_order=False, missing=missing, n_values=0)
    n_values = filled.n_unique()
    ordered = column.dtype.is_numeric() or column.dtype.is_temporal()
    if ordered and n_values > _MOST_BARS:
        ends = (_text(filled.min()) or "", _text(filled.max()) or "")
        return Picture(tuple(_steps(filled)), True, missing, n_values, ends)
    counts = filled.alias("value").value_counts(sort=True, name="rows")
    shown = counts.sort("value") if ordered else counts.head(_MOST_VALUES)
    texts = [_text(value) or "" for value in shown.get_column("value").cast(pl.String).to_list()]
    rows = [int(each) for each in shown.get_column("rows").to_list()]
    bars = tuple(zip(texts, rows, strict=True))
    return Picture(bars, ordered, missing, n_values, (texts[0], texts[-1]))


def _steps(filled: pl.Series) -> list[tuple[str, int]]:
    """Return how many values lie in each of some steps of equal width."""
    import polars as pl

    numbers = filled.to_physical() if filled.dtype.is_temporal() else filled
    values = numbers.cast(pl.Float64).to_numpy()
    values = values[np.isfinite(values)]
    if not len(values):
        return []
    low, high = float(values.min()), float(values.max())
    if low == high:
        return [(_text(filled[0]) or "", len(values))]
    with np.errstate(over="ignore"):
        counts, edges = np.histogram(values / 2, _MOST_BARS, (low / 2, high / 2))
    labels = [_edge(2 * edge, filled) for edge in edges]
    return [
        (f"{labels[place]} to {labels[place + 1]}", int(count))
        for place, count in enumerate(counts)
    ]


def _edge(value: float, column: pl.Series) -> str:
    import polars as pl

    if column.dtype.is_temporal():
        physical = pl.Series([round(value)], dtype=column.to_physical().dtype)
        text = str(physical.cast(column.dtype)[0])
        return text[:16]
    return f"{round(value):,}" if abs(value) >= 100 else f"{value:.3g}"


def _text(value: Any) -> str | None:
    """Return a cell as a page shows it."""
    if value is None:
        return None
    text = str(value)
    return text if len(text) <= _LONGEST_CELL else text[: _LONGEST_CELL - 1] + "…"
