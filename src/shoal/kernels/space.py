"""Arrays that describe rows, groups and one closure to the kernels.

A closure (of one row or of a group) is, per attribute,

* tree: a code at each depth of the taxonomy, from below the root down to the leaf; depths below
  the closure's own node hold `MIXED`, the largest number of their type;
* linear interval: lowest and highest position, already in cost units. Missing lies one full
  cost beyond the end, and the cost is capped at full: mixing it costs full, alone it costs 0;
* log interval: lowest and highest code, missing being the last code;
* set: one bit per value, missing being the last bit.

Rows and groups share this form (`Columns`), so one scan serves "one cluster against all records"
and "one record against all clusters".
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shoal.kernels.bundle import bundle

__all__ = [
    "COST",
    "MIXED8",
    "MIXED16",
    "MIXED32",
    "ClosedGroups",
    "Columns",
    "Heat",
    "Query",
    "Records",
    "Scratch",
    "Space",
]

Array = np.ndarray[Any, Any]

COST = np.int32
"""The type of costs: whole numbers, see `shoal.search.scan`."""

MIXED8 = np.uint8(0xFF)
MIXED16 = np.uint16(0xFFFF)
MIXED32 = np.uint32(0xFFFFFFFF)


@bundle
class Columns(NamedTuple):
    """Closures of many rows or groups, column-major; rows have ``low is high``."""

    lev8: Array  # uint8 [levels, n]
    lev16: Array  # uint16 [levels, n]
    lev32: Array  # uint32 [levels, n]
    low: Array  # COST [linear intervals, n]
    high: Array
    clow: Array  # int32 [log intervals, n]
    chigh: Array
    bits: Array  # uint64 [words of all sets, n]


@bundle
class Space(NamedTuple):
    """What the columns mean and cost. Axis 0 of the cost tables is the sensitive value."""

    tree_first: Array  # int32 [trees + 1]: level columns of each tree
    width: Array  # uint8 [levels]: 0, 1, 2 for lev8, lev16, lev32
    row: Array  # int32 [levels]: row in that array
    cost_start: Array  # int64 [levels]: where a level's costs start
    level_cost: Array  # int64 [classes, codes of all levels]
    root_cost: Array  # int64 [classes, trees]
    full: Array  # COST [linear intervals]
    prefix_start: Array  # int64 [log intervals + 1]
    prefix: Array  # int64 [1 + classes, …] cumulated rows per code
    log_row: Array  # int32 [log intervals]: row in the tables of logarithms
    set_first: Array  # int32 [sets + 1]: words of each set
    set_size: Array  # int32 [sets]: bit of missing
    mass_start: Array  # int64 [sets]
    set_mass: Array  # int64 [1 + classes, …] mass of each value
    set_log: Array  # uint8 [sets]: 1 if the cost is a logarithm
    set_log_row: Array  # int32 [sets]
    set_weight: Array  # float64 [sets]: cost of one more value
    set_full: Array  # int64 [classes, sets]
    log_cost: Array  # int64 [weights, rows + 1]: scaled log2 of a mass
    log_part: Array  # int64 [weights, rows + 1]: the same times beta, for the class mass


@bundle
class Records(NamedTuple):
    """All rows of a table, which a search reads and never writes."""

    space: Any  # Space
    columns: Any  # Columns: closures of the single rows
    classes: Array  # int32 [rows]: sensitive value, 0 if costs do not look at it


@bundle
class Query(NamedTuple):
    """One closure, prepared for scanning: its codes and what leaving each level costs."""

    code8: Array
    step8: Array  # COST [classes, levels]
    code16: Array
    step16: Array
    code32: Array
    step32: Array
    base: Array  # COST [classes]: cost of its own tree nodes
    low: Array
    high: Array
    clow: Array
    chigh: Array
    bits: Array  # uint64 [words]
    mass: Array  # int64 [1 + classes, sets]


@bundle
class ClosedGroups(NamedTuple):
    """Closures, members per sensitive value, total costs and sizes; a group of size 0 is gone."""

    columns: Any  # Columns
    hists: Array  # int64 [classes, groups]
    costs: Array  # int64 [groups]
    sizes: Array  # int64 [groups]


@bundle
class Heat(NamedTuple):
    """How much dearer a move may make the groups: drawn anew for every move."""

    mean: Array  # float64 [1]: 0 if every move has to pay
    chance: Array  # uint64 [1]: state of the generator, never 0


@bundle
class Scratch(NamedTuple):
    """Where one row or group is compared with all groups."""

    query: Any  # Query
    spare: Array  # COST [groups]
    out: Array  # int64 [groups]
    hist: Array  # int64 [sensitive values]
    heat: Any  # Heat
