"""Shows that long work is moving: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any

from shoal.errors import OptionError
from shoal.messages import Message, joined
from shoal.runtime.sanitize import safe_text

if TYPE_CHECKING:
    from rich.progress import Progress


# How long something took, without the time in which kernels were compiled for this machine.


class _Compiling:
    """Seconds that numba has spent compiling in this process; reading its cache is none of it."""

    def __init__(self) -> None:
        self._depth = 0
        self._began = 0.0
        self._total = 0.0

    # numba compiles one thing at a time, whichever thread asks for it.
    def on_start(self, event: Any) -> None:
        del event
        if not self._depth:
            self._began = time.perf_counter()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        del event
        self._depth -= 1
        if not self._depth:
            self._total += time.perf_counter() - self._began

    def seconds(self) -> float:
        running = time.perf_counter() - self._began if self._depth else 0.0
        return self._total + running


_compiling: _Compiling | None = None


def compiled_seconds() -> float:
    """Return how long this process has compiled kernels, from the first call on."""
    global _compiling  # noqa: PLW0603 - one listener per process
    if _compiling is None:
        from numba.core import event

        class Listening(_Compiling, event.Listener):
            """What numba takes."""

        _compiling = Listening()
        event.register("numba:compile", _compiling)  # type: ignore[no-untyped-call]
    return _compiling.seconds()


class Stopwatch:
    """Starts when it is made."""

    def __init__(self) -> None:
        self._compiled = compiled_seconds()
        self._began = time.perf_counter()

    def seconds(self) -> float:
        """Return the seconds of work since the start."""
        elapsed = time.perf_counter() - self._began
        return max(0.0, elapsed - (compiled_seconds() - self._compiled))


Report = Callable[[int, int, str], None]
"""``report(done, total, what)``: rows done, rows in all; a total of 0 is not known."""

STAGES = (
    Message("reading"),
    Message("looking"),
    Message("encoding"),
    Message("clustering"),
    Message("searching"),
    Message("refining"),
    Message("covering"),
    Message("publishing"),
    Message("verifying"),
    Message("scoring"),
    Message("measuring"),
    Message("attacking"),
    Message("writing"),
    Message("written"),
    Message("compiling"),
    Message("compiling anew"),
    Message("looking for cells"),
    Message("unifying closest clusters"),
    Message("done"),
    Message("growing groups"),
    Message("enforcing privacy"),
    Message("trying changes"),
    Message("trying sizes"),
    Message("placing further rows of people"),
    Message("counting combinations"),
    Message("cutting into blocks"),
    Message("clustering blocks"),
    Message("enforcing privacy in blocks"),
    Message("raising the bound"),
    Message("bounding"),
    Message("adjusting clusters"),
    Message("looking for the radius"),
    Message("measuring distances"),
    Message("specialising"),
    Message("partitioning"),
    Message("mending small groups"),
)
"""What work tells about where it is, beside messages with numbers; what a plug-in tells is shown as
it is."""

COMPILING, COMPILING_ANEW = "compiling", "compiling anew"
_NOTICES = {
    COMPILING: Message(
        "Compiling the kernels for this machine (once; later runs start at once) ..."
    ),
    COMPILING_ANEW: Message(
        "Compiling the kernels for this run alone: there is no folder to keep them in "
        "(NUMBA_CACHE_DIR can name one) ..."
    ),
}
_FIRST_LINE = 2.0  # seconds; short work says nothing
_NEXT_LINE = 4.0
_REDRAW = 0.2
_STEADY = 0.5  # seconds of a stage before its pace means anything


@contextmanager
def showing_progress(
    *, quiet: bool = False, translate: Callable[[str], str] = str
) -> Iterator[Report]:
    """Give a function that shows progress on standard error while the block runs.

    Args:
        quiet: whether to show nothing.
        translate: says a message in another language.
    """
    if quiet:
        yield no_progress
    elif _in_notebook():
        with _cell(translate) as report:
            yield report
    elif sys.stderr.isatty():
        with _bar(translate) as report:
            yield report
    else:
        yield PlainLines(translate)


def _in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


@contextmanager
def _cell(translate: Callable[[str], str]) -> Iterator[Report]:
    """Show progress in the output of a cell, as HTML without a script; it goes with the work."""
    display = importlib.import_module("IPython.display")
    shown = display.display(display.HTML(""), display_id=True)
    pace, drawn = Pace(), float("-inf")

    def report(done: int, total: int, what: str) -> None:
        nonlocal drawn
        now = time.monotonic()
        said = pace.text(done, total, what, now)
        if now < drawn + _REDRAW:
            return
        drawn = now
        # without a value the bar of a browser pulses
        known = f' value="{done / total:.3f}"' if total and done else ""
        stage, speed = (escape(safe_text(translate(each))) for each in (_stage(what), said))
        shown.update(display.HTML(f"{stage} <progress{known}></progress> {speed}"))

    try:
        yield report
    finally:
        shown.update(display.HTML(""))


def no_progress(done: int, total: int, what: str) -> None:
    """Report nothing."""
    del done, total, what


class Pace:
    """How fast the present stage is: rows per second, and the time that is left of it.

    It begins anew after something was compiled: that would pass for slow work.
    """

    def __init__(self) -> None:
        self._what = ""
        self._began = 0.0
        self._first = 0
        self._compiled = 0.0

    def text(self, done: int, total: int, what: str, now: float) -> str:
        """Return the pace in words; nothing while it cannot be known."""
        compiled = compiled_seconds() if "numba" in sys.modules else 0.0
        if what != self._what or done < self._first or compiled != self._compiled:
            self._what, self._began, self._first = what, now, done
            self._compiled = compiled
        seconds, rows = now - self._began, done - self._first
        if seconds < _STEADY or rows <= 0 or what in _NOTICES:
            return ""
        rate = _short(rows / seconds)
        if total > done:
            left = _clock((total - done) * seconds / rows)
            return Message("{rate} rows/s, {left} left", rate=rate, left=left)
        return Message("{rate} rows/s", rate=rate)


def _short(rate: float) -> Message:
    for unit, name in ((1e6, "M"), (1e3, "k")):
        if rate >= unit:
            return Message("{rate:.1f} {unit}", rate=rate / unit, unit=name)
    return Message("{rate:.0f}", rate=rate)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _stage(what: str) -> Message:
    return what if isinstance(what, Message) else Message(what)


class PlainLines:
    """One line after a while and then now and then, for logs."""

    def __init__(self, translate: Callable[[str], str] = str) -> None:
        self._translate = translate
        self._began = time.monotonic()
        self._next = self._began + _FIRST_LINE
        self._noticed = False
        self._pace = Pace()

    def __call__(self, done: int, total: int, what: str) -> None:
        """Print a line if the last one was long ago."""
        if what in _NOTICES and not self._noticed:
            self._noticed = True
            self._next = time.monotonic() + _NEXT_LINE
            self._line(_NOTICES[what])
        now = time.monotonic()
        pace = self._pace.text(done, total, what, now)
        if now >= self._next:
            self._next = now + _NEXT_LINE
            if done:
                share = Message("{done:,}", done=done)
                if total:
                    share = Message(
                        "{done:,} of {total:,} ({share:.0%})",
                        done=done,
                        total=total,
                        share=done / total,
                    )
                parts = joined(", ", (share, pace)) if pace else share
                self._line(Message("{what}: {parts}", what=_stage(what), parts=parts))
            else:  # the stage cannot say how far it is; two such lines are not the same
                since = _clock(now - self._began)
                what = _stage(what)
                self._line(Message("{what} ... ({since} since the start)", what=what, since=since))

    def _line(self, text: str) -> None:
        line = safe_text(self._translate(text))
        print(line, file=sys.stderr, flush=True)  # noqa: T201 - this is the command line


class _Shown:
    """The bar on the screen, if there is one."""

    bar: Progress | None = None


def close_display() -> None:
    """Take the bar off the screen, from whichever thread, before the process ends."""
    bar, _Shown.bar = _Shown.bar, None
    if bar is not None:
        bar.stop()


@contextmanager
def _bar(translate: Callable[[str], str]) -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description:<10}"),
        BarColumn(),
        TextColumn("{task.fields[share]:>5}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[pace]}"),
    )
    pace = Pace()
    noticed: list[str] = []
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        _Shown.bar = progress
        # One line for all stages: a stage that is over leaves nothing behind.
        task = progress.add_task(translate(Message("starting")), total=None, share="", pace="")

        def report(done: int, total: int, what: str) -> None:
            if what in _NOTICES and not noticed:
                noticed.append(what)
                progress.console.print(translate(_NOTICES[what]))
            # Nothing done yet means that the stage cannot say how far it is: the bar pulses.
            progress.update(
                task,
                description=translate(_stage(what)),
                completed=done,
                total=total if total and done else None,
                share=f"{done / total:.0%}" if total and done else "",
                pace=translate(pace.text(done, total, what, time.monotonic())),
            )

        try:
            yield report
        finally:
            _Shown.bar = None


@contextmanager
def watching(progress: bool | Report) -> Iterator[Report]:  # noqa: FBT001 - as in anonymize()
    """Give the function behind ``progress=``: True shows it, False does not, or the user's own.

    Raises:
        OptionError: it is neither.
    """
    if callable(progress):
        yield progress
    elif isinstance(progress, bool) or progress is None:
        with showing_progress(quiet=not progress) as report:
            yield report
    else:
        raise OptionError(
            "progress must be true, false or a function of (done, total, what), got {progress!r}.",
            progress=progress,
        )
