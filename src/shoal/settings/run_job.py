"""A job from file to files, without a terminal: what the command line and schedulers call."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from shoal.errors import OptionError
from shoal.settings.job import Job
from shoal.settings.job_file import read_job
from shoal.settings.request import Request

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from os import PathLike

    from shoal.release import Release
    from shoal.settings.files import Input
    from shoal.settings.outputs import Outputs
    from shoal.study.audit.findings import Audit

__all__ = ["WRITTEN", "JobResult", "run_job"]

WRITTEN = "written"
"""What progress is told when every file is in place."""

_IN_ORDER = (
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


def run_job(
    job: Job | str | PathLike[str],
    *,
    progress: bool | Callable[[int, int, str], None] = False,
) -> JobResult:
    """Read the table of a job, anonymize and verify it, and write what the job asks for.

    Nothing is printed and no prompt is shown; it may run in any thread. The files appear
    together, whole or not at all.

    Args:
        job: a job, or the path of a job file. It has to say where the table is (``[input]``) and
            where the release goes (``[output]``).
        progress: a function of (done, total, what), called now and then; True shows a bar. A
            function that raises stops the run, and nothing is written.

    Raises:
        ShoalError: with one sentence on what is wrong and what to do; files that exist are as
            they were. `PromiseError` if no release can keep the promise.
    """
    from shoal.io.overwrite_guard import current_watch, watching_inputs
    from shoal.life.open import open_previous
    from shoal.runtime.progress import watching
    from shoal.settings.inputs import note_hierarchies
    from shoal.settings.log import logging_to
    from shoal.settings.outputs import STREAM, Outputs, name_of

    # No output replaces an input.
    with nullcontext(current_watch()) if current_watch() else watching_inputs() as watch:
        asked = job if isinstance(job, Job) else read_job(job)
        arguments = asked.arguments()  # a population is read here, once
        request = Request(**arguments)  # a wrong option is found before the table is read
        note_hierarchies(asked)
        # read here, once; no output replaces one of them, either
        arguments["previous"] = open_previous(request.previous, asked.output.save)
        outputs = Outputs.of(asked.input, asked.output)
        on_spark = asked.input.engine == "spark"
        if asked.input.master is not None and not on_spark:
            raise OptionError("master says where Spark works; add engine spark (--engine spark).")
        if asked.output.audit and on_spark:
            raise OptionError(
                "An audit needs the table on one machine; leave audit (--audit) out, and attack a "
                "part of the rows with 'shoal audit'."
            )
        if not on_spark:
            outputs.check()
        audit: Audit | None = None
        with watching(progress) as report, logging_to(asked.output.log) as log:
            log.say(f"started: {name_of(asked.input.path or STREAM)}, k = {asked.k}")
            if on_spark:
                from shoal.settings.run_spark import run_on_spark

                release = run_on_spark(asked, log.watching(report))
            else:
                release, audit = _anonymize(asked.input, arguments, outputs, log.watching(report))
            for note in () if watch is None else watch.notes:
                log.say(f"note: {note}")
            for warning in release.warnings:
                log.say(f"warning: {warning}")
            log.say(
                f"done: {release.n_published:,} of {release.n_rows:,} rows published in "
                f"{release.verification.n_groups:,} groups, "
                + ", ".join(name_of(path) for path in outputs.files.values())
            )
        notes = () if watch is None else tuple(watch.notes)
    return JobResult(release, outputs.files, notes, audit)


def _anonymize(
    source: Input,
    arguments: Mapping[str, Any],
    outputs: Outputs,
    report: Callable[[int, int, str], None],
) -> tuple[Release, Audit | None]:
    from shoal.api import anonymize
    from shoal.io.text_codes import decode_text
    from shoal.settings.inputs import load_table, read_as

    request = Request(**arguments)
    owned = load_table(source, request, outputs, report, memory_check=source.memory_check)
    # Of a database, what was read: columns that are removed never left it.
    hmac = outputs.input_hmac(lambda: decode_text(owned.frame))
    original = decode_text(owned.frame) if outputs.audit else None
    release: Release[Any] = anonymize(owned, progress=report, **arguments)
    release = replace(release, parameters={**release.parameters, **read_as()})
    audit = None
    if original is not None:
        report(0, release.n_published, "attacking")
        audit = replace(release, frame=decode_text(release.frame)).audit(original)
    report(0, release.n_published, "writing")
    release = outputs.write(release, input_hmac=hmac, audit=audit)
    report(release.n_published, release.n_published, WRITTEN)
    return release, audit
