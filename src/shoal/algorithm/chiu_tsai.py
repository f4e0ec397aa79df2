"""Weighted-feature C-means clustering (Chiu, Tsai: ADMA 2007)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.algorithm.base import Algorithm, check_whole
from shoal.kernels.chiu_tsai import closest_centres
from shoal.kernels.space import COST
from shoal.measure.base import Grouped, LinearForm, LogForm
from shoal.messages import Message
from shoal.search.enforce import enforce
from shoal.search.scan import Scanner, take_columns
from shoal.table.encode import EncodedTable
from shoal.table.partition import Partition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.measure.base import CostModel, Form
    from shoal.search.scan import Run
    from shoal.table.encode import Attribute


SLICE_COMPARISONS = 20_000_000


@dataclass(frozen=True, kw_only=True)
class ChiuTsai(Algorithm):
    """Assign all records to ⌊n/k⌋ centres, weigh the features anew, repeat; merge small clusters.

    Follows the paragraph in Lin and Wei, section 2.2, which leaves much open, and not the paper
    itself: its full text could not be had (a public copy of which only the abstract and the
    introduction are at hand was all that was found). Choices of ours:

    * The distance of a record and a centre is the cost per record of generalising both, with the
      current feature weights on top of the user's; where costs depend on the sensitive value, that
      of the record.
    * A centre is a record: it has the value closest to the mean of a numeric attribute, the lower
      median where the measure charges an interval by the records it covers, and the most frequent
      value of any other attribute. Ties go to the first value in the attribute's order. Missing is
      a value like any other, and the mean is that of the known values, unless more than half are
      missing. A centre without records stays where it is.
    * The weight of feature j is proportional to 1 / (s_j + 1/m), with mean 1, where s_j is its
      share of the clusters' information loss and m the number of features. This minimises
      Σ w_j² · (s_j + 1/m) over weights of a fixed sum: features that the clusters preserve well
      count more, none more than m + 1 times another.
    * After convergence, or ``max_iterations``, each cluster below k merges with the cluster whose
      union with it costs least more (as in `enforce`), until none is left.

    Guarantee: every cluster has at least k records.
    Cost: O(n²/k) comparisons per iteration; rows that are equal count once.
    Determinism: given the seed; ties go to the lowest cluster.

    Args:
        max_iterations: after how many assignments to stop even if records still move.
    """

    name = "chiu-tsai"
    title = "weighted-feature C-means clustering"
    citation = "Chiu, Tsai 2007"

    max_iterations: int = 10

    def __post_init__(self) -> None:
        """Check the options."""
        check_whole(self, "max_iterations")

    def partition(self, table: EncodedTable, run: Run) -> Partition:
        """Group the rows of a table."""
        n, model = table.n_rows, run.model
        seeds = run.rng.permutation(n)[: n // run.k]
        centres = [a.codes[seeds] for a in table.attributes]
        rows = distinct_rows(table, run.scanner)
        label = np.full(n, -1, np.int32)
        for turn in range(1, self.max_iterations + 1):
            closest = assign_records(
                table, run, model, centres, rows, Message("clustering, round {n}", n=turn)
            )
            if np.array_equal(closest, label):
                break
            label = closest
            model = update_weights(table, run.model, label)
            centres = update_centres(table, run.model, label, centres)
        return merge_small_clusters(table, run, label)


def distinct_rows(
    table: EncodedTable, scanner: Scanner
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return one row of each kind, and which of them each row is equal to."""
    equal = Partition.of_equal_rows([*(a.codes for a in table.attributes), scanner.classes])
    return equal.heads, equal.labels


