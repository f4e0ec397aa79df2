"""t-closeness: every group's sensitive values are distributed as in the whole table."""

from __future__ import annotations

from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from shoal.errors import OptionError
from shoal.messages import Message
from shoal.options import Number, one_of
from shoal.privacy.base import COLUMN, PrivacyModel, n_rows, parameter

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.hierarchy import Taxonomy
    from shoal.privacy.base import KernelRule, Reading
    from shoal.table.sensitive import Sensitive


@dataclass(frozen=True, eq=False)
class Branches:
    """A tree over the values of a column as the branches that mass is moved along.

    Attributes:
        order: the values, those below one node side by side.
        first: of each branch, where the values below it begin in this order.
        last: of each branch, where they end.
        weight: of each branch, what moving all mass along it costs.
    """

    order: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    weight: NDArray[np.float64]

    @classmethod
    def of(cls, taxonomy: Taxonomy, leaves: NDArray[np.int64]) -> Branches:
        """Return the branches above the values at these leaves, -1 for a missing one."""
        order = np.argsort(leaves, kind="stable")
        placed = leaves[order]
        inner = np.arange(taxonomy.n_nodes - 1)  # all but the root
        top = max(taxonomy.tree_height, 1)
        parent = taxonomy.parent[inner]
        weight = (taxonomy.height[parent] - taxonomy.height[inner]) / (2.0 * top)
        first = np.searchsorted(placed, taxonomy.first_leaf[inner])
        last = np.searchsorted(placed, taxonomy.last_leaf[inner], side="right")
        used = (first < last) & (weight > 0)
        none = int(np.count_nonzero(leaves < 0))  # directly below the root, first in the order
        return cls(
            order,
            np.append(first[used], np.arange(none)),
            np.append(last[used], np.arange(none) + 1),
            np.append(weight[used], np.full(none, 0.5)),
        )

    def distance(
        self, histograms: NDArray[np.int64], whole: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the distance of each group from the whole."""
        gaps = histograms / n_rows(histograms)[:, np.newaxis] - whole / whole.sum()
        upto = np.zeros((gaps.shape[0], gaps.shape[1] + 1))
        np.cumsum(gaps[:, self.order], axis=1, out=upto[:, 1:])
        flow = np.abs(upto[:, self.last] - upto[:, self.first])
        moved: NDArray[np.float64] = flow @ self.weight
        return moved

    def flat(self) -> NDArray[np.float64]:
        """Return the number of branches, then weight, number of values and values of each."""
        parts: list[NDArray[np.float64]] = [np.array([float(len(self.weight))])]
        for first, last, weight in zip(self.first, self.last, self.weight, strict=True):
            parts.append(np.array([weight, float(last - first)]))
            parts.append(self.order[first:last].astype(np.float64))
        return np.concatenate(parts)


@dataclass(frozen=True)
class TCloseness(PrivacyModel):
    """Being in a group tells little more about a sensitive value than being in the table.

    Guarantee: the earth mover's distance between the distribution p of a group and the
    distribution q of the whole published table is at most t, where moving from value i to
    value j of m costs

    - ``equal``: 1, so the distance is ½ Σ |p_i − q_i|;
    - ``ordered``: |i − j| / (m − 1), so it is 1/(m−1) · Σ_i |Σ_{j ≤ i} (p_j − q_j)|;
    - ``hierarchical``: the height of their lowest common ancestor in the column's hierarchy, as a
      share of the height of the tree. The way from a leaf to any ancestor is then equally long
      for all leaves below it, and the distance is a sum over the branches: with h the height of a
      node, Σ_N (h(parent of N) − h(N)) / (2 h(root)) · |Σ_{i below N} (p_i − q_i)|. What is
      similar costs little to exchange: two stomach diseases less than a stomach and a lung disease.

    Only values that occur in the published table count towards m; a missing value is one of
    them, ranked last. In a hierarchy a missing value lies directly below the root. Compared with a
    tolerance of 1e-9. Monotone under union of groups, since all distances are convex and the whole
    stays the same. One group of all rows has distance 0, so every t is possible.

    Attributes:
        t: largest distance; at least 0 and below 1.
        distance: which of the three; ``ordered`` needs numbers, dates or ordered categories,
            ``hierarchical`` a hierarchy of the sensitive column.
        column: the sensitive column; all of them if not given.

    References:
        Li, Li and Venkatasubramanian, *t-Closeness: Privacy Beyond k-Anonymity and
        l-Diversity*, §4; hierarchical distance: §4.2.
    """

    name: ClassVar[str] = "t-closeness"
    title: ClassVar[str] = "sensitive values in every group distributed as in the whole table"
    citation: ClassVar[str] = "Li, Li & Venkatasubramanian 2007"

    _tree: ClassVar[Branches | None] = None

    t: float = parameter(
        Number(at_least=0, below=1),
        help="Sensitive values are spread in a group as in the table, up to T.",
        flag=("--t-closeness", "T"),
        start=0.3,
    )
    _: KW_ONLY
    distance: Literal["equal", "ordered", "hierarchical"] = parameter(
        one_of("equal", "ordered", "hierarchical"),
        default="equal",
        help="How T is measured: equal, ordered or hierarchical.",
        flag=("--t-distance", "DISTANCE"),
    )
    column: str | None = parameter(**COLUMN)

    @property
    def readings(self) -> tuple[Reading, ...]:
        """As written for ``equal``: |Σ (p − q)| over merged values is at most Σ |p − q|.

        For ``ordered`` merging takes away steps, and the distance is divided by their number:
        it may rise or fall, so both readings count. For ``hierarchical`` values that are one have
        a way of 0 between them and to others the shorter of their ways, so that no distance rises:
        as written.
        """
        return ("written", "cleaned") if self.distance == "ordered" else ("written",)

    @property
    def label(self) -> str:
        """The model with its numbers."""
        return Message(
            "t-closeness with t = {t:g} ({distance} distance)", t=self.t, distance=self.distance
        )

    def kernel_rule(self) -> KernelRule:
        """Return the rule that compiled searches keep: one for each distance."""
        rules = {
            "equal": "T_EQUAL",
            "ordered": "T_ORDERED",
            "hierarchical": "T_TREE",
        }
        return rules[self.distance], self.t, 0.0

    def describe(self, column: str | None = None) -> str:
        """Return the promise as a sentence in plain words."""
        by = {
            "equal": "",
            "ordered": Message(" in the order of the values"),
            "hierarchical": Message(" along the branches of their hierarchy"),
        }[self.distance]
        return Message(
            "In every group, the sensitive values{of} are distributed as in the whole table, up to "
            "a share of {t:g} that would have to be moved{by}.",
            of=self._of(column),
            t=self.t,
            by=by,
        )

    def per_group(
        self, histograms: NDArray[np.int64], whole: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the distance of each group from the whole."""
        if self._tree is not None:
            return self._tree.distance(histograms, whole)
        present = whole > 0
        q = whole[present] / whole.sum()
        difference = histograms[:, present] / n_rows(histograms)[:, np.newaxis] - q
        if self.distance == "equal":
            steps = 2
        else:
            difference = np.cumsum(difference, axis=1)[:, :-1]
            steps = max(q.shape[0] - 1, 1)
        moved: NDArray[np.float64] = np.abs(difference).sum(axis=1)
        return moved / steps

    def on(self, sensitive: Sensitive) -> TCloseness:
        """Return the model with the tree of this column, where the distance goes along one."""
        if self.distance != "hierarchical":
            return self
        assert sensitive.taxonomy is not None
        assert sensitive.leaves is not None
        bound = copy(self)
        tree = Branches.of(sensitive.taxonomy, sensitive.leaves)
        object.__setattr__(bound, "_tree", tree)
        return bound

    def details(self) -> NDArray[np.float64] | None:
        """Return the tree as kernels read it."""
        return None if self._tree is None else self._tree.flat()

    def check_column(self, sensitive: Sensitive) -> None:
        """Raise an OptionError if the distance needs what the column does not have."""
        if self.distance == "hierarchical" and sensitive.taxonomy is None:
            raise OptionError(
                "t-closeness with distance='hierarchical' needs a hierarchy of column "
                "{name!r}; give one with hierarchies={{{name!r}: ...}} (--hierarchy "
                "{name}=FILE), or name another column with column=...",
                name=sensitive.name,
            )
        if self.distance == "ordered" and not sensitive.ordered:
            raise OptionError(
                "t-closeness with distance='ordered' needs numbers, dates or ordered "
                "categories, and column {name!r} holds none of them; use distance='equal', or "
                "name another column with column=...",
                name=sensitive.name,
            )
