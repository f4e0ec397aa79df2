"""Privacy models as predicates on histograms, for kernels that respect them while they cluster.

A model is a row of three arrays: ``kinds[m]`` (below), ``numbers[m] = (parameter, c, column)`` and
``addresses[m]``. Histograms of all sensitive columns lie one after the other. `shoal.privacy` holds
the definitions. A model that is not known here (``OTHER``, of a plug-in) is a function of C at an
address, ``int64 rule(int64 *histogram, int64 n_values, int64 *whole)``: compiled by its author, or
a way back into Python, which is slower and gives the same groups.

Two models know more of a column than its counts; it stands in ``details``, and c says from where:

- ``RANGE``: how many different values a group must have, then the number of each value (NaN for
  none);
- ``T_TREE``: the number of nodes, then of each node what its branch adds to the distance, how many
  values lie below it, and these values.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from shoal.kernels.bundle import bundle
from shoal.kernels.jit import called_helper, helper

if TYPE_CHECKING:
    from shoal.kernels.space import Codes, Counts, Places, Reals


FREQUENCY, DISTINCT, ENTROPY, RECURSIVE, T_EQUAL, T_ORDERED, ALPHA, OTHER = range(8)
BETA, BETA_ENHANCED, DELTA, RANGE, T_TREE = range(8, 13)
WORD = 8  # bytes of a count
TOLERANCE = 1e-9
NO_DETAILS = np.empty(0, np.float64)


@bundle
class Rules(NamedTuple):
    """Privacy models and the sensitive values that they look at."""

    private: Codes  # int32 [columns, rows]: sensitive codes
    whole: Counts  # int64 [sensitive values]: histograms of all rows, column after column
    first: Places  # int64 [columns + 1]: where each column begins in a histogram
    kinds: Places  # int64 [models]
    numbers: Reals  # float64 [models, 3]: parameter, c, column
    addresses: Places  # int64 [models]: of the function of an OTHER model
    details: Reals = NO_DETAILS  # float64: what RANGE and T_TREE know of a column, from c on


@intrinsic
def _call(typing: Any, address: Any, hist: Any, n_values: Any, whole: Any) -> Any:
    """Call the function at an address with two pointers and a number between them."""
    del typing, address, hist, n_values, whole

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        del context, signature
        word = ir.IntType(64)
        kind = ir.FunctionType(word, [word, word, word])
        return builder.call(builder.inttoptr(args[0], kind.as_pointer()), args[1:])

    return types.int64(types.int64, types.int64, types.int64, types.int64), generate


@helper
def _other_holds(address: int, hist: Counts, whole: Counts, a: int, b: int) -> bool:
    """Ask the rule of a model that is not known here."""
    own = np.int64(hist.ctypes.data) + WORD * a
    every = np.int64(whole.ctypes.data) + WORD * a
    # numba passes the first parameter itself
    found: Any = _call(np.int64(address), own, np.int64(b - a), every)  # type: ignore[call-arg]
    return found != 0


@helper
def count_rows(rules: Rules, order: Places, low: int, high: int, hist: Counts) -> None:
    """Count the sensitive values of rows order[low:high]."""
    hist[:] = 0
    for p in range(low, high):
        for s in range(rules.private.shape[0]):
            hist[rules.first[s] + rules.private[s, order[p]]] += 1


@helper
def recursive_gap(hist: Counts, a: int, b: int, l: float, c: float) -> float:
    """Return r_1 − c · (r_l + … + r_m), with the counts r in falling order; it must be below 0."""
    top = np.int64(0)
    tail = np.int64(0)
    for v in range(a, b):
        top = max(top, hist[v])
        tail += hist[v]
    skip = math.ceil(l - TOLERANCE) - 1
    count = top  # l is small, so the largest counts are taken off one by one, not sorted
    while skip > 0 and count > 0:
        following = np.int64(0)
        for v in range(a, b):
            if hist[v] == count and skip > 0:
                tail -= count
                skip -= 1
            elif hist[v] < count:
                following = max(following, hist[v])
        count = following
    return top * (1.0 + TOLERANCE) - c * tail


@helper
def distance_of(hist: Counts, whole: Counts, a: int, b: int, size: int, ordered: bool) -> float:
    """Earth mover's distance from the whole, over the values that occur in the whole."""
    n = 0
    present = 0
    for v in range(a, b):
        n += whole[v]
        present += 1 if whole[v] > 0 else 0
    distance = 0.0
    running = 0.0
    for v in range(a, b):
        if whole[v] == 0:
            continue  # a value that no row has is no step of the order
        gap = hist[v] / size - whole[v] / n
        running += gap
        distance += abs(running) if ordered else abs(gap)
    # the last running sum is 0; a single value leaves nothing to differ
    return distance / max(present - 1, 1) if ordered else distance / 2.0