def assign_records(
    table: EncodedTable,
    run: Run,
    model: CostModel,
    centres: list[NDArray[Any]],
    rows: tuple[NDArray[np.int64], NDArray[np.int32]],
    what: str,
) -> NDArray[np.int32]:
    """Return the closest centre of every record."""
    distinct, kind = rows
    n_centres = len(centres[0])
    both = with_centres(table, distinct, centres)
    scanner = Scanner.build(both, model)
    place = take_columns(scanner.rows, np.arange(len(distinct), both.n_rows))
    found = np.empty(len(distinct), np.int32)
    per_slice = max(1, SLICE_COMPARISONS // n_centres)
    for first in range(0, len(found), per_slice):
        run.progress(first, len(found), what)
        last = min(first + per_slice, len(found))
        closest_centres(
            scanner.space,
            scanner.rows,
            first,
            last,
            run.scanner.classes[distinct],
            place,
            scanner.query(),
            np.empty(n_centres, COST),
            found,
        )
    return found[kind]


def with_centres(
    table: EncodedTable, rows: NDArray[np.int64], centres: list[NDArray[Any]]
) -> EncodedTable:
    """Return a table of these rows followed by the centres."""
    attributes = tuple(
        replace(a, codes=np.concatenate((a.codes[rows], codes)))
        for a, codes in zip(table.attributes, centres, strict=True)
    )
    return EncodedTable(len(rows) + len(centres[0]), attributes, ())


def update_weights(table: EncodedTable, model: CostModel, label: NDArray[np.int32]) -> CostModel:
    """Return the model with the feature weights that make the clusters' loss count least."""
    grouped = Grouped(table, Partition.from_labels(label), model.target)
    loss = np.array(list(model.measure.by_column(grouped).values())) * model.weights
    if not loss.sum() > 0:
        return model
    weights = 1.0 / (loss / loss.sum() + 1.0 / len(loss))
    return replace(model, weights=model.weights * weights / weights.mean())


def update_centres(
    table: EncodedTable, model: CostModel, label: NDArray[np.int32], centres: list[NDArray[Any]]
) -> list[NDArray[Any]]:
    """Return the new centres; those without records stay."""
    filled, members = np.unique(label), Partition.from_labels(label)
    moved = []
    for attribute, form, old in zip(table.attributes, model.forms, centres, strict=True):
        codes = old.copy()
        codes[filled] = central_values(attribute, form, members)
        moved.append(codes)
    return moved


def central_values(attribute: Attribute, form: Form, members: Partition) -> NDArray[np.int64]:
    """Return the code of each centre in one attribute."""
    if isinstance(form, LinearForm):
        return _closest_to_mean(attribute, form, members)
    if isinstance(form, LogForm) and attribute.algebra == "interval":
        ranked = attribute.codes[np.lexsort((attribute.codes, members.labels))].astype(np.int64)
        middle: NDArray[np.int64] = ranked[members.starts[:-1] + (members.sizes - 1) // 2]
        return middle
    return _most_frequent(attribute, members)


def _closest_to_mean(
    attribute: Attribute, form: LinearForm, members: Partition
) -> NDArray[np.int64]:
    known = attribute.codes < attribute.size
    label = members.labels[known]
    count = np.bincount(label, minlength=members.n_groups)
    place = form.position[attribute.codes[known]]
    total = np.bincount(label, weights=place, minlength=members.n_groups)
    mean = total / np.maximum(count, 1)
    above = np.clip(np.searchsorted(form.position, mean), 1, max(attribute.size - 1, 1))
    above = np.minimum(above, attribute.size - 1)
    below = np.maximum(above - 1, 0)
    lower = mean - form.position[below] <= form.position[above] - mean
    code = np.where(lower, below, above)
    return np.where(2 * count < members.sizes, attribute.size, code)


def _most_frequent(attribute: Attribute, members: Partition) -> NDArray[np.int64]:
    width = attribute.size + 1
    pair, count = np.unique(
        members.labels.astype(np.int64) * width + attribute.codes, return_counts=True
    )
    ranked = np.lexsort((pair, -count, pair // width))
    group, first = np.unique(pair[ranked] // width, return_index=True)
    result = np.zeros(members.n_groups, np.int64)
    result[group] = pair[ranked][first] % width
    return result


def merge_small_clusters(table: EncodedTable, run: Run, label: NDArray[np.int32]) -> Partition:
    """Merge clusters below k with the cluster they cost least, round by round."""
    partition = Partition.from_labels(label)
    return enforce(table, partition, run.scanner, run.k, (), run.progress)
