"""From arguments to an exit status; the one place where errors become lines on stderr.

Exit statuses:

- 0: done.
- 1: the promise cannot be met, or was not met (``PromiseError``, ``shoal verify``).
- 2: the input or the options are wrong (any other ``ShoalError``, wrong usage).
- 70: a bug in Shoal (an exception nobody planned for); ``--debug`` shows where.
- 130 and 143: stopped by Ctrl-C or by a request to terminate (128 + the signal's number).
"""

from __future__ import annotations

import contextlib
import errno
import functools
import io
import os
import signal
import sys
import threading
import warnings
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NoReturn, TextIO, cast

from shoal.cli.state import State, translated, words
from shoal.errors import OptionError, ShoalError
from shoal.io.overwrite_guard import watching_inputs
from shoal.messages import Message
from shoal.messages.language import LANGUAGES
from shoal.runtime.sanitize import hide_credentials, hide_names, hide_words, safe_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FrameType


BUG = 70  # EX_SOFTWARE of sysexits.h
_LONGEST = 2_000  # characters of a line


class Stopped(BaseException):
    """Somebody asked the process to stop; unwinds the stack so that nothing is half-written."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def run_program(arguments: Sequence[str]) -> NoReturn:
    """Run one command as the whole process; ends the process with its exit status."""
    open_streams()
    if "--debug" not in arguments:
        quiet_libraries()
        # What a library does wrong while the process ends is none of the user's business.
        sys.unraisablehook = lambda _: None
        threading.excepthook = lambda _: None
    warnings.showwarning = lambda warning, *_, **__: _say(_warned(warning))
    call = InterruptibleCall(lambda: _call(arguments))
    status = run(arguments, call=call.wait)
    if call.running:
        # Stopped in the middle of the work: nobody waits for it to end.
        os._exit(status)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            discard(stream)
    sys.exit(status)


def run(arguments: Sequence[str], *, call: Callable[[], int] | None = None) -> int:
    """Run one command and return its exit status; never raises and never prints a traceback.

    ``--debug`` shows the traceback of an error before its message.

    Args:
        arguments: the words of the command.
        call: another way to run them than here and now.
    """
    State.debug = State.written = False
    State.kept = ""
    State.soften = None
    State.arguments = arguments
    State.watch = None
    State.language = None
    try:
        with _stopping(for_good=call is not None):
            status = _call(arguments) if call is None else call()
            sys.stdout.flush()
            if State.watch is not None and not {"-q", "--quiet"} & {*State.arguments}:
                for note in State.watch.notes:  # how files were read, where nobody had said so
                    _say(words("Note: {note}", note=note))
            return status
    except Stopped as stop:
        if call is not None:
            _end_the_rest()
        ended = Message("Terminated")
        if stop.number == signal.SIGINT:
            ended = Message("Interrupted")
        left = State.kept or Message("nothing was written.")
        if State.written:
            left = Message("the output is complete.")
        _say(words("{ended}; {left}", ended=ended, left=left))
        return 128 + stop.number
    except BrokenPipeError:
        # The reader of our output has left, as `head` does. Python would complain again when it
        # flushes at exit, so what is left goes nowhere.
        discard(sys.stdout)
        return 1
    except ShoalError as error:
        _trace()
        hint = _first_line_hint(str(error))
        _say(words("Error: {text}", text=error.message) + hint)
        return error.exit_status
    except BaseException as error:  # noqa: BLE001 - the last door: whatever it is becomes one line
        return _unplanned(error)


def _end_the_rest() -> None:
    """See to it that a thread that is still at work leaves nothing behind."""
    # Not imported here: the other thread may be in the middle of an import. What it has not
    # imported it has not used.
    ends = {
        "shoal.io.atomic": "abandon_outputs",
        "shoal.runtime.progress": "close_display",
        "shoal.app.workspace": "leave_all",
    }
    for module, name in ends.items():
        end = getattr(sys.modules.get(module), name, None)
        if end is not None:
            with contextlib.suppress(Exception):
                end()


def _warned(warning: Warning | str) -> str:
    """Return a warning as the command says it."""
    first = warning.args[0] if isinstance(warning, Warning) and warning.args else warning
    text = first if isinstance(first, Message) else str(warning)
    return words("Warning: {text}", text=text)


def _call(arguments: Sequence[str]) -> int:
    _check_letters(arguments)
    State.language = _language_among(arguments)
    with watching_inputs() as State.watch:
        commands = _commands(State.language)
        status = commands(args=list(arguments), prog_name="shoal", standalone_mode=False)
    return status if isinstance(status, int) else 0


def _language_among(arguments: Sequence[str]) -> str | None:
    """Return the language that is asked for, so that help and usage errors know it, too."""
    for word, following in pairwise((*arguments, "")):
        flag, _, code = word.partition("=")
        if flag == "--language" and (code or following) in LANGUAGES:
            return code or following
    return None


@functools.cache
def _commands(language: str | None) -> Callable[..., object]:
    """Return the tree of commands, which typer would build anew for every call.

    Args:
        language: of its help.
    """
    from typer.main import get_command

    from shoal.cli.app import app

    tree = get_command(app)
    if language not in (None, "en"):
        for part in parts_of(tree):
            for name, text in help_of(part).items():
                setattr(part, name, words(text))
    return tree


def parts_of(command: Any) -> Iterator[Any]:
    """Give a command, its parameters, and all of that of the commands below it."""
    yield command
    yield from command.params
    for each in getattr(command, "commands", {}).values():
        yield from parts_of(each)


def help_of(part: Any) -> dict[str, str]:
    """Return what help says of a command or a parameter, by the attribute that holds it."""
    texts = {name: getattr(part, name, None) for name in ("help", "epilog", "rich_help_panel")}
    return {name: text for name, text in texts.items() if isinstance(text, str) and text}


def _check_letters(arguments: Sequence[str]) -> None:
    """Refuse words that no system could have given us: they can be no names of files."""
    for place, word in enumerate(arguments, 1):
        try:
            os.fsencode(word)
        except UnicodeEncodeError:
            raise OptionError(
                "word {place} of the command holds half of a letter (a lone surrogate), which "
                "no name of a file or column can; type it again.",
                place=place,
            ) from None


def _unplanned(error: BaseException) -> int:
    # typer's own errors (wrong usage) know their status; which class they are depends on its
    # version, so they are told by what they can do.
    describe = getattr(error, "format_message", None)
    if describe is not None:
        context = getattr(error, "ctx", None)
        command = getattr(context, "command_path", None) or "shoal"
        text = " ".join(str(describe()).split())
        end = "" if text.endswith((".", "?")) else "."
        advice = words("Try '{command} --help'.", command=command)
        said = words("Error: {text}", text=f"{text}{end}")
        _say(f"{said}\n{advice}")
        return 2
    if isinstance(error, SystemExit) and isinstance(error.__context__, BrokenPipeError):
        discard(sys.stdout)
        return 1
    _trace()
    known = _known(error)
    if known is not None:
        text, status = known
        complete = words("The output files are complete.")
        _say(f"{text} {complete}" if State.written else text)
        discard(sys.stdout)
        return status
    # Not the message: an exception of another library may show a cell of the input.
    said = words("Error: Shoal failed unexpectedly ({error}).", error=type(error).__name__)
    hint = words("Run again with --debug for the details, and please report it.")
    _say(said if State.debug else f"{said} {hint}")
    return BUG


def _known(error: BaseException) -> tuple[str, int] | None:
    """Return message and status of what the machine does rather than the program."""
    if isinstance(error, KeyboardInterrupt):
        return words("Interrupted."), 128 + signal.SIGINT
    if isinstance(error, MemoryError):
        return words("Error: the table does not fit into the memory of this machine."), 2
    if isinstance(error, OSError) and error.strerror:
        # Only streams for people are written to without a name; files have their own messages.
        reason = error.strerror
        return words("Error: the system refuses to go on: {reason}.", reason=reason), 2
    if type(error).__name__ == "Abort":  # typer's, when the answer to a question does not come
        return words("Error: the input ended before every question was answered."), 2
    return None


def _trace() -> None:
    if State.debug:
        import traceback

        _say(traceback.format_exc().rstrip())


def _first_line_hint(message: str) -> str:
    """Return that the first line looks like data, where a message about columns does not say so."""
    watch = State.watch
    if watch is None or hide_names(message, watch.doubtful) != message:
        return ""
    return "".join(f" {translated(note)}" for note in watch.notes if "--no-header" in note)


def _say(text: str) -> None:
    # A word of the command line may be the URL of a database, and stderr ends up in logs.
    text = hide_words(hide_credentials(text), State.arguments)
    if State.watch is not None:
        text = hide_names(text, State.watch.doubtful, translated)
    text = safe_lines(text, None if State.debug else _LONGEST)
    try:
        print(text, file=sys.stderr, flush=True)  # noqa: T201 - this is the command line
    except (OSError, ValueError):
        discard(sys.stderr)


@contextlib.contextmanager
def _stopping(*, for_good: bool) -> Iterator[None]:
    """Turn Ctrl-C and requests to terminate into ``Stopped`` while the block runs.

    Args:
        for_good: whether the process ends after the block; then nothing interrupts its end.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        del frame
        if number == signal.SIGINT and State.soften is not None:
            instead, State.soften = State.soften, None
            instead()
            return
        # One is enough: a second one must not interrupt the cleaning up.
        for each in before:
            signal.signal(each, signal.SIG_IGN)
        raise Stopped(number)

    before: dict[int, object] = {}
    try:
        for each in (signal.SIGINT, signal.SIGTERM):
            before[each] = signal.getsignal(each)
            signal.signal(each, stop)
    except ValueError:  # not the main thread: whoever started us looks after signals
        before.clear()
    try:
        yield
    finally:
        for number, handler in before.items():
            if for_good:
                signal.signal(number, signal.SIG_IGN)
            elif handler is not None:
                signal.signal(number, handler)  # type: ignore[arg-type]  # as getsignal gave it


