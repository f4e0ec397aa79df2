"""Pages that are really served, on a free port of this machine, and a client that is let in."""

import datetime as dt
import ipaddress
import re
import shutil
import socket
import ssl
import threading
import time
from functools import partial

import httpx
import pytest
import uvicorn
from playwright.sync_api import expect, sync_playwright

from shoal.app.access import Guard, leads_to
from shoal.app.serve import create_app, server_config
from shoal.app.workspace import Workspace


class Pages:
    """A running server, the state of work behind it, and a client that has its cookie."""

    def __init__(self, work: Workspace, tls=None, **guarded) -> None:
        """Serve; `guarded` is told to the guard, `tls` is a folder with a certificate."""
        self.work = work
        self._trusted = False  # nothing to check without TLS, and reading certificates takes long
        files = () if tls is None else (tls / "page.pem", tls / "page.key")
        if tls is not None:
            self._trusted = ssl.create_default_context(cafile=files[0])
            guarded["tls"] = True
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        self.guard = Guard(port=self._socket.getsockname()[1], **guarded)
        self.app = create_app(work, self.guard)
        self._server = uvicorn.Server(server_config(self.app, *map(str, files)))
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True
        )
        self._thread.start()
        while not self._server.started:
            time.sleep(0.005)
        self._clients = []
        self.client = self.new_client()
        if self.guard.password is None:
            let_in(self.client, self.guard.invite())

    @property
    def origin(self) -> str:
        return self.guard.address.rstrip("/")

    @property
    def path(self) -> str:
        """Where the pages of the client begin."""
        return self.client.base_url.path.rstrip("/")

    def new_client(self):
        client = httpx.Client(
            base_url=self.guard.address, trust_env=False, timeout=60, verify=self._trusted
        )
        client.event_hooks = {"response": [partial(inside, client)]}
        self._clients.append(client)
        return client

    def get(self, path, **options):
        return self.client.get(path, **options)

    def post(self, path, data=None, *, script=True, **options):
        """Send a form as a page of ours does, or as its script does."""
        headers = {"origin": self.origin, **options.pop("headers", {})}
        if script:
            headers.setdefault("accept", "application/json")
        return self.client.post(path, data=data, headers=headers, **options)

    def open_file(self, path):
        """Open a table by its path and wait until it is read."""
        response = self.post("/open/path", {"path": str(path)})
        assert response.status_code == 303, response.text
        self.wait("open")

    def drop(self, name, content, *, wait=True):
        """Drop a file on the page and wait until it is read."""
        response = self.post("/open/upload", params={"name": name}, content=content)
        if wait and response.status_code == 200 and "task" in response.json():
            self.wait("open")
        return response

    def wait(self, name):
        """Wait for the work of this name, which has to end well."""
        task = self.app.state.tasks.latest(name)
        assert task.wait(120)
        assert task.state == "done", task.error
        return task

    def end(self):
        for client in self._clients:
            client.close()
        self._server.should_exit = True
        self._thread.join(20)
        self.app.state.tasks.stop_all(5.0)
        self._socket.close()


def let_in(client, address):
    """Go in with a key; from now on the client asks below the path of its session."""
    answer = client.get(address)
    assert answer.status_code == 200, answer.text
    go_on(client, answer)


def go_on(client, answer):
    """Follow the page that leads into the session, as a browser does."""
    path = re.search(r'http-equiv="refresh" content="0; url=(/[\w-]+/)"', answer.text)[1]
    client.base_url = client.base_url.join(path)


def inside(client, answer):
    """Tell addresses as the pages do, without the path of the session."""
    place, start = answer.headers.get("location", ""), client.base_url.path
    if start != "/" and place.startswith(start):
        answer.headers["location"] = place.removeprefix(start.rstrip("/"))


def go(page, place):
    """Type the address of a page of ours into the browser."""
    page.goto(address_of(page) + place)


def address_of(page):
    """Return where the session of a browser begins, with a slash at the end."""
    return re.match(r"https?://[^/]+/[\w-]{43}/", page.url)[0]


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """A password, a certificate and its key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    folder = tmp_path_factory.mktemp("tls")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "shoal")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False
        )
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (folder / "page.pem").write_bytes(certificate.public_bytes(pem))
    plain = serialization.NoEncryption()
    (folder / "page.key").write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    )
    (folder / "password").write_text("correct horse battery\n", encoding="utf-8")
    (folder / "short").write_text("secret\n", encoding="utf-8")
    return folder


@pytest.fixture
def patients():
    """A small table with something of everything."""
    illness = ("flu", "gout", "ulcer")
    lines = ["name,age,zip,sex,diagnosis"]
    lines += [
        f"Person {i},{20 + i % 41},101{10 + i % 7},{'fm'[i % 2]},{illness[i % 3]}"
        for i in range(200)
    ]
    return ("\n".join(lines) + "\n").encode()


@pytest.fixture
def work(tmp_path):
    """A state of work with a private folder, and a folder to open files in."""
    root = tmp_path / "files"
    root.mkdir()
    found = Workspace(tmp_path / "private", root)
    yield found
    found.leave()


@pytest.fixture
def pages(work):
    """A running server with nothing open."""
    found = Pages(work)
    yield found
    found.end()


@pytest.fixture(scope="module")
def chromium():
    with sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium, pages, tmp_path):
    """Opens a page of its own, as `shoal app` does: with a file that leads to the address.

    Afterwards nobody has complained, and no other host was asked.
    """
    contexts, complaints, foreign = [], [], []
    expect.set_options(timeout=60_000)  # a busy machine is no failure

    def open_it(**options):
        context = chromium.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        way_in = tmp_path / "way in.html"
        way_in.write_text(leads_to(pages.guard.invite()), encoding="utf-8")
        page.goto(way_in.as_uri())
        page.on(
            "request",
            lambda r: None if r.url.startswith(pages.guard.address) else foreign.append(r.url),
        )
        page.wait_for_url("**/open")
        return page

    yield open_it
    for context in contexts:
        context.close()
    assert complaints == []
    assert foreign == []
