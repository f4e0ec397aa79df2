"""Several algorithms, sizes of k and measures on one table, side by side; resumes.

The *frontier* is the smallest loss that any algorithm reaches at each k. Its *knee* is the point
furthest from the chord between the frontier's ends, with log k and loss each scaled to 0 … 1: of
the points below the chord if there are any (up to the knee more privacy is cheap, beyond it
every step costs more), otherwise of those above it (beyond it more privacy gets cheaper).
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import product
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from shoal.errors import DataError, OptionError, ShoalError, did_you_mean
from shoal.io.limits import limit
from shoal.io.overwrite_guard import refuse_input
from shoal.messages import Message
from shoal.runtime.progress import Report, watching
from shoal.runtime.threads import run_side_by_side
from shoal.settings.request import build_request
from shoal.table.dates import move_dates
from shoal.table.frames import to_polars
from shoal.table.schema import Role

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import polars as pl

    from shoal.settings.request import Request
    from shoal.table.schema import Schema


COUNT_ERROR = "count-error"
"""The score that says how far random counts are off."""
_FORMAT = 1
"""Of the lines of the results file; part of every key."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One run.

    Attributes:
        key: digest of the table, the roles and all options of the run.
        algorithm: its name.
        k: of the run.
        measure: what was minimised.
        loss: value of that measure; None if there is no release.
        scores: the usual measures.
        n_groups: number of groups.
        n_suppressed: rows left out.
        smallest_group: rows of the smallest group of the published table.
        seconds: how long it took.
        error: why there is no release.
    """

    key: str
    algorithm: str
    k: int
    measure: str
    loss: float | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    n_groups: int | None = None
    n_suppressed: int | None = None
    smallest_group: int | None = None
    seconds: float = 0.0
    error: str | None = None


@dataclass(frozen=True, eq=False)
class Comparison:
    """All runs, by algorithm, k and measure in the order asked for."""

    outcomes: tuple[Outcome, ...]
    n_rows: int
    n_resumed: int = 0

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures that were minimised."""
        return tuple(dict.fromkeys(outcome.measure for outcome in self.outcomes))

    @property
    def algorithms(self) -> tuple[str, ...]:
        """The algorithms."""
        return tuple(dict.fromkeys(outcome.algorithm for outcome in self.outcomes))

    def frontier(self, measure: str | None = None) -> tuple[Outcome, ...]:
        """Return the run with the smallest loss at each k, k ascending."""
        name = self.measures[0] if measure is None else measure
        best: dict[int, Outcome] = {}
        for outcome in self.outcomes:
            if outcome.measure != name or outcome.loss is None:
                continue
            holder = best.get(outcome.k)
            if holder is None or holder.loss is None or outcome.loss < holder.loss:
                best[outcome.k] = outcome
        return tuple(best[k] for k in sorted(best))

    def knee(self, measure: str | None = None) -> Outcome | None:
        """Return the knee of the frontier, as the module defines it; None if there is none."""
        frontier = self.frontier(measure)
        place = find_knee([o.k for o in frontier], [float(o.loss or 0.0) for o in frontier])
        return None if place is None else frontier[place]

    def to_polars(self) -> pl.DataFrame:
        """Return one row per run."""
        import polars as pl

        names = sorted({name for outcome in self.outcomes for name in outcome.scores})
        rows = [
            {
                "algorithm": o.algorithm,
                "k": o.k,
                "measure": o.measure,
                "loss": o.loss,
                "n_groups": o.n_groups,
                "n_suppressed": o.n_suppressed,
                "smallest_group": o.smallest_group,
                "seconds": o.seconds,
                "error": o.error,
                **{name: o.scores.get(name) for name in names},
            }
            for o in self.outcomes
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def report(self, path: str | PathLike[str]) -> None:
        """Write a self-contained HTML page with the frontier as a picture and a table."""
        from shoal.io.atomic import atomic_write_text
        from shoal.study.frontier import render_comparison

        atomic_write_text(path, render_comparison(self))

    def __repr__(self) -> str:
        """Return one line."""
        return f"<Comparison of {len(self.outcomes)} runs on {self.n_rows:,} rows>"


def compare(
    frame: Any,
    *,
    k: int | Iterable[int] = (2, 5, 10, 25, 50),
    algorithms: str | Iterable[str] = ("auto", "k-member", "sequential", "mondrian"),
    measures: str | Iterable[str] = ("ncp",),
    out: str | PathLike[str] | None = None,
    workers: int | None = None,
    use: bool = False,
    progress: bool | Callable[[int, int, str], None] = False,
    **options: Any,
) -> Comparison:
    """Run several algorithms with several k and measures on one table.

    Args:
        frame: pandas, polars or pyarrow.
        k: one or more sizes of the smallest group.
        algorithms: names of ``shoal.algorithms()``.
        measures: what is minimised; cost measures of ``shoal.measures()``.
        out: a file of results, one JSON line per run, appended as runs finish. Runs that it
            already holds (same table, roles and options) are not run again.
        workers: how many runs at a time; all cores by default.
        use: True also asks every release for random counts (`shoal.utility`); the median error
            becomes the score ``count-error``, and the report draws it over k.
        progress: True for a bar, or a function of (done, total, what).
        options: the other options of ``shoal.anonymize``; the same seed is used for every run,
            0 unless given. Options of an algorithm or measure go to the runs that have them.

    A run that cannot keep its promise is part of the result, with its error.

    Raises:
        OptionError: an option is wrong; found out before the first run.
    """
    sizes = tuple(dict.fromkeys([k] if isinstance(k, int) else k))
    names = _names(algorithms, "algorithms"), _names(measures, "measures")
    if not sizes:
        raise OptionError("k must hold at least one size.")
    return compare_request(
        frame,
        build_request({"seed": 0, **options, "k": sizes[0]}),
        k=sizes,
        algorithms=names[0],
        measures=names[1],
        out=out,
        workers=workers,
        use=use,
        progress=progress,
    )


def compare_request(
    frame: Any,
    asked: Request,
    *,
    k: Sequence[int],
    algorithms: Sequence[str],
    measures: Sequence[str],
    out: str | PathLike[str] | None = None,
    workers: int | None = None,
    use: bool = False,
    progress: bool | Callable[[int, int, str], None] = False,
) -> Comparison:
    """Run several algorithms with several k and measures as a request asks; see `compare`."""
    from shoal.algorithm.warm_up import compile_ahead

    _check_options(asked, algorithms, measures)
    table = to_polars(frame)
    schema = asked.schema(table.columns)
    requests = [
        _request(asked, algorithm, size, measure)
        for measure, algorithm, size in product(measures, algorithms, k)
    ]
    digest = _digest_of(table, schema)
    keys = [_key(digest, each) for each in requests]
    ledger = _Ledger(out)
    known = ledger.read()
    if use:  # runs that were not asked for counts are run again
        known = {key: each for key, each in known.items() if COUNT_ERROR in each.scores}
    todo = [number for number, key in enumerate(keys) if key not in known]
    found = {number: known[key] for number, key in enumerate(keys) if key in known}
    n_resumed = len(found)
    moved = move_dates(table, schema)
    tasks = [_task(moved, schema, requests[number], keys[number], use=use) for number in todo]
    n_rows = table.height  # progress is counted in rows, like that of a run
    with watching(progress) as report, ledger:
        # together: each run by itself would leave the other cores waiting
        compile_ahead([requests[number].algorithm for number in todo], report)
        report(n_resumed * n_rows, len(requests) * n_rows, "comparing")
        for place, outcome in run_side_by_side(tasks, workers=workers):
            found[todo[place]] = outcome
            ledger.append(outcome)
            report(len(found) * n_rows, len(requests) * n_rows, "comparing")
    return Comparison(tuple(found[n] for n in range(len(requests))), n_rows, n_resumed)


def find_knee(sizes: Sequence[int], losses: Sequence[float]) -> int | None:
    """Return the place of the knee of a curve (see the module), or None.

    >>> find_knee([2, 4, 8, 16, 32], [0.10, 0.11, 0.12, 0.30, 0.50])
    2
    >>> find_knee([2, 4, 8], [0.1, 0.2, 0.3]) is None
    True
    """
    below = distances(sizes, losses)
    inner = below[1:-1]
    if not inner:
        return None
    best = max(inner)
    if best < 1e-6:
        best = min(inner)
    return None if abs(best) < 1e-6 else 1 + inner.index(best)


def distances(sizes: Sequence[int], losses: Sequence[float]) -> list[float]:
    """Return how far each point lies below the chord, on the scaled axes; empty if there is none.

    On these axes the chord is the diagonal, and (share of log k) − (share of loss) is the
    distance from it, times a constant.
    """
    if len(sizes) < 3:
        return []
    x = [math.log(size) for size in sizes]
    width, height = x[-1] - x[0], losses[-1] - losses[0]
    if not width > 0 or not abs(height) > 0:
        return []
    return [
        (xi - x[0]) / width - (loss - losses[0]) / height
        for xi, loss in zip(x, losses, strict=True)
    ]


def _names(given: str | Iterable[str], option: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys([given] if isinstance(given, str) else given))
    if not names:
        raise OptionError("{option} must name at least one.", option=option)
    return names


def _check_options(asked: Request, algorithms: Sequence[str], measures: Sequence[str]) -> None:
    """Refuse an option that none of the algorithms or measures has: nobody would notice it."""
    from shoal import registry

    own = {f.name for name in algorithms for f in fields(registry.load("algorithms", name))}
    known = {"column"}.union(*(registry.load("measures", name).options for name in measures))
    for given, those, what in (
        (asked.algorithm_options, own, "algorithms"),
        (asked.measure_options, known, "measures"),
    ):
        for option in given:
            if option not in those:
                hint = did_you_mean(option, those)
                raise OptionError(
                    "None of the {what} has the option {option!r}.{hint}",
                    what=what,
                    option=option,
                    hint=hint,
                )


def _request(asked: Request, algorithm: str, k: int, measure: str) -> Request:
    """Return what one run is asked, after a check that its names and options exist."""
    from shoal import registry
    from shoal.algorithm.base import create_algorithm
    from shoal.measure.scores import create_measure

    cls = registry.load("algorithms", algorithm)
    own = {each.name for each in fields(cls)}
    options = {n: v for n, v in asked.algorithm_options.items() if n in own}
    create_algorithm(algorithm, options)
    known = ("column", *registry.load("measures", measure).options)
    measure_options = {n: v for n, v in asked.measure_options.items() if n in known}
    if not create_measure(measure, measure_options).can_minimise:
        raise OptionError(
            "Measure {measure!r} is a score and cannot be minimised.", measure=measure
        )
    return replace(
        asked,
        k=k,
        algorithm=algorithm,
        algorithm_options=options,
        measure=measure,
        measure_options=measure_options,
        threads=1,
        bound=False,  # it is the same for every run, and nobody asks for it
    )


def _task(
    table: pl.DataFrame, schema: Schema, request: Request, key: str, *, use: bool
) -> Callable[[Report], Outcome]:
    def run(progress: Report) -> Outcome:
        from shoal.engine.local import LocalEngine
        from shoal.engine.pipeline import run_pipeline

        outcome = Outcome(
            key=key, algorithm=request.algorithm, k=request.k, measure=request.measure
        )
        try:
            result = run_pipeline(table, schema, request, LocalEngine(), progress=progress)
        except ShoalError as error:
            return replace(outcome, error=str(error))
        scores = dict(result.measured.scores)
        if use:
            from shoal.study.utility import count_error

            published = result.published.frame
            known = result.measured.schema
            scores[COUNT_ERROR] = count_error(table, published, known, request.style)
        return replace(
            outcome,
            loss=result.measured.scores[request.measure],
            scores=scores,
            n_groups=result.measured.n_groups,
            n_suppressed=result.measured.n_suppressed,
            smallest_group=result.verification.smallest_group,
            seconds=result.seconds,
        )

    return run


# -- keys ----------------------------------------------------------------------------------------


def _digest_of(table: pl.DataFrame, schema: Schema) -> str:
    """Return a digest of the columns that matter to a run, and of what they are."""
    sha = hashlib.sha256()
    for column in schema.columns:
        told = {
            "name": column.name,
            "role": column.role.value,
            "kind": None if column.kind is None else column.kind.value,
            "order": column.order,
            "weight": column.weight,
            "grid": str(column.grid),
            "scale": column.scale,
            "dates": column.dates,
            "hierarchy": None if column.hierarchy is None else column.hierarchy.to_paths(),
        }
        sha.update(json.dumps(told, ensure_ascii=True).encode())
        series = table.get_column(column.name)
        if column.role in (Role.QUASI_IDENTIFIER, Role.SENSITIVE, Role.PERSON):
            sha.update(f"{series.dtype} {len(series)}".encode())
            cells = (None if cell is None else str(cell) for cell in series.to_list())
            sha.update(json.dumps(list(cells), ensure_ascii=True).encode())
    return sha.hexdigest()


def _key(digest: str, request: Request) -> str:
    told = {
        "format": _FORMAT,
        "table": digest,
        **request.parameters(),
        "seed": request.seed,
    }
    text = json.dumps(told, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


# -- the results file ----------------------------------------------------------------------------


class _Ledger:
    """Results as JSON lines: one write per line, so that a line is whole or absent."""

    def __init__(self, path: str | PathLike[str] | None) -> None:
        self.path = None if path is None else Path(path)
        self.handle = -1

    def read(self) -> dict[str, Outcome]:
        """Return the releases of earlier runs; a line that was cut off is ignored.

        Runs that failed are tried again.
        """
        if self.path is None or not self.path.exists():
            return {}
        most = limit("side")
        try:
            # A device may have no end, and a file that was named by mistake any size.
            with self.path.open("rb") as file:
                data = file.read(most + 1) if self.path.is_file() else None
        except OSError as error:
            raise DataError(
                "{path!r} cannot be read: {strerror}.", path=str(self.path), strerror=error.strerror
            ) from None
        if data is None or len(data) > most:
            raise OptionError(
                "{path!r} is no file of results; give another name for the results.",
                path=str(self.path),
            )
        lines = data.decode(errors="replace").splitlines()
        known = {each.name for each in fields(Outcome)}
        outcomes: dict[str, Outcome] = {}
        n_foreign = 0
        for line in lines:
            try:
                record = json.loads(line)
                outcome = Outcome(**{n: v for n, v in record.items() if n in known})
            except (ValueError, TypeError, AttributeError):
                n_foreign += bool(line.strip())
                continue
            if outcome.error is None:
                outcomes[outcome.key] = outcome
        if n_foreign > 1:  # one may have been cut off; more are somebody else's
            raise OptionError(
                "{path!r} is no file of results; give another name for the results.",
                path=str(self.path),
            )
        return outcomes

    def __enter__(self) -> Self:
        if self.path is not None:
            refuse_input(self.path, Message("the results"))
            try:
                torn = self._is_torn()
                self.handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
                if torn:
                    os.write(self.handle, b"\n")
            except OSError as error:
                raise DataError(
                    "{path!r} cannot be written: {strerror}.",
                    path=str(self.path),
                    strerror=error.strerror,
                ) from None
        return self

    def _is_torn(self) -> bool:
        """Return whether the last line of the file was cut off."""
        assert self.path is not None
        if not self.path.exists() or not self.path.stat().st_size:
            return False
        with self.path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) != b"\n"

    def __exit__(self, *_: object) -> None:
        if self.handle >= 0:
            os.close(self.handle)

    def append(self, outcome: Outcome) -> None:
        """Add one line and force it to the disk."""
        if self.handle >= 0:
            os.write(self.handle, (json.dumps(asdict(outcome)) + "\n").encode())
            os.fsync(self.handle)
