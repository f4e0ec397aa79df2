"""The dataframe library a dataset is returned in."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from shoal.errors import OptionError, did_you_mean

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Backend", "check_backend", "check_choice", "to_backend"]

Backend: TypeAlias = Literal["polars", "pandas", "pyarrow"]

# polars reaches pandas through pyarrow, so a pandas table needs both.
_NEEDS: dict[str, tuple[str, ...]] = {
    "polars": ("polars",),
    "pandas": ("pandas", "pyarrow"),
    "pyarrow": ("pyarrow",),
}


def check_choice(option: str, given: object, allowed: tuple[str, ...]) -> None:
    """Raise an OptionError unless `given` is one of the allowed names."""
    if isinstance(given, str) and given in allowed:
        return
    names = ", ".join(repr(name) for name in allowed)
    hint = did_you_mean(given, allowed) if isinstance(given, str) else ""
    msg = f"{option} must be one of {names}, but {given!r} was given.{hint}"
    raise OptionError(msg)


def check_backend(backend: object) -> None:
    """Raise an OptionError unless `backend` is known and its packages are installed."""
    check_choice("backend", backend, tuple(_NEEDS))
    absent = [package for package in _NEEDS[str(backend)] if find_spec(package) is None]
    if absent:
        msg = (
            f"backend={backend!r} needs {' and '.join(absent)}, which cannot be imported: "
            f"run 'pip install {' '.join(absent)}' or choose another backend."
        )
        raise OptionError(msg)


def to_backend(frame: pl.DataFrame, backend: str) -> Any:
    """Return a polars frame as the chosen library's table."""
    if backend == "pandas":
        return frame.to_pandas()
    if backend == "pyarrow":
        # Oldest compatible layout: large_string instead of string views, which few tools read.
        import polars as pl

        return frame.to_arrow(compat_level=pl.CompatLevel.oldest())
    return frame
