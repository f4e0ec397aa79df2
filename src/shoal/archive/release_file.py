"""Release files: what is kept of a release, written and read (docs/release-file.md).

The public half (`KeptRelease`) has no row: everything in it is told by the published table, by the
settings and by the hierarchies as they were given. Who is in which group is kept apart, in the
private half (`KeptPeople`), and only where `person` names them. It stays with the holder: somebody
who has that file can try out whether a person of whom the id is known is in it; ids themselves are
not in it. It is as confidential as the table of ids.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from shoal.errors import DataError, OptionError, ShoalError
from shoal.io.limits import limit, read_side_file
from shoal.io.remote import exists, is_remote
from shoal.messages import Message
from shoal.table.person_key import KEY_BYTES
from shoal.table.schema import COLUMN_ROWS, Column, Role, build_schema, parse_role

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from shoal.io.atomic import AtomicGroup
    from shoal.options import ColumnOption
    from shoal.privacy import PrivacyModel
    from shoal.publish.recode import Style
    from shoal.table.schema import Schema


OPTIONS = (
    "rows_are_people",
    "unknown_values",
    "default_grid",
    "missing",
    "algorithm",
    "algorithm_options",
    "measure",
    "measure_options",
    "block_rows",
    "refine",
    "shuffle",
    "strict",
)
"""Options of a run that further rows are treated by; those about columns are in the schema."""
READING = ("missing_values",)
"""How further rows are read, as far as no file and no column says it."""


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """How often each group publishes each value of a sensitive column.

    Attributes:
        values: the distinct values as published; null is one of them.
        group: group of each count.
        value: which of the values.
        count: in how many rows.
        order: texts from low to high, where the type of the column had an order.
    """

    values: pl.Series
    group: NDArray[np.int64]
    value: NDArray[np.int64]
    count: NDArray[np.int64]
    order: tuple[str, ...] | None = None

    def without(self, group: NDArray[np.int64], value: NDArray[np.int64]) -> ValueCounts:
        """Return the counts without rows of these groups and values; negative where too many."""
        n_values = max(len(self.values), 1)
        pairs = np.concatenate([self.group * n_values + self.value, group * n_values + value])
        found, which = np.unique(pairs, return_inverse=True)
        left = np.zeros(len(found), np.int64)
        np.add.at(left, which, np.concatenate([self.count, np.full(len(group), -1, np.int64)]))
        return replace(self, group=found // n_values, value=found % n_values, count=left)


@dataclass(frozen=True, eq=False)
class KeptRelease:
    """A release as it is kept: what further rows need, and no row of the input.

    Attributes:
        k: the promised size of the smallest group.
        privacy: what was promised beyond k.
        schema: roles and kinds of the columns; hierarchies as they were given, or as rules.
        style: how generalised cells are written.
        options: how rows were grouped; never the seed.
        cells: the published cells of each group: the quasi-identifiers, one row per group.
        sizes: published rows of each group.
        sensitive: counts of the published values, by column.
        people: who they are, under a key; private, None where nobody is named.
    """

    k: int
    privacy: tuple[PrivacyModel, ...]
    schema: Schema
    style: Style
    options: dict[str, Any]
    cells: pl.DataFrame
    sizes: NDArray[np.int64]
    sensitive: dict[str, ValueCounts]
    people: KeptPeople | None = None

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.sizes)

    @property
    def n_rows(self) -> int:
        """Number of published rows."""
        return int(self.sizes.sum())

    def table(self) -> pl.DataFrame:
        """Return quasi-identifiers and sensitive columns as published, group by group.

        Which values of two sensitive columns stand in one row is not kept, so they do not belong
        together here.
        """
        import polars as pl

        rows = pl.Series(np.repeat(np.arange(self.n_groups), self.sizes), dtype=pl.UInt32)
        columns = [self.cells.get_column(name).gather(rows) for name in self.cells.columns]
        for name, counts in self.sensitive.items():
            order = np.argsort(counts.group, kind="stable")
            which = np.repeat(counts.value[order], counts.count[order])
            columns.append(counts.values.gather(pl.Series(which, dtype=pl.UInt32)).alias(name))
        return pl.DataFrame(columns)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file; see `shoal.Release.save`."""
        write_kept(self, path)

    def __repr__(self) -> str:
        """Return one line without any cell."""
        and_people = "" if self.people is None else ", with people"
        return f"<KeptRelease k={self.k}: {self.n_rows} rows in {self.n_groups} groups{and_people}>"

    def _repr_html_(self) -> str:
        from shoal.runtime.notebook import facts, shown

        promised = ", ".join(model.label for model in self.privacy)
        return shown(
            facts(
                [
                    ("Rows", f"{self.n_rows:,}"),
                    ("Groups", f"{self.n_groups:,}"),
                    ("k", self.k),
                    ("Promised beyond k", promised or "nothing"),
                ]
            )
        )


