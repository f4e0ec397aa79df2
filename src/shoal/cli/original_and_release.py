"""``shoal score``: how much detail a published file has lost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import arguments as opt
from shoal.cli.arguments import Asked, Reading, takes_flags
from shoal.cli.screen import print_json

if TYPE_CHECKING:
    import polars as pl

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
        targets=targets,
        **both.described,
    )
    if as_json:
        print_json(found.to_dict())
        return
    from shoal.io.location import shown_name

    print_audit(found, f"{shown_name(published)}, attacked with {shown_name(original)}")


def print_audit(found: Audit, title: str, *, stderr: bool = False) -> None:
    """Print how far each attacker gets, in numbers and in words."""
    from rich.table import Table
    from rich.text import Text

    from shoal.cli.screen import open_console
    from shoal.runtime.sanitize import safe_text

    console = open_console(stderr=stderr)
    console.print(title, style="bold", markup=False, soft_wrap=True)
    table = Table(box=None, pad_edge=False)
    table.add_column("attacker", overflow="fold")
    for name in ("right", "95 % interval", "without", "outside", "worst"):
        table.add_column(name, justify="right", no_wrap=True)
    for each in found.findings:
        numbers = (each.baseline, each.control, each.worst)
        table.add_row(
            Text(safe_text(each.name)),
            f"{each.rate:.2%}",
            f"{each.low:.2%} to {each.high:.2%}",
            *("" if number is None else f"{number:.2%}" for number in numbers),
        )
    console.print(table)
    console.print()
    for each in found.findings:
        console.print(f"- {each.sentence}", markup=False, soft_wrap=True)
    for note in found.notes:
        console.print(f"Note: {note}", markup=False, soft_wrap=True)


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
        return
    from shoal.io.location import shown_name

    _print(found, f"{shown_name(published)}, beside {shown_name(original)}")


def _print(found: Utility, title: str) -> None:
    from rich.table import Table
    from rich.text import Text

    from shoal.cli.screen import open_console
    from shoal.runtime.sanitize import safe_text

    console = open_console()
    console.print(title, style="bold", markup=False, soft_wrap=True)
    for sentence in found.sentences:
        console.print(f"- {sentence}", markup=False, soft_wrap=True)
    table = Table("columns", "share of the people", "median error", "mean error", box=None)
    for each in found.queries:
        table.add_row(
            str(each["columns"]),
            f"{each['selectivity']:.0%}",
            f"{each['median_error']:.1%}",
            f"{each['mean_error']:.1%}",
        )
    console.print("\nRandom counts", style="bold")
    console.print(table)
    table = Table("column", "off by", box=None)
    for name, off in found.one_way.items():
        table.add_row(Text(safe_text(name)), f"{off:.1%}")
    console.print("\nDistributions", style="bold")
    console.print(table)
    if found.models:
        table = Table("trained on", "model", "accuracy", "balanced", "AUC", box=None)
        for model in found.models:
            auc = model.get("auc")
            table.add_row(
                model["trained_on"],
                model["model"],
                f"{model['accuracy']:.1%}",
                f"{model['balanced_accuracy']:.1%}",
                "" if auc is None else f"{auc:.3f}",
            )
        console.print("\nModels", style="bold")
        console.print(table)
    for note in found.notes:
        console.print(f"Note: {note}", markup=False, soft_wrap=True)


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

    print_scores(scores, title=f"{shown_name(published)}, made from {shown_name(original)}")
