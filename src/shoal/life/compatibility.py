"""What two tables of one release have to do with each other: options, types, sensitive values."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shoal.archive.membership import digests_of, number_people, rows_of
from shoal.errors import DataError, OptionError
from shoal.table.encode import EncodedTable, encode_sensitive

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shoal.archive.kept import KeptRelease
    from shoal.archive.membership import Digests
    from shoal.settings.request import Request
    from shoal.table.schema import Schema


def request_of_kept(kept: KeptRelease, columns: list[str], **more: Any) -> Request:
    """Return the request by which rows were grouped, for a table with these columns.

    Columns that are removed anyway may be missing.

    Raises:
        OptionError: an option cannot be used.
    """
    from shoal.settings.build_request import build_request

    schema = kept.schema
    if schema.pseudonyms:
        raise OptionError(
            "The release publishes pseudonyms, which further rows would not fit; make a new "
            "release of all rows instead."
        )
    for model in kept.privacy:
        # what they look at, a population or a tree of values, is not kept
        if model.about != "groups" or getattr(model, "distance", "") == "hierarchical":
            raise OptionError(
                "The release promises {label}, which cannot be kept for further rows; make a "
                "new release of all rows instead.",
                label=model.label,
            )
    keys = [schema[name] for name in schema.quasi_identifiers]
    trees: dict[str, Any] = {c.name: c.rule or c.hierarchy for c in keys}
    return build_request(
        {
            **kept.options,
            "k": kept.k,
            "privacy": kept.privacy,
            "quasi_identifiers": schema.quasi_identifiers,
            "sensitive": schema.sensitive,
            "insensitive": schema.insensitive,
            "identifiers": [name for name in schema.identifiers if name in columns],
            "drop": [name for name in schema.dropped if name in columns],
            "person": schema.person,
            "hierarchies": {name: tree for name, tree in trees.items() if tree is not None},
            "kinds": {c.name: c.kind for c in keys if c.kind is not None},
            "orders": {c.name: c.order for c in keys if c.order is not None},
            "weights": {c.name: c.weight for c in keys},
            "grid": {c.name: c.grid for c in keys if c.grid is not None},
            "scale": {c.name: c.scale for c in keys if c.scale != "range"},
            "style": kept.style,
            **more,
        }
    )


class Whose(NamedTuple):
    """Whose the rows of a release and of a new table are.

    Attributes:
        old: the published rows of the release.
        old_person: number of the person of each of them.
        person: number of the person of each new row; the same numbers.
        digests: keyed hash of each person, first the old rows and then the new ones; None where
            every row is a person of its own.
    """

    old: pl.DataFrame
    old_person: NDArray[np.int64]
    person: NDArray[np.int64]
    digests: Digests | None


def check_people(kept: KeptRelease) -> None:
    """Raise if people are to be counted and nobody can tell who they are.

    Raises:
        OptionError: the private half is not there, or not all of it.
    """
    if kept.schema.person is None:
        return
    if kept.people is None:
        raise OptionError(
            "The release counts people and does not say who they are; its private file "
            "(.shoal.people) must lie beside it."
        )
    if kept.people.beside:
        raise OptionError(
            "The release was made beside others, in which the new people may be; make a new "
            "release of everybody with previous=... (--previous) instead."
        )


def whose_are(kept: KeptRelease, table: pl.DataFrame) -> Whose:
    """Number the people of a release and of a new table, so that each counts once.

    Raises:
        DataError: somebody is in both.
    """
    people, n_new = kept.people, table.height
    if people is None:
        old = kept.table()
        return Whose(old, np.arange(old.height) + n_new, np.arange(n_new), None)
    old, of_old = rows_of(kept)
    of_new = digests_of(table.get_column(str(kept.schema.person)), people.key)
    digests = np.concatenate([of_old, of_new])
    number, _ = number_people(digests)
    old_person, person = number[: old.height], number[old.height :]
    n_again = len(np.intersect1d(old_person[: len(people.digests)], person))
    if n_again:
        raise DataError(
            "{n_again:,} people of the new table are in the release already, where their rows "
            "could be put together; leave them out, or make a new release of everybody with "
            "previous=... (--previous).",
            n_again=n_again,
        )
    return Whose(old, old_person, person, digests)


def sensitive_only(table: pl.DataFrame, schema: Schema, person: NDArray[np.int64]) -> EncodedTable:
    """Return the sensitive columns of a published table, encoded, with whose its rows are."""
    codes = np.unique(person, return_inverse=True)[1].astype(np.int32)
    several = int(np.bincount(codes).max(initial=0)) > 1
    people = codes if several and schema.person is not None else None
    columns = tuple(
        replace(encode_sensitive(table.get_column(name)), people=people)
        for name in schema.sensitive
    )
    return EncodedTable(table.height, (), columns, people)


def stacked(first: pl.DataFrame, second: pl.DataFrame) -> pl.DataFrame:
    """Return two published tables as one.

    Raises:
        DataError: a column is of different types in them.
    """
    import polars as pl

    from shoal.io.columns import decode_text

    tables = []
    for each in (first, second):
        levels = [n for n, t in each.schema.items() if isinstance(t, pl.Categorical | pl.Enum)]
        tables.append(decode_text(each).with_columns(pl.col(levels).cast(pl.String)))
    for name in first.columns:
        types = [each.schema[name] for each in tables]
        if pl.Null not in types and len({each.is_numeric() for each in types}) > 1:
            raise DataError(
                "Column {name!r} is of type {types} in the release and {types2} in the new "
                "table; read both alike, for example with --kind or --missing-values.",
                name=name,
                types=types[0],
                types2=types[1],
            )
    try:
        return pl.concat(tables, how="vertical_relaxed")
    except pl.exceptions.PolarsError:
        raise DataError(
            "The columns of the new table are of other types than those of the release; read both "
            "alike, for example with --kind or --missing-values."
        ) from None
