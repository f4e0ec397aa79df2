"""Releases as the papers publish them: an algorithm named after a paper is never helped by ours.

Large tables are cut into blocks, and groups refined across them, by the engine of this library. No
paper has that, so every part of the page makes its releases here: the algorithms of the papers see
the whole table, and what is asked for beyond that is refused. Ours (`auto`) works as it always
does. A variant that is helped on purpose is made by `helped`, which wants a label that says so.
"""

from __future__ import annotations

from typing import Any

import shoal
from benchmarks import common

OURS = ("auto",)
"""Algorithms that are no paper's."""
KEPT_OR_SUPPRESSED = {"flat_values": 1}
"""How a cell without a hierarchy is published."""
HELP = "in blocks, refined"
"""What a label says where an algorithm of a paper is helped."""


def whole_table(n_rows: int, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a release with which an algorithm of a paper is alone with its table.

    Cells without a hierarchy are kept or suppressed, as in the papers, and no sets.

    Raises:
        ValueError: they ask for blocks or for refinement.
    """
    options = {**options, "style": {**KEPT_OR_SUPPRESSED, **options.get("style", {})}}
    if options.get("algorithm", "auto") in OURS:
        return options
    cut = options.get("block_rows")
    if options.get("refine") is not None or (cut is not None and cut < n_rows):
        msg = f"{options['algorithm']!r} is a paper's: neither blocks nor refinement here"
        raise ValueError(msg)
    return {**options, "block_rows": n_rows}


def helped(label: str) -> str:
    """Return the algorithm of a label that says that it is helped."""
    name, comma, detail = label.partition(", ")
    if not comma or detail != HELP:
        msg = f"a helped algorithm is labelled '{name}, {HELP}', not {label!r}"
        raise ValueError(msg)
    return name


def anonymize(frame: Any, k: int, **options: Any) -> shoal.Release:
    """Return a release as `shoal.anonymize` does, without any help."""
    return shoal.anonymize(frame, k, **whole_table(len(frame), options))


def timed(frame: Any, k: int, roles: dict[str, Any], **options: Any) -> tuple[Any, float]:
    """Return a release and the seconds it took, reading and compiling left out."""
    return common.timed(frame, k, roles, **whole_table(len(frame), options))


def cpu_timed(frame: Any, k: int, roles: dict[str, Any], **options: Any) -> tuple[Any, float]:
    """Return a release and the CPU seconds of all threads: other programs matter little."""
    return common.cpu_timed(frame, k, roles, **whole_table(len(frame), options))
