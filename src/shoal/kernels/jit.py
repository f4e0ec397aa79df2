"""The one decorator of all kernels, and a guard against stale compiled code.

Numba's on-disk cache looks only at the file a kernel stands in, not at the helpers it calls from
other files. The guard keeps a digest of all kernel sources beside the cache and clears the cache
when it differs, so a changed helper is never ignored.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from numba import njit

__all__ = [
    "helper",
    "inlined_helper",
    "kernel",
    "needs_compiling",
    "open_helper",
    "scan_helper",
]

_HERE = Path(__file__).parent
_STAMP = _HERE / "__pycache__" / "kernels.sha256"


def _digest() -> str:
    sha = hashlib.sha256()
    for source in sorted(_HERE.glob("*.py")):
        sha.update(source.read_bytes())
    return sha.hexdigest()


def _clear_stale_cache() -> bool:
    """Clear the cache if any kernel source changed; return whether it was current."""
    digest = _digest()
    try:
        if _STAMP.exists() and _STAMP.read_text() == digest:
            return True
        for stale in _STAMP.parent.glob("*.nb[ic]"):
            stale.unlink(missing_ok=True)
        _STAMP.parent.mkdir(exist_ok=True)
        _STAMP.write_text(digest)
    except OSError:  # a read-only installation never changes, so its cache cannot be stale
        return True
    return False


_was_current = _clear_stale_cache()


def needs_compiling() -> bool:
    """Return whether kernels have to be compiled first (a fresh or changed installation)."""
    return not _was_current


def kernel(function: Any) -> Any:
    """Compile a function on first use, cached on disk, without holding the GIL."""
    return njit(cache=True, nogil=True, boundscheck=False)(function)


def helper(function: Any) -> Any:
    """Compile a function that only kernels call: without the entry points from Python."""
    options: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return njit(nogil=True, boundscheck=False, **options)(function)


def scan_helper(function: Any) -> Any:
    """Compile a helper that neither makes nor keeps arrays, without counting references to them.

    Counting takes longer than scanning a small block: a scan is given some forty arrays, and 16
    rows took 430 ns with it and take 110 ns without. Such a helper calls only others of its kind.
    """
    return _uncounted(function, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def inlined_helper(function: Any) -> Any:
    """Compile a scan helper into each function that calls it: for what runs once per block.

    Passing forty arrays costs about as much as scanning a small block does.
    """
    return _uncounted(function, no_cpython_wrapper=True, no_cfunc_wrapper=True, forceinline=True)


def open_helper(function: Any) -> Any:
    """Compile a scan helper that Python calls, too."""
    return _uncounted(function, cache=True)


def _uncounted(function: Any, **options: Any) -> Any:
    return njit(nogil=True, boundscheck=False, **{"_nrt": False, **options})(function)
