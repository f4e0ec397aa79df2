"""``shoal warm-up``: compile the kernels before the first run needs them."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.cli.arguments import Debug, Quiet
from shoal.cli.screen import say
from shoal.errors import DataError


def warm_up(
    everything: Annotated[
        bool, typer.Option("--all", help="What every algorithm needs, not only the default one.")
    ] = False,
    processes: Annotated[
        int | None,
        typer.Option(
            "--processes", min=1, help="How many at the same time; as many as cores.", metavar="N"
        ),
    ] = None,
    prune: Annotated[
        bool, typer.Option("--prune", help="Remove what other versions have left behind, too.")
    ] = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Compile for this machine now, so that the first run starts at once."""
    del debug
    import time

    from shoal.algorithm.warm_up import DEFAULT, EVERYTHING
    from shoal.algorithm.warm_up import warm_up as compile_in_processes
    from shoal.kernels.cache import TEMPORARY, remove_stale

    if TEMPORARY:
        raise DataError(
            "There is no folder that compiled code could be kept in; make one that can be written "
            "to and name it in the environment variable NUMBA_CACHE_DIR."
        )
    began = time.monotonic()
    folder = compile_in_processes(EVERYTHING if everything else DEFAULT, processes)
    removed = remove_stale() if prune else 0
    if not quiet:
        say(f"Compiled in {time.monotonic() - began:.0f} s. The code is kept in {folder}.")
        if prune:
            say(f"Removed the code of {removed} other versions.")
