"""What can be asked of every algorithm, and few rows of it that show every pair."""

from __future__ import annotations

import tomllib
from pathlib import Path

from shoal import registry
from tests.helpers.contract_samples import KINDS, PRIVACY, TREES
from tests.helpers.covering import covering

PLUGIN = Path(__file__).parents[1] / "contract" / "plugin" / "pyproject.toml"
PLUGGED_IN = tomllib.loads(PLUGIN.read_text())["project"]["entry-points"]["shoal.algorithms"]
ALGORITHMS = [*registry.algorithms(), *PLUGGED_IN]
TREES_ONLY = {
    name for name in registry.algorithms() if not registry.load("algorithms", name).works_in_blocks
}
"""Whole columns are recoded: every one of them needs levels to climb."""
MEASURES = ["ncp", "il", "lm", "tree", "whd-height", "suppression", "mi", "pmi", "wmi"]
MISSING = ["none", "category", "suppress"]
EVERY_KIND, WHOLE, BLOCKS = "every kind", "whole", "in blocks"

FACTORS = {
    "algorithm": ALGORITHMS,
    "promise": list(PRIVACY),
    "kind": [*KINDS, EVERY_KIND],
    "measure": MEASURES,
    "missing": MISSING,
    "cut": [WHOLE, BLOCKS],
}
# Places are those of FACTORS; None is any value.
EVER_FAILED = [
    # a large cluster was split, every row went to the same half, and what lies beyond was read
    *[
        (name, "frequency", None, None, missing, WHOLE)
        for name in ("sequential", "auto")
        for missing in MISSING
    ],
    # a block had the sensitive column of the whole table
    *[(None, None, None, measure, "suppress", BLOCKS) for measure in ("mi", "pmi", "wmi")],
    # regions judged t-closeness against themselves, not against the table
    *[("auto", name, None, None, None, BLOCKS) for name in ("t equal", "t ordered", "t tree")],
]


def never_meet(one, other):
    """Return whether an algorithm refuses columns or blocks; other tests show the refusals."""
    refused = {BLOCKS, *(kind for kind, names in KINDS.items() if not set(names) <= set(TREES))}
    return any(a in TREES_ONLY and b in refused for a, b in ((one, other), (other, one)))


ARRAY = covering(*FACTORS.values(), apart=never_meet, seeds=EVER_FAILED)
