"""What an allowance of rows that may be left out is used for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.common import cpu_timed, eight
from benchmarks.draw.tables import table

if TYPE_CHECKING:
    from collections.abc import Iterator

SHARE = 0.05
WHOSE_SAKE = ("all", "kept")
ARX_KEPT, ARX_LEFT_OUT = 0.0562, 1498


def left_out(frame: Any, whose: str) -> dict[str, Any]:
    """Return the loss of the rows that are kept, and how many are left out."""
    release, took = cpu_timed(
        frame, 10, eight(frame), seed=0, max_suppression=SHARE, suppress_for=whose
    )
    share = release.n_suppressed / frame.height
    # a row that is left out counts as lost in every column
    kept = (release.scores["ncp"] - share) / (1 - share)
    return {"kept": kept, "left_out": release.n_suppressed, "seconds": took}


def allowances(runs: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Yield the table beside ARX, as far as it was run."""
    found = {whose: runs.get(f"allowance | {whose}") for whose in WHOSE_SAKE}
    if not any(found.values()):
        return
    yield f"\n## 30,162 rows of adult.data: {SHARE:.0%} may be left out, k = 10\n"
    yield (
        'NCP of the rows that are kept. With `suppress_for="all"` a row that is left out counts '
        'as lost, so hardly one is; with `"kept"` the allowance is used for the others\' sake.\n'
    )
    rows = [
        [
            f'`auto`, `suppress_for="{whose}"`',
            run["left_out"],
            f"{run['kept']:.4f}",
            f"{run['kept'] / ARX_KEPT - 1:+.1%}",
            f"{run['seconds']:.1f}",
        ]
        for whose, run in found.items()
        if run
    ]
    rows.append(["ARX", ARX_LEFT_OUT, f"{ARX_KEPT:.4f}", "", ""])
    yield from table(["", "rows left out", "loss of the kept", "against ARX", "s"], rows)
