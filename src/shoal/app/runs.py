"""Runs of the job, a history of them to go back to, and measured advice that changes the job.

A run is `run_job` on a job whose files lie in a private folder of its own. What is kept of it in
the state of work are settings and counts; the files last as long as the server.
"""

from __future__ import annotations

import secrets
import shutil
import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from shoal.app.hand_over import RunFiles
from shoal.errors import OptionError, ShoalError
from shoal.publish.release_data import dictionary_of
from shoal.settings.job import JOB_OPTIONS, Job
from shoal.settings.job_file import format_job, read_job
from shoal.table.grid import parse_grid
from shoal.table.schema import COLUMN_ROWS, JobColumn, Kind, Role

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

    from shoal.app.before_after import Beside
    from shoal.app.workspace import Workspace
    from shoal.runtime.progress import Report
    from shoal.settings.request import Request

# The history of runs: kept in the state of work, compared, and gone back to.

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

    from shoal.run.job import run_job

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
        labels = "" if frame is None else dictionary_of(release, release.groups, frame)
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


def settled(request: Request, frame: pl.DataFrame) -> tuple[pl.DataFrame, Any]:
    """Return the table with its dates moved, and roles and kinds of the columns as a run does."""
    import narwhals as nw

    from shoal.table.dates import move_dates
    from shoal.table.infer import infer_kinds, settle_grids

    schema = request.schema(frame.columns)
    frame = move_dates(frame, schema, request.person_key)
    schema = infer_kinds(schema, nw.from_native(frame), request.unknown_values)
    return frame, settle_grids(schema, frame, by_default=request.grids_by_default)


def look_beside(files: RunFiles, job: Job, frame: pl.DataFrame) -> Beside | None:
    """Put the table of a run beside its release; None where it is no longer the same.

    Nor is it where dates were moved under a key that is forgotten.

    Args:
        files: of the run.
        job: as it was run.
        frame: the table, as the job reads it.
    """
    import numpy as np

    from shoal.app.before_after import Beside

    with np.load(files.groups) as stored:
        groups = stored["groups"]
        recoded = {
            name.removeprefix("recoded "): stored[name]
            for name in stored.files
            if name.startswith("recoded ")
        }
    if len(groups) != frame.height:
        return None
    request = job.request()
    if request.style.shuffles:  # cells of a group are not what its rows have in common
        return None
    frame, schema = settled(request, frame)
    if schema.shifted and request.person_key is None:
        return None
    return Beside.of(frame, schema, request, groups, recoded)


def _(text: str) -> str:
    """Mark a text for the message files."""
    return text


NO_CHANGE = _("There is nothing to apply.")
"""Why advice has no button: it recommends no change. What does is done by settings."""


def apply_settings(
    job: Job, settings: Mapping[str, Any], list_values: Callable[[str, str], Path]
) -> Job:
    """Return the job with the settings of one piece of advice.

    Args:
        job: as it is.
        settings: as `shoal.study.findings.Advice` has them.
        list_values: given a column and how its tree is built, writes a hierarchy file and returns
            where it is; for trees that no rule describes.

    Raises:
        OptionError: an option or column is unknown.
    """
    changes: dict[str, Any] = {}
    columns = dict(job.columns)
    for name, value in settings.items():
        if name == "columns":
            for column, said in value.items():
                if column not in columns:
                    raise OptionError(
                        "The job says nothing about a column {column!r}.", column=column
                    )
                columns[column] = _advised(columns[column], column, said, list_values)
        elif name == "privacy":
            changes["privacy"] = (*job.privacy, *value)
        elif name in JOB_OPTIONS:
            changes[name] = value
        else:
            raise OptionError("There is no option {name!r} that advice could set.", name=name)
    return job.replaced(columns=columns, **changes)


def _advised(
    before: JobColumn, name: str, said: Mapping[str, Any], list_values: Callable[[str, str], Path]
) -> JobColumn:
    changes = dict(said)
    tree = changes.get("hierarchy")
    if isinstance(tree, Mapping) and "build" in tree:
        changes["hierarchy"] = list_values(name, str(tree["build"]))
    return changed_column(before, **changes)


def changed_column(before: JobColumn, **changes: Any) -> JobColumn:
    """Return a column with changes, without what would contradict them.

    A column that is not generalised has no details; one with a hierarchy is categorical and has no
    order and nothing that is for lines, as a scale, and no grid but a level of the hierarchy; these
    are for columns without one; only an ordinal column has an order.
    """
    after = replace(before, **changes)
    if "kind" in changes and after.kind not in (None, Kind.ORDINAL):
        after = replace(after, order=None)
    no_words = before.order is not None and after.order is None
    no_tree = after.hierarchy is None and _is_level(after.grid)
    if "grid" not in changes and (no_words or no_tree):
        after = replace(after, grid=None)  # steps of words, or a level of a tree that is gone
    if after.role is not Role.QUASI_IDENTIFIER:
        keep_tree = after.role is Role.SENSITIVE and "role" not in changes
        rows = COLUMN_ROWS.values()
        stays = ["hierarchy"] if keep_tree else []
        stays += [row.name for row in rows if row.is_for(after.role) and row.name != "hierarchy"]
        return replace(after, **{r.name: r.default for r in rows if r.name not in stays})
    if changes.get("hierarchy") is not None:
        grid = changes["grid"] if _is_level(changes.get("grid")) else None
        return replace(after, **_for_lines(), kind=Kind.CATEGORICAL, order=None, grid=grid)
    if after.hierarchy is not None and _is_level(changes.get("grid")):
        return after
    ways = ("grid", *_for_lines(), "order", "kind")
    said = [name for name in ways if changes.get(name) is not None]
    if said and after.kind is not Kind.CATEGORICAL:
        after = replace(after, hierarchy=None)
    elif said and said != ["kind"]:
        after = replace(after, hierarchy=None, kind=None)
    return after


def _for_lines() -> dict[str, Any]:
    """Return the options that columns with a hierarchy do not have, with what they then hold."""
    return {
        row.name: row.default
        for row in COLUMN_ROWS.values()
        if row.fits is not None and not row.fits(Kind.CATEGORICAL)
    }


def _is_level(grid: object) -> bool:
    return grid is not None and parse_grid(grid, column="of a job").level > 0
