"""The command line: thin. Each command parses, calls the library and prints."""

from __future__ import annotations

from typing import NoReturn

__all__ = ["main"]


def main() -> NoReturn:
    """Run the program ``shoal`` with the arguments of the process and exit with its status."""
    import os
    import signal
    import sys

    # Until the command looks after signals itself, nothing is open that would have to be closed.
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))

    from shoal.cli.program import run_program

    run_program(sys.argv[1:])
