"""Which files a page may open: one place decides, for every option that names one."""

from __future__ import annotations

from pathlib import Path

from shoal.app.opening import Opened
from shoal.errors import OptionError
from shoal.io.location import is_database, parse_location, typed_name
from shoal.io.several import input_files

__all__ = ["Allowed"]


class Allowed:
    """Files that pages may open: those of a folder, and those that were named before.

    Attributes:
        folder: the private folder; what it holds is its own.
        root: files are opened by their path in this folder and below it, and nowhere else.
    """

    def __init__(self, folder: Path, root: Path) -> None:
        self.folder, self.root = folder, root
        self._typed: set[str] = set()  # files that somebody named in the terminal

    def _named(self) -> set[str]:
        """Return the files that the settings name already."""
        return set()

    def inside_root(self, path: str) -> Path:
        """Return a path that somebody typed or chose, if it lies where files may be opened.

        Raises:
            OptionError: it lies elsewhere; links are followed first.
        """
        if "\0" in path:
            raise OptionError("No name of a file holds the character NUL.")
        full = (self.root / Path(path).expanduser()).resolve()
        if not full.is_relative_to(self.root):
            raise OptionError(
                f"Files are opened only in {str(self.root)!r} and below; drop the file on the "
                "page, or start 'shoal app' with --files and the folder it lies in."
            )
        return full

    def check_database(self, url: str, *, anywhere: bool = False) -> Opened:
        """Return a table of a database as it may be remembered.

        Args:
            url: of the table.
            anywhere: whether its file may lie outside the root: somebody typed it in the terminal.

        Raises:
            OptionError: the URL is none, or its file lies elsewhere.
        """
        location = parse_location(url)
        if location.path is not None and not anywhere:
            self.inside_root(str(location.path))
        return Opened(kind="database", name=location.shown, path=typed_name(url))

    def may_open(self, name: str) -> str:
        """Return a file that a job names, or refuse it: here alone it is decided.

        A page opens what the terminal named, what the job names already, what is its own, and
        what lies in the root; a folder or a pattern, if all that it stands for lies there.

        Raises:
            ShoalError: it lies elsewhere, or there is none.
        """
        if name in self._typed or name in self._named():
            return name
        if is_database(name):
            self.check_database(name)
            return name
        own = ((self.folder / each).resolve() for each in ("data", "hierarchies"))
        if "\0" not in name and any(Path(name).resolve().is_relative_to(each) for each in own):
            return name
        full = self.inside_root(name)
        for each in input_files(str(full)):
            if not self.inside_root(each).is_file():
                raise OptionError(f"There is no file {name!r} in {str(self.root)!r}.")
        return str(full)
