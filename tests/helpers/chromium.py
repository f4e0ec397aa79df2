"""A real browser for tests: Chromium without a window, driven over a pipe.

The DevTools protocol is JSON messages that end with a zero byte; Chromium reads them from file
descriptor 3 and answers on 4. That needs no port, no driver and no package.
"""

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import tempfile
import time
from pathlib import Path

PATIENCE = 60  # seconds; a first start on a busy machine takes a while
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-extensions", "--no-first-run", "--no-default-browser-check", "--hide-scrollbars",
    "--remote-debugging-pipe",
)  # fmt: skip


def find_chromium():
    """The program, or None."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)


class Browser:
    """One running Chromium; use it with ``with``."""

    def __enter__(self):
        self.profile = tempfile.mkdtemp(prefix="shoal-browser-")
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        # Away from 3 and 4, which they become in the browser.
        ends = (to_browser, from_browser)
        child_in, child_out = (fcntl.fcntl(end, fcntl.F_DUPFD, 20) for end in ends)
        program = find_chromium()
        with (Path(self.profile) / "stderr").open("wb") as errors:
            self.process = os.posix_spawn(
                program,
                [program, *FLAGS, f"--user-data-dir={self.profile}", "about:blank"],
                os.environ | {"HOME": self.profile},
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, child_in, 3),
                    (os.POSIX_SPAWN_DUP2, child_out, 4),
                    (os.POSIX_SPAWN_DUP2, errors.fileno(), 1),
                    (os.POSIX_SPAWN_DUP2, errors.fileno(), 2),
                    (os.POSIX_SPAWN_CLOSE, child_in),
                    (os.POSIX_SPAWN_CLOSE, child_out),
                ],
                setpgroup=0,
            )
        for each in (to_browser, from_browser, child_in, child_out):
            os.close(each)
        self._buffer, self._number = b"", 0
        self.events = []
        return self

    def __exit__(self, *_):
        try:
            self._send("Browser.close")
        finally:
            deadline = time.monotonic() + 10
            while os.waitpid(self.process, os.WNOHANG)[0] == 0:
                if time.monotonic() > deadline:
                    os.killpg(self.process, signal.SIGKILL)
                    os.waitpid(self.process, 0)
                    break
                time.sleep(0.05)
            os.close(self._write)
            os.close(self._read)
            shutil.rmtree(self.profile, ignore_errors=True)

    def open(self, path, *, width, height=900, phone=False):
        """Open a file in a page of this width and wait until it is drawn."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        page.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=2 if phone else 1, mobile=phone,
        )  # fmt: skip
        page.call("Page.navigate", url=Path(path).resolve().as_uri())
        self._wait(lambda e: e["method"] == "Page.loadEventFired" and e["sessionId"] == session)
        return page

    def call(self, method, session=None, **parameters):
        """Send a command and return its answer; events that come before it are kept."""
        number = self._send(method, session, **parameters)
        answer = self._wait(lambda message: message.get("id") == number)
        assert "error" not in answer, (method, answer)
        return answer["result"]

    def _send(self, method, session=None, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        return self._number

    def _wait(self, wanted):
        for event in self.events:
            if wanted({"method": "", "sessionId": "", **event}):
                return event
        deadline = time.monotonic() + PATIENCE
        while True:
            while b"\0" in self._buffer:
                raw, self._buffer = self._buffer.split(b"\0", 1)
                message = json.loads(raw)
                if "method" in message:
                    self.events.append(message)
                if wanted({"method": "", "sessionId": "", **message}):
                    return message
            left = deadline - time.monotonic()
            ready = left > 0 and select.select([self._read], [], [], left)[0]
            chunk = os.read(self._read, 1 << 16) if ready else b""
            if not chunk:
                errors = (Path(self.profile) / "stderr").read_text(errors="replace")[-2000:]
                raise AssertionError(f"Chromium did not answer in {PATIENCE} s: {errors}")
            self._buffer += chunk


class Page:
    """One page of the browser."""

    def __init__(self, browser, session):
        self.browser, self.session = browser, session

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def evaluate(self, expression):
        """The value of a JavaScript expression."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def events(self, *methods):
        return [
            event["params"]
            for event in self.browser.events
            if event.get("sessionId") == self.session and event["method"] in methods
        ]

    def complaints(self):
        """Everything the console would show: messages, errors, what the policy has stopped."""
        return self.events("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown")

    def requests(self):
        """Addresses of everything the page has asked for."""
        return [event["request"]["url"] for event in self.events("Network.requestWillBeSent")]

    def screenshot(self, path, clip=None):
        """Draw the whole page, or (x, y, width, height) of it, into a PNG."""
        x, y, width, height = clip or (0, 0, *self.size())
        picture = self.call(
            "Page.captureScreenshot",
            format="png",
            captureBeyondViewport=True,
            clip={"x": x, "y": y, "width": width, "height": height, "scale": 1},
        )
        Path(path).write_bytes(base64.b64decode(picture["data"]))

    def size(self):
        """Width and height of everything on the page."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        return size["width"], size["height"]
