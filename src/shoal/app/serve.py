"""Starts the server: checks what was asked, prints the address, and cleans up at the end.

The pages that belong to no step are here, too: the start, progress of work, the language, the end.
"""

from __future__ import annotations

import contextlib
import contextvars
import os
import socket
import ssl
import tempfile
import threading
import webbrowser
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from shoal.app.access import LOGIN, Guard, Guarded, Opened, is_loopback, leads_to
from shoal.app.several_files import is_of_several, open_several, read_behind, take_job_file
from shoal.app.steps import SEVERAL, STEPS
from shoal.app.tasks import Tasks, sentence_of
from shoal.app.views import (
    LANGUAGE_COOKIE,
    flash,
    guard_of,
    lead_in,
    page,
    problem,
    quote,
    tasks_of,
    to,
    words_of,
    work_of,
)
from shoal.app.workspace import Workspace, start_reading, user_folder
from shoal.errors import OptionError, ShoalError
from shoal.io.location import is_database
from shoal.io.remote import is_remote
from shoal.messages import Message
from shoal.messages.language import LANGUAGES
from shoal.settings.job_file import read_job

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

# Opens the browser of whoever started the server, and tells nobody else how to get in.
#
# Every user of a machine can read the command line of a browser. So the key is not in it: the
# browser is given a file that only its owner can read, which leads to the address. The file goes
# when the key is used.


def open_browser(guard: Guard, work: Workspace) -> None:
    """Open the browser, and do not wait for it.

    Args:
        guard: lets the browser in.
        work: sees to it that no file stays at the end.
    """
    address = guard.address
    if guard.password is None:
        file = _own_file(work.folder)
        work.elsewhere.append(file)
        inside = guard.invite(lambda: file.unlink(missing_ok=True))
        file.write_text(leads_to(inside), encoding="utf-8")
        address = file.as_uri()
    # A command that waits for its browser keeps a thread busy, and nothing else.
    threading.Thread(target=_open, args=[address], daemon=True).start()


def _open(address: str) -> None:
    with contextlib.suppress(webbrowser.Error, OSError):  # the terminal shows the address, too
        webbrowser.open(address)


def _own_file(private: Path) -> Path:
    """Return a new file that nobody else can read.

    It lies in plain sight in the home of the user: browsers that are packed apart (snap) can read
    neither hidden folders nor those of temporary files.
    """
    with contextlib.suppress(RuntimeError, OSError):
        return _new_file(Path.home())
    return _new_file(private)


def _new_file(folder: Path) -> Path:
    descriptor, name = tempfile.mkstemp(prefix="shoal-", suffix=".html", dir=folder)
    os.close(descriptor)
    return Path(name)


# Pages that belong to no step.

_LONGEST_LOGIN = 10_000  # bytes of a form of whom nobody knows


def start(request: Request) -> Response:
    """Go to where the work stands."""
    work = work_of(request)
    if work.source is None and work.several.opened:
        return to(SEVERAL.path)
    return to("/open" if work.table is None else "/columns")


def task(request: Request) -> Response:
    """Tell how far a piece of work is."""
    found = tasks_of(request).get(request.path_params["id"])
    if found is None:
        return JSONResponse({"state": "unknown"}, status_code=404)
    told = found.to_dict()
    words = words_of(request)
    told["what"] = words(found.what)
    told["left"], told["error"] = words.translate(found.left), words.translate(found.error)
    told["lead"] = "" if words.knows(found.error) else lead_in(words)
    return JSONResponse(told)


def cancel(request: Request) -> Response:
    """Ask a piece of work to stop."""
    found = tasks_of(request).get(request.path_params["id"])
    if found is not None:
        found.cancel()
    return JSONResponse({"state": "unknown" if found is None else found.state})


async def language(request: Request) -> Response:
    """Remember the language of this browser."""
    form = await request.form()
    response = to(_local(str(form.get("back", "/"))))
    code = str(form.get("language", ""))
    if code in LANGUAGES:
        response.set_cookie(
            LANGUAGE_COOKIE, code, max_age=31_536_000, httponly=True, samesite="strict"
        )
    return response


