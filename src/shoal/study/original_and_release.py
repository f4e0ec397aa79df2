"""What is said about a table and its release by whoever attacks it or works with it.

`shoal.audit` and `shoal.utility` take these options, and so do their commands; they are said here
and nowhere else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Required, TypedDict, Unpack, cast

import narwhals as nw

from shoal.errors import OptionError, did_you_mean
from shoal.publish.recode import Style
from shoal.table.infer import schema_of_used

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import polars as pl

    from shoal.settings.job import Job
    from shoal.settings.request import HierarchyLike
    from shoal.table.schema import Kind, Schema


class Described(TypedDict, total=False):
    """How a release was made, as far as its cells do not tell.

    Attributes:
        quasi_identifiers: the columns that were generalised, which attackers know.
        sensitive: columns that were published as they are, which attackers want to know.
        hierarchies: what labels stand for, as for `shoal.anonymize`.
        kinds: how a column was generalised, where its type does not say it.
        orders: values of ordinal columns, from low to high.
        grid: lines that intervals end on, as for `shoal.anonymize`.
        default_grid: whether columns may have a grid that nobody asked for; true unless given.
        unknown_values: what happened to values that a hierarchy does not list; ``error`` unless
            given.
        style: how generalised cells are written; the usual way unless given.
    """

    quasi_identifiers: Required[str | Iterable[str]]
    sensitive: str | Iterable[str]
    hierarchies: Mapping[str, HierarchyLike] | None
    kinds: Mapping[str, Kind | str] | None
    orders: Mapping[str, Sequence[Any]] | None
    grid: Mapping[str, Any] | str | None
    default_grid: bool
    unknown_values: str
    style: Style | Mapping[str, Any] | None


def schema_and_style(
    original: pl.DataFrame, **described: Unpack[Described]
) -> tuple[Schema, Style]:
    """Return what the columns of the original are, and how the cells of its release are written.

    Raises:
        OptionError: there is no such option, or the quasi-identifiers are not given.
        RoleError: a column does not exist.
    """
    known = Described.__annotations__
    for name in described:
        if name not in known:
            raise OptionError(
                "There is no option {name!r}.{hint}", name=name, hint=did_you_mean(name, known)
            )
    if "quasi_identifiers" not in described:
        raise OptionError("Say which columns were generalised, with quasi_identifiers=[...].")
    style = described.get("style")
    options: dict[str, Any] = {name: said for name, said in described.items() if name != "style"}
    schema = schema_of_used(nw.from_native(original, eager_only=True), **options)
    return schema, style if isinstance(style, Style) else Style.from_dict(style or {})


def described_by(job: Job) -> Described:
    """Return what a job says about the release that it made."""
    columns = job.schema_options()
    said: dict[str, Any] = {
        "default_grid": job.default_grid is not False,
        "unknown_values": job.unknown_values or "error",
        "style": job.style,
    }
    said |= {name: columns[name] for name in Described.__annotations__ if name in columns}
    return cast("Described", said)