_MOST_TABLES = 1 << 20
DIGEST_BYTES = 16
Digests = np.ndarray[Any, np.dtype[np.uint64]]
"""Two halves of 64 bits of the hash of each row's person."""


@dataclass(frozen=True, eq=False)
class KeptPeople:
    """Who the people of a release are; private.

    Attributes:
        key: a secret of this file.
        digests: keyed hash of each published row's person, in the order of the hashes.
        group: group of each of these rows.
        values: which value of each sensitive column.
        unknown: rows whose person nobody named.
        mark: random, tells this release from any other, also one with the same content.
        beside: marks of the earlier releases that it was made beside.
        table: in which published table each row is: 0 is the first, then come further rows.
        holds: marks of the releases whose rows are in it, where further rows joined them.
    """

    key: bytes
    digests: Digests
    group: NDArray[np.int64]
    values: dict[str, NDArray[np.int64]]
    unknown: int = 0
    mark: str = ""
    beside: tuple[str, ...] = ()
    table: NDArray[np.int64] | None = None
    holds: tuple[str, ...] = ()

    @property
    def marks(self) -> tuple[str, ...]:
        """What tells this release, and those whose rows are in it, from any other."""
        return (self.mark, *self.holds)

    @property
    def chain(self) -> str:
        """What releases of the same people have in common; it does not tell the key."""
        return hashlib.sha256(b"chain" + self.key).hexdigest()

    @property
    def n_tables(self) -> int:
        """How many published tables the rows are in."""
        return 1 if self.table is None else int(self.table.max(initial=0)) + 1

    @property
    def of_table(self) -> NDArray[np.int64]:
        """In which published table each row is."""
        return np.zeros_like(self.group) if self.table is None else self.table

    @property
    def place(self) -> NDArray[np.int64]:
        """Group of each row in its own published table: whoever has the tables tells them apart."""
        return self.of_table * (int(self.group.max(initial=0)) + 1) + self.group

    @property
    def alone(self) -> bool:
        """Whether every person has one row, and is known."""
        return self.unknown == 0 and len(np.unique(self.digests, axis=0)) == len(self.digests)

    def __repr__(self) -> str:
        """Return one line; not the key."""
        return f"<KeptPeople of {len(self.digests)} rows>"


# Columns and numbers as plain JSON, and back, with a look at everything that is read.

_WIDTHS: dict[int, Any] = {width: np.dtype(f"<u{width}") for width in (1, 2, 4, 8)}
_WHOLE = ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")
_PHYSICAL = ("Date", "Time", "Datetime", "Duration")
_UNITS = ("ms", "us", "ns")


class Damaged(Exception):  # noqa: N818 - it is caught by whoever knows the name of the file
    """What was read is not what a file of ours holds; the message says what is wrong with it."""

    def __init__(self, template: str, /, **values: Any) -> None:
        self.message = Message(template, **values)
        super().__init__(self.message)


def take(table: object, key: str, kind: type | tuple[type, ...]) -> Any:
    """Return an entry of an object that was read.

    Raises:
        Damaged: it is not there, or of another type.
    """
    if not isinstance(table, dict) or key not in table:
        raise Damaged("{key!r} is missing", key=key)
    value = table[key]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
        raise Damaged("{key!r} is of the wrong type", key=key)
    return value


def numbers_to_json(numbers: NDArray[Any]) -> str:
    """Return whole numbers of at least 0 as text: width in bytes, then base64, low byte first."""
    most = int(numbers.max(initial=0))
    width = next(each for each in _WIDTHS if most < 1 << (8 * each))
    data = np.ascontiguousarray(numbers.astype(_WIDTHS[width])).tobytes()
    return f"{width}:{base64.b64encode(data).decode('ascii')}"


