"""How a browser gets in, and who does not: other users, other servers, and whoever only waits."""

import asyncio
import contextlib
import os
import re
import shlex
import signal
import socket
import ssl
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.app.conftest import Pages, let_in
from tests.app.test_app_process import Process

from shoal.app.access import Door, Guard
from shoal.app.serve import create_app, server_config
from shoal.errors import OptionError

# Somebody else on this machine. Without the right to be somebody else, modes are looked at alone.
IS_ROOT = os.geteuid() == 0
NOBODY = {"user": 65534, "group": 65534, "extra_groups": []} if IS_ROOT else {}

# A browser that tells how it was called and stays until its input ends.
BROWSER = """import sys
open(sys.argv[1], "w").write(sys.argv[2])
sys.stdin.read()
"""


def as_somebody_else(*command):
    return subprocess.run(command, capture_output=True, check=False, timeout=60, **NOBODY)


def command_lines():
    """Returns what everybody reads in the list of processes."""
    found = as_somebody_else("sh", "-c", "cat /proc/[0-9]*/cmdline").stdout
    return found.decode("utf-8", "replace").replace("\0", " ")


@pytest.fixture
def home(tmp_path):
    """A home that everybody may look into, so that only the file itself keeps others out."""
    folder = Path(subprocess.check_output(["mktemp", "-d"], text=True).strip())  # noqa: S607
    folder.chmod(0o755)
    yield folder
    subprocess.run(["rm", "-rf", str(folder)], check=True)  # noqa: S607


@pytest.fixture
def started(tmp_path, home, patients):
    """The program with a browser that waits; where that browser says how it was called."""
    (tmp_path / "t.csv").write_bytes(patients)
    script, told = tmp_path / "browser.py", tmp_path / "told"
    script.write_text(BROWSER, encoding="utf-8")
    os.mkfifo(told)
    words = [sys.executable, str(script), str(told), "%s"]
    browser = {"BROWSER": shlex.join(words), "HOME": str(home)}
    with Process(tmp_path / "private", tmp_path / "t.csv", browser=browser) as process:
        yield process, told.read_text(encoding="utf-8")


def test_nothing_in_the_list_of_processes_lets_anybody_in(started, home):
    process, given = started
    (file,) = home.glob("*.html")
    assert given == file.as_uri()
    listed = command_lines()
    assert given in listed  # the browser is still there, and its command can be read
    assert process.address.partition("key=")[2] not in listed
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    if IS_ROOT:
        assert as_somebody_else("cat", str(file)).returncode != 0
        assert as_somebody_else("ls", str(home)).returncode == 0
    with process.client() as stranger:
        found = set(re.findall(r"https?://\S+|[\w-]{20,}", listed)) | {given}
        for each in found:
            answer = stranger.get("/", params={"key": each})
            assert answer.status_code == 403
            assert "set-cookie" not in answer.headers


def test_the_file_lets_its_owner_in_once_and_goes(started, home):
    process, _ = started
    (file,) = home.glob("*.html")
    (key,) = set(re.findall(r"key=([\w-]+)", file.read_text(encoding="utf-8")))
    with process.client() as browser, process.client() as late:
        let_in(browser, f"{process.origin}/?key={key}")
        assert browser.get("/open").status_code == 200
        assert late.get("/", params={"key": key}).status_code == 403
        let_in(late, process.address)  # what was printed is for another browser
        assert late.get("/open").status_code == 200
        status, printed = process.end(signal.SIGINT)
    assert status == 0
    assert list(home.iterdir()) == []
    assert key not in printed
    assert len(set(re.findall(r"key=[\w-]+", printed))) == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "terminate"])
def test_the_file_goes_with_the_server_where_no_browser_used_it(started, home, number):
    process, _ = started
    assert len(list(home.iterdir())) == 1
    process.end(number)
    assert list(home.iterdir()) == []


# -- other servers of this machine ---------------------------------------------------------------


