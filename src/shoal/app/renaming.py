"""Gives a column of the open table another name: in the job, and in what pages remember."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shoal.app.workspace import Workspace

__all__ = ["rename_column"]


def rename_column(work: Workspace, old: str, new: str) -> None:
    """Call a column otherwise, wherever the job or a page names it.

    Raises:
        OptionError: the new name is empty, or that of another column.
    """
    with work.lock:
        job, before = work.job, work.job.input.rename or {}
        first = next((name for name, now in before.items() if now == old), old)
        new = (replace(job.input, rename={first: new}).rename or {})[first]  # as it was checked
        if new == old:
            return
        others = {name: now for name, now in before.items() if name != first}
        source = replace(job.input, rename=others if new == first else {**others, first: new})

        def moved(name: str) -> str:
            return new if name == old else name

        def named(options: Mapping[str, Any]) -> dict[str, Any]:
            """Return options of a promise or a measure, which may be about columns."""
            about = options.get("column")
            now = moved(about) if isinstance(about, str) else [moved(each) for each in about or ()]
            return {**options, "column": now} if about else dict(options)

        work.change(
            job.replaced(
                input=source,
                columns={moved(name): column for name, column in job.columns.items()},
                privacy=[named(model) for model in job.privacy],
                measure_options=named(job.measure_options),
            )
        )
        # What is remembered under the new name was said about a column that is gone.
        decided = [name for name in work.kept("decided") or () if name != new]
        answers = [(about, name) for about, name in work.kept("answers") or () if name != new]
        trees = {name: tree for name, tree in (work.kept("trees") or {}).items() if name != new}
        work.keep("decided", [moved(name) for name in decided])
        work.keep("answers", [[about, moved(name)] for about, name in answers])
        work.keep("trees", {moved(name): tree for name, tree in trees.items()})
