"""Says once, on a fresh installation, why the first run takes longer."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shoal.progress import Report

__all__ = ["tell_if_compiling"]


def tell_if_compiling(progress: Report) -> None:
    """Announce that kernels will be compiled, if no earlier run has left them behind."""
    from shoal.kernels.jit import needs_compiling
    from shoal.progress import COMPILING

    if needs_compiling():
        progress(0, 0, COMPILING)
