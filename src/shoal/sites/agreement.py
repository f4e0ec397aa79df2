"""What all parties agree on before the first number is shared: the job, and the table [sites].

A site may let others know only what follows from public lines: so ranges of numbers, values of
categories (hierarchies) and values of sensitive columns are said in the job, none is read off rows.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import DataError, JobError, OptionError, RoleError
from shoal.hierarchy import canonical_label
from shoal.messages import Message
from shoal.privacy import parse_privacy
from shoal.privacy.l_diversity import LDiversity
from shoal.settings.job_file import read_sites_job
from shoal.sites.keys import COORDINATOR, check_party
from shoal.table.schema import Role

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import polars as pl
    from numpy.typing import NDArray

    from shoal.hierarchy import Taxonomy
    from shoal.settings.job import Job

    Ints = NDArray[np.int64]

WHOLE = 1_000_000
"""What a cell costs that says nothing; costs are whole numbers, so all sites have the same."""
MOST_CONDITIONS = 3
_MOST_SITES, _MOST_VALUES = 32, 250
_KEYS = ("coordinator", "at_two_sites", "fingerprints", "ranges", "values")
_PLAIN = {Role.QUASI_IDENTIFIER, Role.SENSITIVE, Role.IDENTIFIER, Role.DROP}
_OPTIONS = ("k", "privacy")


@dataclass(frozen=True, eq=False)
class SiteColumn:
    """A quasi-identifier, as all sites know it.

    Attributes:
        name: the column.
        tree: its hierarchy; None for numbers.
        lowest: the lowest number that there may be.
        highest: the highest.
        step: how far apart the lines are that intervals end on.
    """

    name: str
    tree: Taxonomy | None
    lowest: int = 0
    highest: int = 0
    step: int = 1

    @property
    def size(self) -> int:
        """How many codes there are."""
        if self.tree is not None:
            return self.tree.n_leaves
        return (self.highest - self.lowest) // self.step + 1

    def codes(self, cells: pl.Series) -> Ints:
        """Return the code of each cell.

        Raises:
            DataError: a cell is missing, or outside of what the job says.
        """
        outside = Message(
            "Column {name!r} holds cells that are missing or outside of what the job says; "
            "correct the table, or widen the range or the hierarchy at all sites.",
            name=self.name,
        )
        if cells.null_count():
            raise DataError(outside)
        if self.tree is not None:
            distinct = cells.unique().to_list()
            leaves = self.tree.leaf_codes([canonical_label(each) for each in distinct])
            code_of = dict(zip(distinct, leaves.tolist(), strict=True))
            found = np.array([code_of[each] for each in cells.to_list()], np.int64)
            if np.any(found < 0):
                raise DataError(outside)
            return found
        if not cells.dtype.is_numeric():
            raise DataError(
                "Column {name!r} holds no numbers, and the job has a range for it; give it a "
                "hierarchy.",
                name=self.name,
            )
        numbers = cells.to_numpy()
        if np.any(numbers != np.floor(numbers)):
            raise DataError(
                "Column {name!r} holds numbers that are not whole; several sites agree on whole "
                "numbers only, so round or multiply them at all sites.",
                name=self.name,
            )
        if np.any((numbers < self.lowest) | (numbers > self.highest)):
            raise DataError(outside)
        return (numbers.astype(np.int64) - self.lowest) // self.step

    def cost(self, first: Ints, last: Ints) -> Ints:
        """Return what a cell costs that stands for the codes from a first to a last (NCP)."""
        if self.tree is not None:
            node = self.tree.lca_of_range(first, last)
            return self.tree.height[node].astype(np.int64) * WHOLE // self.tree.tree_height
        low, high = self.ends(first, last)
        return (high - low) * WHOLE // max(self.highest - self.lowest, 1)

    def ends(self, first: Ints, last: Ints) -> tuple[Ints, Ints]:
        """Return the lowest and the highest number of the codes from a first to a last."""
        high = np.minimum(self.lowest + (last + 1) * self.step - 1, self.highest)
        return self.lowest + first * self.step, high


@dataclass(frozen=True, eq=False)
class Agreement:
    """What all parties agree on.

    Attributes:
        job: columns, k and promises.
        address: host and port of the coordinator.
        fingerprints: of all parties, by name.
        columns: the quasi-identifiers.
        values: the values of each sensitive column.
        privacy: promises beside k.
        at_two_sites: whether no group lies at one site alone.
    """

    job: Job
    address: tuple[str, int]
    fingerprints: Mapping[str, str]
    columns: tuple[SiteColumn, ...]
    values: Mapping[str, tuple[str, ...]]
    privacy: tuple[LDiversity, ...]
    at_two_sites: bool

    @property
    def k(self) -> int:
        """The smallest group, over all sites together."""
        return int(self.job.k)

    @property
    def parties(self) -> tuple[str, ...]:
        """The coordinator and all sites."""
        return (COORDINATOR, *self.sites)

    @cached_property
    def sites(self) -> tuple[str, ...]:
        """The sites, in the order of their names."""
        return tuple(sorted(name for name in self.fingerprints if name != COORDINATOR))

    @property
    def conditions(self) -> tuple[tuple[LDiversity, str], ...]:
        """Each promise with each sensitive column that it is about."""
        return tuple(
            (model, name)
            for model in self.privacy
            for name in ([model.column] if model.column is not None else self.values)
        )

    @cached_property
    def digest(self) -> bytes:
        """The hash of all that has to be the same at all parties."""
        said: dict[str, Any] = {
            "version": 1,
            "k": self.k,
            "at_two_sites": self.at_two_sites,
            "fingerprints": dict(sorted(self.fingerprints.items())),
            "columns": [
                [each.name, each.lowest, each.highest, each.step]
                if each.tree is None
                else [each.name, each.tree.to_paths()]
                for each in self.columns
            ],
            "values": [[name, *values] for name, values in self.values.items()],
            "privacy": [model.to_dict() for model in self.privacy],
        }
        return sha256(json.dumps(said, sort_keys=True).encode()).digest()

    def sensitive_codes(self, name: str, cells: pl.Series) -> Ints:
        """Return the code of each cell of a sensitive column.

        Raises:
            DataError: a cell is none of the values of the job.
        """
        values = self.values[name]
        code_of = {value: code for code, value in enumerate(values)}
        labels = ["" if each is None else canonical_label(each) for each in cells.to_list()]
        found = np.array([code_of.get(each, -1) for each in labels], np.int64)
        if np.any(found < 0):
            raise DataError(
                "Column {name!r} holds values that the job does not list under [sites.values]; "
                "add them at all sites.",
                name=name,
            )
        return found


def read_agreement(path: Path) -> Agreement:
    """Read the job of several sites.

    Raises:
        JobError: it cannot be read, or says what several sites cannot do.
        RoleError: a column has a role that several sites cannot do.
        OptionError: an option is wrong.
    """
    job, table = read_sites_job(path)
    _check_keys(path, job, table)
    address = re.fullmatch(r"(.+):(\d{1,5})", str(table.get("coordinator", "")))
    if address is None:
        raise _wrong(path, "coordinator", "coordinator = 'host:port'")
    at_two = table.get("at_two_sites", False)
    if not isinstance(at_two, bool):
        raise _wrong(path, "at_two_sites", "true, false")
    columns, values = _columns(path, job, table)
    found = Agreement(
        job,
        (address[1], int(address[2])),
        _fingerprints(path, table),
        columns,
        values,
        _models(path, job),
        at_two,
    )
    if found.k < 2:
        raise OptionError("k must be at least 2, but {k} was given.", k=found.k)
    if len(found.conditions) > MOST_CONDITIONS:
        raise JobError(
            "{file!r} asks for more than {most} promises about sensitive columns, which several "
            "sites cannot keep together; leave some out.",
            file=str(path),
            most=MOST_CONDITIONS,
        )
    return found


def _check_keys(path: Path, job: Job, table: Mapping[str, Any]) -> None:
    for key in table:
        if key not in _KEYS:
            raise _wrong(path, key, ", ".join(_KEYS))
    for name in job.options:
        if name not in _OPTIONS:
            raise JobError(
                "{file!r} says {name!r}, which several sites cannot do together; leave it out.",
                file=str(path),
                name=name,
            )


def _fingerprints(path: Path, table: Mapping[str, Any]) -> dict[str, str]:
    found = _section(path, table, "fingerprints")
    for name, fingerprint in found.items():
        check_party(name)
        if not isinstance(fingerprint, str) or not re.fullmatch("[0-9a-f]{64}", fingerprint):
            raise _wrong(path, f"fingerprints.{name}", Message("64 hexadecimal digits"))
    if COORDINATOR not in found or not 3 <= len(found) <= _MOST_SITES + 1:
        raise _wrong(path, "fingerprints", Message("coordinator, and 2 to 32 sites"))
    if len(set(found.values())) < len(found):
        raise _wrong(path, "fingerprints", Message("a key of its own for each party"))
    return found


def _columns(
    path: Path, job: Job, table: Mapping[str, Any]
) -> tuple[tuple[SiteColumn, ...], dict[str, tuple[str, ...]]]:
    ranges, listed = _section(path, table, "ranges"), _section(path, table, "values")
    trees = job.schema_options()["hierarchies"]
    columns: list[SiteColumn] = []
    values: dict[str, tuple[str, ...]] = {}
    for name, column in job.columns.items():
        if column.role not in _PLAIN:
            raise RoleError(
                "Column {name!r} has a role that several sites cannot do; take quasi-identifier, "
                "sensitive, identifier or drop.",
                name=name,
            )
        if column.role is Role.SENSITIVE:
            values[name] = _values(path, name, listed.get(name))
        elif column.role is Role.QUASI_IDENTIFIER and name in ranges:
            columns.append(_range(path, name, ranges[name]))
        elif column.role is Role.QUASI_IDENTIFIER:
            columns.append(_of_tree(path, name, trees.get(name)))
    if not columns:
        raise JobError("{file!r} names no quasi-identifier.", file=str(path))
    there = {"ranges": {each.name for each in columns}, "values": set(values)}
    for kind, known in (("ranges", ranges), ("values", listed)):
        for name in known:
            if name not in there[kind]:
                raise _wrong(path, f"{kind}.{name}", ", ".join(sorted(there[kind])))
    return tuple(columns), values


def _values(path: Path, name: str, given: Any) -> tuple[str, ...]:
    found = tuple(map(canonical_label, given)) if isinstance(given, list) else ()
    if not 0 < len(found) <= _MOST_VALUES or len(set(found)) < len(found):
        raise _wrong(path, f"values.{name}", Message("a list of 1 to 250 different values"))
    return found


def _of_tree(path: Path, name: str, source: Any) -> SiteColumn:
    from shoal.hierarchy import load_hierarchy
    from shoal.hierarchy.rules import as_rule

    if source is None or as_rule(source) is not None:
        raise JobError(
            "Column {name!r} has neither a range under [sites.ranges] of {file!r} nor a hierarchy "
            "in a file; all sites need one, since none tells its values.",
            name=name,
            file=str(path),
        )
    return SiteColumn(name, load_hierarchy(source))


def _range(path: Path, name: str, given: Any) -> SiteColumn:
    whole = isinstance(given, list) and all(type(each) is int for each in given)
    if (
        not whole
        or len(given) not in (2, 3)
        or given[0] >= given[1]
        or min(given[2:], default=1) < 1
    ):
        raise _wrong(path, f"ranges.{name}", Message("[lowest, highest, step] in whole numbers"))
    return SiteColumn(name, None, *given)


def _models(path: Path, job: Job) -> tuple[LDiversity, ...]:
    found: list[LDiversity] = []
    for model in parse_privacy(job.privacy):
        if not isinstance(model, LDiversity) or model.kind == "recursive":
            raise JobError(
                "{file!r} asks for {model}, which several sites cannot keep together; take "
                "l-diversity of kind distinct, frequency or entropy.",
                file=str(path),
                model=model.name,
            )
        found.append(model)
    return tuple(found)


def _section(path: Path, table: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = table.get(key, {})
    if not isinstance(found, dict):
        raise _wrong(path, key, f"[sites.{key}]")
    return found


def _wrong(path: Path, key: str, wanted: str) -> JobError:
    return JobError(
        "sites.{key} in {file!r} is wrong or missing; expected: {wanted}.",
        key=key,
        file=str(path),
        wanted=wanted,
    )
