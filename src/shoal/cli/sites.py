"""``shoal sites``: one release of rows that several sites hold, none of which shows them."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from shoal.cli.arguments import Quiet, Reading, takes_flags, with_common_flags
from shoal.cli.screen import say
from shoal.messages import Message

sites = typer.Typer(
    help="Make one release of rows that several sites hold.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
_Job = Annotated[
    str, typer.Option("--job", help="The job that all parties agree on.", metavar="FILE")
]
_Key = Annotated[
    str,
    typer.Option(
        "--key", help="The own key, NAME.key; its certificate is beside it.", metavar="FILE"
    ),
]
_Certificates = Annotated[
    str | None,
    typer.Option(
        "--certificates",
        help="Where the certificates of the others are; beside the job unless given.",
        metavar="FOLDER",
    ),
]
_Patience = Annotated[
    float,
    typer.Option(
        "--patience", help="How long another party is waited for.", metavar="SECONDS", min=1
    ),
]


@sites.callback(invoke_without_command=True)
def _group(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@sites.command()
@with_common_flags
def key(
    name: Annotated[
        str,
        typer.Argument(help="The name of the party in the job; coordinator for the coordinator."),
    ],
    *,
    folder: Annotated[
        str, typer.Option("--folder", help="Where both files go.", metavar="FOLDER")
    ] = ".",
) -> None:
    """Make a key and its certificate, and show the fingerprint.

    NAME.key stays here. NAME.crt goes to all other parties; they compare its fingerprint with you
    in another way, by telephone, and it stands in the job.
    """
    from pathlib import Path

    from shoal.sites.keys import make_key

    secret, certificate, fingerprint = make_key(name, Path(folder))
    say(
        Message(
            "Wrote {key} (keep it) and {certificate} (send it).",
            key=str(secret),
            certificate=str(certificate),
        )
    )
    say(f'{name} = "{fingerprint}"')


@sites.command("run")
@with_common_flags
def coordinate(
    *,
    job: _Job,
    key: _Key,
    certificates: _Certificates = None,
    patience: _Patience = 600.0,
    quiet: Quiet = False,
) -> None:
    """Coordinate one run: wait for all sites, deal random numbers, and see no row.

    Exit status: 0 the release is written at every site, 1 it is not, 2 the job is wrong.
    """
    from pathlib import Path

    from shoal.sites.agreement import read_agreement
    from shoal.sites.coordinator import Coordinator
    from shoal.sites.keys import read_identity

    agreement = read_agreement(Path(job))
    me = read_identity(Path(key), Path(certificates or Path(job).parent), agreement.fingerprints)
    coordinator = Coordinator(agreement, me, patience=patience, tell=_tell)
    coordinator.run()
    if not quiet:
        say(
            Message(
                "The release is written at all {n} sites, after {messages:,} messages of "
                "{bytes:,} bytes from them.",
                n=len(agreement.sites),
                messages=coordinator.messages,
                bytes=coordinator.bytes,
            )
        )


@sites.command()
@with_common_flags
@takes_flags()
def serve(
    *,
    table: Annotated[str, typer.Option("--table", help="The rows of this site.", metavar="FILE")],
    job: _Job,
    key: _Key,
    output: Annotated[
        str,
        typer.Option("--output", "-o", help="The release of all sites.", metavar="FILE"),
    ],
    certificates: _Certificates = None,
    transcript: Annotated[
        str | None,
        typer.Option(
            "--transcript",
            help="Write down every message and every number that this site learns.",
            metavar="FILE",
        ),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace a file that is there already.")
    ] = False,
    patience: _Patience = 600.0,
    reading: Reading,
    quiet: Quiet = False,
) -> None:
    """Take part in a run with the rows of this site, and write the release of all.

    Exit status: 0 the release is written, 1 the run has ended without one, 2 the table or the job
    is wrong.
    """
    from pathlib import Path

    from shoal.cli import arguments as opt
    from shoal.run.outputs import refuse_existing
    from shoal.sites.agreement import read_agreement
    from shoal.sites.keys import read_identity
    from shoal.sites.site import serve as take_part

    written = [each for each in (output, transcript) if each is not None]
    if not replace:
        refuse_existing(written)
    agreement = read_agreement(Path(job))
    me = read_identity(Path(key), Path(certificates or Path(job).parent), agreement.fingerprints)
    source = opt.input_of(agreement.job.input, table, reading)
    union = take_part(
        agreement,
        me,
        source,
        output,
        transcript=None if transcript is None else Path(transcript),
        patience=patience,
        tell=_tell,
    )
    if not quiet:
        say(
            Message(
                "{rows:,} rows of all sites in {groups:,} groups, verified, in {output}.",
                rows=union.frame.height,
                groups=union.verification.n_groups,
                output=output,
            )
        )


_tell = partial(say, stderr=True)
