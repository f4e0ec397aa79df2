"""The one way to a terminal: whatever is shown there is safe to show.

Column names, file names and labels come from others. Nothing here lets an escape sequence, a mark
of direction or an endless text of theirs reach the screen.
"""

from __future__ import annotations

import functools
import json
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from shoal.errors import ShoalWarning
from shoal.io.overwrite_guard import current_watch
from shoal.runtime.sanitize import safe_lines, safe_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import Console


def say(text: str, *, stderr: bool = False) -> None:
    """Print lines for people."""
    typer.echo(safe_lines(text), err=stderr)


def print_json(found: Mapping[str, Any]) -> None:
    """Print JSON in ASCII, which escapes whatever could steer a terminal."""
    from shoal.runtime.sanitize import plain_values

    typer.echo(json.dumps(plain_values(found), indent=2, ensure_ascii=True, allow_nan=False))


@contextmanager
def told_in_summary() -> Iterator[None]:
    """Keep warnings about a release out of the block: its summary tells them, once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShoalWarning)
        yield


def column_on_screen(name: str) -> str:
    """Return what to call a column: its place where its name may be a cell."""
    watch = current_watch()
    place = None if watch is None else watch.doubtful.get(name)
    return safe_text(name) if place is None else f"column {place}"


def open_console(*, stderr: bool = False) -> Console:
    """Return a console for tables and colours that shows texts of others safely."""
    return _console_class()(stderr=stderr, highlight=False)


@functools.cache
def _console_class() -> type[Console]:
    # Inside a function: rich is imported by the first command that prints.
    from rich.console import Console
    from rich.segment import Segment

    class Safe(Console):
        """Shows what is not printable as an escape, whoever put it into a table."""

        def render(self, renderable: Any, options: Any = None) -> Any:
            for segment in super().render(renderable, options):
                plain = segment.text.replace("\n", "")
                if segment.control or plain.isprintable():
                    yield segment
                else:
                    yield Segment(safe_lines(segment.text, None), segment.style)

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Safe
