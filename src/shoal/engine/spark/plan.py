"""What every worker is told before it sees a row: codes of values, costs, promises, the seed."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import DataError, OptionError, ShoalError
from shoal.table.encode import EncodedTable, narrow
from shoal.table.sensitive import person_would_say

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from numpy.typing import NDArray

    from shoal.measure.sse import Deviation
    from shoal.privacy import PrivacyModel
    from shoal.publish.recode import Style
    from shoal.settings.request import Request
    from shoal.table.encode import Attribute
    from shoal.table.schema import Schema
    from shoal.table.sensitive import Sensitive


# Privacy models on their way to workers: those of plug-ins bring code that may not be there.

Packed = tuple[tuple[str, bytes], ...]
"""Names of models, and the models as bytes."""


def packed_models(models: Sequence[PrivacyModel]) -> Packed:
    """Return models as bytes; a class of a notebook goes along, one of a package by its name.

    Raises:
        OptionError: a model holds something that cannot be sent.
    """
    from pyspark import cloudpickle

    found = []
    for model in models:
        try:
            found.append((model.name, cloudpickle.dumps(model)))
        except Exception as error:  # noqa: BLE001 - whatever its fields raise
            raise OptionError(
                "The privacy model {name!r} cannot be sent to workers ({name2}); its options "
                "must be plain values.",
                name=model.name,
                name2=type(error).__name__,
            ) from None
    return tuple(found)


BEGIN, END = "⟦shoal ", " shoal⟧"
"""Between these the driver finds what a worker has said (`shoal.engine.spark.session`)."""


class WorkerError(Exception):
    """An error in a worker, as text that holds no cell."""


def worker_error(error: Exception) -> WorkerError:
    """Return an error as the driver is to have it: a sentence of ours, or only its kind."""
    if isinstance(error, WorkerError):
        return error
    kind = type(error).__name__
    sentence = str(error) if isinstance(error, ShoalError) else ""
    return WorkerError(f"{BEGIN}{kind}: {sentence}{END}")


def unpacked_models(packed: Packed) -> tuple[PrivacyModel, ...]:
    """Return the models again, in a worker.

    Raises:
        OptionError: their code is not there.
    """
    found = []
    for name, text in packed:
        try:
            found.append(pickle.loads(text))  # noqa: S301 - the driver has made it
        except Exception as error:  # noqa: BLE001 - whatever importing raises
            raise OptionError(
                "A worker cannot load the privacy model {name!r} ({name2}); install its "
                "package on every worker.",
                name=name,
                name2=type(error).__name__,
            ) from None
    return tuple(found)


@dataclass(frozen=True, eq=False)
class Coding:
    """The code of every value of a column.

    Attributes:
        name: of the column.
        values: its different values; null stands for missing, and NaN too unless it is ``apart``.
        codes: code of each.
        apart: whether NaN and null are two values.
    """

    name: str
    values: pl.Series
    codes: NDArray[np.int32]
    apart: bool

    @cached_property
    def known(self) -> pl.DataFrame:
        """Values and their codes, ready to be looked up; made once in a worker."""
        import polars as pl

        values = _plain(self.values, apart=self.apart)
        found = pl.DataFrame({"value": values, "code": self.codes})
        return found.unique("value", keep="first", maintain_order=True)

    def of(self, cells: pl.Series) -> NDArray[np.int32]:
        """Return the code of each cell.

        Raises:
            DataError: a cell has a value that was not there when the values were counted.
        """
        import polars as pl

        given = pl.DataFrame({"value": _plain(cells.cast(self.values.dtype), apart=self.apart)})
        found = given.join(
            self.known,
            on="value",
            how="left",
            nulls_equal=True,
            maintain_order="left",
        ).get_column("code")
        if found.null_count():
            raise DataError(
                "Column {name!r} holds other values than a moment ago; give a table that "
                "stays the same while it is read (write it down first).",
                name=self.name,
            )
        return found.to_numpy()


def _plain(cells: pl.Series, *, apart: bool) -> pl.Series:
    if not cells.dtype.is_float():
        return cells
    cells = cells + 0.0  # -0.0 is 0.0
    return cells if apart else cells.fill_nan(None)


def clean_person(cells: pl.Series) -> pl.Series:
    """Return what a person would call each id; null where there is none."""
    import polars as pl

    if cells.dtype.is_float():
        cells = _plain(cells, apart=False)
    text = cells.cast(pl.String)
    if cells.dtype != pl.String:
        return text
    different = text.unique().drop_nulls()
    said = ["\x1f".join(person_would_say(each)) or None for each in different.to_list()]
    known = pl.DataFrame({"id": different, "said": pl.Series(said, dtype=pl.String)})
    given = pl.DataFrame({"id": text})
    return given.join(known, on="id", how="left", maintain_order="left").get_column("said")


@dataclass(frozen=True)
class Columns:
    """Names of our own for the columns of a table on its way, so that no name of a user is met.

    Attributes:
        raw: quasi-identifiers as they came.
        kept: columns that are published as they are.
        keys: columns by which the holder finds rows again.
        codes: quasi-identifiers as codes.
        original: codes before a grid; only columns on one.
        sensitive: sensitive columns as codes.
        person: whether rows have a person.
        tuples: whether a number for all quasi-identifiers of a row is carried, to be counted later.
    """

    raw: tuple[str, ...]
    kept: tuple[str, ...]
    keys: tuple[str, ...]
    codes: tuple[str, ...]
    original: tuple[str, ...]
    sensitive: tuple[str, ...]
    person: bool
    tuples: bool

    @property
    def order(self) -> tuple[str, ...]:
        """What rows of a block are sorted by, most important last; equal rows are equal in all."""
        return ("z", "h", *(("w",) if self.person else ()), *self.sensitive, *self.coded)

    @property
    def coded(self) -> tuple[str, ...]:
        """Everything that the search looks at, but for people."""
        return (*self.original, *self.codes)

    @property
    def carried(self) -> tuple[str, ...]:
        """All columns of a row on its way."""
        return (*self.kept, *self.keys, *self.coded, *self.sensitive, *self.beside, "h", "z")

    @property
    def beside(self) -> tuple[str, ...]:
        """What goes with a row to the end although it is not published: its person, its tuple."""
        return (*(("w",) if self.person else ()), *(("t",) if self.tuples else ()))


@dataclass(frozen=True, eq=False)
class Rule:
    """Which block the rows of a leaf belong to.

    Attributes:
        tree: from codes to leaves.
        first: number of the first block of each leaf.
        pieces: how many blocks the rows of a leaf are dealt to; more than one only where they are
            all alike.
    """

    tree: Tree
    first: NDArray[np.int64]
    pieces: NDArray[np.int64]

    @property
    def n_blocks(self) -> int:
        """How many blocks there are."""
        return int((self.first + self.pieces).max())


@dataclass(frozen=True, eq=False)
class Parts:
    """Rows that are clustered together, and groups that are refined together.

    Attributes:
        blocks: from codes to blocks.
        regions: from codes to regions, cut elsewhere.
        seamed: whether there are seams to repair.
    """

    blocks: Rule
    regions: Rule
    seamed: bool


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything a worker is told.

    Attributes:
        schema: roles and kinds of the columns.
        request: what is asked.
        columns: names of our own.
        attributes: the quasi-identifiers of the whole table, without rows.
        searched: the same, as the search sees them.
        sensitive: the sensitive columns of the whole table, without rows.
        codings: of the quasi-identifiers (before a grid).
        sensitive_codings: of the sensitive columns.
        styles: how cells of each quasi-identifier are written.
        cells: of each quasi-identifier the cell of every value (missing last); None off a grid.
        n_rows: how many rows the whole table has.
        shown: how many groups of a region are shown to the report.
        seed: chance; every block draws from it and from its own number.
        deviations: how far numbers lie from their mean; None for other columns.
        target: the sensitive column that measures look at, if it could be counted.
        weights: of the columns in this round, for measures that look at them in rounds.
        secret: what pseudonyms are computed with; drawn for this run, never from the seed.
    """

    schema: Schema
    request: Request
    columns: Columns
    attributes: tuple[Attribute, ...]
    searched: tuple[Attribute, ...]
    sensitive: tuple[Sensitive, ...]
    codings: tuple[Coding, ...]
    sensitive_codings: tuple[Coding, ...]
    styles: tuple[Style, ...]
    cells: tuple[NDArray[np.int32] | None, ...]
    n_rows: int
    shown: int
    seed: int
    deviations: tuple[Deviation | None, ...]
    target: Target | None = None
    weights: NDArray[np.float64] | None = None
    secret: bytes = field(default=b"", repr=False)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        state["request"] = replace(self.request, privacy=())
        return state | {"models": packed_models(self.request.privacy)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        try:
            models = unpacked_models(state.pop("models"))
        except OptionError as error:  # Spark unpacks a plan before any function of ours runs
            raise worker_error(error) from None
        self.__dict__.update(state, request=replace(state["request"], privacy=models))

    def cell_of(self, number: int) -> NDArray[np.int32]:
        """Return the cell of every value of a column on a grid."""
        found = self.cells[number]
        assert found is not None
        return found

    def table(
        self,
        codes: dict[str, NDArray[Any]],
        person: NDArray[np.int64] | None,
        *,
        searched: bool,
    ) -> EncodedTable:
        """Return rows, given as columns of codes, as a part of the whole table."""
        names = self.columns
        n_rows = len(codes[names.codes[0]])
        attributes = []
        for number, each in enumerate(self.searched if searched else self.attributes):
            own = codes[names.codes[number]]
            original = None
            if self.cells[number] is not None:
                original = narrow(codes[f"o{number}"], len(self.cell_of(number)) - 1)
            attributes.append(replace(each, codes=narrow(own, each.size), original=original))
        people = None
        if person is not None:
            people = np.unique(person, return_inverse=True)[1].astype(np.int32)
        sensitive = tuple(
            replace(each, codes=codes[name].astype(np.int32), people=people, of=each)
            for each, name in zip(self.sensitive, names.sensitive, strict=True)
        )
        return EncodedTable(n_rows, tuple(attributes), sensitive, people)


def whole_column(
    column: Sensitive, rows: NDArray[np.int64], cleaned: NDArray[np.int64] | None
) -> Sensitive:
    """Return a sensitive column of all rows, without the rows: counts stand for them.

    Args:
        column: its codes do not matter.
        rows: rows (or people) of the whole table with each value.
        cleaned: the same after cleaning; sums of them unless given.
    """
    whole = replace(column, codes=np.empty(0, np.int32), people=None, of=None)
    whole.__dict__["histogram"] = rows
    after = whole.cleaned
    if after is not whole:
        assert column.merging is not None
        merged = column.merging.merged
        if cleaned is None:
            cleaned = np.bincount(merged, weights=rows, minlength=after.size).astype(np.int64)  # type: ignore[arg-type]
        after.__dict__["histogram"] = cleaned
    return whole


@dataclass(eq=False)
class Tree:
    """Cuts: a row goes left if its code in a column is at most a number.

    Attributes:
        column: of each node; −1 for a leaf.
        cut: largest code that goes left.
        left: node on the left.
        right: node on the right.
        leaf: number of each leaf, from left to right; −1 for other nodes.
    """

    column: list[int] = field(default_factory=list)
    cut: list[int] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    leaf: list[int] = field(default_factory=list)
    n_leaves: int = 0

    def add(self) -> int:
        """Add a leaf and return its node; leaves are numbered when the tree is complete."""
        for each in (self.column, self.cut, self.left, self.right, self.leaf):
            each.append(-1)
        return len(self.column) - 1

    def number(self) -> None:
        """Number the leaves from left to right."""
        self.n_leaves, waiting = 0, [0]
        while waiting:
            node = waiting.pop()
            if self.column[node] < 0:
                self.leaf[node] = self.n_leaves
                self.n_leaves += 1
            else:
                self.leaf[node] = -1
                waiting += [self.right[node], self.left[node]]

    def leaves_of(self, codes: Sequence[NDArray[np.integer]]) -> NDArray[np.int64]:
        """Return the leaf of each row, from its codes."""
        n_rows = len(codes[0])
        column, cut = np.array(self.column), np.array(self.cut)
        left, right = np.array(self.left), np.array(self.right)
        node = np.zeros(n_rows, np.int64)
        walking = np.arange(n_rows) if column[0] >= 0 else np.empty(0, np.int64)
        while len(walking):
            at = node[walking]
            of = column[at]
            code = np.empty(len(walking), np.int64)
            for number in np.unique(of):
                mine = of == number
                code[mine] = codes[number][walking[mine]]
            node[walking] = np.where(code <= cut[at], left[at], right[at])
            walking = walking[column[node[walking]] >= 0]
        found: NDArray[np.int64] = np.array(self.leaf)[node]
        return found

    def nodes_of_leaves(self) -> dict[int, int]:
        """Return the node of each leaf."""
        return {leaf: node for node, leaf in enumerate(self.leaf) if leaf >= 0}


@dataclass(frozen=True, eq=False)
class Target:
    """The column (several stand for the tuple of them), without rows.

    Attributes:
        numbers: which of the sensitive columns it is made of.
        tuples: for each column but the first, the tuples that occur up to it, sorted: the number
            of the tuple before it, times the column's size, and its code.
        searched: the column, with what it goes with in the rows that take part.
        scored: the same of all rows.
    """

    numbers: tuple[int, ...]
    tuples: tuple[NDArray[np.int64], ...]
    searched: Sensitive
    scored: Sensitive

    def codes_of(self, sensitive: Sequence[Sensitive]) -> NDArray[np.int64]:
        """Return the code of each row, from those of its sensitive columns."""
        first, *others = (sensitive[number] for number in self.numbers)
        codes: NDArray[np.int64] = first.codes.astype(np.int64)
        for known, other in zip(self.tuples, others, strict=True):
            codes = np.searchsorted(known, codes * other.size + other.codes)
        return codes

    def of(self, table: EncodedTable, *, searched: bool) -> Sensitive:
        """Return the column of some rows."""
        whole = self.searched if searched else self.scored
        return replace(whole, codes=self.codes_of(table.sensitive).astype(np.int32))


@dataclass(frozen=True, eq=False)
class Named:
    """Published rows under their names.

    Attributes:
        frame: the rows.
        person: the column that tells people apart; None if rows are counted.
        group: the column with a row's group; None if it was not asked for.
    """

    frame: Any
    person: str | None
    group: str | None