def numbers_from_json(table: Mapping[str, Any], key: str, *, below: int) -> NDArray[np.int64]:
    """Return whole numbers that were written by `numbers_to_json`.

    Raises:
        Damaged: they are none, or one of them is not below the limit.
    """
    text = take(table, key, str)
    width, _, data = text.partition(":")
    if not width.isascii() or not width.isdigit() or int(width[:2]) not in _WIDTHS:
        raise Damaged("{key!r} holds no numbers", key=key)
    dtype = _WIDTHS[int(width[:2])]
    try:
        raw = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise Damaged("{key!r} holds no numbers", key=key) from None
    if len(raw) % dtype.itemsize:
        raise Damaged("{key!r} ends within a number", key=key)
    numbers: NDArray[Any] = np.frombuffer(raw, dtype)
    if len(numbers) and int(numbers.max()) >= below:
        raise Damaged("{key!r} holds a number that is too large", key=key)
    return numbers.astype(np.int64)


def column_to_json(column: pl.Series) -> dict[str, Any]:
    """Return the cells of a column with their type.

    Raises:
        DataError: its type is one that a release file does not hold.
    """
    import polars as pl

    dtype = column.dtype
    if isinstance(dtype, pl.Categorical | pl.Enum):
        return {"type": "String", "values": column.cast(pl.String).to_list()}
    name = str(dtype.base_type())
    if name in _WHOLE or name in ("String", "Boolean"):
        return {"type": name, "values": column.to_list()}
    if name in ("Float32", "Float64"):
        values = [None if each is None else repr(float(each)) for each in column.to_list()]
        return {"type": name, "values": values}
    if name in _PHYSICAL:
        encoded: dict[str, Any] = {"type": name, "values": column.to_physical().to_list()}
        if isinstance(dtype, pl.Datetime | pl.Duration):
            encoded["unit"] = dtype.time_unit
        if isinstance(dtype, pl.Datetime):
            encoded["zone"] = dtype.time_zone
        return encoded
    if isinstance(dtype, pl.Decimal):
        values = [None if each is None else str(each) for each in column.to_list()]
        return {"type": name, "scale": dtype.scale, "values": values}
    raise DataError(
        "Column {name!r} is of a type that a release file does not hold ({name2}); publish it "
        "as text, numbers or dates, or drop it.",
        name=column.name,
        name2=name,
    )


def column_from_json(name: str, encoded: object) -> pl.Series:
    """Return a column that was written by `column_to_json`.

    Raises:
        Damaged: it is none.
    """
    import polars as pl

    kind, values = take(encoded, "type", str), take(encoded, "values", list)
    assert isinstance(encoded, dict)
    wanted: type | tuple[type, ...] = str
    if kind in _WHOLE or kind in _PHYSICAL:
        wanted = int
    elif kind == "Boolean":
        wanted = bool
    for each in values:
        if each is not None and (
            not isinstance(each, wanted) or (wanted is int and isinstance(each, bool))
        ):
            raise Damaged("column {name!r} holds cells of another type than it says", name=name)
    try:
        column = _typed(name, kind, values, encoded)
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError):
        raise Damaged("the cells of column {name!r} cannot be read", name=name) from None
    if column is None:
        raise Damaged("column {name!r} is of an unknown type", name=name)
    return column


def _typed(name: str, kind: str, values: list[Any], encoded: dict[str, Any]) -> pl.Series | None:
    import polars as pl

    if kind in _WHOLE or kind in ("String", "Boolean"):
        return pl.Series(name, values, dtype=getattr(pl, kind))
    if kind in ("Float32", "Float64"):
        numbers = [None if each is None else float(each) for each in values]
        return pl.Series(name, numbers, dtype=getattr(pl, kind), strict=False)
    if kind in ("Date", "Time"):
        physical = pl.Int32 if kind == "Date" else pl.Int64
        return pl.Series(name, values, dtype=physical).cast(getattr(pl, kind))
    if kind in ("Datetime", "Duration") and encoded.get("unit") in _UNITS:
        zone = take(encoded, "zone", (str, type(None))) if kind == "Datetime" else None
        unit = encoded["unit"]
        target = pl.Datetime(unit, zone) if kind == "Datetime" else pl.Duration(unit)
        return pl.Series(name, values, dtype=pl.Int64).cast(target)
    if kind == "Decimal" and 0 <= take(encoded, "scale", int) <= 38:
        return pl.Series(name, values, dtype=pl.String).cast(pl.Decimal(38, encoded["scale"]))
    return None


