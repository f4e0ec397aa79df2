"""Reads the open table behind the page, and makes a first job of the guesses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.app.opening import with_input
from shoal.app.table import OpenedTable, open_table
from shoal.errors import OptionError
from shoal.settings.job_file import read_job

if TYPE_CHECKING:
    from pathlib import Path

    from shoal.app.opening import Opening
    from shoal.app.tasks import Task, Tasks
    from shoal.app.workspace import Workspace
    from shoal.profile.guess import Guess
    from shoal.runtime.progress import Report
    from shoal.settings.job import Job

__all__ = ["column_of", "hierarchy_file", "start_reading"]


def start_reading(work: Workspace, tasks: Tasks) -> Task:
    """Read the table that is on its way in, in the background, and open it when it is there."""
    opening = work.opening or work.open_again()

    def read(report: Report) -> OpenedTable:
        return open_table(opening.input, report)

    def take(task: Task) -> None:
        table: OpenedTable = task.result
        unknown = [name for name in opening.job.columns if name not in table.names]
        if unknown:
            raise OptionError(
                f"The settings speak of {len(unknown)} columns that this table does not "
                f"have (the first is {unknown[0]!r}); open the table anew to start with "
                "fresh guesses."
            )
        job = opening.job if opening.job.columns else _first_job(work, opening, table)
        work.take(opening, table, job)
        task.result = None  # the workspace has it

    return tasks.start("open", read, revision=opening.number, next_page="/open", then=take)


def _first_job(work: Workspace, opening: Opening, table: OpenedTable) -> Job:
    """Return the job that ``shoal init`` would write, with this table as its input."""
    folder, said = work.tree_folder(opening.source), opening.job
    table.suggestion.write(folder / "guess.toml", source=opening.source.name, force=True)
    guessed = read_job(folder / "guess.toml")
    (folder / "guess.toml").unlink()
    found = {
        name: getattr(guessed.input, name)
        for name in ("delimiter", "encoding", "decimal", "missing_values")
        if getattr(guessed.input, name) is not None
    }
    return guessed.replaced(input=with_input(said, **found).input, output=said.output)


def hierarchy_file(work: Workspace, table: OpenedTable, column: str) -> Path:
    """Return where the hierarchy of a column lies when it lists values."""
    return work.tree_folder() / f"column_{table.names.index(column) + 1}.csv"


def column_of(work: Workspace, table: OpenedTable, guess: Guess) -> dict[str, object]:
    """Return what a job says about a column that is guessed to be this."""
    from shoal.settings.job import JobColumn
    from shoal.table.schema import Role

    is_quasi = guess.role is Role.QUASI_IDENTIFIER
    hierarchy: object = None
    if guess.uses_hierarchy:
        hierarchy = guess.rule
        if hierarchy is None and guess.hierarchy is not None:
            file = hierarchy_file(work, table, guess.name)
            guess.hierarchy.to_csv(file)
            hierarchy = file
    grid = table.suggestion.grids.get(guess.name) if is_quasi else None
    on_a_line = guess.kind in ("numeric", "date", "datetime")
    column = JobColumn(
        role=guess.role,
        kind=guess.kind if is_quasi else None,
        order=guess.order if is_quasi else None,
        grid=grid if on_a_line else None,
    )
    return {**vars(column), "hierarchy": hierarchy}
