"""``shoal score``: how much detail a published file has lost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import arguments as opt
from shoal.cli.arguments import Asked, Reading, takes_flags
from shoal.cli.screen import print_json
from shoal.cli.state import number, translated, words
from shoal.messages import Message

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl
    from rich.console import Console

    from shoal.cli.arguments import Said
    from shoal.settings.files import Input
    from shoal.settings.job import Job
    from shoal.study.audit.attack_context import Audit
    from shoal.study.read_release import Described
    from shoal.study.utility import Utility


# Two tables that a command compares, and what is said about them: the original and its release.


@dataclass(frozen=True, eq=False)
class Both:
    """The tables, and how the release was made."""

    job: Job
    reading: Said
    before: pl.DataFrame
    after: pl.DataFrame
    described: Described

    def like_original(self, path: str | None, **but: Any) -> pl.DataFrame | None:
        """Read a further table as the original is read, but for these options."""
        if path is None:
            return None
        return _read(replace(self.job.input, path=path, more=(), sheet=None, **but), self.job)

    def like_release(self, path: str | None) -> pl.DataFrame | None:
        """Read a further table as the release is read."""
        return None if path is None else _read_release(self.job, path, self.reading)


def read_both(
    job_file: str | None, asked: Said, original: str, published: str, reading: Said
) -> Both:
    """Read the original and its release, by the job and the flags of a command."""
    from shoal.cli.arguments import job_of
    from shoal.study.read_release import described_by
    from shoal.table.schema import check_named

    job = job_of(job_file, asked, source=original, reading=reading)
    before = _read(job.input, job)
    check_named(job.schema_options(), before.columns)
    after = _read_release(job, published, reading)
    return Both(job, reading, before, after, described_by(job))


def _read(source: Input, job: Job) -> pl.DataFrame:
    from shoal.settings.inputs import read_input

    return read_input(source, details=job.schema_options())


def _read_release(job: Job, path: str, reading: Said) -> pl.DataFrame:
    from shoal.cli.arguments import release_of
    from shoal.settings.inputs import read_input

    source = release_of(job, path, reading)
    return read_input(source, details=job.schema_options(), published=True)


# ``shoal audit``: a release attacked before others do it.


@takes_flags()
def audit(
    original: opt.Original,
    published: opt.Published,
    *,
    job: opt.JobFile = None,
    asked: Asked,
    population: Annotated[
        str | None,
        opt.in_files(
            "--population",
            help="A table of everybody who could be in DATA; for the journalist.",
            metavar="FILE",
        ),
    ] = None,
    control: Annotated[
        str | None,
        opt.in_files(
            "--control",
            help="A table of people who are not in DATA, with the same columns.",
            metavar="FILE",
        ),
    ] = None,
    second: Annotated[
        str | None,
        opt.in_files("--second", help="Another release of these people.", metavar="FILE"),
    ] = None,
    site: Annotated[
        list[str] | None,
        opt.in_files(
            "--site",
            help="The rows of one of the sites that made the release together; once for each.",
            metavar="FILE",
        ),
    ] = None,
    targets: Annotated[
        int, typer.Option("--targets", help="How many people are attacked.", metavar="N")
    ] = 1000,
    reading: Reading,
    as_json: opt.Json = False,
) -> None:
    """Attack a published table with the original in hand, and say how far each attacker gets.

    Also for releases of other software. Prints counts and shares, never a cell.
    """
    from shoal.study.audit import audit as run_audit

    both = read_both(job, asked, original, published, reading)
    found = run_audit(
        both.before,
        both.after,
        population=both.like_original(population, rename=None),
        control=both.like_original(control),
        second=both.like_release(second),
        sites=[table for each in site or () if (table := both.like_original(each)) is not None],
        targets=targets,
        **both.described,
    )
    if as_json:
        print_json(found.to_dict())
    else:
        title = Message("{published}, attacked with {original}", **_names(original, published))
        print_audit(found, title)


def _names(original: str, published: str) -> dict[str, str]:
    """Return what a title calls the two tables."""
    from shoal.io.location import shown_name

    return {"published": shown_name(published), "original": shown_name(original)}


def print_audit(found: Audit, title: str, *, stderr: bool = False) -> None:
    """Print how far each attacker gets, in numbers and in words."""
    from rich.table import Table
    from rich.text import Text

    from shoal.cli.screen import open_console
    from shoal.runtime.sanitize import safe_text

    console = open_console(stderr=stderr)
    console.print(translated(title), style="bold", markup=False, soft_wrap=True)
    table = Table(box=None, pad_edge=False)
    table.add_column(words("attacker"), overflow="fold")
    heads = (words("right"), words("95 % interval"), words("without"), words("outside"))
    for name in (*heads, words("worst")):
        table.add_column(name, justify="right", no_wrap=True)
    for each in found.findings:
        shares = (each.baseline, each.control, each.worst)
        table.add_row(
            Text(safe_text(translated(each.name))),
            number(each.rate, ".2%"),
            words("{low:.2%} to {high:.2%}", low=each.low, high=each.high),
            *("" if share is None else number(share, ".2%") for share in shares),
        )
    console.print(table)
    console.print()
    for each in found.findings:
        console.print(f"- {translated(each.sentence)}", markup=False, soft_wrap=True)
    _print_notes(console, found.notes)


def _print_notes(console: Console, notes: Iterable[str]) -> None:
    for note in notes:
        console.print(words("Note: {note}", note=note), markup=False, soft_wrap=True)


# ``shoal utility``: what can still be learnt from a release.


@takes_flags()
def utility(
    original: opt.Original,
    published: opt.Published,
    *,
    job: opt.JobFile = None,
    asked: Asked,
    target: Annotated[
        str | None,
        typer.Option("--target", help="The column that models predict.", metavar="COLUMN"),
    ] = None,
    held_out: Annotated[
        str | None,
        opt.in_files(
            "--held-out", help="Rows in neither table, to test the models on.", metavar="FILE"
        ),
    ] = None,
    reading: Reading,
    as_json: opt.Json = False,
) -> None:
    """Say what analysts get from a published table: counts, distributions, models.

    Prints shares and errors, never a cell.
    """
    from shoal.study.utility import utility as run_utility

    both = read_both(job, asked, original, published, reading)
    found = run_utility(
        both.before,
        both.after,
        target=target,
        held_out=both.like_original(held_out),
        **both.described,
    )
    if as_json:
        print_json(found.to_dict())
    else:
        _print(found, words("{published}, beside {original}", **_names(original, published)))


def _print(found: Utility, title: str) -> None:
    from rich.table import Table
    from rich.text import Text

    from shoal.cli.screen import open_console
    from shoal.runtime.sanitize import safe_text

    console = open_console()
    console.print(title, style="bold", markup=False, soft_wrap=True)
    for sentence in found.sentences:
        console.print(f"- {translated(sentence)}", markup=False, soft_wrap=True)
    counts = (words("columns"), words("share of the people"))
    table = Table(*counts, words("median error"), words("mean error"), box=None)
    for each in found.queries:
        table.add_row(
            str(each["columns"]),
            number(each["selectivity"], ".0%"),
            number(each["median_error"], ".1%"),
            number(each["mean_error"], ".1%"),
        )
    console.print()
    console.print(words("Random counts"), style="bold")
    console.print(table)
    table = Table(words("column"), words("off by"), box=None)
    for name, off in found.one_way.items():
        table.add_row(Text(safe_text(name)), number(off, ".1%"))
    console.print()
    console.print(words("Distributions"), style="bold")
    console.print(table)
    if found.models:
        trained = (words("trained on"), words("model"))
        table = Table(*trained, words("accuracy"), words("balanced"), "AUC", box=None)
        for model in found.models:
            auc = model.get("auc")
            table.add_row(
                translated(model["trained_on"]),
                translated(model["model"]),
                number(model["accuracy"], ".1%"),
                number(model["balanced_accuracy"], ".1%"),
                "" if auc is None else number(auc, ".3f"),
            )
        console.print()
        console.print(words("Models"), style="bold")
        console.print(table)
    _print_notes(console, found.notes)


@takes_flags(measure_options="An option of a measure; may be repeated.")
def score(
    original: opt.Original,
    published: opt.Published,
    *,
    job: opt.JobFile = None,
    asked: Asked,
    measures: Annotated[
        str | None,
        typer.Option(
            help="Which ones, as in ncp,lm,kl; the common ones unless given.", metavar="NAMES"
        ),
    ] = None,
    reading: Reading,
) -> None:
    """Score a published table against the one it was made from.

    The rows of a release are shuffled, so its groups are read from the published cells. Rows
    that are not published count as fully generalised.
    """
    from shoal.cli.arguments import job_of
    from shoal.settings.inputs import read_input

    wanted = job_of(job, asked, source=original, reading=reading)
    columns = wanted.schema_options()
    before = read_input(wanted.input, details=columns)
    after = _read_release(wanted, published, reading)
    names = None if measures is None else opt.parse_names([measures])

    import narwhals as nw

    from shoal.publish.recode import Style
    from shoal.report.scoring import score_published
    from shoal.settings.request import open_key
    from shoal.table.dates import move_as_released
    from shoal.table.infer import schema_of_used

    # Columns that were removed or kept as they are play no part in the scores.
    for role in ("identifiers", "insensitive", "drop"):
        del columns[role]
    # The job's options belong to the measure it minimises.
    given = wanted if names is None or wanted.measure in names else job_of(None, asked)
    schema = schema_of_used(
        nw.from_native(before, eager_only=True),
        default_grid=wanted.default_grid is not False,
        unknown_values=wanted.unknown_values or "error",
        **columns,
    )
    scores = score_published(
        move_as_released(before, schema, open_key(wanted.person_key)),
        after,
        schema,
        measures=names,
        also=[] if wanted.measure is None else [wanted.measure],
        measure_options=given.measure_options,
        style=Style.from_dict(wanted.style),
    )
    from shoal.cli.screen import print_scores
    from shoal.io.location import shown_name

    title = words(
        "{published}, made from {original}",
        published=shown_name(published),
        original=shown_name(original),
    )
    print_scores(scores, title=title)
