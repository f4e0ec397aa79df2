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

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.bundle import bundle

Bits = NDArray[np.uint64]
"""Words: sets, keys, points on a curve."""
Codes = NDArray[np.integer]
"""Values as numbers, as narrow as the column allows."""
Costs = NDArray[np.int32]
"""What one member of a closure pays."""
Counts = NDArray[np.int64]
"""How many rows, people or changes."""
Flags = NDArray[np.bool_]
Labels = NDArray[np.int32]
"""The group or the sensitive value of each row."""
Places = NDArray[np.int64]
"""Which row, group or block, or where something starts."""
Offsets = NDArray[np.int32]
"""Where the columns and codes of an attribute stand."""
Reals = NDArray[np.float64]
Totals = NDArray[np.int64]
"""What all members of a closure pay, and bounds on it."""

COST = np.int32
"""The type of costs: whole numbers, see `shoal.search.scan`."""

MIXED8 = np.uint8(0xFF)
MIXED16 = np.uint16(0xFFFF)
MIXED32 = np.uint32(0xFFFFFFFF)


@bundle
class Columns(NamedTuple):
    """Closures of many rows or groups, column-major; rows have ``low is high``."""

    lev8: Codes  # uint8 [levels, n]
    lev16: Codes  # uint16 [levels, n]
    lev32: Codes  # uint32 [levels, n]
    low: Codes  # COST [linear intervals, n]
    high: Codes
    clow: Codes  # int32 [log intervals, n]
    chigh: Codes
    bits: Codes  # uint64 [words of all sets, n]


@bundle
class Space(NamedTuple):
    """What the columns mean and cost. Axis 0 of the cost tables is the sensitive value."""

    tree_first: Offsets  # int32 [trees + 1]: level columns of each tree
    width: Codes  # uint8 [levels]: 0, 1, 2 for lev8, lev16, lev32
    row: Offsets  # int32 [levels]: row in that array
    cost_start: Places  # int64 [levels]: where a level's costs start
    level_cost: Totals  # int64 [classes, codes of all levels]
    root_cost: Totals  # int64 [classes, trees]
    full: Costs  # COST [linear intervals]
    prefix_start: Places  # int64 [log intervals + 1]
    prefix: Counts  # int64 [1 + classes, …] cumulated rows per code
    log_row: Offsets  # int32 [log intervals]: row in the tables of logarithms
    set_first: Offsets  # int32 [sets + 1]: words of each set
    set_size: Offsets  # int32 [sets]: bit of missing
    mass_start: Places  # int64 [sets]
    set_mass: Counts  # int64 [1 + classes, …] mass of each value
    set_log: Codes  # uint8 [sets]: 1 if the cost is a logarithm
    set_log_row: Offsets  # int32 [sets]
    set_weight: Reals  # float64 [sets]: cost of one more value
    set_full: Totals  # int64 [classes, sets]
    log_cost: Totals  # int64 [weights, rows + 1]: scaled log2 of a mass
    log_part: Totals  # int64 [weights, rows + 1]: the same times beta, for the class mass


@bundle
class Records(NamedTuple):
    """All rows of a table, which a search reads and never writes."""

    space: Space
    columns: Columns  # closures of the single rows
    classes: Labels  # int32 [rows]: sensitive value, 0 if costs do not look at it


@bundle
class Query(NamedTuple):
    """One closure, prepared for scanning: its codes and what leaving each level costs."""

    code8: Codes
    step8: Costs  # COST [classes, levels]
    code16: Codes
    step16: Costs
    code32: Codes
    step32: Costs
    base: Costs  # COST [classes]: cost of its own tree nodes
    low: Codes
    high: Codes
    clow: Codes
    chigh: Codes
    bits: Bits  # uint64 [words]
    mass: Counts  # int64 [1 + classes, sets]


@bundle
class ClosedGroups(NamedTuple):
    """Closures, members per sensitive value, total costs and sizes; a group of size 0 is gone."""

    columns: Columns
    hists: Counts  # int64 [classes, groups]
    costs: Totals  # int64 [groups]
    sizes: Counts  # int64 [groups]


@bundle
class Annealing(NamedTuple):
    """The state of simulated annealing: how much dearer a move may make the groups."""

    temperature: Reals  # float64 [1]: mean of what is drawn for every move; 0: it has to pay
    random: Bits  # uint64 [1]: state of the generator, never 0


@bundle
class Scratch(NamedTuple):
    """Where one row or group is compared with all groups."""

    query: Query
    spare: Costs  # COST [groups]
    out: Totals  # int64 [groups]
    hist: Counts  # int64 [sensitive values]
    annealing: Annealing
