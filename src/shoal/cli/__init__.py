"""The command line: thin. Each command parses, calls the library and prints."""

from __future__ import annotations

from typing import NoReturn

__all__ = ["main"]


def main() -> NoReturn:
    """Run the program ``shoal`` with the arguments of the process and exit with its status."""
    import io
    import sys

    from shoal.cli.run import run_program

    for stream in (sys.stdout, sys.stderr):
        # A terminal that lacks a letter of a column's name gets a substitute, not a traceback.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    run_program(sys.argv[1:])
