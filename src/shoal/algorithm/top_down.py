"""Top-down specialisation (Fung, Wang, Yu: ICDE 2005)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from shoal.algorithm.base import Algorithm, check_choice
from shoal.algorithm.incognito import LevelLattice, check_trees, node_costs
from shoal.privacy.base import judge
from shoal.search.enforce import count_people
from shoal.table.partition import Partition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.hierarchy import Taxonomy
    from shoal.search.scan import Run
    from shoal.table.encode import EncodedTable

    Nodes = NDArray[np.int32]


@dataclass(frozen=True, kw_only=True)
class TopDownSpecialization(Algorithm):
    """Begin with everything generalised, and specialise the value that tells most about the class.

    A cut holds one node of the hierarchy above every value of a column. One step replaces a node v
    of a cut by its children, in all rows: that with the best score among the steps that are valid
    (every group still has k rows) and beneficial (rows with v have more than one class). Score(v) =
    InfoGain(v) / AnonyLoss(v), or InfoGain(v) where nothing of anonymity is lost: InfoGain is the
    fall of the entropy of the class, AnonyLoss by how much the smallest group shrinks. It ends
    where no step is left. The class is the first sensitive column.

    Deviations. The paper splits numbers wherever the gain is largest; here every column needs a
    hierarchy. Without a sensitive column, or with ``gain="loss"``, InfoGain is the loss that a step
    saves under the chosen measure, and a step is beneficial as long as there is something below v.
    A step after which a privacy model breaks is not valid. A missing value is a child of the root.

    Guarantee: every group has at least k people and keeps the privacy models; a value is published
    alike in all rows.
    Cost: O(specialisations · columns · n log n) with the distinct tuples as n.
    Determinism: no chance involved; ties go to the first column and the lowest node.

    Args:
        gain: "class" or "loss", what a step is to gain.
    """

    name = "top-down-specialization"
    title = "values specialised by what they tell about the class"
    citation = "Fung, Wang, Yu 2005"
    whole_rows = math.inf
    works_in_blocks = False
    counts_people = True

    gain: Literal["class", "loss"] = "class"

    def __post_init__(self) -> None:
        """Check the options."""
        check_choice(self, "gain", ("class", "loss"))

    def compiles(self, run: Run) -> tuple[str, ...]:
        """Return the task of the search whose frequency sets it uses."""
        del run
        return ("incognito",)

    def partition(self, table: EncodedTable, run: Run) -> Partition:
        """Group the rows of a table."""
        check_trees(table.attributes, self.name)
        cuts = Cuts(table, run, by_class=self.gain == "class" and bool(table.sensitive))
        step = cuts.best_step()
        while step is not None:
            run.progress(cuts.n_steps, cuts.most_steps, "specialising")
            cuts.specialise(step)
            step = cuts.best_step()
        return cuts.publish()


class Specialisation(NamedTuple):
    """A node of a cut with its children, and what they gain."""

    column: int
    node: int
    child: Nodes  # per base node of the column (missing last): the child above it
    gain: float


@dataclass(eq=False)
class Cuts:
    """The cuts of all columns over the distinct tuples of a table."""

    table: EncodedTable
    run: Run
    by_class: bool
    n_steps: int = 0
    steps: list[Specialisation] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Begin at the roots."""
        lattice = LevelLattice(self.table)
        self.base, self.tuple_of_row = lattice.base.tuples, lattice.tuple_of_row
        self.rows = lattice.base.counts
        self.cut = np.empty_like(self.base)
        self.group = np.zeros(len(self.base), np.int64)
        self.most_steps = 0
        for j, attribute in enumerate(self.table.attributes):
            tree = attribute.taxonomy
            assert tree is not None
            self.cut[:, j] = tree.root
            self.most_steps += tree.n_nodes - tree.n_leaves
            self._offer(j, tree.root)

    def best_step(self) -> Specialisation | None:
        """Return the valid step with the best score, None if none is left."""
        smallest = int(self._sizes(self.group).min())
        scored = []
        for number, step in enumerate(self.steps):
            least = int(self._sizes(self._split(step)).min())
            if least >= self.run.k:
                loss = smallest - least
                score = step.gain / loss if loss else step.gain
                # rounded, so that equal scores are equal however they were added up
                scored.append((-round(score, 9), step.column, step.node, number))
        for *_, number in sorted(scored):
            if self._keeps(self._split(self.steps[number])):
                return self.steps[number]
        return None

    def specialise(self, step: Specialisation) -> None:
        """Replace a node by its children in all rows."""
        self.group = self._split(step)
        self.steps.remove(step)
        self.n_steps += 1
        inside = self.cut[:, step.column] == step.node
        self.cut[inside, step.column] = step.child[self.base[inside, step.column]]
        for node in np.unique(self.cut[inside, step.column]).tolist():
            self._offer(step.column, node)

    def publish(self) -> Partition:
        """Return the groups, with the node of every column that each of them publishes."""
        first = np.unique(self.group, return_index=True)[1]
        recoded = {a.name: self.cut[first, j] for j, a in enumerate(self.table.attributes)}
        return Partition(self.group[self.tuple_of_row].astype(np.int32), len(first), recoded)

    def _offer(self, j: int, node: int) -> None:
        """Add the step of a node, if there is something below it and it is beneficial."""
        inside = self.cut[:, j] == node
        below = np.unique(self.base[inside, j])
        tree = self.table.attributes[j].taxonomy
        assert tree is not None
        if below.tolist() == [node]:
            return
        child = np.full(tree.n_nodes + 1, -1, np.int32)
        child[below] = [_child(tree, node, int(each)) for each in below]
        rows = np.flatnonzero(inside[self.tuple_of_row])
        of_row = child[self.base[self.tuple_of_row[rows], j]]
        if self.by_class:
            classes = self.table.sensitive[0].codes[rows]
            if len(np.unique(classes)) > 1:
                self.steps.append(
                    Specialisation(j, node, child, _information_gain(of_row, classes))
                )
        else:
            cost, classes = (
                node_costs(self.run, j, self.table.attributes[j]),
                self.run.scanner.classes,
            )
            saved = cost[node, classes[rows]] - cost[of_row, classes[rows]]
            self.steps.append(
                Specialisation(j, node, child, float(saved.sum()) / self.run.scanner.scale)
            )

    def _split(self, step: Specialisation) -> NDArray[np.int64]:
        """Return the group of each tuple after a step."""
        child = np.where(
            self.cut[:, step.column] == step.node, step.child[self.base[:, step.column]], -1
        )
        pairs = self.group * (len(step.child) + 1) + child + 1
        return np.unique(pairs, return_inverse=True)[1].astype(np.int64)

    def _sizes(self, group: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the people of each group."""
        n_groups = int(group.max()) + 1
        if self.table.person is not None:
            return count_people(group[self.tuple_of_row], n_groups, self.table.person)
        return np.bincount(group, self.rows, minlength=n_groups).astype(np.int64)

    def _keeps(self, group: NDArray[np.int64]) -> bool:
        """Return whether all groups keep the privacy models."""
        labels, n_groups = group[self.tuple_of_row], int(group.max()) + 1
        return all(
            judge(
                model.on(column),
                labels,
                n_groups,
                column.codes,
                column.size,
                people=self.table.person,
            ).holds.all()
            for model in self.run.privacy
            for column in model.columns(self.table)
        )


def _child(tree: Taxonomy, node: int, below: int) -> int:
    """Return the child of a node that a node below it belongs to; missing is one of the root."""
    while below != tree.n_nodes and tree.parent[below] != node:
        below = int(tree.parent[below])
    return below


def _information_gain(part: Nodes, classes: NDArray[np.int32]) -> float:
    """Return by how many bits the entropy of the class falls where the parts are known."""
    parts = np.unique(part, return_inverse=True)[1]
    values = np.unique(classes, return_inverse=True)[1]
    table = np.zeros((int(parts.max()) + 1, int(values.max()) + 1), np.int64)
    np.add.at(table, (parts, values), 1)
    inside = sum(_bits(row) * int(row.sum()) for row in table) / len(classes)
    return _bits(table.sum(axis=0)) - inside


def _bits(counts: NDArray[np.int64]) -> float:
    """Return the entropy of a distribution."""
    total = int(counts.sum())
    shares = [int(count) / total for count in counts if count]
    return -sum(share * math.log2(share) for share in shares)
