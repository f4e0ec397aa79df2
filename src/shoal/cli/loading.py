"""From a file to the columns that are needed; what would not fit is refused before it is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError

if TYPE_CHECKING:
    from shoal.cli.flags import InputFlags
    from shoal.cli.outputs import Outputs
    from shoal.encode import Owned
    from shoal.progress import Report
    from shoal.schema import Schema
    from shoal.settings.job import Job
    from shoal.settings.memory import Need

__all__ = ["Loader", "check_memory", "need_of"]


@dataclass(frozen=True, kw_only=True)
class Loader:
    """Reads the table of a command.

    Attributes:
        job: the job file.
        arguments: of ``shoal.anonymize``.
        outputs: where the release goes.
        reading: how the input is read.
        memory_check: whether a table that would not fit into memory is refused.
    """

    job: Job
    arguments: Mapping[str, Any]
    outputs: Outputs
    reading: InputFlags
    memory_check: bool

    def load(self, progress: Report) -> Owned:
        """Read the columns that are needed, after a look at all names.

        Raises:
            RoleError: a column has no role, two roles, or does not exist.
            DataError: the file cannot be read, or the run would not fit into memory.
        """
        from shoal.cli.settings import read_input
        from shoal.encode import Owned
        from shoal.settings.request import Request

        source = self.outputs.source or ""
        names: list[str] = []

        def needed(found: list[str]) -> list[str]:
            names[:] = found
            schema = Request(**self.arguments).schema(found)
            rows = self._rows()
            if self.memory_check and rows is not None:
                check_memory(need_of(schema, rows, self.outputs, self.reading.file_format))
            return list(schema.published)

        progress(0, 0, "reading")
        frame = read_input(
            source,
            self.job,
            self.reading,
            kinds=self.arguments["kinds"],
            columns=needed,
            coded=True,
            progress=progress,
        )
        return Owned(frame, tuple(names))

    def _rows(self) -> int | None:
        from shoal.io import is_database
        from shoal.io.rows import guess_rows

        source = self.outputs.source
        if source is None or is_database(source):
            return None
        return guess_rows(source, self.reading.file_format)


def need_of(schema: Schema, n_rows: int, outputs: Outputs, file_format: str | None) -> Need:
    """Return what a run on so many rows of this table will need."""
    from shoal.settings.memory import estimate_need

    quasi = len(schema.quasi_identifiers)
    return estimate_need(
        n_rows,
        quasi_identifiers=quasi,
        kept=len(schema.published) - quasi,
        source=_format_name(outputs.source or "-", file_format),
        target=_format_name(outputs.table, outputs.format),
    )


def _format_name(path: str, given: str | None) -> str:
    from shoal.io import detect_format, is_database

    return "database" if is_database(path) else detect_format(path, given).name


def check_memory(need: Need) -> None:
    """Refuse a run that the machine has no memory for.

    Raises:
        DataError: it needs more than is available.
    """
    from shoal.settings.memory import available_bytes, human_bytes

    available = available_bytes()
    if available is not None and need.memory > available:
        raise DataError(
            f"This run needs about {human_bytes(need.memory)} of memory and "
            f"{human_bytes(available)} is available: drop columns that nobody needs (--drop), "
            "give fewer rows, use a larger machine, or try all the same with --no-memory-check."
        )
