"""``shoal verify``: does a published file keep its promises?"""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.cli import options as opt
from shoal.cli.flags import Asked, PrivacyFlags, Reading, takes_flags
from shoal.cli.json_summary import print_verification_json
from shoal.errors import DataError, OptionError
from shoal.inputs import current_watch

__all__ = ["verify"]


@takes_flags()
def verify(
    published: Annotated[
        str, typer.Argument(metavar="RELEASE", help="The published table; - is standard input.")
    ],
    *,
    job: opt.JobFile = None,
    asked: Asked,
    promises: PrivacyFlags,
    reading: Reading,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
    debug: opt.Debug = False,
) -> None:
    """Check a published table against its promises, from the file alone.

    Exit status: 0 every promise holds, 1 one does not, 2 it could not be checked.
    """
    del debug
    from shoal.cli.settings import job_of, release_of
    from shoal.settings.inputs import missing_texts
    from shoal.settings.outputs import name_of

    wanted = job_of(job, asked, promises=promises, source=published, reading=reading)
    columns = wanted.schema_options()
    if wanted.k is None:
        raise OptionError("k is not given: say what was promised, with --k 10 or a job file.")
    from shoal.io.written import read_written
    from shoal.privacy import parse_privacy
    from shoal.promises import grids_of, promises_of
    from shoal.publish.verify import columns_needed, verify_table
    from shoal.recode import Style
    from shoal.table.grid import parse_grid

    quasi, sensitive = columns["quasi_identifiers"], columns["sensitive"]
    source = release_of(wanted, published, reading, alone=True)
    promised = promises_of(parse_privacy(wanted.privacy))
    written = read_written(
        published,
        format=source.format,
        delimiter=source.delimiter,
        encoding=source.encoding,
        header=source.header,
        pick=lambda names: list(dict.fromkeys(columns_needed(names, quasi, sensitive))) or names,
    )
    _refuse_twins([*quasi, *sensitive])
    found = verify_table(
        written.frame,
        k=wanted.k,
        quasi_identifiers=quasi,
        sensitive=sensitive,
        promises=promised,
        missing_values=missing_texts(source),
        spelled=written.spelled,
        grids=grids_of(
            {name: parse_grid(step, column=name) for name, step in columns["grid"].items()},
            Style.from_dict(wanted.style),
        ),
    )
    name = name_of(published)
    if as_json:
        print_verification_json(found, name)
    elif not quiet:
        from shoal.cli.summary import print_verification

        print_verification(
            found,
            title=f"{name}: every promise holds" if found.holds else f"{name}: DOES NOT HOLD",
            n_columns=len(quasi),
        )
    if not found.holds:
        raise typer.Exit(1)


def _refuse_twins(names: list[str]) -> None:
    """Refuse a promise about a name that several columns have: only one of them would be checked.

    Raises:
        DataError: there is such a column.
    """
    watch = current_watch()
    for how in () if watch is None else watch.how_read.values():
        for name in names:
            if name in how.twins:
                raise DataError(
                    f"The release has more than one column {name!r}, and a promise about one says "
                    "nothing about the others; rename them."
                )
