"""Many runs in threads: each has the result and the warnings that it has alone."""

from __future__ import annotations

import random
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from fuzz.bytes import of_frame
from fuzz.frames import build
from fuzz.parts import BROKEN, HELD, REFUSED, Outcome, crashed
from fuzz.releases import arguments, case_of

if TYPE_CHECKING:
    from pathlib import Path

    from fuzz.tables import Case

RUNS = 6


def run(seed: str, folder: Path) -> Outcome:
    """Run a few random releases alone and then all at once."""
    del folder
    rng = random.Random(seed)
    cases = [case_of(f"{seed}:{number}") for number in range(RUNS)]
    for case in cases:
        case.options["threads"] = rng.choice((1, 2))
    before = list(warnings.filters)
    try:
        alone = [_result(case) for case in cases]
        with ThreadPoolExecutor(RUNS) as pool:
            together = list(pool.map(_result, cases))
    except Exception as error:
        return crashed(error)
    finally:
        filters_changed = list(warnings.filters) != before
    different = [
        f"{number} ({case.options['algorithm']}): alone {one!r:.300}, beside others {other!r:.300}"
        for number, (case, one, other) in enumerate(zip(cases, alone, together, strict=True))
        if one != other
    ]
    if filters_changed:
        different.append("the filters of the process's warnings were changed")
    if different:
        return Outcome(BROKEN, different)
    refused = sum(isinstance(each, str) for each in alone)
    return Outcome(REFUSED if refused == RUNS else HELD, note=f"{RUNS - refused} released")


def _result(case: Case) -> Any:
    """Return everything about a run that must not depend on what else goes on."""
    import shoal

    try:
        release = shoal.anonymize(build(case), case.k, **arguments(case))
    except shoal.ShoalError as error:
        return str(error)
    rows = [repr(row) for row in of_frame(release.frame).rows]
    return rows, release.groups.tolist(), release.warnings
