"""Numbers at the ends of what a computer holds, on grids of every kind.

Huge and tiny floats, zeros with a sign, numbers beside powers of ten and of two, whole numbers at
the ends of 64 bits. What is published must cover the value it stands for, end on lines that are
derived here anew, and be no refusal of what the run made itself.
"""

from __future__ import annotations

import math
import random
import struct
import warnings
from typing import TYPE_CHECKING, Any

from fuzz import bytes as files
from fuzz.cells import is_missing
from fuzz.checker import broken_promises
from fuzz.counted import INTEGERS, off_the_grid
from fuzz.frames import polars_frame
from fuzz.parts import BROKEN, HELD, REFUSED, Outcome, crashed, refuses_its_own
from fuzz.tables import Case, Column, token

if TYPE_CHECKING:
    from pathlib import Path

    from fuzz.bytes import Published

FLOATS = (0.0, -0.0, 5e-324, -5e-324, 1e-310, 2.2250738585072014e-308, 1e-300, 1e-17, 1e-7, 0.1,
          0.3, 1.0, 1 - 2**-53, 9.999999999999998, 10.0, 1000.0, 2.0**53, 2.0**53 + 2, 1e15, 1e16,
          1e17, 1e22, 1e23, 9.999999999999999e22, 1e100, 1e300, -1e300, 1.7976931348623157e308,
          -1e16, -0.1, math.nan)  # fmt: skip
WHOLE = (0, 1, -1, 9, 10, 99, 100, 2**31, 2**53, 2**53 + 1, 10**15, 10**16, 10**17, 10**18,
         2**62, 2**63 - 1, -(2**63), -(10**18), 9 * 10**18)  # fmt: skip
POWERS = ("powers of 10", "powers of 2")
STEPS = (1, 5, 0.1, "1e-18", "1e18", "0.3", 7, "1e16")
FORMATS = ("csv", "jsonl", "parquet", "arrow", "xlsx", "db")


def run(seed: str, folder: Path) -> Outcome:
    """Release numbers of every size on a grid, in memory or to a file."""
    rng = random.Random(seed)
    case = _case(rng, seed)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            published, note = _release(rng, case, folder)
        except Exception as error:
            return crashed(error)
    overflows = [str(each.message) for each in said if issubclass(each.category, RuntimeWarning)]
    if overflows:
        return Outcome(BROKEN, overflows[:2], note)
    if isinstance(published, str):
        return Outcome(BROKEN if refuses_its_own(published) else REFUSED, [published], note)
    wrong = broken_promises(case, published) + off_the_grid(case, published, note)
    return Outcome(BROKEN, wrong, note) if wrong else Outcome(HELD, note=note)


def _case(rng: random.Random, seed: str) -> Case:
    n = rng.randint(6, 24)
    columns, grids = [], {}
    for number in range(rng.choice((1, 1, 2))):
        dtype = rng.choice(("f64", "f64", "f64", "f32", "i64", "i64", "u32"))
        pool = _pool(rng, dtype)
        cells = [rng.choice(pool) for _ in range(n)]
        if all(is_missing(cell) for cell in cells):
            cells[0] = 1
        columns.append(Column(f"q{number}", "quasi", "numeric", dtype, cells))
        grid = _grid(rng, dtype, cells)
        if grid is not None:
            grids[f"q{number}"] = grid
    values = rng.choice(((0.0, -0.0, 1.0), (1e16, 2e16, 1e300), (5e-324, 0.0, -0.0, math.nan)))
    columns.append(Column("s", "sensitive", "", "f64", [rng.choice(values) for _ in range(n)]))
    columns.append(Column("mark", "insensitive", "", "text", [token(rng, 9) for _ in range(n)]))
    kinds = ([], [], [{"name": "l-diversity", "l": 2, "kind": "distinct"}])
    algorithm = rng.choice(("mondrian", "mondrian", "hilbert", "k-member", "mdav"))
    options = {
        "algorithm": algorithm,
        "grid": grids,
        "measure": rng.choice(("ncp", "ncp", "lm", "pmi")),
        "default_grid": rng.random() < 0.7,
    }
    style = rng.choice(("interval", "interval", "bounds"))
    return Case(
        seed, columns, rng.choice((2, 3)), style=style, privacy=rng.choice(kinds), options=options
    )


def _grid(rng: random.Random, dtype: str, cells: list[Any]) -> Any:
    """Return a grid, mostly one that fits the numbers; None leaves it to the run."""
    way = rng.random()
    if way < 0.4:
        return rng.choice(POWERS)
    if way < 0.5:
        return rng.choice(STEPS)
    if way < 0.7:
        return rng.choice((None, "none"))
    largest = max(abs(cell) for cell in cells if not is_missing(cell))
    power = math.floor(math.log10(largest)) - rng.randint(0, 6) if largest else 0
    power = min(max(power, 0 if dtype in INTEGERS else -18), 18)
    return f"{rng.choice((1, 2, 5))}e{power}"


def _pool(rng: random.Random, dtype: str) -> list[Any]:
    if dtype in INTEGERS:
        low, high = (0, 2**32 - 1) if dtype == "u32" else (-(2**63), 2**63 - 1)
        near = [each + rng.choice((-1, 0, 1)) for each in WHOLE]
        found: list[Any] = rng.sample([each for each in near if low <= each <= high], 6)
        return found + [None] * (rng.random() < 0.2)
    floats = rng.sample(FLOATS, rng.choice((3, 6, 9)))
    if rng.random() < 0.85:  # most of them are sizes that the program computes with
        floats = [
            each for each in floats if is_missing(each) or each == 0 or 1e-290 <= abs(each) <= 1e300
        ]
        floats = floats or [1e300, 0.0, -1e-290]
    if rng.random() < 0.5:  # of one order of magnitude, so that steps can be drawn
        size = rng.choice((1e16, 1e17, 1e298, 1e-289, 1e-310, 1e22))
        floats = [size * rng.choice((1, 2, 5, 9.99, 10, rng.random())) for _ in range(6)]
    if rng.random() < 0.3:
        floats.append(10.0 ** rng.randint(-292, 302))
    if dtype == "f32":
        largest = 3.4028234663852886e38
        floats = [
            each if is_missing(each) else max(min(each, largest), -largest) for each in floats
        ]
        floats = [struct.unpack("f", struct.pack("f", each))[0] for each in floats]
    return floats


def _release(rng: random.Random, case: Case, folder: Path) -> tuple[Published | str, str]:
    import shoal

    form = rng.choice(("", "", *FORMATS))
    models = [{"model" if k == "name" else k: v for k, v in m.items()} for m in case.privacy]
    try:
        release = shoal.anonymize(
            polars_frame(case),
            case.k,
            quasi_identifiers=[column.name for column in case.named("quasi")],
            sensitive="s",
            insensitive="mark",
            privacy=models,
            style={"numeric": case.style},
            threads=1,
            **case.options,
        )
        if not form:
            return files.of_frame(release.frame), "memory"
        target = folder / f"out.{form}"
        release.write(f"sqlite:///{target}?table=safe" if form == "db" else target)
    except shoal.ShoalError as error:
        return str(error), form
    return files.read(target, form), form
