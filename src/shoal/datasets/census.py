"""A synthetic census of any size, drawn from a chain of tables estimated on Adult."""

from __future__ import annotations

from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, overload

from shoal.datasets.backends import Backend, check_backend, to_backend
from shoal.errors import OptionError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["make_census"]

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
    _check_whole_number("n_rows", n_rows, at_least=1)
    _check_whole_number("seed", seed, at_least=0)
    if not isinstance(missing, Real) or not 0 <= float(missing) <= 1:
        msg = f"missing must be a share from 0 to 1, but {missing!r} was given."
        raise OptionError(msg)
    check_backend(backend)
    return to_backend(_draw_table(int(n_rows), int(seed), float(missing)), backend)


def _check_whole_number(option: str, given: object, *, at_least: int) -> None:
    if isinstance(given, Integral) and not isinstance(given, bool) and int(given) >= at_least:
        return
    msg = f"{option} must be a whole number of at least {at_least}, but {given!r} was given."
    raise OptionError(msg)


def _draw_table(n_rows: int, seed: int, missing: float) -> pl.DataFrame:
    """Draw codes block by block, then translate every column's codes to values at once."""
    import numpy as np
    import polars as pl

    from shoal.datasets.adult import ADULT_COLUMNS
    from shoal.datasets.network import adult_network

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