# -- a thread of its own -------------------------------------------------------------------------
#
# Python looks for signals only between its own steps: a long call into compiled code (a sort, a
# parse, a kernel that is being compiled) would keep Ctrl-C waiting. The main thread therefore does
# nothing but wait, which a signal interrupts, and the process ends without asking the other thread.
#
# It waits for a bare lock: the exception of a signal that strikes inside an Event (to start a
# thread takes one, too) may leave the locks that it is made of as they are, and become another
# exception.

_STACK = 64 << 20  # compiling recurses deeply, and threads have little stack on some systems
_LOOK = 0.2  # seconds; some systems do not interrupt a wait that has no end


class InterruptibleCall:
    """One call in another thread, which is there at once and begins when it is waited for.

    Attributes:
        running: whether the call has begun and not ended.
    """

    def __init__(self, work: Callable[[], int]) -> None:
        self._work = work
        self._begun, self._ended = threading.Lock(), threading.Lock()
        self._begun.acquire()
        self._ended.acquire()
        self._status = 0
        self._error: BaseException | None = None
        self.running = False
        before = threading.stack_size(_STACK)
        try:
            threading.Thread(target=self._run, name="shoal", daemon=True).start()
        finally:
            threading.stack_size(before)

    def wait(self) -> int:
        """Run the call and return what it returns; a signal's exception ends the waiting only."""
        self.running = True
        self._begun.release()
        while not self._ended.acquire(timeout=_LOOK):
            pass
        if self._error is not None:
            raise self._error
        return self._status

    def _run(self) -> None:
        self._begun.acquire()
        try:
            self._status = self._work()
        except BaseException as error:  # noqa: BLE001 - raised again by whoever waits
            self._error = error
        finally:
            self.running = False
            self._ended.release()


