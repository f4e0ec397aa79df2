"""The pages as three kinds of visitors ask for them, over HTTP.

The owner has a session and an open table. Nobody has nothing. Somebody has something of another
session: a key that was used, a cookie of another server, or what the owner's browser sends to other
ports of this machine. Whatever these two ask, no byte of the table, no name of a file and no
message comes back, and nothing changes. The owner drops job files, too, some of which name files
that the pages must not open.
"""

from __future__ import annotations

import atexit
import contextlib
import http.client
import json
import random
import re
import shutil
import socket
import tempfile
import threading
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from fuzz.parts import BROKEN, HELD, LEAKED, Outcome, crashed
from fuzz.tables import token

PASSWORD = "a password of the hunt"  # noqa: S105 - of a server that lives for a moment
COLUMNS = ("name", "age", "zip", "ill")
PLACES = ("/", "/open", "/columns", "/login", "/static/app.js")
"""What a browser asks other servers of this machine for."""
ODD_PATHS = ("//open", "/open/", "/./open", "/static/../open", "/static/%2e%2e/open", "/OPEN",
             "/open?page=1", "/open%00", "/open;x", "/open#x", "/favicon.ico", "/x/open",
             "*")  # fmt: skip


@dataclass
class Answer:
    """What the server said, all of it."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def raw(self) -> bytes:
        """Every byte of it that somebody chose."""
        return "\n".join(f"{k}: {v}" for k, v in self.headers).encode() + b"\n" + self.body


@dataclass
class Site:
    """A server with a table, its owner, and what nobody else may see."""

    work: Any
    app: Any
    guard: Any
    outside: Path
    secrets: list[str]
    start: str = ""
    cookies: list[tuple[str, str, str]] = field(default_factory=list)
    used: str = ""

    def ask(
        self,
        method: str,
        path: str,
        headers: dict[str, str] | None = None,
        body: bytes | None = None,
    ) -> Answer | None:
        """Send one request; None if the server closes the door on it."""
        given = {"Host": f"127.0.0.1:{self.guard.port}", **(headers or {})}
        given |= {"Connection": "close"}
        connection = http.client.HTTPConnection("127.0.0.1", self.guard.port, timeout=60)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in given.items():
                connection.putheader(name, value.encode("utf-8", "replace"))
            if method == "POST":
                connection.putheader("Content-Length", str(len(body or b"")))
            connection.endheaders(body or None)
            found = connection.getresponse()
            return Answer(found.status, found.getheaders(), found.read())
        except (ConnectionError, http.client.HTTPException):
            return None
        finally:
            connection.close()

    @property
    def origin(self) -> str:
        """Where pages of this server come from."""
        return f"http://127.0.0.1:{self.guard.port}"

    def as_owner(
        self, method: str, path: str, body: bytes | None = None, *, script: bool = False
    ) -> Answer:
        """Ask as the browser that has the session."""
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value, _ in self.cookies)}
        headers |= {"Origin": self.origin, "Content-Type": "application/x-www-form-urlencoded"}
        headers |= {"Accept": "application/json"} if script else {}
        found = self.ask(method, self.start + path, headers, body)
        assert found is not None
        return found

    def sent_elsewhere(self, place: str) -> str:
        """Return the cookies that the owner's browser sends to another port of this machine."""
        sent = [
            f"{name}={value}"
            for name, value, path in self.cookies
            if place == path or place.startswith(path.rstrip("/") + "/")
        ]
        return "; ".join(sent)

    def enter(self, password: str | None) -> None:
        """Let the owner's browser in."""
        if password is None:
            where = self.guard.invite()
            self.used = where.partition("key=")[2]
            found = self.ask("GET", "/" + where.partition("//")[2].partition("/")[2])
        else:
            form = urlencode({"password": password}).encode()
            headers = {"Origin": self.origin, "Content-Type": "application/x-www-form-urlencoded"}
            found = self.ask("POST", "/login", headers, form)
        assert found is not None
        for name, value in found.headers:
            if name.lower() == "set-cookie":
                pair, *more = (each.strip() for each in value.split(";"))
                said = {each.partition("=")[0].lower(): each.partition("=")[2] for each in more}
                key, _, content = pair.partition("=")
                self.cookies.append((key, content, said.get("path", "/")))
        led = re.search(rb'url=(/[\w-]+)/"', found.body)
        self.start = led[1].decode() if led else ""

    def state(self) -> tuple[Any, ...]:
        """Return what a stranger must not change."""
        table = self.work.table
        return self.work.revision, None if table is None else table.n_rows, self.work.job_text()