# A kept release as a file: one line that says what follows, then JSON; docs/release-file.md.

VERSION = 2
"""Grows when an older version of the program could not read the file rightly."""
PEOPLE_ENDING = ".people"
_FORMAT = "shoal release"
_LONGEST_HEAD = 1000
_MOST_ROWS = 1 << 40
_Found = TypeVar("_Found")


def people_path(path: str | os.PathLike[str]) -> str:
    """Return where the private half of a release file is: who the people are."""
    return os.fspath(path) + PEOPLE_ENDING


def write_kept(kept: KeptRelease, path: str | os.PathLike[str]) -> None:
    """Write a kept release, with its private half if there is one; both or none appear."""
    from shoal.io.atomic import AtomicGroup

    with AtomicGroup() as group:
        stage_kept(group, kept, path)


def stage_kept(group: AtomicGroup, kept: KeptRelease, path: str | os.PathLike[str]) -> None:
    """Add a kept release to files that appear together.

    Raises:
        DataError: it cannot be written.
    """
    content = to_bytes(kept)
    group.add(path, content)
    if kept.people is not None:
        people = _people_to_json(kept.people, digest_of(content))
        content = _packed(people, "shoal people", mark=kept.people.mark, chain=kept.people.chain)
        group.add(people_path(path), content).chmod(0o600)  # nobody else reads who they are


def to_bytes(kept: KeptRelease) -> bytes:
    """Return the file: a function of what is published and asked, with no time and no chance."""
    return _packed(_to_json(kept), _FORMAT)


def digest_of(content: bytes) -> str:
    """Return what ties the private half to a file."""
    return hashlib.sha256(content).hexdigest()


def load_release(path: str | os.PathLike[str]) -> KeptRelease:
    """Return what was kept of a release by ``release.save`` or ``--save``.

    If the private half (the same name with ``.people`` behind it) lies beside the file, it is
    read, too.

    Args:
        path: the file.

    Raises:
        DataError: the file cannot be read, is damaged, is none of ours, or is of a later version.
    """
    content = _read(path, Message("the release file"))
    kept = _parsed(path, content, _FORMAT, _from_json)
    private_half = people_path(path)
    if not (exists(private_half) if is_remote(private_half) else Path(private_half).exists()):
        return kept

    def read(said: dict[str, Any]) -> KeptPeople:
        return _people_from_json(said, kept, digest_of(content))

    people = _parsed(
        private_half, _read(private_half, Message("the file of people")), "shoal people", read
    )
    return replace(kept, people=people)


def _read(path: str | os.PathLike[str], what: str) -> bytes:
    shown = os.fspath(path)
    missing = Message("There is no file {shown!r}; make one with --save.", shown=shown)
    return read_side_file(path, what, missing)


