"""The register of releases: what is out, as the release files of a folder tell it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from shoal.errors import DataError, ShoalError
from shoal.life.file import load_release

__all__ = ["list_releases"]


def list_releases(folder: str) -> list[dict[str, Any]]:
    """Return what each release file of a folder says about itself, oldest file first; no cell.

    A file that cannot be read has a ``problem`` in place of everything else. ``beside`` names the
    files of the earlier releases that it was made beside; one that is not there is "not here".

    Raises:
        DataError: there is no such folder, or it holds no release file.
    """
    place = Path(folder)
    if not place.is_dir():
        raise DataError(f"There is no folder {folder!r}.")
    files = sorted(place.glob("*.shoal"), key=lambda path: (path.stat().st_mtime, path.name))
    if not files:
        raise DataError(f"There is no release file (.shoal) in {folder!r}; --save writes one.")
    named: dict[str, str] = {}
    found: list[dict[str, Any]] = []
    for path in files:
        written = datetime.fromtimestamp(path.stat().st_mtime, UTC).date().isoformat()
        try:
            kept = load_release(path)
        except ShoalError as error:
            found.append({"file": path.name, "written": written, "problem": str(error)})
            continue
        beside = () if kept.people is None else kept.people.beside
        if kept.people is not None:
            named |= dict.fromkeys(kept.people.holds, path.name) | named
            named[kept.people.mark] = path.name
        found.append(
            {
                "file": path.name,
                "written": written,
                "rows": kept.n_rows,
                "groups": kept.n_groups,
                "k": kept.k,
                "promises": [model.label for model in kept.privacy],
                "people": kept.people is not None,
                "beside": beside,
            }
        )
    for each in found:
        if "beside" in each:
            each["beside"] = [named.get(mark, "not here") for mark in each["beside"]]
    return found
