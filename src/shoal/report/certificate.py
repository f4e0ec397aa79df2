"""The certificate of a release: what was promised, what was measured, with which versions.

It can be shown to anybody who may see the release. Every number in it is a function of the
published table, of the settings, or the number of rows that were read or left out; so it tells
about nobody what the release does not tell. Scores that compare with the original, the bound and
the input's plain hash would (see `shoal.publish.loss`); they stay with the holder of the data.
"""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from shoal.publish.labels import LabelPromise
from shoal.report.about import About

if TYPE_CHECKING:
    from shoal.publish.lines import GridPromise
    from shoal.publish.verify import Check
    from shoal.release import Release
    from shoal.table.grid import Grid

__all__ = [
    "SCHEMA_VERSION",
    "build_certificate",
    "counted",
    "format_certificate",
    "package_versions",
    "plain_values",
    "told",
    "told_in_words",
]

SCHEMA_VERSION = 2
"""Grows when a key changes its meaning or disappears; new keys may appear without."""

_PACKAGES = {"shoal": "shoal-anonymity", "numpy": "numpy", "numba": "numba", "polars": "polars"}
# Values of a column would be cells of the table; with the seed and the input a run is repeated.
_NEVER = frozenset({"seed", "orders", "hierarchies"})


_LINES = ("numeric", "date", "datetime")


def build_certificate(
    release: Release,
    input_hmac: str | None = None,
    output_sha256: str | None = None,
    about: About | None = None,
) -> dict[str, Any]:
    """Return the certificate as plain values, ready for JSON.

    Args:
        release: a finished release.
        input_hmac: keyed hash of the input file (`shoal.io.keyed_sha256`), if there is one. A
            plain hash would let anybody try guesses of the input until one fits.
        output_sha256: hash of the published file, if there is one.
        about: what its owner says about the release.
    """
    verification = release.verification
    certificate = {
        "schema_version": SCHEMA_VERSION,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "about": asdict(about or About()),
        "versions": {"python": platform.python_version()} | package_versions(),
        "input": {"hmac_sha256": input_hmac, "rows": release.n_rows},
        "output": {
            "sha256": output_sha256,
            "rows": release.n_published,
            "suppressed_rows": release.n_suppressed,
        },
        "columns": [
            {
                "name": column.name,
                "role": column.role.value,
                "kind": None if column.kind is None else column.kind.value,
                "weight": column.weight,
                "grid": None if not column.grid else _grid(column.grid),
                "scale": column.scale if column.kind in _LINES else None,
                "hierarchy_height": (
                    None if column.hierarchy is None else column.hierarchy.tree_height
                ),
            }
            for column in release.schema.columns
        ],
        "parameters": {"k": release.k}
        | {name: value for name, value in release.parameters.items() if name not in _NEVER},
        "judgement": release.judgement.to_dict(),
        "holds": verification.holds,
        "promises": [
            {
                "name": check.name,
                "promised": check.promised,
                "measured": told(release, check),
                "holds": check.holds,
                "judged_by": check.judged_by,
            }
            for check in verification.checks
        ],
        "grids": [_promised(grid, release) for grid in release.grids],
        "verified": verification.read_from,
        "counted": counted(release),
        "risk": {
            "groups": verification.n_groups,
            "smallest_group": verification.smallest_group,
            "highest_reidentification_risk": _risk(release),
        },
        **_scores(release),
        "warnings": list(release.warnings),
        "seconds": round(release.seconds),
    }
    plain = plain_values(certificate)
    assert isinstance(plain, dict)
    return plain


def _grid(grid: Grid) -> dict[str, Any]:
    """Return the lines that intervals end on; chosen by default it tells an order of magnitude."""
    return {"step": str(grid), "chosen": "by default" if grid.by_default else "as asked"}


def _promised(grid: GridPromise, release: Release) -> dict[str, Any]:
    """Return what a grid promises; of labels those alone that the published cells show."""
    said: dict[str, Any] = {
        "column": grid.name,
        "step": grid.step,
        "formats": grid.formats,
        "suppressed": grid.suppressed,
    }
    if not isinstance(grid, LabelPromise):
        return said
    told = grid.told_by(release.cells_of(grid.name))
    lists = {"labels": told.labels, "starts": told.starts, "ends": told.ends}
    return said | {name: sorted(each) for name, each in lists.items()} | {"sets": told.sets}


def format_certificate(certificate: Mapping[str, Any]) -> str:
    """Return a certificate as the text of its file; signatures are about exactly this text."""
    return json.dumps(certificate, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _risk(release: Release) -> float | None:
    """Return the highest chance to find a person; None where that has not been established."""
    if release.counts_people:
        return 1 / release.k
    return None if release.whose == "doubtful" else release.verification.highest_risk


def told(release: Release, check: Check) -> float:
    """Return what may be told of a measured number.

    Whose the rows are is not published, so that a number counted in people says more than the
    release does. That the promise is kept is all that is told of it.
    """
    return check.measured if not release.counts_people or not check.holds else check.promised


def told_in_words(release: Release, check: Check) -> str:
    """Return what may be told of a measured number, as people read it."""
    if release.counts_people and check.holds:
        return "as promised"
    return check.shown(check.measured)


def counted(release: Release) -> str:
    """Return what the promises count, and what a reader can check of that."""
    if not release.counts_people:
        rows = f"Rows. Every group holds at least {release.k:,} rows; that is as many people "
        return (
            rows
            + {
                "declared": "because every row was declared to be a different person.",
                "assumed": "only if every row is a different person.",
                "doubtful": "only if every row is a different person; there are signs against it.",
            }[release.whose]
        )
    return (
        f"People. Every group holds at least {release.k:,} different people; this was checked "
        "with their ids, which are not published. Who reads the release can check the number of "
        "rows only. By how much a promise is kept is not told: what was measured is given as "
        "what was promised."
    )


def _scores(release: Release) -> dict[str, Any]:
    """Return the losses that the published table tells by itself."""
    found = release.facts.scores.to_dict()
    mean_size = release.n_published / max(release.verification.n_groups, 1)
    found["scores"]["average-class-size"] = mean_size
    return found


def package_versions() -> dict[str, str | None]:
    """Return the version of each package that a result may depend on."""
    found: dict[str, str | None] = {}
    for package, distribution in _PACKAGES.items():
        try:
            found[package] = version(distribution)
        except PackageNotFoundError:  # a source tree that is not installed
            found[package] = None
    return found


def plain_values(value: Any) -> Any:
    """Return only what JSON has: numbers of numpy become Python's, infinity becomes null."""
    if isinstance(value, Mapping):
        return {str(key): plain_values(each) for key, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain_values(each) for each in value]
    if hasattr(value, "item") and not isinstance(value, (str, bytes)):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)
