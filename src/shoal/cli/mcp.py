"""``shoal mcp``: the same work for an agent, over the Model Context Protocol; no cell is returned.

A tool is one command of this command line, called with ``--json`` where there is one. What it says
goes through one more sieve: of an error's holes only those are filled that hold a number, a name
that Shoal gives, a word that the agent has said itself or the name of a column. A file that is
given as another kind of file than it is (the table as its own hierarchy) so tells nothing.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import re
import tempfile
import threading
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.arguments import in_files
from shoal.cli.state import note_kept
from shoal.errors import DataError, OptionError, ShoalError
from shoal.io.overwrite_guard import check_name, current_watch, watching_inputs
from shoal.messages import Message
from shoal.runtime.sanitize import hide_credentials, plain_values

if TYPE_CHECKING:
    from shoal.profile.suggest import Suggestion
    from shoal.settings.job import Job

_STACK = 64 << 20  # compiling recurses deeply, and tools run in threads
_HIDDEN = "…"
_SEVERAL = re.compile(rf"{_HIDDEN}(?:\W+{_HIDDEN})+")
_PART = re.compile(r"'[^']*'|\"[^\"]*\"|[^\s,()\[\]]+")
_READ_FOR_OUTPUT = ("secret", "explanation")  # options of [output] that name what is read

_INSTRUCTIONS = (
    "Releases tables about people in which nobody stands out from fewer than k. No tool returns a "
    "cell of a table. Begin with look; plan writes a job; run makes the release, its certificate "
    "and its report as files; verify checks a release; audit attacks it. Roles that are guessed "
    "must be confirmed by somebody who knows the data: ask, and tell plan by its changes."
)

_DOUBTFUL = Message(
    "The first line of the table may be data, so its names are not told; give the file a line of "
    "names, or say that header is false."
)


def serve_agents(
    context: typer.Context,
    read: Annotated[
        list[str] | None,
        in_files("--read", help="Tables are read in this folder and below.", metavar="FOLDER"),
    ] = None,
    write: Annotated[
        str | None,
        in_files("--write", help="Releases are written to this folder or below.", metavar="FOLDER"),
    ] = None,
    jobs: Annotated[
        str | None,
        in_files(
            "--jobs",
            help="A private folder for job files and hierarchies, which hold values of the tables; "
            "one that goes when the server ends unless given.",
            metavar="FOLDER",
        ),
    ] = None,
) -> None:
    """Serve an agent (Model Context Protocol, over standard input and output).

    Its tools look at a table, plan a job, run it, verify and audit a release. None of them returns
    a cell of a table. Ends when the agent closes standard input.
    """
    if not read or write is None:
        raise OptionError(
            "Say what an agent may touch: --read FOLDER for tables, --write FOLDER for releases."
        )
    try:
        from mcp.server import MCPServer
        from mcp_types import CallToolResult, TextContent
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        raise OptionError(
            "Serving agents needs one more package: pip install 'shoal-anonymity[mcp]'."
        ) from None
    from anyio import CapacityLimiter, to_thread

    with ExitStack() as stack:
        private = jobs or stack.enter_context(tempfile.TemporaryDirectory(prefix="shoal-jobs-"))
        folders = Folders(tuple(map(_folder, read)), _folder(write), _folder(private))
        tools = Tools(folders, context.find_root().command)
        server = MCPServer(
            "shoal",
            instructions=_INSTRUCTIONS,
            version=version("shoal-anonymity"),
            log_level="CRITICAL",
        )
        one_at_a_time = CapacityLimiter(1)

        async def call(work: Callable[..., Any], **given: Any) -> CallToolResult:
            said, failed = await to_thread.run_sync(
                lambda: tools.call(work, given), limiter=one_at_a_time
            )
            text = TextContent(type="text", text=json.dumps(said, ensure_ascii=True, indent=1))
            return CallToolResult(content=[text], structured_content=said, is_error=failed)

        @server.tool()
        async def look(table: str, *, header: bool = True) -> Any:
            """Describe a table: rows, and of each column its guessed role, why, and how telling.

            Args:
                table: a file below the folders that may be read.
                header: false if its first line is data; columns are then column_1, column_2, ….
            """
            return await call(tools.look, table=table, header=header)

        @server.tool()
        async def plan(
            table: str,
            name: str = "job",
            changes: dict[str, Any] | None = None,
            *,
            header: bool = True,
        ) -> Any:
            """Write a job from the guesses and your changes, check it, and say what it does.

            Args:
                table: a file below the folders that may be read.
                name: what the job is called; one of that name is replaced.
                changes: laid over the guesses, with the keys of a job file: {"k": 10, "columns":
                    {"zip": {"role": "quasi-identifier"}}}; null takes a key away. Roles are
                    identifier, quasi-identifier, sensitive, insensitive, drop and person.
                header: false if the first line of the table is data.
            """
            return await call(tools.plan, table=table, name=name, changes=changes, header=header)

        @server.tool()
        async def run(job: str, output: str, *, replace: bool = False) -> Any:
            """Make a release by a job: anonymized, verified, written with certificate and report.

            Args:
                job: the name of a plan, or a job file below the folders that may be read.
                output: the file of the release, as in safe.csv, in the folder for releases.
                replace: whether files that are there already are replaced.
            """
            return await call(tools.run, job=job, output=output, replace=replace)

        @server.tool()
        async def verify(
            release: str, certificate: str | None = None, job: str | None = None
        ) -> Any:
            """Check a release against its promises, from its file alone.

            Args:
                release: the published file.
                certificate: its certificate, which says what was promised.
                job: instead of a certificate, the job that says it.
            """
            return await call(tools.verify, release=release, certificate=certificate, job=job)

        @server.tool()
        async def audit(original: str, release: str, job: str, targets: int = 1000) -> Any:
            """Attack a release with the original in hand; say how far each attacker gets.

            Args:
                original: the table that it was made from.
                release: the published file.
                job: the job by which it was made.
                targets: how many people are attacked.
            """
            return await call(
                tools.audit, original=original, release=release, job=job, targets=targets
            )

        threading.stack_size(_STACK)
        note_kept("files that were written before are complete.")
        server.run()


@dataclass(frozen=True)
class Folders:
    """Where an agent may have files read and written.

    Attributes:
        read: tables, and what belongs to them.
        write: releases; they may be read, too.
        jobs: job files and hierarchies.
    """

    read: tuple[Path, ...]
    write: Path
    jobs: Path

    def readable(self, name: str) -> str:
        """Return the path of a file that may be read.

        Raises:
            OptionError: it may not, or there is none.
        """
        from shoal.io.location import is_database

        places = (*self.read, self.write)
        found = [] if is_database(name) else [_real(place, name) for place in places]
        allowed = [path for path in found if any(map(path.is_relative_to, (*places, self.jobs)))]
        for path in allowed:
            if path.is_file():
                return str(path)
        raise OptionError(
            "There is no file {name!r} in the folders that may be read, {folders}.",
            name=name,
            folders=_listed(places),
        )

    def beside(self, name: str) -> str:
        """Return the path of a file that a plan names: kept with it, or one that may be read."""
        path = Path(name)
        if path.is_relative_to(self.jobs) and not path.exists():
            return self.readable(str(path.relative_to(self.jobs)))
        return name

    def writable(self, name: str) -> str:
        """Return the path of a file that may be written.

        Raises:
            OptionError: it lies elsewhere.
        """
        from shoal.io.location import is_database

        path = _real(self.write, name)
        if is_database(name) or not path.is_relative_to(self.write) or path == self.write:
            raise OptionError(
                "{name!r} lies outside the folder for releases, {folders}.",
                name=name,
                folders=_listed([self.write]),
            )
        return str(path)

    def named(self, job: str) -> Path:
        """Return where a plan is kept.

        Raises:
            OptionError: it cannot be called that.
        """
        if re.fullmatch(r"[A-Za-z0-9][\w-]{0,80}", job) is None:
            raise OptionError(
                "A job is called by letters, digits, - and _, not {name!r}.", name=job
            )
        return self.jobs / f"{job}.toml"

    def check(self, job: Job) -> None:
        """Make sure that a job touches nothing else.

        Raises:
            OptionError: it names a file that may not be read or written, or works elsewhere.
        """
        from shoal.settings.files import OUTPUT_OPTIONS

        if job.input.engine != "local":
            raise OptionError("Agents are served on this machine; leave engine out of the job.")
        for name in job.files():
            self.readable(name)
        for name, row in OUTPUT_OPTIONS.items():
            value = getattr(job.output, name)
            if row.path and value is not None:
                (self.readable if name in _READ_FOR_OUTPUT else self.writable)(value)


class Tools:
    """What an agent can do; each method returns what is told, as JSON has it.

    Args:
        folders: where files are read and written.
        command: the command line, which takes a list of words.
    """

    def __init__(self, folders: Folders, command: Any) -> None:
        self.folders, self._command = folders, command
        self._columns: set[str] = set()

    def call(
        self, work: Callable[..., Any], given: Mapping[str, Any]
    ) -> tuple[dict[str, Any], bool]:
        """Return what a tool says, and whether it failed; a cell is in neither."""
        with watching_inputs() as watch:
            try:
                said, error = plain_values(work(**given)), None
            except ShoalError as found:
                error = found.message
            except MemoryError:
                error = Message("The table does not fit into the memory of this machine.")
            except Exception as found:  # noqa: BLE001 - its text may show a cell
                kind = type(found).__name__
                return {"error": f"Shoal failed unexpectedly ({kind}); please report it."}, True
            if watch.doubtful:  # whatever was said may name a cell
                error = _DOUBTFUL
        if error is None:
            return said, False
        known = {*_own_names(), *self._columns, *_texts(given), *map(str, self._places())}
        known |= {
            os.path.realpath(place / f"{name}{ending}")
            for place in self._places()
            for name in _texts(given)
            for ending in ("", ".toml")
            if "\0" not in name
        }
        return {"error": hide_credentials(sifted(error, known))}, True

    def _places(self) -> tuple[Path, ...]:
        return (*self.folders.read, self.folders.write, self.folders.jobs)

    def look(self, table: str, *, header: bool) -> dict[str, Any]:
        """Return the profile of a table."""
        found = self._suggested(table, header=header)
        return {
            "rows": found.n_rows,
            "singled_out": found.singled_out,
            "columns": [
                {
                    "name": each.name,
                    "guessed_role": each.role.value,
                    "sure": each.sure,
                    "kind": None if each.kind is None else each.kind.value,
                    "why": each.why,
                    "different_values": each.n_values,
                    "rows_singled_out_alone": each.alone,
                    "rows_singled_out_together": each.together,
                }
                for each in found.columns
            ],
            "suggested_k": found.k,
            "two_values_promised": found.promised,
            "notes": [*found.notes, *_notes()],
        }

    def _suggested(self, table: str, *, header: bool) -> Suggestion:
        from shoal.profile.suggest import suggest_job

        found = suggest_job(self.folders.readable(table), header=header)
        watch = current_watch()
        if watch is not None and watch.doubtful:
            raise DataError(_DOUBTFUL)
        self._columns |= {each.name for each in found.columns}
        return found

    def plan(
        self, table: str, name: str, changes: Mapping[str, Any] | None, *, header: bool
    ) -> dict[str, Any]:
        """Write a job, and return what it would do."""
        from shoal.settings.job_file import job_from_tables, write_job

        path, source = self.folders.named(name), self.folders.readable(table)
        found = self._suggested(table, header=header)
        found.write(path, source=source, force=True)
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
        tables = _laid_over(tables, changes or {})
        tables["input"] = {**tables.get("input", {}), "path": source}
        try:
            job = job_from_tables(tables, path)
            job = job.with_files(self.folders.beside)
            self.folders.check(job)
            write_job(job, path)
            return {
                "job": name,
                "would_do": self._said(["anonymize", "--job", str(path), "--dry-run"]),
            }
        except BaseException:
            path.unlink(missing_ok=True)  # what was not checked is not run
            raise

    def run(self, job: str, output: str, *, replace: bool) -> dict[str, Any]:
        """Make a release, and return what its certificate tells."""
        path = Path(self.folders.writable(output))
        files = {
            "-o": path,
            "--certificate": path.with_suffix(".certificate.json"),
            "--report": path.with_suffix(".report.html"),
        }
        words = [word for flag, file in files.items() for word in (flag, str(file))]
        return self._told(
            ["anonymize", *self._job(job), *words, "--json", "--quiet", *(["--replace"] * replace)]
        )

    def verify(self, release: str, certificate: str | None, job: str | None) -> dict[str, Any]:
        """Return whether a release keeps its promises."""
        if (certificate is None) == (job is None):
            raise OptionError("Give the certificate of the release, or the job; one of them.")
        said = (
            ["--certificate", self.folders.readable(certificate)]
            if certificate is not None
            else self._job(str(job))
        )
        return self._told(["verify", self.folders.readable(release), *said, "--json"])

    def audit(self, original: str, release: str, job: str, targets: int) -> dict[str, Any]:
        """Return how far attackers get."""
        both = [self.folders.readable(original), self.folders.readable(release)]
        return self._told(["audit", *both, *self._job(job), "--targets", str(targets), "--json"])

    def _said(self, words: list[str]) -> str:
        """Return what a command prints; what its status means stands there, too."""
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            self._command(args=words, prog_name="shoal", standalone_mode=False)
        return printed.getvalue()

    def _told(self, words: list[str]) -> dict[str, Any]:
        """Return what a command prints as JSON."""
        found: dict[str, Any] = json.loads(self._said(words))
        return found

    def _job(self, job: str) -> list[str]:
        """Return the flag for a job that touches nothing but what it may."""
        from shoal.settings.job_file import read_job

        path = job if job.endswith(".toml") else str(self.folders.named(job))
        if path != job and not Path(path).is_file():
            raise OptionError("There is no job {name!r}; plan makes one.", name=job)
        path = self.folders.readable(path)
        self.folders.check(read_job(path))
        return ["--job", path]


# What is told.


def sifted(message: Message, known: set[str]) -> str:
    """Return a message in English with only those texts in its holes that are known.

    >>> sifted(Message("No {name!r} in {file!r}.", name="Eve", file="a.csv"), {"a.csv"})
    "No '…' in 'a.csv'."
    """

    def part(found: re.Match[str]) -> str:
        text = found[0]
        bare = text.strip("'\".")
        is_known = bare in known or all(each in known for each in re.split(r"[./]+", bare))
        return text if is_known else text.replace(bare, _HIDDEN)

    def sieve(value: Any) -> Any:
        value = value.item() if hasattr(value, "item") else value
        if isinstance(value, Message):
            return _refilled(value, sieve)
        if value is None or isinstance(value, bool | int | float):
            return value
        text = str(value)
        return text if text in known else _SEVERAL.sub(_HIDDEN, _PART.sub(part, text))

    return str(_refilled(message, sieve))


def _refilled(message: Message, sieve: Callable[[Any], Any]) -> Message:
    if not message.values:
        return message
    values = {name: sieve(value) for name, value in message.values.items()}
    return Message.from_dict({**message.to_dict(), "values": values})


def _own_names() -> Iterator[str]:
    """Return every name that Shoal gives to something itself."""
    from shoal import registry
    from shoal.io.formats import ENDINGS, FORMATS
    from shoal.settings.files import INPUT_OPTIONS, OUTPUT_OPTIONS
    from shoal.settings.request import OPTIONS
    from shoal.table.schema import COLUMN_ROWS, Kind, Role

    for each in (OPTIONS, INPUT_OPTIONS, OUTPUT_OPTIONS, COLUMN_ROWS, FORMATS):
        yield from each
    yield from (each.removeprefix(".") for each in ENDINGS)
    for family in (registry.algorithms(), registry.measures(), registry.privacy_models()):
        yield from family
    yield from (each.value for each in (*Role, *Kind))
    yield from map(os.strerror, errno.errorcode)
    yield from ("input", "output", "columns", "hierarchies", "privacy", "missing_values", "role")


def _texts(value: Any) -> Iterator[str]:
    """Return every text in what an agent has said."""
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield str(name)
            yield from _texts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, str) and not value.isdecimal():
        yield value


def _notes() -> list[str]:
    watch = current_watch()
    return [] if watch is None else watch.notes


# Folders, and jobs.


def _folder(name: str) -> Path:
    check_name(name)
    path = Path(os.path.realpath(name))
    if not path.is_dir():
        raise OptionError("There is no folder {name!r}.", name=name)
    return path


def _real(folder: Path, name: str) -> Path:
    check_name(name)
    return Path(os.path.realpath(folder / name))


def _listed(folders: Any) -> str:
    return ", ".join(repr(str(each)) for each in folders)


def _laid_over(below: dict[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tables of a job with changes; null takes a key away."""
    found = dict(below)
    for name, value in above.items():
        if value is None:
            found.pop(name, None)
        elif isinstance(value, Mapping):
            before = found.get(name)
            found[name] = _laid_over(before if isinstance(before, dict) else {}, value)
        else:
            found[name] = value
    return found