class Neighbour(ThreadingHTTPServer):
    """Another server of this machine, which writes down everything that it is sent."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Listening)
        self.heard = []
        self.address = f"http://127.0.0.1:{self.server_port}/"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Listening(BaseHTTPRequestHandler):
    """Writes down a request and answers with a page that tries to be sent more."""

    def do_GET(self):
        self.server.heard.append(f"{self.requestline}\n{self.headers}")
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>x</title><img src='/again'><p>neighbour</p>")

    def log_message(self, *_):
        pass


@pytest.fixture
def neighbour():
    found = Neighbour()
    yield found
    found.shutdown()
    found.server_close()


def test_another_server_of_this_machine_is_sent_nothing_that_lets_in(pages, neighbour):
    client = pages.client
    pages.post("/language", {"language": "de", "back": "/"})
    for path in ("", "open", "login"):
        assert client.get(neighbour.address + path).status_code == 200
    heard = "".join(neighbour.heard)
    assert "shoal_language=de" in heard  # a cookie of all paths is sent to every port
    assert client.cookies[pages.guard.cookie] not in heard
    assert pages.path.strip("/") not in heard
    assert pages.get("/open").status_code == 200


@pytest.mark.long
def test_chromium_sends_another_server_nothing_that_lets_in(chromium, pages, neighbour):
    context = chromium.new_context()
    try:
        page = context.new_page()
        page.goto(pages.guard.invite())
        page.wait_for_url("**/open")
        page.get_by_role("button", name="Deutsch").click()
        page.wait_for_url("**/open")
        session = page.url.split("/")[3]
        (token,) = [each["value"] for each in context.cookies() if each["path"] != "/"]
        for path in ("", "open", "login"):
            page.goto(neighbour.address + path)
        page.go_back()
        heard = "".join(neighbour.heard)
        assert "/again" in heard
        assert "shoal_language=de" in heard
        assert session not in heard
        assert token not in heard
        page.goto(f"{pages.guard.address}{session}/open")
        assert page.get_by_role("button", name="Deutsch").get_attribute("aria-pressed") == "true"
    finally:
        context.close()


# -- whoever only waits --------------------------------------------------------------------------


def half_open(pages):
    """Begins a request, or with TLS a handshake, and does not end it."""
    found = socket.create_connection(("127.0.0.1", pages.guard.port), timeout=60)
    begun = b"\x16\x03\x01\x02\x00\x01" if pages.guard.tls else b"GET / HTTP/1.1\r\nHost: 1\r\n"
    found.sendall(begun)
    return found


def wait_for_its_end(connection):
    """Waits until the server has closed a connection; fails if it answers or never does."""
    with contextlib.suppress(ConnectionResetError):
        assert connection.recv(1) == b""


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "handshakes"])
def test_strangers_are_few_and_browsers_of_ours_get_in_beside_them(work, files, tls):
    pages = Pages(work, tls=files if tls else None, door=Door(most=5, patience=3600))
    waiting = [half_open(pages) for _ in range(40)]
    try:
        for each in waiting[:35]:
            wait_for_its_end(each)
        assert pages.guard.door.strangers == 5
        browser = pages.new_client()
        let_in(browser, pages.guard.invite())
        assert browser.get("/open").status_code == 200
        assert pages.get("/open").status_code == 200
    finally:
        for each in waiting:
            each.close()
        pages.end()


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "handshakes"])
def test_a_stranger_is_sent_away_and_a_browser_of_ours_may_take_its_time(
    work, patients, files, tls
):
    pages = Pages(work, tls=files if tls else None, door=Door(patience=3600))
    try:
        pages.get("/open")
        cookie = f"{pages.guard.cookie}={pages.client.cookies[pages.guard.cookie]}"
        head = (
            f"POST {pages.path}/open/upload?name=t.csv HTTP/1.1\r\n"
            f"Host: 127.0.0.1:{pages.guard.port}\r\nOrigin: {pages.origin}\r\n"
            f"Cookie: {cookie}\r\nContent-Length: {len(patients)}\r\n\r\n"
        )
        with contextlib.ExitStack() as stack:
            slow = socket.create_connection(("127.0.0.1", pages.guard.port), timeout=60)
            slow = stack.enter_context(slow)
            if tls:
                trusted = ssl.create_default_context(cafile=files / "page.pem")
                slow = stack.enter_context(trusted.wrap_socket(slow, server_hostname="127.0.0.1"))
            slow.sendall(head.encode() + patients[:100])
            while not list(work.folder.glob("data/*/t.csv")):
                time.sleep(0.01)
            assert pages.guard.door.strangers == 0  # so nobody counts its seconds
            pages.guard.door.patience = 0.1
            with half_open(pages) as stranger:
                wait_for_its_end(stranger)
            slow.sendall(patients[100:])
            assert slow.recv(12) == b"HTTP/1.1 200"
    finally:
        pages.end()


def test_who_hangs_up_in_a_handshake_or_speaks_no_tls_is_forgotten(work, files):
    pages = Pages(work, tls=files, door=Door(patience=3600))
    try:
        for begun in (b"", b"\x16\x03\x01\x02\x00", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"):
            with socket.create_connection(("127.0.0.1", pages.guard.port), timeout=60) as stranger:
                stranger.sendall(begun)
                stranger.shutdown(socket.SHUT_WR)
                with contextlib.suppress(ConnectionResetError):
                    while stranger.recv(1000):
                        pass
        assert pages.get("/open").status_code == 200
        for _ in range(6000):
            if not pages.guard.door.strangers:
                break
            time.sleep(0.01)
        assert pages.guard.door.strangers == 0
    finally:
        pages.end()


def test_who_comes_again_from_the_same_port_is_not_forgotten_with_the_one_before():
    class Line:
        aborted = False

        def abort(self):
            self.aborted = True

    async def both():
        door, before, after = Door(most=5, patience=3600), Line(), Line()
        door.came("here", before)
        door.came("here", after)  # a new connection, before the end of the old one is heard of
        door.left("here", before)
        assert door.strangers == 1
        door.left("here", after)
        assert door.strangers == 0

    with ThreadPoolExecutor() as own:
        own.submit(asyncio.run, both()).result()


def test_a_request_that_comes_with_the_end_of_its_handshake_is_answered(work, files):
    pages = Pages(work, tls=files)
    trusted = ssl.create_default_context(cafile=files / "page.pem")
    come, go = ssl.MemoryBIO(), ssl.MemoryBIO()
    secure = trusted.wrap_bio(come, go, server_hostname="127.0.0.1")
    try:
        with socket.create_connection(("127.0.0.1", pages.guard.port), timeout=60) as line:
            while True:
                try:
                    secure.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    line.sendall(go.read())
                    come.write(line.recv(100_000))
            secure.write(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{pages.guard.port}\r\n\r\n".encode())
            line.sendall(go.read())  # the last of the handshake and the request, in one go
            heard = b""
            while b"\r\n\r\n" not in heard:
                come.write(line.recv(100_000))
                with contextlib.suppress(ssl.SSLWantReadError):
                    heard += secure.read(100_000)
            assert heard.startswith(b"HTTP/1.1 403")
    finally:
        pages.end()


def test_the_door_that_is_served_has_limits(work, files):
    guard = Guard()
    app = create_app(work, guard)
    served = server_config(app).http
    assert issubclass(served, guard.door.protocol().__base__)
    secure = server_config(app, str(files / "page.pem"), str(files / "page.key"))
    assert not secure.is_ssl  # the door itself agrees on TLS, and counts from the beginning
    with pytest.raises(OptionError, match="do not belong together"):
        server_config(app, str(files / "page.pem"), str(files / "password"))
    assert guard.door.most <= 100
    assert guard.door.patience <= 30