# -- standard streams ----------------------------------------------------------------------------
#
# A process may be started without a standard stream. The next file it opens would then get the
# number of that stream, and a message meant for people would end up inside that file.


class _NoBytes(io.RawIOBase):
    """The bytes of a stream that is closed: nothing can be read from it or written to it."""

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def read(self, _: int = -1) -> bytes:
        raise OSError(errno.EBADF, "it is closed")

    def write(self, _: object) -> int:
        raise OSError(errno.EBADF, "it is closed")


class _Closed(io.TextIOBase):
    """A text stream that is closed: words vanish, bytes are refused."""

    def __init__(self) -> None:
        self.buffer = _NoBytes()

    @property
    def encoding(self) -> str:  # type: ignore[override]  # as that of a stream that is open
        return "utf-8"

    def write(self, text: str) -> int:
        return len(text)

    def read(self, _: int | None = -1) -> str:
        return ""

    def readline(self, _: int = -1) -> str:  # type: ignore[override]  # as a text stream's
        return ""


def open_streams() -> None:
    """See to it that all three streams exist, and that they take any character."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = getattr(sys, name)
        if stream is None:
            with contextlib.suppress(OSError):
                _point_nowhere(number)
            setattr(sys, name, cast("TextIO", _Closed()))
        elif isinstance(stream, io.TextIOWrapper) and number:
            # A terminal that lacks a letter of a column's name gets a substitute, no traceback.
            stream.reconfigure(errors="backslashreplace")


def quiet_libraries() -> None:
    """Keep what libraries write to standard error by themselves from being seen.

    A library of compiled code that gives up prints why, and may print a cell of the input with
    it. Our own messages keep going to where standard error was.
    """
    with contextlib.suppress(OSError, ValueError, AttributeError):
        own = os.dup(sys.stderr.fileno())
        sys.stderr.flush()
        sys.stderr = os.fdopen(
            own, "w", buffering=1, encoding=sys.stderr.encoding, errors="backslashreplace"
        )
        _point_nowhere(2)


def discard(stream: TextIO | None) -> None:
    """Send what is left in a stream nowhere: Python would complain when it flushes at the end."""
    if stream is not None:
        with contextlib.suppress(OSError, ValueError, AttributeError):
            _point_nowhere(stream.fileno())
        with contextlib.suppress(OSError, ValueError):
            stream.flush()


def _point_nowhere(number: int) -> None:
    handle = os.open(os.devnull, os.O_RDWR)
    if handle != number:
        os.dup2(handle, number)
        os.close(handle)