def _local(path: str) -> str:
    """Return a path of ours; anything else is the start."""
    harmless = path.startswith("/") and not path.startswith(("//", "/\\"))
    return path if harmless and path.isprintable() else "/"


def finish(request: Request) -> Response:
    """Show what the end of the work removes."""
    return page(request, "finish.html")


def remove(request: Request) -> Response:
    """Remove everything that was kept, and start anew."""
    work = work_of(request)
    tasks_of(request).stop_all(2.0)
    work.forget_table()
    words = words_of(request)
    flash(request, words("Everything that was kept here is removed."))
    return to("/open")


def login_page(request: Request) -> Response:
    """Ask for the password."""
    return page(request, "login.html", wrong=False)


async def login(request: Request) -> Response:
    """Let in whoever knows the password; wrong ones take time."""
    said = b""
    async for part in request.stream():
        said += part
        if len(said) > _LONGEST_LOGIN:
            return PlainTextResponse("No password is so long.", status_code=413)
    password = parse_qs(said.decode("utf-8", "replace")).get("password", [""])[0]
    guard = guard_of(request)
    async with request.app.state.at_the_door:  # one after another: guessing takes a second each
        await anyio.sleep(0.2)
        if guard.is_password(password):
            return guard.let_in()
        await anyio.sleep(1.0)
    return page(request, "login.html", status=403, wrong=True)


COMMON_PAGES = [
    Route("/", start),
    Route("/task/{id}", task),
    Route("/task/{id}/cancel", cancel, methods=["POST"]),
    Route("/language", language, methods=["POST"]),
    Route("/finish", finish),
    Route("/finish", remove, methods=["POST"]),
    Route(LOGIN, login_page),
    Route(LOGIN, login, methods=["POST"]),
]


# The application: routes of all steps, behind the guard.

_STATIC = Path(__file__).parent / "static"


def create_app(work: Workspace, guard: Guard) -> Starlette:
    """Return the application for one state of work.

    Args:
        work: the state of work.
        guard: who may ask.
    """
    routes: list[BaseRoute] = [*COMMON_PAGES]
    for step in (*STEPS, SEVERAL):
        found: list[Route] = import_module(f"shoal.app.steps.{step.name}").routes
        routes += found
    routes.append(Mount("/static", StaticFiles(directory=_STATIC), name="static"))
    app = Starlette(
        routes=routes,
        exception_handlers={
            ShoalError: _refused,
            HTTPException: _no_page,
            Exception: _failed,
        },
    )
    app.state.work = work
    app.state.guard = guard
    app.state.tasks = Tasks(work.own_words)
    app.state.at_the_door = anyio.Lock()
    app.router.redirect_slashes = False  # it would lead out of the session
    app.add_middleware(Guarded, guard=guard)
    return app


def _refused(request: Request, error: Exception) -> Response:
    """Answer with one sentence on the page that was asked from."""
    pages = (*STEPS, SEVERAL)
    step = next((each for each in pages if request.url.path.startswith(each.path)), STEPS[0])
    if request.method == "GET" and request.url.path == step.path:
        return page(
            request,
            "problem.html",
            status=400,
            sentence=quote(words_of(request), work_of(request).own_words(sentence_of(error))),
        )
    return problem(request, error, step.path)


