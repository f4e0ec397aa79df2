"""Privacy models and sensitive columns as the flat arrays that kernels check groups with."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.kernels import private
from shoal.kernels.people import Crowd

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shoal.privacy.base import PrivacyModel
    from shoal.table.encode import EncodedTable
    from shoal.table.sensitive import Sensitive


_NOTHING = np.empty(0, np.int64)
MOST_KNOWN = 100_000
"""Verdicts of a model of a plug-in that are kept."""
_RULE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


@dataclass(frozen=True, eq=False)
class PrivateArrays:
    """Sensitive codes, whole histograms and models for `kernels.private.group_holds`.

    Attributes:
        rules: what kernels read.
        held: functions whose addresses are among the rules; they live as long as this.
        subject: person of each row, then person and value of each row, column by column, each
            numbered; None if every row is a person of its own.
    """

    rules: private.Rules
    held: tuple[Any, ...] = ()
    subject: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, table: EncodedTable, models: Sequence[PrivacyModel]) -> PrivateArrays:
        """Collect the sensitive columns and the models.

        A model that kernels do not know is asked through the function that it brings
        (`PrivacyModel.rule_address`), or else through its Python code.
        """
        kinds, numbers, addresses, held = [], [], [], []
        details: list[NDArray[np.float64]] = [private.NO_DETAILS]
        looked_at = [column for model in models for column in model.columns(table)]
        # A column that is read in two ways, as written and cleaned, is two here.
        sensitive = list({id(column): column for column in looked_at}.values())
        used = {id(column): i for i, column in enumerate(sensitive)}
        for model in models:
            name, value, c = model.kernel_rule() or ("OTHER", float(model.promised), 0.0)
            kind = getattr(private, name)
            for column in model.columns(table):
                bound, address = model.on(column), 0
                if kind == private.OTHER:
                    address = bound.rule_address() or 0
                    if not address:
                        function = _in_python(bound)
                        held.append(function)
                        address = ctypes.cast(function, ctypes.c_void_p).value or 0
                known = bound.details()
                if known is not None:
                    c = float(sum(map(len, details)))
                    details.append(known)
                kinds.append(kind)
                numbers.append((value, c, used[id(column)]))
                addresses.append(address)
        codes = np.zeros((len(sensitive), table.n_rows), np.int32)
        for i, column in enumerate(sensitive):
            codes[i] = column.codes
        first = np.cumsum([0, *(s.size for s in sensitive)]).astype(np.int64)
        whole = [s.whole for s in sensitive]
        return cls(
            private.Rules(
                codes,
                np.concatenate([*whole, np.empty(0)]).astype(np.int64),
                first,
                np.array(kinds, np.int64),
                np.array(numbers, np.float64).reshape(-1, 3),
                np.array(addresses, np.int64),
                np.concatenate(details),
            ),
            tuple(held),
            _subjects(table, sensitive),
        )

    def crowd(self, places: int) -> Crowd:
        """Return room for who is in which of so many groups."""
        if self.subject is None:
            return Crowd(np.empty((0, 0), np.int64), _NOTHING, _NOTHING, np.array([places]))
        # a group that is being grown is among them, so a row counts twice
        n_entries = self.subject.size + self.subject.shape[1]
        room = 1 << int(2 * n_entries).bit_length()
        keys = np.full(room, -1, np.int64)
        return Crowd(self.subject, keys, np.zeros(room, np.int64), np.array([places]))

    def scratch(self) -> NDArray[np.int64]:
        """Return room for the histograms of one group."""
        return np.zeros(len(self.rules.whole), np.int64)

    def histograms(self, labels: NDArray[np.int32], n_groups: int) -> NDArray[np.int64]:
        """Return the histograms of each group; of a single one where no model looks at values.

        Zeros where a person has several rows: `kernels.people.fill_crowd` counts them.
        """
        rules = self.rules
        found = np.zeros((n_groups if len(rules.private) else 1, len(rules.whole)), np.int64)
        if self.subject is not None:
            return found
        for s, codes in enumerate(rules.private):
            np.add.at(found, (labels, rules.first[s] + codes), 1)
        return found


def _subjects(table: EncodedTable, sensitive: Sequence[Sensitive]) -> NDArray[np.int64] | None:
    if table.person is None:
        return None
    subject = np.empty((1 + len(sensitive), table.n_rows), np.int64)
    subject[0] = np.unique(table.person, return_inverse=True)[1]
    n_before = table.n_rows
    for s, column in enumerate(sensitive, start=1):
        pair = subject[0] * column.size + column.codes
        subject[s] = np.unique(pair, return_inverse=True)[1] + n_before
        n_before += table.n_rows
    return subject


def _in_python(model: PrivacyModel) -> Any:
    """Return the model's own predicate as a function of C.

    An error in it cannot pass through a kernel. The group then counts as broken, and `enforce`,
    which asks the model again from Python, raises it.
    """
    known: dict[bytes, int] = {}  # small groups have few histograms, and are asked about often

    def rule(histogram: int, n_values: int, whole: int) -> int:
        counts = ctypes.string_at(histogram, 8 * n_values)
        verdict = known.get(counts)
        if verdict is None:
            if len(known) >= MOST_KNOWN:
                known.clear()
            verdict = known[counts] = judged(counts, ctypes.string_at(whole, 8 * n_values))
        return verdict

    def judged(counts: bytes, every: bytes) -> int:
        try:
            group = np.frombuffer(counts, np.int64)[np.newaxis]
            return int(bool(model.holds(group, np.frombuffer(every, np.int64))[0]))
        except Exception:  # noqa: BLE001 - see above
            return 0

    return _RULE(rule)
