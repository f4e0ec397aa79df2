"""Shoal: publish tables about people so that nobody can be singled out.

Names are imported when they are first used, so that ``import shoal`` stays fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal import datasets as datasets
    from shoal.api import anonymize, refine, score, verify
    from shoal.bound import lower_bound
    from shoal.errors import (
        AlgorithmError,
        DataError,
        HierarchyError,
        JobError,
        OptionError,
        PromiseError,
        RoleError,
        ShoalError,
        ShoalWarning,
    )
    from shoal.hierarchy import (
        Taxonomy,
        date_hierarchy,
        frequency_hierarchy,
        interval_hierarchy,
        prefix_hierarchy,
    )
    from shoal.io import keyed_sha256, read_table, write_table
    from shoal.privacy import AlphaK, LDiversity, TCloseness
    from shoal.profile import Suggestion, suggest_job
    from shoal.publish.verify import Verification
    from shoal.recode import Style
    from shoal.registry import algorithms, measures, privacy_models
    from shoal.release import Release
    from shoal.scores import Scores
    from shoal.study.compare import Comparison, compare
    from shoal.study.explain import Explanation, explain

__version__ = "0.1.0"

# Rooms that are also something to call: `shoal.refine(...)` (see callable_module.py).
_ROOMS = ("algorithms", "datasets", "measures", "refine", "sklearn")
_HOMES = {
    "AlgorithmError": "errors",
    "AlphaK": "privacy",
    "Comparison": "study.compare",
    "DataError": "errors",
    "Explanation": "study.explain",
    "HierarchyError": "errors",
    "JobError": "errors",
    "LDiversity": "privacy",
    "OptionError": "errors",
    "PromiseError": "errors",
    "Release": "release",
    "RoleError": "errors",
    "Scores": "scores",
    "ShoalError": "errors",
    "ShoalWarning": "errors",
    "Style": "recode",
    "Suggestion": "profile",
    "TCloseness": "privacy",
    "Taxonomy": "hierarchy",
    "Verification": "publish.verify",
    "anonymize": "api",
    "compare": "study.compare",
    "date_hierarchy": "hierarchy",
    "explain": "study.explain",
    "frequency_hierarchy": "hierarchy",
    "interval_hierarchy": "hierarchy",
    "keyed_sha256": "io",
    "lower_bound": "bound",
    "prefix_hierarchy": "hierarchy",
    "privacy_models": "registry",
    "read_table": "io",
    "score": "api",
    "suggest_job": "profile",
    "verify": "api",
    "write_table": "io",
}

__all__ = [
    "AlgorithmError",
    "AlphaK",
    "Comparison",
    "DataError",
    "Explanation",
    "HierarchyError",
    "JobError",
    "LDiversity",
    "OptionError",
    "PromiseError",
    "Release",
    "RoleError",
    "Scores",
    "ShoalError",
    "ShoalWarning",
    "Style",
    "Suggestion",
    "TCloseness",
    "Taxonomy",
    "Verification",
    "algorithms",
    "anonymize",
    "compare",
    "datasets",
    "date_hierarchy",
    "explain",
    "frequency_hierarchy",
    "interval_hierarchy",
    "keyed_sha256",
    "lower_bound",
    "measures",
    "prefix_hierarchy",
    "privacy_models",
    "read_table",
    "refine",
    "score",
    "suggest_job",
    "verify",
    "write_table",
]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"shoal.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'shoal' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"shoal.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
