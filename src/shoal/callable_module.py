"""Modules that can be called, where a room and a public function share one name.

``shoal.refine`` is the room where refinement lives *and* what users call. Python binds a
submodule to its name in the package as soon as anything imports it, so a function of that name
would vanish; a module that can be called serves both.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

__all__ = ["make_callable"]


def make_callable(module: str, home: str, function: str) -> None:
    """Let calling ``module`` call ``function`` of ``home``, which is imported on first use."""

    class CallableModule(ModuleType):
        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return getattr(importlib.import_module(home), function)(*args, **kwargs)

    sys.modules[module].__class__ = CallableModule
