"""``shoal demo``: a whole run on a table that comes with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.options import Debug, Quiet
from shoal.cli.screen import say
from shoal.errors import DataError

__all__ = ["demo"]

_CATEGORICAL = ("workclass", "marital_status", "occupation", "race", "sex", "native_country")


def demo(
    out: Annotated[
        str, typer.Option("--out", help="The folder for the results.", metavar="FOLDER")
    ] = "shoal-demo",
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Anonymize 45,222 census records with k = 10: table, report, certificate, summary."""
    del debug
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"Could not make the folder {out!r}: {error.strerror}.") from None

    import shoal
    from shoal.cli.run import note_written
    from shoal.datasets import (
        ADULT_COLUMNS,
        ADULT_QUASI_IDENTIFIERS,
        adult_hierarchies,
        load_adult,
    )
    from shoal.runtime.progress import showing_progress
    from shoal.settings.outputs import Outputs

    outputs = Outputs(
        source=None,
        table=str(folder / "adult_k10.csv"),
        certificate=str(folder / "certificate.json"),
        report=str(folder / "report.html"),
        replace=True,  # it is ours: the folder of an earlier demo
    )
    outputs.check()
    kept = {*ADULT_QUASI_IDENTIFIERS, "salary"}
    with showing_progress(quiet=quiet) as progress:
        release = shoal.anonymize(
            load_adult(),
            k=10,
            quasi_identifiers=list(ADULT_QUASI_IDENTIFIERS),
            sensitive=["salary"],
            drop=[name for name in ADULT_COLUMNS if name not in kept],
            hierarchies=adult_hierarchies(_CATEGORICAL),
            algorithm_options={"effort": "fast"},
            progress=progress,
        )
    release = outputs.write(release)
    note_written()
    if not quiet:
        from shoal.cli.summary import print_release

        print_release(release, title="Adult census, 45,222 people")
        say(f"The table, report.html and certificate.json are in {out}.")
