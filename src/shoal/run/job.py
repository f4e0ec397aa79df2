"""A job from files to files, without a terminal: what command line, pages and schedulers call."""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from traceback import clear_frames
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, HierarchyError, OptionError, RoleError, ShoalError
from shoal.io.formats import named_like_a_table
from shoal.io.location import input_files, is_database
from shoal.io.overwrite_guard import HowRead, current_watch, watching_inputs
from shoal.io.read import called
from shoal.io.remote import is_remote
from shoal.io.temporaries import remove_leftovers
from shoal.messages import Message, plural
from shoal.profile.repeated_people import says_whose, worth_a_look
from shoal.run import LocalTable, TableRead, run
from shoal.run.outputs import STREAM, FileSink, name_of
from shoal.runtime.progress import watching
from shoal.runtime.sanitize import hide_credentials, hide_names, plain_values, safe_text
from shoal.settings.inputs import (
    check_memory,
    estimate_need,
    format_name,
    read_input,
    rows_of,
)
from shoal.settings.job import Job
from shoal.settings.job_file import read_job

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import polars as pl

    from shoal.release import Release
    from shoal.runtime.progress import Report
    from shoal.settings.files import Input, Output
    from shoal.settings.inputs import Need
    from shoal.settings.request import Request
    from shoal.study.audit.attack_context import Audit
    from shoal.table.schema import Schema

_IN_ORDER = Message(
    "The rows keep the order of the input, which can tell who is who; leave shuffle on for "
    "everything but tests."
)


