"""How a browser gets in, and who does not: other users, other servers, and whoever only waits."""

import contextlib
import os
import re
import shlex
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.app.conftest import Pages, let_in
from tests.app.test_app_process import Process

from shoal.app.door import Door
from shoal.app.guard import Guard
from shoal.app.serve import server_config
from shoal.app.server import create_app

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
    """Begins a request and does not end it."""
    found = socket.create_connection(("127.0.0.1", pages.guard.port), timeout=60)
    found.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n")
    return found


def wait_for_its_end(connection):
    """Waits until the server has closed a connection; fails if it answers or never does."""
    with contextlib.suppress(ConnectionResetError):
        assert connection.recv(1) == b""


def test_strangers_are_few_and_browsers_of_ours_get_in_beside_them(work):
    pages = Pages(work, door=Door(most=5, patience=3600))
    waiting = [half_open(pages) for _ in range(40)]
    try:
        for each in waiting[:35]:
            wait_for_its_end(each)
        browser = pages.new_client()
        let_in(browser, pages.guard.invite())
        assert browser.get("/open").status_code == 200
        assert pages.get("/open").status_code == 200
    finally:
        for each in waiting:
            each.close()
        pages.end()


def test_a_stranger_is_sent_away_and_a_browser_of_ours_may_take_its_time(work, patients):
    pages = Pages(work, door=Door(patience=3600))
    try:
        pages.get("/open")
        cookie = f"{pages.guard.cookie}={pages.client.cookies[pages.guard.cookie]}"
        head = (
            f"POST {pages.path}/open/upload?name=t.csv HTTP/1.1\r\n"
            f"Host: 127.0.0.1:{pages.guard.port}\r\nOrigin: {pages.origin}\r\n"
            f"Cookie: {cookie}\r\nContent-Length: {len(patients)}\r\n\r\n"
        )
        with socket.create_connection(("127.0.0.1", pages.guard.port), timeout=60) as slow:
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


def test_the_door_that_is_served_has_limits(work):
    guard = Guard()
    served = server_config(create_app(work, guard)).http
    assert issubclass(served, guard.door.protocol().__base__)
    assert guard.door.most <= 100
    assert guard.door.patience <= 30
