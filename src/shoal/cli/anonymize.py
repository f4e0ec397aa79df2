"""``shoal anonymize``: from a table to a verified release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import options as opt
from shoal.cli.flags import ColumnFlags, InputFlags, PrivacyFlags, takes_flags
from shoal.errors import OptionError

if TYPE_CHECKING:
    from shoal.cli.loading import Loader
    from shoal.cli.outputs import Outputs

__all__ = ["anonymize"]


@takes_flags
def anonymize(
    source: Annotated[
        str, typer.Argument(metavar="DATA", help="A file or a database URL; - is a stream.")
    ],
    *,
    output: Annotated[
        str | None, opt.in_files("--output", "-o", help="The release; - is a stream.")
    ] = None,
    job: opt.JobFile = None,
    k: opt.K = None,
    columns: ColumnFlags,
    promises: PrivacyFlags,
    max_suppression: Annotated[
        float | None, opt.in_promises(help="Share of rows that may be left out.", metavar="SHARE")
    ] = None,
    algorithm: Annotated[str | None, opt.in_search(help="See 'shoal algorithms'.")] = None,
    algorithm_option: Annotated[
        list[str] | None,
        opt.in_search(help="Option of the algorithm; repeat it.", metavar="NAME=VALUE"),
    ] = None,
    measure: opt.Measure = None,
    measure_option: opt.MeasureOption = None,
    seed: opt.SecretSeed = None,
    threads: Annotated[int | None, opt.in_search(help="All cores unless given.")] = None,
    block_rows: Annotated[
        int | None,
        opt.in_search(help="Cut larger tables into blocks; chosen unless given.", metavar="ROWS"),
    ] = None,
    effort: Annotated[
        str | None,
        opt.in_search(help="Of the algorithm auto: fast, balanced or best.", metavar="EFFORT"),
    ] = None,
    refine: Annotated[
        str | None,
        opt.in_search(
            help="Improve what any algorithm finds: fast, balanced or best.", metavar="EFFORT"
        ),
    ] = None,
    bound: opt.Bound = False,
    missing: Annotated[
        str | None, opt.in_columns(help="Missing values: category, suppress or error.")
    ] = None,
    reading: InputFlags,
    output_format: Annotated[
        str | None,
        opt.in_files(help="Of the release, where its ending does not say it.", metavar="FORMAT"),
    ] = None,
    if_exists: Annotated[
        str | None,
        opt.in_files(
            help="A table of a database that is there already: fail or replace.", metavar="CHOICE"
        ),
    ] = None,
    numeric_output: Annotated[
        str | None,
        opt.in_files(
            help="Generalised numbers: interval, bounds, struct, mean or median.", metavar="FORM"
        ),
    ] = None,
    certificate: opt.Certificate = None,
    report: opt.Report = None,
    explanation: Annotated[
        str | None,
        opt.in_files(help="What 'shoal explain --out' wrote, for the report.", metavar="FILE"),
    ] = None,
    sampling_fraction: Annotated[
        float | None,
        opt.in_files(
            help="Share of the population in the table, for the risks in the report.",
            metavar="SHARE",
        ),
    ] = None,
    no_shuffle: Annotated[
        bool,
        typer.Option("--no-shuffle", help="Keep the order of the rows; it may give people away."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check everything, say what would be done, stop.")
    ] = False,
    no_memory_check: Annotated[
        bool,
        typer.Option("--no-memory-check", help="Start even if the table may not fit into memory."),
    ] = False,
    quiet: opt.Quiet = False,
    debug: opt.Debug = False,
) -> None:
    """Anonymize a table: nobody in the release stands out from fewer than k.

    Every column needs a role: --qi, --sensitive, --identifier, --insensitive or --drop (or the
    job file). The release is verified before anything is written.
    """
    del debug
    from shoal.cli.loading import Loader
    from shoal.cli.outputs import STREAM, Outputs, format_of_output
    from shoal.cli.settings import RunFlags, load_job, merge

    base = load_job(job)
    arguments = merge(
        base,
        columns,
        promises,
        RunFlags(
            k=k,
            algorithm=algorithm,
            algorithm_option=algorithm_option,
            measure=measure,
            measure_option=measure_option,
            max_suppression=max_suppression,
            missing=missing,
            seed=seed,
            threads=threads,
            block_rows=block_rows,
            refine=refine,
            effort=effort,
            bound=bound,
            numeric_output=numeric_output,
            shuffle=not no_shuffle,
        ),
    )
    if output is None and not dry_run:
        raise OptionError("Say where the release goes with -o safe.csv (-o - for a stream).")
    target = STREAM if output is None else output
    outputs = Outputs(
        source=source,
        table=target,
        certificate=certificate,
        report=report,
        explanation=explanation,
        sampling_fraction=sampling_fraction,
        format=format_of_output(target, output_format, reading.file_format),
        delimiter=reading.delimiter,
        if_exists=if_exists,
    )
    outputs.check()
    loader = Loader(
        job=base,
        arguments=arguments,
        outputs=outputs,
        reading=reading,
        memory_check=not (no_memory_check or dry_run),
    )
    if no_shuffle:
        typer.echo(
            "Warning: with --no-shuffle the rows keep the order of the input, which can tell who "
            "is who; use it for tests only.",
            err=True,
        )
    if dry_run:
        from shoal.cli.plan import print_plan

        print_plan(loader, written=output is not None)
    else:
        _anonymize(loader, arguments, outputs, quiet=quiet)


def _anonymize(loader: Loader, arguments: dict[str, Any], outputs: Outputs, *, quiet: bool) -> None:
    import shoal
    from shoal.cli.compiling import tell_if_compiling
    from shoal.cli.outputs import STREAM
    from shoal.io import shown_name
    from shoal.progress import showing_progress

    source = outputs.source
    with showing_progress(quiet=quiet) as progress:
        owned = loader.load(progress)
        tell_if_compiling(progress)
        release = shoal.anonymize(owned, progress=progress, **arguments)
        progress(0, release.n_published, "writing")
        release = outputs.write(release)
    if not quiet:
        from shoal.cli.summary import print_release

        streams = STREAM in (outputs.table, outputs.certificate, outputs.report)
        name = "standard input" if source in (None, STREAM) else shown_name(source)
        print_release(release, title=f"Release of {name}", stderr=streams)