def _serve(folder: Path, password: str | None) -> Site:
    """Start a server with an open table."""
    import uvicorn

    from shoal.app.access import Guard
    from shoal.app.serve import create_app, server_config
    from shoal.app.workspace import Workspace

    root, outside = folder / "files", folder / "outside"
    for each in (root, outside):
        each.mkdir(parents=True)
    rng = random.Random(folder.name)
    secrets = [token(rng, 14) for _ in range(16)]
    rows = [f"{secrets[i]},{20 + i},101{i % 3}0,{secrets[8 + i % 4]}" for i in range(8)] * 2
    (outside / "secret.csv").write_text("age,zip\n" + "20,10100\n" * 4, encoding="utf-8")
    (root / "link.csv").symlink_to(outside / "secret.csv")
    name = secrets[15]
    (root / f"{name}.csv").write_text("\n".join([",".join(COLUMNS), *rows]) + "\n")
    work = Workspace(folder / "private", root)
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    guard = Guard(port=listening.getsockname()[1], password=password)
    app = create_app(work, guard)
    server = uvicorn.Server(server_config(app))
    thread = threading.Thread(
        target=server.run, kwargs={"sockets": [listening]}, daemon=True, name="visited"
    )
    thread.start()
    while not server.started:
        time.sleep(0.005)
    site = Site(work, app, guard, outside, [*secrets, str(folder)])
    site.enter(password)
    site.as_owner("POST", "/open/path", urlencode({"path": f"{name}.csv"}).encode(), script=True)
    assert app.state.tasks.latest("open").wait(60)
    site.secrets += [each for _, each, _ in site.cookies]
    site.secrets += [site.start[1:]] if site.start else []

    def end() -> None:
        server.should_exit = True
        thread.join(10)
        work.leave()

    atexit.register(end)
    return site