def _no_page(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    if status == 404:
        words = words_of(request)
        return page(request, "problem.html", status=404, sentence=words("There is no such page."))
    return PlainTextResponse("This is not answered here.", status_code=status)


def _failed(request: Request, error: Exception) -> Response:
    """Answer what nobody planned for: one sentence, no trace."""
    del request
    return PlainTextResponse(sentence_of(error), status_code=500)


_SHORTEST_PASSWORD = 12
_FOR_YOU = Message(
    "The page is for you alone: the address lets one browser in, once. Ctrl-C ends it."
)
_AGAIN = Message("A browser was let in. For another one, or the same again:")
_EVERYWHERE = ("", "0.0.0.0", "::")  # noqa: S104 - refused


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """What ``shoal app`` was asked.

    Attributes:
        data: a table or a job file to open; None opens what was open before.
        host: the address to listen on.
        port: its port; 0 takes a free one.
        browser: whether a browser is opened.
        files: the folder that files may be opened in by their path.
        folder: the private folder.
        keep: whether copies and results stay at the end.
        password_file: holds the password.
        tls_certificate: as PEM.
        tls_key: as PEM.
    """

    data: str | None = None
    host: str = "127.0.0.1"
    port: int = 8765
    browser: bool = True
    files: str | None = None
    folder: str | None = None
    keep: bool = False
    password_file: str | None = None
    tls_certificate: str | None = None
    tls_key: str | None = None


def serve(
    wishes: Wishes,
    *,
    say: Callable[[str], None],
    on_interrupt: Callable[[Callable[[], None] | None], None] = lambda _: None,
) -> None:
    """Serve the pages until somebody ends it.

    Args:
        wishes: what was asked.
        say: prints a line for the person at the terminal.
        on_interrupt: takes a function that is called at Ctrl-C.

    Raises:
        OptionError: what was asked is not safe or not possible.
    """
    # Nothing that the command has read so far is an input here: pages save what they load.
    contextvars.Context().run(_serve, wishes, say, on_interrupt)


def _serve(
    wishes: Wishes,
    say: Callable[[str], None],
    on_interrupt: Callable[[Callable[[], None] | None], None],
) -> None:
    password, root = _password(wishes), _root(wishes)
    folder = Path(wishes.folder) if wishes.folder else user_folder()
    with contextlib.closing(_listen(wishes)) as listening:
        guard = Guard(
            host=wishes.host,
            port=int(listening.getsockname()[1]),
            tls=wishes.tls_certificate is not None,
            password=password,
        )
        work = Workspace(folder, root, keep_data=wishes.keep)
        before = tempfile.tempdir
        try:
            # Whatever a library puts aside lies where nobody else looks, and goes with the rest.
            tempfile.tempdir = str(work.subfolder("temporary"))
            app = create_app(work, guard)
            if wishes.data is not None:
                open_named(wishes.data, work, app)
            config = server_config(app, wishes.tls_certificate, wishes.tls_key)

            def ready() -> None:
                _tell(guard, say)
                if wishes.browser and is_loopback(wishes.host):
                    open_browser(guard, work)

            server = _Server(config, ready)
            on_interrupt(server.end)
            server.run(sockets=[listening])
            app.state.tasks.stop_all(1.0)
        finally:
            on_interrupt(None)
            tempfile.tempdir = before
            work.leave()


def _tell(guard: Guard, say: Callable[[str], None]) -> None:
    """Print how to get in, and again whenever that was used."""

    def print_after(lead: str) -> None:
        address = guard.invite(partial(print_after, _AGAIN))
        say(Message("{lead} {address}", lead=lead, address=address))

    at = Message("Shoal is at")
    if guard.password is None:
        print_after(at)
        say(_FOR_YOU)
    else:
        say(Message("{lead} {address}", lead=at, address=guard.address))
        say(Message("The page asks for the password. Ctrl-C ends it."))


class _Server(uvicorn.Server):
    """A server that says when it answers, and that another thread can end."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to answer; only then is anybody told."""
        await super().startup(sockets)
        self._ready()

    def end(self) -> None:
        """End it soon; pages that are being answered are answered first."""
        self.should_exit = True


def server_config(
    app: Starlette, tls_certificate: str | None = None, tls_key: str | None = None
) -> uvicorn.Config:
    """Return how the pages are served: without a log, a name or anything of a proxy.

    Raises:
        OptionError: certificate and key are not what they should be.
    """
    tls = None
    if tls_certificate is not None:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.set_alpn_protocols(["http/1.1"])
        try:
            tls.load_cert_chain(tls_certificate, tls_key)
        except (OSError, ValueError):  # what is wrong with a file is an OSError of its own kind
            raise OptionError(
                "The TLS certificate {tls_certificate!r} and the key {tls_key!r} cannot be "
                "used: they are no PEM files, or do not belong together.",
                tls_certificate=tls_certificate,
                tls_key=tls_key,
            ) from None
    return uvicorn.Config(
        app,
        http=app.state.guard.door.protocol(tls),
        log_config=None,  # no line of a log can hold a cell or the key
        access_log=False,
        log_level="critical",
        server_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="off",
        timeout_graceful_shutdown=3,
    )


def _password(wishes: Wishes) -> str | None:
    """Return the password that is asked for; None where only this machine can ask.

    Raises:
        OptionError: the page would be open to others without a password and TLS.
    """
    both = wishes.tls_certificate is not None and wishes.tls_key is not None
    if (wishes.tls_certificate is None) != (wishes.tls_key is None):
        raise OptionError("TLS needs both --tls-certificate and --tls-key.")
    if not is_loopback(wishes.host) and (wishes.password_file is None or not both):
        raise OptionError(
            "--host {host} would show the data to other machines: give a password of your own "
            "(--password-file) and TLS (--tls-certificate, --tls-key), or leave --host out.",
            host=wishes.host,
        )
    if wishes.host in _EVERYWHERE:
        raise OptionError(
            "--host {host} is every address at once, and the page must know its own name; "
            "give the one address or name that people will use.",
            host=wishes.host,
        )
    for name, file in (("certificate", wishes.tls_certificate), ("key", wishes.tls_key)):
        if file is not None and not os.access(file, os.R_OK):
            raise OptionError("The TLS {name} {file!r} cannot be read.", name=name, file=file)
    if wishes.password_file is None:
        return None
    try:
        with Path(wishes.password_file).open(encoding="utf-8") as lines:
            password = lines.readline(1_000).rstrip("\r\n")
    except (OSError, UnicodeDecodeError):
        raise OptionError(
            "The password file {password_file!r} cannot be read as UTF-8 text.",
            password_file=wishes.password_file,
        ) from None
    if len(password) < _SHORTEST_PASSWORD:
        raise OptionError(
            "The password in {password_file!r} must have at least {shortest_password} characters.",
            password_file=wishes.password_file,
            shortest_password=_SHORTEST_PASSWORD,
        )
    return password


def _listen(wishes: Wishes) -> socket.socket:
    """Return the socket of the server; a port that is taken is found out before anything else."""
    family = socket.AF_INET6 if ":" in wishes.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    if os.name != "nt":
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((wishes.host, wishes.port))
        listening.listen(128)  # whoever has the address may ask at once
    except (OSError, OverflowError, UnicodeError) as error:
        listening.close()
        reason = getattr(error, "strerror", None) or Message("there is no such address")
        raise OptionError(
            "The page cannot be served at {host} port {port} ({reason}); choose another port "
            "with --port, or --port 0 for a free one.",
            host=wishes.host,
            port=wishes.port,
            reason=reason,
        ) from None
    return listening


def _root(wishes: Wishes) -> Path:
    """Return the folder that files may be opened in."""
    if wishes.files is not None:
        root = Path(wishes.files)
        if not root.is_dir():
            raise OptionError(
                "--files must name a folder, and {files!r} is none.", files=wishes.files
            )
        return root
    if wishes.data is not None and not is_database(wishes.data):
        named = Path(wishes.data).resolve()
        return named if named.is_dir() else named.parent
    return Path.cwd()


def open_named(data: str, work: Workspace, app: Starlette) -> None:
    """Open what the command line names: it may lie anywhere, a person has typed it here.

    Raises:
        ShoalError: there is no such file, or the job cannot be read.
    """
    if is_database(data):
        work.open(work.check_database(data, anywhere=True), secret=data, anywhere=True)
    else:
        if is_remote(data):
            work.inside_root(data)  # which says why not
        path = Path(data).resolve()
        if is_of_several(path):
            if path.is_dir():
                work.several.clear()
                open_several(work, path)
            else:
                take_job_file(work, path, anywhere=True)
            read_behind(work, app.state.tasks)
            return
        if not path.is_file():
            raise OptionError("There is no file {data!r}.", data=data)
        if path.suffix.lower() == ".toml":
            work.open_job(read_job(path), anywhere=True)
        elif work.source is None or work.source.path != str(path):
            work.open(Opened(kind="file", name=path.name, path=str(path)), anywhere=True)
    start_reading(work, app.state.tasks)
