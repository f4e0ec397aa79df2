"""Several algorithms, sizes of k, measures and promises on one or more tables; resumes."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from itertools import product
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from shoal.errors import DataError, OptionError, ShoalError, did_you_mean
from shoal.io.atomic import atomic_write_text
from shoal.io.limits import limit
from shoal.io.overwrite_guard import refuse_input
from shoal.io.spelling import read_as_asked
from shoal.messages import Message
from shoal.runtime.progress import Report, watching
from shoal.runtime.threads import run_side_by_side
from shoal.settings.request import build_request, open_populations
from shoal.study.frontier import COUNT_ERROR, Comparison, Outcome, make_folder
from shoal.table.dates import move_dates
from shoal.table.frames import to_polars
from shoal.table.schema import Role

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import polars as pl

    from shoal.privacy import PrivacyModel
    from shoal.settings.request import Request
    from shoal.table.schema import Schema


_FORMAT = 1
"""Of the lines of the results file; part of every key."""


def compare(
    frame: Any,
    *,
    k: int | Iterable[int] = (2, 5, 10, 25, 50),
    algorithms: str | Iterable[str] = ("auto", "k-member", "sequential", "mondrian"),
    measures: str | Iterable[str] = ("ncp",),
    promises: str | Iterable[str] | None = None,
    seeds: int | Iterable[int] | None = None,
    out: str | PathLike[str] | None = None,
    groups: str | PathLike[str] | None = None,
    workers: int | None = None,
    use: bool = False,
    progress: bool | Callable[[int, int, str], None] = False,
    **options: Any,
) -> Comparison:
    """Run several algorithms with several k, measures and promises on one or more tables.

    Args:
        frame: pandas, polars or pyarrow; or several by name, each alone or with options of its own:
            ``{"adult": (adult, {"quasi_identifiers": [...]}), "credit": (credit, {...})}``.
        k: one or more sizes of the smallest group.
        algorithms: names of ``shoal.algorithms()``, each with options of its own where it has any:
            ``"sequential:restarts=3:split=at once"``.
        measures: what is minimised; cost measures of ``shoal.measures()``.
        promises: what is promised beyond k, one after the other: models of
            ``shoal.privacy_models()`` with their options, several joined by ``+``, or ``"none"``:
            ``["none", "l-diversity:l=2", "l-diversity:l=2+t-closeness:t=0.3"]``. Without it every
            run promises what ``privacy`` says.
        seeds: one run for each; losses are then means with 95 % intervals.
        out: a file of results, one JSON line per run, appended as runs finish. Runs that it
            already holds (same table, roles and options) are not run again.
        groups: a folder for the groups of every run, one CSV each: the group of every row of the
            input, -1 for one that is left out. They say which row is whose: keep them.
        workers: how many runs at a time; all cores by default.
        use: True also asks every release for random counts (`shoal.utility`); the median error
            becomes the score ``count-error``, and the report draws it over k.
        progress: True for a bar, or a function of (done, total, what).
        options: the other options of ``shoal.anonymize``; without ``seeds`` every run has the same
            seed, 0 unless given. Options of an algorithm or measure go to the runs that have them.

    A run that cannot keep its promise is part of the result, with its error.

    Raises:
        OptionError: an option is wrong; found out before the first run.
    """
    sizes = tuple(dict.fromkeys([k] if isinstance(k, int) else k))
    grid = Variations(
        k=sizes,
        algorithms=_names(algorithms, "algorithms"),
        measures=_names(measures, "measures"),
        promises=() if promises is None else _names(promises, "promises"),
        seeds=() if seeds is None else (seeds,) if isinstance(seeds, int) else tuple(seeds),
    )
    if not sizes:
        raise OptionError("k must hold at least one size.")
    tables = {}
    for name, given in (frame if isinstance(frame, Mapping) else {"": frame}).items():
        each, own = given if isinstance(given, tuple) else (given, {})
        asked = build_request({"seed": 0, **options, **own, "k": sizes[0]})
        tables[str(name)] = read_as_asked(to_polars(each), asked.details), asked
    if not tables:
        raise OptionError("There is no table to compare on; give at least one.")
    return compare_requests(
        tables, grid, out=out, groups=groups, workers=workers, use=use, progress=progress
    )


@dataclass(frozen=True, kw_only=True)
class Variations:
    """What runs of a comparison differ in; the rest, and what is empty, is as the request says."""

    k: Sequence[int]
    algorithms: Sequence[str]
    measures: Sequence[str]
    promises: Sequence[str] = ()
    seeds: Sequence[int] = ()


@dataclass(frozen=True)
class _Run:
    """What one run is asked, of which table, and how its outcome begins."""

    table: pl.DataFrame
    schema: Schema
    request: Request
    planned: Outcome


def compare_requests(
    tables: Mapping[str, tuple[Any, Request]],
    grid: Variations,
    *,
    out: str | PathLike[str] | None = None,
    groups: str | PathLike[str] | None = None,
    workers: int | None = None,
    use: bool = False,
    progress: bool | Callable[[int, int, str], None] = False,
) -> Comparison:
    """Run what a grid names on tables, each as its request asks; see `compare`."""
    from shoal.algorithm.warm_up import compile_ahead

    runs = [run for name, given in tables.items() for run in _plan(name, *given, grid)]
    folder = None if groups is None else make_folder(groups)
    ledger = _Ledger(out)
    known = ledger.read()
    if use:  # runs that were not asked for counts are run again
        known = {key: each for key, each in known.items() if COUNT_ERROR in each.scores}
    if folder is not None:  # nor those whose groups are not there
        there = {r.planned.key for r in runs if _groups_file(folder, r.planned).exists()}
        known = {key: each for key, each in known.items() if key in there}
    found = {
        n: _called(known[run.planned.key], run.planned)
        for n, run in enumerate(runs)
        if run.planned.key in known
    }
    todo = [number for number in range(len(runs)) if number not in found]
    n_resumed = len(found)
    tasks = [_task(runs[n], folder, use=use) for n in todo]
    # progress is counted in rows, like that of a run
    all_rows, done = sum(r.table.height for r in runs), sum(runs[n].table.height for n in found)
    with watching(progress) as report, ledger:
        # together: each run by itself would leave the other cores waiting
        compile_ahead([runs[number].request.algorithm for number in todo], report)
        report(done, all_rows, "comparing")
        for place, outcome in run_side_by_side(tasks, workers=workers):
            found[todo[place]] = outcome
            ledger.append(outcome)
            done += runs[todo[place]].table.height
            report(done, all_rows, "comparing")
    rows = {name: to_polars(frame).height for name, (frame, _) in tables.items()}
    return Comparison(tuple(found[n] for n in range(len(runs))), rows, n_resumed)


def _called(known: Outcome, planned: Outcome) -> Outcome:
    """Return a known outcome under the names of today; the file may have others."""
    names = {each: getattr(planned, each) for each in ("table", "promise", "algorithm")}
    return replace(known, **names)


def _plan(name: str, frame: Any, asked: Request, grid: Variations) -> list[_Run]:
    """Return the runs of one table."""
    variants = {text: _parse_variant(text, _ALGORITHM) for text in grid.algorithms}
    _check_options(asked, [algorithm for algorithm, _ in variants.values()], grid.measures)
    promised = {text: _parse_promise(text, asked) for text in grid.promises} or {"": asked.privacy}
    table = to_polars(frame)
    schema = asked.schema(table.columns)
    digest, moved = _digest_of(table, schema), move_dates(table, schema)
    seeds: Sequence[int | None] = tuple(dict.fromkeys(grid.seeds)) or (asked.seed,)
    runs = []
    for promise, measure, text, k, seed in product(
        promised, grid.measures, grid.algorithms, grid.k, seeds
    ):
        request = replace(
            _request(asked, variants[text], k, measure), seed=seed, privacy=promised[promise]
        )
        planned = Outcome(
            key=_key(digest, request),
            table=name,
            promise=promise,
            algorithm=text,
            k=k,
            measure=measure,
            seed=seed,
        )
        runs.append(_Run(moved, schema, request, planned))
    return runs


def _groups_file(folder: Path, run: Outcome) -> Path:
    """Return where the groups of a run are kept."""
    parts = (run.table, run.promise, run.algorithm, run.measure, f"k{run.k}", f"seed{run.seed}")
    name = "-".join([*filter(None, parts), run.key[:8]])
    return folder / (re.sub(r"[^\w.=-]+", "_", name) + ".csv")


def _names(given: str | Iterable[str], option: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys([given] if isinstance(given, str) else given))
    if not names:
        raise OptionError("{option} must name at least one.", option=option)
    return names


def _check_options(asked: Request, algorithms: Sequence[str], measures: Sequence[str]) -> None:
    """Refuse an option that none of the algorithms or measures has: nobody would notice it."""
    from shoal import registry

    asked.refuse_limited()
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


_ALGORITHM, _PROMISE = "sequential:restarts=3", "l-diversity:l=2"
"""How a name with options is written."""


def _parse_variant(text: str, example: str) -> tuple[str, dict[str, Any]]:
    """Return a name and its own options from ``name:option=value``.

    >>> _parse_variant("sequential:restarts=3:split=at once", _ALGORITHM)
    ('sequential', {'restarts': 3, 'split': 'at once'})
    """
    name, *parts = text.split(":")
    options: dict[str, Any] = {}
    for part in parts:
        option, equals, value = part.partition("=")
        if not equals:
            raise OptionError(
                "Write a name with options as in {example}, not {text!r}.",
                example=example,
                text=text,
            )
        try:
            options[option.strip()] = json.loads(value)
        except ValueError:
            options[option.strip()] = value.strip()
    return name.strip(), options


def _parse_promise(text: str, asked: Request) -> tuple[PrivacyModel, ...]:
    """Return the models of a promise such as ``l-diversity:l=2+t-closeness:t=0.3``, or none."""
    from shoal.privacy import parse_privacy

    if text.strip() == "none":
        return ()
    named = [_parse_variant(part, _PROMISE) for part in text.split("+")]
    models = parse_privacy([{"model": name, **options} for name, options in named])
    return open_populations(models, details=asked.details)


def _request(
    asked: Request, variant: tuple[str, Mapping[str, Any]], k: int, measure: str
) -> Request:
    """Return what one run is asked, after a check that its names and options exist."""
    from shoal import registry
    from shoal.algorithm.base import create_algorithm
    from shoal.measure.scores import create_measure

    algorithm, given = variant
    cls = registry.load("algorithms", algorithm)
    own = {each.name for each in fields(cls)}
    options = {n: v for n, v in asked.algorithm_options.items() if n in own} | dict(given)
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


def _task(asked: _Run, folder: Path | None, *, use: bool) -> Callable[[Report], Outcome]:
    table, request, outcome = asked.table, asked.request, asked.planned

    def run(progress: Report) -> Outcome:
        from shoal.engine.local import LocalEngine
        from shoal.engine.pipeline import run_pipeline

        try:
            result = run_pipeline(table, asked.schema, request, LocalEngine(), progress=progress)
        except ShoalError as error:
            return replace(outcome, error=str(error))
        scores = dict(result.measured.scores)
        if folder is not None:
            labels = "\n".join(map(str, result.groups.labels.tolist()))
            atomic_write_text(_groups_file(folder, outcome), f"group\n{labels}\n")
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
        details = {each.name: str(getattr(column, each.name)) for each in fields(column)}
        if column.hierarchy is not None:
            details["hierarchy"] = json.dumps(column.hierarchy.to_paths())
        sha.update(json.dumps(details, ensure_ascii=True).encode())
        series = table.get_column(column.name)
        if column.role in (Role.QUASI_IDENTIFIER, Role.SENSITIVE, Role.PERSON):
            sha.update(f"{series.dtype} {len(series)}".encode())
            cells = (None if cell is None else str(cell) for cell in series.to_list())
            sha.update(json.dumps(list(cells), ensure_ascii=True).encode())
    return sha.hexdigest()


def _key(digest: str, request: Request) -> str:
    identity = {
        "format": _FORMAT,
        "table": digest,
        **request.parameters(),
        "seed": request.seed,
    }
    text = json.dumps(identity, sort_keys=True, default=str)
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