@cache
def sites() -> tuple[Site, ...]:
    """Return the servers of this process: one with a key, one with a password, one of others."""
    folder = Path(tempfile.mkdtemp(prefix="shoal-visited-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return tuple(
        _serve(folder / name, password)
        for name, password in (("key", None), ("password", PASSWORD), ("other", None))
    )


def run(seed: str, folder: Path) -> Outcome:
    """Let the owner do something and strangers ask."""
    del folder
    rng = random.Random(seed)
    try:
        site, other = rng.choice(sites()[:2]), sites()[2]
        told = _owner_acts(rng, site)
        problems, verdict, note = told
        if problems:
            return Outcome(verdict, problems, note)
        for _ in range(3):
            found = _stranger_asks(rng, site, other)
            if found is not None:
                return found
    except Exception as error:
        return crashed(error)
    return Outcome(HELD, note=note)


# -- the owner ----------------------------------------------------------------------------------


def _owner_acts(rng: random.Random, site: Site) -> tuple[list[str], str, str]:
    """Let the owner look, make a message wait, or drop a job file."""
    act = rng.random()
    if act < 0.3:
        seen = site.as_owner("GET", "/open")
        lost = [] if seen.status == 200 and site.secrets[15].encode() in seen.raw else [str(seen)]
        return [f"the owner does not see the table: {each[:300]}" for each in lost], BROKEN, "looks"
    if act < 0.6:
        name = token(rng, 14)
        site.secrets[14] = name
        form = urlencode({"path": f"{name}.csv"}).encode()
        site.as_owner("POST", "/open/path", form)  # a message with that name waits for a page
        return [], HELD, "message"
    return *_drops(rng, site), "job"


def _drops(rng: random.Random, site: Site) -> tuple[list[str], str]:
    named = forbidden(rng, site.outside)
    job = job_naming(rng, named)
    before = site.work.job_text()
    found = site.as_owner("POST", "/open/upload?name=job.toml", job.encode(), script=True)
    after = site.work.job_text()
    if found.status >= 500:
        return [f"status {found.status}: {found.body[-500:]!r} for {job}"], "crashed"
    if opened(site.outside, site.work.root, after):
        return [f"a job that names {named} was taken: {after}"], LEAKED
    if found.status == 200 and json.loads(found.body).get("error"):
        return [f"an error with status 200: {found.body!r}"], BROKEN
    if found.status != 200 and before != after:
        return [f"refused, and changed the job all the same: {job}"], BROKEN
    return [], HELD


def forbidden(rng: random.Random, outside: Path) -> str:
    """Return a name of a file that the pages must not open, in one of many spellings."""
    file = rng.choice(("secret.csv", "nothing.csv"))
    return rng.choice(
        (
            str(outside / file),
            f"../outside/{file}",
            f"./x/../../outside/{file}",
            "link.csv",
            f"sqlite:///{outside / file}?table=x",
            f"sqlite:///../outside/{file}?table=x",
            "/etc/passwd",
            "~/.bashrc",
            f"{outside}/*.csv",
        )
    )


def job_naming(rng: random.Random, named: str) -> str:
    """Return a job file with this name at one of the places where files are named."""
    text = json.dumps(named)
    roles = {"name": "identifier", "age": "quasi-identifier", "zip": "quasi-identifier"}
    tables = {name: [f'role = "{role}"'] for name, role in (roles | {"ill": "sensitive"}).items()}
    top, input_lines, privacy = ["k = 2"], [], []
    place = rng.randrange(7)
    if place == 0:
        top.append(f"previous = [{text}]")
    elif place == 1:
        top.append(f"previous = {text}")
    elif place == 2:
        input_lines.append(f"path = {text}")
    elif place == 3:
        input_lines += ['path = "x.csv"', f"more = [{text}]"]
    elif place == 4:
        tables["zip"].append(f"hierarchy = {text}")
    else:
        model = ['model = "k-map"', "k = 2"]
        if place == 6:
            model = ['model = "delta-presence"', "delta_max = 0.9"]
        privacy = ["[[privacy]]", *model, f"population = {text}"]
    lines = [*top, *(["[input]", *input_lines] if input_lines else []), *privacy]
    for name, said in tables.items():
        lines += [f"[columns.{name}]", *said]
    return "\n".join(lines) + "\n"


def opened(outside: Path, root: Path, job: str) -> list[str]:
    """Return the files outside of the root that a job text names, wherever it does."""
    found = []
    for text in re.findall(r'"((?:[^"\\]|\\.)*)"', job):
        name = text.removeprefix("sqlite:///").partition("?")[0]
        if "/" not in name and not name.endswith(".csv"):
            continue
        with contextlib.suppress(OSError, RuntimeError, ValueError):
            full = (root / Path(name).expanduser()).resolve()
            if full.is_relative_to(outside) or not full.is_relative_to(root.parent):
                found.append(text)
    return found


# -- the others ---------------------------------------------------------------------------------


def _stranger_asks(rng: random.Random, site: Site, other: Site) -> Outcome | None:
    """Ask for something without the session; return what is wrong with the answer."""
    kind = rng.choice(("nobody", "another session", "another port"))
    method, path = rng.choice(_asked(site.app))
    headers: dict[str, str] = {}
    if method == "POST" or rng.random() < 0.5:
        headers["Origin"] = rng.choice((site.origin, other.origin, "null", "http://evil.example"))
    if rng.random() < 0.2:
        fetch = rng.choice(("none", "same-origin", "same-site", "cross-site"))
        headers["Sec-Fetch-Site"] = fetch
    if rng.random() < 0.1:
        names = ("evil.example", f"localhost:{site.guard.port}", f"127.0.0.1:{other.guard.port}")
        headers["Host"] = rng.choice(names)
    if kind == "another session":
        headers |= _something_else(rng, site, other)
        if rng.random() < 0.3:
            path = f"/?key={quote(rng.choice((site.used, other.used, 'x')))}"
            method = "GET"
        elif rng.random() < 0.3:
            path = other.start + path
    elif kind == "another port":
        headers["Cookie"] = site.sent_elsewhere(rng.choice((*PLACES, path)))
    before = site.state()
    answer = site.ask(method, path, headers, b"path=x&password=wrong" if method == "POST" else None)
    asked = f"{kind}: {method} {path} {headers}"
    if answer is not None:
        told = [each for each in site.secrets if each and each.encode() in answer.raw]
        if told:
            return Outcome(LEAKED, [f"{asked} is told {told}", str(answer)[:1500]], kind)
        if answer.status >= 500:
            return Outcome(BROKEN, [f"{asked}: status {answer.status}", str(answer.body)], kind)
        if answer.status == 200 and not _open_to_all(site, path):
            return Outcome(LEAKED, [f"{asked} is answered", str(answer)[:800]], kind)
    if site.state() != before:
        return Outcome(BROKEN, [f"{asked} changed the work"], kind)
    return None


def _something_else(rng: random.Random, site: Site, other: Site) -> dict[str, str]:
    """Return a cookie that is not one of this site's sessions."""
    value = rng.choice((*(each for _, each, _ in other.cookies), site.used or "x", "", "\u00e4"))
    names = (*(name for name, _, _ in (*site.cookies, *other.cookies)), "session")
    return {"Cookie": f"{rng.choice(names)}={value}"}


def _open_to_all(site: Site, path: str) -> bool:
    """Return whether a page is for everybody: where the password is asked for, and its looks."""
    return site.guard.password is not None and path.partition("?")[0] in (
        "/login",
        "/static/app.css",
    )


@cache
def _asked(app: Any) -> list[tuple[str, str]]:
    """Return what can be asked for: every page and answer of the server, and odd paths."""
    from starlette.routing import Mount, Route

    found = [("GET", path) for path in ODD_PATHS]
    for route in app.routes:
        if isinstance(route, Mount):
            found += [("GET", f"{route.path}/app.js"), ("GET", f"{route.path}/app.css")]
        if isinstance(route, Route):
            path = re.sub(r"\{\w+:int\}", "0", route.path)
            path = re.sub(r"\{\w+(:path)?\}", "x", path)
            # a wrong password takes a second, for whoever guesses
            found += [
                (each, path) for each in route.methods or () if (each, path) != ("POST", "/login")
            ]
    return sorted(found)
