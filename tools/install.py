"""Installs what lock files name into an environment, and says every few seconds what it does.

Called by the Makefile: `python tools/install.py FOLDER LOCK...`. The environment is made where it
is missing, and then the project itself is installed in the end, so that its sources can be edited.
pip is that of the Python that runs this: an environment without a pip of its own is made in no
time.
"""

import subprocess
import sys
import threading
import time
import venv
from pathlib import Path

# Nobody shall need a compiler. PySpark comes as a source package only, of Python and jars.
# Modules are compiled when they are imported: most of those that are installed never are.
OPTIONS = ("--only-binary", ":all:", "--no-binary", "pyspark", "--no-deps", "--no-compile")
EVERY = 4.0  # seconds


class Teller:
    """Prints what is going on, at once where it begins and then every few seconds."""

    def __init__(self) -> None:
        """Start to tell."""
        self.began = time.monotonic()
        self.what = ""
        threading.Thread(target=self._go_on, daemon=True).start()

    def now(self, what: str, *, aloud: bool = True) -> None:
        """Note what is being done, and say so if it is worth a line of its own."""
        self.what = what
        if aloud:
            print(what, "...", flush=True)

    def _go_on(self) -> None:
        while True:
            time.sleep(EVERY)
            print(f"{self.what} ... ({time.monotonic() - self.began:.0f} s)", flush=True)


def pip(folder: Path, *arguments: str, tell: Teller, count: int = 0) -> None:
    """Run pip on an environment; lines of it are shown only if it fails."""
    command = [sys.executable, "-m", "pip", "--python", str(folder), "install"]
    command += ["--disable-pip-version-check", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    lines, seen = [], 0
    assert process.stdout is not None
    for line in process.stdout:
        lines.append(line)
        if count and line.startswith(("Collecting ", "Processing ")):
            seen += 1
            tell.now(f"downloading packages, {seen} of {count}", aloud=False)
        elif line.startswith("Installing collected packages"):
            tell.now("unpacking them" if count else tell.what, aloud=False)
    if process.wait():
        sys.exit("".join(lines))


def main() -> None:
    """Make the environment and install."""
    folder, *locks = map(Path, sys.argv[1:])
    tell = Teller()
    tell.now(f"Setting up {folder} (once, until a lock changes)")
    is_new = not (folder / "pyvenv.cfg").exists()
    if is_new:
        venv.create(folder, clear=True, with_pip=False, symlinks=sys.platform != "win32")
    pins = [line for lock in locks for line in lock.read_text().splitlines() if "==" in line]
    tell.now(f"downloading {len(pins)} packages")
    wanted = [word for lock in locks for word in ("--requirement", str(lock))]
    pip(folder, *OPTIONS, *wanted, tell=tell, count=len(pins))
    if is_new:  # it may be in use already where packages are added
        tell.now("installing shoal")
        pip(folder, "--no-deps", "--no-build-isolation", "--editable", ".", tell=tell)


if __name__ == "__main__":
    main()
