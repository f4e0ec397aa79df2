"""Where compiled kernels are kept between two runs.

Numba's cache looks only at the file a kernel stands in, not at the helpers it calls from other
files. So every state of the sources has a folder of its own, named after a digest of all of them
(and of what else changes the code): a changed helper is never ignored, and nothing is deleted. Old
folders stay until somebody asks for them to be removed (`remove_stale`).

The folder is the first of these that can be written to: NUMBA_CACHE_DIR if that is set, the
installation, the user's cache. If none can be, a temporary folder is made; if not even that can
be, every run compiles for itself. A new folder gets links to kernels that were compiled in a place
that can only be read, such as a container's image.

A wheel of `make dist` brings kernels compiled for a common type of processor. Where they fit, this
process compiles for that type, too: otherwise numba would not look at them.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import llvmlite.binding as llvm
import numba
from numba.core.caching import UserProvidedCacheLocator
from numba.core.codegen import get_host_cpu_features
from numba.core.registry import cpu_target

if TYPE_CHECKING:
    from collections.abc import Iterator

_HERE = Path(__file__).parent
_NAME = "kernels-"

NUMBA: Any = numba.config
"""Settings of numba; their names come about at run time, so type checkers do not know them."""

COMMON = ("x86-64-v3", "")
"""The processor that a wheel brings code for: its name to LLVM, and no features beside its own."""

_NEEDS = {"+avx", "+avx2", "+bmi", "+bmi2", "+f16c", "+fma", "+lzcnt", "+movbe", "+xsave"}
_BROUGHT = _HERE / "compiled"


def _name(processor: tuple[str, str]) -> str:
    """Return the name of the folder for code of these sources for a processor."""
    sha = hashlib.sha256()
    for source in sorted(_HERE.glob("*.py")):
        sha.update(source.read_bytes())
    built = (numba.__version__, sys.version_info[:2], NUMBA.BOUNDSCHECK, llvm.get_process_triple())
    sha.update(repr((*built, *processor)).encode())
    return _NAME + sha.hexdigest()[:16]


def _choose_processor() -> tuple[str, str]:
    """Return the name and the features of the processor that this process compiles for.

    It is this machine's, unless the wheel brings code that runs here, numba was told nothing else
    and has compiled nothing yet.
    """
    told = NUMBA.CPU_NAME is not None or NUMBA.CPU_FEATURES is not None
    if not told and "_toplevel_target_context" not in vars(cpu_target):
        here = get_host_cpu_features().split(",")
        if _NEEDS.issubset(here) and (_BROUGHT / _name(COMMON)).is_dir():
            NUMBA.CPU_NAME, NUMBA.CPU_FEATURES = COMMON
    features = NUMBA.CPU_FEATURES
    return (
        NUMBA.CPU_NAME or llvm.get_host_cpu_name(),
        get_host_cpu_features() if features is None else features,
    )


PROCESSOR = _choose_processor()
"""Name and features of the processor that kernels are compiled for, as LLVM calls them."""


def _user_cache() -> Path | None:
    """Return the folder for caches of the user's programs, None for a user without a home."""
    given = os.environ.get("LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME")
    if given:
        return Path(given)
    try:
        home = Path.home()
    except RuntimeError:
        return None
    return home / "Library" / "Caches" if sys.platform == "darwin" else home / ".cache"


def _parents() -> list[Path]:
    """Return where the folder may be, the best place first."""
    if NUMBA.CACHE_DIR:
        return [Path(NUMBA.CACHE_DIR)]
    user = _user_cache()
    return [_HERE / "__pycache__", *([user / "shoal"] if user else [])]


def _can_write(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def _link(finished: list[Path], folder: Path) -> None:
    """Link kernels that others have compiled; numba replaces a link, it never writes through it."""
    for source in finished:
        for file in source.glob("*/*"):
            target = folder / file.parent.name / file.name
            target.parent.mkdir(exist_ok=True)
            with contextlib.suppress(OSError):  # another process was faster, or there are no links
                target.symlink_to(file)


def _find() -> tuple[Path | None, bool]:
    name = _name(PROCESSOR)
    folders = [parent / name for parent in _parents()]
    writable = next(filter(_can_write, folders), None)
    folder = writable
    if folder is None:
        try:
            folder = Path(tempfile.mkdtemp(prefix="shoal-kernels-"))
        except OSError:  # nothing on this machine can be written to
            return None, True
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    if not any(folder.glob("*/*.nbi")):
        others = [*folders, _BROUGHT / name]
        _link([other for other in others if other != folder and other.is_dir()], folder)
    return folder, writable is None


FOLDER, TEMPORARY = _find()
"""Where compiled kernels are kept, if anywhere, and whether they end with this process."""


class Locator(UserProvidedCacheLocator):
    """Where numba keeps a kernel: the same place in the folder wherever the installation lies."""

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        """Return the name of the folder in ours."""
        del py_file
        return "code"


class HelperLocator(Locator):
    """Where numba keeps a helper, for other processes that compile kernels with it."""

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        """Return the name of the folder in ours."""
        del py_file
        return "helpers"


def one_writer() -> contextlib.AbstractContextManager[None]:
    """Wait until no other process writes to the folder, and keep others waiting in the block."""
    return _locked(".lock")


def one_at_a_time() -> contextlib.AbstractContextManager[None]:
    """Wait until no other process has kernels compiled ahead, and keep others waiting."""
    return _locked(".ahead")


@contextlib.contextmanager
def _locked(name: str) -> Iterator[None]:
    try:
        import fcntl
    except ImportError:  # Windows has no such lock; there a race is rare, not impossible
        yield
        return
    assert FOLDER is not None  # otherwise nothing is kept
    FOLDER.mkdir(parents=True, exist_ok=True)  # somebody may have cleared the cache meanwhile
    with (FOLDER / name).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def remove_stale() -> int:
    """Remove the folders of other states of the sources; return how many there were.

    Only for a user who asks for it: another version may be in use by another process.
    """
    stale = [
        folder
        for parent in _parents()
        for folder in parent.glob(_NAME + "*")
        if folder.is_dir() and (FOLDER is None or folder.name != FOLDER.name)
    ]
    for folder in stale:
        shutil.rmtree(folder, ignore_errors=True)
    return len(stale)
