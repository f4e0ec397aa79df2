"""Re-derives every promise from the published table alone.

This is the second opinion on a release, so it shares no code with what made the release: it
reads nothing but the published cells, knows no closures, no groups of the run and no algorithm.
"""

from __future__ import annotations

import operator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from shoal.callable_module import make_callable
from shoal.errors import DataError, OptionError, RoleError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from shoal.encode import Sensitive
    from shoal.privacy import PrivacyModel

__all__ = ["Check", "Verification", "verify_table"]


@dataclass(frozen=True)
class Check:
    """One promise and what was found.

    Attributes:
        name: the promise, as ``"k-anonymity"`` or ``"l-diversity of 'diagnosis'"``.
        promised: the promised number.
        measured: the worst number of any group.
        holds: whether every group keeps the promise.
        sentence: the same in plain words.
    """

    name: str
    promised: float
    measured: float
    holds: bool
    sentence: str


@dataclass(frozen=True)
class Verification:
    """What a published table keeps of what it promises; true if it keeps everything.

    Attributes:
        holds: whether every promise is kept.
        k: the promised group size.
        smallest_group: rows of the smallest group of equal quasi-identifiers.
        n_groups: number of groups.
        n_rows: number of published rows.
        highest_risk: chance to pick the right row of the smallest group, 1 / its size.
        violating_groups: groups that break at least one promise.
        violating_rows: rows in those groups.
        checks: each promise on its own, k-anonymity first.
    """

    holds: bool
    k: int
    smallest_group: int
    n_groups: int
    n_rows: int
    highest_risk: float
    violating_groups: int
    violating_rows: int
    checks: tuple[Check, ...]

    def __bool__(self) -> bool:
        return self.holds

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, ready for JSON."""
        return {**asdict(self), "checks": [asdict(check) for check in self.checks]}

    def sentences(self) -> tuple[str, ...]:
        """Return one sentence per promise, and one about the rows that break any."""
        verdict = "Every promise holds."
        if not self.holds:
            rows, groups = self.violating_rows, self.violating_groups
            verdict = (
                f"{_count(rows, 'row')} in {_count(groups, 'group')} must not be published like "
                "this."
            )
        return (*(check.sentence for check in self.checks), verdict)


def verify_table(
    frame: Any,
    *,
    k: int,
    quasi_identifiers: str | Iterable[str],
    sensitive: str | Iterable[str] = (),
    privacy: PrivacyModel | Mapping[str, Any] | Iterable[PrivacyModel | Mapping[str, Any]] = (),
) -> Verification:
    """Check a published table against its promises.

    Rows belong to one group if all their published quasi-identifier cells are equal; missing
    cells equal each other. A quasi-identifier published as bounds is given by its own name:
    ``age`` finds ``age_low`` and ``age_high`` if there is no column ``age``. Distances of
    t-closeness are measured against the published rows.

    Args:
        frame: the published table (pandas, polars or pyarrow).
        k: the promised size of the smallest group.
        quasi_identifiers: the columns that could single a person out.
        sensitive: the columns that the privacy models look at.
        privacy: further promises.

    Raises:
        OptionError: k is no whole number of at least 2, or a privacy model is wrong.
        RoleError: a column does not exist or is named twice.
        DataError: the table is empty or is no table.
    """
    from shoal.encode import EncodedTable, to_polars
    from shoal.privacy import parse_privacy

    size = _check_k(k)
    table = to_polars(frame)
    models = parse_privacy(privacy)
    names = _listed(quasi_identifiers, "quasi_identifiers")
    sensitive_names = _listed(sensitive, "sensitive")
    if not names:
        raise RoleError(
            "There is no quasi-identifier; name the columns that could single a person out, "
            "with quasi_identifiers=[...] (--qi on the command line)."
        )
    keys = [column for name in names for column in _published_as(table, name)]
    _check_names(table, keys, sensitive_names)
    if table.height == 0:
        raise DataError("The table has no rows, so there is nothing to verify.")

    packed = _packed([table.get_column(name) for name in keys])
    sizes = _sizes(packed)
    violated = sizes < size
    smallest = int(sizes.min())
    checks = [_check_group_size(size, smallest)]
    if models:
        groups, sizes = _numbered(packed)
        violated = sizes < size
        columns = tuple(_sensitive(table.get_column(name)) for name in sensitive_names)
        encoded = EncodedTable(table.height, (), columns)
        for model in models:
            for column in model.columns(encoded):
                check, holds = _check_model(model, column, groups, len(sizes))
                checks.append(check)
                violated |= ~holds
    return Verification(
        holds=all(check.holds for check in checks),
        k=size,
        smallest_group=smallest,
        n_groups=len(sizes),
        n_rows=table.height,
        highest_risk=1 / smallest,
        violating_groups=int(violated.sum()),
        violating_rows=int(sizes[violated].sum()),
        checks=tuple(checks),
    )


def _check_group_size(k: int, smallest: int) -> Check:
    holds = smallest >= k
    return Check(
        name="k-anonymity",
        promised=k,
        measured=smallest,
        holds=holds,
        sentence=(
            f"{'Holds' if holds else 'Broken'}: every row shares its quasi-identifiers with at "
            f"least {_count(k - 1, 'other')}; the smallest group has {_count(smallest, 'row')}."
        ),
    )


def _check_model(
    model: PrivacyModel, column: Sensitive, groups: NDArray[np.integer[Any]], n_groups: int
) -> tuple[Check, NDArray[np.bool_]]:
    from shoal.privacy import judge

    verdict = judge(model, groups, n_groups, column.codes, column.size)
    holds = bool(verdict.holds.all())
    promise = model.describe(column.name)
    check = Check(
        name=f"{model.name} of {column.name!r}",
        promised=model.promised,
        measured=verdict.measured,
        holds=holds,
        sentence=(
            f"{'Holds' if holds else 'Broken'}: {promise[0].lower()}{promise[1:].rstrip('.')}; "
            f"promised {model.promised:.4g}, measured {verdict.measured:.4g}."
        ),
    )
    return check, verdict.holds


def _packed(columns: list[pl.Series]) -> NDArray[np.int64]:
    """Return one number per row, equal for rows whose cells are all equal."""
    import numpy as np

    packed, width = np.zeros(len(columns[0]), dtype=np.int64), 1
    for column in columns:
        codes, n_codes = _codes(column)
        if width > (1 << 62) // n_codes:  # number the combinations so far anew
            packed, sizes = _numbered(packed)
            width = len(sizes)
        packed *= n_codes
        packed += codes
        width *= n_codes
    return packed


def _codes(column: pl.Series) -> tuple[NDArray[np.integer[Any]], int]:
    """Return a number per cell, equal for equal cells, and a bound; missing is one more value."""
    import polars as pl

    dtype = column.dtype
    if dtype == pl.String:
        column = column.cast(pl.Categorical(pl.Categories.random()))
    if isinstance(column.dtype, pl.Categorical | pl.Enum) or dtype == pl.Boolean:
        codes = column.to_physical().cast(pl.UInt32)
    elif dtype.is_nested() or dtype == pl.Binary:
        found = column.to_frame("cell").with_row_index("row").group_by("cell").agg("row")
        numbered = found.select("row").with_row_index("code").explode("row").sort("row")
        codes = numbered.get_column("code")
    else:
        codes = _without_nan(column).rank("dense")
    known = codes.drop_nulls().to_numpy()
    bound = int(known.max()) + 2 if known.size else 1
    return codes.fill_null(bound - 1).to_numpy(), bound


def _without_nan(column: pl.Series) -> pl.Series:
    # Adding 0 turns -0 into 0: a reader sees one number.
    return column.fill_nan(None) + 0.0 if column.dtype.is_float() else column


def _sizes(packed: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many rows each number has, in no order."""
    import numpy as np
    import polars as pl

    counted = pl.DataFrame({"packed": packed}).group_by("packed").len("rows")
    return counted.get_column("rows").to_numpy().astype(np.int64)


