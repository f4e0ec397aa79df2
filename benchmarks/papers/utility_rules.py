"""Association rules X -> class, with X up to three items, mined from groups of rows.

An item is a bin of a column. A group of rows holds an item to a degree between 0 and 1 (1 or 0
where cells are exact), and a set of items to the product of the degrees; the support of X -> y is
the sum over groups of that product times the group's rows of class y.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

Items = tuple[int, ...]
Rule = tuple[Items, int]
CHUNK = 512


@dataclass(frozen=True)
class Mined:
    """Sets of items with the rows of each class that hold them."""

    counts: Mapping[Items, NDArray[np.float64]]
    n_rows: float

    def rules(self, min_support: float, min_confidence: Sequence[float]) -> dict[Rule, float]:
        """Return the confidence of each rule that reaches both thresholds.

        Args:
            min_support: least share of all rows that hold X and are of the class.
            min_confidence: per class, the least share of the class among the rows that hold X.
        """
        found = {}
        for items, counts in self.counts.items():
            total = float(counts.sum())
            for y, least in enumerate(min_confidence):
                enough = counts[y] >= min_support * self.n_rows - 1e-9
                if enough and counts[y] >= least * total - 1e-9:
                    found[items, y] = float(counts[y]) / total
        return found


def mine(
    degrees: NDArray[np.float64],
    counts: NDArray[np.int64],
    owner: NDArray[np.int64],
    min_support: float,
) -> Mined:
    """Return all sets of up to three items that are frequent together with some class.

    Args:
        degrees: to which degree each group holds each item.
        counts: rows of each group and class.
        owner: the column of each item; a set has at most one item of a column.
        min_support: least share of all rows.
    """
    n_rows = float(counts.sum())
    least = min_support * n_rows - 1e-9
    single = degrees.T @ counts
    kept = np.flatnonzero(single.max(axis=1) >= least)
    found: dict[Items, NDArray[np.float64]] = {(int(i),): single[i] for i in kept}
    few, column = np.ascontiguousarray(degrees[:, kept]), owner[kept]
    apart = (column[:, None] != column[None, :]) & np.triu(np.ones((len(kept),) * 2, bool), 1)
    weighted = [few * counts[:, y, None] for y in range(counts.shape[1])]
    pair = np.stack([w.T @ few for w in weighted], axis=-1)
    frequent = apart & (pair.max(axis=-1) >= least)
    for a, b in np.argwhere(frequent):
        found[int(kept[a]), int(kept[b])] = pair[a, b]
    for a in range(len(kept)):
        # a set is frequent only if its pairs are
        after = np.flatnonzero(frequent[a])
        if len(after) < 2:
            continue
        own = few[:, a, None] * few[:, after]
        triple = np.stack([w[:, after].T @ own for w in weighted], axis=-1)
        fits = frequent[np.ix_(after, after)] & (triple.max(axis=-1) >= least)
        for b, c in np.argwhere(fits):
            found[int(kept[a]), int(kept[after[b]]), int(kept[after[c]])] = triple[b, c]
    return Mined(found, n_rows)


def confidences(
    degrees: NDArray[np.float64], counts: NDArray[np.int64], rules: Iterable[Rule]
) -> NDArray[np.float64]:
    """Return the confidence of given rules; that of the empty X where no row holds X."""
    wanted = list(rules)
    base = counts.sum(axis=0) / counts.sum()
    result = np.empty(len(wanted))
    for start in range(0, len(wanted), CHUNK):
        part = wanted[start : start + CHUNK]
        held = np.ones((len(degrees), len(part)))
        for place, (items, _) in enumerate(part):
            held[:, place] = degrees[:, items].prod(axis=1)
        support = held.T @ counts
        total = support.sum(axis=1)
        classes = np.array([y for _, y in part])
        own = support[np.arange(len(part)), classes]
        safe = np.where(total > 0, total, 1.0)
        result[start : start + len(part)] = np.where(total > 0, own / safe, base[classes])
    return result


def compare(
    original: Mapping[Rule, float], released: Mapping[Rule, float], again: NDArray[np.float64]
) -> dict[str, float]:
    """Return how close the rules of a release are to those of the original.

    Args:
        original: the rules of the original with their confidence.
        released: those of the release.
        again: the confidence of the original's rules in the release.

    Returns:
        ``recall`` (share of the original's rules found again), ``precision`` (share of the
        release's rules that are the original's), their harmonic mean ``f1``, and
        ``confidence_error`` (mean absolute error over the original's rules).
    """
    common = len(original.keys() & released.keys())
    error = np.abs(np.fromiter(original.values(), float, len(original)) - again)
    return {
        "rules": float(len(released)),
        "recall": common / len(original) if original else 1.0,
        "precision": common / len(released) if released else 0.0,
        "f1": 2 * common / (len(original) + len(released)) if original or released else 1.0,
        "confidence_error": float(error.mean()) if len(error) else 0.0,
    }
