"""Installs what lock files name into an environment, and says every few seconds what it does.

Called by the Makefile: `python tools/install.py FOLDER LOCK...`. The environment is made where it
is missing, and then the project itself is installed in the end, so that its sources can be edited.

uv does it, which takes a fraction of the time; pip brings it along once, and does all of it where
uv cannot. Both are told the same: where packages are found is a setting of pip. pip is that of the
Python that runs this: an environment without a pip of its own is made in no time.
"""

import ast
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]

# Nobody shall need a compiler. PySpark comes as a source package only, of Python and jars.
OPTIONS = ("--only-binary", ":all:", "--no-binary", "pyspark", "--no-deps")
OURS = ("--no-deps", "--no-build-isolation", "--editable", str(ROOT))

# PySpark is packed before it is installed; its jars are compressed already.
PACKING = "[bdist_wheel]\ncompression = stored\n"

# What uv calls a setting of pip, and what stands between several values.
SETTINGS = {
    "index-url": ("UV_DEFAULT_INDEX", " "),
    "extra-index-url": ("UV_INDEX", " "),
    "find-links": ("UV_FIND_LINKS", ","),
    "no-index": ("UV_NO_INDEX", ""),
    "trusted-host": ("UV_INSECURE_HOST", " "),
    "cert": ("SSL_CERT_FILE", ""),
    "proxy": ("ALL_PROXY", ""),
}
EVERY = 4.0  # seconds


class Teller:
    """Prints what is going on, at once where it begins and then every few seconds."""

    def __init__(self) -> None:
        """Start to tell."""
        self.began = time.monotonic()
        self.what = self.step = ""
        threading.Thread(target=self._go_on, daemon=True).start()

    def now(self, what: str) -> None:
        """Say what is being done from now on."""
        self.what, self.step = what, ""
        print(what, "...", flush=True)

    def _go_on(self) -> None:
        while True:
            time.sleep(EVERY)
            seconds = f"{time.monotonic() - self.began:.0f} s"
            print(f"{self.what} ... ({', '.join(filter(None, (seconds, self.step)))})", flush=True)


def run(command: list[str], tell: Teller, environment: dict[str, str]) -> str:
    """Run a program; return what it printed if it fails, and nothing otherwise."""
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **environment},
    )
    lines = []
    assert process.stdout is not None
    for line in process.stdout:
        lines.append(line)
        tell.step = " ".join(line.split()[:2])  # such as "Downloaded numpy"
    return "".join(lines) if process.wait() else ""


def settings_of_pip() -> dict[str, str]:
    """Return what pip is set to on this machine, as variables of uv; those that are set stay."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    lines = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout
    found = dict(line.split("=", 1) for line in lines.splitlines() if "=" in line)
    variables = {"UV_INDEX_STRATEGY": "unsafe-best-match"}  # as pip does where there are several
    for name, (variable, between) in SETTINGS.items():
        for section in ("global", "install", ":env:"):  # the last one counts
            if value := found.get(f"{section}.{name}"):
                variables[variable] = (between or " ").join(str(ast.literal_eval(value)).split())
    return {name: value for name, value in variables.items() if name not in os.environ}


def main() -> None:
    """Make the environment and install."""
    folder, *locks = map(Path, sys.argv[1:])
    tell = Teller()
    tell.now(f"Setting up {folder} (once, until a lock changes)")
    is_new = not (folder / "pyvenv.cfg").exists()
    if is_new:
        venv.create(folder, clear=True, with_pip=False, symlinks=sys.platform != "win32")
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    pip = [sys.executable, "-m", "pip", "--python", str(folder), "install"]
    pip += ["--disable-pip-version-check", "--no-compile"]  # most modules are never imported
    places = [str(folder / "bin"), str(folder / "Scripts"), str(ROOT / ".venv/bin")]
    on = os.pathsep.join([*places, os.environ.get("PATH", "")])
    if not shutil.which("uv", path=on):
        tell.now("fetching uv")
        pinned = ["--constraint", str(ROOT / "requirements/ci.txt")]
        run([*pip, *OPTIONS, *pinned, "uv"], tell, {})
    found = shutil.which("uv", path=on)
    uv = [found, "pip", "install", "--python", str(python)] if found else []

    with tempfile.TemporaryDirectory() as scratch:
        packing = Path(scratch) / "packing.cfg"
        packing.write_text(PACKING)
        extra = {"DIST_EXTRA_CONFIG": str(packing)}

        def install(*what: str) -> None:
            if uv and not run([*uv, *what], tell, settings_of_pip() | extra):
                return
            if failed := run([*pip, *what], tell, extra):
                sys.exit(failed)

        count = sum("==" in line for lock in locks for line in lock.read_text().splitlines())
        tell.now(f"installing {count} packages")
        install(*OPTIONS, *(word for lock in locks for word in ("--requirement", str(lock))))
        if is_new:  # it may be in use already where packages are added
            tell.now("installing shoal")
            install(*OURS)


if __name__ == "__main__":
    main()
