"""``shoal verify``: does a published file keep its promises?"""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.cli import options as opt
from shoal.cli.flags import ColumnFlags, InputFlags, PrivacyFlags, takes_flags
from shoal.errors import OptionError

__all__ = ["verify"]


@takes_flags
def verify(
    published: Annotated[
        str, typer.Argument(metavar="RELEASE", help="The published table; - is a stream.")
    ],
    *,
    job: opt.JobFile = None,
    k: opt.K = None,
    qi: opt.Qi = None,
    sensitive: opt.SensitiveColumns = None,
    promises: PrivacyFlags,
    reading: InputFlags,
    quiet: opt.Quiet = False,
    debug: opt.Debug = False,
) -> None:
    """Check a published table against its promises, from the file alone.

    Exit status: 0 every promise holds, 1 one does not, 2 it could not be checked.
    """
    del debug
    from shoal.cli.settings import load_job, merge_columns, merge_privacy, missing_texts

    base = load_job(job)
    columns = merge_columns(base, ColumnFlags(qi=qi, sensitive=sensitive))
    privacy = merge_privacy(base, promises)
    size = base.k if k is None else k
    if size is None:
        raise OptionError("k is not given: say what was promised, with --k 10 or a job file.")
    from shoal.io.written import read_written
    from shoal.privacy import parse_privacy
    from shoal.promises import promises_of
    from shoal.publish.verify import columns_needed, verify_table

    promised = promises_of(parse_privacy(privacy))
    written = read_written(
        published,
        format=reading.file_format,
        delimiter=reading.delimiter,
        pick=lambda names: (
            list(
                dict.fromkeys(
                    columns_needed(names, columns["quasi_identifiers"], columns["sensitive"])
                )
            )
            or names
        ),
    )
    found = verify_table(
        written.frame,
        k=size,
        quasi_identifiers=columns["quasi_identifiers"],
        sensitive=columns["sensitive"],
        promises=promised,
        missing_values=missing_texts(base, reading.missing_values),
        spelled=written.spelled,
    )
    if not quiet:
        from shoal.cli.outputs import name_of
        from shoal.cli.summary import print_verification

        name = name_of(published)
        print_verification(
            found,
            title=f"{name}: every promise holds" if found.holds else f"{name}: DOES NOT HOLD",
            n_columns=len(columns["quasi_identifiers"]),
        )
    if not found.holds:
        raise typer.Exit(1)
