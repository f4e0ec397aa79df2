"""`Anonymizer`: k-anonymity as a step of a scikit-learn pipeline.

Needs ``pip install 'shoal-anonymity[sklearn]'``; ``import shoal`` does not import scikit-learn.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

import narwhals as nw
import numpy as np

try:
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data
except ImportError as error:
    raise ImportError(
        "shoal.sklearn needs scikit-learn 1.6 or newer: pip install 'shoal-anonymity[sklearn]'."
    ) from error

from shoal.api import anonymize
from shoal.errors import DataError, OptionError, RoleError, ShoalWarning, did_you_mean
from shoal.measure.scores import create_measure
from shoal.options import one_of, whole
from shoal.search.assign import FittedGroups
from shoal.table.closure import IntervalClosures, close
from shoal.table.encode import encode
from shoal.table.frames import is_frame, to_polars
from shoal.table.partition import Partition

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from shoal.measure.base import CostMeasure
    from shoal.settings.request import HierarchyLike, PrivacyLike, TableLike
    from shoal.table.encode import Attribute
    from shoal.table.schema import Kind


_OUTPUTS = ("midpoint", "mean", "median", "bounds")
_REMAINDERS = ("drop", "passthrough")
_Value = TypeVar("_Value")


class UnfitError(DataError, ValueError):
    """The rows cannot be grouped; also a ValueError, as scikit-learn expects."""


class UnknownValueError(DataError, ValueError):
    """A row has a category that no training row had; also a ValueError, as scikit-learn expects."""


class Anonymizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # sklearn has no types
    """Generalise quasi-identifiers so that no training row stands out from fewer than k.

    `fit` groups the training rows as `shoal.anonymize` does. `fit_transform` returns these rows,
    each with the generalised values of *its own* group: every combination of quasi-identifiers
    occurs at least k times. `transform` gives each new row the values of the group that it would
    be cheapest to join under the fitted measure; that says nothing about how often a combination
    occurs among the new rows. A training row given to `transform` may therefore come back with
    the values of another, closer group.

    Rows keep their order, because y and sample weights have one. So the result is for models, not
    for publishing: publish what `shoal.anonymize` returns, which is shuffled and verified. A
    fitted estimator holds no row, but the distinct values of every quasi-identifier: treat it
    like the data.

    Numbers stay numbers. An ordinal column becomes ranks (0, 1, …), a date stays a date.
    Categories become the text of what their group generalises to (``*`` is anything), so an
    encoder has to follow. A group whose values and missing values are mixed gives NaN.

    Args:
        k: smallest group, at least 2.
        quasi_identifiers: columns that are generalised (names, or numbers for arrays); all that
            are not sensitive unless given.
        sensitive: columns that pass through and that privacy models and class-aware measures
            look at.
        person: the column (name, or number for arrays) that says whose row it is, where a person
            may have several: k counts people. It does not come out.
        remainder: what happens to other columns: "drop" or "passthrough" (as they are).
        output: what a generalised number becomes: the "midpoint" of its group's interval, the
            "mean" or "median" of its group, or the "bounds" as two columns.
        hierarchies: as in `shoal.anonymize`.
        kinds: as in `shoal.anonymize`.
        orders: as in `shoal.anonymize`.
        weights: as in `shoal.anonymize`.
        privacy: as in `shoal.anonymize`.
        algorithm: as in `shoal.anonymize`.
        algorithm_options: as in `shoal.anonymize`.
        measure: what is minimised, in `fit` and in `transform`.
        measure_options: options of the measure.
        missing: "category" (missing is a value of its own) or "error".
        handle_unknown: what `transform` does about a category that neither a training row nor
            its hierarchy has: "error", "warn" (with the columns and how many rows; the value then
            counts as missing) or "ignore" (the same without a word). Numbers and dates between or
            beyond the known ones are no unknown values: they go by the nearest.
        random_state: a seed, a `numpy.random.RandomState` or None.
        threads: how many threads may be used.

    Attributes:
        n_groups_: number of groups.
        labels_: group of each training row.
        n_features_in_: number of columns seen in `fit`.
        feature_names_in_: their names, if they were text.
    """

    def __init__(  # noqa: PLR0913 - every option of a run is a named argument
        self,
        k: int = 10,
        *,
        quasi_identifiers: str | int | Iterable[str | int] | None = None,
        sensitive: str | int | Iterable[str | int] | None = None,
        person: str | int | None = None,
        remainder: Literal["drop", "passthrough"] = "drop",
        output: Literal["midpoint", "mean", "median", "bounds"] = "midpoint",
        hierarchies: Mapping[str | int, HierarchyLike] | None = None,
        kinds: Mapping[str | int, Kind | str] | None = None,
        orders: Mapping[str | int, Sequence[Any]] | None = None,
        weights: Mapping[str | int, float] | None = None,
        privacy: PrivacyLike = None,
        algorithm: str = "auto",
        algorithm_options: Mapping[str, Any] | None = None,
        measure: str = "ncp",
        measure_options: Mapping[str, Any] | None = None,
        missing: Literal["category", "error"] = "category",
        handle_unknown: Literal["error", "warn", "ignore"] = "error",
        random_state: int | np.random.RandomState | None = None,
        threads: int | None = None,
    ) -> None:
        self.k = k
        self.quasi_identifiers = quasi_identifiers
        self.sensitive = sensitive
        self.person = person
        self.remainder = remainder
        self.output = output
        self.hierarchies = hierarchies
        self.kinds = kinds
        self.orders = orders
        self.weights = weights
        self.privacy = privacy
        self.algorithm = algorithm
        self.algorithm_options = algorithm_options
        self.measure = measure
        self.measure_options = measure_options
        self.missing = missing
        self.handle_unknown = handle_unknown
        self.random_state = random_state
        self.threads = threads

    def fit(self, X: TableLike, y: object = None) -> Self:  # noqa: N803 - scikit-learn's name
        """Group the training rows; y is ignored.

        Raises:
            UnfitError: there are fewer than k rows.
            ShoalError: an option is wrong, or no grouping keeps the promises.
        """
        del y
        self._check_options()
        frame = self._to_frame(X, reset=True)
        names = frame.columns
        sensitive = _pick(self.sensitive, names, "sensitive") or []
        qis = _pick(self.quasi_identifiers, names, "quasi_identifiers")
        person = None if self.person is None else _name_of(self.person, names, "person")
        if qis is None:
            qis = [name for name in names if name not in {*sensitive, person}]
        if frame.height < self.k:
            raise UnfitError(
                "Found n_samples={height}, fewer than k={k}: no grouping of them keeps the "
                "promise; lower k or give more rows.",
                height=frame.height,
                k=self.k,
            )
        if not qis:
            raise RoleError("There is no quasi-identifier; name one with quasi_identifiers=[...].")
        release = anonymize(
            frame,
            self.k,
            quasi_identifiers=qis,
            sensitive=sensitive,
            person=person,
            drop=[name for name in names if name not in {*qis, *sensitive, person}],
            hierarchies=_by_name(self.hierarchies, names),
            kinds=_by_name(self.kinds, names),
            orders=_by_name(self.orders, names),
            weights=_by_name(self.weights, names),
            default_grid=False,  # what comes out is for models; a release is made elsewhere
            algorithm=self.algorithm,
            algorithm_options=self.algorithm_options,
            measure=self.measure,
            measure_options=self.measure_options,
            privacy=() if self.privacy is None else self.privacy,
            missing=self.missing,
            seed=int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max)),
            threads=self.threads,
            shuffle=False,
        )
        if release.n_suppressed:
            raise OptionError(
                "Algorithm {algorithm!r} leaves rows out, and a step of a pipeline must keep "
                "them all; choose another one.",
                algorithm=self.algorithm,
            )
        table = encode(frame, release.schema)
        partition = Partition.from_labels(release.groups)
        measure: CostMeasure = create_measure(self.measure, dict(self.measure_options or {}))  # type: ignore[assignment]  # anonymize has checked that it can be minimised
        self._groups = FittedGroups.fit(table, partition, measure)
        first = partition.order[partition.starts[:-1]]
        cells: dict[str, list[pl.Series]] = {
            attribute.name: _group_cells(attribute, partition, release.frame, first, self.output)
            for attribute in table.attributes
        }
        self._cells = cells
        self._kept = {
            place: name
            for place, name in enumerate(names)
            if name in sensitive or (name not in {*qis, person} and self.remainder == "passthrough")
        }
        self._quasi = {place: name for place, name in enumerate(names) if name in qis}
        self.labels_ = partition.labels.astype(np.int64)
        self.n_groups_ = partition.n_groups
        return self

    def fit_transform(self, X: TableLike, y: object = None, **fit_params: object) -> Any:  # noqa: N803
        """Group the training rows and return each with the values of its own group, in order."""
        if fit_params:
            raise OptionError("fit takes no {fit_params!r}.", fit_params=next(iter(fit_params)))
        self.fit(X, y)
        return self._publish(X, self._to_frame(X, reset=False), self.labels_)

    def transform(self, X: TableLike) -> Any:  # noqa: N803 - scikit-learn's name
        """Return each row with the values of the group that it is cheapest to join.

        Raises:
            UnknownValueError: a row has a category that no training row had, and
                ``handle_unknown`` is "error".
        """
        check_is_fitted(self)
        frame = self._to_frame(X, reset=False)
        self._look_for_unknown(frame)
        return self._publish(X, frame, self._groups.assign(frame))

    def _look_for_unknown(self, frame: pl.DataFrame) -> None:
        """Say which columns hold categories that nobody has seen, never which ones."""
        if self.handle_unknown == "ignore":
            return
        found = self._groups.unknown_rows(frame)
        if not found:
            return
        where = ", ".join(f"{name!r} ({rows:,} rows)" for name, rows in found.items())
        what = f"There are categories that no training row had, in column {where}"
        if self.handle_unknown == "error":
            raise UnknownValueError(
                "{what}; leave these rows out, or let them count as missing with "
                "handle_unknown='warn'.",
                what=what,
            )
        warnings.warn(f"{what}; they count as missing.", ShoalWarning, stacklevel=3)

    def get_feature_names_out(
        self, input_features: Sequence[str] | None = None
    ) -> NDArray[np.object_]:
        """Return the names of the columns that come out."""
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        titles = [title for _, title, _ in self._columns_out([str(name) for name in names])]
        return np.asarray(titles, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags

    def _check_options(self) -> None:
        for name, known in (
            ("output", _OUTPUTS),
            ("remainder", _REMAINDERS),
            ("missing", ("category", "error")),
            ("handle_unknown", ("error", "warn", "ignore")),
        ):
            one_of(*known)(name, getattr(self, name))
        whole(2)("k", self.k)

    def _to_frame(self, X: Any, *, reset: bool) -> pl.DataFrame:  # noqa: N803
        """Return the table as polars; columns of arrays are called x0, x1 and so on."""
        import polars as pl

        if _is_frame(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
            frame = to_polars(_with_text_names(X))
            if frame.height == 0:
                raise UnfitError("Found array with 0 sample(s), while a minimum of 1 is required.")
            return frame
        try:
            array = validate_data(
                self, X, reset=reset, dtype="numeric", ensure_all_finite="allow-nan"
            )
        except ValueError as error:
            if "could not convert" not in str(error):
                raise
            # scikit-learn's message shows the cell
            raise UnfitError(
                "An array must hold numbers only; give columns of text as a dataframe."
            ) from None
        if array.dtype.kind == "b":
            array = array.astype(np.int64)
        return pl.DataFrame({f"x{place}": column for place, column in enumerate(array.T)})

    def _columns_out(self, names: Sequence[str]) -> list[tuple[int, str, int]]:
        """Return input column, name and part (0, or 1 for the upper bound) of each output."""
        result = []
        for place, name in enumerate(names):
            if place in self._quasi:
                n_parts = len(self._cells[self._quasi[place]])
                suffixes = ("",) if n_parts == 1 else ("_low", "_high")
                result += [(place, name + suffix, part) for part, suffix in enumerate(suffixes)]
            elif place in self._kept:
                result.append((place, name, 0))
        return result

    def _publish(self, X: Any, frame: pl.DataFrame, labels: NDArray[np.int64]) -> Any:  # noqa: N803
        import polars as pl

        rows = pl.Series(labels, dtype=pl.UInt32)
        columns: list[pl.Series] = []
        for place, title, part in self._columns_out(frame.columns):
            if place in self._quasi:
                cells = self._cells[self._quasi[place]][part].gather(rows)
            else:
                cells = frame.get_column(frame.columns[place])
            columns.append(cells.alias(title))
        return _like(X, columns, frame.columns)


def _group_cells(
    attribute: Attribute,
    partition: Partition,
    published: pl.DataFrame,
    first: NDArray[np.int64],
    output: str,
) -> list[pl.Series]:
    """Return what each group publishes: numbers for intervals, text for everything else."""
    import polars as pl

    closures = close(attribute, partition)
    if attribute.positions is None:
        return [published.get_column(attribute.name).gather(pl.Series(first, dtype=pl.UInt32))]
    assert isinstance(closures, IntervalClosures)
    n_groups = partition.n_groups
    places = np.append(attribute.positions, np.nan)
    low, high = places[closures.low[:n_groups]], places[closures.high[:n_groups]]
    if output == "bounds":
        parts = [low, high]
    elif output == "midpoint":
        parts = [low + (high - low) / 2]
    else:
        centre = np.mean if output == "mean" else np.median
        values = np.split(places[attribute.codes[partition.order]], partition.starts[1:-1])
        # Rounding must not carry a mean outside its group.
        parts = [np.clip([centre(group) for group in values], low, high)]
    everything = closures.everything[:n_groups]
    return [_as_kind(attribute, np.where(everything, np.nan, part)) for part in parts]


def _as_kind(attribute: Attribute, numbers: NDArray[np.float64]) -> pl.Series:
    import polars as pl

    series = pl.Series(numbers)
    if attribute.kind.is_time and isinstance(attribute.values, pl.Series):
        return series.fill_nan(None).round().cast(pl.Int64).cast(attribute.values.dtype)
    return series


def _pick(
    given: str | int | Iterable[str | int] | None, names: Sequence[str], option: str
) -> list[str] | None:
    """Return columns by name or number."""
    if given is None:
        return None
    wanted = [given] if isinstance(given, str | int) else list(given)
    return [_name_of(each, names, option) for each in wanted]


def _name_of(given: str | int, names: Sequence[str], option: str) -> str:
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        if not 0 <= given < len(names):
            raise RoleError(
                "{option} names column {given}, but there are {n} columns.",
                option=option,
                given=given,
                n=len(names),
            )
        return names[int(given)]
    if given not in names:
        raise RoleError(
            "{option} names column {given!r}, which X does not have.{hint}",
            option=option,
            given=given,
            hint=did_you_mean(str(given), names),
        )
    return str(given)


def _by_name(
    given: Mapping[str | int, _Value] | None, names: Sequence[str]
) -> dict[str, _Value] | None:
    if given is None:
        return None
    return {_name_of(key, names, "An option"): value for key, value in given.items()}


def _is_frame(table: object) -> bool:
    return not isinstance(table, np.ndarray | list | tuple) and is_frame(table)


def _with_text_names(table: Any) -> Any:
    """Return a pandas table whose columns are called x0, x1, … if they have no names."""
    columns = getattr(table, "columns", None)
    if columns is None or any(isinstance(name, str) for name in columns):
        return table
    if not hasattr(table, "set_axis"):
        return table
    return table.set_axis([f"x{place}" for place in range(len(columns))], axis=1)


def _like(given: Any, columns: list[pl.Series], names: Sequence[str]) -> Any:
    """Return the columns in the type that came in; passed columns of pandas are its own."""
    import polars as pl

    if not _is_frame(given):
        return np.column_stack([column.to_numpy() for column in columns]).astype(np.float64)
    frame = nw.from_native(given, eager_only=True)
    if frame.implementation.is_pandas():
        pandas = nw.get_native_namespace(given)
        native = {
            column.name: _to_pandas(column, given, names, pandas.Series) for column in columns
        }
        return pandas.DataFrame(native, index=given.index)
    result = pl.DataFrame(columns)
    return result.to_arrow() if frame.implementation.is_pyarrow() else result


def _to_pandas(column: pl.Series, given: Any, names: Sequence[str], series: Any) -> Any:
    import polars as pl

    if column.dtype == pl.String:
        return series(column.to_list(), index=given.index, dtype="object")
    if column.name in names and column.dtype not in {pl.Float64, pl.Date, pl.Datetime}:
        return given.iloc[:, list(names).index(column.name)]
    return series(column.to_numpy(), index=given.index)