@helper
def tree_distance_of(hist: Counts, rules: Rules, m: int, a: int, b: int, size: int) -> float:
    """Earth mover's distance from the whole along the branches of the tree of model m."""
    n = np.int64(0)
    for v in range(a, b):
        n += rules.whole[v]
    at = np.int64(rules.numbers[m, 1])
    nodes = np.int64(rules.details[at])
    at += 1
    distance = 0.0
    for _ in range(nodes):
        weight = rules.details[at]
        below = np.int64(rules.details[at + 1])
        flow = 0.0
        for i in range(at + 2, at + 2 + below):
            v = a + np.int64(rules.details[i])
            flow += hist[v] / size - rules.whole[v] / n
        distance += weight * abs(flow)
        at += 2 + below
    return distance


@helper
def _is_like(
    hist: Counts, whole: Counts, a: int, b: int, size: int, beta: float, enhanced: bool
) -> bool:
    """Return whether no value gains more than beta times its share (enhanced: or its -ln)."""
    n = np.int64(0)
    for v in range(a, b):
        n += whole[v]
    for v in range(a, b):
        if whole[v] == 0:
            continue
        share = whole[v] / n
        gain = hist[v] / size / share - 1.0
        if gain > beta + TOLERANCE or (enhanced and gain > TOLERANCE - math.log(share)):
            return False
    return True


@helper
def _discloses_little(hist: Counts, whole: Counts, a: int, b: int, size: int, delta: float) -> bool:
    """Return whether the logarithm of the change of every value's share is below delta."""
    n = np.int64(0)
    for v in range(a, b):
        n += whole[v]
    for v in range(a, b):
        if whole[v] == 0:
            continue
        if hist[v] == 0 or abs(math.log(hist[v] / size / (whole[v] / n))) >= delta - TOLERANCE:
            return False
    return True


@helper
def _is_wide(hist: Counts, rules: Rules, m: int, a: int, b: int) -> bool:
    """Return whether enough different numbers lie far enough apart."""
    at = np.int64(rules.numbers[m, 1])
    low, high, different = math.inf, -math.inf, 0
    for v in range(a, b):
        number = rules.details[at + 1 + v - a]
        if hist[v] > 0 and not math.isnan(number):
            low, high = min(low, number), max(high, number)
            different += 1
    enough = different >= rules.details[at]
    return enough and high - low >= rules.numbers[m, 0] * (1.0 - TOLERANCE)


@called_helper
def group_holds(hist: Counts, rules: Rules) -> bool:
    """Return whether a group with these histograms satisfies every model."""
    for m in range(rules.kinds.shape[0]):
        kind = rules.kinds[m]
        value = rules.numbers[m, 0]
        s = int(rules.numbers[m, 2])
        a = rules.first[s]
        b = rules.first[s + 1]
        size = np.int64(0)
        most = np.int64(0)
        distinct = 0
        for v in range(a, b):
            size += hist[v]
            most = max(most, hist[v])
            distinct += 1 if hist[v] > 0 else 0
        if size == 0:
            continue
        if kind == FREQUENCY:
            holds = most * value <= size * (1.0 + TOLERANCE)
        elif kind == ALPHA:
            holds = most <= value * size * (1.0 + TOLERANCE)
        elif kind == DISTINCT:
            holds = distinct + TOLERANCE >= value
        elif kind == ENTROPY:
            entropy = 0.0
            for v in range(a, b):
                if hist[v] > 0:
                    p = hist[v] / size
                    entropy -= p * math.log(p)
            holds = entropy + TOLERANCE >= math.log(value)
        elif kind == RECURSIVE:
            holds = recursive_gap(hist, a, b, value, rules.numbers[m, 1]) < 0.0
        elif kind == OTHER:
            holds = _other_holds(rules.addresses[m], hist, rules.whole, a, b)
        elif kind in (BETA, BETA_ENHANCED):
            holds = _is_like(hist, rules.whole, a, b, size, value, kind == BETA_ENHANCED)
        elif kind == DELTA:
            holds = _discloses_little(hist, rules.whole, a, b, size, value)
        elif kind == RANGE:
            holds = _is_wide(hist, rules, np.int64(m), a, b)
        elif kind == T_TREE:
            distance = tree_distance_of(hist, rules, np.int64(m), a, b, size)
            holds = distance <= value + TOLERANCE
        else:
            distance = distance_of(hist, rules.whole, a, b, size, kind == T_ORDERED)
            holds = distance <= value + TOLERANCE
        if not holds:
            return False
    return True