def _numbered(packed: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the group of each row, 0 …, ordered by number, and the size of each group."""
    import numpy as np

    _, groups, sizes = np.unique(packed, return_inverse=True, return_counts=True)
    return groups.astype(np.int64, copy=False), sizes.astype(np.int64, copy=False)


def _sensitive(series: pl.Series) -> Sensitive:
    """Code the values of a sensitive column, in their order where they have one."""
    import numpy as np
    import polars as pl

    from shoal.encode import Sensitive

    dtype = series.dtype
    ordered = dtype.is_numeric() or dtype.is_temporal() or isinstance(dtype, pl.Enum)
    # Codes of a column of an ordered type ascend with its values, and missing comes last.
    codes, _ = _codes(series)
    groups, counts = _numbered(codes.astype(np.int64))
    return Sensitive(series.name, groups.astype(np.int32), len(counts), ordered, counts)


def _published_as(table: pl.DataFrame, name: str) -> list[str]:
    """Return the published columns of a quasi-identifier: itself, or its two bounds."""
    if name in table.columns:
        return [name]
    bounds = [f"{name}_low", f"{name}_high"]
    if all(bound in table.columns for bound in bounds):
        return bounds
    raise _unknown(table, name, "quasi-identifier")


def _check_names(table: pl.DataFrame, keys: list[str], sensitive: list[str]) -> None:
    for name in sensitive:
        if name not in table.columns:
            raise _unknown(table, name, "sensitive")
    for names in (keys, sensitive):
        for number, name in enumerate(names):
            if name in names[:number]:
                raise RoleError(f"Column {name!r} is named twice; name it once.")
    for name in sensitive:
        if name in keys:
            raise RoleError(
                f"Column {name!r} is given two roles, quasi-identifier and sensitive; keep one."
            )


def _unknown(table: pl.DataFrame, name: str, role: str) -> RoleError:
    known = table.columns
    hint = did_you_mean(name, known) or f" It has {', '.join(map(repr, known[:20]))}."
    return RoleError(f"There is no column {name!r} (given as {role}) in the table.{hint}")


def _listed(names: str | Iterable[str], option: str) -> list[str]:
    listed = [names] if isinstance(names, str) else list(names)
    if not all(isinstance(name, str) for name in listed):
        raise RoleError(f"{option} must be a list of column names as text.")
    return listed


def _check_k(k: object) -> int:
    try:
        size = 0 if isinstance(k, bool) else operator.index(k)  # type: ignore[arg-type]  # that is the test
    except TypeError:
        size = 0
    if size < 2:
        raise OptionError(f"k must be a whole number of at least 2, but {k!r} was given.")
    return size


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


make_callable(__name__, "shoal.api", "verify")
