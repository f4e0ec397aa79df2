"""Several tables from a folder, from files and from a job file; read behind the page."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from shoal.app.access import Opened
from shoal.app.opening import JOB_ENDING, kind_of, open_table
from shoal.errors import DataError
from shoal.io.location import is_database
from shoal.run.tables_job import inputs_of
from shoal.settings.job_file import names_tables, read_tables_job

if TYPE_CHECKING:
    from pathlib import Path

    from shoal.app.opening import OpenedTable
    from shoal.app.tasks import Task, Tasks
    from shoal.app.workspace import Workspace
    from shoal.runtime.progress import Report

TASK, PAGE = "read tables", "/tables"


def is_of_several(path: Path) -> bool:
    """Tell whether a path is a folder, or a job file of several tables.

    Raises:
        JobError: a job file cannot be read.
    """
    if path.suffix.lower() == JOB_ENDING and path.is_file():
        return names_tables(path)
    return path.is_dir()


def read_behind(work: Workspace, tasks: Tasks) -> Task:
    """Read the tables that are not read yet, behind the page."""
    several = work.several
    inputs = several.inputs()

    def read(report: Report) -> dict[str, OpenedTable]:
        return {name: open_table(source, report) for name, source in inputs.items()}

    def take(task: Task) -> None:
        several.take(task.result)
        task.result = None  # the state of work has it

    return tasks.start(TASK, read, revision=several.revision, next_page=PAGE, then=take)


def open_several(work: Workspace, path: Path) -> None:
    """Add a table, all tables of a folder, or take a job file of several tables.

    Raises:
        ShoalError: there is none, or a page may not open it.
    """
    if path.is_dir():
        with os.scandir(path) as entries:
            found = sorted(
                each.name
                for each in entries
                if kind_of(each) == "table" and not each.name.startswith(".")
            )
        if not found:
            raise DataError(
                "There is no table in the folder {name!r}; name a file.", name=path.name
            )
        tables = [(name, work.may_open(str(path / name))) for name in found]
        work.several.add(*(Opened(kind="file", name=name, path=full) for name, full in tables))
    elif path.suffix.lower() == JOB_ENDING:
        take_job_file(work, path)
    else:
        work.several.add(Opened(kind="file", name=path.name, path=work.may_open(str(path))))


def take_job_file(work: Workspace, path: Path, *, anywhere: bool = False) -> None:
    """Open the tables of a job file with everything that it says.

    Args:
        work: the state of work.
        path: the job file.
        anywhere: whether its files may lie anywhere: somebody named it in the terminal.
    """
    job = read_tables_job(path, outside=None if anywhere else {})
    if not anywhere:  # a database is one of several tables, and each of them is looked at below
        job = job.with_files(lambda name: name if is_database(name) else work.may_open(name))
    inputs = inputs_of(job)
    named = [name for name in job.files() if name != job.input.path]
    named += [name for each in inputs.values() for name in (each.path, *each.more) if name]
    if anywhere:
        work.allow(named)
    for name in named:
        work.may_open(name)
    work.several.take_job(job, inputs)
