"""A synthetic census of any size, drawn from a chain of tables estimated on Adult."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from shoal.datasets.adult import Backend, check_backend, to_backend
from shoal.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl


# The Bayesian network behind `make_census`: conditional tables counted on Adult.
#
# Columns are handled as codes (positions in the sorted list of the values seen). A table is a
# matrix with a row per combination of the given codes; drawing from it is one binary search in the
# cumulated rows, so there is no Python object per cell.

Codes: TypeAlias = NDArray[np.intp]
Floats: TypeAlias = NDArray[np.float64]

# Lowest age of each band. Fine bands where marriage and schooling change quickly.
_AGES_FINE = (20, 22, 24, 26, 28, 31, 35, 40, 45, 50, 55, 60, 65, 70, 75)
_AGES = (19, 22, 25, 30, 40, 50, 60, 70)
_AGES_COARSE = (22, 30, 45, 60)
# Lowest education_num of each band: high school, college, bachelor, master.
_SCHOOLING = (9, 10, 13, 14)
_HOURS = (35, 41, 50)
# Regions whose schooling differs; a country not named here is in region 0.
_REGIONS = (
    ("United-States",),
    ("Mexico", "Guatemala", "El-Salvador", "Honduras", "Nicaragua", "Dominican-Republic"),
    ("Puerto-Rico", "Cuba", "Haiti", "Jamaica", "Columbia", "Ecuador", "Peru", "Trinadad&Tobago"),
    ("China", "Hong", "Taiwan", "Japan", "South", "India", "Iran", "Philippines"),
    ("Cambodia", "Laos", "Vietnam", "Thailand"),
    ("Italy", "Portugal", "Greece", "Poland", "Yugoslavia", "Hungary"),
)
_WORK_GROUPS = (
    ("Self-emp-inc", "Self-emp-not-inc"),
    ("Federal-gov", "Local-gov", "State-gov"),
    ("Without-pay", "Never-worked"),
)
_MARRIED = (("Married-civ-spouse", "Married-AF-spouse"),)
_QUANTILES = 4096


@dataclass(frozen=True)
class Feature:
    """A coarser view of a drawn column: `lookup[code]` is the band of the code."""

    column: str
    lookup: Codes

    @property
    def size(self) -> int:
        """Number of bands."""
        return int(self.lookup.max()) + 1

    def of(self, codes: Mapping[str, Codes]) -> Codes:
        """Return the bands of a block of codes."""
        return self.lookup[codes[self.column]]


@dataclass(frozen=True)
class Draw:
    """How one column is drawn: its given features and the cumulated table.

    `ladder` is the table's rows one after the other, row r rising from r to r + 1, so that one
    search for r + u finds the value at uniform u in row r.
    """

    column: str
    given: tuple[Feature, ...]
    n_values: int
    ladder: Floats

    def draw(self, uniforms: Floats, codes: Mapping[str, Codes]) -> Codes:
        """Return a code per uniform, given the codes drawn before."""
        row = _row_of(self.given, codes, uniforms.size)
        at = np.searchsorted(self.ladder, row + uniforms, side="right")
        # Rounding of r + u may step over the last rung of row r.
        drawn: Codes = np.minimum(at - row * self.n_values, self.n_values - 1)
        return drawn


@dataclass(frozen=True)
class Quantiles:
    """A number drawn by interpolating between whole-number quantiles, one row per given code."""

    column: str
    given: tuple[Feature, ...]
    knots: NDArray[np.int64]

    def draw(self, uniforms: Floats, codes: Mapping[str, Codes]) -> Codes:
        """Return a number per uniform, given the codes drawn before."""
        row = _row_of(self.given, codes, uniforms.size)
        place = uniforms * (self.knots.shape[1] - 1)
        left = place.astype(np.intp)
        low, high = self.knots[row, left], self.knots[row, left + 1]
        drawn: Codes = low + ((place - left) * (high - low)).astype(np.intp)
        return drawn


@dataclass(frozen=True)
class Network:
    """The draws in order, and the values behind the codes."""

    draws: tuple[Draw | Quantiles, ...]
    values: Mapping[str, pl.Series]

    @property
    def drawn(self) -> tuple[str, ...]:
        """Names of the drawn columns, in the order in which they use up uniforms."""
        return tuple(draw.column for draw in self.draws)

    def draw(self, uniforms: Floats) -> dict[str, Codes]:
        """Draw a block: `uniforms` has a row per draw and a column per record."""
        codes: dict[str, Codes] = {}
        for draw, uniform in zip(self.draws, uniforms, strict=True):
            codes[draw.column] = draw.draw(uniform, codes)
        return codes


def adult_network() -> Network:
    """Count the tables of the network on the complete rows of Adult."""
    from shoal.datasets.adult import load_adult

    adult = load_adult()
    # education names what education_num counts: one is drawn, both are published.
    pairs = adult.select("education_num", "education").unique().sort("education_num")
    coded = [name for name in adult.columns if name not in {"education", "fnlwgt"}]
    values = {name: adult[name].unique().sort() for name in coded}
    codes: dict[str, Codes] = {
        name: values[name].search_sorted(adult[name]).to_numpy().astype(np.intp) for name in coded
    }
    values["education"] = pairs["education"]

    def whole(column: str) -> Feature:
        return Feature(column, np.arange(len(values[column])))

    def banded(column: str, lowest: tuple[int, ...]) -> Feature:
        bands = np.searchsorted(np.array(lowest), values[column].to_numpy(), side="right")
        return Feature(column, bands)

    def grouped(column: str, groups: tuple[tuple[str, ...], ...]) -> Feature:
        home = {label: at for at, group in enumerate(groups, start=1) for label in group}
        return Feature(column, np.array([home.get(label, 0) for label in values[column]]))

    sex, race, salary = whole("sex"), whole("race"), whole("salary")
    schooling, marital, occupation = (
        whole("education_num"),
        whole("marital_status"),
        whole("occupation"),
    )
    age_fine, age, age_coarse = (banded("age", b) for b in (_AGES_FINE, _AGES, _AGES_COARSE))
    region = grouped("native_country", _REGIONS)
    work = grouped("workclass", _WORK_GROUPS)
    married = grouped("marital_status", _MARRIED)
    degree, hours = banded("education_num", _SCHOOLING), banded("hours_per_week", _HOURS)
    gain = banded("capital_gain", (1,))

    # Column, what it is given (most telling first), and the records a shorter list counts as.
    plan: tuple[tuple[str, tuple[Feature, ...], float], ...] = (
        ("sex", (), 0.0),
        ("age", (sex,), 1.0),
        ("race", (sex,), 1.0),
        ("native_country", (race,), 5.0),
        ("education_num", (age, region, race, sex), 10.0),
        ("marital_status", (age_fine, sex, race), 10.0),
        # Few records: a wife who never married should stay as rare as it is in the source.
        ("relationship", (marital, sex, age), 0.5),
        ("occupation", (schooling, sex, age_coarse), 10.0),
        ("workclass", (occupation, degree, age_coarse), 5.0),
        ("hours_per_week", (age_coarse, sex, work, occupation), 10.0),
        ("salary", (married, schooling, age, hours, occupation), 5.0),
        ("capital_gain", (salary, age_coarse), 5.0),
        ("capital_loss", (salary, gain, age_coarse), 5.0),
    )
    draws: list[Draw | Quantiles] = []
    for column, given, records in plan:
        counts = _count(given, codes[column], codes, len(values[column]))
        if column == "age":
            counts = _over_neighbouring_years(counts)
        draws.append(Draw(column, given, len(values[column]), _ladder(counts, records)))
    knots = _whole_quantiles((race, sex), adult["fnlwgt"].to_numpy(), codes)
    draws.append(Quantiles("fnlwgt", (race, sex), knots))
    return Network(tuple(draws), values)


def _row_of(given: tuple[Feature, ...], codes: Mapping[str, Codes], n_rows: int) -> Codes:
    """Return the table row of each record: its given bands read as one mixed-base number."""
    row = np.zeros(n_rows, dtype=np.intp)
    for feature in given:
        row *= feature.size
        row += feature.of(codes)
    return row


def _count(
    given: tuple[Feature, ...], target: Codes, codes: Mapping[str, Codes], n_values: int
) -> Floats:
    """Count values per combination: one axis per given feature, then one for the value."""
    shape = (*(feature.size for feature in given), n_values)
    cell = _row_of(given, codes, target.size) * n_values + target
    return np.bincount(cell, minlength=int(np.prod(shape))).reshape(shape).astype(np.float64)


def _over_neighbouring_years(counts: Floats) -> Floats:
    """Spread each count over the years beside it, save at the ends (the last is "90 or more")."""
    smooth = counts.copy()
    smooth[..., 1:-2] = (counts[..., :-3] + 2 * counts[..., 1:-2] + counts[..., 2:-1]) / 4
    return smooth


def _ladder(counts: Floats, records: float) -> Floats:
    """Turn counts into the cumulated rows that `Draw` searches.

    The distribution given the first j features is what was counted plus `records` extra records
    spread as given the first j - 1: every value stays possible everywhere, no row is empty, and
    combinations seen often keep their own distribution.
    """
    n_given = counts.ndim - 1
    shares = _shares(counts.sum(axis=tuple(range(n_given))))
    for depth in range(1, n_given + 1):
        counted = counts.sum(axis=tuple(range(depth, n_given)))
        shares = _shares(counted + records * shares[..., np.newaxis, :])
    cumulated = np.cumsum(shares.reshape(-1, counts.shape[-1]), axis=1)
    cumulated[:, -1] = 1.0
    return (cumulated + np.arange(len(cumulated))[:, np.newaxis]).ravel()


def _shares(counts: Floats) -> Floats:
    """Scale the last axis to sum to 1; the running sum has one order on every machine."""
    return counts / np.cumsum(counts, axis=-1)[..., -1:]


def _whole_quantiles(
    given: tuple[Feature, ...], numbers: NDArray[np.int64], codes: Mapping[str, Codes]
) -> NDArray[np.int64]:
    """Return evenly spaced quantiles of `numbers` for every combination of the given.

    Between two order statistics they are interpolated, all in whole numbers.
    """
    row = _row_of(given, codes, numbers.size)
    n_rows = int(np.prod([feature.size for feature in given]))
    knots = np.empty((n_rows, _QUANTILES + 1), dtype=np.int64)
    for at in range(n_rows):
        ordered = np.sort(numbers[row == at])
        left, rest = np.divmod(np.arange(_QUANTILES + 1) * (ordered.size - 1), _QUANTILES)
        right = np.minimum(left + 1, ordered.size - 1)
        knots[at] = ordered[left] + rest * (ordered[right] - ordered[left]) // _QUANTILES
    return knots


# Rows drawn at a time. The uniforms of one block fit in cache; the result does not depend on it.
_BLOCK_ROWS = 32_768

# What Adult leaves out, in its own columns: work class and occupation are unknown together.
_MISSING_TOGETHER = (("workclass", "occupation"), ("native_country",))


@overload
def make_census(
    n_rows: int, seed: int = 0, *, backend: Literal["polars"] = "polars", missing: float = 0.0
) -> pl.DataFrame: ...
@overload
def make_census(
    n_rows: int, seed: int = 0, *, backend: Literal["pandas", "pyarrow"], missing: float = 0.0
) -> Any: ...
def make_census(
    n_rows: int, seed: int = 0, *, backend: Backend = "polars", missing: float = 0.0
) -> Any:
    """Return a synthetic table with the columns and types of `load_adult`, of any size.

    The table is drawn from a Bayesian network over Adult's columns whose conditional tables are
    estimated from the 45,222 complete rows of Adult, not by copying rows. Each column is drawn
    given columns drawn before it:

    ====================  ==========================================================
    column                given
    ====================  ==========================================================
    sex                   (nothing)
    age                   sex, its counts smoothed over neighbouring years
    race                  sex
    native_country        race
    education             age band, region of the country, race, sex
    marital_status        age band, sex, race
    relationship          marital status, sex, age band
    occupation            education, sex, age band
    workclass             occupation, age band, education band
    hours_per_week        age band, sex, work class group, occupation
    salary                education, age band, married or not, hours band, occupation
    capital_gain          salary, age band
    capital_loss          salary, whether there is a gain, age band
    fnlwgt                race and sex: long right tail, interpolated between quantiles
    ====================  ==========================================================

    Every table is mixed with a coarser one (fewer given columns) that counts as a few extra
    records, so combinations that Adult never shows appear, rarely, and the number of distinct
    tuples keeps growing with `n_rows`. Marginal distributions, and the dependence between a column
    and what it is given, stay close to Adult's; dependences that no arrow carries are weaker.

    Determinism: the table depends on `n_rows` and `seed` alone, not on the machine, and the first
    rows of a larger table are the smaller table of the same seed (and the same `missing`).

    Cost: about one second and 200 MB per million rows, linear in `n_rows`.

    Args:
        n_rows: number of rows, at least 1.
        seed: any integer from 0; different seeds give different tables.
        backend: the library of the returned table: ``"polars"``, ``"pandas"`` or ``"pyarrow"``.
        missing: share of nulls, from 0 to 1, in each of `workclass`, `occupation` and
            `native_country`, the columns in which Adult has unknown values. As in Adult, the
            first two are unknown together. The other cells do not depend on it.

    Returns:
        A polars or pandas DataFrame, or a pyarrow Table.

    Raises:
        OptionError: an argument is outside what it allows, or the backend is not installed.
    """
    check_whole_number("n_rows", n_rows, at_least=1)
    check_whole_number("seed", seed, at_least=0)
    if not isinstance(missing, Real) or not 0 <= float(missing) <= 1:
        raise OptionError(
            "missing must be a share from 0 to 1, but {missing!r} was given.", missing=missing
        )
    check_backend(backend)
    return to_backend(_draw_table(int(n_rows), int(seed), float(missing)), backend)


def check_whole_number(option: str, given: object, *, at_least: int) -> None:
    """Raise if an argument is no whole number of at least so much."""
    if isinstance(given, Integral) and not isinstance(given, bool) and int(given) >= at_least:
        return
    raise OptionError(
        "{option} must be a whole number of at least {at_least}, but {given!r} was given.",
        option=option,
        at_least=at_least,
        given=given,
    )


def _draw_table(n_rows: int, seed: int, missing: float) -> pl.DataFrame:
    """Draw codes block by block, then translate every column's codes to values at once."""
    import numpy as np
    import polars as pl

    from shoal.datasets.adult import ADULT_COLUMNS

    network = adult_network()
    codes = {
        name: np.empty(n_rows, dtype=np.int32 if name == "fnlwgt" else np.uint8)
        for name in network.drawn
    }
    unknown = [np.empty(n_rows if missing else 0, dtype=bool) for _ in _MISSING_TOGETHER]
    # One uniform per row and draw, row by row from one stream: a longer table starts alike. Only
    # raw uniforms are used, because numpy promises the least change for them.
    stream = np.random.Generator(np.random.PCG64(seed))
    n_uniforms = len(network.drawn) + len(unknown)
    for start in range(0, n_rows, _BLOCK_ROWS):
        stop = min(start + _BLOCK_ROWS, n_rows)
        uniforms = np.ascontiguousarray(stream.random((stop - start, n_uniforms)).T)
        for name, drawn in network.draw(uniforms[: len(network.drawn)]).items():
            codes[name][start:stop] = drawn
        if missing:
            for mask, uniform in zip(unknown, uniforms[len(network.drawn) :], strict=True):
                mask[start:stop] = uniform < missing

    columns = {}
    for name in ADULT_COLUMNS:
        source = "education_num" if name == "education" else name
        # A column's codes are freed as soon as nothing else needs them.
        coded = codes[source] if name == "education" else codes.pop(source)
        values = network.values.get(name)
        series = pl.Series(coded).cast(pl.Int64) if values is None else values.gather(coded)
        columns[name] = series.alias(name)
    frame = pl.DataFrame(columns)
    if missing:
        for names, mask in zip(_MISSING_TOGETHER, unknown, strict=True):
            keep = pl.lit(pl.Series(~mask))
            frame = frame.with_columns(pl.when(keep).then(pl.col(names)).name.keep())
    return frame