def _packed(entries: dict[str, Any], name: str, **more: str) -> bytes:
    body = json.dumps(entries, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    data = body.encode("ascii")
    head: dict[str, Any] = {"format": name, "version": VERSION, **more}
    head |= {"bytes": len(data), "sha256": digest_of(data)}
    return json.dumps(head, separators=(",", ":")).encode("ascii") + b"\n" + data + b"\n"


def _parsed(
    path: str | os.PathLike[str], content: bytes, name: str, read: Callable[[Any], _Found]
) -> _Found:
    shown = os.fspath(path)
    head, _, body = content.partition(b"\n")
    entries = _fields_of_head(head)
    if entries.get("format") != name:
        raise DataError(
            "{shown!r} is no {name} file, as --save writes it; give another one.",
            shown=shown,
            name=name,
        )
    version = entries.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise DataError(
            "{shown!r} does not say of which version it is; make it again.", shown=shown
        )
    if version > VERSION:
        raise DataError(
            "{shown!r} is of version {version} and this program reads up to {version2}; use a "
            "later version of Shoal.",
            shown=shown,
            version=version,
            version2=VERSION,
        )
    body = body.removesuffix(b"\n")
    if entries.get("bytes") != len(body) or entries.get("sha256") != digest_of(body):
        raise DataError(
            "{shown!r} is damaged: it is not as it was written; take it from a backup, or "
            "make it again.",
            shown=shown,
        )
    try:
        return read(json.loads(body, parse_constant=_no_constant))
    except Damaged as error:
        problem = error.message
    except ShoalError:
        problem = Message("an option or a column in it is wrong")
    except (ValueError, RecursionError, OverflowError):
        problem = Message("it is no JSON that could be read")
    except Exception as error:
        # a frame, a tree or an option cannot be made of it; nothing else can have failed here
        raise DataError(
            "{shown!r} cannot be used: what is in it does not fit together; make it again.",
            shown=shown,
        ) from error
    raise DataError(
        "{shown!r} cannot be used: {problem}; make it again.", shown=shown, problem=problem
    )


def _fields_of_head(head: bytes) -> dict[str, Any]:
    """Return what the first line of a file says; nothing if it is no file of ours."""
    try:
        entries = json.loads(head) if len(head) < _LONGEST_HEAD else None
    except (ValueError, RecursionError):
        entries = None
    return entries if isinstance(entries, dict) else {}


def refuse_missing(
    paths: Sequence[str | os.PathLike[str]],
    releases: Sequence[KeptRelease],
    written: str | None = None,
) -> None:
    """Raise if a release of the same people lies beside the given ones and is not among them.

    Args:
        paths: the release files that are given.
        releases: what was read from them.
        written: the release file that is about to be written; it may replace one.

    Raises:
        OptionError: there is such a file.
    """
    people = [kept.people for kept in releases if kept.people is not None]
    known = {mark for each in people for mark in each.marks}
    chains = {each.chain for each in people}
    own = None if written is None else Path(people_path(written)).resolve()
    for folder in sorted({Path(path).resolve().parent for path in paths}):
        for candidate in sorted(folder.glob(f"*{PEOPLE_ENDING}")):
            if candidate == own or not candidate.is_file():
                continue
            with candidate.open("rb") as file:
                entries = _fields_of_head(file.readline(_LONGEST_HEAD))
            if entries.get("chain") in chains and entries.get("mark") not in known:
                name = candidate.name.removesuffix(PEOPLE_ENDING)
                raise OptionError(
                    "Release file {name!r} lies beside what is given, is of the same people "
                    "and is not given; give it if it is out, or move it away if it never was.",
                    name=name,
                )


def _no_constant(text: str) -> float:
    raise Damaged("{text} is no number", text=text)


def _to_json(kept: KeptRelease) -> dict[str, Any]:
    from shoal.runtime.sanitize import plain_values

    return {
        "columns": [_column_to_json(column) for column in kept.schema.columns],
        "pseudonyms": kept.schema.pseudonyms,
        "style": asdict(kept.style),
        "options": plain_values(kept.options),
        "k": kept.k,
        "privacy": [plain_values(model.to_dict()) for model in kept.privacy],
        "cells": [
            {"name": name, **column_to_json(kept.cells.get_column(name))}
            for name in kept.cells.columns
        ],
        "rows": numbers_to_json(kept.sizes),
        "sensitive": [
            {
                "name": name,
                **column_to_json(counts.values),
                "order": None if counts.order is None else list(counts.order),
                "group": numbers_to_json(counts.group),
                "value": numbers_to_json(counts.value),
                "count": numbers_to_json(counts.count),
            }
            for name, counts in kept.sensitive.items()
        ],
    }


def _column_to_json(column: Column) -> dict[str, Any]:
    hierarchy: Any = None
    if column.rule is not None:
        hierarchy = column.rule.to_dict()
    elif column.hierarchy is not None:
        hierarchy = [list(path) for path in column.hierarchy.to_paths()]
    return {
        "name": column.name,
        "role": column.role.value,
        **{name: _plain(getattr(column, name), row) for name, row in COLUMN_ROWS.items()},
        "hierarchy": hierarchy,
    }


def _plain(value: Any, row: ColumnOption) -> Any:
    """Return what is said about a column as JSON has it; None for what holds anyway."""
    usual = {each.name: each.default for each in fields(Column)}[row.name]
    if row.default is None and value == usual:
        return None
    if isinstance(value, tuple):
        return list(value)
    return value if isinstance(value, int | float) else str(value)


def _people_to_json(people: KeptPeople, of: str) -> dict[str, Any]:
    """Return the private half of a release file with this hash as plain values."""
    return {
        "of": of,
        "mark": people.mark,
        "beside": list(people.beside),
        "key": people.key.hex(),
        "people": base64.b64encode(people.digests.astype("<u8").tobytes()).decode("ascii"),
        "group": numbers_to_json(people.group),
        "values": {name: numbers_to_json(codes) for name, codes in people.values.items()},
        "unknown": people.unknown,
        "table": numbers_to_json(people.of_table),
        "holds": list(people.holds),
    }


def _people_from_json(entries: dict[str, Any], kept: KeptRelease, of: str) -> KeptPeople:
    """Return the private half that was read.

    Raises:
        Damaged: it does not belong to the release, or is not what it should be.
    """
    if take(entries, "of", str) != of:
        raise Damaged("it belongs to another release file")
    try:
        key = bytes.fromhex(take(entries, "key", str))
        data = base64.b64decode(take(entries, "people", str), validate=True)
    except (ValueError, binascii.Error):
        raise Damaged("the people in it cannot be read") from None
    if len(key) != KEY_BYTES or len(data) % DIGEST_BYTES:
        raise Damaged("the people in it cannot be read")
    digests = np.frombuffer(data, "<u8").reshape(-1, 2).astype(np.uint64)
    group = numbers_from_json(entries, "group", below=kept.n_groups)
    codes, unknown = take(entries, "values", dict), take(entries, "unknown", int)
    values = {
        name: numbers_from_json(codes, name, below=len(counts.values))
        for name, counts in kept.sensitive.items()
    }
    entries = {"table": numbers_to_json(np.zeros(len(group), np.int64)), "holds": [], **entries}
    table = numbers_from_json(entries, "table", below=_MOST_TABLES)  # not there in version 1
    lengths = {len(digests), len(group), len(table), *(len(each) for each in values.values())}
    if lengths != {len(digests)} or len(digests) + unknown != kept.n_rows or unknown < 0:
        raise Damaged("the people in it are not those of the release")
    found = [counts.without(group, values[name]).count for name, counts in kept.sensitive.items()]
    found.append(kept.sizes - np.bincount(group, minlength=kept.n_groups))
    if any((left < 0).any() for left in found):
        raise Damaged("the people in it are not those of the release")
    beside, holds = take(entries, "beside", list), take(entries, "holds", list)
    if not all(isinstance(each, str) for each in (*beside, *holds)):
        raise Damaged("the earlier releases in it cannot be read")
    mark = take(entries, "mark", str)
    return KeptPeople(
        key, digests, group, values, unknown, mark, tuple(beside), table, tuple(holds)
    )


def _from_json(entries: object) -> KeptRelease:
    import polars as pl

    from shoal.privacy import parse_privacy
    from shoal.publish.cells import columns_needed
    from shoal.publish.recode import Style

    schema = _schema_from_json(entries)
    k = take(entries, "k", int)
    style = Style.from_dict(take(entries, "style", dict))
    privacy = parse_privacy(take(entries, "privacy", list))
    options = take(entries, "options", dict)
    cells = pl.DataFrame(
        [column_from_json(take(each, "name", str), each) for each in take(entries, "cells", list)]
    )
    assert isinstance(entries, dict)
    sizes = numbers_from_json(entries, "rows", below=_MOST_ROWS)
    if not len(sizes) or len(sizes) != cells.height:
        raise Damaged("groups and their sizes do not belong together")
    if k < 2 or int(sizes.min()) < k:
        raise Damaged("a group is smaller than promised")
    if cells.columns != columns_needed(cells.columns, schema.quasi_identifiers):
        raise Damaged("the cells are not those of the quasi-identifiers")
    if cells.is_duplicated().any():
        raise Damaged("two groups have the same cells")
    n_rows = int(sizes.sum())
    width = 8 * (cells.width + len(schema.sensitive) + 1)
    if n_rows * width > limit("bytes"):
        raise Damaged("it claims {n_rows:,} rows, which do not fit into memory", n_rows=n_rows)
    sensitive = {}
    for each in take(entries, "sensitive", list):
        counts = _counts_from_json(each, sizes)
        sensitive[counts.values.name] = counts
    if tuple(sensitive) != schema.sensitive:
        raise Damaged("the sensitive columns are not those of the schema")
    return KeptRelease(
        k=k,
        privacy=privacy,
        schema=schema,
        style=style,
        options={name: options[name] for name in (*OPTIONS, *READING) if name in options},
        cells=cells,
        sizes=sizes,
        sensitive=sensitive,
    )


def _schema_from_json(entries: object) -> Schema:
    from shoal.hierarchy import Taxonomy

    columns = take(entries, "columns", list)
    options: dict[str, Any] = {role.option: [] for role in Role}
    found: dict[str, dict[str, Any]] = {row.option: {} for row in COLUMN_ROWS.values()}
    for each in columns:
        name = take(each, "name", str)
        role = parse_role(take(each, "role", str), column=name)
        options[role.option].append(name)
        for row in COLUMN_ROWS.values():
            value = each.get(row.name)  # an older version may not have known the option
            if value is not None and row.is_for(role):
                found[row.option][name] = value
    trees = {
        name: Taxonomy.from_paths(value) if isinstance(value, list) else value
        for name, value in found["hierarchies"].items()
    }
    schema = build_schema(
        [take(each, "name", str) for each in columns],
        **options,
        **{**found, "hierarchies": trees},
    )
    return replace(schema, pseudonyms=take(entries, "pseudonyms", bool))


def _counts_from_json(entries: object, sizes: np.ndarray[Any, Any]) -> ValueCounts:
    values = column_from_json(take(entries, "name", str), entries)
    assert isinstance(entries, dict)
    order = take(entries, "order", (list, type(None)))
    if order is not None and not all(isinstance(each, str) for each in order):
        raise Damaged("an order holds something that is no text")
    group = numbers_from_json(entries, "group", below=len(sizes))
    value = numbers_from_json(entries, "value", below=len(values))
    count = numbers_from_json(entries, "count", below=_MOST_ROWS)
    if not len(group) == len(value) == len(count):
        raise Damaged("counts of a sensitive column do not belong together")
    total = np.zeros(len(sizes), np.int64)
    np.add.at(total, group, count)
    if (count < 1).any() or (total != sizes).any():
        raise Damaged("counts of a sensitive column are not those of its groups")
    return ValueCounts(values, group, value, count, None if order is None else tuple(order))


def list_releases(folder: str) -> list[dict[str, Any]]:
    """Return what each release file of a folder says about itself, oldest file first; no cell.

    A file that cannot be read has a ``problem`` in place of everything else. ``beside`` names the
    files of the earlier releases that it was made beside; one that is not there is "not here".

    Raises:
        DataError: there is no such folder, or it holds no release file.
    """
    place = Path(folder)
    if not place.is_dir():
        raise DataError("There is no folder {folder!r}.", folder=folder)
    files = sorted(place.glob("*.shoal"), key=lambda path: (path.stat().st_mtime, path.name))
    if not files:
        raise DataError(
            "There is no release file (.shoal) in {folder!r}; --save writes one.", folder=folder
        )
    named: dict[str, str] = {}
    found: list[dict[str, Any]] = []
    for path in files:
        written = datetime.fromtimestamp(path.stat().st_mtime, UTC).date().isoformat()
        try:
            kept = load_release(path)
        except ShoalError as error:
            found.append({"file": path.name, "written": written, "problem": error.message})
            continue
        beside = () if kept.people is None else kept.people.beside
        if kept.people is not None:
            named |= dict.fromkeys(kept.people.holds, path.name) | named
            named[kept.people.mark] = path.name
        found.append(
            {
                "file": path.name,
                "written": written,
                "rows": kept.n_rows,
                "groups": kept.n_groups,
                "k": kept.k,
                "promises": [model.label for model in kept.privacy],
                "people": kept.people is not None,
                "beside": beside,
            }
        )
    for each in found:
        if "beside" in each:
            each["beside"] = [named.get(mark, "not here") for mark in each["beside"]]
    return found