@dataclass(frozen=True, eq=False)
class JobResult:
    """What a job made.

    Attributes:
        release: the release, verified; its frame is the published table, with text as
            categories, which take less memory.
        files: where everything was written: the ``table``, and the ``certificate`` and
            ``report`` if they were asked for.
        notes: how the input was read, where nobody had said so: an encoding, decimal commas, a
            first line that looks like data.
        audit: how far attackers get with the release, if that was asked.
    """

    release: Release
    files: Mapping[str, str]
    notes: tuple[str, ...] = ()
    audit: Audit | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the user should know although the run went on."""
        in_order = () if self.release.parameters["shuffle"] else (_IN_ORDER,)
        return (*in_order, *self.release.warnings)

    def __repr__(self) -> str:
        """Return one line without any cell."""
        return f"<JobResult {self.release!r}: {', '.join(self.files)}>"

    def _repr_html_(self) -> str:
        from shoal.runtime.notebook import facts, shown

        files = shown(facts(self.files.items()))
        return self.release._repr_html_() + files


def run_job(
    job: Job | str | PathLike[str],
    *,
    progress: bool | Callable[[int, int, str], None] = False,
    when_written: Callable[[], None] | None = None,
) -> JobResult:
    """Read the table of a job, anonymize and verify it, and write what the job asks for.

    Nothing is printed and no prompt is shown; it may run in any thread. The files appear
    together, whole or not at all.

    Args:
        job: a job, or the path of a job file. It has to say where the table is (``[input]``) and
            where the release goes (``[output]``).
        progress: a function of (done, total, what), called now and then; True shows a bar. A
            function that raises stops the run, and nothing is written.
        when_written: called once, as soon as every file is in place.

    Raises:
        ShoalError: with one sentence on what is wrong and what to do; files that exist are as
            they were. `PromiseError` if no release can keep the promise.
    """
    # No output replaces an input.
    with nullcontext(current_watch()) if current_watch() else watching_inputs() as watch:
        asked = job if isinstance(job, Job) else read_job(job)
        request = asked.request()  # a wrong option is found before the table is read
        sink = FileSink(asked.input, asked.output, when_written)
        on_spark = asked.input.engine == "spark"
        if asked.input.master is not None and not on_spark:
            raise OptionError("master says where Spark works; add engine spark (--engine spark).")
        if asked.output.audit and on_spark:
            raise OptionError(
                "An audit needs the table on one machine; leave audit (--audit) out, and attack a "
                "part of the rows with 'shoal audit'."
            )
        if asked.output.regime is not None and on_spark:
            raise OptionError(
                "What a regulator asks (--for) is answered from a table on one machine; leave it "
                "out."
            )
        if not on_spark:
            sink.check()
        with watching(progress) as report, _log_of(asked.output) as log:
            log.say("started", f"{name_of(asked.input.path or STREAM)}, k = {request.k}")
            left = remove_leftovers(_folders(sink))
            if left and watch is not None:
                watch.found.append(
                    plural(
                        "An earlier run was killed; {n:,} unfinished file of it was found beside "
                        "the outputs and removed.",
                        "An earlier run was killed; {n:,} unfinished files of it were found beside "
                        "the outputs and removed.",
                        left,
                    )
                )
            if on_spark:
                from shoal.run.spark import run_on_spark

                release = run_on_spark(
                    request, asked.input, asked.output, log.watching(report), when_written
                )
            else:
                source = FileSource(asked.input, sink)
                with _telling_drift(asked, log):
                    release = run(request, source, sink, progress=log.watching(report))
            notes = () if watch is None else tuple(watch.notes)
            for note in notes:
                log.say("note", note)
            for warning in release.warnings:
                log.say("warning", warning)
            log.say(
                "done",
                f"{release.n_published:,} of {release.n_rows:,} rows published in "
                f"{release.verification.n_groups:,} groups, "
                + ", ".join(name_of(path) for path in sink.files.values()),
                **(_in_numbers(release, sink) if log.as_json else {}),
            )
    return JobResult(release, sink.files, notes, sink.audit)


@contextmanager
def _telling_drift(job: Job, log: RunLog) -> Iterator[None]:
    """Say in place of an error about one column how the table differs from its job, if it does.

    Raises:
        DriftError: it does.
    """
    try:
        yield
    except (RoleError, HierarchyError, OptionError) as error:
        from shoal.run.drift import explained

        clear_frames(error.__traceback__)  # what was read makes room for a second reading
        found = explained(job, error)
        if found is None:
            raise
        for change in found.changes:
            log.say("drift", change.sentence, **(change.to_dict() if log.as_json else {}))
        raise found from None


def how_it_was_read(source: Input) -> TableRead:
    """Return how the present command has read the table of a job; its doubts are told by that."""
    watch = current_watch()
    said: dict[str, Any] = {}
    if source.missing_values is not None:
        said["missing_values"] = list(source.missing_values)
    for how in () if watch is None else watch.how_read.values():
        if how.encoding != "utf-8":
            said["encoding"] = how.encoding
        if how.decimal is not None:
            said["decimal"] = how.decimal
        if not how.header:
            said["header"] = False
    version = None if watch is None else watch.versions.get(name_of(source.path or STREAM))
    if version is not None:
        said["table_version"] = version
    first = called(input_files(source.sources, source.format)[0])
    how = HowRead() if watch is None else watch.how_read.get(first, HowRead())
    doubts, how.doubts = tuple(how.doubts), []
    rename = source.rename or {}
    read_as = {rename.get(name, name): found.spelling for name, found in how.spelled.items()}
    return TableRead(said, read_as, doubts)


@dataclass(frozen=True)
class FileSource:
    """A table of a file, of several files or of a database, of which a run reads what it needs.

    Attributes:
        input: where it is, and how it is read.
        sink: where the release goes; how much memory a run needs depends on it, too.
    """

    input: Input
    sink: FileSink

    @contextmanager
    def opened(self, request: Request, progress: Report) -> Iterator[LocalTable]:
        """Give the table, as a run takes it."""
        table, schema = self.load(request, progress, memory_check=self.input.memory_check)
        yield LocalTable(table, schema, request, how_it_was_read(self.input), owned=True)

    def load(
        self, request: Request, progress: Report, *, memory_check: bool
    ) -> tuple[pl.DataFrame, Schema]:
        """Read the columns that a run needs, after a look at all names.

        Raises:
            RoleError: a column has no role, two roles, or does not exist.
            DataError: the file cannot be read, or the run would not fit into memory.
        """
        found: list[Schema] = []

        def needed(names: list[str]) -> list[str]:
            schema = request.schema(names)
            found[:] = [schema]
            # is read to see whether people have several rows, and then forgotten; columns that are
            # removed never leave a database
            away = self.input.path is not None and is_database(self.input.path)
            looked = [] if says_whose(request) or away else worth_a_look(schema)
            rows = rows_of(self.input) if memory_check else None
            if rows is not None:
                check_memory(self.need(schema, rows, len(looked)))
            return [name for name in names if name in {*schema.used, *looked}]

        progress(0, 0, "reading")
        frame = read_input(
            self.input, details=request.details, columns=needed, coded=True, progress=progress
        )
        return frame, found[0]

    def need(self, schema: Schema, n_rows: int, looked_at: int = 0) -> Need:
        """Return what a run on so many rows of this table will need."""
        quasi = len(schema.quasi_identifiers)
        return estimate_need(
            n_rows,
            quasi_identifiers=quasi,
            # whose rows they are is kept more than once while people are counted
            kept=len(schema.used) - quasi + looked_at + (2 if schema.person else 0),
            source=format_name(self.input.path or STREAM, self.input.format),
            target=format_name(self.sink.table, self.sink.format),
        )


# -- the log -------------------------------------------------------------------------------------

_LONGEST = 2_000
EVENTS = ("started", "stage", "note", "warning", "drift", "done", "failed", "stopped")
"""What a line of a log is about; ``done``, ``failed`` and ``stopped`` are the last of a run."""


class RunLog:
    """Lines to a file; to nowhere without one."""

    def __init__(self, handle: int | None, *, as_json: bool = False) -> None:
        self._handle, self.as_json = handle, as_json
        self._stage = ""

    def say(self, event: str, text: str, **numbers: Any) -> None:
        """Add a line: when, which process, what.

        Args:
            event: one of `EVENTS`.
            text: in words.
            numbers: the same for a program, in a log of JSON.
        """
        if self._handle is None:
            return
        assert event in EVENTS
        text = hide_credentials(text)
        watch = current_watch()
        if watch is not None:
            text = hide_names(text, watch.doubtful)
        time = datetime.now(UTC).isoformat(timespec="seconds")
        text = safe_text(text, _LONGEST)
        line = f"{time} shoal[{os.getpid()}] {event}: {text}\n"
        if self.as_json:
            known = {"time": time, "process": os.getpid(), "event": event, "text": text}
            line = json.dumps({**known, **plain_values(numbers)}) + "\n"
        # One write: lines of jobs that run at the same time do not mix.
        os.write(self._handle, line.encode(errors="backslashreplace"))

    def watching(self, report: Callable[[int, int, str], None]) -> Callable[[int, int, str], None]:
        """Return a progress function that also adds a line where a new stage begins."""

        def watched(done: int, total: int, what: str) -> None:
            if what != self._stage:
                self._stage = what
                self.say("stage", what)
            report(done, total, what)

        return watched


def _in_numbers(release: Release, sink: FileSink) -> dict[str, Any]:
    """Return what a log of JSON says at the end, beside the sentence."""
    return {
        "rows": release.n_published,
        "of_rows": release.n_rows,
        "groups": release.verification.n_groups,
        "judgement": str(release.judgement),
        "files": [name_of(path) for path in sink.files.values()],
    }


def _folders(sink: FileSink) -> list[Path]:
    """Return the folders that the outputs of a job appear in."""
    files = (path for path in sink.files.values() if path != STREAM and not is_database(path))
    here = [Path(os.path.realpath(path)).parent for path in files if not is_remote(path)]
    return [*here, Path(tempfile.gettempdir())]  # where copies of objects are


@contextmanager
def _log_of(output: Output) -> Iterator[RunLog]:
    """Open the log of a job; an error, or that somebody stopped the job, is its last line.

    Raises:
        OptionError: the file is named like a table.
        DataError: the file cannot be written to.
    """
    path = output.log
    if path is None:
        yield RunLog(None)
        return
    if named_like_a_table(path):
        raise OptionError(
            "The log {path!r} is named like a table; lines would be added to it. Give it a "
            "name such as runs.log.",
            path=path,
        )
    try:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    except OSError as error:
        raise DataError(
            "The log {path!r} cannot be written: {strerror}.", path=path, strerror=error.strerror
        ) from None
    log = RunLog(handle, as_json=output.log_json)
    try:
        yield log
    except ShoalError as error:
        log.say("failed", str(error))
        raise
    except BaseException as error:
        # Not the message: an exception of another library may show a cell.
        log.say("stopped", type(error).__name__)
        raise
    finally:
        os.close(handle)
