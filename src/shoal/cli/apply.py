"""``shoal apply``: further rows in the cells of a release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli import arguments as opt
from shoal.cli.arguments import Asked, Reading, Writing, takes_flags
from shoal.cli.screen import print_json
from shoal.cli.summary import check_json

if TYPE_CHECKING:
    from shoal.life.apply import Applied


@takes_flags()
def apply(
    source: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA...",
            help="The further rows: files, a folder, a pattern or a database URL.",
        ),
    ],
    *,
    release: Annotated[
        str,
        opt.in_files("--release", help="The release file, as --save wrote it.", metavar="FILE"),
    ],
    waiting: Annotated[
        str | None,
        opt.in_files(
            "--waiting",
            help="Where rows go that cannot be published yet; private, to be given again with the "
            "next ones.",
            metavar="FILE",
        ),
    ] = None,
    writing: Writing,
    asked: Asked,
    reading: Reading,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
    debug: opt.Debug = False,
) -> None:
    """Publish further rows in the cells of a release.

    Each row gets the cheapest published cell that covers it; others form groups of their own or
    wait. All promises of the release hold for the new table alone and for both together.
    """
    del debug
    from shoal.archive.release_file import load_release, refuse_missing
    from shoal.cli.arguments import job_of
    from shoal.cli.program import note_written
    from shoal.cli.screen import told_in_summary
    from shoal.cli.summary import print_private_half
    from shoal.life.apply import apply as run_apply
    from shoal.run.outputs import FileSink, check_places, write_applied
    from shoal.runtime.progress import showing_progress
    from shoal.settings.inputs import read_input

    wanted = job_of(None, {}, source=source, reading=reading, writing=writing)
    check_json(as_json, wanted.output.table)
    kept = load_release(release)
    outputs = FileSink(wanted.input, wanted.output)
    refuse_missing([release], [kept], wanted.output.save)
    check_places(outputs, waiting, kept)
    numeric = [
        name for name in kept.schema.quasi_identifiers if kept.schema[name].kind == "numeric"
    ]
    frame = read_input(wanted.input, numeric=numeric)
    with showing_progress(quiet=quiet) as progress, told_in_summary():
        made = run_apply(
            frame,
            kept,
            seed=asked.get("seed"),
            threads=asked.get("threads"),
            progress=progress,
        )
        made = write_applied(made, outputs, waiting)
        note_written()
    if as_json:
        _print_json(made, outputs.files, waiting)
    elif not quiet:
        _print(made, name=source[0], stderr=outputs.to_stream)
        if wanted.output.save is not None:
            print_private_half(wanted.output.save, stderr=outputs.to_stream)


def _print_json(made: Applied, files: dict[str, str], waiting: str | None) -> None:
    from shoal.io.location import shown_name

    found = made.certificate()
    for key in ("input", "output"):
        del found[key]
    where = {name: shown_name(path) for name, path in files.items()}
    if waiting is not None:
        where["waiting"] = shown_name(waiting)
    rows = {
        "rows": made.release.n_rows,
        "published_rows": made.release.n_published,
        "waiting_rows": made.n_waiting,
    }
    print_json({**found, **rows, "files": where})


def _print(made: Applied, *, name: str, stderr: bool) -> None:
    from shoal.cli.screen import open_console
    from shoal.cli.summary import print_release
    from shoal.run.outputs import name_of

    title = f"Further rows of {name_of(name)}"
    print_release(made.release, title=title, stderr=stderr)
    console = open_console(stderr=stderr)
    console.print("\nTogether with what is out:", soft_wrap=True)
    for check in made.together.checks:
        console.print(f"- {check.sentence}", markup=False, soft_wrap=True)
