"""The command line: thin. Each command parses, calls the library and prints."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run the program ``shoal`` with the arguments of the process and exit with its status."""
    import sys

    from shoal.cli.run import run

    sys.exit(run(sys.argv[1:]))
